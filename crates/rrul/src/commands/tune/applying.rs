//! The rates that were found, put into the shaper: by hand or by rrul.

use rrul_model::shaping::ShaperRates;

use crate::tuning::shaper::Shaper;

/// Returns the commands of the driver, for people to paste, where the summary has none: what htb and tbf have beside their rates is
/// not in the recording.
pub(super) fn driver_lines(rates: ShaperRates, shaper: &dyn Shaper) -> Vec<String> {
    let description = shaper.describe();
    let disciplines = [&description.down_discipline, &description.up_discipline];
    if description.driver != "tc" || disciplines.into_iter().flatten().all(|name| name.starts_with("cake")) {
        return Vec::new();
    }
    let heading = [String::new(), "To set these rates until a restart:".to_owned()];
    heading.into_iter().chain(shaper.commands(rates).iter().map(|command| format!("  {command}"))).collect()
}

#[cfg(test)]
mod tests {
    use rrul_model::flow::Direction;
    use rrul_model::shaping::{ShaperCounters, ShaperDescription};
    use rrul_model::units::BitRate;

    use super::*;
    use crate::tuning::shaper::{ShaperError, ShaperState};

    /// A shaper with a command for its rates.
    struct Described(ShaperDescription);

    impl Described {
        fn new(driver: &str, down: &str, up: &str) -> Self {
            Self(ShaperDescription {
                driver: driver.to_owned(),
                down_discipline: Some(down.to_owned()),
                up_discipline: Some(up.to_owned()),
                found: rates(15_000_000, 5_000_000),
                ..ShaperDescription::default()
            })
        }
    }

    impl Shaper for Described {
        fn describe(&self) -> &ShaperDescription {
            &self.0
        }

        fn has(&self, _direction: Direction) -> bool {
            true
        }

        fn read(&mut self) -> Result<ShaperState, ShaperError> {
            Ok(ShaperState { rates: Some(self.0.found) })
        }

        fn set(&mut self, _rates: ShaperRates) -> Result<(), ShaperError> {
            Ok(())
        }

        fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
            Ok(None)
        }

        fn restore(&mut self) -> Result<(), ShaperError> {
            Ok(())
        }

        fn commands(&self, rates: ShaperRates) -> Vec<String> {
            let rate = |rate: Option<BitRate>| rate.map_or_else(|| "unlimited".to_owned(), |rate| rate.0.to_string());
            vec![format!("set {} {}", rate(rates.down), rate(rates.up))]
        }

        fn is_lasting(&self) -> bool {
            false
        }

        fn apply(&mut self, _rates: ShaperRates) -> Result<(), ShaperError> {
            Ok(())
        }
    }

    fn rates(down: u64, up: u64) -> ShaperRates {
        ShaperRates { down: Some(BitRate(down)), up: Some(BitRate(up)) }
    }

    #[test]
    fn the_commands_of_the_driver_are_printed_where_the_summary_has_none() {
        let wanted = rates(19_000_000, 7_000_000);
        for (down, up) in [("htb with fq_codel", "cake diffserv4"), ("cake besteffort", "tbf"), ("tbf", "tbf")] {
            let lines = driver_lines(wanted, &Described::new("tc", down, up));
            assert_eq!(lines, ["", "To set these rates until a restart:", "  set 19000000 7000000"], "{down}, {up}");
        }
        for (driver, up) in [("tc", "cake diffserv4"), ("openwrt", "htb with fq_codel"), ("lab", "fq_codel")] {
            let lines = driver_lines(wanted, &Described::new(driver, "cake besteffort", up));
            assert!(lines.is_empty(), "{driver}, {up}: {lines:?}");
        }
    }
}
