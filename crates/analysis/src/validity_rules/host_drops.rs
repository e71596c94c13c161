//! Neither host dropped packets that had crossed the line, or was made to stand still by its own limits.

use crate::metrics::host_health::HostHealth;
use crate::validity::{Reason, ReasonWord, Severity};
use crate::validity_rule::{Evidence, ValidityRule, host, weight};

/// Share of a socket's packets that a host may drop.
const DROPPED: f64 = 0.001;
/// As many drops are no accident.
const ENOUGH: u64 = 10;
/// Share of its control group's periods in which a host may be throttled.
const THROTTLED: f64 = 0.10;

/// The rule.
pub(crate) const RULE: ValidityRule =
    ValidityRule { words: &[SOCKET_DROPS, SOFTNET_DROPS, LISTEN_DROPS, PROCESSOR_QUOTA], judge };

const SOCKET_DROPS: ReasonWord = ReasonWord {
    code: "socket_drops",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "over 0.1 % of the test packets that came to a socket under load were dropped there, and at least ten (doubt: over \
        0.05 %, or fewer). The server's socket is shared by its sessions, so that its drops are never more than a doubt",
};

const SOFTNET_DROPS: ReasonWord = ReasonWord {
    code: "softnet_drops",
    severities: &[Severity::Doubt],
    when: "a host dropped packets under load because the backlog of a core was full",
};

const LISTEN_DROPS: ReasonWord = ReasonWord {
    code: "listen_drops",
    severities: &[Severity::Doubt],
    when: "the server had no room for connection attempts, which look like SYN packets lost on the line",
};

const PROCESSOR_QUOTA: ReasonWord = ReasonWord {
    code: "processor_quota",
    severities: &[Severity::Invalid, Severity::Doubt],
    when: "the control group of rrul used up its processor time in over 10 % (doubt: 5 %) of its periods under load",
};

fn judge(evidence: &Evidence<'_>) -> Vec<Reason> {
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
    let text = format!(
        "the {} dropped {} test packets{whose} ({:.2} %) that had crossed the line, as it read them too late; stop other \
         programs there",
        host(health.host),
        socket.dropped,
        share * 100.0
    );
    Some(SOCKET_DROPS.reason(severity, text))
}

fn softnet(health: &HostHealth) -> Option<Reason> {
    let dropped = health.softnet_dropped.filter(|dropped| *dropped > 0)?;
    let text = format!(
        "the {} dropped {dropped} packets under load before any program could read them, as a core did not keep up; stop \
         other programs there, or raise net.core.netdev_max_backlog",
        host(health.host)
    );
    Some(SOFTNET_DROPS.reason(Severity::Doubt, text))
}

fn listeners(health: &HostHealth) -> Option<Reason> {
    let dropped = health.listen_drops.filter(|dropped| *dropped > 0)?;
    let text = format!(
        "the {} had no room for {dropped} connection attempts, so connections look slow that the line did not slow; raise \
         net.core.somaxconn there",
        host(health.host)
    );
    Some(LISTEN_DROPS.reason(Severity::Doubt, text))
}

fn quota(health: &HostHealth) -> Option<Reason> {
    let share = health.throttled_share?;
    let severity = weight(share, THROTTLED)?;
    let text = format!(
        "the {} had used up its quota of processor time in {:.0} % of the periods under load and stood still for the rest of \
         them; raise the quota of its control group (cpu.max)",
        host(health.host),
        share * 100.0
    );
    Some(PROCESSOR_QUOTA.reason(severity, text))
}
