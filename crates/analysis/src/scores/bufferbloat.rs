//! The bufferbloat letter, by the cut points that DSLReports made known: what the load adds to the delay of a best-effort
//! packet, in milliseconds: under 5 A+, under 30 A, under 60 B, under 200 C, under 400 D, else F.
//!
//! DSLReports takes half of the sum of what a download and an upload each add. Where one direction is bad and the other
//! good that halves the harm, so the headline here is of the worse direction's mean; the compatible letter is reported
//! as well, and letters of the median and the 95th percentile. What a direction adds is the wait in its queue, one way,
//! both directions loaded at once. Where the hosts' clocks cannot be brought together, the round trip is taken for the
//! worse direction: it is at least as much.

use rrul_model::flow::Direction;
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::time::Window;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::measured::Measured;
use crate::packets::probe_pool::HeadlineClasses;
use crate::score::ScoreWord;
use crate::scores::composite::windows;
use crate::series::DelayPoint;
use crate::statistics::bootstrap::mean;
use crate::statistics::percentile::percentile;

pub const WORD: ScoreWord = ScoreWord {
    name: "bufferbloat",
    about: "what the load adds to delay as a letter, A+ to F; the worse direction's mean",
    source: "DSLReports, frequently asked questions 17930",
};

/// The letters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, JsonSchema)]
pub enum Letter {
    /// Under 5 ms.
    #[serde(rename = "A+")]
    APlus,
    /// Under 30 ms.
    A,
    /// Under 60 ms.
    B,
    /// Under 200 ms.
    C,
    /// Under 400 ms.
    D,
    /// 400 ms or more.
    F,
}

impl Letter {
    /// The letter of an added delay in milliseconds; `None` of what is no number.
    pub fn from_added_ms(added_ms: f64) -> Option<Self> {
        const CUTS: [(f64, Letter); 5] =
            [(5.0, Letter::APlus), (30.0, Letter::A), (60.0, Letter::B), (200.0, Letter::C), (400.0, Letter::D)];
        (!added_ms.is_nan())
            .then(|| CUTS.iter().find(|(cut, _)| added_ms < *cut).map_or(Self::F, |(_, letter)| *letter))
    }

    pub fn name(self) -> &'static str {
        match self {
            Self::APlus => "A+",
            Self::A => "A",
            Self::B => "B",
            Self::C => "C",
            Self::D => "D",
            Self::F => "F",
        }
    }
}

/// What the load adds, milliseconds; infinite where the packet of that rank was lost.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Added {
    /// To the mean of the packets that arrived.
    pub mean: f64,
    pub median: f64,
    /// To the 95th percentile.
    pub p95: f64,
}

impl Added {
    /// Loaded less idle delays, milliseconds, `None` for lost packets; `None` where nothing arrived on the idle line, or
    /// nothing was sent under load.
    pub fn between(idle: &[Option<f64>], load: &[Option<f64>]) -> Option<Self> {
        let arrived = |delays: &[Option<f64>]| delays.iter().copied().flatten().collect::<Vec<f64>>();
        let rank = |delays: &[Option<f64>], per_mille| {
            let mut sorted = arrived(delays);
            sorted.sort_unstable_by(f64::total_cmp);
            percentile(&sorted, (delays.len() - sorted.len()) as u64, per_mille).unwrap_or(f64::INFINITY)
        };
        let baseline = mean(&arrived(idle)).filter(|_| !load.is_empty())?;
        // A baseline that loses its median is none: what is above it cannot be said.
        let above =
            |per_mille| Some(rank(load, per_mille) - Some(rank(idle, per_mille)).filter(|idle| idle.is_finite())?);
        Some(Self {
            mean: mean(&arrived(load)).map_or(f64::INFINITY, |mean| mean - baseline),
            median: above(500)?,
            p95: above(950).unwrap_or(f64::INFINITY),
        })
    }
}

/// The bufferbloat letters of a run.
///
/// From the best-effort probes; without any, expedited forwarding; without either, all. Null without probes both idle
/// and under load.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Bufferbloat letter")]
pub struct Bufferbloat {
    /// The letter of the worse direction's mean.
    pub letter: Letter,
    /// The letter of the worse direction's median less that of the idle line; F when the packet of that rank was lost.
    pub letter_median: Letter,
    /// The letter of the worse direction's 95th percentile; F when the packet of that rank was lost.
    pub letter_p95: Letter,
    /// The letter of half of the sum of both directions' means. Null unless both were loaded.
    pub dslreports_compatible: Option<Letter>,
    /// The directions cannot be distinguished: the headline is of the whole round trip, the compatible letter of half
    /// of it.
    pub of_round_trips: bool,
    /// Server to client. Null when the directions cannot be distinguished.
    pub down: Option<DirectionLetter>,
    /// Client to server. Null when the directions cannot be distinguished.
    pub up: Option<DirectionLetter>,
}

/// The letter of one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct DirectionLetter {
    /// The letter of that direction's mean.
    pub letter: Letter,
    /// What the load adds to the mean, of packets that arrived.
    ///
    /// Unit: ms.
    pub mean_added_ms: Option<f64>,
    /// What the load adds to the median. Null when the packet of that rank was lost.
    ///
    /// Unit: ms.
    pub median_added_ms: Option<f64>,
    /// What the load adds to the 95th percentile. Null when the packet of that rank was lost.
    ///
    /// Unit: ms.
    pub p95_added_ms: Option<f64>,
}

impl Bufferbloat {
    /// From the latency added in each direction.
    pub fn by_direction(added: ByDirection<Added>) -> Option<Self> {
        let worse = |pick: fn(&Added) -> f64| Letter::from_added_ms(pick(&added.up).max(pick(&added.down)));
        Some(Self {
            letter: worse(|added| added.mean)?,
            letter_median: worse(|added| added.median)?,
            letter_p95: worse(|added| added.p95)?,
            dslreports_compatible: Letter::from_added_ms(f64::midpoint(added.up.mean, added.down.mean)),
            of_round_trips: false,
            down: direction_letter(&added.down),
            up: direction_letter(&added.up),
        })
    }

    /// From the latency added to the round trip, the most that either direction can have.
    pub fn of_round_trips(added: Added) -> Option<Self> {
        Some(Self {
            letter: Letter::from_added_ms(added.mean)?,
            letter_median: Letter::from_added_ms(added.median)?,
            letter_p95: Letter::from_added_ms(added.p95)?,
            dslreports_compatible: Letter::from_added_ms(added.mean / 2.0),
            of_round_trips: true,
            down: None,
            up: None,
        })
    }
}

fn direction_letter(added: &Added) -> Option<DirectionLetter> {
    let finite = |value: f64| Some(value).filter(|value| value.is_finite());
    Some(DirectionLetter {
        letter: Letter::from_added_ms(added.mean)?,
        mean_added_ms: finite(added.mean),
        median_added_ms: finite(added.median),
        p95_added_ms: finite(added.p95),
    })
}

pub(crate) fn bufferbloat(analysis: &Measured) -> Option<Bufferbloat> {
    let (Some(idle), Some(load)) = windows(analysis) else { return None };
    let probes = analysis.round_trip_delay.flows.iter().filter(|entry| entry.flow.kind() == FlowKind::UdpProbe);
    let best_effort = probes.clone().any(|entry| entry.flow.class == ServiceClass::BE);
    let headline = HeadlineClasses::among(probes.clone().map(|entry| entry.flow.class));
    let ours = |class| if best_effort { class == ServiceClass::BE } else { headline.contains(class) };
    let within = |series: &[&[DelayPoint]], window: Window| -> Vec<Option<f64>> {
        let points = series.iter().copied().flatten().filter(|point| window.contains(point.at));
        points.map(|point| point.delay.map(Delay::milliseconds)).collect()
    };
    let added = |series: &[&[DelayPoint]]| Added::between(&within(series, idle), &within(series, load));
    let added_in = |direction: Direction| {
        let legs = analysis.one_way_delay.legs.iter();
        let legs = legs.filter(|leg| leg.direction == direction && ours(leg.flow.class));
        added(&legs.map(|leg| &*leg.queueing_series).collect::<Vec<_>>())
    };
    let letters = if let (Some(up), Some(down)) = (added_in(Direction::Up), added_in(Direction::Down)) {
        Bufferbloat::by_direction(ByDirection { up, down })
    } else {
        let round_trips: Vec<&[DelayPoint]> =
            probes.filter(|entry| ours(entry.flow.class)).map(|entry| &*entry.series).collect();
        Bufferbloat::of_round_trips(added(&round_trips)?)
    };
    // A direction that nothing loads adds nothing: half of that sum would be half of the harm.
    let both = analysis.loads_both_directions();
    letters
        .map(|letters| Bufferbloat { dslreports_compatible: letters.dslreports_compatible.filter(|_| both), ..letters })
}
