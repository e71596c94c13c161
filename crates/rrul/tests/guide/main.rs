//! The commands of README.md and of the handbook, executed: their output is the output on the page.
//!
//! Fences of a page:
//!
//! - `console`: lines after `$ ` are commands, the others are their output. `...` on a line of its own stands for any lines.
//! - `console,measured`: the same for commands that measure, over a virtual link and with short phases. Each number stands for
//!   any number. Afterwards the recordings are replaced by those of docs/guide/recordings, so that later fences show figures of a
//!   whole test.
//! - `console,archive`: as `console` by a program with feature `archive` (`make archive-test`), and passed over otherwise.
//! - `console,ignore`: not executed. The comment before it gives the reason: `<!-- not executed: needs a router -->`.
//! - `sh`: not executed; options of `rrul` are checked.
//!
//! Inline code that begins with `--plan ` must be options that `rrul run` accepts.
//!
//! `RRUL_GOLDEN=write cargo test -p rrul --test guide` writes the output of `console` fences without `...` into the pages.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod fence;
mod shape;

#[path = "../faults/program.rs"]
#[allow(dead_code, reason = "this program uses its own share of it")]
mod program;

use std::fs;
use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use fence::{Fence, Kind, Step, fences, inline_code};
use program::{Folder, PROGRAM, end_of};
use shape::{Numbers, difference};

/// `rrul` for the commands of a page. A test is shortened, and a server ends after a second.
const SHORTENED: &str = r#"#!/bin/sh
case "$1" in
run) exec "$RRUL_PROGRAM" "$@" --set survey=0s --set idle=1s --set load=2s --set web=0s --set after=1s --set after_at_most=1s ;;
server) exec timeout --foreground --preserve-status --signal INT 1 "$RRUL_PROGRAM" "$@" --port 0 ;;
*) exec "$RRUL_PROGRAM" "$@" ;;
esac
"#;

/// Folders of the repository that a command may name.
const FOLDERS: [&str; 4] = ["docs", "gallery", "links", "plans"];

fn repository() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").canonicalize().unwrap()
}

fn text_of(page: &str) -> String {
    fs::read_to_string(repository().join(page)).unwrap()
}

/// A folder in which the commands of a page run, with the recordings of the handbook.
struct Scratch(Folder);

impl Scratch {
    fn new() -> Self {
        let scratch = Self(Folder::new());
        fs::create_dir(scratch.0.file("bin")).unwrap();
        scratch.0.write("bin/rrul", SHORTENED);
        fs::set_permissions(scratch.0.file("bin/rrul"), fs::Permissions::from_mode(0o755)).unwrap();
        for name in FOLDERS {
            symlink(repository().join(name), scratch.0.file(name)).unwrap();
        }
        scratch.provide_recordings();
        scratch
    }

    fn provide_recordings(&self) {
        for entry in fs::read_dir(repository().join("docs/guide/recordings")).unwrap() {
            let path = entry.unwrap().path();
            if path.extension().is_some_and(|ending| ending == "rrul") {
                fs::copy(&path, self.0.file(path.file_name().unwrap().to_str().unwrap())).unwrap();
            }
        }
    }

    fn remove_recordings(&self) {
        for name in self.0.recordings() {
            fs::remove_file(self.0.file(&name)).unwrap();
        }
    }

    /// What a command prints, and its exit code.
    fn run(&self, command: &str) -> (String, Option<i32>) {
        let mut shell = Command::new("sh");
        let path = format!("{}:{}", self.0.file("bin").display(), std::env::var("PATH").unwrap_or_default());
        shell.args(["-c", &format!("{{ {command}\n}} 2>&1")]).current_dir(self.0.path());
        shell.env("PATH", path).env("RRUL_PROGRAM", PROGRAM).env("XDG_RUNTIME_DIR", self.0.path()).env("NO_COLOR", "1");
        let ended = end_of(shell);
        (ended.stdout, ended.code)
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // A page that failed may have left its lab up.
        self.run("rrul lab down");
    }
}

/// Other lines for a page, in place of so many from the one with this number.
struct Edit {
    line: usize,
    count: usize,
    text: String,
}

impl Edit {
    /// What a command printed, in place of what the page shows.
    fn of_output(fence: &Fence, step: &Step, printed: &str) -> Self {
        let indent = " ".repeat(fence.indent);
        let text =
            printed.trim_end().lines().map(|line| format!("{indent}{line}").trim_end().to_owned() + "\n").collect();
        Self { line: step.output_line, count: step.output.len(), text }
    }
}

/// Writes a page with other lines, whose numbers ascend.
fn rewrite(page: &str, edits: &[Edit]) {
    let mut lines: Vec<String> = text_of(page).split_inclusive('\n').map(str::to_owned).collect();
    for Edit { line, count, text } in edits.iter().rev() {
        lines.splice(line - 1..line - 1 + count, [text.clone()]);
    }
    fs::write(repository().join(page), lines.concat()).unwrap();
}

/// Fails unless a command prints what the page shows. Exit code 1 is a doubtful result, which a page may show.
fn check_step(page: &str, fence: &Fence, step: &Step, scratch: &Scratch, numbers: Numbers) -> Option<Edit> {
    let (printed, code) = scratch.run(&step.command);
    assert!(matches!(code, Some(0 | 1)), "{page}:{}: $ {}\nended with {code:?}:\n{printed}", step.line, step.command);
    let whole = fence.kind != Kind::Measured && !step.output.iter().any(|line| line == shape::ELISION);
    if whole && std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        return Some(Edit::of_output(fence, step, &printed));
    }
    if let Some(difference) = difference(&step.output, &printed, numbers) {
        panic!("{page}:{}: $ {}\n{difference}\n\nprinted:\n{printed}", step.line, step.command);
    }
    None
}

/// Fails unless `rrul` knows the options of a command that is not executed.
fn check_options(page: &str, fence: &Fence, scratch: &Scratch) {
    for (line, text) in fence.lines() {
        let command = text.trim_start_matches("$ ").split(" #").next().unwrap_or_default().trim();
        // What follows these is another command.
        let is_whole = !command.contains(" exec ") && !command.contains(" -- ");
        let is_built_in = cfg!(feature = "cluster") || !command.starts_with("rrul archive ");
        if command.starts_with("rrul ") && is_whole && is_built_in {
            let (printed, code) = scratch.run(&format!("\"$RRUL_PROGRAM\" {} --help", &command["rrul ".len()..]));
            assert_eq!(code, Some(0), "{page}:{line}: {command}\n{printed}");
        }
    }
}

/// Fails unless `rrul` accepts the plans and settings that a page names in its text. Nothing listens on port 1.
fn check_plans(page: &str, text: &str, scratch: &Scratch) {
    for (line, options) in inline_code(text, "--plan ") {
        let (printed, code) = scratch.run(&format!("\"$RRUL_PROGRAM\" run 127.0.0.1:1 {options}"));
        assert_eq!(code, Some(2), "{page}:{line}: {options}\n{printed}");
        assert!(printed.contains("connection refused"), "{page}:{line}: {options}\n{printed}");
    }
}

/// Executes the commands of a page.
fn check(page: &str) {
    let scratch = Scratch::new();
    check_plans(page, &text_of(page), &scratch);
    let mut edits = Vec::new();
    for fence in fences(page, &text_of(page)) {
        match fence.kind {
            Kind::Archive if !cfg!(feature = "archive") => {}
            Kind::Exact | Kind::Archive => {
                edits.extend(
                    fence.steps().iter().filter_map(|step| check_step(page, &fence, step, &scratch, Numbers::Exact)),
                );
            }
            Kind::Measured => {
                if rrul_lab::lab_available_for(page) {
                    scratch.remove_recordings();
                    for step in fence.steps() {
                        check_step(page, &fence, &step, &scratch, Numbers::Any);
                    }
                }
                scratch.remove_recordings();
                scratch.provide_recordings();
            }
            Kind::NotExecuted => check_options(page, &fence, &scratch),
        }
    }
    if !edits.is_empty() {
        rewrite(page, &edits);
    }
}

#[test]
fn readme() {
    check("README.md");
}

#[test]
fn is_my_line_bloated() {
    check("docs/guide/bloated.md");
}

#[test]
fn fix_it_with_sqm() {
    check("docs/guide/sqm.md");
}

#[test]
fn read_an_rrul_chart() {
    check("docs/guide/chart.md");
}

#[test]
fn run_a_lab_experiment() {
    check("docs/guide/experiment.md");
}

#[test]
fn run_a_server() {
    check("docs/guide/server.md");
}

#[test]
fn watch_a_line() {
    check("docs/guide/monitor.md");
}

#[test]
fn ask_many_runs() {
    check("docs/guide/archive.md");
}

#[test]
fn from_flent_to_rrul() {
    check("docs/guide/flent.md");
}

#[test]
fn every_page_of_the_handbook_is_checked() {
    let source = include_str!("main.rs");
    let mut pages: Vec<String> = fs::read_dir(repository().join("docs/guide"))
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "md"))
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    pages.sort();
    assert!(!pages.is_empty());
    for page in pages {
        assert!(source.contains(&format!("check(\"docs/guide/{page}\")")), "docs/guide/{page} has no test here");
    }
}

#[test]
fn a_wrong_word_fails() {
    let page = "```console\n$ echo one two; echo three\none two\nthree\n```\n";
    let scratch = Scratch::new();
    let verdict = |text: &str, numbers| {
        let fence = fences("page.md", text).remove(0);
        let step = fence.steps().remove(0);
        difference(&step.output, &scratch.run(&step.command).0, numbers)
    };
    assert_eq!(verdict(page, Numbers::Exact), None);
    assert_eq!(verdict(&page.replace("\nthree\n", "\n...\n"), Numbers::Exact), None);
    let wrong = verdict(&page.replace("\none two", "\none too"), Numbers::Exact).unwrap();
    assert!(wrong.contains("one too"), "{wrong}");
    assert!(verdict(&page.replace("\nthree\n", "\n"), Numbers::Exact).unwrap().contains("three"));
    assert!(verdict(&page.replace("\nthree\n", "\nthree\nfour\n"), Numbers::Any).unwrap().contains("four"));
}
