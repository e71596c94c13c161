//! A load that the caller ends before its planned end: both ends stop, phase `after` follows, the recording says so.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_engine::client::{MemoryRecorder, RunObserver, run_until};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::phase::Phase;
use rrul_model::recording::{End, Frame, Header, Recording};
use rrul_model::time::TestTime;

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
