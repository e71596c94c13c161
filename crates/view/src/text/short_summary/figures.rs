//! The numbers by direction: added latency, delivered rate, and loss, of best effort and expedited forwarding alone.
//! Background is meant to wait, so its packets are in no headline.

use std::collections::HashSet;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::{DelayFlow, PhaseDelays};
use rrul_analysis::metrics::loss::packet_fate::FlowFate;
use rrul_analysis::packets::probe_pool::pooled;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::{Direction, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::units::{BitRate, Delay};

use crate::delay_sample::Sample;
use crate::text::short_summary::grades::is_loaded;
use crate::text::short_summary::layout::{COLUMNS, fitting};
use crate::text::style::{quantile, unknown};
use crate::text::table::Table;
use crate::text::words;
use crate::text::words::added;
use crate::text::words::direction_word;

/// What the load adds to the idle median; `None` where the packet of that rank was lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Added {
    pub(super) p50: Option<Delay>,
    pub(super) p95: Option<Delay>,
}

/// Lost packets as a share of those sent: when none and when all of those lost in an unknown direction were lost here.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Lost {
    pub(super) least: f64,
    pub(super) most: f64,
}

/// The numbers of one direction; `None` is unknown.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(super) struct DirectionFigures {
    pub(super) added: Option<Added>,
    pub(super) delivered: Option<BitRate>,
    /// What the link carried, IP packets.
    pub(super) carried: Option<BitRate>,
    pub(super) lost: Option<Lost>,
    pub(super) lost_idle: Option<Lost>,
    /// Of the packets of `lost`, those marked EF.
    pub(super) expedited_lost: Option<Lost>,
    pub(super) background_lost: Option<Lost>,
}

/// The numbers of a run.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Figures {
    pub(super) down: DirectionFigures,
    pub(super) up: DirectionFigures,
    /// What the load adds to the round trip.
    pub(super) round_trip: Option<Added>,
    /// Round trips on the idle line, and under load.
    idle: Sample,
    loaded: Sample,
    is_loaded: bool,
}

impl Figures {
    pub(super) fn of(run: &Analysis) -> Self {
        let chosen = pooled(&run.round_trip_delay.flows);
        let packets = || chosen.iter().flat_map(|flow| &flow.series);
        let sample = |phase| Sample::of(run, phase, packets());
        let (idle, loaded) = (sample(Phase::Idle), sample(Phase::Load));
        let [down, up] = Direction::ALL.map(|direction| direction_figures(run, &chosen, direction));
        Self { down, up, round_trip: between(&idle, &loaded), idle, loaded, is_loaded: is_loaded(run) }
    }

    pub(super) fn direction(&self, direction: Direction) -> &DirectionFigures {
        direction.select(&self.up, &self.down)
    }

    /// The table; nothing without probes and load.
    pub(super) fn lines(&self) -> Vec<String> {
        let table = if self.is_loaded { self.loaded_table() } else { self.idle_table() };
        table.lines().iter().map(|line| fitting(line, COLUMNS)).collect()
    }

    fn loaded_table(&self) -> Table {
        let mut table = Table::default();
        table.row(["Under load (BE, EF)", "added P50", "added P95", "delivered (all)", "lost"]);
        for direction in Direction::ALL {
            let DirectionFigures { added, delivered, lost, .. } = *self.direction(direction);
            let rate = delivered.map_or_else(unknown, |rate| rate.to_string());
            let cells = added_cells(added).into_iter().chain([rate, lost.map_or_else(unknown, lost_words)]);
            table.named_row(direction_word(direction), cells);
        }
        let idle = self.idle.percentile(500).filter(|_| self.idle.sent() > 0);
        let name = idle.map_or_else(|| "Round trip".to_owned(), |idle| format!("Round trip (idle {idle})"));
        let directions_known = self.up.lost.or(self.down.lost).is_some();
        let lost = if directions_known || self.loaded.sent() == 0 {
            String::new()
        } else {
            words::percent(self.loaded.lost_share())
        };
        table.named_row(&name, added_cells(self.round_trip).into_iter().chain([String::new(), lost]));
        table
    }

    fn idle_table(&self) -> Table {
        let mut table = Table::default();
        if self.idle.sent() == 0 {
            return table;
        }
        table.row(["Idle line (BE, EF)", "P50", "P95", "P99", "max", "lost"]);
        let cells = [500, 950, 990].map(|rank| quantile(self.idle.percentile(rank)));
        let max = quantile(self.idle.sorted.last().copied());
        let lost = words::percent(self.idle.lost_share());
        table.named_row("Round trip", cells.into_iter().chain([max, lost]));
        table
    }
}

fn direction_figures(run: &Analysis, chosen: &[&DelayFlow], direction: Direction) -> DirectionFigures {
    let ids: HashSet<FlowId> = chosen.iter().map(|flow| flow.flow.id).collect();
    let goodput = run.goodput(direction);
    let delivered = (!goodput.flows.is_empty()).then_some(goodput.sum);
    let carried = run.link_octets.load.as_ref().map(|load| BitRate(load.direction(direction).all.carried_bps));
    // A response that comes after its exchange was given up is not lost on the line, so exchanges say nothing here.
    let is_probe = |fate: &FlowFate| fate.flow.kind() == FlowKind::UdpProbe;
    let is_background = |fate: &FlowFate| is_probe(fate) && words::is_background(fate.flow.class);
    let is_expedited = |fate: &FlowFate| fate.flow.class == ServiceClass::EF;
    DirectionFigures {
        added: queueing(run, &ids, direction),
        delivered,
        carried: carried.filter(|rate| rate.0 > 0 && delivered.is_some()),
        lost: lost(run, direction, Phase::Load, |fate| ids.contains(&fate.flow.id)),
        lost_idle: lost(run, direction, Phase::Idle, |fate| ids.contains(&fate.flow.id)),
        expedited_lost: lost(run, direction, Phase::Load, |fate| is_expedited(fate) && ids.contains(&fate.flow.id)),
        background_lost: lost(run, direction, Phase::Load, |fate| is_background(fate) && !ids.contains(&fate.flow.id)),
    }
}

/// What the load adds to the queueing delay of these flows in one direction.
fn queueing(run: &Analysis, ids: &HashSet<FlowId>, direction: Direction) -> Option<Added> {
    let told = &run.one_way_delay;
    if told.legs.is_empty() {
        let PhaseDelays { idle, load, .. } = told.direction(direction).queueing_delay;
        let (idle, load) = (idle?.p50?, load?);
        return Some(Added { p50: load.p50.map(|p50| p50 - idle), p95: load.p95.map(|p95| p95 - idle) });
    }
    let legs = told.legs.iter().filter(|leg| leg.direction == direction && ids.contains(&leg.flow.id));
    let packets: Vec<&DelayPoint> = legs.flat_map(|leg| &leg.queueing_series).collect();
    let sample = |phase| Sample::of(run, phase, packets.iter().copied());
    between(&sample(Phase::Idle), &sample(Phase::Load))
}

fn between(idle: &Sample, loaded: &Sample) -> Option<Added> {
    if loaded.sent() == 0 {
        return None;
    }
    let idle = idle.percentile(500)?;
    let above = |rank| loaded.percentile(rank).map(|delay| delay - idle);
    Some(Added { p50: above(500), p95: above(950) })
}

/// Loss in a phase of the flows that are wanted.
fn lost(run: &Analysis, direction: Direction, phase: Phase, wanted: impl Fn(&FlowFate) -> bool) -> Option<Lost> {
    let (mut sent, mut lost, mut unattributed) = (0, 0, 0);
    for flow in run.loss.fates.flows.iter().filter(|flow| wanted(flow)) {
        let fate = direction.select(flow.up, flow.down);
        let Some(packets) = fate.phase(phase) else { continue };
        sent += packets.sent;
        lost += packets.lost;
        unattributed += packets.unattributed;
    }
    let share = |count: u64| count as f64 / sent as f64;
    (sent > 0).then(|| Lost { least: share(lost), most: share(lost + unattributed) })
}

fn added_cells(figures: Option<Added>) -> [String; 2] {
    let cell = |delay: Option<Delay>| delay.map_or_else(|| "lost".to_owned(), |delay| added(Some(delay)));
    figures.map_or_else(|| [unknown(), unknown()], |figures| [cell(figures.p50), cell(figures.p95)])
}

pub(super) fn lost_words(lost: Lost) -> String {
    let Lost { least, most } = lost;
    let [low, high] = [least, most].map(words::percent);
    if low == high { low } else { format!("{} to {high}", low.trim_end_matches(" %")) }
}
