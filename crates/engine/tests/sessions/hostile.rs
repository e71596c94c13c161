//! What a client gets that asks for more than it needs: a bounded part of the server, and no part of other clients' tests.

use std::io::ErrorKind;
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use rrul_engine::control_link::LinkError;
use rrul_engine::server::Server;
use rrul_model::flow::Parameter;
use rrul_model::observation::FlowEventKind;
use rrul_model::random::Random;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};

use crate::common::server;
use crate::prober::Prober;
use crate::stranger::{PATIENCE, Stranger, flows};

const SHORT_FLOW: &str = "title = \"s\"\nphases = { load = \"4s\" }\n[flow.s]\ntype = \"short_flow\"\ndirection = \"up\"\n\
    component = \"realtime\"\nsize = \"1B\"\n";

#[test]
fn a_string_of_a_client_is_not_kept_at_any_length() {
    let server = server();
    let mut client = Stranger::new(&server);
    let mut asked = flows(SHORT_FLOW);
    let text = Parameter::Text("x".repeat(60_000));
    asked[0].parameters.0.insert("congestion_control".to_owned(), text);
    let ServerMessage::Refused { reason, .. } = client.open(&asked, Duration::from_secs(4)) else { panic!("granted") };
    assert_eq!(reason, "a name or value of 60000 bytes in a flow, this server takes 64");
}

#[test]
fn the_events_of_a_flow_are_as_few_as_are_of_use() {
    let server = server();
    let mut client = Stranger::new(&server);
    let asked = flows(SHORT_FLOW);
    assert!(matches!(client.open(&asked, Duration::from_secs(4)), ServerMessage::Opened { .. }));
    client.begin();
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    for _ in 0..60 {
        // Each says that it is the first, for which the server notes what is in force.
        let opening = ClientOpening::new(Purpose::Stream, client.token, asked[0].id.0).encode();
        let mut stream = std::net::TcpStream::connect(address).unwrap();
        std::io::Write::write_all(&mut stream, &[&opening[..], &[0; 4]].concat()).unwrap();
        std::thread::sleep(Duration::from_millis(12));
    }
    client.say(&ClientMessage::Stop);
    let (mut events, mut dropped) = (0, 0);
    while let ServerMessage::Observed(frame) = client.hear() {
        events += frame.events.iter().filter(|event| event.event == FlowEventKind::CongestionControl).count();
        events += frame.events.iter().filter(|event| event.event == FlowEventKind::Marked).count();
        dropped += frame.dropped;
    }
    assert!(events == 16 && dropped > 0, "{events} events, {dropped} left out");
}

#[test]
fn a_flood_of_messages_is_read_at_its_pace() {
    let server = server();
    let mut client = Stranger::new(&server);
    let mut flood = client.control.try_clone().unwrap();
    let begun = Instant::now();
    let flooding = std::thread::spawn(move || {
        for id in 0..2000 {
            let message = ClientMessage::Time { id };
            if rrul_engine::control_link::write(&mut flood, &message, rrul_engine::control_link::Compression::Never)
                .is_err()
            {
                return;
            }
        }
    });
    let mut answered: u32 = 0;
    while begun.elapsed() < Duration::from_secs(3) {
        match client.hear_within(Duration::from_millis(100)) {
            Ok(_) => answered += 1,
            Err(LinkError::Silent(_)) => {}
            Err(error) => panic!("{error}"),
        }
    }
    // 50 in a row, and 50 a second.
    assert!((150..=210).contains(&answered), "{answered} answers in 3 s");
    client.control.shutdown(std::net::Shutdown::Both).unwrap();
    flooding.join().unwrap();
}

/// Bytes in the kernel that the streams of this port have not been able to send.
fn send_queues(port: u16) -> u64 {
    let sockets = std::fs::read_to_string("/proc/net/tcp").unwrap();
    let queue = |line: &str| {
        let mut columns = line.split_whitespace().skip(1);
        let local = columns.next()?;
        let queues = columns.nth(2)?;
        let ours = u16::from_str_radix(local.split(':').nth(1)?, 16).ok()? == port;
        u64::from_str_radix(queues.split(':').next()?, 16).ok().filter(|_| ours)
    };
    sockets.lines().filter_map(queue).sum()
}

#[test]
fn unread_streams_fill_no_memory() {
    let server = server();
    let mut client = Stranger::new(&server);
    let asked = flows(
        "title = \"b\"\nphases = { load = \"4s\" }\n[flow.b]\ntype = \"bulk_tcp\"\ndirection = \"down\"\n\
            component = \"load\"\ncount = 64\n",
    );
    assert_eq!(asked.len(), 64);
    assert!(matches!(client.open(&asked, Duration::from_secs(4)), ServerMessage::Opened { .. }));
    let unread: Vec<_> = asked.iter().map(|flow| client.stream(flow)).collect();
    client.begin();
    std::thread::sleep(Duration::from_millis(2500));
    let queued = send_queues(server.addresses()[0].port());
    drop(unread);
    assert!((1 << 20..40 << 20).contains(&queued), "{queued} bytes wait for 64 unread streams");
}

#[test]
fn silent_connections_keep_out_neither_a_newcomer_nor_the_streams_of_a_session() {
    let server = server();
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    // All of 127.0.0.0/8 is this host. It shares its /24 with one that is silent.
    let mut client = Stranger::try_from(address, [127, 1, 0, 9].into()).unwrap();
    let asked = flows(
        "title = \"b\"\nphases = { load = \"4s\" }\n[flow.b]\ntype = \"bulk_tcp\"\ndirection = \"down\"\n\
            component = \"load\"\ncount = 64\n",
    );
    assert!(matches!(client.open(&asked, Duration::from_secs(4)), ServerMessage::Opened { .. }));
    let silent: Vec<Vec<TcpStream>> = (1..4)
        .map(|network| {
            let connections = (0..200).map(|_| silent_from([127, network, 0, 1].into(), address));
            connections.collect()
        })
        .collect();
    std::thread::sleep(Duration::from_millis(500));
    for connections in &silent {
        let held = connections.iter().filter(|stream| is_held(stream)).count();
        assert_eq!(held, 128, "a quarter of the places for connections that have named no session");
    }
    let streams: Vec<TcpStream> = asked.iter().map(|flow| client.stream(flow)).collect();
    assert_eq!(streams.len(), 64);
    assert!(Stranger::try_from(address, [127, 4, 0, 1].into()).is_some(), "a newcomer of another network");
    assert!(silent.iter().flatten().any(is_held), "all this while they were silent");
}

/// A connection from this address that says nothing.
fn silent_from(from: IpAddr, server: SocketAddr) -> TcpStream {
    let socket = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None).unwrap();
    socket.bind(&SocketAddr::new(from, 0).into()).unwrap();
    socket.connect(&server.into()).unwrap();
    socket.set_nonblocking(true).unwrap();
    socket.into()
}

/// Whether the server still waits for what this connection says.
fn is_held(stream: &TcpStream) -> bool {
    stream.peek(&mut [0]).is_err_and(|error| error.kind() == ErrorKind::WouldBlock)
}

const VOICE: &str = "title = \"v\"\nphases = { load = \"40s\" }\n[flow.v]\ntype = \"voip\"\ndirection = \"down\"\n\
    component = \"realtime\"\n";

/// A socket whose greeting of this flow the server has answered.
fn greeted(server: &Server, client: &Stranger, flow: u16) -> UdpSocket {
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut octets = [0; LEAST_OCTETS];
    TestPacket::request(Kind::Greeting, flow, 0, client.token, 0, 0).write(&mut octets).unwrap();
    socket.send(&octets).unwrap();
    assert_eq!(socket.recv(&mut [0; 2048]).unwrap(), LEAST_OCTETS);
    socket
}

#[test]
fn a_client_that_vanishes_is_sent_nothing_after_ten_seconds_and_forgotten_after_fifteen() {
    let server = server();
    let mut client = Stranger::new(&server);
    client.say(&ClientMessage::Alive);
    let asked = flows(VOICE);
    let answer = client.open(&asked, Duration::from_secs(40));
    assert!(matches!(&answer, ServerMessage::Opened { refused, .. } if refused.is_empty()), "{answer:?}");
    let socket = greeted(&server, &client, asked[0].id.0);
    let greeted = Instant::now();
    client.begin();
    let begun = Instant::now();
    let listening = std::thread::spawn(move || {
        let (mut last, mut packets) = (Instant::now(), 0);
        while greeted.elapsed() < Duration::from_secs(20) {
            if socket.recv(&mut [0; 2048]).is_ok() {
                (last, packets) = (Instant::now(), packets + 1);
            }
        }
        (last.duration_since(greeted).as_secs_f64(), packets)
    });
    while client.hear_within(PATIENCE).is_ok() {}
    let freed = begun.elapsed().as_secs_f64();
    assert!((14.0..16.5).contains(&freed), "freed after {freed} s");
    let (last, packets) = listening.join().unwrap();
    assert!((9.0..10.1).contains(&last), "the last packet came {last} s after the greeting");
    assert!((850..1010).contains(&packets), "{packets} packets of 100 a second");
}

#[test]
fn a_client_that_does_not_say_that_it_is_there_gets_one_clear_line() {
    let server = server();
    let mut older = Stranger::new(&server);
    let answer = older.open(&flows(VOICE), Duration::from_secs(40));
    let ServerMessage::Opened { refused, .. } = answer else { panic!("{answer:?}") };
    let reason = "this server sends packets only to a client that goes on asking for them; update the client";
    assert_eq!(refused.iter().map(|refused| &*refused.reason).collect::<Vec<_>>(), [reason]);
}

/// The connection closes a moment before its session is forgotten.
fn wait_until_free(server: &Server) {
    let deadline = Instant::now() + Duration::from_secs(2);
    while server.sessions() > 0 {
        assert!(Instant::now() < deadline, "{} sessions", server.sessions());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_session_that_asks_for_nothing_is_freed() {
    let server = server();
    let mut idle = Stranger::new(&server);
    let begun = Instant::now();
    // Chatting does not help.
    for id in 0..28 {
        std::thread::sleep(Duration::from_millis(500));
        idle.say(&ClientMessage::Time { id });
        assert!(matches!(idle.hear(), ServerMessage::Time { .. }));
    }
    assert!(idle.hear_within(PATIENCE).is_err());
    let freed = begun.elapsed().as_secs_f64();
    assert!((14.9..16.5).contains(&freed), "freed after {freed} s");
    wait_until_free(&server);
}

/// From an address that has no connection: random bytes, and packets of a session that is open, which another address
/// has proven. Half of the latter bear a token at random.
#[test]
fn a_million_packets_of_an_unproven_address_get_no_byte_back() {
    let server = server();
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let mut prober = Prober::begin(Stranger::new(&server), address, "50ms", Duration::from_millis(100));
    let strange = UdpSocket::bind("127.0.0.9:0").unwrap();
    strange.connect(address).unwrap();
    strange.set_nonblocking(true).unwrap();
    let mut random = Random::new(1, "packets of a stranger");
    let mut octets = [0; 200];
    let mut got = 0;
    for number in 0..1_000_000_u32 {
        let length = if number % 2 == 0 {
            random.fill(&mut octets);
            random.below(octets.len())
        } else {
            let mut token = prober.client.token;
            if number % 4 == 1 {
                random.fill(&mut token.0);
            }
            let packet = TestPacket::request(Kind::Test, prober.flow, 0, token, number, 1);
            packet.write(&mut octets[..LEAST_OCTETS]).unwrap();
            LEAST_OCTETS
        };
        // What the kernel has no room for is not sent.
        let _ = strange.send(&octets[..length]);
        got += strange.recv(&mut [0; 1]).map_or(0, |_| 1);
        if number % 50_000 == 0 {
            prober.send();
            prober.receive();
            prober.client.say(&ClientMessage::Alive);
        }
    }
    std::thread::sleep(Duration::from_millis(200));
    assert_eq!(got + strange.recv(&mut [0; 1]).map_or(0, |_| 1), 0, "packets that came back");
    // The session is still served.
    let before = prober.answered;
    prober.send();
    let begun = Instant::now();
    while prober.answered == before {
        assert!(begun.elapsed() < PATIENCE, "no reply");
        prober.receive();
    }
}
