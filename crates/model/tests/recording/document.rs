//! docs/recording-format.md names everything that a recording contains, and nothing else as a table.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use rrul_model::recording::FORMAT;

use crate::specimen;

fn document() -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/recording-format.md");
    fs::read_to_string(path).unwrap()
}

/// Objects whose keys are data.
const NAMED_BY_DATA: [&str; 8] =
    ["parameters", "abilities", "settings", "governors", "kernel_counters", "offloads", "options", "details"];

/// Every key of every object in `value`, less those whose keys are data.
fn keys(value: &Value, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(entries) => {
            for (key, inner) in entries {
                found.insert(key.clone());
                if !NAMED_BY_DATA.contains(&key.as_str()) {
                    keys(inner, found);
                }
            }
        }
        Value::Array(items) => items.iter().for_each(|item| keys(item, found)),
        _ => {}
    }
}

/// The section under `### heading`, up to the next heading.
fn section<'a>(document: &'a str, heading: &str) -> Option<&'a str> {
    let start = document.find(&format!("\n### `{heading}`"))? + 1;
    let rest = &document[start..];
    Some(rest[4..].find("\n#").map_or(rest, |end| &rest[..end + 4]))
}

#[test]
fn every_name_in_a_recording_is_in_the_document() {
    let document = document();
    let mut names = BTreeSet::new();
    for line in [specimen::recording(), specimen::tuned()].iter().flat_map(specimen::lines_of) {
        keys(&serde_json::from_str(&line).unwrap(), &mut names);
    }
    let missing: Vec<&String> = names.iter().filter(|name| !document.contains(&format!("`{name}`"))).collect();
    assert!(missing.is_empty(), "docs/recording-format.md does not explain {missing:?}");
    assert!(document.contains(&format!("`{FORMAT}`")), "docs/recording-format.md does not name {FORMAT}");
}

#[test]
fn every_table_has_a_section_with_a_row_for_each_of_its_columns() {
    let document = document();
    for frame in specimen::recording().frames {
        let tables = serde_json::to_value(&frame.tables).unwrap();
        for (table, columns) in tables.as_object().unwrap() {
            let section = section(&document, table)
                .unwrap_or_else(|| panic!("docs/recording-format.md has no section \"### `{table}`\""));
            for column in columns.as_object().unwrap().keys() {
                assert!(section.contains(&format!("\n| `{column}` |")), "the section on {table} lacks {column}");
            }
            let rows = section.matches("\n| `").count();
            assert_eq!(rows, columns.as_object().unwrap().len(), "the section on {table} has rows for other columns");
        }
    }
}

#[test]
fn every_event_is_in_the_document() {
    let document = document();
    for frame in specimen::recording().frames {
        for event in frame.events {
            let name = serde_json::to_value(event.event).unwrap();
            let name = name.as_str().unwrap();
            assert!(document.contains(&format!("| `{name}` |")), "docs/recording-format.md does not explain {name}");
        }
    }
}
