//! The stable JSON against its schema and against the truth.

use std::collections::BTreeSet;

use rrul_analysis::summary::Summary;
use rrul_model::flow::{AddressFamily, Component};
use rrul_model::observation::{FlowEventKind, ProbesSkipped, Transaction};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use serde_json::{Map, Value, json};

use crate::builder::{Client, MS, SECOND, Scenario};

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
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("the schema uses type {other}, which this check does not know"),
    }
}

/// Checks the keywords of JSON Schema that docs/summary.schema.json uses; panics at one that it does not know.
fn check(root: &Value, schema: &Value, value: &Value, place: &str) -> Result<(), String> {
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
            "enum" => argument.as_array().unwrap().contains(value),
            "minimum" => value.as_f64().is_none_or(|number| number >= argument.as_f64().unwrap()),
            "maximum" => value.as_f64().is_none_or(|number| number <= argument.as_f64().unwrap()),
            "anyOf" => argument.as_array().unwrap().iter().any(|one| check(root, one, value, place).is_ok()),
            "required" => argument.as_array().unwrap().iter().all(|key| value.get(key.as_str().unwrap()).is_some()),
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
    let echo = scenario.flow("icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.event(Client, echo, 0, FlowEventKind::Failed, "permission denied");
    let probe = scenario.recording.header.flows[0].id;
    scenario.observe(Client, SECOND, ProbesSkipped { flow: probe, at: TestTime(SECOND), count: 3 });
    let flow = scenario.flow("udp_rr", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.observe(Client, SECOND, Transaction { flow, started: TestTime(SECOND), took: Delay(MS), answered: 1 });
    scenario.event(Client, flow, 9 * SECOND, FlowEventKind::Failed, "the server closed the connection");
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
    assert!(broken("", |value| value["surprise"] = json!(1)));
}

#[test]
fn the_summary_holds_the_truth_in_base_units() {
    let summary = json_of(&full());
    assert_eq!(summary["format"], "rrul-summary/1");
    assert_eq!(summary["plan"], "rrul");
    assert_eq!(summary["families"], json!(["ipv4"]));
    assert_eq!(summary["goodput"]["down"]["sum_bps"], 20_000_000);
    assert_eq!(summary["goodput"]["up"]["flows"][0]["mean_bps"], 8_000_000);
    assert_eq!(summary["round_trip_delay"]["load"]["p95_ns"], 20_000_000);
    assert_eq!(summary["round_trip_delay"]["induced_p50_ns"], 0);
    assert_eq!(summary["round_trip_delay"]["flows"][0]["sent"], 1000);
    assert_eq!(summary["round_trip_delay"]["flows"][0]["skipped"], 3);
    assert_eq!(summary["loss"], json!({"sent": 1000, "lost": 0, "skipped": 3, "waiting_time_ns": 3_000_000_000_i64}));
    assert_eq!(summary["start_spread_ns"], Value::Null);
    assert_eq!(summary["validity"]["verdict"], "doubtful");
    assert_eq!(summary["validity"]["reasons"][0]["code"], "flow_failed");
}

/// Collects the names of all members in the schema.
fn members(schema: &Value, names: &mut BTreeSet<String>) {
    if let Some(properties) = schema.get("properties").and_then(Value::as_object) {
        names.extend(properties.keys().cloned());
    }
    match schema {
        Value::Object(object) => object.values().for_each(|value| members(value, names)),
        Value::Array(items) => items.iter().for_each(|value| members(value, names)),
        _ => {}
    }
}

#[test]
fn every_member_of_the_summary_is_explained() {
    let documented = include_str!("../../../../docs/metrics.md");
    let mut names = BTreeSet::new();
    members(&schema(), &mut names);
    assert!(names.len() > 40, "the schema lists only {}", names.len());
    // Every second piece between backquotes is quoted.
    let quoted = documented.split('`').skip(1).step_by(2);
    let explained: BTreeSet<&str> =
        quoted.flat_map(|span| span.split(|c: char| !c.is_ascii_alphanumeric() && c != '_')).collect();
    let silent: Vec<_> = names.iter().filter(|name| !explained.contains(name.as_str())).collect();
    assert!(silent.is_empty(), "docs/metrics.md does not explain {silent:?}");
}
