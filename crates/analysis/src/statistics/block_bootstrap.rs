//! Confidence intervals for time series by the block bootstrap.
//!
//! Neighboring packets meet the same queue, so thousands of them hold no more than a few dozen independent facts, and
//! an interval for independent samples would be many times too narrow. Resampling whole *blocks* of time keeps what
//! belongs together (Künsch 1989). Blocks wrap around the end of the stretch, so that every instant is drawn as often
//! as any other (circular blocks, Politis and Romano 1992). Streams that ran side by side are resampled with the *same*
//! blocks: what hit both at once does not blur their difference.
//!
//! A run has few blocks (12 of 5 s in a minute), and the plain percentile interval is too narrow for few; its tails are
//! therefore widened as Student's t is wider than the normal distribution (Hesterberg 2014, "expanded percentile").

use std::ops::Range;
use std::time::Duration;

use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

/// Resamples of one interval.
const RESAMPLES: usize = 1000;
/// Below this many whole blocks no interval is computed.
const FEWEST_BLOCKS: usize = 5;
/// A block begins at a multiple of this part of its length.
const CELLS_A_BLOCK: usize = 4;
/// More are never needed: a longer stretch gets longer blocks.
const MOST_CELLS: usize = 20_000;
/// Classes of rank by which percentiles of resamples are found: which group of them a percentile falls into is found first,
/// then its class within it.
const RANKS: usize = GROUPS * GROUPED;
const GROUPS: usize = 16;
/// Classes of a group.
const GROUPED: usize = 16;
/// A statistic may be undefined (a share of nothing) in one resample of so many before its interval is.
const MOST_UNDEFINED: usize = 20;
/// The deterministic seed: the same recording gives the same interval.
pub(super) const SEED: u64 = 0x5eed_0b10_c4b0_0757;

/// From where to where a statistic lies with 95 % confidence, in the unit of the statistic.
///
/// Infinite where a percentile falls on lost packets.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ConfidenceInterval {
    pub low: f64,
    pub high: f64,
}

impl ConfidenceInterval {
    /// Whether the statistic may be this value.
    pub fn contains(&self, value: f64) -> bool {
        self.low <= value && value <= self.high
    }
}

/// How long the blocks of `window` must be: 1 s, four loaded round trips, or three times that over which the series forgets.
///
/// `memory` is the integrated autocorrelation time ([`autocorrelation`](super::autocorrelation)). Its estimate has
/// outliers, so it asks for no more than an eighth of the stretch: from fewer blocks nothing can be concluded. With twice
/// the time instead of three times, nominal 95 % cover an autoregressive series of one second in 88 % of runs only.
pub(crate) fn block_length(window: Window, loaded_round_trip: Delay, memory: Duration) -> Duration {
    let round_trip = Duration::from_nanos(u64::try_from(loaded_round_trip.0).unwrap_or(0));
    let memory = memory.saturating_mul(3).min(window.length() / 8);
    Duration::from_secs(1).max(round_trip.saturating_mul(4)).max(memory)
}

/// How much wider an interval must be for what blocks lose: adjacent values on either side of a cut are drawn apart, so
/// that resamples vary too little, by half the memory over the length of a block (Hall, Horowitz and Jing 1995).
pub(crate) fn widening(memory: Duration, block: Duration) -> f64 {
    let lost = memory.as_secs_f64() / (2.0 * block.as_secs_f64()).max(1e-9);
    1.0 / (1.0 - lost.min(0.5)).sqrt()
}

/// A stretch of time cut up for resampling.
#[derive(Debug, Clone)]
pub(crate) struct BlockBootstrap {
    window: Window,
    cells: usize,
    block: usize,
    seed: u64,
}

impl BlockBootstrap {
    /// Cuts `window` into blocks of this length; `None` when there would be fewer than five.
    pub(crate) fn new(window: Window, block: Duration) -> Option<Self> {
        let (length, block) = (window.length().as_nanos(), block.as_nanos().max(1));
        let cells = usize::try_from(length * CELLS_A_BLOCK as u128 / block).unwrap_or(usize::MAX).min(MOST_CELLS);
        (cells >= FEWEST_BLOCKS * CELLS_A_BLOCK).then_some(Self { window, cells, block: CELLS_A_BLOCK, seed: SEED })
    }

    /// With resamples of its own: those of two stretches that have nothing to do with each other are not to be alike.
    pub(crate) fn seeded(self, seed: u64) -> Self {
        Self { seed, ..self }
    }

    /// Whole blocks in the stretch: how many independent pieces the interval rests on.
    pub(crate) fn blocks(&self) -> usize {
        self.cells / self.block
    }

    fn cell(&self, at: TestTime) -> Option<usize> {
        let past = at.0.checked_sub(self.window.from.0).and_then(|past| u64::try_from(past).ok())?;
        let (cells, length) = (self.cells as u64, self.window.length().as_nanos().max(1));
        let cell = match (past.checked_mul(cells), u64::try_from(length)) {
            (Some(part), Ok(length)) => part / length,
            _ => (u128::from(past) * u128::from(cells) / length) as u64,
        };
        self.window.contains(at).then_some((cell as usize).min(self.cells - 1))
    }

    /// The interval of a statistic, which is computed for each resample from series made by [`Self::percentiles`] and
    /// [`Self::sums`]. Statistics computed in different calls see the same resamples.
    ///
    /// `None` where the statistic is not a number for more than one resample in twenty.
    pub(crate) fn interval(&self, statistic: impl FnMut(&Resample) -> f64) -> Option<ConfidenceInterval> {
        let mut statistic = statistic;
        let [interval] = self.intervals(|resample| [statistic(resample)]);
        interval
    }

    /// The intervals of several statistics at once.
    pub(crate) fn intervals<const N: usize>(
        &self,
        statistics: impl FnMut(&Resample) -> [f64; N],
    ) -> [Option<ConfidenceInterval>; N] {
        self.replicates(statistics).map(|values| interval_of(values, self.blocks()))
    }

    /// What several statistics are in each resample; not a number where one is undefined.
    pub(crate) fn replicates<const N: usize>(
        &self,
        mut statistics: impl FnMut(&Resample) -> [f64; N],
    ) -> [Vec<f64>; N] {
        let mut values: [Vec<f64>; N] = std::array::from_fn(|_| Vec::with_capacity(RESAMPLES));
        let mut resample = Resample {
            starts: Vec::with_capacity(self.blocks()),
            rest: Vec::with_capacity(self.block),
            ranges: Vec::with_capacity(2 * self.blocks() + 2),
            #[cfg(test)]
            cells: self.cells,
        };
        let mut random = Random(self.seed);
        for _ in 0..RESAMPLES {
            self.draw(&mut random, &mut resample);
            for (values, value) in values.iter_mut().zip(statistics(&resample)) {
                values.push(value);
            }
        }
        values
    }

    fn draw(&self, random: &mut Random, resample: &mut Resample) {
        resample.starts.clear();
        resample.rest.clear();
        resample.ranges.clear();
        let mut left = self.cells;
        while left > 0 {
            let from = random.below(self.cells);
            let length = self.block.min(left);
            let end = from + length;
            if length == self.block {
                resample.starts.push(from);
            } else {
                resample.rest.extend((from..end).map(|cell| cell % self.cells));
            }
            resample.ranges.push(from..end.min(self.cells));
            if end > self.cells {
                resample.ranges.push(0..end - self.cells);
            }
            left -= length;
        }
    }

    /// A series of delays, for percentiles. Those outside the stretch are left out; `None` is a loss, infinitely late.
    pub(crate) fn percentiles(&self, series: impl Iterator<Item = (TestTime, Option<Delay>)>) -> PercentileSeries {
        let mut sorted: Vec<(i64, usize)> = Vec::new();
        let mut lost = vec![0; self.cells];
        for (at, delay) in series {
            let Some(cell) = self.cell(at) else { continue };
            match delay {
                Some(delay) => sorted.push((delay.0, cell)),
                None => lost[cell] += 1,
            }
        }
        sorted.sort_unstable();
        let ranks = sorted.len().clamp(1, RANKS);
        let mut cells = vec![Counts::NONE; self.cells];
        for (index, (_, cell)) in sorted.iter().enumerate() {
            let class = index * ranks / sorted.len();
            cells[*cell].groups[class / GROUPED] += 1;
            cells[*cell].classes[class / GROUPED][class % GROUPED] += 1;
        }
        let block = |from: usize| {
            let mut sum = Counts::NONE;
            (from..from + self.block).for_each(|cell| sum.add(&cells[cell % self.cells]));
            sum
        };
        let blocks = (0..self.cells).map(block).collect();
        let sorted = sorted.into_iter().map(|(delay, _)| delay).collect();
        PercentileSeries { ranks, sorted, blocks, cells, lost: cumulated(&lost) }
    }

    /// A series of amounts, for sums and for ratios of sums. Those outside the stretch are left out.
    pub(crate) fn sums(&self, series: impl Iterator<Item = (TestTime, f64)>) -> SumSeries {
        let mut amounts = vec![0.0; self.cells];
        for (at, amount) in series {
            if let Some(cell) = self.cell(at) {
                amounts[cell] += amount;
            }
        }
        let mut total = 0.0;
        let mut cumulative = vec![0.0];
        for amount in amounts {
            total += amount;
            cumulative.push(total);
        }
        SumSeries { cumulative }
    }
}

/// The interval in which the middle 95 % of replicates lie that rest on so many independent pieces, tails widened.
///
/// `None` where more than one in twenty is not a number.
pub(crate) fn interval_of(replicates: Vec<f64>, pieces: usize) -> Option<ConfidenceInterval> {
    widened_interval_of(replicates, pieces, 1.0)
}

/// The same, so many times as wide.
pub(crate) fn widened_interval_of(
    mut replicates: Vec<f64>,
    pieces: usize,
    widening: f64,
) -> Option<ConfidenceInterval> {
    let all = replicates.len();
    replicates.retain(|value| !value.is_nan());
    if replicates.len() + all / MOST_UNDEFINED < all {
        return None;
    }
    let rank = (expanded_tail(pieces, widening) * replicates.len() as f64) as usize;
    let mirrored = replicates.len().checked_sub(rank + 1)?;
    let mut of_rank = |rank: usize| Some(*replicates.select_nth_unstable_by(rank, f64::total_cmp).1);
    Some(ConfidenceInterval { low: of_rank(rank)?, high: of_rank(mirrored)? })
}

/// The sum of all counts before each, and of all.
fn cumulated(counts: &[u64]) -> Vec<u64> {
    let mut total = 0;
    let sums = counts.iter().map(|count| {
        total += count;
        total
    });
    std::iter::once(0).chain(sums).collect()
}

/// Which blocks were drawn.
#[derive(Debug)]
pub(crate) struct Resample {
    /// The first cell of each whole block.
    starts: Vec<usize>,
    /// The cells of the last block, where it is not whole.
    rest: Vec<usize>,
    /// All blocks as ranges of cells; one that wraps around the end is two ranges.
    ranges: Vec<Range<usize>>,
    #[cfg(test)]
    cells: usize,
}

impl Resample {
    /// How often each cell was drawn; for statistics that are neither percentiles nor sums.
    #[cfg(test)]
    fn weights(&self) -> Vec<u32> {
        let mut weights = vec![0; self.cells];
        self.ranges.iter().cloned().flatten().for_each(|cell| weights[cell] += 1);
        weights
    }
}

/// Delays of one stream, ready for percentiles of resamples.
#[derive(Debug, Clone)]
pub(crate) struct PercentileSeries {
    ranks: usize,
    sorted: Vec<i64>,
    /// Of the whole block that begins with each cell.
    blocks: Vec<Counts>,
    /// Of each cell.
    cells: Vec<Counts>,
    /// Before each cell, and in all.
    lost: Vec<u64>,
}

/// How many delays of a stretch are in each group, and in each class of each group.
#[derive(Debug, Clone)]
struct Counts {
    groups: [u32; GROUPS],
    classes: [[u32; GROUPED]; GROUPS],
}

impl Counts {
    const NONE: Self = Self { groups: [0; GROUPS], classes: [[0; GROUPED]; GROUPS] };

    fn add(&mut self, other: &Self) {
        add(&mut self.groups, &other.groups);
        self.classes.iter_mut().zip(&other.classes).for_each(|(sum, more)| add(sum, more));
    }
}

fn add<const N: usize>(sum: &mut [u32; N], more: &[u32; N]) {
    sum.iter_mut().zip(more).for_each(|(sum, more)| *sum += more);
}

impl PercentileSeries {
    /// Percentiles of a resample in nanoseconds, by nearest rank as everywhere, to one 256th of the ranks.
    ///
    /// Infinite where the rank falls on a loss; not a number where the resample is empty.
    pub(crate) fn percentiles<const N: usize>(&self, resample: &Resample, per_mille: [u16; N]) -> [f64; N] {
        let groups = self.drawn(resample, |counts| &counts.groups);
        let lost: u64 = resample.ranges.iter().map(|block| self.lost[block.end] - self.lost[block.start]).sum();
        let all = lost + groups.iter().map(|count| u64::from(*count)).sum::<u64>();
        per_mille.map(|per_mille| {
            if all == 0 {
                return f64::NAN;
            }
            let rank = (all * u64::from(per_mille)).div_ceil(1000).max(1);
            let Some((group, rank, _)) = place(&groups, rank) else { return f64::INFINITY };
            let classes = self.drawn(resample, |counts| &counts.classes[group]);
            let Some((class, rank, count)) = place(&classes, rank) else { return f64::INFINITY };
            let class_of = |class: usize| (class * self.sorted.len()).div_ceil(self.ranks);
            let class = group * GROUPED + class;
            let (from, next) = (class_of(class), class_of(class + 1));
            let place = (rank - 1) * (next - from) as u64 / count;
            self.sorted[from + place as usize] as f64
        })
    }

    /// How many of each kind a resample has drawn.
    fn drawn<const N: usize>(&self, resample: &Resample, part: impl Fn(&Counts) -> &[u32; N]) -> [u32; N] {
        let mut counts = [0; N];
        resample.starts.iter().for_each(|start| add(&mut counts, part(&self.blocks[*start])));
        resample.rest.iter().for_each(|cell| add(&mut counts, part(&self.cells[*cell])));
        counts
    }
}

/// Which of these the rank falls into, its rank within that, and the size of that; `None` when it is beyond all.
fn place(counts: &[u32], mut rank: u64) -> Option<(usize, u64, u64)> {
    for (index, count) in counts.iter().map(|count| u64::from(*count)).enumerate() {
        if rank <= count {
            return Some((index, rank, count));
        }
        rank -= count;
    }
    None
}

/// Amounts over time, ready for sums over resamples.
#[derive(Debug, Clone)]
pub(crate) struct SumSeries {
    cumulative: Vec<f64>,
}

impl SumSeries {
    pub(crate) fn sum(&self, resample: &Resample) -> f64 {
        resample.ranges.iter().map(|block| self.cumulative[block.end] - self.cumulative[block.start]).sum()
    }
}

/// The tail to cut on each side for 95 % with so many blocks: that of the normal distribution beyond t·sqrt(n/(n-1)).
///
/// An interval that is to be wider than that goes so many times as far.
pub(super) fn expanded_tail(blocks: usize, widening: f64) -> f64 {
    let (n, degrees) = (blocks as f64, blocks as f64 - 1.0);
    normal_tail(widening * student_975(degrees) * (n / degrees).sqrt())
}

/// 97.5th percentile of Student's t (Abramowitz and Stegun 26.7.5), to 0.3 % from 4 degrees of freedom on.
fn student_975(degrees: f64) -> f64 {
    let z: f64 = 1.959_964;
    z + (z.powi(3) + z) / (4.0 * degrees)
        + (5.0 * z.powi(5) + 16.0 * z.powi(3) + 3.0 * z) / (96.0 * degrees.powi(2))
        + (3.0 * z.powi(7) + 19.0 * z.powi(5) + 17.0 * z.powi(3) - 15.0 * z) / (384.0 * degrees.powi(3))
}

/// Probability that a standard normal value exceeds `x` of at least 0 (Abramowitz and Stegun 26.2.17, to 1e-7).
pub(super) fn normal_tail(x: f64) -> f64 {
    let t = 1.0 / (1.0 + 0.231_641_9 * x);
    let polynomial =
        t * (0.319_381_53 + t * (-0.356_563_782 + t * (1.781_477_937 + t * (-1.821_255_978 + t * 1.330_274_429))));
    (-x * x / 2.0).exp() / std::f64::consts::TAU.sqrt() * polynomial
}

#[cfg(test)]
#[path = "block_bootstrap_tests.rs"]
mod tests;
