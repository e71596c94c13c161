//! Lookups of names and short flows over the loopback interface, and the clients that are not served.

use std::collections::BTreeSet;
use std::net::UdpSocket;
use std::time::Duration;

use crate::common::{options, plan, record, server};
use rrul_model::flow::Direction;
use rrul_model::observation::{FlowEventKind, NameLookup, ObservationPoint, Transfer};
use rrul_model::recording::Recording;
use rrul_proto::name_question::{Question, RecordKind};
use rrul_proto::session_name::SessionName;
use rrul_proto::token::Token;

const PLAN: &str = r#"
title = "names and short flows"
overhead = "none"
[phases]
survey = "1s"
idle = "200ms"
load = "1s"
[flow.dns]
type = "dns_lookup"
component = "realtime"
during = ["survey"]
interval = "25ms"
class = "EF"
[flow.dns_load]
type = "dns_lookup"
component = "realtime"
during = ["load"]
interval = "25ms"
class = "EF"
[flow.short]
type = "short_flow"
component = "realtime"
during = ["survey"]
each.direction = ["up", "down"]
each.size = ["1B", "10kB", "1MB"]
interval = "300ms"
[flow.short_load]
type = "short_flow"
component = "realtime"
during = ["load"]
each.direction = ["up", "down"]
each.size = ["1B", "10kB", "1MB"]
interval = "300ms"
"#;

fn failures(recording: &Recording) -> Vec<String> {
    let failed = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed);
    failed.map(|(point, event)| format!("{point:?} {}: {}", event.flow, event.detail)).collect()
}

#[test]
fn every_lookup_is_answered_and_every_transfer_completes_on_the_same_schedule_idle_and_loaded() {
    let server = server();
    let recording = record(&options(&server, plan(PLAN))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    let client = || recording.tables_of(ObservationPoint::Client);
    let lookups: Vec<NameLookup> = client().flat_map(|tables| tables.name_lookup.rows()).collect();
    let transfers: Vec<Transfer> = client().flat_map(|tables| tables.transfer.rows()).collect();
    for flow in &recording.header.flows {
        let scheduled: Vec<i64> = if flow.flow_type == "dns_lookup" {
            let own: Vec<&NameLookup> = lookups.iter().filter(|row| row.flow == flow.id).collect();
            assert!(own.iter().all(|row| row.reached == NameLookup::ANSWERED && row.took.0 > 0), "{own:?}");
            let records: BTreeSet<(u32, u16)> = own.iter().map(|row| (row.sequence, row.record)).collect();
            assert_eq!(records.len(), own.len());
            // 40 names of two records are scheduled in the mean, and by chance fewer than 15 twice in a million times.
            assert!(own.len() >= 30 && own.iter().all(|row| records.contains(&(row.sequence, 1))), "{}", own.len());
            // The address that was asked is of the flow's family: the other kind has no record.
            let longer = if flow.family.name() == "ipv4" { 1 } else { 28 };
            for row in &own {
                let added = if row.record == longer { 12 + if longer == 1 { 4 } else { 16 } } else { 0 };
                assert_eq!(row.answer_octets, row.question_octets + added, "{row:?}");
            }
            own.iter().filter(|row| row.record == 1).map(|row| row.scheduled.0 - flow.window.from.0).collect()
        } else {
            let own: Vec<&Transfer> = transfers.iter().filter(|row| row.flow == flow.id).collect();
            let size = flow.parameters.size("size", rrul_model::units::ByteCount(0));
            for row in &own {
                assert_eq!((row.reached, row.octets, row.arrived), (Transfer::COMPLETE, size, size), "{row:?}");
                assert!(row.connect <= row.answer && row.answer <= row.took, "{row:?}");
            }
            for point in [ObservationPoint::Client, ObservationPoint::Server] {
                let rows = recording.tables_of(point).flat_map(|tables| tables.connection_totals.rows());
                let own_totals: Vec<_> = rows.filter(|row| row.flow == flow.id).collect();
                assert_eq!(own_totals.len(), own.len(), "{} at {point:?}", flow.name);
                let sends = (flow.direction == Some(Direction::Up)) == (point == ObservationPoint::Client);
                for row in own_totals {
                    let carried = if sends { row.sent_octets - row.retransmitted_octets } else { row.received_octets };
                    // Opening and number, or the opening of the server.
                    let head = if flow.direction == Some(Direction::Up) { 28 + 4 } else { 8 };
                    assert_eq!(carried, size.0 + head, "{} at {point:?}: {row:?}", flow.name);
                    assert!(row.started < row.ended && row.sent_segments > 0 && row.received_segments > 0);
                }
            }
            own.iter().map(|row| row.scheduled.0 - flow.window.from.0).collect()
        };
        let Some((kind, _)) = flow.name.split_once('@') else { continue };
        let idle = recording.header.flows.iter().find(|other| other.name == kind).unwrap();
        let before: Vec<i64> = lookups
            .iter()
            .filter(|row| row.flow == idle.id && row.record == 1)
            .map(|row| row.scheduled)
            .chain(transfers.iter().filter(|row| row.flow == idle.id).map(|row| row.scheduled))
            .map(|at| at.0 - idle.window.from.0)
            .collect();
        let (scheduled, before): (BTreeSet<i64>, BTreeSet<i64>) =
            (scheduled.into_iter().collect(), before.into_iter().collect());
        // What a stalled host left out is reported, and has no row.
        let skipped = client().flat_map(|tables| tables.probes_skipped.rows());
        let skipped = skipped.filter(|row| [flow.id, idle.id].contains(&row.flow)).map(|row| row.count as usize).sum();
        let differing = scheduled.symmetric_difference(&before).count();
        assert!(differing <= skipped, "{}: {scheduled:?} and {before:?}, {skipped} skipped", flow.name);
    }
}

#[test]
fn what_cannot_be_asked_fails_with_its_reason_and_the_test_goes_on() {
    let flow = |name: &str, rest: &str| {
        format!("[flow.{name}]\ntype = \"dns_lookup\"\ncomponent = \"realtime\"\nfamily = \"ipv4\"\n{rest}\n")
    };
    let text = [
        "title = \"mistakes\"\nphases = { idle = \"300ms\" }\n".to_owned(),
        flow("good", "interval = \"50ms\""),
        flow("family", "resolver = \"::1\""),
        flow("random", "resolver = \"127.0.0.1\"\nnames = \"random\""),
        flow("cached", "names = \"cached\""),
        flow("name", "resolver = \"127.0.0.1\"\nname = \"a..b\""),
        flow("short", "").replace("dns_lookup", "short_flow") + "direction = \"up\"\n",
    ];
    let server = server();
    let recording = record(&options(&server, plan(&text.concat()))).unwrap();
    let reasons = failures(&recording);
    assert_eq!(reasons.len(), 4, "{reasons:?}");
    for (reason, words) in
        reasons.iter().zip(["give the flow a family", "choose cached or uncached", "leave out names", "a..b"])
    {
        assert!(reason.contains(words), "{reason}: {words}");
    }
    assert!(recording.tables_of(ObservationPoint::Client).any(|tables| !tables.name_lookup.is_empty()));
}

#[test]
fn a_stranger_gets_no_answer_to_a_question() {
    let server = server();
    let address = server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(300))).unwrap();
    for name in [SessionName { label: "a", flow: 0, token: Token([7; 16]) }.to_string(), "example.com".to_owned()] {
        socket.send(&Question::new(1, &name, RecordKind::A).unwrap().encode()).unwrap();
    }
    assert!(socket.recv(&mut [0; 512]).is_err(), "of no session, of no name of ours");
}
