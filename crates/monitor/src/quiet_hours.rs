//! Hours of the day without full tests.

use std::str::FromStr;
use std::time::Duration;

use serde::Deserialize;

/// Seconds of a day.
const DAY: u32 = 86_400;

/// A stretch of each day, local time: `22:00-06:00`. Its beginning belongs to it, its end does not.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Hours {
    from: u32,
    length: u32,
}

/// Why a text is no stretch of a day.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("\"{0}\" is no part of a day; write it like \"22:00-06:00\"")]
pub struct HoursError(String);

impl TryFrom<String> for Hours {
    type Error = HoursError;

    fn try_from(text: String) -> Result<Self, HoursError> {
        text.parse()
    }
}

impl FromStr for Hours {
    type Err = HoursError;

    fn from_str(text: &str) -> Result<Self, HoursError> {
        let read = || {
            let (from, to) = text.split_once('-')?;
            let (from, to) = (second(from)?, second(to)?);
            let length = (to + DAY - from) % DAY;
            (length > 0).then_some(Self { from: from % DAY, length })
        };
        read().ok_or_else(|| HoursError(text.to_owned()))
    }
}

/// The second of the day of `HH:MM`.
fn second(text: &str) -> Option<u32> {
    let (hours, minutes) = text.trim().split_once(':')?;
    let number = |text: &str| (text.len() == 2).then(|| text.parse::<u32>().ok()).flatten();
    let (hours, minutes) = (number(hours)?, number(minutes)?);
    ((hours < 24 && minutes < 60) || (hours == 24 && minutes == 0)).then_some(hours * 3600 + minutes * 60)
}

/// All hours of a day without full tests.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct QuietHours(Vec<Hours>);

impl QuietHours {
    /// `None` when they leave no part of the day.
    pub fn new(hours: Vec<Hours>) -> Option<Self> {
        let quiet = Self(hours);
        (0..DAY / 60).any(|minute| quiet.is_open(minute * 60)).then_some(quiet)
    }

    /// The same, each stretch beginning earlier by this time: a test that begins before it is to end before it. `None` when
    /// that leaves no part of the day.
    #[must_use]
    pub fn before(&self, length: Duration) -> Option<Self> {
        let lead = u32::try_from(length.as_secs()).unwrap_or(DAY).min(DAY);
        let earlier = |hours: &Hours| Hours {
            from: (hours.from + DAY - lead) % DAY,
            length: hours.length.saturating_add(lead).min(DAY),
        };
        Self::new(self.0.iter().map(earlier).collect())
    }

    /// Whether full tests may begin at this second of the local day.
    pub fn is_open(&self, second_of_day: u32) -> bool {
        self.closed_for(second_of_day) == 0
    }

    /// Seconds until the stretches that contain this second end; 0 outside of all.
    fn closed_for(&self, second_of_day: u32) -> u32 {
        let left = |hours: &Hours| hours.length.saturating_sub((second_of_day + DAY - hours.from) % DAY);
        self.0.iter().map(left).max().unwrap_or_default()
    }

    /// Seconds until a stretch begins; `None` without any.
    fn open_for(&self, second_of_day: u32) -> Option<u32> {
        self.0.iter().map(|hours| (hours.from + DAY - second_of_day - 1) % DAY + 1).min()
    }

    /// Returns how long it takes from this second of the local day until `open` has passed outside of quiet hours.
    pub fn stretch(&self, second_of_day: u32, open: Duration) -> Duration {
        let (mut at, mut left, mut gone) = (second_of_day % DAY, open, Duration::ZERO);
        loop {
            let closed = self.closed_for(at);
            if closed > 0 {
                at = (at + closed) % DAY;
                gone += Duration::from_secs(closed.into());
                continue;
            }
            let Some(open_for) = self.open_for(at) else { return gone + left };
            let until = Duration::from_secs(open_for.into());
            if left < until {
                return gone + left;
            }
            left -= until;
            gone += until;
            at = (at + open_for) % DAY;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn quiet(texts: &[&str]) -> QuietHours {
        QuietHours::new(texts.iter().map(|text| text.parse().unwrap()).collect()).unwrap()
    }

    const HOUR: u32 = 3600;

    #[test]
    fn a_stretch_may_pass_midnight() {
        let quiet = quiet(&["22:00-06:00"]);
        for (hour, open) in [(0, false), (5, false), (6, true), (21, true), (22, false), (23, false)] {
            assert_eq!(quiet.is_open(hour * HOUR), open, "{hour} h");
        }
    }

    #[test]
    fn time_passes_outside_of_quiet_hours_alone() {
        let quiet = quiet(&["22:00-06:00", "12:00-13:00", "12:30-14:00"]);
        let hours = |n: u32| Duration::from_secs(u64::from(n * HOUR));
        assert_eq!(quiet.stretch(20 * HOUR, hours(1)), hours(1));
        assert_eq!(quiet.stretch(20 * HOUR, hours(3)), hours(11));
        assert_eq!(quiet.stretch(23 * HOUR, hours(1)), hours(8));
        assert_eq!(quiet.stretch(10 * HOUR, hours(3)), hours(5));
        // 14 hours of a day are open.
        assert_eq!(quiet.stretch(6 * HOUR, hours(28)), hours(48), "{quiet:?}");
        assert_eq!(QuietHours::default().stretch(0, hours(50)), hours(50));
    }

    #[test]
    fn a_test_is_to_end_before_they_begin() {
        let quiet = quiet(&["22:00-06:00"]).before(Duration::from_mins(5)).unwrap();
        assert!(quiet.is_open(22 * HOUR - 301) && !quiet.is_open(22 * HOUR - 300));
        assert!(!quiet.is_open(6 * HOUR - 1) && quiet.is_open(6 * HOUR));
    }

    #[test]
    fn what_is_no_part_of_a_day_is_refused() {
        for text in ["", "22-06", "22:00", "25:00-26:00", "22:60-06:00", "06:00-06:00", "6:00-7:00"] {
            assert!(text.parse::<Hours>().is_err(), "{text}");
        }
        assert!("22:00-24:00".parse::<Hours>().is_ok());
        let all = ["00:00-12:00", "12:00-24:00"].map(|text| text.parse().unwrap());
        assert_eq!(QuietHours::new(all.to_vec()), None, "no time is left");
    }
}
