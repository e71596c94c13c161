//! Light probes, session after session.

use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rrul_analysis::live::ProbeTally;
use rrul_engine::client::{RunObserver, run};
use rrul_model::recording::{End, Frame, Header};
use rrul_model::time::TestTime;

use super::board::Board;
use super::setup::Setup;
use crate::failure::Failure;
use crate::live_screen::terminal;

/// From a session that failed to the next one, doubled with each that follows.
const FIRST_PAUSE: Duration = Duration::from_secs(15);
const LONGEST_PAUSE: Duration = Duration::from_mins(5);
/// A session of this length did not fail at once.
const LASTING: Duration = Duration::from_mins(1);
/// Between two looks at whether to stop.
const LOOK: Duration = Duration::from_millis(200);

/// Probes until the monitor is stopped.
pub(super) fn probe(setup: &Setup, board: &Board) {
    let mut pause = FIRST_PAUSE;
    let mut said = String::new();
    while !board.is_stopping() {
        if !board.may_probe.load(Ordering::Relaxed) {
            std::thread::sleep(LOOK);
            continue;
        }
        let began = Instant::now();
        let outcome = session(setup, board);
        board.probing.store(false, Ordering::Relaxed);
        if board.is_stopping() {
            return;
        }
        let words = outcome.as_ref().err().map(ToString::to_string).unwrap_or_default();
        if words != said {
            let about = if words.is_empty() { "probing again" } else { &words };
            terminal::say(&format!("rrul: light probes: {about}"));
            said = words;
        }
        if outcome.is_ok() && began.elapsed() >= LASTING {
            pause = FIRST_PAUSE;
            continue;
        }
        let again = Instant::now() + pause;
        pause = (2 * pause).min(LONGEST_PAUSE);
        while Instant::now() < again && !board.is_stopping() {
            std::thread::sleep(LOOK);
        }
    }
}

fn session(setup: &Setup, board: &Board) -> Result<(), Failure> {
    let options = setup.options(&setup.probe_plan)?;
    run(&options, &mut Counter { board, tally: None }, &board.stop)?;
    Ok(())
}

/// Counts probes as their fate becomes known.
struct Counter<'a> {
    board: &'a Board,
    tally: Option<ProbeTally>,
}

impl RunObserver for Counter<'_> {
    fn header(&mut self, header: &Header) {
        self.board.probing.store(true, Ordering::Relaxed);
        self.tally = Some(ProbeTally::new(header));
    }

    fn frame(&mut self, frame: Frame) {
        let Some(tally) = &mut self.tally else { return };
        let known = tally.push(&frame);
        if known.is_empty() || self.board.loaded.load(Ordering::Relaxed) {
            return;
        }
        let mut figures = self.board.figures();
        for probe in known {
            figures.probe(probe.class, probe.family, probe.fate);
        }
    }

    fn tick(&mut self, _now: TestTime) {}

    fn end(&mut self, _end: &End) {}
}
