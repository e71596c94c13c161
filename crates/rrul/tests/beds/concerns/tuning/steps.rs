//! Steps of a shaper in series with a line, while the load goes on: each step's figures against the link's log.

use std::ops::Range;

use rrul_analysis::tuning::trials;
use rrul_lab::{DirectionTruth, LabTime, percentile};
use rrul_model::flow::Direction;
use rrul_model::units::BitRate;

use super::session::{MEASURE, Session, tune};
use crate::journal::{UDP, by_port};
use crate::rows::Rows;
use crate::{Bed, Runs};

/// Probes at each edge of a window that may be in it or not.
const EDGES: f64 = 2.0;

pub(crate) const STEPS: Bed = Bed {
    name: "shaper_steps",
    about: "A shaper (cake) before and behind a line of 20/8 Mbit/s with a deep FIFO, set below and above it under load.",
    runs: Runs::SideBySide,
    run: |rows| steps(rows, [20e6, 8e6], "18ms", &[[0.95, 0.95], [1.05, 1.05], [0.97, 0.97]]),
};

pub(crate) const SLOW_STEPS: Bed = Bed {
    name: "slow_shaper_steps",
    about: "The same over a line of 5/1 Mbit/s.",
    runs: Runs::InAccuracy,
    run: |rows| steps(rows, [5e6, 1e6], "30ms", &[[0.95, 0.95], [1.05, 1.05], [0.97, 0.97]]),
};

/// A run over a line of these rates, during which the shaper is set to these parts of them, down and up.
fn steps(rows: &mut Rows, line: [f64; 2], rtt: &str, settings: &[[f64; 2]]) {
    let stepped = Session { line, layer: "ip", rtt, queue: "cake", plan: tune(), settings }.run();
    rows.equal("R65", "the load ended early, and the test is whole", stepped.partial(), String::new());
    let truth = stepped.lab.truth().unwrap();
    let trials = trials::trials(&stepped.recording);
    rows.equal("R65", "steps with figures", trials.len(), settings.len());
    for (number, (trial, parts)) in trials.iter().zip(settings).enumerate() {
        let before = number.checked_sub(1).map_or([0.0; 2], |before| settings[before]);
        for (direction, place) in [(Direction::Down, 0), (Direction::Up, 1)] {
            let (line, part) = (line[place], parts[place]);
            let found = trial.directions.get(direction);
            let name = format!("{} at {:.0} % of the line", direction.name(), part * 100.0);
            let window = stepped.on_the_log(trial.step.window());
            let log = truth.direction(direction);
            let arrived = log.delivered_octets(window.clone()).0 as f64 * 8.0 / MEASURE.as_secs_f64() / 1e6;
            let delivered = found.delivered.map(BitRate::megabits);
            rows.near("R65", format!("{name}: delivered, Mbit/s, by the log"), delivered, arrived, arrived * 0.005);
            // Above the line acknowledgments wait in the other direction's queue, and neither direction need be full. What was lost
            // above it is repaired, and the line's queue drains, while the next step is measured.
            if part < 1.0 && before[place] < 1.0 {
                let set = line * part / 1e6;
                rows.near("R65", format!("{name}: delivered, Mbit/s, of what was set"), delivered, set, set * 0.01);
            }
            rows.equal(
                "R65",
                format!("{name}: the network limited the load"),
                format!("{:?}", found.saturated),
                "Some(true)".to_owned(),
            );
            let delay = found.queueing_delay.unwrap();
            let mut waits = waits_of_probes(log, direction, &window);
            waits.sort_unstable();
            let arrived = waits.partition_point(|wait| *wait < u64::MAX);
            let truth_of = |percent| {
                let wait = percentile(&waits, percent).filter(|wait| *wait < u64::MAX);
                wait.or_else(|| percentile(&waits[..arrived], percent)).unwrap_or(0) as f64 / 1e6
            };
            // Two probes at each edge of the window may count or not. Where a queue grows each is milliseconds off the next.
            let edges = EDGES / waits.len().max(1) as f64 * 100.0;
            let reach = |percent: f64| truth_of((percent + edges).min(100.0)) - truth_of(percent - edges);
            let (p50, p95) = (truth_of(50.0), truth_of(95.0));
            rows.near(
                "R65",
                format!("{name}: median queueing, ms"),
                Some(delay.p50.milliseconds()),
                p50,
                1.0 + p50 * 0.02 + reach(50.0) / 2.0,
            );
            rows.near(
                "R65",
                format!("{name}: P95 of queueing, ms"),
                Some(delay.p95.milliseconds()),
                p95,
                1.5 + p95 * 0.05,
            );
        }
    }
}

/// How long the probes waited that arrived within the window, nanoseconds. Those that are lost wait longer than all that arrive:
/// a queue keeps the order of a flow, and their loss shows when the flow's next probe arrives.
fn waits_of_probes(log: &DirectionTruth, direction: Direction, window: &Range<LabTime>) -> Vec<u64> {
    let mut waits = Vec::new();
    for flow in by_port(log.records().filter(|record| record.protocol == UDP), direction).values() {
        let mut lost = 0;
        for record in flow {
            let Some(at) = record.delivery() else {
                lost += 1;
                continue;
            };
            if window.contains(&at) {
                waits.push(record.queueing_delay);
                waits.extend(std::iter::repeat_n(u64::MAX, lost));
            }
            lost = 0;
        }
    }
    waits
}
