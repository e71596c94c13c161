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
