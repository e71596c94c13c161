//! What is shipped beside the program names only metrics that it has.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]
#![allow(clippy::disallowed_methods, reason = "the test reads what is shipped")]

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use rrul_monitor::configuration::Configuration;
use rrul_monitor::exposition::METRICS;

fn shipped(name: &str) -> String {
    fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("../../packaging/monitor").join(name)).unwrap()
}

/// The names in a text that are those of metrics.
fn metrics(text: &str) -> BTreeSet<&str> {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '_');
    words.filter(|word| word.starts_with("rrul_")).collect()
}

#[test]
fn every_query_names_a_metric_that_is_exported() {
    for name in ["dashboard.json", "alerts.yml", "alerts.test.yml"] {
        let text = shipped(name);
        let found = metrics(&text);
        assert!(found.len() >= 4, "{name}: {found:?}");
        for word in found {
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|part| word.strip_suffix(part)).unwrap_or(word);
            assert!(METRICS.iter().any(|metric| metric.name == base), "{name}: {word}");
        }
    }
}

#[test]
fn every_panel_of_the_dashboard_has_a_query() {
    let dashboard: serde_json::Value = serde_json::from_str(&shipped("dashboard.json")).unwrap();
    let panels = dashboard["panels"].as_array().unwrap();
    for panel in panels {
        let queries = panel["targets"].as_array().unwrap();
        assert!(!queries.is_empty(), "{}", panel["title"]);
        for query in queries {
            assert!(!metrics(query["expr"].as_str().unwrap()).is_empty(), "{query}");
        }
    }
    assert!(panels.len() >= 8);
}

#[test]
fn the_example_is_understood() {
    let example = Configuration::read("home.toml", "home", &shipped("home.toml")).unwrap();
    assert_eq!((example.target.as_str(), example.runs.plan.as_str()), ("home", "quick"));
}
