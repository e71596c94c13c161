//! Whole tests over the loopback interface: every flow type, both families, and what the recording then holds.

mod common;

use common::{options, plan, record, server};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::recording::Recording;

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
        assert!((10_000_000..18_000_000).contains(&most), "{}: {most} octets", flow.name);
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let rows = recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows());
            assert!(rows.filter(|row| row.flow == flow.id).count() >= 14, "{}: TCP_INFO at {point:?}", flow.name);
        }
    }
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
        assert!((205..=210).contains(&sent), "{}: {sent} of 210 packets sent", flow.name);
        assert_eq!((stamped, received.len()), (sent, sent), "{}: stamped and answered", flow.name);
        // The last reply's stamp has no later reply to travel in.
        assert!(followed + 2 >= sent, "{}: {followed} follow-ups for {sent}", flow.name);
        assert!(
            received.iter().all(|row| row.reflector_octet == flow.class.octet() && row.octet == flow.class.octet())
        );
        assert!(received.iter().all(|row| row.reflector_sent >= row.reflector_received && row.read >= row.received));
    }
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
