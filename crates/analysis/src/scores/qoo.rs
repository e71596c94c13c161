//! Quality of outcome (draft-ietf-ippm-qoo-11): how well a line meets what an application asks for.
//!
//! A profile names, for percentiles of delay and for mean loss, what is perfect (ROP, requirement for optimal performance)
//! and what is useless (CPUP, conditions at the point of unacceptable performance), and a rate. With m = clamp(0, 1 -
//! (measured - ROP) / (CPUP - ROP), 1): QoO = min(100 · min m of delays, 100 · m of loss, 100 or 0 for the rate).
//!
//! Inputs are round trips of best-effort probes under load, their losses as infinitely late, and the smaller of the two
//! directions' goodput, where both were loaded: of a direction without load nothing is known. The profiles here are
//! rrul's own: the draft leaves them to whoever knows the application.

use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::score::ScoreWord;
use crate::scores::composite::windows;
use crate::statistics::percentile::percentile;

pub const WORD: ScoreWord = ScoreWord {
    name: "qoo",
    about: "how well the loaded line meets what named applications ask for, 0 useless to 100 perfect",
    source: "draft-ietf-ippm-qoo-11; profiles are rrul's",
};

/// What is perfect, and what is useless.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Requirement {
    /// Up to here nothing is lacking.
    pub rop: f64,
    /// From here on it is of no use.
    pub cpup: f64,
}

impl Requirement {
    /// How near a measured figure comes, 0 to 1; an infinite one not at all. `None` of what is no number.
    pub fn met(&self, measured: f64) -> Option<f64> {
        let span = self.cpup - self.rop;
        (!measured.is_nan() && span > 0.0).then(|| (1.0 - (measured - self.rop) / span).clamp(0.0, 1.0))
    }
}

/// What an application asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Profile {
    pub name: &'static str,
    pub about: &'static str,
    /// Percentile of delay in thousandths, and the delays asked for, milliseconds, round trip.
    pub delays: &'static [(u16, Requirement)],
    /// Mean loss as a share.
    pub loss: Requirement,
    /// Bits per second in each direction.
    pub rate: f64,
}

const fn between(rop: f64, cpup: f64) -> Requirement {
    Requirement { rop, cpup }
}

pub const PROFILES: [Profile; 3] = [
    Profile {
        name: "video_call",
        about: "a conversation with pictures",
        delays: &[(900, between(50.0, 250.0)), (990, between(100.0, 400.0))],
        loss: between(0.001, 0.05),
        rate: 3e6,
    },
    Profile {
        name: "voice_call",
        about: "a conversation",
        delays: &[(900, between(100.0, 400.0)), (990, between(150.0, 500.0))],
        loss: between(0.01, 0.10),
        rate: 1e5,
    },
    Profile {
        name: "game",
        about: "a fast game against others",
        delays: &[(900, between(30.0, 100.0)), (990, between(50.0, 200.0))],
        loss: between(0.001, 0.05),
        rate: 5e5,
    },
];

/// What a line does.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Inputs {
    /// Delays that arrived, milliseconds, in rising order.
    pub delays: Vec<f64>,
    pub lost: u64,
    /// Bits per second of the slower direction; `None` unless both were loaded.
    pub rate: Option<f64>,
}

impl Inputs {
    fn sent(&self) -> u64 {
        self.delays.len() as u64 + self.lost
    }
}

/// The quality of outcome of one profile.
///
/// One entry for each profile; empty without best-effort probes under load. [scores.md](scores.md) has the profiles.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Quality of outcome")]
pub struct QualityOfOutcome {
    /// `video_call`, `voice_call`, `game`.
    pub profile: &'static str,
    /// The smallest of the parts; null when one of them was not measured and the others are not 0.
    ///
    /// Unit: 0 to 100. Source: draft-ietf-ippm-qoo-11.
    pub score: Option<f64>,
    /// Score of delay. Null when not measured.
    ///
    /// Unit: 0 to 100. Source: draft-ietf-ippm-qoo-11.
    pub delay: Option<f64>,
    /// Score of loss. Null when not measured.
    ///
    /// Unit: 0 to 100. Source: draft-ietf-ippm-qoo-11.
    pub loss: Option<f64>,
    /// Score of the rate. Null unless both directions were loaded.
    ///
    /// Unit: 0 to 100. Source: draft-ietf-ippm-qoo-11.
    pub rate: Option<f64>,
}

impl QualityOfOutcome {
    /// The parts and what follows: a part that lacks makes the score unknown, unless another is 0 already.
    pub fn new(profile: &'static str, delay: Option<f64>, loss: Option<f64>, rate: Option<f64>) -> Self {
        let parts = [delay, loss, rate];
        let least = parts.iter().flatten().copied().min_by(f64::total_cmp);
        let score = least.filter(|least| *least <= 0.0 || parts.iter().all(Option::is_some));
        Self { profile, score, delay, loss, rate }
    }

    /// Scores a line for a profile.
    pub fn score(profile: &Profile, measured: &Inputs) -> Self {
        let sent = measured.sent();
        let met = |(per_mille, requirement): &(u16, Requirement)| {
            let delay = percentile(&measured.delays, measured.lost, *per_mille).unwrap_or(f64::INFINITY);
            requirement.met(delay).map(|met| 100.0 * met)
        };
        let delays: Option<Vec<f64>> = profile.delays.iter().map(met).collect();
        let delay = delays.filter(|_| sent > 0).and_then(|delays| delays.into_iter().min_by(f64::total_cmp));
        let loss = (sent > 0).then(|| profile.loss.met(measured.lost as f64 / sent as f64)).flatten();
        let rate = measured.rate.map(|rate| if rate >= profile.rate { 100.0 } else { 0.0 });
        Self::new(profile.name, delay, loss.map(|met| 100.0 * met), rate)
    }
}

/// From an analysis: one for each profile, none without best-effort probes under load.
pub(crate) fn qualities_of_outcome(analysis: &Measured) -> Vec<QualityOfOutcome> {
    let Some(measured) = measured(analysis) else { return Vec::new() };
    PROFILES.iter().map(|profile| QualityOfOutcome::score(profile, &measured)).collect()
}

fn measured(analysis: &Measured) -> Option<Inputs> {
    let load = windows(analysis).1?;
    let ours =
        |flow: &crate::flow_label::FlowLabel| flow.kind() == FlowKind::UdpProbe && flow.class == ServiceClass::BE;
    let probes =
        analysis.round_trip_delay.flows.iter().filter(|entry| ours(&entry.flow)).flat_map(|entry| &entry.series);
    let within: Vec<_> = probes.filter(|point| load.contains(point.at)).map(|point| point.delay).collect();
    let mut delays: Vec<f64> = within.iter().flatten().map(|delay| delay.milliseconds()).collect();
    delays.sort_unstable_by(f64::total_cmp);
    let lost = (within.len() - delays.len()) as u64;
    let rate =
        analysis.loads_both_directions().then(|| analysis.goodput.up.sum.0.min(analysis.goodput.down.sum.0) as f64);
    (!within.is_empty()).then_some(Inputs { delays, lost, rate })
}
