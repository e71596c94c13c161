//! What rrul measures, held against what a virtual link knows of every packet.
//!
//! Each test runs a whole measurement over a link of known rate, delay and queue. Tolerances: 0.3 ms for the idle round
//! trip (threads take up to 0.1 ms to wake; what the link handed over late is in its log and belongs to the truth), 5 % or
//! 1 ms for queueing, 1 % for goodput.

mod clocks;
mod fates;
mod household;
mod link_log;
mod markings;
mod names;
mod over_a_link;
mod own_queue;
mod pages;
mod paths;
mod short_flows;
mod voice;

use std::time::Duration;

use link_log::{Probes, bulk_goodput, idle_lateness, on_the_links_clock};
use over_a_link::{Case, Measured};
use rrul_analysis::Analysis;
use rrul_lab::percentile;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::units::{BitRate, Delay};

const MILLISECOND: f64 = 1e6;

/// IP packets of a test packet: 80 octets of payload, UDP and IPv4 headers.
const PROBE_OCTETS: f64 = 108.0;

/// Octets of payload in a full segment of 1500 octets: IPv4, TCP and its timestamps take the rest.
const PAYLOAD_SHARE: f64 = 1448.0 / 1500.0;

fn rates(down: u64, up: u64) -> [BitRate; 2] {
    [BitRate(down * 1_000_000), BitRate(up * 1_000_000)]
}

/// What an idle link adds to its propagation delay: sending a test packet each way.
fn transmission(case: &Case) -> f64 {
    [case.down, case.up].map(|rate| PROBE_OCTETS * 8e9 / rate.0 as f64).iter().sum()
}

#[track_caller]
fn close(what: &str, case: &Case, measured: f64, truth: f64, tolerance: f64) {
    let difference = measured - truth;
    eprintln!(
        "{case}: {what}: measured {measured:.3}, truth {truth:.3}, difference {difference:+.3}, allowed {tolerance:.3}"
    );
    assert!(
        difference.abs() <= tolerance,
        "{case}: {what}: measured {measured:.3}, truth {truth:.3}, difference {difference:+.3}, allowed {tolerance:.3}"
    );
}

fn idle_round_trip_is_the_links(case: &Case, measured: &Measured, analysis: &Analysis) {
    let idle = analysis.round_trip_delay.pooled.idle.expect("an idle phase").p50.expect("no loss on an idle link");
    let late: u64 = Direction::ALL.map(|direction| idle_lateness(measured, direction)).into_iter().sum();
    let truth = case.round_trip.as_nanos() as f64 + transmission(case) + late as f64;
    close("idle P50, ms", case, idle.milliseconds(), truth / MILLISECOND, 0.3);
}

fn queueing_is_the_links(case: &Case, analysis: &Analysis, probes: &Probes) {
    let load = analysis.round_trip_delay.pooled.load.expect("a load phase");
    let base = case.round_trip.as_nanos() as f64 + transmission(case);
    let truth = probes.queueing_delays();
    assert!(
        truth.len() as u64 + 20 > load.n && truth.len() as u64 <= load.n + 20,
        "{} packets in the log",
        truth.len()
    );
    for (name, percent, measured) in [("P50", 50.0, load.p50), ("P95", 95.0, load.p95)] {
        // A lost packet counts as infinitely late, here as there.
        let truth = percentile(&truth, percent).expect("probes under load");
        match (measured, truth) {
            (None, u64::MAX) => {}
            (Some(Delay(measured)), truth) if truth != u64::MAX => {
                let queueing = (measured as f64 - base) / MILLISECOND;
                let truth = truth as f64 / MILLISECOND;
                close(&format!("loaded queueing {name}, ms"), case, queueing, truth, (truth * 0.05).max(1.0));
            }
            (measured, truth) => panic!("{case}: {name}: measured {measured:?}, truth {truth}"),
        }
    }
}

fn goodput_is_what_was_delivered(case: &Case, measured: &Measured, analysis: &Analysis) {
    for direction in Direction::ALL {
        let truth = bulk_goodput(measured, direction) as f64;
        let sum = analysis.goodput(direction).octets.0 as f64;
        close(&format!("goodput {direction}, octets"), case, sum, truth, truth * 0.01);
    }
}

fn no_second_exceeds_the_link(case: &Case, analysis: &Analysis) {
    for (direction, rate) in [(Direction::Down, case.down), (Direction::Up, case.up)] {
        let series = &analysis.goodput(direction).sum_series;
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
        let limit = rate.0 as f64 * PAYLOAD_SHARE * 1.01 + 8.0 * 1448.0 * 8.0;
        eprintln!("{case}: busiest second {direction}: {most:.0} bit of {limit:.0}");
        assert!(most > 0.5 * rate.0 as f64, "{case}: {direction} was hardly used: {most:.0} bit in a second");
        assert!(most <= limit, "{case}: {direction}: {most:.0} bit in one second, the link carries {limit:.0}");
    }
}

fn holds_against_the_links_log(name: &str, case: &Case) {
    rrul_lab::on_a_lab(name, || {
        let measured = over_a_link::measure(case);
        let analysis = rrul_analysis::analyze(&measured.recording);
        assert_eq!(analysis.test.families, [AddressFamily::Ipv4]);
        assert!(analysis.failed_flows.is_empty(), "{:?}", analysis.failed_flows);
        let scored = analysis.scored.common.expect("a load");
        let probes = Probes::sent_in(&measured, &on_the_links_clock(&measured.recording, scored));
        idle_round_trip_is_the_links(case, &measured, &analysis);
        queueing_is_the_links(case, &analysis, &probes);
        goodput_is_what_was_delivered(case, &measured, &analysis);
        no_second_exceeds_the_link(case, &analysis);
    });
}

macro_rules! links {
    ($($(#[$left:meta])? $name:ident: $down:literal / $up:literal Mbit/s, $delay:literal ms, $queue:literal;)*) => {$(
        #[test]
        $(#[$left])?
        fn $name() {
            let [down, up] = rates($down, $up);
            let case = Case { down, up, round_trip: Duration::from_millis($delay), queue: $queue };
            holds_against_the_links_log(stringify!($name), &case);
        }
    )*};
}

// Every run of the suite has a slow, a common and a fast link and a managed queue; `make accuracy` has all of them.
links! {
    pfifo_5_1_at_80_ms: 5 / 1 Mbit/s, 80 ms, "pfifo";
    pfifo_20_8_at_18_ms: 20 / 8 Mbit/s, 18 ms, "pfifo";
    pfifo_100_40_at_10_ms: 100 / 40 Mbit/s, 10 ms, "pfifo";
    fq_codel_20_8_at_18_ms: 20 / 8 Mbit/s, 18 ms, "fq_codel";
    #[ignore = "a link of `make accuracy`"] pfifo_5_1_at_10_ms: 5 / 1 Mbit/s, 10 ms, "pfifo";
    #[ignore = "a link of `make accuracy`"] pfifo_5_1_at_18_ms: 5 / 1 Mbit/s, 18 ms, "pfifo";
    #[ignore = "a link of `make accuracy`"] pfifo_20_8_at_10_ms: 20 / 8 Mbit/s, 10 ms, "pfifo";
    #[ignore = "a link of `make accuracy`"] pfifo_20_8_at_80_ms: 20 / 8 Mbit/s, 80 ms, "pfifo";
    #[ignore = "a link of `make accuracy`"] pfifo_100_40_at_18_ms: 100 / 40 Mbit/s, 18 ms, "pfifo";
    #[ignore = "a link of `make accuracy`"] pfifo_100_40_at_80_ms: 100 / 40 Mbit/s, 80 ms, "pfifo";
    #[ignore = "a link of `make accuracy`"] fq_codel_5_1_at_10_ms: 5 / 1 Mbit/s, 10 ms, "fq_codel";
    #[ignore = "a link of `make accuracy`"] fq_codel_100_40_at_80_ms: 100 / 40 Mbit/s, 80 ms, "fq_codel";
}
