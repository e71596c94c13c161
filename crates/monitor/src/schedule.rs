//! When full tests begin: a Poisson process with a least and a most gap.

use std::time::Duration;

use rrul_model::random::Random;

use crate::quiet_hours::QuietHours;

/// The gaps between the beginnings of full tests.
///
/// A gap is `least` and an exponentially distributed time beyond it, cut at `most` (RFC 2330, section 11.1.1). Tests at
/// fixed times would fall together with what others do at fixed times. The exponential part passes outside of quiet hours
/// alone: at any open moment a test is equally likely.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Schedule {
    /// The mean gap where neither `most` nor quiet hours change it.
    pub mean: Duration,
    pub least: Duration,
    /// Quiet hours may make a gap longer.
    pub most: Duration,
    pub quiet: QuietHours,
}

impl Schedule {
    /// Draws the time beyond the least gap, outside of quiet hours.
    pub fn draw(&self, random: &mut Random) -> Duration {
        let mean = self.mean.saturating_sub(self.least).as_secs_f64();
        let most = self.most.saturating_sub(self.least).as_secs_f64();
        if mean <= 0.0 {
            return Duration::ZERO;
        }
        // Of a distribution that is cut at `most`, not a pile at its end.
        let share = -(-most / mean).exp_m1();
        let drawn = -mean * (-random.unit() * share).ln_1p();
        Duration::from_secs_f64(drawn.clamp(0.0, most.max(0.0)))
    }

    /// The time from a test that begins at this second of the local day until the next one begins.
    pub fn gap(&self, second_of_day: u32, random: &mut Random) -> Duration {
        let beyond = self.draw(random);
        self.least + self.quiet.stretch(later(second_of_day, self.least), beyond)
    }

    /// The time from a moment at which no test may begin, or at which one could not, until it is tried anew.
    pub fn again(&self, second_of_day: u32, random: &mut Random) -> Duration {
        self.quiet.stretch(second_of_day, self.draw(random))
    }
}

/// The second of the day after this time.
pub(crate) fn later(second_of_day: u32, time: Duration) -> u32 {
    ((u64::from(second_of_day) + time.as_secs()) % 86_400) as u32
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_are_within_their_bounds_and_reach_near_both() {
        let schedule = Schedule {
            mean: Duration::from_hours(6),
            least: Duration::from_hours(1),
            most: Duration::from_hours(12),
            quiet: QuietHours::default(),
        };
        let mut random = Random::new(1, "gaps");
        let gaps: Vec<f64> = (0..10_000).map(|_| schedule.gap(0, &mut random).as_secs_f64() / 3600.0).collect();
        let (least, most) = gaps.iter().fold((f64::MAX, 0.0_f64), |(low, high), gap| (low.min(*gap), high.max(*gap)));
        assert!((1.0..1.01).contains(&least) && (11.9..=12.0).contains(&most), "{least} {most}");
    }

    #[test]
    fn a_schedule_without_room_for_chance_is_regular() {
        let hour = Duration::from_hours(1);
        let schedule = Schedule { mean: hour, least: hour, most: hour, quiet: QuietHours::default() };
        assert_eq!(schedule.gap(0, &mut Random(1)), hour);
    }
}
