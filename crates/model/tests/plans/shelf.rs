//! The shipped plans, plans written on the spot, and the flow types that both may use.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use rrul_model::flow::{AddressFamily, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::plan::{PlanError, Surroundings, TestPlan};

pub(crate) const ONE: &[AddressFamily] = &[AddressFamily::Ipv4];
pub(crate) const TWO: &[AddressFamily] = &AddressFamily::ALL;

const fn word(name: &'static str, kind: ParameterKind) -> ParameterWord {
    ParameterWord { name, kind, about: "" }
}

const fn flow_type(name: &'static str, directed: bool, parameters: &'static [ParameterWord]) -> FlowTypeWords {
    FlowTypeWords { name, about: "", directed, parameters }
}

/// The names and parameters of the flow types that plans may use. The list itself lives above this crate, where it
/// cannot be read from here; a plan that strays from it fails there too, because the program embeds these files.
const FLOW_TYPES: &[FlowTypeWords] = &[
    flow_type(
        "bulk_tcp",
        true,
        &[word("congestion_control", ParameterKind::Name), word("pacing_rate", ParameterKind::Rate)],
    ),
    flow_type("udp_probe", false, &[word("interval", ParameterKind::Duration), word("length", ParameterKind::Size)]),
    flow_type(
        "udp_rr",
        false,
        &[
            word("length", ParameterKind::Size),
            word("min_interval", ParameterKind::Duration),
            word("timeout", ParameterKind::Duration),
        ],
    ),
    flow_type(
        "tcp_rr",
        false,
        &[
            word("length", ParameterKind::Size),
            word("min_interval", ParameterKind::Duration),
            word("congestion_control", ParameterKind::Name),
        ],
    ),
    flow_type(
        "dns_lookup",
        false,
        &[
            word("resolver", ParameterKind::ChoiceOrAddress(&["server", "system"])),
            word("names", ParameterKind::Choice(&["random", "cached", "uncached"])),
            word("name", ParameterKind::Name),
            word("interval", ParameterKind::Duration),
        ],
    ),
    flow_type(
        "swarm",
        true,
        &[
            word("streams", ParameterKind::Count),
            word("rate", ParameterKind::Rate),
            word("congestion_control", ParameterKind::Name),
        ],
    ),
    flow_type(
        "video_bursts",
        false,
        &[
            word("interval", ParameterKind::Duration),
            word("rate", ParameterKind::Rate),
            word("buffer", ParameterKind::Duration),
            word("congestion_control", ParameterKind::Name),
        ],
    ),
    flow_type(
        "short_flow",
        true,
        &[
            word("size", ParameterKind::Size),
            word("interval", ParameterKind::Duration),
            word("congestion_control", ParameterKind::Name),
        ],
    ),
    flow_type("tcp_connect", false, &[word("interval", ParameterKind::Duration)]),
    flow_type(
        "tcp_records",
        true,
        &[
            word("interval", ParameterKind::Duration),
            word("length", ParameterKind::Size),
            word("congestion_control", ParameterKind::Name),
        ],
    ),
    flow_type("icmp_echo", false, &[word("interval", ParameterKind::Duration), word("length", ParameterKind::Size)]),
    flow_type(
        "marking_sweep",
        false,
        &[
            word("interval", ParameterKind::Duration),
            word("repeats", ParameterKind::Count),
            word("ecn_packets", ParameterKind::Count),
            word("length", ParameterKind::Size),
        ],
    ),
    flow_type("path_trace", true, &[word("interval", ParameterKind::Duration), word("rate", ParameterKind::Rate)]),
    flow_type(
        "voip",
        true,
        &[
            word("interval", ParameterKind::Duration),
            word("length", ParameterKind::Size),
            word("schedule", ParameterKind::Choice(&["auto", "full", "classes", "one"])),
            word("turns", ParameterKind::Name),
        ],
    ),
    flow_type(
        "browser_page",
        false,
        &[
            word("page", ParameterKind::Choice(&["rrul2013", "rrul2025"])),
            word("url", ParameterKind::Url),
            word("interval", ParameterKind::Duration),
            word("cap", ParameterKind::Duration),
            word("browser", ParameterKind::Name),
            word("quic", ParameterKind::Choice(&["off", "on"])),
        ],
    ),
    flow_type(
        "web_page",
        false,
        &[
            word("page", ParameterKind::Choice(&["rrul2013", "rrul2025"])),
            word("version", ParameterKind::Choice(&["page", "http1", "http2", "http3"])),
            word("interval", ParameterKind::Duration),
            word("cap", ParameterKind::Duration),
        ],
    ),
];

/// Name, file name for messages and text of every shipped plan.
pub(crate) fn shipped() -> BTreeMap<String, (String, String)> {
    let folder: PathBuf = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../plans");
    fs::read_dir(&folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "toml"))
        .map(|path| {
            let name = path.file_stem().unwrap().to_str().unwrap().to_owned();
            (name.clone(), (format!("plans/{name}.toml"), fs::read_to_string(&path).unwrap()))
        })
        .collect()
}

pub(crate) fn read_shipped(name: &str, settings: &[&str]) -> Result<TestPlan, PlanError> {
    let shelf = shipped();
    let (file, text) = shelf.get(name).cloned().unwrap_or_else(|| panic!("missing: plans/{name}.toml"));
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    let find = |name: &str| shelf.get(name).cloned();
    TestPlan::read(name, &file, &text, &settings, &Surroundings { flow_types: FLOW_TYPES, find: &find })
}

pub(crate) fn plan(name: &str, settings: &[&str]) -> TestPlan {
    read_shipped(name, settings).unwrap_or_else(|error| panic!("{error}"))
}

/// Reads `text` as x.toml beside the plans in `others`.
pub(crate) fn read_text(text: &str, others: &[(&str, &str)], settings: &[&str]) -> Result<TestPlan, PlanError> {
    let find = |name: &str| {
        let found = others.iter().find(|(other, _)| *other == name)?;
        Some((format!("{name}.toml"), found.1.to_owned()))
    };
    let settings: Vec<String> = settings.iter().map(|&setting| setting.to_owned()).collect();
    TestPlan::read("x", "x.toml", text, &settings, &Surroundings { flow_types: FLOW_TYPES, find: &find })
}

/// A plan of three lines and one flow from line 4 on, with `more` below it.
pub(crate) fn with_flow(more: &str) -> String {
    format!(
        "title = \"t\"\nphases = {{ load = \"10s\" }}\n[flow.a]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n{more}"
    )
}

pub(crate) fn of_type<'a>(flows: &'a [FlowSpec], name: &str) -> Vec<&'a FlowSpec> {
    flows.iter().filter(|flow| flow.flow_type == name).collect()
}
