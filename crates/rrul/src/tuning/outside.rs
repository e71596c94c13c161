//! A shaper as a host on its Internet side sees it: what that host sends is the download of the network behind the shaper.

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};

use super::shaper::{Shaper, ShaperError, ShaperState};

/// A shaper whose directions are named from the other side.
pub(crate) struct Outside {
    shaper: Box<dyn Shaper>,
    description: ShaperDescription,
}

impl Outside {
    pub(crate) fn new(shaper: Box<dyn Shaper>) -> Self {
        let inside = shaper.describe().clone();
        let description = ShaperDescription {
            down_discipline: inside.up_discipline,
            up_discipline: inside.down_discipline,
            down_link_layer: inside.up_link_layer,
            up_link_layer: inside.down_link_layer,
            found: inside.found.map(swapped),
            outside: true,
            on_router: false,
            driver: inside.driver,
            target: inside.target,
            section: inside.section,
        };
        Self { shaper, description }
    }
}

fn swapped(rates: ShaperRates) -> ShaperRates {
    ShaperRates { down: rates.direction(Direction::Up), up: rates.direction(Direction::Down) }
}

impl Shaper for Outside {
    fn describe(&self) -> &ShaperDescription {
        &self.description
    }

    fn has(&self, direction: Direction) -> bool {
        self.shaper.has(direction.opposite())
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        let state = self.shaper.read()?;
        Ok(ShaperState { rates: state.rates.map(swapped) })
    }

    fn set(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        self.shaper.set(swapped(rates))
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        let counters = self.shaper.counters()?;
        Ok(counters.map(|counters| ShaperCounters { down: counters.up, up: counters.down }))
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        self.shaper.restore()
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        self.shaper.commands(swapped(rates))
    }

    fn is_lasting(&self) -> bool {
        self.shaper.is_lasting()
    }

    fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        self.shaper.apply(swapped(rates))
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use rrul_model::shaping::DirectionCounters;
    use rrul_model::units::BitRate;

    use super::*;

    /// A shaper of the download alone, which notes what it was set to last.
    struct Inside {
        description: ShaperDescription,
        set: Arc<Mutex<ShaperRates>>,
    }

    impl Shaper for Inside {
        fn describe(&self) -> &ShaperDescription {
            &self.description
        }

        fn has(&self, direction: Direction) -> bool {
            direction == Direction::Down
        }

        fn read(&mut self) -> Result<ShaperState, ShaperError> {
            Ok(ShaperState { rates: Some(*self.set.lock().unwrap()) })
        }

        fn set(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
            *self.set.lock().unwrap() = rates;
            Ok(())
        }

        fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
            Ok(Some(ShaperCounters { down: Some(DirectionCounters { dropped: 7, ..Default::default() }), up: None }))
        }

        fn restore(&mut self) -> Result<(), ShaperError> {
            self.set(ShaperRates::UNSHAPED)
        }

        fn commands(&self, rates: ShaperRates) -> Vec<String> {
            vec![format!("{rates:?}")]
        }

        fn is_lasting(&self) -> bool {
            true
        }

        fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
            self.set(rates)
        }
    }

    const DOWN: ShaperRates = ShaperRates { down: Some(BitRate(20_000_000)), up: None };
    const UP: ShaperRates = ShaperRates { down: None, up: Some(BitRate(20_000_000)) };

    #[test]
    fn the_upload_of_a_host_outside_is_the_download_of_the_shaper() {
        let description = ShaperDescription {
            down_discipline: Some("cake".to_owned()),
            up_link_layer: Some("ATM".to_owned()),
            found: Some(DOWN),
            on_router: true,
            ..ShaperDescription::default()
        };
        let set = Arc::new(Mutex::new(ShaperRates::UNSHAPED));
        let mut shaper = Outside::new(Box::new(Inside { description, set: Arc::clone(&set) }));
        let inside = || *set.lock().unwrap();

        let seen = shaper.describe().clone();
        assert_eq!((seen.down_discipline, seen.up_discipline.as_deref()), (None, Some("cake")));
        assert_eq!((seen.down_link_layer.as_deref(), seen.up_link_layer), (Some("ATM"), None));
        assert_eq!((seen.found, seen.outside, seen.on_router), (Some(UP), true, false));
        assert!(shaper.has(Direction::Up) && !shaper.has(Direction::Down) && shaper.is_lasting());

        shaper.set(UP).unwrap();
        assert_eq!((inside(), shaper.read().unwrap().rates), (DOWN, Some(UP)));
        let counters = shaper.counters().unwrap().unwrap();
        assert_eq!((counters.down, counters.up.map(|up| up.dropped)), (None, Some(7)));
        shaper.restore().unwrap();
        assert_eq!(inside(), ShaperRates::UNSHAPED);
        shaper.apply(UP).unwrap();
        assert_eq!(inside(), DOWN);
        assert_eq!(shaper.commands(UP), [format!("{DOWN:?}")], "to be pasted where the shaper is");
    }
}
