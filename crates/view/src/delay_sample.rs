//! The round-trip delays of one phase as a distribution, lost packets at its end.

use rrul_analysis::Analysis;
use rrul_analysis::packets::probe_pool::pooled;
use rrul_analysis::series::DelayPoint;
use rrul_analysis::statistics::percentile::percentile;
use rrul_model::phase::Phase;
use rrul_model::time::Window;
use rrul_model::units::Delay;

/// A delay as a number to draw or to compute with, nanoseconds.
pub(crate) fn nanoseconds(delay: Delay) -> f64 {
    delay.0 as f64
}

/// Returns the packets of those flows that the analysis pools.
pub(crate) fn pooled_packets(run: &Analysis) -> impl Iterator<Item = &DelayPoint> {
    pooled(&run.round_trip_delay.flows).into_iter().flat_map(|flow| &flow.series)
}

/// When a phase took place; of the load, the part that is scored, as in every figure of the analysis.
pub(crate) fn window(run: &Analysis, phase: Phase) -> Option<Window> {
    let window = run.test.phases.iter().find(|entry| entry.phase == phase)?.window;
    match run.scored.common {
        Some(scored) if phase == Phase::Load => Some(window.intersection(&scored)),
        _ => Some(window),
    }
}

/// Delays of packets; a lost one is infinitely late.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct Sample {
    /// Of those that were answered, from the lowest.
    pub(crate) sorted: Vec<Delay>,
    pub(crate) lost: u64,
}

impl Sample {
    /// Of those of these packets that were sent in a phase.
    pub(crate) fn of<'p>(run: &Analysis, phase: Phase, packets: impl Iterator<Item = &'p DelayPoint>) -> Self {
        let Some(window) = window(run, phase) else { return Self::default() };
        let mut sample = Self::default();
        for packet in packets.filter(|packet| window.contains(packet.at)) {
            match packet.delay {
                Some(delay) => sample.sorted.push(delay),
                None => sample.lost += 1,
            }
        }
        sample.sorted.sort_unstable();
        sample
    }

    /// Of the pooled probes of a run.
    pub(crate) fn pooled(run: &Analysis, phase: Phase) -> Self {
        Self::of(run, phase, pooled_packets(run))
    }

    pub(crate) fn sent(&self) -> u64 {
        self.sorted.len() as u64 + self.lost
    }

    /// The part that was lost, 0 to 1; 0 of nothing.
    pub(crate) fn lost_share(&self) -> f64 {
        self.lost as f64 / self.sent().max(1) as f64
    }

    /// By nearest rank; `None` where it falls on a loss.
    pub(crate) fn percentile(&self, per_mille: u16) -> Option<Delay> {
        percentile(&self.sorted, self.lost, per_mille)
    }

    /// Each delay that occurred, and the part of all packets that took at most this long (RFC 2330 section 11.3).
    pub(crate) fn at_most(&self) -> Vec<(f64, f64)> {
        let sent = self.sent() as f64;
        let ends = self.sorted.iter().enumerate().filter(|(index, delay)| self.sorted.get(index + 1) != Some(delay));
        ends.map(|(index, delay)| (nanoseconds(*delay), (index + 1) as f64 / sent)).collect()
    }

    /// Each delay that occurred, and the part of all packets that took at least this long.
    pub(crate) fn at_least(&self) -> Vec<(f64, f64)> {
        let sent = self.sent() as f64;
        let differs = |index: usize, delay: &Delay| index == 0 || self.sorted.get(index - 1) != Some(delay);
        let begins = self.sorted.iter().enumerate().filter(|(index, delay)| differs(*index, delay));
        begins.map(|(index, delay)| (nanoseconds(*delay), (sent - index as f64) / sent)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sample(delays: &[i64], lost: u64) -> Sample {
        Sample { sorted: delays.iter().map(|ms| Delay(ms * 1_000_000)).collect(), lost }
    }

    #[test]
    fn the_distribution_of_five_packets_agrees_with_one_worked_by_hand() {
        let five = sample(&[10, 20, 20, 40], 1);
        assert_eq!(five.at_most(), [(10e6, 0.2), (20e6, 0.6), (40e6, 0.8)]);
        assert_eq!(five.at_least(), [(10e6, 1.0), (20e6, 0.8), (40e6, 0.4)]);
        assert_eq!((five.percentile(500), five.percentile(800)), (Some(Delay(20_000_000)), Some(Delay(40_000_000))));
        assert_eq!((five.percentile(950), five.lost_share()), (None, 0.2));
        assert!(sample(&[], 0).at_most().is_empty() && sample(&[], 3).at_least().is_empty());
    }
}
