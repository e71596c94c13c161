//! PROTOCOL.md says what the code does: its examples are messages, its numbers are the constants.

use std::collections::BTreeSet;

use rrul_proto::admission::access::{AccessList, KeyList, ListedKey, Ticket};
use rrul_proto::admission::consent::{GREETING_INTERVAL, GREETING_LASTS};
use rrul_proto::admission::message_pace::MESSAGES_PER_SECOND;
use rrul_proto::admission::quota_class::QuotaClass;
use rrul_proto::admission::session_lease::{BEGINNING_TIME, HEARTBEAT_INTERVAL, SILENCE_TIME};
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::{
    EVENTS_OF_A_FLOW, EXPANDED_OCTETS, FETCHING_TIME, FRAME_OCTETS, LIGHT_BITS_PER_SECOND, Limits,
    OBSERVATIONS_WAITING, OPENING_TIME, PREPARING_TIME, SAMPLE_INTERVAL, STRING_OCTETS, TURNS_OCTETS,
};
use rrul_proto::opening::{CLIENT_OCTETS, SERVER_OCTETS};
use rrul_proto::packet_seal::replay_window::{COPIES_IN_A_ROW, NUMBERS};
use rrul_proto::session_reflector::MOST_TRAINS;
use rrul_proto::test_packet::LEAST_OCTETS;
use rrul_proto::{HIGHEST_VERSION, MAGIC, PORT};
use serde::Serialize;
use serde::de::DeserializeOwned;
use serde_json::Value;

const DOCUMENT: &str = include_str!("../../PROTOCOL.md");

/// What stands between this heading and the next of the same or a higher level.
fn section(heading: &str) -> &'static str {
    let (_, rest) = DOCUMENT.split_once(&format!("\n{heading}\n")).unwrap_or_else(|| panic!("no section {heading}"));
    let level = heading.split(' ').next().expect("a heading has a level");
    let ends = (1..=level.len()).filter_map(|level| rest.find(&format!("\n{} ", "#".repeat(level))));
    &rest[..ends.min().unwrap_or(rest.len())]
}

/// The JSON examples of a section, read as messages; each is exactly what the program writes.
fn examples<M: DeserializeOwned + Serialize>(heading: &str) -> Vec<M> {
    let blocks = section(heading).split("```json\n").skip(1).map(|rest| rest.split("```").next().unwrap_or(""));
    blocks
        .map(|text| {
            let message: M = serde_json::from_str(text).unwrap_or_else(|error| panic!("{error} in {text}"));
            let as_shown: Value = serde_json::from_str(text).expect("it was read as a message");
            assert_eq!(
                serde_json::to_value(&message).expect("it is JSON"),
                as_shown,
                "the form that the program writes"
            );
            message
        })
        .collect()
}

/// Names of the messages in their JSON form.
fn names<M: Serialize>(messages: &[M]) -> BTreeSet<String> {
    let name = |message: &M| match serde_json::to_value(message).expect("it is JSON") {
        Value::String(name) => name,
        Value::Object(object) => object.keys().next().expect("one key").clone(),
        other => panic!("{other} is no message"),
    };
    messages.iter().map(name).collect()
}

#[test]
fn every_message_has_an_example_that_reads_and_writes_back() {
    let from_client = examples::<ClientMessage>("## 3.1 Messages from the client");
    assert_eq!(
        names(&from_client),
        ["proof", "turn", "open", "time", "begin", "alive", "end_load", "stop", "bye"].map(str::to_owned).into()
    );
    let from_server = examples::<ServerMessage>("## 3.2 Messages from the server");
    let expected = ["challenge", "welcome", "opened", "refused", "queued", "turn", "time", "observed", "finished"];
    assert_eq!(names(&from_server), expected.map(str::to_owned).into());
    let blocks = DOCUMENT.matches("```json").count();
    assert_eq!(from_client.len() + from_server.len(), blocks, "every example is checked");
}

#[test]
fn the_examples_agree_with_each_other_and_with_the_defaults() {
    let default = Limits::default();
    for message in examples::<ServerMessage>("## 3.2 Messages from the server") {
        if let ServerMessage::Welcome { limits, .. } = message {
            assert_eq!(limits, default);
        }
    }
    for message in examples::<ClientMessage>("## 3.1 Messages from the client") {
        if let ClientMessage::Open { flows, length, .. } = message {
            assert_eq!(default.refusal(&flows, length), None);
        }
    }
}

#[test]
fn the_example_of_a_key_and_its_ticket_is_a_proof_of_the_example_of_a_challenge() {
    let proofs = examples::<ClientMessage>("## 3.1 Messages from the client").into_iter();
    let answer = proofs
        .filter_map(|message| if let ClientMessage::Proof(answer) = message { Some(answer) } else { None })
        .find(|answer| answer.key.is_some())
        .expect("an example with a key");
    let challenge = examples::<ServerMessage>("## 3.2 Messages from the server")
        .into_iter()
        .find_map(|message| if let ServerMessage::Challenge { challenge } = message { Some(challenge) } else { None })
        .expect("an example of a challenge");
    let ticket: Ticket =
        answer.key.as_ref().and_then(|proof| proof.ticket.as_ref()).expect("a ticket").parse().unwrap();
    let issuer = ListedKey { key: ticket.issuer, name: String::new(), expires: None, quota: QuotaClass::default() };
    let list = AccessList::default().with_keys(KeyList { issuers: vec![issuer], ..KeyList::default() });
    let bearer = list.bearer(&answer, &challenge, b"", ticket.terms.expires - 1).unwrap();
    assert_eq!((bearer.name.as_str(), ticket.terms.quota.tests_per_hour), ("alice", Some(40)));
}

#[test]
fn the_numbers_in_the_text_are_the_constants() {
    let grouped = |number: usize| {
        let digits = number.to_string();
        let groups: Vec<&str> =
            digits.as_bytes().rchunks(3).rev().map(|group| std::str::from_utf8(group).unwrap()).collect();
        groups.join(" ")
    };
    let says = |heading: &str, words: String| {
        assert!(section(heading).contains(&words), "section \"{heading}\" does not say \"{words}\"");
    };
    says("# 2. The opening", format!("{CLIENT_OCTETS} octets:"));
    says("# 2. The opening", format!("{SERVER_OCTETS} octets:"));
    says("# 2. The opening", format!("0x{:08x}", u32::from_be_bytes(MAGIC)));
    says("# 2. The opening", format!("within {} seconds", OPENING_TIME.as_secs()));
    says("# 3. Control framing", format!("at most {}", grouped(FRAME_OCTETS)));
    says("# 3. Control framing", format!("at {} octets", grouped(EXPANDED_OCTETS)));
    says("# 4. The life of a session", format!("at most {} seconds from", PREPARING_TIME.as_secs()));
    says("# 4. The life of a session", format!("within {} seconds after the end", FETCHING_TIME.as_secs()));
    says("# 3. Control framing", format!("every {} seconds until `bye`", HEARTBEAT_INTERVAL.as_secs()));
    says("# 4. The life of a session", format!("every {:.1} seconds: the server", GREETING_INTERVAL.as_secs_f64()));
    says("# 6. Test packets", format!("to port {PORT}"));
    says("# 6. Test packets", format!("at least {LEAST_OCTETS} octets"));
    says("## 6.5 Sealed packets", format!("the first {LEAST_OCTETS} octets of the packet"));
    says("## 6.5 Sealed packets", format!("latest {NUMBERS} numbers"));
    says("## 6.5 Sealed packets", format!("takes {COPIES_IN_A_ROW} in a row"));
    let limits = Limits::default();
    for (what, value) in [
        ("payload of a frame", format!("{} octets", grouped(FRAME_OCTETS))),
        ("payload after expansion", format!("{} octets", grouped(EXPANDED_OCTETS))),
        ("from connect to the whole opening", format!("{} s", OPENING_TIME.as_secs())),
        ("packet trains of one session", MOST_TRAINS.to_string()),
        ("from `welcome` to `open`", format!("{} s", BEGINNING_TIME.as_secs())),
        ("from `opened` to `begin`, and from `begin` to T0", format!("{} s", PREPARING_TIME.as_secs())),
        (
            "silence of a client that says `alive`; octets of the server that are not acknowledged, unless the test loads",
            format!("{} s", SILENCE_TIME.as_secs()),
        ),
        (
            "from the last greeting of a one-way flow to the last packet that is sent unasked",
            format!("{} s", GREETING_LASTS.as_secs()),
        ),
        (
            "observations that wait while a load starves the control connection",
            format!("{} octets", grouped(OBSERVATIONS_WAITING)),
        ),
        ("from the end of the test to `bye`", format!("{} s", FETCHING_TIME.as_secs())),
        ("shortest interval between readings of counters", format!("{} ms", SAMPLE_INTERVAL.as_millis())),
        ("name of a flow, its type, names and values of its parameters", format!("{STRING_OCTETS} octets")),
        (
            "bits per second in either direction of a test that needs no turn",
            grouped(usize::try_from(LIGHT_BITS_PER_SECOND).unwrap()),
        ),
        ("list of turns of a flow", format!("{TURNS_OCTETS} octets")),
        ("events that are reported of one flow, addresses on its path aside", EVENTS_OF_A_FLOW.to_string()),
        (
            "control messages of one session that are read in one second, and in a row; later ones wait",
            MESSAGES_PER_SECOND.to_string(),
        ),
    ] {
        says("# 7. Limits", format!("| {what} | {value} |"));
    }
    for (key, value) in [
        ("sessions", limits.sessions.to_string()),
        ("connections", limits.connections.to_string()),
        ("flows", limits.flows.to_string()),
        ("length", format!("{} s", limits.length.as_secs())),
        ("packets_per_second", limits.packets_per_second.to_string()),
        ("packet_octets", limits.packet_octets.to_string()),
        ("connections_per_second", limits.connections_per_second.to_string()),
    ] {
        let row = section("# 7. Limits").lines().find(|line| line.starts_with(&format!("| `{key}`")));
        assert!(row.is_some_and(|row| row.ends_with(&format!("| {value} |"))), "{key}: {row:?}, not {value}");
    }
    assert!(DOCUMENT.starts_with(&format!("The rrul protocol, version {HIGHEST_VERSION}:")));
}
