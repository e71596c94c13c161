//! What listeners would say of calls over the loaded line: the worst and the mean opinion score (ITU-T G.107) of the voice
//! streams of each class and direction.
//!
//! From 1 (bad) to 4.41; losses concealed. It is missing where nothing brings the hosts' clocks together, or without voice.

use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::score::ScoreWord;
use crate::scores::score_cell::counts;
use crate::statistics::bootstrap::mean;

pub const WORD: ScoreWord = ScoreWord {
    name: "voip_mos",
    about: "opinion score of calls under load, 1 bad to 4.4; the worst and the mean of each class and direction",
    source: "ITU-T G.107, G.113",
};

/// Opinion scores of voice streams under load.
///
/// From [voice streams](#voice) under load, losses concealed. Null without voice, or without one-way delay.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Opinion scores of calls")]
pub struct VoipMos {
    /// The worst of all streams of best effort and expedited forwarding.
    ///
    /// Unit: 1 to 4.41. Source: ITU-T G.107.
    pub worst: Option<f64>,
    /// Each class and direction.
    pub classes: Vec<ClassMos>,
}

/// Those of one class in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct ClassMos {
    /// Service class.
    pub class: ServiceClass,
    /// Direction.
    pub direction: Direction,
    /// The worst of its streams.
    ///
    /// Unit: 1 to 4.41. Source: ITU-T G.107.
    pub worst: f64,
    /// The mean of its streams.
    ///
    /// Unit: 1 to 4.41. Source: ITU-T G.107.
    pub mean: f64,
    /// How many they are.
    ///
    /// Unit: count.
    pub streams: u64,
}

impl VoipMos {
    /// Creates it from streams with their class, direction and score; `None` without any.
    pub fn new(streams: &[(ServiceClass, Direction, f64)]) -> Option<Self> {
        let mut classes: Vec<ClassMos> = Vec::new();
        for (class, direction, _) in streams {
            if classes.iter().any(|known| known.class == *class && known.direction == *direction) {
                continue;
            }
            let ours = streams.iter().filter(|(c, d, _)| c == class && d == direction);
            let scores: Vec<f64> = ours.map(|(.., score)| *score).collect();
            let worst = scores.iter().copied().min_by(f64::total_cmp)?;
            let (class, direction, streams) = (*class, *direction, scores.len() as u64);
            classes.push(ClassMos { class, direction, worst, mean: mean(&scores)?, streams });
        }
        let worst = classes.iter().filter(|entry| counts(entry.class)).map(|entry| entry.worst).min_by(f64::total_cmp);
        (!classes.is_empty()).then_some(Self { worst, classes })
    }
}

pub(crate) fn voip_mos(analysis: &Measured) -> Option<VoipMos> {
    let flows = &analysis.voip.as_ref()?.flows;
    let scored = flows.iter().filter_map(|entry| Some((entry.flow.class, entry.flow.direction?, entry.load?.mos_plc?)));
    VoipMos::new(&scored.collect::<Vec<_>>())
}
