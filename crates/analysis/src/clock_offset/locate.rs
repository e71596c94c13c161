//! When, and on which host, a step between two idle stretches took place.

use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::time::Window;

use super::tracks::{Packet, Track, Tracks};

/// Where a step was found.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Place {
    /// Whose clock stepped. Of a route that changed, either.
    pub(super) stepped: ObservationPoint,
    /// When, on the other host's clock, nanoseconds.
    pub(super) at: f64,
}

/// Looks for the instant at which apparent delays of each kind and direction rise by so much.
///
/// Each flow and direction names the pair of adjacent packets between which it sees the rise best; the instant is the
/// one that most of them agree upon, weighted by how much they see. If the server's clock stepped they agree on the
/// client's clock, and the other way round: carried over to the clock that did step, each pair is farther apart by the
/// step. (That makes it easier to agree there, so their number is not decisive.)
///
/// But where the clock that one host stamps with moved against its wall clock by as much, it was that one, and then.
/// Without any such pair, the middle of the gap on the client's clock. `ahead` says how far the server's clock is ahead
/// when it shows this, before and after the step.
pub(super) fn locate(
    tracks: &Tracks,
    gap: Window,
    ahead: &[impl Fn(i64) -> f64; 2],
    rise: impl Fn(usize, Direction) -> f64,
    clock: f64,
) -> Place {
    if let Some(place) = locate_by_wall_clock(tracks, ahead, clock) {
        return place;
    }
    let mut found: [Vec<(f64, f64, f64)>; 2] = Default::default();
    for track in tracks.all() {
        let by = rise(track.kind, track.direction);
        // Less than a millisecond cannot be distinguished from the effect of other traffic.
        let Some((before, after)) = (by.abs() > 1e6).then(|| best_pair(track, gap, by)).flatten() else { continue };
        let offsets = [ahead[0](before.server), ahead[1](after.server)];
        let client = (before.server as f64 - offsets[0], after.server as f64 - offsets[1]);
        let server = (before.client as f64 + offsets[0], after.client as f64 + offsets[1]);
        for (place, (one, other)) in found.iter_mut().zip([client, server]) {
            place.push((one.min(other), one.max(other), by.abs()));
        }
    }
    let [apart_on_client, apart_on_server] = [0, 1].map(|clock| middle_length(&found[clock]));
    let [on_client, on_server] = found.map(most_agreed);
    match (on_client, on_server) {
        (Some(at), _) if apart_on_client <= apart_on_server => Place { stepped: ObservationPoint::Server, at },
        (_, Some(at)) => Place { stepped: ObservationPoint::Client, at },
        _ => {
            let middle = f64::midpoint(gap.from.0 as f64, gap.to.0 as f64);
            Place { stepped: ObservationPoint::Server, at: middle }
        }
    }
}

/// Where a wall clock says that a clock stepped: forward against it by `clock`, if it was the server's.
fn locate_by_wall_clock(tracks: &Tracks, ahead: &[impl Fn(i64) -> f64; 2], clock: f64) -> Option<Place> {
    let [at_client, at_server] = &tracks.wall_clocks;
    match (at_client.of_size(clock), at_server.of_size(-clock)) {
        (None, Some(jump)) => {
            let (from, to) = (jump.between.0.0, jump.between.1.0);
            let at = f64::midpoint(from as f64 - ahead[0](from), to as f64 - ahead[1](to));
            Some(Place { stepped: ObservationPoint::Server, at })
        }
        (Some(jump), None) => {
            let [from, to] = [jump.between.0.0, jump.between.1.0];
            let shown = |client: i64| client.saturating_add(tracks.reference);
            let at = f64::midpoint(from as f64 + ahead[0](shown(from)), to as f64 + ahead[1](shown(to)));
            Some(Place { stepped: ObservationPoint::Client, at })
        }
        _ => None,
    }
}

/// Adjacent packets of a flow within the gap that differ most like the rise.
fn best_pair(track: &Track, gap: Window, by: f64) -> Option<(Packet, Packet)> {
    let inside = |packet: &Packet| (gap.from.0..gap.to.0).contains(&packet.client);
    let packets = &track.packets;
    let scores =
        (1..packets.len()).filter(|index| inside(&packets[index - 1]) && inside(&packets[*index])).map(|index| {
            let step = packets[index].apparent - packets[index - 1].apparent;
            let after = middle(&packets[index..packets.len().min(index + 3)]);
            let before = middle(&packets[index.saturating_sub(3)..index]);
            // Between two packets, and lasting.
            (index, (step - by).abs() + (after - before - by).abs())
        });
    let (index, _) = scores.min_by(|a, b| a.1.total_cmp(&b.1))?;
    Some((packets[index - 1], packets[index]))
}

/// The median delay of a few packets.
fn middle(packets: &[Packet]) -> f64 {
    let mut delays: Vec<f64> = packets.iter().map(|packet| packet.apparent).collect();
    delays.sort_unstable_by(f64::total_cmp);
    delays.get(delays.len() / 2).copied().unwrap_or_default()
}

/// The median length of these intervals.
fn middle_length(intervals: &[(f64, f64, f64)]) -> f64 {
    let mut lengths: Vec<f64> = intervals.iter().map(|(from, to, _)| to - from).collect();
    lengths.sort_unstable_by(f64::total_cmp);
    lengths.get(lengths.len() / 2).copied().unwrap_or_default()
}

/// The middle of the stretch that intervals of the greatest weight have in common.
fn most_agreed(intervals: Vec<(f64, f64, f64)>) -> Option<f64> {
    let mut edges: Vec<(f64, f64)> =
        intervals.into_iter().flat_map(|(from, to, weight)| [(from, weight), (to, -weight)]).collect();
    // Where one ends and another begins they touch: beginnings first.
    edges.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (mut weight, mut best): (f64, Option<(f64, f64)>) = (0.0, None);
    for (index, (at, change)) in edges.iter().enumerate() {
        weight += change;
        if *change > 0.0 && best.is_none_or(|(_, most)| weight > most) {
            let until = edges.get(index + 1).map_or(*at, |(next, _)| *next);
            best = Some((f64::midpoint(*at, until), weight));
        }
    }
    best.map(|(at, _)| at)
}
