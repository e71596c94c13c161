//! Voice streams over the loopback interface: every packet is reported by both ends, and nothing is sent to a client that has not greeted.

use std::collections::BTreeMap;

use crate::common::{options, plan, record, server};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::{FlowEventKind, ObservationPoint, PacketReceived};
use rrul_model::recording::Recording;

const VOICE: &str = r#"
title = "voice both ways"
[phases]
idle = "500ms"
load = "1s"
after = "500ms"
[flow.voip]
type = "voip"
component = "voip"
each.direction = ["up", "down"]
each.class = ["EF", "BE", "BK"]
"#;

/// 2 s at 10 ms.
const PACKETS: u32 = 200;

fn ends(flow: &FlowSpec) -> (ObservationPoint, ObservationPoint) {
    match flow.direction {
        Some(Direction::Up) => (ObservationPoint::Client, ObservationPoint::Server),
        _ => (ObservationPoint::Server, ObservationPoint::Client),
    }
}

fn received(recording: &Recording, flow: &FlowSpec) -> Vec<PacketReceived> {
    let rows = recording.tables_of(ends(flow).1).flat_map(|tables| tables.packet_received.rows());
    rows.filter(|row| row.flow == flow.id).collect()
}

#[test]
fn every_packet_of_every_class_direction_and_family_is_reported_by_sender_and_receiver() {
    let server = server();
    let recording = record(&options(&server, plan(VOICE))).unwrap();
    assert_eq!(recording.header.flows.len(), 2 * 3 * 2);
    assert!(recording.events().all(|(_, event)| event.event != FlowEventKind::Failed));
    assert_eq!(recording.end.as_ref().unwrap().partial, None);
    for flow in &recording.header.flows {
        let sender = || recording.tables_of(ends(flow).0);
        let sent = sender().flat_map(|tables| tables.probe_sent.rows()).filter(|row| row.flow == flow.id);
        let sent: BTreeMap<u32, _> = sent.map(|row| (row.sequence, row)).collect();
        let skipped = sender().flat_map(|tables| tables.probes_skipped.rows()).filter(|row| row.flow == flow.id);
        let skipped: u32 = skipped.map(|row| row.count).sum();
        assert_eq!(sent.len() as u32 + skipped, PACKETS, "{}: what was due was sent or left out", flow.name);
        // A machine that is busy with other tests may stall now and then.
        assert!(skipped <= PACKETS / 4, "{}: {skipped} left out", flow.name);
        for row in sent.values() {
            let phase = row.scheduled.0.rem_euclid(10_000_000);
            // Six flows of one sender: their packets are a sixth of the interval apart.
            let nearest = (0..6).map(|place| (phase - place * 10_000_000 / 6).abs()).min().unwrap();
            assert!(nearest <= 1, "{}: due at {phase} of the interval", flow.name);
            assert!(row.sent >= row.scheduled, "{}: nothing leaves early", flow.name);
        }
        let stamped = sender().flat_map(|tables| tables.probe_stamped.rows()).filter(|row| row.flow == flow.id);
        let stamped: Vec<_> = stamped.collect();
        assert!(
            stamped.iter().all(|row| sent[&row.sequence].sent <= row.sent),
            "{}: stamped before it left",
            flow.name
        );
        assert!(stamped.len() + 2 >= sent.len(), "{}: {} of {} stamped", flow.name, stamped.len(), sent.len());
        let received = received(&recording, flow);
        let sequences: Vec<u32> = received.iter().map(|row| row.sequence).collect();
        assert_eq!(sequences, sent.keys().copied().collect::<Vec<_>>(), "{}: all arrive, in order, once", flow.name);
        assert!(received.iter().all(|row| row.octet == flow.class.octet()), "{}: marked", flow.name);
        for row in &received {
            // Both ends' T0 were matched over loopback: within a round trip, a busy machine's being some milliseconds.
            let delay = row.received.since(sent[&row.sequence].sent).0;
            assert!((-50_000_000..200_000_000).contains(&delay), "{}: {delay} ns one way", flow.name);
        }
    }
}

#[test]
fn a_test_of_voice_alone_ends_soon_after_its_last_packet() {
    let server = server();
    let mut options = options(&server, plan(VOICE));
    options.families = rrul_engine::client::Families::Only(AddressFamily::Ipv4);
    let recording = record(&options).unwrap();
    let end = recording.end.as_ref().unwrap();
    assert_eq!(end.partial, None);
    // All has arrived, so nothing is waited for: well before the 3 s that a lost packet would be waited for.
    assert!(end.at.seconds() < 4.5, "it ended at {}", end.at);
}

#[test]
fn more_packets_than_the_server_grants_are_not_asked_for() {
    let server = server();
    let mut limits = options(&server, plan(VOICE));
    limits.plan = plan(&VOICE.replace("[flow.voip]", "[flow.voip]\ninterval = \"1us\""));
    // A microsecond is taken for the least interval, 1 ms: 12 flows of 1000 a second are more than 8192.
    let refused = record(&limits).unwrap_err().to_string();
    assert!(refused.contains("12000 packets a second"), "{refused}");
}
