//! The rate of an unshaped line over the seconds: its levels, and a burst before the sustained one.

use rrul_model::units::BitRate;

use crate::statistics::median::median;
use crate::statistics::percentile::percentile;
use crate::tuning::result::VaryingRate;
use crate::tuning::trial::{Trial, TrialDirection};

/// Two levels differ by at least this part of the higher one.
const STEP: f64 = 0.08;
/// A level lasts no shorter than this, in seconds.
const SHORTEST: usize = 3;
/// A step is beyond what seconds differ by at random: in standard errors.
const CLEAR: f64 = 6.0;
/// Seconds differ at random by at least this part.
const NOISE: f64 = 0.005;
/// The median of the differences of normal values, in their standard deviations.
const MEDIAN_DIFFERENCE: f64 = 0.954;
/// Seconds that show the sustained rate, the last ones.
const TAIL: usize = 14;
/// Seconds after a burst differ from their median by no more than this part.
const EVEN: f64 = 0.03;
/// Seconds in which connections begin, and recover from a change of the other direction: a lower level before is no level.
const RAMP: usize = 9;
/// Seconds that connections need in any case.
const START: usize = 2;

/// Consecutive seconds at one rate.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Level {
    pub(crate) rate: f64,
    /// How many seconds.
    pub(crate) seconds: usize,
}

/// The levels of an unshaped line in the order of time.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Course {
    pub(crate) levels: Vec<Level>,
    /// Its seconds, without those in which connections began.
    pub(crate) seconds: Vec<f64>,
    /// The seconds before, in which they began: of no level, and yet they use up the allowance of a burst.
    beginning: Vec<f64>,
}

impl Course {
    /// The seconds of one direction in these trials, one after the other.
    pub(crate) fn from_trials<'a>(trials: impl Iterator<Item = (&'a Trial, &'a TrialDirection)>) -> Self {
        let mut stretches: Vec<Vec<f64>> = Vec::new();
        let mut beginning = Vec::new();
        let mut last: Option<u32> = None;
        for (trial, figures) in trials {
            let number = trial.step.number;
            let mut seconds = figures.course.iter().map(|rate| rate.0 as f64);
            let skipped = seconds.by_ref().take(START).collect();
            if stretches.is_empty() {
                beginning = skipped;
            }
            match stretches.last_mut() {
                Some(stretch) if last.is_some_and(|last| last + 1 == number) => stretch.extend(seconds),
                _ => stretches.push(seconds.collect()),
            }
            last = Some(number);
        }
        Self { beginning, ..Self::from_stretches(stretches) }
    }

    /// Stretches of an unshaped line, between which it was shaped. Meanwhile the allowance of a burst fills up again: a stretch that
    /// begins above the rate before it, and comes back to that, begins with a burst.
    fn from_stretches(stretches: Vec<Vec<f64>>) -> Self {
        let mut all: Vec<f64> = Vec::new();
        let mut before: Option<f64> = None;
        for mut seconds in stretches {
            let levels = Self::from_seconds(seconds.clone()).levels;
            let (Some(first), Some(end)) = (levels.first(), levels.last()) else { continue };
            let is_burst = |before: f64| {
                end.rate < first.rate && (end.rate - before).abs() < STEP * before && levels.windows(2).all(is_fall)
            };
            if before.is_some_and(is_burst) {
                seconds.drain(..seconds.len() - end.seconds);
            }
            before = Some(end.rate);
            all.extend(seconds);
        }
        Self::from_seconds(all)
    }

    fn from_seconds(mut seconds: Vec<f64>) -> Self {
        let mut levels = Vec::new();
        split(&seconds, noise(&seconds), &mut levels);
        if let [first, second, ..] = levels.as_slice()
            && first.rate < second.rate
            && first.seconds + START <= RAMP
        {
            seconds.drain(..first.seconds);
            levels.remove(0);
        }
        Self { levels, seconds, beginning: Vec::new() }
    }

    /// Percentiles of its seconds.
    pub(crate) fn percentiles(&self) -> Option<VaryingRate> {
        let mut seconds: Vec<u64> = self.seconds.iter().map(|rate| rate.round() as u64).collect();
        seconds.sort_unstable();
        let at = |per_mille| percentile(&seconds, 0, per_mille).map(BitRate);
        Some(VaryingRate { p10: at(100)?, p50: at(500)?, p90: at(900)? })
    }

    /// The rate at the end.
    pub(crate) fn sustained(&self) -> Option<f64> {
        (!self.levels.is_empty()).then(|| mean(&self.tail()))
    }

    /// The lowest level.
    pub(crate) fn lowest(&self) -> Option<f64> {
        self.levels.iter().map(|level| level.rate).min_by(f64::total_cmp)
    }

    /// What was before the sustained rate, when the rate has only fallen: its highest level, and how long all took.
    pub(crate) fn burst(&self) -> Option<Level> {
        let (_, before) = self.levels.split_last()?;
        let highest = before.first().filter(|_| !self.varies())?;
        Some(Level { rate: highest.rate, seconds: before.iter().map(|level| level.seconds).sum() })
    }

    /// How many seconds before all levels had more than the sustained rate.
    pub(crate) fn high_at_once(&self) -> usize {
        self.sustained().map_or(0, |sustained| self.beginning.iter().filter(|rate| **rate > sustained).count())
    }

    /// What arrived beyond the sustained rate, in bits.
    pub(crate) fn excess(&self) -> f64 {
        let sustained = self.sustained().unwrap_or_default();
        let beyond = |rate: f64| (rate - sustained).max(0.0);
        let beginning: f64 = self.beginning.iter().map(|rate| beyond(*rate)).sum();
        beginning + self.levels.iter().map(|level| beyond(level.rate) * level.seconds as f64).sum::<f64>()
    }

    /// Whether the rate has risen.
    pub(crate) fn varies(&self) -> bool {
        !self.levels.windows(2).all(is_fall)
    }

    /// Seconds at the last level, the latest of them.
    ///
    /// Where a burst has been, a second in which less arrives fills its allowance again, and more than the sustained rate arrives in a
    /// later one: neither counts.
    pub(crate) fn tail(&self) -> Vec<f64> {
        let last = self.levels.last().map_or(0, |level| level.seconds.min(TAIL));
        let tail = self.seconds[self.seconds.len() - last..].to_vec();
        if self.burst().is_none() {
            return tail;
        }
        let median = median(&tail);
        tail.into_iter().filter(|rate| (rate - median).abs() <= EVEN * median).collect()
    }
}

fn is_fall(pair: &[Level]) -> bool {
    pair[1].rate < pair[0].rate
}

/// Cuts seconds where their means differ most, and the pieces again.
fn split(seconds: &[f64], noise: f64, levels: &mut Vec<Level>) {
    if seconds.is_empty() {
        return;
    }
    let cut = (SHORTEST..(seconds.len() + 1).saturating_sub(SHORTEST))
        .max_by(|a, b| gain(seconds, *a).total_cmp(&gain(seconds, *b)));
    if let Some(cut) = cut.filter(|cut| is_step(seconds, *cut, noise)) {
        split(&seconds[..cut], noise, levels);
        split(&seconds[cut..], noise, levels);
    } else {
        levels.push(Level { rate: mean(seconds), seconds: seconds.len() });
    }
}

/// By how much the sum of squares falls when seconds are cut there.
fn gain(seconds: &[f64], cut: usize) -> f64 {
    let (before, after) = seconds.split_at(cut);
    let (n, m) = (before.len() as f64, after.len() as f64);
    (mean(before) - mean(after)).powi(2) * n * m / (n + m)
}

fn is_step(seconds: &[f64], cut: usize, noise: f64) -> bool {
    let (before, after) = seconds.split_at(cut);
    let (high, low) = (mean(before).max(mean(after)), mean(before).min(mean(after)));
    let error = noise * (1.0 / before.len() as f64 + 1.0 / after.len() as f64).sqrt();
    high - low > STEP * high && high - low > CLEAR * error
}

/// By how much seconds differ at random: steps are few among the differences of neighbors.
fn noise(seconds: &[f64]) -> f64 {
    let mut differences: Vec<f64> = seconds.windows(2).map(|pair| (pair[1] - pair[0]).abs()).collect();
    differences.sort_by(f64::total_cmp);
    let median = differences.get(differences.len() / 2).copied().unwrap_or_default();
    (median / MEDIAN_DIFFERENCE).max(NOISE * mean(seconds))
}

pub(crate) fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

pub(crate) fn variance(values: &[f64]) -> f64 {
    let mean = mean(values);
    values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / values.len().max(1) as f64
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Seconds of these rates and lengths, two percent up and down.
    fn seconds(levels: &[(f64, usize)]) -> Vec<f64> {
        let of = |(rate, length): &(f64, usize)| vec![*rate; *length];
        let plain: Vec<f64> = levels.iter().flat_map(of).collect();
        plain.iter().enumerate().map(|(at, rate)| rate * (1.0 + 0.02 * (at as f64 * 2.4).sin())).collect()
    }

    #[test]
    fn a_fall_that_stays_is_a_burst_and_a_rise_is_not() {
        let burst = Course::from_seconds(seconds(&[(16.0, 12), (8.0, 20)]));
        assert_eq!(burst.burst().map(|high| high.seconds), Some(12));
        assert!(!burst.varies() && (burst.sustained().unwrap() / 8.0 - 1.0).abs() < 0.01, "{burst:?}");
        let varying = Course::from_seconds(seconds(&[(12.0, 10), (8.0, 20), (12.0, 8)]));
        assert!(varying.varies() && varying.burst().is_none(), "{varying:?}");
        let late = Course::from_seconds(seconds(&[(8.0, 14), (12.0, 8)]));
        assert!(late.varies(), "{late:?}");
    }

    #[test]
    fn what_a_burst_saves_in_a_dip_is_not_sustained() {
        let recorded = [
            16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 16.0, 14.56, 13.4, 8.0, 8.0, 8.0, 8.0, 8.0, 7.99, 8.0, 8.0,
            8.0, 8.0, 7.32, 6.96, 7.76, 8.16, 9.67, 7.99, 8.01, 8.0, 7.99, 8.01, 8.0, 7.99, 8.0, 8.0, 8.01, 7.99, 8.0,
        ];
        let course = Course::from_seconds(recorded.to_vec());
        assert!((course.sustained().unwrap() / 8.0 - 1.0).abs() < 0.003, "{course:?}");
        assert!(course.tail().len() >= 12, "{course:?}");
    }

    #[test]
    fn a_burst_that_comes_again_after_a_shaped_time_is_no_rise() {
        let burst = || seconds(&[(16.0, 5), (8.0, 11)]);
        let again = Course::from_stretches(vec![burst(), burst(), burst()]);
        assert!(!again.varies() && (again.sustained().unwrap() / 8.0 - 1.0).abs() < 0.01, "{again:?}");
        assert_eq!(again.burst().map(|high| high.seconds), Some(5));
        let risen = Course::from_stretches(vec![seconds(&[(8.0, 18)]), seconds(&[(9.6, 18)])]);
        assert!(risen.varies(), "{risen:?}");
        let stepping = Course::from_stretches(vec![seconds(&[(8.0, 18)]), seconds(&[(9.6, 8), (6.4, 10)])]);
        assert!(stepping.varies(), "{stepping:?}");
    }

    #[test]
    fn an_even_rate_has_one_level_whatever_it_began_with() {
        let even = Course::from_seconds(seconds(&[(8.0, 30)]));
        assert_eq!(even.levels.len(), 1, "{even:?}");
        let ramp = Course::from_seconds(seconds(&[(4.0, 5), (8.0, 20)]));
        assert_eq!((ramp.levels.len(), ramp.seconds.len()), (1, 20), "{ramp:?}");
        assert_eq!(Course::from_seconds(Vec::new()), Course::default());
    }
}
