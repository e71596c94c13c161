//! Where a path trace says that the queue is, held against links whose queues lie at a known place: a whole test in virtual
//! time, both families and both directions at once, load and all.

mod changes;
mod disturbed;
mod load;
mod notes;
mod packets;
mod positions;
mod run;
mod trace;
mod unloaded;
mod verdicts;

use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};

const MS: i64 = 1_000_000;
const SECOND: i64 = 1000 * MS;

/// Six seconds of an idle line, fourteen of load, and four after it.
const ALL: Window = Window { from: TestTime(0), to: TestTime(24 * SECOND) };
const LOAD: Window = Window { from: TestTime(6 * SECOND), to: TestTime(20 * SECOND) };

/// Drawn evenly from these.
fn between(random: &mut Random, from: i64, to: i64) -> i64 {
    from + (random.next() % (to - from) as u64) as i64
}

/// The seeds of the runs of one condition: one, or as many as `RRUL_PATH_SEEDS` says (`make accuracy`: four).
fn seeds() -> std::ops::RangeInclusive<u64> {
    let asked = std::env::var("RRUL_PATH_SEEDS").ok();
    1..=asked.map_or(1, |count| count.parse().expect("RRUL_PATH_SEEDS is a number")).max(1)
}
