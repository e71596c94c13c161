//! What of one run is compared: each figure, and what it would have been in other stretches of the same run.
//!
//! An analysis contains every packet; of it only the figures and their resamples are kept, a few hundred kilobytes, so
//! that a hundred runs fit into the memory of one analysis.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use super::compared_scores::ComparedScores;
use super::metric::ComparedMetric;
use crate::analysis::Analysis;
use crate::packets::probe_pool::pooled;
use crate::scores::web::{relative_speed, scored_pages};
use crate::statistics::autocorrelation::{memory, memory_of_delays};
use crate::statistics::block_bootstrap::{BlockBootstrap, block_length, widening};
use crate::statistics::bootstrap::{mean, replicates};

/// A stretch that is shorter than so many blocks is cut into this many shorter ones.
const FEWEST_BLOCKS: u32 = 5;
/// But into none that are shorter than this: packets of one queue are one fact.
const SHORTEST_BLOCK: Duration = Duration::from_millis(500);

/// One figure of a run, in the base unit of its metric.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Figure {
    /// Infinite where a percentile falls on a loss.
    pub(crate) value: f64,
    /// `None` where one run has no interval of its own.
    pub(crate) resamples: Option<Resamples>,
    /// How much more it may be although nothing of it was seen: 3/n where none of n was lost.
    pub(crate) unseen: f64,
    /// The parts that it is made of, where runs may have other ones; figures of other parts do not compare.
    pub(crate) parts: String,
}

/// A figure of resamples of the run, drawn in an order of the run's own.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Resamples {
    /// Of each resample; not a number where it is undefined.
    pub(crate) values: Vec<f64>,
    /// Pieces that are independent of each other: blocks of time, or loads of a page.
    pub(crate) pieces: usize,
    /// How many times as wide as they are spread an interval must be: blocks lose what lies across their ends.
    pub(crate) widening: f64,
}

/// All figures of a run that were measured.
pub(crate) type Figures = BTreeMap<ComparedMetric, Figure>;

/// Those of an analysis, whose scores are these; `seed` is the run's own.
pub(crate) fn figures(analysis: &Analysis, scores: &ComparedScores, seed: u64) -> Figures {
    let mut found = Found { figures: Figures::new(), analysis, seed };
    found.delays();
    found.loss();
    found.pages(scores.web_speed);
    found.connects();
    for (direction, rate, evenness) in [
        (Direction::Down, ComparedMetric::Download, ComparedMetric::EvennessDown),
        (Direction::Up, ComparedMetric::Upload, ComparedMetric::EvennessUp),
    ] {
        found.goodput(direction, rate);
        found.evenness(direction, evenness);
    }
    found.put(ComparedMetric::CallOpinion, scores.call_opinion, None);
    let composite = scores.composite.as_ref();
    found.put(ComparedMetric::CompositeScore, composite.map(|score| score.total), None);
    found.name_parts(ComparedMetric::CompositeScore, composite.iter().flat_map(|score| &score.missing));
    found.put(ComparedMetric::Responsiveness, scores.responsiveness, None);
    found.put(ComparedMetric::Lookup, slowest_lookup(analysis), None);
    found.name_parts(ComparedMetric::Lookup, analysis.name_lookups.groups.iter().map(|group| &group.kind));
    found.figures
}

/// A stretch of a run, ready to be resampled.
struct Cut {
    blocks: BlockBootstrap,
    widening: f64,
}

impl Cut {
    fn resamples(&self, values: Vec<f64>) -> Resamples {
        Resamples { values, pieces: self.blocks.blocks(), widening: self.widening }
    }
}

struct Found<'a> {
    figures: Figures,
    analysis: &'a Analysis,
    seed: u64,
}

impl Found<'_> {
    fn put(&mut self, metric: ComparedMetric, value: Option<f64>, resamples: Option<Resamples>) {
        if let Some(value) = value.filter(|value| !value.is_nan()) {
            self.figures.insert(metric, Figure { value, resamples, unseen: 0.0, parts: String::new() });
        }
    }

    fn name_parts<T: std::fmt::Debug>(&mut self, metric: ComparedMetric, parts: impl Iterator<Item = T>) {
        if let Some(figure) = self.figures.get_mut(&metric) {
            let mut parts: Vec<String> = parts.map(|part| format!("{part:?}")).collect();
            parts.sort_unstable();
            figure.parts = parts.join(" ");
        }
    }

    fn packets(&self) -> impl Iterator<Item = (TestTime, Option<Delay>)> {
        pooled(&self.analysis.round_trip_delay.flows)
            .into_iter()
            .flat_map(|entry| entry.series.iter().map(|point| (point.at, point.delay)))
    }

    fn load(&self) -> Option<Window> {
        self.analysis.scored.common.or_else(|| self.phase(Phase::Load))
    }

    fn phase(&self, phase: Phase) -> Option<Window> {
        self.analysis.test.phases.iter().find(|entry| entry.phase == phase).map(|entry| entry.window)
    }

    fn round_trip(&self) -> Delay {
        self.analysis.round_trip_delay.pooled.load.as_ref().and_then(|load| load.p50).unwrap_or_default()
    }

    /// A stretch cut into blocks that are longer than it remembers; `step` distinguishes figures of one run.
    ///
    /// Where the stretch is too short for that it is cut into five all the same: for so few, tails are widened so far that
    /// intervals reach nearly as far as any resample, and a difference that is beyond that is none of chance.
    fn cut(&self, window: Option<Window>, memory: impl FnOnce(Window) -> Duration, step: u64) -> Option<Cut> {
        let window = window?;
        let memory = memory(window);
        let block = block_length(window, self.round_trip(), memory);
        let fifth = window.length() / FEWEST_BLOCKS;
        let block = if fifth >= SHORTEST_BLOCK { block.min(fifth) } else { block };
        let blocks = BlockBootstrap::new(window, block)?.seeded(self.seed.wrapping_add(step));
        Some(Cut { blocks, widening: widening(memory, block) })
    }

    /// For how long the delay of the probes remembers.
    fn memory(&self, window: Window) -> Duration {
        memory_of_delays(self.packets(), window)
    }

    fn delays(&mut self) {
        let delays = &self.analysis.round_trip_delay.pooled;
        let Some(load) = delays.load.as_ref() else { return };
        let cut = self.cut(self.load(), |window| self.memory(window), 0);
        let resampled = cut.as_ref().map_or([None, None, None], |cut| {
            let series = cut.blocks.percentiles(self.packets());
            let loaded = cut.blocks.replicates(|resample| series.percentiles(resample, [500, 950, 990]));
            loaded.map(|values| Some(cut.resamples(values)))
        });
        let value = |delay: Option<Delay>| Some(delay.map_or(f64::INFINITY, |delay| delay.0 as f64));
        let quantiles = [load.p50, load.p95, load.p99].map(value);
        // Induced delay is above the idle median, which is not known for sure either.
        if let Some(idle) = delays.idle.as_ref().and_then(|idle| idle.p50) {
            let resampled_idle = self.cut(self.phase(Phase::Idle), |window| self.memory(window), 1).map(|cut| {
                let series = cut.blocks.percentiles(self.packets());
                let [p50] = cut.blocks.replicates(|resample| series.percentiles(resample, [500]));
                p50
            });
            let metrics = [ComparedMetric::AddedDelayP50, ComparedMetric::AddedDelayP95];
            for ((metric, loaded), resampled) in metrics.into_iter().zip(quantiles).zip(&resampled) {
                let added = resampled.as_ref().map(|loaded| {
                    let idle_of = |index: usize| resampled_idle.as_ref().map_or(idle.0 as f64, |idle| idle[index]);
                    let less_idle = |(index, loaded): (usize, &f64)| loaded - idle_of(index);
                    let values = loaded.values.iter().enumerate().map(less_idle).collect();
                    Resamples { values, ..*loaded }
                });
                self.put(metric, loaded.map(|loaded| loaded - idle.0 as f64), added);
            }
        }
        let metrics = [ComparedMetric::LoadedDelayP50, ComparedMetric::LoadedDelayP95, ComparedMetric::LoadedDelayP99];
        for ((metric, value), resamples) in metrics.into_iter().zip(quantiles).zip(resampled) {
            self.put(metric, value, resamples);
        }
    }

    fn loss(&mut self) {
        let Some(load) = self.analysis.round_trip_delay.pooled.load.as_ref().filter(|load| load.n > 0) else { return };
        let n = load.n as f64;
        let resamples = self.cut(self.load(), |window| self.memory(window), 2).map(|cut| {
            let lost = cut.blocks.sums(self.packets().map(|(at, delay)| (at, f64::from(u8::from(delay.is_none())))));
            let sent = cut.blocks.sums(self.packets().map(|(at, _)| (at, 1.0)));
            let [values] = cut.blocks.replicates(|resample| [lost.sum(resample) / sent.sum(resample)]);
            cut.resamples(values)
        });
        let unseen = if load.lost == 0 { (3.0 / n).min(1.0) } else { 0.0 };
        let figure = Figure { value: load.lost as f64 / n, resamples, unseen, parts: String::new() };
        self.figures.insert(ComparedMetric::Loss, figure);
    }

    fn goodput(&mut self, direction: Direction, metric: ComparedMetric) {
        let goodput = self.analysis.goodput(direction);
        if goodput.flows.is_empty() {
            return;
        }
        let value = goodput.sum.0 as f64;
        let window = self.analysis.scored.direction(direction).or_else(|| self.load());
        let points = || goodput.sum_series.iter();
        let within: Vec<f64> = points()
            .filter(|point| window.is_some_and(|window| window.contains(point.at)))
            .map(|point| point.rate.0 as f64)
            .collect();
        let resamples = window.zip(mean(&within)).and_then(|(window, average)| {
            let interval = goodput.sum_series.first()?.over;
            let cut = self.cut(Some(window), |_| lasting(interval, &within), 3)?;
            let octets =
                cut.blocks.sums(points().map(|point| (point.at, point.rate.0 as f64 * point.over.as_secs_f64())));
            let time = cut.blocks.sums(points().map(|point| (point.at, point.over.as_secs_f64())));
            // The figure is the sum of flows, each over its own time: a flow that failed makes it another mean.
            let scale = if average > 0.0 { value / average } else { 1.0 };
            let [values] = cut.blocks.replicates(|resample| [scale * octets.sum(resample) / time.sum(resample)]);
            Some(cut.resamples(values))
        });
        self.put(metric, Some(value), resamples);
    }

    fn evenness(&mut self, direction: Direction, metric: ComparedMetric) {
        let Some(sharing) = self.analysis.sharing.direction(direction) else { return };
        let series = &sharing.jain_series;
        let window = Window { from: TestTime(sharing.from_ns), to: TestTime(sharing.to_ns) };
        let indices: Vec<f64> = series.iter().map(|(_, index)| *index).collect();
        let interval = Duration::from_nanos(sharing.interval_ns.max(0).cast_unsigned());
        let resamples = self.cut(Some(window), |_| lasting(interval, &indices), 4).map(|cut| {
            let sum = cut.blocks.sums(series.iter().copied());
            let count = cut.blocks.sums(series.iter().map(|(at, _)| (*at, 1.0)));
            let [values] = cut.blocks.replicates(|resample| [sum.sum(resample) / count.sum(resample)]);
            cut.resamples(values)
        });
        self.put(metric, sharing.jain_streams.as_ref().map(|index| index.mean), resamples);
    }

    /// Mean page load time under load, and the web score: the mean over pages of the share of its speed that each keeps.
    fn pages(&mut self, web_kept: Option<f64>) {
        let pages = scored_pages(self.analysis);
        let loaded: Vec<&[f64]> =
            pages.iter().filter_map(|page| Some(&*page.loaded.as_ref()?.counted)).filter(|c| !c.is_empty()).collect();
        let pieces = |samples: &[&[f64]]| samples.iter().map(|sample| sample.len()).min().unwrap_or(0);
        let of_means = |samples: &mut dyn Iterator<Item = &[f64]>| {
            mean(&samples.filter_map(mean).collect::<Vec<_>>()).map(|seconds| seconds * 1e9)
        };
        let resamples = replicates(&loaded, self.seed.wrapping_add(5), |drawn| {
            of_means(&mut drawn.iter().map(Vec::as_slice)).unwrap_or(f64::NAN)
        });
        let value = of_means(&mut loaded.iter().copied());
        let pieces_of = pieces(&loaded);
        self.put(
            ComparedMetric::PageLoad,
            value,
            resamples.map(|values| Resamples { values, pieces: pieces_of, widening: 1.0 }),
        );

        let named = || pages.iter().map(|page| (&page.page, page.class, page.family));
        self.name_parts(ComparedMetric::PageLoad, named());

        let Some(score) = web_kept else { return };
        let both =
            pages.iter().filter_map(|page| Some([&*page.unloaded.as_ref()?.counted, &*page.loaded.as_ref()?.counted]));
        let both: Vec<&[f64]> = both.filter(|pair| pair.iter().all(|sample| !sample.is_empty())).flatten().collect();
        let resamples = replicates(&both, self.seed.wrapping_add(6), |drawn| {
            let shares = drawn.chunks_exact(2).filter_map(|pair| relative_speed(mean(&pair[0])?, mean(&pair[1])?));
            mean(&shares.collect::<Vec<_>>()).map_or(f64::NAN, |relative_speed| 100.0 * relative_speed)
        });
        let pieces = pieces(&both);
        let resamples = resamples.map(|values| Resamples { values, pieces, widening: 1.0 });
        self.put(ComparedMetric::WebScore, Some(100.0 * score), resamples);
        self.name_parts(ComparedMetric::WebScore, named());
    }

    fn connects(&mut self) {
        let Some(load) = self.analysis.connections.pooled.load.as_ref() else { return };
        let value = load.connect.p50.map_or(f64::INFINITY, |delay| delay.0 as f64);
        let attempts = || self.analysis.connections.flows.iter().flat_map(|entry| entry.series.iter().copied());
        // Connections are distinguished by phase.
        let cut = self.cut(self.phase(Phase::Load), |window| memory_of_delays(attempts(), window), 7);
        let resamples = cut.map(|cut| {
            let series = cut.blocks.percentiles(attempts());
            let [values] = cut.blocks.replicates(|resample| series.percentiles(resample, [500]));
            cut.resamples(values)
        });
        self.put(ComparedMetric::Connect, Some(value), resamples);
    }
}

/// For how long a series remembers that has a value each interval.
fn lasting(interval: Duration, series: &[f64]) -> Duration {
    Duration::try_from_secs_f64(interval.as_secs_f64() * memory(series)).unwrap_or(Duration::MAX)
}

/// The median under load of the kind of lookup whose median is the highest.
fn slowest_lookup(analysis: &Analysis) -> Option<f64> {
    let medians = analysis.name_lookups.groups.iter().filter_map(|group| {
        let loaded = group.times.load.as_ref()?;
        Some(loaded.time.p50.map_or(f64::INFINITY, |delay| delay.0 as f64))
    });
    medians.max_by(f64::total_cmp)
}
