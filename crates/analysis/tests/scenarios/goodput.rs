//! Goodput and its series.

use proptest::prelude::*;
use rrul_analysis::series::RatePoint;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::observation::{OctetsReceived, TcpInfo};
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};

use crate::builder::{Client, MS, SECOND, SEGMENT, Scenario, Server, tcp_info};

fn octets(series: &[RatePoint]) -> f64 {
    series.iter().map(|point| point.rate.0 as f64 * point.over.as_secs_f64() / 8.0).sum()
}

fn fastest(series: &[RatePoint]) -> BitRate {
    series.iter().map(|point| point.rate).max().unwrap()
}

#[test]
fn a_steady_stream_has_its_rate_as_mean_and_in_every_interval() {
    let analysis = Scenario::healthy().analyze();
    for (direction, rate) in [(Direction::Down, 20_000_000), (Direction::Up, 8_000_000)] {
        let goodput = analysis.goodput(direction);
        assert_eq!((goodput.sum, goodput.mean), (BitRate(rate), BitRate(rate)));
        assert_eq!(goodput.octets, ByteCount(rate / 8 * 10));
        let series = &goodput.flows[0].series;
        assert_eq!(series.len(), 100, "10 s of 100 ms");
        assert!(series.iter().all(|point| point.rate == BitRate(rate)), "{series:?}");
        assert_eq!(series[0].at, TestTime(5 * SECOND + 50 * MS));
        assert_eq!(&goodput.sum_series, series);
    }
}

#[test]
fn readings_that_fall_between_the_edges_are_interpolated() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Down);
    // Read 37 ms after each edge, at a steady rate that goes on behind the edge of the window.
    scenario.stream_with(flow, |at| at + 37 * MS, |at, from| (at - from) as u64 * 20_000_000 / 8 / SECOND as u64);
    let down = scenario.analyze().measured.goodput.down;
    // The stream ends at 15 s between readings at 14.937 s and 15.037 s: 63 ms of bytes are spread over 100 ms, so at
    // 15 s the interpolation is short of at most 63 ms - 63 ms * 0.63 = 23.3 ms of the 8 s that are scored.
    let short = 20_000_000 - down.sum.0;
    assert!(short <= 20_000_000 * 24 / 8_000, "{short} bit/s short of 20 Mbit/s");
    assert!(
        down.flows[0].series[..98].iter().all(|point| point.rate.0.abs_diff(20_000_000) <= 80),
        "one byte in 100 ms"
    );
}

/// Down at 20 Mbit/s, with the segment that arrives at 8 s missing until 9 s: for a second nothing is in order.
fn head_of_line(with_segments: bool) -> Scenario {
    let line = |at: i64, from: i64| (at - from) as u64 * 20_000_000 / 8 / SECOND as u64;
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Down);
    scenario.stream_with(
        flow,
        |at| at,
        |at, from| line(if (8 * SECOND..9 * SECOND).contains(&at) { 8 * SECOND } else { at }, from),
    );
    if with_segments {
        // Read at other moments than the bytes.
        for reading in 0..104 {
            let at = 5 * SECOND + reading * 100 * MS + 41 * MS;
            let arrived = line(at.min(15 * SECOND), 5 * SECOND) / SEGMENT;
            scenario.segments(Client, flow, at, u32::try_from(arrived).unwrap());
        }
    }
    scenario
}

#[test]
fn bytes_that_waited_behind_a_hole_do_not_show_as_a_rate_above_the_line() {
    let down = head_of_line(true).analyze().measured.goodput.down;
    assert_eq!(down.sum, BitRate(20_000_000));
    // A reading counts whole segments: one segment of 1448 bytes in 100 ms is 0.12 Mbit/s.
    let most = 20_000_000 + SEGMENT * 8 * 10;
    assert!(fastest(&down.flows[0].series).0 <= most, "{} over the line", fastest(&down.flows[0].series));
    let hole = Window { from: TestTime(8 * SECOND), to: TestTime(9 * SECOND) };
    let least = down.sum_series.iter().filter(|point| hole.contains(point.at)).map(|point| point.rate).min().unwrap();
    assert!(least.0 >= 20_000_000 - SEGMENT * 8 * 10, "{least} while the segments kept arriving");
}

#[test]
fn without_segment_counts_the_bytes_in_order_make_the_series() {
    let down = head_of_line(false).analyze().measured.goodput.down;
    assert_eq!(down.sum, BitRate(20_000_000));
    // What arrived in the second from 8 s on is handed over within 100 ms.
    assert_eq!(fastest(&down.flows[0].series), BitRate(200_000_000));
}

#[test]
fn a_kernel_that_does_not_count_segments_leaves_the_bytes_in_order() {
    let mut scenario = Scenario::healthy();
    let expected = scenario.analyze().measured.goodput.down;
    for reading in 0..100 {
        scenario.segments(Client, expected.flows[0].flow.id, 5 * SECOND + reading * 100 * MS, 0);
    }
    assert_eq!(scenario.analyze().goodput.down, expected);
}

#[test]
fn the_sum_and_the_mean_are_those_of_the_flows() {
    for flows in [1_u64, 3, 16] {
        let mut scenario = Scenario::new();
        for flow in 0..flows {
            let id = scenario.bulk(Direction::Up);
            scenario.stream(id, 1_000_000 * (flow + 1));
        }
        let up = scenario.analyze().measured.goodput.up;
        let sum = 1_000_000 * flows * (flows + 1) / 2;
        assert_eq!((up.sum, up.mean), (BitRate(sum), BitRate(sum / flows)));
        assert_eq!(up.flows.len() as u64, flows);
        // Each flow's count is rounded to a byte in each 100 ms.
        assert!(up.sum_series.iter().all(|point| point.rate.0.abs_diff(sum) <= 80 * flows), "{:?}", up.sum_series);
    }
}

#[test]
fn a_flow_is_averaged_over_its_own_window_and_the_sum_series_follows_the_senders() {
    let mut scenario = Scenario::new();
    let whole = scenario.bulk(Direction::Down);
    scenario.stream(whole, 4_000_000);
    let window = Window { from: TestTime(7 * SECOND), to: TestTime(9 * SECOND) };
    let short = scenario.flow("bulk_tcp", Component::Load, Some(Direction::Down), AddressFamily::Ipv4, window);
    scenario.stream(short, 6_000_000);
    let down = scenario.analyze().measured.goodput.down;
    assert_eq!(down.flows[1].mean, BitRate(6_000_000));
    assert_eq!(down.flows[1].series.len(), 20);
    assert_eq!(down.sum, BitRate(10_000_000));
    let both = |point: &&RatePoint| point.rate == BitRate(10_000_000);
    assert_eq!(down.sum_series.iter().filter(both).count(), 20);
    assert_eq!(down.sum_series.len(), 100);
}

#[test]
fn what_arrives_after_the_load_is_shown_and_not_counted() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Up);
    scenario.stream(flow, 8_000_000);
    // A queue of 400 ms drains after 15 s, on top of the last reading in the window.
    for reading in 1..=10_u64 {
        let octets = ByteCount(10_000_000 + 100_000 * reading.min(4));
        let at = TestTime(15 * SECOND + 500 * MS + reading as i64 * 100 * MS);
        scenario.observe(Server, at.0, OctetsReceived { flow, at, octets });
    }
    let up = scenario.analyze().measured.goodput.up;
    assert_eq!((up.sum, up.octets), (BitRate(8_000_000), ByteCount(10_000_000)));
    let series = &up.flows[0].series;
    assert_eq!(series.last().unwrap().at, TestTime(15 * SECOND + 850 * MS));
    assert!((octets(series) - 10_400_000.0).abs() < 1.0, "{}", octets(series));
}

#[test]
fn a_nearly_empty_queue_drains_within_milliseconds() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Up);
    scenario.stream(flow, 8_000_000);
    let end = scenario.recording.phase(Phase::Load).unwrap().to;
    // Every 5 ms; three intervals with a packet each, far below the rate of the line, and half a packet in the fourth.
    for reading in 1..=100_u64 {
        let octets = ByteCount(10_000_000 + 1000 * reading.min(3) + if reading > 3 { 500 } else { 0 });
        let at = TestTime(end.0 + reading as i64 * 5 * MS);
        scenario.observe(Server, at.0, OctetsReceived { flow, at, octets });
    }
    // 500 bytes take half a millisecond.
    assert_eq!(scenario.analyze().recovery.drain.up_ns, Some(15 * MS + MS / 2));
}

#[test]
fn a_recording_cut_short_is_averaged_over_the_time_it_has() {
    let mut scenario = Scenario::healthy();
    scenario.recording.end = None;
    scenario.recording.frames.retain(|frame| frame.number < 9);
    let analysis = scenario.analyze();
    // The last readings are at 8.9 s.
    assert_eq!((analysis.goodput.down.sum, analysis.goodput.up.sum), (BitRate(20_000_000), BitRate(8_000_000)));
    assert_eq!(analysis.goodput.down.octets, ByteCount(20_000_000 / 8 * 39 / 10));
    assert_eq!(analysis.goodput.down.sum_series.len(), 39);
    assert!(analysis.test.partial.is_some());
}

#[test]
fn missing_frames_leave_the_mean_exact_because_counters_are_cumulative() {
    let mut scenario = Scenario::healthy();
    scenario.recording.frames.retain(|frame| frame.point == Client || !(8..=10).contains(&frame.number));
    let up = scenario.analyze().measured.goodput.up;
    assert_eq!(up.sum, BitRate(8_000_000));
    assert!(up.sum_series.iter().all(|point| point.rate.0.abs_diff(8_000_000) <= 80), "{:?}", up.sum_series);
}

#[test]
fn without_frames_of_the_receiver_goodput_and_series_are_missing() {
    let mut scenario = Scenario::healthy();
    scenario.recording.frames.retain(|frame| frame.point == Client);
    let analysis = scenario.analyze();
    assert_eq!(analysis.goodput.up.sum, BitRate(0));
    assert!(analysis.goodput.up.sum_series.is_empty() && analysis.goodput.up.flows[0].series.is_empty());
    assert_eq!(analysis.goodput.down.sum, BitRate(20_000_000));
}

#[test]
fn retransmissions_are_reported_by_the_sender() {
    let mut scenario = Scenario::healthy();
    let down = scenario.recording.header.flows.iter().find(|flow| flow.direction == Some(Direction::Down)).unwrap().id;
    // Scored are 8 s from 7 s on: 400 of 20 000. What was retransmitted while streams ramped up is not in it.
    for (at, bytes_sent, bytes_retrans) in [(7, 1000, 500), (15, 21_000, 900), (16, 90_000, 90_000)] {
        let row = TcpInfo { bytes_sent, bytes_retrans, ..tcp_info(down, at * SECOND) };
        scenario.observe(Server, at * SECOND, row);
    }
    let analysis = scenario.analyze();
    assert_eq!(analysis.goodput.down.flows[0].retransmitted, Some(0.02));
    assert_eq!(analysis.goodput.up.flows[0].retransmitted, None);
}

proptest! {
    #[test]
    fn the_series_adds_up_to_the_bytes_in_order_however_the_segments_arrived(
        grown in prop::collection::vec(0_u64..2_000_000, 100), arrived in prop::collection::vec(0_u32..2000, 0..120)
    ) {
        let mut scenario = Scenario::new();
        let flow = scenario.bulk(Direction::Down);
        let mut total = 0;
        for (index, grown) in grown.iter().enumerate() {
            total += grown;
            let at = TestTime(5 * SECOND + (index as i64 + 1) * 100 * MS);
            scenario.observe(Client, at.0, OctetsReceived { flow, at, octets: ByteCount(total) });
        }
        let mut segments = 0;
        for (index, arrived) in arrived.iter().enumerate() {
            segments += arrived;
            scenario.segments(Client, flow, 5 * SECOND + index as i64 * 90 * MS + 13 * MS, segments);
        }
        let down = scenario.analyze().measured.goodput.down;
        prop_assert_eq!(down.octets, ByteCount(total));
        // Rates are whole bits per second: at most half a bit in each of 100 intervals.
        prop_assert!((octets(&down.flows[0].series) - total as f64).abs() < 10.0);
    }
}
