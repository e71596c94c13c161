//! `rrul report FILE...`: recordings as one page for a browser.

use std::path::{Path, PathBuf};

use rrul_analysis::scored::{Distance, Scores};
use rrul_analysis::{Analysis, analyze};
use rrul_model::recording::Recording;
use rrul_view::report::{ReportedRun, report};

use crate::arguments::ReportArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::{say, write};
use crate::{store, together};

/// A recording and what follows from it.
type Read = (Recording, Analysis);

pub(crate) fn execute(arguments: &ReportArguments) -> Result<Outcome, Failure> {
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
