//! The measurement budget: what everything but the load takes of a line, counted by the link.
//!
//! The load, the pages, and the short flows and lookups each have service classes that nothing else has, so that the log
//! shows their packets apart by the marking alone. All that is left is what the budget is about.

use std::collections::HashSet;

use rrul_analysis::metrics::delay::one_way_delay::LegDelay;
use rrul_lab::{Record, percentile};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::time::Window;

use crate::journal::{TCP, UDP};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Code points of the load: AF11, AF12, AF13, AF21.
const LOAD: [u8; 4] = [10, 12, 14, 18];
/// Code points of pages: AF31. Of short flows: AF41 to AF43. Of lookups: AF22, AF23, AF32.
const WEB: [u8; 7] = [26, 34, 36, 38, 20, 22, 28];

/// Only the marking of these flows is not that of the shipped plan. The resolver of the host is not asked: the way to it is
/// not the link.
const CLASSES: &str = "
[flow.bulk]
each.class = [\"AF11\", \"AF12\", \"AF13\", \"AF21\"]
[flow.page]
class = \"AF31\"
[flow.page_load]
class = \"AF31\"
[flow.short_10kb]
each.class = [\"AF41\", \"AF42\", \"AF43\"]
[flow.short_10kb_load]
each.class = [\"AF41\", \"AF42\", \"AF43\"]
[flow.short_100kb]
class = \"AF41\"
[flow.short_100kb_load]
class = \"AF41\"
[flow.short_1mb]
class = \"AF41\"
[flow.short_1mb_load]
class = \"AF41\"
[flow.dns]
each.class = [\"AF22\", \"AF23\", \"AF32\"]
[flow.dns_load]
each.class = [\"AF22\", \"AF23\", \"AF32\"]
[flow.resolver]
enabled = false
[flow.resolver_load]
enabled = false
";

/// The shipped plan with other phases.
fn plan(name: &str, phases: &str) -> String {
    format!("title = \"a bed\"\nextends = \"{name}\"\nphases = {{ {phases} }}\n{CLASSES}")
}

/// `quick` with as little of each phase as shows it.
fn shortened() -> String {
    plan(
        "quick",
        "survey = \"4s\", idle = \"3s\", load = \"12s\", web = \"5s\", after = \"3s\", after_at_most = \"4s\"",
    )
}

/// A line in Mbit/s, and what is run over it.
struct Line {
    down: f64,
    up: f64,
    round_trip: u32,
    queue: Queue,
    both_families: bool,
}

#[derive(Clone, Copy)]
enum Queue {
    /// A FIFO of so many milliseconds of full packets.
    Fifo(f64),
    FqCodel,
}

const fn line(down: f64, up: f64, round_trip: u32, queue: Queue, both_families: bool) -> Line {
    Line { down, up, round_trip, queue, both_families }
}

impl Line {
    fn rate(&self, direction: Direction) -> f64 {
        match direction {
            Direction::Down => self.down,
            Direction::Up => self.up,
        }
    }

    fn link(&self) -> String {
        let way = |rate: f64| {
            let queue = match self.queue {
                Queue::Fifo(milliseconds) => {
                    let packets = (rate * 1e3 * milliseconds / 12_000.0).round().max(20.0);
                    format!("{{ discipline = \"pfifo\", limit = \"{packets}p\" }}")
                }
                Queue::FqCodel => "\"fq_codel\"".to_owned(),
            };
            format!("rate = \"{}kbit/s\"\nqueue = {queue}", rate * 1e3)
        };
        format!("rtt = \"{}ms\"\n[up]\n{}\n[down]\n{}\n", self.round_trip, way(self.up), way(self.down))
    }

    fn name(&self) -> String {
        let queue = match self.queue {
            Queue::Fifo(_) => "FIFO",
            Queue::FqCodel => "fq_codel",
        };
        let families = if self.both_families { "both families" } else { "IPv4" };
        format!("{}/{} Mbit/s, {queue}, {families}", self.down, self.up)
    }

    /// The share that everything but the load may take of this direction.
    fn ceiling(&self, direction: Direction) -> f64 {
        match self.rate(direction) {
            5.0.. => 0.05,
            1.0.. => 0.10,
            _ => 0.15,
        }
    }

    fn measure(&self, plan: String) -> Measured {
        let setting = Setting::new(self.link(), plan);
        if self.both_families { setting.both_families().measure() } else { setting.measure() }
    }
}

pub(crate) const SLOW: Bed = Bed {
    name: "measurement_budget",
    about: "6/0.7 Mbit/s, a FIFO, plan quick shortened: everything but the load stays within its share of each direction in phase load, \
        counted by the link; pages, short flows and lookups run in phase web only.",
    runs: Runs::SideBySide,
    run: |rows| over(rows, &line(6.0, 0.7, 40, Queue::Fifo(800.0), false), shortened()),
};

pub(crate) const SLOW_FAMILIES: Bed = Bed {
    name: "measurement_budget_families",
    about: "The same over 12/1.5 Mbit/s, fq_codel, both families.",
    runs: Runs::SideBySide,
    run: |rows| over(rows, &line(12.0, 1.5, 30, Queue::FqCodel, true), shortened()),
};

pub(crate) const LINES: Bed = Bed {
    name: "measurement_budget_lines",
    about: "The same over more lines, one family and both, FIFO and fq_codel.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let lines = [
            line(6.0, 0.7, 40, Queue::FqCodel, true),
            line(12.0, 1.5, 30, Queue::Fifo(800.0), false),
            line(16.0, 1.0, 30, Queue::Fifo(800.0), true),
            line(16.0, 1.0, 30, Queue::FqCodel, false),
            line(40.0, 5.0, 20, Queue::FqCodel, true),
            line(20.0, 8.0, 18, Queue::Fifo(200.0), true),
            line(50.0, 20.0, 60, Queue::FqCodel, true),
        ];
        for line in lines {
            over(rows, &line, shortened());
        }
    },
};

pub(crate) const WHOLE: Bed = Bed {
    name: "measurement_budget_rrul",
    about: "Plan rrul with its whole load of 60 s over 12/1.5 Mbit/s, both families.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let phases =
            "survey = \"12s\", idle = \"5s\", load = \"60s\", web = \"12s\", after = \"5s\", after_at_most = \"8s\"";
        over(rows, &line(12.0, 1.5, 30, Queue::FqCodel, true), plan("rrul", phases));
    },
};

/// Runs a plan over a line, and compares what it took of it in each direction.
fn over(rows: &mut Rows, line: &Line, plan: String) {
    let measured = line.measure(plan);
    let name = line.name();
    for direction in Direction::ALL {
        overhead(rows, line, &measured, direction, &format!("{name}: "));
        split(rows, &measured, direction, &format!("{name}: "));
        never_above_the_line(rows, line, &measured, direction, &format!("{name}: "));
        queueing(rows, line, &measured, direction, &format!("{name}: "));
        drain(rows, &measured, direction, &format!("{name}: "));
    }
}

/// Bytes that the link delivered in a phase, of the packets chosen.
fn delivered(measured: &Measured, direction: Direction, phase: Phase, chosen: impl Fn(&Record) -> bool) -> f64 {
    let window = measured.window(phase);
    let log = measured.truth.direction(direction).records();
    let inside = log.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)) && chosen(record));
    inside.fold(0.0, |sum, record| sum + f64::from(record.length))
}

fn code_point(record: &Record) -> u8 {
    record.tos_in >> 2
}

/// Data of the load, or acknowledgments of the opposite direction's.
fn is_load(record: &Record) -> bool {
    record.protocol == TCP && LOAD.contains(&code_point(record))
}

/// What everything but the load took, and what is reported of it, in per cent.
fn overhead(rows: &mut Rows, line: &Line, measured: &Measured, direction: Direction, name: &str) {
    let all = delivered(measured, direction, Phase::Load, |_| true);
    let others = delivered(measured, direction, Phase::Load, |record| !is_load(record));
    let share = 100.0 * others / all;
    let ceiling = 100.0 * line.ceiling(direction);
    let what = format!("{name}overhead {direction} by the log, % of the bytes on the link");
    rows.between("R7 R24", what, Some(share), format!("at most {ceiling:.0}"), 0.0..=ceiling);
    let reported = |member: &str| measured.number(&format!("/measurement_overhead/{direction}/{member}"));
    let percent = |member: &str| reported(member).map(|share| 100.0 * share);
    // A twentieth of what is allowed: segments of new connections are estimated, records and control are read once a second.
    let allowed = ceiling / 20.0;
    rows.near("R7", format!("{name}overhead {direction} as reported, %"), percent("share"), share, allowed);
    rows.near("R7", format!("{name}ceiling {direction}, %"), percent("ceiling"), ceiling, 0.01);
    let surveyed = reported("line_bps").map(|bits| bits / 1e6);
    let rate = line.rate(direction);
    rows.near("R24", format!("{name}surveyed rate {direction}, Mbit/s"), surveyed, rate, rate * 0.05);
    let account = |part: &str| measured.number(&format!("/link_octets/load/{direction}/all/{part}"));
    // A hundredth, and a packet for each stream and its acknowledgments: the account of the load is 3 to 11 kB low however
    // long the run, which is more than a hundredth of what a slow line carries in a short load. The cause is not known.
    let allowed = all * 0.01 + 8.0 * 1500.0;
    rows.near("R7", format!("{name}bytes {direction}, against the log"), account("carried_octets"), all, allowed);
    let load = account("parts_octets/load_data").zip(account("parts_octets/load_acknowledgements"));
    let of_load = load.map(|(data, acknowledgements)| data + acknowledgements);
    let truth = all - others;
    let what = format!("{name}bytes of the load and its acknowledgments {direction}, against the log");
    rows.near("R7", what, of_load, truth, allowed);
}

/// Pages, short flows and lookups run beside the load in phase `web` only.
fn split(rows: &mut Rows, measured: &Measured, direction: Direction, name: &str) {
    let of_web = |record: &Record| WEB.contains(&code_point(record));
    let (in_load, in_web) =
        (delivered(measured, direction, Phase::Load, of_web), delivered(measured, direction, Phase::Web, of_web));
    let what = format!("{name}bytes of pages, short flows and lookups {direction} in phase load, by the log");
    rows.equal("R28", what, in_load, 0.0);
    // A bloated line carries little of them in a few seconds.
    let what = format!("{name}the same in phase web");
    rows.holds("R28", what, "more than 1 kB", format!("{in_web:.0}"), in_web > 1_000.0);
}

/// What is shown of the link over time never exceeds its rate in any second, whatever shared it.
fn never_above_the_line(rows: &mut Rows, line: &Line, measured: &Measured, direction: Direction, name: &str) {
    let [load, web] = [Phase::Load, Phase::Web].map(|phase| measured.recording.phase(phase).unwrap());
    let most = measured.busiest_second(direction, Window { from: load.from, to: web.to });
    let what = format!("{name}the most bytes in any second of the load {direction}, over those that the line carries");
    let rate = line.rate(direction) * 1e6;
    // A packet counts where its last bit arrives, so a second may show one more than passed in it.
    let packet = 1500.0 * 8.0 / rate;
    rows.between("R7", what, Some(most / rate), "at most 1, and one packet", 0.5..=1.02 + packet);
}

/// The queueing delay of each direction is known, on the slowest line too: that of the test packets of one flow.
fn queueing(rows: &mut Rows, line: &Line, measured: &Measured, direction: Direction, name: &str) {
    let (scored, after) = (measured.scored(), measured.window(Phase::After));
    let of_class = |record: &&Record| {
        let (protocol, family, octet) = (record.protocol, record.family, record.tos_in);
        (protocol, family, octet) == (UDP, AddressFamily::Ipv4, ServiceClass::EF.octet())
    };
    // Exchanges and voice of the class end before phase `after`.
    let log = || measured.truth.direction(direction).records().filter(of_class);
    let goes_on: HashSet<u16> =
        log().filter(|one| after.contains(&one.arrival)).map(|one| one.client_port(direction)).collect();
    let ours = log().filter(|one| scored.contains(&one.arrival) && goes_on.contains(&one.client_port(direction)));
    let mut delays: Vec<u64> =
        ours.map(|one| if one.delivery().is_some() { one.queueing_delay } else { u64::MAX }).collect();
    delays.sort_unstable();
    let truth = percentile(&delays, 50.0).filter(|delay| *delay != u64::MAX).map(|delay| delay as f64 / 1e6);
    let of_flow = |leg: &&LegDelay| leg.direction == direction && leg.flow.name == "udp_probe/EF/ipv4";
    let leg = measured.analysis.one_way_delay.legs.iter().find(of_flow);
    let found = leg.and_then(|leg| leg.delays.queueing_delay.load.as_ref()?.p50);
    let found = found.map(|delay| delay.0 as f64 / 1e6);
    let what = format!("{name}queueing {direction} P50, ms");
    let Some(truth) = truth else {
        rows.holds("R16 R74", what, "unknown: most are lost", format!("{found:?}"), found.is_none());
        return;
    };
    // A full packet may stand before the one that the scored window begins or ends with.
    let packet = 12.0 / line.rate(direction);
    rows.near("R16 R74", what, found, truth, packet.max(2.0));
}

/// The load ends with phase `web`: from then on its queue drains.
fn drain(rows: &mut Rows, measured: &Measured, direction: Direction, name: &str) {
    let end = measured.window(Phase::Web).end;
    let data = |record: &&Record| is_load(record) && record.tcp_payload > 0 && record.arrival < end;
    let last = measured.truth.direction(direction).records().filter(data).filter_map(Record::delivery).max();
    let truth = last.map_or(f64::NAN, |last| last.0.saturating_sub(end.0) as f64 / 1e6);
    let found = measured.milliseconds(&format!("/recovery/drain/{direction}_ns"));
    let what = format!("{name}drain {direction} after phase web, ms");
    // What comes behind a hole is not handed to the receiver; readings are 100 ms apart.
    rows.between("R16", what, found, format!("at most {truth:.0}, to the last byte of the load"), 0.0..=truth + 100.0);
}
