//! All voice streams were sent all the time, at a constant rate.

use rrul_model::observation::sender;
use rrul_model::units::{BitRate, Delay};

use crate::metrics::voice::voip_schedule::{LineSharing, VoipSchedule};
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_word};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[VOICE_SENT_LATE, REDUCED_CIR], judge };

/// Send lateness of voice that is worth a doubt: 99th percentile.
const LATE_P99: Delay = Delay(2_000_000);

const VOICE_SENT_LATE: ReasonWord = ReasonWord {
    code: "voice_sent_late",
    severities: &[Severity::Doubt],
    when: "send lateness of the voice streams of a direction above 2 ms at P99: late packets leave in bunches, not at a \
        constant rate",
};

const REDUCED_CIR: ReasonWord = ReasonWord {
    code: "reduced_cir",
    severities: &[Severity::Info],
    when: "the voice streams of a direction took turns, because together with the probes they would have taken over 5 % of the \
        line. Each is measured in part of each phase only",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let schedules = || evidence.analysis.voip.iter().flat_map(|voip| &voip.schedules);
    let reduced = schedules().filter(|schedule| schedule.reduced_cir).map(reason);
    schedules().filter_map(late).chain(reduced).collect()
}

fn late(schedule: &VoipSchedule) -> Option<Reason> {
    let p99 = schedule.send_lateness?.p99.filter(|p99| *p99 > LATE_P99)?;
    let host = sender(schedule.direction).name();
    let text = format!(
        "Voice packets left the {host} late: P99 {p99} (limit {LATE_P99}), so their rate was not constant. Stop other \
         programs on the {host}, or allow rrul real-time scheduling."
    );
    Some(VOICE_SENT_LATE.reason(Severity::Doubt, text))
}

fn reason(schedule: &VoipSchedule) -> Reason {
    let turns = match schedule.schedule {
        LineSharing::Classes => "one class after another",
        LineSharing::One => "one stream after another",
        LineSharing::Full | LineSharing::Turns => "in turns",
    };
    let why = match schedule.line_rate_bps {
        Some(rate) => format!("the line carries about {}", BitRate(rate)),
        None => "the plan sets it".to_owned(),
    };
    let text = format!(
        "{} voice was sent {turns} because {why}. Each stream was measured in part of each phase: use --set voip=full to \
         send all at once.",
        direction_word(schedule.direction)
    );
    REDUCED_CIR.reason(Severity::Info, text)
}
