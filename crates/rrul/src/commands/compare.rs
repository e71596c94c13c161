//! `rrul compare A B...`: which recording is better, by how much, and how sure that is.

use std::path::{Path, PathBuf};

use rrul_analysis::analyze;
use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::group::GroupKey;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::digest::{COMPARED_TABLES, compared_run};
use rrul_model::recording::Recording;
use rrul_view::text_comparison;

use crate::arguments::CompareArguments;
use crate::commands::show::style;
use crate::failure::{ComparisonError, Failure};
use crate::outcome::Outcome;
use crate::{output, store, together};

pub(crate) fn execute(arguments: &CompareArguments) -> Result<Outcome, Failure> {
    let comparison = Comparison::new(read(&arguments.files)?, arguments.by);
    if comparison.groups.len() < 2 {
        let key = arguments.by.map_or("title", GroupKey::name);
        return Err(ComparisonError::OneGroup { runs: comparison.runs.len(), key }.into());
    }
    if !comparison.conflicts.is_empty() && !arguments.anyway {
        let (first, others) = (&comparison.conflicts[0], comparison.conflicts.len() - 1);
        let more = if others > 0 { format!(" (and {others} more)") } else { String::new() };
        return Err(ComparisonError::Conflict(format!("{first}{more}")).into());
    }
    if arguments.json {
        output::print_json(&comparison)?;
    } else {
        print!("{}", text_comparison(&comparison, style()));
    }
    Ok(if comparison.is_doubtful() { Outcome::Doubtful } else { Outcome::Good })
}

/// What is compared of each file, in their order.
pub(crate) fn read(files: &[PathBuf]) -> Result<Vec<ComparedRun>, Failure> {
    together::of_each(files, read_one)
}

fn read_one(file: &Path) -> Result<ComparedRun, Failure> {
    let name = file.display().to_string();
    let by_all = |recording: &Recording| ComparedRun::from_recording(&name, recording, &analyze(recording));
    store::read_tables(file, &COMPARED_TABLES, |recording| compared_run(&name, recording), by_all)
}
