//! Loss, copies and order by direction, held against a path whose every doing is known.

use std::collections::BTreeSet;

use rrul_analysis::LossAttribution;
use rrul_analysis::metrics::loss::packet_fate::{DirectionFate, PacketFate};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::observation::{
    PacketReceived, PacketReceivedTable, ProbeReceivedTable, ProbeSentTable, ReflectorWindowTable, Transaction,
};
use rrul_model::recording::End;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{CLOCK_OFFSET, Client, MS, SECOND, Scenario, Server};
use crate::packet_path::{Harm, PACKETS, TrueCounts, TrueWay, observe, sent_at};

/// Some numbers drawn by a linear congruential generator, one in `one_in`.
fn some(seed: u64, one_in: u64) -> BTreeSet<u32> {
    let mut state = seed;
    let mut draw = || {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33).is_multiple_of(one_in)
    };
    (0..PACKETS).filter(|_| draw()).collect()
}

const UP_AND_DOWN: [Direction; 2] = [Direction::Up, Direction::Down];

/// Those that were sent in this second.
fn second(second: i64) -> BTreeSet<u32> {
    (0..PACKETS).filter(|number| sent_at(*number) / SECOND == second).collect()
}

/// A path that does everything at once.
fn rough(seed: u64) -> Harm {
    let held_back = |number: u32| (number, if number.is_multiple_of(2) { 35 * MS } else { 12 * MS });
    Harm {
        loses: some(seed, 20),
        doubles: some(seed + 1, 100),
        delays: some(seed + 2, 30).into_iter().map(held_back).collect(),
    }
}

fn run(up: &Harm, down: &Harm) -> (Scenario, [TrueWay; 2]) {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    let truth = observe(&mut scenario, flow, up, down);
    // Every packet is waited for.
    scenario.recording.end = Some(End { at: TestTime(24 * SECOND), ..End::default() });
    (scenario, truth)
}

fn counts(fate: &PacketFate) -> TrueCounts {
    let reordering = fate.reordering.unwrap();
    assert_eq!(fate.sent, fate.arrived + fate.lost + fate.unattributed);
    assert_eq!((fate.unattributed, fate.late), (0, 0));
    assert_eq!(fate.share_least.to_bits(), fate.share_most.to_bits());
    TrueCounts {
        sent: fate.sent,
        lost: fate.lost,
        duplicated: fate.duplicated.unwrap(),
        reordered: reordering.reordered,
        extent_max: reordering.extent_max,
        three_reordered: reordering.three_reordered,
    }
}

fn every_integer_is_the_truths(fate: &DirectionFate, truth: &TrueWay) {
    for (phase, from, to) in [(fate.idle, 0, 5), (fate.load, 5, 15), (fate.after, 15, 20), (fate.all, 0, 20)] {
        assert_eq!(counts(&phase.unwrap()), truth.counts(from * SECOND, to * SECOND), "{from} to {to} s");
    }
}

#[test]
fn every_integer_of_both_directions_is_exact() {
    for seed in [1, 50] {
        for (up, down) in [
            (Harm::default(), Harm::default()),
            (rough(seed), Harm::default()),
            (Harm::default(), rough(seed)),
            (rough(seed), rough(seed + 9)),
        ] {
            let (scenario, truth) = run(&up, &down);
            let fates = scenario.analyze().measured.loss.fates;
            for (direction, truth) in UP_AND_DOWN.into_iter().zip(&truth) {
                let pooled = fates.pooled(direction).unwrap();
                assert_eq!(pooled.evidence, LossAttribution::Exact);
                every_integer_is_the_truths(pooled, truth);
            }
            every_integer_is_the_truths(&fates.flows[0].up, &truth[0]);
            every_integer_is_the_truths(&fates.flows[0].down, &truth[1]);
        }
    }
}

#[test]
fn the_truth_of_these_scenarios_is_not_empty() {
    let (_, [up, down]) = run(&rough(1), &rough(10));
    for truth in [up, down] {
        let counts = truth.counts(0, 20 * SECOND);
        assert!(counts.lost > 60 && counts.duplicated > 10 && counts.reordered > 40, "{counts:?}");
        assert!(counts.extent_max >= Some(3) && counts.three_reordered > 10, "{counts:?}");
    }
}

#[test]
fn losses_up_do_not_show_down_and_losses_down_do_not_show_up() {
    let harm = || Harm { loses: some(3, 10), ..Harm::default() };
    let lost = some(3, 10).len() as u64;
    let of = |up: &Harm, down: &Harm| {
        let fates = run(up, down).0.analyze().measured.loss.fates;
        [fates.up, fates.down].map(|fate| fate.unwrap().all.unwrap().lost)
    };
    assert_eq!(of(&harm(), &Harm::default()), [lost, 0]);
    assert_eq!(of(&Harm::default(), &harm()), [0, lost]);
}

#[test]
fn losses_of_both_directions_are_the_losses_of_the_round_trip() {
    let (scenario, _) =
        run(&Harm { loses: some(5, 12), ..Harm::default() }, &Harm { loses: some(6, 9), ..Harm::default() });
    let analysis = scenario.analyze();
    let fates = &analysis.loss.fates.flows[0];
    assert_eq!(fates.up.all.unwrap().lost + fates.down.all.unwrap().lost, analysis.loss.round_trips.lost);
    assert_eq!(fates.up.load.unwrap().sent, analysis.round_trip_delay.pooled.load.unwrap().n);
}

#[test]
fn the_load_is_its_scored_part_and_all_is_everything() {
    let mut scenario = Scenario::healthy();
    let probe = scenario.recording.header.flows[0].id;
    let [harm, none] = [Harm { loses: some(5, 12), ..Harm::default() }, Harm::default()];
    for frame in &mut scenario.recording.frames {
        frame.tables.probe_sent = ProbeSentTable::default();
        frame.tables.probe_received = ProbeReceivedTable::default();
    }
    observe(&mut scenario, probe, &harm, &none);
    scenario.recording.end = Some(End { at: TestTime(24 * SECOND), ..End::default() });
    let analysis = scenario.analyze();
    let scored = analysis.scored.common.expect("the load is scored");
    assert!(scored.length() < Scenario::LOAD.length(), "the beginning is not scored");
    let (load, all) = (analysis.loss.fates.up.unwrap().load.unwrap(), analysis.loss.fates.up.unwrap().all.unwrap());
    let delays = analysis.round_trip_delay.pooled.load.unwrap();
    assert_eq!((load.sent, load.lost), (delays.n, delays.lost));
    assert_eq!((all.sent, all.lost), (u64::from(PACKETS), harm.loses.len() as u64));
}

/// The same recording without what the server reported of test packets.
fn without_the_servers_rows(mut scenario: Scenario) -> Scenario {
    for frame in &mut scenario.recording.frames {
        frame.tables.packet_received = PacketReceivedTable::default();
    }
    scenario
}

#[test]
fn windows_take_the_place_of_the_servers_rows() {
    let harm = |seed, one_in| Harm { loses: some(seed, one_in), ..Harm::default() };
    let (scenario, truth) = run(&harm(7, 10), &harm(8, 10));
    let fates = without_the_servers_rows(scenario).analyze().measured.loss.fates;
    for (direction, truth) in UP_AND_DOWN.into_iter().zip(&truth) {
        let pooled = fates.pooled(direction).unwrap();
        assert_eq!(pooled.evidence, LossAttribution::Window);
        every_integer_is_the_truths(pooled, truth);
    }
}

#[test]
fn an_outage_of_a_second_is_exact_by_the_servers_rows_and_within_bounds_by_windows() {
    let outage = || Harm { loses: second(9), ..Harm::default() };
    for (up, down) in [(outage(), Harm::default()), (Harm::default(), outage())] {
        let (scenario, truth) = run(&up, &down);
        let fates = scenario.analyze().measured.loss.fates;
        let bounds = without_the_servers_rows(scenario).analyze().measured.loss.fates;
        let mut unattributed = [0; 2];
        for (index, (direction, truth)) in UP_AND_DOWN.into_iter().zip(&truth).enumerate() {
            every_integer_is_the_truths(fates.pooled(direction).unwrap(), truth);
            let load = bounds.pooled(direction).unwrap().load.unwrap();
            let lost = truth.counts(5 * SECOND, 15 * SECOND).lost;
            assert!(load.lost <= lost && lost <= load.lost + load.unattributed, "{direction}: {load:?}, truth {lost}");
            assert!(load.share_least <= 0.1 && load.share_most > load.share_least, "{load:?}");
            assert_eq!((load.loss_runs, load.share_ci95_high), (None, None), "not without guessing");
            unattributed[index] = load.unattributed;
        }
        // Of 100 packets without an answer the first reply after them reports the 63 before it.
        assert_eq!(unattributed, [37, 37]);
    }
}

#[test]
fn when_the_server_is_lost_its_rows_decide_up_to_then_and_windows_after() {
    let harm = |seed| Harm { loses: some(seed, 10), ..Harm::default() };
    let (mut scenario, truth) = run(&harm(11), &harm(12));
    scenario.recording.frames.retain(|frame| frame.point == Client || frame.number < 12);
    scenario.recording.end = Some(End { at: TestTime(24 * SECOND), partial: Some("lost".into()), ..End::default() });
    let fates = scenario.analyze().measured.loss.fates;
    for (direction, truth) in UP_AND_DOWN.into_iter().zip(&truth) {
        let pooled = fates.pooled(direction).unwrap();
        assert_eq!(pooled.evidence, LossAttribution::Window);
        assert_eq!(counts(&pooled.idle.unwrap()), truth.counts(0, 5 * SECOND));
        assert_eq!(counts(&pooled.load.unwrap()).lost, truth.counts(5 * SECOND, 15 * SECOND).lost);
    }
}

#[test]
fn rows_that_the_server_could_not_keep_are_not_taken_for_losses() {
    let (mut scenario, _) = run(&Harm::default(), &Harm { loses: second(9), ..Harm::default() });
    // All that was answered has rows, so that nothing else says that some are missing.
    for frame in scenario.recording.frames.iter_mut().filter(|frame| frame.point == Server) {
        let rows: Vec<PacketReceived> = frame.tables.packet_received.rows().collect();
        frame.tables.packet_received = PacketReceivedTable::default();
        let (unanswered, answered): (Vec<_>, Vec<_>) =
            rows.into_iter().partition(|row| sent_at(row.sequence) / SECOND == 9);
        frame.dropped = unanswered.len() as u64;
        for row in answered {
            frame.tables.push(row.into());
        }
    }
    let fates = scenario.analyze().measured.loss.fates;
    let (up, down) = (fates.up.unwrap().load.unwrap(), fates.down.unwrap().load.unwrap());
    assert_eq!((up.lost, down.lost), (0, 63), "the first reply after the outage reports 63 packets");
    assert_eq!((up.unattributed, down.unattributed), (37, 37));
}

#[test]
fn a_server_that_reports_nothing_is_no_proof_of_loss() {
    let (scenario, _) = run(&Harm::default(), &Harm::default());
    let mut scenario = without_the_servers_rows(scenario);
    for frame in &mut scenario.recording.frames {
        frame.tables.reflector_window = ReflectorWindowTable::default();
    }
    let lost_reply = scenario.recording.frames[0].tables.probe_received.rows().last().unwrap();
    let rows: Vec<_> = scenario.recording.frames[0].tables.probe_received.rows().collect();
    scenario.recording.frames[0].tables.probe_received = ProbeReceivedTable::default();
    for row in rows.into_iter().filter(|row| row != &lost_reply) {
        scenario.recording.frames[0].tables.push(row.into());
    }
    let fates = scenario.analyze().measured.loss.fates;
    let idle = |fate: Option<DirectionFate>| fate.unwrap().idle.unwrap();
    assert_eq!((idle(fates.up).lost, idle(fates.up).unattributed), (0, 1));
    assert_eq!((idle(fates.down).lost, idle(fates.down).unattributed), (0, 1));
}

#[test]
fn a_packet_after_the_waiting_time_is_late_and_lost_in_the_direction_that_took_this_long() {
    let slow = || Harm { delays: vec![(600, 3 * SECOND + 100 * MS), (700, 2 * SECOND)], ..Harm::default() };
    for (up, down, late) in [(slow(), Harm::default(), [1, 0]), (Harm::default(), slow(), [0, 1])] {
        let fates = run(&up, &down).0.analyze().measured.loss.fates;
        let of = |fate: Option<DirectionFate>| fate.unwrap().load.unwrap();
        assert_eq!([of(fates.up).late, of(fates.down).late], late);
        assert_eq!([of(fates.up).lost, of(fates.down).lost], late);
        assert_eq!(of(fates.up).arrived + of(fates.up).lost, 1000);
    }
}

#[test]
fn when_the_servers_clock_is_far_off_nothing_is_late() {
    let (mut scenario, _) = run(&Harm::default(), &Harm::default());
    for frame in &mut scenario.recording.frames {
        let arrivals: Vec<PacketReceived> = frame.tables.packet_received.rows().collect();
        frame.tables.packet_received = PacketReceivedTable::default();
        for row in arrivals {
            let received = TestTime(row.received.0 + 60 * SECOND);
            frame.tables.push(PacketReceived { received, ..row }.into());
        }
        let replies: Vec<_> = frame.tables.probe_received.rows().collect();
        frame.tables.probe_received = ProbeReceivedTable::default();
        for mut row in replies {
            row.reflector_received.0 += 60 * SECOND;
            row.reflector_sent.0 += 60 * SECOND;
            frame.tables.push(row.into());
        }
    }
    let fates = scenario.analyze().measured.loss.fates;
    assert_eq!((fates.up.unwrap().all.unwrap().late, fates.down.unwrap().all.unwrap().late), (0, 0));
}

#[test]
fn runs_and_the_interval_of_the_share_show_that_losses_cluster() {
    // A tenth of the packets: scattered, and in bursts of 20 in a second's distance.
    let bursts: BTreeSet<u32> = (0..PACKETS).filter(|number| number % 200 < 20).collect();
    let of = |loses| {
        run(&Harm { loses, ..Harm::default() }, &Harm::default()).0.analyze().loss.fates.up.unwrap().load.unwrap()
    };
    let (clustered, scattered) = (of(bursts), of(some(4, 10)));
    let runs = clustered.loss_runs.unwrap();
    assert_eq!((runs.bursts, runs.longest_burst, runs.mean_burst), (5, 20, Some(20.0)));
    assert!((runs.burst_ratio.unwrap() - 18.0).abs() < 1e-9);
    assert!((0.8..1.25).contains(&scattered.loss_runs.unwrap().burst_ratio.unwrap()));
    let width = |fate: &PacketFate| fate.share_ci95_high.unwrap() - fate.share_ci95_low.unwrap();
    for fate in [&clustered, &scattered] {
        assert!(fate.share_ci95_low.unwrap() <= fate.share_least && fate.share_least <= fate.share_ci95_high.unwrap());
    }
    // For independent losses it is 4 standard deviations of a binomial: 2 sqrt(0.1 * 0.9 / 1000).
    assert!((0.02..0.06).contains(&width(&scattered)), "{scattered:?}");
    assert!(width(&clustered) > 1.5 * width(&scattered), "{clustered:?} {scattered:?}");
}

#[test]
fn without_any_loss_the_interval_ends_at_three_in_n() {
    let fates = run(&Harm::default(), &Harm::default()).0.analyze().measured.loss.fates;
    let load = fates.up.unwrap().load.unwrap();
    assert_eq!((load.share_ci95_low, load.share_ci95_high), (Some(0.0), Some(0.003)));
}

#[test]
fn an_exchange_without_a_response_is_attributed_by_whether_its_request_arrived() {
    let mut scenario = Scenario::new();
    let flow = scenario.flow("udp_rr", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    for sequence in 0..100 {
        let at = 5 * SECOND + i64::from(sequence) * 50 * MS;
        let (lost_up, lost_down) = (sequence % 20 == 3, sequence % 25 == 7);
        let answered = u8::from(!lost_up && !lost_down);
        let took = Delay(if answered == 1 { 18 * MS } else { 40 * MS });
        scenario.observe(Client, at, Transaction { flow, sequence, started: TestTime(at), took, answered });
        let received = TestTime(at + 9 * MS + CLOCK_OFFSET);
        for _ in 0..if lost_up { 0 } else { 1 + u32::from(sequence == 50) } {
            scenario.observe(Server, received.0, PacketReceived { flow, sequence, received, octet: 0 });
        }
    }
    let fates = scenario.analyze().measured.loss.fates;
    assert_eq!((fates.up, fates.down), (None, None), "exchanges are not pooled with probes");
    let (up, down) = (fates.flows[0].up.load.unwrap(), fates.flows[0].down.load.unwrap());
    assert_eq!((up.sent, up.lost, up.duplicated, up.reordering), (100, 5, Some(1), None));
    assert_eq!((down.sent, down.lost, down.duplicated), (95, 4, None));
    assert_eq!(fates.flows[0].up.evidence, LossAttribution::Exact);

    let fates = without_the_servers_rows(scenario).analyze().measured.loss.fates;
    assert_eq!(fates.flows[0].up.evidence, LossAttribution::None);
    assert_eq!((fates.flows[0].up.load.unwrap().lost, fates.flows[0].up.load.unwrap().unattributed), (0, 9));
}
