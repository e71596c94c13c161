//! `rrul archive add`: recordings from files and folders, several at a time.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use rrul_analysis::analyze;
use rrul_archive::{Added, Archive, ArchiveError, Labels, RunRows, Writer};

use crate::arguments::AddArguments;
use crate::failure::Failure;
use crate::live_screen::terminal;
use crate::outcome::Outcome;
use crate::output::say;
use crate::{plan_book, store};

/// What names of recordings end in, by which they are found in folders.
const ENDINGS: [&str; 4] = [".rrul", ".flent", ".flent.gz", ".json.gz"];
/// Most recordings that are in memory at one time.
const MOST_AT_ONCE: usize = 4;
/// Between two lines of progress.
const PROGRESS: Duration = Duration::from_millis(500);

/// How many files ended how.
#[derive(Debug, Clone, Copy, Default)]
struct Counts {
    added: usize,
    known: usize,
    unreadable: usize,
}

impl Counts {
    fn all(self) -> usize {
        self.added + self.known + self.unreadable
    }
}

pub(super) fn add(arguments: &AddArguments) -> Result<Outcome, Failure> {
    let files = recordings(&arguments.files)?;
    let labels = labels(arguments);
    let writer = Writer::new(Archive::create(&arguments.archive)?)?;
    let counts = add_all(&files, &labels, arguments.seconds, &writer)?;
    let known = if counts.known > 0 { format!(", {} in it already", counts.known) } else { String::new() };
    let unreadable =
        if counts.unreadable > 0 { format!(", {} files not readable", counts.unreadable) } else { String::new() };
    say(format_args!("{}: {} runs added{known}{unreadable}", arguments.archive.display(), counts.added));
    Ok(if counts.unreadable == 0 { Outcome::Good } else { Outcome::Doubtful })
}

fn labels(arguments: &AddArguments) -> Labels {
    Labels {
        site: arguments.site.clone(),
        server: arguments.server.clone(),
        asn: arguments.asn,
        isp: arguments.isp.clone(),
        country: arguments.country.clone(),
        firmware: arguments.firmware.clone(),
        aqm_down: arguments.aqm_down.clone(),
        aqm_up: arguments.aqm_up.clone(),
    }
}

/// The files, and the recordings in the folders among them and below.
fn recordings(given: &[PathBuf]) -> Result<Vec<PathBuf>, Failure> {
    let mut found = Vec::new();
    for path in given {
        if path.is_dir() {
            let mut below = Vec::new();
            collect(path, &mut below)?;
            below.sort();
            found.extend(below);
        } else {
            found.push(path.clone());
        }
    }
    Ok(found)
}

fn collect(folder: &Path, found: &mut Vec<PathBuf>) -> Result<(), Failure> {
    for entry in std::fs::read_dir(folder).map_err(Failure::file(folder))? {
        let entry = entry.map_err(Failure::file(folder))?;
        let (path, kind) = (entry.path(), entry.file_type().map_err(Failure::file(&entry.path()))?);
        // A link to a folder may lead back here.
        if kind.is_dir() {
            collect(&path, found)?;
        } else if ENDINGS.iter().any(|ending| path.as_os_str().as_encoded_bytes().ends_with(ending.as_bytes())) {
            found.push(path);
        }
    }
    Ok(())
}

/// Adds what can be read. The first failure to write ends it: what was added stays, and the command can be given again.
fn add_all(files: &[PathBuf], labels: &Labels, seconds: bool, writer: &Writer) -> Result<Counts, Failure> {
    let plans = plan_book::names();
    let next = AtomicUsize::new(0);
    let state = Mutex::new((Counts::default(), None::<ArchiveError>));
    let progress = Progress::new(files.len());
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            let read = store::read(file).and_then(|recording| {
                let analysis = analyze(&recording);
                let rows = RunRows::new(&recording, &analysis, labels, &plans)
                    .map_err(|problem| Failure::content(file, problem))?;
                Ok(if seconds { rows.with_seconds(&recording, &analysis) } else { rows })
            });
            let added = read.map(|rows| writer.add(&rows));
            let mut state = state.lock().unwrap_or_else(PoisonError::into_inner);
            match added {
                Ok(Ok(Added::New)) => state.0.added += 1,
                Ok(Ok(Added::Known)) => state.0.known += 1,
                Ok(Err(error)) => {
                    next.store(files.len(), Ordering::Relaxed);
                    state.1.get_or_insert(error);
                }
                Err(failure) => {
                    state.0.unreadable += 1;
                    progress.clear();
                    terminal::say(&format!("rrul: {failure}"));
                }
            }
            progress.show(state.0);
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len()).min(MOST_AT_ONCE);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    progress.clear();
    let (counts, error) = state.into_inner().unwrap_or_else(PoisonError::into_inner);
    error.map_or(Ok(counts), |error| Err(error.into()))
}

/// How far it is, in one line of a terminal that is written over.
struct Progress {
    files: usize,
    terminal: bool,
    shown: Mutex<Instant>,
}

impl Progress {
    fn new(files: usize) -> Self {
        Self { files, terminal: std::io::stderr().is_terminal(), shown: Mutex::new(Instant::now()) }
    }

    fn show(&self, counts: Counts) {
        let mut shown = self.shown.lock().unwrap_or_else(PoisonError::into_inner);
        if self.terminal && shown.elapsed() >= PROGRESS {
            *shown = Instant::now();
            let (all, files) = (counts.all(), self.files);
            let _ = write!(std::io::stderr(), "\r\x1b[K{all} of {files} files, {} runs added", counts.added);
        }
    }

    fn clear(&self) {
        if self.terminal {
            let _ = write!(std::io::stderr(), "\r\x1b[K");
        }
    }
}
