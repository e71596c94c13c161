//! The rate of a direction, which may change at given times.

use std::time::Duration;

use rrul_model::units::BitRate;

use crate::link::token_bucket::{BurstAllowance, TokenBucket};
use crate::time::{LabTime, nanoseconds};

/// Rates in force from given times on, counted from when the link came up or was last set.
///
/// Never empty; the first begins at zero; times strictly rise; every rate is at least 1 bit/s.
#[derive(Debug, Clone, PartialEq)]
pub struct RateSchedule(Vec<(Duration, BitRate)>);

impl RateSchedule {
    /// The same rate for ever; zero counts as 1 bit/s.
    pub fn constant(rate: BitRate) -> Self {
        Self(vec![(Duration::ZERO, rate.max(BitRate(1)))])
    }

    /// The rates with their beginnings; an error says which rule they break.
    pub fn steps(steps: Vec<(Duration, BitRate)>) -> Result<Self, &'static str> {
        if steps.first().is_none_or(|(at, _)| *at != Duration::ZERO) {
            return Err("the first rate must begin at \"0s\"");
        }
        if steps.windows(2).any(|pair| pair[0].0 >= pair[1].0) {
            return Err("the times must rise from one rate to the next");
        }
        if steps.iter().any(|(_, rate)| rate.0 == 0) {
            return Err("a rate must be more than zero; to lose everything use loss = \"100%\"");
        }
        Ok(Self(steps))
    }

    /// The rate in force this long after the beginning.
    pub fn at(&self, elapsed: Duration) -> BitRate {
        let begun = self.0.iter().rev().find(|(at, _)| *at <= elapsed);
        begun.expect("the first rate begins at zero").1
    }

    /// Whether it never changes.
    pub fn is_constant(&self) -> bool {
        self.0.len() == 1
    }

    /// The highest rate of all.
    pub fn highest(&self) -> BitRate {
        self.0.iter().map(|(_, rate)| *rate).max().expect("a schedule is never empty")
    }
}

/// A schedule tied to the clock: it returns when a transmission ends, to the nanosecond and without drift.
#[derive(Debug)]
pub(crate) struct Transmitter {
    /// Beginnings on the clock, with bits per second.
    steps: Vec<(LabTime, u64)>,
    /// Bits (times 10^9) that ended transmissions were short of because they end on whole nanoseconds.
    owed: u128,
    /// What may be sent faster, and how fast.
    burst: Option<(TokenBucket, BitRate)>,
}

impl Transmitter {
    /// A burst allowance is filled at the first rate of the schedule.
    pub(crate) fn new(schedule: &RateSchedule, burst: Option<BurstAllowance>, begun: LabTime) -> Self {
        let filled_at = schedule.at(Duration::ZERO);
        let bucket = |burst: BurstAllowance| (TokenBucket::new(filled_at, burst.size, begun), burst.peak);
        let steps = schedule.0.iter().map(|(at, rate)| (LabTime(begun.0.saturating_add(nanoseconds(*at))), rate.0));
        Self { steps: steps.collect(), owed: 0, burst: burst.map(bucket) }
    }

    /// Forgets the fraction of a nanosecond owed: the link was idle, the next transmission begins afresh.
    pub(crate) fn idle(&mut self) {
        self.owed = 0;
    }

    /// The rate in force at `now`; that of the schedule, whatever a burst allows.
    pub(crate) fn rate_at(&self, now: LabTime) -> BitRate {
        let step = self.steps.iter().rfind(|(at, _)| *at <= now).or(self.steps.first());
        BitRate(step.expect("a schedule is never empty").1)
    }

    /// When the last bit of a transmission begun at `start` leaves, over every rate change on the way.
    pub(crate) fn finish(&mut self, start: LabTime, octets: u64) -> LabTime {
        if let Some((bucket, peak)) = &mut self.burst {
            return bucket.finish(start, octets, *peak);
        }
        let mut need = u128::from(octets) * 8 * 1_000_000_000 + self.owed;
        let mut from = start;
        let mut step = self.steps.iter().rposition(|(at, _)| *at <= start).unwrap_or(0);
        loop {
            let rate = u128::from(self.steps[step].1);
            if let Some((change, _)) = self.steps.get(step + 1) {
                let until_change = rate * u128::from(change.since(from));
                if until_change < need {
                    need -= until_change;
                    from = *change;
                    step += 1;
                    continue;
                }
            }
            self.owed = need % rate;
            return LabTime(from.0.saturating_add((need / rate) as u64));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn step(at: u64, rate: u64) -> (Duration, BitRate) {
        (Duration::from_secs(at), BitRate(rate))
    }

    #[test]
    fn back_to_back_packets_keep_the_rate_to_the_nanosecond() {
        // 8.333333 Mbit/s does not divide a packet time: rounding each packet would gain or lose 0.5 ns each.
        let mut transmitter = Transmitter::new(&RateSchedule::constant(BitRate(8_333_333)), None, LabTime(0));
        let mut now = LabTime(0);
        for _ in 0..100_000 {
            now = transmitter.finish(now, 1500);
        }
        assert_eq!(u128::from(now.0), 100_000 * 1500 * 8 * 1_000_000_000 / 8_333_333);
    }

    #[test]
    fn a_packet_that_meets_a_rate_change_is_sent_at_both_rates() {
        let schedule = RateSchedule::steps(vec![step(0, 8_000), step(1, 16_000)]).unwrap();
        let mut transmitter = Transmitter::new(&schedule, None, LabTime(0));
        // 1500 bytes are 12000 bits: 4000 in the half second before the change, 8000 in the half second behind it.
        assert_eq!(transmitter.finish(LabTime(500_000_000), 1500), LabTime(1_500_000_000));
        assert_eq!(transmitter.finish(LabTime(1_500_000_000), 1000), LabTime(2_000_000_000));
    }

    #[test]
    fn schedules_that_cannot_be_followed_are_refused() {
        assert!(RateSchedule::steps(vec![]).is_err());
        assert!(RateSchedule::steps(vec![step(1, 5)]).is_err());
        assert!(RateSchedule::steps(vec![step(0, 5), step(0, 6)]).is_err());
        assert!(RateSchedule::steps(vec![step(0, 0)]).is_err());
        let schedule = RateSchedule::steps(vec![step(0, 5), step(10, 4)]).unwrap();
        assert_eq!(schedule.at(Duration::from_secs(9)), BitRate(5));
        assert_eq!(schedule.at(Duration::from_secs(10)), BitRate(4));
        assert_eq!(schedule.highest(), BitRate(5));
    }
}
