//! The analysis as stable JSON: what `rrul show --json` prints. docs/summary.schema.json is its schema.
//!
//! Base units only, as integers: bits per second (`_bps`), nanoseconds (`_ns`), bytes, counts. Shares are 0 to 1.
//! What is not known is null, never 0. Series are left to the recording. The types of an analysis are serialized as they
//! are, and their doc comments define the members: [`schema`] and [`document`] are made from them.

mod definition;
pub mod document;
pub mod schema;
pub mod sections;

use schemars::JsonSchema;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::measured::{Measured, TestDescription};
use crate::scored::Scores;
use crate::tuning::result::TuningResult;
use crate::validity::Validity;

/// The name and version of the form. Members may be added within a version; none changes its meaning or goes.
pub const FORMAT: &str = "rrul-summary/1";

/// The numbers of one recording.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "The recording")]
pub struct Summary<'a> {
    /// Name and version of the form, `rrul-summary/1`.
    #[schemars(extend("const" = FORMAT))]
    format: &'static str,
    #[serde(flatten)]
    test: &'a TestDescription,
    /// Whether the numbers deserve trust.
    validity: &'a Validity,
    /// Scores of the figures.
    scores: &'a Scores,
    /// The outcome of a tuning session, as tuning.schema.json defines it. Missing in any other recording.
    #[serde(skip_serializing_if = "Option::is_none")]
    tuning: Option<&'a TuningResult>,
    #[serde(flatten)]
    measured: &'a Measured,
}

impl<'a> From<&'a Analysis> for Summary<'a> {
    fn from(analysis: &'a Analysis) -> Self {
        let Analysis { measured, validity, scores, tuning_result: _ } = analysis;
        Self { format: FORMAT, test: &measured.test, validity, scores, tuning: analysis.tuning(), measured }
    }
}
