//! Conducts a tuning session: one test whose load goes on while the shaper is set to one rate after another.
//!
//! The test runs in a thread of its own. What to set next follows from the steps so far ([`search`]); each step is written to
//! the recording as it ends. However the session ends, the shaper is restored, and what was measured is kept.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rrul_analysis::tuning::next_step::{Flush, NextStep, exceeds_data};
use rrul_analysis::tuning::search::{self, Action};
use rrul_analysis::tuning::trial::Trial;
use rrul_analysis::tuning::trials::{known_until, latest_queueing, observed_until, trial};
use rrul_engine::client::{PlaceInLine, RunError, RunObserver, RunOptions, run_until};
use rrul_engine::clock::RawTime;
use rrul_engine::clock::test_clock::TestClock;
use rrul_model::flow::{Direction, FlowId};
use rrul_model::phase::Phase;
use rrul_model::recording::{End, Frame, Header, Line, Recording};
use rrul_model::shaping::{CounterPair, ShaperCounters, ShaperRates, TuningPlan, TuningStep};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{ByteCount, Delay};

use super::progress::{subject_line, trial_line};
use super::shaper::{Shaper, ShaperError};
use crate::failure::Failure;
use crate::live_screen::terminal;
use crate::measurement::write_in_background;
use crate::progress::waiting_words;
use crate::store::Writer;

/// How soon a session notices Ctrl-C or the end of the test.
const PATIENCE: Duration = Duration::from_millis(50);

/// After a step's last reading has come in: frames of many rows come one by one.
const ARRIVING: Duration = Duration::from_millis(150);

/// How long the last readings of a step are waited for: they come about once a second, through the queue of the line.
const READING_TIME: Duration = Duration::from_secs(10);

/// How much longer than it asks for a setting that drains queues is held while they have not drained.
const DRAINING: Duration = Duration::from_secs(15);
const LOOKING: Duration = Duration::from_millis(200);

/// Queues have drained when a packet waits no longer than this in the middle, or than these bytes take.
const DRAINED: Delay = Delay(5_000_000);
const DRAINED_PACKETS: ByteCount = ByteCount(3 * 1514);

/// How long a load that was asked to end is waited for before the shaper is restored: without it the line's queue would fill.
const ENDING: Duration = Duration::from_millis(1500);

/// What to conduct.
#[derive(Clone, Copy)]
pub(crate) struct Conduct<'a> {
    /// Whom to test with what load.
    pub(crate) options: &'a RunOptions,
    /// What to search for.
    pub(crate) tuning: &'a TuningPlan,
    /// Raised by the user to end the session.
    pub(crate) stop: &'a AtomicBool,
    /// What is printed of the only step in place of its number: what it measures. `None` in a search and in a sweep.
    pub(crate) subject: Option<&'a str>,
}

/// A session that has ended.
pub(crate) struct Session {
    /// All that was measured, with the steps.
    pub(crate) recording: Recording,
    /// The figures of the steps, on which the search has decided.
    pub(crate) trials: Vec<Trial>,
    /// Why it ended.
    pub(crate) ended: SessionEnd,
    /// Why the shaper could not be restored.
    pub(crate) restored: Result<(), ShaperError>,
    /// Where the recording is.
    pub(crate) path: Result<PathBuf, Failure>,
}

impl Session {
    /// Whether its recording is written, and the shaper as it was found.
    pub(crate) fn is_kept(&self) -> bool {
        self.path.is_ok() && self.restored.is_ok() && !matches!(self.ended, SessionEnd::Shaper(_))
    }

    /// Returns what is left of the session once nothing went wrong.
    ///
    /// # Errors
    /// When the shaper was not restored, which is also printed and matters most; when it could not be set or read; when the
    /// recording could not be written.
    pub(crate) fn kept(self) -> Result<KeptSession, Failure> {
        if let Err(error) = self.restored {
            say_not_restored();
            return Err(error.into());
        }
        if let SessionEnd::Shaper(error) = self.ended {
            return Err(error.into());
        }
        let is_finished = matches!(self.ended, SessionEnd::Finished);
        Ok(KeptSession { recording: self.recording, trials: self.trials, is_finished, path: self.path? })
    }
}

/// Says what to do about a shaper that could not be restored.
pub(crate) fn say_not_restored() {
    terminal::say("rrul: the shaper was NOT restored; run rrul tune --restore");
}

/// A session whose recording is written, with the shaper as it was found.
pub(crate) struct KeptSession {
    pub(crate) recording: Recording,
    pub(crate) trials: Vec<Trial>,
    /// Whether it measured all that it was asked for.
    pub(crate) is_finished: bool,
    pub(crate) path: PathBuf,
}

/// Why a session ended.
#[derive(Debug)]
pub(crate) enum SessionEnd {
    /// The search knows all that it asked for.
    Finished,
    /// The time of the load is over.
    OutOfTime,
    /// The load has taken all data that it may.
    OutOfData,
    /// The user has stopped it.
    Stopped,
    /// The shaper could not be set or read.
    Shaper(ShaperError),
    /// The test ended by itself: `end.partial` of the recording says why.
    TestEnded,
}

impl Conduct<'_> {
    /// Runs the session in the calling thread's network namespace.
    ///
    /// # Errors
    /// When the test cannot begin; the file is then removed, and the shaper was not touched.
    pub(crate) fn run(&self, shaper: &mut dyn Shaper, writer: Writer) -> Result<Session, Failure> {
        let (lines, writing) = write_in_background(writer)?;
        let live = Live::default();
        let end_load = AtomicBool::new(false);
        let mut options = self.options.clone();
        for phase in options.plan.phases.iter_mut().filter(|entry| entry.phase == Phase::Load) {
            phase.length = self.tuning.longest;
        }
        let mut recorder = Recorder { lines: lines.clone(), live: &live, tuning: self.tuning, waited: None };
        let (outcome, course) = std::thread::scope(|scope| {
            let testing = scope.spawn(|| {
                let _over = Over(&live);
                run_until(&options, &mut recorder, self.stop, &end_load)
            });
            // Whatever becomes of this thread, the load does not go on without it.
            let _ending = Raise(&end_load);
            let course = Course { conduct: self, live: &live, lines: &lines, end_load: &end_load }.lead(shaper);
            (testing.join(), course)
        });
        drop((recorder, lines));
        let writer = writing.join().map_err(|_| Failure::WriterEnded)?;
        let outcome: Result<(), RunError> = outcome.unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        if let Err(error) = outcome {
            writer.discard();
            return Err(error.into());
        }
        // What was measured is safe before anything is made of it.
        let path = writer.finish();
        let Taken { trials, ended, restored } = course;
        let state = live.state.into_inner().unwrap_or_else(PoisonError::into_inner);
        let kept = state.recording.ok_or(Failure::NoHeader)?;
        let recording = Recording { steps: kept.steps, ..Recording::new(kept.header, kept.frames, kept.end) };
        Ok(Session { recording, trials, ended, restored, path })
    }
}

/// What the test has brought forth so far.
#[derive(Default)]
struct Live {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    recording: Option<Recording>,
    /// What each stream of the load has delivered.
    delivered: HashMap<FlowId, u64>,
    /// The test has ended.
    over: bool,
}

impl Live {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn change(&self, how: impl FnOnce(&mut State)) {
        how(&mut self.state());
        self.changed.notify_all();
    }

    /// Waits until something has changed, or a little while.
    fn wait(&self) {
        drop(self.changed.wait_timeout(self.state(), PATIENCE));
    }
}

/// Notes that the test has ended, however that came about.
struct Over<'a>(&'a Live);

impl Drop for Over<'_> {
    fn drop(&mut self) {
        self.0.change(|state| state.over = true);
    }
}

/// Raises a flag in the end.
struct Raise<'a>(&'a AtomicBool);

impl Drop for Raise<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}

/// Takes what the engine brings forth: to the file and to memory.
struct Recorder<'a> {
    lines: Sender<Line>,
    live: &'a Live,
    tuning: &'a TuningPlan,
    /// The place in line that was last said.
    waited: Option<PlaceInLine>,
}

impl Recorder<'_> {
    fn write(&self, line: Line) {
        // The writing thread outlives this sender; should it have died, the file ends there and joining shows it.
        let _ = self.lines.send(line);
    }
}

impl RunObserver for Recorder<'_> {
    fn waiting(&mut self, place: PlaceInLine) {
        if self.waited.is_none_or(|said| said.position != place.position) {
            terminal::say(&waiting_words(place));
        }
        self.waited = Some(place);
    }

    fn header(&mut self, header: &Header) {
        let header = Header { tuning: Some(self.tuning.clone()), ..header.clone() };
        self.write(Line::Header(Box::new(header.clone())));
        self.live.change(|state| state.recording = Some(Recording::new(header, Vec::new(), None)));
    }

    fn frame(&mut self, frame: Frame) {
        self.write(Line::Frame(Box::new(frame.clone())));
        self.live.change(|state| {
            for row in frame.tables.octets_received.rows() {
                let octets = state.delivered.entry(row.flow).or_default();
                *octets = row.octets.0.max(*octets);
            }
            if let Some(recording) = &mut state.recording {
                recording.frames.push(frame);
            }
        });
    }

    fn tick(&mut self, _now: TestTime) {}

    fn end(&mut self, end: &End) {
        self.write(Line::End(end.clone()));
        self.live.change(|state| {
            if let Some(recording) = &mut state.recording {
                recording.end = Some(end.clone());
            }
        });
    }
}

/// What came of the steps.
struct Taken {
    trials: Vec<Trial>,
    ended: SessionEnd,
    restored: Result<(), ShaperError>,
}

/// A session under way.
struct Course<'a> {
    conduct: &'a Conduct<'a>,
    live: &'a Live,
    lines: &'a Sender<Line>,
    end_load: &'a AtomicBool,
}

impl Course<'_> {
    /// Takes one step after the other, ends the load and restores the shaper.
    fn lead(&self, shaper: &mut dyn Shaper) -> Taken {
        let mut trials = Vec::new();
        let ended = match self.begin() {
            Ok((clock, load)) => match self.steps(clock, load, shaper, &mut trials) {
                Ok(ended) | Err(ended) => ended,
            },
            Err(ended) => ended,
        };
        self.end_load.store(true, Ordering::Relaxed);
        if matches!(ended, SessionEnd::Finished | SessionEnd::OutOfTime | SessionEnd::OutOfData) {
            // When the test ends in between, all the sooner.
            let _ = self.pause(Instant::now() + ENDING);
        }
        let restored = shaper.restore();
        Taken { trials, ended, restored }
    }

    /// Waits until the test begins; its clock, and when its load takes place.
    fn begin(&self) -> Result<(TestClock, Window), SessionEnd> {
        loop {
            self.goes_on()?;
            let header = |recording: &Recording| (recording.header.clocks.client_origin, recording.loaded());
            let known = self.live.state().recording.as_ref().map(header);
            if let Some((origin, load)) = known {
                let load = load.unwrap_or(Window { from: TestTime::ZERO, to: TestTime::ZERO });
                return Ok((TestClock::since(RawTime(origin)), load));
            }
            self.live.wait();
        }
    }

    fn steps(
        &self,
        clock: TestClock,
        load: Window,
        shaper: &mut dyn Shaper,
        trials: &mut Vec<Trial>,
    ) -> Result<SessionEnd, SessionEnd> {
        self.pause_until(clock, load.from)?;
        loop {
            let Action::Step(next) = search::next_action(self.conduct.tuning, trials) else {
                return Ok(SessionEnd::Finished);
            };
            let hold = next.flush.map_or(Duration::ZERO, |flush| flush.hold);
            if clock.now() + hold + next.settle + next.measure > load.to {
                return Ok(SessionEnd::OutOfTime);
            }
            if exceeds_data(self.conduct.tuning, trials, self.delivered(), &next) {
                return Ok(SessionEnd::OutOfData);
            }
            let step = self.step(clock, load, &next, trials.len(), shaper)?;
            let trial = self.measured(&step)?;
            terminal::say(&match self.conduct.subject {
                Some(subject) => subject_line(&trial, subject),
                None => trial_line(&trial, trials.len() + 1, self.conduct.tuning),
            });
            trials.push(trial);
        }
    }

    /// Sets the shaper, waits for the measured window to pass, and writes the step.
    fn step(
        &self,
        clock: TestClock,
        load: Window,
        next: &NextStep,
        number: usize,
        shaper: &mut dyn Shaper,
    ) -> Result<TuningStep, SessionEnd> {
        if let Some(flush) = next.flush {
            self.flush(clock, flush, shaper)?;
            if clock.now() + next.settle + next.measure > load.to {
                return Err(SessionEnd::OutOfTime);
            }
        }
        shaper.set(next.rates)?;
        let set_at = clock.now();
        self.pause_until(clock, set_at + next.settle)?;
        let (settled_at, before) = counted(clock, shaper)?;
        self.pause_until(clock, settled_at + next.measure)?;
        let (ended_at, after) = counted(clock, shaper)?;
        let step = TuningStep {
            number: u32::try_from(number).unwrap_or(u32::MAX),
            purpose: next.purpose,
            direction: next.direction,
            rates: next.rates,
            set_at,
            settled_at,
            ended_at,
            counters: before.zip(after).map(|(before, after)| CounterPair { before, after }),
        };
        // Should the writing thread have died, joining it shows that.
        let _ = self.lines.send(Line::Step(Box::new(step.clone())));
        self.live.change(|state| state.recording.iter_mut().for_each(|kept| kept.steps.push(step.clone())));
        Ok(step)
    }

    /// Keeps a setting that drains the queues, for as long as it says and until they are seen to have drained: senders take
    /// note of a new rate only when what waits in a long queue has arrived.
    fn flush(&self, clock: TestClock, flush: Flush, shaper: &mut dyn Shaper) -> Result<(), SessionEnd> {
        shaper.set(flush.rates)?;
        let set_at = clock.now();
        self.pause(Instant::now() + flush.hold)?;
        let given_up = set_at + flush.hold + DRAINING;
        while clock.now() < given_up && !self.is_drained(set_at, flush.rates) {
            self.pause(Instant::now() + LOOKING)?;
        }
        Ok(())
    }

    /// Whether the queues are short in the latest second that is known.
    fn is_drained(&self, since: TestTime, rates: ShaperRates) -> bool {
        let latest = self.live.state().recording.as_ref().and_then(|kept| latest_queueing(kept, since));
        latest.is_some_and(|queueing| {
            Direction::ALL.into_iter().all(|direction| {
                let packets =
                    rates.direction(direction).and_then(|rate| rate.time_for(DRAINED_PACKETS)).unwrap_or_default();
                queueing.get(direction).is_none_or(|delay| delay <= Delay::from(packets).max(DRAINED))
            })
        })
    }

    /// The figures of a step, as soon as both ends have reported it to its end.
    fn measured(&self, step: &TuningStep) -> Result<Trial, SessionEnd> {
        let deadline = Instant::now() + READING_TIME;
        let is_known = || {
            let state = self.live.state();
            state.recording.as_ref().is_some_and(|kept| observed_until(&kept.frames) >= known_until(step))
        };
        while !is_known() && Instant::now() < deadline {
            self.goes_on()?;
            self.live.wait();
        }
        self.pause(Instant::now() + ARRIVING)?;
        let state = self.live.state();
        state.recording.as_ref().map(|kept| trial(kept, step)).ok_or(SessionEnd::TestEnded)
    }

    /// Bytes of the load that have arrived, both directions together.
    fn delivered(&self) -> ByteCount {
        ByteCount(self.live.state().delivered.values().sum())
    }

    fn goes_on(&self) -> Result<(), SessionEnd> {
        if self.conduct.stop.load(Ordering::Relaxed) {
            return Err(SessionEnd::Stopped);
        }
        if self.conduct.tuning.most_data.is_some_and(|most| self.delivered() >= most) {
            return Err(SessionEnd::OutOfData);
        }
        if self.live.state().over { Err(SessionEnd::TestEnded) } else { Ok(()) }
    }

    fn pause_until(&self, clock: TestClock, due: TestTime) -> Result<(), SessionEnd> {
        let left = due.since(clock.now()).0.max(0).cast_unsigned();
        self.pause(Instant::now() + Duration::from_nanos(left))
    }

    fn pause(&self, until: Instant) -> Result<(), SessionEnd> {
        loop {
            self.goes_on()?;
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return Ok(());
            }
            std::thread::sleep(left.min(PATIENCE));
        }
    }
}

impl From<ShaperError> for SessionEnd {
    fn from(error: ShaperError) -> Self {
        Self::Shaper(error)
    }
}

/// Counters of the shaper, and the middle of the time in which they were read.
fn counted(clock: TestClock, shaper: &mut dyn Shaper) -> Result<(TestTime, Option<ShaperCounters>), ShaperError> {
    let asked = clock.now();
    let counters = shaper.counters()?;
    let took = clock.now().since(asked).0.max(0).cast_unsigned();
    Ok((asked + Duration::from_nanos(took / 2), counters))
}

#[cfg(test)]
#[path = "conductor_tests.rs"]
mod tests;
