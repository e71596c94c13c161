//! What the kernels at both ends said of the test's connections, brought together once for all that looks at it.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::FlowId;
use rrul_model::observation::{ObservationPoint, TcpInfo};
use rrul_model::recording::Recording;
use rrul_model::time::Window;

/// Readings of `TCP_INFO` by end and connection.
#[derive(Debug)]
pub(crate) struct TcpReadings([HashMap<FlowId, Vec<TcpInfo>>; 2]);

impl TcpReadings {
    pub(crate) fn from_recording(recording: &Recording) -> Self {
        let gather = |point| {
            let mut readings: HashMap<FlowId, Vec<TcpInfo>> = HashMap::new();
            for row in recording.tables_of(point).flat_map(|tables| tables.tcp_info.rows()) {
                readings.entry(row.flow).or_default().push(row);
            }
            for rows in readings.values_mut() {
                rows.sort_by_key(|row| row.at);
            }
            readings
        };
        Self([ObservationPoint::Client, ObservationPoint::Server].map(gather))
    }

    /// Returns the readings of one connection at one end, by that host's time; empty if it was never read there.
    pub(crate) fn at(&self, point: ObservationPoint, flow: FlowId) -> &[TcpInfo] {
        self.0[point as usize].get(&flow).map_or(&[], Vec::as_slice)
    }
}

/// Those of these readings that were taken within `window`.
pub(crate) fn within(readings: &[TcpInfo], window: Window) -> &[TcpInfo] {
    let from = readings.partition_point(|row| row.at < window.from);
    let to = readings.partition_point(|row| row.at < window.to);
    readings.get(from..to).unwrap_or_default()
}

/// Those of a connection's readings whose delivery rate was measured since the reading before. Where nothing more was delivered, as in
/// a class that the router starves, the kernel repeats what it measured before.
pub(crate) fn measured_anew(readings: &[TcpInfo]) -> impl Iterator<Item = &TcpInfo> + Clone {
    let before = std::iter::once(None).chain(readings.iter().map(Some));
    let anew =
        |(row, before): &(&TcpInfo, Option<&TcpInfo>)| before.is_none_or(|before| row.delivered != before.delivered);
    readings.iter().zip(before).filter(anew).map(|(row, _)| row)
}

/// Whether the sender's program limited the rate that a reading measured: the kernel says so, and not more than a segment waited to
/// be sent.
///
/// The kernel says it of all that is in flight after one moment with nothing to send: when a stream begins, and when
/// acknowledgments arrive together. Over a queue of seconds such a moment would mark much of a test.
pub(crate) fn is_program_limited(reading: &TcpInfo) -> bool {
    reading.app_limited != 0 && reading.notsent_bytes <= reading.snd_mss
}
