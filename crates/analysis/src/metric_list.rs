//! Every number of the summary, explained: docs/metrics.md and `rrul list metrics` are made from this list.
//!
//! The words stand beside the code of each metric. A test holds them against docs/summary.schema.json: no number is
//! without a word, and no word without a number.

use std::fmt::Write;

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::delay::{
    delay_variation, one_way_delay, recovery, round_trip_delay, send_lateness, stream_delay, transactions,
};
use crate::metrics::host::{failed_flows, host_health, host_interface, host_route, processor_load};
use crate::metrics::loss::{icmp_messages, packet_fate, reordering, round_trip_loss};
use crate::metrics::marking::{ecn, marking_path};
use crate::metrics::octets::{link_octets, measurement_overhead, octet_account};
use crate::metrics::path::path_trace;
use crate::metrics::rate::{burst, goodput, saturation, scored_window, start_slew, start_spread, steadiness};
use crate::metrics::sharing::{class_treatment, global_synchronization, stream_sharing};
use crate::metrics::tcp::{stream_limits, tcp_loss, tcp_round_trip};
use crate::metrics::voice::{voip, voip_quality, voip_schedule};
use crate::metrics::web::{browser_load, connections, name_lookups, page_load_statistics, page_loads, short_flows};
use crate::scores::equaliser;
use crate::scores::{aim, bufferbloat, composite, optimum, penalty, qoo, responsiveness, voip_mos, web};
use crate::statistics::{jain_index, loss_runs, percentile};
use crate::validity::{self, ReasonWord};
use crate::{scored, validity_rules};

/// All groups, in the order of docs/metrics.md.
pub const METRICS: &[MetricGroup] = &[
    RECORDING,
    validity::GROUP,
    scored::GROUP,
    web::GROUP,
    composite::GROUP,
    penalty::GROUP,
    optimum::GROUP,
    bufferbloat::GROUP,
    responsiveness::GROUP,
    qoo::GROUP,
    aim::GROUP,
    voip_mos::GROUP,
    equaliser::GROUP,
    scored_window::GROUP,
    burst::GROUP,
    saturation::GROUP,
    steadiness::GROUP,
    recovery::GROUP,
    percentile::DELAYS,
    goodput::GROUP,
    link_octets::GROUP,
    octet_account::GROUP,
    measurement_overhead::GROUP,
    round_trip_delay::GROUP,
    one_way_delay::GROUP,
    delay_variation::ROUND_TRIPS,
    tcp_round_trip::GROUP,
    round_trip_loss::GROUP,
    packet_fate::GROUP,
    reordering::GROUP,
    tcp_loss::GROUP,
    icmp_messages::GROUP,
    start_spread::GROUP,
    start_slew::GROUP,
    start_slew::STEPS,
    connections::GROUP,
    connections::ATTEMPTS,
    name_lookups::GROUP,
    name_lookups::LOOKUPS,
    short_flows::GROUP,
    short_flows::TRANSFERS,
    stream_delay::GROUP,
    stream_delay::PHASES,
    stream_sharing::GROUP,
    jain_index::EVENNESS,
    global_synchronization::GROUP,
    stream_limits::GROUP,
    transactions::GROUP,
    send_lateness::GROUP,
    processor_load::GROUP,
    browser_load::GROUP,
    failed_flows::GROUP,
    voip::GROUP,
    voip_quality::GROUP,
    voip::ADDED,
    voip_schedule::GROUP,
    page_loads::GROUP,
    page_load_statistics::GROUP,
    page_load_statistics::SPREAD,
    delay_variation::GROUP,
    loss_runs::GROUP,
    marking_path::GROUP,
    ecn::GROUP,
    class_treatment::GROUP,
    host_health::GROUP,
    host_route::GROUP,
    host_interface::GROUP,
    path_trace::GROUP,
];

/// The words for what identifies the recording.
const RECORDING: MetricGroup = MetricGroup {
    title: "The recording",
    path: "",
    about: "",
    words: &[
        MetricWord { name: "format", about: "name and version of the form, `rrul-summary/1`", unit: "", source: "" },
        MetricWord {
            name: "plan, title, created, server",
            about: "the plan's name, the user's title, when the run began (RFC 3339, UTC), the server as the user named it",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "families[]",
            about: "families under test: `ipv4`, `ipv6`",
            unit: "",
            source: "spec, Test Requirements",
        },
        MetricWord {
            name: "partial",
            about: "why the recording is not complete; `null` when it is",
            unit: "",
            source: "",
        },
    ],
};

/// What stands above the groups.
const INTRODUCTION: &str = "What rrul reports, how each number is defined, and where the definition comes from. Every \
    number is computed from the recording alone, so an old recording gets today's definitions when it is shown again. \
    The names are those of `rrul show --json`; [summary.schema.json](summary.schema.json) is its schema. \"Spec\" is the \
    RRUL specification. This page is made from the program: `rrul list metrics` says the same.\n\n\
    Units are base units as integers: bits per second (`_bps`), nanoseconds (`_ns`), octets, counts, parts per million \
    (`_ppm`). Shares are 0 to 1. `null` is \"not known\", never zero. Fields of one recording may be added within \
    `\"format\": \"rrul-summary/1\"`; none changes its meaning. Braces stand for each of what is in them: `{down,up}.octets` \
    is `down.octets` and `up.octets`.";

/// Lines of running text are no longer than this.
const WIDTH: usize = 120;

/// The whole of docs/metrics.md.
pub fn metrics_document() -> String {
    let mut document = format!("# Metrics\n\n{}\n", wrapped(INTRODUCTION));
    for group in METRICS {
        let _ = write!(document, "\n## {}\n", group.title);
        match group.path {
            "" => {}
            path => {
                let _ = match path.strip_prefix('#') {
                    Some(shape) => write!(document, "\nMembers of every `{shape}` of the schema.\n"),
                    None => write!(document, "\nUnder `{path}`.\n"),
                };
            }
        }
        if !group.about.is_empty() {
            let _ = write!(document, "\n{}\n", wrapped(group.about));
        }
        document += "\n| name | definition | unit | source |\n|---|---|---|---|\n";
        for MetricWord { name, about, unit, source } in group.words {
            let names: Vec<String> = names(name).map(|name| format!("`{name}`")).collect();
            document += &row(&[&names.join(", "), about, unit, source]);
        }
        if group.path == validity::GROUP.path {
            document += "\n| code | severity | when |\n|---|---|---|\n";
            for ReasonWord { code, severities, when } in validity_rules::reason_words() {
                let severities: Vec<&str> = severities.iter().map(|severity| severity.name()).collect();
                document += &row(&[&format!("`{code}`"), &severities.join(", "), when]);
            }
        }
    }
    document
}

/// The names that one word stands for, braces unfolded no further.
///
/// A comma within braces belongs to them.
pub fn names(name: &str) -> impl Iterator<Item = &str> {
    name.split(", ")
}

fn row(cells: &[&str]) -> String {
    format!("| {} |\n", cells.join(" | ")).replace("|  |", "| |").replace("|  |", "| |")
}

/// Running text in lines of at most [`WIDTH`]; lines of the text itself stay apart.
fn wrapped(text: &str) -> String {
    let mut lines = Vec::new();
    for paragraph in text.split('\n') {
        let mut line = String::new();
        for word in paragraph.split(' ') {
            if !line.is_empty() && line.chars().count() + 1 + word.chars().count() > WIDTH {
                lines.push(std::mem::take(&mut line));
            }
            if !line.is_empty() {
                line.push(' ');
            }
            line += word;
        }
        lines.push(line);
    }
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn running_text_is_broken_between_words_and_paragraphs_stay_apart() {
        let text = format!("{}\n\n* two", "word ".repeat(30).trim_end());
        let lines: Vec<String> = wrapped(&text).lines().map(str::to_owned).collect();
        assert_eq!(lines.len(), 4, "{lines:?}");
        assert!(lines.iter().all(|line| line.len() <= WIDTH) && lines[0].len() > WIDTH - 6, "{lines:?}");
        assert_eq!(lines[2..], ["", "* two"]);
    }
}
