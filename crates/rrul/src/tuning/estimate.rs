//! How long a session takes at most, and how much data: said before it begins.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperRates, TuningPlan};
use rrul_model::units::ByteCount;

/// What a fixed rate of a sweep takes: draining the queue, settling, measuring, setting the shaper, and the last readings.
const FIXED_STEP: Duration = Duration::from_secs(18);
/// Beyond the steps: the first set-up of the load.
const BEGINNING: Duration = Duration::from_secs(5);
/// The longest test of a server that was started without options, less what surrounds the load.
pub(crate) const LONGEST_LOAD: Duration = Duration::from_secs(570);

/// How long the load of a sweep of so many rates takes.
pub(crate) fn sweep_time(rates: usize) -> Duration {
    BEGINNING + FIXED_STEP * u32::try_from(rates).unwrap_or(u32::MAX)
}

/// How many rates fit into the longest test of a server that was started without options.
pub(crate) fn most_rates() -> usize {
    (LONGEST_LOAD.saturating_sub(BEGINNING).as_secs() / FIXED_STEP.as_secs()) as usize
}

/// The most data that the search may take, both directions together; `None` where the rates are not known before.
pub(crate) fn most_data(plan: &TuningPlan) -> Option<ByteCount> {
    if plan.most_data.is_some() {
        return plan.most_data;
    }
    let highest = |direction: Direction| {
        let fixed = plan.fixed.iter().filter_map(|rates| rates.direction(direction));
        // A search also loads the line without a shaper, whose rate is not known; the one that it had is near it.
        let found = plan.shaper.found.filter(|_| plan.fixed.is_empty()).and_then(|rates| rates.direction(direction));
        fixed.chain(found).max()
    };
    let [up, down] = [highest(Direction::Up)?, highest(Direction::Down)?];
    let octets = (up.0 + down.0) as f64 / 8.0 * plan.longest.as_secs_f64();
    Some(ByteCount(octets as u64))
}

/// Rates in words: `download 20.0 Mbit/s, upload unshaped`.
pub(crate) fn rates_words(rates: ShaperRates) -> String {
    let of = |direction: Direction| {
        let rate = rates.direction(direction).map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string());
        format!("{} {rate}", direction.select("upload", "download"))
    };
    format!("{}, {}", of(Direction::Down), of(Direction::Up))
}

/// Bytes as people write them.
pub(crate) fn size_words(size: ByteCount) -> String {
    let value = size.0 as f64;
    if value >= 1e9 { format!("{:.1} GB", value / 1e9) } else { format!("{:.0} MB", (value / 1e6).ceil()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::shaping::ShaperDescription;
    use rrul_model::units::BitRate;

    #[test]
    fn the_data_follow_from_the_rates_that_were_found_and_the_time() {
        let found = ShaperRates { down: Some(BitRate(16_000_000)), up: Some(BitRate(4_000_000)) };
        let mut plan = TuningPlan::new(ShaperDescription { found: Some(found), ..ShaperDescription::default() });
        plan.longest = Duration::from_secs(400);
        assert_eq!(most_data(&plan), Some(ByteCount(1_000_000_000)));
        let limited = TuningPlan { most_data: Some(ByteCount(5)), ..plan.clone() };
        assert_eq!(most_data(&limited), Some(ByteCount(5)));
        plan.shaper.found = Some(ShaperRates { up: None, ..found });
        assert_eq!(most_data(&plan), None, "an unshaped line may carry anything");
        plan.shaper.found = None;
        assert_eq!(most_data(&plan), None, "nor is known what a command had set");
        plan.fixed = vec![found];
        assert_eq!(most_data(&plan), Some(ByteCount(1_000_000_000)));
    }

    #[test]
    fn sizes_and_rates_read_as_people_write_them() {
        assert_eq!(size_words(ByteCount(1_450_000_000)), "1.4 GB");
        assert_eq!(size_words(ByteCount(12_000_001)), "13 MB");
        let rates = ShaperRates { down: Some(BitRate(16_000_000)), up: None };
        assert_eq!(rates_words(rates), "download 16.0 Mbit/s, upload unshaped");
        assert!(sweep_time(most_rates()) <= LONGEST_LOAD);
    }
}
