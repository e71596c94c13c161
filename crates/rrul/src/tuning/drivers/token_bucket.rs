//! Rates and bursts of token buckets, as tc(8) writes them and takes them.

use rrul_model::units::BitRate;

/// What the kernel counts the time of a burst in: ticks in a microsecond.
const TICKS: f64 = 15.625;

const ATM_CELL: u64 = 53;
const ATM_PAYLOAD: u64 = 48;

/// A rate, and what may be sent at once.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TokenBucket {
    pub(super) rate: BitRate,
    pub(super) burst: u64,
}

impl TokenBucket {
    /// The same at `rate / found` times its rate. The burst grows with the rate, so that as much time lies between two of
    /// them, and never shrinks.
    pub(super) fn scaled(self, rate: BitRate, found: BitRate) -> Self {
        if rate == found || found.0 == 0 {
            return self;
        }
        let scale = |value: u64| (u128::from(value) * u128::from(rate.0) / u128::from(found.0)) as u64;
        Self { rate: BitRate(scale(self.rate.0).max(1)), burst: scale(self.burst).max(self.burst) }
    }

    /// What to write so that tc shows this burst again. It counts in whole microseconds and in ticks, and rounds down.
    pub(super) fn burst_to_write(self) -> u64 {
        let bytes = self.rate.0 as f64 / 8e6;
        let shown = |burst: u64| {
            let ticks = ((burst as f64 / bytes).floor() * TICKS).floor();
            (bytes * (ticks / TICKS).floor()) as u64
        };
        let most = self.burst + (3.0 * bytes).ceil() as u64 + 1;
        (self.burst..=most).find(|burst| shown(*burst) >= self.burst).unwrap_or(self.burst)
    }

    /// A bucket of tbf, whose burst the kernel has as this many ticks. They include the overhead of one packet.
    pub(super) fn of_tbf(rate: BitRate, ticks: u64, overhead: u32, atm: bool) -> Self {
        let bytes = (rate.0 as f64 / 8e6 * ticks as f64 / TICKS).ceil() as u64;
        let packet = if atm { (bytes + ATM_CELL / 2) / ATM_CELL * ATM_PAYLOAD } else { bytes };
        Self { rate, burst: packet.saturating_sub(u64::from(overhead)) }
    }
}

/// Reads a rate as tc shows it: `7200Kbit`.
pub(super) fn parse_rate(text: &str) -> Option<BitRate> {
    let number = text.strip_suffix("bit")?;
    let (number, factor) = factor(number, 1e3)?;
    let rate = number.parse::<f64>().ok()? * factor;
    (rate.is_finite() && rate >= 0.0).then_some(BitRate(rate.round() as u64))
}

/// Reads a size as tc shows it: `1600b`, `1600b/1` with the size of a cell, `15Kb`.
pub(super) fn parse_size(text: &str) -> Option<u64> {
    let text = text.split('/').next()?;
    let (number, factor) = factor(text.strip_suffix('b')?, 1024.0)?;
    let size = number.parse::<f64>().ok()? * factor;
    (size.is_finite() && size >= 0.0).then_some(size.round() as u64)
}

/// A number without its prefix of 1000 or 1024, and what that stands for.
fn factor(number: &str, thousand: f64) -> Option<(&str, f64)> {
    let power = match number.chars().last()? {
        'K' => 1,
        'M' => 2,
        'G' => 3,
        'T' => 4,
        _ => return Some((number, 1.0)),
    };
    Some((&number[..number.len() - 1], thousand.powi(power)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_and_sizes_are_read_as_tc_writes_them() {
        for (text, rate) in [("7200Kbit", 7_200_000), ("8Mbit", 8_000_000), ("999bit", 999), ("10Gbit", 10_000_000_000)]
        {
            assert_eq!(parse_rate(text), Some(BitRate(rate)), "{text}");
        }
        for (text, size) in [("1598b/1", 1598), ("1600b", 1600), ("15Kb/1", 15_360), ("2Mb", 2_097_152)] {
            assert_eq!(parse_size(text), Some(size), "{text}");
        }
        assert_eq!((parse_rate("fast"), parse_rate("bit"), parse_size("x")), (None, None, None));
    }

    /// As a kernel showed what had been written.
    #[test]
    fn what_is_written_is_shown_again() {
        let bucket = |rate, burst| TokenBucket { rate: BitRate(rate), burst };
        assert_eq!(bucket(7_200_000, 1598).burst_to_write(), 1599);
        assert_eq!(bucket(2_400_000, 1999).burst_to_write(), 2000);
        assert_eq!(bucket(8_000_000, 1600).burst_to_write(), 1600);
        assert_eq!(TokenBucket::of_tbf(BitRate(7_123_456), 0x1_583c, 22, false).burst, 5000);
        assert_eq!(TokenBucket::of_tbf(BitRate(18_123_456), 0x874d, 22, false).burst, 5000);
    }

    #[test]
    fn a_faster_bucket_has_a_larger_burst_and_a_slower_one_the_same() {
        let bucket = TokenBucket { rate: BitRate(2_400_000), burst: 1600 };
        let faster = bucket.scaled(BitRate(14_400_000), BitRate(7_200_000));
        assert_eq!(faster, TokenBucket { rate: BitRate(4_800_000), burst: 3200 });
        let slower = bucket.scaled(BitRate(3_600_000), BitRate(7_200_000));
        assert_eq!(slower, TokenBucket { rate: BitRate(1_200_000), burst: 1600 });
    }
}
