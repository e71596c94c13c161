//! What probes cost in truth: the round trip on an idle pair beside ICMP echo, and how punctual they leave under load.

use std::time::Instant;

use rrul_proto::packet_seal::{PacketSeal, PacketSecrets};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;
use serde_json::Value;

use crate::Finding;
use crate::bed::{Bed, SERVER_ADDRESS};

const PLAN: &str = r#"
title = "probes in three classes beside four streams each way"
overhead = "none"
phases = { idle = "6s", load = "8s", after = "1s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
count = 4
each.direction = ["up", "down"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BK", "BE"]
[flow.echo]
type = "icmp_echo"
component = "realtime"
interval = "20ms"
"#;

/// Probes alone.
const PAIR: &str = r#"
title = "probes on an idle pair"
overhead = "none"
phases = { idle = "6s" }
[flow.probe]
type = "udp_probe"
component = "realtime"
interval = "5ms"
"#;

/// Runs of each kind: the least of them is compared, as what disturbs only adds.
const ROUNDS: usize = 4;

/// Packets of which the processor time is taken.
const PACKETS: u32 = 200_000;

/// What authentication adds to a probe: its round trip by the kernel's stamps, and the time of the processors, which these leave out.
pub(crate) fn authenticated(bed: &Bed) -> [Finding; 2] {
    println!("\n# probes of plain and encrypted tests, in turns, {ROUNDS} of each");
    let (mut plain, mut sealed) = (Vec::new(), Vec::new());
    let _server = bed.rrul_server_with_key();
    for _ in 0..ROUNDS {
        for (encrypt, medians) in [("never", &mut plain), ("always", &mut sealed)] {
            let (summary, _) = bed.rrul_run_with(PAIR, &[], &["--encrypt", encrypt]);
            medians.push(idle_median(&summary, "udp_probe"));
        }
    }
    println!("rrul, idle: UDP probe P50 plain {plain:.1?} us, authenticated {sealed:.1?} us");
    let least = |medians: &[f64]| medians.iter().copied().fold(f64::NAN, f64::min);
    [
        Finding {
            what: "idle P50 of the authenticated probe above the plain one's",
            measured: least(&sealed) - least(&plain),
            limit: 5.0,
            unit: "us",
        },
        Finding {
            what: "to authenticate a probe and its reply, both ends together",
            measured: 2.0 * seconds_of_a_packet() * 1e6,
            limit: 5.0,
            unit: "us",
        },
    ]
}

/// What it takes to seal a packet and to open it, seconds.
fn seconds_of_a_packet() -> f64 {
    let (token, secrets) = (Token([7; 16]), PacketSecrets { up: [1; 32], down: [2; 32] });
    let client = PacketSeal::of_client(token, Some(&secrets));
    let server = PacketSeal::of_server(token, Some(&secrets));
    let mut octets = [0; LEAST_OCTETS];
    let begun = Instant::now();
    for number in 0..PACKETS {
        let packet = TestPacket::request(Kind::Test, 1, 0, token, number, 0);
        packet.write(&mut octets).expect("room is left");
        client.seal(&mut octets);
        assert!(server.opens(std::hint::black_box(&octets)));
    }
    begun.elapsed().as_secs_f64() / f64::from(PACKETS)
}

/// Median round trip of the first flow of this name on the idle line, microseconds.
fn idle_median(summary: &Value, name: &str) -> f64 {
    let flows = summary["round_trip_delay"]["flows"].as_array().map_or(&[][..], Vec::as_slice);
    let flow = flows.iter().find(|flow| flow["flow"].as_str().is_some_and(|flow| flow.starts_with(name)));
    flow.map_or(f64::NAN, |flow| flow["idle"]["p50_ns"].as_f64().unwrap_or(f64::NAN) / 1e3)
}

pub(crate) fn measure(bed: &Bed) -> Vec<Finding> {
    println!("\n# probes, idle and beside four streams each way on the same cores");
    let ping = ping(bed);
    println!("ping, idle: P50 {ping:.1} us");
    let _server = bed.rrul_server();
    let (privileged, _) = bed.rrul_run(PLAN, &[]);
    let without = ["setpriv", "--inh-caps=-sys_nice", "--bounding-set=-sys_nice"];
    let (plain, _) = bed.rrul_run(PLAN, &without);
    let [udp, echo] = ["udp_probe/BE", "icmp_echo"].map(|name| idle_median(&privileged, name));
    println!("rrul, idle: UDP probe P50 {udp:.1} us, ICMP echo P50 {echo:.1} us, both by the kernel's stamps");
    for (name, summary) in [("with CAP_SYS_NICE", &privileged), ("without", &plain)] {
        let late = |quantile: &str| lateness(summary, quantile);
        println!(
            "rrul, send lateness {name}: P50 {:.1} us, P95 {:.1} us, P99 {:.1} us, max {:.0} us",
            late("p50_ns"),
            late("p95_ns"),
            late("p99_ns"),
            late("max_ns")
        );
    }
    let spread = privileged["start_spread_ns"].as_f64().unwrap_or(f64::NAN) / 1e6;
    vec![
        Finding { what: "idle P50 of the UDP probe above ping's", measured: udp - ping, limit: 20.0, unit: "us" },
        Finding {
            what: "idle P50 of the UDP probe above our ICMP echo's",
            measured: udp - echo,
            limit: 20.0,
            unit: "us",
        },
        Finding {
            what: "send lateness P99 with CAP_SYS_NICE, both cores full",
            measured: lateness(&privileged, "p99_ns"),
            limit: 200.0,
            unit: "us",
        },
        Finding { what: "start spread of four streams at one sender", measured: spread, limit: 1.0, unit: "ms" },
    ]
}

fn lateness(summary: &Value, quantile: &str) -> f64 {
    summary["send_lateness"][quantile].as_f64().unwrap_or(f64::NAN) / 1e3
}

/// Median round trip of the system's ping, microseconds.
fn ping(bed: &Bed) -> f64 {
    let mut command = bed.at_client("ping");
    let output = command.args(["-n", "-c", "200", "-i", "0.02", SERVER_ADDRESS]).output().expect("ping runs");
    let text = String::from_utf8_lossy(&output.stdout);
    let times = text.lines().filter_map(|line| line.split("time=").nth(1)?.split(' ').next()?.parse::<f64>().ok());
    let mut times: Vec<f64> = times.collect();
    times.sort_by(f64::total_cmp);
    times.get(times.len() / 2).map_or(f64::NAN, |milliseconds| milliseconds * 1e3)
}
