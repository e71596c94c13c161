//! Lines that are full, and lines that are not; that stay what they are, and that do not.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::rate::saturation::SaturationSign;
use rrul_analysis::validity::{Confidence, Severity, Verdict};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::observation::{OtherSessions, SocketDrops, TcpInfo};
use rrul_model::time::{TestTime, Window};

use crate::builder::{Client, MS, SECOND, Scenario, Server, ms, tcp_info};
use crate::bursts::{at_rate, stream, with_load};

/// 30 s of load up and probes; each closure receives nanoseconds of load.
struct Line {
    octets: fn(i64) -> u64,
    delay: fn(i64) -> i64,
    /// Of each second, the milliseconds that the receiver's window limited.
    held_back: u64,
    /// Of each second, the part in which the sender's program gave too little, in fifths.
    starved_fifths: u64,
    retransmits: bool,
}

const STEADY: Line = Line {
    octets: |after| at_rate(20, after),
    delay: |_| 120 * MS,
    held_back: 0,
    starved_fifths: 0,
    retransmits: false,
};

impl Line {
    fn scenario(&self) -> Scenario {
        let mut scenario = with_load(30);
        let flow = stream(&mut scenario, Direction::Up, self.octets);
        for step in 0..=150_u64 {
            let at = 5 * SECOND + 200 * MS * step.cast_signed();
            let row = TcpInfo {
                busy_time: step * 200_000,
                delivered: 100 * step as u32,
                rwnd_limited: step * 200 * self.held_back,
                app_limited: u8::from(step % 5 < self.starved_fifths),
                bytes_retrans: if self.retransmits { step * 1448 } else { 0 },
                ..tcp_info(flow, at)
            };
            scenario.observe(Client, at, row);
        }
        let all = Window { from: TestTime(0), to: TestTime(40 * SECOND) };
        let probe = scenario.flow("udp_probe", Component::Realtime, None, AddressFamily::Ipv4, all);
        for sequence in 0..2000 {
            let at = i64::from(sequence) * 20 * MS;
            scenario.sent(probe, sequence, at);
            let loaded = (5 * SECOND..35 * SECOND).contains(&at);
            scenario.received(probe, sequence, at, if loaded { (self.delay)(at - 5 * SECOND) } else { 20 * MS });
        }
        scenario
    }

    fn analyze(&self) -> Analysis {
        self.scenario().analyze()
    }
}

fn reason(analysis: &Analysis, code: &str) -> Option<(Severity, String)> {
    let found = analysis.validity.reasons.iter().find(|reason| reason.code == code);
    found.map(|reason| (reason.severity, reason.text.clone()))
}

#[test]
fn a_line_whose_packets_wait_while_its_rate_is_steady_is_full() {
    let analysis = STEADY.analyze();
    let up = analysis.saturation.up.as_ref().unwrap();
    assert_eq!((up.saturated, up.evidence.as_slice()), (Some(true), [SaturationSign::Queueing].as_slice()));
    assert!(up.share.unwrap() > 0.85, "{up:?}");
    assert_eq!(analysis.saturation.down, None, "nothing was to load that way");
    assert_eq!(analysis.stationarity.whole(), Some(true));
    assert_eq!(analysis.validity.confidence, Some(Confidence::High));
    for code in ["not_saturated", "rate_unsteady", "delay_unsteady", "baseline_busy", "host_limited"] {
        assert_eq!(reason(&analysis, code), None);
    }
}

#[test]
fn a_stream_that_the_router_starves_is_not_limited_by_its_host() {
    let mut scenario = STEADY.scenario();
    let flow = stream(&mut scenario, Direction::Up, |_| 0);
    for step in 0..=150_u64 {
        // Its kernel goes on saying what it saw when the stream was opened: that nothing was there to be sent.
        let at = 5 * SECOND + 200 * MS * step.cast_signed();
        let row = TcpInfo { busy_time: step * 200_000, delivered: 2, app_limited: 1, ..tcp_info(flow, at) };
        scenario.observe(Client, at, row);
    }
    let analysis = scenario.analyze();
    assert_eq!(analysis.saturation.up.as_ref().unwrap().saturated, Some(true));
    assert_eq!(reason(&analysis, "host_limited"), None);
    let limits = &analysis.measured.stream_limits.up;
    assert_eq!((limits.pooled.app_limited, limits.streams[1].limits.app_limited), (Some(0.0), None));
}

#[test]
fn a_stream_with_data_waiting_is_not_limited_by_its_host() {
    for (waiting, limited) in [(2_920, 0.0), (1_000, 1.0)] {
        let mut scenario = STEADY.scenario();
        let flow = stream(&mut scenario, Direction::Up, |_| 0);
        for step in 0..=150_u64 {
            // Over a queue of seconds its kernel repeats for a round trip that nothing was to be sent, after one such moment.
            let at = 5 * SECOND + 200 * MS * step.cast_signed();
            let row = TcpInfo {
                busy_time: step * 200_000,
                delivered: step as u32,
                snd_mss: 1460,
                notsent_bytes: waiting,
                app_limited: 1,
                ..tcp_info(flow, at)
            };
            scenario.observe(Client, at, row);
        }
        let analysis = scenario.analyze();
        assert_eq!(reason(&analysis, "host_limited").is_some(), limited > 0.0);
        assert_eq!(analysis.measured.stream_limits.up.streams[1].limits.app_limited, Some(limited));
    }
}

#[test]
fn losses_show_a_bottleneck_where_no_packet_waits() {
    let analysis = Line { delay: |_| 20 * MS, retransmits: true, ..STEADY }.analyze();
    let up = analysis.saturation.up.as_ref().unwrap();
    assert_eq!((up.saturated, up.evidence.as_slice()), (Some(true), [SaturationSign::Retransmissions].as_slice()));
}

#[test]
fn a_steady_rate_without_a_bottleneck_is_no_full_line() {
    let analysis = Line { delay: |_| 20 * MS, ..STEADY }.analyze();
    assert_eq!(analysis.saturation.up.as_ref().unwrap().saturated, Some(false));
    assert_eq!(analysis.validity.confidence, Some(Confidence::Low));
    let (severity, text) = reason(&analysis, "not_saturated").unwrap();
    assert_eq!((severity, analysis.validity.verdict), (Severity::Doubt, Verdict::Doubtful));
    assert!(text.starts_with("Upload was never saturated (20.0 Mbit/s"), "{text}");
}

#[test]
fn a_line_that_the_receiver_did_not_let_fill_is_invalid_and_says_what_to_raise() {
    let analysis = Line { delay: |_| 20 * MS, held_back: 300, ..STEADY }.analyze();
    let (severity, text) = reason(&analysis, "host_limited").unwrap();
    assert_eq!(severity, Severity::Invalid);
    assert!(text.contains("limited by the server's receive window") && text.contains("tcp_rmem"), "{text}");
    let analysis = Line { delay: |_| 20 * MS, held_back: 40, ..STEADY }.analyze();
    assert_eq!(reason(&analysis, "host_limited"), None, "4 % of the time is not what keeps a line from filling");
}

#[test]
fn a_line_that_the_senders_program_did_not_fill_is_invalid_and_names_that_host() {
    // Packets wait, and still it is not this load that saturates the line.
    let analysis = Line { starved_fifths: 1, ..STEADY }.analyze();
    assert_eq!(analysis.saturation.up.as_ref().unwrap().saturated, Some(false));
    let (severity, text) = reason(&analysis, "host_limited").unwrap();
    assert_eq!(severity, Severity::Invalid);
    assert!(text.contains("limited by the client, which sent less than its window allows"), "{text}");
}

#[test]
fn a_rate_that_halves_is_reported_with_both_halves() {
    let analysis = Line {
        octets: |after| at_rate(20, after.min(16 * SECOND)) + at_rate(10, (after - 16 * SECOND).max(0)),
        ..STEADY
    }
    .analyze();
    assert_eq!(analysis.stationarity.up.unwrap().stationary, Some(false));
    assert_eq!(analysis.validity.confidence, Some(Confidence::Medium));
    let (severity, text) = reason(&analysis, "rate_unsteady").unwrap();
    assert_eq!(severity, Severity::Doubt);
    assert!(text.starts_with("Upload rate was not stationary: "), "{text}");
}

#[test]
fn a_delay_that_creeps_up_is_reported() {
    let analysis = Line { delay: |after| 60 * MS + after / 200, ..STEADY }.analyze();
    assert_eq!(analysis.stationarity.round_trip_delay.unwrap().stationary, Some(false));
    assert_eq!(reason(&analysis, "delay_unsteady").unwrap().0, Severity::Info);
}

#[test]
fn recovery_is_from_the_end_of_the_load_until_delay_is_back() {
    let mut scenario = STEADY.scenario();
    assert_eq!(scenario.analyze().recovery.recovery_ns, Some(0));
    let probe = scenario.recording.header.flows[1].id;
    // A queue that drains over 1.5 s: the first second without it begins a step after that.
    for sequence in 5000..5075 {
        let at = 35 * SECOND + i64::from(sequence - 5000) * 20 * MS;
        scenario.sent(probe, sequence, at);
        scenario.received(probe, sequence, at, 100 * MS);
    }
    let recovery = scenario.analyze().recovery.recovery_ns.unwrap();
    assert!((1_400 * MS..=1_700 * MS).contains(&recovery), "{recovery}");
}

#[test]
fn a_baseline_whose_delay_swings_is_not_idle() {
    let mut scenario = STEADY.scenario();
    let all = Window { from: TestTime(0), to: TestTime(40 * SECOND) };
    let probe = scenario.flow("udp_probe", Component::Realtime, None, AddressFamily::Ipv6, all);
    for sequence in 0..250 {
        let at = i64::from(sequence) * 20 * MS;
        scenario.sent(probe, sequence, at);
        scenario.received(probe, sequence, at, if sequence % 10 == 0 { 35 * MS } else { 20 * MS });
    }
    let (severity, text) = reason(&scenario.analyze(), "baseline_busy").unwrap();
    assert_eq!(severity, Severity::Doubt);
    assert!(text.contains("15.0 ms"), "{text}");
}

#[test]
fn other_tests_at_the_server_make_a_run_doubtful_from_a_hundredth_of_its_load_on() {
    let shared = |share: f64| {
        let mut scenario = STEADY.scenario();
        let own = STEADY.scenario().analyze().link_octets.load.as_ref().unwrap().both.carried_octets;
        for second in 0..=40 {
            let at = second * SECOND + 2 * MS;
            // Whatever others did before the load is no harm.
            let octets = if second < 8 { 7 } else { 7 + (own as f64 * share) as u64 };
            scenario.observe(Server, at, OtherSessions { at: TestTime(at), octets, packets: 3 });
        }
        reason(&scenario.analyze(), "server_shared")
    };
    assert_eq!(shared(0.0), None);
    assert_eq!(shared(0.009), None);
    let (severity, text) = shared(0.02).unwrap();
    assert_eq!(severity, Severity::Doubt);
    assert!(text.starts_with("Other tests used the server meanwhile: they moved 2 % of the bytes"), "{text}");
}

#[test]
fn packets_that_a_host_dropped_itself_are_no_loss_of_the_line() {
    let dropping = |drops: u32| {
        let mut scenario = STEADY.scenario();
        let flow = scenario.recording.header.flows[1].id;
        for second in 0..=40_u32 {
            let at = i64::from(second) * SECOND + 2 * MS;
            let dropped = if second > 20 { drops } else { 0 };
            scenario.observe(Client, at, SocketDrops { flow, at: TestTime(at), dropped });
        }
        reason(&scenario.analyze(), "socket_drops")
    };
    // Of 1500 packets under load.
    assert_eq!(dropping(0), None);
    assert_eq!(dropping(1).unwrap().0, Severity::Doubt);
    assert_eq!(dropping(2).unwrap().0, Severity::Doubt, "too few to be more than an accident");
    let (severity, text) = dropping(10).unwrap();
    assert_eq!(severity, Severity::Invalid);
    assert!(text.contains("The client dropped 10 test packets of udp_probe"), "{text}");
    assert_eq!(STEADY.analyze().round_trip_delay.pooled.load.unwrap().p50, ms(120));
}
