//! The rates that were found, put into the shaper: by hand or by rrul.

use std::io::BufRead;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::shaping::ShaperRates;

use super::TuneError;
use crate::failure::Failure;
use crate::live_screen::terminal::say;
use crate::tuning::estimate::rates_words;
use crate::tuning::shaper::{Shaper, ShaperError};

/// How soon Ctrl-C is noticed while an answer is waited for.
const PATIENCE: Duration = Duration::from_millis(50);

/// Returns the rates to set. A direction without one keeps what it had: a shaper sets both.
pub(super) fn completed(rates: ShaperRates, found: Option<ShaperRates>) -> ShaperRates {
    let kept = |rates: ShaperRates, direction| {
        rates.with(direction, rates.direction(direction).or(found.and_then(|found| found.direction(direction))))
    };
    Direction::ALL.into_iter().fold(rates, kept)
}

/// Returns the direction that has no rate among those to set, and had one that its driver cannot read.
pub(super) fn unknown(
    is_set: impl Fn(Direction) -> bool,
    shaper: &mut dyn Shaper,
) -> Result<Option<Direction>, ShaperError> {
    let left = Direction::ALL.into_iter().find(|direction| shaper.has(*direction) && !is_set(*direction));
    Ok(match left {
        Some(_) if shaper.read()?.rates.is_some() => None,
        left => left,
    })
}

/// Refuses to set rates while that of a direction is [`unknown`].
pub(super) fn refuse_unknown(is_set: impl Fn(Direction) -> bool, shaper: &mut dyn Shaper) -> Result<(), Failure> {
    match unknown(is_set, shaper)? {
        Some(direction) => Err(TuneError::UnknownRate { place: shaper.describe().target.clone(), direction }.into()),
        None => Ok(()),
    }
}

/// Sets the rates and leaves them set. With `input` it asks, and a line of it must say yes; raising `stop` is a no.
pub(super) fn apply(
    rates: ShaperRates,
    shaper: &mut dyn Shaper,
    input: Option<impl BufRead + Send + 'static>,
    stop: &AtomicBool,
) -> Result<(), Failure> {
    refuse_unknown(|direction| rates.direction(direction).is_some(), shaper)?;
    for command in shaper.commands(rates) {
        say(&format!("  {command}"));
    }
    let lasting = if shaper.is_lasting() { "permanently" } else { "until the shaper's host restarts" };
    if let Some(input) = input {
        say(&format!("Set {} {lasting}? Type yes:", rates_words(rates)));
        if !is_yes(input, stop)? {
            say("Nothing was set.");
            return Ok(());
        }
    }
    shaper.apply(rates)?;
    say(&format!("Set {lasting}: {}", rates_words(rates)));
    Ok(())
}

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

/// Whether the next line says yes. Raising `stop` ends the wait: Ctrl-C does not end the reading of a line.
fn is_yes(mut input: impl BufRead + Send + 'static, stop: &AtomicBool) -> Result<bool, Failure> {
    let (sender, answers) = channel();
    std::thread::spawn(move || {
        let mut answer = String::new();
        // After a stop no one waits for an answer.
        let _ = sender.send(input.read_line(&mut answer).map(|_| answer));
    });
    let answer = loop {
        let answer = answers.recv_timeout(PATIENCE);
        if stop.load(Ordering::Relaxed) {
            return Ok(false);
        }
        match answer {
            Ok(answer) => break answer.map_err(Failure::system("cannot read the answer"))?,
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return Ok(false),
        }
    };
    Ok(matches!(answer.trim().to_ascii_lowercase().as_str(), "y" | "yes"))
}

#[cfg(test)]
mod tests {
    use rrul_model::shaping::{ShaperCounters, ShaperDescription};
    use rrul_model::units::BitRate;

    use super::*;
    use crate::tuning::shaper::ShaperState;

    /// A shaper with a command for its rates. What `command` drives cannot be read.
    struct Described(ShaperDescription, Vec<ShaperRates>);

    impl Described {
        fn new(driver: &str, down: &str, up: &str) -> Self {
            Self(
                ShaperDescription {
                    driver: driver.to_owned(),
                    down_discipline: Some(down.to_owned()),
                    up_discipline: Some(up.to_owned()),
                    found: (driver != "command").then(|| rates(15_000_000, 5_000_000)),
                    ..ShaperDescription::default()
                },
                Vec::new(),
            )
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
            Ok(ShaperState { rates: self.0.found })
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

        fn apply(&mut self, rates: ShaperRates) -> Result<(), ShaperError> {
            self.1.push(rates);
            Ok(())
        }
    }

    fn rates(down: u64, up: u64) -> ShaperRates {
        ShaperRates { down: Some(BitRate(down)), up: Some(BitRate(up)) }
    }

    #[test]
    fn a_direction_without_a_rate_keeps_what_it_had() {
        let found = Some(rates(15_000_000, 5_000_000));
        let upload = ShaperRates { down: None, up: Some(BitRate(7_000_000)) };
        assert_eq!(completed(upload, found), rates(15_000_000, 7_000_000));
        assert_eq!(completed(upload, Some(ShaperRates::UNSHAPED)), upload, "it was unshaped");
        assert_eq!(completed(upload, None), upload, "what it was is unknown");
        let both = rates(19_000_000, 7_000_000);
        assert_eq!(completed(both, found), both);
    }

    /// Sets without a question.
    const NOBODY: Option<std::io::Empty> = None;

    #[test]
    fn only_a_yes_sets_the_rates_and_ctrl_c_is_a_no() {
        let wanted = rates(19_000_000, 7_000_000);
        for (typed, stopped, is_set) in [
            ("yes\n", false, true),
            ("Y\n", false, true),
            ("no\n", false, false),
            ("\n", false, false),
            ("", false, false),
            ("yes\n", true, false),
        ] {
            let mut shaper = Described::new("tc", "cake besteffort", "cake besteffort");
            apply(wanted, &mut shaper, Some(typed.as_bytes()), &AtomicBool::new(stopped)).unwrap();
            assert_eq!(shaper.1.len(), usize::from(is_set), "{typed:?}, stopped: {stopped}");
        }
    }

    #[test]
    fn ctrl_c_ends_a_question_without_an_answer() {
        let (reader, _writer) = std::io::pipe().unwrap();
        assert!(!is_yes(std::io::BufReader::new(reader), &AtomicBool::new(true)).unwrap());
    }

    #[test]
    fn rates_are_not_applied_while_that_of_a_direction_is_unknown() {
        let (upload, both) = (ShaperRates { down: None, up: Some(BitRate(7_000_000)) }, rates(19_000_000, 7_000_000));
        let mut readable = Described::new("tc", "cake besteffort", "cake besteffort");
        let go_on = AtomicBool::new(false);
        apply(upload, &mut readable, NOBODY, &go_on).unwrap();
        assert_eq!(readable.1, [upload]);
        let mut command = Described::new("command", "", "");
        let said = apply(upload, &mut command, NOBODY, &go_on).unwrap_err().to_string();
        assert!(said.contains("a rate for the download") && said.contains("tune both directions"), "{said}");
        assert_eq!(command.1, []);
        apply(both, &mut command, NOBODY, &go_on).unwrap();
        assert_eq!(command.1, [both]);
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
