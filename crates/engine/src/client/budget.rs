//! The measurement budget: sets intervals, exchanges and voice so that all traffic but the load stays within its share of
//! each direction of the line.
//!
//! What measures a line must not be what fills it: on the plan's own terms the flows of `rrul` over both families send
//! more than 1.5 Mbit/s each way. In this order the share is given to the control connection and the path traces, whose
//! rates follow from elsewhere; of what they leave, to exchanges a fifth at most; to voice what it asks for or a third;
//! the rest to everything that sends at an interval, which is stretched for all by one factor. Short flows and lookups
//! that run beside pages are bounded in the same way.

mod streams;
#[cfg(test)]
mod tests;
mod voice;

use std::collections::BTreeSet;
use std::time::Duration;

use rrul_model::flow::{Component, Direction, FlowId, FlowSpec, Parameter};
use rrul_model::flow_kind::FlowKind;
use rrul_model::line_rate::LineRate;
use rrul_model::measurement_budget::{BudgetChange, DirectionBudget, MeasurementBudget, ceiling};
use rrul_model::page::Page;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::units::{BitRate, Share, format_duration};

use crate::flow_type::{FlowType, Footprint, Pacing};
use crate::flow_types::{self, short_flow};

/// What is aimed at, of the ceiling: an estimate of the line's rate is off by a few per cent, and so are footprints.
const AIM: f64 = 0.85;

/// What exchanges may take of what the control connection and the path traces leave, and voice where not everything fits.
const EXCHANGES: f64 = 0.2;
const VOICE: f64 = 0.35;

/// What short flows may take of a direction while pages are loaded, and marking sweeps of the idle line.
const BESIDE_PAGES: f64 = 0.1;
const SURVEY: f64 = 0.25;

/// A short flow of a size that the idle line does not carry in this time is left out.
const SHORT: Duration = Duration::from_secs(3);

/// What the server's frames take of the download, bit/s: beside the host's state, the counters of each stream, and the
/// stamps of each test packet that reached the server; for voice from the client, a part of what it sends.
const FRAMES: f64 = 15_000.0;
const FRAMES_PER_STREAM: f64 = 3_000.0;
const FRAMES_PER_PACKET: f64 = 40.0;
const FRAMES_OF_VOICE: f64 = 0.04;

/// Whether the rate of the line decides over any of these flows.
pub(super) fn depends_on_line(flows: &[FlowSpec]) -> bool {
    flows.iter().any(|flow| pacing(flow) != Pacing::Fixed)
}

fn pacing(flow: &FlowSpec) -> Pacing {
    flow_types::named(&flow.flow_type).map_or(Pacing::Fixed, FlowType::pacing)
}

fn footprint(flow: &FlowSpec) -> Footprint {
    flow_types::named(&flow.flow_type).map_or_else(Footprint::default, |kind| kind.footprint(flow))
}

/// Fits these flows into `share` of each direction whose rate is known, and says what that changed. Without a share, or
/// a known rate, they stay as the plan has them.
pub(super) fn settle(
    flows: &mut Vec<FlowSpec>,
    line: Option<&LineRate>,
    phases: &[PhaseWindow],
    share: Option<Share>,
) -> Option<MeasurementBudget> {
    let share = share.filter(|_| {
        line.is_some_and(|line| Direction::ALL.iter().any(|direction| line.direction(*direction).is_some()))
    });
    let (Some(line), Some(share)) = (line, share) else {
        voice::settle(flows, phases, |_| f64::INFINITY);
        return None;
    };
    let planned = flows.clone();
    let scored = scored_flows(&planned, phases);
    let rate = |direction| line.direction(direction).map(|rate| rate.0 as f64);
    let sum = |flows: &[FlowSpec], direction| -> f64 {
        control(flows, direction)
            + flows
                .iter()
                .filter(|flow| scored.contains(&flow.id))
                .map(|flow| footprint(flow).direction(direction))
                .sum::<f64>()
    };
    let allowed = |direction| {
        line.direction(direction).map_or(f64::INFINITY, |rate| AIM * ceiling(share, rate).0 * rate.0 as f64)
    };

    let mut changes = streams::settle(flows, line);
    leave_out_large_transfers(flows, line, phases, &mut changes);
    let of_voice = |flows: &[FlowSpec], direction| -> f64 {
        flows.iter().filter(|flow| pacing(flow) == Pacing::Turns).map(|flow| footprint(flow).direction(direction)).sum()
    };
    let reports =
        |voice_up: f64, direction| if direction == Direction::Down { FRAMES_OF_VOICE * voice_up } else { 0.0 };
    let whole =
        |flows: &[FlowSpec], direction| sum(flows, direction) + reports(of_voice(flows, Direction::Up), direction);
    let fixed = flows.iter().filter(|flow| pacing(flow) == Pacing::Fixed && scored.contains(&flow.id));
    let fixed = fixed.map(footprint).fold(Footprint::default(), Footprint::and);
    // Of a direction that these fill already the others still get a little.
    let left = Direction::ALL.map(|direction| {
        (direction, allowed(direction) - reports_of_streams(flows, direction) - fixed.direction(direction))
    });
    let free = |direction| {
        left.iter().find(|(other, _)| *other == direction).map_or(0.0, |(_, left)| left.max(0.1 * allowed(direction)))
    };
    if Direction::ALL.into_iter().any(|direction| whole(flows, direction) > allowed(direction)) {
        slow_exchanges(flows, &scored, |direction| EXCHANGES * free(direction));
    }
    let for_voice = |direction| {
        let voice = of_voice(flows, direction);
        let others = whole(flows, direction) - voice;
        (allowed(direction) - others).max(VOICE * free(direction)).min(voice)
    };
    let (voice_up, voice_down) = (for_voice(Direction::Up), for_voice(Direction::Down));
    let for_voice = |direction| if direction == Direction::Up { voice_up } else { voice_down };
    let with_voice = |flows: &[FlowSpec], direction| {
        sum(flows, direction) - of_voice(flows, direction) + for_voice(direction) + reports(voice_up, direction)
    };
    stretch(flows, &scored, with_voice, allowed);
    voice::settle(flows, phases, for_voice);
    let surveyed = |flow: &FlowSpec| {
        phases.iter().any(|entry| entry.phase == Phase::Survey && entry.window.overlaps(&flow.window))
    };
    let most = |share| move |direction| share * rate(direction).unwrap_or(f64::INFINITY);
    // Idle and loaded alike: what is compared follows one schedule.
    bound(flows, |flow| flow.kind() == FlowKind::ShortFlow, most(BESIDE_PAGES));
    bound(flows, |flow| flow.kind() == FlowKind::MarkingSweep && surveyed(flow), most(SURVEY));
    bound(flows, |flow| flow.kind() == FlowKind::MarkingSweep && !surveyed(flow), most(BESIDE_PAGES));
    changes.extend(changed(&planned, flows));

    let budget_of = |direction| {
        let line = line.direction(direction)?;
        Some(DirectionBudget {
            line,
            ceiling: ceiling(share, line),
            planned: BitRate(whole(&planned, direction) as u64),
            expected: BitRate(with_voice(flows, direction) as u64),
        })
    };
    Some(MeasurementBudget { up: budget_of(Direction::Up), down: budget_of(Direction::Down), changes })
}

/// The flows that are neither load nor pages and run beside the load, or on the idle line where nothing loads.
fn scored_flows(flows: &[FlowSpec], phases: &[PhaseWindow]) -> BTreeSet<FlowId> {
    let of = |wanted: Phase| phases.iter().find(|entry| entry.phase == wanted).map(|entry| entry.window);
    let Some(window) = of(Phase::Load).or_else(|| of(Phase::Idle)) else { return BTreeSet::new() };
    let measures = |flow: &&FlowSpec| !matches!(flow.component, Component::Load | Component::Web);
    flows.iter().filter(measures).filter(|flow| flow.window.overlaps(&window)).map(|flow| flow.id).collect()
}

/// What the control connection carries of the counters of streams: the server's frames come down, and little more than
/// acknowledgments goes up.
fn reports_of_streams(flows: &[FlowSpec], direction: Direction) -> f64 {
    let streams = flows.iter().filter(|flow| flow.component == Component::Load).count() as f64;
    carried(FRAMES + FRAMES_PER_STREAM * streams, direction)
}

/// All that the control connection carries, but for reports of voice.
fn control(flows: &[FlowSpec], direction: Direction) -> f64 {
    let packets = |flow: &FlowSpec| match pacing(flow) {
        Pacing::Interval { .. } => flow_types::named(&flow.flow_type).map_or(0.0, |kind| kind.packets_per_second(flow)),
        _ => 0.0,
    };
    let reported = flows.iter().filter(|flow| flow.direction != Some(Direction::Down));
    let packets: f64 = reported.filter(|flow| flow.component != Component::Analysis).map(packets).sum();
    reports_of_streams(flows, direction) + carried(FRAMES_PER_PACKET * packets, direction)
}

fn carried(down: f64, direction: Direction) -> f64 {
    match direction {
        Direction::Down => down,
        Direction::Up => down / 20.0,
    }
}

/// Leaves out short flows of sizes that take the idle line too long, and page loads that the idle line cannot complete in
/// their window: what was on its way to a load that is cut off would fill the queue of a slow line far into the baseline.
fn leave_out_large_transfers(
    flows: &mut Vec<FlowSpec>,
    line: &LineRate,
    phases: &[PhaseWindow],
    changes: &mut Vec<BudgetChange>,
) {
    let loads: Vec<_> = phases.iter().filter(|entry| entry.phase.is_loaded()).map(|entry| entry.window).collect();
    let is_baseline = |flow: &FlowSpec| !loads.is_empty() && !loads.iter().any(|load| load.overlaps(&flow.window));
    let takes = |size, direction| line.direction(direction)?.time_for(size);
    let too_large = |flow: &FlowSpec| {
        if let Some((size, direction)) = short_flow::size(flow).zip(flow.direction) {
            return (takes(size, direction)? > SHORT).then(|| ("size", format!("{}B {}", size.0, direction.name())));
        }
        let loads_pages = flow.kind().loads_pages() && is_baseline(flow);
        let page = loads_pages.then(|| Page::named(flow.parameters.text("page").unwrap_or(Page::DEFAULT)))??;
        (takes(page.awaited_octets(), Direction::Down)? > flow.window.length()).then_some(("page", page.name))
    };
    flows.retain(|flow| {
        let Some((parameter, planned)) = too_large(flow) else { return true };
        let change = BudgetChange {
            flow_type: flow.flow_type.clone(),
            parameter: parameter.to_owned(),
            planned,
            used: String::new(),
        };
        if !changes.contains(&change) {
            changes.push(change);
        }
        false
    });
}

/// Gives exchanges their part: each of them the same.
fn slow_exchanges(flows: &mut [FlowSpec], scored: &BTreeSet<FlowId>, allowed: impl Fn(Direction) -> f64) {
    let closed = |flow: &FlowSpec| matches!(pacing(flow), Pacing::ClosedLoop { .. });
    let count = flows.iter().filter(|flow| closed(flow) && scored.contains(&flow.id)).count().max(1) as f64;
    for flow in flows.iter_mut() {
        let Pacing::ClosedLoop { parameter, default, longest } = pacing(flow) else { continue };
        let present = flow.parameters.duration(parameter, default);
        // Longer intervals may cost more for each exchange, once acknowledgments travel alone.
        for _ in 0..2 {
            let over =
                Direction::ALL.map(|direction| footprint(flow).direction(direction) * count / allowed(direction));
            let over = over.into_iter().fold(0.0, f64::max);
            if over > 1.0 {
                let interval = flow.parameters.duration(parameter, default).mul_f64(over.min(1e6));
                set_interval(flow, parameter, interval.clamp(present, longest.max(present)));
            }
        }
    }
}

/// Makes the intervals of all flows that have one longer by one factor, until everything fits.
fn stretch(
    flows: &mut [FlowSpec],
    scored: &BTreeSet<FlowId>,
    sum: impl Fn(&[FlowSpec], Direction) -> f64,
    allowed: impl Fn(Direction) -> f64,
) {
    // What runs idle and again under load follows one schedule, so both are stretched.
    let kind = |flow: &FlowSpec| flow.name.split('@').next().unwrap_or_default().to_owned();
    let kinds: BTreeSet<String> = flows.iter().filter(|flow| scored.contains(&flow.id)).map(kind).collect();
    let stretched = |factor: f64| -> Vec<FlowSpec> {
        let of = |flow: &FlowSpec| {
            let mut flow = flow.clone();
            if let (Pacing::Interval { parameter, default, longest, yields }, true) =
                (pacing(&flow), kinds.contains(&kind(&flow)))
            {
                let present = flow.parameters.duration(parameter, default);
                let interval = present.mul_f64(1.0 + (factor - 1.0) * yields);
                if factor > 1.0 {
                    set_interval(&mut flow, parameter, interval.clamp(present, longest.max(present)));
                }
            }
            flow
        };
        flows.iter().map(of).collect()
    };
    let fits =
        |flows: &[FlowSpec]| Direction::ALL.into_iter().all(|direction| sum(flows, direction) <= allowed(direction));
    if fits(flows) {
        return;
    }
    // Beyond this every interval is as long as it may be.
    let (mut low, mut high) = (1.0_f64, 100.0_f64);
    for _ in 0..40 {
        let middle = f64::midpoint(low, high);
        if fits(&stretched(middle)) {
            high = middle;
        } else {
            low = middle;
        }
    }
    let settled = stretched(high);
    flows.clone_from_slice(&settled);
}

/// Makes the intervals of some flows longer by one factor, so that those of each window together stay below a rate.
fn bound(flows: &mut [FlowSpec], ours: impl Fn(&FlowSpec) -> bool, most: impl Fn(Direction) -> f64) {
    let windows: BTreeSet<_> =
        flows.iter().filter(|flow| ours(flow)).map(|flow| (flow.window.from, flow.window.to)).collect();
    let over = windows.into_iter().flat_map(|window| {
        let together = flows.iter().filter(|flow| ours(flow) && (flow.window.from, flow.window.to) == window);
        let sum = together.map(footprint).fold(Footprint::default(), Footprint::and);
        Direction::ALL.map(|direction| sum.direction(direction) / most(direction))
    });
    let over = over.fold(0.0, f64::max);
    if over <= 1.0 {
        return;
    }
    for flow in flows.iter_mut().filter(|flow| ours(flow)) {
        if let Pacing::Interval { parameter, default, longest, .. } = pacing(flow) {
            let present = flow.parameters.duration(parameter, default);
            set_interval(flow, parameter, present.mul_f64(over).clamp(present, longest.max(present)));
        }
    }
}

/// To a whole millisecond: people read it.
fn set_interval(flow: &mut FlowSpec, parameter: &str, interval: Duration) {
    let whole = Duration::from_millis(u64::try_from(interval.as_micros().div_ceil(1000)).unwrap_or(u64::MAX));
    flow.parameters.0.insert(parameter.to_owned(), Parameter::Text(format_duration(whole)));
}

/// Which intervals and schedules are not those of the plan; once for all flows of a type that were treated alike.
fn changed(planned: &[FlowSpec], flows: &[FlowSpec]) -> Vec<BudgetChange> {
    let mut changes = Vec::new();
    for flow in flows {
        let Some(before) = planned.iter().find(|before| before.id == flow.id) else { continue };
        let (parameter, default) = match pacing(flow) {
            Pacing::Interval { parameter, default, .. } | Pacing::ClosedLoop { parameter, default, .. } => {
                (parameter, format_duration(default))
            }
            Pacing::Turns => (flow_types::voip::SCHEDULE, flow_types::voip::FULL.to_owned()),
            Pacing::Fixed => continue,
        };
        let of = |flow: &FlowSpec| {
            flow.parameters
                .text(parameter)
                .filter(|text| *text != flow_types::voip::AUTO)
                .map_or_else(|| default.clone(), str::to_owned)
        };
        let change = BudgetChange {
            flow_type: flow.flow_type.clone(),
            parameter: parameter.to_owned(),
            planned: of(before),
            used: of(flow),
        };
        if change.planned != change.used && !changes.contains(&change) {
            changes.push(change);
        }
    }
    changes
}
