//! `rrul report FILE...`: recordings as one page for a browser.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use rrul_analysis::scored::{Distance, Scores};
use rrul_analysis::{Analysis, analyze};
use rrul_engine::clock;
use rrul_model::recording::Recording;
use rrul_view::report::{PastRun, ReportedRun, history_report, report};

use crate::arguments::ReportArguments;
use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;
use crate::outcome::Outcome;
use crate::output::{say, write};
use crate::{store, together};

/// A recording and what follows from it.
type Read = (Recording, Analysis);

pub(crate) fn execute(arguments: &ReportArguments) -> Result<Outcome, Failure> {
    if arguments.since.is_some() || arguments.files.iter().any(|file| file.is_dir()) {
        return history(arguments);
    }
    let mut read = read_all(&arguments.files)?;
    if arguments.score_anyway {
        for (_, analysis) in &mut read {
            analysis.scores = Scores::compute(analysis, Distance::Any);
        }
    }
    let page = page_of(&read)?;
    let path = arguments.output.clone().unwrap_or_else(|| {
        let stem = arguments.files[0].file_stem().unwrap_or_default().to_string_lossy();
        PathBuf::from(format!("{}.html", stem.trim_end_matches(".rrul").trim_end_matches(".flent")))
    });
    write(&path, page.as_bytes(), arguments.force)?;
    say(format_args!("report: {}", path.display()));
    let doubtful = read.iter().any(|(_, analysis)| Outcome::of(analysis) == Outcome::Doubtful);
    Ok(if doubtful { Outcome::Doubtful } else { Outcome::Good })
}

/// The report of runs over one line, be they named or in folders.
fn history(arguments: &ReportArguments) -> Result<Outcome, Failure> {
    let named = &arguments.files[0];
    let since = arguments.since.and_then(|time| SystemTime::now().checked_sub(time));
    let mut files = Vec::new();
    for path in &arguments.files {
        files.extend(recordings_in(path)?);
    }
    if let Some(since) = since {
        // A file that has not changed since was recorded before.
        let changed = |file: &PathBuf| fs::metadata(file).and_then(|metadata| metadata.modified());
        files.retain(|file| changed(file).map_or(true, |changed| changed >= since));
    }
    let earliest = since.and_then(|since| since.duration_since(SystemTime::UNIX_EPOCH).ok());
    let earliest = earliest.map_or(i64::MIN, |since| since.as_secs() as i64);
    let runs = together::of_each(&files, |file| {
        Ok(match store::read(file) {
            Ok(recording) => PastRun::of(&analyze(&recording), clock::utc_offset_at).filter(|run| run.at >= earliest),
            Err(failure) => {
                // One damaged file of a ring hides no other.
                terminal::say(&format!("rrul: left out: {failure}"));
                None
            }
        })
    })?;
    let runs: Vec<PastRun> = runs.into_iter().flatten().collect();
    if runs.is_empty() {
        return Err(Failure::content(named, ContentError::NoPastRun));
    }
    let name = named.canonicalize().unwrap_or_else(|_| named.clone());
    let name = name.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let path = arguments.output.clone().unwrap_or_else(|| PathBuf::from(format!("{name}.html")));
    write(&path, history_report(&name, &runs)?.as_bytes(), arguments.force)?;
    say(format_args!("report: {}", path.display()));
    Ok(Outcome::Good)
}

/// A file itself; of a folder, or of that of a monitor, the recordings in it by their names.
fn recordings_in(path: &Path) -> Result<Vec<PathBuf>, Failure> {
    if !path.is_dir() {
        return Ok(vec![path.to_owned()]);
    }
    let ring = path.join("recordings");
    let folder = if ring.is_dir() { ring } else { path.to_owned() };
    let entries = fs::read_dir(&folder).map_err(Failure::file(&folder))?;
    let files = entries.filter_map(|entry| Some(entry.ok()?.path()));
    let mut files: Vec<PathBuf> =
        files.filter(|file| file.extension().is_some_and(|ending| ending == "rrul")).collect();
    files.sort();
    Ok(files)
}

/// Writes the page of these files, over an existing one.
pub(crate) fn renew(files: &[PathBuf], path: &Path) -> Result<(), Failure> {
    write(path, page_of(&read_all(files)?)?.as_bytes(), true)
}

fn page_of(read: &[Read]) -> Result<String, Failure> {
    let runs: Vec<ReportedRun<'_>> =
        read.iter().map(|(recording, analysis)| ReportedRun { recording, analysis }).collect();
    Ok(report(&runs)?)
}

/// Reads and analyses these files, which stay in their order.
fn read_all(files: &[PathBuf]) -> Result<Vec<Read>, Failure> {
    together::of_each(files, |file| {
        let recording = store::read(file)?;
        let analysis = analyze(&recording);
        Ok((recording, analysis))
    })
}
