//! The rules that say whether a recording deserves trust. docs/metrics.md lists them with their codes.

use std::collections::BTreeSet;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::units::Delay;

use crate::analysis::{Analysis, ProcessorLoad};
use crate::in_force;
use crate::metrics::goodput;
use crate::metrics::processor_load::{SATURATED, STOLEN};
use crate::metrics::start_spread::{receiver, sender};
use crate::validity::{Reason, Severity, Validity};

/// Largest distance to a server that the test is made for: RRUL spec, Test Requirements.
const FARTHEST_SERVER: Delay = Delay(80_000_000);
/// Share of the load phase's seconds with too little processor time that makes a recording invalid.
const PROCESSOR_INVALID: f64 = 0.10;
/// The share that makes it doubtful.
const PROCESSOR_DOUBTFUL: f64 = 0.05;
/// Send lateness that is worth a doubt: 99th percentile.
const LATE_P99: Delay = Delay(2_000_000);
/// Send lateness that is worth a doubt: 99.9th percentile.
const LATE_P99_9: Delay = Delay(10_000_000);
/// Share of a flow's due packets that is worth a doubt when they were not sent.
const SKIPPED: f64 = 0.01;
/// Packets from which on the 99.9th percentile says more than that one packet was late (ln 0.05 / ln 0.999).
const PACKETS_FOR_P99_9: u64 = 2994;

/// Judges an analysis whose numbers are complete; `lateness_p99_9` is the 99.9th percentile of the send lateness.
pub(crate) fn judge(recording: &Recording, analysis: &Analysis, lateness_p99_9: Option<Delay>) -> Validity {
    let mut reasons = Vec::new();
    reasons.extend(load(recording, analysis));
    reasons.extend(replies(analysis));
    reasons.extend(processors(analysis));
    reasons.extend(partial(analysis));
    reasons.extend(frames(recording));
    reasons.extend(flows(analysis));
    reasons.extend(distance(analysis));
    reasons.extend(lateness(analysis, lateness_p99_9));
    reasons.extend(skipped(analysis));
    reasons.extend(congestion_control(recording));
    reasons.extend(marking(recording));
    Validity::of(reasons)
}

fn reason(code: &'static str, severity: Severity, text: String) -> Reason {
    Reason { code, severity, text }
}

/// Every direction that was to be loaded was.
fn load(recording: &Recording, analysis: &Analysis) -> Vec<Reason> {
    let unloaded = Direction::ALL.into_iter().filter(|direction| {
        let goodput = analysis.goodput(*direction);
        !goodput.flows.is_empty() && goodput.octets.0 == 0
    });
    unloaded
        .map(|direction| {
            let (way, host) = (way(direction), host(receiver(direction)));
            let why = if goodput::was_counted(recording, direction) {
                format!("the {host} received nothing while the load was to run; look for flows that failed")
            } else {
                format!("the recording holds no count of octets from the {host}; run the test to its end")
            };
            reason("no_load", Severity::Invalid, format!("no {way}: {why}"))
        })
        .collect()
}

/// Some test packet was answered.
fn replies(analysis: &Analysis) -> Option<Reason> {
    let loss = analysis.loss;
    if analysis.delay_flows.is_empty() || loss.sent > loss.lost {
        return None;
    }
    let text = match loss.sent {
        0 => "no test packet was sent and waited for, so no delay is known; look for flows that failed, or run the \
              test to its end"
            .to_owned(),
        sent => format!(
            "none of {sent} test packets was answered; check that firewalls let UDP pass between this host and the \
             server's port, both ways"
        ),
    };
    Some(reason("no_replies", Severity::Invalid, text))
}

/// Neither host was short of processor time (RRUL spec, Test Requirements).
fn processors(analysis: &Analysis) -> Vec<Reason> {
    let weight = |share: f64| match share {
        share if share > PROCESSOR_INVALID => Some(Severity::Invalid),
        share if share > PROCESSOR_DOUBTFUL => Some(Severity::Doubt),
        _ => None,
    };
    let mut reasons = Vec::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let host = host(point);
        let Some(load) = analysis.processor.iter().find(|load| load.point == point) else {
            let text = format!("the processor load of the {host} is not known, so it is not known to have kept up");
            reasons.push(reason("processor_unknown", Severity::Info, text));
            continue;
        };
        let ProcessorLoad { saturated, stolen, .. } = *load;
        reasons.extend(weight(saturated).map(|severity| {
            let text = format!(
                "a processor core of the {host} was over {:.0} % busy in {:.0} % of the load's seconds; stop other \
                 programs there, or use a faster host",
                SATURATED * 100.0,
                saturated * 100.0
            );
            reason("processor_saturated", severity, text)
        }));
        reasons.extend(weight(stolen).map(|severity| {
            let text = format!(
                "the hypervisor took over {:.0} % of a processor core of the {host} in {:.0} % of the load's seconds; \
                 use a host with processors of its own",
                STOLEN * 100.0,
                stolen * 100.0
            );
            reason("processor_stolen", severity, text)
        }));
    }
    reasons
}

/// The recording is complete.
fn partial(analysis: &Analysis) -> Option<Reason> {
    let why = analysis.partial.as_ref()?;
    let text = format!("the recording is not complete: {why}; the numbers cover what there is of it");
    Some(reason("partial", Severity::Doubt, text))
}

/// No observation was lost on its way into the recording.
fn frames(recording: &Recording) -> Vec<Reason> {
    let mut reasons = Vec::new();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let host = host(point);
        let numbers: BTreeSet<u32> = recording.frames_of(point).map(|frame| frame.number).collect();
        let Some(last) = numbers.last() else {
            let text = format!("nothing that the {host} observed is in the recording");
            reasons.push(reason("frames_missing", Severity::Doubt, text));
            continue;
        };
        let expected = u64::from(*last) + 1;
        let missing = expected - numbers.len() as u64;
        if missing > 0 {
            let text = format!(
                "{missing} of {expected} frames of the {host} are missing; what happened in them counts as loss"
            );
            reasons.push(reason("frames_missing", Severity::Doubt, text));
        }
        let dropped = recording.frames_of(point).fold(0_u64, |sum, frame| sum.saturating_add(frame.dropped));
        if dropped > 0 {
            let text = format!(
                "the {host} had to drop {dropped} observations because it could not keep up with recording; stop \
                 other programs there"
            );
            reasons.push(reason("observations_dropped", Severity::Doubt, text));
        }
    }
    reasons
}

/// Every flow ran, in every family.
fn flows(analysis: &Analysis) -> Vec<Reason> {
    let failed = analysis
        .failed_flows
        .iter()
        .map(|entry| reason("flow_failed", Severity::Doubt, format!("{} failed: {}", entry.flow.name, entry.reason)));
    let absent = analysis
        .absent_flows
        .iter()
        .map(|entry| reason("flow_absent", Severity::Info, format!("{} is absent: {}", entry.flow.name, entry.reason)));
    // The spec asks for both families where both are available; which are is a property of the network.
    let families = analysis.absent_families.iter().map(|entry| {
        reason("family_absent", Severity::Info, format!("{} was not tested: {}", entry.family, entry.reason))
    });
    failed.chain(absent).chain(families).collect()
}

/// The server is near enough in each family, by the smallest idle round-trip delay of any of its probes.
fn distance(analysis: &Analysis) -> Vec<Reason> {
    let nearest = |family: AddressFamily| {
        let flows = analysis.delay_flows.iter().filter(|entry| entry.flow.family == family);
        flows.filter_map(|entry| entry.delays.idle?.min).min()
    };
    AddressFamily::ALL
        .into_iter()
        .filter_map(|family| {
            let nearest = nearest(family).filter(|delay| *delay > FARTHEST_SERVER)?;
            let text = format!(
                "the server is {nearest} away over {family}, farther than {FARTHEST_SERVER}: streams take long to \
                 fill the line, and delay of the distance hides that of queues; use a nearer server"
            );
            Some(reason("server_far", Severity::Doubt, text))
        })
        .collect()
}

/// Test packets left when they were due.
///
/// A doubt and no more: delay is measured from when a packet really left, so lateness spoils the even spacing of the
/// sample and not its values. Half the limit is worth knowing.
fn lateness(analysis: &Analysis, p99_9: Option<Delay>) -> Option<Reason> {
    let statistics = analysis.send_lateness?;
    let (p99, p99_9) = (statistics.p99?, p99_9?);
    let enough = statistics.n >= PACKETS_FOR_P99_9;
    let over = |part: i64| p99.0 > LATE_P99.0 / part || enough && p99_9.0 > LATE_P99_9.0 / part;
    let severity = match () {
        () if over(1) => Severity::Doubt,
        () if over(2) => Severity::Info,
        () => return None,
    };
    let text = format!(
        "test packets left late: 1 in 100 by more than {p99}, 1 in 1000 by more than {p99_9}; stop other programs on \
         this host, or allow rrul real-time scheduling"
    );
    Some(reason("send_late", severity, text))
}

/// Test packets left at all. What is missing is missing where the host was busiest, so the sample is not an even one.
fn skipped(analysis: &Analysis) -> Option<Reason> {
    let flows = analysis.delay_flows.iter().filter(|entry| entry.skipped.packets > 0);
    let worst = flows.max_by(|a, b| a.skipped.share().total_cmp(&b.skipped.share()))?;
    let severity = if worst.skipped.share() > SKIPPED { Severity::Doubt } else { Severity::Info };
    let text = format!(
        "the client stalled, so {} of {} test packets of {} were not sent ({:.1} %); stop other programs on this host, \
         or allow rrul real-time scheduling",
        worst.skipped.packets,
        worst.skipped.due,
        worst.flow.name,
        worst.skipped.share() * 100.0
    );
    Some(reason("packets_skipped", severity, text))
}

/// The load was sent with the congestion control that the plan asks for.
fn congestion_control(recording: &Recording) -> Option<Reason> {
    let replaced = in_force::replaced_congestion_control(recording);
    let streams = replaced.iter().map(|(kind, count)| {
        let direction = match kind.direction {
            Direction::Up => "upload",
            Direction::Down => "download",
        };
        let streams = if *count == 1 { "stream was" } else { "streams were" };
        let in_force = kind.in_force.as_deref().unwrap_or("a congestion control that is not known");
        format!("{count} {direction} {streams} sent with {in_force} instead of {}", kind.asked)
    });
    let streams: Vec<String> = streams.collect();
    let asked: BTreeSet<&str> = replaced.keys().map(|kind| &*kind.asked).collect();
    let asked = Vec::from_iter(asked).join(" and ");
    let hosts: BTreeSet<&str> = replaced.keys().map(|kind| host(sender(kind.direction))).collect();
    let hosts = Vec::from_iter(hosts).join(" and the ");
    let text = format!(
        "{}, so queues were not filled as {asked} fills them; allow {asked} on the {hosts}: sysctl \
         net.ipv4.tcp_allowed_congestion_control",
        streams.join(", ")
    );
    (!replaced.is_empty()).then(|| reason("congestion_control", Severity::Doubt, text))
}

/// Packets left with the code point of their class.
fn marking(recording: &Recording) -> Option<Reason> {
    let in_force::Unmarked { flow, point, asked, octet, flows } = in_force::unmarked(recording)?;
    let which = match flows {
        1 => flow,
        _ => format!("{flow}, the first of {flows} such flows,"),
    };
    let text = format!(
        "{which} leaves the {} with DSCP {} where {asked} was asked for, so classes do not compare; look for a container \
         or a policy there that overrides IP_TOS and IPV6_TCLASS",
        host(point),
        octet >> 2
    );
    Some(reason("marking_refused", Severity::Doubt, text))
}

fn host(point: ObservationPoint) -> &'static str {
    match point {
        ObservationPoint::Client => "client",
        ObservationPoint::Server => "server",
    }
}

fn way(direction: Direction) -> &'static str {
    match direction {
        Direction::Up => "load from client to server",
        Direction::Down => "load from server to client",
    }
}
