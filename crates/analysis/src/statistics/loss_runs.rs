//! Runs of lost packets: whether losses come scattered or in bursts.

use schemars::JsonSchema;
use serde::Serialize;

/// Bursts of lost packets in a row, and the gaps of packets that arrived between two bursts (RFC 3357).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LossRuns {
    sent: u64,
    lost: u64,
    bursts: u64,
    longest_burst: u64,
    gaps: u64,
    in_gaps: u64,
    shortest_gap: Option<u64>,
}

impl LossRuns {
    /// The runs of one stream, from the fate of each packet in the order of sending.
    pub fn from_fates(lost: impl IntoIterator<Item = bool>) -> Self {
        let mut runs = Self::default();
        let (mut burst, mut gap) = (0_u64, 0_u64);
        for lost in lost {
            runs.sent += 1;
            if lost {
                if burst == 0 {
                    runs.bursts += 1;
                    // What arrived before the first burst is between no two bursts.
                    if runs.bursts > 1 {
                        runs.gaps += 1;
                        runs.in_gaps += gap;
                        runs.shortest_gap = Some(runs.shortest_gap.map_or(gap, |shortest| shortest.min(gap)));
                    }
                }
                (burst, gap) = (burst + 1, 0);
                runs.lost += 1;
                runs.longest_burst = runs.longest_burst.max(burst);
            } else {
                (burst, gap) = (0, gap + 1);
            }
        }
        runs
    }

    /// The runs of several streams together.
    #[must_use]
    pub fn and(self, other: Self) -> Self {
        Self {
            sent: self.sent + other.sent,
            lost: self.lost + other.lost,
            bursts: self.bursts + other.bursts,
            longest_burst: self.longest_burst.max(other.longest_burst),
            gaps: self.gaps + other.gaps,
            in_gaps: self.in_gaps + other.in_gaps,
            shortest_gap: self.shortest_gap.into_iter().chain(other.shortest_gap).min(),
        }
    }

    pub fn sent(&self) -> u64 {
        self.sent
    }

    pub fn lost(&self) -> u64 {
        self.lost
    }

    /// Lost packets as a share of all; `None` of none.
    pub fn share(&self) -> Option<f64> {
        (self.sent > 0).then(|| self.lost as f64 / self.sent as f64)
    }

    /// Mean length of a burst, packets; `None` without loss.
    pub fn mean_burst(&self) -> Option<f64> {
        (self.bursts > 0).then(|| self.lost as f64 / self.bursts as f64)
    }

    /// BurstR of G.107: the mean burst over that of random loss at the same rate, 1 / (1 - loss). 1 is random, above it
    /// losses cluster. `None` without loss, and when everything was lost.
    pub fn burst_ratio(&self) -> Option<f64> {
        let arrived = 1.0 - self.share()?;
        (self.lost < self.sent).then_some(())?;
        Some(self.mean_burst()? * arrived)
    }

    pub fn summary(&self) -> LossRunsSummary {
        LossRunsSummary {
            bursts: self.bursts,
            mean_burst: self.mean_burst(),
            longest_burst: self.longest_burst,
            mean_gap: (self.gaps > 0).then(|| self.in_gaps as f64 / self.gaps as f64),
            shortest_gap: self.shortest_gap,
            burst_ratio: self.burst_ratio(),
        }
    }
}

/// Runs of lost packets as numbers.
///
/// Losses in the order in which the packets were sent.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Loss runs")]
pub struct LossRunsSummary {
    /// Bursts: runs of consecutive losses.
    ///
    /// Unit: count. Source: RFC 3357.
    pub bursts: u64,
    /// Mean length of a burst. Null without loss.
    ///
    /// Unit: packets. Source: RFC 3357.
    pub mean_burst: Option<f64>,
    /// Length of the longest burst.
    ///
    /// Unit: packets. Source: RFC 3357.
    pub longest_burst: u64,
    /// Mean number of packets that arrived between two bursts. Null with fewer than two bursts.
    ///
    /// Unit: packets. Source: RFC 3357.
    pub mean_gap: Option<f64>,
    /// Smallest number of packets that arrived between two bursts.
    ///
    /// Unit: packets. Source: RFC 3357.
    pub shortest_gap: Option<u64>,
    /// BurstR: mean burst over that of random loss at the same rate, 1 / (1 - loss). 1: random. Above 1: losses
    /// cluster. Below 1: spread more evenly than by chance. `null` without loss, and where everything was lost.
    ///
    /// Source: ITU-T G.107.
    pub burst_ratio: Option<f64>,
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `x` is lost, `.` is not.
    fn runs(packets: &str) -> LossRuns {
        LossRuns::from_fates(packets.bytes().map(|packet| packet == b'x'))
    }

    #[test]
    fn bursts_and_the_gaps_between_them_are_counted() {
        let summary = runs("..xx...x.xxx....").summary();
        assert_eq!((summary.bursts, summary.longest_burst), (3, 3));
        assert_eq!((summary.mean_burst, summary.mean_gap, summary.shortest_gap), (Some(2.0), Some(2.0), Some(1)));
        // 6 of 16 lost: random loss would have bursts of 1.6.
        assert_eq!(summary.burst_ratio, Some(2.0 / 1.6));
    }

    #[test]
    fn scattered_loss_has_a_ratio_of_one_and_evenly_spaced_loss_less() {
        // Random losses by a linear congruential generator, one in ten.
        let mut state = 1_u64;
        let random = std::iter::repeat_with(|| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            state >> 33 < (1 << 31) / 10
        });
        let ratio = LossRuns::from_fates(random.take(200_000)).burst_ratio().unwrap();
        assert!((0.99..1.01).contains(&ratio), "{ratio}");
        let even = LossRuns::from_fates((0..1000).map(|n| n % 10 == 0)).burst_ratio().unwrap();
        assert!((even - 0.9).abs() < 1e-12, "{even}");
    }

    #[test]
    fn without_loss_or_with_nothing_else_the_ratio_is_unknown() {
        assert_eq!((runs("....").burst_ratio(), runs("....").share()), (None, Some(0.0)));
        assert_eq!((runs("xxxx").burst_ratio(), runs("xxxx").mean_burst()), (None, Some(4.0)));
        assert_eq!((runs("").burst_ratio(), runs("").share()), (None, None));
    }

    #[test]
    fn streams_together_are_not_one_stream() {
        // A burst at the end of one and another at the beginning of the next are two.
        let both = runs("..xx").and(runs("x..x"));
        assert_eq!((both.sent(), both.lost(), both.mean_burst()), (8, 4, Some(4.0 / 3.0)));
    }
}
