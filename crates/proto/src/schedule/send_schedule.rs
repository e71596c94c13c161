//! When an open-loop sender sends: once in every interval, at a random phase.
//!
//! RFC 3432 sends periodically and RFC 2330 §11.1 warns that a strictly periodic stream may run in step with what it
//! measures (10 ms voice frames, 102.4 ms beacons). Here interval k contains exactly one packet, at a phase drawn
//! evenly from the whole interval: the rate is exact, and no period of the network can hide.

use std::time::Duration;

use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};

/// The instants of one flow; the same seed gives the same instants.
#[derive(Debug, Clone)]
pub struct SendSchedule {
    window: Window,
    interval: i64,
    slot: i64,
    random: Random,
}

impl SendSchedule {
    /// One packet every `interval` within `window`; intervals below 1 µs are taken for 1 µs.
    pub fn new(window: Window, interval: Duration, seed: u64) -> Self {
        let interval = i64::try_from(interval.as_nanos()).unwrap_or(i64::MAX).max(1000);
        Self { window, interval, slot: 0, random: Random(seed) }
    }
}

impl Iterator for SendSchedule {
    type Item = TestTime;

    fn next(&mut self) -> Option<TestTime> {
        loop {
            // What cannot be counted lies beyond every window.
            let begin = self.slot.checked_mul(self.interval).and_then(|past| self.window.from.0.checked_add(past))?;
            if begin >= self.window.to.0 {
                return None;
            }
            self.slot += 1;
            let phase = (u128::from(self.random.next()) * u128::from(self.interval.cast_unsigned())) >> 64;
            let at = TestTime(begin.saturating_add(phase as i64));
            // The last interval may reach beyond the window: its packet may fall outside.
            if self.window.contains(at) {
                return Some(at);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn schedule(seed: u64) -> SendSchedule {
        let window = Window { from: TestTime(0), to: TestTime(10_000_000_000) };
        SendSchedule::new(window, Duration::from_millis(20), seed)
    }

    #[test]
    fn every_interval_contains_exactly_one_packet() {
        let times: Vec<_> = schedule(1).collect();
        assert_eq!(times.len(), 500);
        for (slot, at) in times.iter().enumerate() {
            assert_eq!(at.0 / 20_000_000, slot as i64);
        }
    }

    #[test]
    fn phases_cover_the_interval_evenly() {
        let mut quarters = [0_u32; 4];
        for seed in 0..20 {
            schedule(seed).for_each(|at| quarters[(at.0 % 20_000_000 / 5_000_000) as usize] += 1);
        }
        // 10 000 phases in four quarters: 2500 each, standard deviation 43.
        assert!(quarters.iter().all(|count| (2300..2700).contains(count)), "{quarters:?}");
    }

    #[test]
    fn the_same_seed_gives_the_same_schedule_and_another_does_not() {
        assert!(schedule(7).eq(schedule(7)));
        assert!(!schedule(7).eq(schedule(8)));
    }

    #[test]
    fn windows_at_the_ends_of_time_come_to_an_end() {
        let ends = [i64::MIN, 0, i64::MAX];
        for (from, to) in ends.iter().flat_map(|from| ends.map(|to| (*from, to))) {
            let window = Window { from: TestTime(from), to: TestTime(to) };
            // Half the range in one interval: at most four intervals in all.
            let sent = SendSchedule::new(window, Duration::MAX, 3).take(10).count();
            assert!(sent <= 4, "{sent} from {from} to {to}");
            assert!(SendSchedule::new(window, Duration::ZERO, 3).take(10).all(|at| window.contains(at)));
        }
    }
}
