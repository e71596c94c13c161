//! Recordings of Flent give the figures that Flent recorded itself.
//!
//! The files are beside the project, if at all: without them the test says that it was skipped.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]
#![allow(clippy::disallowed_methods, reason = "it reads the files")]

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::path::{Path, PathBuf};

use rrul_analysis::{Analysis, analyze};
use rrul_model::flow::Direction;
use rrul_model::observation::FlowEventKind;
use rrul_model::recording::Recording;
use serde_json::Value;

/// How far figures may lie from Flent's own: it rounds rates to 10 kbit/s, and its load begins some 50 ms off its time.
const TOLERANCE: f64 = 0.01;

/// A folder of files beside the project, looked for upwards from this crate.
fn data(folder: &str) -> Option<PathBuf> {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    here.ancestors().map(|above| above.join("../shared/data").join(folder)).find(|folder| folder.is_dir())
}

fn skipped(test: &str, reason: &str) {
    let line = format!("SKIPPED {test}: {reason}\n");
    eprint!("{line}");
    if let Some(path) = std::env::var_os("RRUL_SKIPPED") {
        let file = std::fs::OpenOptions::new().create(true).append(true).open(path);
        file.and_then(|mut file| file.write_all(line.as_bytes())).expect("RRUL_SKIPPED can be written");
    }
}

/// Every file of a folder: its name, its text, its recording.
fn files(test: &str, folder: &str) -> Vec<(String, Value, Recording)> {
    let Some(folder) = data(folder) else {
        skipped(test, &format!("missing: ../shared/data/{folder}"));
        return Vec::new();
    };
    let mut paths: Vec<PathBuf> = std::fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()).collect();
    paths.retain(|path| path.extension().is_some_and(|ending| ending == "gz"));
    paths.sort();
    assert!(!paths.is_empty());
    let read = |path: PathBuf| {
        let mut text = Vec::new();
        flate2::read::GzDecoder::new(std::fs::read(&path).unwrap().as_slice()).read_to_end(&mut text).unwrap();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let recording = rrul_model::flent::read(&text).unwrap_or_else(|error| panic!("{name}: {error}"));
        (name, serde_json::from_slice(&text).unwrap(), recording)
    };
    paths.into_iter().map(read).collect()
}

/// What Flent calls each flow.
fn series(recording: &Recording) -> BTreeMap<String, String> {
    let uses = recording.events().filter(|(_, event)| event.event == FlowEventKind::Uses);
    let named = uses.filter_map(|(_, event)| {
        let name = event.detail.strip_prefix("series \"")?.strip_suffix('"')?;
        Some((name.to_owned(), recording.flow(event.flow)?.name.clone()))
    });
    named.collect()
}

#[track_caller]
fn close(what: &str, ours: f64, theirs: f64) {
    let off = (ours - theirs).abs() / theirs.abs();
    assert!(off <= TOLERANCE, "{what}: {ours} where Flent recorded {theirs}, {:.2} % off", off * 100.0);
    eprintln!("{what}: {ours:.6} and {theirs:.6}, {:.3} % off", off * 100.0);
}

fn of_meta(file: &Value, series: &str, key: &str) -> Option<f64> {
    file["metadata"]["SERIES_META"][series][key].as_f64()
}

#[test]
fn bytes_and_rates_are_those_that_flent_recorded() {
    let mut compared = 0;
    for (name, file, recording) in files("octets_and_rates_are_those_that_flent_recorded", "flent") {
        let analysis = analyze(&recording);
        for (series, flow) in series(&recording) {
            let loads = Direction::ALL.into_iter().flat_map(|direction| &analysis.goodput(direction).flows);
            let Some(load) = loads.into_iter().find(|load| load.flow.name == flow) else { continue };
            let drawn: f64 = load.series.iter().map(|point| point.rate.0 as f64 * point.over.as_secs_f64() / 8.0).sum();
            if let Some(octets) = of_meta(&file, &series, "BYTES_RECVD") {
                let tables = recording.frames.iter().flat_map(|frame| frame.tables.octets_received.rows());
                let last = tables.filter(|row| row.flow == load.flow.id).map(|row| row.octets.0).max();
                assert_eq!(last, Some(octets as u64), "{name}: {series}");
                close(&format!("{name}: bytes of {series}"), drawn, octets);
                compared += 1;
            }
            if let Some(mean) = of_meta(&file, &series, "MEAN_VALUE") {
                // The mean is over the time until the sender's buffers had drained. Where that is not recorded, the socket
                // was looked at until then.
                let socket = file["raw_values"][&series].as_array().unwrap();
                let times = || socket.iter().filter_map(|row| row["t"].as_f64());
                let begun = socket.iter().find_map(|row| Some(row["t"].as_f64()? - row["dur"].as_f64()?)).unwrap();
                let elapsed = times().fold(0.0, f64::max) - begun;
                let elapsed = of_meta(&file, &series, "ELAPSED_TIME").unwrap_or(elapsed);
                let ours = drawn * 8.0 / elapsed / 1e6;
                let off = (ours - mean).abs() / mean;
                // Flent gives two decimals.
                assert!(off <= TOLERANCE + 0.005 / mean, "{name}: mean of {series}: {ours}, recorded {mean}");
                compared += 1;
            }
            // What drains after the load is drawn, and is not of the load phase.
            let under_load = load.octets.0 as f64 / drawn;
            assert!((0.98..1.000_001).contains(&under_load), "{name}: {series}: {under_load} of the bytes under load");
        }
    }
    assert!(compared == 0 || compared >= 33, "{compared}");
}

#[test]
fn delays_and_losses_are_those_that_flent_recorded() {
    let mut compared = 0;
    for (name, file, recording) in files("delays_and_losses_are_those_that_flent_recorded", "flent") {
        let analysis = analyze(&recording);
        for (series, flow) in series(&recording) {
            let Some(entry) = analysis.round_trip_delay.flows.iter().find(|entry| entry.flow.name == flow) else {
                continue;
            };
            // A mean of exchanges weighs each exchange, and stalls with them; what is drawn are means over time.
            if entry.flow.flow_type == "exchange_mean" {
                continue;
            }
            let delays: Vec<f64> =
                entry.series.iter().filter_map(|point| point.delay).map(|delay| delay.0 as f64 / 1e6).collect();
            let Some(mean) = of_meta(&file, &series, "MEAN_VALUE") else { continue };
            close(&format!("{name}: mean of {series}"), delays.iter().sum::<f64>() / delays.len() as f64, mean);
            compared += 1;
            if let Some(share) = of_meta(&file, &series, "PACKET_LOSS_RATE") {
                let lost = entry.series.iter().filter(|point| point.delay.is_none()).count();
                let ours = lost as f64 / entry.series.len() as f64;
                assert!((ours - share).abs() < 1e-9, "{name}: {series}: {ours} lost, recorded {share}");
                compared += 1;
            }
        }
    }
    assert!(compared == 0 || compared >= 15, "{compared}");
}

#[test]
fn losses_of_irtt_keep_their_direction() {
    for (name, file, recording) in files("losses_of_irtt_keep_their_direction", "flent") {
        let analysis = analyze(&recording);
        for (series, flow) in series(&recording) {
            let Some(rows) = file["raw_values"][&series].as_array() else { continue };
            let lost = |direction: &str| rows.iter().filter(|row| row["lost_dir"] == direction).count() as u64;
            let fates = analysis.loss.fates.flows.iter().find(|entry| entry.flow.name == flow);
            let Some(fates) = fates else { continue };
            let counted = [&fates.up, &fates.down].map(|fates| fates.all.map_or(0, |fate| fate.lost));
            assert_eq!(counted, [lost("up"), lost("down")], "{name}: {series}");
        }
    }
}

#[test]
fn every_file_of_2012_is_read_as_far_as_it_goes() {
    for (name, file, recording) in files("every_file_of_2012_is_read_as_far_as_it_goes", "rrul2012") {
        let analysis = analyze(&recording);
        assert_eq!(
            (analysis.goodput.up.flows.len(), analysis.goodput.down.flows.len(), analysis.round_trip_delay.flows.len()),
            (4, 4, 4),
            "{name}"
        );
        for (series, flow) in series(&recording) {
            let Some(entry) = analysis.round_trip_delay.flows.iter().find(|entry| entry.flow.name == flow) else {
                continue;
            };
            let values = file["results"][&series].as_array().unwrap();
            // An exchange that took longer than 2 s stalled; a packet that comes after the waiting time is lost. In one file
            // a queue of 6 s delays the packets, and all of them have a delay.
            let waits = if name.contains("2012-12-02T12_17_45") { f64::INFINITY } else { 3000.0 };
            let limit = if entry.flow.flow_type == "exchange_mean" { 2000.0 } else { waits };
            let expected: Vec<f64> = values.iter().filter_map(Value::as_f64).filter(|value| *value <= limit).collect();
            let delays: Vec<f64> =
                entry.series.iter().filter_map(|point| point.delay).map(|delay| delay.0 as f64 / 1e6).collect();
            assert_eq!(delays.len(), expected.len(), "{name}: {series}");
            assert!(
                delays.iter().zip(&expected).all(|(ours, theirs)| (ours - theirs).abs() < 1e-3),
                "{name}: {series}"
            );
        }
        let text = honest(&analysis);
        for said in ["at the sender, socket buffers included", "loss is unknown", "means of netperf UDP exchanges"] {
            assert!(text.contains(said), "{name}: nothing says {said:?}: {text}");
        }
    }
}

fn honest(analysis: &Analysis) -> String {
    analysis.validity.reasons.iter().map(|reason| reason.text.as_str()).collect::<Vec<_>>().join("\n")
}
