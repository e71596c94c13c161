//! Paths on which every router answers as it should: the very link is named.

use rrul_model::flow::Direction;

use crate::load::Pace;
use crate::run::Bed;
use crate::seeds;
use crate::verdicts::{Place, Tally};

/// Every place of either queue on paths of so many routers, each seed with the other queue elsewhere.
fn everywhere(hops: impl Iterator<Item = u8>, pace: Pace) -> Tally {
    let mut tally = Tally::default();
    for hops in hops {
        for (seed, up) in seeds().flat_map(|seed| (1..=hops).map(move |up| (seed, up))) {
            let down = (up + (seed % u64::from(hops)) as u8) % hops + 1;
            let path = format!("hops = {hops}\nup_queue_after = {up}\ndown_queue_after = {down}");
            let analysis = Bed { pace, ..Bed::new(path, seed) }.analyze();
            assert_eq!(analysis.path_traces.len(), 4);
            for trace in &analysis.path_traces {
                let hop = if trace.direction == Direction::Up { up } else { down };
                let condition = format!("{hops} hops, {} queue after {hop}, {}", trace.direction, trace.family);
                let what = format!("seed {seed}, {hops} hops, queues after {up} and {down}");
                tally.count(condition, trace, &[Place::of(trace.direction, hop, hops)], &what);
            }
        }
    }
    println!("{tally}");
    tally
}

#[test]
fn the_link_of_each_direction_is_named_wherever_both_queues_are() {
    let tally = everywhere(1..=8, Pace::Even);
    tally.assert_never_wrong();
    tally.assert_nearly_always_right();
}

#[test]
fn queues_that_swing_within_a_round_trip_as_data_comes_in_bursts_are_found_as_well() {
    let tally = everywhere([1, 2, 4, 7].into_iter(), Pace::Bursts);
    tally.assert_never_wrong();
    tally.assert_nearly_always_right();
}
