//! Delay by direction: a queue on one way, unequal ways, clocks that run apart or jump.

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::Bed;
use crate::bed::{Measured, Setting};
use crate::rows::Rows;

/// Four streams in the directions named, and probes in three classes.
fn plan(directions: &str) -> String {
    format!(
        r#"
title = "load in some directions, probes"
phases = {{ idle = "4s", load = "15s", after = "5s" }}
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = [{directions}]
each.class = ["BE", "BK", "CS5", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BK", "BE"]
interval = "20ms"
"#
    )
}

/// 20/8 Mbit/s; the up queue holds 150 ms.
fn link(up_delay: u32, down_delay: u32) -> String {
    format!(
        "[down]\nrate = \"20Mbit/s\"\ndelay = \"{down_delay}ms\"\nqueue = {{ discipline = \"pfifo\", limit = \"250p\" }}\n\
         [up]\nrate = \"8Mbit/s\"\ndelay = \"{up_delay}ms\"\nqueue = {{ discipline = \"pfifo\", limit = \"100p\" }}\n"
    )
}

/// Queueing delay of both directions under load against the log.
fn queueing(rows: &mut Rows, measured: &Measured, requirements: &'static str) {
    let load = measured.window(Phase::Load);
    for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
        for (percent, member) in [(50.0, "p50_ns"), (95.0, "p95_ns")] {
            let truth = measured.udp_queueing(direction, &load, percent).unwrap_or(f64::NAN);
            let found = measured.milliseconds(&format!("/one_way_delay/{name}/queueing_delay/load/{member}"));
            rows.near(requirements, format!("queueing {name} P{percent}, ms"), found, truth, 1.0);
        }
    }
}

pub(crate) const UP_ONLY: Bed = Bed {
    name: "up_only",
    about: "20/8 Mbit/s, 10 ms each way, load upwards only: a queue of up to 150 ms on one way.",
    quick: true,
    run: up_only,
};

fn up_only(rows: &mut Rows) {
    let measured = Setting::new(link(10, 10), plan("\"up\"")).measure();
    queueing(rows, &measured, "R16 R74");
    let down = measured.milliseconds("/one_way_delay/down/queueing_delay/load/p95_ns");
    rows.between("R74", "queueing down P95 while only up is loaded, ms", down, "no queue", -0.5..=2.0);
    rows.equal("R74", "q up + q down agrees with the round trip", measured.word("/one_way_delay/check/consistent"), "true".to_owned());
}

pub(crate) const ASYMMETRIC: Bed = Bed {
    name: "asymmetric",
    about: "30 ms up and 10 ms down: the split of the base round trip cannot be known, only bounded.",
    quick: false,
    run: asymmetric,
};

fn asymmetric(rows: &mut Rows) {
    let measured = Setting::new(link(30, 10), plan("\"up\", \"down\"")).measure();
    queueing(rows, &measured, "R16 R74");
    let bound = measured.milliseconds("/one_way_delay/clocks/bound_ns");
    rows.near("R74", "bound of absolute one-way delay, ms", bound, 20.0, 0.5);
    for (name, truth) in [("up", 30.0), ("down", 10.0)] {
        let found = measured.milliseconds(&format!("/one_way_delay/{name}/one_way_delay/idle/p50_ns"));
        rows.near("R74", format!("one-way delay {name}, idle P50, ms: half the round trip"), found, 20.0, 0.5);
        let inside = found.zip(bound).is_some_and(|(found, bound)| (found - truth).abs() <= bound);
        rows.holds("R74", format!("the truth {name} lies within the bound"), truth, format!("{found:?} ± {bound:?}"), inside);
    }
}
