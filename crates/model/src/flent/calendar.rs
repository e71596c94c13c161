//! Times of day as Flent writes them, as Unix time and back, without a clock.

/// Unix seconds of a time by ISO 8601, and whether it names its zone as UTC; `None` when it is none.
///
/// `2026-11-21T18:51:06.672520Z`; files before version 3 have neither zone nor always a fraction.
pub(super) fn unix_time(text: &str) -> Option<(f64, bool)> {
    let (text, utc) = match text.strip_suffix('Z').or_else(|| text.strip_suffix("+00:00")) {
        Some(text) => (text, true),
        None => (text, false),
    };
    let (date, time) = text.split_once(['T', ' '])?;
    let [year, month, day] = numbers(date, '-')?;
    let [hour, minute, _] = numbers(&format!("{}:0", time.rsplit_once(':')?.0), ':')?;
    let seconds: f64 = time.rsplit_once(':')?.1.parse().ok()?;
    let known = (1970..=2200).contains(&year) && (1..=12).contains(&month) && (1..=31).contains(&day);
    let known = known && (0..24).contains(&hour) && (0..60).contains(&minute) && (0.0..61.0).contains(&seconds);
    let unix = ((days(year, month, day) * 24 + hour) * 60 + minute) * 60;
    known.then_some((unix as f64 + seconds, utc))
}

fn numbers(text: &str, between: char) -> Option<[i64; 3]> {
    let numbers: Vec<i64> = text.split(between).map(|number| number.parse().ok()).collect::<Option<_>>()?;
    numbers.try_into().ok()
}

/// Days from 1970-01-01 in the Gregorian calendar, its year taken to begin in March.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let year = year.rem_euclid(400);
    let of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
    era * 146_097 + year * 365 + year / 4 - year / 100 + of_year - 719_468
}

/// RFC 3339 in UTC, to the microsecond; of times that are none, 1970.
pub(super) fn rfc3339(unix: f64) -> String {
    let microseconds = (unix.clamp(0.0, 7e9) * 1e6).round() as i64;
    let (seconds, fraction) = (microseconds / 1_000_000, microseconds % 1_000_000);
    let (days, of_day) = (seconds / 86_400 + 719_468, seconds % 86_400);
    let of_era = days.rem_euclid(146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    let year = year + days.div_euclid(146_097) * 400 + i64::from(month <= 2);
    let [hour, minute, second] = [of_day / 3600, of_day / 60 % 60, of_day % 60];
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{fraction:06}Z")
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
        ] {
            assert_eq!(unix_time(text), None, "{text}");
        }
    }
}
