//! What a hostile server makes of its client: a test that ends, in bounded memory.

use std::fs;
use std::io::Write;
use std::net::TcpStream;
use std::time::Duration;

use rrul_engine::control_link::{Compression, read, write};
use rrul_model::flow::FlowId;
use rrul_model::observation::{ConnectionTotals, FlowEvent, FlowEventKind, ObservationPoint, PacketReceived, Tables};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ServerOpening, Status};

use crate::peer::{Peer, read_opening, welcome};
use crate::program::{Folder, Running, rrul};

/// KiB of memory that a client may take.
const MOST_MEMORY: u64 = 256 << 10;

const PROBES: &str = "title = \"t\"\nphases = { load = \"60s\" }\n[flow.p]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n\
    interval = \"20ms\"\n";

/// Plays a server up to T0, and then reports this frame without end.
fn report_without_end(mut stream: TcpStream, frame: Frame) {
    read_opening(&mut stream);
    stream.write_all(&ServerOpening::answer(Status::Accepted, 1).encode()).unwrap();
    welcome(&mut stream);
    let say = |stream: &mut TcpStream, message: &ServerMessage| write(stream, message, Compression::Allowed);
    let mut now = 0;
    while let Ok(message) = read::<ClientMessage>(&mut stream, Duration::from_secs(10), Compression::Never) {
        let answer = match message {
            ClientMessage::Open { .. } => ServerMessage::Opened { refused: Vec::new(), state: None, ends_load: false },
            ClientMessage::Time { id } => {
                now += 1;
                ServerMessage::Time { id, received: now, sent: now }
            }
            ClientMessage::Begin { .. } => break,
            _ => continue,
        };
        say(&mut stream, &answer).unwrap();
    }
    let observed = ServerMessage::Observed(Box::new(frame));
    let mut octets = Vec::new();
    write(&mut octets, &observed, Compression::Allowed).unwrap();
    while stream.write_all(&octets).is_ok() {}
}

fn frame(tables: Tables, events: Vec<FlowEvent>) -> Frame {
    Frame { point: ObservationPoint::Server, number: 0, dropped: 0, tables, events }
}

/// As many rows as a message has room for, expanded.
fn packets(flows: u32) -> Frame {
    let mut tables = Tables::default();
    for number in 0..400_000_u32 {
        let flow = FlowId((number % flows) as u16);
        tables.push(PacketReceived { flow, sequence: 0, received: TestTime(0), octet: 0 }.into());
    }
    frame(tables, Vec::new())
}

fn connections() -> Frame {
    let mut tables = Tables::default();
    for _ in 0..50_000 {
        tables.push(
            ConnectionTotals {
                flow: FlowId(1),
                connection: 0,
                started: TestTime(0),
                ended: TestTime(0),
                transport: 6,
                options: 0,
                sent_octets: 0,
                retransmitted_octets: 0,
                received_octets: 0,
                sent_segments: 0,
                received_segments: 0,
                sent_data_segments: 0,
                received_data_segments: 0,
                out_of_order: 0,
            }
            .into(),
        );
    }
    frame(tables, Vec::new())
}

fn events() -> Frame {
    let event =
        |_| FlowEvent { flow: FlowId(1), at: TestTime(0), event: FlowEventKind::Marked, detail: "x".repeat(400) };
    frame(Tables::default(), (0..10_000).map(event).collect())
}

type MakeFrame = fn() -> Frame;

const FRAMES: [(&str, MakeFrame); 4] =
    [("packets", || packets(1)), ("flows", || packets(60_000)), ("connections", connections), ("events", events)];

#[test]
fn reports_without_end_take_no_memory_without_end() {
    for (name, frame) in FRAMES {
        let folder = Folder::new();
        folder.write("probes.toml", PROBES);
        let peer = Peer::new(move |stream| report_without_end(stream, frame()));
        let running = Running::start(rrul(&folder, &["run", &peer.name(), "--plan", "probes.toml", "-o", "out"]));
        let mut memory = 0;
        while let Some(most) = peak_memory(running.process()) {
            memory = most;
            std::thread::sleep(Duration::from_millis(10));
        }
        let ended = running.end();
        println!("{name}: at most {} MiB, ended after {:?}", memory >> 10, ended.took);
        assert_eq!(ended.code, Some(1), "{name}: {ended:#?}");
        assert!(memory > 0 && memory <= MOST_MEMORY, "{name}: {memory} KiB");
        assert!(ended.took < Duration::from_secs(30), "{name}: {:?}", ended.took);
    }
}

/// The most memory that a process has had, KiB; `None` once it has ended.
fn peak_memory(process: u32) -> Option<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    line.trim_matches(|c: char| !c.is_ascii_digit()).parse().ok()
}
