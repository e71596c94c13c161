//! The composite: five parts of 0 to 20, summed (spec: The RRUL Score, "a maximum value of 100").
//!
//! C = 20 · (r_web + r_delay + r_variation + r_slew + r_loss). Each r is 0 to 1, and how much of the idle line's quality is left
//! under load; U is idle and L loaded:
//!
//! - r_web = min(1, U / L) of mean page load times;
//! - r_delay = min(1, (U + 20) / (L + 20)), 95th percentile of round-trip delay, ms;
//! - r_variation = min(1, (U + 10) / (L + 10)), 95th percentile of packet delay variation, ms;
//! - r_slew = min(1, (U + 20) / (L + 20)), 95th percentile of the time to connect, ms;
//! - r_loss = 2^(-max(0, L - U) / 0.02), share of probes and voice packets that were lost, or of voice too late.
//!
//! The additive floors keep a line of 1 ms that rises to 6 ms from losing five sixths: too small to notice. Delay,
//! variation, slew and loss are the mean over cells: each family, direction and class of best effort (CS0) and
//! expedited forwarding. Background is shown, and not counted: it is meant to suffer. What lacks is named and lowers
//! the attainable maximum; the rest is never stretched to 100.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::time::Window;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::score::ScoreWord;
use crate::scores::score_cell::{Conditions, ScoreCell};
use crate::scores::web::WebScore;
use crate::statistics::bootstrap::mean;

/// Points of one part.
pub const PART: f64 = 20.0;
/// Additive floors, milliseconds.
const DELAY_FLOOR: f64 = 20.0;
const VARIATION_FLOOR: f64 = 10.0;
const CONNECT_FLOOR: f64 = 20.0;
/// Added loss that halves its part.
const HALVING_LOSS: f64 = 0.02;

pub const WORD: ScoreWord = ScoreWord {
    name: "composite",
    about: "pages, delay, delay variation, slew and loss under load against the idle line, 20 points each, 0 to 100",
    source: "RRUL specification, The RRUL Score; floors and halving are rrul's",
};

/// How much is left of the idle line's quality, each 0 to 1; `None` where it was not measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Ratios {
    pub delay: Option<f64>,
    pub delay_variation: Option<f64>,
    /// Of the time to connect.
    pub slew: Option<f64>,
    pub loss: Option<f64>,
}

impl Ratios {
    /// Compares the conditions on the idle line and under load.
    pub fn new(idle: &Conditions, load: &Conditions) -> Self {
        let both = |pick: fn(&Conditions) -> Option<f64>, floor| ratio(pick(idle)?, pick(load)?, floor);
        Self {
            delay: both(|c| c.delay_ms, DELAY_FLOOR),
            delay_variation: both(|c| c.delay_variation_ms, VARIATION_FLOOR),
            slew: both(|c| c.connect_ms, CONNECT_FLOOR),
            loss: match (idle.losses.share(), load.losses.share()) {
                (Some(quiet), Some(busy)) if idle.heard && load.heard => loss_ratio(quiet, busy),
                _ => None,
            },
        }
    }

    /// Their mean; `None` when none was measured.
    fn mean(&self) -> Option<f64> {
        let known: Vec<f64> = [self.delay, self.delay_variation, self.slew, self.loss].into_iter().flatten().collect();
        mean(&known)
    }
}

/// min(1, (idle + floor) / (load + floor)); an infinite load leaves nothing, an idle line without a finite figure is no
/// baseline. What is no number is not measured.
pub fn ratio(idle: f64, load: f64, floor: f64) -> Option<f64> {
    let known = idle.is_finite() && !load.is_nan();
    known.then(|| ((idle.max(0.0) + floor) / (load.max(0.0) + floor)).min(1.0))
}

/// 2^(-max(0, load - idle) / 0.02) of shares.
pub fn loss_ratio(idle: f64, load: f64) -> Option<f64> {
    let known = (0.0..=1.0).contains(&idle) && (0.0..=1.0).contains(&load);
    known.then(|| (-(load - idle).max(0.0) / HALVING_LOSS).exp2())
}

/// The five parts in points.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct CompositeParts {
    /// Pages: 20 when they load as on the idle line. Null when not measured, as for the other parts.
    ///
    /// Unit: 0 to 20.
    pub web: Option<f64>,
    /// Delay.
    ///
    /// Unit: 0 to 20.
    pub delay: Option<f64>,
    /// Delay variation.
    ///
    /// Unit: 0 to 20.
    pub delay_variation: Option<f64>,
    /// Start slew.
    ///
    /// Unit: 0 to 20.
    pub slew: Option<f64>,
    /// Loss.
    ///
    /// Unit: 0 to 20.
    pub loss: Option<f64>,
}

impl CompositeParts {
    /// From the share of its speed that a page keeps, and the ratios of each cell that counts.
    pub fn new(relative_speed: Option<f64>, cells: &[Ratios]) -> Self {
        let part = |pick: fn(&Ratios) -> Option<f64>| {
            mean(&cells.iter().filter_map(pick).collect::<Vec<_>>()).map(|ratio| PART * ratio)
        };
        Self {
            web: relative_speed.map(|relative_speed| PART * relative_speed),
            delay: part(|ratios| ratios.delay),
            delay_variation: part(|ratios| ratios.delay_variation),
            slew: part(|ratios| ratios.slew),
            loss: part(|ratios| ratios.loss),
        }
    }

    /// The parts with their names in data.
    pub fn named(&self) -> [(&'static str, Option<f64>); 5] {
        [
            ("web", self.web),
            ("delay", self.delay),
            ("delay_variation", self.delay_variation),
            ("slew", self.slew),
            ("loss", self.loss),
        ]
    }

    /// The sum of those that were measured.
    pub fn total(&self) -> f64 {
        self.named().into_iter().filter_map(|(_, points)| points).sum()
    }

    /// What the sum could be at most: 20 for each part that was measured.
    pub fn maximum_available(&self) -> f64 {
        PART * self.named().into_iter().filter(|(_, points)| points.is_some()).count() as f64
    }
}

/// The composite score of a run.
///
/// Null when none of its parts was measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Composite score")]
pub struct Composite {
    /// Sum of the measured parts.
    ///
    /// Unit: points. Source: spec, The RRUL Score.
    pub total: f64,
    /// Maximum of the total: 20 for each measured part.
    ///
    /// Unit: points.
    pub maximum_available: f64,
    /// The parts.
    #[serde(flatten)]
    pub parts: CompositeParts,
    /// Parts that were not measured.
    pub missing: Vec<&'static str>,
    /// The cells over which all parts but `web` are the mean.
    pub cells: Vec<CellScore>,
    /// Index in `cells` of the counted one with the fewest points; null without any.
    pub worst_cell: Option<usize>,
}

/// The points of one class and family in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct CellScore {
    /// Service class.
    pub class: ServiceClass,
    /// Address family.
    pub family: AddressFamily,
    /// Direction. Delay and slew are of round trips, the same in both directions.
    pub direction: Direction,
    /// Whether it is in the mean: best effort and expedited forwarding are.
    pub counted: bool,
    /// The directions cannot be distinguished, so delay variation is of round trips.
    pub variation_of_round_trips: bool,
    /// Points for delay. Null when not measured, as for the others.
    ///
    /// Unit: 0 to 20.
    pub delay: Option<f64>,
    /// Points for delay variation.
    ///
    /// Unit: 0 to 20.
    pub delay_variation: Option<f64>,
    /// Points for start slew.
    ///
    /// Unit: 0 to 20.
    pub slew: Option<f64>,
    /// Points for loss.
    ///
    /// Unit: 0 to 20.
    pub loss: Option<f64>,
}

/// When the line was idle, and when its load is scored; `None` for what was not measured.
pub(crate) fn windows(analysis: &Measured) -> (Option<Window>, Option<Window>) {
    let phase = |phase: Phase| analysis.test.phases.iter().find(|entry| entry.phase == phase).map(|entry| entry.window);
    (phase(Phase::Idle), analysis.scored.common.or_else(|| phase(Phase::Load)))
}

pub(crate) fn composite(analysis: &Measured, web: Option<&WebScore>, cells: &[ScoreCell]) -> Option<Composite> {
    let (idle, load) = windows(analysis);
    let ratios = |cell: &ScoreCell| match (idle, load) {
        (Some(idle), Some(load)) => Ratios::new(&cell.within(idle), &cell.within(load)),
        _ => Ratios::default(),
    };
    let each: Vec<Ratios> = cells.iter().map(ratios).collect();
    let counted: Vec<Ratios> =
        cells.iter().zip(&each).filter(|(cell, _)| cell.counts()).map(|(_, ratios)| *ratios).collect();
    let parts = CompositeParts::new(web.map(|web| web.relative_speed), &counted);
    let points = |ratio: Option<f64>| ratio.map(|ratio| PART * ratio);
    let cell_score = |(cell, ratios): (&ScoreCell, &Ratios)| CellScore {
        class: cell.class,
        family: cell.family,
        direction: cell.direction,
        counted: cell.counts(),
        variation_of_round_trips: cell.of_round_trips(),
        delay: points(ratios.delay),
        delay_variation: points(ratios.delay_variation),
        slew: points(ratios.slew),
        loss: points(ratios.loss),
    };
    let candidates = cells.iter().zip(&each).enumerate().filter(|(_, (cell, _))| cell.counts());
    let worst = candidates
        .filter_map(|(index, (_, ratios))| Some((index, ratios.mean()?)))
        .min_by(|(_, a), (_, b)| a.total_cmp(b));
    (parts.maximum_available() > 0.0).then(|| Composite {
        total: parts.total(),
        maximum_available: parts.maximum_available(),
        missing: parts.named().into_iter().filter(|(_, points)| points.is_none()).map(|(name, _)| name).collect(),
        parts,
        cells: cells.iter().zip(&each).map(cell_score).collect(),
        worst_cell: worst.map(|(index, _)| index),
    })
}
