//! `cake` and `pie` beside those of Linux: the same traffic through the lab, in virtual time, and through the kernel, as
//! `kernel/queues.toml` has it. `scripts/kernel-queues` makes that file.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

use std::time::Duration;

use rrul_lab::line::pipe::Outcome;
use rrul_lab::{LabTime, Link, LinkCounters, Record, VirtualLink, percentile};
use rrul_model::flow::Direction;
use toml::{Table, Value};

const MEASURED: &str = include_str!("kernel/queues.toml");
const PERCENTILES: [f64; 5] = [5.0, 25.0, 50.0, 75.0, 95.0];

fn measured(kind: &str) -> Vec<Table> {
    let document: Table = MEASURED.parse().unwrap();
    document[kind].as_array().unwrap().iter().map(|entry| entry.as_table().unwrap().clone()).collect()
}

fn number(table: &Table, key: &str) -> f64 {
    match &table[key] {
        Value::Integer(integer) => *integer as f64,
        Value::Float(float) => *float,
        other => panic!("{key}: {other} is not a number"),
    }
}

fn count(table: &Table, key: &str) -> u64 {
    table[key].as_integer().unwrap() as u64
}

fn numbers(table: &Table, key: &str) -> Vec<f64> {
    table[key].as_array().unwrap().iter().map(|entry| entry.as_integer().unwrap() as f64).collect()
}

/// The link whose upward shaper is this `tc` discipline.
fn link(scenario: &Table) -> Link {
    let kernel = scenario["kernel"].as_str().unwrap();
    let words: Vec<&str> = kernel.split(' ').collect();
    let value = |word| words.iter().position(|known| *known == word).map(|at| words[at + 1]);
    let has = |word| words.contains(&word);
    let mut options = vec![format!("discipline = \"{}\"", words[0])];
    for tins in ["besteffort", "diffserv3", "diffserv4", "diffserv8"].into_iter().filter(|word| has(word)) {
        options.push(format!("tins = \"{tins}\""));
    }
    for isolation in
        ["hosts", "flows", "dual-srchost", "dual-dsthost", "triple-isolate"].into_iter().filter(|word| has(word))
    {
        options.push(format!("flow_isolation = \"{isolation}\""));
    }
    for flag in ["ingress", "ecn", "bytemode"].into_iter().filter(|word| has(word)) {
        options.push(format!("{flag} = true"));
    }
    options.extend(
        ["rtt", "target", "tupdate"].into_iter().filter_map(|key| Some(format!("{key} = \"{}\"", value(key)?))),
    );
    if words[0] == "pie" && value("tupdate").is_none() {
        // The kernel's timer counts in ticks of 10 ms there, and 15 ms become two.
        options.push("tupdate = \"20ms\"".to_owned());
    }
    options.extend(["alpha", "beta"].into_iter().filter_map(|key| Some(format!("{key} = {}", value(key)?))));
    // A qdisc without overhead counts the Ethernet header that the kernel reports.
    let layer = match (has("atm"), has("ptm"), has("mpu")) {
        (true, _, _) => "atm/pppoe-llcsnap",
        (_, true, _) => "ptm/pppoe",
        (_, _, true) => "ethernet",
        _ => "ip+14",
    };
    let rate = number(scenario, "rate_bps");
    let text = format!(
        "rtt = \"0s\"\n[up]\nrate = \"1Gbit/s\"\n[up.shaper]\nrate = \"{rate}bit/s\"\nlink_layer = \"{layer}\"\n\
         queue = {{ {} }}\n[down]\nrate = \"1Gbit/s\"\n",
        options.join(", ")
    );
    Link::from_toml("kernel.toml", &text).unwrap()
}

/// A UDP packet of a stream.
fn datagram(stream: &Table) -> Vec<u8> {
    let length = number(stream, "length") as usize;
    let mut octets = vec![0; length];
    octets[0] = 0x45;
    octets[1] = number(stream, "tos") as u8;
    octets[2..4].copy_from_slice(&(length as u16).to_be_bytes());
    (octets[8], octets[9]) = (64, 17);
    octets[12..16].copy_from_slice(&[10, 77, 0, 2 + number(stream, "source") as u8]);
    octets[16..20].copy_from_slice(&[10, 77, 3, 2 + number(stream, "target") as u8]);
    octets[20..22].copy_from_slice(&port(stream).to_be_bytes());
    octets[22..24].copy_from_slice(&5001u16.to_be_bytes());
    octets
}

fn port(stream: &Table) -> u16 {
    20_000 + number(stream, "port") as u16
}

fn streams(scenario: &Table) -> Vec<Table> {
    scenario["stream"].as_array().unwrap().iter().map(|stream| stream.as_table().unwrap().clone()).collect()
}

/// Everything that the lab makes of a scenario's traffic.
fn replay(scenario: &Table, seed: u64) -> (Vec<Record>, LinkCounters) {
    let mut arrivals: Vec<(u64, usize)> = Vec::new();
    let streams = streams(scenario);
    for (index, stream) in streams.iter().enumerate() {
        let interval = number(stream, "length") * 8000.0 / number(stream, "mbit");
        let mut at = number(stream, "start") * 1e9 + number(stream, "port") * 37_000.0;
        while at < number(stream, "end") * 1e9 {
            arrivals.push((at as u64, index));
            at += interval;
        }
    }
    arrivals.sort_unstable();
    let packets: Vec<Vec<u8>> = streams.iter().map(datagram).collect();
    let mut link = VirtualLink::new(&link(scenario), seed, LabTime(0));
    let mut records = Vec::new();
    for (at, index) in arrivals {
        link.offer(Direction::Up, &packets[index], LabTime(at));
    }
    link.poll(LabTime(u64::MAX / 2), |_, outcome| match outcome {
        Outcome::Delivered(_, record) | Outcome::Lost(record) => records.push(record),
    });
    let counters = link.counters();
    (records, counters)
}

/// How far the lab may be from the kernel.
struct Bounds {
    /// Runs of the lab with different seeds. The kernel has to be between the lowest and the highest, or as near as follows.
    seeds: u64,
    /// Packets in half a second: share of those of the whole queue.
    share: f64,
    /// Percentiles of the delay: share of it, and milliseconds.
    delay: (f64, f64),
    /// Packets dropped and marked over the whole run: share of those sent.
    signals: f64,
}

/// What is compared of one stream: packets received in each half second, percentiles of the delay in ms, dropped, marked.
struct Seen {
    received: Vec<f64>,
    delays: Vec<f64>,
    dropped: f64,
    marked: f64,
}

fn seen_by_kernel(stream: &Table) -> Seen {
    Seen {
        received: numbers(stream, "received_in_half_seconds"),
        delays: numbers(stream, "delay_us").iter().map(|delay| delay / 1000.0).collect(),
        dropped: number(stream, "sent") - number(stream, "received"),
        marked: number(stream, "marked"),
    }
}

fn seen_by_lab(stream: &Table, records: &[Record], halves: usize) -> Seen {
    let own: Vec<&Record> = records.iter().filter(|record| record.source_port == port(stream)).collect();
    assert_eq!(own.len() as u64, count(stream, "sent"), "the same packets are sent");
    let delivered: Vec<(LabTime, LabTime)> =
        own.iter().filter_map(|record| Some((record.arrival, record.delivery()?))).collect();
    let mut received = vec![0.0; halves];
    for (_, at) in &delivered {
        received[((at.0 / 500_000_000) as usize).min(halves - 1)] += 1.0;
    }
    let second_half = number(stream, "start").midpoint(number(stream, "end")) * 1e9;
    let late = delivered.iter().filter(|(arrival, _)| arrival.0 as f64 >= second_half);
    let mut delays: Vec<u64> = late.map(|(arrival, at)| at.since(*arrival)).collect();
    delays.sort_unstable();
    let at = |percent| percentile(&delays, percent).unwrap_or(0) as f64 / 1e6;
    Seen {
        received,
        delays: PERCENTILES.map(at).to_vec(),
        dropped: (own.len() - delivered.len()) as f64,
        marked: own.iter().filter(|record| record.marked && record.delivery().is_some()).count() as f64,
    }
}

/// Whether the kernel's figure is within those of the lab's runs, or no further from them than allowed; if not, a complaint.
fn apart(what: &str, ours: &[f64], kernel: f64, allowed: f64) -> Option<String> {
    let (least, most) = ours.iter().fold((f64::MAX, f64::MIN), |(least, most), one| (least.min(*one), most.max(*one)));
    let line = format!("{what}: lab {least:.1} to {most:.1}, kernel {kernel:.1}, allowed {allowed:.1}");
    println!("{line}");
    (kernel < least - allowed || kernel > most + allowed).then_some(line)
}

fn compare(name: &str, bounds: &Bounds) {
    let all = measured("scenario");
    let scenario = all.iter().find(|scenario| scenario["name"].as_str() == Some(name)).unwrap();
    let runs: Vec<(Vec<Record>, LinkCounters)> = (1..=bounds.seeds).map(|seed| replay(scenario, seed)).collect();
    let streams = streams(scenario);
    let kernel: Vec<Seen> = streams.iter().map(seen_by_kernel).collect();
    let mut failures = Vec::new();
    for (stream, expected) in streams.iter().zip(&kernel) {
        let halves = expected.received.len();
        let ours: Vec<Seen> = runs.iter().map(|(records, _)| seen_by_lab(stream, records, halves)).collect();
        let of = |figure: &dyn Fn(&Seen) -> f64| ours.iter().map(figure).collect::<Vec<f64>>();
        let port = port(stream);
        // What comes after the end of a stream is its backlog, which the delays show.
        for half in 0..(2.0 * number(stream, "end")) as usize {
            let whole: f64 = kernel.iter().map(|stream| stream.received[half]).sum();
            let allowed = (bounds.share * whole).max(3.0);
            let what = format!("port {port}, half second {half}");
            failures.extend(apart(&what, &of(&|seen| seen.received[half]), expected.received[half], allowed));
        }
        for (index, percent) in PERCENTILES.into_iter().enumerate() {
            let allowed = bounds.delay.0 * expected.delays[index] + bounds.delay.1;
            let what = format!("port {port}, P{percent} of the delay, ms");
            failures.extend(apart(&what, &of(&|seen| seen.delays[index]), expected.delays[index], allowed));
        }
        let allowed = (bounds.signals * number(stream, "sent")).max(2.0);
        failures.extend(apart(&format!("port {port}, dropped"), &of(&|seen| seen.dropped), expected.dropped, allowed));
        failures.extend(apart(&format!("port {port}, marked"), &of(&|seen| seen.marked), expected.marked, allowed));
    }
    let classes = runs[0].1.up.shaper.clone().unwrap().classes;
    let tins = scenario.get("tin").map(|tins| tins.as_array().unwrap().clone()).unwrap_or_default();
    assert_eq!(classes.len(), tins.len(), "{name}: as many tins");
    for (class, tin) in classes.iter().zip(tins) {
        let threshold = count(tin.as_table().unwrap(), "threshold_rate");
        assert_eq!(class.threshold.0 / 8, threshold, "{name}: threshold of {}", class.name);
    }
    assert!(failures.is_empty(), "{name}:\n{}", failures.join("\n"));
}

const CAKE: Bounds = Bounds { seeds: 5, share: 0.01, delay: (0.05, 1.0), signals: 0.01 };
/// Several queues that are full, so that BLUE draws lots: when which of them is dropped from differs between runs.
const FULL: Bounds = Bounds { seeds: 20, share: 0.01, delay: (0.2, 1.0), signals: 0.02 };
/// Three of five flows share a queue. Which of them is dropped from follows from how their packets alternate there, to the
/// microsecond.
const SHARED: Bounds = Bounds { seeds: 5, share: 0.03, delay: (0.15, 1.0), signals: 0.03 };
const PIE: Bounds = Bounds { seeds: 20, share: 0.01, delay: (0.05, 1.0), signals: 0.01 };

#[test]
fn the_measurements_are_whole() {
    for scenario in measured("scenario") {
        let name = scenario["name"].as_str().unwrap().to_owned();
        let of = |key| count(&scenario, key);
        // ARP requests, and the replies to them, pass the queue as well.
        let foreign = of("queue_passed") + of("queue_dropped") - of("packets_sent");
        assert!(foreign <= 2, "{name}: every packet sent came to the queue, and {foreign} others");
        assert_eq!(of("queue_passed") - foreign, of("packets_received"), "{name}: what passed the queue was received");
    }
}

macro_rules! scenarios {
    ($($name:ident $bounds:expr;)*) => {
        $(#[test]
        fn $name() {
            compare(stringify!($name), &$bounds);
        })*

        #[test]
        fn every_scenario_is_compared() {
            let known = [$(stringify!($name)),*];
            for scenario in measured("scenario") {
                assert!(known.contains(&scenario["name"].as_str().unwrap()), "{} is not compared", scenario["name"]);
            }
        }
    };
}

scenarios! {
    besteffort_saturated FULL;
    diffserv3_saturated FULL;
    diffserv4_saturated FULL;
    diffserv8_saturated FULL;
    diffserv3_alone CAKE;
    diffserv4_alone CAKE;
    diffserv4_voice_below_its_share CAKE;
    flows CAKE;
    hosts SHARED;
    dual_srchost CAKE;
    dual_dsthost CAKE;
    triple_isolate CAKE;
    triple_isolate_both CAKE;
    overhead_and_mpu CAKE;
    atm CAKE;
    ptm CAKE;
    cobalt_drops CAKE;
    cobalt_marks CAKE;
    cobalt_overload FULL;
    egress_rtt_20ms CAKE;
    ingress_rtt_20ms CAKE;
    ingress_light CAKE;
    pie_drops PIE;
    pie_ecn PIE;
    pie_bytemode PIE;
    pie_target PIE;
    pie_burst PIE;
}

#[test]
fn every_code_point_goes_to_the_tin_of_the_kernel() {
    for layout in measured("classes") {
        let tins = layout["tins"].as_str().unwrap();
        let text = format!(
            "rtt = \"0s\"\n[up]\nrate = \"1Gbit/s\"\nqueue = {{ discipline = \"cake\", tins = \"{tins}\" }}\n[down]\nrate = \"1Gbit/s\"\n"
        );
        let description = Link::from_toml("tins.toml", &text).unwrap();
        let mut stream: Table = "length = 100\nsource = 0\ntarget = 0\nport = 1".parse().unwrap();
        let ours: Vec<f64> = (0..64)
            .map(|dscp| {
                stream.insert("tos".to_owned(), Value::Integer(dscp << 2));
                let mut link = VirtualLink::new(&description, 1, LabTime(0));
                link.offer(Direction::Up, &datagram(&stream), LabTime(0));
                link.poll(LabTime(0).after(Duration::from_secs(1)), |_, _| {});
                link.counters().up.line.classes.iter().position(|class| class.packets == 1).unwrap() as f64
            })
            .collect();
        assert_eq!(ours, numbers(&layout, "tin_of_dscp"), "{tins}");
    }
}
