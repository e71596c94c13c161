//! Delay by direction through a server whose clock runs fast and steps, held against the link's log.
//!
//! The link's two ways differ in length, and only the way up queues. Tolerances: 1 ms or 5 % for queueing, as the lab's
//! threads and those of the ends add up to some tenths of a millisecond; 0.5 ms for the step and for absolute delay.

use rrul_analysis::metrics::delay::one_way_delay::Changed;
use std::time::Duration;

use rrul_engine::client::Families;
use rrul_engine::clock::host_clock::{ClockDistortion, ClockStep};
use rrul_engine::server::ServerOptions;
use rrul_lab::{Link, percentile};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::Phase;

use crate::link_log::{one_way_delays, window_of};
use crate::over_a_link::measure_against;

const MS: i64 = 1_000_000;

const LINK: &str = r#"# 30 ms up and 10 ms down; the upload waits up to 150 ms
[up]
rate = "8Mbit/s"
delay = "30ms"
queue = { discipline = "pfifo", limit = "100p" }
[down]
rate = "20Mbit/s"
delay = "10ms"
queue = { discipline = "pfifo", limit = "100p" }
"#;

const PLAN: &str = r#"
title = "two streams up and probes in three classes"
overhead = "none"
phases = { idle = "3s", load = "10s", after = "3500ms" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
direction = "up"
each.class = ["BE", "BK"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BK", "BE"]
"#;

/// How long after the server's start its clock steps: in the middle of the load.
const STEPS: &[ClockStep] = &[ClockStep { after: Duration::from_secs(9), forward: 100 * MS }];

#[track_caller]
fn close(what: &str, measured: i64, truth: i64, tolerance: i64) {
    let [m, t, a] = [measured, truth, tolerance].map(|one| one as f64 / 1e6);
    eprintln!("{what}: measured {m:.3} ms, truth {t:.3} ms, difference {:+.3} ms, allowed {a:.3} ms", m - t);
    assert!((measured - truth).abs() <= tolerance, "{what}: measured {m:.3} ms, truth {t:.3} ms, allowed {a:.3} ms");
}

#[test]
fn a_clock_that_gains_200_ppm_and_steps_100_ms_under_load_moves_no_queue() {
    rrul_lab::on_a_lab("a_clock_that_gains_200_ppm_and_steps_100_ms_under_load_moves_no_queue", || {
        let link = Link::from_toml("clocks.toml", LINK).expect("a link file");
        let clock = ClockDistortion { skew_ppb: 200_000, steps: STEPS };
        let server = ServerOptions { clock, ..ServerOptions::default() };
        let measured = measure_against(server, &link, PLAN, Families::Only(AddressFamily::Ipv4), "clocks");
        let told = rrul_analysis::analyze(&measured.recording).measured.one_way_delay;
        let clocks = told.clocks.as_ref().expect("clocks");
        assert_eq!(clocks.skew_uncertain, None);
        eprintln!("skew {:.3} ppm, error {:?} ppm", clocks.skew_ppm, clocks.skew_error_ppm);
        assert!((clocks.skew_ppm - 200.0).abs() < 10.0, "{} ppm", clocks.skew_ppm);
        let changes: Vec<_> = clocks.segments.iter().flat_map(|segment| &segment.changes).collect();
        assert_eq!(changes.iter().map(|change| change.what).collect::<Vec<_>>(), [Changed::ServerClock], "{changes:?}");
        close("step", changes[0].by_ns, 100 * MS, MS / 2);
        let stepped = clocks.segments[1].from_ns.expect("an instant");
        let load = measured.recording.phase(Phase::Load).expect("a load");
        assert!((load.from.0..load.to.0).contains(&stepped), "at {stepped} ns");

        let [idle, load] = [Phase::Idle, Phase::Load].map(|phase| window_of(&measured.recording, phase));
        for direction in Direction::ALL {
            let least = one_way_delays(&measured, direction, &idle)[0];
            let truth = one_way_delays(&measured, direction, &load);
            let delays = told.direction(direction);
            let waited = delays.queueing_delay.load.expect("load");
            for (name, percent, found) in [("P50", 50.0, waited.p50), ("P95", 95.0, waited.p95)] {
                let truth = percentile(&truth, percent).expect("packets") - least;
                let tolerance = MS.max(truth.cast_signed() / 20);
                close(
                    &format!("queueing {direction} {name}"),
                    found.expect("a delay").0,
                    truth.cast_signed(),
                    tolerance,
                );
            }
            // Half of what the two ways differ, and within the bound that is told.
            let half = if direction == Direction::Up { -10 * MS } else { 10 * MS };
            let absolute = delays.one_way_delay.idle.expect("idle").min.expect("a delay").0;
            close(&format!("one way {direction}"), absolute - least.cast_signed(), half, MS / 2);
            assert!(half.abs() < clocks.bound_ns, "the bound told is {} ns", clocks.bound_ns);
        }
        let up = told.up.queueing_delay.load.expect("load").p50.expect("a delay").0;
        assert!(up > 60 * MS, "the link did queue: {up} ns");
        let down = told.down.queueing_delay.load.expect("load").p95.expect("a delay").0;
        assert!(down < 2 * MS, "nothing queued on the way down: {down} ns");
        assert!(told.check.expect("a check").consistent, "{:?}", told.check);
    });
}
