//! A direction without load has no queue to look for, and the other's is found all the same.

use rrul_analysis::metrics::path::bottleneck::BottleneckPlace;
use rrul_model::flow::Direction;

use crate::run::Bed;
use crate::seeds;
use crate::verdicts::{Place, Tally};

#[test]
fn a_direction_without_load_has_no_bottleneck() {
    let mut tally = Tally::default();
    let cases = seeds().flat_map(|seed| Direction::ALL.map(|loaded| (seed, loaded)));
    for ((seed, loaded), hops) in cases.flat_map(|case| [1_u8, 4, 7].map(|hops| (case, hops))) {
        let hop = 1 + (seed % u64::from(hops)) as u8;
        let path = format!("hops = {hops}\nup_queue_after = {hop}\ndown_queue_after = {hop}");
        let bed = Bed { loaded: vec![loaded], ..Bed::new(path, seed) };
        for trace in &bed.analyze().path_traces {
            let what = format!("seed {seed}, {hops} hops, {loaded} load, queues after {hop}");
            if trace.direction == loaded {
                let condition = format!("{loaded} load alone, {}", trace.family);
                tally.count(condition, trace, &[Place::of(loaded, hop, hops)], &what);
            } else {
                let found = &trace.bottleneck;
                assert_eq!(found.place, BottleneckPlace::None, "{what}, {}: {}", trace.direction, found.words);
            }
        }
    }
    println!("{tally}");
    tally.assert_never_wrong();
    tally.assert_nearly_always_right();
}
