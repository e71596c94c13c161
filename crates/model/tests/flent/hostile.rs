//! No file makes the reader panic or claim memory.

use proptest::prelude::*;
use rrul_model::flent::{looks_like, read};
use serde_json::{Value, json};

use crate::files::{of_2012, version_4};

fn refused(text: &str) -> String {
    let error = read(text.as_bytes()).unwrap_err().to_string();
    assert!(!error.contains('\n'), "{error}");
    error
}

#[test]
fn what_is_no_file_of_flent_is_refused_in_one_line() {
    for text in ["", "{", "[]", "null", "{}", "{\"results\":{}}", "{\"results\":[],\"metadata\":{}}", "\u{0}\u{1}"] {
        refused(text);
    }
    assert!(refused("{\"results\":{},\"metadata\":{}}").contains("no TCP stream"));
    assert!(refused("{\"version\":5,\"results\":{},\"metadata\":{}}").contains("unknown version 5"));
    assert!(refused("{\"version\":4,\"results\":{\"TCP upload\":[NaN]},\"metadata\":{}}").contains("column"));
    let text = version_4().to_string();
    for length in 0..text.len() - 1 {
        if text.is_char_boundary(length) {
            refused(&text[..length]);
        }
    }
}

#[test]
fn deep_nesting_is_refused_or_passed_over() {
    let deep = "[".repeat(1_000_000);
    refused(&deep);
    refused(&format!("{{\"results\":{{\"TCP upload\":{deep}"));
    refused(&format!("{{\"metadata\":{{\"NAME\":{}", "{\"a\":".repeat(1_000_000)));
}

#[test]
fn more_values_than_the_limit_are_refused() {
    let values = "1,".repeat(5_000_001);
    let text = format!("{{\"results\":{{\"TCP upload\":[{values}1]}},\"metadata\":{{}}}}");
    assert!(refused(&text).contains("more than 5000000 values"));
    let rows = "{},".repeat(2_000_001);
    let text = format!("{{\"raw_values\":{{\"TCP upload\":[{rows}{{}}]}},\"results\":{{}},\"metadata\":{{}}}}");
    assert!(refused(&text).contains("more than 2000000 raw values"));
    let series: Vec<String> = (0..5000).map(|number| format!("\"TCP upload::{number}\":[1]")).collect();
    let text = format!("{{\"results\":{{{}}},\"metadata\":{{}}}}", series.join(","));
    assert!(refused(&text).contains("more than 4096 series"));
}

#[test]
fn a_series_that_stands_there_twice_is_read_once() {
    let text =
        "{\"x_values\":[0,1],\"results\":{\"TCP upload\":[1,1],\"TCP upload\":[9,9]},\"metadata\":{\"STEP_SIZE\":1}}";
    let recording = read(text.as_bytes()).unwrap();
    let notes = recording.header.imported.unwrap().notes.join("\n");
    assert!(notes.contains("twice"), "{notes}");
    assert_eq!(recording.header.flows.len(), 1);
}

#[test]
fn lists_of_different_length_end_with_the_shorter() {
    let mut file = of_2012();
    file["x_values"] = json!([0.0, 0.2, 0.4]);
    file["results"]["Ping (ms) ICMP"] = json!(vec![1.0; 1000]);
    let recording = read(file.to_string().as_bytes()).unwrap();
    let icmp = recording.header.flows.iter().find(|flow| flow.flow_type == "icmp_echo").unwrap().id;
    let sent = recording.frames[0].tables.probe_sent.rows().filter(|row| row.flow == icmp).count();
    assert_eq!(sent, 3);
}

#[test]
fn only_json_that_is_no_recording_looks_like_flent() {
    assert!(looks_like(b" \n{\"version\": 4"));
    assert!(!looks_like(b"{\"header\":{}}") && !looks_like(b"\x28\xb5\x2f\xfd") && !looks_like(b""));
}

/// What stands where a value should.
fn anything() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(json!(null)),
        Just(json!(true)),
        Just(json!("text")),
        Just(json!("-6")),
        Just(json!([])),
        Just(json!({"a": [1]})),
        Just(json!(1e300)),
        Just(json!(-1e300)),
        Just(json!(1e-300)),
        Just(json!(u64::MAX)),
        Just(json!(i64::MIN)),
        (-1e10..1e10_f64).prop_map(|number| json!(number)),
        (-10..10_i64).prop_map(|number| json!(number)),
    ]
}

/// Every place in a value.
fn places(value: &Value, at: &str, found: &mut Vec<String>) {
    found.push(at.to_owned());
    match value {
        Value::Object(map) => map.iter().for_each(|(key, value)| {
            places(value, &format!("{at}/{}", key.replace('~', "~0").replace('/', "~1")), found);
        }),
        Value::Array(list) => {
            list.iter().enumerate().for_each(|(index, value)| places(value, &format!("{at}/{index}"), found));
        }
        _ => {}
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 2000, ..ProptestConfig::default() })]

    #[test]
    fn no_value_anywhere_does_harm(
        old in any::<bool>(),
        changes in prop::collection::vec((any::<prop::sample::Index>(), anything()), 1..4),
    ) {
        let mut file = if old { of_2012() } else { version_4() };
        for (place, value) in changes {
            let mut found = Vec::new();
            places(&file, "", &mut found);
            if let Some(target) = file.pointer_mut(&found[place.index(found.len())]) {
                *target = value;
            }
        }
        if let Ok(recording) = read(file.to_string().as_bytes()) {
            for flow in &recording.header.flows {
                prop_assert!(flow.window.from < flow.window.to);
            }
            prop_assert!(recording.header.phases.iter().all(|entry| entry.window.from < entry.window.to));
        }
    }

    #[test]
    fn no_bytes_do_harm(octets in prop::collection::vec(any::<u8>(), 0..200)) {
        let _ = read(&octets);
    }
}
