//! The shapers of a standing `rrul lab`.
//!
//! A direction without a limit has a rate that no lab reaches: its queue and its counters stay.

use rrul_model::flow::Direction;
use rrul_model::shaping::{DirectionCounters, ShaperCounters, ShaperDescription, ShaperRates};
use rrul_model::units::{BitRate, ByteCount};
use serde::Deserialize;

use super::super::changeable::Changeable;
use super::super::restoration::Restoration;
use super::super::shaper::{ShaperError, ShaperState};
use super::super::shell::quote;
use super::queue_discipline::UNLIMITED;
use crate::commands::lab::standing::{CHANGE_END, ask};

/// The shapers of a standing lab.
pub(crate) struct LabShaper {
    name: String,
    description: ShaperDescription,
}

/// One direction, as the lab describes it.
#[derive(Debug, Deserialize)]
struct Described {
    link_layer: String,
    queue: String,
    rate_bps: u64,
}

#[derive(Debug, Deserialize)]
struct Lines<T> {
    up: Option<T>,
    down: Option<T>,
}

impl<T> Lines<T> {
    fn direction(&self, direction: Direction) -> Option<&T> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

#[derive(Debug, Deserialize)]
struct Line {
    shaper: Option<Counted>,
}

#[derive(Debug, Deserialize)]
struct Counted {
    packets: u64,
    link_octets: u64,
    overflows: u64,
    aqm_drops: u64,
    marks: u64,
    backlog_octets: u64,
}

impl LabShaper {
    /// Finds the shapers of the lab with this name.
    pub(crate) fn find(name: &str) -> Result<Self, ShaperError> {
        let mut shaper = Self { name: name.to_owned(), description: ShaperDescription::default() };
        let lines: Lines<Described> = shaper.ask_json("shapers")?;
        if lines.up.is_none() && lines.down.is_none() {
            let reason = format!(
                "it has no shaper; add one with: rrul lab set --name {name} up.shaper.rate=7.2Mbit/s \
                 down.shaper.rate=18Mbit/s"
            );
            return Err(ShaperError::Refused { place: shaper.place(), reason });
        }
        shaper.description = ShaperDescription {
            driver: "lab".to_owned(),
            target: shaper.place(),
            down_discipline: lines.down.as_ref().map(|line| line.queue.clone()),
            up_discipline: lines.up.as_ref().map(|line| line.queue.clone()),
            down_link_layer: lines.down.as_ref().map(|line| line.link_layer.clone()),
            up_link_layer: lines.up.as_ref().map(|line| line.link_layer.clone()),
            found: Some(rates(&lines)),
            section: None,
            outside: false,
            on_router: false,
        };
        Ok(shaper)
    }

    /// What it was set to before.
    fn found(&self) -> ShaperRates {
        self.description.found.unwrap_or(ShaperRates::UNSHAPED)
    }

    fn place(&self) -> String {
        format!("lab {}", self.name)
    }

    fn ask(&self, question: &str) -> Result<String, ShaperError> {
        ask(&self.name, question)
            .map_err(|failure| ShaperError::Refused { place: self.place(), reason: failure.to_string() })
    }

    fn ask_json<T: for<'a> Deserialize<'a>>(&self, question: &'static str) -> Result<T, ShaperError> {
        serde_json::from_str(&self.ask(question)?).map_err(|error| ShaperError::Output {
            place: self.place(),
            what: question.to_owned(),
            message: error.to_string(),
        })
    }

    /// The changes that set these rates, as `rrul lab set` takes them.
    fn changes(&self, rates: ShaperRates) -> Vec<String> {
        let there = Direction::ALL.into_iter().filter(|direction| self.has(*direction));
        let change = |direction: Direction| {
            let rate = rates.direction(direction).unwrap_or(UNLIMITED);
            format!("{}.shaper.rate={}bit/s", direction.name(), rate.0)
        };
        there.map(change).collect()
    }
}

/// The rates of both directions; one that limits nothing is none.
fn rates(lines: &Lines<Described>) -> ShaperRates {
    let rate =
        |line: &Option<Described>| line.as_ref().map(|line| BitRate(line.rate_bps)).filter(|rate| *rate < UNLIMITED);
    ShaperRates { down: rate(&lines.down), up: rate(&lines.up) }
}

impl Changeable for LabShaper {
    fn describe(&self) -> &ShaperDescription {
        &self.description
    }

    fn has(&self, direction: Direction) -> bool {
        direction.select(&self.description.up_discipline, &self.description.down_discipline).is_some()
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        Ok(ShaperState { rates: Some(rates(&self.ask_json("shapers")?)) })
    }

    fn change(&mut self, wanted: ShaperRates) -> Result<(), ShaperError> {
        self.ask(&format!("change {}", self.changes(wanted).join(CHANGE_END)))?;
        Ok(())
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        let lines: Lines<Line> = self.ask_json("stats")?;
        let of = |direction| {
            lines.direction(direction).and_then(|line| line.shaper.as_ref()).map(|shaper| DirectionCounters {
                sent: ByteCount(shaper.link_octets),
                packets: shaper.packets,
                dropped: shaper.overflows + shaper.aqm_drops,
                marked: shaper.marks,
                backlog: ByteCount(shaper.backlog_octets),
            })
        };
        Ok(Some(ShaperCounters { down: of(Direction::Down), up: of(Direction::Up) }))
    }

    fn restoration(&self) -> Restoration {
        let program = std::env::current_exe().map_or_else(|_| "rrul".to_owned(), |path| path.display().to_string());
        let folder = std::env::var("XDG_RUNTIME_DIR").unwrap_or_default();
        let rrul = format!("XDG_RUNTIME_DIR={} {} lab", quote(&folder), quote(&program));
        let name = quote(&self.name);
        let changes = self.changes(self.found()).join(" ");
        // A lab that is down has nothing to restore.
        let script = format!("{rrul} stats --name {name} || exit 0; {rrul} set --name {name} {changes}");
        Restoration { title: self.place(), host: None, script }
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        self.change(self.found())
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        vec![format!("rrul lab set --name {} {}", self.name, self.changes(rates).join(" "))]
    }
}

#[cfg(test)]
#[path = "lab_tests.rs"]
mod tests;
