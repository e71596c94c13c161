//! docs/spec-conformance.md has every requirement once, speaks in three states, and names only files that exist.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

/// Requirements are numbered from R1 to this.
const LAST: u32 = 76;
const COLUMNS: [&str; 6] = ["id", "requirement", "strength", "files", "tests", "state"];
const STATES: [&str; 3] = ["works", "partial", "not yet"];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn document() -> String {
    fs::read_to_string(root().join("docs/spec-conformance.md")).unwrap()
}

fn cells(line: &str) -> Vec<String> {
    line.trim().trim_matches('|').split('|').map(|cell| cell.trim().to_owned()).collect()
}

/// The rows of the table with their number, in the order written.
fn rows() -> Vec<(u32, Vec<String>)> {
    let document = document();
    let rows = document.lines().filter(|line| line.starts_with("| R")).map(|line| {
        let cells = cells(line);
        assert_eq!(cells.len(), COLUMNS.len(), "a row needs the cells {COLUMNS:?}: {line}");
        let number = cells[0].trim_start_matches('R').parse().unwrap_or_else(|_| panic!("no requirement: {line}"));
        (number, cells)
    });
    rows.collect()
}

/// What stands between backticks.
fn quoted(cell: &str) -> Vec<&str> {
    cell.split('`').skip(1).step_by(2).collect()
}

#[test]
fn the_table_has_the_columns_that_this_test_reads() {
    let document = document();
    let head = document.lines().find(|line| line.starts_with("| id ")).expect("the table has a head");
    assert_eq!(cells(head), COLUMNS);
}

#[test]
fn every_requirement_has_exactly_one_row() {
    let mut counts: BTreeMap<u32, usize> = (1..=LAST).map(|number| (number, 0)).collect();
    for (number, _) in rows() {
        *counts.entry(number).or_default() += 1;
    }
    for (number, count) in counts {
        assert!(number <= LAST, "docs/spec-conformance.md: no requirement R{number} exists");
        assert_eq!(count, 1, "docs/spec-conformance.md: R{number} has {count} rows");
    }
}

#[test]
fn every_state_is_one_of_the_three_words() {
    for (number, row) in rows() {
        assert!(STATES.contains(&row[5].as_str()), "R{number} is \"{}\"; write one of {STATES:?}", row[5]);
    }
}

#[test]
fn what_works_names_its_files_and_its_tests_and_what_does_not_names_none() {
    for (number, row) in rows() {
        let (files, tests) = (quoted(&row[3]).len(), quoted(&row[4]).len());
        if row[5] == "not yet" {
            assert_eq!((files, tests), (0, 0), "R{number} is not yet there, but names files");
        } else {
            assert!(files > 0 && tests > 0, "R{number} is \"{}\" but names {files} files and {tests} tests", row[5]);
        }
    }
}

#[test]
fn every_file_that_is_named_exists() {
    let mut missing = Vec::new();
    for (number, row) in rows() {
        for path in quoted(&row[3]).into_iter().chain(quoted(&row[4])) {
            if !root().join(path).is_file() {
                missing.push(format!("R{number}: {path}"));
            }
        }
    }
    assert!(missing.is_empty(), "docs/spec-conformance.md names files that do not exist:\n{}", missing.join("\n"));
}

#[test]
fn every_partial_requirement_and_no_other_says_what_is_missing() {
    let document = document();
    let (_, missing) = document.split_once("\n## What is missing").expect("the section on what is missing");
    for (number, row) in rows() {
        let name = format!("R{number}");
        let named = missing.split(|c: char| !c.is_ascii_alphanumeric()).any(|word| word == name);
        let partial = row[5] == "partial";
        assert_eq!(named, partial, "{name} is \"{}\"; the section on what is missing names it: {named}", row[5]);
    }
}
