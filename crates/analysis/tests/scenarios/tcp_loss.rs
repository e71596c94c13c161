//! Loss of TCP streams as their senders know it.

use rrul_analysis::metrics::tcp::tcp_loss::TcpLoss;
use rrul_model::flow::{Direction, FlowId};
use rrul_model::observation::{ObservationPoint, TcpInfo};

use crate::builder::{Client, SECOND, Scenario, Server, tcp_info};

fn read(scenario: &mut Scenario, point: ObservationPoint, flow: FlowId, second: i64, retransmitted: u32) {
    let row = TcpInfo {
        data_segs_out: 1000 * second as u32,
        total_retrans: retransmitted,
        dsack_dups: 4,
        reord_seen: 7,
        total_rto: 2,
        ..tcp_info(flow, second * SECOND)
    };
    scenario.observe(point, second * SECOND, row);
}

/// One stream each way; the receiver's own rows of it must not count.
fn of_both(tcp_info_length: u32) -> Vec<TcpLoss> {
    let mut scenario = Scenario::new();
    scenario.recording.header.client.tcp_info_length = tcp_info_length;
    scenario.recording.header.server.tcp_info_length = tcp_info_length;
    for (direction, sender, receiver) in [(Direction::Up, Client, Server), (Direction::Down, Server, Client)] {
        let flow = scenario.bulk(direction);
        for second in 5..=16 {
            // The last reading is after the load.
            read(&mut scenario, sender, flow, second, if second > 14 { 999 } else { 10 * second as u32 });
            read(&mut scenario, receiver, flow, second, 500);
        }
    }
    scenario.analyze().measured.loss.tcp
}

#[test]
fn segments_retransmitted_less_duplicates_are_a_bound_from_the_senders_last_reading_under_load() {
    for stream in of_both(280) {
        assert_eq!((stream.segments, stream.retransmitted, stream.spurious), (14_000, 140, Some(4)));
        assert_eq!(stream.share_most, Some(136.0 / 14_000.0));
        assert_eq!((stream.timeouts, stream.reordering_seen), (Some(2), Some(7)));
    }
    assert_eq!(of_both(280).len(), 2);
}

#[test]
fn what_the_kernel_does_not_report_is_unknown_and_not_zero() {
    let stream = &of_both(216)[0];
    assert_eq!((stream.spurious, stream.timeouts, stream.reordering_seen), (None, None, None));
    assert_eq!(stream.share_most, Some(0.01), "nothing to take off");
    let stream = &of_both(240)[0];
    assert_eq!((stream.spurious, stream.timeouts, stream.reordering_seen), (Some(4), None, Some(7)));
}

#[test]
fn a_stream_that_sent_nothing_has_no_share_and_one_without_readings_is_left_out() {
    let mut scenario = Scenario::new();
    let (silent, unread) = (scenario.bulk(Direction::Up), scenario.bulk(Direction::Up));
    scenario.observe(Client, 6 * SECOND, tcp_info(silent, 6 * SECOND));
    let streams = scenario.analyze().measured.loss.tcp;
    assert_eq!(streams.iter().map(|stream| (stream.flow.id, stream.share_most)).collect::<Vec<_>>(), [(silent, None)]);
    assert_ne!(unread, silent);
}
