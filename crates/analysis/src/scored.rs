//! Every score of one recording.

use rrul_model::flow::AddressFamily;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::metrics::delay::server_distance::{FARTHEST_SERVER, nearest};
use crate::scores::aim::Aim;
use crate::scores::bufferbloat::Bufferbloat;
use crate::scores::composite::Composite;
use crate::scores::equalizer;
use crate::scores::equalizer::Equalizer;
use crate::scores::optimum::Optimum;
use crate::scores::penalty::Penalty;
use crate::scores::qoo::QualityOfOutcome;
use crate::scores::responsiveness::Responsiveness;
use crate::scores::score_cell::ScoreCell;
use crate::scores::verdict_text::{Fault, VerdictText};
use crate::scores::voip_mos::VoipMos;
use crate::scores::web::WebScore;
use crate::scores::{aim, bufferbloat, composite, optimum, penalty, qoo, responsiveness, voip_mos, web};
use crate::validity_rule::family_word;

/// Whether a run to a server beyond 80 ms is scored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Distance {
    /// It is not: the specification asks for a nearer server.
    #[default]
    AsSpecified,
    /// It is, whoever asks for it knows.
    Any,
}

/// Every score of a run.
///
/// [scores.md](scores.md) has the formula, the source and an example of each. What was not measured is null or named as
/// missing, and never counted as good. All are from the [scored window](#scored-window), pages from phase web, against
/// the idle baseline; trust them as far as `validity` allows.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Scores")]
pub struct Scores {
    /// Why scores are withheld: the server is farther away than the specification allows. Null if scored. `rrul show
    /// --score-anyway` computes them anyway.
    ///
    /// Source: spec, Test Requirements.
    pub withheld: Option<String>,
    /// One sentence about the effect on a user, with the direction. Null if too little is known.
    pub in_words: Option<String>,
    /// Direction that adds the latency. Null when not known.
    pub fault: Option<Fault>,
    /// The main score of the specification. Null without pages unloaded and under load.
    pub web: Option<WebScore>,
    /// Pages missing from the web score, each with the reason; the score is null when all are missing.
    pub web_missing: Vec<String>,
    /// Without a web score: the highest score that the failed or cut-off page loads allow. Null if they allow any.
    ///
    /// Unit: 0 to 100.
    pub web_at_most: Option<u8>,
    /// Five parts of 20 points. Null when none of them was measured.
    pub composite: Option<Composite>,
    /// Bad behavior, in points that are not subtracted.
    pub penalty: Option<Penalty>,
    /// The specification's optimum, item by item.
    pub optimum: Option<Optimum>,
    /// The bufferbloat letter.
    pub bufferbloat: Option<Bufferbloat>,
    /// Round trips per minute under load.
    pub responsiveness: Option<Responsiveness>,
    /// Quality of outcome of named profiles.
    pub qoo: Vec<QualityOfOutcome>,
    /// Cloudflare's aggregated internet measurement.
    pub aim: Option<Aim>,
    /// Opinion scores of voice streams.
    pub voip_mos: Option<VoipMos>,
    /// The parts of the composite over time.
    pub equalizer: Option<Equalizer>,
}

impl Scores {
    /// Scores everything that an analysis has measured.
    pub fn compute(analysis: &Measured, distance: Distance) -> Self {
        if let Some(withheld) = too_far(analysis).filter(|_| distance == Distance::AsSpecified) {
            return Self { withheld: Some(withheld), ..Self::default() };
        }
        let cells = ScoreCell::all(analysis);
        let web = web::web_score(analysis);
        let scored = Self {
            withheld: None,
            in_words: None,
            fault: None,
            composite: composite::composite(analysis, web.as_ref(), &cells),
            web,
            web_missing: web::missing(analysis),
            web_at_most: web::at_most(analysis),
            penalty: penalty::penalty(analysis),
            optimum: optimum::optimum(analysis, &cells),
            bufferbloat: bufferbloat::bufferbloat(analysis),
            responsiveness: responsiveness::responsiveness(analysis),
            qoo: qoo::qualities_of_outcome(analysis),
            aim: aim::aim(analysis),
            voip_mos: voip_mos::voip_mos(analysis),
            equalizer: Equalizer::new(analysis, &cells, equalizer::WINDOW),
        };
        let verdict = VerdictText::from_measured(analysis, scored.web.is_some(), scored.voip_mos.as_ref());
        Self { in_words: verdict.sentence(), fault: verdict.fault(), ..scored }
    }
}

fn too_far(analysis: &Measured) -> Option<String> {
    let mut far = AddressFamily::ALL.into_iter().filter_map(|family| {
        let distance =
            nearest(&analysis.round_trip_delay.flows, family).filter(|distance| *distance > FARTHEST_SERVER)?;
        Some(format!("the server is {distance} away over {} (limit {FARTHEST_SERVER})", family_word(family)))
    });
    far.next()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use crate::scores::SCORES;

    #[test]
    fn every_score_has_a_name_of_its_own_and_says_where_it_comes_from() {
        let names: HashSet<&str> = SCORES.iter().map(|word| word.name).collect();
        assert_eq!(names.len(), SCORES.len());
        assert!(SCORES.iter().all(|word| !word.about.is_empty() && !word.source.is_empty()));
    }
}
