//! Steps of a host's wall clock against the test's clock, around which kernel stamps cannot be believed.
//!
//! The kernel stamps packets with the wall clock, and the ends carry those stamps over to the test's clock by a distance
//! that they read anew every 5 ms. When a time service steps the wall clock, stamps in between are off by the step.

use std::time::Duration;

use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

/// Smallest step, nanoseconds. Less is a reading that was interrupted, or slewing.
const LEAST_STEP: i64 = 500_000;

/// No time service slews faster, nanoseconds a second.
const FASTEST_SLEW: i64 = 1_000_000;

/// How far two measurements of one step may be apart, as a part of it.
const ALIKE: f64 = 0.1;

/// Readings on either side of a step that are compared.
const BESIDE: usize = 3;

/// How long after a step stamps may still be carried over by the old distance.
const CARRIED_OVER: Duration = Duration::from_millis(20);

/// The steps of one host's wall clock against its test clock.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(crate) struct Steps {
    /// Stamps in these windows may be off. In order, and apart from each other.
    windows: Vec<Window>,
    jumps: Vec<Jump>,
}

/// One step.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The last reading before it and the first after it, on the host's test clock.
    pub(crate) between: (TestTime, TestTime),
    /// How far the wall clock went forward against that, nanoseconds.
    by: i64,
}

impl Steps {
    /// Those that this host's samples of its wall clock show.
    pub(crate) fn of(recording: &Recording, point: ObservationPoint) -> Self {
        let mut samples: Vec<(TestTime, i64)> = recording
            .tables_of(point)
            .flat_map(|tables| tables.clock_sample.rows())
            .map(|row| (row.at, row.realtime.saturating_sub(row.at.0)))
            .collect();
        samples.sort_by_key(|(at, _)| *at);
        let usual = usual_distance(&samples);
        let (mut windows, mut jumps) = (Vec::new(), Vec::new());
        // One reading by itself tells nothing, so neither end of the list is looked at.
        let mut index = BESIDE;
        while index + BESIDE <= samples.len() {
            if let Some(by) = step(&samples, index) {
                let between = (samples[index - 1].0, samples[index].0);
                windows.extend(in_doubt(between, by, usual));
                jumps.push(Jump { between, by });
                // What stands on either side of one step is not to be taken for another.
                index += 3;
            } else {
                index += 1;
            }
        }
        Self { windows: apart(windows), jumps }
    }

    /// How many there are.
    pub(crate) fn count(&self) -> usize {
        self.jumps.len()
    }

    /// The step by which the wall clock went forward against the test's clock by about so much, nanoseconds.
    pub(crate) fn of_size(&self, by: f64) -> Option<Jump> {
        self.jumps.iter().find(|jump| by != 0.0 && (jump.by as f64 - by).abs() <= by.abs() * ALIKE).copied()
    }

    /// Whether a stamp of this host that says so may be off.
    pub(crate) fn are_around(&self, at: TestTime) -> bool {
        let begun = self.windows.partition_point(|window| window.from <= at);
        self.windows[..begun].last().is_some_and(|window| window.contains(at))
    }
}

/// When stamps are in doubt around a step `by` of the wall clock between two readings, which are `usual`ly so far apart.
fn in_doubt((from, to): (TestTime, TestTime), by: i64, usual: i64) -> [Window; 2] {
    let shown = to.since(from).0;
    // What passed by the wall clock.
    let passed = shown.saturating_add(by);
    let moved = |at: TestTime, by: i64| TestTime(at.0.saturating_add(by));
    let until = |at: TestTime| at + CARRIED_OVER;
    if passed.abs_diff(usual) < shown.abs_diff(usual) {
        // It was the test clock that stepped, at some instant between: it showed what follows the first reading until then,
        // and what precedes the second from then on.
        let (most, least) = (moved(from, passed).max(to), moved(to, -passed).min(from));
        return [Window { from, to: until(most) }, Window { from: least, to: until(to) }];
    }
    // Stamps of that time, and where the step has put them.
    [Window { from, to: until(to) }, Window { from: moved(from, by), to: until(moved(to, by)) }]
}

/// How far readings are apart in the middle.
fn usual_distance(samples: &[(TestTime, i64)]) -> i64 {
    let mut distances: Vec<i64> = samples.windows(2).map(|pair| pair[1].0.since(pair[0].0).0).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or_default()
}

/// The same stretches of time as windows that do not overlap, in order.
fn apart(mut windows: Vec<Window>) -> Vec<Window> {
    windows.sort_by_key(|window| window.from);
    let mut joined: Vec<Window> = Vec::new();
    for window in windows {
        match joined.last_mut() {
            Some(last) if window.from <= last.to => last.to = last.to.max(window.to),
            _ => joined.push(window),
        }
    }
    joined
}

/// By how much the wall clock stepped forward between the sample before this and this.
///
/// A thread that is interrupted between its two readings gives one sample that is off; so the medians of three on either
/// side are compared, as far as there are three.
fn step(samples: &[(TestTime, i64)], index: usize) -> Option<i64> {
    let before = &samples[index.saturating_sub(3)..index];
    let after = &samples[index..samples.len().min(index + 3)];
    let apart = after.last()?.0.since(before.first()?.0).0.max(0);
    let allowed = LEAST_STEP.saturating_add(apart / 1_000 * (FASTEST_SLEW / 1_000_000));
    let by = median(after).saturating_sub(median(before));
    let here = samples[index].1.saturating_sub(samples[index - 1].1);
    // Both: the level has changed, and it changed here.
    let stepped = by.saturating_abs() > allowed && here.saturating_abs() > by.saturating_abs() / 2;
    stepped.then_some(by)
}

fn median(samples: &[(TestTime, i64)]) -> i64 {
    let mut distances: Vec<i64> = samples.iter().map(|(_, distance)| *distance).collect();
    distances.sort_unstable();
    distances.get(distances.len() / 2).copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// Which of these instants, in milliseconds, are in doubt when the clock that is shown between two readings went by
    /// `shown`, the wall clock by `by` more, and readings are 100 ms apart.
    fn doubted(shown: i64, by: i64, instants: [i64; 5]) -> [bool; 5] {
        let at = |milliseconds: i64| TestTime(milliseconds * MS);
        let windows = in_doubt((at(1000), at(1000 + shown)), by * MS, 100 * MS);
        instants.map(|instant| windows.iter().any(|window| window.contains(at(instant))))
    }

    #[test]
    fn a_wall_clock_that_steps_puts_in_doubt_its_readings_and_where_they_are_moved() {
        assert_eq!(doubted(100, 100, [990, 1050, 1110, 1150, 1250]), [false, true, true, true, false]);
        assert_eq!(doubted(100, -100, [890, 950, 1050, 1110, 1150]), [false, true, true, true, false]);
    }

    #[test]
    fn a_test_clock_that_steps_puts_in_doubt_all_that_it_shows_twice_or_never() {
        // Back by 100 ms: it shows again what it had shown before the step, and what precedes the second reading.
        assert_eq!(doubted(0, 100, [890, 910, 990, 1090, 1150]), [false, true, true, true, false]);
        // Forward by 100 ms: it never shows what lies between.
        assert_eq!(doubted(200, -100, [990, 1010, 1100, 1190, 1250]), [false, true, true, true, false]);
    }
}
