//! The delays of a run as rows of table `delays`.

use std::collections::{BTreeMap, HashSet};

use rrul_analysis::Analysis;
use rrul_analysis::packets::probe_pool::pooled;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::time::TestTime;

use crate::sketch::Sketch;
use crate::tables::DelayRow;

/// What sketches are kept apart by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Key {
    pub(crate) kind: &'static str,
    pub(crate) phase: &'static str,
    pub(crate) headline: bool,
    pub(crate) direction: &'static str,
    pub(crate) class: ServiceClass,
    pub(crate) family: AddressFamily,
}

/// The sketches of a run.
pub(crate) fn sketches(analysis: &Analysis) -> BTreeMap<Key, Sketch> {
    let headline: HashSet<FlowId> =
        pooled(&analysis.round_trip_delay.flows).into_iter().map(|entry| entry.flow.id).collect();
    let mut sketches = BTreeMap::new();
    for entry in &analysis.round_trip_delay.flows {
        let Some(kind) = round_trip_kind(entry.flow.kind()) else { continue };
        let key = |phase| Key {
            kind,
            phase,
            headline: headline.contains(&entry.flow.id),
            direction: "both",
            class: entry.flow.class,
            family: entry.flow.family,
        };
        count(&mut sketches, analysis, &entry.series, key);
    }
    for leg in &analysis.one_way_delay.legs {
        let key = |phase| Key {
            kind: "queueing",
            phase,
            headline: headline.contains(&leg.flow.id),
            direction: leg.direction.name(),
            class: leg.flow.class,
            family: leg.flow.family,
        };
        count(&mut sketches, analysis, &leg.queueing_series, key);
    }
    sketches
}

fn round_trip_kind(kind: FlowKind) -> Option<&'static str> {
    match kind {
        FlowKind::UdpProbe => Some("round_trip"),
        FlowKind::IcmpEcho => Some("icmp_round_trip"),
        FlowKind::ExchangeMean => Some("mean_round_trip"),
        _ => None,
    }
}

fn count(
    sketches: &mut BTreeMap<Key, Sketch>,
    analysis: &Analysis,
    series: &[DelayPoint],
    key: impl Fn(&'static str) -> Key,
) {
    for point in series {
        if let Some(phase) = phase_name(analysis, point.at) {
            sketches.entry(key(phase)).or_default().add(point.delay);
        }
    }
}

/// The phase as the summary divides them: of the load, the scored window and the rest. The survey is in no statistics of delays.
pub(crate) fn phase_name(analysis: &Analysis, at: TestTime) -> Option<&'static str> {
    let phase = analysis.test.phases.iter().find(|entry| entry.window.contains(at))?.phase;
    match phase {
        Phase::Survey => None,
        Phase::Load if analysis.scored.common.is_some_and(|scored| !scored.contains(at)) => Some("unscored"),
        other => Some(other.name()),
    }
}

pub(crate) fn delay_rows(run_key: Option<i64>, sketches: &BTreeMap<Key, Sketch>) -> Vec<DelayRow> {
    let rows = sketches.iter().flat_map(|(key, sketch)| sketch.bins().map(move |(bin, n)| (key, bin, n)));
    rows.map(|(key, bin, n)| DelayRow {
        run_key,
        phase: Some(key.phase.to_owned()),
        class: Some(key.class.to_string()),
        family: Some(key.family.to_string()),
        direction: Some(key.direction.to_owned()),
        kind: Some(key.kind.to_owned()),
        headline: Some(i64::from(key.headline)),
        bin: Some(bin),
        n: i64::try_from(n).ok(),
    })
    .collect()
}
