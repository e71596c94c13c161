//! The most queueing delay that a shaped line may add.

use rrul_model::flow::Direction;
use rrul_model::shaping::{Preference, TuningPlan};
use rrul_model::units::{BitRate, ByteCount, Delay};

/// Below this no one notices a queue.
const LEAST: f64 = 5e6;
/// With [`Preference::Rate`].
const GENEROUS: f64 = 15e6;
/// A full packet on an Ethernet.
const PACKET: ByteCount = ByteCount(1514);
/// Packets that may wait in front of one that is sent.
const PACKETS: f64 = 2.0;
/// The same behind the line, 3.5 on average for each of the four streams of the load: what a stream sends more until the shaper of
/// a download makes it slow down waits in the line's queue.
const PACKETS_BEHIND: f64 = 4.0 * 3.5;
/// What the line forwards of them meanwhile: in the 100 ms after which CoDel drops (RFC 8289) the 3 % by which it is faster.
const FORWARDED: f64 = 0.03 * 100e6;
/// The noise of the idle line is exceeded now and then; this many times of it is not.
const NOISE: f64 = 3.0;
/// A queue of less than this, than so many times the limit, or than so many packets, may be that of the shaper itself or of a
/// host: in fair queueing a packet waits for one of each stream and of the acknowledgments of each.
const OWN: f64 = 30e6;
const LIMITS: f64 = 2.0;
const OWN_PACKETS: f64 = 8.0;

/// The most queueing delay at a rate, over a line whose idle delay varies by this much, in nanoseconds.
pub(crate) fn limit(plan: &TuningPlan, direction: Direction, rate: f64, noise: Option<Delay>) -> f64 {
    plan.delay_limit.map_or_else(|| derived(plan, direction, rate, noise), |limit| limit.0 as f64)
}

/// The same, whatever the user has asked for.
pub(crate) fn derived(plan: &TuningPlan, direction: Direction, rate: f64, noise: Option<Delay>) -> f64 {
    let least = if plan.prefer == Preference::Rate { GENEROUS } else { LEAST };
    let queued = match direction {
        Direction::Up => packets(PACKETS, rate),
        Direction::Down => packets(PACKETS_BEHIND, rate) - FORWARDED,
    };
    least.max(queued).max(unnoticed(noise))
}

/// A delay that is no queue, in nanoseconds.
pub(crate) fn unnoticed(noise: Option<Delay>) -> f64 {
    LEAST.max(noise.map_or(0.0, |noise| NOISE * noise.0 as f64))
}

/// A queue of this or less may be that of a shaper itself or of a host, in nanoseconds.
pub(crate) fn own(plan: &TuningPlan, direction: Direction, rate: f64, noise: Option<Delay>) -> f64 {
    let unlimited = TuningPlan { prefer: Preference::Balanced, ..plan.clone() };
    OWN.max(LIMITS * derived(&unlimited, direction, rate, noise)).max(packets(OWN_PACKETS, rate))
}

/// How long so many packets take at a rate, in nanoseconds.
fn packets(count: f64, rate: f64) -> f64 {
    let time = BitRate(rate.max(1.0) as u64).time_for(PACKET).unwrap_or_default();
    count * time.as_nanos() as f64
}

/// The part of a delay far below the line's rate that stays at every rate: the queue of the shaper itself, and that of hosts.
/// Where the time of packets is most of it, that is half as long at twice the rate.
pub(crate) fn standing(far_below: Delay, rate: f64) -> f64 {
    let far_below = far_below.0.max(0) as f64;
    far_below - 0.5 * far_below.min((packets(PACKETS, rate) - 2.0 * LEAST).max(0.0))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::Direction;
    use rrul_model::shaping::ShaperDescription;

    #[test]
    fn the_limit_is_five_milliseconds_two_packets_or_three_times_the_noise() {
        let plan = TuningPlan::new(ShaperDescription::default());
        let ms = |rate: f64, noise: i64| limit(&plan, Direction::Up, rate, Some(Delay(noise))) / 1e6;
        assert!((ms(20e6, 300_000) - 5.0).abs() < 1e-9);
        assert!((ms(1e6, 300_000) - 24.224).abs() < 0.01, "two packets of 1514 bytes: {}", ms(1e6, 300_000));
        assert!((ms(20e6, 2_000_000) - 6.0).abs() < 1e-9);
        let behind = |rate: f64| limit(&plan, Direction::Down, rate, None) / 1e6;
        assert!(
            (behind(22e6) - 5.0).abs() < 1e-9 && (behind(5e6) - 30.91).abs() < 0.01,
            "fourteen packets: {}",
            behind(5e6)
        );
        let asked = TuningPlan { delay_limit: Some(Delay(2_000_000)), ..plan };
        assert!((limit(&asked, Direction::Up, 1e6, None) - 2e6).abs() < 1e-9);
    }
}
