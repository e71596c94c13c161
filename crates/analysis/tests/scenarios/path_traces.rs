//! Path traces whose truth is known by construction: two routers, the queue behind the first.

use proptest::collection::vec;
use proptest::prelude::*;
use rrul_analysis::metrics::path::bottleneck::BottleneckPlace;
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_analysis::validity::Severity;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::{
    FlowEventKind, OWN_LINK, PathAnswer, PathProbe, PathQuote, ProbeStamped, Tables, TcpInfo,
};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::bursts::{at_rate, stream};
use crate::robustness::observation;

/// EF with ECT(1).
const MARKED: u8 = 0xb9;
const FULL: u8 = 64;
const EXCEEDED: u8 = 11;

/// What both ways together wait at a moment: half of it each.
fn waits(at: i64) -> i64 {
    let into = at - 5 * SECOND;
    if (0..10 * SECOND).contains(&into) { 60 * MS + into / 50 % (60 * MS) } else { 0 }
}

/// Who answers.
#[derive(Clone, Copy, PartialEq)]
enum Routers {
    Both,
    /// The second from another address since the middle of the load, and a longer way.
    Changing,
    None,
}

struct Trace<'a> {
    scenario: &'a mut Scenario,
    flow: FlowId,
    sequence: u32,
}

impl Trace<'_> {
    /// A packet, and after this long its answer; `None` for none.
    fn packet(&mut self, at: i64, (hop_limit, octet, length): (u8, u8, u16), answer: Option<(i64, PathAnswer)>) -> u32 {
        let (flow, sequence) = (self.flow, self.sequence);
        self.sequence += 1;
        let sent = TestTime(at);
        self.scenario.observe(Client, at, PathProbe { flow, sequence, sent, hop_limit, octet, length });
        if let Some((after, answer)) = answer {
            let received = TestTime(at + after);
            self.scenario.observe(Client, at, PathAnswer { flow, sequence, received, ..answer });
        }
        sequence
    }

    fn quote(&mut self, sequence: u32, at: i64, octet: u8) {
        self.scenario.observe(Client, at, PathQuote { flow: self.flow, sequence, octet, hop_limit: 1 });
    }
}

fn from(source: u16, kind: u8, left: u8) -> PathAnswer {
    PathAnswer {
        flow: FlowId(0),
        sequence: 0,
        received: TestTime(0),
        source,
        kind,
        code: 0,
        mtu: 0,
        held: Delay(0),
        left,
    }
}

/// A trace up beside probes: hop 1 takes 2 ms, hop 2 takes 4 ms and what waits, the destination 20 ms and what waits.
fn scenario(routers: Routers, waits: impl Fn(i64) -> i64) -> Scenario {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |at| Some(20 * MS + waits(at)));
    let family = AddressFamily::Ipv4;
    let flow = scenario.flow("path_trace", Component::Analysis, Some(Direction::Up), family, Scenario::ALL);
    for (number, address) in [(1, "192.0.2.1"), (2, "192.0.2.2"), (3, "192.0.2.99"), (4, "198.51.100.2")] {
        scenario.event(Client, flow, SECOND, FlowEventKind::HopAddress, &format!("{number} {address}"));
    }
    scenario.event(Client, flow, 0, FlowEventKind::Uses, "quoted headers");
    let mut trace = Trace { scenario: &mut scenario, flow, sequence: 0 };
    for second in 0..20_i64 {
        let at = second * SECOND + 100 * MS;
        let octet = if second == 1 || second == 3 { MARKED } else { 0 };
        let changed = routers == Routers::Changing && second >= 10;
        let answers = routers != Routers::None;
        let hop_1 = trace.packet(at, (1, octet, 120), answers.then_some((2 * MS, from(1, EXCEEDED, 0))));
        let second_router = if changed { from(4, EXCEEDED, 0) } else { from(2, EXCEEDED, 0) };
        let longer = if changed { 30 * MS } else { 0 };
        let when = at + 300 * MS;
        let hop_2 =
            trace.packet(when, (2, octet, 121), answers.then_some((4 * MS + longer + waits(when), second_router)));
        let when = at + 600 * MS;
        let left = if changed { 61 } else { 62 };
        let end = trace.packet(when, (FULL, octet, 122), Some((20 * MS + longer + waits(when), from(3, 0, left))));
        if octet == MARKED {
            trace.quote(hop_1, at, MARKED);
            trace.quote(hop_2, at, 0x01);
            trace.quote(end, at, 0x02);
        }
    }
    scenario
}

fn only(scenario: &Scenario) -> PathTrace {
    let traces = scenario.analyze().measured.path_traces;
    let [trace] = &traces[..] else { panic!("{} traces", traces.len()) };
    trace.clone()
}

#[test]
fn the_queue_lies_between_the_last_hop_that_does_not_show_it_and_the_first_that_does() {
    let trace = only(&scenario(Routers::Both, waits));
    let found = &trace.bottleneck;
    assert_eq!(
        (found.place, found.after_hop, found.before_hop),
        (BottleneckPlace::Path, Some(1), Some(2)),
        "{}",
        found.words
    );
    assert!(found.words.ends_with(" ms, between hop 1 (192.0.2.1) and hop 2 (192.0.2.2)"), "{}", found.words);
    assert_eq!((trace.routers, trace.hops.len(), trace.strays), (Some(2), 3, 0));
    let sides: Vec<_> = trace.hops.iter().map(|hop| (hop.hop, hop.far_end, hop.side)).collect();
    assert_eq!(sides, [(1, false, Some("before")), (2, false, Some("behind")), (3, true, Some("behind"))]);
    let idle = trace.hops[1].phases.idle;
    assert_eq!((idle.sent, idle.answered, idle.round_trip.unwrap().p50), (3, 3, Some(Delay(4 * MS))));
    assert_eq!(trace.hops[0].queueing_ns, Some(0));
}

#[test]
fn a_wait_shorter_than_two_full_packets_is_no_queue_to_locate() {
    // 14 to 18 ms each way: at 1 Mbit/s one packet of 1514 bytes takes 12 ms.
    let short = |at: i64| if waits(at) > 0 { 28 * MS + waits(at) % (8 * MS) } else { 0 };
    let at_rate = |megabits| {
        let mut scenario = scenario(Routers::Both, short);
        stream(&mut scenario, Direction::Up, |after| crate::bursts::at_rate(megabits, after));
        only(&scenario).bottleneck
    };
    let (slow, fast) = (at_rate(1), at_rate(20));
    assert_eq!(slow.place, BottleneckPlace::None, "{}", slow.words);
    assert!(slow.queue_ns.is_some_and(|queue| queue > 13_000_000), "{slow:?}");
    assert_eq!((fast.place, fast.after_hop), (BottleneckPlace::Path, Some(1)), "{}", fast.words);
}

#[test]
fn the_hop_that_remarks_shows_in_what_is_quoted_on_the_idle_line() {
    let trace = only(&scenario(Routers::Both, waits));
    let changes: Vec<_> = trace
        .remarkings
        .iter()
        .map(|one| format!("{} {} {} {} {}", one.what, one.from, one.to, one.after_hop, one.seen_at_hop))
        .collect();
    assert_eq!(changes, ["dscp EF BE 1 2", "ecn ECT(1) ECT(0) 2 3"]);
}

#[test]
fn without_a_queue_none_is_reported_and_without_answers_its_place_is_unknown() {
    let found = only(&scenario(Routers::Both, |_| 0)).bottleneck;
    assert_eq!((found.place, found.after_hop), (BottleneckPlace::None, None), "{}", found.words);
    let found = only(&scenario(Routers::None, waits)).bottleneck;
    assert_eq!(found.place, BottleneckPlace::Unknown, "{}", found.words);
    assert!(found.words.contains("location unknown, no router on the path answers"), "{}", found.words);
}

#[test]
fn a_queue_within_the_sender_is_its_own() {
    // Half of what is added is on the way down.
    let added = |at: i64| if (5 * SECOND..15 * SECOND).contains(&at) { 16 * MS } else { 0 };
    let mut scenario = scenario(Routers::Both, added);
    let flow = scenario.recording.header.flows[0].id;
    for sequence in 0..1000 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        let lay = added(at) / 2;
        scenario.observe(Client, at, ProbeStamped { flow, sequence, sent: TestTime(at + lay) });
    }
    let found = only(&scenario).bottleneck;
    assert_eq!((found.place, found.host_queue_ns), (BottleneckPlace::Host, Some(8 * MS)), "{}", found.words);
    assert_eq!(found.words, "upload queue, 8.0 ms, in this host");
}

#[test]
fn a_queue_within_the_sender_is_not_named_where_that_of_the_path_is_not_known() {
    let mut scenario = scenario(Routers::Both, |_| 0);
    let flow = scenario.recording.header.flows[0].id;
    for sequence in 0..1000 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        // Left later, and was no later there: a clock changed unseen.
        let lay = if (5 * SECOND..15 * SECOND).contains(&at) { 8 * MS } else { 0 };
        scenario.observe(Client, at, ProbeStamped { flow, sequence, sent: TestTime(at + lay) });
    }
    let found = only(&scenario).bottleneck;
    assert_eq!((found.place, found.host_queue_ns), (BottleneckPlace::Unknown, Some(8 * MS)), "{}", found.words);
}

#[test]
fn a_route_that_changes_is_reported_and_answers_of_its_routers_are_held_against_their_own_idle_time() {
    let trace = only(&scenario(Routers::Changing, waits));
    assert_eq!(trace.route_changes.len(), 1);
    assert_eq!((trace.route_changes[0].at_ns, trace.route_changes[0].routers), (10 * SECOND + 700 * MS, 3));
    let found = &trace.bottleneck;
    let holds = found.after_hop.is_none_or(|hop| hop <= 1) && found.before_hop.is_none_or(|hop| hop >= 2);
    assert!(holds, "{}", found.words);
}

#[test]
fn answers_about_nothing_are_counted_and_change_nothing() {
    let whole = scenario(Routers::Both, waits);
    let mut disturbed = scenario(Routers::Both, waits);
    let flow = disturbed.recording.header.flows[1].id;
    for second in 0..20 {
        let received = TestTime(second * SECOND + 900 * MS);
        let stray = PathAnswer { flow, sequence: u32::MAX, received, ..from(2, EXCEEDED, 0) };
        disturbed.observe(Client, received.0, stray);
        // A second answer to a packet that was answered, an hour late and from elsewhere.
        let late = PathAnswer { sequence: 0, received: TestTime(3_600 * SECOND), ..stray };
        disturbed.observe(Client, received.0, late);
    }
    let (whole, disturbed) = (only(&whole), only(&disturbed));
    assert_eq!(disturbed.strays, 40);
    assert_eq!((disturbed.hops, disturbed.bottleneck), (whole.hops, whole.bottleneck));
}

#[test]
fn the_bytes_of_packets_and_of_answers_are_in_the_account_of_the_link() {
    let assert_near = |routers: Routers, expected: [u64; 2]| {
        let load = scenario(routers, waits).analyze().measured.link_octets.load.expect("a load");
        let found = [load.up, load.down].map(|direction| direction.all.parts_octets.survey);
        // Between two packets a counter is a line, so that those beside the edges of the load count in part.
        assert!(found.iter().zip(expected).all(|(found, expected)| found.abs_diff(expected) <= 15), "{found:?}");
    };
    // Ten rounds. A router quotes the whole packet behind headers of 28 bytes, the destination answers with 80 behind
    // as many.
    assert_near(Routers::Both, [10 * (120 + 121 + 122), 10 * (148 + 149 + 108)]);
    // What is not answered is not known to have come through.
    assert_near(Routers::None, [10 * 122, 10 * 108]);
}

#[test]
fn what_the_senders_own_link_refused_was_on_no_link_and_is_no_message() {
    let whole = scenario(Routers::Both, waits);
    let mut refused = scenario(Routers::Both, waits);
    let flow = refused.recording.header.flows.last().unwrap().id;
    let own_link = PathAnswer { mtu: 1420, ..from(0, OWN_LINK, 0) };
    Trace { scenario: &mut refused, flow, sequence: 1000 }.packet(8 * SECOND, (FULL, 0, 1500), Some((MS, own_link)));
    let octets = |scenario: &Scenario| scenario.analyze().measured.link_octets.load.expect("a load");
    assert_eq!(octets(&refused), octets(&whole));
    let (whole, refused) = (only(&whole), only(&refused));
    let mtu = refused.path_mtu.expect("a long packet");
    assert_eq!((mtu.failed_octets, mtu.told_octets), (Some(1500), Some(1420)));
    assert_eq!((refused.hops, refused.messages, refused.strays), (whole.hops, whole.messages, whole.strays));
}

#[test]
fn full_packets_that_are_lost_without_a_report_are_a_reason_where_streams_send_such() {
    let reason = |mss: u32, streams_deliver: &[bool], refusal: Option<PathAnswer>| {
        let mut scenario = scenario(Routers::Both, waits);
        let flow = scenario.recording.header.flows.last().unwrap().id;
        let mut trace = Trace { scenario: &mut scenario, flow, sequence: 1000 };
        trace.packet(2 * SECOND, (FULL, 0, 1492), Some((20 * MS, from(3, 0, 62))));
        for attempt in 1..=3 {
            let answer = refusal.map(|refusal| (2 * MS, refusal));
            trace.packet(2 * SECOND + attempt * 200 * MS, (FULL, 0, 1500), answer);
        }
        for delivers in streams_deliver {
            let load = stream(&mut scenario, Direction::Up, if *delivers { |after| at_rate(8, after) } else { |_| 0 });
            // Timestamps are in use.
            let row = TcpInfo { snd_mss: mss, options: 1, ..tcp_info(load, 6 * SECOND) };
            scenario.observe(Client, 6 * SECOND, row);
        }
        let reasons = scenario.analyze().validity.reasons;
        reasons.into_iter().find(|reason| reason.code == "large_packets_lost")
    };
    let silent = reason(1448, &[false], None).expect("1448 bytes of data make 1500");
    assert_eq!(silent.severity, Severity::Invalid);
    assert!(silent.text.contains("Upload loses packets of 1500 bytes and more over IPv4"), "{}", silent.text);
    assert!(silent.text.contains("MSS of TCP to 1452 bytes"), "{}", silent.text);
    assert_eq!(reason(1448, &[true, false], None).map(|reason| reason.severity), Some(Severity::Doubt));
    assert_eq!(reason(1448, &[true], None), None, "only long test packets are lost");
    assert_eq!(reason(1440, &[false], None), None, "the router limits the MSS");
    let refusal = PathAnswer { code: 4, mtu: 1492, ..from(2, 3, 0) };
    assert_eq!(reason(1448, &[false], Some(refusal)), None, "senders heed the report");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// Where the rest of a recording is sound, so that clocks and waits are known.
    #[test]
    fn single_rows_that_are_hostile_break_no_analysis(rows in vec((any::<bool>(), observation()), 1..30)) {
        let mut recording = scenario(Routers::Both, waits).recording;
        for (client, row) in rows {
            let mut tables = Tables::default();
            tables.push(row);
            let point = if client { Client } else { Server };
            recording.frames.push(Frame { point, number: 0, dropped: 0, tables, events: Vec::new() });
        }
        let traces = rrul_analysis::analyze(&recording).measured.path_traces;
        prop_assert!(traces.iter().all(|trace| !trace.bottleneck.words.is_empty()));
    }
}
