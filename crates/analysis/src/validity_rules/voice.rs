//! The voice streams were all sent all the time.

use rrul_model::units::BitRate;

use crate::metrics::voip_schedule::{Sharing, VoipSchedule};
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, way};

/// The rule.
pub(crate) const RULE: ValidityRule = ValidityRule { words: &[REDUCED_CIR], judge };

const REDUCED_CIR: ReasonWord = ReasonWord {
    code: "reduced_cir",
    severities: &[Severity::Info],
    when: "the voice streams of a direction took turns, as together with the probes they would have taken over 5 % of the \
        line. Each is measured in a part of each phase only",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
    let schedules = evidence.analysis.voip.iter().flat_map(|voip| &voip.schedules);
    schedules.filter(|schedule| schedule.reduced_cir).map(reason).collect()
}

fn reason(schedule: &VoipSchedule) -> Reason {
    let turns = match schedule.schedule {
        Sharing::Classes => "one class after another",
        Sharing::One => "one stream after another",
        Sharing::Full | Sharing::Turns => "in turns",
    };
    let line = match schedule.line_rate_bps {
        Some(rate) => format!("the line carries about {}", BitRate(rate)),
        None => "the plan says so".to_owned(),
    };
    let way = way(schedule.direction).trim_start_matches("load ");
    let text = format!(
        "voice {way} was sent {turns}, as {line}: each stream was measured in a part of each phase; --set voip=full \
         sends all at once"
    );
    REDUCED_CIR.reason(Severity::Info, text)
}
