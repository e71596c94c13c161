//! How both hosts fared while they measured: what they dropped themselves, where they were held back, what lay in their
//! own queues. Each is a queue or a loss that is not the line's.

use std::collections::BTreeMap;

use foldhash::{HashMap, HashMapExt};
use rrul_model::environment::{FORGED_PACKETS, HOST_LISTEN_DROPS, LISTEN_DROPS};
use rrul_model::flow::FlowId;
use rrul_model::observation::{ObservationPoint, Tables};
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::host::growth::growth;
use crate::metrics::host::host_interface;
use crate::metrics::host::host_interface::HostInterface;
use crate::metrics::host::host_route;
use crate::metrics::host::host_route::HostRoute;
use crate::packets::by_number::ByNumber;
use crate::packets::tcp_readings::TcpReadings;
use crate::statistics::percentile::DelayStatistics;

/// The state of one host.
///
/// Queues and losses within the two hosts, which look like those of the line. Counters are of the whole host, including
/// other programs. They are read once a second; counts between the last reading before the load and its beginning are
/// distributed evenly.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Hosts")]
pub struct HostHealth {
    /// `client` or `server`; what follows is of the load phase unless it says otherwise.
    pub host: ObservationPoint,
    /// Operating system and release.
    pub kernel: Option<String>,
    /// Model of the processor.
    pub processor: Option<String>,
    /// The hypervisor or container that it runs in. Null where nothing points to any.
    pub virtualisation: Option<String>,
    /// Processor cores that rrul may use.
    ///
    /// Unit: count.
    pub cores: Option<u32>,
    /// Packets that the cores dropped because their backlogs were full; `null` when unknown.
    ///
    /// Unit: count. Source: /proc/net/softnet_stat.
    pub softnet_dropped: Option<u64>,
    /// Times that a core used up its packet budget with packets left (`net.core.netdev_budget`). A few are harmless.
    ///
    /// Unit: count. Source: /proc/net/softnet_stat.
    pub softnet_squeezed: Option<u64>,
    /// Share of the periods in which the control group had used up its CPU time; `null` where no group has a quota.
    ///
    /// Unit: share. Source: cgroups(7).
    pub throttled_share: Option<f64>,
    /// Time for which it was throttled, summed over its threads.
    ///
    /// Source: cgroups(7).
    pub throttled_ns: Option<i64>,
    /// Connection attempts dropped in the whole test because the listen queue of the server was full: they look like
    /// SYN packets lost on the line. `null` at the client, and when unknown.
    ///
    /// Unit: count. Source: SO_MEMINFO; TcpExt.ListenDrops.
    pub listen_drops: Option<u64>,
    /// Test packets of the whole test that failed authentication at the client: somebody sent them in the name of the server, or
    /// changed them on the way. They were dropped, and count in no other figure. `null` at the server, whose operator reads them from
    /// its metrics, and where packets are not authenticated.
    ///
    /// Unit: count. Source: HMAC-SHA256 tags (RFC 2104).
    pub forged_packets: Option<u64>,
    /// Time that test packets spent in this host's own queue: from the program's timestamp before the send call to the
    /// kernel's timestamp when the packet left for the device. It is in no other delay, because delays begin at the
    /// kernel's timestamp. If this host shapes the line, add it. The two timestamps are from different clocks of the
    /// host, so it may be wrong, and below 0, by some microseconds. The ring of the device is not included.
    ///
    /// Source: measured between T3 and its follow-up (RFC 8972 section 4.4), and likewise at the client.
    pub transmit_queueing: Option<DelayStatistics>,
    /// Sockets on which test packets arrive.
    pub sockets: Vec<HostSocket>,
    /// The first hop to the other host, for each address family.
    pub routes: Vec<HostRoute>,
    /// Interfaces that packets to the other host pass.
    pub interfaces: Vec<HostInterface>,
    /// Counters of the network stack that rose between the states before and after the test.
    pub kernel_counters: Vec<CounterIncrease>,
}

/// A socket on which test packets arrive.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct HostSocket {
    /// Name of the flow whose packets arrive at the socket; `null` for the server's, where those of all sessions do.
    pub flow: Option<String>,
    /// Packets that had crossed the line but were dropped because the socket's buffer was full.
    ///
    /// Unit: count. Source: SO_MEMINFO.
    pub dropped: u64,
    /// `dropped` over `dropped` plus the packets of this test read from the socket. `null` without either.
    ///
    /// Unit: share.
    pub dropped_share: Option<f64>,
}

/// A counter that rose.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
pub struct CounterIncrease {
    /// Name of the counter.
    ///
    /// Source: /proc/net/netstat, snmp, snmp6.
    pub name: String,
    /// By how much it rose.
    ///
    /// Unit: count.
    pub increase: u64,
}

/// Both hosts of a recording, the client first. A host that reported nothing of itself is left out.
pub(crate) fn hosts(recording: &Recording, tcp: &TcpReadings) -> Vec<HostHealth> {
    let load = recording.phase(Phase::Load).unwrap_or(Window { from: TestTime::ZERO, to: TestTime::ZERO });
    [ObservationPoint::Client, ObservationPoint::Server]
        .into_iter()
        .map(|point| host(recording, tcp, point, load))
        .filter(|host| !host.is_unknown())
        .collect()
}

impl HostHealth {
    fn is_unknown(&self) -> bool {
        let Self { kernel, cores, softnet_dropped, throttled_share, transmit_queueing, sockets, interfaces, .. } = self;
        kernel.is_none()
            && cores.is_none()
            && softnet_dropped.is_none()
            && throttled_share.is_none()
            && transmit_queueing.is_none()
            && sockets.is_empty()
            && interfaces.is_empty()
    }
}

fn host(recording: &Recording, tcp: &TcpReadings, point: ObservationPoint, load: Window) -> HostHealth {
    let environment = recording.host(point);
    let known = |text: &String| (!text.is_empty()).then(|| text.clone());
    let (throttled_share, throttled_ns) = throttling(recording, point, load);
    let counters = counter_increases(recording, point);
    HostHealth {
        host: point,
        kernel: known(&environment.kernel),
        processor: known(&environment.processor),
        virtualisation: known(&environment.virtualisation),
        cores: Some(environment.cores).filter(|cores| *cores > 0),
        softnet_dropped: softnet(recording, point, load, |dropped, _| dropped),
        softnet_squeezed: softnet(recording, point, load, |_, squeezed| squeezed),
        throttled_share,
        throttled_ns,
        listen_drops: counters.as_ref().and_then(listen_drops),
        forged_packets: counters.as_ref().and_then(|counters| counters.get(FORGED_PACKETS)).copied(),
        transmit_queueing: DelayStatistics::from_delays(transmit_queueing(recording, point, load), 0),
        sockets: sockets(recording, point, load),
        routes: host_route::routes(recording, tcp, point),
        interfaces: host_interface::interfaces(recording, point),
        kernel_counters: counters.into_iter().flatten().filter_map(risen).collect(),
    }
}

/// The least of what the listeners and what the whole host counted: listeners count the stray segments of connections that
/// are no longer there as well, and the host the connections of other programs.
fn listen_drops(counters: &BTreeMap<String, u64>) -> Option<u64> {
    let own = *counters.get(LISTEN_DROPS)?;
    Some(counters.get(HOST_LISTEN_DROPS).map_or(own, |all| own.min(*all)))
}

fn risen((name, increase): (String, u64)) -> Option<CounterIncrease> {
    (increase > 0 && ![LISTEN_DROPS, FORGED_PACKETS].contains(&&*name)).then_some(CounterIncrease { name, increase })
}

fn tables(recording: &Recording, point: ObservationPoint) -> impl Iterator<Item = &Tables> {
    recording.tables_of(point)
}

/// Readings of a counter of 32 bits as one that does not run over. It falls where it began anew: then it stands still.
fn unrolled(mut readings: Vec<(TestTime, u32)>) -> Vec<(TestTime, u64)> {
    readings.sort_by_key(|(at, _)| *at);
    let mut sum = 0_u64;
    let mut before = readings.first().map_or(0, |(_, value)| *value);
    let step = |(at, value): (TestTime, u32)| {
        let grown = value.wrapping_sub(before);
        before = value;
        sum += if grown <= u32::MAX / 2 { u64::from(grown) } else { 0 };
        (at, sum)
    };
    readings.into_iter().map(step).collect()
}

/// Growth of one of the counters of packets taken from devices, over all cores.
fn softnet(
    recording: &Recording,
    point: ObservationPoint,
    load: Window,
    pick: impl Fn(u32, u32) -> u32,
) -> Option<u64> {
    let mut cores: BTreeMap<u16, Vec<(TestTime, u32)>> = BTreeMap::new();
    for row in tables(recording, point).flat_map(|tables| tables.softnet_count.rows()) {
        cores.entry(row.core).or_default().push((row.at, pick(row.dropped, row.squeezed)));
    }
    cores.into_values().filter_map(|readings| growth(unrolled(readings), load)).reduce(u64::saturating_add)
}

/// Share of periods, and time, in which the control group was throttled.
pub(crate) fn throttling(recording: &Recording, point: ObservationPoint, load: Window) -> (Option<f64>, Option<i64>) {
    let rows: Vec<_> = tables(recording, point).flat_map(|tables| tables.cgroup_throttle.rows()).collect();
    let of = |value: fn(&rrul_model::observation::CgroupThrottle) -> u64| {
        growth(rows.iter().map(|row| (row.at, value(row))).collect(), load)
    };
    let time = of(|row| row.throttled.0.max(0).cast_unsigned()).and_then(|time| i64::try_from(time).ok());
    let share = of(|row| row.periods).zip(of(|row| row.throttled_periods)).filter(|(periods, _)| *periods > 0);
    (share.map(|(periods, throttled)| (throttled as f64 / periods as f64).min(1.0)), time)
}

/// How much each counter of the network stack grew over the whole test; `None` when either state is unknown.
fn counter_increases(recording: &Recording, point: ObservationPoint) -> Option<BTreeMap<String, u64>> {
    let before = &recording.host(point).state.kernel_counters;
    let after = &recording.end.as_ref()?.host(point)?.kernel_counters;
    let pair = |(name, value): (&String, &u64)| Some((name.clone(), value.saturating_sub(*before.get(name)?)));
    Some(after.iter().filter_map(pair).collect())
}

/// From just before the send call to the kernel's stamp, for each packet that this host sent under load.
fn transmit_queueing(recording: &Recording, point: ObservationPoint, load: Window) -> Vec<Delay> {
    let mut flows: HashMap<FlowId, Departures> = HashMap::new();
    for tables in tables(recording, point) {
        for row in tables.probe_sent.rows() {
            flows.entry(row.flow).or_default().sent.push((row.sequence, row.sent));
        }
        for row in tables.probe_stamped.rows() {
            flows.entry(row.flow).or_default().stamped.push((row.sequence, row.sent));
        }
    }
    if point == ObservationPoint::Server {
        // The client recorded what the reflector reported of its replies.
        for tables in tables(recording, ObservationPoint::Client) {
            for row in tables.probe_received.rows() {
                flows.entry(row.flow).or_default().sent.push((row.sequence, row.reflector_sent));
            }
            for row in tables.reply_stamped.rows() {
                flows.entry(row.flow).or_default().stamped.push((row.sequence, row.reflector_sent));
            }
        }
    }
    let of_flow = |flow: Departures| {
        // A packet stands there once; of a foreign file the first is taken.
        let sent = ByNumber::first(flow.sent);
        let gap = move |(packet, left): (u32, TestTime)| {
            let sent = *sent.get(packet)?;
            load.contains(sent).then(|| left.since(sent))
        };
        flow.stamped.into_iter().filter_map(gap)
    };
    flows.into_values().flat_map(of_flow).collect()
}

/// When the packets of one flow were sent, and when the kernel says that they left, by their numbers.
#[derive(Default)]
struct Departures {
    sent: Vec<(u32, TestTime)>,
    stamped: Vec<(u32, TestTime)>,
}

fn sockets(recording: &Recording, point: ObservationPoint, load: Window) -> Vec<HostSocket> {
    let mut readings: BTreeMap<FlowId, Vec<(TestTime, u32)>> = BTreeMap::new();
    let mut arrived: HashMap<FlowId, u64> = HashMap::new();
    for tables in tables(recording, point) {
        for row in tables.socket_drops.rows() {
            readings.entry(row.flow).or_default().push((row.at, row.dropped));
        }
        let probes = tables.probe_received.rows().map(|row| (row.flow, row.received));
        let echoes = tables.echo_received.rows().map(|row| (row.flow, row.received));
        let packets = tables.packet_received.rows().map(|row| (row.flow, row.received));
        for (flow, _) in probes.chain(echoes).chain(packets).filter(|(_, at)| load.contains(*at)) {
            *arrived.entry(flow).or_default() += 1;
        }
    }
    let socket = |(flow, readings): (FlowId, Vec<(TestTime, u32)>)| {
        let dropped = growth(unrolled(readings), load)?;
        let read = match flow {
            FlowId::CONTROL => arrived.values().sum(),
            _ => arrived.get(&flow).copied().unwrap_or_default(),
        };
        let all = dropped.saturating_add(read);
        Some(HostSocket {
            flow: recording.flow(flow).map(|spec| spec.name.clone()),
            dropped,
            dropped_share: (all > 0).then(|| dropped as f64 / all as f64),
        })
    };
    readings.into_iter().filter_map(socket).collect()
}
