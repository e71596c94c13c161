//! Answers of a Linux 6.1 router under load, captured byte by byte; the truth is what `tc -s -d` printed beside them.

use super::*;
use crate::netlink::message::{Message, messages};

/// The answer to RTM_GETQDISC, and the first of that to RTM_GETTCLASS for the interface of htb, hexadecimal.
const QUEUE_DISCIPLINES: &str = include_str!("captured/queue_disciplines.hex");
const CLASSES: &str = include_str!("captured/classes.hex");

fn octets(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    let octet = |pair: &[u8]| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap();
    digits.chunks(2).map(octet).collect()
}

fn entries(octets: &[u8]) -> impl Iterator<Item = Entry<'_>> {
    messages(octets).filter_map(|message| match message {
        Message::Answer { content, .. } => Entry::read(content),
        _ => None,
    })
}

fn captured(kind: &str) -> QueueDiscipline {
    let octets = octets(QUEUE_DISCIPLINES);
    entries(&octets).map(|entry| entry.queue_discipline()).find(|found| found.kind == kind).unwrap()
}

fn options(expected: &[(&str, i64)]) -> BTreeMap<String, i64> {
    expected.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect()
}

/// Netlink is in the order of the host; what was captured is of a little-endian one.
fn is_of_this_order() -> bool {
    cfg!(target_endian = "little")
}

#[test]
fn htb_with_fq_codel_below_it_is_read_as_tc_prints_it() {
    if !is_of_this_order() {
        return;
    }
    let htb = captured("htb");
    assert_eq!((htb.handle.as_str(), htb.parent.as_str()), ("1:", "root"));
    let passed = TrafficCounters {
        octets: 22_499_206,
        packets: 18_043,
        dropped: 229,
        overlimits: 14_737,
        ..TrafficCounters::default()
    };
    assert_eq!(htb.counters, passed);
    assert_eq!(htb.options, options(&[("default_class", 1), ("rate_to_quantum", 10)]));
    assert_eq!(htb.details["direct_packets"], 0);
    let fq_codel = captured("fq_codel");
    assert_eq!((fq_codel.handle.as_str(), fq_codel.parent.as_str()), ("8003:", "1:1"));
    assert_eq!(fq_codel.counters, TrafficCounters { overlimits: 0, ..passed });
    let expected = [
        // The kernel keeps it in units of 1024 ns, and reports what is left of 5 ms.
        ("target_us", 4_999),
        ("limit_packets", 10_240),
        ("interval_us", 99_999),
        ("ecn", 1),
        ("flows", 1_024),
        ("quantum_octets", 1_514),
        ("drop_batch_packets", 64),
        ("memory_limit_octets", 32 << 20),
    ];
    assert_eq!(fq_codel.options, options(&expected), "and no CE threshold, as none is set");
    assert_eq!((fq_codel.details["ecn_mark"], fq_codel.details["new_flow_count"]), (174, 3_473));
    assert_eq!((fq_codel.details["new_flows_len"], fq_codel.details["old_flows_len"]), (1, 5));
    assert_eq!((fq_codel.details["maxpacket"], fq_codel.marked()), (1_514, Some(174)));
    assert_eq!(htb.marked(), None, "htb marks nothing");
}

#[test]
fn the_class_of_htb_is_reported_and_the_flows_of_fq_codel_are_not_classes() {
    if !is_of_this_order() {
        return;
    }
    let octets = octets(CLASSES);
    let kinds: Vec<String> = entries(&octets).map(|entry| entry.kind).collect();
    assert_eq!(kinds, ["htb", "fq_codel", "fq_codel"]);
    let class = entries(&octets).next().unwrap().class();
    assert_eq!((class.handle.as_str(), class.parent.as_str()), ("1:1", "root"));
    let expected = [
        ("rate_bps", 20_000_000),
        ("ceil_bps", 20_000_000),
        // Two packets of 1514 were asked for. The kernel keeps that as time, in ticks of 64 ns that carry a sixth of an
        // byte each; tc rounds it to microseconds and prints 3025.
        ("burst_octets", 3_027),
        ("cburst_octets", 3_027),
        ("quantum_octets", 1_514),
        ("prio", 0),
    ];
    assert_eq!(class.options, options(&expected));
    assert_eq!((class.counters.packets, class.counters.overlimits, class.counters.dropped), (18_043, 14_737, 0));
    assert_eq!((class.details["lended"], class.details["borrowed"]), (18_043, 0));
}

#[test]
fn cake_is_read_tin_by_tin() {
    if !is_of_this_order() {
        return;
    }
    let cake = captured("cake");
    assert_eq!((cake.handle.as_str(), cake.parent.as_str()), ("8004:", "root"));
    let counters = cake.counters;
    assert_eq!((counters.octets, counters.packets, counters.dropped), (8_400_042, 16_015, 159));
    assert_eq!((cake.options["bandwidth_bps"], cake.options["rtt_us"]), (8_000_000, 100_000));
    assert_eq!((cake.options["overhead_octets"], cake.options["diffserv_mode"]), (0, 0));
    assert_eq!((cake.options["split_gso"], cake.options["ack_filter"], cake.options["raw"]), (1, 0, 1));
    assert_eq!((cake.details["capacity_estimate_bps"], cake.details["memory_used"]), (8_000_000, 108_288));
    let tins = |name: &str| [0, 1, 2].map(|tin| cake.details[&format!("tin{tin}.{name}")]);
    assert_eq!(tins("threshold_bps"), [500_000, 8_000_000, 2_000_000]);
    assert_eq!(tins("sent_packets"), [0, 16_172, 2]);
    assert_eq!(tins("sent_octets"), [0, 8_640_684, 84]);
    assert_eq!(tins("dropped_packets"), [0, 159, 0]);
    assert_eq!(tins("ecn_mark"), [0, 207, 0]);
    assert_eq!(tins("quantum_octets"), [300; 3]);
    assert_eq!(cake.marked(), Some(207));
    assert!(!cake.details.contains_key("tin3.sent_packets"));
}

#[test]
fn options_of_other_kinds_are_those_that_tc_was_given() {
    if !is_of_this_order() {
        return;
    }
    let codel = captured("codel");
    let expected =
        [("limit_packets", 900), ("target_us", 5_999), ("interval_us", 80_000), ("ecn", 1), ("ce_threshold_us", 1_999)];
    assert_eq!(codel.options, options(&expected));
    let fq = captured("fq").options;
    assert_eq!((fq["limit_packets"], fq["flow_limit_packets"], fq["maxrate_bps"]), (5_000, 50, 30_000_000));
    assert_eq!((fq["quantum_octets"], fq["low_rate_threshold_bps"]), (3_028, 550_000));
    let pie = captured("pie").options;
    assert_eq!((pie["limit_packets"], pie["target_us"], pie["ecn"]), (700, 20_000, 1));
    let red = captured("red").options;
    let expected = [("limit_octets", 60_000), ("min_octets", 5_000), ("max_octets", 20_000), ("ecn", 1)];
    assert_eq!(red, options(&expected));
    let sfq = captured("sfq").options;
    assert_eq!((sfq["limit_packets"], sfq["quantum_octets"], sfq["divisor"]), (100, 1_514, 1_024));
    let octets = octets(QUEUE_DISCIPLINES);
    let emulators: Vec<_> =
        entries(&octets).filter(|entry| entry.kind == "netem").map(|entry| entry.options()).collect();
    assert_eq!((emulators[0]["delay_us"], emulators[0]["limit_packets"]), (5_000, 100_000));
    let expected = [
        ("delay_us", 12_000),
        ("jitter_us", 3_000),
        ("limit_packets", 777),
        ("loss_ppm", 20_000),
        ("duplicate_ppm", 0),
        ("rate_bps", 5_000_000),
    ];
    assert_eq!(emulators[2], options(&expected));
    let ingress = captured("ingress");
    assert_eq!((ingress.handle.as_str(), ingress.parent.as_str()), ("ffff:", "ingress"));
    assert_eq!((ingress.counters.packets, ingress.options.len()), (16_173, 0));
}

#[test]
fn damaged_answers_are_read_as_far_as_they_go() {
    let whole = octets(QUEUE_DISCIPLINES);
    for cut in 0..whole.len() {
        entries(&whole[..cut]).for_each(|entry| drop(entry.queue_discipline()));
    }
    for place in 0..whole.len() {
        let mut damaged = whole.clone();
        damaged[place] ^= 0xff;
        entries(&damaged).for_each(|entry| drop((entry.queue_discipline(), entry.class())));
    }
}

#[test]
fn the_root_of_the_loopback_interface_can_be_asked() {
    let mut netlink = Netlink::open(crate::netlink::ROUTE).unwrap();
    let mut lo = Interface { index: 1, ..Interface::default() };
    fill(&mut netlink, &mut [&mut lo]).unwrap();
    let root = lo.queue_disciplines.iter().find(|entry| entry.parent == "root");
    let asked = root_counters(&mut netlink, &[1]).unwrap();
    let interfaces: Vec<u32> = asked.iter().map(|(interface, _)| *interface).collect();
    assert_eq!(interfaces, root.map(|_| 1).as_slice(), "{root:?} {asked:?}");
}
