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

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Jump {
    /// The last reading before it and the first after it, on the host's test clock.
    pub(crate) between: (TestTime, TestTime),
    /// How far the wall clock went forward against that, nanoseconds.
    by: i64,
}

impl Steps {
    /// Finds the steps that this host's samples of its wall clock show.
    pub(crate) fn from_recording(recording: &Recording, point: ObservationPoint) -> Self {
        let samples = recording.tables_of(point).flat_map(|tables| tables.clock_sample.rows());
        Self::of_samples(samples.map(|row| (row.at, row.realtime.saturating_sub(row.at.0))).collect())
    }

    /// Finds the steps in the test clock's readings, each with how far the wall clock was ahead.
    fn of_samples(mut samples: Vec<(TestTime, i64)>) -> Self {
        samples.sort_by_key(|(at, _)| *at);
        let (mut windows, mut jumps) = (Vec::new(), Vec::new());
        // One reading by itself is inconclusive, so neither end of the list is looked at.
        let mut index = BESIDE;
        while index + BESIDE <= samples.len() {
            if let Some(by) = step(&samples, index) {
                let between = (samples[index - 1].0, samples[index].0);
                windows.extend(in_doubt(between, by));
                jumps.push(Jump { between, by });
                // What stands on either side of one step is not to be taken for another.
                index += 3;
            } else {
                index += 1;
            }
        }
        Self { windows: apart(windows), jumps }
    }

    pub(crate) fn count(&self) -> usize {
        self.jumps.len()
    }

    /// The step by which the wall clock went forward against the test's clock by about so much, nanoseconds.
    pub(crate) fn of_size(&self, by: f64) -> Option<Jump> {
        self.jumps.iter().find(|jump| by != 0.0 && (jump.by as f64 - by).abs() <= by.abs() * ALIKE).copied()
    }

    /// When the stamps of a test clock that stepped forward by so much are in doubt, where such a step shows here.
    ///
    /// Against a test clock that steps the wall clock seems to, the other way. Somewhere between the two readings is the
    /// instant; a clock that steps back shows twice what it showed before and after.
    pub(crate) fn around_clock_step(&self, forward: f64) -> Option<Window> {
        let jump = self.of_size(-forward)?;
        let reach = Duration::from_nanos(jump.by.unsigned_abs());
        Some(Window { from: jump.between.0 - reach, to: jump.between.1 + reach + CARRIED_OVER })
    }

    /// Whether a stamp of this host that says so may be off.
    pub(crate) fn are_around(&self, at: TestTime) -> bool {
        let begun = self.windows.partition_point(|window| window.from <= at);
        self.windows[..begun].last().is_some_and(|window| window.contains(at))
    }
}

/// When stamps are in doubt around a step `by` of the wall clock between two readings: those of that time, and where the
/// step has put them.
fn in_doubt((from, to): (TestTime, TestTime), by: i64) -> [Window; 2] {
    let until = |at: TestTime| at + CARRIED_OVER;
    let (moved_from, moved_to) = (TestTime(from.0.saturating_add(by)), TestTime(to.0.saturating_add(by)));
    [Window { from, to: until(to) }, Window { from: moved_from, to: until(moved_to) }]
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
/// A thread that is interrupted between its two readings gives one sample that is off; so the medians of three on
/// either side are compared, as far as they exist.
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

    /// A test clock that is read on its own grid of 100 ms and steps at 1050 ms, by so many milliseconds forward.
    fn stepping(forward: i64) -> Steps {
        let mut samples: Vec<(TestTime, i64)> = (0..=10).map(|n| (TestTime(n * 100 * MS), 0)).collect();
        // The next reading is due when the clock shows 1100 ms or more; the wall clock has moved the other way.
        let first = (1050 + forward).max(1100);
        samples.extend((0..10).map(|n| (TestTime((first + n * 100) * MS), -forward * MS)));
        Steps::of_samples(samples)
    }

    #[test]
    fn all_that_a_test_clock_shows_twice_is_in_doubt_when_it_steps() {
        let window = |forward: i64| stepping(forward).around_clock_step((forward * MS) as f64).unwrap();
        // Back by 100 ms at 1050 ms: from 950 to 1050 ms it shows twice.
        assert!(window(-100).from <= TestTime(950 * MS) && window(-100).to >= TestTime(1050 * MS));
        // Forward: from 1050 to 1150 ms it never shows.
        assert!(window(100).from <= TestTime(1050 * MS) && window(100).to >= TestTime(1150 * MS));
        assert_eq!(stepping(-100).around_clock_step((300 * MS) as f64), None, "none of that size");
    }

    #[test]
    fn stamps_are_in_doubt_where_the_step_of_a_wall_clock_may_have_put_them() {
        let samples = (0..=20).map(|n| (TestTime(n * 100 * MS), if n > 10 { 500 * MS } else { 0 }));
        let steps = Steps::of_samples(samples.collect());
        let doubted = |milliseconds: i64| steps.are_around(TestTime(milliseconds * MS));
        assert_eq!(steps.count(), 1);
        assert_eq!([990, 1050, 1110, 1300, 1550, 1700].map(doubted), [false, true, true, false, true, false]);
    }
}
