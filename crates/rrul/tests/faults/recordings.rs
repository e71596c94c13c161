//! Recordings that are cut off, damaged, old, or no recordings.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use rrul_model::observation::ObservationPoint;
use serde_json::Value;

use crate::program::{Ended, Folder, PROGRAM, Server, end_of, run_short, shown_in_full};
use crate::verdict::{Verdict, recording};

fn show(path: &Path) -> Ended {
    let mut command = Command::new(PROGRAM);
    command.arg("show").arg(path);
    end_of(command)
}

/// Asserts that a damaged file is shown as far as it is intact, or that one line says why it cannot be.
fn assert_shown_or_explained(path: &Path) -> bool {
    let shown = show(path);
    if shown.code == Some(2) {
        shown.complains(&[&path.display().to_string()]);
        assert_eq!(shown.stdout, "");
        return false;
    }
    assert!(matches!(shown.code, Some(0 | 1)) && shown.stderr.is_empty(), "{shown:#?}");
    assert!(shown.stdout.contains("short to "), "{shown:#?}");
    true
}

#[test]
fn a_file_that_is_cut_off_anywhere_is_shown_up_to_there_or_says_why_not() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    end_of(run_short(&folder, &server.name(), &["--set", "load=1s"]));
    let whole = fs::read(folder.file("out.rrul")).unwrap();
    let all = recording(&folder.file("out.rrul"));
    let cut = folder.file("cut.rrul.part");
    let lengths = (0..12).chain((1..40).map(|part| whole.len() * part / 40)).chain(whole.len() - 12..whole.len());
    let mut shown = 0;
    let mut fewest = usize::MAX;
    for length in lengths {
        fs::write(&cut, &whole[..length]).unwrap();
        if assert_shown_or_explained(&cut) {
            shown += 1;
            let kept = recording(&cut);
            assert_eq!(kept.frames, all.frames[..kept.frames.len()], "{length} of {} bytes", whole.len());
            // Of the last line only the end may be missing that makes it no other line.
            assert!(kept.end.is_none() || kept.end == all.end, "{length} of {} bytes: {:?}", whole.len(), kept.end);
            fewest = fewest.min(kept.frames.len());
        }
    }
    let frames = all.frames.len();
    assert!(shown > 12 && fewest < frames, "{shown} cuts were shown, the shortest with {fewest} of {frames} frames");
}

#[test]
fn a_file_with_a_damaged_byte_is_shown_or_says_why_not() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    end_of(run_short(&folder, &server.name(), &["--set", "load=1s"]));
    let whole = fs::read(folder.file("out.rrul")).unwrap();
    let path = folder.file("damaged.rrul");
    for part in 0..50 {
        let mut octets = whole.clone();
        octets[whole.len() * part / 50] ^= 0x55;
        fs::write(&path, octets).unwrap();
        assert_shown_or_explained(&path);
    }
}

#[test]
fn a_damaged_byte_in_the_middle_costs_that_frame_and_no_other() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    end_of(run_short(&folder, &server.name(), &["--set", "load=1s"]));
    let octets = fs::read(folder.file("out.rrul")).unwrap();
    let all = recording(&folder.file("out.rrul"));
    // Every line is a zstd frame: the second frame of the client begins where as many lines end.
    let damaged = all.frames.iter().position(|frame| frame.point == ObservationPoint::Client && frame.number == 1);
    let lines_before = damaged.unwrap() + 1;
    let length = |from: &[u8]| zstd::zstd_safe::find_frame_compressed_size(from).unwrap();
    let begin = (0..lines_before).fold(0, |begin, _| begin + length(&octets[begin..]));
    let mut octets = octets;
    let middle = begin + length(&octets[begin..]) / 2;
    octets[middle] ^= 0x10;
    let path = folder.file("damaged.rrul");
    fs::write(&path, octets).unwrap();
    assert!(assert_shown_or_explained(&path));
    let verdict = Verdict::of(&path);
    let reason = verdict.reason("frames_missing").unwrap_or_else(|| panic!("{:#}", verdict.summary));
    let of_client = all.frames.iter().filter(|frame| frame.point == ObservationPoint::Client).count();
    assert!(reason.starts_with(&format!("1 of {of_client} frames of the client")), "{reason}");
    // The end was read, and every frame of the server.
    assert_eq!(verdict.summary["partial"], Value::Null);
    assert_eq!(verdict.doubts().iter().filter(|code| **code == "frames_missing").count(), 1);
}

fn first_format() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../model/tests/data/v1.jsonl")
}

#[test]
fn show_is_one_screen_and_sections_are_chosen_by_name() {
    let text = fs::read_to_string(first_format()).unwrap();
    let frames = text.split_inclusive('\n').flat_map(|line| zstd::bulk::compress(line.as_bytes(), 3).unwrap());
    let folder = Folder::new();
    folder.write("v1.rrul", frames.collect::<Vec<u8>>());
    let path = folder.file("v1.rrul");
    let short = show(&path).stdout;
    assert!(short.lines().count() <= 24 && short.lines().all(|line| line.chars().count() <= 80), "{short}");
    let section = |names: &[&str]| {
        let mut command = Command::new(PROGRAM);
        command.arg("show").arg(&path);
        command.args(names.iter().flat_map(|name| ["--section", name]));
        end_of(command)
    };
    let some = section(&["rate", "delay"]).stdout;
    let place = |heading: &str| some.find(heading).unwrap_or_else(|| panic!("no {heading} in {some}"));
    assert!(place("\nRound-trip delay of ") < place("\nGoodput under load\n"), "as in the full summary");
    assert!(!some.contains("Measurement quality"), "{some}");
    section(&["rates"]).complains(&["--section: unknown section \"rates\"; use one of validity, ", " rate, "]);
}

#[test]
fn what_is_no_recording_is_called_that() {
    let folder = Folder::new();
    folder.write("text.rrul", "plain text, and some more of it");
    show(&folder.file("text.rrul")).complains(&["text.rrul: ", "not an rrul recording"]);
    show(&folder.file("missing.rrul")).complains(&["missing.rrul: ", "check the path"]);
    show(folder.path()).complains(&["not an rrul recording"]);
    folder.write("later.rrul", zstd::bulk::compress(b"{\"header\":{\"format\":\"rrul-recording/9\"}}\n", 3).unwrap());
    show(&folder.file("later.rrul")).complains(&["later.rrul: ", "rrul-recording/9"]);
    let twice = fs::read_to_string(first_format()).unwrap().replacen("\"id\":1,", "\"id\":0,", 1);
    folder.write("twice.rrul", zstd::bulk::compress(twice.as_bytes(), 3).unwrap());
    show(&folder.file("twice.rrul")).complains(&["twice.rrul: ", "two flows have the number 0"]);
}

#[test]
fn a_recording_of_the_first_format_is_still_shown() {
    let text = fs::read_to_string(first_format()).unwrap();
    let frames = text.split_inclusive('\n').flat_map(|line| zstd::bulk::compress(line.as_bytes(), 3).unwrap());
    let folder = Folder::new();
    folder.write("v1.rrul", frames.collect::<Vec<u8>>());
    let shown = shown_in_full(&folder.file("v1.rrul"));
    assert_eq!((shown.code, shown.stderr.as_str()), (Some(1), ""), "{shown:#?}");
    for words in ["Täht's cable modem", "plan specimen to server.example", "IPv6 was not tested: no address"] {
        assert!(shown.stdout.contains(words), "no \"{words}\" in: {}", shown.stdout);
    }
}

#[test]
fn charts_of_delays_and_comparisons_are_the_same_with_a_digest_and_without() {
    let server = Server::start(&[]);
    let folder = Folder::with_plan();
    end_of(run_short(&folder, &server.name(), &["--set", "load=1s"]));
    let octets = fs::read(folder.file("out.rrul")).unwrap();
    let mut begins = vec![0];
    while let Some(begin) = begins.last().copied().filter(|begin| *begin < octets.len()) {
        begins.push(begin + zstd::zstd_safe::find_frame_compressed_size(&octets[begin..]).unwrap());
    }
    let last = begins[begins.len() - 2];
    let digest = String::from_utf8(zstd::decode_all(&octets[last..]).unwrap()).unwrap();
    assert!(digest.starts_with("{\"digest\":{") && digest.contains("\"severity\":\"info\""), "{digest}");
    let with = |octets: &[u8], digest: &str| [octets, &zstd::encode_all(digest.as_bytes(), 3).unwrap()].concat();
    let judged = digest.replace("\"severity\":\"info\"", "\"severity\":\"invalid\"");
    // What was damaged afterwards is not what was judged.
    let mut damaged = octets[..last].to_vec();
    damaged[begins[2] + 20] ^= 0x10;
    let names = ["out", "without", "judged", "other", "damaged", "damaged_without"];
    folder.write("without.rrul", &octets[..last]);
    folder.write("judged.rrul", with(&octets[..last], &judged));
    // One that another program wrote.
    folder.write("other.rrul", with(&octets[..last], &judged.replace("\"program\":\"", "\"program\":\"9")));
    folder.write("damaged.rrul", with(&damaged, &digest));
    folder.write("damaged_without.rrul", &damaged);
    for chart in ["ecdf", "ccdf", "box", "qq"] {
        let [out, without, judged, other, damaged, damaged_without] = names.map(|name| {
            let mut command = Command::new(PROGRAM);
            command.arg("plot").arg(folder.file(&format!("{name}.rrul"))).args(["--chart", chart, "--force", "-o"]);
            command.arg(folder.file("chart.svg"));
            let ended = end_of(command);
            assert_eq!(ended.code, Some(0), "{ended:#?}");
            fs::read_to_string(folder.file("chart.svg")).unwrap()
        });
        assert!(out == without && out == other, "{chart}");
        assert!(judged != out, "{chart}: the digest is not used");
        assert!(damaged != out && damaged == damaged_without, "{chart} of a damaged recording");
    }
    let [out, without, judged, other, damaged, damaged_without] = names.map(|name| {
        fs::copy(folder.file(&format!("{name}.rrul")), folder.file("one.rrul")).unwrap();
        let mut command = Command::new(PROGRAM);
        command.current_dir(folder.path()).args(["compare", "--json", "without.rrul", "one.rrul"]);
        end_of(command).stdout
    });
    assert!(out.contains("loaded_delay_p50") && out == without && out == other, "{out}");
    assert!(judged != out, "the digest is not used");
    assert!(damaged != out && damaged == damaged_without);
}
