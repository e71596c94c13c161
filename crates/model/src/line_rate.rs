//! How fast a line was before anything loaded it, measured with a short train of packets.

use std::time::Duration;

use serde::{Deserialize, Serialize};

use crate::flow::Direction;
use crate::units::{BitRate, ByteCount};

/// What packet trains showed of each direction. An estimate: a burst allowance may pass a whole train faster than the
/// line goes on to be.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct LineRate {
    #[serde(skip_serializing_if = "Option::is_none")]
    pub up: Option<Dispersion>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub down: Option<Dispersion>,
}

impl LineRate {
    /// The rate of one direction; `None` where no train showed it.
    pub fn direction(&self, direction: Direction) -> Option<BitRate> {
        match direction {
            Direction::Up => self.up?.rate(),
            Direction::Down => self.down?.rate(),
        }
    }
}

/// How long packets that entered a line back to back took to leave it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Dispersion {
    pub packets: u16,
    /// Bytes of each, IP header included.
    pub octets: ByteCount,
    /// From the arrival of the first to that of the last.
    pub took: Duration,
}

impl Dispersion {
    /// Bytes over time; `None` when no time passed.
    pub fn rate(&self) -> Option<BitRate> {
        let bits = u128::from(self.packets) * u128::from(self.octets.0) * 8;
        let per_second = (bits * 1_000_000_000).checked_div(self.took.as_nanos())?;
        u64::try_from(per_second).ok().map(BitRate)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_rate_is_bytes_over_the_time_that_they_took() {
        let dispersion = Dispersion { packets: 19, octets: ByteCount(1228), took: Duration::from_micros(18_666) };
        // 19 * 1228 * 8 bits in 18.666 ms.
        assert_eq!(dispersion.rate(), Some(BitRate(9_999_785)));
        assert_eq!(Dispersion { took: Duration::ZERO, ..dispersion }.rate(), None);
        let line = LineRate { up: Some(dispersion), down: None };
        assert_eq!((line.direction(Direction::Up), line.direction(Direction::Down)), (dispersion.rate(), None));
    }
}
