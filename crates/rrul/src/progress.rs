//! Progress of a running test on stderr: a screen or one line that changes in a terminal, a plain line a second elsewhere.

use std::io::{IsTerminal, Write};

use rrul_analysis::live::Live;
use rrul_engine::client::PlaceInLine;
use rrul_model::phase::PhaseWindow;
use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;

use crate::live_screen::terminal::{self, Candidate};
use crate::live_screen::{self, LiveScreen};
use crate::progress_line::line;

/// How a test is shown while it runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Manner {
    /// A line a second, also in a terminal.
    Plain,
    /// One line that changes, in a terminal.
    Line,
    /// The whole screen, in a terminal that can show it.
    Screen,
}

/// Shows the progress of a test.
pub(crate) struct Progress {
    label: String,
    /// Where lines may be overwritten.
    terminal: bool,
    candidate: Option<Candidate>,
    screen: Option<LiveScreen>,
    live: Option<Live>,
    phases: Vec<PhaseWindow>,
    last_second: i64,
    /// The place in line that was shown last.
    waited: Option<PlaceInLine>,
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
            waited: None,
            open: false,
        }
    }

    /// The test is about to begin.
    pub(crate) fn begin(&mut self, header: &Header) {
        if std::mem::take(&mut self.open) {
            say(format_args!("\r\x1b[K"));
        }
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

    /// The test waits for others.
    pub(crate) fn waiting(&mut self, place: PlaceInLine) {
        let line = waiting_words(place);
        if self.terminal {
            say(format_args!("\r\x1b[K{}: {line}", self.label));
            self.open = true;
        } else if self.waited.is_none_or(|shown| shown.position != place.position) {
            say(format_args!("{}: {line}\n", self.label));
        }
        self.waited = Some(place);
    }

    pub(crate) fn frame(&mut self, frame: &Frame) {
        // Of use when the screen has to go before the test does.
        if let Some(live) = &mut self.live {
            live.push(frame);
        }
        if let Some(screen) = &self.screen {
            screen.frame(frame);
        }
    }

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

/// That a test waits for others, and how long at most.
pub(crate) fn waiting_words(place: PlaceInLine) -> String {
    match place.position {
        Some(position) => format!("waiting in line: place {position}, at most {} s", place.longest.as_secs().max(1)),
        None => "waiting: the server has no place for another test".to_owned(),
    }
}

/// Says it on stderr. When that is not read, the test is worth finishing all the same.
fn say(words: std::fmt::Arguments<'_>) {
    let _ = std::io::stderr().write_fmt(words);
}
