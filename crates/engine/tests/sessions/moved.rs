//! What a session moves is bounded by what it has declared, and counted, whatever carries it.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, TcpStream, UdpSocket};
use std::sync::mpsc::Receiver;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rrul_engine::server::{Quota, QuotaLimits, Server, ServerOptions};
use rrul_model::flow::FlowSpec;
use rrul_model::time::{TestTime, Window};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::packet_train::{PACKET_OCTETS, PACKETS, TrainKind, TrainPacket};
use rrul_proto::session_name::SessionName;
use rrul_proto::test_packet::{Kind, TestPacket};
use rrul_proto::token::Token;

use crate::common::server;
use crate::lease::{stay, watched};
use crate::prober::Prober;
use crate::stranger::{PATIENCE, Stranger, flows};

const LENGTH: Duration = Duration::from_mins(1);

/// One flow of a minute's test, with these lines of a plan.
fn flow(kind: &str, more: &str) -> Vec<FlowSpec> {
    flows(&format!(
        "title = \"m\"\nphases = {{ load = \"60s\" }}\n[flow.m]\ntype = \"{kind}\"\ncomponent = \"load\"\n{more}\n"
    ))
}

/// A test of these flows, which has begun.
fn begun(server: &Server, asked: &[FlowSpec]) -> Stranger {
    let mut client = Stranger::new(server);
    let opened = client.open(asked, LENGTH);
    assert!(matches!(&opened, ServerMessage::Opened { refused, .. } if refused.is_empty()), "{opened:?}");
    client
}

fn ends_with_more_than_granted(ended: &Receiver<String>) {
    assert_eq!(ended.recv_timeout(PATIENCE).unwrap(), "more bytes than granted");
}

/// A socket towards the server's IPv4 address.
fn socket(server: &Server) -> UdpSocket {
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    socket
}

/// Sends a train and its end; how many packets come back.
fn train(socket: &UdpSocket, client: &Stranger, number: u16) -> usize {
    let car = TrainPacket { kind: TrainKind::Car, train: number, arrived: 0, token: client.token, sequence: 0, t2: 0 };
    let mut octets = [0; PACKET_OCTETS];
    for sequence in 0..u32::from(PACKETS) {
        TrainPacket { sequence, ..car }.write(&mut octets).unwrap();
        socket.send(&octets).unwrap();
    }
    TrainPacket { kind: TrainKind::Last, ..car }.write(&mut octets).unwrap();
    socket.send(&octets).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    std::iter::from_fn(|| socket.recv(&mut octets).ok()).count()
}

#[test]
fn trains_come_back_a_few_times_and_then_no_more() {
    let server = server();
    let client = Stranger::new(&server);
    let socket = socket(&server);
    let back: Vec<_> = (1..=12).map(|number| train(&socket, &client, number)).collect();
    assert!(back[..8].iter().all(|packets| *packets == usize::from(PACKETS)), "{back:?}");
    assert!(back[8..].iter().all(|packets| *packets == 0), "{back:?}");
}

#[test]
fn a_session_that_only_sends_trains_shows_in_the_recordings_of_others() {
    let server = server();
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let mut prober = Prober::begin(Stranger::new(&server), address, "50ms", Duration::from_millis(100));
    let mut client = Stranger::new(&server);
    assert_eq!(train(&socket(&server), &client, 1), usize::from(PACKETS));
    client.say(&ClientMessage::Bye);
    let (begun, mut others) = (Instant::now(), 0);
    while others < 2 * 40 * 1228 {
        assert!(begun.elapsed() < PATIENCE, "{others} bytes of others");
        let ServerMessage::Observed(frame) = prober.client.hear() else { panic!("no frame") };
        others = frame.tables.other_sessions.rows().map(|row| row.octets).max().unwrap_or(others);
    }
}

#[test]
fn a_light_test_whose_packets_are_not_answered_is_ended_all_the_same() {
    let (server, ended) = watched();
    let asked = flow("udp_probe", "interval = \"1s\"");
    let mut client = begun(&server, &asked);
    client.begin();
    let socket = socket(&server);
    // Longer than the flow declares.
    let mut octets = [0; 1400];
    TestPacket::request(Kind::Test, asked[0].id.0, 0, client.token, 0, 1).write(&mut octets).unwrap();
    stay(&mut client, || {
        for _ in 0..500 {
            socket.send(&octets).unwrap();
        }
        std::thread::sleep(Duration::from_millis(2));
    });
    ends_with_more_than_granted(&ended);
    socket.set_nonblocking(true).unwrap();
    assert!(socket.recv(&mut octets).is_err(), "an answer");
}

#[test]
fn a_light_test_that_loads_outside_the_window_of_its_flow_is_ended() {
    let (server, ended) = watched();
    let mut asked = flow("bulk_tcp", "direction = \"up\"\npacing_rate = \"500kbit/s\"");
    asked[0].window = Window { from: TestTime(55_000_000_000), to: TestTime(60_000_000_000) };
    let mut client = begun(&server, &asked);
    let mut stream = client.stream(&asked[0]);
    stream.set_nonblocking(true).unwrap();
    client.begin();
    let octets = vec![7; 1 << 20];
    let took = stay(&mut client, || {
        let _ = stream.write(&octets);
    });
    ends_with_more_than_granted(&ended);
    assert!(took < 30.0, "ended after {took} s");
}

#[test]
fn exchanges_end_with_the_window_of_their_flow() {
    let server = server();
    let mut asked = flow("tcp_rr", "min_interval = \"1s\"");
    asked[0].window = Window { from: TestTime(0), to: TestTime(1_000_000_000) };
    let mut client = begun(&server, &asked);
    let mut stream = client.stream(&asked[0]);
    client.begin();
    let begun = Instant::now();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    while stream.write_all(&[0; 16]).and_then(|()| stream.read_exact(&mut [0; 16])).is_ok() {
        std::thread::sleep(Duration::from_millis(20));
        assert!(begun.elapsed() < Duration::from_secs(5), "it is still answered");
    }
    assert!(begun.elapsed() > Duration::from_millis(1500), "ended after {:?}", begun.elapsed());
}

/// A connection of a flow that opens many, with the number that it says it has.
fn numbered(server: &Server, token: Token, flow: &FlowSpec, number: u32) -> Option<TcpStream> {
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    let opening = ClientOpening::new(Purpose::Stream, token, flow.id.0).encode();
    stream.write_all(&[&opening[..], &number.to_be_bytes()].concat()).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut answer = [0; SERVER_OCTETS];
    stream.read_exact(&mut answer).ok()?;
    let status = ServerOpening::decode(&answer).unwrap().status;
    (status == Status::Accepted).then_some(stream)
}

const SELDOM: &str = "direction = \"up\"\nsize = \"10MB\"\ninterval = \"100s\"";

#[test]
fn connections_that_claim_one_number_are_counted_each() {
    let (server, ended) = watched();
    let asked = flow("short_flow", SELDOM);
    let mut client = begun(&server, &asked);
    client.begin();
    std::thread::sleep(Duration::from_millis(100));
    let (octets, token) = (vec![7; 10_000_000], client.token);
    stay(&mut client, || {
        if let Some(mut stream) = numbered(&server, token, &asked[0], 1) {
            let _ = stream.write_all(&octets);
        }
    });
    ends_with_more_than_granted(&ended);
}

#[test]
fn a_flow_that_opens_connections_seldom_opens_a_few_at_once_and_no_more() {
    let server = server();
    let asked = flow("short_flow", SELDOM);
    let mut client = begun(&server, &asked);
    client.begin();
    std::thread::sleep(Duration::from_millis(100));
    let open: Vec<_> = (0..60)
        .filter_map(|number| {
            // Within what a session may open in a second.
            std::thread::sleep(Duration::from_millis(15));
            numbered(&server, client.token, &asked[0], number)
        })
        .collect();
    assert_eq!(open.len(), 16);
}

/// Waits until the server has counted so many bytes of tests.
fn counted(server: &Server, octets: u64) {
    let begun = Instant::now();
    while server.counts().octets < octets {
        assert!(begun.elapsed() < PATIENCE, "{} bytes counted", server.counts().octets);
        std::thread::sleep(Duration::from_millis(50));
    }
}

#[test]
fn a_swarm_takes_from_the_data_of_its_network() {
    let limits = QuotaLimits { octets_per_day: 3_000_000, counts_private: true, ..QuotaLimits::NONE };
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let quota = Arc::new(Mutex::new(Quota::new(limits)));
    let server = Server::start(ServerOptions { addresses, port: 0, quota, ..ServerOptions::default() }).unwrap();
    let asked = flow("swarm", "direction = \"down\"\nstreams = 4\nrate = \"1Gbit/s\"");
    let mut client = begun(&server, &asked);
    client.begin();
    std::thread::sleep(Duration::from_millis(100));
    let mut stream = numbered(&server, client.token, &asked[0], 1).unwrap();
    let (begun, mut read) = (Instant::now(), 0);
    let mut octets = vec![0; 1 << 20];
    while let Ok(count @ 1..) = stream.read(&mut octets) {
        read += count;
        assert!(begun.elapsed() < PATIENCE, "{read} bytes, and it goes on");
    }
    assert!(read > 3_000_000, "{read} bytes");
    counted(&server, 3_000_000);
}

#[test]
fn an_object_of_a_page_is_counted_while_its_connection_is_open() {
    let server = server();
    let asked = flow("web_page", "");
    let mut client = begun(&server, &asked);
    client.begin();
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    let host = SessionName { label: "www", flow: asked[0].id.0, token: client.token };
    let mut read = 0;
    while read < 1_000_000 {
        write!(stream, "GET /rrul2025/1 HTTP/1.1\r\nHost: {host}\r\n\r\n").unwrap();
        while let Ok(count @ 1..) = stream.read(&mut [0; 4096]) {
            read += count as u64;
        }
        client.say(&ClientMessage::Alive);
    }
    counted(&server, read);
    let still_open = stream.read(&mut [0; 1]).unwrap_err().kind();
    assert_eq!(still_open, std::io::ErrorKind::WouldBlock, "the connection is open");
    assert_eq!(server.connections(), 2, "it takes the place of a connection");
}
