//! The same SQL on the same files by other engines: DuckDB, and ClickHouse as a library (chdb).
//!
//! `RRUL_ENGINES_PYTHON` names the Python that has them; `make archive-test` installs it.

use std::path::Path;
use std::process::Command;

use rrul_archive::questions::QUESTIONS;
use serde_json::Value;

use crate::folder::{Folder, skipped};

/// What an engine answers to a shipped question; `None` where it is not installed.
fn answer(engine: &str, folder: &Folder, question: &str) -> Option<Value> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let questions = here.join("../archive/questions");
    let python = std::env::var("RRUL_ENGINES_PYTHON").unwrap_or_else(|_| "python3".to_owned());
    let output = Command::new(python)
        .arg(here.join("tests/archive/engines.py"))
        .args([engine, "runs"])
        .args([questions.join("views.sql"), questions.join(format!("{question}.sql"))])
        .current_dir(&folder.0)
        .output()
        .ok()?;
    // Of a Python without the engine.
    if output.status.code() == Some(3) {
        return None;
    }
    assert!(output.status.success(), "{engine}, {question}: {}", String::from_utf8_lossy(&output.stderr));
    Some(serde_json::from_slice(&output.stdout).unwrap())
}

fn same_rows(engine: &str, test: &str) {
    let folder = Folder::with_runs(engine, 7, 400);
    for question in QUESTIONS {
        let Some(theirs) = answer(engine, &folder, question.name) else {
            skipped(test, &format!("{engine} is not installed for Python; make archive-test installs it"));
            return;
        };
        let ours = folder.answer(question.name, &[]);
        assert!(!ours["rows"].as_array().unwrap().is_empty(), "{}", question.name);
        assert_same(question.name, engine, &ours, &theirs);
    }
}

/// Fails unless two answers have the same columns and rows; 1 and 1.0 are the same number.
#[track_caller]
pub(crate) fn assert_same(question: &str, engine: &str, ours: &Value, theirs: &Value) {
    fn numbers(value: &Value) -> Value {
        match value {
            Value::Number(number) => Value::from(number.as_f64()),
            Value::Array(all) => all.iter().map(numbers).collect(),
            Value::Object(all) => all.iter().map(|(name, value)| (name.clone(), numbers(value))).collect(),
            other => other.clone(),
        }
    }
    assert_eq!(ours["columns"], theirs["columns"], "{question}, {engine}");
    let rows = |answer: &Value| numbers(&answer["rows"]).as_array().unwrap().clone();
    let (ours, theirs) = (rows(ours), rows(theirs));
    assert_eq!(ours.len(), theirs.len(), "{question}, {engine}");
    for (number, (our, their)) in ours.iter().zip(&theirs).enumerate() {
        assert_eq!(our, their, "{question}, {engine}, row {number}");
    }
}

#[test]
fn duckdb_gives_the_same_rows() {
    same_rows("duckdb", "duckdb_gives_the_same_rows");
}

#[test]
fn clickhouse_gives_the_same_rows() {
    same_rows("chdb", "clickhouse_gives_the_same_rows");
}
