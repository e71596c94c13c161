//! What a report is made of.

use rrul_analysis::Analysis;
use rrul_model::recording::Recording;

/// A recording with what follows from it.
#[derive(Debug, Clone, Copy)]
pub struct ReportedRun<'a> {
    pub recording: &'a Recording,
    pub analysis: &'a Analysis,
}
