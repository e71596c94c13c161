//! `rrul compare A B...`: which recording is better, by how much, and how sure that is.

use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use rrul_analysis::analyze;
use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::group::GroupKey;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_view::text_comparison;

use crate::Outcome;
use crate::arguments::CompareArguments;
use crate::commands::show::style;
use crate::failure::Failure;
use crate::store;

/// Most recordings that are in memory at one time.
const MOST_AT_ONCE: usize = 4;

pub(crate) fn execute(arguments: &CompareArguments) -> Result<Outcome, Failure> {
    let by = arguments.by.map(GroupKey::from);
    let comparison = Comparison::new(read(&arguments.files)?, by);
    if comparison.groups.len() < 2 {
        let key = by.map_or("title", GroupKey::name);
        return Err(Failure::Other(format!(
            "all {} recordings have the same {key}: nothing to compare with; choose another --by, or none",
            comparison.runs.len()
        )));
    }
    if !comparison.conflicts.is_empty() && !arguments.anyway {
        let (first, others) = (&comparison.conflicts[0], comparison.conflicts.len() - 1);
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        return Err(Failure::Other(format!(
            "{first}{more}; these do not compare. --anyway compares them all the same"
        )));
    }
    if arguments.json {
        let json = serde_json::to_string_pretty(&comparison);
        println!("{}", json.map_err(|error| Failure::Other(error.to_string()))?);
    } else {
        print!("{}", text_comparison(&comparison, style()));
    }
    Ok(if comparison.is_doubtful() { Outcome::Doubtful } else { Outcome::Good })
}

/// What is compared of each file, in their order. A few at a time are read and analysed, and of each only that is kept.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<ComparedRun>, Failure> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::new());
    let work = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(file) = files.get(index) else { break };
            let run = read_one(file);
            if run.is_err() {
                // One that cannot be read is enough; those before it are in hand already.
                next.store(files.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((index, run));
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len()).min(MOST_AT_ONCE);
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_by_key(|(index, _)| *index);
    done.into_iter().map(|(_, run)| run).collect()
}

fn read_one(file: &Path) -> Result<ComparedRun, Failure> {
    let recording = store::read(file)?;
    Ok(ComparedRun::of(&file.display().to_string(), &recording, &analyze(&recording)))
}
