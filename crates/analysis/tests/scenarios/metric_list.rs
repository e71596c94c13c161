//! Every number of the summary is explained, and every explanation has its number.

#![allow(clippy::disallowed_methods, reason = "it reads and writes the document")]

use std::collections::BTreeSet;

use rrul_analysis::metric_list::{METRICS, metrics_document, names};
use rrul_analysis::metric_word::MetricGroup;
use rrul_analysis::validity_rules::reason_words;
use serde_json::Value;

const DOCUMENT: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/metrics.md");

/// Shapes that are explained once, by the name that they have in the schema's `$defs`.
fn shapes() -> BTreeSet<&'static str> {
    METRICS.iter().filter_map(|group| group.path.strip_prefix('#')).collect()
}

/// Unfolds `a.{b,c}` into `a.b` and `a.c`.
fn unfold(name: &str) -> Vec<String> {
    let Some((before, rest)) = name.split_once('{') else { return vec![name.to_owned()] };
    let (choices, after) = rest.split_once('}').unwrap_or_else(|| panic!("{name}: a brace is not closed"));
    choices.split(',').flat_map(|choice| unfold(&format!("{before}{choice}{after}"))).collect()
}

/// Every path that the words of these groups explain.
fn explained(groups: impl Iterator<Item = &'static MetricGroup>) -> Vec<String> {
    let below = |group: &'static MetricGroup| {
        let path = if group.path.starts_with('#') { "" } else { group.path };
        let names = group.words.iter().flat_map(|word| names(word.name));
        names.flat_map(move |name| unfold(&if path.is_empty() { name.to_owned() } else { format!("{path}.{name}") }))
    };
    groups.flat_map(below).collect()
}

/// Every path of the schema below `node` at which there is a value and no further member.
fn leaves(root: &Value, node: &Value, place: &str, found: &mut BTreeSet<String>) {
    if let Some(reference) = node.get("$ref").and_then(Value::as_str) {
        let shape = reference.rsplit('/').next().unwrap();
        if shapes().contains(shape) {
            found.insert(place.to_owned());
        } else {
            leaves(root, root.pointer(&reference[1..]).unwrap(), place, found);
        }
    } else if let Some(choices) = node.get("anyOf").and_then(Value::as_array) {
        for choice in choices.iter().filter(|choice| choice.get("type") != Some(&Value::from("null"))) {
            leaves(root, choice, place, found);
        }
    } else if let Some(members) = node.get("properties").and_then(Value::as_object) {
        for (name, member) in members {
            leaves(root, member, &if place.is_empty() { name.clone() } else { format!("{place}.{name}") }, found);
        }
    } else if let Some(items) = node.get("items") {
        leaves(root, items, &format!("{place}[]"), found);
    } else {
        found.insert(place.to_owned());
    }
}

fn compare(what: &str, words: &[String], leaves: &BTreeSet<String>) {
    let distinct: BTreeSet<String> = words.iter().cloned().collect();
    let silent: Vec<_> = leaves.difference(&distinct).collect();
    assert!(silent.is_empty(), "{what}: no MetricGroup has a word for {silent:#?}");
    let empty: Vec<_> = distinct.difference(leaves).collect();
    assert!(empty.is_empty(), "{what}: docs/summary.schema.json has no {empty:#?}");
    assert_eq!(words.len(), distinct.len(), "{what}: some name is explained twice");
}

#[test]
fn every_member_of_the_summary_has_a_word_and_every_word_its_member() {
    let schema: Value = serde_json::from_str(include_str!("../../../../docs/summary.schema.json")).unwrap();
    let mut members = BTreeSet::new();
    leaves(&schema, &schema, "", &mut members);
    assert!(members.len() > 40, "{members:?}");
    let words = explained(METRICS.iter().filter(|group| !group.path.starts_with('#')));
    compare("the summary", &words, &members);
    for shape in shapes() {
        let mut members = BTreeSet::new();
        leaves(&schema, &schema["$defs"][shape], "", &mut members);
        let words = explained(METRICS.iter().filter(|group| group.path.strip_prefix('#') == Some(shape)));
        compare(shape, &words, &members);
    }
}

#[test]
fn codes_of_reasons_are_unique() {
    let codes: Vec<_> = reason_words().map(|word| word.code).collect();
    assert_eq!(codes.iter().collect::<BTreeSet<_>>().len(), codes.len(), "{codes:?}");
}

#[test]
fn the_document_is_made_from_the_list() {
    let made = metrics_document();
    for line in made.lines().filter(|line| line.starts_with('|')) {
        let columns = line.matches('|').count() - 1;
        assert!(columns == 4 || columns == 3, "a bar within a cell: {line}");
    }
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(DOCUMENT, &made).unwrap();
    }
    let found = std::fs::read_to_string(DOCUMENT).unwrap();
    assert!(
        found == made,
        "docs/metrics.md differs from the list; write it anew: RRUL_GOLDEN=write cargo test -p rrul-analysis document"
    );
}
