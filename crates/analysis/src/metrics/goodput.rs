//! Goodput: octets that a receiver was handed in order, over time (RFC 2647 section 3.17).

use std::collections::HashMap;
use std::time::Duration;

use rrul_model::flow::{Component, Direction, FlowId, FlowSpec};
use rrul_model::observation::{ObservationPoint, TcpInfo};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};

use crate::analysis::{DirectionGoodput, GoodputFlow, RatePoint};
use crate::metrics::start_spread::{receiver, sender};
use crate::statistics::counter::Counter;
use crate::statistics::time_bins::TimeBins;

/// Counters of both ends of one direction's flows.
struct Readings {
    octets: HashMap<FlowId, Vec<(TestTime, u64)>>,
    segments: HashMap<FlowId, Vec<(TestTime, u64)>>,
    sent: HashMap<FlowId, Vec<TcpInfo>>,
    /// When the receiver last read any flow's octets.
    last: Option<TestTime>,
}

impl Readings {
    fn gather(recording: &Recording, direction: Direction) -> Self {
        let mut readings = Self { octets: HashMap::new(), segments: HashMap::new(), sent: HashMap::new(), last: None };
        for tables in recording.tables_of(receiver(direction)) {
            for row in tables.octets_received.rows() {
                readings.octets.entry(row.flow).or_default().push((row.at, row.octets.0));
                readings.last = readings.last.max(Some(row.at));
            }
            for row in tables.tcp_info.rows() {
                readings.segments.entry(row.flow).or_default().push((row.at, u64::from(row.data_segs_in)));
            }
        }
        for row in recording.tables_of(sender(direction)).flat_map(|tables| tables.tcp_info.rows()) {
            readings.sent.entry(row.flow).or_default().push(row);
        }
        readings
    }
}

/// One stream's octets over time, by two readings of the same thing.
///
/// The count of octets *in order* stands still while a segment is missing and jumps when the hole is filled: everything
/// behind it arrived before and is handed over at once, so an interval of a second can show more than the line carries.
/// It is exact over long times and wrong about when. The kernel's count of data segments grows as they arrive. So the
/// octets in order say how many, and where the receiver's segments are known, they say when.
struct Stream {
    in_order: Counter,
    segments: Counter,
    /// Where both are known: the arrival of segments places the octets.
    both: Option<Window>,
}

impl Stream {
    fn new(flow: &FlowSpec, octets: Vec<(TestTime, u64)>, segments: Vec<(TestTime, u64)>) -> Self {
        let in_order = Counter::new(octets).starting_from_zero_at(flow.window.from);
        let segments = Counter::new(segments).starting_from_zero_at(flow.window.from);
        let both = || {
            let from = in_order.first()?.0.max(segments.first()?.0);
            let to = in_order.last()?.0.min(segments.last()?.0);
            (from < to && segments.at(from) < segments.at(to)).then_some(Window { from, to })
        };
        let both = both();
        Self { in_order, segments, both }
    }

    /// Octets that had arrived by `at`.
    fn arrived(&self, at: TestTime) -> f64 {
        let Some(Window { from, to }) = self.both.filter(|both| both.contains(at)) else {
            return self.in_order.at(at);
        };
        let share = (self.segments.at(at) - self.segments.at(from)) / (self.segments.at(to) - self.segments.at(from));
        let octets = self.in_order.at(to) - self.in_order.at(from);
        self.in_order.at(from) + octets * share
    }

    /// Octets in order between the edges of `window`.
    fn octets(&self, window: Window) -> ByteCount {
        ByteCount((self.in_order.at(window.to) - self.in_order.at(window.from)).round() as u64)
    }

    /// Octets that arrived in each of these intervals. Rounded so that they add up to the whole.
    fn per_bin(&self, bins: &TimeBins) -> Vec<u64> {
        let totals: Vec<u64> = bins.edges().map(|edge| self.arrived(edge).round() as u64).collect();
        totals.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }
}

/// The load of one direction during `load`.
///
/// The mean of a flow is over its own window within the load phase. When the recording ended early (`partial`), it is
/// over the time until the receiver's last reading. Edges of windows fall between readings and are interpolated.
pub(crate) fn goodput(recording: &Recording, direction: Direction, load: Window, partial: bool) -> DirectionGoodput {
    let mut readings = Readings::gather(recording, direction);
    let flows: Vec<&FlowSpec> = recording
        .header
        .flows
        .iter()
        .filter(|flow| flow.component == Component::Load && flow.direction == Some(direction))
        .collect();
    let streams: Vec<Stream> = flows
        .iter()
        .map(|flow| {
            let octets = readings.octets.remove(&flow.id).unwrap_or_default();
            Stream::new(flow, octets, readings.segments.remove(&flow.id).unwrap_or_default())
        })
        .collect();
    // What is left in the queues when the load ends still arrives, and belongs in the picture; after the last reading
    // and after the test there is nothing to show.
    let shown: Vec<Window> = flows
        .iter()
        .zip(&streams)
        .map(|(flow, stream)| Window {
            from: flow.window.from,
            to: stream.in_order.last_growth().map_or(flow.window.to, |growth| growth.max(flow.window.to)),
        })
        .collect();
    let limit = recording.header.phases.iter().map(|entry| entry.window.to).max().min(readings.last);
    let bins = TimeBins::covering(hull(&shown, limit), recording.header.plan.sample_interval);

    let mut sums = vec![0_u64; bins.len()];
    let mut covered = vec![false; bins.len()];
    let mut goodput = DirectionGoodput::default();
    for ((flow, stream), shown) in flows.iter().zip(&streams).zip(shown) {
        let own = Window { from: flow.window.from.max(load.from), to: flow.window.to.min(load.to) };
        let last = readings.last.unwrap_or(own.from);
        let own = if partial { Window { to: own.to.min(last), ..own } } else { own };
        let octets = if own.from < own.to { stream.octets(own) } else { ByteCount(0) };
        let mut series = Vec::new();
        if stream.in_order.first().is_some() {
            let per_bin = stream.per_bin(&bins);
            for index in bins.within(shown) {
                sums[index] = sums[index].saturating_add(per_bin[index]);
                covered[index] = true;
                series.extend(rate_point(&bins, index, per_bin[index]));
            }
        }
        let mean = octets.per(own.length());
        goodput.sum = BitRate(goodput.sum.0.saturating_add(mean.0));
        goodput.octets = ByteCount(goodput.octets.0.saturating_add(octets.0));
        let retransmitted = retransmitted(readings.sent.get(&flow.id), own);
        goodput.flows.push(GoodputFlow { flow: (*flow).into(), mean, octets, series, retransmitted });
    }
    goodput.mean = BitRate(goodput.sum.0.checked_div(flows.len() as u64).unwrap_or(0));
    let with_data = sums.iter().enumerate().filter(|(index, _)| covered[*index]);
    goodput.sum_series = with_data.filter_map(|(index, octets)| rate_point(&bins, index, *octets)).collect();
    goodput
}

/// The stretch that holds all windows, no later than `limit`; empty without windows or limit.
fn hull(windows: &[Window], limit: Option<TestTime>) -> Window {
    let from = windows.iter().map(|window| window.from).min().unwrap_or_default();
    let to = windows.iter().map(|window| window.to).max().min(limit).unwrap_or(from);
    Window { from, to }
}

fn rate_point(bins: &TimeBins, index: usize, octets: u64) -> Option<RatePoint> {
    let (at, over): (TestTime, Duration) = bins.bin(index)?;
    Some(RatePoint { at, over, rate: ByteCount(octets).per(over) })
}

/// Octets retransmitted as a share of octets sent, at the sender's last reading in `window`.
fn retransmitted(sent: Option<&Vec<TcpInfo>>, window: Window) -> Option<f64> {
    let last = sent?.iter().filter(|row| window.contains(row.at)).max_by_key(|row| row.at)?;
    (last.bytes_sent > 0).then(|| (last.bytes_retrans as f64 / last.bytes_sent as f64).min(1.0))
}

/// Whether the receiver of this direction recorded any count of octets.
pub(crate) fn was_counted(recording: &Recording, direction: Direction) -> bool {
    let point: ObservationPoint = receiver(direction);
    recording.tables_of(point).any(|tables| !tables.octets_received.is_empty())
}
