//! Delay by direction through a server whose clock runs fast and steps, held against the link's log.
//!
//! The link's two ways differ in length, and only the way up queues. Tolerances: 1 ms or 5 % for queueing, as the lab's
//! threads and those of the ends add up to some tenths of a millisecond; 0.5 ms for the step and for absolute delay.

use std::ops::Range;
use std::time::Duration;

use rrul_analysis::metrics::delay::one_way_delay::Changed;
use rrul_engine::clock::host_clock::{ClockDistortion, ClockStep};
use rrul_lab::{LabTime, percentile};
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::units::Delay;

use crate::journal::UDP;
use crate::plans::{THREE_CLASSES, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

const LINK: &str = r#"# The upload waits up to 150 ms.
[up]
rate = "8Mbit/s"
delay = "30ms"
queue = { discipline = "pfifo", limit = "100p" }
[down]
rate = "20Mbit/s"
delay = "10ms"
queue = { discipline = "pfifo", limit = "100p" }
"#;

/// How long after the server's start its clock steps: in the middle of the load.
const STEPS: &[ClockStep] = &[ClockStep { after: Duration::from_secs(9), forward: 100_000_000 }];

pub(crate) const CLOCK_STEPS: Bed = Bed {
    name: "clock_steps",
    about: "30 ms up and 10 ms down, two streams up, and a server whose clock gains 200 ppm and steps 100 ms under load: no queue \
        moves.",
    runs: Runs::SideBySide,
    run: clock_steps,
};

fn milliseconds(delay: Option<Delay>) -> Option<f64> {
    delay.map(|delay| delay.0 as f64 / 1e6)
}

fn clock_steps(rows: &mut Rows) {
    let flows = [("bulk_tcp", "direction = \"up\"\neach.class = [\"BE\", \"BK\"]"), ("udp_probe", THREE_CLASSES)];
    let plan = plan("idle = \"3s\", load = \"10s\", after = \"3500ms\"", &flows);
    let clock = ClockDistortion { skew_ppb: 200_000, steps: STEPS };
    let measured = Setting::new(LINK, plan).server_clock(clock).measure();
    let found = &measured.analysis.one_way_delay;
    let clocks = found.clocks.as_ref().unwrap();
    rows.equal("R74", "doubt about the skew", format!("{:?}", clocks.skew_uncertain), "None".to_owned());
    rows.near("R74", "skew of the server's clock, ppm", Some(clocks.skew_ppm), 200.0, 10.0);
    let changes: Vec<_> = clocks.segments.iter().flat_map(|segment| &segment.changes).collect();
    let only_the_server = changes.iter().map(|change| change.what).eq([Changed::ServerClock]);
    rows.holds("R74", "what changed", "the server's clock", format!("{changes:?}"), only_the_server);
    let step = changes.first().map(|change| change.by_ns as f64 / 1e6);
    rows.near("R74", "step of the server's clock, ms", step, 100.0, 0.5);
    let load = measured.recording.phase(Phase::Load).unwrap();
    let stepped = clocks.segments.get(1).and_then(|segment| segment.from_ns);
    let inside = stepped.is_some_and(|at| (load.from.0..load.to.0).contains(&at));
    rows.holds("R74", "when it stepped", "under load", format!("{stepped:?}"), inside);

    // Half of what the two ways differ is in each direction's absolute delay, and within the bound that is reported.
    for (direction, half) in [(Direction::Up, -10.0), (Direction::Down, 10.0)] {
        let least = one_way_delays(&measured, direction, &measured.window(Phase::Idle))[0];
        let truth = one_way_delays(&measured, direction, &measured.window(Phase::Load));
        let delays = found.direction(direction);
        let load = delays.queueing_delay.load.unwrap();
        for (percent, found) in [(50.0, load.p50), (95.0, load.p95)] {
            let truth = (percentile(&truth, percent).unwrap() - least) as f64 / 1e6;
            let what = format!("queueing {direction} P{percent}, ms");
            rows.near("R16 R74", what, milliseconds(found), truth, (truth / 20.0).max(1.0));
        }
        let absolute = milliseconds(delays.one_way_delay.idle.and_then(|idle| idle.min));
        let off = absolute.map(|absolute| absolute - least as f64 / 1e6);
        rows.near("R74", format!("least one-way delay {direction}, ms beyond the link's"), off, half, 0.5);
    }
    let bound = clocks.bound_ns as f64 / 1e6;
    rows.between("R74", "bound of absolute one-way delay, ms", Some(bound), "over 10", 10.0..=f64::INFINITY);
    let up = milliseconds(found.up.queueing_delay.load.unwrap().p50);
    rows.between("R16", "queueing up P50 under load, ms: the link did queue", up, "over 60", 60.0..=f64::INFINITY);
    let down = milliseconds(found.down.queueing_delay.load.unwrap().p95);
    rows.between("R74", "queueing down P95 while only up is loaded, ms", down, "no queue", -2.0..=2.0);
    let consistent = measured.word("/one_way_delay/check/consistent");
    rows.equal("R74", "q up + q down agrees with the round trip", consistent, "true".to_owned());
}

/// What the link did to each test packet of one direction that entered it in this window, nanoseconds from when it
/// entered to when it was delivered, ascending; a loss counts as the longest. Background is left out, as in pooled figures.
fn one_way_delays(measured: &Measured, direction: Direction, window: &Range<LabTime>) -> Vec<u64> {
    let records = measured.truth.direction(direction).records();
    let probes = records.filter(|record| record.protocol == UDP && record.tos_in != ServiceClass::BK.octet());
    let inside = probes.filter(|record| window.contains(&record.arrival));
    let mut delays: Vec<u64> =
        inside.map(|record| record.delivery().map_or(u64::MAX, |delivery| delivery.0 - record.arrival.0)).collect();
    delays.sort_unstable();
    delays
}
