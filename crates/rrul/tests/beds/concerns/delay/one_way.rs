//! Delay by direction: a queue on one way, unequal ways, clocks that run apart or jump.

use std::time::Duration;

use rrul_analysis::metrics::delay::delay_variation::DelayVariation;
use rrul_engine::clock::host_clock::{ClockDistortion, ClockStep};
use rrul_lab::Record;
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;

use crate::concerns::delay::queues::queueing;
use crate::journal::UDP;
use crate::plans::{THREE_CLASSES, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Four streams in the directions named, and probes in three classes.
fn loaded(directions: &str) -> String {
    let streams = format!("each.direction = [{directions}]\neach.class = [\"BE\", \"BK\", \"CS5\", \"EF\"]");
    plan("idle = \"4s\", load = \"15s\", after = \"5s\"", &[("bulk_tcp", &streams), ("udp_probe", THREE_CLASSES)])
}

/// 20/8 Mbit/s; each full queue takes 150 ms.
fn link(up_delay: u32, down_delay: u32) -> String {
    format!(
        "[down]\nrate = \"20Mbit/s\"\ndelay = \"{down_delay}ms\"\nqueue = {{ discipline = \"bfifo\", limit = \"375kB\" }}\n\
         [up]\nrate = \"8Mbit/s\"\ndelay = \"{up_delay}ms\"\nqueue = {{ discipline = \"bfifo\", limit = \"150kB\" }}\n"
    )
}

pub(crate) const UP_ONLY: Bed = Bed {
    name: "up_only",
    about: "20/8 Mbit/s, 10 ms each way, load upwards only: a queue of up to 150 ms on one way.",
    runs: Runs::SideBySide,
    run: up_only,
};

fn up_only(rows: &mut Rows) {
    let measured = Setting::new(link(10, 10), loaded("\"up\"")).measure();
    queueing(rows, &measured, "R16 R74");
    // Not the longest: a moment in which this machine stands still is longer.
    let deep = measured.milliseconds("/one_way_delay/up/queueing_delay/load/p99_ns");
    rows.near("R74", "queueing up P99, ms: depth of the queue", deep, 150.0, 5.0);
    let down = measured.milliseconds("/one_way_delay/down/queueing_delay/load/p95_ns");
    rows.between("R74", "queueing down P95 while only up is loaded, ms", down, "no queue", -0.5..=2.0);
    variation(rows, &measured);
    let consistent = measured.word("/one_way_delay/check/consistent");
    rows.equal("R74", "q up + q down agrees with the round trip", consistent, "true".to_owned());
}

/// Delay variation of one flow upwards under load, from the log's delays of its packets in the order of sending.
fn variation(rows: &mut Rows, measured: &Measured) {
    let window = measured.scored();
    let class = ServiceClass::EF.octet();
    let ours = |record: &&Record| record.protocol == UDP && record.tos_in == class && window.contains(&record.arrival);
    let mut log: Vec<&Record> = measured.truth.up.records().filter(ours).collect();
    log.sort_by_key(|record| record.arrival);
    let delays: Vec<f64> =
        log.iter().filter_map(|one| Some((one.delivery()?.0 - one.arrival.0) as f64 / 1e6)).collect();
    let mut sorted = delays.clone();
    sorted.sort_by(f64::total_cmp);
    let differences: Vec<f64> = delays.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    let rtp = differences.iter().fold(0.0, |estimate, difference| estimate + (difference - estimate) / 16.0);
    let leg = measured
        .analysis
        .one_way_delay
        .legs
        .iter()
        .find(|leg| leg.direction == Direction::Up && leg.flow.class.octet() == class);
    let found = leg.and_then(|leg| leg.delay_variation.load.as_ref());
    let told = |of: fn(&DelayVariation) -> Option<i64>| found.and_then(of).map(|found| found as f64 / 1e6);
    let p95 = sorted[sorted.len() * 95 / 100] - sorted[0];
    rows.near("R16", "PDV of EF up P95, ms", told(|found| found.pdv_p95_ns), p95, 1.0);
    let mean = differences.iter().sum::<f64>() / differences.len() as f64;
    rows.near("R16", "mean magnitude of IPDV of EF up, ms", told(|found| found.ipdv_abs_mean_ns), mean, 0.2);
    rows.near(
        "R16",
        "RTP's estimate for EF up at the end of the load, ms",
        told(|found| found.rtp_jitter_ns),
        rtp,
        0.5,
    );
}

pub(crate) const ASYMMETRIC: Bed = Bed {
    name: "asymmetric",
    about: "30 ms up and 10 ms down: the split of the base round trip cannot be known, only bounded.",
    runs: Runs::InAccuracy,
    run: asymmetric,
};

fn asymmetric(rows: &mut Rows) {
    let measured = Setting::new(link(30, 10), loaded("\"up\", \"down\"")).measure();
    queueing(rows, &measured, "R16 R74");
    absolute(rows, &measured);
}

/// How far the queueing of each packet is off.
fn errors(rows: &mut Rows, measured: &Measured) {
    for direction in Direction::ALL {
        let errors = measured.queueing_errors(direction);
        let p95 = errors.as_ref().map(|errors| errors[errors.len() * 95 / 100]);
        rows.between("R74", format!("error of queueing {direction}, P95 of all packets, ms"), p95, 0, 0.0..=1.0);
        let told = errors.map_or(0, |errors| errors.len());
        rows.holds("R74", format!("packets {direction} of which it is known"), "thousands", told, told > 2000);
    }
}

/// Absolute delay is half of the round trip, and the truth lies within the bound.
fn absolute(rows: &mut Rows, measured: &Measured) {
    let bound = measured.milliseconds("/one_way_delay/clocks/bound_ns");
    rows.near("R74", "bound of absolute one-way delay, ms", bound, 20.0, 0.5);
    for (name, truth) in [("up", 30.0), ("down", 10.0)] {
        let found = measured.milliseconds(&format!("/one_way_delay/{name}/one_way_delay/idle/min_ns"));
        rows.near("R74", format!("least one-way delay {name}, idle, ms: half the round trip"), found, 20.0, 0.7);
        let inside = found.zip(bound).is_some_and(|(found, bound)| (found - truth).abs() <= bound);
        let told = format!("{:.1} ± {:.1}", found.unwrap_or(f64::NAN), bound.unwrap_or(f64::NAN));
        rows.holds("R74", format!("the truth {name} lies within the bound, ms"), truth, told, inside);
    }
}

pub(crate) const CLOCK_FAST: Bed = Bed {
    name: "clock_fast",
    about: "30 ms up and 10 ms down, load both ways, and a server whose clock gains 200 ppm and steps 100 ms forward under load.",
    runs: Runs::InAccuracy,
    run: |rows| clock(rows, 200_000, FORWARD),
};

pub(crate) const CLOCK_SLOW: Bed = Bed {
    name: "clock_slow",
    about: "The same, with a clock that loses 200 ppm and steps 100 ms back.",
    runs: Runs::InAccuracy,
    run: |rows| clock(rows, -200_000, BACK),
};

const AFTER: Duration = Duration::from_secs(13);
const STEP: i64 = 100_000_000;
const FORWARD: &[ClockStep] = &[ClockStep { after: AFTER, forward: STEP }];
const BACK: &[ClockStep] = &[ClockStep { after: AFTER, forward: -STEP }];

fn clock(rows: &mut Rows, skew_ppb: i64, steps: &'static [ClockStep]) {
    let setting = Setting::new(link(30, 10), loaded("\"up\", \"down\""));
    let measured = setting.server_clock(ClockDistortion { skew_ppb, steps }).measure();
    let doubt = measured.word("/one_way_delay/clocks/skew_uncertain");
    rows.equal("R74", "doubt about the skew", doubt, "null".to_owned());
    errors(rows, &measured);
    absolute(rows, &measured);
    let skew = measured.number("/one_way_delay/clocks/skew_ppm");
    rows.near("R74", "skew of the server's clock, ppm", skew, skew_ppb as f64 / 1e3, 10.0);
    let clocks = measured.analysis.one_way_delay.clocks.as_ref();
    let changes: Vec<_> = clocks.into_iter().flat_map(|clocks| &clocks.segments).flat_map(|one| &one.changes).collect();
    let told: Vec<String> =
        changes.iter().map(|change| serde_json::json!(change.what).as_str().unwrap_or_default().to_owned()).collect();
    rows.equal("R74", "what changed", told.join(", "), "server_clock".to_owned());
    let by = changes.first().map(|change| change.by_ns as f64 / 1e6);
    rows.near("R74", "step of the server's clock, ms", by, steps[0].forward as f64 / 1e6, 0.5);
    for direction in Direction::ALL {
        let series = measured.analysis.one_way_delay.legs.iter().filter(|leg| leg.direction == direction);
        let least = series.flat_map(|leg| &leg.queueing_series).filter_map(|point| point.delay).min();
        let least = least.map(|delay| delay.0 as f64 / 1e6);
        rows.between(
            "R74",
            format!("least queueing {direction} of the whole test, ms"),
            least,
            "not below 0",
            -1.0..=1.0,
        );
    }
}
