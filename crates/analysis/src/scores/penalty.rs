//! The penalty: bad behavior in points, kept beside the composite and never subtracted (spec: "perhaps a second,
//! 'penalty' score should be kept").
//!
//! Points of one item are M · clamp((x - a) / b, 0, 1):
//!
//! | item | x | a | b | M |
//! |---|---|---|---|---|
//! | expedited, each way | share of the load's packets that EF has | 0.30 | 0.65 | 20 |
//! | background, each way | share that CS1 and LE have | 0.05 | 0.20 | 10 |
//! | background starved, each way | part of the time in which it had next to nothing | 0 | 0.5 | 10 |
//! | unequal streams, each way | 1 - J among streams of one class, the worst class; b is 1 - 1/n | 0 | | 10 |
//! | slow connects | share of new connections that took over 1 s under load | 0 | 0.05 | 10 |
//! | queue, each way | 95th percentile of the queueing delay, ms | 200 | 800 | 10 |
//! | IPv6 absent | 1 when it was asked for and is not there | 0 | 1 | 5 |
//! | code points altered, each way | 1 when they are bleached, remarked or dropped | 0 | 1 | 5 |
//! | ECN altered, each way | 1 when ECN is cleared, mangled or dropped | 0 | 1 | 5 |
//!
//! The shares are absolute, as in the specification: they are not rescaled for other numbers of classes. What the plan does
//! not have is no item; what it has and could not be measured is an item without points.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::metrics::marking::ecn::EcnVerdict;
use crate::metrics::marking::marking_path::PathVerdict;
use crate::metrics::sharing::stream_sharing::{ClassShare, DirectionSharing};
use crate::score::ScoreWord;

pub const WORD: ScoreWord = ScoreWord {
    name: "penalty",
    about: "bad behavior in points, 0 is none; shown beside the composite, never subtracted",
    source: "RRUL specification, The RRUL Score and comments; points are rrul's",
};

/// One kind of bad behavior.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Misbehaviour {
    /// EF takes too much.
    Expedited,
    /// Background (CS1, LE) does not yield.
    Background,
    /// Background is starved.
    BackgroundStarved,
    /// Streams of the same class are unequal.
    UnequalStreams,
    /// New connections lose their SYN.
    SlowConnects,
    /// Packets wait long in the queue of one direction.
    Queue,
    /// IPv6 is absent.
    Ipv6Absent,
    /// Code points are bleached, remarked or dropped.
    CodePointsAltered,
    /// ECN is cleared, mangled or dropped.
    EcnAltered,
}

impl Misbehaviour {
    /// Where points begin, over how much they rise, and their number.
    fn scale(self) -> (f64, f64, f64) {
        match self {
            Self::Expedited => (0.30, 0.65, 20.0),
            Self::Background => (0.05, 0.20, 10.0),
            Self::BackgroundStarved => (0.0, 0.5, 10.0),
            Self::UnequalStreams => (0.0, 1.0, 10.0),
            Self::SlowConnects => (0.0, 0.05, 10.0),
            Self::Queue => (200.0, 800.0, 10.0),
            Self::Ipv6Absent | Self::CodePointsAltered | Self::EcnAltered => (0.0, 1.0, 5.0),
        }
    }

    /// The most points that it can have.
    pub fn maximum(self) -> f64 {
        self.scale().2
    }

    /// Its points for a value; `None` for what is no number. An infinite wait has them all.
    pub fn points(self, value: f64) -> Option<f64> {
        let (from, over, most) = self.scale();
        (!value.is_nan()).then(|| most * ((value - from) / over).clamp(0.0, 1.0))
    }
}

/// Unevenness of n streams, 0 when all have the same and 1 when one has everything: (1 - J) / (1 - 1/n).
pub fn unevenness(jain: f64, streams: u64) -> Option<f64> {
    let most = 1.0 - 1.0 / streams.max(1) as f64;
    (most > 0.0).then(|| ((1.0 - jain) / most).clamp(0.0, 1.0))
}

/// One item of the penalty.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct PenaltyItem {
    /// The kind of bad behavior.
    pub what: Misbehaviour,
    /// Direction; null for items without one.
    pub direction: Option<Direction>,
    /// Value from which the points are computed: a share, an unevenness (1 - J), milliseconds, or 0 and 1. Null if not
    /// measured.
    pub value: Option<f64>,
    /// Its points; null when not measured.
    ///
    /// Unit: points.
    pub points: Option<f64>,
    /// Maximum of its points.
    ///
    /// Unit: points.
    pub maximum: f64,
}

impl PenaltyItem {
    /// An item with its points; `None` is a value that could not be measured.
    pub fn new(what: Misbehaviour, direction: Option<Direction>, value: Option<f64>) -> Self {
        // JSON has no infinity.
        let finite = value.filter(|value| value.is_finite());
        Self {
            what,
            direction,
            value: finite,
            points: value.and_then(|value| what.points(value)),
            maximum: what.maximum(),
        }
    }
}

/// The penalty score of a run.
///
/// Items that the plan does not cover are absent.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Penalty score")]
pub struct Penalty {
    /// Sum of the points of all items that were measured.
    ///
    /// Unit: points. Source: spec, The RRUL Score.
    pub total: f64,
    /// Each item.
    pub items: Vec<PenaltyItem>,
}

impl Penalty {
    /// The sum of these items.
    pub fn new(items: Vec<PenaltyItem>) -> Self {
        Self { total: items.iter().filter_map(|item| item.points).sum(), items }
    }
}

/// From an analysis; `None` when nothing was loaded.
pub(crate) fn penalty(analysis: &Measured) -> Option<Penalty> {
    if analysis.goodput.up.flows.is_empty() && analysis.goodput.down.flows.is_empty() {
        return None;
    }
    let mut items = Vec::new();
    for direction in Direction::ALL {
        let mut item = |what, value| items.push(PenaltyItem::new(what, Some(direction), value));
        if let Some(sharing) = analysis.sharing.direction(direction) {
            for (what, value) in shares(sharing) {
                item(what, Some(value));
            }
        }
        if !analysis.goodput(direction).flows.is_empty() && !analysis.round_trip_delay.flows.is_empty() {
            item(Misbehaviour::Queue, queue_p95_ms(analysis, direction));
        }
        for (what, verdict) in [
            (Misbehaviour::CodePointsAltered, code_points(analysis, direction)),
            (Misbehaviour::EcnAltered, ecn(analysis, direction)),
        ] {
            if let Verdict::Value(value) = verdict {
                item(what, value);
            }
        }
    }
    if !analysis.connections.flows.is_empty() {
        let slow = analysis.connections.pooled.load.as_ref().map(|attempts| attempts.over_1s);
        items.push(PenaltyItem::new(Misbehaviour::SlowConnects, None, slow));
    }
    let absent = analysis.test.absent_families.iter().any(|absent| absent.family == AddressFamily::Ipv6);
    if absent || analysis.test.families.contains(&AddressFamily::Ipv6) {
        items.push(PenaltyItem::new(Misbehaviour::Ipv6Absent, None, Some(if absent { 1.0 } else { 0.0 })));
    }
    Some(Penalty::new(items))
}

/// What follows from how the streams of a direction share it.
fn shares(sharing: &DirectionSharing) -> Vec<(Misbehaviour, f64)> {
    let mut found = Vec::new();
    if sharing.classes.len() > 1 {
        let of = |wanted: fn(ServiceClass) -> bool| -> Vec<&ClassShare> {
            sharing.classes.iter().filter(|entry| wanted(entry.class)).collect()
        };
        let share = |classes: &[&ClassShare]| classes.iter().map(|entry| entry.share).sum::<f64>();
        let expedited = of(|class| class == ServiceClass::EF);
        if !expedited.is_empty() {
            found.push((Misbehaviour::Expedited, share(&expedited)));
        }
        let background = of(is_background);
        if !background.is_empty() {
            found.push((Misbehaviour::Background, share(&background)));
            let starved = background.iter().map(|entry| entry.starved).fold(0.0, f64::max);
            found.push((Misbehaviour::BackgroundStarved, starved));
        }
    }
    let alike = sharing.classes.iter().filter_map(|entry| entry.jain);
    let worst = alike.filter_map(|jain| unevenness(jain.overall, jain.sharers)).max_by(f64::total_cmp);
    found.extend(worst.map(|value| (Misbehaviour::UnequalStreams, value)));
    found
}

/// CS1 and LE.
pub(crate) fn is_background(class: ServiceClass) -> bool {
    matches!(class.dscp().value(), 1 | 8)
}

/// 95th percentile of the wait in a direction's queue under load, milliseconds; infinite when that packet was lost.
pub(crate) fn queue_p95_ms(analysis: &Measured, direction: Direction) -> Option<f64> {
    let load = analysis.one_way_delay.direction(direction).queueing_delay.load?;
    Some(load.p95.map_or(f64::INFINITY, rrul_model::units::Delay::milliseconds))
}

/// The verdicts of several paths taken together.
enum Verdict {
    NotInPlan,
    /// 1 for bad and 0 for good; `None` when that is not known.
    Value(Option<f64>),
}

/// Whether code points of a direction are altered.
fn code_points(analysis: &Measured, direction: Direction) -> Verdict {
    let verdicts: Vec<PathVerdict> =
        analysis.markings.paths.iter().filter(|path| path.direction == direction).map(|path| path.verdict).collect();
    let altered = |verdict: &PathVerdict| {
        matches!(
            verdict,
            PathVerdict::Bleached | PathVerdict::PrecedenceBleached | PathVerdict::Remarked | PathVerdict::Dropped
        )
    };
    judge(&verdicts, altered, |verdict| *verdict == PathVerdict::Unknown)
}

fn ecn(analysis: &Measured, direction: Direction) -> Verdict {
    let verdicts: Vec<EcnVerdict> =
        analysis.ecn.paths.iter().filter(|path| path.direction == direction).map(|path| path.verdict).collect();
    let unknown = |verdict: &EcnVerdict| *verdict == EcnVerdict::Unknown;
    judge(&verdicts, |verdict| *verdict != EcnVerdict::Pass && !unknown(verdict), unknown)
}

/// 1 when any is bad, 0 when all are known and none is.
fn judge<T>(verdicts: &[T], bad: impl Fn(&T) -> bool, unknown: impl Fn(&T) -> bool) -> Verdict {
    if verdicts.is_empty() {
        return Verdict::NotInPlan;
    }
    if verdicts.iter().any(bad) {
        return Verdict::Value(Some(1.0));
    }
    Verdict::Value((!verdicts.iter().any(unknown)).then_some(0.0))
}
