//! One class beside best effort: differences of delay, loss and rate with their intervals, and whether they matter.

use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use rrul_model::time::Window;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::rate::goodput::DirectionGoodput;
use crate::metrics::sharing::class_share;
use crate::series::DelayPoint;
use crate::statistics::block_bootstrap::{BlockBootstrap, ConfidenceInterval, interval_of};
use crate::statistics::percentile::percentile;

/// A smaller difference of delay is no treatment that anyone would notice, nanoseconds.
const LEAST_DELAY: f64 = 1e6;
/// Nor is a smaller part of best effort's delay.
const LEAST_PART: f64 = 0.1;
/// Packets that came through a full queue on the way up meet the way down at its better moments: what fewer than this part of
/// a class met is no sample of what all would have met.
const LEAST_PART_COMING_THROUGH: f64 = 0.5;
/// One queue for all lets no packet pass an earlier one. Stamps and other causes of reordering make it seem so by less than
/// this, nanoseconds,
const LEAST_LEAD: i64 = 500_000;
/// or for a smaller part of the packets that are sent while another waits.
const LEAST_PART_OVERTAKING: f64 = 0.01;
/// Fewer of these prove nothing.
const FEWEST_BEHIND: usize = 10;
/// Nor a smaller difference of loss,
const LEAST_LOSS: f64 = 0.01;
/// or a smaller part of the greater loss.
const LEAST_PART_OF_LOSS: f64 = 0.5;

/// Packets of one flow in one direction, sent beside those of other classes.
#[derive(Debug, Clone)]
pub(crate) struct Track<'a> {
    pub(crate) class: ServiceClass,
    pub(crate) family: AddressFamily,
    pub(crate) points: &'a [DelayPoint],
    /// Whether its losses are known to be of this direction.
    pub(crate) attributed: bool,
    /// Packets of the flow that set out under load, where that is more than came as far as this direction.
    pub(crate) set_out: usize,
}

pub(crate) fn of_class<'t, 'a>(tracks: &'t [Track<'a>], class: ServiceClass) -> impl Iterator<Item = &'t Track<'a>> {
    tracks.iter().filter(move |track| track.class == class)
}

/// A class less best effort, over the load.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassDifference {
    /// The class that is compared with best effort.
    pub class: ServiceClass,
    /// Whether the path treats it unlike best effort. Null when no packets of both were sent, the load was too short, or
    /// over half of the packets of either were lost before they came to this direction. Null also when only losses
    /// differ and the direction before acts on the class: its packets then come at other moments.
    ///
    /// Source: spec, Test Requirements (classification optimization).
    pub acted_on: Option<bool>,
    /// Difference of the median delay.
    pub delay_p50: DelayDifference,
    /// Difference of the 95th percentile of the delay.
    pub delay_p95: DelayDifference,
    /// Difference of the share of packets lost in this direction. Null when losses have no direction.
    ///
    /// Source: RFC 7680.
    pub loss: ShareDifference,
    /// Difference of the shares that one stream of each has of the direction's goodput.
    ///
    /// Source: spec, The RRUL Score.
    pub rate_share: ShareDifference,
}

/// A difference of delays and its 95 % interval; `None` where it is unknown or a percentile falls on lost packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct DelayDifference {
    /// The class less best effort. Null when the percentile falls on lost packets.
    pub difference_ns: Option<i64>,
    /// Lower end of the 95 % interval.
    pub low_ns: Option<i64>,
    /// Upper end of the 95 % interval.
    pub high_ns: Option<i64>,
}

/// A difference of shares and its 95 % interval.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct ShareDifference {
    /// The class less best effort.
    ///
    /// Unit: -1 to 1.
    pub difference: Option<f64>,
    /// Lower end of the 95 % interval.
    ///
    /// Unit: -1 to 1.
    pub low: Option<f64>,
    /// Upper end of the 95 % interval.
    ///
    /// Unit: -1 to 1.
    pub high: Option<f64>,
}

/// What is needed to compare classes.
pub(crate) struct Comparison<'r, 'a> {
    pub(crate) tracks: &'r [Track<'a>],
    pub(crate) goodput: &'r DirectionGoodput,
    pub(crate) load: Window,
    pub(crate) bootstrap: Option<&'r BlockBootstrap>,
    /// Classes that come to this direction at other moments than best effort, as the direction before has acted on them.
    pub(crate) displaced: &'r [ServiceClass],
}

/// One class.
pub(crate) struct Sample<'r, 'a> {
    class: ServiceClass,
    tracks: Vec<&'r Track<'a>>,
    /// Delays by family, ascending, and how many were lost.
    families: Vec<(AddressFamily, Vec<i64>, u64)>,
    /// The same of all families.
    all: (Vec<i64>, u64),
    /// Packets that set out in the load, whether they came to this direction or not.
    set_out: usize,
    /// Bytes of its streams in the load, and the number of streams.
    octets: f64,
    streams: usize,
    resampled: Option<Resampled>,
}

/// What it met in each resample: both percentiles of the delay, the share lost, bytes of each stream.
///
/// All classes see the same resamples, so that each is looked at once, whatever it is compared with.
type Resampled = [Vec<f64>; 4];

impl Sample<'_, '_> {
    fn loss(&self) -> Option<f64> {
        let (arrived, lost) = (self.all.0.len() as f64, self.all.1 as f64);
        let known = !self.tracks.is_empty() && self.tracks.iter().all(|track| track.attributed);
        (known && arrived + lost > 0.0).then(|| lost / (arrived + lost))
    }

    /// Whether enough of its packets came to this direction to stand for all.
    fn is_representative(&self) -> bool {
        let came = self.all.0.len() as f64 + self.all.1 as f64;
        came >= LEAST_PART_COMING_THROUGH * self.set_out as f64
    }
}

impl<'r, 'a> Comparison<'r, 'a> {
    pub(crate) fn sample(&self, class: ServiceClass) -> Sample<'r, 'a> {
        let tracks: Vec<&Track<'a>> = of_class(self.tracks, class).collect();
        let load = self.load;
        let of = |family: Option<AddressFamily>| {
            let chosen = tracks.iter().filter(|track| family.is_none_or(|family| track.family == family));
            let points = chosen.flat_map(|track| track.points.iter()).filter(|point| load.contains(point.at));
            let (mut delays, mut lost) = (Vec::new(), 0);
            for point in points {
                match point.delay {
                    Some(delay) => delays.push(delay.0),
                    None => lost += 1,
                }
            }
            delays.sort_unstable();
            (delays, lost)
        };
        let families = AddressFamily::ALL.map(|family| {
            let (delays, lost) = of(Some(family));
            (family, delays, lost)
        });
        let points = || tracks.iter().flat_map(|track| track.points.iter()).map(|point| (point.at, point.delay));
        let streams = || self.goodput.flows.iter().filter(|entry| entry.flow.class == class);
        let octets = || class_share::octets(streams());
        let resampled = self.bootstrap.map(|bootstrap| {
            let delays = bootstrap.percentiles(points());
            let sent = bootstrap.sums(points().map(|(at, _)| (at, 1.0)));
            let lost = bootstrap.sums(points().filter(|(_, delay)| delay.is_none()).map(|(at, _)| (at, 1.0)));
            let (octets, count) = (bootstrap.sums(octets()), streams().count() as f64);
            bootstrap.replicates(|resample| {
                let [p50, p95] = delays.percentiles(resample, [500, 950]);
                [p50, p95, lost.sum(resample) / sent.sum(resample), octets.sum(resample) / count]
            })
        });
        Sample {
            class,
            families: families.into_iter().filter(|(_, delays, lost)| delays.len() as u64 + lost > 0).collect(),
            all: of(None),
            set_out: tracks.iter().map(|track| track.set_out).sum(),
            octets: octets().filter(|(at, _)| load.contains(*at)).map(|(_, octets)| octets).sum(),
            streams: streams().count(),
            resampled,
            tracks,
        }
    }

    pub(crate) fn difference(&self, class: &Sample<'_, '_>, plain: &Sample<'_, '_>) -> ClassDifference {
        let intervals = self.intervals(class, plain);
        let measured = !class.tracks.is_empty() && !plain.tracks.is_empty();
        let delay = |per_mille: u16, interval: Option<ConfidenceInterval>| {
            let difference = at(&class.all, per_mille).zip(at(&plain.all, per_mille)).map(|(own, other)| own - other);
            let interval = interval.filter(|_| measured);
            DelayDifference {
                difference_ns: difference,
                low_ns: interval.and_then(|interval| nanoseconds(interval.low)),
                high_ns: interval.and_then(|interval| nanoseconds(interval.high)),
            }
        };
        let share = |difference: Option<f64>, interval: Option<ConfidenceInterval>| ShareDifference {
            difference,
            low: interval.filter(|_| difference.is_some()).map(|interval| interval.low),
            high: interval.filter(|_| difference.is_some()).map(|interval| interval.high),
        };
        let loss = class.loss().zip(plain.loss());
        let rate = class_share::of_each(class.octets, class.streams)
            .zip(class_share::of_each(plain.octets, plain.streams))
            .map(|(own, other)| (own - other) / class_share::total(self.goodput, self.load));
        let mut difference = ClassDifference {
            class: class.class,
            acted_on: None,
            delay_p50: delay(500, intervals[0]),
            delay_p95: delay(950, intervals[1]),
            loss: share(loss.map(|(own, other)| own - other), intervals[2]),
            rate_share: share(rate.filter(|rate| rate.is_finite()), intervals[3]),
        };
        if measured && intervals[0].is_some() && class.is_representative() && plain.is_representative() {
            let delays = [(500, difference.delay_p50), (950, difference.delay_p95)];
            let displaced = self.displaced.contains(&class.class);
            let one_queue = |delay: DelayDifference| {
                let (fast, slow) = if delay.difference_ns < Some(0) { (class, plain) } else { (plain, class) };
                displaced && self.never_overtakes(fast, slow)
            };
            let delayed = delays
                .into_iter()
                .any(|(per_mille, delay)| matters(per_mille, delay, class, plain) && !one_queue(delay));
            let lossy = loss.is_some_and(|(own, other)| loss_matters(difference.loss, own.max(other)));
            difference.acted_on = match (delayed, lossy) {
                (true, _) => Some(true),
                // Packets that come at other moments meet the same queue when it is fuller, or less full.
                (false, true) if displaced => None,
                (false, lossy) => Some(lossy),
            };
        }
        difference
    }

    /// Of the difference of both percentiles, of loss and of the share of the rate.
    fn intervals(&self, class: &Sample<'_, '_>, plain: &Sample<'_, '_>) -> [Option<ConfidenceInterval>; 4] {
        let (Some(bootstrap), Some(own), Some(other)) = (self.bootstrap, &class.resampled, &plain.resampled) else {
            return [None; 4];
        };
        let total = bootstrap.sums(class_share::octets(self.goodput.flows.iter()));
        let [total] = bootstrap.replicates(|resample| [total.sum(resample)]);
        let differences = |place: usize| own[place].iter().zip(&other[place]).map(|(own, other)| own - other);
        let interval = |values: Vec<f64>| interval_of(values, bootstrap.blocks());
        [
            interval(differences(0).collect()),
            interval(differences(1).collect()),
            interval(differences(2).collect()),
            interval(differences(3).zip(&total).map(|(octets, total)| octets / total).collect()),
        ]
    }

    /// Whether packets of one class keep behind those of the other that wait when they are sent: both are then in one queue,
    /// and differ in the moments at which they came to it.
    fn never_overtakes(&self, fast: &Sample<'_, '_>, slow: &Sample<'_, '_>) -> bool {
        let (mut behind, mut overtaking) = (0, 0);
        for family in AddressFamily::ALL {
            let earlier = self.crossings(slow, family);
            for (sent, arrived) in self.crossings(fast, family) {
                let next = earlier.partition_point(|(earlier, _)| *earlier <= sent);
                let Some((_, waits_until)) = next.checked_sub(1).map(|last| earlier[last]) else { continue };
                if waits_until - sent > LEAST_LEAD {
                    behind += 1;
                    overtaking += usize::from(waits_until - arrived > LEAST_LEAD);
                }
            }
        }
        behind >= FEWEST_BEHIND && (overtaking as f64) < LEAST_PART_OVERTAKING * behind as f64
    }

    /// When each packet of a family was sent under load and when it arrived, nanoseconds, by the time of sending.
    fn crossings(&self, sample: &Sample<'_, '_>, family: AddressFamily) -> Vec<(i64, i64)> {
        let tracks = sample.tracks.iter().filter(|track| track.family == family);
        let points = tracks.flat_map(|track| track.points).filter(|point| self.load.contains(point.at));
        let crossing = |point: &DelayPoint| Some((point.at.0, point.at.0.checked_add(point.delay?.0)?));
        let mut all: Vec<(i64, i64)> = points.filter_map(crossing).collect();
        all.sort_unstable();
        all
    }
}

/// A percentile; `None` when it falls on a loss.
fn at(sample: &(Vec<i64>, u64), per_mille: u16) -> Option<i64> {
    percentile(&sample.0, sample.1, per_mille)
}

fn nanoseconds(value: f64) -> Option<i64> {
    value.is_finite().then(|| value.round() as i64)
}

/// Whether a difference of delay is surely large enough, and the same in each family.
///
/// Each family's packets are flows of their own: that one of them shares its place in a fair queue with a bulk stream
/// is chance, that all of them do is a treatment.
fn matters(per_mille: u16, delay: DelayDifference, class: &Sample<'_, '_>, plain: &Sample<'_, '_>) -> bool {
    let (Some(difference), Some(low), Some(high)) = (delay.difference_ns, delay.low_ns, delay.high_ns) else {
        return false;
    };
    let enough = |reference: i64| LEAST_DELAY.max(LEAST_PART * reference.abs() as f64);
    let reference = at(&plain.all, per_mille).unwrap_or_default();
    let of_family = |(family, own, own_lost): &(AddressFamily, Vec<i64>, u64)| {
        let (_, other, other_lost) = plain.families.iter().find(|entry| entry.0 == *family)?;
        let reference = percentile(other, *other_lost, per_mille)?;
        Some((percentile(own, *own_lost, per_mille)? - reference, reference))
    };
    let agrees = |(own, reference): (i64, i64)| {
        own.signum() == difference.signum() && own.abs() as f64 > enough(reference) / 2.0
    };
    beyond(low as f64, high as f64, enough(reference)) && class.families.iter().filter_map(of_family).all(agrees)
}

fn loss_matters(loss: ShareDifference, greater: f64) -> bool {
    let (Some(difference), Some(low), Some(high)) = (loss.difference, loss.low, loss.high) else { return false };
    beyond(low, high, LEAST_LOSS) && difference.abs() > LEAST_PART_OF_LOSS * greater
}

/// Whether all of an interval lies on one side of what would not matter: that it leaves out zero is chance once in twenty
/// times, and many differences are looked at.
fn beyond(low: f64, high: f64, least: f64) -> bool {
    low > least || high < -least
}
