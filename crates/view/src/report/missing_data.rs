//! What a run does not have, so that the absent is not taken for good.

use rrul_analysis::Analysis;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::flow_kind::FlowKind;
use rrul_model::recording::Header;

use crate::text::sections::unknown_queueing;
use crate::text::words;
use crate::text::words::direction_word;

/// Something that was not measured, and why.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct MissingData {
    /// What: `IPv6`, `Web pages`.
    pub(crate) what: String,
    /// Why, as far as the recording says.
    pub(crate) why: String,
}

/// Something that flows of these kinds measure, and whether the analysis has it.
struct Part {
    what: &'static str,
    kinds: &'static [FlowKind],
    found: fn(&Analysis) -> bool,
}

const PARTS: [Part; 8] = [
    Part {
        what: "UDP probes",
        kinds: &[FlowKind::UdpProbe],
        found: |run| {
            run.round_trip_delay
                .flows
                .iter()
                .any(|flow| flow.flow.kind() == FlowKind::UdpProbe && !flow.series.is_empty())
        },
    },
    Part {
        what: "ICMP echo",
        kinds: &[FlowKind::IcmpEcho],
        found: |run| {
            run.round_trip_delay
                .flows
                .iter()
                .any(|flow| flow.flow.kind() == FlowKind::IcmpEcho && !flow.series.is_empty())
        },
    },
    Part {
        what: "Web pages",
        kinds: &[FlowKind::WebPage, FlowKind::BrowserPage],
        found: |run| run.page_loads.iter().any(|page| page.unloaded.is_some() || page.loaded.is_some()),
    },
    Part { what: "Voice", kinds: &[FlowKind::Voip], found: |run| run.voip.is_some() },
    Part {
        what: "DNS lookups",
        kinds: &[FlowKind::DnsLookup],
        found: |run| run.name_lookups.groups.iter().any(|group| !group.times.is_empty()),
    },
    Part {
        what: "Short flows",
        kinds: &[FlowKind::ShortFlow],
        found: |run| run.short_flows.groups.iter().any(|group| !group.transfers.is_empty()),
    },
    Part {
        what: "New TCP connections",
        kinds: &[FlowKind::TcpConnect],
        found: |run| !run.connections.flows.is_empty(),
    },
    Part {
        what: "Transactions",
        kinds: &[FlowKind::UdpRr, FlowKind::TcpRr],
        found: |run| !run.transaction_flows.is_empty(),
    },
];

/// Everything that was not measured, the gravest first.
pub(crate) fn missing_data(run: &Analysis, header: &Header) -> Vec<MissingData> {
    let mut all = Vec::new();
    let mut say = |what: &str, why: String| all.push(MissingData { what: what.to_owned(), why });
    if let Some(why) = &run.test.partial {
        say("The rest of the run", format!("not measured: the recording is not complete: {why}"));
    }
    for family in AddressFamily::ALL.iter().filter(|family| !run.test.families.contains(family)) {
        let absent = run.test.absent_families.iter().find(|absent| absent.family == *family);
        let why = absent.map_or_else(|| "not asked for".to_owned(), |absent| absent.reason.clone());
        say(words::family_name(*family), format!("not measured: {why}"));
    }
    for direction in Direction::ALL {
        if run.goodput(direction).flows.is_empty() {
            say(&format!("{} load", direction_word(direction)), "not measured: no streams in this run".to_owned());
        }
    }
    for part in PARTS.iter().filter(|part| !(part.found)(run)) {
        say(part.what, format!("not measured: {}", why(part, run, header)));
    }
    match &run.one_way_delay.clocks {
        None => say(
            "Delay by direction",
            "not known: no packets with timestamps of both hosts in both directions".to_owned(),
        ),
        Some(clocks) => {
            for (what, why) in unknown_queueing(clocks) {
                say(what, format!("not known: {why}"));
            }
        }
    }
    if run.tcp_series.is_empty() && !(run.goodput.up.flows.is_empty() && run.goodput.down.flows.is_empty()) {
        say("TCP at both ends", "not known: no kernel state of the streams was recorded".to_owned());
    }
    if run.markings.paths.is_empty() {
        say("Markings on the path", "not known: no packets with a marking recorded by both hosts".to_owned());
    }
    if run.processor.is_empty() {
        say("Load of the processors", "not known: neither host reported it".to_owned());
    }
    all
}

/// Why a part is absent: the reason of a flow, or that nothing of the kind was to be.
fn why(part: &Part, run: &Analysis, header: &Header) -> String {
    let of_kind = |kind: FlowKind| part.kinds.contains(&kind);
    let reason = run.absent_flows.iter().chain(&run.failed_flows).find(|flow| of_kind(flow.flow.kind()));
    if let Some(flow) = reason {
        return flow.reason.clone();
    }
    let planned = header.flows.iter().any(|flow| of_kind(flow.kind()));
    match (planned, &header.imported) {
        (true, _) => "planned, and nothing of it is in the recording".to_owned(),
        (false, Some(imported)) => format!("the file of {} has none", imported.tool),
        (false, None) => format!("not in plan {}", run.test.plan),
    }
}
