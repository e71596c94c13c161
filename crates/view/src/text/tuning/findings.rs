//! What the reader of a tuning session must know beside its outcome: bursts, policers, variation, cautions.

use rrul_analysis::tuning::result::{Caution, Outcome, TuningResult};
use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;

use crate::text::octet_lines::size;
use crate::text::tuning::outcome_words::lower;
use crate::text::words::{counted, direction_word, percent};

/// One sentence or two each, those that change what to do first.
pub(crate) fn findings(result: &TuningResult) -> Vec<String> {
    let mut findings = Vec::new();
    for direction in Direction::ALL {
        let Some(tuned) = result.directions.get(direction) else { continue };
        let word = direction_word(direction);
        if let Some(policer) = &tuned.policer {
            let bucket = policer
                .bucket
                .map_or_else(String::new, |bucket| format!(", after a bucket of at least {}", size(bucket.0)));
            findings.push(format!(
                "{word} has a policer: above {}{bucket}, packets are dropped without a queue. Shaping just below turns that loss into \
                 a managed queue.",
                policer.rate
            ));
        }
        if let Some(burst) = &tuned.burst {
            findings.push(format!(
                "{word} bursts to {} for at least {:.1} s, at least {} above the sustained rate. Shaping to the sustained rate gives \
                 the burst up.",
                burst.rate,
                burst.lasted.milliseconds() / 1e3,
                size(burst.excess.0)
            ));
        }
        if let Some(varying) = tuned.varying.filter(|_| result.outcome != Outcome::Varies) {
            findings.push(format!(
                "{word} rate varies: {} to {} (P10 to P90), median {}.",
                varying.p10, varying.p90, varying.p50
            ));
        }
    }
    findings.extend(result.cautions.iter().map(|caution| self::caution(result, caution)));
    findings
}

fn caution(result: &TuningResult, caution: &Caution) -> String {
    match *caution {
        Caution::OtherTraffic { direction, trials } => format!(
            "Other traffic used the line: {} discarded ({}).",
            counted(trials as usize, "trial"),
            lower(direction)
        ),
        Caution::Interrupted { direction, trials } => format!(
            "Something interrupted the line for a moment: {} discarded ({}).",
            counted(trials as usize, "trial"),
            lower(direction)
        ),
        Caution::Stolen { direction, trials } => format!(
            "A hypervisor took processor time from a host of this test: {} discarded ({}).",
            counted(trials as usize, "trial"),
            lower(direction)
        ),
        Caution::RandomLoss { direction, loss } => format!(
            "{} loses {} of its packets without a queue. Shaping does not cure that: check Wi-Fi, cable and modem.",
            direction_word(direction),
            percent(loss)
        ),
        Caution::NearLimit { direction, percentile, delay } => {
            let limit = result.directions.get(direction).as_ref().and_then(|tuned| tuned.limit);
            let limit = limit.map_or_else(String::new, |limit| format!(", limit {limit}"));
            format!(
                "{}: queueing delay P{percentile} was {delay} in the check{limit}. A lower rate has less.",
                direction_word(direction)
            )
        }
        Caution::BusyProcessors { host, trials } => format!(
            "{} processors were busy in {}, which may have lowered the rates.",
            match host {
                ObservationPoint::Client => "This computer's",
                ObservationPoint::Server => "The server's",
            },
            counted(trials as usize, "trial"),
        ),
        Caution::AlreadyManaged { direction } => {
            let tuned = result.directions.get(direction).as_ref();
            let unshaped = tuned.and_then(|tuned| Some((tuned.unshaped?.p95, tuned.limit?)));
            let figures = unshaped
                .map_or_else(String::new, |(p95, limit)| format!(": unshaped, it adds {p95} at P95 (limit {limit})"));
            format!("{} needs no shaper{figures}.", direction_word(direction))
        }
    }
}
