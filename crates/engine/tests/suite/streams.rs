//! Flows of new connections and of records over the loopback interface, and what a flood of connections does to others.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use crate::common::{options, plan, record, server};
use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::{Connection, FlowEventKind, ObservationPoint, PacketReceived, ProbeSent};
use rrul_model::phase::LoadEnd;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_proto::control::{ClientMessage, FrameHeader, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::token::Token;

const STREAMS: &str = r#"
title = "connections and records"
phases = { idle = "2s" }
[flow.connect]
type = "tcp_connect"
component = "realtime"
interval = "50ms"
each.class = ["BE", "EF"]
[flow.records]
type = "tcp_records"
component = "realtime"
interval = "10ms"
each.direction = ["down", "up"]
"#;

fn of_type<'a>(recording: &'a Recording, name: &'a str) -> impl Iterator<Item = &'a FlowSpec> {
    recording.header.flows.iter().filter(move |flow| flow.flow_type == name)
}

fn no_flow_failed(recording: &Recording) {
    let failed: Vec<_> = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
}

#[test]
fn every_connection_is_opened_on_schedule_answered_and_noted_once() {
    let server = server();
    let recording = record(&options(&server, plan(STREAMS))).unwrap();
    no_flow_failed(&recording);
    for flow in of_type(&recording, "tcp_connect") {
        let rows: Vec<Connection> = recording
            .tables_of(ObservationPoint::Client)
            .flat_map(|tables| tables.connection.rows())
            .filter(|row| row.flow == flow.id)
            .collect();
        // One in each 50 ms of 2 s; a stalled host leaves some out.
        assert!((35..=40).contains(&rows.len()), "{}: {} connections", flow.name, rows.len());
        let mut numbers: Vec<u32> = rows.iter().map(|row| row.sequence).collect();
        numbers.sort_unstable();
        assert_eq!(numbers, (0..rows.len() as u32).collect::<Vec<_>>());
        for row in rows {
            assert_eq!((row.reached, row.syn_retransmits), (Connection::ANSWERED, 0), "{row:?}");
            assert!(row.started >= row.scheduled && row.connect.0 > 0 && row.answer >= row.connect, "{row:?}");
            assert!(flow.window.contains(row.scheduled), "{row:?}");
        }
    }
}

#[test]
fn every_record_written_is_read_in_order_with_a_stamp_at_each_end() {
    let server = server();
    let recording = record(&options(&server, plan(STREAMS))).unwrap();
    no_flow_failed(&recording);
    for flow in of_type(&recording, "tcp_records") {
        let (sender, receiver) = match flow.direction.unwrap() {
            Direction::Up => (ObservationPoint::Client, ObservationPoint::Server),
            Direction::Down => (ObservationPoint::Server, ObservationPoint::Client),
        };
        let sent: Vec<ProbeSent> = recording
            .tables_of(sender)
            .flat_map(|tables| tables.probe_sent.rows())
            .filter(|row| row.flow == flow.id)
            .collect();
        let received: Vec<PacketReceived> = recording
            .tables_of(receiver)
            .flat_map(|tables| tables.packet_received.rows())
            .filter(|row| row.flow == flow.id)
            .collect();
        assert!((180..=200).contains(&sent.len()), "{}: {} of 200 records sent", flow.name, sent.len());
        let numbers = |rows: &[PacketReceived]| rows.iter().map(|row| row.sequence).collect::<Vec<_>>();
        assert_eq!(numbers(&received), (0..sent.len() as u32).collect::<Vec<_>>(), "{}", flow.name);
        // Both ends read the same clock, their T0 apart by no more than half the exchange that placed it.
        let apart = recording.header.clocks.exchange_round_trip;
        for (sent, received) in sent.iter().zip(&received) {
            assert!(received.received.0 + apart >= sent.sent.0, "{sent:?} {received:?}");
        }
    }
}

/// Control messages by hand.
struct ByHand {
    control: TcpStream,
    token: Token,
}

impl ByHand {
    /// A session with the flows of [`STREAMS`] over IPv4: connections are 0 and 1, records down 2 and up 3.
    fn open(server: &rrul_engine::server::Server) -> Self {
        let mut control = TcpStream::connect(server.addresses()[0]).unwrap();
        assert_eq!(greet(&mut control, Purpose::Control, Token::NONE), Some(Status::Accepted));
        let ServerMessage::Welcome { token, .. } = hear(&mut control) else { panic!("no welcome") };
        let flows = plan(STREAMS).flows(&[rrul_model::flow::AddressFamily::Ipv4]);
        let open =
            ClientMessage::Open { flows, length: Duration::from_secs(2), sample_interval: Duration::from_secs(1) };
        let mut by_hand = Self { control, token };
        by_hand.say(&open);
        assert!(matches!(hear(&mut by_hand.control), ServerMessage::Opened { refused, .. } if refused.is_empty()));
        by_hand
    }

    /// One connection of the flow with this number.
    fn connect(&self, flow: u16) -> (TcpStream, Option<Status>) {
        let mut stream = TcpStream::connect(self.control.peer_addr().unwrap()).unwrap();
        let status = greet_for(&mut stream, Purpose::Stream, self.token, flow);
        (stream, status)
    }

    fn say(&mut self, message: &ClientMessage) {
        let octets = serde_json::to_vec(message).unwrap();
        let header = FrameHeader { length: octets.len(), compressed: false };
        self.control.write_all(&header.encode().unwrap()).unwrap();
        self.control.write_all(&octets).unwrap();
    }
}

fn greet(stream: &mut TcpStream, purpose: Purpose, token: Token) -> Option<Status> {
    greet_for(stream, purpose, token, 0)
}

fn greet_for(stream: &mut TcpStream, purpose: Purpose, token: Token, flow: u16) -> Option<Status> {
    stream.write_all(&ClientOpening::new(purpose, token, flow).encode()).unwrap();
    let mut answer = [0; SERVER_OCTETS];
    stream.read_exact(&mut answer).ok()?;
    Some(ServerOpening::decode(&answer).unwrap().status)
}

fn hear(stream: &mut TcpStream) -> ServerMessage {
    let mut header = [0; 4];
    stream.read_exact(&mut header).unwrap();
    let header = FrameHeader::decode(header).unwrap();
    let mut octets = vec![0; header.length];
    stream.read_exact(&mut octets).unwrap();
    let octets = if header.compressed { zstd::stream::decode_all(&*octets).unwrap() } else { octets };
    serde_json::from_slice(&octets).unwrap()
}

#[test]
fn a_flood_of_connections_is_cut_to_the_cap_and_harms_no_other_session() {
    let server = server();
    let flooder = ByHand::open(&server);
    let other = ByHand::open(&server);
    let began = Instant::now();
    let (mut accepted, mut busy) = (0, 0);
    while began.elapsed() < Duration::from_secs(1) {
        match flooder.connect(0).1 {
            Some(Status::Accepted) => accepted += 1,
            Some(Status::Busy) => busy += 1,
            other => panic!("{other:?}"),
        }
    }
    let cap = f64::from(rrul_proto::limits::Limits::default().connections_per_second);
    let most = cap * (0.25 + began.elapsed().as_secs_f64()) + 1.0;
    assert!(busy > 0, "{accepted} connections are no flood");
    assert!(f64::from(accepted) <= most, "{accepted} accepted, the cap grants {most}");
    assert_eq!(other.connect(0).1, Some(Status::Accepted), "another session has its own share");
    drop((flooder, other));
    // Neither connections nor sessions are left.
    let deadline = Instant::now() + Duration::from_secs(5);
    while (server.sessions(), server.connections()) != (0, 0) {
        assert!(Instant::now() < deadline, "{} connections left", server.connections());
        std::thread::sleep(Duration::from_millis(10));
    }
}

#[test]
fn a_flood_of_records_ends_its_flow_and_no_other() {
    let server = server();
    let mut session = ByHand::open(&server);
    let (mut records, status) = session.connect(3);
    assert_eq!(status, Some(Status::Accepted));
    session.say(&ClientMessage::Begin { origin: 0 });
    // At one record of 100 bytes in 10 ms, two hundred would be due in the whole test.
    for number in 0..1000_u32 {
        let mut record = [0; 100];
        record[..4].copy_from_slice(&number.to_be_bytes());
        // The server may have closed the stream already.
        let _ = records.write_all(&record);
    }
    let failed = loop {
        match hear(&mut session.control) {
            ServerMessage::Observed(frame) => {
                if let Some(event) = frame.events.iter().find(|event| event.event == FlowEventKind::Failed) {
                    break event.clone();
                }
            }
            other => panic!("{other:?}"),
        }
    };
    assert_eq!((failed.flow.0, failed.detail.as_str()), (3, "ended early: more records than its interval allows"));
    assert_eq!(session.connect(0).1, Some(Status::Accepted), "the session goes on");
}

#[test]
fn a_load_ends_once_while_the_test_runs_and_within_it() {
    let second = |n: i64| TestTime(n * 1_000_000_000);
    let end_load = |at, planned| ClientMessage::EndLoad(LoadEnd { at: second(at), planned: second(planned) });
    let server = server();
    let closed = |session: &mut ByHand| {
        session.control.set_read_timeout(Some(Duration::from_secs(3))).unwrap();
        let mut rest = Vec::new();
        session.control.read_to_end(&mut rest).is_ok()
    };
    let mut session = ByHand::open(&server);
    session.say(&end_load(1, 2));
    assert!(closed(&mut session), "before the test");
    for (at, planned) in [(2, 1), (-1, 1), (1, 3)] {
        let mut session = ByHand::open(&server);
        session.say(&ClientMessage::Begin { origin: 1_000_000_000 });
        session.say(&end_load(at, planned));
        assert!(closed(&mut session), "from {at} to {planned} s in a test of 2 s");
    }
    let mut session = ByHand::open(&server);
    session.say(&ClientMessage::Begin { origin: 1_000_000_000 });
    session.say(&end_load(1, 2));
    session.say(&end_load(1, 2));
    assert!(closed(&mut session), "twice");
}
