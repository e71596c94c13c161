//! rrul beside its peers on an unshaped veth pair: processor time of bulk load, round trip and punctuality of probes.
//!
//! Each figure is beside a peer or a limit taken in the same run, as machines differ and are noisy. Needs root,
//! `ip`, `iperf3` and `ping`. Ends with exit code 1 when a limit is not met.

mod bed;
mod bulk;
mod probes;

use std::process::ExitCode;

/// What was measured against a limit.
struct Finding {
    what: &'static str,
    measured: f64,
    limit: f64,
    unit: &'static str,
}

fn main() -> ExitCode {
    if let Some(missing) = bed::missing() {
        eprintln!("bench: {missing}");
        return ExitCode::from(2);
    }
    let bed = bed::Bed::new();
    let mut findings = bulk::measure(&bed);
    findings.extend(probes::measure(&bed));
    // Last, as the client refuses a server without a key once that has shown one.
    findings.push(bulk::encrypted(&bed));
    findings.extend(probes::authenticated(&bed));
    println!();
    let mut met = true;
    for Finding { what, measured, limit, unit } in findings {
        let verdict = if measured <= limit { "met" } else { "NOT MET" };
        met &= measured <= limit;
        println!("{what:<62} {measured:>9.3} {unit:<3} limit {limit} {verdict}");
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
