//! A load that the caller ends before its planned end: both ends stop, phase `after` follows, the recording says so.

use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_engine::client::{Families, MemoryRecorder, RunObserver, RunOptions, run_until};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::phase::Phase;
use rrul_model::recording::{End, Frame, Header, Recording};
use rrul_model::time::TestTime;
use rrul_proto::control::{FRAME_HEADER_OCTETS, FrameHeader};
use rrul_proto::opening::{CLIENT_OCTETS, SERVER_OCTETS};

use crate::common::{options, plan, server};

/// Every kind of flow that loads or runs beside a load, each to the end of the load, and probes to the end of the test.
const LONG: &str = r#"
title = "a load of two minutes"
phases = { idle = "500ms", load = "120s", after = "1s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
pacing_rate = "20Mbit/s"
each.direction = ["up", "down"]
[flow.records]
type = "tcp_records"
component = "realtime"
during = ["idle", "load"]
each.direction = ["up", "down"]
[flow.voip]
type = "voip"
component = "voip"
during = ["load"]
each.direction = ["up", "down"]
[flow.udp_rr]
type = "udp_rr"
component = "realtime"
during = ["load"]
[flow.tcp_rr]
type = "tcp_rr"
component = "realtime"
during = ["load"]
[flow.video]
type = "video_bursts"
component = "load"
during = ["load"]
[flow.probe_load]
type = "udp_probe"
component = "realtime"
during = ["load"]
class = "EF"
[flow.probe]
type = "udp_probe"
component = "realtime"
"#;

/// Ends the load two seconds after T0.
struct Impatient<'a> {
    recorder: MemoryRecorder,
    end_load: &'a AtomicBool,
}

impl RunObserver for Impatient<'_> {
    fn header(&mut self, header: &Header) {
        self.recorder.header(header);
    }

    fn frame(&mut self, frame: Frame) {
        self.recorder.frame(frame);
    }

    fn tick(&mut self, now: TestTime) {
        if now > TestTime::ZERO + Duration::from_secs(2) {
            self.end_load.store(true, Ordering::Relaxed);
        }
    }

    fn end(&mut self, end: &End) {
        self.recorder.end(end);
    }
}

/// Times at which a flow was seen to send, by either end.
fn sent(recording: &Recording) -> impl Iterator<Item = (&str, TestTime)> {
    let packets = recording.frames.iter().flat_map(|frame| frame.tables.probe_sent.rows());
    let exchanges = recording.frames.iter().flat_map(|frame| frame.tables.transaction.rows());
    packets
        .map(|row| (row.flow, row.sent))
        .chain(exchanges.map(|row| (row.flow, row.started)))
        .map(|(flow, at)| (recording.flow(flow).unwrap().name.as_str(), at))
}

#[test]
fn a_load_ended_early_stops_at_both_ends_and_phase_after_follows() {
    let server = server();
    let (stop, end_load) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut observer = Impatient { recorder: MemoryRecorder::default(), end_load: &end_load };
    run_until(&options(&server, plan(LONG)), &mut observer, &stop, &end_load).unwrap();
    let recording = observer.recorder.recording().unwrap();
    let failed: Vec<_> = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed).collect();
    assert!(failed.is_empty(), "{failed:?}");
    let end = recording.end.as_ref().unwrap();
    assert_eq!(end.partial, None);
    let load = recording.loaded().unwrap();
    let after = recording.phase(Phase::After).unwrap();
    assert_eq!((Some(load.to), after.from, after.length()), (end.load_ended, load.to, Duration::from_secs(1)));
    assert!((2.5..4.5).contains(&load.to.seconds()), "the load ended at {}", load.to);
    assert!(end.at < after.to + Duration::from_secs(5), "the test ended at {}", end.at);
    // Threads wake for what is due, and a record or an exchange may be under way.
    let slack = Duration::from_millis(300);
    for (flow, at) in sent(&recording).filter(|(flow, _)| !flow.starts_with("udp_probe/BE/")) {
        assert!(at < load.to + slack, "{flow} sent at {at}, the load ended at {}", load.to);
    }
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let stopped =
            recording.events().filter(|(seen, event)| *seen == point && event.event == FlowEventKind::Stopped);
        for (_, event) in stopped {
            let late = event.at.since(load.to).0;
            // A player has no more to fetch when its next segment would come after the end.
            let fetches = recording.flow(event.flow).is_some_and(|flow| flow.name.starts_with("video_bursts"));
            let in_time = late < 300_000_000 && (late > -50_000_000 || fetches);
            assert!(in_time, "{point:?}: {event:?}, the load ended at {}", load.to);
        }
    }
    let probes = sent(&recording).filter(|(flow, _)| flow.starts_with("udp_probe/BE/"));
    let last_probe = probes.map(|(_, at)| at).max().unwrap();
    assert!(last_probe > after.to - Duration::from_millis(200), "the last probe was sent at {last_probe}");
    assert!(last_probe < after.to, "a probe was sent at {last_probe}, after the end");
}

#[test]
fn a_load_that_is_not_ended_takes_its_time() {
    let server = server();
    let short = LONG.replace("120s", "1s").replace("500ms", "200ms");
    let recording = crate::common::record(&options(&server, plan(&short))).unwrap();
    assert_eq!(recording.end.as_ref().unwrap().load_ended, None);
    assert_eq!(recording.loaded().unwrap().length(), Duration::from_secs(1));
}

/// A server as it was before it could end a load: what it announces is taken out of its messages on their way.
fn older(server: SocketAddr) -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    // It ends with the test program: no client connects any more, and each connection ends with its peers.
    std::thread::spawn(move || {
        for client in listener.incoming() {
            let (mut client, mut server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            let mut opening = [0; CLIENT_OCTETS];
            if client.read_exact(&mut opening).is_err() || server.write_all(&opening).is_err() {
                continue;
            }
            // PROTOCOL.md section 2.
            let is_control = opening[6] == 1;
            let (mut from, mut to) = (client.try_clone().unwrap(), server.try_clone().unwrap());
            std::thread::spawn(move || {
                let _ = std::io::copy(&mut from, &mut to);
                let _ = to.shutdown(std::net::Shutdown::Write);
            });
            std::thread::spawn(move || {
                let _ = if is_control {
                    without_announcement(&mut server, &mut client)
                } else {
                    std::io::copy(&mut server, &mut client).map(drop)
                };
                let _ = client.shutdown(std::net::Shutdown::Both);
            });
        }
    });
    address
}

/// Hands on what a server says, frame by frame.
fn without_announcement(from: &mut TcpStream, to: &mut TcpStream) -> std::io::Result<()> {
    let mut answer = [0; SERVER_OCTETS];
    from.read_exact(&mut answer)?;
    to.write_all(&answer)?;
    loop {
        let mut header = [0; FRAME_HEADER_OCTETS];
        from.read_exact(&mut header)?;
        let FrameHeader { length, compressed } = FrameHeader::decode(header).unwrap();
        let mut payload = vec![0; length];
        from.read_exact(&mut payload)?;
        let plain = if compressed { zstd::bulk::decompress(&payload, 8 << 20)? } else { payload.clone() };
        let text = String::from_utf8(plain).unwrap();
        if text.contains("\"ends_load\":true") {
            payload = text.replace(",\"ends_load\":true", "").into_bytes();
            header = FrameHeader { length: payload.len(), compressed: false }.encode().unwrap();
        }
        to.write_all(&header)?;
        to.write_all(&payload)?;
    }
}

#[test]
fn an_older_server_is_stopped_and_the_recording_says_why() {
    let server = server();
    let plan = plan(
        "title = \"streams alone\"\noverhead = \"none\"\nphases = { load = \"120s\", after = \"1s\" }\n[flow.bulk]\n\
         type = \"bulk_tcp\"\ncomponent = \"load\"\nduring = [\"load\"]\npacing_rate = \"20Mbit/s\"\n\
         each.direction = [\"up\", \"down\"]\n",
    );
    let families = Families::Only(AddressFamily::Ipv4);
    let options = RunOptions { server: older(server.addresses()[0]).to_string(), families, ..options(&server, plan) };
    let (stop, end_load) = (AtomicBool::new(false), AtomicBool::new(false));
    let mut observer = Impatient { recorder: MemoryRecorder::default(), end_load: &end_load };
    run_until(&options, &mut observer, &stop, &end_load).unwrap();
    let end = observer.recorder.recording().unwrap().end.unwrap();
    let partial = end.partial.unwrap();
    assert!(partial.contains("the server is too old"), "{partial}");
    assert_eq!(end.load_ended, None);
    assert!(end.at < TestTime::ZERO + Duration::from_secs(6), "{end:?}", end = end.at);
}
