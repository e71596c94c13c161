//! What a score is: one figure, or a few, that say how good a loaded line is for something.
//!
//! Every score is a pure function of plain inputs with its formula, its bounds and its source, and a thin layer that
//! gathers those inputs from what was [measured](crate::measured::Measured). Two rules hold for all of them: what was not
//! measured is never counted as good, and nothing is rescaled in silence because a part of it is missing.

/// The words for one score: a line of `rrul list scores`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ScoreWord {
    /// Its name in the JSON and in docs/scores.md.
    pub name: &'static str,
    /// What it says, from where to where.
    pub about: &'static str,
    pub source: &'static str,
}
