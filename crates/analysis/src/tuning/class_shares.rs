//! What a shaper gives to each service class, alone and beside the others, against what its kind promises.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::shaping::ShaperDescription;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::Serialize;

use super::class_promise::promise;
use super::trial::{ClassRate, Trial, TrialDirection};
use crate::by_direction::ByDirection;
use crate::metrics::marking::marking_path::Markings;
use crate::statistics::block_bootstrap::{BlockBootstrap, interval_of};

const SECOND: Duration = Duration::from_secs(1);
/// A share that is nearer than this to the promise keeps it.
const TOLERANCE: f64 = 0.02;
/// A run that got this part of the most that any run got has filled the shaper.
const FULL: f64 = 0.95;
/// A wider interval shows nothing.
const WIDEST: f64 = 0.2;
/// Shares of a shaper that so much other traffic passes are not judged.
const DISTURBING: f64 = 0.05;

/// The step of one class run.
#[derive(Debug, Clone, Copy)]
pub struct ClassTrial<'a> {
    /// The class that loaded alone; `None` when all loaded together.
    pub alone: Option<ServiceClass>,
    /// Its figures.
    pub trial: &'a Trial,
}

/// Shares of the service classes: what each gets beside the others, of the sum of all, and what it gets alone, of what the runs got
/// that filled the shaper.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Shares of classes")]
pub struct ClassShares {
    /// The classes of each direction.
    #[serde(flatten)]
    pub directions: ByDirection<Vec<ClassShare>>,
}

/// The shares of one class.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Shares of a class")]
pub struct ClassShare {
    /// The class, as it was sent.
    pub class: ServiceClass,
    /// Loading alone: its cap. Null when that was not measured.
    pub alone: Option<JudgedShare>,
    /// Beside the other classes, with as many streams each. Null when that was not measured.
    pub together: Option<JudgedShare>,
}

/// A share and what it is worth.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Judged share")]
pub struct JudgedShare {
    /// Goodput of the class.
    #[serde(rename = "goodput_bps")]
    pub goodput: BitRate,
    /// Its part of the whole.
    ///
    /// Unit: share.
    pub share: f64,
    /// Lower end of its 95 % interval, by the block bootstrap over seconds. Null with too few seconds.
    pub low: Option<f64>,
    /// Upper end of that interval.
    pub high: Option<f64>,
    /// What the kind of the shaper promises. Null when that is unknown.
    ///
    /// Unit: share.
    pub promised: Option<f64>,
    /// Whether it keeps its promise.
    pub verdict: ShareVerdict,
}

/// Whether a class gets what the shaper promises.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum ShareVerdict {
    /// It does, within two points of the interval.
    AsPromised,
    /// It gets more.
    More,
    /// It gets less.
    Less,
    /// The seconds differ too much, or are too few.
    Unclear,
    /// A marking does not survive the way, so that it cannot be verified.
    MarkingLost,
    /// A host limited the load, not the shaper.
    HostLimited,
    /// Other traffic passed the shaper.
    OtherTraffic,
    /// Nothing is known of what a shaper of this kind promises.
    NoPromise,
}

/// The shares that the class runs show.
pub fn class_shares(runs: &[ClassTrial<'_>], shaper: &ShaperDescription, markings: &Markings) -> ClassShares {
    ClassShares {
        directions: ByDirection::each(|direction| {
            let of = |run: &ClassTrial<'_>| Rates::of(run, direction);
            let alone: Vec<Rates> = runs.iter().filter(|run| run.alone.is_some()).filter_map(of).collect();
            let together = runs.iter().find(|run| run.alone.is_none()).and_then(of);
            let discipline = direction.select(&shaper.up_discipline, &shaper.down_discipline).as_deref();
            Shares { alone, together, discipline, lost: lost(markings, direction) }.judged()
        }),
    }
}

/// The classes whose marking does not survive on the idle line.
fn lost(markings: &Markings, direction: Direction) -> Vec<ServiceClass> {
    let paths = markings.paths.iter().filter(|path| path.direction == direction);
    let altered = paths.filter_map(|path| path.idle.as_ref().or(path.load.as_ref())).flat_map(|phase| &phase.altered);
    altered.map(|point| point.class).collect()
}

/// What the classes of one run got in one direction.
struct Rates {
    classes: Vec<ClassRate>,
    host_limited: bool,
    disturbed: bool,
    /// Bytes a second in each resample: of each class, and of all.
    resampled: Option<(Vec<Vec<f64>>, Vec<f64>)>,
    blocks: usize,
}

impl Rates {
    fn of(run: &ClassTrial<'_>, direction: Direction) -> Option<Self> {
        let figures: &TrialDirection = run.trial.directions.get(direction);
        let classes = figures.classes.clone();
        let seconds = classes.iter().map(|class| class.seconds.len()).min().filter(|seconds| *seconds > 0)?;
        let length = SECOND * u32::try_from(seconds).ok()?;
        let window = Window { from: TestTime::ZERO, to: TestTime::ZERO + length };
        // No two runs have anything to do with each other.
        let seed = run.alone.map_or(1, |class| 2 + u64::from(class.dscp().value()));
        let bootstrap = BlockBootstrap::new(window, SECOND).map(|bootstrap| bootstrap.seeded(seed));
        let resampled = bootstrap.as_ref().map(|bootstrap| {
            let each = |class: &ClassRate| {
                let amounts = class
                    .seconds
                    .iter()
                    .zip(0_u32..)
                    .map(|(octets, second)| (TestTime::ZERO + SECOND * second, octets.0 as f64 / seconds as f64));
                let series = bootstrap.sums(amounts);
                let [values] = bootstrap.replicates(|resample| [series.sum(resample)]);
                values
            };
            let classes: Vec<Vec<f64>> = classes.iter().map(each).collect();
            let drawn = classes.first().map_or(0, Vec::len);
            let all = (0..drawn).map(|place| classes.iter().map(|class| class[place]).sum()).collect();
            (classes, all)
        });
        Some(Self {
            host_limited: run.trial.host_limit.is_some() || figures.saturated == Some(false),
            disturbed: figures.foreign.is_some_and(|foreign| foreign > DISTURBING),
            blocks: bootstrap.map_or(0, |bootstrap| bootstrap.blocks()),
            resampled,
            classes,
        })
    }

    /// Bytes a second of all classes.
    fn all(&self) -> f64 {
        self.classes.iter().map(rate).sum()
    }
}

/// Bytes a second.
fn rate(class: &ClassRate) -> f64 {
    octets(class) as f64 / class.seconds.len().max(1) as f64
}

fn octets(class: &ClassRate) -> u64 {
    class.seconds.iter().map(|octets| octets.0).sum()
}

/// The runs of one direction.
struct Shares<'a> {
    /// Those of one class each.
    alone: Vec<Rates>,
    together: Option<Rates>,
    discipline: Option<&'a str>,
    /// The classes whose marking is lost.
    lost: Vec<ServiceClass>,
}

impl Shares<'_> {
    fn judged(&self) -> Vec<ClassShare> {
        let runs = || self.alone.iter().chain(&self.together);
        let Some(whole) = Whole::of_full(&runs().collect::<Vec<_>>()) else { return Vec::new() };
        let mut classes: Vec<ServiceClass> = runs().flat_map(|run| &run.classes).map(|class| class.class).collect();
        classes.sort_unstable();
        classes.dedup();
        let promises: Vec<_> = classes.iter().map(|class| promise(self.discipline, *class)).collect();
        // A shaper that treats all classes alike does so whatever becomes of their markings.
        let differs = promises.iter().any(|promise| Some(promise) != promises.first());
        let any_lost = differs && classes.iter().any(|class| self.lost.contains(class));
        let of = |(class, promise): (&ServiceClass, &super::class_promise::Promise)| ClassShare {
            class: *class,
            alone: self.alone.iter().find_map(|run| {
                let is_lost = differs && self.lost.contains(class);
                share(run, *class, &whole, promise.alone, is_lost)
            }),
            together: self.together.as_ref().and_then(|run| {
                let own = Whole::of_full(&[run])?;
                share(run, *class, &own, promise.together, any_lost)
            }),
        };
        classes.iter().zip(&promises).map(of).collect()
    }
}

/// What a share is a part of.
struct Whole {
    /// Bytes a second.
    rate: f64,
    /// In each resample.
    resampled: Option<Vec<f64>>,
    disturbed: bool,
}

impl Whole {
    /// The mean of those runs that have filled the shaper: the largest of several is too large by chance. `None` when nothing
    /// arrived.
    fn of_full(runs: &[&Rates]) -> Option<Self> {
        let most = runs.iter().map(|run| run.all()).fold(0.0, f64::max);
        let full: Vec<&&Rates> = runs.iter().filter(|run| most > 0.0 && run.all() >= FULL * most).collect();
        let count = full.len() as f64;
        let each: Option<Vec<&Vec<f64>>> = full.iter().map(|run| run.resampled.as_ref().map(|(_, all)| all)).collect();
        let resampled = each.map(|each| {
            let drawn = each.iter().map(|values| values.len()).min().unwrap_or(0);
            (0..drawn).map(|place| each.iter().map(|values| values[place]).sum::<f64>() / count).collect()
        });
        (!full.is_empty()).then(|| Self {
            rate: full.iter().map(|run| run.all()).sum::<f64>() / count,
            resampled,
            disturbed: full.iter().any(|run| run.disturbed),
        })
    }
}

/// The part of the whole that a class of one run has.
fn share(run: &Rates, class: ServiceClass, whole: &Whole, promised: Option<f64>, is_lost: bool) -> Option<JudgedShare> {
    let place = run.classes.iter().position(|found| found.class == class)?;
    let found = &run.classes[place];
    let interval = run.resampled.as_ref().zip(whole.resampled.as_ref()).and_then(|((classes, _), all)| {
        let ratios = classes[place].iter().zip(all).map(|(class, all)| class / all).collect();
        interval_of(ratios, run.blocks)
    });
    let verdict = match (promised, interval) {
        (None, _) => ShareVerdict::NoPromise,
        _ if is_lost => ShareVerdict::MarkingLost,
        _ if run.disturbed || whole.disturbed => ShareVerdict::OtherTraffic,
        (_, None) => ShareVerdict::Unclear,
        (Some(promised), Some(interval)) if interval.high < promised - TOLERANCE => {
            if run.host_limited {
                ShareVerdict::HostLimited
            } else {
                ShareVerdict::Less
            }
        }
        (Some(promised), Some(interval)) if interval.low > promised + TOLERANCE => ShareVerdict::More,
        (_, Some(interval)) if interval.high - interval.low > WIDEST => ShareVerdict::Unclear,
        _ => ShareVerdict::AsPromised,
    };
    let length = SECOND * u32::try_from(found.seconds.len()).unwrap_or(u32::MAX);
    Some(JudgedShare {
        goodput: ByteCount(octets(found)).per(length),
        share: rate(found) / whole.rate,
        low: interval.map(|interval| interval.low),
        high: interval.map(|interval| interval.high),
        promised,
        verdict,
    })
}

#[cfg(test)]
#[path = "class_shares_tests.rs"]
mod tests;
