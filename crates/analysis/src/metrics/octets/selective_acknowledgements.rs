//! How many acknowledgments bore selective acknowledgments (RFC 2018): kernels count neither them nor their bytes.
//!
//! A receiver acknowledges each segment that arrives out of order at once, and reports which bytes it has received. But
//! where several arrive together, Linux sends one acknowledgment for all (SACK compression, since 4.18): over links of
//! 8 to 50 Mbit/s with random loss, small buffers or FQ-CoDel 0.6 to 1.0 such acknowledgments were sent for each
//! segment out of order. What is known is how many acknowledgments were sent in all, and how many a data segment in
//! order gets on this stream. So in each interval between two readings, those beyond what the segments in order would
//! have got are taken to be selective: that was within 15 % of the truth there.

use rrul_model::observation::TcpInfo;

use crate::statistics::counter::Counter;

/// Blocks that fit beside time stamps.
const MOST_BLOCKS: f64 = 3.0;

/// What it adds to a segment: 4 bytes with padding, and 8 for each block.
///
/// A receiver reports a block for each range that it has received out of order, so one for each segment that is
/// missing; how many those are, the sender of the data knows. Its readings while any were missing give the mean: over
/// the links above 12 bytes where losses were rare, up to 28 behind a queue that drops many segments in a row.
pub(crate) fn option(of_data_sender: &[TcpInfo]) -> u64 {
    let missing = of_data_sender.iter().map(|row| f64::from(row.lost)).filter(|lost| *lost > 0.0);
    let (count, blocks) = missing.fold((0.0, 0.0), |(count, sum), lost| (count + 1.0, sum + lost.min(MOST_BLOCKS)));
    let mean = if count > 0.0 { blocks / count } else { 1.0 };
    4 + (8.0 * mean).round() as u64
}

/// Acknowledgments of a data segment where no interval is without segments out of order.
const USUAL: f64 = 0.5;

/// Between two readings.
struct Interval {
    acknowledgements: f64,
    in_order: f64,
    out_of_order: f64,
}

impl Interval {
    fn between(earlier: &TcpInfo, later: &TcpInfo) -> Self {
        let grown = |of: fn(&TcpInfo) -> u32| f64::from(of(later).saturating_sub(of(earlier)));
        let out_of_order = grown(|row| row.rcv_ooopack);
        Self {
            acknowledgements: grown(|row| row.segs_out.saturating_sub(row.data_segs_out)),
            in_order: (grown(|row| row.data_segs_in) - out_of_order).max(0.0),
            out_of_order,
        }
    }
}

/// Selective acknowledgments that this end has sent, over time; of them, the share that was `delivered`.
pub(crate) fn sent(rows: &[TcpInfo], delivered: f64) -> Counter {
    let intervals = || rows.windows(2).map(|pair| Interval::between(&pair[0], &pair[1]));
    let (acknowledgements, segments) = intervals()
        .filter(|interval| interval.out_of_order == 0.0)
        .fold((0.0, 0.0), |(acknowledgements, segments), one| {
            (acknowledgements + one.acknowledgements, segments + one.in_order)
        });
    let usual = if segments > 0.0 { acknowledgements / segments } else { USUAL };
    let mut total = 0.0;
    let mut readings: Vec<_> = rows.first().map(|row| (row.at, 0)).into_iter().collect();
    for (interval, row) in intervals().zip(&rows[1.min(rows.len())..]) {
        let beyond = interval.acknowledgements - usual * interval.in_order;
        total += beyond.clamp(0.0, interval.out_of_order) * delivered;
        readings.push((row.at, total.round() as u64));
    }
    Counter::new(readings)
}
