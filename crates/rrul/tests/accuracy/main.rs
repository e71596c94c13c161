//! How near rrul comes to the truth: whole measurements over links whose truth is known, one row a figure.
//!
//! `cargo test -p rrul --test accuracy` runs the quick beds, `make accuracy` all of them, and writes docs/accuracy.md;
//! `make accuracy BEDS="fifo step"` renews the sections of these beds and leaves the others as they are.
//! A bed is a link with a plan; its rows hold what the summary says against what the link's log, its settings or the
//! kernel's counters say.
//!
//! ```text
//! cargo test -p rrul --test accuracy -- [--full] [--bed NAME]... [--write FILE [--mutations FILE]]
//! ```

#![expect(clippy::unwrap_used, reason = "a bed that cannot be made may panic; the panic is its failure")]

mod bed;
mod beds;
mod counters;
mod document;
mod journal;
mod plans;
#[path = "../faults/quota.rs"]
mod quota;
mod rows;
mod wire;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Instant;

use rows::Rows;

/// A link, what is run over it, and the rows that come of it.
pub(crate) struct Bed {
    /// A word for `--bed`.
    pub(crate) name: &'static str,
    /// What is there to be measured.
    pub(crate) about: &'static str,
    /// Whether it belongs to the quick ones, which run with every other test.
    pub(crate) quick: bool,
    /// Measures.
    pub(crate) run: fn(&mut Rows),
}

/// What was asked for on the command line.
#[derive(Default)]
struct Asked {
    full: bool,
    beds: Vec<String>,
    write: Option<PathBuf>,
    /// What scripts/mutations has found.
    mutations: Option<PathBuf>,
}

impl Asked {
    fn read() -> Self {
        let mut asked = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => asked.full = true,
                "--bed" => asked.beds.extend(words.next()),
                "--mutations" => asked.mutations = words.next().map(PathBuf::from),
                "--write" => asked.write = words.next().map(PathBuf::from),
                // Options of the usual test harness (--test-threads=1) mean nothing here: one bed runs at a time.
                _ => {}
            }
        }
        asked
    }

    fn wants(&self, bed: &Bed) -> bool {
        if self.beds.is_empty() { self.full || bed.quick } else { self.beds.iter().any(|name| name == bed.name) }
    }
}

fn main() -> ExitCode {
    let asked = Asked::read();
    let unknown: Vec<_> = asked.beds.iter().filter(|name| beds::BEDS.iter().all(|bed| bed.name != **name)).collect();
    if !unknown.is_empty() {
        let known: Vec<_> = beds::BEDS.iter().map(|bed| bed.name).collect();
        eprintln!("no bed {unknown:?}; known: {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let mut sections = Vec::new();
    let (mut passed, mut failed) = (0, 0);
    for bed in beds::BEDS.iter().filter(|bed| asked.wants(bed)) {
        let name = format!("accuracy::{}", bed.name);
        println!("\n{}: {}", bed.name, bed.about);
        let began = Instant::now();
        let mut rows = Rows::default();
        let mut ran = false;
        let whole = std::panic::catch_unwind(AssertUnwindSafe(|| {
            rrul_lab::on_a_lab(&name, || {
                (ran, rows) = (true, Rows::default());
                (bed.run)(&mut rows);
                assert!(rows.all_pass(), "not every row holds");
            });
        }));
        if whole.is_ok() && !ran {
            // That it was skipped, and why, has been said.
            passed += 1;
            continue;
        }
        if whole.is_err() && rows.all_pass_so_far() {
            rows.broken();
        }
        let good = rows.all_pass();
        if good {
            passed += 1;
        } else {
            failed += 1;
        }
        println!("test {name} ... {} ({:.0} s)", if good { "ok" } else { "FAILED" }, began.elapsed().as_secs_f64());
        sections.push((bed, rows));
    }
    if let Some(path) = &asked.write {
        let mutations = asked.mutations.as_ref().map(|path| std::fs::read_to_string(path).unwrap());
        // Beds that were not asked for keep what is there of them.
        let before = std::fs::read_to_string(path).unwrap_or_default();
        let page = document::document(&sections, mutations.as_deref(), &before);
        std::fs::write(path, page).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("\nwritten: {}", path.display());
    }
    println!(
        "\ntest result: {}. {passed} passed; {failed} failed; 0 ignored",
        if failed == 0 { "ok" } else { "FAILED" }
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
