//! Delay by direction from two clocks that are not synchronized.

use proptest::prelude::*;
use rrul_analysis::Analysis;
use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::metrics::delay::one_way_delay::Changed;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::series::DelayPoint;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::{
    ClockSample, PacketReceivedTable, ProbeReceivedTable, Transaction, TransactionStamped, TransactionStampedTable,
};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{Client, HELD, MS, SECOND, Scenario, Server};
use crate::two_clocks::{Clock, Run, TwoClocks};

const SKEWS: [f64; 9] = [0.0, 50.0, -50.0, 100.0, 200.0, -200.0, 350.0, 500.0, -500.0];

/// A server whose clock drifts so fast and steps like this.
fn server(skew_ppm: f64, steps: &[(i64, i64)]) -> Clock {
    Clock { offset: -3_600_000_000_000, skew_ppm, steps: steps.to_vec() }
}

#[track_caller]
fn certain(analysis: &Analysis) {
    let clocks = analysis.one_way_delay.clocks.as_ref().expect("clocks");
    assert_eq!(clocks.skew_uncertain, None);
    assert!(analysis.one_way_delay.check.expect("a check").consistent, "{:?}", analysis.one_way_delay.check);
}

/// 150 ms were put into the way up all through the load: they are found there and nowhere else.
#[track_caller]
fn finds_the_queue_up(run: &Run) -> Analysis {
    let analysis = run.analyze();
    certain(&analysis);
    let error = run.queueing_error(&analysis, 950);
    assert!(error < MS, "queueing is off by {error} ns at P95");
    let [up, down] = [&analysis.one_way_delay.up, &analysis.one_way_delay.down].map(|way| &way.queueing_delay);
    let loaded = up.load.expect("load").p50.expect("no loss at the median");
    assert!((loaded - Delay(150 * MS)).0.abs() < MS, "{loaded} up");
    // P90, as 5 % are lost, and so P95 with them.
    let other = down.load.expect("load").p90.expect("a delay");
    assert!(other < Delay(2 * MS), "{other} down");
    assert!(up.idle.expect("idle").p90.expect("a delay") < Delay(MS));
    analysis
}

#[test]
fn a_queue_in_one_direction_is_found_there_whatever_the_drift() {
    for skew in SKEWS {
        let run = TwoClocks { server: server(skew, &[]), ..TwoClocks::default() }.run();
        let analysis = finds_the_queue_up(&run);
        let clocks = analysis.one_way_delay.clocks.as_ref().unwrap();
        let error = (clocks.skew_ppm - skew).abs();
        assert!(error < 0.1, "{} instead of {skew} ppm", clocks.skew_ppm);
        assert!(clocks.skew_error_ppm.unwrap() < 0.5);
        assert_eq!(clocks.segments.len(), 1, "{:?}", clocks.segments);
    }
}

#[test]
fn a_queue_on_the_way_down_is_found_there() {
    let queue: fn(Direction, i64) -> i64 = |direction, at| {
        if direction == Direction::Down && (5 * SECOND..65 * SECOND).contains(&at) { 150 * MS } else { 0 }
    };
    let run = TwoClocks { server: server(200.0, &[]), queue, ..TwoClocks::default() }.run();
    let analysis = run.analyze();
    certain(&analysis);
    let up = analysis.one_way_delay.up.queueing_delay.load.unwrap().p90.unwrap();
    let down = analysis.one_way_delay.down.queueing_delay.load.unwrap().p50.unwrap();
    assert!(up < Delay(MS) && (down - Delay(150 * MS)).0.abs() < MS, "{up} up, {down} down");
    assert!(run.queueing_error(&analysis, 950) < MS);
}

/// Exchanges one after the other over both ways of a line, stamped by two clocks. Messages take `longer` than test packets.
fn exchanges(run: &mut Run, flow_type: &str, line: &TwoClocks, longer: i64) -> FlowId {
    let flow = run.scenario.flow(flow_type, Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    let client = |at| TestTime(line.client.reads(at));
    let cross = |way, at: i64| at + (line.base)(way, at) + (line.queue)(way, at) + longer;
    let (mut at, mut sequence) = (0, 0);
    while at < line.phases.iter().sum::<i64>() * SECOND {
        let arrived = cross(Direction::Up, at);
        let returned = cross(Direction::Down, arrived + HELD);
        let [server_received, server_sent] = [arrived, arrived + HELD].map(|at| TestTime(run.server(at)));
        let (sent, received) = (client(at), client(returned));
        let row = TransactionStamped { flow, sequence, sent, server_received, server_sent, received };
        run.scenario.observe(Client, at, row);
        let took = received.since(sent);
        run.scenario.observe(Client, at, Transaction { flow, sequence, started: sent, took, answered: 1 });
        (at, sequence) = (returned, sequence + 1);
    }
    flow
}

#[test]
fn exchanges_have_their_delay_in_each_direction_and_feed_no_headline() {
    // 100 ms are added on the way up alone, by a queue that stands all through the load.
    let queue: fn(Direction, i64) -> i64 = |direction, at| {
        if direction == Direction::Up && (5 * SECOND..65 * SECOND).contains(&at) { 100 * MS } else { 0 }
    };
    // A server's clock that drifts; one that steps under load; a route that becomes longer under load.
    let longer_up: fn(Direction, i64) -> i64 =
        |way, at| if way == Direction::Down { 10 * MS } else { 30 * MS + i64::from(at > 30 * SECOND) * 15 * MS };
    let lines = [
        TwoClocks { server: server(200.0, &[]), queue, ..TwoClocks::default() },
        TwoClocks { server: server(-50.0, &[(35 * SECOND, 100 * MS)]), queue, ..TwoClocks::default() },
        TwoClocks { server: server(50.0, &[]), queue, base: longer_up, ..TwoClocks::default() },
    ];
    for (index, line) in lines.iter().enumerate() {
        let mut run = line.run();
        let without = run.analyze();
        let flows = [exchanges(&mut run, "udp_rr", line, 0), exchanges(&mut run, "tcp_rr", line, 2 * MS)];
        let analysis = run.analyze();
        certain(&analysis);
        for flow in flows {
            let entry = analysis.transaction_flows.iter().find(|entry| entry.flow.id == flow).unwrap();
            let median = |way, phase: fn(&PhaseDelays) -> Option<DelayStatistics>| {
                phase(&entry.delays.get(way).as_ref().expect("stamped").delays.queueing_delay)
                    .expect("exchanges")
                    .p50
                    .unwrap()
                    .0
            };
            for (way, truth) in [(Direction::Up, 100 * MS), (Direction::Down, 0)] {
                let (idle, load) = (median(way, |of| of.idle), median(way, |of| of.load));
                assert!((load - truth).abs() < MS / 2, "line {index}, {way}: {load} ns under load");
                assert!(idle.abs() < MS / 2, "line {index}, {way}: {idle} ns idle");
            }
        }
        assert_eq!(analysis.round_trip_delay.pooled, without.round_trip_delay.pooled);
        assert_eq!(analysis.one_way_delay, without.one_way_delay);
        assert_eq!(analysis.scores, without.scores);
    }
}

#[test]
fn exchanges_without_stamps_or_idle_exchanges_have_no_queueing_delay() {
    let line = TwoClocks::default();
    let mut run = line.run();
    let flow = exchanges(&mut run, "udp_rr", &line, 0);
    let delays = |run: &Run| {
        let flows = run.analyze().measured.transaction_flows;
        flows.into_iter().find(|entry| entry.flow.id == flow).unwrap().delays
    };
    let keep = |run: &mut Run, wanted: fn(&TransactionStamped) -> bool| {
        for frame in &mut run.scenario.recording.frames {
            let rows: Vec<_> = frame.tables.transaction_stamped.rows().filter(wanted).collect();
            frame.tables.transaction_stamped = TransactionStampedTable::default();
            for row in rows {
                frame.tables.push(row.into());
            }
        }
    };
    keep(&mut run, |row| (6 * SECOND..64 * SECOND).contains(&row.sent.0));
    let loaded_only = delays(&run).up.expect("stamped");
    assert_eq!(loaded_only.delays.queueing_delay.load, None);
    assert!(loaded_only.delays.one_way_delay.load.is_some());
    keep(&mut run, |_| false);
    assert_eq!(delays(&run), ByDirection { up: None, down: None });
}

#[test]
fn absolute_delay_is_off_by_half_the_difference_of_the_directions_and_within_the_bound_reported() {
    for skew in SKEWS {
        let run = TwoClocks { server: server(skew, &[]), ..TwoClocks::default() }.run();
        let analysis = run.analyze();
        let bound = analysis.one_way_delay.clocks.as_ref().unwrap().bound_ns;
        assert!((bound - 20 * MS).abs() < MS / 10, "half of 40 ms, not {bound} ns");
        for (direction, expected) in [(Direction::Up, -10 * MS), (Direction::Down, 10 * MS)] {
            let errors = run.delay_errors(&analysis, direction);
            let (least, most) = (errors[0], errors[errors.len() - 1]);
            assert!((least - expected).abs() < MS / 10 && (most - expected).abs() < MS / 10, "{least} to {most} ns");
        }
    }
}

#[test]
fn steps_of_either_clock_are_found_and_taken_out() {
    for (when, phase) in
        [(35 * SECOND + 3 * MS, "mid-load"), (2 * SECOND + 511 * MS, "mid-idle"), (67_512 * MS, "after")]
    {
        for by in [100 * MS, -100 * MS] {
            for (host, stepped) in [(Changed::ServerClock, true), (Changed::ClientClock, false)] {
                let steps = vec![(when, by)];
                let run = if stepped {
                    TwoClocks { server: server(200.0, &steps), ..TwoClocks::default() }
                } else {
                    let client = Clock { steps, ..Clock::default() };
                    TwoClocks { client, server: server(200.0, &[]), ..TwoClocks::default() }
                };
                let run = run.run();
                let analysis = finds_the_queue_up(&run);
                let clocks = analysis.one_way_delay.clocks.as_ref().unwrap();
                let changes: Vec<_> = clocks.segments.iter().flat_map(|segment| &segment.changes).collect();
                assert_eq!(changes.len(), 1, "{host:?} {phase} {by}: {changes:?}");
                assert_eq!(changes[0].what, host, "{phase} {by}");
                assert!((changes[0].by_ns - by).abs() < MS / 5, "{host:?} {phase} {by}: {}", changes[0].by_ns);
                assert!((clocks.skew_ppm - 200.0).abs() < 0.5, "{}", clocks.skew_ppm);
                // Packets on their way show the step in their two stamps; none is misjudged for longer than that.
                let worst = run.queueing_error(&analysis, 998);
                assert!(worst < MS, "{host:?} {phase} {by}: {worst} ns at P99.8");
            }
        }
    }
}

#[test]
fn two_steps_of_one_test_are_found() {
    let steps = [(3 * SECOND, 100 * MS), (40 * SECOND, -250 * MS)];
    let run = TwoClocks { server: server(-50.0, &steps), ..TwoClocks::default() }.run();
    let analysis = finds_the_queue_up(&run);
    assert_eq!(analysis.measured.one_way_delay.clocks.unwrap().segments.len(), 3);
}

#[test]
fn a_route_that_changes_under_load_is_no_queue_and_no_step_of_a_clock() {
    for (skew, longer) in [(200.0, Direction::Up), (-200.0, Direction::Down)] {
        let base: fn(Direction, i64) -> i64 = match longer {
            Direction::Up => {
                |way, at| if way == Direction::Down { 10 * MS } else { 30 * MS + i64::from(at > 30 * SECOND) * 15 * MS }
            }
            Direction::Down => {
                |way, at| if way == Direction::Up { 30 * MS } else { 10 * MS + i64::from(at > 30 * SECOND) * 15 * MS }
            }
        };
        let run = TwoClocks { server: server(skew, &[]), base, ..TwoClocks::default() }.run();
        let analysis = finds_the_queue_up(&run);
        let clocks = analysis.one_way_delay.clocks.as_ref().unwrap();
        let changes: Vec<_> = clocks.segments.iter().flat_map(|segment| &segment.changes).collect();
        assert_eq!(changes.len(), 1, "{changes:?}");
        assert_eq!((changes[0].what, changes[0].direction), (Changed::Route, Some(longer)));
        assert!((changes[0].by_ns - 15 * MS).abs() < MS / 5);
        assert_eq!(changes[0].family, Some(AddressFamily::Ipv4));
        let from = clocks.segments[1].from_ns.unwrap();
        // The first packet that took the longer route was sent then and arrived up to 195 ms later.
        assert!((from - 30 * SECOND).abs() < SECOND / 4, "at {from} ns");
    }
}

#[test]
fn a_route_that_changes_on_the_idle_line_is_found_there() {
    let base: fn(Direction, i64) -> i64 =
        |way, at| if way == Direction::Down { 10 * MS + i64::from(at > 2_500 * MS) * 15 * MS } else { 30 * MS };
    let run = TwoClocks { server: server(50.0, &[]), base, ..TwoClocks::default() }.run();
    let analysis = finds_the_queue_up(&run);
    let clocks = analysis.one_way_delay.clocks.as_ref().unwrap();
    assert_eq!(clocks.segments.len(), 2, "{:?}", clocks.segments);
    assert_eq!(clocks.segments[1].changes[0].what, Changed::Route);
}

/// 150 ms on the way up, from an idle line before the load alone: within the error that is reported, which is small beside it.
#[track_caller]
fn bounds_the_queue_up(run: &Run) -> Analysis {
    let analysis = run.analyze();
    let delays = &analysis.one_way_delay;
    let clocks = delays.clocks.as_ref().expect("clocks");
    assert_eq!(clocks.skew_uncertain, None);
    assert_eq!(clocks.segments.len(), 1, "no change: {:?}", clocks.segments);
    let error = clocks.queueing_error_ns.expect("an error");
    assert!(error < 15 * MS, "{error} ns");
    let up = delays.up.queueing_delay.load.expect("load").p50.expect("no loss at the median");
    assert!((up - Delay(150 * MS)).0.abs() <= error + MS, "{up}, off by more than {error} ns");
    match (&clocks.queueing_unknown.down, delays.down.queueing_delay.load) {
        (Some(why), None) => assert!(error > 2 * MS, "{why} at an error of {error} ns"),
        (None, Some(down)) => {
            assert!(error <= 2 * MS, "down is reported at an error of {error} ns");
            assert!(down.p90.expect("a delay").0.abs() <= error + MS, "{:?}", down.p90);
        }
        other => panic!("{other:?}"),
    }
    analysis
}

#[test]
fn without_an_idle_phase_after_the_load_queueing_has_the_error_of_drift() {
    for skew in [0.0, 50.0, -100.0, 100.0, 350.0] {
        let run = TwoClocks { phases: [5, 60, 0], server: server(skew, &[]), ..TwoClocks::default() }.run();
        let analysis = bounds_the_queue_up(&run);
        assert!(analysis.one_way_delay.legs[0].delay_variation.load.is_some());
        // The round trip needs no clocks.
        assert!(analysis.round_trip_variation[0].phases.load.unwrap().pdv_p50_ns.is_some());
    }
}

#[test]
fn a_queue_that_is_small_beside_the_error_of_drift_is_not_reported() {
    // An idle line of half a second with 2 ms of noise shows next to nothing of drift.
    let queue: fn(Direction, i64) -> i64 = |direction, at| {
        if direction == Direction::Up && (SECOND..61 * SECOND).contains(&at) { 15 * MS } else { 0 }
    };
    let run = TwoClocks { phases: [1, 60, 0], server: server(50.0, &[]), queue, noise: 2e6, ..TwoClocks::default() };
    let analysis = run.run().analyze();
    let delays = &analysis.one_way_delay;
    let clocks = delays.clocks.as_ref().unwrap();
    assert!(clocks.queueing_error_ns.is_none_or(|error| error > 2 * MS), "{:?}", clocks.queueing_error_ns);
    assert!(clocks.queueing_unknown.up.is_some() && clocks.queueing_unknown.down.is_some());
    assert!(clocks.skew_uncertain.as_ref().unwrap().contains("after the load"), "{:?}", clocks.skew_uncertain);
    assert_eq!((delays.up.queueing_delay.load, delays.check), (None, None));
    let leg = &delays.legs[0];
    assert!(leg.queueing_series.is_empty());
    let variation = leg.delay_variation.load.unwrap();
    assert_eq!(variation.pdv_p50_ns, None, "drift would be in it");
    assert!(variation.ipdv_abs_median_ns.is_some() && variation.rtp_jitter_ns.is_some());
}

#[test]
fn a_queue_that_never_drains_is_not_taken_for_drift() {
    let queue: fn(Direction, i64) -> i64 = |direction, at| {
        // Drains so slowly that 5 s do not suffice.
        let standing = 150 * MS - (at - 65 * SECOND).max(0) / 50;
        if direction == Direction::Up && at > 5 * SECOND { standing } else { 0 }
    };
    for skew in [0.0, 100.0, -100.0, 200.0] {
        bounds_the_queue_up(&TwoClocks { server: server(skew, &[]), queue, ..TwoClocks::default() }.run());
    }
}

#[test]
fn a_queue_that_other_flows_keep_after_the_load_is_no_route_change() {
    // 12/1.5 Mbit/s: packets of 8 ms each keep 110 ms in the queue, all through `after` or for its first half.
    let flat: fn(Direction, i64) -> i64 = |direction, at| match direction {
        Direction::Up if (5 * SECOND..65 * SECOND).contains(&at) => 150 * MS,
        Direction::Up if at >= 65 * SECOND => 106 * MS + at / 13 % (8 * MS),
        _ => 0,
    };
    let drops: fn(Direction, i64) -> i64 = |direction, at| match direction {
        Direction::Up if (5 * SECOND..65 * SECOND).contains(&at) => 150 * MS,
        Direction::Up if (65 * SECOND..67_700 * MS).contains(&at) => 106 * MS + at / 13 % (8 * MS),
        _ => 0,
    };
    for skew in [0.0, 100.0, -100.0] {
        for queue in [flat, drops] {
            bounds_the_queue_up(&TwoClocks { server: server(skew, &[]), queue, ..TwoClocks::default() }.run());
        }
    }
}

#[test]
fn a_fifo_of_300_packets_that_needs_3_s_to_drain_does_no_harm() {
    let queue: fn(Direction, i64) -> i64 = |direction, at| {
        let full = 2_400 * MS;
        let load = if at < 65 * SECOND { full.min((at - 5 * SECOND) / 2) } else { full - (at - 65 * SECOND) * 4 / 5 };
        if direction == Direction::Up && at > 5 * SECOND { load.max(0) } else { 0 }
    };
    let run = TwoClocks { server: server(100.0, &[]), queue, phases: [5, 60, 7], ..TwoClocks::default() }.run();
    let analysis = run.analyze();
    certain(&analysis);
    assert_eq!(analysis.one_way_delay.clocks.as_ref().unwrap().segments.len(), 1);
    assert!(run.queueing_error(&analysis, 999) < MS);
}

/// The route up is 15 ms longer from second 30 on; after the load it wavers by 1.5 ms.
fn longer_route(hops_change: bool) -> Run {
    let base: fn(Direction, i64) -> i64 =
        |way, at| if way == Direction::Down { 10 * MS } else { 30 * MS + i64::from(at > 30 * SECOND) * 15 * MS };
    let queue: fn(Direction, i64) -> i64 = |direction, at| match direction {
        Direction::Up if (5 * SECOND..65 * SECOND).contains(&at) => 150 * MS,
        Direction::Up if at >= 65 * SECOND => at / 13 % (3 * MS / 2),
        _ => 0,
    };
    let mut run = TwoClocks { server: server(20.0, &[]), base, queue, ..TwoClocks::default() }.run();
    let flow = run.scenario.path_trace(Direction::Up);
    for second in 0..69 {
        let host = if hops_change && second >= 30 { 7 } else { 2 };
        run.scenario.hop_answered(flow, second, host);
    }
    run
}

#[test]
fn a_route_that_changes_under_load_shows_in_its_hops() {
    let analysis = longer_route(true).analyze();
    let clocks = analysis.one_way_delay.clocks.as_ref().unwrap();
    assert_eq!(clocks.skew_uncertain, None);
    assert_eq!(clocks.segments.len(), 2, "{:?}", clocks.segments);
    assert_eq!(
        (clocks.segments[1].changes[0].what, clocks.segments[1].changes[0].direction),
        (Changed::Route, Some(Direction::Up))
    );
    let up = analysis.one_way_delay.up.queueing_delay.load.unwrap().p50.unwrap();
    assert!((up - Delay(150 * MS)).0.abs() < 2 * MS, "{up}");
}

#[test]
fn a_floor_that_rises_under_load_with_the_same_hops_is_a_queue() {
    let analysis = longer_route(false).analyze();
    let clocks = analysis.one_way_delay.clocks.as_ref().unwrap();
    assert_eq!(clocks.skew_uncertain, None);
    assert_eq!(clocks.segments.len(), 1, "{:?}", clocks.segments);
    let up = analysis.one_way_delay.up.queueing_delay.load.unwrap();
    let error = clocks.queueing_error_ns.unwrap() + MS;
    let (low, high) = (up.p50.unwrap().0, up.p90.unwrap().0);
    assert!(low >= 150 * MS - error && (high - 165 * MS).abs() <= error, "{low} to {high} at {error}");
}

#[test]
fn a_link_that_is_as_busy_after_the_load_has_a_queue_however_quiet() {
    // A window-limited stream of 100 Mbit/s goes on: its queue stands to within a packet of 0.12 ms.
    let queue: fn(Direction, i64) -> i64 =
        |direction, at| if direction == Direction::Up && at > 5 * SECOND { 150 * MS } else { 0 };
    let mut run = TwoClocks { server: server(20.0, &[]), queue, ..TwoClocks::default() }.run();
    let flow = run.scenario.bulk_within(Direction::Up, 5, 70);
    run.scenario.stream(flow, 100_000_000);
    bounds_the_queue_up(&run);
}

#[test]
fn a_queue_that_drains_within_the_idle_phase_does_no_harm() {
    let queue: fn(Direction, i64) -> i64 = |direction, at| {
        let standing = if at < 65 * SECOND { 900 * MS } else { 900 * MS - (at - 65 * SECOND) / 3 };
        if direction == Direction::Up && at > 5 * SECOND { standing.max(0) } else { 0 }
    };
    let run = TwoClocks { server: server(-200.0, &[]), queue, ..TwoClocks::default() }.run();
    let analysis = run.analyze();
    certain(&analysis);
    assert!(run.queueing_error(&analysis, 999) < MS);
}

#[test]
fn families_on_routes_of_their_own_share_one_clock() {
    let run = TwoClocks {
        server: server(200.0, &[(30 * SECOND, 100 * MS)]),
        families: vec![AddressFamily::Ipv4, AddressFamily::Ipv6],
        ..TwoClocks::default()
    };
    let analysis = finds_the_queue_up(&run.run());
    assert_eq!(analysis.one_way_delay.legs.len(), 12);
}

#[test]
fn a_minute_of_one_sparse_flow_is_enough() {
    let mut run = TwoClocks { server: server(100.0, &[]), ..TwoClocks::default() }.run();
    let only = run.truth[0].flow;
    run.scenario.recording.header.flows.retain(|flow| flow.id == only);
    let analysis = run.analyze();
    certain(&analysis);
    assert!(run.queueing_error(&analysis, 950) < MS);
}

#[test]
fn lost_packets_are_infinitely_late_in_their_own_direction_only() {
    let run = TwoClocks { loss: 0.0, ..TwoClocks::default() };
    let mut run = run.run();
    // Replies to 2 % of the probes of one flow are lost on the way down.
    let flow = run.truth[0].flow;
    for frame in &mut run.scenario.recording.frames {
        let rows: Vec<_> =
            frame.tables.probe_received.rows().filter(|row| row.flow != flow || row.sequence % 50 != 0).collect();
        frame.tables.probe_received = ProbeReceivedTable::default();
        for row in rows {
            frame.tables.push(row.into());
        }
    }
    let analysis = run.analyze();
    let leg = |direction| {
        analysis.one_way_delay.legs.iter().find(|leg| leg.flow.id == flow && leg.direction == direction).unwrap()
    };
    let [up, down] = [Direction::Up, Direction::Down].map(|way| leg(way).delays.queueing_delay.load.unwrap());
    assert_eq!((up.n, up.lost, up.p99.is_some()), (3000, 0, true));
    assert_eq!((down.lost, down.p99), (60, None), "of {}", down.n);
}

#[test]
fn without_the_servers_rows_a_loss_is_of_neither_direction() {
    let mut run = TwoClocks::default().run();
    for frame in &mut run.scenario.recording.frames {
        frame.tables.packet_received = PacketReceivedTable::default();
    }
    let analysis = run.analyze();
    certain(&analysis);
    let leg = &analysis.one_way_delay.legs[0];
    assert_eq!(leg.delays.queueing_delay.load.unwrap().lost, 0);
    assert!(leg.unattributed > 200, "{} of about 340", leg.unattributed);
}

#[test]
fn what_a_server_that_vanished_did_not_tell_any_more_is_lost_in_neither_direction() {
    let mut run = TwoClocks { phases: [5, 8, 5], queue: |_, _| 0, ..TwoClocks::default() }.run();
    let frames = &mut run.scenario.recording.frames;
    frames.retain(|frame| frame.point == Client || frame.number < 10);
    run.scenario.recording.end.as_mut().unwrap().partial = Some("the server vanished".to_owned());
    let analysis = run.analyze();
    let leg = analysis.one_way_delay.legs.iter().find(|leg| leg.direction == Direction::Up).unwrap();
    let idle = leg.delays.queueing_delay.idle.unwrap();
    assert!((5..30).contains(&idle.lost), "{} of 250 lost at 5 %", idle.lost);
    assert_eq!(leg.delays.queueing_delay.after.unwrap().lost, 0, "unknown");
    assert!(leg.unattributed > 20, "{}", leg.unattributed);
    // What was answered had arrived, reported or not.
    certain(&analysis);
    // All but those of the last 3 s, which were not waited for long enough.
    assert!(leg.delays.queueing_delay.after.unwrap().n > 70);
}

#[test]
fn stamps_from_around_a_step_of_the_wall_clock_are_not_believed() {
    let mut run = TwoClocks { phases: [5, 10, 5], queue: |_, _| 0, ..TwoClocks::default() }.run();
    let stepped = 8 * SECOND;
    for tick in 0..200 {
        let at = run.server(tick * SECOND / 10);
        let realtime = at + if tick * SECOND / 10 > stepped { 250 * MS } else { 0 };
        run.scenario.observe(Server, tick * SECOND / 10, ClockSample { at: TestTime(at), realtime });
    }
    // One reading was interrupted. That is no step.
    run.scenario.observe(Server, 2 * SECOND, ClockSample { at: TestTime(run.server(2_050 * MS)), realtime: 0 });
    // For a moment the kernel's stamps are carried over by the old distance.
    let window = run.server(stepped)..run.server(stepped + 15 * MS);
    let mut moved = 0;
    for frame in run.scenario.recording.frames.iter_mut().filter(|frame| frame.point == Server) {
        let rows: Vec<_> = frame.tables.packet_received.rows().collect();
        frame.tables.packet_received = PacketReceivedTable::default();
        for mut row in rows {
            if window.contains(&row.received.0) {
                moved += 1;
                row.received = TestTime(row.received.0 + 250 * MS);
            }
            frame.tables.push(row.into());
        }
    }
    assert!(moved >= 2, "{moved}");
    let analysis = run.analyze();
    certain(&analysis);
    let delays = &analysis.one_way_delay;
    assert_eq!(delays.clocks.as_ref().unwrap().wall_clock_steps, 1);
    let most = delays.up.queueing_delay.load.unwrap().max.unwrap();
    assert!(most < Delay(2 * MS), "{most}");
    let misstamped: u64 = delays.legs.iter().map(|leg| leg.misstamped).sum();
    assert!((moved..100).contains(&misstamped), "{misstamped}");
}

fn series(analysis: &Analysis) -> Vec<DelayPoint> {
    analysis.one_way_delay.legs.iter().flat_map(|leg| &leg.queueing_series).copied().collect()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(12))]

    #[test]
    fn no_queueing_delay_depends_on_the_servers_clock(offset in -1_000_000_000_000_000_i64..1_000_000_000_000_000, skew in -500.0..500.0_f64) {
        let line = || TwoClocks { phases: [5, 10, 5], queue: |_, _| 0, ..TwoClocks::default() };
        let plain = line().run().analyze();
        let moved = TwoClocks { server: Clock { offset, skew_ppm: skew, steps: Vec::new() }, ..line() }.run().analyze();
        let (plain, moved) = (series(&plain), series(&moved));
        prop_assert!(!plain.is_empty() && plain.len() == moved.len());
        for (one, other) in plain.iter().zip(&moved) {
            match (one.delay, other.delay) {
                (Some(one), Some(other)) => prop_assert!((one - other).0.abs() < 50_000, "{one} and {other}"),
                (one, other) => prop_assert_eq!(one, other),
            }
        }
    }
}
