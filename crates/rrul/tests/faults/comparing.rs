//! `rrul compare`: what it says, what it refuses, and its exit codes.

use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::program::{Ended, Folder, end_of, rrul};

/// A recording of the first format, with these changes to its text.
fn write(folder: &Folder, name: &str, changes: &[(&str, &str)]) {
    let lines = Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/data/v1.jsonl");
    let mut text = fs::read_to_string(lines).unwrap();
    for (from, to) in changes {
        assert!(text.contains(from), "no {from} in the recording");
        text = text.replace(from, to);
    }
    let frames = text.split_inclusive('\n').flat_map(|line| zstd::bulk::compress(line.as_bytes(), 3).unwrap());
    folder.write(name, frames.collect::<Vec<u8>>());
}

const PLAN: (&str, &str) = ("\"name\":\"specimen\"", "\"name\":\"other\"");
const SPEC: (&str, &str) = ("\"spec\":\"RRUL2013\"", "\"spec\":\"RRUL2025\"");

fn compare(folder: &Folder, arguments: &[&str]) -> Ended {
    end_of(rrul(folder, &[&["compare"], arguments].concat()))
}

#[test]
fn a_doubtful_run_is_compared_and_its_doubts_are_in_front() {
    let folder = Folder::new();
    write(&folder, "a.rrul", &[]);
    write(&folder, "b.rrul", &[]);
    let compared = compare(&folder, &["a.rrul", "b.rrul"]);
    assert_eq!((compared.code, compared.stderr.as_str()), (Some(1), ""), "{compared:#?}");
    let first = compared.stdout.lines().next().unwrap();
    assert!(first.starts_with("a.rrul: "), "{compared:#?}");
    assert!(compared.stdout.contains("b.rrul: Doubtful: The recording is incomplete"), "{compared:#?}");
    assert!(compared.stdout.contains("a.rrul and b.rrul: the same recording"), "{compared:#?}");
    assert!(!compared.stdout.contains('\u{1b}') && !compared.stdout.contains("NaN"), "{compared:#?}");
}

#[test]
fn other_workloads_are_refused_unless_forced() {
    let folder = Folder::new();
    write(&folder, "a.rrul", &[]);
    for (change, words) in [(PLAN, "plan specimen against other"), (SPEC, "workload RRUL2013 against RRUL2025")] {
        write(&folder, "b.rrul", &[change]);
        let refused = compare(&folder, &["a.rrul", "b.rrul"]);
        refused.complains(&["a.rrul and b.rrul", words, "--anyway"]);
        assert_eq!(refused.stdout, "");
        let anyway = compare(&folder, &["a.rrul", "b.rrul", "--anyway"]);
        assert_eq!(anyway.code, Some(1), "{anyway:#?}");
        assert!(anyway.stdout.starts_with("Not the same workload: "), "{anyway:#?}");
    }
}

#[test]
fn json_has_every_run_and_every_figure() {
    let folder = Folder::new();
    for name in ["a.rrul", "b.rrul", "c.rrul"] {
        write(&folder, name, &[]);
    }
    write(&folder, "c.rrul", &[("Täht's cable modem", "after")]);
    let compared = compare(&folder, &["a.rrul", "b.rrul", "c.rrul", "--json", "--by", "title"]);
    let json: Value = serde_json::from_str(&compared.stdout).unwrap();
    assert_eq!(json["format"], "rrul-comparison/1");
    assert_eq!(json["runs"].as_array().unwrap().len(), 3);
    assert_eq!(json["groups"][0]["runs"].as_array().unwrap().len(), 2);
    assert_eq!(json["groups"][1]["name"], "after");
    assert_eq!(json["pairs"].as_array().unwrap().len(), 1);
    assert!(json["pairs"][0]["metrics"].as_array().unwrap().len() > 10);
}

#[test]
fn what_cannot_be_compared_is_reported_in_one_line() {
    let folder = Folder::new();
    write(&folder, "a.rrul", &[]);
    write(&folder, "b.rrul", &[]);
    folder.write("text.rrul", "plain text");
    compare(&folder, &["a.rrul", "text.rrul"]).complains(&["text.rrul", "not an rrul recording"]);
    compare(&folder, &["a.rrul", "missing.rrul", "b.rrul"]).complains(&["missing.rrul", "check the path"]);
    compare(&folder, &["a.rrul", "b.rrul", "--by", "plan"]).complains(&["same plan", "--by"]);
    assert_eq!(compare(&folder, &["a.rrul"]).code, Some(2));
}
