//! Progress of a running test on stderr: a screen or one line that changes in a terminal, a plain line a second elsewhere.

use std::io::{IsTerminal, Write};

use rrul_analysis::live::{Live, LiveSnapshot};
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;

use crate::live_screen::terminal::{self, Candidate};
use crate::live_screen::{self, LiveScreen};

/// How a test is shown while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A line a second, as if nobody watched.
    Plain,
    /// One line that changes, where there is a terminal.
    Line,
    /// The whole screen, where there is a terminal that can show it.
    Screen,
}

/// Tells how a test is getting on.
pub(crate) struct Progress {
    label: String,
    /// Where lines may be overwritten.
    terminal: bool,
    candidate: Option<Candidate>,
    screen: Option<LiveScreen>,
    live: Option<Live>,
    phases: Vec<PhaseWindow>,
    last_second: i64,
    /// Whether a line waits to be overwritten.
    open: bool,
}

impl Progress {
    /// For stderr, with a name in front of each line.
    pub(crate) fn new(label: impl Into<String>, manner: Manner) -> Self {
        let overwrites = std::env::var_os("TERM").is_some_and(|name| !name.is_empty() && name != "dumb");
        let terminal = manner != Manner::Plain && overwrites && std::io::stderr().is_terminal();
        let candidate = if terminal && manner == Manner::Screen { live_screen::candidate() } else { None };
        Self {
            label: label.into(),
            terminal,
            candidate,
            screen: None,
            live: None,
            phases: Vec::new(),
            last_second: i64::MIN,
            open: false,
        }
    }

    /// The test is about to begin.
    pub(crate) fn begin(&mut self, header: &Header) {
        let families: Vec<_> = header.families.iter().map(|family| family.name()).collect();
        let length = header.phases.last().map_or(0.0, |phase| phase.window.to.seconds());
        say(format_args!(
            "{}: {} flows over {}, {length:.0} s\n",
            self.label,
            header.flows.len(),
            families.join(" and ")
        ));
        self.live = Some(Live::new(header));
        self.phases.clone_from(&header.phases);
        let candidate = self.candidate.take();
        self.screen = candidate.and_then(|candidate| LiveScreen::begin(candidate, &self.label, header));
    }

    /// Observations have come in.
    pub(crate) fn frame(&mut self, frame: &Frame) {
        // Of use when the screen has to go before the test does.
        if let Some(live) = &mut self.live {
            live.push(frame);
        }
        if let Some(screen) = &self.screen {
            screen.frame(frame);
        }
    }

    /// Time goes by.
    pub(crate) fn tick(&mut self, now: TestTime) {
        if let Some(screen) = &self.screen
            && terminal::stands()
        {
            screen.tick(now);
            return;
        }
        let second = now.0.div_euclid(1_000_000_000);
        if second <= self.last_second {
            return;
        }
        self.last_second = second;
        let Some(live) = &self.live else { return };
        let line = line(now, &self.phases, &live.snapshot());
        if self.terminal {
            say(format_args!("\r\x1b[K{}: {line}", self.label));
            self.open = true;
        } else {
            say(format_args!("{}: {line}\n", self.label));
        }
    }

    /// The test is over, or could not begin.
    pub(crate) fn close(&mut self) {
        if let Some(candidate) = self.candidate.take() {
            candidate.dismiss();
        }
        if let Some(screen) = self.screen.take() {
            screen.end();
        }
        if self.open {
            say(format_args!("\r\x1b[K"));
        }
    }
}

/// Says it on stderr. When nobody reads that, the test is worth finishing all the same.
fn say(words: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(words);
}

/// The phase, or what is before and after all of them.
pub(crate) fn phase_name(now: TestTime, phases: &[PhaseWindow]) -> &'static str {
    let phase = phases.iter().find(|phase| phase.window.contains(now));
    match phase {
        Some(phase) => phase.phase.name(),
        None if now < TestTime::ZERO => "start",
        None => "finish",
    }
}

/// How it is getting on in one line.
pub(crate) fn line(now: TestTime, phases: &[PhaseWindow], live: &LiveSnapshot) -> String {
    let phase = phase_name(now, phases);
    let left = phases.last().map_or(0.0, |phase| (phase.window.to.seconds() - now.seconds()).max(0.0));
    let delay = live.delay.map_or_else(|| "-".to_owned(), |delay| delay.to_string());
    let lost = if live.lost_last_second > 0 { format!("   lost {}", live.lost_last_second) } else { String::new() };
    let (down, up) = (live.down.to_string(), live.up.to_string());
    format!("{phase:<6} {left:>3.0} s left   down {down:>11}   up {up:>11}   delay {delay:>8}{lost}")
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::phase::Phase;
    use rrul_model::time::Window;
    use rrul_model::units::{BitRate, Delay};

    #[test]
    fn a_line_says_phase_time_left_rates_and_delay() {
        let window = Window { from: TestTime(0), to: TestTime(20_000_000_000) };
        let phases = [PhaseWindow { phase: Phase::Load, window }];
        let live = LiveSnapshot {
            up: BitRate(7_200_000),
            down: BitRate(18_900_000),
            delay: Some(Delay(215_000_000)),
            lost_last_second: 3,
        };
        let line = line(TestTime(5_000_000_000), &phases, &live);
        assert_eq!(line, "load    15 s left   down 18.9 Mbit/s   up 7.20 Mbit/s   delay   215 ms   lost 3");
    }
}
