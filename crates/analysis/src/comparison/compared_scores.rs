//! The scores of a run that are compared.

use serde::{Deserialize, Serialize};

use crate::scored::Scores;

/// Each is null where the run has none.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct ComparedScores {
    /// The worst opinion score of a voice stream.
    pub(crate) call_opinion: Option<f64>,
    pub(crate) composite: Option<ComparedComposite>,
    /// Round trips per minute.
    pub(crate) responsiveness: Option<f64>,
    /// The share of its unloaded speed at which a page loads, 0 to 1.
    pub(crate) web_speed: Option<f64>,
}

/// The composite score. It compares only with one that lacks the same parts.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct ComparedComposite {
    pub(crate) total: f64,
    pub(crate) missing: Vec<String>,
}

impl ComparedScores {
    pub(crate) fn new(scores: &Scores) -> Self {
        let composite = scores.composite.as_ref().map(|score| ComparedComposite {
            total: score.total,
            missing: score.missing.iter().map(|part| (*part).to_owned()).collect(),
        });
        Self {
            call_opinion: scores.voip_mos.as_ref().and_then(|opinion| opinion.worst),
            composite,
            responsiveness: scores.responsiveness.as_ref().map(|score| score.rpm),
            web_speed: scores.web.as_ref().map(|score| score.relative_speed),
        }
    }
}
