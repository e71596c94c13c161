//! Links whose rate is known to stay or to change, under senders whose windows swing.

use rrul_analysis::Analysis;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::observation::TcpInfo;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::bursts::stream;
use crate::two_clocks::Random;

/// Steps in which a link is simulated.
const TICK: i64 = 10 * MS;

/// A link and what senders offer, by the time of the load.
struct Link<'a> {
    /// Seconds of load.
    load: i64,
    /// Rate of the link for this test, Mbit/s.
    rate: &'a dyn Fn(f64) -> f64,
    /// What a window in flight would carry, Mbit/s, if the link were faster.
    offered: &'a dyn Fn(f64) -> f64,
    /// Longest queue, seconds.
    most: f64,
    /// Whether probes wait behind the load.
    shared: bool,
}

impl Link<'_> {
    fn analyze(&self) -> Analysis {
        let mut scenario = Scenario::new();
        let end = (5 + self.load) * SECOND;
        let windows = [(0, 5 * SECOND), (5 * SECOND, end), (end, end + 5 * SECOND)];
        let phases = [Phase::Idle, Phase::Load, Phase::After].into_iter().zip(windows);
        let window = |(from, to)| Window { from: TestTime(from), to: TestTime(to) };
        scenario.recording.header.phases =
            phases.map(|(phase, times)| PhaseWindow { phase, window: window(times) }).collect();
        scenario.recording.end.as_mut().unwrap().at = TestTime(end + 5 * SECOND);
        // The window is a pipe of 20 ms and the queue: what it does not fill stays empty.
        let (mut octets, mut waits, mut sum, mut noise) = (vec![0_u64], Vec::new(), 0.0, Random::seeded());
        for tick in 0..self.load * SECOND / TICK {
            let at = (tick * TICK) as f64 / 1e9;
            let (rate, offered) = ((self.rate)(at), (self.offered)(at));
            let queue = (0.02 * (offered / rate - 1.0)).clamp(0.0, self.most);
            sum += rate.min(offered) * (1.0 + 0.04 * (noise.unit() - 0.5)) * 1e6 / 8.0 * TICK as f64 / 1e9;
            octets.push(sum as u64);
            waits.push(queue);
        }
        let flow = stream(&mut scenario, Direction::Up, |after| {
            octets[usize::try_from(after / TICK).unwrap().min(octets.len() - 1)]
        });
        for step in 0..=u64::try_from(self.load).unwrap() * 5 {
            let at = 5 * SECOND + 200 * MS * step.cast_signed();
            let wait = waits.get(usize::try_from(step).unwrap() * 20).copied().unwrap_or(0.0);
            let (rtt, min_rtt) = (20_000 + (wait * 1e6) as u32, 20_000);
            let sent = TcpInfo { busy_time: step * 200_000, bytes_retrans: step * 1448, ..tcp_info(flow, at) };
            scenario.observe(Client, at, TcpInfo { rtt, min_rtt, ..sent });
        }
        let all = window((0, end + 5 * SECOND));
        let probe = scenario.flow("udp_probe", Component::Realtime, None, AddressFamily::Ipv4, all);
        for sequence in 0..u32::try_from((end + 4 * SECOND) / (10 * MS)).unwrap() {
            let at = i64::from(sequence) * 10 * MS;
            scenario.sent(probe, sequence, at);
            let loaded = usize::try_from((at - 5 * SECOND) / TICK).ok().filter(|_| at >= 5 * SECOND);
            let wait = loaded.and_then(|tick| waits.get(tick)).filter(|_| self.shared).copied().unwrap_or(0.0);
            scenario.received(probe, sequence, at, 20 * MS + (2.0 * wait * 1e9) as i64);
        }
        scenario.analyze()
    }

    fn stationary(&self) -> Option<bool> {
        self.analyze().stationarity.up.unwrap().stationary
    }
}

const STEADY: Link<'_> = Link { load: 15, rate: &|_| 20.0, offered: &|_| 100.0, most: 1.0, shared: true };

/// A window that grows evenly and falls back to 0.7 of its top: cubic, one tooth each `period`.
fn teeth(at: f64, phase: f64, period: f64, top: f64) -> f64 {
    top * (0.7 + 0.3 * (at / period + phase).fract())
}

#[test]
fn teeth_that_are_slower_than_the_window_are_no_change_of_the_line() {
    // Queues that never empty, and queues of 4 ms that do for a part of each tooth, also where each flow has its own.
    for (top, shared) in [(200.0, true), (24.0, true), (200.0, false), (24.0, false)] {
        for load in [15, 60] {
            let (mut doubted, mut delays) = (0, 0);
            for run in 0..20_i32 {
                let (phase, period) = (f64::from(run) / 20.0, 5.0 + f64::from(run * 7 % 16));
                let offered = |at| teeth(at, phase, period, top);
                let analysis = Link { load, offered: &offered, shared, ..STEADY }.analyze();
                doubted += usize::from(analysis.stationarity.up.unwrap().stationary == Some(false));
                let unsteady = analysis.validity.reasons.iter().any(|reason| reason.code == "rate_unsteady");
                assert_eq!(unsteady, analysis.stationarity.up.unwrap().stationary == Some(false));
                delays += usize::from(analysis.stationarity.round_trip_delay.unwrap().stationary == Some(false));
            }
            assert!(doubted <= 1, "top {top}, shared {shared}, load {load} s: {doubted} of 20 are doubted");
            assert!(delays <= 8, "top {top}, load {load} s: {delays} of 20 delays are held to creep");
        }
    }
}

#[test]
fn the_swing_of_pie_and_red_is_no_change_of_the_line() {
    // Early drops keep the queue at 15 ms (PIE) or 6 ms (RED), and empty it now and then, in no fixed rhythm.
    for (middle, swing, period) in [(1.6, 0.9, 3.7), (1.2, 0.5, 6.1), (1.1, 0.3, 2.3)] {
        for load in [12, 15, 60] {
            let mut doubted = 0;
            for run in 0..20_i32 {
                let phase = f64::from(run) / 20.0 * std::f64::consts::TAU;
                let offered = |at: f64| {
                    let turn = std::f64::consts::TAU * at / period;
                    20.0 * (middle + swing * ((turn + phase).sin() * 0.7 + (turn * 0.37 + 2.0 * phase).sin() * 0.3))
                };
                doubted += usize::from(Link { load, offered: &offered, ..STEADY }.stationary() == Some(false));
            }
            assert!(doubted <= 1, "{middle} +- {swing}, load {load} s: {doubted} of 20 are doubted");
        }
    }
}

#[test]
fn a_step_of_the_rate_is_found_under_teeth_and_without_a_queue() {
    for load in [12, 15, 60] {
        for run in 0..10_i32 {
            let middle = 2.0 + (load - 2) as f64 / 2.0;
            let rate = |at: f64| if at < middle { 20.0 } else { 16.0 };
            let offered = |at| teeth(at, f64::from(run) / 10.0, 5.0 + f64::from(run), 200.0);
            let link = Link { load, rate: &rate, offered: &offered, ..STEADY };
            assert_eq!(link.stationary(), Some(false), "load {load} s, run {run}");
            assert_eq!(Link { shared: false, ..link }.stationary(), Some(false), "flow queueing, load {load} s");
        }
    }
}

#[test]
fn cross_traffic_for_a_third_of_the_load_is_found() {
    for load in [15, 60] {
        let scored = (load - 2) as f64;
        for third in 0..3_i32 {
            let from = 2.0 + scored * f64::from(third) / 3.0;
            let rate = |at: f64| if (from..from + scored / 3.0).contains(&at) { 13.0 } else { 20.0 };
            let offered = |at| teeth(at, 0.3, 9.0, 200.0);
            let analysis = Link { load, rate: &rate, offered: &offered, ..STEADY }.analyze();
            // A faster first third is a burst where the load is long enough to find one.
            let burst = analysis.bursts.up.as_ref().unwrap().burst.is_some();
            assert!(
                burst || analysis.stationarity.up.unwrap().stationary == Some(false),
                "load {load} s, third {third}"
            );
        }
    }
}

#[test]
fn cross_traffic_that_begins_and_ends_slowly_is_found_without_a_queue() {
    // As over a kernel's cake: few independent blocks, so that chance alone could explain the difference of the halves.
    let rate = |at: f64| match at {
        at if (7.0..8.5).contains(&at) => 15.0,
        at if (8.5..12.2).contains(&at) => 12.7,
        _ => 20.0,
    };
    let link = Link { rate: &rate, offered: &|at| teeth(at, 0.3, 9.0, 40.0), shared: false, ..STEADY };
    assert_eq!(link.stationary(), Some(false));
}

#[test]
fn a_burst_allowance_is_left_out_or_doubted() {
    for load in [15, 60] {
        let rate = |at: f64| if at < 5.0 { 40.0 } else { 20.0 };
        let analysis = Link { load, rate: &rate, offered: &|_| 200.0, ..STEADY }.analyze();
        let found = analysis.bursts.up.as_ref().unwrap().burst.is_some();
        assert!(found || analysis.stationarity.up.unwrap().stationary == Some(false), "load {load} s");
    }
}

/// A download that does not saturate its line, while the upload's queue is this long.
fn asymmetric(upload_queue: i64, window_limited: u64) -> Analysis {
    swinging(upload_queue, window_limited, 4)
}

/// The same, and for 4 s the download has only `least` of its 4 Mbit/s.
fn swinging(upload_queue: i64, window_limited: u64, least: u64) -> Analysis {
    let mut scenario = crate::bursts::with_load(30);
    let (begins, ends) = (14 * SECOND, 18 * SECOND);
    let octets = |after: i64| {
        let low = (after.min(ends) - begins).max(0);
        crate::bursts::at_rate(4, after - low) + crate::bursts::at_rate(least, low)
    };
    let down = stream(&mut scenario, Direction::Down, octets);
    let up = stream(&mut scenario, Direction::Up, |after| crate::bursts::at_rate(1, after));
    for step in 0..=150_u64 {
        let at = 5 * SECOND + 200 * MS * step.cast_signed();
        let counted = u32::try_from(octets(200 * MS * step.cast_signed()) / 1448).unwrap();
        let busy = TcpInfo { busy_time: step * 200_000, ..tcp_info(down, at) };
        let sender = TcpInfo {
            rtt: 20_000 + u32::try_from(upload_queue / 1000).unwrap(),
            min_rtt: 20_000,
            rwnd_limited: step * 200 * window_limited,
            segs_in: counted / 2 * 9 / 10,
            segs_out: counted,
            data_segs_out: counted,
            bytes_sent: u64::from(counted) * 1448,
            bytes_acked: u64::from(counted) * 1448,
            ..busy
        };
        scenario.observe(Server, at, sender);
        let receiver = TcpInfo {
            segs_in: counted,
            data_segs_in: counted,
            segs_out: counted / 2,
            bytes_received: u64::from(counted) * 1448,
            ..tcp_info(down, at)
        };
        scenario.observe(Client, at, receiver);
        scenario.observe(Client, at, TcpInfo { busy_time: step * 200_000, ..tcp_info(up, at) });
    }
    let all = Window { from: TestTime(0), to: TestTime(40 * SECOND) };
    let probe = scenario.flow("udp_probe", Component::Realtime, None, AddressFamily::Ipv4, all);
    for sequence in 0..2000 {
        let at = i64::from(sequence) * 20 * MS;
        let loaded = (5 * SECOND..35 * SECOND).contains(&at);
        scenario.sent(probe, sequence, at);
        scenario.received_with_delays(probe, sequence, at, (10 * MS + if loaded { upload_queue } else { 0 }, 10 * MS));
    }
    scenario.analyze()
}

#[test]
fn acknowledgments_that_wait_in_the_upload_queue_are_a_finding_and_no_doubt() {
    let analysis = asymmetric(400 * MS, 0);
    let down = analysis.saturation.down.as_ref().unwrap();
    assert_eq!(down.saturated, Some(false));
    let starved = down.ack_starvation.expect("the cause");
    assert!((starved.queueing_delay_ns - 400 * MS).abs() < MS, "{starved:?}");
    assert!((starved.idle_round_trips - 20.0).abs() < 0.5, "{starved:?}");
    let rate = starved.acknowledgements_per_second.expect("they were counted");
    assert!((rate - 155.0).abs() < 5.0, "{rate} a second");
    assert!((starved.missing_share.expect("they were counted") - 0.1).abs() < 0.02, "{starved:?}");
    assert_eq!(analysis.saturation.up.as_ref().unwrap().ack_starvation, None);
    let codes: Vec<&str> = analysis.validity.reasons.iter().map(|reason| reason.code).collect();
    assert!(codes.contains(&"ack_starvation") && !codes.contains(&"not_saturated"), "{codes:?}");
}

#[test]
fn a_download_that_swings_with_its_acknowledgments_is_no_change_of_the_line() {
    // Its round trips are long because acknowledgments wait on the way up: the way down is not full.
    let analysis = swinging(400 * MS, 0, 3);
    assert_eq!(analysis.saturation.down.as_ref().unwrap().saturated, Some(false));
    let down = analysis.stationarity.down.unwrap();
    assert_eq!((down.stationary, down.change), (Some(true), None), "{down:?}");
}

#[test]
fn a_download_that_is_held_for_another_reason_stays_doubtful() {
    for (queue, window_limited) in [(400 * MS, 300), (5 * MS, 0)] {
        let analysis = asymmetric(queue, window_limited);
        assert_eq!(analysis.saturation.down.as_ref().unwrap().ack_starvation, None);
        assert!(analysis.validity.reasons.iter().any(|reason| reason.code == "not_saturated"));
    }
}

/// An upload of these frames a second over Ethernet, of which so many are acknowledgments of a download, in either half.
fn beside_acknowledgements(bits: [f64; 2], acknowledgements: [f64; 2]) -> Analysis {
    let mut scenario = crate::bursts::with_load(30);
    let down = stream(&mut scenario, Direction::Down, |after| crate::bursts::at_rate(4, after));
    let up = stream(&mut scenario, Direction::Up, |after| crate::bursts::at_rate(1, after));
    let (mut data, mut acks) = (0.0, 0.0);
    for step in 0..=150_u64 {
        let at = 5 * SECOND + 200 * MS * step.cast_signed();
        let half = usize::from(step > 75);
        if step > 0 {
            acks += acknowledgements[half] / 5.0;
            data += (bits[half] / 8.0 - acknowledgements[half] * 66.0) / 1514.0 / 5.0;
        }
        let (data, acks) = (data as u32, acks as u32);
        let bare = |flow| TcpInfo { options: 1, busy_time: step * 200_000, ..tcp_info(flow, at) };
        scenario.observe(
            Server,
            at,
            TcpInfo { segs_in: acks, segs_out: 2 * acks, data_segs_out: 2 * acks, ..bare(down) },
        );
        scenario.observe(
            Client,
            at,
            TcpInfo { segs_out: acks, segs_in: 2 * acks, data_segs_in: 2 * acks, ..bare(down) },
        );
        let octets = u64::from(data) * 1448;
        scenario.observe(Client, at, TcpInfo { segs_out: data, data_segs_out: data, bytes_sent: octets, ..bare(up) });
        scenario.observe(Server, at, TcpInfo { segs_in: data, data_segs_in: data, bytes_received: octets, ..bare(up) });
    }
    scenario.analyze()
}

#[test]
fn a_change_of_packet_sizes_is_no_change_of_the_line() {
    let up = |bits, acknowledgements| beside_acknowledgements(bits, acknowledgements).stationarity.up.unwrap();
    let steady = up([1e6, 1e6], [100.0, 1150.0]);
    let (first, second) = (steady.first_half_bps.unwrap() as f64, steady.second_half_bps.unwrap() as f64);
    assert!(second < 0.9 * first, "the rate of IP packets differs by more than the margin: {first} and {second}");
    assert_eq!(steady.stationary, Some(true), "{steady:?}");
    assert_eq!(steady.change, None);
    for bits in [[1e6, 0.8e6], [0.8e6, 1e6]] {
        for acknowledgements in [[100.0, 100.0], [100.0, 200.0]] {
            assert_eq!(up(bits, acknowledgements).stationary, Some(false), "{bits:?} {acknowledgements:?}");
        }
    }
}
