//! `rrul report` as a user meets it: the file, and the page in a browser.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

#[path = "faults/program.rs"]
#[allow(dead_code, reason = "this file uses its own share of it")]
mod program;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;

use program::{Folder, Server, end_of, rrul, skipped};

/// A title that would be a script in a page that does not take care.
const TITLE: &str = "</script><img src=x onerror=alert(1)>";

/// Six seconds with streams of two classes each way, probes and echo requests.
const PLAN: &str = r#"
title = "a short test"
phases = { idle = "1s", load = "4s", after = "1s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
pacing_rate = "10Mbit/s"
each.direction = ["up", "down"]
each.class = ["BE", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["BE", "EF"]
[flow.echo]
type = "icmp_echo"
component = "realtime"
"#;

/// A recording that all tests here share: a real one, over the loopback interface.
fn recording() -> &'static [u8] {
    static RECORDING: OnceLock<Vec<u8>> = OnceLock::new();
    RECORDING.get_or_init(|| {
        let server = Server::start(&[]);
        let folder = Folder::new();
        folder.write("short.toml", PLAN);
        let arguments = ["run", &server.name(), "--plan", "short.toml", "--family", "4", "--title", TITLE, "-o", "out"];
        let ended = end_of(rrul(&folder, &arguments));
        fs::read(folder.file("out.rrul")).unwrap_or_else(|error| panic!("{error}: {ended:#?}"))
    })
}

/// A folder with the recording, whole and cut short.
fn recorded() -> Folder {
    let folder = Folder::new();
    folder.write("whole.rrul", recording());
    folder.write("killed.rrul.part", &recording()[..recording().len() * 6 / 10]);
    folder
}

fn run(folder: &Folder, arguments: &[&str]) -> Output {
    rrul(folder, arguments).output().unwrap()
}

/// The page that this makes; whether its run is doubtful is another matter.
#[track_caller]
fn page(folder: &Folder, arguments: &[&str], name: &str) -> String {
    let output = run(folder, &[&["report"], arguments].concat());
    assert!(matches!(output.status.code(), Some(0 | 1)), "{output:?}");
    assert!(output.stderr.is_empty(), "{output:?}");
    assert_eq!(String::from_utf8_lossy(&output.stdout), format!("report: {name}\n"));
    fs::read_to_string(folder.file(name)).unwrap()
}

#[test]
fn the_page_is_named_after_the_recording_and_never_written_over_another_file() {
    let folder = recorded();
    let first = page(&folder, &["whole.rrul"], "whole.html");
    let refused = run(&folder, &["report", "whole.rrul"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("--force"), "{refused:?}");
    assert_eq!(page(&folder, &["whole.rrul", "--force"], "whole.html"), first, "the same recording, the same page");
}

#[test]
fn what_is_no_recording_is_refused_and_leaves_nothing() {
    let folder = recorded();
    folder.write("letter.rrul", "Dear Sir or Madam");
    let refused = run(&folder, &["report", "whole.rrul", "letter.rrul", "-o", "page.html"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("letter.rrul"), "{refused:?}");
    assert!(!folder.file("page.html").exists());
}

#[test]
fn a_run_says_what_it_lacks() {
    let page = page(&recorded(), &["whole.rrul"], "whole.html");
    for said in ["<strong>IPv6</strong>: not measured: ", "<strong>Web pages</strong>: not measured: not in plan short"]
    {
        assert!(page.contains(said), "{said}");
    }
    assert!(page.contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"));
}

#[test]
fn a_run_that_was_killed_has_a_whole_page_that_says_so() {
    let page = page(&recorded(), &["killed.rrul.part", "-o", "killed.html"], "killed.html");
    assert!(page.contains("<strong>The rest of the run</strong>: not measured: the recording is not complete"));
    assert!(page.contains("Round-trip delay of UDP probes") && page.contains("</html>"));
}

#[test]
fn a_file_of_another_program_has_a_page_as_far_as_it_goes() {
    let folder = recorded();
    let converted = run(&folder, &["convert", "whole.rrul", "--to", "flent", "-o", "other.flent.gz"]);
    assert!(converted.status.success(), "{converted:?}");
    let page = page(&folder, &["other.flent.gz"], "other.html");
    for said in ["measured by", "<strong>Web pages</strong>: not measured: the file of ", "Round-trip delay"] {
        assert!(page.contains(said), "{said}");
    }
}

#[test]
fn a_folder_is_shown_by_date_and_by_hour() {
    let folder = recorded();
    fs::create_dir_all(folder.file("home/recordings")).unwrap();
    for name in ["1.rrul", "2.rrul"] {
        folder.write(&format!("home/recordings/{name}"), recording());
    }
    folder.write("home/recordings/damaged.rrul", "no recording");
    let output = run(&folder, &["report", "--since", "2days", "home"]);
    assert_eq!(output.status.code(), Some(0), "{output:?}");
    assert!(String::from_utf8_lossy(&output.stderr).contains("left out: home/recordings/damaged.rrul"), "{output:?}");
    let page = fs::read_to_string(folder.file("home.html")).unwrap();
    for said in ["home: 2 runs, ", "By date and by hour of day", "goodput down"] {
        assert!(page.contains(said), "{said}");
    }
    // On a busy machine these runs are invalid, and are not drawn.
    assert_eq!(page.matches("data-drawing=").count() + page.matches("No chart ").count(), 2);
    let refused = run(&folder, &["report", "--since", "1ms", "home", "--force"]);
    assert_eq!(refused.status.code(), Some(2), "{refused:?}");
    assert!(String::from_utf8_lossy(&refused.stderr).contains("a longer time with --since"), "{refused:?}");
}

#[test]
fn the_page_works_in_a_browser() {
    let test = "the_page_works_in_a_browser";
    let Some(chromium) = browser() else { return skipped(test, "no Chromium on the PATH") };
    let web = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../web");
    if !web.join("node_modules/playwright-core").exists() {
        return skipped(test, "web/node_modules has no playwright-core; run npm ci in web/");
    }
    if Command::new("node").arg("--version").output().is_err() {
        return skipped(test, "no node on the PATH");
    }
    let folder = recorded();
    folder.write("again.rrul", recording());
    page(&folder, &["whole.rrul", "-o", "one.html"], "one.html");
    page(&folder, &["whole.rrul", "again.rrul", "-o", "two.html"], "two.html");
    page(&folder, &["killed.rrul.part", "-o", "partial.html"], "partial.html");
    let output = Command::new("node")
        .args(["--test", "--test-reporter=spec", "tests/report.test.mjs"])
        .current_dir(&web)
        .env("RRUL_CHROMIUM", chromium)
        .env("RRUL_ONE", folder.file("one.html"))
        .env("RRUL_TWO", folder.file("two.html"))
        .env("RRUL_PARTIAL", folder.file("partial.html"))
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    println!("{said}");
}

/// The browser, if installed.
fn browser() -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let names = ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome"];
    let places: Vec<PathBuf> = std::env::split_paths(&path).collect();
    places.iter().flat_map(|folder| names.iter().map(|name| folder.join(name))).find(|path| path.is_file())
}
