//! How accurate rrul is: whole measurements over links whose truth is known, one row a figure.
//!
//! `cargo test -p rrul --test beds` runs the beds of the suite, `make accuracy` all of them, and writes docs/accuracy.md;
//! `make accuracy BEDS="fifo step"` renews the sections of these beds and leaves the others as they are.
//! A bed is a link with a plan; its rows hold what the summary says against what the link's log, its settings or the
//! kernel's counters say.
//!
//! ```text
//! cargo test -p rrul --test beds -- [--full] [--bed NAME]... [--write FILE [--mutations FILE]]
//! ```

#![expect(clippy::unwrap_used, reason = "a bed that cannot be made may panic; the panic is its failure")]

mod concerns;
mod counters;
mod document;
mod journal;
mod plans;
#[path = "../faults/quota.rs"]
mod quota;
mod rows;
mod setting;
mod wire;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::process::ExitCode;
use std::sync::Mutex;
use std::time::Instant;

use rows::Rows;

/// How many beds run side by side, of those that can. They mostly wait, and each has network namespaces of its own.
/// One that fails while the machine is disturbed, which may be the others' doing, is measured again alone.
const SIDE_BY_SIDE: usize = 8;

/// A link, what is run over it, and the rows that come of it.
pub(crate) struct Bed {
    /// A word for `--bed`.
    pub(crate) name: &'static str,
    /// What is there to be measured.
    pub(crate) about: &'static str,
    pub(crate) runs: Runs,
    /// Measures.
    pub(crate) run: fn(&mut Rows),
}

/// When a bed runs.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Runs {
    /// With the suite, beside other beds: its packets are few, so that all of them find a processor.
    SideBySide,
    /// With the suite, while nothing else runs. What fails on a disturbed machine is measured again after all others.
    Alone,
    /// In `make accuracy` only.
    InAccuracy,
}

/// The command line.
#[derive(Default)]
struct Arguments {
    full: bool,
    beds: Vec<String>,
    write: Option<PathBuf>,
    /// What scripts/mutations has found.
    mutations: Option<PathBuf>,
}

impl Arguments {
    fn read() -> Self {
        let mut arguments = Self::default();
        let mut words = std::env::args().skip(1);
        while let Some(word) = words.next() {
            match word.as_str() {
                "--full" => arguments.full = true,
                "--bed" => arguments.beds.extend(words.next()),
                "--mutations" => arguments.mutations = words.next().map(PathBuf::from),
                "--write" => arguments.write = words.next().map(PathBuf::from),
                // Options of the usual test harness (--test-threads=1) mean nothing here.
                _ => {}
            }
        }
        arguments
    }

    /// Whether this is a run of the suite, of which some beds run side by side and others are left out.
    fn is_suite(&self) -> bool {
        !self.full && self.beds.is_empty()
    }

    fn includes(&self, bed: &Bed) -> bool {
        if self.is_suite() {
            bed.runs != Runs::InAccuracy
        } else {
            self.full || self.beds.iter().any(|name| name == bed.name)
        }
    }
}

/// What a bed came to. No rows: it cannot run here, which has been reported with the reason.
struct Outcome {
    bed: &'static Bed,
    rows: Option<Rows>,
}

impl Outcome {
    fn passes(&self) -> bool {
        self.rows.as_ref().is_none_or(Rows::all_pass)
    }
}

fn name_of(bed: &Bed) -> String {
    format!("beds::{}", bed.name)
}

/// Measures. No outcome: it failed while this machine was disturbed, and is to be measured again.
fn run(bed: &'static Bed) -> Option<Outcome> {
    let name = name_of(bed);
    let began = Instant::now();
    let mut rows = Rows::default();
    let mut ran = false;
    let whole = std::panic::catch_unwind(AssertUnwindSafe(|| {
        rrul_lab::once_on_a_lab(&name, || {
            ran = true;
            (bed.run)(&mut rows);
            assert!(rows.all_pass(), "{name}: not every row passes");
        })
    }));
    if let Ok(Err(rrul_lab::Disturbed)) = whole {
        print!("\n{name}, to be measured again:\n{rows}");
        return None;
    }
    if whole.is_ok() && !ran {
        return Some(Outcome { bed, rows: None });
    }
    if whole.is_err() && rows.all_pass_so_far() {
        rows.broken();
    }
    let outcome = Outcome { bed, rows: Some(rows) };
    let verdict = if outcome.passes() { "ok" } else { "FAILED" };
    let took = began.elapsed().as_secs_f64();
    println!(
        "\n{}: {}\n{}test {name} ... {verdict} ({took:.0} s)",
        bed.name,
        bed.about,
        outcome.rows.as_ref().map(ToString::to_string).unwrap_or_default()
    );
    Some(outcome)
}

/// Runs these beds side by side; their outcomes, and beds to be measured again.
fn run_beside(beds: Vec<&'static Bed>) -> (Vec<Outcome>, Vec<&'static Bed>) {
    // The longest are among the last in the list: begun first, they end with the others.
    let left = Mutex::new(beds.into_iter().rev());
    let (outcomes, again) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..SIDE_BY_SIDE {
            scope.spawn(|| {
                loop {
                    let Some(bed) = left.lock().unwrap().next() else { break };
                    match run(bed) {
                        Some(outcome) => outcomes.lock().unwrap().push(outcome),
                        None => again.lock().unwrap().push(bed),
                    }
                }
            });
        }
    });
    (outcomes.into_inner().unwrap(), again.into_inner().unwrap())
}

/// Runs these beds one by one, and those that a disturbed machine spoils again when the others are done: it may have become
/// calm. Their outcomes, and beds that could not be measured.
fn run_alone(mut beds: Vec<&'static Bed>) -> (Vec<Outcome>, Vec<&'static Bed>) {
    let mut outcomes = Vec::new();
    for attempt in 1..=rrul_lab::ATTEMPTS {
        beds.retain(|bed| {
            if attempt > 1 {
                rrul_lab::await_calm();
            }
            let outcome = run(bed);
            let again = outcome.is_none();
            outcomes.extend(outcome);
            again
        });
    }
    (outcomes, beds)
}

fn main() -> ExitCode {
    let arguments = Arguments::read();
    let all = || concerns::BEDS.iter().copied().flatten().copied();
    let unknown: Vec<_> = arguments.beds.iter().filter(|name| all().all(|bed| bed.name != **name)).collect();
    if !unknown.is_empty() {
        let known: Vec<_> = all().map(|bed| bed.name).collect();
        eprintln!("no bed {unknown:?}; known: {}", known.join(", "));
        return ExitCode::FAILURE;
    }
    let (included, left): (Vec<_>, Vec<_>) = all().partition(|bed| arguments.includes(bed));
    let beside = |bed: &&'static Bed| arguments.beds.is_empty() && bed.runs == Runs::SideBySide;
    let (beside, alone): (Vec<_>, Vec<_>) = included.into_iter().partition(beside);
    let (mut outcomes, again) = run_beside(beside);
    let (of_alone, unmeasured) = run_alone(alone.into_iter().chain(again).collect());
    outcomes.extend(of_alone);
    outcomes.sort_by_key(|outcome| all().position(|bed| bed.name == outcome.bed.name));
    let failed = outcomes.iter().filter(|outcome| !outcome.passes()).count();
    let (passed, ignored) = (outcomes.len() - failed, if arguments.is_suite() { left.len() } else { 0 });
    if arguments.is_suite() {
        for bed in left {
            println!("test beds::{} ... ignored, a bed of `make accuracy`", bed.name);
        }
    }
    if let Some(path) = &arguments.write {
        let mutations = arguments.mutations.as_ref().map(|path| std::fs::read_to_string(path).unwrap());
        // Beds that were not asked for keep what is there of them.
        let before = std::fs::read_to_string(path).unwrap_or_default();
        let sections: Vec<_> =
            outcomes.iter().filter_map(|outcome| Some((outcome.bed, outcome.rows.as_ref()?))).collect();
        let page = document::document(&sections, mutations.as_deref(), &before);
        std::fs::write(path, page).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
        println!("\nwritten: {}", path.display());
    }
    // What was written of these beds before stands.
    for bed in unmeasured {
        rrul_lab::give_up(&name_of(bed));
    }
    println!(
        "\ntest result: {}. {passed} passed; {failed} failed; {ignored} ignored",
        if failed == 0 { "ok" } else { "FAILED" }
    );
    if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
