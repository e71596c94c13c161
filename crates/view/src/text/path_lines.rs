//! The path hop by hop and the location of queues, for people.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::path::bottleneck::BottleneckPlace;
use rrul_analysis::metrics::path::path_hops::{Hop, HopAnswers};
use rrul_analysis::metrics::path::path_marks::Remarking;
use rrul_analysis::metrics::path::path_mtu::{PathMtu, SENDER};
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::text::style::unknown;
use crate::text::table::{SectionBody, Table};
use crate::text::words::family_name;

pub(crate) const HEADING: &str = "Path by hop";

/// What the analysis calls these messages.
const TOO_BIG: &str = "packet too big";

/// A table of the hops of every trace, and below it the verdicts.
pub(crate) fn told(run: &Analysis) -> SectionBody {
    if run.path_traces.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "answered", "idle P50", "loaded P50", "added", "side of queue"]);
    for trace in &run.path_traces {
        table.named_row(&name(trace), []);
        for hop in &trace.hops {
            table.named_row(&format!("  {}", hop_name(hop)), cells(hop));
        }
    }
    let mut below: Vec<String> = verdicts(run).into_iter().map(|(_, line)| format!("  {line}")).collect();
    for trace in &run.path_traces {
        below.extend(remarks(trace).into_iter().map(|line| format!("  {}: {line}", name(trace))));
    }
    SectionBody { table, below, ..SectionBody::default() }
}

/// Returns the located queues for the head of the summary; those not located follow the table.
pub(crate) fn lead(run: &Analysis) -> Vec<String> {
    let found = verdicts(run).into_iter().filter(|(trace, _)| is_located(trace));
    found.map(|(_, words)| format!("Bottleneck: {words}.")).collect()
}

/// Whether the queue of the trace's direction was found.
pub(crate) fn is_located(trace: &PathTrace) -> bool {
    trace.bottleneck.place.is_known()
}

/// Whether that queue is in the sender.
pub(crate) fn is_in_host(trace: &PathTrace) -> bool {
    trace.bottleneck.place == BottleneckPlace::Host
}

/// Whether two traces have the same verdict.
pub(crate) fn same_place(one: &PathTrace, other: &PathTrace) -> bool {
    let place = |trace: &PathTrace| {
        let bottleneck = &trace.bottleneck;
        (bottleneck.place, bottleneck.after_hop, bottleneck.before_hop)
    };
    place(one) == place(other)
}

/// The verdicts on where queues are: one for each direction where the families agree, else one for each family.
fn verdicts(run: &Analysis) -> Vec<(&PathTrace, String)> {
    let mut lines = Vec::new();
    for direction in Direction::ALL {
        let ours: Vec<&PathTrace> = run.path_traces.iter().filter(|trace| trace.direction == direction).collect();
        let words = |trace: &PathTrace| trace.bottleneck.words.clone();
        match ours[..] {
            [first, ref rest @ ..] if rest.iter().all(|other| same_place(other, first)) => {
                lines.push((first, words(first)));
            }
            _ => lines
                .extend(ours.iter().map(|trace| (*trace, format!("{}: {}", family_name(trace.family), words(trace))))),
        }
    }
    lines
}

pub(crate) fn name(trace: &PathTrace) -> String {
    let from = trace.direction.select("from this host", "from the server");
    format!("{} {}, {from}", family_name(trace.family), trace.direction)
}

pub(crate) fn hop_name(hop: &Hop) -> String {
    let what = if hop.far_end { "destination".to_owned() } else { hop.hop.to_string() };
    match hop.addresses.as_slice() {
        [] => what,
        [one] => format!("{what}  {one}"),
        [first, more @ ..] => format!("{what}  {first} and {} more", more.len()),
    }
}

fn cells(hop: &Hop) -> Vec<String> {
    let answers = |answers: &HopAnswers| format!("{} of {}", answers.answered, answers.sent);
    let sum = HopAnswers {
        sent: hop.phases.idle.sent + hop.phases.load.sent + hop.phases.after.sent,
        answered: hop.phases.idle.answered + hop.phases.load.answered + hop.phases.after.answered,
        round_trip: None,
    };
    let p50 = |answers: &HopAnswers| {
        answers.round_trip.and_then(|trips| trips.p50).map_or_else(unknown, |delay| delay.to_string())
    };
    vec![
        answers(&sum),
        p50(&hop.phases.idle),
        p50(&hop.phases.load),
        hop.queueing_ns.map_or_else(unknown, |added| Delay(added).to_string()),
        hop.side.map_or_else(unknown, str::to_owned),
    ]
}

fn remarks(trace: &PathTrace) -> Vec<String> {
    let mut lines: Vec<String> = trace.remarkings.iter().map(remarking).collect();
    lines.extend(trace.path_mtu.as_ref().and_then(path_mtu));
    if let [.., last] = trace.route_changes.as_slice() {
        let times = trace.route_changes.len();
        let how = if times == 1 { "once".to_owned() } else { format!("{times} times") };
        lines.push(format!(
            "route changed {how}, last to {} routers at {:.0} s",
            last.routers,
            last.at_ns as f64 / 1e9
        ));
    }
    // Already covered by the path MTU.
    let told = trace.path_mtu.as_ref().is_some_and(|mtu| mtu.told_by.is_some());
    lines.extend(trace.messages.iter().filter(|message| !(told && message.message == TOO_BIG)).map(|message| {
        let who = message.address.as_ref().map_or_else(String::new, |address| format!(" from {address}"));
        let times = if message.count == 1 { "once".to_owned() } else { format!("{} times", message.count) };
        format!("{}{who}, {times}", message.message)
    }));
    if !trace.sees_quoted_headers {
        lines.push("per-hop remarking unknown: it needs CAP_NET_RAW".to_owned());
    }
    lines
}

fn remarking(change: &Remarking) -> String {
    let what = change.what.to_uppercase();
    let Remarking { from, to, after_hop, seen_at_hop, .. } = change;
    let after = if *after_hop == 0 { "the sender".to_owned() } else { format!("hop {after_hop}") };
    format!("{what} {from} remarked to {to} between {after} and hop {seen_at_hop}")
}

fn path_mtu(mtu: &PathMtu) -> Option<String> {
    let failed = mtu.failed_octets?;
    let by = match (mtu.told_by.as_deref(), mtu.told_octets) {
        (Some(SENDER), Some(octets)) => format!("; the sender's own link has an MTU of {octets}"),
        (Some(address), Some(octets)) => format!("; {address} reports an MTU of {octets}"),
        (Some(address), None) => format!("; reported by {address}"),
        (None, _) => "; no router reports it".to_owned(),
    };
    let hint = mtu.hint.map_or_else(String::new, |hint| format!(" (typical of {hint})"));
    Some(match mtu.passed_octets {
        Some(passed) => format!("packets of {passed} bytes pass, {failed} do not{by}{hint}"),
        None => format!("packets of {failed} bytes do not pass{by}; path MTU not found"),
    })
}
