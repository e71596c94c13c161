//! Whole tests over the loopback interface: every flow type, both families, and what the recording then contains.

use std::collections::{BTreeMap, BTreeSet};

use crate::common::{options, plan, record, server};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;

const EVERYTHING: &str = r#"
title = "every flow type"
[phases]
idle = "300ms"
load = "1500ms"
after = "300ms"
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
pacing_rate = "80Mbit/s"
each.direction = ["up", "down"]
each.class = ["BE", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
interval = "10ms"
each.class = ["EF", "BE"]
[flow.udp]
type = "udp_rr"
component = "realtime"
class = "EF"
[flow.tcp]
type = "tcp_rr"
component = "realtime"
class = "BK"
"#;

fn failures(recording: &Recording) -> Vec<String> {
    let failed = |(point, event): (ObservationPoint, &rrul_model::observation::FlowEvent)| {
        let name = &recording.flow(event.flow)?.name;
        (event.event == FlowEventKind::Failed).then(|| format!("{point:?} {name}: {}", event.detail))
    };
    recording.events().filter_map(failed).collect()
}

#[test]
fn a_whole_test_over_both_families_is_recorded_from_both_ends() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    assert_eq!(recording.header.families, AddressFamily::ALL);
    assert_eq!(recording.header.flows.len(), 8 + 4 + 2 + 2);
    assert_eq!(recording.end.as_ref().unwrap().partial, None);
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let numbers: Vec<u32> = recording.frames_of(point).map(|frame| frame.number).collect();
        assert_eq!(numbers, (0..numbers.len() as u32).collect::<Vec<_>>(), "no frame of {point:?} is missing");
        assert!(recording.frames_of(point).all(|frame| frame.dropped == 0));
    }
    for flow in recording.header.flows.iter().filter(|flow| flow.flow_type == "bulk_tcp") {
        let receiver =
            if flow.direction == Some(Direction::Up) { ObservationPoint::Server } else { ObservationPoint::Client };
        let octets = recording.tables_of(receiver).flat_map(|tables| tables.octets_received.rows());
        let most = octets.filter(|row| row.flow == flow.id).map(|row| row.octets.0).max().unwrap_or(0);
        // 1.5 s at 80 Mbit/s are 15 MB, of payload or of packets as the kernel counts, within a fifth.
        assert!((10_000_000..18_000_000).contains(&most), "{}: {most} bytes", flow.name);
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let rows = recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows());
            assert!(rows.filter(|row| row.flow == flow.id).count() >= 14, "{}: TCP_INFO at {point:?}", flow.name);
        }
    }
}

#[test]
fn no_flow_fails_where_the_last_phase_ends_early() {
    let more = "[flow.records]\ntype = \"tcp_records\"\ncomponent = \"realtime\"\neach.direction = [\"up\", \"down\"]\n\
        [flow.connect]\ntype = \"tcp_connect\"\ncomponent = \"realtime\"\ninterval = \"50ms\"\n";
    let text = EVERYTHING.replace("after = \"300ms\"", "after = \"1s\"\nafter_at_most = \"20s\"") + more;
    let server = server();
    let recording = record(&options(&server, plan(&text))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    let end = recording.end.as_ref().unwrap();
    let last = end.phases_ended.expect("the line was idle again");
    let client = || recording.tables_of(ObservationPoint::Client);
    // The time was taken a moment before the flows learn of it.
    let over = last + std::time::Duration::from_millis(200);
    let late = client().flat_map(|tables| tables.transaction.rows()).filter(|row| row.started > over).count();
    assert_eq!(late, 0, "transactions after the end");
    let late = client().flat_map(|tables| tables.connection.rows()).filter(|row| row.scheduled > over).count();
    assert_eq!(late, 0, "connections after the end");
}

#[test]
fn a_last_phase_that_ends_early_ends_flows_that_ask() {
    let text = EVERYTHING.replace("after = \"300ms\"", "after = \"1s\"\nafter_at_most = \"20s\"");
    let server = server();
    let recording = record(&options(&server, plan(&text))).unwrap();
    let end = recording.end.as_ref().unwrap();
    let last = end.phases_ended.expect("the line was idle again");
    // Had a flow gone on, the client would have waited for it for 3.5 s.
    assert!(end.at < last + std::time::Duration::from_secs(3), "{last} to {}", end.at);
}

/// The default test is the largest that is usual, and over a fast line nothing of it is left out.
#[test]
fn all_that_the_default_test_observes_has_room() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../plans");
    let vocabulary = rrul_engine::vocabulary();
    let find = |name: &str| {
        let path = format!("{folder}/{name}.toml");
        Some((path.clone(), std::fs::read_to_string(path).ok()?))
    };
    let surroundings = Surroundings { flow_types: &vocabulary, find: &find };
    let phases =
        "{ survey = \"1s\", idle = \"1s\", load = \"3s\", web = \"2s\", after = \"1s\", after_at_most = \"1s\" }";
    // Unpaced, the load would take all of the processors.
    let text =
        format!("title = \"t\"\nextends = \"rrul\"\nphases = {phases}\n[flow.bulk]\npacing_rate = \"20Mbit/s\"\n");
    let plan = TestPlan::read("test", "test.toml", &text, &[], &surroundings).unwrap();
    let server = server();
    let recording = record(&options(&server, plan)).unwrap();
    assert_eq!(recording.header.families, AddressFamily::ALL);
    let dropped: Vec<u64> = recording.frames.iter().map(|frame| frame.dropped).filter(|count| *count > 0).collect();
    assert_eq!(dropped, [0; 0], "observations without room");
}

#[test]
fn every_probe_is_stamped_by_the_kernel_at_both_ends_and_marked_as_asked() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    let client = || recording.tables_of(ObservationPoint::Client);
    for flow in recording.header.flows.iter().filter(|flow| flow.flow_type == "udp_probe") {
        let sent = client().flat_map(|tables| tables.probe_sent.rows()).filter(|row| row.flow == flow.id).count();
        let stamped = client().flat_map(|tables| tables.probe_stamped.rows()).filter(|row| row.flow == flow.id).count();
        let followed =
            client().flat_map(|tables| tables.reply_stamped.rows()).filter(|row| row.flow == flow.id).count();
        let received: Vec<_> =
            client().flat_map(|tables| tables.probe_received.rows()).filter(|row| row.flow == flow.id).collect();
        // A machine that stands still for an interval leaves its packet out.
        assert!((150..=210).contains(&sent), "{}: {sent} of 210 packets sent", flow.name);
        assert_eq!((stamped, received.len()), (sent, sent), "{}: stamped and answered", flow.name);
        // The last reply's stamp has no later reply to travel in, and where a server that woke late reflects packets in
        // one go the next reply leaves before the stamp is there.
        let in_one_go =
            received.windows(2).filter(|two| two[1].reflector_received.since(two[0].reflector_sent).0 < 1_000_000);
        assert!(followed + 2 + in_one_go.count() >= sent, "{}: {followed} follow-ups for {sent}", flow.name);
        assert!(
            received.iter().all(|row| row.reflector_octet == flow.class.octet() && row.octet == flow.class.octet())
        );
        assert!(received.iter().all(|row| row.reflector_sent >= row.reflector_received && row.read >= row.received));
    }
}

#[test]
fn the_server_reports_every_test_packet_that_arrived() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    let arrived = |flow: FlowId| -> Vec<(u32, TestTime, u8)> {
        let rows = recording.tables_of(ObservationPoint::Server).flat_map(|tables| tables.packet_received.rows());
        rows.filter(|row| row.flow == flow).map(|row| (row.sequence, row.received, row.octet)).collect()
    };
    for flow in &recording.header.flows {
        let client = || recording.tables_of(ObservationPoint::Client);
        match &*flow.flow_type {
            "udp_probe" => {
                let rows = client().flat_map(|tables| tables.probe_received.rows()).filter(|row| row.flow == flow.id);
                let replies: Vec<_> =
                    rows.map(|row| (row.sequence, row.reflector_received, row.reflector_octet)).collect();
                assert!(replies.len() > 150, "{}: {} replies", flow.name, replies.len());
                assert_eq!(
                    arrived(flow.id),
                    replies,
                    "{}: nothing is lost here, greetings are not reported",
                    flow.name
                );
            }
            "udp_rr" => {
                let rows = client().flat_map(|tables| tables.transaction.rows()).filter(|row| row.flow == flow.id);
                let numbers: Vec<u32> = arrived(flow.id).into_iter().map(|(sequence, ..)| sequence).collect();
                assert_eq!(numbers, (0..rows.count() as u32).collect::<Vec<_>>(), "{}", flow.name);
            }
            _ => assert_eq!(arrived(flow.id), [], "{}", flow.name),
        }
    }
    let windows = recording.tables_of(ObservationPoint::Client).map(|tables| tables.reflector_window.len());
    assert_eq!(windows.sum::<usize>(), 0, "no window says anything new");
}

#[test]
fn a_marking_sweep_bears_every_byte_in_both_directions() {
    let text = r#"
title = "a sweep"
phases = { survey = "1500ms" }
[flow.sweep]
type = "marking_sweep"
component = "analysis"
interval = "2ms"
repeats = 5
ecn_packets = 80
"#;
    let server = server();
    let recording = record(&options(&server, plan(text))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    let client = || recording.tables_of(ObservationPoint::Client);
    assert_eq!(recording.header.server.abilities["refused_marks"], "CS6,CS7");
    for flow in &recording.header.flows {
        let marked: BTreeMap<u32, u8> = client()
            .flat_map(|tables| tables.packet_marked.rows())
            .filter(|row| row.flow == flow.id)
            .map(|row| (row.sequence, row.octet))
            .collect();
        let octets: BTreeSet<u8> = marked.values().copied().collect();
        let asked: BTreeSet<u8> = (0..64).map(|dscp| dscp << 2).chain([1, 2, 3]).collect();
        assert_eq!(octets, asked, "{}", flow.name);
        let received: Vec<_> =
            client().flat_map(|tables| tables.probe_received.rows()).filter(|row| row.flow == flow.id).collect();
        // 750 slots; a host that stalls may skip a few.
        assert!(received.len() > 600, "{}: {} answered", flow.name, received.len());
        for row in received {
            let asked = marked[&row.sequence];
            // CS6 and CS7 are for networks alone: a reply that asks for them leaves unmarked.
            let answered = if [48, 56].contains(&(asked >> 2)) { asked & 3 } else { asked };
            assert_eq!((row.reflector_octet, row.octet), (asked, answered), "{}: packet {}", flow.name, row.sequence);
        }
    }
}

#[test]
fn a_flow_of_a_class_that_the_server_does_not_mark_is_refused_alone() {
    let text = "title = \"c\"\nphases = { idle = \"300ms\" }\n[flow.p]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n\
        each.class = [\"EF\", \"CS6\"]\n";
    let server = server();
    let recording = record(&options(&server, plan(text))).unwrap();
    let reason = "this server marks no packet CS6; its owner may, with --dscp";
    assert_eq!(failures(&recording), ["ipv4", "ipv6"].map(|family| format!("Client udp_probe/CS6/{family}: {reason}")));
}

#[test]
fn bulk_flows_start_together_at_each_sender() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    for (point, direction) in [(ObservationPoint::Client, Direction::Up), (ObservationPoint::Server, Direction::Down)] {
        let starts: Vec<i64> = recording
            .events()
            .filter(|(at, event)| *at == point && event.event == FlowEventKind::FirstSent)
            .filter(|(_, event)| recording.flow(event.flow).is_some_and(|flow| flow.direction == Some(direction)))
            .map(|(_, event)| event.at.0)
            .collect();
        assert_eq!(starts.len(), 4, "{point:?}");
        let due = recording.header.phases[1].window.from.0;
        // Not a claim about speed (the benchmark makes that): they all start after the instant, and none much later.
        assert!(starts.iter().all(|at| (due..due + 200_000_000).contains(at)), "{starts:?} for {due}");
    }
}

#[test]
fn closed_loop_flows_report_transactions() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    for flow in recording.header.flows.iter().filter(|flow| flow.flow_type.ends_with("_rr")) {
        let rows = recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transaction.rows());
        let answered = rows.filter(|row| row.flow == flow.id && row.answered == 1).count();
        // At most one a millisecond for 2.1 s; a busy machine makes fewer.
        assert!((100..=2100).contains(&answered), "{}: {answered} transactions", flow.name);
    }
}

#[test]
fn exchanges_are_stamped_at_both_ends_in_each_direction() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    let tables = || recording.tables_of(ObservationPoint::Client);
    // Both ends read one clock here, but place T0 by an exchange of messages.
    let apart = recording.header.clocks.exchange_round_trip;
    for flow in recording.header.flows.iter().filter(|flow| flow.flow_type.ends_with("_rr")) {
        let rows = tables().flat_map(|tables| tables.transaction.rows());
        let answered: Vec<_> = rows.filter(|row| row.flow == flow.id && row.answered == 1).collect();
        let rows = tables().flat_map(|tables| tables.transaction_stamped.rows());
        let stamped: Vec<_> = rows.filter(|row| row.flow == flow.id).collect();
        assert_eq!(stamped.len(), answered.len(), "{}: stamped of those answered", flow.name);
        for (stamps, row) in stamped.iter().zip(&answered) {
            assert_eq!(stamps.sequence, row.sequence);
            let within = stamps.sent >= row.started && stamps.received.since(row.started) <= row.took;
            assert!(within, "{stamps:?} {row:?}");
            let held = stamps.server_sent.since(stamps.server_received).0;
            let round_trip = stamps.received.since(stamps.sent).0 - held;
            assert!(held >= 0 && round_trip > 0, "{}: {stamps:?}", flow.name);
            for (sent, received) in [(stamps.sent, stamps.server_received), (stamps.server_sent, stamps.received)] {
                let delay = received.since(sent).0;
                assert!((-apart..=round_trip + apart).contains(&delay), "{}: {delay} ns of {stamps:?}", flow.name);
            }
        }
        if flow.flow_type == "udp_rr" {
            let late = stamped.iter().zip(&answered).filter(|(stamps, row)| stamps.sent > row.started).count();
            assert!(late * 10 > stamped.len() * 9, "{}: the kernel stamped {late} of {}", flow.name, stamped.len());
        }
    }
}

#[test]
fn every_tcp_connection_of_a_test_has_its_segments_counted_at_both_ends() {
    let server = server();
    let recording = record(&options(&server, plan(EVERYTHING))).unwrap();
    let tcp = recording.header.flows.iter().filter(|flow| ["bulk_tcp", "tcp_rr"].contains(&&*flow.flow_type));
    let flows: Vec<FlowId> = tcp.map(|flow| flow.id).chain([FlowId::CONTROL]).collect();
    assert_eq!(flows.len(), 8 + 2 + 1);
    for flow in flows {
        let last = |point| {
            let rows = recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows());
            rows.filter(|row| row.flow == flow)
                .max_by_key(|row| row.at)
                .unwrap_or_else(|| panic!("{flow} at {point:?}"))
        };
        let (here, there) = (last(ObservationPoint::Client), last(ObservationPoint::Server));
        assert!(here.segs_out > 2 && here.segs_in > 2, "{flow}: {here:?}");
        // Loopback loses nothing, but a bulk sender closes first and the control connection goes on.
        if recording.flow(flow).is_some_and(|flow| flow.flow_type == "tcp_rr") {
            assert!(here.segs_out.abs_diff(there.segs_in) <= 3, "{flow}: {here:?} {there:?}");
            assert!(here.segs_in.abs_diff(there.segs_out) <= 3, "{flow}: {here:?} {there:?}");
        }
    }
}

#[test]
fn a_session_that_has_ended_leaves_nothing_at_the_server() {
    let server = server();
    let mut options = options(
        &server,
        plan("title = \"p\"\n[phases]\nidle = \"100ms\"\n[flow.p]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n"),
    );
    options.seed = 2;
    record(&options).unwrap();
    let deadline = std::time::Instant::now() + std::time::Duration::from_secs(5);
    while (server.sessions(), server.connections()) != (0, 0) {
        assert!(std::time::Instant::now() < deadline, "{} sessions left", server.sessions());
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}
