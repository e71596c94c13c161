//! Computes the figures of each step of a tuning session from the recording.
//!
//! What is read of a recording ends a little after the step: while the test runs and later, the same step gives the same
//! figures. The one-way delay that is compared with the idle line is that of two hosts' clocks, which drift apart by more in
//! eight minutes than a queue may add; their drift is read from the smallest delays until the step's end.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::link_layer::LinkLayer;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{FlowEventKind, ObservationPoint, Tables, receiver, sender};
use rrul_model::phase::Phase;
use rrul_model::recording::{Frame, Recording};
use rrul_model::shaping::TuningStep;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use super::course::{mean, variance};
use super::first_hop;
use super::overhead::SizedRate;
use super::trial::{ClassRate, HostLimit, Trial, TrialDelay, TrialDirection};
use crate::by_direction::ByDirection;
use crate::metrics::host::{host_health, processor_load};
use crate::metrics::octets::gathering;
use crate::metrics::octets::octet_account::Account;
use crate::metrics::octets::octet_ledger::Ledger;
use crate::metrics::octets::traffic::{Part, Traffic};
use crate::metrics::rate::saturation;
use crate::metrics::tcp::stream_limits::{self, StreamLimits};
use crate::packets::one_way_flow::{OneWayFlow, one_way_flows};
use crate::packets::queue_waits::{QueueWaits, QueuedPacket};
use crate::packets::tcp_readings::TcpReadings;
use crate::statistics::block_bootstrap::BlockBootstrap;
use crate::statistics::counter::Counter;
use crate::statistics::lower_hull::LowerHull;
use crate::statistics::percentile::percentile;

/// How long after a step counters are read: one reading beyond its end, to interpolate, and stamps that follow their packets.
const BEYOND: Duration = Duration::from_millis(250);
/// How long before it: connections that carry little are read once a second.
const BEFORE: Duration = Duration::from_millis(1200);
const SECOND: Duration = Duration::from_secs(1);
/// Frames of one end among which is the latest reading of its clock.
const LATEST: usize = 16;
/// Pieces into which a measured window is cut for the bootstrap.
const BLOCKS: u32 = 8;
/// No two clocks drift apart faster than this; nanoseconds in a nanosecond.
const MOST_DRIFT: f64 = 500e-6;
/// A delay is on a line when it is above it by no more than this: what hosts and drivers add.
const TOUCHING: f64 = 200_000.0;
/// A line that fewer seconds touch says nothing of clocks.
const FEWEST_TOUCHED: usize = 4;
/// Part of the time that a window or buffer may hold senders back without being the limit.
const HELD: f64 = 0.1;
/// Part of the seconds in which a processor that the test needs must be full to be the limit, and of the periods in which a quota
/// must have throttled a host.
const FULL: f64 = 0.5;
/// What the traffic control of Linux counts of a packet that leaves by an Ethernet interface.
const LINUX_ETHERNET: &str = "ip+14";
/// The least error of a rate, as a part of it: of the times at which counters are read.
const LEAST_ERROR: f64 = 0.001;

/// Until when a recording is read for the figures of a step.
pub fn known_until(step: &TuningStep) -> TestTime {
    step.ended_at + BEYOND
}

/// Until when both ends' counters are in a recording.
pub fn observed_until(frames: &[Frame]) -> TestTime {
    let last = |point| {
        let of = frames.iter().rev().filter(move |frame| frame.point == point);
        of.take(LATEST).flat_map(|frame| frame.tables.clock_sample.rows()).map(|row| row.at).max()
    };
    let ends = [ObservationPoint::Client, ObservationPoint::Server].map(last);
    ends.into_iter().min().flatten().unwrap_or_default()
}

/// The figures of every step of a session that was observed to its end: a file may be cut off within one.
pub fn trials(recording: &Recording) -> Vec<Trial> {
    let observed = observed_until(&recording.frames);
    let whole = recording.steps.iter().filter(|step| known_until(step) <= observed);
    whole.map(|step| trial(recording, step)).collect()
}

/// Bytes of the load that arrived in the whole session.
pub(crate) fn load_octets(recording: &Recording) -> ByteCount {
    let load = recording.header.flows.iter().filter(|flow| flow.is_load_stream());
    let arrived = |flow: &FlowSpec| {
        let tables = recording.tables_of(receiver(flow.direction?));
        let rows = tables.flat_map(|tables| tables.octets_received.rows()).filter(|row| row.flow == flow.id);
        rows.map(|row| row.octets.0).max()
    };
    ByteCount(load.filter_map(arrived).sum())
}

/// The figures of one step.
pub fn trial(recording: &Recording, step: &TuningStep) -> Trial {
    let read = excerpt(recording, step.set_at - BEFORE, step.ended_at);
    let tcp = TcpReadings::from_recording(&read);
    let traffic = gathering::gather(&read, &tcp);
    let transits = Transits::gather(&read, step.ended_at);
    let limits = stream_limits::stream_limits(&read, &tcp, |_| step.window());
    let queue_hops = first_hop::queues(&read, step.window(), |family, direction| transits.waits(family, direction));
    let of = |direction| {
        let measured = Measured { read: &read, step, direction, traffic: &traffic };
        TrialDirection {
            saturated: saturation::network_limited(&read, &tcp, direction, step.window()),
            queueing_delay: transits.queueing_delay(direction, step.window()),
            idle_p95: transits.idle_p95(direction, read.phase(Phase::Idle)),
            queue_hop: *queue_hops.get(direction),
            probe_loss: transits.loss(direction, step.window()),
            load_delay: load_delay(&read, &tcp, direction, step.window()),
            ..measured.rates()
        }
    };
    Trial {
        step: step.clone(),
        directions: ByDirection::each(of),
        host_limit: host_limit(&read, step, &limits),
        stolen_from: stolen_from(&read, step.window()),
    }
}

/// What a step delivered of the load's segments in one direction; with segments of one size, what the line carries of it. `None`
/// where too little arrived, or something but the network limited the load.
pub fn sized_rate(recording: &Recording, step: &TuningStep, direction: Direction) -> Option<SizedRate> {
    let read = excerpt(recording, step.set_at - BEFORE, step.ended_at);
    let tcp = TcpReadings::from_recording(&read);
    if saturation::network_limited(&read, &tcp, direction, step.window()) == Some(false) {
        return None;
    }
    let traffic = gathering::gather(&read, &tcp);
    let data = || {
        let carried = traffic.carried.iter();
        carried.filter(|packets| packets.part == Part::LoadData && packets.direction == direction)
    };
    let octets_in = |window| data().map(|packets| packets.octets_in(window)).sum::<f64>();
    let count: f64 = data().map(|packets| packets.count_in(step.window())).sum();
    let by_second: Vec<f64> = seconds(step.window()).map(octets_in).collect();
    let rate = mean(&by_second);
    if by_second.len() < 2 || count < 1.0 || rate <= 0.0 {
        return None;
    }
    let error = (variance(&by_second) / (by_second.len() - 1) as f64).sqrt() / rate;
    Some(SizedRate { size: octets_in(step.window()) / count, rate, error: error.max(LEAST_ERROR) })
}

/// The smoothed round trip of the load above the smallest of its connection, in the middle of the readings of its senders.
fn load_delay(read: &Recording, tcp: &TcpReadings, direction: Direction, window: Window) -> Option<Delay> {
    let load = read.header.flows.iter().filter(|flow| flow.is_load_stream() && flow.direction == Some(direction));
    let mut delays: Vec<Delay> = Vec::new();
    for flow in load {
        let readings = tcp.at(sender(direction), flow.id).iter().filter(|row| window.contains(row.at) && row.rtt > 0);
        delays.extend(readings.map(|row| Delay(i64::from(row.rtt.saturating_sub(row.min_rtt)) * 1000)));
    }
    delays.sort_unstable();
    percentile(&delays, 0, 500)
}

/// The latest second that is known of a test that is under way: how long packets waited in it, in the middle.
///
/// `None` while that second does not lie behind `since`.
pub fn latest_queueing(recording: &Recording, since: TestTime) -> Option<ByDirection<Option<Delay>>> {
    let to = observed_until(&recording.frames) - BEYOND;
    let window = Window { from: to - SECOND, to };
    if window.from < since {
        return None;
    }
    let transits = Transits::gather(&excerpt(recording, to, to), to);
    Some(ByDirection::each(|direction| transits.queueing_delay(direction, window).map(|delay| delay.p50)))
}

/// The rows of a recording that the figures of a step are made of: counters between two times, packets until the latter, and a
/// little longer.
fn excerpt(recording: &Recording, counted_from: TestTime, ended_at: TestTime) -> Recording {
    let until = ended_at + BEYOND;
    let counted = Window { from: counted_from, to: until };
    let frames = [ObservationPoint::Client, ObservationPoint::Server].map(|point| {
        let mut tables = Tables::default();
        for rows in recording.tables_of(point) {
            rows.octets_received.rows().filter(|row| counted.contains(row.at)).for_each(|row| tables.push(row.into()));
            rows.tcp_info.rows().filter(|row| counted.contains(row.at)).for_each(|row| tables.push(row.into()));
            rows.cpu_time.rows().filter(|row| counted.contains(row.at)).for_each(|row| tables.push(row.into()));
            rows.cgroup_throttle.rows().filter(|row| counted.contains(row.at)).for_each(|row| tables.push(row.into()));
            rows.process_time.rows().filter(|row| counted.contains(row.at)).for_each(|row| tables.push(row.into()));
            rows.probe_sent.rows().filter(|row| row.sent < until).for_each(|row| tables.push(row.into()));
            rows.probe_stamped.rows().filter(|row| row.sent < until).for_each(|row| tables.push(row.into()));
            rows.probe_received.rows().filter(|row| row.received < until).for_each(|row| tables.push(row.into()));
            rows.packet_received.rows().filter(|row| row.received < until).for_each(|row| tables.push(row.into()));
            rows.reply_stamped.rows().filter(|row| row.reflector_sent < until).for_each(|row| tables.push(row.into()));
            rows.path_probe.rows().filter(|row| row.sent < until).for_each(|row| tables.push(row.into()));
            rows.path_answer.rows().filter(|row| row.received < until).for_each(|row| tables.push(row.into()));
        }
        // Addresses of hops.
        let events = recording.frames_of(point).flat_map(|frame| &frame.events);
        let events = events.filter(|event| event.event == FlowEventKind::HopAddress).cloned().collect();
        Frame { point, number: 0, dropped: 0, tables, events }
    });
    Recording::new(recording.header.clone(), frames.to_vec(), None)
}

/// What one direction carried.
struct Measured<'a> {
    read: &'a Recording,
    step: &'a TuningStep,
    direction: Direction,
    traffic: &'a Traffic<'a>,
}

impl Measured<'_> {
    fn rates(&self) -> TrialDirection {
        let window = self.step.window();
        let layer = self.layer();
        let account = |window| self.account(layer.as_ref(), window);
        let all = account(window);
        if self.load().next().is_none() || all.carried_octets == 0 {
            return TrialDirection::default();
        }
        let since = Window { from: self.step.set_at, to: self.step.ended_at };
        TrialDirection {
            delivered: Some(rate(&all)),
            course: seconds(since).map(|second| rate(&account(second))).collect(),
            goodput: Some(BitRate(all.goodput_bps)),
            retransmitted: all.retransmitted_share,
            foreign: self.foreign(&all),
            classes: self.classes(),
            ..TrialDirection::default()
        }
    }

    fn account(&self, layer: Option<&LinkLayer>, window: Window) -> Account {
        Ledger { traffic: self.traffic, layer, direction: self.direction, family: None, window }.account()
    }

    /// The link layer in whose bytes the shaper counts; where it is unknown, what Linux counts. Bytes of IP would not do: the share of
    /// acknowledgments, whose frames are longer by a quarter, differs between trials.
    fn layer(&self) -> Option<LinkLayer> {
        let shaper = &self.read.header.tuning.as_ref()?.shaper;
        let words = self.direction.select(&shaper.up_link_layer, &shaper.down_link_layer);
        words.as_deref().unwrap_or(LINUX_ETHERNET).parse().ok()
    }

    fn load(&self) -> impl Iterator<Item = &FlowSpec> {
        let flows = self.read.header.flows.iter();
        flows.filter(|flow| flow.is_load_stream() && flow.direction == Some(self.direction))
    }

    /// The part of what the shaper sent that is not of this test. What is lost behind an upload shaper has passed it. Without a limit
    /// it is unknown: what the line's queue grows by has passed the shaper too, and has not arrived.
    fn foreign(&self, all: &Account) -> Option<f64> {
        self.step.rates.direction(self.direction)?;
        let counters = self.step.counters?;
        let (before, after) = (counters.before.direction(self.direction)?, counters.after.direction(self.direction)?);
        let sent = after.sent.0.checked_sub(before.sent.0).filter(|sent| *sent > 0)? as f64;
        let lost_behind = match self.direction {
            Direction::Up => all.retransmitted_share.unwrap_or(0.0),
            Direction::Down => 0.0,
        };
        let own = all.link_layer_octets.unwrap_or(all.carried_octets) as f64 / (1.0 - lost_behind).max(0.5);
        Some((1.0 - own / sent).max(0.0))
    }

    fn classes(&self) -> Vec<ClassRate> {
        let mut classes: BTreeMap<ServiceClass, Vec<u64>> = BTreeMap::new();
        let rows = || self.read.tables_of(receiver(self.direction)).flat_map(|tables| tables.octets_received.rows());
        for flow in self.load() {
            let readings = rows().filter(|row| row.flow == flow.id).map(|row| (row.at, row.octets.0));
            let counter = Counter::new(readings.collect());
            let grown = seconds(self.step.window()).map(|second| counter.at(second.to) - counter.at(second.from));
            let sums = classes.entry(flow.class).or_default();
            for (place, octets) in grown.enumerate() {
                if sums.len() == place {
                    sums.push(0);
                }
                sums[place] += octets.max(0.0).round() as u64;
            }
        }
        let rate = |(class, seconds): (ServiceClass, Vec<u64>)| ClassRate {
            class,
            seconds: seconds.into_iter().map(ByteCount).collect(),
        };
        classes.into_iter().map(rate).collect()
    }
}

fn rate(account: &Account) -> BitRate {
    BitRate(account.link_layer_bps.unwrap_or(account.carried_bps))
}

/// The whole seconds of a window.
fn seconds(window: Window) -> impl Iterator<Item = Window> {
    let whole = u32::try_from(window.length().as_secs()).unwrap_or(0);
    (0..whole).map(move |second| {
        let from = window.from + SECOND * second;
        Window { from, to: from + SECOND }
    })
}

/// One probe: when it arrived, and how long it took by the two hosts' clocks.
#[derive(Clone, Copy)]
struct Transit {
    received: TestTime,
    delay: i64,
}

/// Best-effort probes of one flow in one direction until the end of a step.
struct Probes {
    direction: Direction,
    family: AddressFamily,
    /// Those that arrived, in the order in which they were sent.
    arrived: Vec<Transit>,
    /// Those that did not, each with the time at which the next one arrived.
    lost: Vec<TestTime>,
}

/// All of them.
struct Transits {
    flows: Vec<Probes>,
    /// By how much the server's clock gains on the client's, nanoseconds in a nanosecond.
    drift: f64,
}

impl Transits {
    fn gather(read: &Recording, ended_at: TestTime) -> Self {
        let idle = read.phase(Phase::Idle).map_or(TestTime::ZERO, |idle| idle.from);
        let known = Window { from: idle, to: ended_at };
        let found = one_way_flows(read).flows;
        let probes =
            |flow: &&OneWayFlow<'_>| flow.flow.kind() == FlowKind::UdpProbe && flow.flow.class == ServiceClass::BE;
        let flows: Vec<Probes> = found.iter().filter(probes).map(|flow| Probes::of(flow, known)).collect();
        let drift = drift(&flows);
        Self { flows, drift }
    }

    fn direction(&self, direction: Direction) -> impl Iterator<Item = &Probes> {
        self.flows.iter().filter(move |flow| flow.direction == direction)
    }

    /// The probes of a flow that arrived, and how long each waited: what it took above the smallest of the line.
    fn waiting<'p>(&self, flow: &'p Probes) -> impl Iterator<Item = (&'p Transit, Delay)> + use<'p> {
        let drift = flow.direction.select(self.drift, -self.drift);
        let level = move |one: &Transit| one.delay - (drift * one.received.0 as f64).round() as i64;
        let least = flow.arrived.iter().map(level).min().unwrap_or_default();
        flow.arrived.iter().map(move |one| (one, Delay(level(one) - least)))
    }

    /// What probes of one family waited in one direction. Times are those of each host's own clock.
    fn waits(&self, family: AddressFamily, direction: Direction) -> QueueWaits {
        let flows = self.direction(direction).filter(|flow| flow.family == family);
        let queued = |(one, wait): (&Transit, Delay)| QueuedPacket {
            sent: one.received.0 - one.delay,
            arrived: one.received.0,
            wait: wait.0,
        };
        QueueWaits::new(flows.flat_map(|flow| self.waiting(flow)).map(queued))
    }

    /// Delays of the probes that arrived within the window, above the smallest of the line, and times of the lost ones.
    fn within(&self, direction: Direction, window: Window) -> (Vec<(TestTime, Delay)>, Vec<TestTime>) {
        let (mut delays, mut lost) = (Vec::new(), Vec::new());
        for flow in self.direction(direction) {
            let inside = self.waiting(flow).filter(|(one, _)| window.contains(one.received));
            delays.extend(inside.map(|(one, wait)| (one.received, wait)));
            lost.extend(flow.lost.iter().filter(|at| window.contains(**at)));
        }
        (delays, lost)
    }

    fn loss(&self, direction: Direction, window: Window) -> Option<f64> {
        let (arrived, lost) = self.within(direction, window);
        let all = arrived.len() + lost.len();
        (all > 0).then(|| lost.len() as f64 / all as f64)
    }

    /// The noise of the idle line, which is too short for clocks to drift.
    fn idle_p95(&self, direction: Direction, idle: Option<Window>) -> Option<Delay> {
        let idle = idle?;
        let mut delays = Vec::new();
        for flow in self.direction(direction) {
            let inside = || flow.arrived.iter().filter(|one| idle.contains(one.received)).map(|one| one.delay);
            let Some(least) = inside().min() else { continue };
            delays.extend(inside().map(|delay| Delay(delay - least)));
        }
        delays.sort_unstable();
        percentile(&delays, 0, 950)
    }

    fn queueing_delay(&self, direction: Direction, window: Window) -> Option<TrialDelay> {
        let (delays, lost) = self.within(direction, window);
        let mut sorted: Vec<Delay> = delays.iter().map(|(_, delay)| *delay).collect();
        sorted.sort_unstable();
        let losses = lost.len() as u64;
        let at = |per_mille| percentile(&sorted, losses, per_mille).or_else(|| percentile(&sorted, 0, per_mille));
        let (p50, p95, p99, most) = (at(500)?, at(950)?, at(990)?, *sorted.last()?);
        let interval = BlockBootstrap::new(window, window.length() / BLOCKS).and_then(|bootstrap| {
            let arrived = delays.iter().map(|(at, delay)| (*at, Some(*delay)));
            let series = bootstrap.percentiles(arrived.chain(lost.iter().map(|at| (*at, None))));
            bootstrap.interval(|resample| series.percentiles(resample, [950])[0])
        });
        // A rank among lost probes is beyond every delay; the percentile itself is then that of those that arrived.
        let within = |value: f64| if value.is_finite() { Delay(value as i64) } else { most };
        Some(TrialDelay {
            n: sorted.len() as u64 + losses,
            p50,
            p95,
            p99,
            p95_low: interval.map_or(p50, |interval| within(interval.low).min(p95)),
            p95_high: interval.map_or(most, |interval| within(interval.high).max(p95)),
        })
    }
}

impl Probes {
    /// Queues keep the order of a flow: what did not arrive before a later packet was lost.
    fn of(flow: &OneWayFlow<'_>, known: Window) -> Self {
        let mut probes =
            Self { direction: flow.direction, family: flow.flow.family, arrived: Vec::new(), lost: Vec::new() };
        let mut missing = 0;
        for transit in &flow.transits {
            let Some(received) = transit.received else {
                missing += 1;
                continue;
            };
            if known.contains(received) {
                probes.arrived.push(Transit { received, delay: received.since(transit.sent).0 });
                probes.lost.extend(std::iter::repeat_n(received, missing));
            }
            missing = 0;
        }
        probes
    }

    fn beneath(&self) -> Option<Beneath> {
        let mut seconds: BTreeMap<i64, Transit> = BTreeMap::new();
        for one in &self.arrived {
            let least = seconds.entry(one.received.0.div_euclid(SECOND.as_nanos() as i64)).or_insert(*one);
            if one.delay < least.delay {
                *least = *one;
            }
        }
        let points: Vec<(f64, f64)> = seconds.values().map(|one| (one.received.0 as f64, one.delay as f64)).collect();
        let hull = LowerHull::from_points(points.iter().copied())?;
        // Without a reason for another, clocks do not drift: of lines that are touched as often the first is taken.
        let slopes = std::iter::once(0.0).chain(hull.edges().filter(|slope| slope.abs() <= MOST_DRIFT));
        let mut best: Option<(f64, usize)> = None;
        for slope in slopes {
            let level = hull.level(slope);
            let touched = points.iter().filter(|(x, y)| y - slope * x - level <= TOUCHING).count();
            if best.is_none_or(|(_, most)| touched > most) {
                best = Some((slope, touched));
            }
        }
        let (slope, touched) = best?;
        Some(Beneath { drift: self.direction.select(slope, -slope), touched })
    }
}

/// A line beneath the delays of one flow: the drift of the clocks that it would be, and how many seconds have a delay on it.
#[derive(Clone, Copy)]
struct Beneath {
    drift: f64,
    touched: usize,
}

/// By how much the server's clock gains on the client's.
///
/// The smallest delays of one direction rise with the drift, those of the other fall. Queues make them rise as well, but not
/// along a line to which they come back again and again: the drift is that of the line on which most seconds have a delay.
fn drift(flows: &[Probes]) -> f64 {
    let lines: Vec<Beneath> = flows.iter().filter_map(Probes::beneath).collect();
    let most = lines.iter().map(|line| line.touched).max().unwrap_or(0);
    let trusted = || lines.iter().filter(|line| line.touched >= FEWEST_TOUCHED && 2 * line.touched >= most);
    let weight: usize = trusted().map(|line| line.touched).sum();
    let sum: f64 = trusted().map(|line| line.drift * line.touched as f64).sum();
    if weight == 0 { 0.0 } else { sum / weight as f64 }
}

/// The host from which a hypervisor took so much processor time that probes waited for their host and not for the line.
fn stolen_from(read: &Recording, window: Window) -> Option<ObservationPoint> {
    let hosts = [ObservationPoint::Client, ObservationPoint::Server];
    hosts.into_iter().find(|point| processor_load::is_stolen(read, *point, window))
}

/// The host that limited the load, if one did.
fn host_limit(read: &Recording, step: &TuningStep, limits: &StreamLimits) -> Option<HostLimit> {
    // A throttled host stands still for a part of each period, whatever its processors do.
    let throttled = |point| host_health::throttling(read, point, step.window()).0.is_some_and(|share| share > FULL);
    if throttled(ObservationPoint::Client) {
        return Some(HostLimit::ClientQuota);
    }
    if throttled(ObservationPoint::Server) {
        return Some(HostLimit::ServerQuota);
    }
    let loads = processor_load::processor_load(read, step.window());
    if let Some(load) = loads.iter().find(|load| load.saturated > FULL) {
        return Some(match load.point {
            ObservationPoint::Client => HostLimit::ClientProcessor,
            ObservationPoint::Server => HostLimit::ServerProcessor,
        });
    }
    let held = |share: Option<f64>| share.is_some_and(|share| share > HELD);
    // A direction whose queue is full anyway is limited by the network first, whatever its buffers do.
    let judged = Direction::ALL.into_iter().filter(|direction| step.direction.is_none_or(|only| only == *direction));
    judged.map(|direction| &limits.direction(direction).pooled).find_map(|limits| {
        if held(limits.rwnd_limited) {
            Some(HostLimit::ReceiveWindow)
        } else {
            held(limits.sndbuf_limited).then_some(HostLimit::SendBuffer)
        }
    })
}
