//! A client that shapes its own traffic: the queue is within the host, and reported as tc and ip report it.

use std::process::{Command, Stdio};
use std::sync::mpsc;

use rrul_lab::{Host, Lab};
use rrul_model::environment::{Interface, QueueDiscipline};
use rrul_model::observation::ObservationPoint;
use serde_json::Value;

use crate::rows::Rows;
use crate::setting::Setting;
use crate::{Bed, Runs};

/// A link that is faster than the client's shaper.
const LINK: &str =
    "rtt = \"10ms\"\n[up]\nrate = \"100Mbit/s\"\nqueue = \"pfifo\"\n[down]\nrate = \"100Mbit/s\"\nqueue = \"pfifo\"\n";

/// The client's device in the lab.
const DEVICE: &str = "rrul0";
const RATE: f64 = 5e6;
const LIMIT: i64 = 50;

/// Many streams: the kernel lets each have but two or three packets in the host's own queue (TCP small queues).
const PLAN: &str = r#"
title = "an upload that the client shapes itself"
overhead = "none"
phases = { idle = "2s", load = "6s", after = "3s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
direction = "up"
count = 30
[flow.probe]
type = "udp_probe"
component = "realtime"
"#;

/// Runs a program at one host of the lab; what it prints.
fn output(host: &Host, words: &str) -> String {
    let mut words = words.split(' ');
    let mut command = Command::new(words.next().unwrap());
    command.args(words).stdout(Stdio::piped());
    let child = host.command(command).unwrap_or_else(|error| panic!("{error}"));
    let output = child.wait_with_output().unwrap();
    assert!(output.status.success(), "it failed");
    String::from_utf8(output.stdout).unwrap()
}

fn json(host: &Host, words: &str) -> Vec<Value> {
    serde_json::from_str(&output(host, words)).unwrap()
}

fn queue<'a>(interface: &'a Interface, kind: &str) -> &'a QueueDiscipline {
    let found = interface.queue_disciplines.iter().find(|entry| entry.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {:?}", interface.queue_disciplines))
}

pub(crate) const OWN_QUEUE: Bed = Bed {
    name: "own_queue",
    about: "100/100 Mbit/s, and a client that shapes its own upload to 5 Mbit/s with HTB and a FIFO of 50 packets: the queue is within \
        the host, and reported as tc and ip report it.",
    runs: Runs::SideBySide,
    run: own_queue,
};

fn own_queue(rows: &mut Rows) {
    let (sender, receiver) = mpsc::channel();
    let shape = |lab: &Lab| {
        let client = lab.client();
        // One packet each, so that packets in the queue are packets on the wire.
        output(client, &format!("ip link set {DEVICE} gso_max_segs 1"));
        output(client, &format!("tc qdisc replace dev {DEVICE} root handle 1: htb default 10"));
        let class = "classid 1:10 htb rate 5mbit burst 3000 cburst 3000";
        output(client, &format!("tc class add dev {DEVICE} parent 1: {class}"));
        output(client, &format!("tc qdisc add dev {DEVICE} parent 1:10 handle 10: pfifo limit {LIMIT}"));
    };
    let look = move |lab: &Lab| {
        let tc = json(lab.client(), &format!("tc -s -j qdisc show dev {DEVICE}"));
        let ip = json(lab.client(), &format!("ip -s -j link show dev {DEVICE}"));
        sender.send((tc, ip)).unwrap();
    };
    let measured = Setting::new(LINK, PLAN).open().beside(shape).afterwards(look).measure();
    let (tc, ip) = receiver.recv().unwrap();
    let recording = &measured.recording;

    let before = &recording.header.client.state;
    let after = recording.end.as_ref().and_then(|end| end.host(ObservationPoint::Client)).unwrap();
    let [before, after] = [before, after].map(|state| state.interfaces_in_use().next().unwrap());
    let (htb, pfifo) = (queue(before, "htb"), queue(before, "pfifo"));
    let class = &before.classes[0];
    let found = format!(
        "{} {}: htb {} {} {}, class {} {}, pfifo {} {} {}",
        before.name,
        before.kind,
        htb.handle,
        htb.parent,
        htb.options["default_class"],
        class.handle,
        class.options["rate_bps"],
        pfifo.handle,
        pfifo.parent,
        pfifo.options["limit_packets"]
    );
    let truth = format!("{DEVICE} tun: htb 1: root 16, class 1:10 5000000, pfifo 10: 1:10 {LIMIT}");
    rows.equal("R76", "the queues of the device", found, truth);

    // Between rrul's last look and that of tc only the end of the control connection passes.
    let mut counted = |what: String, ours: u64, theirs: u64, more: u64| {
        let (ours, theirs, more) = (ours as f64, theirs as f64, more as f64);
        rows.between("R76", what, Some(ours), theirs, theirs - more..=theirs);
    };
    for kind in ["htb", "pfifo"] {
        let ours = queue(after, kind).counters;
        let theirs = tc.iter().find(|entry| entry["kind"] == kind).unwrap();
        let number = |name: &str| theirs[name].as_u64().unwrap_or_else(|| panic!("{theirs:#}"));
        counted(format!("packets that {kind} dropped"), ours.dropped, number("drops"), 0);
        counted(format!("packets of {kind}"), ours.packets, number("packets"), 19);
        counted(format!("bytes of {kind}"), ours.octets, number("bytes"), 1999);
        assert!(number("overlimits") >= ours.overlimits, "{kind}");
    }
    let theirs = |way: &str, what: &str| ip[0]["stats64"][way][what].as_u64().unwrap();
    counted("bytes that the device sent".into(), after.counters.sent_octets, theirs("tx", "bytes"), 1999);
    counted("bytes that it received".into(), after.counters.received_octets, theirs("rx", "bytes"), 1999);

    let analysis = &measured.analysis;
    let host = analysis.hosts.iter().find(|host| host.host == ObservationPoint::Client).unwrap();
    let interface = &host.interfaces[0];
    let of_pfifo = interface.queue_disciplines.iter().find(|entry| entry.kind == "pfifo").unwrap();
    let dropped = queue(after, "pfifo").counters.dropped - pfifo.counters.dropped;
    rows.equal("R76", "packets dropped in the test", of_pfifo.dropped.unwrap_or(u64::MAX), dropped);
    assert!(dropped > 0, "thirty streams overfill {LIMIT} packets");
    // The queue contains its limit, and one packet more may wait in the device.
    let most = interface.backlog_max_packets.map(f64::from);
    let limit = LIMIT as f64;
    rows.between("R76", "most packets in the queue", most, LIMIT, limit - 5.0..=limit + 1.0);
    // What lies before the shaper takes its time at the shaper's rate: by the readings of the queue, and by the stamps of
    // packets that passed it.
    let p95 = f64::from(interface.backlog_p95_octets.unwrap()) * 8.0 / RATE * 1e3;
    let lay = host.transmit_queueing.and_then(|queueing| queueing.p95).unwrap().milliseconds();
    rows.near("R76", "own queue P95, ms, by stamps and by its backlog", Some(lay), p95, 0.15 * p95);
    rows.between("R76", "own queue P95, ms", Some(lay), "at most 50 packets at 5 Mbit/s: 120", 80.0..=125.0);
    // Delays begin where a packet leaves the host, so that its own queue is reported apart and not in them. Were the stamp of
    // one packet taken for that of another, some would be off by the queue; a thread that wakes late makes one packet late.
    let delays = &analysis.round_trip_delay.pooled;
    let idle = delays.idle.and_then(|idle| idle.p50).unwrap();
    let most = delays.load.and_then(|load| load.max).map(|max| max.milliseconds() - idle.milliseconds());
    rows.between("R76", "most that the load added to a round trip, ms", most, "no queue", -1.0..=0.5 * lay);
}
