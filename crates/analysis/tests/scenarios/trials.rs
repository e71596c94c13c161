//! Figures of one step of a tuning session, from recordings whose truth is known.

use std::time::Duration;

use rrul_analysis::tuning::trial::{HostLimit, QueueHop, Trial};
use rrul_analysis::tuning::trials::{known_until, latest_queueing, trial, trials};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{
    CgroupThrottle, ClockSample, FlowEventKind, ObservationPoint, PacketReceived, PathAnswer, PathProbe, TcpInfo,
};
use rrul_model::recording::Recording;
use rrul_model::shaping::{
    CounterPair, DirectionCounters, ShaperCounters, ShaperDescription, ShaperRates, StepPurpose, TuningPlan, TuningStep,
};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::octets::{self, PLAIN};
use crate::two_clocks::{Clock, TwoClocks};

/// A step that was set at `set` and measured from two seconds later to `end`.
fn step(set: i64, end: i64) -> TuningStep {
    TuningStep {
        number: 0,
        purpose: StepPurpose::Search,
        direction: None,
        rates: ShaperRates::UNSHAPED,
        set_at: TestTime(set),
        settled_at: TestTime(set + 2 * SECOND),
        ended_at: TestTime(end),
        counters: None,
    }
}

/// Whether a rate is within half a percent of the truth.
#[track_caller]
fn near(found: f64, truth: f64, what: &str) {
    assert!((found / truth - 1.0).abs() < 0.005, "{what}: {found}, truth {truth}");
}

fn delivered(trial: &Trial, direction: Direction) -> f64 {
    trial.directions.get(direction).delivered.unwrap().0 as f64
}

/// A stream each way at 12 Mbit/s of IP packets, each acknowledged at 50 packets of 52 bytes in 100 ms.
fn loaded() -> Scenario {
    let mut scenario = Scenario::new();
    octets::stream(&mut scenario, Direction::Down, PLAIN);
    octets::stream(&mut scenario, Direction::Up, PLAIN);
    scenario
}

const ACKNOWLEDGEMENTS: f64 = 50.0 * 52.0 * 8.0 * 10.0;

#[test]
fn everything_that_arrived_is_delivered_wherever_the_window_lies() {
    let scenario = loaded();
    for set in [5_100 * MS, 5_137 * MS, 5_999 * MS] {
        let trial = trial(&scenario.recording, &step(set, set + 9_001 * MS - 100 * MS));
        for direction in Direction::ALL {
            near(delivered(&trial, direction), 12e6 + ACKNOWLEDGEMENTS, "delivered");
            let figures = trial.directions.get(direction);
            near(figures.goodput.unwrap().0 as f64, 1448.0 * 8.0 * 1000.0, "goodput");
            assert_eq!(figures.course.len(), 8, "whole seconds of 8.9");
            for rate in &figures.course {
                near(rate.0 as f64, 12e6 + ACKNOWLEDGEMENTS, "a second of the course");
            }
            let [class] = figures.classes.as_slice() else { panic!("{:?}", figures.classes) };
            assert_eq!((class.class, class.seconds.len()), (ServiceClass::BE, 6));
            near(class.seconds[0].0 as f64, 1_448_000.0, "bytes of a class in a second");
        }
    }
}

#[test]
fn the_shapers_link_layer_and_what_others_sent_are_counted() {
    let mut scenario = loaded();
    let shaper = ShaperDescription { up_link_layer: Some("ethernet".to_owned()), ..ShaperDescription::default() };
    scenario.recording.header.tuning = Some(TuningPlan::new(shaper));
    let mut step = step(5_500 * MS, 14_500 * MS);
    let layer: rrul_model::link_layer::LinkLayer = "ethernet".parse().unwrap();
    let on_link = |octets| layer.octets(AddressFamily::Ipv4, octets) as f64 * 8.0;
    let up = on_link(1500) * 1000.0 + on_link(52) * 500.0;
    let counters = |octets: f64| DirectionCounters { sent: ByteCount(octets as u64), ..DirectionCounters::default() };
    let of = |octets| ShaperCounters { down: None, up: Some(counters(octets)) };
    // A fifth of what the shaper sent in these seven seconds is of others.
    step.counters = Some(CounterPair { before: of(1e6), after: of(1e6 + up / 8.0 * 7.0 / 0.8) });
    let unshaped = trial(&scenario.recording, &step);
    step.rates = step.rates.with(Direction::Up, Some(BitRate(up as u64)));
    let trial = trial(&scenario.recording, &step);
    near(delivered(&trial, Direction::Up), up, "on the link");
    // Each packet and acknowledgment with the 14 bytes that Linux counts of Ethernet.
    let down = (1514.0 * 1000.0 + 66.0 * 500.0) * 8.0;
    near(delivered(&trial, Direction::Down), down, "where the link layer is not known");
    assert!((trial.directions.up.foreign.unwrap() - 0.2).abs() < 0.005, "{:?}", trial.directions.up.foreign);
    assert_eq!(trial.directions.down.foreign, None);
    assert_eq!(unshaped.directions.up.foreign, None, "a part of it may wait in the line's queue");
}

#[test]
fn retransmissions_and_what_limits_the_senders_are_of_the_measured_window() {
    let mut scenario = Scenario::new();
    octets::stream(&mut scenario, Direction::Up, octets::Stream { sent: 105, again: 5, ..PLAIN });
    let flow = octets::stream(&mut scenario, Direction::Down, PLAIN);
    let found = trial(&scenario.recording, &step(6 * SECOND, 14 * SECOND));
    assert!((found.directions.up.retransmitted.unwrap() - 5.0 / 105.0).abs() < 1e-3);
    assert_eq!((found.directions.down.retransmitted, found.host_limit), (Some(0.0), None));
    // From 9 s on the receiver's window limits the download for half of the time.
    for reading in 0..=100 {
        let at = 5 * SECOND + reading * 100 * MS;
        let busy = (at - 5 * SECOND).cast_unsigned() / 1000;
        let held = (at - 9 * SECOND).max(0).cast_unsigned() / 2000;
        let row = TcpInfo { busy_time: busy, rwnd_limited: held, segs_in: 1, segs_out: 1, ..tcp_info(flow, at + MS) };
        scenario.observe(Server, at, row);
    }
    let found = trial(&scenario.recording, &step(8 * SECOND, 14 * SECOND));
    assert_eq!((found.host_limit, found.directions.down.saturated), (Some(HostLimit::ReceiveWindow), Some(false)));
}

#[test]
fn a_server_that_its_quota_throttles_is_the_limit() {
    let limit_of = |throttled: u64| {
        let mut scenario = loaded();
        for second in 0..=20 {
            let at = TestTime(second * SECOND);
            let periods = second.cast_unsigned() * 10;
            let throttled_periods = periods * throttled / 10;
            scenario.observe(Server, at.0, CgroupThrottle { at, periods, throttled_periods, throttled: Delay(0) });
        }
        trial(&scenario.recording, &step(6 * SECOND, 14 * SECOND)).host_limit
    };
    assert_eq!((limit_of(4), limit_of(6)), (None, Some(HostLimit::ServerQuota)));
}

#[test]
fn a_hypervisor_that_takes_a_twentieth_of_the_processors_in_the_measured_window_is_noticed() {
    let stolen_from = |part: u64| {
        let mut scenario = loaded();
        // Of one of two cores, and much of both outside the window.
        scenario.processor(Server, |second| if (6..14).contains(&second) { (50, part) } else { (0, 60) });
        trial(&scenario.recording, &step(4 * SECOND, 14 * SECOND)).stolen_from
    };
    assert_eq!((stolen_from(5), stolen_from(6)), (None, Some(ObservationPoint::Server)));
}

/// A line with a standing upload queue of 150 ms until 40 s, none for a second, and one of 3 ms from then on.
fn drained(skew_ppm: f64) -> Recording {
    let clocks = TwoClocks {
        server: Clock { offset: 3_210_987, skew_ppm, ..Clock::default() },
        queue: |direction, at| match (direction, at / SECOND) {
            (Direction::Up, 5..40) => 150 * MS,
            (Direction::Up, 40..95) => 3 * MS * i64::from(at >= 41 * SECOND),
            (Direction::Down, 5..95) => 80 * MS,
            _ => 0,
        },
        noise: 30_000.0,
        phases: [5, 90, 5],
        ..TwoClocks::default()
    };
    clocks.run().scenario.recording
}

#[test]
fn queueing_is_measured_in_each_direction_however_the_clocks_drift() {
    for skew in [0.0, 60.0, -60.0] {
        let recording = drained(skew);
        let found = trial(&recording, &step(80 * SECOND, 90 * SECOND));
        for (direction, truth) in [(Direction::Up, 3.0), (Direction::Down, 80.0)] {
            let delay = found.directions.get(direction).queueing_delay.unwrap();
            let off = delay.p50.0 as f64 / 1e6 - truth;
            assert!(off.abs() < 0.4, "drift {skew} ppm, {direction}: p50 off by {off} ms");
            assert!(delay.p50 <= delay.p95 && delay.p95_low <= delay.p95 && delay.p95 <= delay.p95_high);
            // 5 % of what passes is lost, and the probes of three flows that come 20 ms apart.
            assert!((1100..=1250).contains(&delay.n), "{delay:?}");
            let noise = found.directions.get(direction).idle_p95.unwrap();
            assert!(noise.0 > 0 && noise.0 < 500_000, "noise of 30 us, and what clocks drift in 5 s: {noise:?}");
            let loss = found.directions.get(direction).probe_loss.unwrap();
            assert!((0.03..0.07).contains(&loss), "{direction}: {loss}");
        }
    }
}

#[test]
fn a_queue_that_has_drained_shows_in_the_latest_second_that_is_known() {
    let mut scenario = loaded();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    let waits = |at: i64| if (6 * SECOND..12 * SECOND).contains(&at) { 100 * MS } else { 0 };
    scenario.probes(probe, |at| Some(20 * MS + waits(at)));
    for second in 0..20 {
        for point in [Client, Server] {
            let at = TestTime(second * SECOND + 950 * MS);
            scenario.observe(point, at.0, ClockSample { at, realtime: at.0 });
        }
    }
    let known_of = |frames: u32, since: i64| {
        let mut live = scenario.recording.clone();
        live.frames.retain(|frame| frame.number <= frames);
        let latest = latest_queueing(&live, TestTime(since))?;
        Some(latest.up.unwrap().milliseconds().round())
    };
    assert_eq!(known_of(11, 6 * SECOND), Some(50.0), "half of the round trip in each direction");
    assert_eq!(known_of(13, 6 * SECOND), Some(0.0));
    assert_eq!(known_of(13, 13 * SECOND), None, "what is known began before");
}

#[test]
fn a_step_has_the_same_figures_while_the_test_runs_and_later() {
    let mut scenario = loaded();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    // The queue grows all the time, and later packets would change each figure that they were in.
    scenario.probes(probe, |at| (at % (7 * 20 * MS) != 10 * MS).then_some(20 * MS + at / 100));
    for sequence in (0..1000).filter(|sequence| sequence % 7 != 0) {
        let received = TestTime(10 * MS + i64::from(sequence) * 20 * MS + 15 * MS);
        scenario.observe(Server, received.0, PacketReceived { flow: probe, sequence, received, octet: 0 });
    }
    let step = step(5_500 * MS, 12_500 * MS);
    let whole = trial(&scenario.recording, &step);
    let mut live = scenario.recording.clone();
    live.end = None;
    // Frames contain a second each: that in which the last reading falls has come, nothing behind it.
    live.frames.retain(|frame| i64::from(frame.number) <= known_until(&step).0 / SECOND);
    assert!(live.frames.len() < scenario.recording.frames.len() - 8);
    assert_eq!(trial(&live, &step), whole);
    assert!(whole.directions.up.queueing_delay.is_some() && whole.directions.down.delivered.is_some());
}

#[test]
fn a_step_that_the_recording_does_not_reach_to_the_end_of_has_no_trial() {
    let mut scenario = loaded();
    for second in 0..20 {
        for point in [Client, Server] {
            let at = TestTime(second * SECOND + 900 * MS);
            scenario.observe(point, at.0, ClockSample { at, realtime: at.0 });
        }
    }
    let recording = &mut scenario.recording;
    recording.steps = vec![step(5_500 * MS, 9_500 * MS), TuningStep { number: 1, ..step(9_600 * MS, 14_500 * MS) }];
    assert_eq!(trials(recording).len(), 2);
    recording.end = None;
    recording.frames.retain(|frame| frame.point == Client || frame.number < 14);
    assert_eq!(trials(recording).iter().map(|trial| trial.step.number).collect::<Vec<_>>(), [0]);
    assert!(known_until(&recording.steps[0]) > recording.steps[0].ended_at + Duration::from_millis(100));
}

/// Saw teeth of different lengths under load, as two competing loads make them.
fn saw_teeth(direction: Direction, at: i64) -> i64 {
    let (top, period) = direction.select((150 * MS, 7 * SECOND), (90 * MS, 5 * SECOND));
    if (5 * SECOND..35 * SECOND).contains(&at) { top / 2 + top / 2 * (at % period / MS) / (period / MS) } else { 0 }
}

#[test]
fn a_queue_before_the_first_router_is_known_by_the_answers_that_waited_in_it() {
    let clocks = || TwoClocks {
        server: Clock { offset: 3_210_987, skew_ppm: 20.0, ..Clock::default() },
        queue: saw_teeth,
        noise: 30_000.0,
        phases: [5, 30, 5],
        ..TwoClocks::default()
    };
    for (up, down) in [(false, false), (true, false), (false, true), (true, true)] {
        let mut scenario = clocks().run().scenario;
        let flow = scenario.path_trace(Direction::Up);
        scenario.event(Client, flow, SECOND, FlowEventKind::HopAddress, "1 192.168.1.1");
        for second in 0..38 {
            let (sequence, at) = (u32::try_from(second).unwrap(), second * SECOND + 130 * MS);
            let probe = PathProbe { flow, sequence, sent: TestTime(at), hop_limit: 1, octet: 0, length: 60 };
            scenario.observe(Client, at, probe);
            let waited = |is_there, direction| if is_there { saw_teeth(direction, at) } else { 0 };
            let received = TestTime(at + 2 * MS + waited(up, Direction::Up) + waited(down, Direction::Down));
            let (code, mtu, held, left) = (0, 0, Delay(0), 0);
            let answer = PathAnswer { flow, sequence, received, source: 1, kind: 11, code, mtu, held, left };
            scenario.observe(Client, at, answer);
        }
        let named = |recording: &Recording| {
            let found = trial(recording, &step(18 * SECOND, 30 * SECOND)).directions;
            (found.up.queue_hop, found.down.queue_hop)
        };
        let hop = |is_there: bool, before_shaper| {
            is_there.then_some(QueueHop { hop: 1, address: "192.168.1.1".parse().ok(), before_shaper })
        };
        assert_eq!(named(&scenario.recording), (hop(up, false), hop(down, false)), "a shaper on this host");
        let shaper = ShaperDescription { on_router: true, ..ShaperDescription::default() };
        scenario.recording.header.tuning = Some(TuningPlan::new(shaper));
        assert_eq!(named(&scenario.recording), (hop(up, true), hop(down, true)));
    }
}
