//! Neither host dropped packets that had crossed the line, or was throttled by its own limits.

use rrul_model::units::Share;

use crate::metrics::host::host_health::HostHealth;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{JudgedRun, ValidityRule, share_and_limit, weight};

/// Share of a socket's packets that a host may drop.
const DROPPED: f64 = 0.001;
/// Fewer drops than this are at most a doubt.
const ENOUGH: u64 = 10;
/// Share of its control group's periods in which a host may be throttled.
const THROTTLED: f64 = 0.10;

pub(crate) const RULE: ValidityRule =
    ValidityRule { words: &[SOCKET_DROPS, SOFTNET_DROPS, LISTEN_DROPS, PROCESSOR_QUOTA], judge };

const SOCKET_DROPS: ReasonWord = ReasonWord {
    code: "socket_drops",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "over 0.1 % of the test packets that reached a socket under load were dropped there, and at least ten (doubt: over \
        0.05 %, or fewer). The server's sessions share a socket, so its drops are never more than a doubt",
};

const SOFTNET_DROPS: ReasonWord = ReasonWord {
    code: "softnet_drops",
    severities: &[Severity::Doubt],
    when: "a host dropped packets under load because the receive backlog of a CPU core was full",
};

const LISTEN_DROPS: ReasonWord = ReasonWord {
    code: "listen_drops",
    severities: &[Severity::Doubt],
    when: "the server's listen queue was full: dropped connection attempts look like SYN packets lost on the line",
};

const PROCESSOR_QUOTA: ReasonWord = ReasonWord {
    code: "processor_quota",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "the control group of rrul used up its CPU quota in over 10 % (doubt: 5 %) of its periods under load",
};

fn judge(evidence: &JudgedRun<'_>) -> Vec<Reason> {
    let of = |health| [sockets(health), softnet(health), listeners(health), quota(health)].into_iter().flatten();
    evidence.analysis.hosts.iter().flat_map(of).collect()
}

/// The socket that dropped most.
fn sockets(health: &HostHealth) -> Option<Reason> {
    let worst = health.sockets.iter().filter_map(|socket| Some((socket.dropped_share?, socket)));
    let (share, socket) = worst.max_by(|one, other| one.0.total_cmp(&other.0))?;
    let enough = socket.dropped >= ENOUGH && socket.flow.is_some();
    let severity = if enough { weight(share, DROPPED)? } else { weight(share, DROPPED)?.min(Severity::Doubt) };
    let whose = socket.flow.as_ref().map_or(String::new(), |flow| format!(" of {flow}"));
    let host = health.host.name();
    let text = format!(
        "The {host} dropped {} test packets{whose} at a full socket buffer ({}). They had crossed the line: stop other \
         programs on the {host}.",
        socket.dropped,
        share_and_limit(share, DROPPED / 2.0)
    );
    Some(SOCKET_DROPS.reason(severity, text))
}

fn softnet(health: &HostHealth) -> Option<Reason> {
    let dropped = health.softnet_dropped.filter(|dropped| *dropped > 0)?;
    let host = health.host.name();
    let text = format!(
        "The {host} dropped {dropped} packets under load: the receive backlog of a CPU core was full. Stop other programs on \
         the {host}, or raise net.core.netdev_max_backlog."
    );
    Some(SOFTNET_DROPS.reason(Severity::Doubt, text))
}

fn listeners(health: &HostHealth) -> Option<Reason> {
    let dropped = health.listen_drops.filter(|dropped| *dropped > 0)?;
    let host = health.host.name();
    let text = format!(
        "The {host} dropped {dropped} connection attempts: its listen queue was full. Connection setup looks slower than the \
         line is: raise net.core.somaxconn on the {host}."
    );
    Some(LISTEN_DROPS.reason(Severity::Doubt, text))
}

fn quota(health: &HostHealth) -> Option<Reason> {
    let share = health.throttled_share?;
    let severity = weight(share, THROTTLED)?;
    let text = format!(
        "The {} was throttled by its CPU quota in {:.0} % of the load's periods (limit {}). Raise the quota of its control \
         group (cpu.max).",
        health.host.name(),
        share * 100.0,
        Share(THROTTLED / 2.0)
    );
    Some(PROCESSOR_QUOTA.reason(severity, text))
}
