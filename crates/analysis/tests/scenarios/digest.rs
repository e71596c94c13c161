//! Delays by the digest of a recording, beside those of the whole analysis.

use rrul_analysis::digest::{DELAY_TABLES, Digest, delays};
use rrul_analysis::{Analysis, analyze};
use rrul_model::flow::AddressFamily;
use rrul_model::recording::Recording;
use serde_json::Value;

use crate::builder::{MS, SECOND, Scenario};

/// With losses under load, echo requests beside, and something to be told of.
fn recording() -> Recording {
    let mut scenario = Scenario::healthy();
    let lossy = scenario.udp_probe(AddressFamily::Ipv6);
    scenario.probes(lossy, |at| (at < 6 * SECOND || at % (7 * 10 * MS) != 0).then_some(90 * MS));
    scenario.recording
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
    // With the tables of delays alone.
    let mut glanced = recording.clone();
    for frame in &mut glanced.frames {
        let mut tables = serde_json::to_value(&frame.tables).unwrap();
        tables.as_object_mut().unwrap().retain(|name, _| DELAY_TABLES.contains(&&**name));
        frame.tables = serde_json::from_value(tables).unwrap();
    }
    let found = delays(&glanced, &digest).unwrap();
    assert!(whole.scored.common.is_some() && !whole.validity.reasons.is_empty() && whole.loss.lost > 0);
    let expected = Analysis {
        plan: whole.plan,
        title: whole.title,
        created: whole.created,
        client_clock: whole.client_clock,
        server_name: whole.server_name,
        settings: whole.settings,
        families: whole.families,
        absent_families: whole.absent_families,
        phases: whole.phases,
        validity: whole.validity,
        scored: found.scored.clone(),
        waiting_time: whole.waiting_time,
        round_trip_delay: whole.round_trip_delay,
        loss: whole.loss,
        delay_flows: whole.delay_flows,
        ..Analysis::default()
    };
    assert_eq!(found, expected);
    assert_eq!(found.scored.common, whole.scored.common);
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
