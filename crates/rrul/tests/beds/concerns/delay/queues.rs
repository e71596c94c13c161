//! Queues of known depth: the longest delay, the time they take to drain, and what a closed loop hides.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_lab::{Fate, Record};
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::journal::TCP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Four streams each way and probes of one class.
fn load() -> String {
    let streams = format!("{BOTH_WAYS}each.class = [\"BE\", \"BK\", \"CS5\", \"EF\"]");
    plan(
        "idle = \"4s\", load = \"20s\", after = \"5s\"",
        &[("bulk_tcp", &streams), ("udp_probe", "interval = \"10ms\"")],
    )
}

pub(crate) const FIFO: Bed = Bed {
    name: "fifo",
    about: "20/8 Mbit/s, 20 ms, a FIFO of 600 ms of full packets down and 300 ms up: how long it waits, and how it drains.",
    runs: Runs::InAccuracy,
    run: fifo,
};

/// Milliseconds that the queues hold.
const DEPTHS: [(Direction, &str, f64); 2] = [(Direction::Up, "up", 300.0), (Direction::Down, "down", 600.0)];

fn fifo(rows: &mut Rows) {
    let link = "rtt = \"20ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = { discipline = \"bfifo\", limit = \"1500kB\" }\n\
        [up]\nrate = \"8Mbit/s\"\nqueue = { discipline = \"bfifo\", limit = \"300kB\" }";
    let measured = Setting::new(link, load()).measure();
    scored_window(rows, &measured);
    queueing(rows, &measured, "R16 R74");
    for (direction, name, depth) in DEPTHS {
        let deep = measured.milliseconds(&format!("/one_way_delay/{name}/queueing_delay/load/p99_ns"));
        rows.near("R16", format!("queueing {name} P99, ms: depth of the queue"), deep, depth, depth * 0.1);
        let truth = drain(&measured, direction);
        let drained = measured.milliseconds(&format!("/recovery/drain/{name}_ns"));
        rows.near("R16", format!("drain {name}, ms"), drained, truth, (truth * 0.1).max(5.0));
        let carried = measured.number(&format!("/link_octets/load/{name}/all/carried_octets"));
        let truth = measured.delivered(direction, None, &measured.window(Phase::Load));
        rows.near("R7 R15", format!("bytes carried {name}"), carried, truth, truth * 0.01);
    }
}

/// The scored window begins 2 s after both ways carry nine tenths of what they carry later, and ends with the load.
fn scored_window(rows: &mut Rows, measured: &Measured) {
    let load = measured.recording.phase(Phase::Load).unwrap();
    let at = |name: &str| measured.number(&format!("/scored_window/common/{name}_ns"));
    let after = |from: i64, at: Option<f64>| at.map(|at| (at - from as f64) / 1e9);
    let ramp = Direction::ALL.map(|direction| ramp(measured, direction)).into_iter().fold(0.0, f64::max);
    rows.near("R3", "scored from, s after the load began", after(load.from.0, at("from")), ramp + 2.0, 0.5);
    rows.near("R3", "scored to, s after the load ended", after(load.to.0, at("to")), 0.0, 0.001);
}

/// Seconds of the load until a quarter of a second first carries nine tenths of the median of those after it.
fn ramp(measured: &Measured, direction: Direction) -> f64 {
    const QUARTER: i64 = 250_000_000;
    let load = measured.recording.phase(Phase::Load).unwrap();
    let quarters = (load.from.0..load.to.0).step_by(QUARTER as usize);
    let octets = |from| measured.delivered(direction, None, &measured.window_between(from, from + QUARTER));
    let octets: Vec<f64> = quarters.map(octets).collect();
    let filled = |from: usize| {
        let mut later = octets[from..].to_vec();
        later.sort_by(f64::total_cmp);
        octets[from] >= 0.9 * later[later.len() / 2]
    };
    (0..octets.len()).find(|from| filled(*from)).map_or(f64::NAN, |quarter| quarter as f64 / 4.0)
}

/// Percentiles of queueing under load in both directions.
pub(super) fn queueing(rows: &mut Rows, measured: &Measured, requirements: &'static str) {
    let load = measured.scored();
    for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
        for (percent, member) in [(50.0, "p50_ns"), (95.0, "p95_ns")] {
            let truth = measured.udp_queueing(direction, &load, percent).unwrap_or(f64::NAN);
            let found = measured.milliseconds(&format!("/one_way_delay/{name}/queueing_delay/load/{member}"));
            rows.near(requirements, format!("queueing {name} P{percent}, ms"), found, truth, 1.0);
        }
    }
}

/// From the planned end of the load to the delivery of the last byte of a stream, milliseconds.
///
/// Senders stop a moment after the planned end, and what they send until then counts.
fn drain(measured: &Measured, direction: Direction) -> f64 {
    let load = measured.window(Phase::Load);
    let data = |record: &&Record| record.protocol == TCP && record.tcp_payload > 0;
    let records = || measured.truth.direction(direction).records().filter(data);
    let ports = |record: &Record| (record.source_port, record.destination_port);
    let mut octets: BTreeMap<(u16, u16), u64> = BTreeMap::new();
    for record in records().filter(|record| load.contains(&record.arrival)) {
        *octets.entry(ports(record)).or_default() += u64::from(record.tcp_payload);
    }
    // The control connection carries on after the load; what it carries in 20 s is far less than any stream.
    let of_a_stream = |record: &&Record| octets.get(&ports(record)).is_some_and(|octets| *octets > 100_000);
    let delivered = |record: &&Record| record.fate == Fate::Delivered;
    let last = records().filter(of_a_stream).filter(delivered).filter_map(Record::delivery).max();
    last.map_or(f64::NAN, |last| last.0.saturating_sub(load.end.0) as f64 / 1e6)
}

pub(crate) const STEP: Bed = Bed {
    name: "step",
    about: "20/20 Mbit/s without load, 10 ms each way; for 6 s the way up takes 100 ms longer: it shows on that way only.",
    runs: Runs::InAccuracy,
    run: step,
};

fn step(rows: &mut Rows) {
    let link = |up: u32| {
        format!("[down]\nrate = \"20Mbit/s\"\ndelay = \"10ms\"\n[up]\nrate = \"20Mbit/s\"\ndelay = \"{up}ms\"\n")
    };
    let plan = plan("idle = \"5s\", load = \"6s\", after = \"5s\"", &[("udp_probe", "")]);
    // The load begins some 6 s after the run is called; what lies well inside of the step is compared.
    let seconds = Duration::from_secs;
    let measured = Setting::new(link(10), plan).then(seconds(7), link(110)).then(seconds(11), link(10)).measure();
    let load = measured.window(Phase::Load);
    let inside = |direction: Direction| {
        let legs = measured.analysis.one_way_delay.legs.iter().filter(|leg| leg.direction == direction);
        let points = legs.flat_map(|leg| &leg.queueing_series);
        let from = measured.recording.phase(Phase::Load).unwrap().from;
        let middle = points.filter(|point| (2_500_000_000..3_500_000_000).contains(&point.at.since(from).0));
        let mut delays: Vec<i64> = middle.filter_map(|point| Some(point.delay?.0)).collect();
        delays.sort_unstable();
        delays.get(delays.len() / 2).map(|median| *median as f64 / 1e6)
    };
    assert!(load.end > load.start);
    rows.near("R32", "median above the idle way up, ms", inside(Direction::Up), 100.0, 1.0);
    rows.near("R32", "median above the idle way down, ms", inside(Direction::Down), 0.0, 1.0);
}

pub(crate) const STALLS: Bed = Bed {
    name: "stalls",
    about: "100 Mbit/s, 20 ms, and of every 5 seconds one in which nothing is carried: what a closed loop hides.",
    runs: Runs::InAccuracy,
    run: stalls,
};

fn stalls(rows: &mut Rows) {
    let direction = |rates: &str| format!("rate = {rates}\n");
    // From the link's beginning: the run begins within the first second.
    let steps: Vec<String> = (0..5)
        .flat_map(|n| [(n * 5, "100Mbit/s"), (n * 5 + 4, "1bit/s")])
        .map(|(at, rate)| format!("[\"{at}s\", \"{rate}\"]"))
        .collect();
    let link = format!(
        "rtt = \"20ms\"\n[down]\n{}[up]\n{}",
        direction("\"100Mbit/s\""),
        direction(&format!("[{}]", steps.join(", ")))
    );
    let flows = [("udp_probe", "interval = \"10ms\""), ("udp_rr", "timeout = \"3s\"")];
    let plan = plan("idle = \"20s\"", &flows);
    let measured = Setting::new(link, plan).measure();
    let idle = measured.window(Phase::Idle);
    let truth = |percent| {
        let of_probe = measured.udp_flows(Direction::Up, &idle).into_values().max_by_key(Vec::len).unwrap();
        let mut delays: Vec<u64> = of_probe.iter().map(|record| record.queueing_delay).collect();
        delays.sort_unstable();
        rrul_lab::percentile(&delays, percent).unwrap() as f64 / 1e6 + 20.0
    };
    // One packet each 10 ms: a rank more or less is 10 ms of a stall, and the log knows queueing, not the round trip.
    for (percent, member) in [(50.0, "p50_ns"), (95.0, "p95_ns"), (99.0, "p99_ns")] {
        let measured = measured.milliseconds(&format!("/round_trip_delay/idle/{member}"));
        let allowed = if percent > 50.0 { 21.0 } else { 1.0 };
        rows.near("R32 R44", format!("round trip P{percent}, ms"), measured, truth(percent), allowed);
    }
    // A closed loop has sent nothing while it waited: none of its exchanges may be among these.
    let pooled = measured.word("/round_trip_delay/idle/n");
    let sent = measured.udp_flows(Direction::Up, &idle).into_values().map(|flow| flow.len()).max();
    rows.equal(
        "R32",
        "packets of which these are reported: those of the open loop",
        pooled,
        sent.unwrap_or(0).to_string(),
    );
}
