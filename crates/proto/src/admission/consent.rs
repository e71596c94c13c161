//! Whether a client still wants what it is sent: consent that is renewed, or ends (RFC 7675 for the idea).

use std::time::Duration;

use crate::admission::session_lease::SILENCE_TIME;

/// How long after the last greeting of a flow packets of it are sent to where that came from.
pub const GREETING_LASTS: Duration = Duration::from_secs(10);

/// How often a client greets for a flow that is sent to it: three greetings may be lost.
pub const GREETING_INTERVAL: Duration = Duration::from_millis(2500);

/// Whether packets that are not answers may still be sent. Times are nanoseconds of one monotonic clock; `greeted`
/// is when the flow's last greeting came, `heard` when the client last showed that it is there.
pub fn is_fresh(greeted: i64, heard: i64, now: i64) -> bool {
    let within = |since: i64, most: Duration| i128::from(now) - i128::from(since) <= most.as_nanos().cast_signed();
    within(greeted, GREETING_LASTS) && within(heard, SILENCE_TIME)
}

#[cfg(test)]
mod tests {
    use super::*;

    const SECOND: i64 = 1_000_000_000;

    #[test]
    fn packets_stop_ten_seconds_after_the_last_greeting() {
        assert!(is_fresh(0, 10 * SECOND, 10 * SECOND));
        assert!(!is_fresh(0, 10 * SECOND, 10 * SECOND + 1));
    }

    #[test]
    fn packets_stop_fifteen_seconds_after_the_last_control_message() {
        assert!(is_fresh(15 * SECOND, 0, 15 * SECOND));
        assert!(!is_fresh(15 * SECOND, 0, 15 * SECOND + 1));
    }

    #[test]
    fn the_ends_of_the_clock_do_not_overflow() {
        for since in [i64::MIN, 0, i64::MAX] {
            for now in [i64::MIN, 0, i64::MAX] {
                assert_eq!(is_fresh(since, since, now), now <= since, "{since} {now}");
            }
        }
    }
}
