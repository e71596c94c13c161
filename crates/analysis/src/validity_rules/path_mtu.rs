//! Full packets of the load pass: a path that loses them without a report stalls every connection.

use rrul_model::observation::{TcpInfo, sender};

use crate::metrics::octets::tcp_octets::{data_header_octets, header_octets};
use crate::metrics::path::path_trace::PathTrace;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, direction_word, family_word};

pub(crate) const RULE: ValidityRule = ValidityRule { words: &[LARGE_PACKETS_LOST], judge };

const LARGE_PACKETS_LOST: ReasonWord = ReasonWord {
    code: "large_packets_lost",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "the path lost packets of a size that streams of the load send, while shorter ones passed, no router reported it, and nothing \
        of these streams arrived (a black hole of path MTU discovery, RFC 2923; doubt: other streams arrived)",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    evidence.analysis.path_traces.iter().filter_map(|trace| lost(evidence, trace)).collect()
}

fn lost(evidence: &JudgedRun<'_>, trace: &PathTrace) -> Option<Reason> {
    let JudgedRun { recording, analysis, .. } = *evidence;
    let PathTrace { direction, family, .. } = *trace;
    let mtu = trace.path_mtu.as_ref().filter(|mtu| mtu.told_by.is_none())?;
    let (passed, failed) = mtu.passed_octets.zip(mtu.failed_octets)?;
    let segment = |row: &TcpInfo| u64::from(row.snd_mss) + data_header_octets(family, row.options);
    let streams: Vec<_> =
        analysis.goodput(direction).flows.iter().filter(|stream| stream.flow.family == family).collect();
    // Where such a segment arrived, only the test packets of this length are lost.
    let silent: Vec<_> = streams.iter().filter(|stream| stream.octets.0 == 0).map(|stream| stream.flow.id).collect();
    let waits = |row: &TcpInfo| segment(row) >= u64::from(failed) && silent.contains(&row.flow);
    let mut readings = recording.tables_of(sender(direction)).flat_map(|tables| tables.tcp_info.rows());
    readings.any(|row| waits(&row)).then(|| {
        let severity = if silent.len() == streams.len() { Severity::Invalid } else { Severity::Doubt };
        let text = format!(
            "{} loses packets of {failed} bytes and more over {}, and no router reports it. Limit the MSS of TCP to {} bytes on the \
             router.",
            direction_word(direction),
            family_word(family),
            u64::from(passed).saturating_sub(header_octets(family))
        );
        LARGE_PACKETS_LOST.reason(severity, text)
    })
}
