//! Intervals and groups in words.

use crate::panels::grouping::Grouping;
use crate::text::words;

/// The name of a row: a run's, or a group's with how many runs it is of.
pub(crate) fn group_name(name: &str, runs: usize, grouping: &Grouping) -> String {
    match grouping {
        Grouping::None => name.to_owned(),
        Grouping::By(_) => format!("{name} ({})", words::counted(runs, "run")),
    }
}
