//! What streams feel of a queue: connections that open, records within a stream, the round trips that TCP itself sees,
//! and what becomes of ECN.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_lab::{ConnectionKey, Lab, LabTime, Record, in_order, percentile};
use rrul_model::flow::Direction;
use rrul_model::observation::{Connection, ObservationPoint};
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};

use crate::journal::TCP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Bytes of an opening: what the client sends first on a connection.
const OPENING: u64 = 28;
/// Bytes of a record of this plan.
const RECORD: u64 = 100;

/// Four uploads beside connections and records.
fn upload() -> String {
    let flows = [
        ("bulk_tcp", "direction = \"up\"\ncount = 4"),
        ("udp_probe", ""),
        ("tcp_connect", "interval = \"100ms\""),
        ("tcp_records", &*format!("direction = \"up\"\nlength = \"{RECORD}B\"\ninterval = \"20ms\"")),
    ];
    plan("idle = \"2s\", load = \"8s\", after = \"3500ms\"", &flows)
}

pub(crate) const LOADED_UP: Bed = Bed {
    name: "streams",
    about: "20/8 Mbit/s, 20 ms, a FIFO of 200 ms that four uploads fill: connections, records and TCP wait in it.",
    runs: Runs::SideBySide,
    run: |rows| {
        let link = "rtt = \"20ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"133p\" }\n\
            [down]\nrate = \"20Mbit/s\"\n";
        let measured = Setting::new(link, upload()).measure();
        connections(rows, &measured);
        connect_times(rows, &measured);
        stream_delay(rows, &measured);
        tcp_round_trip(rows, &measured);
    },
};

pub(crate) const FIRST_SYN: Bed = Bed {
    name: "first_syn",
    about: "20/20 Mbit/s, 30 ms, every tenth SYN lost: its connection waits for the kernel's first timeout of 1 s.",
    runs: Runs::SideBySide,
    run: |rows| {
        let link = "rtt = \"30ms\"\n[down]\nrate = \"20Mbit/s\"\n[up]\nrate = \"20Mbit/s\"\n\
            only = { tcp = \"syn\" }\nloss = { every = 10 }";
        let plan = plan("idle = \"10s\"", &[("tcp_connect", "interval = \"100ms\"")]);
        let measured = Setting::new(link, plan).measure();
        connections(rows, &measured);
        let median = measured.milliseconds("/connections/idle/connect/p50_ns");
        rows.near("R19", "connect time P50, ms", median, 30.0, 1.0);
        let longest = measured.milliseconds("/connections/idle/connect/max_ns");
        // The kernel's timer wheel rounds a second up by as much as 80 ms, depending on its tick.
        rows.between("R19", "connect time of the slowest, ms", longest, "1 s and 30 ms", 1029.0..=1112.0);
    },
};

/// One connection by the link's log.
#[derive(Debug, Clone, Copy)]
struct Handshake {
    /// When its first SYN came to the link.
    began: LabTime,
    /// From then until the first SYN-ACK reached the client, nanoseconds.
    took: Option<u64>,
    /// SYNs that came to the link in that time, beside the first.
    again: usize,
}

/// The connections that were begun after T0 and carried no more than their opening, in their order: those that are
/// measured for themselves.
fn handshakes(measured: &Measured) -> Vec<Handshake> {
    let t0 = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
    let answers = measured.truth.connections(Direction::Down);
    let of = |(place, records): (ConnectionKey, Vec<&Record>)| {
        let began = records[0].arrival;
        let answered = answers.get(&place).and_then(|records| records.iter().find_map(|record| record.delivery()));
        let before = |record: &&&Record| answered.is_none_or(|stood| record.arrival < stood);
        let again = records.iter().take_while(before).count() - 1;
        let opening = records.iter().all(|record| u64::from(record.tcp_payload) <= OPENING);
        let longest = records.iter().map(|record| record.tcp_sequence.wrapping_sub(records[0].tcp_sequence)).max();
        // A SYN takes a number, as does a FIN.
        let alone = opening && longest.is_none_or(|octets| u64::from(octets) <= OPENING + 2);
        (began >= t0 && alone).then_some(Handshake { began, took: answered.map(|stood| stood.0 - began.0), again })
    };
    let mut handshakes: Vec<Handshake> = measured.truth.connections(Direction::Up).into_iter().filter_map(of).collect();
    handshakes.sort_by_key(|handshake| handshake.began);
    handshakes
}

/// Every connection took as long as the log says, and sent as many SYNs.
fn connections(rows: &mut Rows, measured: &Measured) {
    let tables = measured.recording.tables_of(ObservationPoint::Client);
    let mut told: Vec<Connection> = tables.flat_map(|tables| tables.connection.rows()).collect();
    told.sort_by_key(|row| row.started);
    let handshakes = handshakes(measured);
    rows.equal("R19", "connections", told.len(), handshakes.len());
    let retransmits = |handshakes: &[Handshake]| handshakes.iter().map(|handshake| handshake.again).sum::<usize>();
    let found: usize = told.iter().map(|row| usize::from(row.syn_retransmits)).sum();
    rows.equal("R19", "SYNs retransmitted", found, retransmits(&handshakes));
    let pairs = || told.iter().zip(&handshakes);
    let other = pairs().filter(|(row, handshake)| usize::from(row.syn_retransmits) != handshake.again).count();
    rows.equal("R19", "connections whose SYNs are not the log's", other, 0);
    let beyond = pairs().filter_map(|(row, handshake)| Some(row.connect.0 - handshake.took?.cast_signed()));
    let mut beyond: Vec<u64> = beyond.map(i64::unsigned_abs).collect();
    beyond.sort_unstable();
    let p90 = percentile(&beyond, 90.0).map(|far| far as f64 / 1e6);
    // The lab's threads and this program's take turns on the same processors.
    rows.between("R19", "connect time against the log's, P90 of the differences, ms", p90, 0, 0.0..=2.0);
}

fn connect_times(rows: &mut Rows, measured: &Measured) {
    let window = measured.window(Phase::Load);
    let tables = measured.recording.tables_of(ObservationPoint::Client);
    let told = tables.flat_map(|tables| tables.connection.rows()).filter(|row| row.connect.0 > 0).count();
    assert!(told > 50, "{told} connections");
    let loaded = handshakes(measured).into_iter().filter(|handshake| window.contains(&handshake.began));
    let mut truth: Vec<u64> = loaded.map(|handshake| handshake.took.unwrap_or(u64::MAX)).collect();
    truth.sort_unstable();
    let p50 = percentile(&truth, 50.0).unwrap() as f64 / 1e6;
    let found = |phase: &str| measured.milliseconds(&format!("/connections/{phase}/connect/p50_ns"));
    rows.near("R19", "connect time P50, idle, ms", found("idle"), 20.1, 1.0);
    rows.near("R19", "connect time P50, load, ms", found("load"), p50, (p50 * 0.05).max(2.0));
}

fn stream_delay(rows: &mut Rows, measured: &Measured) {
    let flow = &measured.analysis.stream_delay.flows[0];
    let tables = measured.recording.tables_of(ObservationPoint::Client);
    let sent: BTreeMap<u32, i64> = tables
        .flat_map(|tables| tables.probe_sent.rows())
        .filter(|row| row.flow == flow.flow.id)
        .map(|row| (row.sequence, row.sent.0))
        .collect();
    // The stream that carries as many bytes as that.
    let octets = OPENING + RECORD * sent.len() as u64;
    let all = measured.truth.connections(Direction::Up);
    let mut each = all.values().map(|records| in_order(records.iter().copied()));
    let reached = each.find(|reached| reached.last().is_some_and(|(last, _)| *last == octets)).unwrap();
    let origin = measured.recording.header.clocks.client_origin;
    // The load without its first 2 s, in which the queue fills.
    let load = measured.recording.phase(Phase::Load).unwrap();
    let load = Window { from: load.from + Duration::from_secs(2), to: load.to };
    let mut truth: Vec<u64> = Vec::new();
    for (number, at) in sent.iter().filter(|(_, at)| load.contains(TestTime(**at))) {
        let end = OPENING + RECORD * (u64::from(*number) + 1);
        let place = reached.partition_point(|(octets, _)| *octets < end);
        truth.push(reached[place].1.0 - (origin + at).cast_unsigned());
    }
    truth.sort_unstable();
    let found = |member: &str| measured.milliseconds(&format!("/stream_delay/up/{member}"));
    rows.near("R17", "delay of records in a stream up P50, idle, ms", found("idle/p50_ns"), 10.1, 1.0);
    for (percent, member) in [(50.0, "load/p50_ns"), (95.0, "load/p95_ns")] {
        let truth = percentile(&truth, percent).unwrap() as f64 / 1e6;
        let what = format!("delay of records in a stream up P{percent}, load, ms");
        rows.near("R17", what, found(member), truth, (truth * 0.05).max(2.0));
    }
    rows.equal(
        "R17",
        "records reported of under load",
        measured.word("/stream_delay/up/load/n"),
        truth.len().to_string(),
    );
}

/// The round trip of the bulk streams as their kernel smooths it, against what the link did to their segments.
fn tcp_round_trip(rows: &mut Rows, measured: &Measured) {
    let window = measured.window(Phase::Load);
    let bulk = |record: &Record| record.protocol == TCP && record.tcp_payload > 1000;
    let waits = measured.truth.up.queueing_delays_of(window, bulk);
    let truth = percentile(&waits, 50.0).unwrap() as f64 / 1e6 + 20.0;
    for stream in 1..=4 {
        let flow = measured.entry("/tcp_round_trip", "flow", &format!("bulk_tcp/BE/up/ipv4#{stream}"));
        let found = flow.and_then(|flow| flow["load"]["p50_ns"].as_f64()).map(|found| found / 1e6);
        let what = format!("round trip that the TCP of upload {stream} reports, P50, ms");
        rows.near("R16", what, found, truth, truth * 0.05);
    }
}

pub(crate) const ECN: Bed = Bed {
    name: "ecn_of_streams",
    about: "20/8 Mbit/s, fq_codel, hosts that ask for ECN; on the way up ECN is cleared.",
    runs: Runs::SideBySide,
    run: |rows| {
        let link = "rtt = \"10ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"\necn = \"clear\"\n\
            [down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
        let flows = [("bulk_tcp", BOTH_WAYS), ("udp_probe", "")];
        let plan = plan("idle = \"500ms\", load = \"6s\", after = \"1s\"", &flows);
        let measured = Setting::new(link, plan).beside(with_ecn).measure();
        ecn_of_streams(rows, &measured);
    },
};

/// Lets both hosts ask for ECN on TCP.
fn with_ecn(lab: &Lab) {
    for host in [lab.client(), lab.server()] {
        host.run(|| std::fs::write("/proc/sys/net/ipv4/tcp_ecn", "1")).unwrap().unwrap();
    }
}

fn ecn_of_streams(rows: &mut Rows, measured: &Measured) {
    let window = measured.window(Phase::Load);
    for (direction, bleached) in [(Direction::Up, true), (Direction::Down, false)] {
        let of = measured.analysis.ecn.streams.iter().find(|stream| stream.flow.direction == Some(direction));
        let stream = of.unwrap();
        let told = |known: Option<bool>| known.map_or("not known".to_owned(), |known| known.to_string());
        rows.equal("R12", format!("ECN negotiated, {direction}"), told(stream.negotiated), "true".to_owned());
        let Some(ce) = stream.ce_octets else {
            // This kernel counts none.
            continue;
        };
        rows.equal("R12", format!("ECN cleared on the way, {direction}"), told(stream.bleached), bleached.to_string());
        for (value, octet, found) in [("CE", 3, Some(ce)), ("ECT(0)", 2, stream.ect0_octets)] {
            let log = measured.truth.direction(direction).records();
            let ours = log.filter(|record| record.protocol == TCP && record.tos_out & 3 == octet);
            let inside = ours.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
            let truth = inside.map(|record| u64::from(record.tcp_payload)).sum::<u64>() as f64;
            // A reading at each end of the load cuts off up to a sample interval.
            let found = found.map(|octets| octets as f64);
            let what = format!("bytes of payload that came with {value}, {direction}");
            rows.near("R12", what, found, truth, (truth * 0.05).max(20_000.0));
        }
    }
}
