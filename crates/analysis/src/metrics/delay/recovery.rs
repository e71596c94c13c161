//! How the line came back after the load: how long queues took to drain.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::delay::queueing::Queueing;
use crate::metrics::rate::goodput::{DirectionGoodput, LastArrival};
use crate::metrics::rate::scored_window::ScoredWindow;
use crate::series::DelayPoint;
use crate::statistics::percentile::percentile;

/// How far above the idle line delay may lie.
const BACK: Delay = Delay(2_000_000);
/// Windows of this length.
const SECOND: Duration = Duration::from_secs(1);
/// One begins each.
const STEP: Duration = Duration::from_millis(100);
/// Windows with fewer packets than this say nothing of a 95th percentile.
const FEWEST: usize = 20;
/// Readings of bytes go on this long after the load.
const READ_ON: Duration = Duration::from_secs(1);

/// How long the line took to return to the idle state after the load.
///
/// At the end of the load, senders reset their connections: unsent data is discarded, and data in flight drains. The
/// time that this takes shows how much was queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[schemars(title = "Recovery")]
pub struct Recovery {
    /// Time from the end of the load to the first second in which the 95th percentile of the round-trip delay of the
    /// pooled probes is at most 2 ms above that of the idle phase. Lost probes count as infinitely late; seconds begin
    /// every 100 ms. `null` without such a second or without an idle phase.
    pub recovery_ns: Option<i64>,
    /// Time from the end of the load to the arrival of its last byte. Readings after the load are 5 ms apart (in older
    /// recordings one sample interval). Bytes between the last two readings count as arriving at the rate of the scored
    /// window.
    pub drain: Drain,
}

/// How long queues took to drain.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Drain {
    /// Server to client. Null when bytes still arrived at the last reading, 1 s after the load, where nothing was
    /// loaded, and where the test ended with the load.
    pub down_ns: Option<i64>,
    /// Client to server. Null as for `down_ns`.
    pub up_ns: Option<i64>,
}

/// How the line came back, by when `end` was, that of the test.
pub(crate) fn recovery<'a>(
    recording: &Recording,
    queueing: Queueing<'_>,
    scored: &ScoredWindow,
    goodput: impl Fn(Direction) -> &'a DirectionGoodput,
    end: TestTime,
) -> Recovery {
    let after = recording.phase(Phase::After).map(|after| Window { to: after.to.min(end), ..after });
    let idle = queueing.round_trip.idle.and_then(|idle| idle.p95);
    let loaded = scored.common.is_some();
    let back = after.zip(idle).filter(|_| loaded).and_then(|(after, idle)| back(after, idle, queueing.packets));
    let ended = recording.loaded().map(|loaded| loaded.to);
    let drain = |direction| {
        let last = goodput(direction).last_arrival?;
        scored.direction(direction)?;
        drain(ended?, last, end)
    };
    Recovery { recovery_ns: back, drain: Drain { down_ns: drain(Direction::Down), up_ns: drain(Direction::Up) } }
}

/// When delay was back at what it was while `idle_p95`; `packets` in the order of time.
fn back(after: Window, idle_p95: Delay, packets: &[DelayPoint]) -> Option<i64> {
    let is_back = |from: &TestTime| {
        let window = Window { from: *from, to: *from + SECOND };
        let first = packets.partition_point(|packet| packet.at < window.from);
        let end = packets.partition_point(|packet| packet.at < window.to);
        let inside = &packets[first..end];
        let mut delays: Vec<Delay> = inside.iter().filter_map(|packet| packet.delay).collect();
        delays.sort_unstable();
        let p95 = percentile(&delays, (inside.len() - delays.len()) as u64, 950);
        inside.len() >= FEWEST && p95.is_some_and(|p95| p95 <= idle_p95 + BACK)
    };
    let steps = (after.length().as_nanos() / STEP.as_nanos()).min(u128::from(u16::MAX)) as u32;
    let begins = (0..steps).map(|step| after.from + STEP * step).take_while(|from| *from + SECOND <= after.to);
    Some(begins.into_iter().find(is_back)?.since(after.from).0)
}

/// How long bytes went on to arrive after the load, until `end` of the test.
fn drain(load_end: TestTime, last: LastArrival, end: TestTime) -> Option<i64> {
    let watched = end > load_end;
    let still = last.between.to + last.between.length() >= load_end + READ_ON;
    (watched && !still).then(|| last.at.since(load_end).0.max(0))
}
