//! Whether drawing disturbs measuring: the same test with the screen and with plain lines, in turn, eight times each.
//!
//! What a screen could disturb is when probes leave. Their lateness against their schedule is in every summary; here it is
//! held against that of runs without the screen. On the loopback interface the program, its server and the emulator share
//! the processors, which is worse than any real test. Ends with exit code 1 when a limit is not met.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be made may panic")]
#![allow(dead_code, reason = "modules of tests, of which this uses a part")]

#[path = "../../tests/faults/program.rs"]
mod program;
#[path = "../../tests/terminal/pseudo_terminal.rs"]
mod pseudo_terminal;
#[path = "../../tests/terminal/run.rs"]
mod run;

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use serde_json::Value;

use program::PROGRAM;
use pseudo_terminal::Terminal;
use run::Run;

/// Runs of each kind.
const RUNS: usize = 8;

/// Limit of the added latency of the 99th percentile with the screen, milliseconds: a doubt begins at 2, and a tenth of
/// that is more than the scatter of an idle machine.
const LIMIT: f64 = 0.2;

/// Lateness at the median and at the 99th percentile and the longest, and processor time of rrul; all in milliseconds.
fn figures(run: &Run) -> [f64; 4] {
    let output = Command::new(PROGRAM).arg("show").arg(run.recording()).arg("--json").output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let ms = |value: &Value| value.as_f64().unwrap() / 1e6;
    let lateness = &summary["send_lateness"];
    let client = summary["processor"].as_array().unwrap().iter().find(|entry| entry["host"] == "client").unwrap();
    [ms(&lateness["p50_ns"]), ms(&lateness["p99_ns"]), ms(&lateness["max_ns"]), ms(&client["process_ns"])]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

fn main() -> ExitCode {
    let mut found: BTreeMap<(&str, &str), Vec<[f64; 4]>> = BTreeMap::new();
    for number in 0..RUNS {
        for before in [&[][..], &["setpriv", "--bounding-set=-sys_nice"]] {
            let mut ways: [(&str, &[&str]); 2] = [("screen", &[]), ("lines", &["--plain"])];
            if number % 2 == 1 {
                ways.reverse();
            }
            for (way, arguments) in ways {
                let mut run = Run::start_by(before, Terminal::new(200, 50), "4s", arguments, &[]);
                run.end();
                let priority = if before.is_empty() { "real-time" } else { "ordinary" };
                found.entry((priority, way)).or_default().push(figures(&run));
            }
        }
    }
    println!("| probes at | shown as | late P50 | late P99 | late max | processor time of rrul |");
    for ((priority, way), runs) in &found {
        let [p50, p99, max, time] = [0, 1, 2, 3].map(|place| median(runs.iter().map(|run| run[place]).collect()));
        println!("| {priority} priority | {way} | {p50:.3} ms | {p99:.3} ms | {max:.2} ms | {time:.0} ms |");
    }
    println!();
    let mut met = true;
    for priority in ["real-time", "ordinary"] {
        let p99 = |way| median(found[&(priority, way)].iter().map(|run| run[1]).collect());
        let later = p99("screen") - p99("lines");
        let what = format!("probes at {priority} priority, P99 later with the screen");
        let verdict = if later <= LIMIT { "met" } else { "NOT MET" };
        met &= later <= LIMIT;
        println!("{what:<62} {later:>9.3} ms  limit {LIMIT} {verdict}");
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
