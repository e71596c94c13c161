//! Links of every size: the idle round trip, queueing and goodput, and that no second shows more than the link carries.
//!
//! Tolerances: 0.3 ms for the idle round trip (threads take up to 0.1 ms to wake; what the link handed over late is in its
//! log and belongs to the truth), 5 % or 1 ms for queueing, 1 % for goodput.

use std::collections::HashMap;
use std::ops::Range;
use std::time::Duration;

use rrul_lab::{DirectionTruth, LabTime, Record, in_order, percentile};
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::units::Delay;

use crate::journal::{TCP, UDP, by_port};
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// IP packets of a test packet: 80 bytes of payload, UDP and IPv4 headers.
const PROBE_OCTETS: f64 = 108.0;

/// Bytes of payload in a full segment of 1500 bytes: IPv4, TCP and its timestamps take the rest.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

/// A full pfifo takes this long at its rate.
const QUEUE: f64 = 0.2;

/// Rates in Mbit/s down and up, round trip in milliseconds, discipline of both queues.
#[derive(Clone, Copy)]
struct Case(f64, f64, u32, &'static str);

const SLOW: Case = Case(5.0, 1.0, 80, "pfifo");
const COMMON: Case = Case(20.0, 8.0, 18, "pfifo");
const FAST: Case = Case(100.0, 40.0, 10, "pfifo");
const MANAGED: Case = Case(20.0, 8.0, 18, "fq_codel");

/// The others of `make accuracy`.
const MORE: [Case; 8] = [
    Case(5.0, 1.0, 10, "pfifo"),
    Case(5.0, 1.0, 18, "pfifo"),
    Case(20.0, 8.0, 10, "pfifo"),
    Case(20.0, 8.0, 80, "pfifo"),
    Case(100.0, 40.0, 18, "pfifo"),
    Case(100.0, 40.0, 80, "pfifo"),
    Case(5.0, 1.0, 10, "fq_codel"),
    Case(100.0, 40.0, 80, "fq_codel"),
];

pub(crate) const SLOW_LINK: Bed = Bed {
    name: "link_slow",
    about: "5/1 Mbit/s, 80 ms, FIFOs of 200 ms, four streams each way and probes in three classes.",
    runs: Runs::SideBySide,
    run: |rows| over(rows, SLOW, "8s"),
};

pub(crate) const COMMON_LINK: Bed = Bed {
    name: "link_common",
    about: "The same over 20/8 Mbit/s, 18 ms.",
    runs: Runs::SideBySide,
    run: |rows| over(rows, COMMON, "6s"),
};

pub(crate) const FAST_LINK: Bed = Bed {
    name: "link_fast",
    about: "The same over 100/40 Mbit/s, 10 ms.",
    runs: Runs::Alone,
    run: |rows| over(rows, FAST, "6s"),
};

pub(crate) const MANAGED_LINK: Bed = Bed {
    name: "link_managed",
    about: "The same over 20/8 Mbit/s, 18 ms, fq_codel.",
    runs: Runs::SideBySide,
    run: |rows| over(rows, MANAGED, "6s"),
};

pub(crate) const LINKS: Bed = Bed {
    name: "links",
    about: "The same over these and eight more links, with a longer load.",
    runs: Runs::InAccuracy,
    run: |rows| [SLOW, COMMON, FAST, MANAGED].into_iter().chain(MORE).for_each(|case| over(rows, case, "10s")),
};

impl Case {
    fn rate(self, direction: Direction) -> f64 {
        match direction {
            Direction::Down => self.0 * 1e6,
            Direction::Up => self.1 * 1e6,
        }
    }

    fn link(self) -> String {
        let way = |direction| {
            let rate = self.rate(direction);
            let queue = match self.3 {
                "pfifo" => format!("{{ discipline = \"pfifo\", limit = \"{:.0}p\" }}", rate * QUEUE / (1500.0 * 8.0)),
                other => format!("\"{other}\""),
            };
            format!("rate = \"{rate}bit/s\"\nqueue = {queue}\n")
        };
        format!("rtt = \"{}ms\"\n[up]\n{}[down]\n{}", self.2, way(Direction::Up), way(Direction::Down))
    }

    /// What an idle link adds to its propagation delay: sending a test packet each way, in milliseconds.
    fn transmission(self) -> f64 {
        Direction::ALL.map(|direction| PROBE_OCTETS * 8e3 / self.rate(direction)).iter().sum()
    }
}

fn over(rows: &mut Rows, case: Case, load: &str) {
    let streams = format!("{BOTH_WAYS}each.class = [\"BE\", \"BK\", \"CS5\", \"EF\"]");
    let flows = [("bulk_tcp", &*streams), ("udp_probe", "each.class = [\"EF\", \"BK\", \"BE\"]")];
    let plan = plan(&format!("idle = \"2s\", load = \"{load}\", after = \"3500ms\""), &flows);
    let measured = Setting::new(case.link(), plan).measure();
    assert!(measured.analysis.failed_flows.is_empty(), "{:?}", measured.analysis.failed_flows);
    let Case(down, up, round_trip, queue) = case;
    let name = format!("{queue} {down}/{up} Mbit/s {round_trip} ms: ");
    rows.equal("R1", format!("{name}families"), measured.summary["families"].to_string(), "[\"ipv4\"]".to_owned());
    idle_round_trip(rows, &name, case, &measured);
    queueing(rows, &name, case, &measured);
    for direction in Direction::ALL {
        let truth = in_order_goodput(&measured, direction) as f64;
        let sum = measured.analysis.goodput(direction).octets.0 as f64;
        rows.near("R43", format!("{name}goodput {direction}, bytes"), Some(sum), truth, truth * 0.01);
        no_second_exceeds_the_link(rows, &name, case, &measured, direction);
    }
}

fn idle_round_trip(rows: &mut Rows, name: &str, case: Case, measured: &Measured) {
    let idle = measured.analysis.round_trip_delay.pooled.idle.and_then(|idle| idle.p50);
    let late: u64 = Direction::ALL.map(|direction| idle_lateness(measured, direction)).into_iter().sum();
    let truth = f64::from(case.2) + case.transmission() + late as f64 / 1e6;
    rows.near("R44", format!("{name}idle round trip P50, ms"), idle.map(Delay::milliseconds), truth, 0.3);
}

fn queueing(rows: &mut Rows, name: &str, case: Case, measured: &Measured) {
    let load = measured.analysis.round_trip_delay.pooled.load.unwrap();
    let truth = queueing_delays(measured, &measured.scored());
    // Packets at the edges of the window.
    rows.near("R44", format!("{name}probes under load"), Some(load.n as f64), truth.len() as f64, 19.0);
    for (percent, found) in [(50.0, load.p50), (95.0, load.p95)] {
        // A lost packet counts as infinitely late, here as there.
        let truth = percentile(&truth, percent).filter(|truth| *truth != u64::MAX).map(|truth| truth as f64 / 1e6);
        let found = found.map(|found| found.milliseconds() - f64::from(case.2) - case.transmission());
        let what = format!("{name}round trip under load P{percent}, ms above that of the empty link");
        match truth {
            Some(truth) => rows.near("R44", what, found, truth, (truth * 0.05).max(1.0)),
            None => rows.holds("R44", what, "lost", format!("{found:?}"), found.is_none()),
        }
    }
}

fn no_second_exceeds_the_link(rows: &mut Rows, name: &str, case: Case, measured: &Measured, direction: Direction) {
    let rate = case.rate(direction);
    let series = &measured.analysis.goodput(direction).sum_series;
    let second = |from: usize| -> f64 {
        let mut over = Duration::ZERO;
        let octets = series[from..].iter().take_while(|point| {
            over += point.over;
            over <= Duration::from_secs(1)
        });
        octets.map(|point| point.rate.0 as f64 * point.over.as_secs_f64()).sum()
    };
    let most = (0..series.len()).map(second).fold(0.0, f64::max);
    // Readings are a millisecond late now and then, and a segment of each stream may fall to either side.
    let limit = rate * PAYLOAD_SHARE * 1.01 + 8.0 * 1448.0 * 8.0;
    rows.between(
        "R43",
        format!("{name}most goodput in any second {direction}, bit"),
        Some(most),
        format!("at most {:.0}", rate * PAYLOAD_SHARE),
        0.5 * rate..=limit,
    );
}

/// Queueing of test packet and reply together, nanoseconds, ascending, of packets sent in this window; a loss counts as the
/// longest. Packets of background are left out, as pooled figures do.
///
/// A flow's packets stay in order on this link, and the server answers each that arrives, in order: the n-th reply to enter
/// the link belongs to the n-th packet to leave it.
fn queueing_delays(measured: &Measured, window: &Range<LabTime>) -> Vec<u64> {
    let is_probe = |record: &&Record| record.protocol == UDP && record.tos_in != ServiceClass::BK.octet();
    let flows = |direction| by_port(measured.truth.direction(direction).records().filter(is_probe), direction);
    let mut replies: HashMap<u16, _> =
        flows(Direction::Down).into_iter().map(|(port, records)| (port, records.into_iter())).collect();
    let mut delays = Vec::new();
    for (port, packets) in flows(Direction::Up) {
        let Some(replies) = replies.get_mut(&port) else { continue };
        for packet in packets {
            let reply = packet.delivery().and_then(|_| replies.next());
            if window.contains(&packet.arrival) {
                let answered = reply.filter(|reply| reply.delivery().is_some());
                delays.push(answered.map_or(u64::MAX, |reply| packet.queueing_delay + reply.queueing_delay));
            }
        }
    }
    delays.sort_unstable();
    delays
}

/// How late the link handed over the test packets of the idle line, the median, nanoseconds.
fn idle_lateness(measured: &Measured, direction: Direction) -> u64 {
    let window = measured.window(Phase::Idle);
    let records = measured.truth.direction(direction).records();
    let probes = records.filter(|record| record.protocol == UDP && window.contains(&record.arrival));
    let mut late: Vec<u64> = probes.map(|record| u64::from(record.lateness)).collect();
    late.sort_unstable();
    percentile(&late, 50.0).unwrap()
}

/// Bytes that the four bulk streams of this direction had been handed in order, within the load phase.
fn in_order_goodput(measured: &Measured, direction: Direction) -> u64 {
    let window = measured.window(Phase::Load);
    let truth: &DirectionTruth = measured.truth.direction(direction);
    let data = truth.records().filter(|record| record.protocol == TCP && record.tcp_payload > 0);
    let streams = by_port(data, direction);
    let mut octets: Vec<u64> = streams.values().map(|records| delivered_in_order(records, &window)).collect();
    // The control connection and the streams of the other direction carry little.
    octets.sort_unstable();
    octets.iter().rev().take(4).sum()
}

/// How far the receiver's sequence without holes moved within the window.
fn delivered_in_order(records: &[Record], window: &Range<LabTime>) -> u64 {
    let reached = in_order(records);
    let by = |at: LabTime| reached.iter().take_while(|(_, since)| *since < at).last().map_or(0, |(octets, _)| *octets);
    by(window.end) - by(window.start)
}
