//! A monitor at work, until a signal ends it.

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rrul_monitor::configuration::Configuration;
use rrul_monitor::exposition::Figures;
use rrul_monitor::outcome::RunOutcome;
use rrul_monitor::watch::{Step, Watch};

use super::board::Board;
use super::folder::{Durability, Entry, Folder, replace};
use super::full_test::{FullTest, Tested, unreachable};
use super::line_traffic::LineTraffic;
use super::setup::Setup;
use super::{host, prober};
use crate::commands::run::seed_from;
use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;
use crate::outcome::Outcome;
use crate::output::say;
use crate::service::manager::{self, State};
use crate::service::metrics_http::{self, TEXT};

/// Between two looks at the clock and the line.
const LOOK: Duration = Duration::from_secs(1);
/// How long it sleeps at once, so that a signal ends it soon.
const SLICE: Duration = Duration::from_millis(200);
/// The way to the server is looked up anew this often.
const ROUTING: Duration = Duration::from_mins(5);
/// The file for `node_exporter` is written this often.
const TEXTFILE: Duration = Duration::from_secs(15);

/// Works until `stop` is raised.
///
/// # Errors
/// When it cannot begin.
pub(crate) fn run(setup: &Setup, file: &Path, stop: Arc<AtomicBool>) -> Result<Outcome, Failure> {
    let configuration = &setup.configuration;
    let folder = Folder::open(setup.folder.clone(), configuration.ring)?;
    let saved = folder.state()?;
    let seed = seed_from(SystemTime::now());
    let (watch, interrupted) = Watch::start(setup.rules(), saved, host::reading(), seed)
        .map_err(|error| Failure::content(file, ContentError::Configuration(error.to_string())))?;
    let figures = Figures::new(&configuration.target, env!("CARGO_PKG_VERSION"));
    let board = Arc::new(Board::new(figures, stop));
    if let Some(listen) = &configuration.listen {
        let board = Arc::downgrade(&board);
        metrics_http::serve("metrics.listen", listen, TEXT, move || {
            board.upgrade().map(|board| board.figures().text())
        })?;
    }
    let mut session = Session { setup, board: Arc::clone(&board), folder, watch, line: None };
    say(format_args!("watching {} as {}, in {}", configuration.server, configuration.target, setup.folder.display()));
    if let Some(listen) = configuration.listen.as_deref().filter(|listen| !listen.starts_with('/')) {
        say(format_args!("metrics: http://{listen}/metrics"));
    }
    if let Some(outcome) = interrupted {
        session.report(outcome.into());
    }
    manager::tell(State::Ready);
    std::thread::scope(|scope| {
        scope.spawn(|| prober::probe(setup, &board));
        session.work();
    });
    manager::tell(State::Stopping);
    session.close();
    Ok(Outcome::Good)
}

/// A monitor at work.
struct Session<'a> {
    setup: &'a Setup,
    board: Arc<Board>,
    folder: Folder,
    watch: Watch,
    line: Option<Line>,
}

/// The way to the server.
struct Line {
    traffic: LineTraffic,
    found: Instant,
}

impl Session<'_> {
    fn work(&mut self) {
        let mut saved = Instant::now();
        let mut written: Option<Instant> = None;
        while !self.board.is_stopping() {
            let problem = self.look_at_line();
            self.watch.probing(host::reading(), self.board.probing.load(Ordering::Relaxed));
            self.board.may_probe.store(self.watch.may_probe(), Ordering::Relaxed);
            match self.step() {
                Step::Wait(_) => {}
                Step::Skip(outcome) => self.report(outcome.into()),
                Step::Run(grant) => {
                    let tested = match &mut self.line {
                        Some(line) => FullTest {
                            setup: self.setup,
                            board: &self.board,
                            folder: &mut self.folder,
                            watch: &mut self.watch,
                            traffic: &mut line.traffic,
                            grant,
                        }
                        .run(),
                        None => unreachable(problem.unwrap_or_default()),
                    };
                    self.watch.conclude(host::reading(), &tested.outcome, tested.data);
                    self.report(tested);
                }
            }
            self.board.figures().data(self.watch.booked());
            if saved.elapsed() >= rrul_monitor::watch::SAVING {
                saved = Instant::now();
                self.save();
            }
            if written.is_none_or(|written| written.elapsed() >= TEXTFILE) {
                written = Some(Instant::now());
                self.write_textfile();
            }
            let until = Instant::now() + LOOK;
            while Instant::now() < until && !self.board.is_stopping() {
                std::thread::sleep(SLICE);
            }
        }
    }

    /// What to do now. While it is not known what others send, nothing is begun.
    fn step(&mut self) -> Step {
        match &self.line {
            Some(line) if line.traffic.rates().is_none() => Step::Wait(LOOK),
            _ => self.watch.step(host::reading()),
        }
    }

    fn find_line(&self) -> Result<LineTraffic, Failure> {
        let Configuration { server, cross_traffic, .. } = &self.setup.configuration;
        let addresses = self.setup.addresses()?;
        LineTraffic::towards(&addresses, cross_traffic.over).map_err(Failure::system(format!("no route to {server}")))
    }

    /// Reads the counters of the line; returns why it has none, where that is so.
    fn look_at_line(&mut self) -> Option<String> {
        let now = Instant::now();
        if self.line.as_ref().is_none_or(|line| now.duration_since(line.found) >= ROUTING) {
            let found = self.find_line();
            match (found, &mut self.line) {
                // The readings of the interface go on.
                (Ok(traffic), Some(line)) if line.traffic.interface() == traffic.interface() => line.found = now,
                (Ok(traffic), line) => *line = Some(Line { traffic, found: now }),
                (Err(failure), line) => {
                    *line = None;
                    return Some(failure.to_string());
                }
            }
        }
        if self.line.as_mut().is_some_and(|line| line.traffic.read(now).is_err()) {
            self.line = None;
        }
        None
    }

    /// Counts, prints and notes how a test went.
    fn report(&mut self, tested: Tested) {
        let Tested { outcome, data, recording } = tested;
        let at = humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
        let name = recording.as_deref().map(|name| format!(": {name}.rrul")).unwrap_or_default();
        match &outcome {
            RunOutcome::Ran => say(format_args!("{at} full test ran{name}")),
            outcome => say(format_args!("{at} full test {outcome}{name}")),
        }
        self.board.figures().outcome(&outcome);
        let octets = data.map(|data| data.octets.0);
        self.folder.note(&Entry { recording: recording.as_deref(), octets, ..Entry::new(&at, &outcome) });
        self.save();
        self.write_textfile();
    }

    fn save(&mut self) {
        self.folder.save(self.watch.state(), Durability::Power);
    }

    fn write_textfile(&self) {
        let Some(path) = &self.setup.textfile else { return };
        let text = self.board.figures().text();
        if let Err(error) = replace(path, &text, Durability::Process) {
            terminal::say(&format!("rrul: {}: {error}", path.display()));
        }
    }

    fn close(&mut self) {
        self.watch.probing(host::reading(), false);
        self.save();
    }
}
