//! What the server's pages get in the open Internet: requests, handshakes and QUIC from who has no session, or had one, or
//! has one and asks for more than its share.

use std::collections::HashSet;
use std::io::{ErrorKind, Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::sync::Arc;
use std::sync::atomic::{AtomicU16, Ordering};
use std::time::Duration;

use quinn::crypto::rustls::QuicClientConfig;
use quinn::{ClientConfig, ConnectionId, Endpoint};
use rrul_engine::web::{ALPN_HTTP2, ALPN_HTTP3, tls};
use rrul_proto::opening::{ClientOpening, Purpose, Status};
use rrul_proto::session_name::{SessionName, connection_id};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS};
use rrul_proto::token::Token;
use rustls::ClientConnection;
use rustls::pki_types::ServerName;

use crate::client::{Client, open};
use crate::program::{Server, wait_until};
use crate::strangers::{greet, packet, socket};

/// Longer than a server takes to answer or to close on a busy machine.
const PATIENCE: Duration = Duration::from_secs(20);

/// Connections for pages that one session may have open: PROTOCOL.md, section 7.
const MOST_OPEN: usize = 256;

/// A page, and a flow that is none.
pub(crate) const PAGES: &str = "
title = \"pages\"
phases = { idle = \"4s\" }
[flow.page]
type = \"web_page\"
component = \"web\"
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
";

/// A session with a page.
struct Visitor {
    client: Client,
    page: u16,
    probe: u16,
}

impl Visitor {
    fn new(server: SocketAddr) -> Self {
        let mut client = Client::new(server);
        let flows = client.open_plan(PAGES);
        let number = |name: &str| flows.iter().find(|flow| flow.flow_type == name).unwrap().id.0;
        Self { client, page: number("web_page"), probe: number("udp_probe") }
    }

    /// The name of the page's host.
    fn host(&self) -> String {
        host(self.client.token, self.page)
    }

    /// Ends the session; its token.
    fn end(self, server: SocketAddr) -> Token {
        let token = self.client.token;
        drop(self.client);
        wait_until("the end of a session", || {
            open(server, ClientOpening::new(Purpose::Presence, token, 0)).1.status == Status::Unknown
        });
        token
    }
}

pub(crate) fn host(token: Token, flow: u16) -> String {
    SessionName { label: "www", flow, token }.to_string()
}

pub(crate) fn get(host: &str) -> Vec<u8> {
    format!("GET /rrul2013/0 HTTP/1.1\r\nHost: {host}\r\n\r\n").into_bytes()
}

/// The first bytes of TLS with this host.
fn hello(host: &str) -> Vec<u8> {
    let config = tls::client(ALPN_HTTP2).unwrap();
    let name = ServerName::try_from(host.to_owned()).unwrap();
    let mut octets = Vec::new();
    ClientConnection::new(Arc::new(config), name).unwrap().write_tls(&mut octets).unwrap();
    octets
}

/// The first packet of a QUIC connection that belongs to this flow.
pub(crate) fn initial(token: Token, flow: u16) -> Vec<u8> {
    static COUNT: AtomicU16 = AtomicU16::new(0);
    let identifier = connection_id(token, flow, COUNT.fetch_add(1, Ordering::Relaxed));
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build().unwrap();
    runtime.block_on(async {
        let crypto = QuicClientConfig::try_from(tls::client(ALPN_HTTP3).unwrap()).unwrap();
        let mut config = ClientConfig::new(Arc::new(crypto));
        config.initial_dst_cid_provider(Arc::new(move || ConnectionId::new(&identifier)));
        // To no one who answers: the packet is all that is wanted.
        let there = tokio::net::UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).await.unwrap();
        let endpoint = Endpoint::client((Ipv4Addr::LOCALHOST, 0).into()).unwrap();
        let _connecting = endpoint.connect_with(config, there.local_addr().unwrap(), "rrul.test").unwrap();
        let mut octets = vec![0; 2048];
        let length = there.recv(&mut octets).await.unwrap();
        octets.truncate(length);
        octets
    })
}

/// Waits until the server has answered this first packet.
fn wait_for_answer(from: &UdpSocket, initial: &[u8]) {
    from.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    wait_until("an answer over QUIC", || {
        // A full queue drops it, as any network may.
        from.send(initial).unwrap();
        from.recv(&mut [0; 2048]).is_ok()
    });
}

/// A connection that has said this.
fn saying(server: SocketAddr, octets: &[u8]) -> TcpStream {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    // The server may have closed already.
    let _ = stream.write_all(octets);
    stream
}

/// Everything that the server answers before it closes.
fn answer(mut stream: TcpStream) -> Vec<u8> {
    let mut answer = Vec::new();
    if let Err(error) = stream.read_to_end(&mut answer) {
        assert_eq!(error.kind(), ErrorKind::ConnectionReset);
    }
    answer
}

/// Whether the server begins to answer.
fn is_answered(mut stream: &TcpStream) -> bool {
    stream.read(&mut [0; 4]).is_ok_and(|octets| octets > 0)
}

/// Asserts that the server serves who has a session.
fn assert_served(server: SocketAddr, visitor: &Visitor) {
    let mut status = [0; 15];
    saying(server, &get(&visitor.host())).read_exact(&mut status).unwrap();
    assert_eq!(&status, b"HTTP/1.1 200 OK");
}

#[test]
fn pages_say_nothing_to_whom_has_no_session() {
    let mut server = Server::start(&[]);
    let address = server.address();
    let visitor = Visitor::new(address);
    let ended = Visitor::new(address).end(address);
    let own = visitor.client.token;
    let hosts = [
        "example.com".to_owned(),
        host(Token([9; 16]), visitor.page),
        host(ended, visitor.page),
        host(own, visitor.probe),
        host(own, visitor.page + 1000),
    ];
    for host in &hosts {
        assert_eq!(answer(saying(address, &get(host))), b"", "GET of {host}");
        assert_eq!(answer(saying(address, &hello(host))), b"", "TLS with {host}");
    }
    let long = format!("GET /{} HTTP/1.1\r\n\r\n", "x".repeat(100_000));
    for octets in [
        &b"GET / HTTP/1.1\r\n\r\n"[..],
        b"GET / HTTP/1.0\r\n\r\n",
        b"GET / HTTP/9.9\r\nHost: example.com\r\n\r\n",
        b"GET \0\x01\xff\r\n\r\n",
        b"HEAD / HTTP/1.1\r\nHost:\r\nHost: a\r\n\r\n",
        b"POST / HTTP/1.1\r\nHost: a\r\nExpect: 100-continue\r\nContent-Length: 5\r\n\r\n",
        b"\x16\x03\x01\x00\x04\x02\x00\x00\x00",
        long.as_bytes(),
        &hello("127.0.0.1"),
    ] {
        let words = String::from_utf8_lossy(&octets[..octets.len().min(40)]);
        assert_eq!(answer(saying(address, octets)), b"", "{words}");
    }
    // What is never finished, by a client that leaves.
    let (whole, hello_of) = (get(&visitor.host()), hello(&visitor.host()));
    for octets in [&whole[..whole.len() - 2], &hello_of[..hello_of.len() - 1], &hello_of[..5]] {
        let stream = saying(address, octets);
        stream.shutdown(Shutdown::Write).unwrap();
        assert_eq!(answer(stream), b"");
    }
    // Who has a session is served all the same.
    assert_served(address, &visitor);
    assert!(is_answered(&saying(address, &hello_of)));
    server.assert_sound();
}

#[test]
fn quic_answers_no_address_that_has_not_proven_itself_and_no_unknown_session() {
    let mut server = Server::start(&[]);
    let address = server.address();
    let visitor = Visitor::new(address);
    let ended = Visitor::new(address).end(address);
    let token = visitor.client.token;
    let here = || socket(Ipv4Addr::LOCALHOST, address);
    // All of 127.0.0.0/8 is this host (RFC 1122, section 3.2.1.3), and only one address of it has a connection.
    let unproven = (socket(Ipv4Addr::new(127, 0, 0, 2), address), token, visitor.page);
    let others = [
        (here(), Token([9; 16]), visitor.page),
        (here(), ended, visitor.page),
        (here(), token, visitor.probe),
        (here(), token, visitor.page + 1000),
    ];
    let strangers = others.into_iter().chain([unproven]).map(|(from, token, flow)| {
        from.send(&initial(token, flow)).unwrap();
        from
    });
    let strangers: Vec<_> = strangers.collect();
    // One that is whole but for what says that it is QUIC, and what comes later on a connection, which does not exist.
    let garbage = here();
    let mut octets = initial(token, visitor.page);
    octets[0] = 0x40;
    garbage.send(&octets).unwrap();
    octets[4] = 2;
    garbage.send(&octets).unwrap();
    // Packets are looked at in the order of arrival: by the last of these answers the strangers' would have come.
    for _ in 0..8 {
        wait_for_answer(&here(), &initial(token, visitor.page));
    }
    for socket in strangers.iter().chain([&garbage]) {
        socket.set_nonblocking(true).unwrap();
        let kind = socket.recv(&mut [0; 2048]).map_err(|error| error.kind());
        assert_eq!(kind, Err(ErrorKind::WouldBlock));
    }
    server.assert_sound();
}

#[test]
fn a_session_has_its_share_of_connections_for_pages_and_no_more() {
    let mut server = Server::start(&[]);
    let address = server.address();
    let (visitor, neighbour) = (Visitor::new(address), Visitor::new(address));
    let ask = get(&visitor.host());
    let mut open: Vec<_> = (0..MOST_OPEN).map(|_| saying(address, &ask)).collect();
    assert!(open.iter().all(is_answered));
    assert_eq!(answer(saying(address, &ask)), b"", "one more");
    assert!(is_answered(&saying(address, &get(&neighbour.host()))), "another session");
    open.pop();
    wait_until("the place of a connection that has closed", || is_answered(&saying(address, &ask)));
    server.assert_sound();
}

#[test]
fn a_session_that_speaks_quic_from_everywhere_keeps_no_other_from_it() {
    let mut server = Server::start(&[]);
    let address = server.address();
    let (flooder, neighbour) = (Visitor::new(address), Visitor::new(address));
    let known = socket(Ipv4Addr::LOCALHOST, address);
    let greeting = packet(Kind::Greeting, neighbour.client.token, neighbour.probe, LEAST_OCTETS);
    let mut ports = HashSet::new();
    while ports.len() < 4097 {
        let from = socket(Ipv4Addr::LOCALHOST, address);
        from.send(&initial(flooder.client.token, flooder.page)).unwrap();
        ports.insert(from.local_addr().unwrap().port());
        if ports.len().is_multiple_of(32) {
            // So that the server's queue loses none.
            greet(&known, &greeting);
        }
    }
    wait_for_answer(&socket(Ipv4Addr::LOCALHOST, address), &initial(neighbour.client.token, neighbour.page));
    assert!(is_answered(&saying(address, &get(&neighbour.host()))));
    server.assert_sound();
}

#[test]
fn headers_without_an_end_are_not_read_for_ever() {
    let mut server = Server::start(&[]);
    let address = server.address();
    let visitor = Visitor::new(address);
    for host in ["example.com", &visitor.host()] {
        for header in [&b"x: y\r\n"[..], &[b'x'; 4096]] {
            let mut stream = saying(address, format!("GET / HTTP/1.1\r\nHost: {host}\r\n").as_bytes());
            stream.set_write_timeout(Some(PATIENCE)).unwrap();
            let mut octets = 0_u64;
            let error = loop {
                match stream.write(header) {
                    Ok(count) => octets += count as u64,
                    Err(error) => break error,
                }
                // More than two kernels keep for a reader.
                assert!(octets < 64 << 20, "{host}: {octets} bytes were taken");
            };
            let closed = [ErrorKind::ConnectionReset, ErrorKind::BrokenPipe].contains(&error.kind());
            assert!(closed, "{host}: {error}");
        }
    }
    assert_served(address, &visitor);
    server.assert_sound();
}
