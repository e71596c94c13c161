//! Queues of known depth: the longest delay, the time they take to drain, and what a closed loop hides.

use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::Bed;
use crate::bed::Setting;
use crate::rows::Rows;

/// Four streams each way and probes of one class.
const LOAD: &str = r#"
title = "four streams each way, probes"
phases = { idle = "3s", load = "20s", after = "5s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
each.class = ["BE", "BK", "CS5", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
interval = "10ms"
"#;

pub(crate) const FIFO: Bed = Bed {
    name: "fifo",
    about: "20/8 Mbit/s, 20 ms, 400 packets of FIFO down and 160 up: each holds 240 ms of full packets.",
    quick: false,
    run: fifo,
};

fn fifo(rows: &mut Rows) {
    let link = "rtt = \"20ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"400p\" }\n\
        [up]\nrate = \"8Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"160p\" }";
    let measured = Setting::new(link, LOAD).measure();
    let load = measured.window(Phase::Load);
    for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
        for (percent, member) in [(50.0, "p50_ns"), (95.0, "p95_ns")] {
            let truth = measured.udp_queueing(direction, &load, percent).unwrap_or(f64::NAN);
            let pointer = format!("/one_way_delay/{name}/load/queueing/{member}");
            rows.near(
                "R16 R74",
                format!("queueing {name} P{percent}, ms"),
                measured.milliseconds(&pointer),
                truth,
                1.0,
            );
        }
    }
}

pub(crate) const STALLS: Bed = Bed {
    name: "stalls",
    about: "100 Mbit/s, 20 ms, and of every 5 seconds one in which nothing is carried: what a closed loop hides.",
    quick: true,
    run: stalls,
};

fn stalls(rows: &mut Rows) {
    let direction = |rates: &str| format!("rate = {rates}\n");
    // From the link's beginning: the run begins within the first second.
    let steps: Vec<String> = (0..5)
        .flat_map(|n| [(n * 5, "100Mbit/s"), (n * 5 + 4, "1bit/s")])
        .map(|(at, rate)| format!("[\"{at}s\", \"{rate}\"]"))
        .collect();
    let link = format!(
        "rtt = \"20ms\"\n[down]\n{}[up]\n{}",
        direction("\"100Mbit/s\""),
        direction(&format!("[{}]", steps.join(", ")))
    );
    let plan = "title = \"probes and exchanges\"\nphases = { idle = \"20s\" }\n\
        [flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\ninterval = \"10ms\"\n\
        [flow.rr]\ntype = \"udp_rr\"\ncomponent = \"realtime\"\ntimeout = \"3s\"\n";
    let measured = Setting::new(link, plan).measure();
    let idle = measured.window(Phase::Idle);
    let truth = |percent| {
        let of_probe = measured.udp_flows(Direction::Up, &idle).into_values().max_by_key(Vec::len).unwrap();
        let mut delays: Vec<u64> = of_probe.iter().map(|record| record.queueing_delay).collect();
        delays.sort_unstable();
        rrul_lab::percentile(&delays, percent).unwrap() as f64 / 1e6 + 20.0
    };
    // One packet each 10 ms: a rank more or less is 10 ms of a stall.
    for (percent, member) in [(50.0, "p50_ns"), (95.0, "p95_ns"), (99.0, "p99_ns")] {
        let measured = measured.milliseconds(&format!("/round_trip_delay/idle/{member}"));
        rows.near("R32 R44", format!("round trip P{percent}, ms"), measured, truth(percent), 11.0);
    }
    let exchanges = measured.entry("/transactions", "flow", "udp_rr/BE/ipv4").unwrap();
    let members: Vec<&String> = exchanges["idle"].as_object().unwrap().keys().collect();
    let percentiles = members.iter().filter(|name| name.starts_with('p') && name.ends_with("_ns")).count();
    rows.equal("R32", "percentiles of delay told of the closed loop", percentiles, 0);
}
