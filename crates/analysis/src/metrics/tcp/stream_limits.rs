//! What limits the streams of the load other than the network, and their congestion windows over time (RFC 4898).

use rrul_model::flow::Direction;
use rrul_model::observation::{TcpInfo, sender};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::packets::tcp_readings::{TcpReadings, is_program_limited, measured_anew, within};

/// Limits by direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct StreamLimits {
    /// Server to client. Null without streams.
    pub down: DirectionLimits,
    /// Client to server. Null without streams.
    pub up: DirectionLimits,
}

impl StreamLimits {
    pub fn direction(&self, direction: Direction) -> &DirectionLimits {
        direction.select(&self.up, &self.down)
    }
}

/// What limited the senders of one direction's streams.
///
/// What limited the senders of the load other than the network, according to their kernels (`TCP_INFO`, RFC 4898), from
/// the first to the last reading in the steady part of the load. A stream that the receiver's window or the sender's
/// buffer limits does not saturate the line. Null if the sender's kernel did not report it. Outside `streams`: sums
/// over the streams.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Stream limits")]
pub struct DirectionLimits {
    /// All of them: sums of their times over the sum of the busy ones.
    #[serde(flatten)]
    pub pooled: Limits,
    /// Each stream.
    pub streams: Vec<StreamLimit>,
}

/// What held senders back, as parts of time; `None` where the sender's kernel did not say.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
pub struct Limits {
    /// Time with bytes in flight or waiting to be sent.
    ///
    /// Source: tcpi_busy_time.
    pub busy_ns: Option<i64>,
    /// Share of the time with nothing in flight or waiting: the program had nothing to send.
    ///
    /// Unit: share.
    pub idle: Option<f64>,
    /// Share of the busy time in which the receiver's window was the limit.
    ///
    /// Unit: share. Source: tcpi_rwnd_limited.
    pub rwnd_limited: Option<f64>,
    /// Share of the busy time in which the sender's buffer was the limit.
    ///
    /// Unit: share. Source: tcpi_sndbuf_limited.
    pub sndbuf_limited: Option<f64>,
    /// Share of the delivery rates read that the sender's program had limited: the kernel says so, and at most one
    /// segment waited to be sent.
    ///
    /// Unit: share. Source: tcpi_delivery_rate_app_limited, tcpi_notsent_bytes.
    pub app_limited: Option<f64>,
}

/// Limits and series of one stream.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StreamLimit {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// What held it back.
    #[serde(flatten)]
    pub limits: Limits,
    /// Slow-start threshold that the stream began with, which the kernel had cached of earlier connections to the same
    /// host; null when it began without one, as new connections do.
    ///
    /// Unit: segments. Source: tcpi_snd_ssthresh.
    pub initial_slow_start_threshold: Option<u32>,
    /// Its sender's TCP over time, of the whole test.
    #[serde(skip)]
    pub series: Vec<TcpPoint>,
}

/// A sender's TCP at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TcpPoint {
    /// When, on the sender's clock.
    pub at: TestTime,
    /// Congestion window, segments.
    pub congestion_window: u32,
    /// Slow-start threshold, segments; `None` until the first.
    pub slow_start_threshold: Option<u32>,
    /// Smoothed round-trip time, microseconds.
    pub round_trip_us: u32,
    /// Segments retransmitted so far.
    pub retransmitted: u32,
}

/// The kernel's "no threshold yet" (TCP_INFINITE_SSTHRESH).
const NO_THRESHOLD: u32 = 0x7fff_ffff;

/// Sums from which the parts are made; microseconds.
#[derive(Default)]
struct Times {
    elapsed: u64,
    busy: u64,
    rwnd: u64,
    sndbuf: u64,
    readings: u64,
    app_limited: u64,
}

impl Times {
    /// Measures one stream, from the first reading in the window to the last.
    fn from_rows(rows: &[TcpInfo], window: Window) -> Option<Self> {
        let inside = within(rows, window);
        let (first, last) = (inside.first()?, inside.last()?);
        let elapsed = u64::try_from(last.at.since(first.at).0).ok()? / 1000;
        let rates = measured_anew(rows).filter(|row| window.contains(row.at));
        let grown = |field: fn(&TcpInfo) -> u64| field(last).saturating_sub(field(first));
        Some(Self {
            elapsed,
            busy: grown(|row| row.busy_time).min(elapsed),
            rwnd: grown(|row| row.rwnd_limited),
            sndbuf: grown(|row| row.sndbuf_limited),
            readings: rates.clone().count() as u64,
            app_limited: rates.filter(|row| is_program_limited(row)).count() as u64,
        })
        .filter(|times| times.elapsed > 0)
    }

    fn add(&mut self, other: &Self) {
        let pairs = [
            (&mut self.elapsed, other.elapsed),
            (&mut self.busy, other.busy),
            (&mut self.rwnd, other.rwnd),
            (&mut self.sndbuf, other.sndbuf),
            (&mut self.readings, other.readings),
            (&mut self.app_limited, other.app_limited),
        ];
        for (sum, more) in pairs {
            *sum = sum.saturating_add(more);
        }
    }

    fn limits(&self) -> Limits {
        let part = |of: u64, whole: u64| (whole > 0).then(|| (of as f64 / whole as f64).min(1.0));
        Limits {
            busy_ns: (self.elapsed > 0).then(|| i64::try_from(self.busy.saturating_mul(1000)).unwrap_or(i64::MAX)),
            idle: part(self.elapsed - self.busy, self.elapsed),
            rwnd_limited: part(self.rwnd, self.busy),
            sndbuf_limited: part(self.sndbuf, self.busy),
            app_limited: part(self.app_limited, self.readings),
        }
    }
}

/// What held the streams of each direction back within its window.
pub(crate) fn stream_limits(
    recording: &Recording,
    tcp: &TcpReadings,
    window: impl Fn(Direction) -> Window,
) -> StreamLimits {
    let of = |direction| of_direction(recording, tcp, direction, window(direction));
    StreamLimits { down: of(Direction::Down), up: of(Direction::Up) }
}

fn of_direction(recording: &Recording, tcp: &TcpReadings, direction: Direction, window: Window) -> DirectionLimits {
    let mut sums = Times::default();
    let mut streams = Vec::new();
    let load = |flow: &&rrul_model::flow::FlowSpec| flow.is_load_stream() && flow.direction == Some(direction);
    for flow in recording.header.flows.iter().filter(load) {
        let rows = tcp.at(sender(direction), flow.id);
        // Other programs' recordings hold windows and round trips, and no times.
        let times =
            Times::from_rows(rows, window.intersection(&flow.window)).filter(|_| recording.header.imported.is_none());
        if let Some(times) = &times {
            sums.add(times);
        }
        let limits = times.map_or_else(Limits::default, |times| times.limits());
        let initial_slow_start_threshold =
            rows.first().filter(|row| !has_sent(row) && recording.header.imported.is_none()).and_then(threshold);
        let series = rows.iter().map(point).collect();
        streams.push(StreamLimit { flow: flow.into(), limits, initial_slow_start_threshold, series });
    }
    DirectionLimits { pooled: sums.limits(), streams }
}

/// Whether a stream had sent more than what opens it.
fn has_sent(row: &TcpInfo) -> bool {
    row.bytes_sent >= u64::from(row.snd_mss)
}

fn threshold(row: &TcpInfo) -> Option<u32> {
    Some(row.snd_ssthresh).filter(|threshold| (1..NO_THRESHOLD).contains(threshold))
}

fn point(row: &TcpInfo) -> TcpPoint {
    TcpPoint {
        at: row.at,
        congestion_window: row.snd_cwnd,
        slow_start_threshold: Some(row.snd_ssthresh).filter(|threshold| *threshold < NO_THRESHOLD),
        round_trip_us: row.rtt,
        retransmitted: row.total_retrans,
    }
}
