//! What path traces cost: the same test over a virtual link of four routers with traces and without, in turn, five times each.
//!
//! Held against limits: by the added lateness of probes, processor time of both ends, and what packets and answers take
//! of the slower direction. Ends with exit code 1 when a limit is not met.
#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be made may panic")]
#![allow(dead_code, reason = "modules of tests, of which this uses a part")]

#[path = "../../tests/faults/program.rs"]
mod program;

use std::collections::BTreeMap;
use std::process::{Command, ExitCode};

use serde_json::Value;

use program::{Folder, PROGRAM};

/// Runs of each kind.
const RUNS: usize = 5;

/// Limit of the added latency of the 99th percentile, milliseconds: a tenth of where a doubt begins, more than the
/// scatter of an idle machine.
const LATER: f64 = 0.2;

/// Processor time, of one core.
const PROCESSOR: f64 = 0.01;

/// Of the rate of the slower direction.
const SHARE: f64 = 0.01;

const SLOWER_BPS: f64 = 2e6;
const LINK: &str = "# Four routers, the upload queue behind the second
rtt = \"20ms\"
[up]
rate = \"2Mbit/s\"
queue = { discipline = \"pfifo\", limit = \"30p\" }
[down]
rate = \"10Mbit/s\"
queue = { discipline = \"pfifo\", limit = \"100p\" }
[path]
hops = 4
up_queue_after = 2
down_queue_after = 3
";

const SECONDS: f64 = 15.0;
const PLAN: &str = "title = \"traces, or none\"
overhead = \"none\"
phases = { idle = \"3s\", load = \"10s\", after = \"2s\" }
[parameters]
path = [\"flow.path.enabled\"]
[flow.bulk]
type = \"bulk_tcp\"
component = \"load\"
during = [\"load\"]
each.direction = [\"up\", \"down\"]
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
each.class = [\"BE\", \"EF\"]
[flow.path]
type = \"path_trace\"
component = \"analysis\"
each.direction = [\"up\", \"down\"]
";

/// What one run says: lateness at the median and at the 99th percentile, milliseconds; processor time of client and server,
/// of one core; what traces take upwards and downwards under load, of the slower direction.
type Figures = [f64; 6];

fn run(before: &[&str], path: &str) -> Figures {
    let folder = Folder::new();
    folder.write("link.toml", LINK);
    folder.write("plan.toml", PLAN);
    let mut words: Vec<&str> = before.to_vec();
    words.extend([PROGRAM, "lab", "run", "--link", "link.toml", "--", PROGRAM, "run", "10.78.0.2,fd78::2"]);
    words.extend(["--plan", "plan.toml", "--set", path, "--plain", "-o", "run.rrul"]);
    let ended = Command::new(words[0]).args(&words[1..]).current_dir(folder.path()).output().unwrap();
    assert!(folder.path().join("run.rrul").exists(), "{}", String::from_utf8_lossy(&ended.stderr));
    let output = Command::new(PROGRAM).arg("show").arg(folder.path().join("run.rrul")).arg("--json").output().unwrap();
    let summary: Value = serde_json::from_slice(&output.stdout).unwrap();
    let number = |value: &Value| value.as_f64().unwrap();
    assert!(summary["partial"].is_null() || summary["partial"] == false, "a run that did not come to its end");
    let lateness = &summary["send_lateness"];
    let processor = |host: &str| {
        let hosts = summary["processor"].as_array().unwrap();
        number(&hosts.iter().find(|entry| entry["host"] == host).unwrap()["process_ns"]) / 1e9 / SECONDS
    };
    let share = |direction: &str| {
        let account = &summary["link_octets"]["load"][direction]["all"];
        number(&account["parts_octets"]["survey"]) * number(&account["carried_bps"])
            / number(&account["carried_octets"])
            / SLOWER_BPS
    };
    [
        number(&lateness["p50_ns"]) / 1e6,
        number(&lateness["p99_ns"]) / 1e6,
        processor("client"),
        processor("server"),
        share("up"),
        share("down"),
    ]
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    f64::midpoint(values[(values.len() - 1) / 2], values[values.len() / 2])
}

fn main() -> ExitCode {
    let mut found: BTreeMap<(&str, &str), Vec<Figures>> = BTreeMap::new();
    for number in 0..RUNS {
        for (priority, before) in
            [("real-time", &[][..]), ("ordinary", &["setpriv", "--bounding-set=-sys_nice", "--inh-caps=-sys_nice"])]
        {
            let mut ways = [("with", "path=true"), ("without", "path=false")];
            if number % 2 == 1 {
                ways.reverse();
            }
            for (way, path) in ways {
                found.entry((priority, way)).or_default().push(run(before, path));
            }
        }
    }
    let of = |key: (&str, &str), place: usize| median(found[&key].iter().map(|figures| figures[place]).collect());
    println!(
        "| probes at | traces | late P50 | late P99 | client, of a core | server and link, of a core | up | down |"
    );
    for key in found.keys() {
        let [p50, p99, client, server, up, down] = [0, 1, 2, 3, 4, 5].map(|place| of(*key, place));
        let (client, server, up, down) = (client * 100.0, server * 100.0, up * 100.0, down * 100.0);
        let (priority, way) = key;
        println!(
            "| {priority} priority | {way} | {p50:.3} ms | {p99:.3} ms | {client:.2} % | {server:.2} % | {up:.2} % | {down:.2} % |"
        );
    }
    println!();
    let mut met = true;
    let mut judge = |what: String, value: f64, limit: f64, unit: &str| {
        let verdict = if value <= limit { "met" } else { "NOT MET" };
        met &= value <= limit;
        println!("{what:<62} {value:>9.3} {unit}  limit {limit} {verdict}");
    };
    for priority in ["real-time", "ordinary"] {
        let more = |place: usize| of((priority, "with"), place) - of((priority, "without"), place);
        judge(format!("probes at {priority} priority, P99 later with traces"), more(1), LATER, "ms");
        judge(format!("{priority} priority, the client's processor"), more(2) * 100.0, PROCESSOR * 100.0, "%");
        judge(format!("{priority} priority, the server's processor"), more(3) * 100.0, PROCESSOR * 100.0, "%");
        for (place, direction) in [(4, "up"), (5, "down")] {
            let share = of((priority, "with"), place) * 100.0;
            judge(format!("traces {direction}, of the slower direction"), share, SHARE * 100.0, "%");
        }
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
