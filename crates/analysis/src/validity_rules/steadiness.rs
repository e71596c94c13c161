//! The scored window is stationary, without ramp-up and burst.

use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::measured::Measured;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_word};

pub(crate) const RULE: ValidityRule =
    ValidityRule { words: &[RATE_UNSTEADY, DELAY_UNSTEADY, BURST_LEFT_OUT, LOAD_SHORT], judge };

const RATE_UNSTEADY: ReasonWord = ReasonWord {
    code: "rate_unsteady",
    severities: &[Severity::Doubt],
    when: "the rate of a direction was not [stationary](#stationarity) in the scored window",
};

const DELAY_UNSTEADY: ReasonWord = ReasonWord {
    code: "delay_unsteady",
    severities: &[Severity::Info],
    when: "the round-trip delay was not [stationary](#stationarity) in the scored window. No doubt, because long queues swing with \
        the streams that fill them: compare the halves",
};

const BURST_LEFT_OUT: ReasonWord = ReasonWord {
    code: "burst_left_out",
    severities: &[Severity::Info],
    when: "a direction began with a [burst](#bursts-and-changes-of-rate), which is left out of the scored window",
};

const LOAD_SHORT: ReasonWord = ReasonWord {
    code: "load_short",
    severities: &[Severity::Info],
    when: "the load was too short to leave the whole ramp-up, the burst and the 2 s after them out of the scored window of a direction",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let analysis = evidence.analysis;
    let of = |direction| {
        [rate(analysis, direction), burst(analysis, direction), short(analysis, direction)].into_iter().flatten()
    };
    Direction::ALL.into_iter().flat_map(of).chain(delay(analysis)).collect()
}

fn rate(analysis: &Measured, direction: Direction) -> Option<Reason> {
    let rate = analysis.stationarity.direction(direction).filter(|rate| rate.stationary == Some(false))?;
    let rate_of = |bits: i64| BitRate(bits.max(0).cast_unsigned());
    let (first, second) = (rate.first_half_bps?, rate.second_half_bps?);
    let what = match rate.change {
        Some(change) => {
            format!("{} before {} and {} after it", BitRate(change.before_bps), change.at_ns, BitRate(change.after_bps))
        }
        None => format!("{} in the first half of the scored window, {} in the second", rate_of(first), rate_of(second)),
    };
    let text = format!(
        "{} rate was not stationary: {what}. Check the chart; rerun when the line is otherwise idle.",
        direction_word(direction)
    );
    Some(RATE_UNSTEADY.reason(Severity::Doubt, text))
}

fn delay(analysis: &Measured) -> Option<Reason> {
    let delay = analysis.stationarity.round_trip_delay.filter(|delay| delay.stationary == Some(false))?;
    let text = format!(
        "Delay under load was not stationary: median {} in the first half of the scored window, {} in the second. Long queues \
         swing with their streams: compare the two halves on the chart.",
        Delay(delay.first_half_ns?),
        Delay(delay.second_half_ns?)
    );
    Some(DELAY_UNSTEADY.reason(Severity::Info, text))
}

fn burst(analysis: &Measured, direction: Direction) -> Option<Reason> {
    let burst = analysis.bursts.direction(direction)?.burst?;
    let text = format!(
        "{} began with a burst: {} for {:.1} s ({:.1} MB), then {}. The burst, as providers allow it, is not in the scored \
         window.",
        direction_word(direction),
        BitRate(burst.peak_bps),
        burst.duration_ns as f64 / 1e9,
        burst.octets as f64 / 1e6,
        BitRate(burst.sustained_bps)
    );
    Some(BURST_LEFT_OUT.reason(Severity::Info, text))
}

fn short(analysis: &Measured, direction: Direction) -> Option<Reason> {
    let text = format!(
        "{} load was too short to leave its ramp-up out of the scored window. Its figures may be those of an unsettled line: \
         use a longer load (--set load=60s).",
        direction_word(direction)
    );
    analysis.scored.cut_short.contains(&direction).then(|| LOAD_SHORT.reason(Severity::Info, text))
}
