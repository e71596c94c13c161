//! Bursty video and swarms over the loopback interface.

use std::collections::BTreeSet;

use crate::common::{options, plan, record, server};
use rrul_engine::server::{Limits, Server, ServerOptions};
use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::{ConnectionTotals, FlowEventKind, ObservationPoint, Transfer};
use rrul_model::recording::Recording;
use rrul_model::units::ByteCount;

fn failures(recording: &Recording) -> Vec<String> {
    let failed = recording.events().filter(|(_, event)| event.event == FlowEventKind::Failed);
    failed.map(|(point, event)| format!("{point:?} {}: {}", event.flow, event.detail)).collect()
}

#[test]
fn a_video_fills_its_buffer_and_then_fetches_a_segment_in_each_interval() {
    let text = "title = \"video\"\nphases = { idle = \"200ms\", load = \"2s\" }\n\
                [flow.video]\ntype = \"video_bursts\"\ncomponent = \"web\"\nduring = [\"load\"]\n\
                interval = \"400ms\"\nbuffer = \"1s\"\nrate = \"8Mbit/s\"\n";
    let server = server();
    let recording = record(&options(&server, plan(text))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    for flow in &recording.header.flows {
        assert_eq!(flow.parameters.text("buffer"), Some("800ms"), "what was fetched ahead is in the recording");
        let rows = recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.transfer.rows());
        let own: Vec<Transfer> = rows.filter(|row| row.flow == flow.id).collect();
        let due: Vec<i64> = own.iter().map(|row| (row.scheduled.0 - flow.window.from.0) / 1_000_000).collect();
        assert_eq!(due, [0, 0, 400, 800, 1200, 1600], "{}: two at once, then one in each interval", flow.name);
        for row in &own {
            assert_eq!((row.reached, row.octets, row.arrived), (Transfer::COMPLETE, ByteCount(400_000), row.octets));
            assert!(row.scheduled <= row.started && row.answer.0 > 0 && row.answer <= row.took, "{row:?}");
        }
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let rows = recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows());
            let last = rows.filter(|row| row.flow == flow.id).last().expect("the connection's counters are read");
            let carried = if point == ObservationPoint::Client { last.bytes_received } else { last.bytes_sent };
            assert!(carried >= 6 * 400_000, "{point:?} counted {carried}");
        }
    }
}

#[test]
fn a_swarm_keeps_its_streams_and_each_stream_its_rate() {
    const STREAMS: usize = 12;
    const RATE: f64 = 400_000.0;
    let text = format!(
        "title = \"swarm\"\nphases = {{ idle = \"200ms\", load = \"18s\" }}\n\
         [flow.swarm]\ntype = \"swarm\"\ncomponent = \"load\"\nduring = [\"load\"]\neach.direction = [\"up\", \"down\"]\n\
         streams = {STREAMS}\nrate = \"400kbit/s\"\n"
    );
    let server = server();
    let recording = record(&options(&server, plan(&text))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    for flow in &recording.header.flows {
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let rows = recording.tables_of(point).flat_map(|tables| tables.connection_totals.rows());
            let rows: Vec<ConnectionTotals> = rows.filter(|row| row.flow == flow.id).collect();
            let streams: BTreeSet<u32> = rows.iter().map(|row| row.connection).collect();
            assert_eq!(streams.len(), STREAMS, "{} at the {point:?}", flow.name);
            assert!(rows.len() > 3 * STREAMS, "counters are noted while streams go on: {}", rows.len());
        }
        assert_rate(&recording, flow, STREAMS as f64 * RATE);
    }
}

/// All streams have joined after 5 s: from then on the receiver is handed what they send together.
fn assert_rate(recording: &Recording, flow: &FlowSpec, truth: f64) {
    let receiver = match flow.direction {
        Some(Direction::Up) => ObservationPoint::Server,
        _ => ObservationPoint::Client,
    };
    let rows = recording.tables_of(receiver).flat_map(|tables| tables.octets_received.rows());
    let all_there = flow.window.from.0 + 5_200_000_000;
    let counts: Vec<(i64, u64)> = rows
        .filter(|row| row.flow == flow.id && (all_there..flow.window.to.0 - 100_000_000).contains(&row.at.0))
        .map(|row| (row.at.0, row.octets.0))
        .collect();
    let [(from, before), .., (to, after)] = counts.as_slice() else { panic!("{}: {counts:?}", flow.name) };
    let rate = (after - before) as f64 * 8e9 / (to - from) as f64;
    // The kernel paces segments with their headers, and sends two at a time.
    assert!((0.85..=1.05).contains(&(rate / truth)), "{}: {rate:.0} bit/s, {truth:.0} are the limit", flow.name);
}

const FLOOD: &str = "title = \"flood\"\nphases = { idle = \"200ms\", load = \"2s\" }\n\
                     [flow.flood]\ntype = \"udp_flood\"\ncomponent = \"load\"\nduring = [\"load\"]\nfamily = \"ipv4\"\n\
                     each.direction = [\"up\", \"down\"]\nrate = \"8Mbit/s\"\nlength = \"972B\"\n";

#[test]
fn a_server_refuses_a_flood_that_its_owner_does_not_allow_and_serves_the_rest() {
    let text = format!("{FLOOD}[flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\nfamily = \"ipv4\"\n");
    let server = server();
    let recording = record(&options(&server, plan(&text))).unwrap();
    let refused = "this server allows no floods; its owner may, with --allow-flood";
    assert_eq!(failures(&recording), [format!("Client 0: {refused}"), format!("Client 1: {refused}")]);
    let sent = |flow: u16| {
        let rows = recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.probe_sent.rows());
        rows.filter(|row| row.flow.0 == flow).count()
    };
    assert_eq!((sent(0), sent(1)), (0, 0), "not a packet of it leaves");
    assert!(sent(2) > 50, "the probes run");
}

#[test]
fn a_flood_that_is_allowed_leaves_at_its_rate_and_is_counted_at_its_receiver() {
    let addresses = vec![std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()];
    let limits = Limits { flood_bits_per_second: 16_000_000, ..Limits::default() };
    let server = Server::start(ServerOptions { addresses, port: 0, limits, ..ServerOptions::default() }).unwrap();
    let recording = record(&options(&server, plan(FLOOD))).unwrap();
    assert_eq!(failures(&recording), Vec::<String>::new());
    for (flow, points) in recording.header.flows.iter().zip([
        [ObservationPoint::Client, ObservationPoint::Server],
        [ObservationPoint::Server, ObservationPoint::Client],
    ]) {
        let [sender, receiver] = points;
        let sent = recording.tables_of(sender).flat_map(|tables| tables.probe_sent.rows());
        let sent = sent.filter(|row| row.flow == flow.id).count() as u64;
        let skipped = recording.tables_of(sender).flat_map(|tables| tables.probes_skipped.rows());
        let skipped: u64 = skipped.filter(|row| row.flow == flow.id).map(|row| u64::from(row.count)).sum();
        // A packet is 1000 bytes on the IP layer: a thousand a second are 8 Mbit/s.
        assert_eq!(sent + skipped, 2000, "{}", flow.name);
        let arrived = recording.tables_of(receiver).flat_map(|tables| tables.packet_received.rows());
        assert_eq!(arrived.filter(|row| row.flow == flow.id).count() as u64, sent, "{}: nothing is lost", flow.name);
    }
    let sum = Limits { flood_bits_per_second: 15_999_999, ..Limits::default() };
    let addresses = vec![std::net::Ipv4Addr::LOCALHOST.into(), std::net::Ipv6Addr::LOCALHOST.into()];
    let server = Server::start(ServerOptions { addresses, port: 0, limits: sum, ..ServerOptions::default() }).unwrap();
    let recording = record(&options(&server, plan(FLOOD))).unwrap();
    assert_eq!(failures(&recording).len(), 1, "both directions count: one of the two is too much");
}
