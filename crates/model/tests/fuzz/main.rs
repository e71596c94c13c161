//! Recordings, files of Flent, plans and page manifests may come from anybody: none makes its reader panic, and what could be
//! read keeps the promises of its type.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod campaign;
#[path = "../flent/files.rs"]
#[allow(dead_code, reason = "a helper of other tests, of which these use a part")]
mod files;
mod mutation;
#[path = "../plans/shelf.rs"]
#[allow(dead_code, reason = "a helper of other tests, of which these use a part")]
mod shelf;

use proptest::prelude::*;
use rrul_model::flent;
use rrul_model::page::Page;
use rrul_model::recording::{Line, Recording};
use rrul_model::time::TestTime;

use campaign::config;
use mutation::{Octets, mutated};
use shelf::{ONE, TWO, read_text, shipped};

fn recordings() -> impl Strategy<Value = Octets> {
    let corpus = [include_bytes!("../data/v1.jsonl").to_vec(), include_bytes!("../data/v2.jsonl").to_vec()];
    mutated(corpus.to_vec())
}

/// The lines that `rrul run` would write of this recording.
fn lines(recording: &Recording) -> String {
    let header = Line::Header(Box::new(recording.header.clone()));
    let frames = recording.frames.iter().map(|frame| Line::Frame(Box::new(frame.clone())));
    let end = recording.end.clone().map(Line::End);
    let all = std::iter::once(header).chain(frames).chain(end);
    all.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect()
}

fn flent_files() -> impl Strategy<Value = Octets> {
    mutated([files::version_4(), files::of_2012()].iter().map(|file| file.to_string().into_bytes()).collect())
}

fn plans() -> impl Strategy<Value = Octets> {
    mutated(shipped().into_values().map(|(_, text)| text.into_bytes()).collect())
}

fn settings() -> impl Strategy<Value = Octets> {
    let known =
        ["load=30s", "streams=8", "flow.probe.interval=5ms", "flow.bulk.each.class=[\"BE\", \"EF\"]", "idle=0s"];
    mutated(known.iter().map(|setting| setting.as_bytes().to_vec()).collect())
}

fn manifests() -> impl Strategy<Value = Octets> {
    let corpus = [include_bytes!("../../../../pages/rrul2013.toml").to_vec(), b"about = \"a\"\n".to_vec()];
    mutated(corpus.to_vec())
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_text_is_a_recording_or_refused(octets in recordings()) {
        let text = String::from_utf8_lossy(&octets);
        match Recording::from_lines(&text) {
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(recording) => {
                for frame in &recording.frames {
                    prop_assert_eq!(frame.tables.probe_sent.rows().count(), frame.tables.probe_sent.len());
                }
                let written = lines(&recording);
                let again = Recording::from_lines(&written).expect("what rrul writes, it reads");
                prop_assert!(lines(&again) == written, "it does not read back as it was read");
            }
        }
    }

    #[test]
    fn any_text_is_a_file_of_flent_or_refused(octets in flent_files()) {
        let _ = flent::looks_like(&octets);
        match flent::read(&octets) {
            Err(error) => prop_assert!(!error.to_string().contains('\n'), "{error}"),
            Ok(recording) => {
                prop_assert!(recording.header.flows.iter().all(|flow| flow.window.from < flow.window.to));
                prop_assert!(recording.header.phases.iter().all(|entry| entry.window.from < entry.window.to));
            }
        }
    }

    #[test]
    fn any_text_is_a_plan_or_refused_with_its_place(octets in plans(), setting in settings(), set in any::<bool>()) {
        let (text, setting) = (String::from_utf8_lossy(&octets), String::from_utf8_lossy(&setting));
        let shelf = shipped();
        let others: Vec<(&str, &str)> = shelf.iter().map(|(name, (_, text))| (name.as_str(), text.as_str())).collect();
        let settings: &[&str] = if set { &[&setting] } else { &[] };
        match read_text(&text, &others, settings) {
            Err(error) => {
                let said = error.to_string();
                prop_assert!(!said.contains('\n'), "{said}");
                prop_assert!(said.contains(".toml") || said.contains("--set"), "no place in: {said}");
            }
            Ok(plan) => {
                let end = TestTime::ZERO + plan.length();
                for families in [ONE, TWO] {
                    prop_assert!(plan.flows(families).iter().all(|flow| flow.window.to <= end));
                }
            }
        }
    }

    #[test]
    fn any_text_is_a_page_or_refused(octets in manifests()) {
        let text = String::from_utf8_lossy(&octets);
        match Page::read("x", &text) {
            Err(error) => prop_assert!(!error.to_string().is_empty()),
            Ok(page) => {
                prop_assert!(page.objects.iter().all(|object| object.host < page.hosts.len()));
                prop_assert!(page.objects.iter().enumerate().all(|(number, object)| object.parent < Some(number) || object.parent.is_none()));
                let _ = page.octets();
            }
        }
    }
}
