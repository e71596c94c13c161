//! The stable JSON against its schema and against the truth.

use rrul_analysis::summary::Summary;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{
    Connection, FlowEventKind, PacketReceived, PageLoad, ProbeSent, ProbesSkipped, TcpInfo, Transaction,
    TransactionStamped,
};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use serde_json::{Map, Value, json};

use crate::builder::{CLOCK_OFFSET, Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::{hosts, pages};

fn schema() -> Value {
    serde_json::from_str(include_str!("../../../../docs/summary.schema.json")).unwrap()
}

/// Follows a `$ref` within the schema.
fn resolve<'a>(root: &'a Value, schema: &'a Value) -> &'a Value {
    match schema.get("$ref").and_then(Value::as_str) {
        Some(reference) => {
            root.pointer(reference.trim_start_matches('#')).unwrap_or_else(|| panic!("{reference} leads nowhere"))
        }
        None => schema,
    }
}

fn is_of_type(value: &Value, name: &str) -> bool {
    match name {
        "null" => value.is_null(),
        "string" => value.is_string(),
        "boolean" => value.is_boolean(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses type {other}, which this check does not know"),
    }
}

/// Checks the keywords of JSON Schema that the schemas in docs use; panics at one that it does not know.
pub(crate) fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
    let schema = resolve(root, schema);
    let empty = Map::new();
    let properties = schema.get("properties").and_then(Value::as_object).unwrap_or(&empty);
    for (keyword, argument) in schema.as_object().unwrap() {
        let holds = match keyword.as_str() {
            "$schema" | "$id" | "$defs" | "title" | "description" | "properties" => true,
            "type" => match argument {
                Value::String(name) => is_of_type(value, name),
                names => names.as_array().unwrap().iter().any(|name| is_of_type(value, name.as_str().unwrap())),
            },
            "const" => value == argument,
            "oneOf" => {
                argument.as_array().unwrap().iter().filter(|one| check(root, one, value, place).is_ok()).count() == 1
            }
            "enum" => argument.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= argument.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= argument.as_f64().unwrap()),
            "anyOf" => argument.as_array().unwrap().iter().any(|one| check(root, one, value, place).is_ok()),
            "required" => argument.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
            "minItems" => value.as_array().is_none_or(|items| items.len() as u64 >= argument.as_u64().unwrap()),
            "maxItems" => value.as_array().is_none_or(|items| items.len() as u64 <= argument.as_u64().unwrap()),
            "additionalProperties" if argument.is_object() => {
                let members = value.as_object().unwrap_or(&empty);
                members.iter().try_for_each(|(key, one)| check(root, argument, one, &format!("{place}.{key}")))?;
                true
            }
            "additionalProperties" => {
                assert_eq!(argument, &json!(false));
                value.as_object().is_none_or(|object| object.keys().all(|key| properties.contains_key(key)))
            }
            "items" => {
                for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                    check(root, argument, item, &format!("{place}[{index}]"))?;
                }
                true
            }
            other => panic!("the schema uses {other}, which this check does not know"),
        };
        if !holds {
            return Err(format!("{place}: {value} breaks {keyword} {argument}"));
        }
    }
    for (key, member) in value.as_object().unwrap_or(&empty) {
        if let Some(schema) = properties.get(key) {
            check(root, schema, member, &format!("{place}.{key}"))?;
        }
    }
    Ok(())
}

/// A healthy run in which every list of the summary has something in it.
fn full() -> Scenario {
    let mut scenario = Scenario::healthy();
    hosts::furnish(&mut scenario);
    let echo = scenario.flow("icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.event(Client, echo, 0, FlowEventKind::Failed, "permission denied");
    let probe = scenario.recording.header.flows[0].id;
    scenario.observe(Client, SECOND, ProbesSkipped { flow: probe, at: TestTime(SECOND), count: 3 });
    let flow = scenario.flow("udp_rr", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.observe(
        Client,
        SECOND,
        Transaction { flow, sequence: 0, started: TestTime(SECOND), took: Delay(MS), answered: 1 },
    );
    let [sent, received] = [SECOND, SECOND + MS].map(TestTime);
    let [server_received, server_sent] = [SECOND + MS / 2, SECOND + MS / 2].map(|at| TestTime(at + CLOCK_OFFSET));
    let stamped = TransactionStamped { flow, sequence: 0, sent, server_received, server_sent, received };
    scenario.observe(Client, SECOND, stamped);
    scenario.event(Client, flow, 9 * SECOND, FlowEventKind::Failed, "the server closed the connection");
    let voice = scenario.voip(Direction::Down, AddressFamily::Ipv4);
    scenario.voice(voice, |_, number| (number % 50 > 1).then_some(20 * MS));
    // A second stream each way, new connections and records: what is reported only of such.
    for direction in Direction::ALL {
        let flow = scenario.flow("bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv6, Scenario::LOAD);
        scenario.stream(flow, 4_000_000);
        for (point, second) in [(Client, 8), (Server, 9), (Client, 12), (Server, 13)] {
            let at = second * SECOND;
            let (busy_time, snd_cwnd) = (at.cast_unsigned() / 1000, 90 / second as u32);
            scenario.observe(point, at, TcpInfo { busy_time, snd_cwnd, ..tcp_info(flow, at) });
        }
        let flow =
            scenario.flow("tcp_records", Component::Realtime, Some(direction), AddressFamily::Ipv4, Scenario::ALL);
        for point in [Client, Server] {
            let at = TestTime(6 * SECOND);
            scenario.observe(point, at.0, ProbeSent { flow, sequence: 0, scheduled: at, sent: at });
            scenario.observe(point, at.0, PacketReceived { flow, sequence: 0, received: at, octet: 0 });
        }
    }
    let flow = scenario.flow("tcp_connect", Component::Realtime, None, AddressFamily::Ipv6, Scenario::ALL);
    let started = TestTime(8 * SECOND);
    let (connect, answer, reached) = (Delay(MS), Delay(2 * MS), Connection::ANSWERED);
    let row =
        Connection { flow, sequence: 0, scheduled: started, started, reached, connect, answer, syn_retransmits: 0 };
    scenario.observe(Client, started.0, row);
    let page = scenario.page(ServiceClass::BE, AddressFamily::Ipv4);
    for (load, at) in [1, 2, 3, 8, 9, 10].into_iter().enumerate() {
        scenario.load(page, load as u32, at * SECOND, at * 100 * MS, PageLoad::COMPLETE);
        scenario.observe(Client, at * SECOND, pages::object(page, load as u32, 0, at * SECOND));
    }
    scenario
}

fn json_of(scenario: &Scenario) -> Value {
    serde_json::to_value(Summary::from(&scenario.analyze())).unwrap()
}

#[test]
fn summaries_of_full_and_of_empty_recordings_follow_the_schema() {
    let schema = schema();
    let mut empty = Scenario::healthy();
    empty.recording.frames.clear();
    empty.recording.end = None;
    for scenario in [full(), Scenario::healthy(), Scenario::new(), empty] {
        let summary = json_of(&scenario);
        assert_eq!(check(&schema, &schema, &summary, "$"), Ok(()));
    }
}

#[test]
fn the_schema_rejects_what_is_missing_unknown_or_of_the_wrong_kind() {
    let schema = schema();
    let broken = |pointer: &str, change: fn(&mut Value)| {
        let mut summary = json_of(&full());
        change(summary.pointer_mut(pointer).unwrap());
        check(&schema, &schema, &summary, "$").is_err()
    };
    assert!(broken("/goodput/down/sum_bps", |value| *value = json!("20 Mbit/s")));
    assert!(broken("/goodput/down/flows/0", |value| *value = json!({"flow": "x"})));
    assert!(broken("/round_trip_delay/flows/0/idle/p50_ns", |value| *value = json!(0.5)));
    assert!(broken("/validity", |value| value["verdict"] = json!("fine")));
    assert!(broken("/voip/flows/0/load", |value| value["mos_plc"] = json!(5)));
    assert!(broken("", |value| value["surprise"] = json!(1)));
}

#[test]
fn the_summary_has_the_truth_in_base_units() {
    let summary = json_of(&full());
    assert_eq!(summary["format"], "rrul-summary/1");
    assert_eq!(summary["plan"], "rrul");
    assert_eq!(summary["families"], json!(["ipv4"]));
    assert_eq!(summary["goodput"]["down"]["sum_bps"], 24_000_000);
    assert_eq!(summary["goodput"]["up"]["flows"][0]["mean_bps"], 8_000_000);
    assert_eq!(summary["round_trip_delay"]["load"]["p95_ns"], 20_000_000);
    assert_eq!(summary["round_trip_delay"]["induced_p50_ns"], 0);
    assert_eq!(summary["round_trip_delay"]["flows"][0]["sent"], 1000);
    assert_eq!(summary["round_trip_delay"]["flows"][0]["skipped"], 3);
    let loss = &summary["loss"];
    let round_trips = json!([loss["sent"], loss["lost"], loss["skipped"], loss["waiting_time_ns"]]);
    assert_eq!(round_trips, json!([1000, 0, 3, 3_000_000_000_i64]));
    assert_eq!(
        (&loss["up"]["load"]["sent"], &loss["up"]["all"]["sent"]),
        (&json!(400), &json!(1000)),
        "8 of 10 s are scored"
    );
    assert_eq!(loss["flows"][0]["down"]["idle"]["arrived"], 250);
    assert_eq!(summary["start_spread_ns"], Value::Null);
    assert_eq!(summary["validity"]["verdict"], "doubtful");
    let codes: Vec<_> =
        summary["validity"]["reasons"].as_array().unwrap().iter().map(|reason| &reason["code"]).collect();
    assert!(codes.contains(&&json!("flow_failed")), "{codes:?}");
}
