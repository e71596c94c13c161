//! What of the load is scored: after the ramp, after a burst, and never nothing.

use rrul_analysis::metrics::rate::scored_window::{Excluded, Exclusion};
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};

use crate::builder::{MS, SECOND, Scenario, ms};

fn window(from: i64, to: i64) -> Window {
    Window { from: TestTime(from), to: TestTime(to) }
}

/// A scenario with a load of this many seconds behind 5 s of idleness.
pub(crate) fn with_load(seconds: i64) -> Scenario {
    let mut scenario = Scenario::new();
    let load = 5 * SECOND + seconds * SECOND;
    let windows = [window(0, 5 * SECOND), window(5 * SECOND, load), window(load, load + 5 * SECOND)];
    let phases = [Phase::Idle, Phase::Load, Phase::After];
    scenario.recording.header.phases =
        phases.into_iter().zip(windows).map(|(phase, window)| PhaseWindow { phase, window }).collect();
    if let Some(end) = &mut scenario.recording.end {
        end.at = TestTime(load + 5 * SECOND);
    }
    scenario
}

/// A stream over the whole load that has received `octets` so many nanoseconds after it began.
pub(crate) fn stream(scenario: &mut Scenario, direction: Direction, octets: impl Fn(i64) -> u64) -> FlowId {
    let load = scenario.recording.phase(Phase::Load).unwrap();
    let flow = scenario.flow("bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, load);
    scenario.stream_with(flow, |at| at, |at, from| octets(at - from));
    flow
}

pub(crate) fn at_rate(megabits: u64, nanoseconds: i64) -> u64 {
    megabits * 1_000_000 / 8 * u64::try_from(nanoseconds / MS).unwrap() / 1000
}

/// 40 Mbit/s for 8 s, then 20.
fn boosted(after: i64) -> u64 {
    at_rate(40, after.min(8 * SECOND)) + at_rate(20, (after - 8 * SECOND).max(0))
}

#[test]
fn a_burst_is_left_out_of_the_scored_window_and_reported() {
    let mut scenario = with_load(60);
    stream(&mut scenario, Direction::Down, boosted);
    stream(&mut scenario, Direction::Up, |after| at_rate(5, after));
    let probe = scenario.flow("udp_probe", Component::Realtime, None, AddressFamily::Ipv4, window(0, 70 * SECOND));
    for sequence in 0..3500 {
        let at = i64::from(sequence) * 20 * MS;
        scenario.sent(probe, sequence, at);
        let delay = if (5 * SECOND..13 * SECOND).contains(&at) { 90 } else { 20 };
        scenario.received(probe, sequence, at, delay * MS);
    }
    let analysis = scenario.analyze();
    let burst = analysis.bursts.direction(Direction::Down).unwrap().burst.unwrap();
    assert!((burst.duration_ns - 8 * SECOND).abs() <= SECOND / 2, "{burst:?}");
    // What the link carries is looked at: with headers, and the acknowledgments of what goes up.
    let carried = |megabits: f64, bits: u64| (1.03..1.05).contains(&(bits as f64 / 1e6 / megabits));
    assert!(carried(40.0, burst.peak_bps) && carried(20.0, burst.sustained_bps), "{burst:?}");
    assert!(carried(160.0, burst.octets * 8), "20 Mbit/s for 8 s: {burst:?}");
    assert_eq!(analysis.bursts.direction(Direction::Up).unwrap().burst, None);

    let from = burst.ended_ns + std::time::Duration::from_secs(2);
    assert_eq!(analysis.scored.down, Some(Window { from, to: TestTime(65 * SECOND) }));
    assert_eq!(analysis.scored.up, Some(window(7 * SECOND, 65 * SECOND)));
    assert_eq!(analysis.scored.common, analysis.scored.down);
    let excluded = [
        (Direction::Down, Exclusion::Burst, TestTime(5 * SECOND), burst.ended_ns),
        (Direction::Down, Exclusion::Guard, burst.ended_ns, from),
        (Direction::Up, Exclusion::Guard, TestTime(5 * SECOND), TestTime(7 * SECOND)),
    ];
    let excluded = excluded.map(|(direction, reason, from_ns, to_ns)| Excluded { direction, reason, from_ns, to_ns });
    assert_eq!(analysis.scored.excluded, excluded);

    assert_eq!((analysis.goodput.down.sum, analysis.goodput.up.sum), (BitRate(20_000_000), BitRate(5_000_000)));
    assert_eq!(analysis.goodput.down.octets, ByteCount(boosted(60 * SECOND)), "bytes are of all that was transferred");
    let delays = &analysis.round_trip_delay.pooled;
    let [load, unscored] = [delays.load.unwrap(), delays.unscored.unwrap()];
    assert_eq!((load.max, unscored.p50), (ms(20), ms(90)));
    assert_eq!(load.n + unscored.n, 3000, "nothing is lost between the two");
    assert_eq!(analysis.loss.round_trips.sent, 3500);
}

#[test]
fn at_least_half_of_a_short_load_is_scored_and_it_is_reported() {
    for (seconds, from) in
        [(10, 7 * SECOND), (4, 7 * SECOND), (3, 6 * SECOND + SECOND / 2), (1, 5 * SECOND + SECOND / 2)]
    {
        let mut scenario = with_load(seconds);
        stream(&mut scenario, Direction::Up, |after| at_rate(20, after));
        let analysis = scenario.analyze();
        assert_eq!(analysis.scored.up, Some(window(from, (5 + seconds) * SECOND)), "{seconds} s of load");
        assert_eq!(analysis.scored.cut_short.is_empty(), seconds >= 4, "{seconds} s of load");
        assert!(!analysis.bursts.direction(Direction::Up).unwrap().searched);
        assert_eq!((analysis.scored.down, analysis.scored.common), (None, analysis.scored.up));
        assert_eq!(analysis.goodput.up.sum, BitRate(20_000_000));
    }
}

#[test]
fn a_slow_ramp_is_left_out() {
    let mut scenario = with_load(60);
    // The rate grows evenly for 10 s: 1, 2, .. Mbit/s.
    let octets = |after: i64| {
        let ramp = after.min(10 * SECOND) as f64 / 1e9;
        (1e6 / 8.0 * ramp * ramp / 2.0) as u64 + at_rate(10, (after - 10 * SECOND).max(0))
    };
    stream(&mut scenario, Direction::Down, octets);
    let scored = scenario.analyze().measured.scored;
    let Excluded { reason, to_ns, .. } = scored.excluded[0];
    assert_eq!(reason, Exclusion::Ramp);
    assert!((to_ns.0 - 14 * SECOND).abs() <= SECOND / 2, "90 % after 9 s: {scored:?}");
}

#[test]
fn without_load_nothing_is_scored_and_a_silent_load_is_scored_whole() {
    let mut scenario = Scenario::new();
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(20 * MS));
    let analysis = scenario.analyze();
    assert_eq!((analysis.scored.common, analysis.bursts.up.clone()), (None, None));
    assert_eq!(analysis.round_trip_delay.pooled.load.unwrap().n, 500, "a load phase without load is all the same");
    scenario.bulk(Direction::Up);
    let analysis = scenario.analyze();
    assert_eq!(analysis.bursts.direction(Direction::Up).unwrap().ramp_ns, None);
    assert_eq!(analysis.scored.up, Some(window(7 * SECOND, 15 * SECOND)));
}

#[test]
fn loads_that_follow_each_other_are_scored_together() {
    let mut scenario = with_load(60);
    for (direction, from) in [(Direction::Down, 5), (Direction::Up, 35)] {
        let window = window(from * SECOND, (from + 30) * SECOND);
        let flow = scenario.flow("bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, window);
        scenario.stream(flow, 10_000_000);
    }
    let scored = scenario.analyze().measured.scored;
    assert_eq!(scored.common, Some(window(7 * SECOND, 65 * SECOND)));
    assert_eq!(scored.direction(Direction::Up), Some(window(37 * SECOND, 65 * SECOND)));
}
