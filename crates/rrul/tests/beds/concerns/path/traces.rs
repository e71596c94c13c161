//! Path traces over links with routers: what is reported of every hop, and where the queues are, held against the link.

use rrul_analysis::metrics::path::bottleneck::BottleneckPlace;
use rrul_analysis::metrics::path::path_hops::Hop;
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_lab::Link;
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

const PLAN: &str = r#"
title = "traces beside two streams each way"
overhead = "none"
phases = { idle = "5s", load = "12s", after = "3500ms" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
[flow.probe]
type = "udp_probe"
component = "realtime"
[flow.voip]
type = "voip"
component = "voip"
during = ["idle", "load", "after"]
each.direction = ["down", "up"]
[flow.path]
type = "path_trace"
component = "analysis"
each.direction = ["down", "up"]
"#;

const HOPS: u8 = 4;

/// Waking of threads, and sending 130 bytes at the rate of either way.
const ALLOWED: f64 = 1.0;

/// A link of 20 ms with four routers; the upload queue behind the first, the download queue behind the third.
fn link(more_of_path: &str, up: &str) -> String {
    format!(
        "rtt = \"20ms\"\n[up]\nrate = \"4Mbit/s\"\nqueue = {{ discipline = \"pfifo\", limit = \"60p\" }}\n{up}\n[down]\n\
         rate = \"8Mbit/s\"\nqueue = {{ discipline = \"pfifo\", limit = \"90p\" }}\n[path]\nhops = {HOPS}\n\
         up_queue_after = 1\ndown_queue_after = 3\n{more_of_path}\n"
    )
}

fn over(link: &str) -> Measured {
    let measured = Setting::new(link, PLAN).both_families().measure();
    let analysis = &measured.analysis;
    assert!(analysis.failed_flows.is_empty(), "{:?}", analysis.failed_flows);
    assert_eq!(analysis.path_traces.len(), 4, "both directions of both families");
    measured
}

/// The hops, in its own counting, around the queue of a trace.
fn place(trace: &PathTrace) -> (u8, u8) {
    match trace.direction {
        // Behind hop 1 of the client, and behind hop 3, which the server counts as its second.
        Direction::Up => (1, 2),
        Direction::Down => (2, 3),
    }
}

/// The same router as the client counts them.
fn from_client(trace: &PathTrace, hop: &Hop) -> u8 {
    match trace.direction {
        Direction::Up => hop.hop,
        Direction::Down => HOPS + 1 - hop.hop,
    }
}

fn routers(trace: &PathTrace) -> impl Iterator<Item = &Hop> {
    trace.hops.iter().filter(|hop| !hop.far_end)
}

pub(crate) const HOPS_KNOWN: Bed = Bed {
    name: "path_hops",
    about: "8/4 Mbit/s, 20 ms, four routers, of which the second rewrites markings up and passes 1400 bytes at most: every hop takes \
        the link's time, and the queue of each direction lies where the link has it.",
    runs: Runs::SideBySide,
    run: hops,
};

fn hops(rows: &mut Rows) {
    let text = link("mtu = { hop = 2, octets = 1400 }\nremark_up_at = 2", "dscp = \"bleach\"\necn = \"ect1_to_ect0\"");
    let link = Link::from_toml("bed.toml", &text).unwrap();
    let measured = over(&text);
    for trace in &measured.analysis.path_traces {
        let name = format!("{} {}", trace.family, trace.direction);
        let found = (trace.routers, trace.route_changes.len(), trace.strays, trace.hops.len());
        let truth = (Some(HOPS), 0, 0, usize::from(HOPS) + 1);
        let what = format!("{name}: routers, changes, strays, hops");
        rows.holds("R37", what, format!("{truth:?}"), format!("{found:?}"), found == truth);
        for hop in routers(trace) {
            let idle = hop.phases.idle;
            assert!(idle.answered == idle.sent && idle.sent >= 2, "{name} {}: {idle:?}", hop.hop);
            let took = idle.round_trip.and_then(|round_trip| round_trip.p50).map(Delay::milliseconds);
            let way = link.hop_round_trip(trace.direction, from_client(trace, hop)).unwrap();
            let truth = way.as_secs_f64() * 1e3;
            let what = format!("{name}: idle round trip of hop {} P50, ms", hop.hop);
            rows.between("R37", what, took, format!("{truth:.3}"), truth..=truth + ALLOWED);
        }
        let found = (trace.bottleneck.after_hop, trace.bottleneck.before_hop);
        let (after, before) = place(trace);
        let (found, truth) = (format!("{found:?}"), format!("{:?}", (Some(after), Some(before))));
        rows.equal("R37", format!("{name}: the queue lies after and before hop"), found, truth);
        let mtu = trace.path_mtu.as_ref().map(|mtu| (mtu.passed_octets, mtu.told_octets));
        let right = mtu == Some((Some(1400), Some(1400)));
        rows.holds(
            "R37",
            format!("{name}: path MTU, by passing and by being reported"),
            1400,
            format!("{mtu:?}"),
            right,
        );
        let changes: Vec<_> = trace
            .remarkings
            .iter()
            .map(|change| (change.what, &*change.from, &*change.to, change.after_hop, change.seen_at_hop))
            .collect();
        let right = match trace.direction {
            Direction::Up if trace.sees_quoted_headers => {
                changes == [("dscp", "EF", "BE", 2, 3), ("ecn", "ECT(1)", "ECT(0)", 2, 3)]
            }
            Direction::Up => changes.iter().all(|change| change.3 == 0),
            Direction::Down => changes.is_empty(),
        };
        let truth = if trace.direction == Direction::Up { "up, between hops 2 and 3" } else { "none down" };
        rows.holds("R2 R37", format!("{name}: markings rewritten"), truth, format!("{changes:?}"), right);
    }
}

pub(crate) const SILENT: Bed = Bed {
    name: "path_silent",
    about: "The same path, with a silent first router and a slow second one.",
    runs: Runs::SideBySide,
    run: |rows| lead_nobody_astray(rows, "silent = [1]\nslow = [{ hop = 2, up_to = \"30ms\" }]"),
};

pub(crate) const GARBAGE: Bed = Bed {
    name: "path_garbage",
    about: "The same path, with a second router that answers with garbage, and two that quote little.",
    runs: Runs::SideBySide,
    run: |rows| lead_nobody_astray(rows, "garbage = [2]\nshort_quotes = [1, 3]"),
};

pub(crate) const SPARING: Bed = Bed {
    name: "path_sparing",
    about: "The same path, with two routers that answer once in 3 s and a silent last one.",
    runs: Runs::SideBySide,
    run: |rows| {
        let sparing = "rate_limited = [{ hop = 1, every = \"3s\" }, { hop = 3, every = \"3s\" }]\nsilent = [4]";
        lead_nobody_astray(rows, sparing);
    },
};

/// The link that is named, or the stretch of the path, has the queue; or it is unknown.
fn lead_nobody_astray(rows: &mut Rows, path: &str) {
    for trace in &over(&link(path, "")).analysis.path_traces {
        let found = &trace.bottleneck;
        let (after, before) = place(trace);
        let right = match found.place {
            BottleneckPlace::Path => {
                found.after_hop.is_some_and(|hop| hop <= after) && found.before_hop.is_some_and(|hop| hop >= before)
            }
            other => other == BottleneckPlace::Unknown,
        };
        let what = format!("{} {}: where the queue lies", trace.family, trace.direction);
        let truth = format!("between hops {after} and {before}, or unknown");
        rows.holds("R37 R75", what, truth, &found.words, right);
    }
}
