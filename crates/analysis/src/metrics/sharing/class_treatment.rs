//! Whether the path acts on service classes: what packets of each class meet beside those of best effort, which were sent
//! side by side with them (spec: classification optimization).

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::delay::one_way_delay::{LegDelay, OneWayDelay};
use crate::metrics::delay::round_trip_delay::DelayFlow;
use crate::metrics::rate::goodput::DirectionGoodput;
use crate::metrics::sharing::class_difference::{ClassDifference, Comparison, Track, of_class};
use crate::metrics::sharing::class_share;
use crate::metrics::sharing::class_share::{BackgroundShare, ExpeditedShare};
use crate::statistics::autocorrelation::memory_of_delays;
use crate::statistics::block_bootstrap::{BlockBootstrap, block_length};

/// Queue disciplines of Linux that serve classes unlike each other, by themselves or as configured.
const HONOURING: [&str; 9] = ["pfifo_fast", "prio", "mqprio", "ets", "cake", "htb", "hfsc", "drr", "qfq"];

/// Whether the path treats service classes differently.
///
/// Packets of each class compared with best-effort packets sent side by side, in each direction over the [scored
/// window](#scored-window). Intervals of 95 % are from a block bootstrap: 1000 resamples of whole blocks of time, the
/// same for all classes. A block is the longest of 1 s, four loaded round trips, and three times the correlation time
/// of the queue. Differences are of this run only: between runs they vary more. The path acts on a class in two cases.
/// The whole interval of a difference of delay lies beyond 1 ms and a tenth of best effort's delay, with the same sign
/// in each family. Or that of a difference of loss lies beyond 1 %, and it is over half of the greater loss. Shares of
/// the rate decide nothing: streams of the same class are not equal either. Where over half of a class was lost on the way
/// up, its way down is not judged. Where the path acts on a class on the way up, packets of that class and of best effort
/// reach the way down at different moments. A difference of delay there then counts only if packets of the faster class overtake
/// earlier packets of the other.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Treatment of service classes")]
pub struct ClassTreatment {
    /// Each direction in which something was measured.
    pub directions: Vec<DirectionTreatment>,
}

/// One direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct DirectionTreatment {
    /// `up` is client to server. A direction without best effort beside another class is left out.
    pub direction: Direction,
    /// Which delay was compared.
    pub delay_of: DelayOf,
    /// Length of the blocks that were resampled.
    ///
    /// Source: Künsch 1989; Politis and Romano 1992.
    pub block_ns: Option<i64>,
    /// Whole blocks in the scored window; below twelve, intervals are rough, below five none are computed.
    ///
    /// Unit: count.
    pub blocks: u64,
    /// Each class against best effort.
    pub classes: Vec<ClassDifference>,
    /// Whether streams of CS1 and LE are starved. Null without such streams beside others.
    pub background: Option<BackgroundShare>,
    /// Whether streams of EF take more than their part. Null without such streams beside others.
    pub expedited: Option<ExpeditedShare>,
    /// When some class is acted on: a queue discipline on the sending host's way out that serves classes unlike each
    /// other (`pfifo_fast`, `prio`, `cake`, `htb`, ...), or `wireless`, which has queues by class (WMM). Then it may be
    /// the host that acts, not the path. Else null.
    ///
    /// Source: tc-pfifo_fast(8); RFC 8325.
    pub own_queue: Option<String>,
}

/// Which delay of the packets was compared.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum DelayOf {
    /// Queueing delay of this direction, above the fastest packet of each flow.
    Queueing,
    /// Round-trip delay, because the clocks could not be matched: the same for both directions.
    RoundTrip,
}

/// Tracks of the queueing delay of one direction; none where that is not known.
fn waits(legs: &[LegDelay], direction: Direction, load: Window) -> Vec<Track<'_>> {
    let known = |leg: &&LegDelay| leg.queueing_series.iter().any(|point| point.delay.is_some());
    let ours = legs.iter().filter(|leg| leg.direction == direction).filter(known);
    // Every probe goes up first.
    let set_out = |own: &LegDelay| {
        let up = legs.iter().find(|leg| leg.direction == Direction::Up && leg.flow == own.flow);
        up.map_or(0, |up| up.queueing_series.iter().filter(|point| load.contains(point.at)).count())
    };
    ours.map(|leg| Track {
        class: leg.flow.class,
        family: leg.flow.family,
        points: &leg.queueing_series,
        attributed: leg.unattributed == 0,
        set_out: set_out(leg),
    })
    .collect()
}

/// Tracks of the round trip, for when delay by direction is not known.
fn round_trips(flows: &[DelayFlow]) -> Vec<Track<'_>> {
    let udp = flows.iter().filter(|entry| entry.flow.kind() == FlowKind::UdpProbe);
    udp.map(|entry| Track {
        class: entry.flow.class,
        family: entry.flow.family,
        points: &entry.series,
        attributed: true,
        set_out: 0,
    })
    .collect()
}

/// Compares the classes of each direction over `load`. What was sent later than `until` has no known fate.
pub(crate) fn class_treatment<'a>(
    recording: &Recording,
    one_way_delay: &OneWayDelay,
    delay_flows: &[DelayFlow],
    round_trip: Delay,
    goodput: impl Fn(Direction) -> &'a DirectionGoodput,
    load: Window,
    until: TestTime,
) -> ClassTreatment {
    let load = Window { to: load.to.min(until), ..load };
    let of = |direction, displaced: &[ServiceClass]| {
        let waits = waits(&one_way_delay.legs, direction, load);
        let (delay_of, tracks) =
            if waits.is_empty() { (DelayOf::RoundTrip, round_trips(delay_flows)) } else { (DelayOf::Queueing, waits) };
        let displaced = if delay_of == DelayOf::Queueing { displaced } else { &[] };
        let comparison = Comparison { tracks: &tracks, goodput: goodput(direction), load, bootstrap: None, displaced };
        treatment(recording, direction, delay_of, &comparison, round_trip)
    };
    // Every probe goes up first.
    let up = of(Direction::Up, &[]);
    let acted_on = up.iter().flat_map(|up| &up.classes).filter(|entry| entry.acted_on == Some(true));
    let displaced: Vec<ServiceClass> = acted_on.map(|entry| entry.class).collect();
    let down = of(Direction::Down, &displaced);
    ClassTreatment { directions: up.into_iter().chain(down).collect() }
}

fn treatment(
    recording: &Recording,
    direction: Direction,
    delay_of: DelayOf,
    comparison: &Comparison<'_, '_>,
    round_trip: Delay,
) -> Option<DirectionTreatment> {
    let Comparison { tracks, goodput, load, .. } = *comparison;
    let mut classes: Vec<ServiceClass> = tracks.iter().map(|track| track.class).collect();
    classes.extend(goodput.flows.iter().map(|entry| entry.flow.class));
    classes.sort_by_key(|class| std::cmp::Reverse(class.dscp()));
    classes.dedup();
    if !classes.contains(&ServiceClass::BE) || classes.len() < 2 {
        return None;
    }
    classes.retain(|class| *class != ServiceClass::BE);
    let block = block_length(load, round_trip, memory_of(of_class(tracks, ServiceClass::BE), load));
    let bootstrap = BlockBootstrap::new(load, block);
    let comparison = Comparison { bootstrap: bootstrap.as_ref(), ..*comparison };
    let best_effort = comparison.sample(ServiceClass::BE);
    let of = |class| comparison.difference(&comparison.sample(class), &best_effort);
    let classes: Vec<ClassDifference> = classes.into_iter().map(of).collect();
    let acted_on = classes.iter().any(|class| class.acted_on == Some(true));
    Some(DirectionTreatment {
        direction,
        delay_of,
        block_ns: bootstrap.as_ref().map(|_| Delay::from(block).0),
        blocks: bootstrap.as_ref().map_or(0, BlockBootstrap::blocks) as u64,
        classes,
        background: class_share::background(goodput, load),
        expedited: class_share::expedited(goodput, load),
        own_queue: own_queue(recording, direction).filter(|_| acted_on),
    })
}

/// For how long the delay on these tracks remembers.
fn memory_of<'t>(tracks: impl Iterator<Item = &'t Track<'t>>, load: Window) -> Duration {
    memory_of_delays(tracks.flat_map(|track| track.points.iter().map(|point| (point.at, point.delay))), load)
}

/// What at the sending host serves classes unlike each other.
fn own_queue(recording: &Recording, direction: Direction) -> Option<String> {
    let environment = match sender(direction) {
        ObservationPoint::Client => &recording.header.client,
        ObservationPoint::Server => &recording.header.server,
    };
    let honours = |kind: &&str| HONOURING.contains(kind);
    let in_use = || environment.state.interfaces_in_use();
    if in_use().any(|interface| interface.kind == "wireless") {
        return Some("wireless".to_owned());
    }
    let disciplines = in_use().flat_map(|interface| &interface.queue_disciplines).map(|one| one.kind.as_str());
    let default = environment.settings.get("net.core.default_qdisc").filter(|_| environment.state.is_empty());
    disciplines.chain(default.map(String::as_str)).find(honours).map(str::to_owned)
}
