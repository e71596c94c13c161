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
/// Each flow and direction names the pair of neighbours between which it sees the rise best; the instant is the one that
/// most of them agree upon, weighted by how much they see. If the server's clock stepped they agree on the client's
/// clock, and the other way round: packets on their way during a step have one stamp from before and one from after.
/// Without any such pair, the middle of the gap on the client's clock. `ahead` says how far the server's clock is ahead
/// when it shows this, before and after the step.
pub(super) fn locate(
    tracks: &Tracks,
    gap: Window,
    ahead: &[impl Fn(i64) -> f64; 2],
    rise: impl Fn(usize, Direction) -> f64,
) -> Place {
    let mut found: [Vec<(f64, f64, f64)>; 2] = Default::default();
    for track in tracks.all() {
        let by = rise(track.kind, track.direction);
        // What is less than a millisecond cannot be told from what packets of others do.
        let Some((before, after)) = (by.abs() > 1e6).then(|| best_pair(track, gap, by)).flatten() else { continue };
        let offsets = [ahead[0](before.server), ahead[1](after.server)];
        let client = (before.server as f64 - offsets[0], after.server as f64 - offsets[1]);
        let server = (before.client as f64 + offsets[0], after.client as f64 + offsets[1]);
        for (place, (one, other)) in found.iter_mut().zip([client, server]) {
            place.push((one.min(other), one.max(other), by.abs()));
        }
    }
    let [on_client, on_server] = found.map(most_agreed);
    match (on_client, on_server) {
        (Some(one), Some(other)) if one.is_as_good_as(other) => Place { stepped: ObservationPoint::Server, at: one.at },
        (_, Some(other)) => Place { stepped: ObservationPoint::Client, at: other.at },
        _ => {
            let middle = f64::midpoint(gap.from.0 as f64, gap.to.0 as f64);
            Place { stepped: ObservationPoint::Server, at: middle }
        }
    }
}

/// Neighbours of a flow within the gap that differ most like the rise.
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

/// What intervals have in common.
#[derive(Debug, Clone, Copy)]
struct Agreed {
    /// The middle of the common stretch.
    at: f64,
    width: f64,
    /// Of the intervals that share it.
    weight: f64,
}

impl Agreed {
    /// Carried over to the clock that did step, intervals are longer by the step, and so is what they have in common.
    fn is_as_good_as(&self, other: Self) -> bool {
        let as_much = (self.weight - other.weight).abs() <= 1e-9 * other.weight;
        if as_much { self.width <= other.width } else { self.weight > other.weight }
    }
}

/// The stretch that intervals of the greatest weight have in common.
fn most_agreed(intervals: Vec<(f64, f64, f64)>) -> Option<Agreed> {
    let mut edges: Vec<(f64, f64)> =
        intervals.into_iter().flat_map(|(from, to, weight)| [(from, weight), (to, -weight)]).collect();
    // Where one ends and another begins they touch: beginnings first.
    edges.sort_by(|a, b| a.0.total_cmp(&b.0).then(b.1.total_cmp(&a.1)));
    let (mut weight, mut best) = (0.0, None);
    for (index, (at, change)) in edges.iter().enumerate() {
        weight += change;
        if *change > 0.0 && best.is_none_or(|best: Agreed| weight > best.weight) {
            let until = edges.get(index + 1).map_or(*at, |(next, _)| *next);
            best = Some(Agreed { at: f64::midpoint(*at, until), width: until - at, weight });
        }
    }
    best
}
