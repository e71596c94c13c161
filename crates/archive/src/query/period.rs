//! The days that a question is about.

use std::fmt;
use std::str::FromStr;

use rrul_model::calendar::{date_of_day, unix_seconds};

/// A day in UTC: `2026-01-31`, as in the names of the folders.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Day(String);

impl Day {
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

/// No day of the calendar.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a day as 2026-01-31")]
pub struct NoDay;

impl FromStr for Day {
    type Err = NoDay;

    fn from_str(text: &str) -> Result<Self, NoDay> {
        let seconds = unix_seconds(&format!("{text}T00:00:00Z")).ok_or(NoDay)?;
        // A day that does not exist, such as February 30, is another one when written again.
        if date_of_day(seconds.div_euclid(86_400)) == text { Ok(Self(text.to_owned())) } else { Err(NoDay) }
    }
}

impl fmt::Display for Day {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// First and last day of what is read; `None` is no limit.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Period {
    pub from: Option<Day>,
    pub to: Option<Day>,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_day_is_one_of_the_calendar() {
        assert_eq!("2028-02-29".parse::<Day>().unwrap().as_str(), "2028-02-29");
        for text in ["2026-02-29", "2026-1-31", "2026-01-32", "26-01-01", "", "2026-01-01T00:00:00Z", "now"] {
            assert_eq!(text.parse::<Day>(), Err(NoDay), "{text}");
        }
    }
}
