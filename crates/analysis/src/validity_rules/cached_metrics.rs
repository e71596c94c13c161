//! Whether the kernels shaped the load by what they had cached of earlier connections to the same host.

use rrul_model::flow::Direction;
use rrul_model::observation::sender;

use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_name};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[CACHED_TCP_METRICS], judge };

const CACHED_TCP_METRICS: ReasonWord = ReasonWord {
    code: "cached_tcp_metrics",
    severities: &[Severity::Info],
    when: "streams of the load began with a slow-start threshold that the sender's kernel had cached from earlier connections",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let reason = |direction: Direction| {
        let streams = &evidence.analysis.stream_limits.direction(direction).streams;
        let cached = || streams.iter().filter_map(|stream| stream.initial_slow_start_threshold);
        let least = cached().min()?;
        let text = format!(
            "{} of {} {} streams began with a cached slow-start threshold ({least} segments at least) and fill the queue \
             later. Run `ip tcp_metrics flush` on the {}, or set net.ipv4.tcp_no_ssthresh_metrics_save=1.",
            cached().count(),
            streams.len(),
            direction_name(direction),
            sender(direction).name(),
        );
        Some(CACHED_TCP_METRICS.reason(Severity::Info, text))
    };
    Direction::ALL.into_iter().filter_map(reason).collect()
}
