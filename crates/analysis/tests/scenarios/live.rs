//! The view while the test runs.

use rrul_analysis::live::{Live, LiveSnapshot};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{OctetsReceived, TcpInfo};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::builder::{Client, MS, SECOND, Scenario, Server, ms, tcp_info};

/// What the view says after the frames of each second.
fn follow(scenario: &Scenario) -> Vec<LiveSnapshot> {
    let mut live = Live::new(&scenario.recording.header);
    let mut frames: Vec<&Frame> = scenario.recording.frames.iter().collect();
    frames.sort_by_key(|frame| frame.number);
    let push = |frames: &[&Frame]| {
        for frame in frames {
            live.push(frame);
        }
        live.snapshot()
    };
    frames.chunks(2).map(push).collect()
}

#[test]
fn the_view_shows_the_last_full_second() {
    let seconds = follow(&Scenario::healthy());
    let rate = |megabits: u64| Some(BitRate(megabits * 1_000_000));
    let expected = LiveSnapshot { up: rate(8), down: rate(20), delay: ms(20), lost_last_second: 0 };
    // Bytes of the load's first second, from 5 s on, are complete with the frames of 6 s.
    assert_eq!(seconds[8], expected);
    assert_eq!(seconds[13], expected);
    assert_eq!(seconds[3], LiveSnapshot { up: rate(0), down: rate(0), ..expected });
}

#[test]
fn the_upload_is_unknown_while_nothing_of_the_server_arrives() {
    let scenario = Scenario::healthy();
    let mut live = Live::new(&scenario.recording.header);
    let of = |point| scenario.recording.frames_of(point);
    let early = |frame: &&Frame| frame.number <= 9;
    of(Server).filter(early).for_each(|frame| live.push(frame));
    of(Client).filter(early).for_each(|frame| live.push(frame));
    assert_eq!(live.snapshot().up, Some(BitRate(8_000_000)));
    of(Client).filter(|frame| !early(frame)).for_each(|frame| live.push(frame));
    let snapshot = live.snapshot();
    assert_eq!((snapshot.up, snapshot.down.is_some()), (None, true), "10 s later");
}

#[test]
fn a_loss_shows_in_the_second_in_which_its_waiting_time_runs_out() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |at| (!(6 * SECOND..6 * SECOND + 200 * MS).contains(&at)).then_some(20 * MS));
    let lost: Vec<u64> = follow(&scenario).iter().map(|second| second.lost_last_second).collect();
    // Sent at 6 s, given up at 9 s; that second is over with the frames of 10 s.
    assert_eq!(lost.iter().sum::<u64>(), 10, "{lost:?}");
    assert_eq!(lost[10], 10, "{lost:?}");
}

#[test]
fn what_waits_in_a_queue_of_many_seconds_is_late_and_not_lost() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    // From 5 s on the queue fills, to 6 s.
    scenario.probes(flow, |at| Some(20 * MS + (at - 5 * SECOND).clamp(0, 6 * SECOND)));
    let seconds = follow(&scenario);
    let lost: u64 = seconds.iter().map(|second| second.lost_last_second).sum();
    assert_eq!(lost, 0, "{seconds:?}");
    let longest = seconds.iter().filter_map(|second| second.delay).max().unwrap();
    assert!(longest > Delay(5_000_000_000), "{longest}");
}

#[test]
fn a_median_follows_a_step_within_a_second() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |at| Some(if at < 5 * SECOND { 20 * MS } else { 220 * MS }));
    let seconds = follow(&scenario);
    assert_eq!((seconds[5].delay, seconds[7].delay), (ms(20), ms(220)));
}

#[test]
fn only_the_receivers_count_is_goodput() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Down);
    scenario.stream(flow, 20_000_000);
    // The sender counts what it has handed to its kernel.
    for reading in 50..150 {
        let at = TestTime(reading * 100 * MS);
        scenario.observe(Server, at.0, OctetsReceived { flow, at, octets: ByteCount(reading as u64 * 9_000_000) });
    }
    assert_eq!(follow(&scenario)[9].down, Some(BitRate(20_000_000)));
}

#[test]
fn counts_that_only_a_hostile_server_sends_leave_the_view_standing() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Down);
    // Twice 2^64 bytes less a little.
    for (reading, data_segs_in) in [(0, 0), (1, u32::MAX), (2, 0), (3, u32::MAX)] {
        let at = 6 * SECOND + reading * 100 * MS;
        let row = TcpInfo { data_segs_in, rcv_mss: u32::MAX, ..tcp_info(flow, at) };
        scenario.observe(Client, at, row);
    }
    assert!(follow(&scenario)[7].down > Some(BitRate(0)));
}

#[test]
fn the_view_remembers_a_few_seconds_however_long_the_test_is() {
    let mut scenario = Scenario::healthy();
    let silent = scenario.udp_probe(AddressFamily::Ipv6);
    scenario.probes(silent, |_| None);
    let mut live = Live::new(&scenario.recording.header);
    let mut size_after = |seconds: std::ops::Range<u32>| {
        for frame in scenario.recording.frames.iter().filter(|frame| seconds.contains(&frame.number)) {
            live.push(frame);
        }
        // Its debug form has its whole content.
        format!("{live:?}").len()
    };
    let (early, late) = (size_after(0..11), size_after(11..15));
    assert!(late < early * 11 / 10, "{early} bytes of debug text at 11 s, {late} at 15 s");
}
