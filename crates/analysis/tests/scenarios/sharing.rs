//! Sharing, global synchronization and limits of streams whose rates and windows are known.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::sharing::global_synchronization::Synchronized;
use rrul_analysis::metrics::sharing::stream_sharing::DirectionSharing;
use rrul_analysis::validity::Severity;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::TcpInfo;
use rrul_model::time::{TestTime, Window};

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};

const V4: AddressFamily = AddressFamily::Ipv4;
const V6: AddressFamily = AddressFamily::Ipv6;
/// Payload of a full packet of 1500 bytes: IP, TCP and its timestamps take the rest.
const PAYLOAD: [(AddressFamily, f64); 2] = [(V4, 1448.0), (V6, 1428.0)];

#[track_caller]
fn near(found: f64, expected: f64, tolerance: f64) {
    assert!((found - expected).abs() <= tolerance, "{found}, not {expected} within {tolerance}");
}

/// A download.
fn stream(scenario: &mut Scenario, class: ServiceClass, family: AddressFamily) -> FlowId {
    let flow = scenario.flow("bulk_tcp", Component::Load, Some(Direction::Down), family, Scenario::LOAD);
    scenario.recording.header.flows.last_mut().unwrap().class = class;
    flow
}

/// Bits a second of payload for this rate of packets.
fn payload(family: AddressFamily, wire: f64) -> f64 {
    wire * PAYLOAD.iter().find(|(known, _)| *known == family).unwrap().1 / 1500.0
}

/// A download that has `wire(at)` bits of packets a second in the 100 ms that begin at `at`.
fn arrives(scenario: &mut Scenario, flow: FlowId, wire: impl Fn(i64) -> f64) {
    let family = scenario.recording.flow(flow).unwrap().family;
    let octets = |at: i64, from: i64| {
        let bits: f64 = (0..(at - from) / (100 * MS)).map(|n| wire(from + n * 100 * MS) / 10.0).sum();
        (payload(family, bits) / 8.0) as u64
    };
    scenario.stream_with(flow, |at| at, octets);
}

fn down(scenario: &Scenario) -> DirectionSharing {
    scenario.analyze().measured.sharing.down.expect("two streams or more")
}

#[test]
fn shares_of_three_to_one_have_an_index_of_four_fifths() {
    let mut scenario = Scenario::new();
    for (class, rate) in [(ServiceClass::EF, 15e6), (ServiceClass::BK, 5e6)] {
        let flow = stream(&mut scenario, class, V4);
        arrives(&mut scenario, flow, |_| rate);
    }
    let sharing = down(&scenario);
    // Without a second family, and with one stream a class, the classes are the streams.
    for jain in [sharing.jain_streams, sharing.jain_classes, sharing.families[0].jain] {
        let jain = jain.unwrap();
        for index in [jain.mean, jain.p5, jain.overall] {
            near(index, 0.8, 1e-4);
        }
        assert_eq!((jain.sharers, jain.intervals), (2, 80));
    }
    assert_eq!((sharing.jain_families, sharing.ipv6_to_ipv4), (None, None));
    let shares: Vec<(String, f64)> = sharing.classes.iter().map(|c| (c.class.to_string(), c.share)).collect();
    near(shares[0].1, 0.75, 1e-4);
    near(shares[1].1, 0.25, 1e-4);
    assert_eq!((shares[0].0.as_str(), shares[1].0.as_str()), ("EF", "BK"));
    // The first fifth of the 10 s is left out; the rest is 80 intervals of 100 ms.
    let stretch = (sharing.from_ns, sharing.to_ns, sharing.interval_ns, sharing.intervals);
    assert_eq!(stretch, (7 * SECOND, 15 * SECOND, 100 * MS, 80));
    assert_eq!(sharing.jain_series.len(), 80);
    assert_eq!(sharing.jain_series[0].0, TestTime(7 * SECOND + 50 * MS));
    assert!(scenario.analyze().sharing.up.is_none());
}

#[test]
fn half_the_rate_over_ipv6_shows_between_families_and_within_each_class() {
    let mut scenario = Scenario::new();
    for class in [ServiceClass::BE, ServiceClass::EF] {
        for (family, rate) in [(V4, 4e6), (V6, 2e6)] {
            let flow = stream(&mut scenario, class, family);
            arrives(&mut scenario, flow, |_| rate);
        }
    }
    let sharing = down(&scenario);
    near(sharing.ipv6_to_ipv4.unwrap(), 0.5, 1e-3);
    near(sharing.jain_families.unwrap().mean, 0.9, 1e-3);
    near(sharing.jain_classes.unwrap().mean, 1.0, 1e-3);
    for class in &sharing.classes {
        near(class.jain.unwrap().mean, 0.9, 1e-3);
        near(class.ipv6_to_ipv4.unwrap(), 0.5, 1e-3);
        assert_eq!(class.streams, 2);
    }
    for (family, share) in sharing.families.iter().zip([2.0 / 3.0, 1.0 / 3.0]) {
        near(family.share, share, 1e-3);
        near(family.jain.unwrap().mean, 1.0, 1e-3);
    }
    near(sharing.streams.iter().map(|one| one.share).sum(), 1.0, 1e-9);
}

#[test]
fn packets_of_both_families_weigh_the_same_whatever_they_hold() {
    let mut scenario = Scenario::new();
    for family in [V4, V6] {
        let flow = stream(&mut scenario, ServiceClass::BE, family);
        arrives(&mut scenario, flow, |_| 10e6);
    }
    let goodput = scenario.analyze().measured.goodput.down;
    assert!(goodput.flows[0].mean.0 > goodput.flows[1].mean.0, "an IPv6 packet carries less payload");
    near(down(&scenario).ipv6_to_ipv4.unwrap(), 1.0, 1e-4);
    // Smaller segments, as their sender says: more headers.
    let flow = goodput.flows[1].flow.id;
    let row = TcpInfo { snd_mss: 714, options: 1, ..tcp_info(flow, 8 * SECOND) };
    scenario.observe(Server, 8 * SECOND, row);
    near(down(&scenario).ipv6_to_ipv4.unwrap(), 1428.0 / 1500.0 * (714.0 + 72.0) / 714.0, 1e-4);
}

#[test]
fn a_slow_line_is_looked_at_in_intervals_of_twenty_segments_of_each_stream() {
    let mut scenario = Scenario::new();
    for _ in 0..4 {
        let flow = stream(&mut scenario, ServiceClass::BE, V4);
        arrives(&mut scenario, flow, |_| 250e3);
    }
    // 4 streams of 20 packets of 1500 bytes at 1 Mbit/s: 0.96 s, in whole intervals of 100 ms 1 s.
    let sharing = down(&scenario);
    assert_eq!((sharing.interval_ns, sharing.intervals), (SECOND, 8));
    near(sharing.jain_streams.unwrap().mean, 1.0, 1e-3);
}

#[test]
fn a_stream_without_anything_for_a_second_is_starved_and_one_that_pauses_is_not() {
    let mut scenario = Scenario::new();
    let within = |at: i64, from: i64, to: i64| (from..to).contains(&(at / (100 * MS)));
    let flows = [(); 3].map(|()| stream(&mut scenario, ServiceClass::BE, V4));
    arrives(&mut scenario, flows[0], |_| 10e6);
    // Nothing from 8 s to 11 s.
    arrives(&mut scenario, flows[1], |at| if within(at, 80, 110) { 0.0 } else { 10e6 });
    // Nothing for 0.9 s, and 2 % of an even share for 2 s: too short, and too much.
    arrives(&mut scenario, flows[2], |at| match () {
        () if within(at, 80, 89) => 0.0,
        () if within(at, 120, 140) => 0.02 * 10e6,
        () => 10e6,
    });
    let starved: Vec<f64> = down(&scenario).streams.iter().map(|one| one.starved).collect();
    near(starved[0], 0.0, 0.0);
    near(starved[1], 30.0 / 80.0, 1e-9);
    near(starved[2], 0.0, 0.0);
}

#[test]
fn when_nothing_arrives_at_all_no_stream_is_starved() {
    let mut scenario = Scenario::new();
    for _ in 0..2 {
        let flow = stream(&mut scenario, ServiceClass::BE, V4);
        arrives(&mut scenario, flow, |at| if (8 * SECOND..12 * SECOND).contains(&at) { 0.0 } else { 5e6 });
    }
    let sharing = down(&scenario);
    assert!(sharing.streams.iter().all(|one| one.starved == 0.0));
    assert_eq!(sharing.jain_streams.unwrap().intervals, 40);
}

#[test]
fn only_the_time_in_which_every_stream_is_due_counts() {
    let mut scenario = Scenario::new();
    let early = stream(&mut scenario, ServiceClass::BK, V4);
    arrives(&mut scenario, early, |_| 5e6);
    let late = stream(&mut scenario, ServiceClass::BE, V4);
    let window = Window { from: TestTime(9 * SECOND), to: TestTime(15 * SECOND) };
    scenario.recording.header.flows.last_mut().unwrap().window = window;
    arrives(&mut scenario, late, |_| 5e6);
    let sharing = down(&scenario);
    // From 9 s on, and 2 s later the line counts as settled; but the second half of the load is always scored.
    assert_eq!((sharing.from_ns, sharing.intervals), (10 * SECOND, 50));
    near(sharing.jain_streams.unwrap().mean, 1.0, 1e-4);
}

/// Eight downloads of 10 Mbit/s each on average, with a window of 100 segments where `reduced` does not say otherwise.
///
/// `low` says of a stream (0 to 7) and a time in 100 ms whether it is at half its rate and its window at 60.
fn eight(low: impl Fn(usize, i64) -> bool) -> Scenario {
    let mut scenario = Scenario::new();
    for number in 0..8 {
        let flow = stream(&mut scenario, ServiceClass::BE, V4);
        arrives(&mut scenario, flow, |at| if low(number, at / (100 * MS)) { 5e6 } else { 15e6 });
        for tick in 50..150 {
            let at = tick * 100 * MS + 7 * MS;
            let snd_cwnd = if low(number, tick) { 60 } else { 100 };
            scenario.observe(
                Server,
                at,
                TcpInfo { snd_cwnd, rtt: 50_000, snd_mss: 1448, options: 1, ..tcp_info(flow, at) },
            );
        }
    }
    scenario
}

#[test]
fn other_connections_of_the_sending_host_are_none_of_its_streams() {
    let mut scenario = eight(|_, _| false);
    let alone = scenario.analyze().measured.global_synchronization.down;
    for at in (5..15).flat_map(|second| (0..90).map(move |part| second * SECOND + part * 11 * MS)) {
        scenario.observe(Server, at, TcpInfo { rtt: 900_000, ..tcp_info(FlowId::CONTROL, at) });
    }
    assert_eq!(scenario.analyze().global_synchronization.down, alone);
}

#[test]
fn streams_that_back_off_in_lock_step_are_synchronized() {
    // Down for 0.5 s in every 2 s, all of them.
    let scenario = eight(|_, tick| tick % 20 < 5);
    let found = scenario.analyze().measured.global_synchronization.down;
    near(found.variance_ratio.unwrap(), 8.0, 1e-3);
    near(found.co_loss_index.unwrap(), 1.0, 1e-9);
    // 8 s to 14 s in steps of 2 s: four reductions of each of eight streams.
    assert_eq!((found.reductions, found.dips, found.streams), (32, 4, 8));
    assert_eq!(found.synchronized, Synchronized::Yes);
}

#[test]
fn streams_whose_rates_know_nothing_of_each_other_are_not_synchronized() {
    // Walsh functions: of any two, as many intervals are alike as not, over each 16 intervals; 80 are looked at.
    let walsh = |number, tick: i64| ((number + 1) as i64 & ((tick - 70).rem_euclid(16))).count_ones() % 2 == 1;
    let scenario = eight(|number, tick| tick >= 70 && walsh(number, tick));
    let found = scenario.analyze().measured.global_synchronization.down;
    near(found.variance_ratio.unwrap(), 1.0, 1e-3);
    assert_eq!(found.synchronized, Synchronized::No);
}

#[test]
fn streams_that_take_turns_keep_the_line_full() {
    // One of the eight is down at any time, each in its turn.
    let scenario = eight(|number, tick| tick.rem_euclid(8) == number as i64);
    let found = scenario.analyze().measured.global_synchronization.down;
    assert!(found.variance_ratio.unwrap() < 0.01, "{found:?}");
    assert_eq!((found.dips, found.synchronized), (0, Synchronized::No));
    // Less than 200 ms before or after a reduction two of the other seven have one; chance (one each 0.8 s) has more.
    let chance = 1.0 - (-0.4_f64 / 0.8).exp();
    near(found.co_loss_index.unwrap(), (2.0 / 7.0 - chance) / (1.0 - chance), 0.05);
}

#[test]
fn a_window_that_falls_over_several_readings_is_reduced_once() {
    let mut scenario = Scenario::new();
    let flows = [(); 2].map(|()| stream(&mut scenario, ServiceClass::BE, V4));
    for flow in flows {
        arrives(&mut scenario, flow, |at| 5e6 + (at / (100 * MS) % 3) as f64 * 1e6);
    }
    // A fall from 100 to 40 by 12 a reading within a round trip of 300 ms, then a slow rise; and one of 15 %.
    for (flow, windows) in flows.into_iter().zip([
        [100, 100, 88, 76, 64, 52, 40, 40, 41, 42, 43, 44, 45, 46],
        [100, 100, 85, 85, 85, 86, 87, 88, 89, 90, 91, 92, 93, 94],
    ]) {
        for (n, snd_cwnd) in windows.into_iter().enumerate() {
            let at = 8 * SECOND + n as i64 * 100 * MS;
            scenario.observe(Server, at, TcpInfo { snd_cwnd, rtt: 300_000, ..tcp_info(flow, at) });
        }
    }
    let found = scenario.analyze().measured.global_synchronization.down;
    assert_eq!(found.reduction_series, [(TestTime(8 * SECOND + 300 * MS), flows[0])]);
    assert_eq!(found.interval_ns, 300 * MS);
}

#[test]
fn without_a_word_from_the_senders_or_with_one_stream_synchronization_is_unknown() {
    let mut scenario = Scenario::new();
    for _ in 0..2 {
        let flow = stream(&mut scenario, ServiceClass::BE, V4);
        arrives(&mut scenario, flow, |_| 5e6);
    }
    let found = scenario.analyze().measured.global_synchronization;
    assert_eq!((found.down.synchronized, found.down.streams), (Synchronized::Unknown, 2));
    assert_eq!((found.up.synchronized, found.up.streams), (Synchronized::Unknown, 0));
}

#[test]
fn limits_are_reported_as_parts_of_the_time_between_the_first_and_the_last_reading() {
    let mut scenario = Scenario::new();
    let flow = stream(&mut scenario, ServiceClass::BE, V4);
    let other = stream(&mut scenario, ServiceClass::BE, V4);
    // Read at 6 s (in the ramp, left out), 8 s and 12 s: busy for 3 of the 4 s, of that 1.5 s for the receiver's window
    // and 0.3 s for the buffer.
    for (at, [busy_time, rwnd_limited, sndbuf_limited], app_limited) in [
        (6, [1_000_000, 999_000, 0], 1),
        (8, [2_000_000, 1_000_000, 100_000], 1),
        (12, [5_000_000, 2_500_000, 400_000], 0),
    ] {
        let at = at * SECOND;
        let row = TcpInfo {
            busy_time,
            rwnd_limited,
            sndbuf_limited,
            app_limited,
            delivered: busy_time as u32 / 1000,
            snd_cwnd: 33,
            snd_ssthresh: if at == 6 * SECOND { 0x7fff_ffff } else { 20 },
            rtt: 18_000,
            total_retrans: 4,
            ..tcp_info(flow, at)
        };
        scenario.observe(Server, at, row);
        // What the receiver says of its own sending is not asked for.
        scenario.observe(Client, at, TcpInfo { busy_time: 77, rwnd_limited: 77, ..tcp_info(flow, at) });
    }
    let limits = scenario.analyze().measured.stream_limits.down;
    let one = limits.streams[0].limits;
    assert_eq!(one.busy_ns, Some(3 * SECOND));
    for (found, expected) in
        [(one.idle, 0.25), (one.rwnd_limited, 0.5), (one.sndbuf_limited, 0.1), (one.app_limited, 0.5)]
    {
        near(found.unwrap(), expected, 1e-9);
    }
    assert_eq!(limits.pooled, one, "the other stream says nothing");
    assert_eq!(limits.streams[1].flow.id, other);
    assert_eq!(limits.streams[1].limits.rwnd_limited, None);
    let series = &limits.streams[0].series;
    let points: Vec<_> =
        series.iter().map(|p| (p.congestion_window, p.slow_start_threshold, p.retransmitted)).collect();
    assert_eq!(points, [(33, None, 4), (33, Some(20), 4), (33, Some(20), 4)]);
}

#[test]
fn a_threshold_that_the_kernel_had_cached_is_reported_and_takes_nothing_from_the_verdict() {
    let run = |initial: u32, bytes_sent: u64| {
        let mut scenario = Scenario::healthy();
        let up = scenario.recording.header.flows.iter().find(|flow| flow.direction == Some(Direction::Up)).unwrap().id;
        for (at, snd_ssthresh, bytes_sent) in [(4_900, initial, bytes_sent), (9_000, 120, 1_000_000)] {
            let at = at * MS;
            scenario.observe(Client, at, TcpInfo { snd_mss: 1448, snd_ssthresh, bytes_sent, ..tcp_info(up, at) });
        }
        scenario.analyze()
    };
    let of = |analysis: &Analysis| analysis.stream_limits.up.streams[0].initial_slow_start_threshold;
    let severities = |analysis: &Analysis| {
        let reasons = analysis.validity.reasons.iter();
        reasons.filter(|reason| reason.code == "cached_tcp_metrics").map(|reason| reason.severity).collect::<Vec<_>>()
    };
    let without = run(0x7fff_ffff, 28);
    assert_eq!((of(&without), severities(&without)), (None, vec![]));
    let cached = run(29, 28);
    assert_eq!((of(&cached), severities(&cached)), (Some(29), vec![Severity::Info]));
    assert_eq!(cached.validity.verdict, without.validity.verdict);
    let text = &cached.validity.reasons.iter().find(|reason| reason.code == "cached_tcp_metrics").unwrap().text;
    assert!(
        text.starts_with("1 of 1 upload streams") && text.contains("(29 segments at least)") && text.contains("client"),
        "{text}"
    );
    // First read when it had left slow start by itself: nothing is known of its beginning.
    assert_eq!(of(&run(29, 50_000)), None);
}
