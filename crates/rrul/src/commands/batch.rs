//! `rrul batch FILE`: many runs, every combination of what varies, again and again.

use std::io::{IsTerminal, Write};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant, SystemTime};

use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::group::GroupKey;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_view::text_comparison;

use crate::arguments::BatchArguments;
use crate::batch::document::Document;
use crate::batch::error::BatchError;
use crate::batch::execution::RunAccess;
use crate::batch::journal::{Entry, Journal};
use crate::batch::setting::Setting;
use crate::batch::{Turn, execution, turns};
use crate::commands::lab::{link_named, make_possible};
use crate::commands::show::style;
use crate::commands::{compare, report};
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::{interruption, plan_book};

/// Most recordings in one report: more are no page that anybody reads.
const MOST_REPORTED: usize = 24;

/// What a run takes beside its plan: connecting, clocks, the end.
const AROUND: Duration = Duration::from_secs(2);

pub(crate) fn execute(arguments: &BatchArguments) -> Result<Outcome, Failure> {
    let (document, text) = Document::open(&arguments.file)?;
    let beside = arguments.file.parent().unwrap_or(Path::new(""));
    // Runs are started in the batch's folder.
    let beside = std::path::absolute(if beside.as_os_str().is_empty() { Path::new(".") } else { beside })
        .map_err(Failure::file(&arguments.file))?;
    let settings = Setting::all(&document, &beside).map_err(|error| named(&arguments.file, error))?;
    let lengths = settings.iter().map(length).collect::<Result<Vec<_>, _>>()?;
    let all = turns(&settings, document.repetitions);
    let of = |turn: &Turn<'_>| {
        let place = settings.iter().position(|setting| std::ptr::eq(setting, turn.setting));
        place.map_or(Duration::ZERO, |place| lengths[place])
    };
    if arguments.list {
        for turn in &all {
            println!("{:<40} {:>5} s   {}", turn.name, of(turn).as_secs(), turn.setting.about);
        }
        return Ok(Outcome::Good);
    }
    if settings.iter().any(|setting| setting.link.is_some()) {
        make_possible()?;
    }
    let access = RunAccess::new(&arguments.access)?;
    let stem = arguments.file.file_stem().unwrap_or_default();
    let folder = arguments.output.clone().unwrap_or_else(|| PathBuf::from(stem));
    let mut journal = Journal::open(&folder, &text)?;
    let stop = interruption::flag();
    if !document.title.is_empty() {
        println!("{}", document.title);
    }
    let done = all.iter().filter(|turn| journal.done(&turn.name).is_some()).count();
    if done > 0 {
        println!("{done} of {} runs exist already, in {}", all.len(), folder.display());
    }
    let mut failures = 0;
    let mut clock = Clock { left: all.iter().filter(|turn| journal.done(&turn.name).is_none()).map(of).sum() };
    for (index, turn) in all.iter().enumerate() {
        if journal.done(&turn.name).is_some() {
            continue;
        }
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let place = format!("[{}/{}] {}", index + 1, all.len(), turn.name);
        let failure = take(turn, &place, of(turn), &access, &mut clock, &mut journal, &stop)?;
        failures += usize::from(failure);
        if index + 1 < all.len() {
            pause(document.pause.0, &stop);
        }
    }
    conclude(&document, &journal, &all)?;
    if stop.load(Ordering::Relaxed) {
        println!("stopped; to continue: rrul batch {} -o {}", arguments.file.display(), folder.display());
    }
    let complete = all.iter().all(|turn| journal.done(&turn.name).is_some());
    if failures == all.len() && !all.is_empty() {
        return Err(BatchError::NoResult.into());
    }
    Ok(if complete { Outcome::Good } else { Outcome::Doubtful })
}

fn named(file: &Path, failure: Failure) -> Failure {
    Failure::BatchFile { file: file.to_owned(), failure: Box::new(failure) }
}

/// How long a setting takes; missing plans or links are found before anything is run.
fn length(setting: &Setting) -> Result<Duration, Failure> {
    if let Some(link) = &setting.link {
        link_named(link)?;
    }
    let mut longest = Duration::ZERO;
    for run in &setting.runs {
        longest = longest.max(run.start + plan_book::plan(&run.plan, &run.set)?.length() + AROUND);
    }
    Ok(longest)
}

/// What is still to be run, in time.
struct Clock {
    left: Duration,
}

/// One turn, with its line on the screen and in the journal; whether it failed.
fn take(
    turn: &Turn<'_>,
    place: &str,
    length: Duration,
    access: &RunAccess,
    clock: &mut Clock,
    journal: &mut Journal,
    stop: &AtomicBool,
) -> Result<bool, Failure> {
    let recordings = execution::recordings(turn);
    journal.clear(&recordings)?;
    let now = || humantime::format_rfc3339_seconds(SystemTime::now()).to_string();
    let (started, begun) = (now(), Instant::now());
    let terminal = std::io::stderr().is_terminal();
    if !terminal {
        eprintln!("{place}: {} s, {} left in all", length.as_secs(), minutes(clock.left));
    }
    let mut second = u64::MAX;
    let folder = journal.folder().to_owned();
    let result = execution::execute(turn, &folder, access, stop, &mut |gone| {
        if terminal && gone.as_secs() != second {
            second = gone.as_secs();
            let left = minutes(clock.left.saturating_sub(gone));
            let _ =
                write!(std::io::stderr(), "\r\x1b[K{place}: {second} of {} s, {left} left in all", length.as_secs());
        }
    });
    clock.left = clock.left.saturating_sub(length);
    if terminal {
        let _ = write!(std::io::stderr(), "\r\x1b[K");
    }
    let failure = result.err().map(|failure| failure.to_string());
    match &failure {
        Some(why) => println!("{place}: {why}"),
        None => println!("{place}: done in {} s", begun.elapsed().as_secs()),
    }
    let failed = failure.is_some();
    let about = turn.setting.about.clone();
    journal.note(Entry { turn: turn.name.clone(), about, started, ended: now(), recordings, failure })?;
    Ok(failed)
}

fn minutes(time: Duration) -> String {
    let seconds = time.as_secs();
    if seconds < 120 { format!("{seconds} s") } else { format!("{} min", seconds.div_ceil(60)) }
}

fn pause(length: Duration, stop: &AtomicBool) {
    let end = Instant::now() + length;
    while !stop.load(Ordering::Relaxed) {
        let left = end.saturating_duration_since(Instant::now());
        if left.is_zero() {
            break;
        }
        std::thread::sleep(left.min(Duration::from_millis(100)));
    }
}

/// Writes the report of all recordings or, where those are too many for a page, of the first.
fn reported(files: &[PathBuf], folder: &Path) -> Result<(), Failure> {
    let path = folder.join("report.html");
    let shown = &files[..files.len().min(MOST_REPORTED)];
    report::renew(shown, &path)?;
    let which = if shown.len() < files.len() { format!(", of the first {MOST_REPORTED}") } else { String::new() };
    println!("report{which}: {}", path.display());
    Ok(())
}

/// What all of it amounts to, so far: the settings against each other.
fn conclude(document: &Document, journal: &Journal, all: &[Turn<'_>]) -> Result<(), Failure> {
    let names: Vec<String> =
        all.iter().filter_map(|turn| journal.done(&turn.name)).flat_map(|entry| entry.recordings.clone()).collect();
    let files: Vec<PathBuf> = names.iter().map(|name| journal.folder().join(name)).collect();
    if !files.is_empty() {
        reported(&files, journal.folder())?;
    }
    let side_by_side = document.run.len() > 1;
    if files.len() < 2 || side_by_side {
        return Ok(());
    }
    let runs: Vec<ComparedRun> = compare::read(&files)?;
    let comparison = Comparison::new(runs, Some(GroupKey::Title));
    if comparison.groups.len() < 2 {
        return Ok(());
    }
    for conflict in &comparison.conflicts {
        println!("note: {conflict}");
    }
    print!("\n{}", text_comparison(&comparison, style()));
    Ok(())
}
