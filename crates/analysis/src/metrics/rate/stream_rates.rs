//! The rates of the load's streams side by side, interval by interval: what sharing and synchronization are read from.

use std::time::Duration;

use foldhash::HashMap;
use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::{TcpInfo, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::flow_label::FlowLabel;
use crate::metrics::octets::tcp_octets::{TIMESTAMPS_IN_USE, USUAL_MTU, data_header_octets};
use crate::metrics::rate::goodput::{DirectionGoodput, GoodputFlow};
use crate::packets::tcp_readings::TcpReadings;

/// Segments that each stream must have in an interval on average: with fewer, whether one falls to this side of an edge
/// or to the other moves the rate by more than 5 %.
const SEGMENTS: f64 = 20.0;

/// Streams of one direction on one grid, in bytes on the wire an interval.
#[derive(Debug, Clone)]
pub(crate) struct StreamRates<'a> {
    pub(crate) interval: Duration,
    /// Beginning of the first interval.
    pub(crate) from: TestTime,
    /// Every stream that was read at all, and its bytes in each interval.
    pub(crate) streams: Vec<(&'a FlowLabel, Vec<f64>)>,
}

impl<'a> StreamRates<'a> {
    /// The streams of `goodput` within `window`, in intervals of at least `least`.
    ///
    /// An interval is a whole number of the goodput's own, and contains [`SEGMENTS`] segments of each stream on average
    /// (spec: 100 ms, where the line is fast enough for that). Bytes count as IP packets of full size: payload and
    /// headers, so that streams that share evenly on the wire are even here although IPv6 has less payload in a packet.
    /// Only the time in which all of them are due to run counts. Empty when that contains no interval.
    pub(crate) fn within(
        recording: &Recording,
        tcp: &TcpReadings,
        goodput: &'a DirectionGoodput,
        direction: Direction,
        window: Window,
        least: Duration,
    ) -> Self {
        let segments = Segments::from_readings(tcp, goodput, direction);
        let flows: Vec<_> = goodput.flows.iter().filter(|flow| !flow.series.is_empty()).collect();
        let due = |flow: &&&GoodputFlow| recording.flow(flow.flow.id).map(|spec| spec.window);
        let window = flows
            .iter()
            .filter_map(|flow| due(&flow))
            .fold(window, |window, due| Window { from: window.from.max(due.from), to: window.to.min(due.to) });
        let series = &goodput.sum_series;
        let own = series.first().map_or(Duration::from_millis(100), |point| point.over);
        let grid: Vec<TestTime> = series
            .iter()
            .filter(|point| point.over == own && point.at - own / 2 >= window.from && point.at + own / 2 <= window.to)
            .map(|point| point.at)
            .collect();
        let octets = |flow: &&'a GoodputFlow| {
            let wire = segments.wire_share(&flow.flow) * own.as_secs_f64() / 8.0;
            let rates: HashMap<TestTime, u64> = flow.series.iter().map(|point| (point.at, point.rate.0)).collect();
            let each = grid.iter().map(|at| rates.get(at).map_or(0.0, |rate| *rate as f64 * wire));
            (&flow.flow, each.collect())
        };
        let streams = flows.iter().map(octets).collect();
        let mut rates = Self { interval: own, from: grid.first().map_or(window.from, |at| *at - own / 2), streams };
        let interval = least.max(rates.shortest_interval(segments.largest(goodput)));
        let count = interval.as_nanos().div_ceil(own.as_nanos().max(1));
        rates.merge(usize::try_from(count).unwrap_or(usize::MAX));
        rates
    }

    pub(crate) fn intervals(&self) -> usize {
        self.streams.first().map_or(0, |(_, octets)| octets.len())
    }

    /// The middle of an interval.
    pub(crate) fn at(&self, interval: usize) -> TestTime {
        self.from + self.interval.saturating_mul(interval as u32) + self.interval / 2
    }

    /// The bytes of these streams, interval by interval.
    pub(crate) fn select(&self, wanted: impl Fn(&FlowLabel) -> bool) -> Vec<Vec<f64>> {
        self.streams.iter().filter(|(flow, _)| wanted(flow)).map(|(_, octets)| octets.clone()).collect()
    }

    /// Sums over streams, interval by interval, in groups of one key: in the order in which the keys first occur.
    pub(crate) fn sums_by<K: PartialEq>(&self, key: impl Fn(&FlowLabel) -> K) -> Vec<(K, Vec<f64>)> {
        let mut groups: Vec<(K, Vec<f64>)> = Vec::new();
        for (flow, octets) in &self.streams {
            let key = key(flow);
            match groups.iter_mut().find(|(known, _)| *known == key) {
                Some((_, sums)) => sums.iter_mut().zip(octets).for_each(|(sum, octets)| *sum += octets),
                None => groups.push((key, octets.clone())),
            }
        }
        groups
    }

    /// The time in which each stream has [`SEGMENTS`] segments on average.
    fn shortest_interval(&self, segment: f64) -> Duration {
        let all: f64 = self.streams.iter().map(|(_, octets)| octets.iter().sum::<f64>()).sum();
        let time = self.interval.as_secs_f64() * self.intervals() as f64;
        if all <= 0.0 || time <= 0.0 {
            return Duration::ZERO;
        }
        let seconds = SEGMENTS * segment * self.streams.len() as f64 / (all / time);
        Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
    }

    /// Makes one interval of so many; what is left over at the end is left out.
    fn merge(&mut self, count: usize) {
        let count = count.clamp(1, self.intervals().max(1));
        for (_, octets) in &mut self.streams {
            *octets = octets.chunks_exact(count).map(|chunk| chunk.iter().sum()).collect();
        }
        self.interval = self.interval.saturating_mul(count as u32);
    }
}

/// How large the segments of each stream are.
struct Segments(HashMap<FlowId, TcpInfo>);

impl Segments {
    /// As their senders' kernels say, at the last reading.
    fn from_readings(tcp: &TcpReadings, goodput: &DirectionGoodput, direction: Direction) -> Self {
        let last = |entry: &GoodputFlow| {
            let rows = tcp.at(sender(direction), entry.flow.id);
            rows.iter().rev().find(|row| row.snd_mss > 0).map(|row| (row.flow, *row))
        };
        Self(goodput.flows.iter().filter_map(last).collect())
    }

    /// Bytes of an IP packet for each byte of its payload.
    fn wire_share(&self, flow: &FlowLabel) -> f64 {
        let (payload, headers) = self.packet(flow);
        f64::from(payload + headers) / f64::from(payload)
    }

    /// The largest IP packet of any stream.
    fn largest(&self, goodput: &DirectionGoodput) -> f64 {
        let packets = goodput.flows.iter().map(|flow| {
            let (payload, headers) = self.packet(&flow.flow);
            f64::from(payload + headers)
        });
        packets.fold(0.0, f64::max)
    }

    /// Payload and headers of a full packet; of an Ethernet frame with timestamps where the kernel did not say.
    fn packet(&self, flow: &FlowLabel) -> (u32, u32) {
        let headers = |options| data_header_octets(flow.family, options) as u32;
        let Some(info) = self.0.get(&flow.id) else {
            let headers = headers(TIMESTAMPS_IN_USE);
            return (USUAL_MTU as u32 - headers, headers);
        };
        // A foreign file may say anything; no packet is longer than this.
        (info.snd_mss.clamp(1, 1 << 16), headers(info.options))
    }
}
