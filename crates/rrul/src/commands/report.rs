//! `rrul report FILE...`: recordings as one page for a browser.

use std::path::PathBuf;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use rrul_analysis::score::{Distance, Scores};
use rrul_analysis::{Analysis, analyze};
use rrul_model::recording::Recording;
use rrul_view::report::{ReportedRun, report};

use crate::Outcome;
use crate::arguments::ReportArguments;
use crate::commands::plot::write;
use crate::commands::run::outcome;
use crate::failure::Failure;
use crate::store;

/// A recording and what follows from it.
type Read = (Recording, Analysis);

pub(crate) fn execute(arguments: &ReportArguments) -> Result<Outcome, Failure> {
    let mut read = read_all(&arguments.files)?;
    if arguments.score_anyway {
        for (_, analysis) in &mut read {
            analysis.scores = Scores::of(analysis, Distance::Any);
        }
    }
    let runs: Vec<ReportedRun<'_>> =
        read.iter().map(|(recording, analysis)| ReportedRun { recording, analysis }).collect();
    let page = report(&runs)?;
    let path = arguments.output.clone().unwrap_or_else(|| {
        let stem = arguments.files[0].file_stem().unwrap_or_default().to_string_lossy();
        PathBuf::from(format!("{}.html", stem.trim_end_matches(".rrul").trim_end_matches(".flent")))
    });
    write(&path, page.as_bytes(), arguments.force)?;
    println!("report: {}", path.display());
    let doubtful = read.iter().any(|(_, analysis)| outcome(analysis) == Outcome::Doubtful);
    Ok(if doubtful { Outcome::Doubtful } else { Outcome::Good })
}

/// Reads and analyses these files, a few at a time; they stay in their order.
fn read_all(files: &[PathBuf]) -> Result<Vec<Read>, Failure> {
    let next = AtomicUsize::new(0);
    let slots: Vec<Mutex<Option<Result<Read, Failure>>>> = files.iter().map(|_| Mutex::new(None)).collect();
    let work = || {
        while let Some((file, slot)) = files.iter().zip(&slots).nth(next.fetch_add(1, Ordering::Relaxed)) {
            let read = store::read(file).map(|recording| {
                let analysis = analyze(&recording);
                (recording, analysis)
            });
            if let Ok(mut slot) = slot.lock() {
                *slot = Some(read);
            }
        }
    };
    let threads = std::thread::available_parallelism().map_or(1, usize::from).min(files.len());
    std::thread::scope(|scope| {
        for _ in 1..threads {
            scope.spawn(work);
        }
        work();
    });
    let taken = slots.into_iter().map(|slot| slot.into_inner().ok().flatten().expect("every file was read"));
    taken.collect()
}
