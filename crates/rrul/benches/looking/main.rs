//! How long it takes to look at recordings: charts, the report, comparisons, each as a whole process from a cold start.
//!
//! The recordings are copies of one of the default plan, made over a virtual link first (two minutes). Each ends in the digest of
//! the program that is timed, and comparisons are timed once more without it, as of recordings of another version. Beside them stand
//! the same runs in Flent, where it is on PATH or named by RRUL_FLENT. Ends with exit code 1 when a limit is not met.
//!
//! Limits in seconds are those of a machine on which Flent takes 1.3 s for the overview and 2.9 s for the ECDF. On a
//! slower one they may not be met; what Flent takes in the same run shows, and has limits of its own.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

const PROGRAM: &str = env!("CARGO_BIN_EXE_rrul");

/// How often each is timed; the median counts.
const TIMES: usize = 5;

/// Between two looks at the memory of a process.
const LOOK: Duration = Duration::from_millis(5);

/// What one process took.
#[derive(Debug, Clone, Copy, PartialEq, PartialOrd)]
struct Took {
    seconds: f64,
    /// Most memory that was seen to be resident.
    megabytes: f64,
}

/// What was measured against a limit.
struct Finding {
    what: String,
    measured: f64,
    limit: f64,
    unit: &'static str,
}

fn main() -> ExitCode {
    let folder = std::env::temp_dir().join(format!("rrul-looking-{}", std::process::id()));
    let outcome = fs::create_dir_all(&folder).map_err(|error| error.to_string()).and_then(|()| measure(&folder));
    let _ = fs::remove_dir_all(&folder);
    let findings = match outcome {
        Ok(findings) => findings,
        Err(why) => {
            eprintln!("bench: {why}");
            return ExitCode::from(2);
        }
    };
    println!();
    let mut met = true;
    for Finding { what, measured, limit, unit } in findings {
        let verdict = if measured <= limit { "met" } else { "NOT MET" };
        met &= measured <= limit;
        println!("{what:<62} {measured:>9.3} {unit:<3} limit {limit} {verdict}");
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn measure(folder: &Path) -> Result<Vec<Finding>, String> {
    let one = record(folder)?;
    let copies = |count: usize| -> Result<Vec<PathBuf>, String> {
        let copy = |number: usize| {
            let path = folder.join(format!("copy-{number}.rrul"));
            fs::copy(&one, &path).map_err(|error| error.to_string())?;
            Ok(path)
        };
        (0..count).map(copy).collect()
    };
    let hundred = copies(100)?;
    let rrul = |words: &[&str], files: &[PathBuf]| {
        let mut command = Command::new(PROGRAM);
        command.args(words).args(files).current_dir(folder);
        command
    };
    let seconds =
        |what: &str, took: Took, limit| Finding { what: what.to_owned(), measured: took.seconds, limit, unit: "s" };
    let mut findings = Vec::new();
    let overview = timed(|| rrul(&["plot", "--force", "-o", "overview.svg"], &hundred[..1]))?;
    findings.push(seconds("overview of a recording", overview, 0.3));
    let ecdf = timed(|| rrul(&["plot", "--force", "--chart", "ecdf", "-o", "ecdf.svg"], &hundred[..25]))?;
    findings.push(seconds("ECDF over 25 recordings", ecdf, 0.6));
    let reported = timed(|| rrul(&["report", "--force", "-o", "report.html"], &hundred[..10]))?;
    findings.push(seconds("report of 10 recordings", reported, 2.0));
    let octets = fs::metadata(folder.join("report.html")).map_err(|error| error.to_string())?.len();
    findings.push(Finding { what: "its size".to_owned(), measured: octets as f64 / 1e6, limit: 3.0, unit: "MB" });
    let compared = timed(|| rrul(&["compare"], &hundred))?;
    findings.push(seconds("comparison of 100 recordings", compared, 5.0));
    let memory = compared.megabytes;
    findings.push(Finding { what: "its memory".to_owned(), measured: memory, limit: 500.0, unit: "MB" });
    for recording in &hundred {
        without_digest(recording)?;
    }
    let compared = timed(|| rrul(&["compare"], &hundred))?;
    findings.push(seconds("comparison of 100 recordings of another version", compared, 10.0));
    findings.extend(beside_flent(folder, &one, [overview, ecdf])?);
    Ok(findings)
}

/// Cuts the digest off a recording: its last zstd frame.
fn without_digest(recording: &Path) -> Result<(), String> {
    let octets = fs::read(recording).map_err(|error| error.to_string())?;
    let mut begins = vec![0];
    while let Some(begin) = begins.last().copied().filter(|begin| *begin < octets.len()) {
        let length = zstd::zstd_safe::find_frame_compressed_size(&octets[begin..])
            .map_err(|_| format!("{}: no zstd frame at byte {begin}", recording.display()))?;
        begins.push(begin + length);
    }
    let last = begins[begins.len().saturating_sub(2)];
    let line = zstd::decode_all(&octets[last..]).map_err(|error| error.to_string())?;
    if !line.starts_with(b"{\"digest\":") {
        return Err(format!("{} ends in no digest", recording.display()));
    }
    fs::write(recording, &octets[..last]).map_err(|error| error.to_string())
}

/// A recording of the default plan over one family.
fn record(folder: &Path) -> Result<PathBuf, String> {
    println!("recording the default plan over a virtual link");
    let path = folder.join("one.rrul");
    let words =
        ["lab", "run", "--link", "cable_20_8_fq_codel", "--", PROGRAM, "run", "10.78.0.2", "--family", "4", "-o"];
    let status = Command::new(PROGRAM).args(words).arg(&path).stdout(Stdio::null()).stderr(Stdio::null()).status();
    let code = status.map_err(|error| error.to_string())?.code();
    // A doubt about the line is none about the time that it takes to draw it.
    if matches!(code, Some(0 | 1)) && path.is_file() {
        Ok(path)
    } else {
        Err("the recording could not be made".to_owned())
    }
}

/// The median by time of several runs of a command, after one that is not counted.
fn timed(command: impl Fn() -> Command) -> Result<Took, String> {
    let mut all = Vec::new();
    for _ in 0..=TIMES {
        all.push(once(command())?);
    }
    let mut counted = all.split_off(1);
    counted.sort_by(|one, other| one.seconds.total_cmp(&other.seconds));
    Ok(counted[TIMES / 2])
}

fn once(mut command: Command) -> Result<Took, String> {
    // A doubt, of rrul; of others, a failure.
    let worst = i32::from(command.get_program() == PROGRAM);
    let words = format!("{command:?}").chars().take(160).collect::<String>();
    let begun = Instant::now();
    let mut child =
        command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().map_err(|error| format!("{words}: {error}"))?;
    let status = format!("/proc/{}/status", child.id());
    let mut most = 0.0_f64;
    loop {
        let known = fs::read_to_string(&status).unwrap_or_default();
        let peak = known.lines().find_map(|line| line.strip_prefix("VmHWM:"));
        let kilobytes = peak.and_then(|rest| rest.trim().strip_suffix(" kB")?.trim().parse::<f64>().ok());
        most = most.max(kilobytes.unwrap_or(0.0) * 1024.0 / 1e6);
        match child.try_wait().map_err(|error| error.to_string())? {
            Some(status) if status.code().is_some_and(|code| code <= worst) => {
                return Ok(Took { seconds: begun.elapsed().as_secs_f64(), megabytes: most });
            }
            Some(status) => return Err(format!("{words}: {status}")),
            None => std::thread::sleep(LOOK),
        }
    }
}

/// The same in Flent, of the same runs as it would have recorded them: the part of its time that ours is.
fn beside_flent(folder: &Path, one: &Path, ours: [Took; 2]) -> Result<Vec<Finding>, String> {
    let flent = std::env::var("RRUL_FLENT").unwrap_or_else(|_| "flent".to_owned());
    if Command::new(&flent).arg("--version").stdout(Stdio::null()).stderr(Stdio::null()).status().is_err() {
        println!("no Flent on PATH or in RRUL_FLENT: its times are left out");
        return Ok(Vec::new());
    }
    let converted = folder.join("one.flent.gz");
    let mut convert = Command::new(PROGRAM);
    convert.args(["convert", "--to", "flent", "-o"]).arg(&converted).arg(one);
    once(convert)?;
    let files: Vec<PathBuf> = (0..25).map(|number| folder.join(format!("copy-{number}.flent.gz"))).collect();
    for file in &files {
        fs::copy(&converted, file).map_err(|error| error.to_string())?;
    }
    let plot = |plot: &str, files: &[PathBuf]| {
        let mut command = Command::new(&flent);
        command.args(["-p", plot, "-o", "flent.svg"]).args(files).current_dir(folder);
        command
    };
    let mut findings = Vec::new();
    for (what, chart, files, ours, limit) in [
        ("overview", "all_scaled", &files[..1], ours[0], 0.3 / 1.3_f64),
        ("ECDF over 25", "ping_cdf", &files[..], ours[1], 0.6 / 2.9_f64),
    ] {
        let theirs = timed(|| plot(chart, files))?;
        let part = 100.0 * ours.seconds / theirs.seconds;
        let what = format!("{what}, of the {:.2} s that Flent's {chart} takes", theirs.seconds);
        findings.push(Finding { what, measured: part, limit: (100.0 * limit).round(), unit: "%" });
    }
    Ok(findings)
}
