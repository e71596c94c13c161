//! Path traces over links with routers: what is said of every hop, and where the queues are, held against the link.

use rrul_analysis::metrics::path::bottleneck::BottleneckPlace;
use rrul_analysis::metrics::path::path_hops::Hop;
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_analysis::{Analysis, analyze};
use rrul_engine::client::Families;
use rrul_lab::{Link, on_a_lab};
use rrul_model::flow::Direction;

use crate::over_a_link::{Measured, measure_over};

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

/// Waking of threads, and sending 130 octets at the rate of either way.
const ALLOWED: f64 = 1.0;

/// A link of 20 ms with four routers; the upload queue behind the first, the download queue behind the third.
fn link(more_of_path: &str, up: &str) -> Link {
    let text = format!(
        "# A link of the test\nrtt = \"20ms\"\n[up]\nrate = \"4Mbit/s\"\nqueue = {{ discipline = \"pfifo\", limit = \
         \"60p\" }}\n{up}\n[down]\nrate = \"8Mbit/s\"\nqueue = {{ discipline = \"pfifo\", limit = \"90p\" }}\n[path]\nhops \
         = {HOPS}\nup_queue_after = 1\ndown_queue_after = 3\n{more_of_path}\n"
    );
    Link::from_toml("link.toml", &text).expect("a link file")
}

fn over(link: &Link, title: &str) -> (Measured, Analysis) {
    let measured = measure_over(link, PLAN, Families::Both, title);
    let analysis = analyze(&measured.recording);
    assert!(analysis.failed_flows.is_empty(), "{:?}", analysis.failed_flows);
    assert_eq!(analysis.path_traces.len(), 4, "both directions of both families");
    for trace in &analysis.path_traces {
        eprintln!("{} {}: {}", trace.family, trace.direction, trace.bottleneck.words);
    }
    (measured, analysis)
}

/// Between which hops of its own counting the queue of a trace lies.
fn place(trace: &PathTrace) -> (u8, u8) {
    match trace.direction {
        // Behind hop 1 of the client, and behind hop 3, which the server counts as its second.
        Direction::Up => (1, 2),
        Direction::Down => (2, 3),
    }
}

/// The link that is named, or the stretch of the path, holds the queue; or it cannot be told.
#[track_caller]
fn never_elsewhere(trace: &PathTrace, which: &str) {
    let found = &trace.bottleneck;
    let (after, before) = place(trace);
    let holds = match found.place {
        BottleneckPlace::Path => {
            found.after_hop.is_some_and(|hop| hop <= after) && found.before_hop.is_some_and(|hop| hop >= before)
        }
        other => other == BottleneckPlace::Unknown,
    };
    assert!(holds, "{which}: {} {}: {}", trace.family, trace.direction, found.words);
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

#[test]
fn every_hop_takes_the_links_time_and_the_queue_of_each_direction_lies_where_the_link_has_it() {
    on_a_lab("every_hop_takes_the_links_time_and_the_queue_of_each_direction_lies_where_the_link_has_it", || {
        let link =
            link("mtu = { hop = 2, octets = 1400 }\nremark_up_at = 2", "dscp = \"bleach\"\necn = \"ect1_to_ect0\"");
        let (_, analysis) = over(&link, "paths");
        for trace in &analysis.path_traces {
            let which = format!("{} {}", trace.family, trace.direction);
            assert_eq!((trace.routers, trace.route_changes.len(), trace.strays), (Some(HOPS), 0, 0), "{which}");
            assert_eq!(trace.hops.len(), usize::from(HOPS) + 1, "{which}");
            for hop in routers(trace) {
                let idle = hop.phases.idle;
                assert!(idle.answered == idle.sent && idle.sent >= 2, "{which} {}: {idle:?}", hop.hop);
                let took = idle.round_trip.expect("answers").p50.expect("a median").milliseconds();
                let way = link.hop_round_trip(trace.direction, from_client(trace, hop)).expect("a router");
                let truth = way.as_secs_f64() * 1e3;
                eprintln!("{which} hop {}: {took:.3} ms, the link's {truth:.3} ms", hop.hop);
                assert!((0.0..ALLOWED).contains(&(took - truth)), "{which} hop {}: {took} ms, {truth} ms", hop.hop);
            }
            let found = (trace.bottleneck.after_hop, trace.bottleneck.before_hop);
            let (after, before) = place(trace);
            assert_eq!(found, (Some(after), Some(before)), "{which}: {}", trace.bottleneck.words);
            let mtu = trace.path_mtu.as_ref().expect("long packets");
            assert_eq!((mtu.passed_octets, mtu.told_octets), (Some(1400), Some(1400)), "{which}");
            let changes: Vec<_> = trace
                .remarkings
                .iter()
                .map(|change| (change.what, &*change.from, &*change.to, change.after_hop, change.seen_at_hop))
                .collect();
            match trace.direction {
                Direction::Up if trace.sees_quoted_headers => {
                    assert_eq!(changes, [("dscp", "EF", "BE", 2, 3), ("ecn", "ECT(1)", "ECT(0)", 2, 3)], "{which}");
                }
                Direction::Up => assert!(changes.iter().all(|change| change.3 == 0), "{which}: {changes:?}"),
                Direction::Down => assert!(changes.is_empty(), "{which}: {changes:?}"),
            }
        }
    });
}

#[test]
fn routers_that_are_silent_slow_sparing_or_answer_with_garbage_lead_nobody_astray() {
    on_a_lab("routers_that_are_silent_slow_sparing_or_answer_with_garbage_lead_nobody_astray", || {
        let paths = [
            "silent = [1]\nslow = [{ hop = 2, up_to = \"30ms\" }]",
            "garbage = [2]\nshort_quotes = [1, 3]",
            "rate_limited = [{ hop = 1, every = \"3s\" }, { hop = 3, every = \"3s\" }]\nsilent = [4]",
        ];
        for path in paths {
            let (_, analysis) = over(&link(path, ""), path);
            for trace in &analysis.path_traces {
                never_elsewhere(trace, path);
            }
            let strays: u64 = analysis.path_traces.iter().map(|trace| trace.strays).sum();
            eprintln!("{path}: {strays} answers about nothing");
        }
    });
}
