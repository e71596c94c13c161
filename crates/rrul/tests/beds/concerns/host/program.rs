//! The program as its users run it: without privileges, and within its budgets of memory, file and time.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rrul_lab::{Lab, Link};
use rrul_model::flow::AddressFamily;
use rrul_model::recording::Recording;
use serde_json::Value;

use crate::rows::Rows;
use crate::wire::Wire;
use crate::{Bed, Runs};

const RRUL: &str = env!("CARGO_BIN_EXE_rrul");

pub(crate) const UNPRIVILEGED: Bed = Bed {
    name: "unprivileged",
    about: "20 Mbit/s each way over veth pairs, and a client that runs as user 65534 without any capability.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let plan = "title = \"everything for a short time\"\nextends = \"rrul\"\n\
            phases = { survey = \"6s\", idle = \"3s\", load = \"12s\", after = \"4s\" }\n";
        let allowed = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_allowed_congestion_control").unwrap();
        let summary = Wire::up("20mbit").unprivileged().measure(plan);
        let list = |name: &str| summary[name].as_array().map_or(usize::MAX, Vec::len);
        rows.equal("R10", "flows that failed", list("failed_flows"), 0);
        rows.equal("R10", "flows that could not run", list("absent_flows"), 0);
        let reasons = summary["validity"]["reasons"].as_array().cloned().unwrap_or_default();
        // A host that stalls for a moment is late without real-time priority, and that is reported; P99 shows whether it kept up.
        let of_host = |reason: &&Value| ["send_late", "packets_skipped"].iter().any(|code| reason["code"] == *code);
        let weighty = reasons.iter().filter(|reason| reason["severity"] != "info" && !of_host(reason));
        let codes: Vec<&str> = weighty.filter_map(|reason| reason["code"].as_str()).collect();
        // Where only the privileged may send with cubic, which the plan asks for, that is reported.
        let expected = if allowed.split_whitespace().any(|name| name == "cubic") { "" } else { "congestion_control" };
        rows.equal("R10", "reasons against the result", codes.join(", "), expected.to_owned());
        let late = summary["send_lateness"]["p99_ns"].as_f64().map(|late| late / 1e6);
        rows.between("R10", "lateness of probes, P99, ms", late, 0, 0.0..=2.0);
        for direction in ["down", "up"] {
            let goodput = summary["goodput"][direction]["sum_bps"].as_f64().map(|bits| bits / 1e6);
            rows.between("R10", format!("goodput {direction}, Mbit/s"), goodput, 20, 17.0..=20.0);
        }
    },
};

pub(crate) const BUDGETS: Bed = Bed {
    name: "budgets",
    about: "The whole `rrul` plan, 20/8 Mbit/s, both families: what it takes of file, memory and time.",
    runs: Runs::InAccuracy,
    run: budgets,
};

fn budgets(rows: &mut Rows) {
    let link = "rtt = \"18ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n[up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"";
    let lab = Lab::up(&Link::from_toml("budgets.toml", link).unwrap(), 1).unwrap();
    let folder = std::env::temp_dir().join(format!("rrul-budgets-{}", std::process::id()));
    std::fs::create_dir_all(&folder).unwrap();
    let file = folder.join("run.rrul");
    let quiet = |words: &[&str]| {
        let mut command = Command::new(RRUL);
        command.args(words).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        command
    };
    let mut server = lab.server().command(quiet(&["server"])).unwrap();
    // The server takes a moment to listen.
    std::thread::sleep(Duration::from_millis(500));
    let address = AddressFamily::ALL.map(|family| lab.server().address(family).to_string()).join(",");
    let run = quiet(&["run", &address, "--plan", "rrul", "-o", file.to_str().unwrap()]);
    let mut client = lab.client().command(run).unwrap();
    let mut most = [0.0_f64; 2];
    while client.try_wait().unwrap().is_none() {
        for (most, child) in most.iter_mut().zip([&client, &server]) {
            *most = most.max(peak_memory(child).unwrap_or(0.0));
        }
        std::thread::sleep(Duration::from_millis(200));
    }
    let _ = server.kill();
    let ended = [client.wait(), server.wait()];
    assert!(ended[0].as_ref().is_ok_and(std::process::ExitStatus::success), "{ended:?}");
    let recording = recording(&file);
    let size = std::fs::metadata(&file).map(|data| data.len() as f64 / 1e6).ok();
    let (summary, show) = show(&file);
    let analysis = quickest(|| drop(rrul_analysis::analyze(&recording)));
    let _ = std::fs::remove_dir_all(&folder);
    rows.between("", "recording, MB", size, "a file to mail", 0.1..=3.0);
    for (name, most) in ["client", "server"].into_iter().zip(most) {
        rows.between("", format!("most memory of the {name}, MB"), Some(most), "a small host", 1.0..=100.0);
    }
    rows.between("", "analysis, the quickest of five, s", Some(analysis), "at once", 0.0..=0.3);
    rows.between("", "rrul show --json in all, the quickest of five, s", Some(show), "at once", 0.0..=0.6);
    let schedules = summary["voip"]["schedules"].as_array().cloned().unwrap_or_default();
    rows.equal("R33", "directions in which voice was sent", schedules.len(), 2);
    for schedule in schedules {
        let late = schedule["send_lateness"]["p99_ns"].as_f64().map(|late| late / 1e6);
        let what = format!("lateness of voice {}, P99, ms", schedule["direction"].as_str().unwrap_or("?"));
        rows.between("R33", what, late, 0, 0.0..=1.0);
    }
}

fn recording(file: &Path) -> Recording {
    let text = zstd::stream::decode_all(std::fs::File::open(file).unwrap()).unwrap();
    Recording::from_lines(std::str::from_utf8(&text).unwrap()).unwrap()
}

/// Megabytes that a process held at most until now.
fn peak_memory(child: &Child) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? * 1024.0 / 1e6)
}

fn show(file: &Path) -> (Value, f64) {
    let mut text = Vec::new();
    let took = quickest(|| text = Command::new(RRUL).args(["show", "--json"]).arg(file).output().unwrap().stdout);
    (serde_json::from_slice(&text).unwrap(), took)
}

/// Seconds that the quickest of five takes: what it needs where nothing else runs.
fn quickest(mut work: impl FnMut()) -> f64 {
    let once = |()| {
        let began = Instant::now();
        work();
        began.elapsed().as_secs_f64()
    };
    [(); 5].map(once).into_iter().fold(f64::INFINITY, f64::min)
}
