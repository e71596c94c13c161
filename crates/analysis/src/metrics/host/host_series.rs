//! How both hosts fared over time, for charts: each core, how late packets were sent, and what the hosts dropped.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::clock_offset::ClockOffset;
use crate::metrics::host::processor_load::busy_share;

/// One host over time. All times are on the client's clock.
#[derive(Debug, Clone, PartialEq)]
pub struct HostSeries {
    pub host: ObservationPoint,
    /// Each core, by its number.
    pub cores: Vec<CoreSeries>,
    /// When each packet was sent, and how long after its schedule.
    pub send_lateness: Vec<(TestTime, Delay)>,
    /// Each of the counters of drops that was read at least twice.
    pub drops: Vec<DropSeries>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct CoreSeries {
    pub core: u16,
    /// How busy it was between each reading and the next.
    pub series: Vec<BusyPoint>,
}

/// One core between two readings.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct BusyPoint {
    pub at: TestTime,
    pub over: Duration,
    /// Share of that time that the core was busy, stolen time included, 0 to 1.
    pub busy: f64,
}

/// One kind of drops.
#[derive(Debug, Clone, PartialEq)]
pub struct DropSeries {
    /// Where the packets were dropped, in words.
    pub place: &'static str,
    /// Packets dropped between each reading and the next, at the later reading.
    pub series: Vec<(TestTime, u64)>,
}

/// Both hosts, the client first. A host that reported nothing is left out.
pub(crate) fn host_series(recording: &Recording, clock: Option<&ClockOffset>) -> Vec<HostSeries> {
    let of = |host| {
        let at = |at: TestTime| match (host, clock) {
            (ObservationPoint::Server, Some(clock)) => clock.client_time(at),
            _ => at,
        };
        let series = HostSeries {
            host,
            cores: cores(recording, host, at),
            send_lateness: send_lateness(recording, host, at),
            drops: drops(recording, host, at),
        };
        let has_data = !(series.cores.is_empty() && series.send_lateness.is_empty() && series.drops.is_empty());
        has_data.then_some(series)
    };
    [ObservationPoint::Client, ObservationPoint::Server].into_iter().filter_map(of).collect()
}

fn cores(recording: &Recording, host: ObservationPoint, at: impl Fn(TestTime) -> TestTime) -> Vec<CoreSeries> {
    let mut readings: BTreeMap<u16, Vec<_>> = BTreeMap::new();
    for row in recording.tables_of(host).flat_map(|tables| tables.cpu_time.rows()) {
        readings.entry(row.core).or_default().push(row);
    }
    let core = |(core, mut rows): (u16, Vec<rrul_model::observation::CpuTime>)| {
        rows.sort_by_key(|row| row.at);
        let pairs = rows.iter().zip(rows.iter().skip(1));
        let point = |(before, after): (&_, &rrul_model::observation::CpuTime)| {
            let before: &rrul_model::observation::CpuTime = before;
            let (from, to) = (at(before.at), at(after.at));
            let over = Duration::from_nanos(u64::try_from(to.since(from).0).ok()?);
            Some(BusyPoint { at: from + over / 2, over, busy: busy_share(before, after)? })
        };
        CoreSeries { core, series: pairs.filter_map(point).collect() }
    };
    readings.into_iter().map(core).filter(|core| !core.series.is_empty()).collect()
}

/// By the program's own stamp just before the send call: what the kernel does afterwards is no fault of the schedule.
fn send_lateness(
    recording: &Recording,
    host: ObservationPoint,
    at: impl Fn(TestTime) -> TestTime,
) -> Vec<(TestTime, Delay)> {
    let rows = recording.tables_of(host).flat_map(|tables| tables.probe_sent.rows());
    let mut lateness: Vec<_> = rows.map(|row| (at(row.sent), row.sent.since(row.scheduled))).collect();
    lateness.sort_unstable();
    lateness
}

fn drops(recording: &Recording, host: ObservationPoint, at: impl Fn(TestTime) -> TestTime) -> Vec<DropSeries> {
    let (mut sockets, mut cores, mut received, mut sent) =
        (Counters::new(), Counters::new(), Counters::new(), Counters::new());
    for tables in recording.tables_of(host) {
        for row in tables.socket_drops.rows() {
            push(&mut sockets, socket(row.flow), row.at, u64::from(row.dropped));
        }
        for row in tables.softnet_count.rows() {
            push(&mut cores, u32::from(row.core), row.at, u64::from(row.dropped));
        }
        for row in tables.interface_count.rows() {
            push(&mut received, row.interface, row.at, row.received_dropped);
            push(&mut sent, row.interface, row.at, row.sent_dropped);
        }
    }
    let named = [
        ("socket buffers", sockets),
        ("cores' backlogs", cores),
        ("interfaces, received", received),
        ("interfaces, to be sent", sent),
    ];
    let series = |(place, counters): (&'static str, Counters)| {
        let mut grown: BTreeMap<TestTime, u64> = BTreeMap::new();
        for mut readings in counters.into_values() {
            readings.sort_unstable_by_key(|(at, _)| *at);
            for ((_, before), (later, after)) in readings.iter().zip(readings.iter().skip(1)) {
                // A counter that falls began anew.
                let sum = grown.entry(at(*later)).or_default();
                *sum = sum.saturating_add(after.saturating_sub(*before));
            }
        }
        (!grown.is_empty()).then(|| DropSeries { place, series: grown.into_iter().collect() })
    };
    named.into_iter().filter_map(series).collect()
}

/// Readings of the counters of one kind, by socket, core or interface.
type Counters = BTreeMap<u32, Vec<(TestTime, u64)>>;

fn push(counters: &mut Counters, which: u32, at: TestTime, value: u64) {
    counters.entry(which).or_default().push((at, value));
}

fn socket(flow: FlowId) -> u32 {
    u32::from(flow.0)
}
