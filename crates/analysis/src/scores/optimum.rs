//! The specification's optimum, item by item: met, not met, or not measured (spec: The RRUL Score).
//!
//! No probe and no voice packet lost, or of voice too late; their delay varying by less than 30 ms (95th percentile of PDV);
//! CS1 with at most 5 % of the bandwidth and yet not starved; EF with at most 30 %; IPv4 and IPv6 streams of the same class
//! roughly alike in rate, delay and its variation. Roughly is a factor of at most 1.25; delays and variations that differ by
//! 5 ms or less are alike, too. Items that the plan does not cover are absent.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::metrics::sharing::stream_sharing::DirectionSharing;
use crate::score::ScoreWord;
use crate::scores::composite::windows;
use crate::scores::penalty::is_background;
use crate::scores::score_cell::{Conditions, ScoreCell};

/// The most that delay may vary, milliseconds.
const VARIATION: f64 = 30.0;
/// The most that CS1 and EF may have.
const BACKGROUND: f64 = 0.05;
const EXPEDITED: f64 = 0.30;
/// Roughly equal.
const FACTOR: f64 = 1.25;
const DIFFERENCE_MS: f64 = 5.0;

pub const WORD: ScoreWord = ScoreWord {
    name: "optimum",
    about: "what the specification calls the optimum, item by item: met, not met, not measured",
    source: "RRUL specification, The RRUL Score; \"roughly\" is rrul's",
};

/// An item of the optimum.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum Goal {
    /// No probe is lost.
    RealtimeLoss,
    /// No voice packet is lost or too late.
    VoipLoss,
    /// The delay of probes varies by less than 30 ms.
    RealtimeVariation,
    /// The delay of voice packets varies by less than 30 ms.
    VoipVariation,
    /// CS1 has at most 5 % of the goodput.
    BackgroundShare,
    /// CS1 is not starved.
    BackgroundStarved,
    /// EF has at most 30 % of the goodput.
    ExpeditedShare,
    /// Both address families have the same rate.
    FamiliesRate,
    /// Both address families have the same delay.
    FamiliesDelay,
    /// Both address families have the same delay variation.
    FamiliesVariation,
}

/// Whether an item is met.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum State {
    /// The item is met.
    Met,
    /// The item is not met.
    NotMet,
    /// The item was not measured.
    NotMeasured,
}

/// One item.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct OptimumItem {
    /// What the item asks for.
    pub what: Goal,
    /// Direction; null for items without one.
    pub direction: Option<Direction>,
    /// Whether the item is met.
    pub state: State,
    /// What was measured: a share, milliseconds, or of families the larger over the smaller. Null when not measured or
    /// infinite.
    pub value: Option<f64>,
    /// Limit of the optimum, in the same unit.
    pub limit: f64,
}

impl OptimumItem {
    /// An item that is met up to its limit; delay variation, below it. What is no number was not measured.
    pub fn new(what: Goal, direction: Option<Direction>, value: Option<f64>) -> Self {
        let (limit, below) = match what {
            Goal::RealtimeLoss | Goal::VoipLoss | Goal::BackgroundStarved => (0.0, false),
            Goal::RealtimeVariation | Goal::VoipVariation => (VARIATION, true),
            Goal::BackgroundShare => (BACKGROUND, false),
            Goal::ExpeditedShare => (EXPEDITED, false),
            Goal::FamiliesRate | Goal::FamiliesDelay | Goal::FamiliesVariation => (FACTOR, false),
        };
        let state = match value {
            Some(value) if !value.is_nan() => {
                if if below { value < limit } else { value <= limit } {
                    State::Met
                } else {
                    State::NotMet
                }
            }
            _ => State::NotMeasured,
        };
        Self { what, direction, state, value: value.filter(|value| value.is_finite()), limit }
    }
}

/// The larger over the smaller of two figures of the families; 1 where they differ by no more than `tolerance`.
pub fn family_factor(one: f64, other: f64, tolerance: f64) -> f64 {
    if (one - other).abs() <= tolerance {
        return 1.0;
    }
    let (small, large) = (one.min(other), one.max(other));
    if small > 0.0 { large / small } else { f64::INFINITY }
}

/// The specification's optimum for a run.
///
/// Under load. Items that the plan does not cover are absent.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "The specification's optimum")]
pub struct Optimum {
    /// Items that are met.
    ///
    /// Unit: count. Source: spec, The RRUL Score.
    pub met: u64,
    /// Items that are not met.
    ///
    /// Unit: count. Source: spec, The RRUL Score.
    pub not_met: u64,
    /// Items that were not measured.
    ///
    /// Unit: count. Source: spec, The RRUL Score.
    pub not_measured: u64,
    /// Each item.
    pub items: Vec<OptimumItem>,
}

impl Optimum {
    pub fn new(items: Vec<OptimumItem>) -> Self {
        let count = |state| items.iter().filter(|item| item.state == state).count() as u64;
        let (met, not_met) = (count(State::Met), count(State::NotMet));
        Self { met, not_met, not_measured: count(State::NotMeasured), items }
    }
}

/// From an analysis; `None` when nothing was loaded.
pub(crate) fn optimum(analysis: &Measured, cells: &[ScoreCell]) -> Option<Optimum> {
    if analysis.goodput.up.flows.is_empty() && analysis.goodput.down.flows.is_empty() {
        return None;
    }
    let mut items = Vec::new();
    for direction in Direction::ALL {
        let mut item = |what, value| items.push(OptimumItem::new(what, Some(direction), value));
        for (what, value) in realtime(analysis, direction).into_iter().chain(voice(analysis, direction)) {
            item(what, value);
        }
        if let Some(sharing) = analysis.sharing.direction(direction) {
            for (what, value) in shares(sharing) {
                item(what, Some(value));
            }
        }
    }
    items.extend(families(analysis, cells));
    Some(Optimum::new(items))
}

fn realtime(analysis: &Measured, direction: Direction) -> Vec<(Goal, Option<f64>)> {
    if !analysis.round_trip_delay.flows.iter().any(|entry| entry.flow.kind() == FlowKind::UdpProbe) {
        return Vec::new();
    }
    let fate = analysis.loss.fates.pooled(direction).and_then(|fate| fate.load);
    let legs = analysis.one_way_delay.legs.iter().filter(|leg| leg.direction == direction);
    // PDV that falls on a loss is infinite; that of clocks that drift is not known.
    let variation = |variation: crate::metrics::delay::delay_variation::DelayVariation| {
        variation.pdv_p50_ns.map(|_| variation.pdv_p95_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e6))
    };
    let worst = legs.filter_map(|leg| leg.delay_variation.load).filter_map(variation).max_by(f64::total_cmp);
    vec![(Goal::RealtimeLoss, fate.map(|fate| fate.share_most)), (Goal::RealtimeVariation, worst)]
}

fn voice(analysis: &Measured, direction: Direction) -> Vec<(Goal, Option<f64>)> {
    let flows = analysis.voip.iter().flat_map(|voip| &voip.flows);
    let ours: Vec<_> = flows.filter(|entry| entry.flow.direction == Some(direction)).collect();
    if ours.is_empty() {
        return Vec::new();
    }
    let loads = || ours.iter().filter_map(|entry| entry.load);
    let loss = loads().filter_map(|load| load.effective_loss).max_by(f64::total_cmp);
    let variations = loads().filter_map(|load| load.delay_variation);
    let variation = variations.map(|v| v.pdv_p95_ns.map_or(f64::INFINITY, |ns| ns as f64 / 1e6)).max_by(f64::total_cmp);
    vec![(Goal::VoipLoss, loss), (Goal::VoipVariation, variation)]
}

fn shares(sharing: &DirectionSharing) -> Vec<(Goal, f64)> {
    let mut found = Vec::new();
    if sharing.classes.len() < 2 {
        return found;
    }
    let of = |wanted: fn(ServiceClass) -> bool| sharing.classes.iter().filter(move |entry| wanted(entry.class));
    if of(is_background).next().is_some() {
        found.push((Goal::BackgroundShare, of(is_background).map(|entry| entry.share).sum()));
        found.push((Goal::BackgroundStarved, of(is_background).map(|entry| entry.starved).fold(0.0, f64::max)));
    }
    let expedited: fn(ServiceClass) -> bool = |class| class == ServiceClass::EF;
    if of(expedited).next().is_some() {
        found.push((Goal::ExpeditedShare, of(expedited).map(|entry| entry.share).sum()));
    }
    found
}

/// What the families have of the same class; nothing with one family.
fn families(analysis: &Measured, cells: &[ScoreCell]) -> Vec<OptimumItem> {
    if analysis.test.families.len() < 2 {
        return Vec::new();
    }
    let mut items = Vec::new();
    for direction in Direction::ALL {
        if let Some(sharing) = analysis.sharing.direction(direction) {
            let ratios = sharing.classes.iter().filter_map(|entry| entry.ipv6_to_ipv4);
            let worst = ratios.map(|ratio| family_factor(ratio, 1.0, 0.0)).max_by(f64::total_cmp);
            items.push(OptimumItem::new(Goal::FamiliesRate, Some(direction), worst));
        }
        let worst = |pick: fn(&Conditions) -> Option<f64>| {
            let load = windows(analysis).1?;
            let of = |class, family| {
                let cell = cells.iter().find(|c| c.class == class && c.family == family && c.direction == direction)?;
                pick(&cell.within(load))
            };
            let mut factors = Vec::new();
            for cell in cells.iter().filter(|c| c.family == AddressFamily::Ipv4 && c.direction == direction) {
                let pair = of(cell.class, AddressFamily::Ipv4).zip(of(cell.class, AddressFamily::Ipv6));
                factors.extend(pair.map(|(four, six)| family_factor(four, six, DIFFERENCE_MS)));
            }
            factors.into_iter().max_by(f64::total_cmp)
        };
        items.push(OptimumItem::new(Goal::FamiliesVariation, Some(direction), worst(|c| c.delay_variation_ms)));
        if direction == Direction::Down {
            items.push(OptimumItem::new(Goal::FamiliesDelay, None, worst(|c| c.delay_ms)));
        }
    }
    items
}
