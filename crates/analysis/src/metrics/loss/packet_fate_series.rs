//! When the packets were sent that were lost, late, duplicated or reordered in either direction, for charts.

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};

use crate::by_direction::ByDirection;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::loss::packet_fate::pooled_probes;
use crate::packets::attribution::{Attributed, Fate};

/// Of each direction; `None` without UDP probes.
pub type PacketFateSeries = ByDirection<Option<FateTimes>>;

/// Instants at which packets of one direction left the client, of the pooled UDP probes together, in the order of time.
///
/// Their number is the count of [`crate::metrics::loss::packet_fate`] over all phases.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct FateTimes {
    pub lost: Vec<TestTime>,
    /// Packets that arrived after the waiting time. They count as lost (RFC 7680).
    pub late: Vec<TestTime>,
    /// Packets that were lost themselves or whose reply was lost; which of the two is unknown.
    pub unattributed: Vec<TestTime>,
    /// Copies beside the first; `None` where they are unknown.
    pub duplicated: Option<Vec<TestTime>>,
    /// Packets that one sent later overtook (RFC 4737); `None` where the order means nothing.
    pub reordered: Option<Vec<TestTime>>,
}

/// The instants of the pooled UDP probes of each direction, the survey before the baseline left out.
pub(crate) fn packet_fate_series(attributed: &[Attributed<'_>], judgement: &Judgement<'_>) -> PacketFateSeries {
    let windows = || judgement.phases.iter().filter(|entry| entry.phase != Phase::Survey).map(|entry| entry.window);
    let (from, to) = (windows().map(|window| window.from).min(), windows().map(|window| window.to).max());
    let window = from.zip(to).map(|(from, to)| Window { from, to });
    ByDirection::each(|direction| of_direction(attributed, direction, window?))
}

fn of_direction(attributed: &[Attributed<'_>], direction: Direction, window: Window) -> Option<FateTimes> {
    let fates: Vec<_> = pooled_probes(attributed).into_iter().map(|entry| entry.fates.get(direction)).collect();
    if fates.is_empty() {
        return None;
    }
    let fate = |wanted: Fate| {
        let packets = fates.iter().flat_map(|fates| &fates.packets);
        sorted(packets.filter(|(_, fate)| *fate == wanted).map(|(at, _)| *at), window)
    };
    let copies: Option<Vec<_>> = fates.iter().map(|fates| fates.copies.as_ref()).collect();
    let orders: Option<Vec<_>> = fates.iter().map(|fates| fates.order.as_ref()).collect();
    let displaced = |orders: Vec<&Vec<(TestTime, Option<_>)>>| {
        let packets = orders.into_iter().flatten();
        sorted(packets.filter(|(_, displacement)| displacement.is_some()).map(|(at, _)| *at), window)
    };
    Some(FateTimes {
        lost: fate(Fate::Lost),
        late: fate(Fate::Late),
        unattributed: fate(Fate::Open),
        duplicated: copies.map(|copies| sorted(copies.into_iter().flatten().copied(), window)),
        reordered: orders.map(displaced),
    })
}

fn sorted(times: impl Iterator<Item = TestTime>, window: Window) -> Vec<TestTime> {
    let mut times: Vec<TestTime> = times.filter(|at| window.contains(*at)).collect();
    times.sort_unstable();
    times
}
