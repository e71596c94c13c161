//! One full test: whether the line is free, the test with an eye on its data, and what it has found.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::time::{Duration, Instant};

use rrul_analysis::summary::Summary;
use rrul_analysis::validity::Verdict;
use rrul_analysis::{Analysis, analyze};
use rrul_engine::client::{MemoryRecorder, NameError, RunError, RunObserver, run_until};
use rrul_engine::environment::Carried;
use rrul_model::flow::Direction;
use rrul_model::recording::{End, Frame, Header, Line};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount};
use rrul_monitor::exposition::RunFigures;
use rrul_monitor::grant::{Grant, RunData};
use rrul_monitor::outcome::{FailReason, RunOutcome, SkipReason};
use rrul_monitor::watch::Watch;

use super::board::Board;
use super::folder::{Durability, Folder};
use super::host;
use super::line_traffic::{LineTraffic, between};
use super::link_lock::LinkLock;
use super::setup::Setup;
use crate::failure::Failure;
use crate::live_screen::terminal;
use crate::measurement::write_in_background;
use crate::store::{Writer, append_digest};

/// How often the state is saved while a test goes on: what a kill loses.
const SAVING: Duration = Duration::from_millis(500);

/// How a full test went.
pub(super) struct Tested {
    pub(super) outcome: RunOutcome,
    /// What it took, when it loaded the line.
    pub(super) data: Option<RunData>,
    /// The name of its recording, without folder and extension.
    pub(super) recording: Option<String>,
}

impl From<RunOutcome> for Tested {
    fn from(outcome: RunOutcome) -> Self {
        Self { outcome, data: None, recording: None }
    }
}

/// What a full test works with.
pub(super) struct FullTest<'a> {
    pub(super) setup: &'a Setup,
    pub(super) board: &'a Board,
    pub(super) folder: &'a mut Folder,
    pub(super) watch: &'a mut Watch,
    pub(super) traffic: &'a mut LineTraffic,
    pub(super) grant: Grant,
}

impl FullTest<'_> {
    /// Runs it, unless the line is in use.
    pub(super) fn run(mut self) -> Tested {
        if let Some(reason) = self.cross_traffic() {
            return RunOutcome::Skipped(reason).into();
        }
        let interface = self.traffic.interface().to_owned();
        let _lock = match LinkLock::take(&interface) {
            Ok(Some(lock)) => lock,
            Ok(None) => return RunOutcome::Skipped(SkipReason::LinkBusy).into(),
            Err(error) => return local(format!("lock of {interface}: {error}")),
        };
        self.folder.make_room();
        self.board.loaded.store(true, Ordering::Relaxed);
        let tested = self.measure();
        self.traffic.forget();
        self.board.loaded.store(false, Ordering::Relaxed);
        self.folder.turn_ring();
        tested.unwrap_or_else(|failure| of_failure(&failure))
    }

    /// What others send now, where that is too much.
    fn cross_traffic(&self) -> Option<SkipReason> {
        let limit = self.setup.configuration.cross_traffic.limit;
        let rates = self.traffic.rates()?;
        let rate = rates.received.max(rates.sent);
        let interface = self.traffic.interface().to_owned();
        (rate > limit).then_some(SkipReason::CrossTraffic { interface, rate, limit, over: rates.over })
    }

    fn measure(&mut self) -> Result<Tested, Failure> {
        let options = self.setup.options(&self.setup.run_plan)?;
        let name: String = options.created.chars().filter(|c| c.is_ascii_digit() || *c == 'T').collect();
        let began_s = host::wall_seconds();
        let before = self.traffic.read(Instant::now()).map_err(Failure::system("counters of the interface"))?;
        let (lines, writing) = write_in_background(Writer::create(&self.folder.recording(&name))?)?;
        let (stop, end_load, done) = (AtomicBool::new(false), AtomicBool::new(false), AtomicBool::new(false));
        // Whoever starts after a kill knows that a test had begun.
        self.folder.save(self.watch.state(), Durability::Process);
        let board = self.board;
        let mut guard = Guard {
            lines,
            kept: MemoryRecorder::default(),
            test: self,
            before,
            counted: ByteCount(0),
            begun: None,
            saved: Instant::now(),
            stop: &stop,
            end_load: &end_load,
            partial: None,
        };
        let outcome = std::thread::scope(|scope| {
            // While it connects nothing else looks.
            scope.spawn(|| {
                while !done.load(Ordering::Relaxed) {
                    if board.is_stopping() {
                        stop.store(true, Ordering::Relaxed);
                    }
                    std::thread::sleep(Duration::from_millis(100));
                }
            });
            let outcome = run_until(&options, &mut guard, &stop, &end_load);
            done.store(true, Ordering::Relaxed);
            outcome
        });
        let Guard { lines, kept, counted, begun, partial, .. } = guard;
        drop(lines);
        let writer = writing.join().map_err(|_| Failure::WriterEnded)?;
        if let Err(error) = outcome {
            writer.discard();
            return Err(error.into());
        }
        let counted = match self.traffic.read(Instant::now()) {
            Ok(after) => counted.max(between(before, after)),
            Err(_) => counted,
        };
        let recording = kept.recording().ok_or(Failure::NoHeader)?;
        let path = writer.finish()?;
        let analysis = analyze(&recording);
        append_digest(&path, &recording, &analysis);
        drop(recording);
        if let Ok(json) = serde_json::to_string(&Summary::from(&analysis)) {
            self.folder.keep_summary(&name, &json);
        }
        let length = begun.map(|begun| begun.elapsed()).unwrap_or_default();
        let data = Some(RunData { octets: counted, length });
        let was_ended = end_load.load(Ordering::Relaxed);
        let outcome = match partial {
            _ if board.is_stopping() => RunOutcome::Failed(FailReason::Interrupted),
            Some(reason) if !was_ended => RunOutcome::Failed(FailReason::Unreachable { reason }),
            _ => RunOutcome::Ran,
        };
        if outcome == RunOutcome::Ran {
            board.figures().run(figures(&analysis, began_s));
        }
        Ok(Tested { outcome, data, recording: Some(name) })
    }
}

/// Records a test and sees that it stays within its grant.
struct Guard<'a, 'b> {
    lines: Sender<Line>,
    kept: MemoryRecorder,
    test: &'a mut FullTest<'b>,
    before: Carried,
    counted: ByteCount,
    begun: Option<Instant>,
    saved: Instant,
    stop: &'a AtomicBool,
    end_load: &'a AtomicBool,
    partial: Option<String>,
}

impl Guard<'_, '_> {
    fn write(&self, line: Line) {
        // The writing thread outlives this sender; should it have died, joining shows it.
        let _ = self.lines.send(line);
    }

    fn look(&mut self) {
        if let Ok(carried) = self.test.traffic.read(Instant::now()) {
            self.counted = between(self.before, carried);
        }
        let rate = self.test.traffic.rate_now();
        let grant = self.test.grant;
        if grant.is_spent(self.counted, rate) && !self.end_load.swap(true, Ordering::Relaxed) {
            terminal::say("rrul: full test: its load ends early, as the data budget does");
        }
        if grant.is_spent(self.counted, BitRate(0)) {
            self.stop.store(true, Ordering::Relaxed);
        }
        if self.saved.elapsed() >= SAVING {
            self.saved = Instant::now();
            self.test.watch.progress(host::reading(), self.counted, rate);
            self.test.folder.save(self.test.watch.state(), Durability::Process);
            self.test.folder.turn_ring();
        }
    }
}

impl RunObserver for Guard<'_, '_> {
    fn header(&mut self, header: &Header) {
        self.begun = Some(Instant::now());
        self.write(Line::Header(Box::new(header.clone())));
        self.kept.header(header);
    }

    fn frame(&mut self, frame: Frame) {
        self.write(Line::Frame(Box::new(frame.clone())));
        self.kept.frame(frame);
    }

    fn tick(&mut self, _now: TestTime) {
        self.look();
    }

    fn end(&mut self, end: &End) {
        self.partial.clone_from(&end.partial);
        self.write(Line::End(end.clone()));
        self.kept.end(end);
    }
}

fn local(reason: String) -> Tested {
    RunOutcome::Failed(FailReason::Local { reason }).into()
}

/// How a test ended that could not begin.
fn of_failure(failure: &Failure) -> Tested {
    match failure {
        Failure::Run(error) => of_error(error).into(),
        other => local(other.to_string()),
    }
}

fn of_error(error: &RunError) -> RunOutcome {
    let reason = error.to_string();
    match error {
        RunError::Busy { reason, .. } => RunOutcome::Skipped(SkipReason::ServerBusy { reason: reason.clone() }),
        RunError::Full { .. } => RunOutcome::Skipped(SkipReason::ServerBusy { reason }),
        RunError::Name { reason: NameError::NoPort(_) | NameError::NoHost, .. } => {
            RunOutcome::Failed(FailReason::Local { reason })
        }
        RunError::Name { .. } | RunError::Connect { .. } | RunError::Lost { .. } => {
            RunOutcome::Failed(FailReason::Unreachable { reason })
        }
        RunError::Refused { .. } | RunError::Access { .. } | RunError::Trust { .. } | RunError::Lacking { .. } => {
            RunOutcome::Failed(FailReason::Refused { reason })
        }
        RunError::Stopped => RunOutcome::Failed(FailReason::Interrupted),
    }
}

/// How a test fails whose server has no address now.
pub(super) fn unreachable(reason: String) -> Tested {
    RunOutcome::Failed(FailReason::Unreachable { reason }).into()
}

/// What metrics show of a test.
fn figures(analysis: &Analysis, began_s: i64) -> RunFigures {
    let mut figures =
        RunFigures { began_s, valid: analysis.validity.verdict == Verdict::Valid, ..RunFigures::default() };
    for direction in Direction::ALL {
        let goodput = analysis.measured.goodput(direction);
        if !goodput.flows.is_empty() {
            figures.goodput.push((direction, goodput.sum));
        }
        if let Some(delays) = &analysis.measured.one_way_delay.direction(direction).queueing_delay.load {
            let quantiles = [("0.5", delays.p50), ("0.95", delays.p95), ("0.99", delays.p99)];
            let known = quantiles.into_iter().filter_map(|(quantile, delay)| Some((direction, quantile, delay?)));
            figures.queueing.extend(known);
        }
    }
    let scores = &analysis.scores;
    figures.scores.extend(scores.web.as_ref().map(|web| ("web", f64::from(web.score))));
    figures.scores.extend(scores.composite.as_ref().map(|composite| ("composite", composite.total)));
    figures.scores.extend(scores.responsiveness.as_ref().map(|responsiveness| ("rpm", responsiveness.rpm)));
    figures
}
