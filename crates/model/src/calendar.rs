//! Times in UTC as text, as Unix time and back, without a clock.

use std::time::{Duration, SystemTime};

/// Unix seconds of a time by ISO 8601, and whether it names its zone as UTC; `None` when it is none.
///
/// `2026-11-21T18:51:06.672520Z`; files of Flent before version 3 have neither zone nor always a fraction.
pub(crate) fn unix_time(text: &str) -> Option<(f64, bool)> {
    let local = text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00"));
    let digits = local.unwrap_or(text);
    // The parser takes any six characters behind a `+`.
    let time = humantime::parse_rfc3339_weak(digits).ok().filter(|_| !digits.contains('+'))?;
    Some((time.duration_since(SystemTime::UNIX_EPOCH).ok()?.as_secs_f64(), local.is_some()))
}

/// RFC 3339 in UTC, to the microsecond; of times that are none, 1970.
pub(crate) fn rfc3339(unix: f64) -> String {
    let microseconds = Duration::from_micros((unix.clamp(0.0, 7e9) * 1e6).round() as u64);
    humantime::format_rfc3339_micros(SystemTime::UNIX_EPOCH + microseconds).to_string()
}

/// Seconds since 1970 of a time in UTC by RFC 3339, such as `2026-01-31T12:34:56Z`; `None` of any other text.
pub fn unix_seconds(text: &str) -> Option<i64> {
    unix_time(text).filter(|(_, utc)| *utc).map(|(seconds, _)| seconds.floor() as i64)
}

/// The date of a day, counted from 1970-01-01: `2026-01-31`.
pub fn date_of_day(day: i64) -> String {
    let mut text = rfc3339(day as f64 * 86_400.0);
    text.truncate("2026-01-31".len());
    text
}

/// Date and time of day of a time in seconds since 1970: `2026-01-31 12:34:56`.
pub fn date_and_time(seconds: i64) -> String {
    let mut text = rfc3339(seconds as f64).replacen('T', " ", 1);
    text.truncate("2026-01-31 12:34:56".len());
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_read_and_write_back() {
        // `date -u -d @1795287066 +%FT%TZ` and so on.
        for (text, unix) in [
            ("2026-11-21T18:51:06.672520Z", 1_795_287_066.672_52),
            ("1970-01-01T00:00:00.000000Z", 0.0),
            ("2000-02-29T12:00:00.000000Z", 951_825_600.0),
            ("2024-12-31T23:59:59.500000Z", 1_735_689_599.5),
        ] {
            assert_eq!(unix_time(text), Some((unix, true)), "{text}");
            assert_eq!(rfc3339(unix), text);
        }
        assert_eq!(unix_time("2015-07-13T11:22:41"), Some((1_436_786_561.0, false)));
    }

    #[test]
    fn days_have_dates() {
        assert_eq!(unix_seconds("2024-03-01T00:00:01Z"), Some(1_709_251_201));
        assert_eq!(unix_seconds("2024-03-01T00:00:01"), None);
        assert_eq!(date_and_time(1_709_251_201), "2024-03-01 00:00:01");
        assert_eq!([0, 19_782, 19_783].map(date_of_day), ["1970-01-01", "2024-02-29", "2024-03-01"]);
    }

    #[test]
    fn what_is_no_time_is_none() {
        for text in [
            "",
            "T",
            "2026-11-21",
            "2026-13-01T00:00:00Z",
            "2026-01-01T24:00:00Z",
            "1e9",
            "2026-01-01T00:00:NaN",
            "99999999999999999999-1-1T1:1:1",
            "2026-11-21T18:51:06.5+05:30",
            "2026-11-21T18:51:06.5+hello",
        ] {
            assert_eq!(unix_time(text), None, "{text}");
        }
    }
}
