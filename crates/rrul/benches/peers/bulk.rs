//! Processor time of four streams each way, both ends together, for each gigabyte that arrives.

use std::process::Stdio;

use serde_json::Value;

use crate::Finding;
use crate::bed::{Bed, SERVER_ADDRESS, Served, children_time};

const SECONDS: f64 = 6.0;
const ROUNDS: usize = 5;
const ENCRYPTED_ROUNDS: usize = 3;

const PLAN: &str = r#"
title = "four streams each way, nothing else"
overhead = "none"
phases = { load = "6s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
count = 4
each.direction = ["up", "down"]
"#;

struct Round {
    gigabytes: f64,
    seconds: f64,
}

impl Round {
    fn cost(&self) -> f64 {
        self.seconds / self.gigabytes
    }
}

pub(crate) fn measure(bed: &Bed) -> Vec<Finding> {
    println!("# four streams each way, {SECONDS} s: processor seconds of both ends for each GB received");
    let mut ratios = Vec::new();
    for round in 1..=ROUNDS {
        let (ours, theirs) = (rrul(bed), iperf3(bed));
        println!(
            "round {round}: rrul {:.4} s/GB ({:.1} GB)   iperf3 {:.4} s/GB ({:.1} GB)   ratio {:.2}",
            ours.cost(),
            ours.gigabytes,
            theirs.cost(),
            theirs.gigabytes,
            ours.cost() / theirs.cost()
        );
        ratios.push(ours.cost() / theirs.cost());
    }
    ratios.sort_by(f64::total_cmp);
    vec![Finding {
        what: "processor time per GB, rrul to iperf3, median",
        measured: ratios[ROUNDS / 2],
        limit: 0.4,
        unit: "",
    }]
}

/// The load is not encrypted in an encrypted test: it costs what it costs in a plain one.
pub(crate) fn encrypted(bed: &Bed) -> Finding {
    println!("\n# the same load in plain and encrypted tests, in turns");
    let server = bed.rrul_server_with_key();
    let mut costs = [("never", f64::INFINITY), ("always", f64::INFINITY)];
    for _ in 0..ENCRYPTED_ROUNDS {
        for (encrypt, least) in &mut costs {
            *least = least.min(round(bed, &server, &["--encrypt", encrypt]).cost());
        }
    }
    let [(_, plain), (_, encrypted)] = costs;
    println!("least of {ENCRYPTED_ROUNDS}: plain {plain:.4} s/GB, encrypted {encrypted:.4} s/GB");
    Finding {
        what: "processor time per GB, encrypted test to plain, least of each",
        measured: encrypted / plain,
        limit: 1.1,
        unit: "",
    }
}

fn rrul(bed: &Bed) -> Round {
    round(bed, &bed.rrul_server(), &[])
}

fn round(bed: &Bed, server: &Served, options: &[&str]) -> Round {
    let before = server.processor_time();
    let (summary, client) = bed.rrul_run_with(PLAN, &[], options);
    let rate = |direction: &str| summary["goodput"][direction]["sum_bps"].as_f64().unwrap_or(0.0);
    let gigabytes = (rate("up") + rate("down")) * SECONDS / 8e9;
    Round { gigabytes, seconds: client + server.processor_time() - before }
}

fn iperf3(bed: &Bed) -> Round {
    let mut command = bed.at_server("iperf3");
    command.args(["--server", "--port", "5299"]);
    let server = Bed::serve(command, 5299);
    let before = server.processor_time();
    let mut command = bed.at_client("iperf3");
    command.args(["--client", SERVER_ADDRESS, "--port", "5299", "--bidir", "--parallel", "4", "--congestion", "cubic"]);
    command.args(["--time", &SECONDS.to_string(), "--json"]).stderr(Stdio::null());
    let at_start = children_time();
    let output = command.output().expect("iperf3 runs");
    let client = children_time() - at_start;
    let report: Value = serde_json::from_slice(&output.stdout).expect("iperf3 reports in JSON");
    let octets = |sum: &str| report["end"][sum]["bytes"].as_f64().unwrap_or(0.0);
    let gigabytes = (octets("sum_received") + octets("sum_received_bidir_reverse")) / 1e9;
    Round { gigabytes, seconds: client + server.processor_time() - before }
}
