//! Whether a floor that is higher after the load is a longer route or a queue that has not drained.
//!
//! A rising floor alone is a queue. A route change needs evidence beside it: other hops than before, or a line that is as
//! quiet as the idle line while it carries little.

use foldhash::{HashMap, HashMapExt, HashSet};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{FULL_HOP_LIMIT, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use super::part::Part;
use super::tracks::Tracks;
use crate::by_direction::ByDirection;
use crate::series::RatePoint;

/// How much further the delays of a quiet line may reach than those of the idle line.
const QUIET: f64 = 2.0;

/// And by how much more, nanoseconds.
const QUIET_NOISE: f64 = 500_000.0;

/// A queue that stands keeps its link busy. One that carries at most this part of what it carried under load has none.
const BUSY: f64 = 0.5;

/// What is known of the route beside delays.
pub(super) struct RouteObservation<'a> {
    /// Families whose hops after the load are not those before it.
    moved: HashSet<AddressFamily>,
    carried: ByDirection<&'a [RatePoint]>,
    /// From the beginning of the load to its end.
    load: Window,
}

impl<'a> RouteObservation<'a> {
    /// Gathers it from a recording whose link was loaded in this window; `server_ahead` is roughly the server's clock less the client's.
    pub(super) fn gather(
        recording: &Recording,
        carried: ByDirection<&'a [RatePoint]>,
        load: Window,
        server_ahead: i64,
    ) -> Self {
        let families = [AddressFamily::Ipv4, AddressFamily::Ipv6].into_iter();
        let moved = families.filter(|family| hops_moved(recording, *family, load, server_ahead)).collect();
        Self { moved, carried, load }
    }

    /// Whether the load lies between these two.
    pub(super) fn is_across(&self, before: &Part, after: &Part) -> bool {
        before.span().to <= self.load.from && after.span().from >= self.load.to
    }

    /// Whether the route of packets of this kind changed between two idle stretches, of which `after` has the longer delays
    /// by `by`.
    pub(super) fn shows_change(
        &self,
        tracks: &Tracks,
        kind: usize,
        slope: f64,
        before: &Part,
        after: &Part,
        by: f64,
    ) -> bool {
        let spread = after.spread_at_end(tracks, kind, slope);
        if spread > by / 8.0 {
            return false;
        }
        let moved = tracks.kinds.get(kind).is_some_and(|kind| self.moved.contains(&kind.family()));
        let quiet = spread <= before.spread_at_end(tracks, kind, slope) * QUIET + QUIET_NOISE;
        moved || quiet && !Direction::ALL.into_iter().any(|direction| self.is_busy(direction, after.span()))
    }

    /// Whether the link carried nearly as much in this window as under load.
    fn is_busy(&self, direction: Direction, window: Window) -> bool {
        let mean = |window: Window| {
            let rates = self.carried.get(direction).iter().filter(|point| window.contains(point.at));
            let (count, sum) = rates.fold((0_u32, 0.0), |(count, sum), point| (count + 1, sum + point.rate.0 as f64));
            (count > 0).then(|| sum / f64::from(count))
        };
        match (mean(window), mean(self.load)) {
            (Some(now), Some(loaded)) => loaded > 0.0 && now > BUSY * loaded,
            _ => false,
        }
    }
}

/// Whether some hop of a trace was one set of addresses before the load and another after it, or their number changed.
fn hops_moved(recording: &Recording, family: AddressFamily, load: Window, server_ahead: i64) -> bool {
    let flows =
        recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::PathTrace && flow.family == family);
    flows.filter_map(|flow| Some((flow.id, flow.direction?))).any(|(flow, direction)| {
        let ahead = if direction == Direction::Up { 0 } else { server_ahead };
        let seen = |window: Window| hops_within(recording, flow, direction, window, ahead);
        let from = Window { from: TestTime(i64::MIN), to: load.from };
        let (before, after) = (seen(from), seen(Window { from: load.to, to: TestTime(i64::MAX) }));
        before.iter().any(|(hop, hosts)| after.get(hop).is_some_and(|other| hosts.is_disjoint(other)))
    })
}

/// The hosts that answered for each hop; the destination's hop is the largest number, its host the number of hops
/// before it.
fn hops_within(
    recording: &Recording,
    flow: FlowId,
    direction: Direction,
    window: Window,
    ahead: i64,
) -> HashMap<u8, HashSet<u16>> {
    let mut limits: HashMap<u32, u8> = HashMap::new();
    for row in recording.tables_of(sender(direction)).flat_map(|tables| tables.path_probe.rows()) {
        if row.flow == flow && window.contains(TestTime(row.sent.0.saturating_sub(ahead))) {
            limits.insert(row.sequence, row.hop_limit);
        }
    }
    let mut hops: HashMap<u8, HashSet<u16>> = HashMap::new();
    for row in recording.tables_of(sender(direction)).flat_map(|tables| tables.path_answer.rows()) {
        let Some(limit) = limits.get(&row.sequence).filter(|_| row.flow == flow) else { continue };
        if row.kind == 0 && row.left > 0 {
            hops.entry(u8::MAX).or_default().insert(u16::from(limit.saturating_sub(row.left)));
        } else if row.kind != 0 && row.source != 0 && *limit < FULL_HOP_LIMIT {
            hops.entry(*limit).or_default().insert(row.source);
        }
    }
    hops
}
