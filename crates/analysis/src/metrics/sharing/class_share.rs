//! How classes share a direction: whether background is starved, and whether expedited forwarding takes it all.

use rrul_model::marking::ServiceClass;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::rate::goodput::{DirectionGoodput, GoodputFlow};
use crate::series::RatePoint;

/// The part of its fair share below which a stream gets nothing worth the name.
const STARVING: f64 = 0.01;
/// Only a stream that gets nothing for this long is starved, nanoseconds: a lost segment can hold one up for less.
const LONG: u64 = 1_000_000_000;
/// Starved for more of the time than this is starved.
const STARVED_SHARE: f64 = 0.1;
/// What expedited forwarding should take at most, by the specification, and what is nearly all.
const MODERATE: f64 = 0.30;
const NEARLY_ALL: f64 = 0.95;

/// Background (CS1, LE) beside other classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct BackgroundShare {
    /// Share of the direction's goodput.
    ///
    /// Unit: share. Source: spec, The RRUL Score (5 % or less, but not starved).
    pub share: f64,
    /// Share of the time in stretches of at least a second with under 1 % of an equal part.
    ///
    /// Unit: share. Source: spec, The RRUL Score (5 % or less, but not starved).
    pub starved_share: f64,
    /// Whether that is over a tenth.
    ///
    /// Source: spec, The RRUL Score (5 % or less, but not starved).
    pub starved: bool,
}

/// Expedited forwarding beside other classes.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ExpeditedShare {
    /// Share of the direction's goodput.
    ///
    /// Unit: share. Source: spec, The RRUL Score (30 % or less, but not 95 %).
    pub share: f64,
    /// How much that is.
    ///
    /// Source: spec, The RRUL Score (30 % or less, but not 95 %).
    pub verdict: ExpeditedVerdict,
}

/// How much expedited forwarding takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum ExpeditedVerdict {
    /// Up to 30 %.
    Moderate,
    /// Above 30 %.
    Much,
    /// Above 95 %.
    Dominates,
}

pub(crate) fn octets<'a>(streams: impl Iterator<Item = &'a GoodputFlow>) -> impl Iterator<Item = (TestTime, f64)> {
    streams.flat_map(|entry| &entry.series).map(|point| (point.at, octets_of(point)))
}

fn octets_of(point: &RatePoint) -> f64 {
    point.rate.0 as f64 / 8.0 * point.over.as_secs_f64()
}

/// All bytes of a direction within `load`.
pub(crate) fn total(goodput: &DirectionGoodput, load: Window) -> f64 {
    octets(goodput.flows.iter()).filter(|(at, _)| load.contains(*at)).map(|(_, octets)| octets).sum()
}

/// Bytes of each of so many streams; `None` of none.
pub(crate) fn of_each(octets: f64, streams: usize) -> Option<f64> {
    (streams > 0).then(|| octets / streams as f64)
}

/// The share of the streams of these classes; `None` without such streams and others, or if nothing arrived.
fn share(goodput: &DirectionGoodput, load: Window, is_of: impl Fn(ServiceClass) -> bool) -> Option<f64> {
    let streams = || goodput.flows.iter().filter(|entry| is_of(entry.flow.class));
    let (count, total) = (streams().count(), total(goodput, load));
    let own: f64 = octets(streams()).filter(|(at, _)| load.contains(*at)).map(|(_, octets)| octets).sum();
    (count > 0 && count < goodput.flows.len() && total > 0.0).then(|| own / total)
}

fn is_background(class: ServiceClass) -> bool {
    matches!(class.dscp().value(), 1 | 8)
}

pub(crate) fn background(goodput: &DirectionGoodput, load: Window) -> Option<BackgroundShare> {
    let share = share(goodput, load, is_background)?;
    let streams: Vec<&GoodputFlow> = goodput.flows.iter().filter(|entry| is_background(entry.flow.class)).collect();
    let starved: f64 = streams.iter().map(|stream| starved(stream, goodput, load)).sum();
    let starved_share = starved / streams.len() as f64;
    Some(BackgroundShare { share, starved_share, starved: starved_share > STARVED_SHARE })
}

/// Share of the load in which a stream was starved.
fn starved(stream: &GoodputFlow, goodput: &DirectionGoodput, load: Window) -> f64 {
    let fair = |at: TestTime| {
        let found = goodput.sum_series.binary_search_by_key(&at, |point| point.at).ok()?;
        Some(goodput.sum_series[found].rate.0 as f64 / goodput.flows.len() as f64)
    };
    let (mut starved, mut stretch, mut all) = (0, 0, 0);
    let mut close = |stretch: &mut u64| {
        if *stretch >= LONG {
            starved += *stretch;
        }
        *stretch = 0;
    };
    for point in stream.series.iter().filter(|point| load.contains(point.at)) {
        let over = u64::try_from(point.over.as_nanos()).unwrap_or(u64::MAX);
        all += over;
        match fair(point.at) {
            Some(fair) if fair > 0.0 && (point.rate.0 as f64) < STARVING * fair => stretch += over,
            _ => close(&mut stretch),
        }
    }
    close(&mut stretch);
    if all == 0 { 0.0 } else { starved as f64 / all as f64 }
}

pub(crate) fn expedited(goodput: &DirectionGoodput, load: Window) -> Option<ExpeditedShare> {
    let share = share(goodput, load, |class| class == ServiceClass::EF)?;
    let verdict = match share {
        share if share > NEARLY_ALL => ExpeditedVerdict::Dominates,
        share if share > MODERATE => ExpeditedVerdict::Much,
        _ => ExpeditedVerdict::Moderate,
    };
    Some(ExpeditedShare { share, verdict })
}
