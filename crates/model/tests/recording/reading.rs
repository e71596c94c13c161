//! Reading: old files, cut-off files, and files of a later rrul.

use std::time::Duration;

use rrul_model::environment::HostState;
use rrul_model::flow::FlowId;
use rrul_model::observation::{
    GreetingSentTable, ObservationPoint, OtherSessionsTable, Tables, TransactionStampedTable,
};
use rrul_model::phase::Phase;
use rrul_model::recording::{FORMER_FORMAT, Recording, RecordingError};
use rrul_model::time::{TestTime, Window};

use crate::specimen;

/// Format 1 as it was first written. Never write this file anew: that it still reads is the promise.
const V1: &str = include_str!("../data/v1.jsonl");

/// The present format. Once a program that writes it has been released, this file is never written anew either.
const V2: &str = include_str!("../data/v2.jsonl");

#[test]
fn a_file_of_format_1_reads_as_what_was_recorded() {
    let read = Recording::from_lines(V1).unwrap_or_else(|error| panic!("tests/data/v1.jsonl: {error}"));
    let mut specimen = specimen::recording();
    FORMER_FORMAT.clone_into(&mut specimen.header.format);
    // Format 1 had neither stamps of exchanges, nor greetings, nor what other sessions moved, nor a count of frames.
    specimen.end.iter_mut().for_each(|end| (end.client_frames, end.server_frames) = (None, None));
    specimen.frames[0].tables.transaction_stamped = TransactionStampedTable::default();
    specimen.frames[1].tables.greeting_sent = GreetingSentTable::default();
    specimen.frames[1].tables.other_sessions = OtherSessionsTable::default();
    assert!(read == specimen, "tests/data/v1.jsonl does not read as what was recorded");
    assert_eq!(Recording::from_lines(V2).unwrap(), specimen::recording());
    assert_eq!(read.header.title, "Täht's cable modem");
    assert_eq!(read.phase(Phase::Load).unwrap().from.nanoseconds(), 5_000_000_000);
    assert_eq!(read.flow(FlowId(1)).unwrap().name, "udp_probe/EF/ipv4");
    assert_eq!(read.events().count(), 12);
}

#[test]
fn a_file_that_says_less_of_its_hosts_reads_too() {
    let mut lines: Vec<serde_json::Value> = V2.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    for host in ["client", "server"] {
        for fact in ["state", "governors", "virtualisation"] {
            lines[0]["header"][host].as_object_mut().unwrap().remove(fact).unwrap();
        }
        lines.last_mut().unwrap()["end"].as_object_mut().unwrap().remove(host).unwrap();
    }
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let read = Recording::from_lines(&lines.join("\n")).unwrap();
    assert_eq!(read.frames, specimen::recording().frames);
    assert_eq!((read.header.client.cores, &read.header.client.state), (2, &HostState::default()));
    assert_eq!(read.end.unwrap().host(ObservationPoint::Server), None);
}

#[test]
fn exchanges_of_a_file_without_their_stamps_are_read() {
    let mut lines: Vec<serde_json::Value> = V2.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    lines[1]["frame"]["tables"].as_object_mut().unwrap().remove("transaction_stamped").unwrap();
    let lines: Vec<String> = lines.iter().map(ToString::to_string).collect();
    let tables = &Recording::from_lines(&lines.join("\n")).unwrap().frames[0].tables;
    assert_eq!((tables.transaction.len(), tables.transaction_stamped.len()), (3, 0));
}

#[test]
fn every_table_of_a_file_of_format_2_still_has_its_rows() {
    // A column that is added to a table would leave that table of every older file without rows.
    let read = Recording::from_lines(V2).unwrap();
    let mut totals = specimen::table_lengths(&Tables::default());
    for frame in &read.frames {
        for (total, (_, rows)) in totals.iter_mut().zip(specimen::table_lengths(&frame.tables)) {
            total.1 += rows;
        }
    }
    for (name, rows) in totals {
        assert!(rows > 0, "{name} of a file of format 2 has no rows; new facts belong in a new table");
    }
}

#[test]
fn this_program_still_writes_format_2_as_it_was() {
    let written = specimen::lines_of(&specimen::recording()).concat();
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|wanted| wanted == "write") {
        std::fs::write(concat!(env!("CARGO_MANIFEST_DIR"), "/tests/data/v2.jsonl"), &written).unwrap();
        return;
    }
    for (line, (now, then)) in written.lines().zip(V2.lines()).enumerate() {
        let now: serde_json::Value = serde_json::from_str(now).unwrap();
        let then: serde_json::Value = serde_json::from_str(then).unwrap();
        assert_eq!(now, then, "line {} is written unlike format 2; a change needs a new number", line + 1);
    }
    assert_eq!(written.lines().count(), V2.lines().count());
}

#[test]
fn a_file_cut_off_anywhere_reads_up_to_its_last_whole_line() {
    let whole = Recording::from_lines(V2).unwrap();
    let bytes = V2.as_bytes();
    let header_length = V2.find('\n').unwrap();
    for cut in 0..=bytes.len() {
        // A cut may fall within a letter of several bytes, as the reader of the file will find it.
        let text = String::from_utf8_lossy(&bytes[..cut]);
        match Recording::from_lines(&text) {
            Err(RecordingError::NoHeader) => assert!(cut < header_length, "cut at {cut}: the header was whole"),
            Err(error) => panic!("cut at {cut}: {error}"),
            Ok(read) => {
                assert!(cut >= header_length, "cut at {cut}: read a header that was not whole");
                // A line that only lacks its newline is whole.
                let lines = text.matches('\n').count();
                let only_newline_missing = bytes.get(cut) == Some(&b'\n');
                let frames = (lines + usize::from(only_newline_missing)).saturating_sub(1).min(whole.frames.len());
                assert_eq!(read.header, whole.header);
                assert_eq!(read.frames, whole.frames[..frames], "cut at {cut}");
                assert_eq!(read.end.is_some(), cut >= bytes.len() - 1, "cut at {cut}");
            }
        }
    }
}

#[test]
fn lines_of_an_unknown_kind_are_passed_over() {
    let mut lines: Vec<String> = V2.split_inclusive('\n').map(str::to_owned).collect();
    lines.insert(1, "{\"weather\":{\"rain\":true}}\n".into());
    lines.insert(3, "\n".into());
    lines.push("{\"checksum\":17}\n".into());
    assert_eq!(Recording::from_lines(&lines.concat()).unwrap(), specimen::recording());
}

#[test]
fn unknown_fields_and_tables_are_passed_over() {
    let text = V2.replacen("{\"header\":{", "{\"header\":{\"mood\":\"good\",", 1).replacen(
        "\"tables\":{",
        "\"tables\":{\"moon\":{\"at\":[1,2]},",
        1,
    );
    assert_ne!(text, V2);
    assert_eq!(Recording::from_lines(&text).unwrap(), specimen::recording());
}

#[test]
fn a_later_format_is_refused_by_its_name() {
    let text = V2.replacen("rrul-recording/2", "rrul-recording/3", 1);
    let said = Recording::from_lines(&text).unwrap_err().to_string();
    assert!(said.contains("rrul-recording/3") && said.contains("rrul-recording/2"), "{said}");
    assert!(said.contains("update rrul"), "{said}");
    // Even when nothing else of the header is as it is here.
    let bare = "{\"header\":{\"format\":\"rrul-recording/9\"}}\n";
    assert!(matches!(Recording::from_lines(bare), Err(RecordingError::UnknownFormat(name)) if name.ends_with("/9")));
}

#[test]
fn a_refusal_repeats_names_of_the_file_in_one_line() {
    let in_lines = V2.replacen("\"secs\":", "\"\\nos\\u001b[2J\":", 1);
    assert_ne!(in_lines, V2);
    let format = V2.replacen("rrul-recording/2", "rrul\\n\\u001b[2J", 1);
    for text in [in_lines, format] {
        let said = Recording::from_lines(&text).unwrap_err().to_string();
        assert!(!said.contains(char::is_control), "{said:?}");
    }
}

#[test]
fn what_is_no_recording_has_no_header() {
    for text in ["", "\n\n", "hello\n", "{}\n", "{\"frame\":{}}\n", "[1,2,3]", "{\"header\":{}}\n"] {
        let read = Recording::from_lines(text);
        assert!(matches!(read, Err(RecordingError::NoHeader)), "{text:?} was read as {read:?}");
    }
}

#[test]
fn a_damaged_line_in_the_middle_is_named_by_its_number() {
    for kind in ["{\"frame\":{\"point\":\"moon\"}}\n", "{\"frame\":\n", "{\"end\":{}}\n"] {
        let mut lines: Vec<String> = V2.split_inclusive('\n').map(str::to_owned).collect();
        lines.insert(2, kind.into());
        let said = Recording::from_lines(&lines.concat()).unwrap_err().to_string();
        assert!(said.starts_with("line 3: "), "{kind:?}: {said}");
    }
}

#[test]
fn frames_are_distinguished_by_observation_point() {
    let read = Recording::from_lines(V2).unwrap();
    assert_eq!(read.frames_of(ObservationPoint::Client).count(), 1);
    assert_eq!(read.tables_of(ObservationPoint::Server).map(|tables| tables.octets_received.len()).sum::<usize>(), 2);
    assert!(read.events().all(|(point, _)| point == ObservationPoint::Client));
}

#[test]
fn a_load_that_ended_early_ends_its_flows_and_what_follows_it_comes_earlier() {
    let mut specimen = specimen::recording();
    let planned = |phase| specimen.phase(phase).unwrap();
    let (idle, load, after) = (planned(Phase::Idle), planned(Phase::Load), planned(Phase::After));
    let early = load.from + Duration::from_secs(7);
    specimen.end.as_mut().unwrap().load_ended = Some(early);
    let read = Recording::from_lines(&specimen::lines_of(&specimen).concat()).unwrap();
    let cut = load.to.since(early).0;
    assert_eq!(read.end, specimen.end);
    assert_eq!(read.phase(Phase::Idle), Some(idle));
    assert_eq!(read.loaded(), Some(Window { from: load.from, to: early }));
    assert_eq!(read.phase(Phase::After), Some(Window { from: early, to: TestTime(after.to.0 - cut) }));
    for (planned, took_place) in specimen.header.flows.iter().zip(&read.header.flows) {
        assert_eq!(took_place.window.from, planned.window.from, "{}", planned.name);
        let expected = if planned.window.to > load.to { TestTime(planned.window.to.0 - cut) } else { early };
        assert_eq!(took_place.window.to, expected, "{}", planned.name);
    }
    assert!(read.header.flows.iter().any(|flow| flow.window.to == early), "no flow of the load was there to end");
}

#[test]
fn the_steps_of_a_tuning_session_are_read_back_and_cut_off_loses_the_last_alone() {
    let tuned = specimen::tuned();
    let lines = specimen::lines_of(&tuned);
    let text = lines.concat();
    assert_eq!(Recording::from_lines(&text).unwrap(), tuned);
    let is_step = |line: &String| line.starts_with("{\"step\"");
    assert_eq!(lines.iter().filter(|line| is_step(line)).count(), 2);
    let before: String = lines.iter().take_while(|line| !is_step(line)).map(String::as_str).collect();
    let (first, second) =
        (lines.iter().find(|line| is_step(line)).unwrap(), lines.iter().rfind(|line| is_step(line)).unwrap());
    for cut in 0..second.len() - 1 {
        let read = Recording::from_lines(&format!("{before}{first}{}", &second[..cut])).unwrap();
        assert_eq!((read.steps.as_slice(), &read.frames), (&tuned.steps[..1], &tuned.frames), "cut at {cut}");
    }
    // A recording without them is written as before.
    let plain: Vec<String> = lines.into_iter().filter(|line| !is_step(line)).collect();
    let untuned = Recording { steps: Vec::new(), ..tuned };
    assert_eq!(specimen::lines_of(&untuned), plain);
}
