//! What is told by the digest of a recording, beside the whole analysis.

use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::finding::Finding;
use rrul_analysis::comparison::metric::ComparedMetric;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::digest::{COMPARED_TABLES, DELAY_TABLES, Digest, delays};
use rrul_analysis::measured::Measured;
use rrul_analysis::metrics::delay::round_trip_delay::RoundTripDelay;
use rrul_analysis::metrics::loss::round_trip_loss::LossReport;
use rrul_analysis::{Analysis, analyze};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{Connection, EchoReceived, NameLookup, PageLoad, TcpInfo};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use serde_json::Value;

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::connections::{attempts, connect_flow};
use crate::names_and_short_flows::{lookup_flow, lookups};
use crate::pages::object;

/// With losses under load, echo requests beside, and something to be told of.
fn recording() -> Recording {
    let mut scenario = Scenario::healthy();
    let lossy = scenario.udp_probe(AddressFamily::Ipv6);
    scenario.probes(lossy, |at| (at < 6 * SECOND || at % (7 * 10 * MS) != 0).then_some(90 * MS));
    scenario.recording
}

/// With pages, connections and look-ups besides, and streams that share both directions.
fn of_everything() -> Recording {
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

/// As it is read with these tables alone.
fn with_tables(recording: &Recording, tables: &[&str]) -> Recording {
    let mut glanced = recording.clone();
    for frame in &mut glanced.frames {
        let mut all = serde_json::to_value(&frame.tables).unwrap();
        all.as_object_mut().unwrap().retain(|name, _| tables.contains(&&**name));
        frame.tables = serde_json::from_value(all).unwrap();
    }
    glanced
}

/// As it is read from a file.
fn read_again(digest: &Digest) -> (Digest, Value) {
    let value = serde_json::to_value(digest).unwrap();
    (serde_json::from_value(value.clone()).unwrap(), value)
}

#[test]
fn a_glance_gives_the_delays_and_the_trust_of_the_whole_analysis() {
    let recording = recording();
    let whole = analyze(&recording);
    let (digest, _) = read_again(&Digest::of(&recording, &whole).unwrap());
    let found = delays(&with_tables(&recording, &DELAY_TABLES), &digest).unwrap();
    assert!(whole.scored.common.is_some() && !whole.validity.reasons.is_empty() && whole.loss.round_trips.lost > 0);
    let windows = |of: &Analysis| (of.scored.down, of.scored.up, of.scored.common);
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
fn a_run_is_compared_by_its_digest_as_by_all_of_it() {
    let recording = of_everything();
    let whole = analyze(&recording);
    let (digest, _) = read_again(&Digest::of(&recording, &whole).unwrap());
    let glanced = with_tables(&recording, &COMPARED_TABLES);
    let run = ComparedRun::by_digest("a.rrul", &glanced, &digest).unwrap();
    assert_eq!(run, ComparedRun::of("a.rrul", &recording, &whole));
    let (other, _) = read_again(&Digest::of(&recording, &Analysis::default()).unwrap());
    assert_ne!(ComparedRun::by_digest("a.rrul", &glanced, &other).unwrap(), run, "the digest counts");

    // None of the figures is the same on both sides for want of it.
    let comparison = Comparison::new(vec![run.clone(), run], None);
    let missing = comparison.pairs[0].metrics.iter().filter(|found| found.verdict == Finding::NotMeasured);
    let missing: Vec<ComparedMetric> = missing.map(|found| found.metric).collect();
    assert_eq!(missing, [ComparedMetric::CallOpinion, ComparedMetric::Responsiveness]);
    // And none of the tables can be done without, but for those that hold nothing here, and those that tell more of what
    // others tell: echoes beside probes, objects beside pages.
    let needed = |table: &&str| {
        let without: Vec<&str> = COMPARED_TABLES.into_iter().filter(|name| name != table).collect();
        let run = ComparedRun::by_digest("a.rrul", &with_tables(&recording, &without), &digest).unwrap();
        run != ComparedRun::of("a.rrul", &recording, &whole)
    };
    let idle: Vec<&str> = COMPARED_TABLES.into_iter().filter(|table| !needed(table)).collect();
    let nothing = ["probes_skipped", "probe_stamped", "reply_stamped", "browser_timing"];
    assert!(
        idle.iter().all(|table| nothing.contains(table) || ["echo_received", "web_object"].contains(table)),
        "{idle:?}"
    );
}

#[test]
fn what_is_not_whole_or_not_this_programs_is_to_be_analysed() {
    let recording = recording();
    let (digest, value) = read_again(&Digest::of(&recording, &analyze(&recording)).unwrap());
    assert!(delays(&recording, &digest).is_some());

    let changed = |name: &str, to: Value| -> Digest {
        let mut value = value.clone();
        *value.pointer_mut(name).unwrap() = to;
        serde_json::from_value(value).unwrap()
    };
    assert_eq!(delays(&recording, &changed("/program", "0.0.1+0123".into())), None);
    assert_eq!(delays(&recording, &changed("/reasons/0/code", "of_a_later_rrul".into())), None);

    let mut damaged = recording.clone();
    damaged.frames.remove(10);
    assert_eq!(delays(&damaged, &digest), None);

    let mut stopped = recording.clone();
    stopped.end.as_mut().unwrap().partial = Some("stopped".to_owned());
    assert_eq!(delays(&stopped, &digest), None);
    assert_eq!(Digest::of(&stopped, &analyze(&stopped)), None);
    stopped.end = None;
    assert_eq!(delays(&stopped, &digest), None);
}
