//! Goodput: bytes delivered to a receiver in order, over time (RFC 2647 section 3.17).

use crate::flow_label::FlowLabel;
use std::ops::Range;
use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowId, FlowSpec};
use rrul_model::observation::{ObservationPoint, TcpInfo, receiver, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::packets::tcp_readings::TcpReadings;
use crate::series::RatePoint;
use crate::statistics::counter::Counter;
use crate::statistics::time_bins::TimeBins;

/// Goodput of the load by direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Goodput {
    /// Server to client.
    pub down: DirectionGoodput,
    /// Client to server.
    pub up: DirectionGoodput,
}

impl Goodput {
    /// Returns the goodput of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionGoodput {
        direction.select(&self.up, &self.down)
    }
}

/// Goodput of the load in one direction.
///
/// `down` is server to client, `up` client to server. Acknowledgments of the opposite direction are not in these
/// numbers. Rates are over the [scored window](#scored-window) of the direction, bytes over the whole load phase.
///
/// **Goodput over time** (charts) is on a grid of the plan's sample interval, aligned to the beginning of the test, *by
/// the time of arrival*. The count of bytes in order is not enough: while a segment is missing it stands still, and
/// when the segment arrives it jumps by everything behind it. An interval would then show more than the line carries.
/// So the number of bytes is from the count in order, and their distribution over time from the kernel's count of data
/// segments received (`tcpi_data_segs_in`), where the receiver's `TCP_INFO` was recorded; otherwise from the count in
/// order alone. Both are interpolated between readings. A stretch shorter than half an interval at the end joins the
/// one before it. Bytes that arrive after the load, from queues that drain, are shown but not counted in the mean.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Goodput")]
pub struct DirectionGoodput {
    /// Sum over the flows of `mean_bps`.
    ///
    /// Source: spec (aggregate bandwidth).
    #[serde(rename = "sum_bps")]
    pub sum: BitRate,
    /// `sum_bps` divided by the number of flows, the "average" line of the classic RRUL chart.
    ///
    /// Source: chart explanation.
    #[serde(rename = "mean_bps")]
    pub mean: BitRate,
    /// Sum over the flows.
    pub octets: ByteCount,
    /// Each stream.
    pub flows: Vec<GoodputFlow>,
    /// Sum of the flows over time, on the same grid.
    #[serde(skip)]
    pub sum_series: Vec<RatePoint>,
    /// When the last byte arrived, and the time between the two readings that show it; `None` without bytes.
    #[serde(skip)]
    pub last_arrival: Option<LastArrival>,
}

/// When the last byte of a direction arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LastArrival {
    /// The time: bytes that arrived since the reading before are taken to have come at the rate of the scored window.
    pub at: TestTime,
    /// From one reading to the next.
    pub between: Window,
}

/// One bulk flow at its receiver.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct GoodputFlow {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Delivered bytes over time: bytes that TCP delivered to the receiver, in order and once, during the flow's time
    /// within the scored window. Headers, retransmitted and duplicate bytes are not counted. Counts at the edges of the
    /// window are interpolated between readings. If the recording ended early: until the receiver's last reading.
    ///
    /// Source: spec, Variables Under Test; RFC 2647 section 3.17.
    #[serde(rename = "mean_bps")]
    pub mean: BitRate,
    /// Delivered bytes in the whole load phase.
    pub octets: ByteCount,
    /// Goodput over time, by the time at which the bytes arrived, on a grid of one sample interval.
    #[serde(skip)]
    pub series: Vec<RatePoint>,
    /// Retransmitted bytes per million bytes sent, in the same time, from the sender's kernel. An upper bound of loss,
    /// because not every retransmission was needed.
    ///
    /// Source: RFC 4898.
    #[serde(rename = "retransmitted_ppm", serialize_with = "parts_per_million")]
    #[schemars(with = "Option<u64>")]
    pub retransmitted: Option<f64>,
}

#[expect(clippy::ref_option, reason = "serde asks for it")]
fn parts_per_million<S: Serializer>(share: &Option<f64>, serializer: S) -> Result<S::Ok, S::Error> {
    share.map(|share| (share * 1e6).round() as u64).serialize(serializer)
}

/// What was delivered of each flow to the receiver of one direction.
struct Octets {
    of_flow: HashMap<FlowId, Vec<(TestTime, u64)>>,
    /// When the receiver last read any flow's bytes.
    last: Option<TestTime>,
}

impl Octets {
    fn gather(recording: &Recording, direction: Direction) -> Self {
        let mut octets = Self { of_flow: HashMap::new(), last: None };
        for row in recording.tables_of(receiver(direction)).flat_map(|tables| tables.octets_received.rows()) {
            octets.of_flow.entry(row.flow).or_default().push((row.at, row.octets.0));
            octets.last = octets.last.max(Some(row.at));
        }
        octets
    }
}

/// One stream's bytes over time, by two readings of the same thing.
///
/// The count of bytes *in order* stands still while a segment is missing and jumps when the hole is filled: everything
/// behind it arrived before and is handed over at once, so an interval of a second can show more than the line carries.
/// It is exact over long times and wrong about when. The kernel's count of data segments grows as they arrive. So the
/// bytes in order say how many, and where the receiver's segments are known, they say when.
struct Stream {
    in_order: Counter,
    segments: Counter,
    /// Where both are known: the arrival of segments places the bytes.
    both: Option<Both>,
}

/// The stretch in which bytes and segments are known, and both counts at its beginning and how far they grow within.
struct Both {
    window: Window,
    octets: (f64, f64),
    segments: (f64, f64),
}

impl Stream {
    fn new(flow: &FlowSpec, octets: Vec<(TestTime, u64)>, segments: Vec<(TestTime, u64)>) -> Self {
        let in_order = Counter::new(octets).starting_from_zero_at(flow.window.from);
        let segments = Counter::new(segments).starting_from_zero_at(flow.window.from);
        let both = || {
            let from = in_order.first()?.0.max(segments.first()?.0);
            let to = in_order.last()?.0.min(segments.last()?.0);
            let grown = |counter: &Counter| (counter.at(from), counter.at(to) - counter.at(from));
            let both = || Both { window: Window { from, to }, octets: grown(&in_order), segments: grown(&segments) };
            (from < to && segments.at(from) < segments.at(to)).then(both)
        };
        let both = both();
        Self { in_order, segments, both }
    }

    /// Bytes that had arrived by these times, which are in order.
    fn arrived(&self, times: impl Iterator<Item = TestTime> + Clone) -> impl Iterator<Item = f64> {
        let counts = self.in_order.at_each(times.clone()).zip(self.segments.at_each(times.clone()));
        times.zip(counts).map(|(at, (in_order, segments))| {
            let Some(both) = self.both.as_ref().filter(|both| both.window.contains(at)) else { return in_order };
            let (begun, grown) = both.segments;
            both.octets.0 + both.octets.1 * ((segments - begun) / grown)
        })
    }

    /// The stretch between two readings in which something arrived last. Segments behind a hole are not in order and have
    /// arrived all the same.
    fn last_growing(&self) -> Option<Window> {
        [&self.in_order, &self.segments].into_iter().filter_map(Counter::last_growing).max_by_key(|window| window.to)
    }

    /// Bytes in order between the edges of `window`; none when it is empty.
    fn octets(&self, window: Window) -> ByteCount {
        if window.to <= window.from {
            return ByteCount(0);
        }
        ByteCount((self.in_order.at(window.to) - self.in_order.at(window.from)).round() as u64)
    }

    /// Bytes that arrived in each of these intervals. Rounded so that they add up to the whole.
    fn per_bin(&self, bins: &TimeBins) -> Vec<u64> {
        let totals: Vec<u64> = self.arrived(bins.edges()).map(|octets| octets.round() as u64).collect();
        totals.windows(2).map(|pair| pair[1].saturating_sub(pair[0])).collect()
    }
}

/// The load of one direction, brought onto one grid of time.
pub(crate) struct Load<'a> {
    flows: Vec<Loaded<'a>>,
    bins: TimeBins,
    /// Sum of the flows over time.
    pub(crate) series: Vec<RatePoint>,
}

/// One of its flows.
struct Loaded<'a> {
    flow: &'a FlowSpec,
    stream: Stream,
    sent: &'a [TcpInfo],
    /// Its time within the load phase.
    own: Window,
    /// Bytes in each interval, and the intervals that show any.
    per_bin: Vec<u64>,
    shown: Range<usize>,
}

impl<'a> Load<'a> {
    /// The flows that load in this direction, during `load`.
    ///
    /// A flow's own time is its window within the load phase. When the recording ended early (`partial`), it is the time
    /// until the receiver's last reading.
    pub(crate) fn gather(
        recording: &'a Recording,
        tcp: &'a TcpReadings,
        direction: Direction,
        load: Window,
        partial: bool,
    ) -> Self {
        let mut handed = Octets::gather(recording, direction);
        let last = handed.last;
        let of_direction = |flow: &&FlowSpec| flow.is_load_stream() && flow.direction == Some(direction);
        let loaded = |flow: &'a FlowSpec| {
            let octets = handed.of_flow.remove(&flow.id).unwrap_or_default();
            let received = tcp.at(receiver(direction), flow.id).iter();
            let segments = received.map(|row| (row.at, u64::from(row.data_segs_in))).collect();
            let own = Window { from: flow.window.from.max(load.from), to: flow.window.to.min(load.to) };
            Loaded {
                flow,
                stream: Stream::new(flow, octets, segments),
                sent: tcp.at(sender(direction), flow.id),
                own: if partial { Window { to: own.to.min(last.unwrap_or(own.from)), ..own } } else { own },
                per_bin: Vec::new(),
                shown: 0..0,
            }
        };
        let mut flows: Vec<Loaded<'_>> = recording.header.flows.iter().filter(of_direction).map(loaded).collect();
        // What is left in the queues when the load ends still arrives, and belongs in the picture; after the last
        // reading and after the test nothing is shown.
        let shown = |loaded: &Loaded<'_>| {
            let Window { from, to } = loaded.flow.window;
            Window { from, to: loaded.stream.in_order.last_growth().map_or(to, |growth| growth.max(to)) }
        };
        let windows: Vec<Window> = flows.iter().map(shown).collect();
        let limit = recording.header.phases.iter().map(|entry| entry.window.to).max().min(last);
        let bins = TimeBins::covering(hull(&windows, limit), recording.header.plan.sample_interval);
        let mut sums = vec![0_u64; bins.len()];
        let mut covered = vec![false; bins.len()];
        for (loaded, window) in flows.iter_mut().zip(windows) {
            if loaded.stream.in_order.first().is_none() {
                continue;
            }
            loaded.per_bin = loaded.stream.per_bin(&bins);
            loaded.shown = bins.within(window);
            for index in loaded.shown.clone() {
                sums[index] = sums[index].saturating_add(loaded.per_bin[index]);
                covered[index] = true;
            }
        }
        let with_data = sums.iter().enumerate().filter(|(index, _)| covered[*index]);
        let series = with_data.filter_map(|(index, octets)| rate_point(&bins, index, *octets)).collect();
        Self { flows, bins, series }
    }

    /// From when to when any of the flows was to load; `None` without one.
    pub(crate) fn window(&self) -> Option<Window> {
        let own = || self.flows.iter().map(|loaded| loaded.own).filter(|own| own.from < own.to);
        Some(Window { from: own().map(|own| own.from).min()?, to: own().map(|own| own.to).max()? })
    }

    /// The goodput, its rates over `scored`.
    ///
    /// Edges of windows fall between readings and are interpolated.
    pub(crate) fn goodput(self, scored: Option<Window>) -> DirectionGoodput {
        let mut goodput = DirectionGoodput::default();
        let count = self.flows.len() as u64;
        let last = self.last_octets();
        for loaded in self.flows {
            let Loaded { flow, stream, own, .. } = &loaded;
            let scored = scored.map_or(*own, |scored| own.intersection(&scored));
            let mean = stream.octets(scored).per(scored.length());
            let octets = stream.octets(*own);
            goodput.sum = BitRate(goodput.sum.0.saturating_add(mean.0));
            goodput.octets = ByteCount(goodput.octets.0.saturating_add(octets.0));
            let series = loaded.shown.clone().filter_map(|bin| rate_point(&self.bins, bin, loaded.per_bin[bin]));
            goodput.flows.push(GoodputFlow {
                flow: (*flow).into(),
                mean,
                octets,
                series: series.collect(),
                retransmitted: retransmitted(loaded.sent, flow.window.from, scored),
            });
        }
        goodput.mean = BitRate(goodput.sum.0.checked_div(count).unwrap_or(0));
        goodput.sum_series = self.series;
        goodput.last_arrival = last.map(|(between, octets)| {
            let took = Duration::try_from_secs_f64(octets * 8.0 / goodput.sum.0 as f64).unwrap_or(Duration::MAX);
            LastArrival { at: between.from + took.min(between.length()), between }
        });
        goodput
    }

    /// The stretch between two readings in which something arrived last, and how many bytes then arrived of all flows.
    fn last_octets(&self) -> Option<(Window, f64)> {
        let last =
            self.flows.iter().filter_map(|loaded| loaded.stream.last_growing()).max_by_key(|window| window.to)?;
        let grown = |stream: &Stream| {
            let [before, after] = [last.from, last.to].map(|at| stream.arrived(std::iter::once(at)).sum::<f64>());
            after - before
        };
        Some((last, self.flows.iter().map(|loaded| grown(&loaded.stream)).sum()))
    }
}

/// The interval that contains all windows, no later than `limit`; empty without windows or limit.
fn hull(windows: &[Window], limit: Option<TestTime>) -> Window {
    let from = windows.iter().map(|window| window.from).min().unwrap_or_default();
    let to = windows.iter().map(|window| window.to).max().min(limit).unwrap_or(from);
    Window { from, to }
}

fn rate_point(bins: &TimeBins, index: usize, octets: u64) -> Option<RatePoint> {
    let (at, over): (TestTime, Duration) = bins.bin(index)?;
    Some(RatePoint { at, over, rate: ByteCount(octets).per(over) })
}

/// Bytes retransmitted as a share of bytes sent, by the sender's readings in `window`.
///
/// Counters are 0 when the flow opens; `None` when nothing is known to have been sent in the window.
fn retransmitted(sent: &[TcpInfo], opened: TestTime, window: Window) -> Option<f64> {
    let within = |field: fn(&TcpInfo) -> u64| {
        let readings = sent.iter().map(|row| (row.at, field(row))).collect();
        let counter = Counter::new(readings).starting_from_zero_at(opened);
        counter.at(window.to) - counter.at(window.from)
    };
    let octets = within(|row| row.bytes_sent);
    (octets > 0.0).then(|| (within(|row| row.bytes_retrans) / octets).min(1.0))
}

/// Whether the receiver of this direction recorded any count of bytes.
pub(crate) fn was_counted(recording: &Recording, direction: Direction) -> bool {
    let point: ObservationPoint = receiver(direction);
    recording.tables_of(point).any(|tables| !tables.octets_received.is_empty())
}
