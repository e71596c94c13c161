//! `rrul convert` and the files of other programs, as a user meets them.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

#[path = "faults/program.rs"]
#[allow(dead_code, reason = "this file uses its own share of it")]
mod program;

use std::io::{Read, Write};
use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use flate2::Compression;
use flate2::read::GzDecoder;
use flate2::write::GzEncoder;
use program::skipped;
use serde_json::{Value, json};

/// A folder of its own, gone with the value.
struct Folder(PathBuf);

impl Folder {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("rrul-convert-{name}-{}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn write(&self, name: &str, octets: &[u8]) {
        std::fs::write(self.0.join(name), octets).unwrap();
    }

    fn text(&self, name: &str) -> String {
        std::fs::read_to_string(self.0.join(name)).unwrap()
    }

    fn rrul(&self, arguments: &[&str]) -> Output {
        Command::new(env!("CARGO_BIN_EXE_rrul")).args(arguments).current_dir(&self.0).output().unwrap()
    }

    /// What the program printed; it must not have complained.
    #[track_caller]
    fn says(&self, arguments: &[&str]) -> String {
        let output = self.rrul(arguments);
        let errors = String::from_utf8_lossy(&output.stderr).into_owned();
        assert!(output.status.code().is_some_and(|code| code < 2), "{arguments:?}: {errors}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// The one line in which the program refused.
    #[track_caller]
    fn refuses(&self, arguments: &[&str]) -> String {
        let output = self.rrul(arguments);
        let errors = String::from_utf8(output.stderr).unwrap();
        assert_eq!(output.status.code(), Some(2), "{arguments:?}: {errors}");
        assert_eq!(errors.lines().count(), 1, "{errors}");
        errors
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

fn gzip(text: &str) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

const T0: f64 = 1_795_287_066.0;

/// An `rrul` of Flent over 30 s, 20 of them loaded: 2 Mbit/s a stream, 10 ms idle and 60 ms loaded.
fn rrul_of_flent() -> Value {
    let rates: Vec<Value> =
        (1..=100).map(|n| json!({"t": T0 + 5.0 + 0.2 * f64::from(n), "dur": 0.2, "val": 2.0})).collect();
    let delay = |n: i32| if (25..125).contains(&n) { 60.0 } else { 10.0 };
    let udp: Vec<Value> = (0..150)
        .map(|n| {
            let (sent, took) = (T0 + 0.2 * f64::from(n), delay(n));
            json!({"seq": n, "t": sent + took / 1e3, "val": took, "owd_up": took / 2.0, "owd_down": took / 2.0})
        })
        .collect();
    let icmp: Vec<Value> =
        (0..150).map(|n| json!({"seq": n, "t": T0 + 0.2 * f64::from(n) + delay(n) / 1e3, "val": delay(n)})).collect();
    let mut raw = serde_json::Map::new();
    for class in ["BE", "BK", "CS5", "EF"] {
        raw.insert(format!("TCP upload {class}"), json!(rates));
        raw.insert(format!("TCP download {class}"), json!(rates));
    }
    for class in ["EF", "BK", "BE"] {
        raw.insert(format!("Ping (ms) UDP {class}"), json!(udp));
    }
    raw.insert("Ping (ms) ICMP".into(), json!(icmp));
    json!({
        "version": 4, "x_values": [0.0], "results": {}, "raw_values": raw,
        "metadata": {"NAME": "rrul", "TITLE": "made up", "HOST": "192.0.2.7", "LENGTH": 20, "TOTAL_LENGTH": 30, "STEP_SIZE": 0.2,
            "IP_VERSION": 4, "TIME": "2026-11-21T18:51:06.000000Z", "T0": "2026-11-21T18:51:06.000000Z", "FLENT_VERSION": "2.3.0"},
    })
}

fn folder_with_flent_file(name: &str) -> Folder {
    let folder = Folder::new(name);
    folder.write("x.flent.gz", &gzip(&rrul_of_flent().to_string()));
    folder
}

#[test]
fn a_file_of_flent_is_shown_and_drawn_like_a_recording() {
    let folder = folder_with_flent_file("shown");
    let summary: Value = serde_json::from_str(&folder.says(&["show", "--json", "x.flent.gz"])).unwrap();
    assert_eq!(summary["plan"], "flent/rrul");
    // Four streams of 2 Mbit/s over 20 s.
    let octets = summary["goodput"]["down"]["octets"].as_f64().unwrap();
    assert!((octets / 20e6 - 1.0).abs() < 0.01, "{octets}");
    let added = summary["round_trip_delay"]["induced_p50_ns"].as_i64();
    assert!(added.is_none_or(|added| (added - 50_000_000).abs() < 1_000_000), "{added:?}");
    let text = folder.says(&["show", "x.flent.gz", "--full"]);
    assert!(text.contains("at the sender, socket buffers included"), "{text}");
    folder.says(&["plot", "x.flent.gz", "-o", "x.svg"]);
    assert!(folder.text("x.svg").contains("<svg"));
}

#[test]
fn every_chart_that_can_be_drawn_is_and_of_the_others_it_is_reported_why() {
    let folder = folder_with_flent_file("charts");
    let said = folder.says(&["plot", "x.flent.gz", "--chart", "all", "--theme", "dark", "-o", "charts"]);
    for name in ["overview", "download", "delay", "ecdf", "totals"] {
        assert!(said.contains(&format!("charts/{name}.svg")), "{said}");
        let svg = folder.text(&format!("charts/{name}.svg"));
        assert!(svg.starts_with("<svg") && svg.contains(rrul_view::Theme::DARK.background), "{name}");
    }
    for (name, why) in [("page_waterfall", "Nothing to draw"), ("competition", "takes two runs")] {
        let line = said.lines().find(|line| line.starts_with(&format!("no {name}: "))).expect(name);
        assert!(line.contains(why), "{line}");
    }
    assert!(folder.refuses(&["plot", "x.flent.gz", "--chart", "all", "-o", "charts"]).contains("--force"));
    folder.says(&["plot", "x.flent.gz", "--chart", "all", "-o", "charts", "--force"]);
    assert!(folder.text("charts/overview.svg").contains(rrul_view::Theme::LIGHT.background));
    assert!(folder.refuses(&["plot", "x.flent.gz", "--chart", "pie"]).contains("no chart named \"pie\""));
    assert!(folder.refuses(&["plot", "x.flent.gz", "-o", "x.gif"]).contains(".svg, .png or .pdf"));
    assert!(folder.refuses(&["plot", "x.flent.gz", "-o", "x.png", "--scale", "0"]).contains("scale"));
    folder.says(&["plot", "x.flent.gz", "-o", "x.pdf"]);
    assert!(std::fs::read(folder.0.join("x.pdf")).unwrap().starts_with(b"%PDF-"));
    folder.says(&["plot", "x.flent.gz", "--chart", "all", "-o", "pixels", "--format", "png", "--scale", "0.5"]);
    assert!(std::fs::read(folder.0.join("pixels/overview.png")).unwrap().starts_with(b"\x89PNG"));
}

#[test]
fn it_becomes_a_recording_that_says_the_same_and_replaces_nothing() {
    let folder = folder_with_flent_file("recording");
    assert!(folder.says(&["convert", "x.flent.gz"]).contains("x.rrul"));
    let [of_flent, of_rrul] = ["x.flent.gz", "x.rrul"].map(|name| folder.says(&["show", "--json", name]));
    assert_eq!(of_flent, of_rrul);
    assert!(folder.refuses(&["convert", "x.flent.gz"]).contains("never overwritten"));
    // An imported recording, once converted, is as good as any: it is not converted again.
    assert!(folder.refuses(&["convert", "x.rrul"]).contains("never overwritten"));
}

#[test]
fn what_is_damaged_is_refused_in_one_line() {
    let folder = folder_with_flent_file("damaged");
    let whole = std::fs::read(folder.0.join("x.flent.gz")).unwrap();
    folder.write("cut.flent.gz", &whole[..whole.len() / 2]);
    assert!(folder.refuses(&["show", "cut.flent.gz"]).contains("cut off"));
    folder.write("other.json", b"{\"a\": 1}");
    assert!(folder.refuses(&["show", "other.json"]).contains("unreadable recording of Flent"));
    folder.write("x.flent.bz2", b"BZh91AY&SY");
    assert!(folder.refuses(&["show", "x.flent.bz2"]).contains("bunzip2"));
}

#[test]
fn tables_are_written_as_csv_and_json() {
    let folder = folder_with_flent_file("tables");
    folder.says(&["convert", "x.flent.gz", "--to", "csv"]);
    let samples = folder.text("x-samples.csv");
    // Three UDP flows and ICMP of 150 packets each, and the names of the columns.
    assert_eq!(samples.lines().count(), 601);
    assert!(folder.text("x-series.csv").starts_with("time_s,length_s,flow,"));
    folder.says(&["convert", "x.flent.gz", "--to", "json"]);
    let tables: Value = serde_json::from_str(&folder.text("x.json")).unwrap();
    assert_eq!(tables["samples"].as_array().unwrap().len(), 600);
    assert!(folder.refuses(&["convert", "x.flent.gz", "--to", "json"]).contains("--force"));
    folder.says(&["convert", "x.flent.gz", "--to", "json", "--force"]);
    folder.says(&["convert", "x.flent.gz", "--to", "parquet"]);
    for name in ["x-series.parquet", "x-samples.parquet"] {
        let octets = std::fs::read(folder.0.join(name)).unwrap();
        assert!(octets.starts_with(b"PAR1") && octets.ends_with(b"PAR1"), "{name}");
    }
    for form in [&["--to", "har"][..], &["--har"]] {
        let refused = folder.refuses(&[&["convert", "x.flent.gz"], form].concat());
        assert!(refused.contains("no page was loaded"), "{refused}");
    }
}

fn exported(folder: &Folder) -> Value {
    folder.says(&["convert", "x.flent.gz", "--to", "flent", "-o", "y.flent.gz"]);
    let mut text = String::new();
    let octets = std::fs::read(folder.0.join("y.flent.gz")).unwrap();
    GzDecoder::new(octets.as_slice()).read_to_string(&mut text).unwrap();
    serde_json::from_str(&text).unwrap()
}

#[test]
fn what_came_from_flent_goes_back_as_the_same_test() {
    let folder = folder_with_flent_file("back");
    let file = exported(&folder);
    assert_eq!((file["version"].as_u64(), file["metadata"]["NAME"].as_str()), (Some(4), Some("rrul")));
    assert_eq!((file["metadata"]["LENGTH"].as_u64(), file["metadata"]["TOTAL_LENGTH"].as_u64()), (Some(20), Some(30)));
    let length = file["x_values"].as_array().unwrap().len();
    assert!(file["results"].as_object().unwrap().values().all(|values| values.as_array().unwrap().len() == length));
    let first = std::fs::read(folder.0.join("y.flent.gz")).unwrap();
    folder.says(&["convert", "x.flent.gz", "--to", "flent", "-o", "y.flent.gz", "--force"]);
    assert_eq!(first, std::fs::read(folder.0.join("y.flent.gz")).unwrap(), "the same recording gives the same bytes");
}

/// Flent itself, where it is installed: `RRUL_FLENT` names it, or it is in the path.
fn flent() -> Option<PathBuf> {
    let named = std::env::var_os("RRUL_FLENT").map(PathBuf::from);
    let folders = std::env::var_os("PATH").unwrap_or_default();
    let in_path = std::env::split_paths(&folders).map(|folder| folder.join("flent")).find(|path| path.is_file());
    named.or(in_path).filter(|path| path.is_file())
}

#[test]
fn flent_plots_what_is_exported_without_a_warning_and_counts_the_same() {
    let test = "flent_plots_what_is_exported_without_a_warning_and_counts_the_same";
    let Some(flent) = flent() else { return skipped(test, "no flent in the path or in RRUL_FLENT") };
    let folder = folder_with_flent_file("flent");
    let file = exported(&folder);
    for plot in ["all_scaled", "ping_cdf", "totals"] {
        let picture = format!("{plot}.png");
        let output = run(&flent, &folder, &["-i", "y.flent.gz", "-p", plot, "-o", &picture, "-f", "plot"]);
        let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
        if said.contains("matplotlib is missing") {
            return skipped(test, "this flent has no matplotlib");
        }
        assert!(output.status.success() && folder.0.join(&picture).is_file(), "{plot}: {said}");
        assert!(!said.to_lowercase().contains("warning") && !said.to_lowercase().contains("error"), "{plot}: {said}");
    }
    let output = run(&flent, &folder, &["-i", "y.flent.gz", "-f", "summary"]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    for (series, direction) in [("TCP download sum", "down"), ("TCP upload sum", "up")] {
        let line = said.lines().find(|line| line.trim().starts_with(series)).unwrap_or_else(|| panic!("{said}"));
        let mean: f64 = line.split(':').next_back().unwrap().split_whitespace().next().unwrap().parse().unwrap();
        let ours = file["metadata"]["SERIES_META"][series]["MEAN_VALUE"].as_f64().unwrap();
        assert!((mean / ours - 1.0).abs() < 0.01, "{direction}: {mean} by Flent, {ours} by rrul");
    }
}

fn run(flent: &Path, folder: &Folder, arguments: &[&str]) -> Output {
    Command::new(flent).args(arguments).current_dir(&folder.0).env("MPLBACKEND", "agg").output().unwrap()
}
