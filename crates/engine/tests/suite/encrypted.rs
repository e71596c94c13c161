//! Tests over an encrypted control connection, and who may open streams of them.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::time::{Duration, Instant};

use rrul_engine::client::{Encryption, ExpectedKey, RunError, RunOptions, ServerTrust, TrustError};
use rrul_engine::control_link::{self, Compression, ControlStream, Fingerprint, ServerKey};
use rrul_engine::server::{PlainClients, Server, ServerOptions};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::FlowEventKind;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Offers, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::stream_key::StreamKey;
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

use crate::common::{options, plan, record};

const PATIENCE: Duration = Duration::from_secs(10);

/// Every flow type that opens connections with rrul's opening, and probes.
const STREAMS: &str = r#"
title = "streams"
[phases]
idle = "300ms"
load = "1500ms"
after = "300ms"
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
pacing_rate = "40Mbit/s"
each.direction = ["up", "down"]
[flow.probe]
type = "udp_probe"
component = "realtime"
interval = "10ms"
[flow.connect]
type = "tcp_connect"
component = "realtime"
interval = "100ms"
[flow.short]
type = "short_flow"
component = "realtime"
interval = "500ms"
direction = "down"
[flow.tcp]
type = "tcp_rr"
component = "realtime"
"#;

fn server_with(plain: PlainClients) -> (Server, Fingerprint) {
    let key = ServerKey::from_pem(&ServerKey::generate().unwrap()).unwrap();
    let addresses = vec![Ipv4Addr::LOCALHOST.into(), Ipv6Addr::LOCALHOST.into()];
    let fingerprint = key.fingerprint().clone();
    let options = ServerOptions { addresses, port: 0, key: Some(key), plain, ..ServerOptions::default() };
    (Server::start(options).unwrap(), fingerprint)
}

fn expecting(fingerprint: Fingerprint) -> ServerTrust {
    let expected = Some(ExpectedKey { fingerprint, remedy: "ask".to_owned() });
    ServerTrust { encryption: Encryption::Required, expected, ..ServerTrust::default() }
}

#[test]
fn a_test_with_an_encrypted_control_connection_is_complete_over_both_families() {
    let (server, fingerprint) = server_with(PlainClients::Refused);
    let mut options = options(&server, plan(STREAMS));
    options.trust = expecting(fingerprint);
    let recording = record(&options).unwrap();
    assert!(recording.header.encrypted);
    assert_eq!(recording.header.families, AddressFamily::ALL);
    assert_eq!(recording.end.as_ref().unwrap().partial, None);
    let failed: Vec<_> = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let arrived: usize = recording.frames.iter().map(|frame| frame.tables.packet_received.len()).sum();
    assert!(arrived > 200, "{arrived} probes at the server");
}

#[test]
fn another_key_and_a_client_that_does_not_encrypt_are_refused() {
    let (server, _) = server_with(PlainClients::Refused);
    let (_, other) = server_with(PlainClients::Refused);
    let mut options = options(&server, plan(STREAMS));
    options.trust = expecting(other);
    let refused = |options: &RunOptions| match record(options).unwrap_err() {
        RunError::Trust { source, .. } => source,
        other => panic!("{other}"),
    };
    assert!(matches!(refused(&options), TrustError::OtherKey { .. }));
    options.trust = ServerTrust { encryption: Encryption::Never, ..ServerTrust::default() };
    assert_eq!(refused(&options), TrustError::EncryptedOnly);
    let (server, _) = server_with(PlainClients::Served);
    let options = RunOptions { trust: options.trust, ..crate::common::options(&server, plan(STREAMS)) };
    assert!(!record(&options).unwrap().header.encrypted);
}

/// Says what a connection is for, and reads the answer.
fn open(server: SocketAddr, opening: ClientOpening) -> (TcpStream, ServerOpening) {
    let mut stream = TcpStream::connect(server).unwrap();
    stream.write_all(&opening.encode()).unwrap();
    let mut answer = [0; SERVER_OCTETS];
    stream.read_exact(&mut answer).unwrap();
    (stream, ServerOpening::decode(&answer).unwrap())
}

/// A test of [`STREAMS`] that has been opened and not begun.
struct Session<F> {
    control: ControlStream,
    token: Token,
    seals: bool,
    /// What both ends have said in the clear.
    greetings: Vec<u8>,
    /// The number of the first flow of a type.
    flow: F,
}

fn session(address: SocketAddr, opening: ClientOpening) -> Session<impl Fn(&str) -> u16> {
    let (stream, answer) = open(address, opening);
    assert_eq!(answer.status, Status::Secure);
    let (mut control, _) = ControlStream::connect(stream, Instant::now() + PATIENCE).unwrap();
    let welcome: ServerMessage = control_link::read(&mut control, PATIENCE, Compression::Allowed).unwrap();
    let ServerMessage::Welcome { token, seals, .. } = welcome else { panic!("no welcome") };
    let flows = plan(STREAMS).flows(&[AddressFamily::Ipv4]);
    let of_test = flows.clone();
    let flow = move |kind: &str| of_test.iter().find(|flow| flow.flow_type == kind).unwrap().id.0;
    let test = ClientMessage::Open { flows, length: Duration::from_secs(3), sample_interval: Duration::from_secs(1) };
    control_link::write(&mut control, &test, Compression::Never).unwrap();
    let opened: ServerMessage = control_link::read(&mut control, PATIENCE, Compression::Allowed).unwrap();
    assert!(matches!(opened, ServerMessage::Opened { .. }), "{opened:?}");
    let greetings = [&opening.encode()[..], &answer.encode()].concat();
    Session { control, token, seals, greetings, flow }
}

#[test]
fn only_the_client_opens_streams_of_an_encrypted_session() {
    let (server, _) = server_with(PlainClients::Refused);
    let address = server.addresses()[0];
    let opening = ClientOpening::control(Offers::TLS);
    let Session { control, token, greetings, flow, .. } = session(address, opening);
    let bulk = flow("bulk_tcp");
    // The token, which test packets show to everybody on the path.
    for purpose in [Purpose::Stream, Purpose::Presence] {
        assert_eq!(open(address, ClientOpening::new(purpose, token, bulk)).1.status, Status::Unknown);
    }
    let key = StreamKey::new(&control.export("EXPORTER-rrul-streams", &greetings).unwrap());
    let sealed = |purpose, flow| key.seal(ClientOpening::new(purpose, Token::NONE, flow), token);
    assert_eq!(open(address, sealed(Purpose::Presence, 0)).1.status, Status::Accepted);
    let (_stream, answer) = open(address, sealed(Purpose::Stream, bulk));
    assert_eq!(answer.status, Status::Accepted);
    assert_eq!(open(address, sealed(Purpose::Stream, bulk)).1.status, Status::Unknown, "the flow has its connection");
}

#[test]
fn a_forged_packet_is_not_answered_and_changes_no_figure() {
    let (server, _) = server_with(PlainClients::Refused);
    let address = server.addresses()[0];
    let opening = ClientOpening::control(Offers::TLS.and(Offers::SEALS));
    let Session { control, token, seals, greetings, flow, .. } = session(address, opening);
    assert!(seals);
    let seal = PacketSeal::of_client(token, control.packet_secrets(&greetings).as_ref());
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    let octets = |packet: TestPacket, seal: &PacketSeal| {
        let mut octets = [0; LEAST_OCTETS];
        packet.write(&mut octets).unwrap();
        seal.seal(&mut octets);
        octets
    };
    let ask = |request: &[u8]| {
        socket.send(request).unwrap();
        let mut reply = [0; LEAST_OCTETS];
        let length = socket.recv(&mut reply).ok()?;
        assert!(seal.opens(&reply[..length]), "sealed by the server");
        Some(TestPacket::read(&reply).unwrap())
    };
    let probe = flow("udp_probe");
    let greeting = octets(seal.greeting(probe, 0), &seal);
    assert_eq!(ask(&greeting).unwrap().kind, Kind::GreetingReply);
    let test = |sequence| TestPacket::request(Kind::Test, probe, 0, token, sequence, 5);
    assert_eq!(ask(&octets(test(0), &seal)).unwrap().reflector_count, 1);
    // With all that the path shows: the session's name, its flow, the next number, and the token, which lookups bear.
    assert_eq!(ask(&octets(test(1), &token.into())), None);
    let mut changed = octets(test(1), &seal);
    changed[40] ^= 1;
    assert_eq!(ask(&changed), None);
    assert_eq!(ask(&greeting), None, "a repeated greeting");
    let next = ask(&octets(test(1), &seal)).unwrap();
    assert_eq!((next.reflector_count, next.window.bits), (2, 0b11));
    assert_eq!(ask(&octets(test(1), &seal)).unwrap().reflector_count, 3, "a copy is counted as one");
    let counts = server.counts();
    assert_eq!((counts.forged, counts.replayed), (2, 1));
}

#[test]
fn a_client_that_does_not_seal_is_served_as_before() {
    let (server, _) = server_with(PlainClients::Refused);
    let address = server.addresses()[0];
    let Session { control: _control, token, seals, flow, .. } = session(address, ClientOpening::control(Offers::TLS));
    assert!(!seals);
    let socket = UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    socket.set_read_timeout(Some(PATIENCE)).unwrap();
    let mut octets = [0; LEAST_OCTETS];
    TestPacket::request(Kind::Test, flow("udp_probe"), 0, token, 0, 5).write(&mut octets).unwrap();
    socket.send_to(&octets, address).unwrap();
    socket.recv(&mut octets).unwrap();
    assert_eq!(TestPacket::read(&octets).unwrap().token, token);
}
