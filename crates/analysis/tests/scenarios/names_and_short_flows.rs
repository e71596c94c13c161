//! Lookups of names and short flows.

use rrul_analysis::metrics::web::name_lookups::{LookupGroup, RecordType};
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, Parameter};
use rrul_model::observation::{ConnectionTotals, FlowEventKind, NameLookup, Transfer};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::recording::End;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::builder::{Client, MS, SECOND, Scenario, Server, ms};

/// Before the load, and from its end on.
const IDLE: Window = Window { from: TestTime(0), to: TestTime(5 * SECOND) };

fn set(scenario: &mut Scenario, parameters: &[(&str, &str)]) {
    let flow = scenario.recording.header.flows.last_mut().unwrap();
    for (name, value) in parameters {
        flow.parameters.0.insert((*name).to_owned(), Parameter::Text((*value).to_owned()));
    }
}

pub(crate) fn lookup_flow(scenario: &mut Scenario, window: Window, resolver: &str, names: &str) -> FlowId {
    let flow = scenario.flow("dns_lookup", Component::Realtime, None, AddressFamily::Ipv4, window);
    set(scenario, &[("resolver", resolver), ("names", names)]);
    flow
}

/// A question of each kind in every 100 ms of the flow's window, a millisecond after its beginning, as `row` has it of its time: what became of it, and when.
pub(crate) fn lookups(scenario: &mut Scenario, flow: FlowId, row: impl Fn(i64, u16) -> (u8, i64)) {
    let window = scenario.recording.flow(flow).unwrap().window;
    for (sequence, at) in (window.from.0 + MS..window.to.0).step_by(100 * MS as usize).enumerate() {
        for record in [1, 28] {
            let (reached, took) = row(at, record);
            let answered = [NameLookup::ANSWERED, NameLookup::REFUSED].contains(&reached);
            let row = NameLookup {
                flow,
                sequence: sequence as u32,
                scheduled: TestTime(at),
                started: TestTime(at),
                record,
                reached,
                response_code: if reached == NameLookup::REFUSED { 5 } else { 0 },
                took: Delay(took),
                question_octets: 70,
                answer_octets: if answered { 86 } else { 0 },
            };
            scenario.observe(Client, at, row);
        }
    }
}

fn group(groups: &[LookupGroup], record: RecordType) -> &LookupGroup {
    groups.iter().find(|group| group.kind.record == record).unwrap()
}

#[test]
fn lookups_are_reported_unloaded_and_loaded_with_those_without_an_answer_as_infinitely_late() {
    let mut scenario = Scenario::new();
    let idle = lookup_flow(&mut scenario, IDLE, "server", "random");
    let loaded = lookup_flow(&mut scenario, Scenario::LOAD, "server", "random");
    lookups(&mut scenario, idle, |_, _| (NameLookup::ANSWERED, 20 * MS));
    // Of every ten for A one each is not answered, refused, impossible; those for AAAA are all answered.
    lookups(&mut scenario, loaded, |at, record| match (record, at / (100 * MS) % 10) {
        (1, 0) => (NameLookup::UNANSWERED, 5 * SECOND),
        (1, 1) => (NameLookup::REFUSED, 10 * MS),
        (1, 2) => (NameLookup::IMPOSSIBLE, MS),
        _ => (NameLookup::ANSWERED, 50 * MS),
    });
    let found = scenario.analyze().measured.name_lookups;
    assert_eq!((found.groups.len(), found.flows.len()), (2, 4), "two records of one kind, of two flows");
    let a = group(&found.groups, RecordType::A);
    let [unloaded, load] = [a.times.unloaded, a.times.load].map(Option::unwrap);
    assert_eq!((unloaded.time.n, unloaded.time.lost, unloaded.time.p50), (50, 0, ms(20)));
    assert_eq!((load.time.n, load.time.lost, load.time.p50), (100, 30, ms(50)));
    assert_eq!((load.time.p90, load.time.max), (None, ms(50)), "three in ten got none");
    assert_eq!((load.answered, load.unanswered, load.refused, load.impossible), (70, 10, 10, 10));
    assert_eq!((a.loaded_over_unloaded, a.times.after), (Some(2.5), None));
    let aaaa = group(&found.groups, RecordType::Aaaa).times.load.unwrap();
    assert_eq!((aaaa.time.n, aaaa.time.lost, aaaa.answered), (100, 0, 100));
    assert!(scenario.analyze().transaction_flows.is_empty(), "they are no closed loop");
}

#[test]
fn the_survey_before_the_baseline_counts_as_unloaded() {
    let mut scenario = Scenario::new();
    let before = Window { from: TestTime(0), to: TestTime(2 * SECOND) };
    scenario.recording.header.phases[0].window.from = before.to;
    scenario.recording.header.phases.insert(0, PhaseWindow { phase: Phase::Survey, window: before });
    let flow = lookup_flow(&mut scenario, IDLE, "server", "random");
    lookups(&mut scenario, flow, |at, _| {
        (NameLookup::ANSWERED, if before.contains(TestTime(at)) { 20 } else { 30 } * MS)
    });
    let found = scenario.analyze().measured.name_lookups;
    let unloaded = found.groups[0].times.unloaded.unwrap();
    assert_eq!((unloaded.time.n, unloaded.time.min, unloaded.time.max), (50, ms(20), ms(30)));
}

#[test]
fn resolvers_and_names_are_kept_apart() {
    let mut scenario = Scenario::new();
    let kinds =
        [("server", "random", 10), ("system", "cached", 2), ("system", "uncached", 40), ("192.0.2.9", "cached", 7)];
    for (resolver, names, time) in kinds {
        let flow = lookup_flow(&mut scenario, IDLE, resolver, names);
        lookups(&mut scenario, flow, |_, _| (NameLookup::ANSWERED, time * MS));
    }
    let found = scenario.analyze().measured.name_lookups;
    let of_a = found.groups.iter().filter(|group| group.kind.record == RecordType::A);
    let found: Vec<_> = of_a
        .map(|group| {
            (&*group.kind.resolver, &*group.kind.names, group.times.unloaded.unwrap().time.p50.unwrap().0 / MS)
        })
        .collect();
    assert_eq!(found, kinds);
}

#[test]
fn lookups_that_were_still_waited_for_at_the_end_are_cut_off_and_leave_no_bias() {
    let mut scenario = Scenario::new();
    scenario.recording.end =
        Some(End { at: TestTime(12 * SECOND), partial: Some("stopped".to_owned()), ..End::default() });
    let flow = lookup_flow(&mut scenario, Scenario::LOAD, "server", "random");
    lookups(&mut scenario, flow, |at, _| match at {
        at if at > 11 * SECOND => (NameLookup::UNANSWERED, 12 * SECOND - at),
        _ => (NameLookup::ANSWERED, 20 * MS),
    });
    let load = scenario.analyze().name_lookups.groups[0].times.load.unwrap();
    // From 5 s to 15 s, those from 11 s on cut off. Ten of them had waited longer than any answer took.
    assert_eq!((load.time.n, load.time.lost, load.cut_short, load.answered), (100, 0, 40, 60));
    assert_eq!((load.unanswered, load.time.p50, load.time.p95), (0, ms(20), None));
}

#[test]
fn short_flows_are_scored_over_all_that_began_in_phase_web() {
    let mut scenario = Scenario::new();
    scenario.web_phase();
    let window = Window { from: TestTime(5 * SECOND), to: TestTime(18 * SECOND) };
    let flow = short_flow(&mut scenario, window, Direction::Up, "10kB");
    // In phase load they would be quick. In the last 2 s of the load they are still under way when it ends: stopped there, or
    // complete when nothing loads the line any more.
    transfers(&mut scenario, flow, 10_000, |at| match at {
        at if at < 10 * SECOND => (Transfer::COMPLETE, 10 * MS),
        at if at < 16 * SECOND => (Transfer::COMPLETE, SECOND),
        at if at < 17 * SECOND => (Transfer::CONNECTED, 18 * SECOND - at + MS),
        at => (Transfer::COMPLETE, 18 * SECOND - at + 100 * MS),
    });
    let found = scenario.analyze().short_flows.groups[0].transfers.load.unwrap();
    assert_eq!((found.completion.n, found.completion.lost, found.cut_short, found.broken), (80, 0, 20, 0));
    assert_eq!((found.completion.min, found.completion.p50), (ms(1000), ms(1000)));
    assert_eq!(found.rate_p50_bps, Some(BitRate(80_000)));
    // One that broke before the load ended is a failure all the same.
    let flow = short_flow(&mut scenario, window, Direction::Down, "10kB");
    transfers(&mut scenario, flow, 10_000, |at| {
        if at < 14 * SECOND { (Transfer::CONNECTED, SECOND) } else { (Transfer::COMPLETE, SECOND) }
    });
    let found = scenario.analyze().short_flows.groups[1].transfers.load.unwrap();
    assert_eq!((found.completion.n, found.completion.lost, found.broken), (80, 40, 40));
    assert_eq!(found.cut_short, 9, "begun in the last second");
}

#[test]
fn a_host_without_a_resolver_is_reported_once_and_casts_no_doubt() {
    let mut scenario = Scenario::healthy();
    let verdict = scenario.analyze().validity.verdict;
    let reason = "/etc/resolv.conf names no resolver over ipv4";
    for names in ["cached", "uncached"] {
        let flow = lookup_flow(&mut scenario, IDLE, "system", names);
        scenario.event(Client, flow, -SECOND, FlowEventKind::Failed, reason);
    }
    let analysis = scenario.analyze();
    assert_eq!((analysis.absent_flows.len(), analysis.failed_flows.len()), (2, 0));
    assert_eq!(analysis.validity.verdict, verdict);
    let texts: Vec<&str> =
        analysis.validity.reasons.iter().filter(|one| one.code == "flow_absent").map(|one| &*one.text).collect();
    assert_eq!(texts.len(), 1, "{texts:?}");
    assert_eq!(texts[0], format!("dns_lookup (2 flows) did not run: {reason}."));
    let flow = lookup_flow(&mut scenario, IDLE, "server", "random");
    scenario.event(Client, flow, -SECOND, FlowEventKind::Failed, "no socket");
    assert_eq!(scenario.analyze().failed_flows.len(), 1, "the server's own answers cannot be done without");
}

fn short_flow(scenario: &mut Scenario, window: Window, direction: Direction, size: &str) -> FlowId {
    let flow = scenario.flow("short_flow", Component::Realtime, Some(direction), AddressFamily::Ipv4, window);
    set(scenario, &[("size", size)]);
    flow
}

/// A transfer every 100 ms, as `row` has it of its time: how far it came, and when.
fn transfers(scenario: &mut Scenario, flow: FlowId, size: u64, row: impl Fn(i64) -> (u8, i64)) {
    let window = scenario.recording.flow(flow).unwrap().window;
    for (sequence, at) in (window.from.0..window.to.0).step_by(100 * MS as usize).enumerate() {
        let (reached, took) = row(at);
        let row = Transfer {
            flow,
            sequence: sequence as u32,
            scheduled: TestTime(at),
            started: TestTime(at),
            reached,
            octets: ByteCount(size),
            arrived: ByteCount(if reached == Transfer::COMPLETE { size } else { 0 }),
            connect: Delay(took / 4),
            answer: Delay(took / 2),
            took: Delay(took),
            syn_retransmits: u8::from(reached == Transfer::UNANSWERED),
        };
        scenario.observe(Client, at, row);
    }
}

#[test]
fn short_flows_are_reported_by_size_and_direction_with_those_that_failed_as_infinitely_late() {
    let mut scenario = Scenario::new();
    for direction in Direction::ALL {
        let idle = short_flow(&mut scenario, IDLE, direction, "100kB");
        transfers(&mut scenario, idle, 100_000, |_| (Transfer::COMPLETE, 80 * MS));
    }
    let loaded = short_flow(&mut scenario, Scenario::LOAD, Direction::Down, "100kB");
    transfers(&mut scenario, loaded, 100_000, |at| match at / (100 * MS) % 25 {
        0 => (Transfer::UNANSWERED, 30 * SECOND),
        1 => (Transfer::CONNECTED, 30 * SECOND),
        2 => (Transfer::REFUSED, MS),
        3 => (Transfer::IMPOSSIBLE, MS),
        4 => (Transfer::COMPLETE, 800 * MS),
        _ => (Transfer::COMPLETE, 400 * MS),
    });
    let small = short_flow(&mut scenario, IDLE, Direction::Down, "10kB");
    transfers(&mut scenario, small, 10_000, |_| (Transfer::COMPLETE, 40 * MS));
    let found = scenario.analyze().measured.short_flows;
    let kinds: Vec<_> = found.groups.iter().map(|group| (group.kind.direction, group.kind.size.0)).collect();
    assert_eq!(kinds, [(Direction::Down, 100_000), (Direction::Up, 100_000), (Direction::Down, 10_000)]);
    assert_eq!(found.flows.len(), 4);
    let down = &found.groups[0];
    let [unloaded, load] = [down.transfers.unloaded, down.transfers.load].map(Option::unwrap);
    // 100 kB in 80 ms are 10 Mbit/s, and in 400 ms 2.
    assert_eq!((unloaded.completion.n, unloaded.completion.p50), (50, ms(80)));
    assert_eq!((unloaded.rate_p50_bps, unloaded.rate_p5_bps), (Some(BitRate(10_000_000)), Some(BitRate(10_000_000))));
    assert_eq!((load.completion.n, load.completion.lost, load.completion.p50), (100, 16, ms(400)));
    assert_eq!((load.rate_p50_bps, load.rate_p5_bps), (Some(BitRate(2_000_000)), None));
    assert_eq!((load.unanswered, load.broken, load.refused, load.impossible, load.retried), (4, 4, 4, 4, 4));
    assert_eq!(down.loaded_over_unloaded, Some(5.0));
    assert!(scenario.analyze().transaction_flows.is_empty(), "they are no closed loop");
}

/// Totals of a connection that stood for the first second of the test.
fn totals(flow: FlowId, connection: u32) -> ConnectionTotals {
    ConnectionTotals {
        flow,
        connection,
        started: TestTime(0),
        ended: TestTime(SECOND),
        transport: 6,
        options: 1,
        sent_octets: 0,
        retransmitted_octets: 0,
        received_octets: 0,
        sent_segments: 0,
        received_segments: 0,
        sent_data_segments: 0,
        received_data_segments: 0,
        out_of_order: 0,
    }
}

#[test]
fn bytes_of_lookups_and_short_flows_are_in_the_account() {
    let mut scenario = Scenario::new();
    let names = lookup_flow(&mut scenario, IDLE, "server", "random");
    lookups(&mut scenario, names, |at, _| if at < SECOND { (NameLookup::UNANSWERED, 5 * SECOND) } else { (1, MS) });
    let flow = short_flow(&mut scenario, IDLE, Direction::Down, "10kB");
    let client = ConnectionTotals {
        sent_octets: 32,
        sent_segments: 7,
        sent_data_segments: 1,
        received_octets: 10_008,
        received_segments: 9,
        received_data_segments: 7,
        ..totals(flow, 0)
    };
    let server = ConnectionTotals {
        sent_octets: 10_008,
        sent_segments: 9,
        sent_data_segments: 7,
        received_octets: 32,
        received_segments: 7,
        received_data_segments: 1,
        ..totals(flow, 0)
    };
    scenario.observe(Client, SECOND, client);
    scenario.observe(Server, SECOND, server);
    // Of another the server reports nothing, and of a third nothing ever came back.
    scenario.observe(Client, SECOND, ConnectionTotals { connection: 1, ..client });
    scenario.observe(Client, SECOND, ConnectionTotals { sent_segments: 3, ..totals(flow, 2) });
    let idle = scenario.analyze().measured.link_octets.idle.unwrap();
    // Each segment has 20 + 20 + 12 bytes around its payload; each SYN 8 more.
    let down = 2 * (10_008 + 9 * 52 + 8);
    let up = 2 * (32 + 7 * 52 + 8);
    assert_eq!((idle.down.all.parts_octets.short_flows, idle.up.all.parts_octets.short_flows), (down, up));
    assert_eq!((idle.down.all.estimated_octets, idle.up.all.estimated_octets), (0, up / 2));
    assert_eq!(idle.up.all.offered_octets - 100 * (28 + 70), up + 3 * 52 + 8);
    // Questions in the whole of the 5 s, answers from the second second on.
    assert_eq!(idle.up.all.parts_octets.name_lookups, 100 * (28 + 70));
    assert_eq!(idle.down.all.parts_octets.name_lookups, 80 * (28 + 86));
    assert_eq!(idle.down.all.carried_packets, 80 + 18);
    assert!(scenario.analyze().link_octets.uncounted_flows.is_empty());
}

#[test]
fn datagrams_of_a_connection_bear_headers_of_ip_and_udp() {
    let mut scenario = Scenario::new();
    let flow = scenario.flow("web_page", Component::Web, None, AddressFamily::Ipv6, IDLE);
    let row = ConnectionTotals {
        transport: 17,
        options: 0,
        sent_octets: 5000,
        sent_segments: 10,
        received_octets: 90_000,
        received_segments: 80,
        ..totals(flow, 0)
    };
    scenario.observe(Client, SECOND, row);
    let idle = scenario.analyze().measured.link_octets.idle.unwrap();
    assert_eq!(idle.down.all.parts_octets.web, 90_000 + 80 * 48);
    assert_eq!(idle.up.all.parts_octets.web, 5000 + 10 * 48);
    assert_eq!((idle.down.all.estimated_octets, idle.up.all.estimated_octets), (0, 5000 + 10 * 48));
}
