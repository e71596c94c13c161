//! A shaper that a command of the user sets: any script, any router.
//!
//! `{down}` and `{up}` in the script become rates in bit/s. A direction without a limit gets 10000000000 (10 Gbit/s): more
//! than the line, so that no script needs a special case. The command that restores runs before the first change as well, so
//! that one that does not work is noticed.

use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperCounters, ShaperDescription, ShaperRates};

use super::super::changeable::Changeable;
use super::super::restoration::Restoration;
use super::super::shaper::{ShaperError, ShaperState};
use super::super::shell::{self, quote};
use super::queue_discipline::UNLIMITED;

/// How long the script may take.
const LIMIT: Duration = Duration::from_secs(30);

/// A shaper that a command sets.
pub(crate) struct CommandShaper {
    script: String,
    restore: String,
    description: ShaperDescription,
}

impl CommandShaper {
    /// A script that sets both rates, and one that restores what was before.
    pub(crate) fn new(script: &str, restore: Option<&str>, on_router: bool) -> Result<Self, ShaperError> {
        let Some(restore) = restore.filter(|text| !text.trim().is_empty()) else {
            let reason =
                "rrul cannot read what it was set to; give --restore-command, which sets that again".to_owned();
            return Err(ShaperError::Refused { place: place(script), reason });
        };
        let description = ShaperDescription {
            driver: "command".to_owned(),
            target: place(script),
            on_router,
            ..ShaperDescription::default()
        };
        Ok(Self { script: script.to_owned(), restore: restore.to_owned(), description })
    }

    fn line(&self, rates: ShaperRates) -> String {
        let rate = |direction| rates.direction(direction).unwrap_or(UNLIMITED).0.to_string();
        self.script.replace("{down}", &rate(Direction::Down)).replace("{up}", &rate(Direction::Up))
    }

    fn run(&self, line: &str) -> Result<(), ShaperError> {
        let place = &self.description.target;
        shell::finish(&mut shell::shell(line), place, line, LIMIT)?.success(place, line)?;
        Ok(())
    }
}

fn place(script: &str) -> String {
    format!("command {script}")
}

impl Changeable for CommandShaper {
    fn describe(&self) -> &ShaperDescription {
        &self.description
    }

    fn has(&self, direction: Direction) -> bool {
        self.script.contains(&format!("{{{}}}", direction.name()))
    }

    fn read(&mut self) -> Result<ShaperState, ShaperError> {
        Ok(ShaperState { rates: None })
    }

    fn change(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
        self.run(&self.line(rates))
    }

    fn counters(&mut self) -> Result<Option<ShaperCounters>, ShaperError> {
        Ok(None)
    }

    fn restoration(&self) -> Restoration {
        let folder = std::env::current_dir().unwrap_or_default();
        // The command may end in a comment.
        let script = format!("cd {} && sh -c {}", quote(&folder.to_string_lossy()), quote(&self.restore));
        Restoration { title: self.description.target.clone(), host: None, script }
    }

    fn restore(&mut self) -> Result<(), ShaperError> {
        self.run(&self.restore)
    }

    fn commands(&self, rates: ShaperRates) -> Vec<String> {
        vec![self.line(rates)]
    }
}
