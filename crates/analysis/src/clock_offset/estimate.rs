//! The estimate itself: stretches of the idle line joined into segments, one drift, and whether it can be believed.

use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use super::bounded::{self, Later};
use super::locate;
use super::part::{Drift, Part, drift};
use super::route_change::RouteObservation;
use super::stretch::{self, LEAST_STEP};
use super::tracks::{Packet, Tracks};
use super::{ALLOWED_ERROR, Begin, Change, ClockOffset, Segment, nanoseconds};
use crate::by_direction::ByDirection;
use crate::series::RatePoint;
use crate::statistics::median::median;
use crate::statistics::percentile::percentile;

/// No two clocks of working hosts drift apart faster.
const FASTEST_DRIFT: f64 = 1e-3;

/// Packets may be faster than all of the idle line by this much, nanoseconds: an idle host sleeps deeper.
const FASTER_THAN_IDLE: f64 = 1_000_000.0;

/// How often they may be faster by more.
const FASTER_SHARE: f64 = 0.01;

/// A queueing delay is given when drift may shift it by at most this part of the loaded median.
const SMALL: f64 = 0.1;

/// The offset that these packets show. `carried` is the rate of the link over time.
pub(super) fn estimate(recording: &Recording, tracks: &Tracks, carried: ByDirection<&[RatePoint]>) -> ClockOffset {
    let phases = &recording.header.phases;
    let blocks = stretch::idle_blocks(phases);
    let load = loaded(phases);
    let mut parts: Vec<Part> = stretch::stretches(tracks, &blocks, load.map(|load| load.from))
        .into_iter()
        .map(|stretch| Part::new(tracks, vec![stretch]))
        .filter(Part::is_anchor)
        .collect();
    let mut doubts = Vec::new();
    if parts.is_empty() {
        doubts.push("too few packets in the idle phases".to_owned());
        parts.push(Part::of_all(tracks));
    }
    let evidence = load.map(|load| RouteObservation::gather(recording, carried, load, tracks.reference));
    let undrained = load.and_then(|load| {
        let behind = parts.iter().position(|part| part.span().from >= load.to).unwrap_or(parts.len());
        if !parts[..behind].iter().any(|part| part.span().to <= load.from) {
            doubts
                .push("clock drift cannot be separated from queueing without an idle phase before the load".to_owned());
            return None;
        }
        if behind == parts.len() {
            return Some(("no idle phase after the load", Vec::new()));
        }
        let evidence = evidence.as_ref()?;
        stands(tracks, &parts[..behind], &parts[behind..], evidence)
            .then(|| ("the queues had not drained when the test ended", parts.split_off(behind)))
    });
    let span = {
        let from = phases.first().map_or(TestTime::ZERO, |entry| entry.window.from);
        phases.last().map_or(0, |entry| entry.window.to.since(from).0) as f64
    };
    let first = drift(&parts);
    let (parts, steps) = join(tracks, parts, first, evidence.as_ref(), &mut doubts);
    let mut drift = drift(&parts);
    let mut reach = span;
    if let (Some((_, later)), Some(load), Some(base)) = (&undrained, load, parts.last()) {
        let spread = floor_spread(tracks, &parts, drift.map_or(0.0, |drift| drift.slope)).unwrap_or(0.0);
        let bounds = [
            Later { windows: vec![load], faster: FASTER_THAN_IDLE },
            Later::idle(later.iter().flat_map(|part: &Part| part.stretches.clone()).collect()),
        ];
        drift = bounded::drift(tracks, base, drift, spread, &bounds, FASTEST_DRIFT);
        reach = load.to.since(base.middle()).0 as f64;
        if drift.is_none() {
            doubts.push(
                "delays under load are below those of the idle line, a clock or route changed undetected".to_owned(),
            );
        }
        if tracks.wall_clocks.iter().any(|steps| steps.count() > 0) {
            doubts.push("a wall clock stepped, and the queues had not drained at the end".to_owned());
        }
    }
    let slope = drift.map_or(0.0, |drift| drift.slope.clamp(-FASTEST_DRIFT, FASTEST_DRIFT));
    match drift {
        None => doubts.push("too few packets in the idle phases".to_owned()),
        Some(_) if slope.abs() >= FASTEST_DRIFT => {
            doubts.push("apparent clock drift is implausible (over 1000 ppm)".to_owned());
        }
        Some(_) => {}
    }
    let error = drift.map(|drift| drift.error);
    let segments = segments(tracks, &parts, steps, slope);
    let mut offset = ClockOffset {
        clock_steps: ClockOffset::clock_steps(&segments, &tracks.wall_clocks),
        reference: tracks.reference,
        slope,
        slope_error: error,
        floor_spread: floor_spread(tracks, &parts, slope),
        uncertain: None,
        unknown: ByDirection::default(),
        drift_error: error.map(|error| error * reach),
        kinds: tracks.kind_of.clone(),
        segments,
        wall_clocks: tracks.wall_clocks.clone(),
    };
    let tolerance = FASTER_THAN_IDLE + undrained.as_ref().and(offset.drift_error).unwrap_or(0.0);
    if doubts.is_empty() && is_contradicted(&offset, tracks, tolerance) {
        doubts
            .push("delays under load are below those of the idle line, a clock or route changed undetected".to_owned());
    }
    if let (true, Some(error)) = (!doubts.is_empty() || offset.is_drift_uncertain(), error) {
        // What drift may add by the end.
        offset.segments.iter_mut().for_each(|segment| segment.bound += error * span);
    }
    offset.uncertain = doubts.into_iter().next();
    if offset.uncertain.is_none() {
        let cause = undrained.map_or("the idle line is too unsteady to estimate clock drift", |(cause, _)| cause);
        offset.unknown = unknown(&offset, tracks, phases, cause);
        if let ByDirection { up: Some(up), down: Some(_) } = &offset.unknown {
            offset.uncertain = Some(up.clone());
        }
    }
    offset
}

/// From the beginning of the first phase under load to the end of the last; `None` without any.
fn loaded(phases: &[PhaseWindow]) -> Option<Window> {
    let mut loaded = phases.iter().filter(|entry| entry.phase.is_loaded()).map(|entry| entry.window);
    let first = loaded.next()?;
    Some(Window { from: first.from, to: loaded.next_back().map_or(first.to, |last| last.to) })
}

/// Whether some queue still stood in all of the idle stretches after the load.
fn stands(tracks: &Tracks, before: &[Part], after: &[Part], evidence: &RouteObservation<'_>) -> bool {
    let Some((base, last)) = before.last().zip(after.last()) else { return false };
    let slope = drift(before).map_or(0.0, |drift| drift.slope);
    let round_trip = |part: &Part, kind| {
        let levels = part.levels(kind, slope);
        Some(levels.up? + levels.down?)
    };
    (0..tracks.kinds.len()).any(|kind| {
        let least = after.iter().filter_map(|part| round_trip(part, kind)).min_by(f64::total_cmp);
        let Some((idle, least)) = round_trip(base, kind).zip(least) else { return false };
        let by = least - idle;
        by >= LEAST_STEP && !evidence.shows_change(tracks, kind, slope, base, last, by)
    })
}

/// Why the queueing delay of a direction is unknown: drift may shift it by more than is small beside it.
fn unknown(offset: &ClockOffset, tracks: &Tracks, phases: &[PhaseWindow], cause: &str) -> ByDirection<Option<String>> {
    let error = offset.drift_error.unwrap_or(f64::INFINITY);
    let loads: Vec<Window> =
        phases.iter().filter(|entry| entry.phase == Phase::Load).map(|entry| entry.window).collect();
    ByDirection::each(|direction| {
        if error <= ALLOWED_ERROR {
            return None;
        }
        let mut waits = Vec::new();
        for track in tracks.all().filter(|track| track.direction == direction) {
            let inside = |packet: &&Packet| loads.iter().any(|load| load.contains(TestTime(packet.client)));
            let packets = track.packets.iter().filter(inside);
            waits.extend(packets.filter_map(|p| offset.above_level(track.kind, direction, p.server, p.client)));
        }
        (error > SMALL * median(&waits))
            .then(|| format!("clock drift of up to {} cannot be ruled out ({cause})", nanoseconds(error)))
    })
}

/// What separates two parts.
#[derive(Debug, Clone)]
struct Step {
    /// Between the idle packets on either side, on the client's clock.
    gap: Window,
    /// How far the server's clock stepped forward against the client's.
    clock: f64,
    /// By kind: how much longer a direction became.
    routes: Vec<ByDirection<f64>>,
}

impl Step {
    /// By how much the apparent delay of this kind rises.
    fn rise(&self, kind: usize, direction: Direction) -> f64 {
        let route = self.routes.get(kind).map_or(0.0, |route| *route.get(direction));
        route + if direction == Direction::Up { self.clock } else { -self.clock }
    }
}

/// Joins parts between which nothing stepped; gives the others with what is between them.
fn join(
    tracks: &Tracks,
    parts: Vec<Part>,
    drift: Option<Drift>,
    evidence: Option<&RouteObservation<'_>>,
    doubts: &mut Vec<String>,
) -> (Vec<Part>, Vec<Step>) {
    let mut groups: Vec<Vec<Window>> = Vec::new();
    let mut steps = Vec::new();
    let mut before: Option<&Part> = None;
    for part in &parts {
        match before.and_then(|before| step(tracks, before, part, drift, evidence, doubts)) {
            None if before.is_some() => {
                if let Some(group) = groups.last_mut() {
                    group.extend(&part.stretches);
                }
            }
            step => {
                groups.push(part.stretches.clone());
                steps.extend(step);
            }
        }
        before = Some(part);
    }
    if groups.len() == parts.len() {
        return (parts, steps);
    }
    (groups.into_iter().map(|stretches| Part::new(tracks, stretches)).collect(), steps)
}

/// What stepped between two stretches of the idle line; `None` when nothing did.
fn step(
    tracks: &Tracks,
    before: &Part,
    after: &Part,
    drift: Option<Drift>,
    evidence: Option<&RouteObservation<'_>>,
    doubts: &mut Vec<String>,
) -> Option<Step> {
    let (slope, error) = drift.map_or((0.0, 0.0), |drift| (drift.slope, drift.error));
    let apart = after.middle().since(before.middle()).0 as f64;
    let least = LEAST_STEP.max(5.0 * error * apart);
    let mut routes = vec![ByDirection::default(); tracks.kinds.len()];
    let mut clocks = Vec::new();
    let mut moved = Vec::new();
    for kind in 0..tracks.kinds.len() {
        let [earlier, later] = [before, after].map(|part| part.levels(kind, slope));
        let rise = ByDirection::each(|direction| Some((*later.get(direction))? - (*earlier.get(direction))?));
        let ByDirection { up: Some(up), down: Some(down) } = rise else { continue };
        let path = up + down;
        if path.abs() < LEAST_STEP {
            clocks.push((up - down) / 2.0);
            continue;
        }
        // A route that changed is as quiet as before. A queue that stands is not.
        let across_load = evidence.filter(|evidence| evidence.is_across(before, after));
        let changed = match across_load {
            Some(evidence) if path > 0.0 => evidence.shows_change(tracks, kind, slope, before, after, path),
            _ => {
                let higher = if path > 0.0 { after } else { before };
                higher.spread_at_end(tracks, kind, slope) <= path.abs() / 8.0
            }
        };
        if !changed {
            doubts.push(if path > 0.0 {
                "the queues had not drained when the test ended".to_owned()
            } else {
                "the line was not idle before the load".to_owned()
            });
            continue;
        }
        moved.push((kind, ByDirection { up, down }));
    }
    // A kind whose round trip stayed the same shows what the clocks did; another only when one of its directions
    // stayed.
    let of_route = |(_, rise): &(usize, ByDirection<f64>)| {
        let same = rise.up.signum() == rise.down.signum() || rise.up.abs().min(rise.down.abs()) < least;
        if same { 0.0 } else { rise.up.signum() * rise.up.abs().min(rise.down.abs()) }
    };
    if clocks.is_empty() {
        clocks.extend(moved.iter().map(of_route));
    }
    let clock = Some(median(&clocks)).filter(|clock| clock.abs() >= least).unwrap_or(0.0);
    for (kind, rise) in moved {
        let route = ByDirection { up: rise.up - clock, down: rise.down + clock };
        routes[kind] = ByDirection::each(|direction| {
            Some(*route.get(direction)).filter(|by: &f64| by.abs() >= LEAST_STEP).unwrap_or(0.0)
        });
    }
    let route = |route: &ByDirection<f64>| route.up != 0.0 || route.down != 0.0;
    let gap = Window { from: before.span().to, to: after.span().from };
    (clock != 0.0 || routes.iter().any(route)).then_some(Step { gap, clock, routes })
}

/// The segments: levels of each kind, and the offset that they allow.
fn segments(tracks: &Tracks, parts: &[Part], steps: Vec<Step>, slope: f64) -> Vec<Segment> {
    let mut segments: Vec<Segment> = parts
        .iter()
        .map(|part| Segment {
            begin: None,
            offset: 0.0,
            bound: 0.0,
            levels: (0..tracks.kinds.len()).map(|kind| part.levels(kind, slope)).collect(),
        })
        .collect();
    // A kind without a packet between two steps lies where the kinds beside it and the steps put it.
    for (index, step) in steps.iter().enumerate() {
        for kind in 0..tracks.kinds.len() {
            for direction in Direction::ALL {
                let rise = step.rise(kind, direction);
                let [before, after] = [index, index + 1].map(|at| *segments[at].levels[kind].get(direction));
                if let (Some(before), None) = (before, after) {
                    *segments[index + 1].levels[kind].get_mut(direction) = Some(before + rise);
                }
            }
        }
    }
    for (index, step) in steps.iter().enumerate().rev() {
        for kind in 0..tracks.kinds.len() {
            for direction in Direction::ALL {
                let rise = step.rise(kind, direction);
                let [before, after] = [index, index + 1].map(|at| *segments[at].levels[kind].get(direction));
                if let (None, Some(after)) = (before, after) {
                    *segments[index].levels[kind].get_mut(direction) = Some(after - rise);
                }
            }
        }
    }
    offsets(&mut segments, &steps);
    for (index, step) in steps.into_iter().enumerate() {
        let ahead = [index, index + 1].map(|at| {
            let offset = tracks.reference as f64 + segments[at].offset;
            move |server: i64| offset + slope * server as f64
        });
        let place = locate::locate(tracks, step.gap, &ahead, |kind, direction| step.rise(kind, direction), step.clock);
        segments[index + 1].begin = Some(Begin { place, changes: changes(tracks, &step, place.stepped) });
    }
    segments
}

/// No packet arrives before it was sent, so the offset lies between the smallest apparent delays of the two directions,
/// of every kind and in every segment since a clock stepped. The middle of what is left is taken.
fn offsets(segments: &mut [Segment], steps: &[Step]) {
    let mut first = 0;
    for index in 0..segments.len() {
        if index + 1 < segments.len() && steps[index].clock == 0.0 {
            continue;
        }
        let levels = || segments[first..=index].iter().flat_map(|segment| &segment.levels);
        let least = levels().filter_map(|level| Some(-level.down?)).fold(f64::NEG_INFINITY, f64::max);
        let most = levels().filter_map(|level| level.up).fold(f64::INFINITY, f64::min);
        // Noise alone can turn the two around, on a path shorter than the noise.
        let (offset, bound) = (f64::midpoint(least, most), ((most - least) / 2.0).max(0.0));
        for segment in &mut segments[first..=index] {
            (segment.offset, segment.bound) =
                if offset.is_finite() { (offset, bound) } else { (0.0, f64::from(u32::MAX)) };
        }
        first = index + 1;
    }
}

fn changes(tracks: &Tracks, step: &Step, stepped: ObservationPoint) -> Vec<Change> {
    let mut changes = Vec::new();
    if step.clock != 0.0 {
        let by = if stepped == ObservationPoint::Server { step.clock } else { -step.clock };
        changes.push(Change::ClockStep { host: stepped, by: nanoseconds(by) });
    }
    for (kind, route) in tracks.kinds.iter().zip(&step.routes) {
        for direction in Direction::ALL {
            let by = *route.get(direction);
            let of_family = |change: &Change| matches!(change, Change::RouteChange { family, direction: changed, .. } if *family == kind.family() && *changed == direction);
            if by != 0.0 && !changes.iter().any(of_family) {
                changes.push(Change::RouteChange { family: kind.family(), direction, by: nanoseconds(by) });
            }
        }
    }
    changes
}

/// How far the middle packet of the idle line lies above its level.
fn floor_spread(tracks: &Tracks, parts: &[Part], slope: f64) -> Option<f64> {
    let mut above: Vec<f64> = Vec::new();
    for part in parts {
        for kind in 0..tracks.kinds.len() {
            for direction in Direction::ALL {
                let Some(level) = *part.levels(kind, slope).get(direction) else { continue };
                above.extend(tracks.points(kind, direction, &part.stretches).map(|(x, y)| y - slope * x - level));
            }
        }
    }
    above.sort_unstable_by(f64::total_cmp);
    percentile(&above, 0, 500)
}

/// Whether more than a few packets of some kind and direction were faster than the line allows.
fn is_contradicted(offset: &ClockOffset, tracks: &Tracks, tolerance: f64) -> bool {
    let mut counts = vec![ByDirection::<(usize, usize)>::default(); tracks.kinds.len()];
    for track in tracks.all() {
        let (all, faster) = counts[track.kind].get_mut(track.direction);
        *all += track.packets.len();
        let above = |packet| {
            let Packet { server, client, .. } = packet;
            offset.above_level(track.kind, track.direction, server, client)
        };
        *faster += track.packets.iter().filter_map(|packet| above(*packet)).filter(|q| *q < -tolerance).count();
    }
    let too_many = |(all, faster): (usize, usize)| faster as f64 > all as f64 * FASTER_SHARE;
    counts.iter().any(|of| too_many(of.up) || too_many(of.down))
}
