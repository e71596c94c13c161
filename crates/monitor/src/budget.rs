//! How much data a monitor may use: "30GB/month".

use std::fmt;
use std::str::FromStr;
use std::time::Duration;

use rrul_model::units::ByteCount;
use serde::Deserialize;

/// Data within any stretch of a length.
///
/// A month is any 31 days: whatever day a provider's month begins on, it is within one such stretch, so that month keeps to the
/// budget too. A week is any 7 days, a day any 24 hours.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Budget {
    pub octets: ByteCount,
    pub period: Period,
}

/// A length of time for which data is sold.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Period {
    Day,
    Week,
    Month,
}

impl Period {
    pub const ALL: [Self; 3] = [Self::Day, Self::Week, Self::Month];

    pub fn name(self) -> &'static str {
        match self {
            Self::Day => "day",
            Self::Week => "week",
            Self::Month => "month",
        }
    }

    pub fn length(self) -> Duration {
        Duration::from_hours(match self {
            Self::Day => 24,
            Self::Week => 7 * 24,
            Self::Month => 31 * 24,
        })
    }
}

/// Why a text is no budget.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no budget; write it like \"30GB/month\", \"5GB/week\" or \"500MB/day\"")]
pub struct BudgetError(String);

impl TryFrom<String> for Budget {
    type Error = BudgetError;

    fn try_from(text: String) -> Result<Self, BudgetError> {
        text.parse()
    }
}

impl FromStr for Budget {
    type Err = BudgetError;

    fn from_str(text: &str) -> Result<Self, BudgetError> {
        let read = || {
            let (octets, name) = text.split_once('/')?;
            let period = Period::ALL.into_iter().find(|period| period.name() == name.trim())?;
            Some(Self { octets: octets.parse().ok()?, period })
        };
        read().ok_or_else(|| BudgetError(text.to_owned()))
    }
}

impl fmt::Display for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}/{}", data(self.octets), self.period.name())
    }
}

/// Returns data as people write it: `30 GB`, `1.25 GB`, `640 MB`.
pub fn data(octets: ByteCount) -> String {
    let value = octets.0 as f64;
    let (scaled, unit) = match octets.0 {
        0..1_000 => (value, "B"),
        1_000..1_000_000 => (value / 1e3, "kB"),
        1_000_000..1_000_000_000 => (value / 1e6, "MB"),
        _ => (value / 1e9, "GB"),
    };
    let text = format!("{scaled:.2}");
    format!("{} {unit}", text.trim_end_matches('0').trim_end_matches('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_budget_reads_as_people_write_it() {
        let budget: Budget = "30GB/month".parse().unwrap();
        assert_eq!(budget, Budget { octets: ByteCount(30_000_000_000), period: Period::Month });
        assert_eq!(budget.to_string(), "30 GB/month");
        assert_eq!("1.5 GB / day".parse::<Budget>().unwrap().to_string(), "1.5 GB/day");
        for bad in ["", "30GB", "30GB/year", "/month", "many/month"] {
            assert!(bad.parse::<Budget>().is_err(), "{bad}");
        }
    }
}
