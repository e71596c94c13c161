//! Paths that change in the middle of the load while the queues stay where they are.

use rrul_model::flow::Direction;
use rrul_model::time::TestTime;

use crate::run::Bed;
use crate::seeds;
use crate::verdicts::{Place, Tally};
use crate::{LOAD, SECOND};

const HOPS: u8 = 5;

/// Between a quarter and three quarters of the load.
fn moment(seed: u64) -> TestTime {
    TestTime(LOAD.from.0 + 3 * SECOND + (seed % 8) as i64 * SECOND + 370_000_000)
}

fn path(hops: u8, up: u8, down: u8, more: &str) -> String {
    format!("hops = {hops}\nup_queue_after = {up}\ndown_queue_after = {down}\n{more}")
}

#[test]
fn a_route_that_changes_under_load_is_reported_and_misleads_no_one() {
    let mut tally = Tally::default();
    // The queues stay behind the same routers as counted from the client; from the server the number is another.
    for (hops, (seed, up)) in [HOPS - 1, HOPS, HOPS + 1]
        .into_iter()
        .flat_map(|hops| seeds().flat_map(move |seed| (1..HOPS).map(move |up| (hops, (seed, up)))))
    {
        let (down, at) = (HOPS - up, moment(seed));
        let then = Some((at, path(hops, up, down, "addresses = 7")));
        let bed = Bed { then, ..Bed::new(path(HOPS, up, down, ""), seed) };
        for trace in &bed.analyze().path_traces {
            let hop = if trace.direction == Direction::Up { up } else { down };
            let places = [HOPS, hops].map(|hops| Place::of(trace.direction, hop, hops));
            let condition = format!("{HOPS} hops, then {hops}, {}, {}", trace.direction, trace.family);
            let what = format!("seed {seed}, {HOPS} hops, then {hops}, queues after {up} and {down}");
            tally.count(condition, trace, &places, &what);
            let changes = &trace.route_changes;
            if hops == HOPS {
                assert!(changes.is_empty(), "{what}: as many routers as before, and {changes:?}");
            } else {
                assert_eq!(changes.iter().map(|change| change.routers).collect::<Vec<_>>(), [hops], "{what}");
                // What left just before it may come after it, and the next packet to the destination leaves within a
                // second.
                let off = changes[0].at_ns - at.0;
                assert!((-SECOND / 2..=2 * SECOND).contains(&off), "{what}: reported {off} ns from the change");
            }
        }
    }
    println!("{tally}");
    tally.assert_never_wrong();
    tally.assert_tells(80);
}

#[test]
fn a_router_that_falls_silent_under_load_misleads_no_one() {
    let mut tally = Tally::default();
    for (seed, up) in seeds().flat_map(|seed| (1..=HOPS).map(move |up| (seed, up))) {
        let down = (up + 1) % HOPS + 1;
        let silent = (up + (seed % u64::from(HOPS)) as u8) % HOPS + 1;
        let then = Some((moment(seed), path(HOPS, up, down, &format!("silent = [{silent}]"))));
        let bed = Bed { then, ..Bed::new(path(HOPS, up, down, ""), seed) };
        for trace in &bed.analyze().path_traces {
            let hop = if trace.direction == Direction::Up { up } else { down };
            let condition = format!("one falls silent, {}, {}", trace.direction, trace.family);
            let what = format!("seed {seed}, queues after {up} and {down}, {silent} falls silent");
            tally.count(condition, trace, &[Place::of(trace.direction, hop, HOPS)], &what);
            assert!(trace.route_changes.is_empty(), "{what}: {:?}", trace.route_changes);
        }
    }
    println!("{tally}");
    tally.assert_never_wrong();
    tally.assert_tells(80);
}
