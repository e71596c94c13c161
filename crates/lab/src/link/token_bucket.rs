//! Token buckets: a burst allowance that lets a line run faster for a while, and a policer that drops what is too much.

use rrul_model::units::{BitRate, ByteCount};

use crate::time::LabTime;

/// What a provider grants on top of the line's rate after a pause (sold as "PowerBoost"): the line runs at `peak` until
/// the bucket is empty, and fills it at the line's rate while less is sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BurstAllowance {
    /// Bytes in a full bucket, as it is in the beginning.
    pub size: ByteCount,
    /// Bits per second while tokens are left.
    pub peak: BitRate,
}

/// A policer: packets beyond the rate are dropped instead of queued.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Policer {
    /// Bits of L3 per second.
    pub rate: BitRate,
    /// Bytes in a full bucket.
    pub size: ByteCount,
}

/// A bucket at work. Tokens are bits times 10^9, so that nothing is lost to rounding.
#[derive(Debug)]
pub(crate) struct TokenBucket {
    rate: u128,
    full: u128,
    tokens: u128,
    filled_at: LabTime,
}

impl TokenBucket {
    const UNIT: u128 = 1_000_000_000;

    /// A full bucket.
    pub(crate) fn new(rate: BitRate, size: ByteCount, now: LabTime) -> Self {
        let full = u128::from(size.0) * 8 * Self::UNIT;
        Self { rate: u128::from(rate.0.max(1)), full, tokens: full, filled_at: now }
    }

    fn fill(&mut self, now: LabTime) {
        let elapsed = u128::from(now.since(self.filled_at));
        self.tokens = self.full.min(self.tokens + self.rate * elapsed);
        self.filled_at = self.filled_at.max(now);
    }

    /// Takes the tokens of a packet if they suffice; returns whether they did.
    pub(crate) fn take(&mut self, octets: u64, now: LabTime) -> bool {
        self.fill(now);
        let need = u128::from(octets) * 8 * Self::UNIT;
        let enough = self.tokens >= need;
        if enough {
            self.tokens -= need;
        }
        enough
    }

    /// When the last bit of a transmission begun at `start` leaves: at `peak`, or when the tokens for it have come.
    pub(crate) fn finish(&mut self, start: LabTime, octets: u64, peak: BitRate) -> LabTime {
        self.fill(start);
        let need = u128::from(octets) * 8 * Self::UNIT;
        let at_peak = need.div_ceil(u128::from(peak.0.max(1)));
        let until_tokens = need.saturating_sub(self.tokens).div_ceil(self.rate);
        let duration = at_peak.max(until_tokens);
        self.tokens = (self.tokens + self.rate * duration).saturating_sub(need).min(self.full);
        let end = LabTime(start.0.saturating_add(duration as u64));
        self.filled_at = end;
        end
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: u64 = 1_000_000_000;

    #[test]
    fn a_full_bucket_lasts_for_its_size_over_what_flows_out_beyond_the_rate() {
        // 12.5 MB at 40 Mbit/s out and 20 in: 100 Mbit / 20 Mbit/s = 5 s, then 20 Mbit/s.
        let mut bucket = TokenBucket::new(BitRate(20_000_000), ByteCount(12_500_000), LabTime(0));
        let mut now = LabTime(0);
        let mut octets = 0;
        let mut at_5_s = 0;
        while now.0 < 10 * SECOND {
            now = bucket.finish(now, 1500, BitRate(40_000_000));
            octets += 1500;
            if now.0 <= 5 * SECOND {
                at_5_s = octets;
            }
        }
        assert!((24_998_500..=25_000_000).contains(&at_5_s), "{at_5_s} bytes in 5 s at 40 Mbit/s");
        assert!((37_498_500..=37_503_000).contains(&octets), "{octets} bytes in 10 s");
    }

    #[test]
    fn a_policer_lets_its_rate_through_and_no_more() {
        let mut bucket = TokenBucket::new(BitRate(8_000_000), ByteCount(15_000), LabTime(0));
        // 1500 bytes each millisecond are 12 Mbit/s: two thirds pass, and the ten of the full bucket.
        let passed = (0..3000).filter(|n| bucket.take(1500, LabTime(n * 1_000_000))).count();
        assert!((2009..=2011).contains(&passed), "{passed} of 3000 passed");
    }
}
