//! A client that shapes its own traffic: the queue is within the host, and told as tc and ip tell it.

use std::process::{Command, Stdio};
use std::sync::atomic::AtomicBool;

use rrul_engine::client::{Families, Kept, RunOptions, run};
use rrul_engine::flow_types::vocabulary;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_lab::{Host, Lab, Link};
use rrul_model::environment::{Interface, QueueDiscipline};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::ObservationPoint;
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::recording::Recording;
use serde_json::Value;

/// A link that is faster than the client's shaper.
const LINK: &str = "# A link of the test\nrtt = \"10ms\"\n[up]\nrate = \"100Mbit/s\"\nqueue = \"pfifo\"\n[down]\nrate = \"100Mbit/s\"\nqueue = \"pfifo\"\n";

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
    let mut command = Command::new(words.next().expect("a program"));
    command.args(words).stdout(Stdio::piped());
    let child = host.command(command).unwrap_or_else(|error| panic!("{error}"));
    let output = child.wait_with_output().expect("its output");
    assert!(output.status.success(), "it failed");
    String::from_utf8(output.stdout).expect("text")
}

fn json(host: &Host, words: &str) -> Vec<Value> {
    serde_json::from_str(&output(host, words)).expect("JSON of iproute2")
}

fn measure(lab: &Lab) -> Recording {
    let words = vocabulary();
    let surroundings = Surroundings { flow_types: &words, find: &|_| None };
    let plan =
        TestPlan::read("truth", "truth.toml", PLAN, &[], &surroundings).unwrap_or_else(|error| panic!("{error}"));
    let server = lab.server().run(|| Server::start(ServerOptions::default()));
    let server = server.expect("a thread at the far end").expect("a server at the far end");
    let options = RunOptions {
        server: lab.server().address(AddressFamily::Ipv4).to_string(),
        port: rrul_engine::PORT,
        families: Families::Only(AddressFamily::Ipv4),
        plan,
        title: String::new(),
        created: String::new(),
        privacy: Privacy::Open,
        seed: 7,
    };
    let recording = lab.client().run(move || {
        let mut kept = Kept::default();
        run(&options, &mut kept, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"));
        kept.recording().expect("a header")
    });
    drop(server);
    recording.expect("a thread at the near end")
}

fn queue<'a>(interface: &'a Interface, kind: &str) -> &'a QueueDiscipline {
    let found = interface.queue_disciplines.iter().find(|entry| entry.kind == kind);
    found.unwrap_or_else(|| panic!("no {kind} in {:?}", interface.queue_disciplines))
}

#[test]
fn a_hosts_own_queue_is_told_as_tc_and_ip_tell_it() {
    let test = "a_hosts_own_queue_is_told_as_tc_and_ip_tell_it";
    rrul_lab::on_a_lab(test, || {
        let lab =
            Lab::up(&Link::from_toml("link.toml", LINK).expect("a link file"), 1).expect("a lab, as one is available");
        let client = lab.client();
        // One packet each, so that packets in the queue are packets on the wire.
        output(client, &format!("ip link set {DEVICE} gso_max_segs 1"));
        output(client, &format!("tc qdisc replace dev {DEVICE} root handle 1: htb default 10"));
        output(
            client,
            &format!("tc class add dev {DEVICE} parent 1: classid 1:10 htb rate 5mbit burst 3000 cburst 3000"),
        );
        output(client, &format!("tc qdisc add dev {DEVICE} parent 1:10 handle 10: pfifo limit {LIMIT}"));
        let recording = measure(&lab);
        let (tc, ip) = (
            json(client, &format!("tc -s -j qdisc show dev {DEVICE}")),
            json(client, &format!("ip -s -j link show dev {DEVICE}")),
        );

        let before = &recording.header.client.state;
        let after = recording.end.as_ref().and_then(|end| end.host(ObservationPoint::Client)).expect("the state after");
        let [before, after] =
            [before, after].map(|state| state.interfaces_in_use().next().expect("an interface in use"));
        assert_eq!((before.name.as_str(), before.kind.as_str()), (DEVICE, "tun"));
        let (htb, pfifo) = (queue(before, "htb"), queue(before, "pfifo"));
        assert_eq!((htb.handle.as_str(), htb.parent.as_str(), htb.options["default_class"]), ("1:", "root", 0x10));
        assert_eq!(
            (pfifo.handle.as_str(), pfifo.parent.as_str(), pfifo.options["limit_packets"]),
            ("10:", "1:10", LIMIT)
        );
        assert_eq!((before.classes[0].handle.as_str(), before.classes[0].options["rate_bps"]), ("1:10", 5_000_000));

        // Between rrul's last look and that of tc only the end of the control connection passes.
        for kind in ["htb", "pfifo"] {
            let ours = queue(after, kind).counters;
            let theirs = tc.iter().find(|entry| entry["kind"] == kind).expect("tc tells it, too");
            let number = |name: &str| theirs[name].as_u64().unwrap_or_else(|| panic!("{theirs:#}"));
            assert_eq!(ours.dropped, number("drops"), "{kind}");
            assert!((ours.packets..ours.packets + 20).contains(&number("packets")), "{kind}: {ours:?} {theirs:#}");
            assert!((ours.octets..ours.octets + 2000).contains(&number("bytes")), "{kind}: {ours:?} {theirs:#}");
            assert!(number("overlimits") >= ours.overlimits, "{kind}");
        }
        let theirs = |way: &str, what: &str| ip[0]["stats64"][way][what].as_u64().expect("ip tells it");
        let ours = after.counters;
        assert!((ours.sent_octets..ours.sent_octets + 2000).contains(&theirs("tx", "bytes")), "{ours:?} {ip:#?}");
        assert!(
            (ours.received_octets..ours.received_octets + 2000).contains(&theirs("rx", "bytes")),
            "{ours:?} {ip:#?}"
        );

        let analysis = rrul_analysis::analyze(&recording);
        let host = analysis.hosts.iter().find(|host| host.host == ObservationPoint::Client).expect("the client");
        let interface = &host.interfaces[0];
        let of_pfifo = interface.queue_disciplines.iter().find(|entry| entry.kind == "pfifo").expect("pfifo");
        let dropped = queue(after, "pfifo").counters.dropped - pfifo.counters.dropped;
        assert_eq!(of_pfifo.dropped, Some(dropped));
        assert!(dropped > 0, "thirty streams overfill {LIMIT} packets");
        // The queue holds its limit, and one packet more may wait in the device.
        let most = interface.backlog_max_packets.expect("the queue was read");
        assert!((LIMIT - 5..=LIMIT + 1).contains(&i64::from(most)), "{most} packets at most");
        // What lies before the shaper takes its time at the shaper's rate: by the readings of the queue, and by the stamps of
        // packets that passed it.
        let p95 = f64::from(interface.backlog_p95_octets.expect("the queue was read")) * 8.0 / RATE * 1e3;
        let lay = host.transmit_queueing.expect("stamps").p95.expect("a percentile").milliseconds();
        eprintln!(
            "own queue P95: by its backlog {p95:.1} ms, by stamps {lay:.1} ms; dropped {dropped}, most {most} packets"
        );
        assert!((80.0..125.0).contains(&lay), "{lay} ms");
        assert!((lay - p95).abs() < 0.15 * p95, "{lay} ms by stamps, {p95} ms by backlog");
        // Delays begin where a packet leaves the host, so that its own queue is told apart and not in them. Were the stamp of
        // one packet taken for that of another, some would be off by the queue.
        let delays = &analysis.round_trip_delay.pooled;
        let idle = delays.idle.and_then(|idle| idle.p50).expect("an idle line");
        let most =
            delays.load.and_then(|load| load.max).expect("some probes pass").milliseconds() - idle.milliseconds();
        assert!(most < 0.1 * lay, "the load added up to {most} ms; the client's own queue took {lay} ms");
    });
}
