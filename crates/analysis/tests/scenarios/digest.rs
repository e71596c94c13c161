//! What the digest behind a recording gives, beside the whole analysis.

use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::finding::Finding;
use rrul_analysis::comparison::metric::ComparedMetric;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::digest::{COMPARED_TABLES, DELAY_TABLES, Digest, compared_run, delays, is_behind};
use rrul_analysis::measured::Measured;
use rrul_analysis::metrics::delay::round_trip_delay::RoundTripDelay;
use rrul_analysis::metrics::loss::round_trip_loss::LossReport;
use rrul_analysis::{Analysis, analyze};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{Connection, EchoReceived, NameLookup, PageLoad, TcpInfo};
use rrul_model::recording::{Line, Recording};
use rrul_model::time::TestTime;
use serde_json::Value;

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::connections::{attempts, connect_flow};
use crate::names_and_short_flows::{lookup_flow, lookups};
use crate::pages::object;

/// With losses under load and a reason to give.
fn with_losses() -> Recording {
    let mut scenario = Scenario::healthy();
    let lossy = scenario.udp_probe(AddressFamily::Ipv6);
    scenario.probes(lossy, |at| (at < 6 * SECOND || at % (7 * 10 * MS) != 0).then_some(90 * MS));
    scenario.recording
}

/// With pages, connections and lookups besides, and streams that share both directions.
fn with_everything() -> Recording {
    let mut scenario = Scenario::healthy();
    for (direction, rate) in [(Direction::Down, 9_000_000), (Direction::Up, 3_000_000)] {
        let flow = scenario.bulk(direction);
        scenario.stream(flow, rate);
        let sender = if direction == Direction::Down { Server } else { Client };
        for at in (6..15).map(|second| second * SECOND) {
            scenario.observe(sender, at, TcpInfo { snd_mss: 714, options: 1, ..tcp_info(flow, at) });
        }
    }
    let connects = connect_flow(&mut scenario, ServiceClass::BE, AddressFamily::Ipv4);
    attempts(&mut scenario, connects, |at| (Connection::ANSWERED, (20 + at / SECOND) * MS, 0));
    let names = lookup_flow(&mut scenario, Scenario::ALL, "server", "random");
    lookups(&mut scenario, names, |at, _| (NameLookup::ANSWERED, (10 + at / SECOND) * MS));
    let page = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    for load in 0..19 {
        let at = i64::from(load) * SECOND;
        scenario.load(page, load, at, (300 + 20 * i64::from(load)) * MS, PageLoad::COMPLETE);
        scenario.observe(Client, at, object(page, load, 0, at));
    }
    let echo = scenario.flow("icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    for sequence in 0..100 {
        let at = i64::from(sequence) * 200 * MS;
        scenario.sent(echo, sequence, at);
        let received = TestTime(at + 30 * MS);
        scenario.observe(Client, at, EchoReceived { flow: echo, sequence, received, read: received });
    }
    scenario.recording
}

/// Every name in it.
fn names(value: &Value) -> Vec<&str> {
    match value {
        Value::Object(entries) => {
            entries.iter().flat_map(|(name, inner)| std::iter::once(&**name).chain(names(inner))).collect()
        }
        Value::Array(items) => items.iter().flat_map(names).collect(),
        _ => Vec::new(),
    }
}

#[test]
fn every_name_in_a_digest_is_in_the_document() {
    let document = include_str!("../../../../docs/recording-format.md");
    let (_, section) = document.split_once("\n## `digest`\n").unwrap();
    let section = section.split("\n## ").next().unwrap();
    let recording = with_everything();
    let digest = digest(&recording, &analyze(&recording));
    for name in names(&digest) {
        assert!(section.contains(&format!("`{name}`")), "docs/recording-format.md does not explain {name}");
    }
}

/// The digest of an analysis of this recording, as it is written.
fn digest(recording: &Recording, analysis: &Analysis) -> Value {
    serde_json::to_value(Digest::new(recording, analysis).unwrap()).unwrap()
}

/// The recording as it is read with this digest behind it and with these tables alone.
fn read_with(recording: &Recording, digest: &Value, tables: &[&str]) -> Recording {
    let mut read = Recording { digest: Some(digest.to_string()), ..recording.clone() };
    for frame in &mut read.frames {
        let mut all = serde_json::to_value(&frame.tables).unwrap();
        all.as_object_mut().unwrap().retain(|name, _| tables.contains(&&**name));
        frame.tables = serde_json::from_value(all).unwrap();
    }
    read
}

#[test]
fn delays_and_validity_are_those_of_the_whole_analysis() {
    let recording = with_losses();
    let whole = analyze(&recording);
    let found = delays(&read_with(&recording, &digest(&recording, &whole), &DELAY_TABLES)).unwrap();
    assert!(whole.scored.common.is_some() && !whole.validity.reasons.is_empty() && whole.loss.round_trips.lost > 0);
    let windows = |analysis: &Analysis| (analysis.scored.down, analysis.scored.up, analysis.scored.common);
    assert_eq!(windows(&found), windows(&whole));
    let expected = Analysis {
        measured: Measured {
            test: whole.measured.test,
            scored: found.scored.clone(),
            round_trip_delay: RoundTripDelay { families: Vec::new(), ..whole.measured.round_trip_delay },
            loss: LossReport {
                round_trips: whole.measured.loss.round_trips,
                waiting_time: whole.measured.loss.waiting_time,
                ..LossReport::default()
            },
            ..Measured::default()
        },
        validity: whole.validity,
        ..Analysis::default()
    };
    assert_eq!(found, expected);
}

#[test]
fn a_run_is_compared_as_by_its_whole_analysis() {
    let recording = with_everything();
    let whole = analyze(&recording);
    let found = digest(&recording, &whole);
    let run = compared_run("a.rrul", &read_with(&recording, &found, &COMPARED_TABLES)).unwrap();
    assert_eq!(run, ComparedRun::from_recording("a.rrul", &recording, &whole));
    let other = digest(&recording, &Analysis::default());
    assert_ne!(
        compared_run("a.rrul", &read_with(&recording, &other, &COMPARED_TABLES)).unwrap(),
        run,
        "no digest is used"
    );

    // No figure is equal only because neither side has it.
    let comparison = Comparison::new(vec![run.clone(), run.clone()], None);
    let missing = comparison.pairs[0].metrics.iter().filter(|found| found.verdict == Finding::NotMeasured);
    let missing: Vec<ComparedMetric> = missing.map(|found| found.metric).collect();
    assert_eq!(missing, [ComparedMetric::CallOpinion, ComparedMetric::Responsiveness]);
    // And every table is needed, but for those that are empty here and those that repeat others: echoes beside probes, objects
    // beside pages.
    let is_needed = |table: &&str| {
        let without: Vec<&str> = COMPARED_TABLES.into_iter().filter(|name| name != table).collect();
        compared_run("a.rrul", &read_with(&recording, &found, &without)).unwrap() != run
    };
    let idle: Vec<&str> = COMPARED_TABLES.into_iter().filter(|table| !is_needed(table)).collect();
    let expected =
        ["probes_skipped", "probe_stamped", "reply_stamped", "echo_received", "web_object", "browser_timing"];
    assert!(idle.iter().all(|table| expected.contains(table)), "{idle:?}");
}

#[test]
fn a_recording_that_is_not_whole_or_of_another_program_is_analyzed() {
    let recording = with_losses();
    let found = digest(&recording, &analyze(&recording));
    let by = |recording: &Recording, digest: &Value| delays(&read_with(recording, digest, &DELAY_TABLES));
    assert!(by(&recording, &found).is_some());
    assert_eq!(delays(&recording), None, "without a digest");

    let changed = |name: &str, to: Value| -> Value {
        let mut value = found.clone();
        *value.pointer_mut(name).unwrap() = to;
        value
    };
    assert_eq!(by(&recording, &changed("/program", "0.0.1+0123".into())), None);
    assert_eq!(by(&recording, &changed("/reasons/0/code", "of_a_later_rrul".into())), None);
    assert_eq!(by(&recording, &changed("/scored", 1.into())), None);
    assert_eq!(
        by(&recording, &changed("/scored/common/to", i64::MAX.into())),
        None,
        "no window is longer than the load"
    );

    let mut damaged = recording.clone();
    damaged.frames.remove(10);
    assert_eq!(by(&damaged, &found), None);

    let mut stopped = recording.clone();
    stopped.end.as_mut().unwrap().partial = Some("stopped".to_owned());
    assert_eq!(by(&stopped, &found), None);
    assert_eq!(Digest::new(&stopped, &analyze(&stopped)), None);
    stopped.end = None;
    assert_eq!(by(&stopped, &found), None);
}

#[test]
fn a_digest_is_recognized_in_the_last_line() {
    let recording = with_losses();
    let found = digest(&recording, &analyze(&recording));
    let line = serde_json::to_string(&Line::Digest(found.clone())).unwrap();
    assert!(is_behind(&format!("{{\"end\":{{}}}}\n{line}\n")));
    assert!(!is_behind(&format!("{line}\n{{\"end\":{{}}}}\n")), "not the last");
    let program = found["program"].as_str().unwrap();
    assert!(!is_behind(&line.replace(program, "0.0.1+0123")), "of another program");
    assert!(!is_behind(""));
}
