//! Quantities as types: bytes, bit rates, signed delays, and how people write them.

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{text}\" is not a valid {what}; write it like {example}")]
pub struct UnitError {
    text: String,
    what: &'static str,
    example: &'static str,
}

/// A part of a whole, 0 to 1; people write it as a percentage.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Share(pub f64);

impl Share {
    pub const fn from_per_mille(thousandths: u16) -> Self {
        Self(thousandths as f64 / 1000.0)
    }
}

impl fmt::Display for Share {
    /// `5 %`, `0.5 %`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let percent = (self.0 * 1e5).round() / 1e3;
        write!(f, "{percent} %")
    }
}

impl FromStr for Share {
    type Err = UnitError;

    fn from_str(text: &str) -> Result<Self, UnitError> {
        let number = text.trim().strip_suffix('%').and_then(|number| number.trim().parse::<f64>().ok());
        number
            .filter(|percent| (0.0..=100.0).contains(percent))
            .map(|percent| Self(percent / 100.0))
            .ok_or_else(|| UnitError { text: text.to_owned(), what: "share", example: "5%" })
    }
}

/// Bytes: a count of bytes, always with the layer named by its owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct ByteCount(pub u64);

impl ByteCount {
    /// Bits in this many bytes.
    pub fn bits(self) -> u64 {
        self.0.saturating_mul(8)
    }

    /// The mean rate that moves these bytes in `over`; zero time gives rate zero.
    pub fn per(self, over: Duration) -> BitRate {
        let nanoseconds = over.as_nanos();
        if nanoseconds == 0 {
            return BitRate(0);
        }
        let bits = u128::from(self.0) * 8 * 1_000_000_000;
        BitRate(u64::try_from((bits + nanoseconds / 2) / nanoseconds).unwrap_or(u64::MAX))
    }
}

/// Bits per second, decimal (1 kbit/s is 1000 bit/s).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct BitRate(pub u64);

impl BitRate {
    /// Time to send `size` bytes at this rate; `None` at rate zero.
    pub fn time_for(self, size: ByteCount) -> Option<Duration> {
        let bits = u128::from(size.0) * 8 * 1_000_000_000;
        let nanoseconds = bits.checked_div(u128::from(self.0))?;
        Some(Duration::from_nanos(u64::try_from(nanoseconds).unwrap_or(u64::MAX)))
    }

    /// Bits per second as a float in Mbit/s, for people.
    pub fn megabits(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl fmt::Display for BitRate {
    /// Three significant figures and the unit people use: `8.05 Mbit/s`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let value = self.0 as f64;
        let (scaled, unit) = match self.0 {
            0..1_000 => (value, "bit/s"),
            1_000..1_000_000 => (value / 1e3, "kbit/s"),
            1_000_000..1_000_000_000 => (value / 1e6, "Mbit/s"),
            _ => (value / 1e9, "Gbit/s"),
        };
        let decimals = match scaled {
            _ if self.0 < 1_000 => 0,
            s if s < 10.0 => 2,
            s if s < 100.0 => 1,
            _ => 0,
        };
        f.pad(&format!("{scaled:.decimals$} {unit}"))
    }
}

impl FromStr for BitRate {
    type Err = UnitError;

    /// Reads `20Mbit/s`, `512 kbit/s`, `1.5Gbit`, `800000bit/s`; decimal multiples.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), what: "bit rate", example: "\"20Mbit/s\" or \"512kbit/s\"" };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        let factor = match unit.trim_end_matches("/s").to_ascii_lowercase().as_str() {
            "bit" | "bps" => 1.0,
            "kbit" | "kbps" => 1e3,
            "mbit" | "mbps" => 1e6,
            "gbit" | "gbps" => 1e9,
            _ => return Err(error()),
        };
        let bits = number * factor;
        if !(0.0..=1e15).contains(&bits) {
            return Err(error());
        }
        Ok(Self(bits.round() as u64))
    }
}

impl FromStr for ByteCount {
    type Err = UnitError;

    /// Reads `256kB`, `64KiB`, `1500B`, `10MB`; `k` is 1000 and `Ki` is 1024.
    fn from_str(text: &str) -> Result<Self, UnitError> {
        let error = || UnitError { text: text.to_owned(), what: "size", example: "\"256kB\", \"64KiB\" or \"1500B\"" };
        let (number, unit) = split_number(text).ok_or_else(error)?;
        let factor = match unit {
            "B" => 1.0,
            "kB" | "KB" => 1e3,
            "MB" => 1e6,
            "GB" => 1e9,
            "KiB" => 1024.0,
            "MiB" => 1024.0 * 1024.0,
            "GiB" => 1024.0 * 1024.0 * 1024.0,
            _ => return Err(error()),
        };
        let octets = number * factor;
        if !(0.0..=1e15).contains(&octets) {
            return Err(error());
        }
        Ok(Self(octets.round() as u64))
    }
}

/// A time that something took, signed: one-way values can be negative before the clocks are matched.
///
/// Nanoseconds. The word is RFC 7679's and RFC 2681's *delay*; a lost packet has none (undefined, not zero).
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default, Hash, Serialize, Deserialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Delay(pub i64);

impl Delay {
    /// The delay in milliseconds, for people.
    pub fn milliseconds(self) -> f64 {
        self.0 as f64 / 1e6
    }
}

impl std::ops::Sub for Delay {
    type Output = Self;
    fn sub(self, other: Self) -> Self {
        Self(self.0.saturating_sub(other.0))
    }
}

impl std::ops::Add for Delay {
    type Output = Self;
    fn add(self, other: Self) -> Self {
        Self(self.0.saturating_add(other.0))
    }
}

impl From<Duration> for Delay {
    fn from(duration: Duration) -> Self {
        Self(i64::try_from(duration.as_nanos()).unwrap_or(i64::MAX))
    }
}

impl fmt::Display for Delay {
    /// Milliseconds with as many decimals as mean something: `0.002 ms`, `0.31 ms`, `18.2 ms`, `551 ms`.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ms = self.milliseconds();
        let decimals = match ms.abs() {
            a if a > 0.0 && a < 0.0995 => 3,
            a if a < 1.0 => 2,
            a if a < 100.0 => 1,
            _ => 0,
        };
        f.pad(&format!("{ms:.decimals$} ms"))
    }
}

/// Reads a length of time as people write it: `5s`, `20ms`, `1.5 s`, `150us`, `2min`.
pub fn parse_duration(text: &str) -> Result<Duration, UnitError> {
    let error = || UnitError { text: text.to_owned(), what: "duration", example: "\"5s\", \"20ms\" or \"2min\"" };
    let (number, unit) = split_number(text).ok_or_else(error)?;
    let nanoseconds = number
        * match unit {
            "ns" => 1.0,
            "us" | "µs" => 1e3,
            "ms" => 1e6,
            "s" => 1e9,
            "min" => 60e9,
            "h" => 3600e9,
            _ => return Err(error()),
        };
    if !(0.0..=1e18).contains(&nanoseconds) {
        return Err(error());
    }
    Ok(Duration::from_nanos(nanoseconds.round() as u64))
}

/// Writes a length of time so that [`parse_duration`] reads it back exactly: `5s`, `20ms`, `1500us`.
pub fn format_duration(duration: Duration) -> String {
    let ns = duration.as_nanos();
    match ns {
        0 => "0s".to_owned(),
        _ if ns.is_multiple_of(1_000_000_000) => format!("{}s", ns / 1_000_000_000),
        _ if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
        _ if ns.is_multiple_of(1_000) => format!("{}us", ns / 1_000),
        _ => format!("{ns}ns"),
    }
}

/// Splits "20 Mbit/s" into its number and its unit; `None` without a non-negative finite number in front.
fn split_number(text: &str) -> Option<(f64, &str)> {
    let text = text.trim();
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let number: f64 = text[..end].parse().ok()?;
    number.is_finite().then(|| (number, text[end..].trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rates_read_as_people_write_them() {
        assert_eq!("20Mbit/s".parse(), Ok(BitRate(20_000_000)));
        assert_eq!("512 kbit/s".parse(), Ok(BitRate(512_000)));
        assert_eq!("1.5Gbit".parse(), Ok(BitRate(1_500_000_000)));
        assert_eq!("800bps".parse(), Ok(BitRate(800)));
        for bad in ["", "20", "Mbit/s", "-1Mbit/s", "1e3Mbit/s", "20MB/s"] {
            assert!(bad.parse::<BitRate>().is_err(), "{bad:?} was read as a rate");
        }
    }

    #[test]
    fn durations_round_trip_exactly() {
        for text in ["0s", "5s", "20ms", "1500us", "7ns"] {
            assert_eq!(format_duration(parse_duration(text).unwrap()), text);
        }
        assert_eq!(parse_duration("2min").unwrap(), Duration::from_mins(2));
        assert!(parse_duration("5").is_err());
        assert!(parse_duration("-5s").is_err());
    }

    #[test]
    fn bytes_over_time_give_the_rate_and_back() {
        let rate = ByteCount(2_500_000).per(Duration::from_secs(1));
        assert_eq!(rate, BitRate(20_000_000));
        assert_eq!(rate.time_for(ByteCount(1500)), Some(Duration::from_micros(600)));
        assert_eq!(BitRate(0).time_for(ByteCount(1)), None);
        assert_eq!(ByteCount(1).per(Duration::ZERO), BitRate(0));
    }

    #[test]
    fn rates_and_delays_print_with_their_unit() {
        assert_eq!(BitRate(8_050_000).to_string(), "8.05 Mbit/s");
        assert_eq!(BitRate(999).to_string(), "999 bit/s");
        assert_eq!(BitRate(20_000_000).to_string(), "20.0 Mbit/s");
        assert_eq!(Delay(18_240_000).to_string(), "18.2 ms");
        assert_eq!(Delay(-50_000).to_string(), "-0.050 ms");
        assert_eq!(Delay(551_400_000).to_string(), "551 ms");
    }
}
