//! Series for charts: TCP of both ends, hosts, and when packets were lost.

use rrul_analysis::metrics::tcp::tcp_series::TcpSeries;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{ProbeSent, SocketDrops, SoftnetCount, TcpInfo};
use rrul_model::recording::End;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::builder::{CLOCK_OFFSET, Client, MS, SECOND, Scenario, Server, tcp_info};
use crate::packet_path::{Harm, observe};

/// One stream up, read at both ends once a second; the scenario's probes say how the clocks stand.
fn both_ends(client_length: u32, pacing_rate: u64) -> Vec<TcpSeries> {
    let mut scenario = Scenario::new();
    scenario.recording.header.client.tcp_info_length = client_length;
    scenario.recording.header.server.tcp_info_length = 280;
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(20 * MS));
    let flow = scenario.bulk(Direction::Up);
    scenario.bulk(Direction::Down);
    for second in 5..15 {
        let row = |at: i64| TcpInfo {
            snd_cwnd: 10,
            snd_mss: 1448,
            rtt: 40_000,
            delivery_rate: 250_000,
            pacing_rate,
            total_retrans: 3,
            rcv_wnd: 65_536,
            rcv_ooopack: 7,
            ..tcp_info(flow, at)
        };
        scenario.observe(Client, second * SECOND, row(second * SECOND));
        scenario.observe(Server, second * SECOND, row(second * SECOND + CLOCK_OFFSET));
    }
    scenario.analyze().measured.tcp_series
}

#[test]
fn both_kernels_tell_of_a_stream_on_the_clients_clock() {
    let streams = both_ends(280, 300_000);
    assert_eq!(streams.len(), 1, "the other stream has no readings");
    let stream = &streams[0];
    assert_eq!((stream.sender.len(), stream.receiver.len()), (10, 10));
    let reading = stream.sender[0];
    assert_eq!((reading.at, reading.congestion_window), (TestTime(5 * SECOND), ByteCount(14_480)));
    assert_eq!((reading.round_trip, reading.retransmitted), (Some(Delay(40 * MS)), 3));
    assert_eq!((reading.delivery_rate, reading.pacing_rate), (Some(BitRate(2_000_000)), Some(BitRate(2_400_000))));
    let there = stream.receiver[0];
    assert!((there.at.0 - 5 * SECOND).abs() < MS, "{there:?}");
    assert_eq!((there.receive_window, there.out_of_order), (ByteCount(65_536), Some(7)));
}

#[test]
fn what_a_kernel_does_not_report_of_a_stream_is_unknown() {
    let reading = both_ends(224, u64::MAX)[0].sender[0];
    assert_eq!((reading.out_of_order, reading.pacing_rate), (None, None));
}

#[test]
fn the_instants_are_as_many_as_the_packets_counted() {
    let harm = |seed: u32| Harm {
        loses: (0..900).filter(|number| number % 17 == seed).collect(),
        doubles: (0..900).filter(|number| number % 101 == seed).collect(),
        delays: (0..900).filter(|number| number % 97 == seed).map(|number| (number, 35 * MS)).collect(),
    };
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    observe(&mut scenario, flow, &harm(3), &harm(5));
    scenario.recording.end = Some(End { at: TestTime(24 * SECOND), ..End::default() });
    let analysis = scenario.analyze();
    for direction in Direction::ALL {
        let counted = analysis.loss.fates.pooled(direction).unwrap().all.unwrap();
        let times = analysis.packet_fate_series.get(direction).as_ref().unwrap();
        assert!(counted.lost > 10, "{counted:?}");
        assert_eq!((times.lost.len() + times.late.len()) as u64, counted.lost);
        assert_eq!(times.late.len() as u64, counted.late);
        assert_eq!(times.duplicated.as_ref().map(|times| times.len() as u64), counted.duplicated);
        assert_eq!(times.reordered.as_ref().map(|times| times.len() as u64), counted.reordering.map(|r| r.reordered));
        assert!(times.lost.is_sorted());
    }
    assert_eq!(Scenario::new().analyze().packet_fate_series.up, None, "nothing was sent");
}

#[test]
fn hosts_are_reported_core_by_core_with_lateness_and_drops() {
    let mut scenario = Scenario::new();
    scenario.processor(Client, |second| if second < 10 { (100, 0) } else { (25, 0) });
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    for (sequence, late) in [(0, 0), (1, 2 * MS)] {
        let scheduled = TestTime(6 * SECOND + i64::from(sequence) * 20 * MS);
        let sent = TestTime(scheduled.0 + late);
        scenario.observe(Client, sent.0, ProbeSent { flow, sequence, scheduled, sent });
    }
    for (second, dropped) in [(5, 2), (6, 2), (7, 9)] {
        let at = TestTime(second * SECOND);
        scenario.observe(Client, at.0, SocketDrops { flow, at, dropped });
        // A counter that began anew counts as standing still.
        let row = SoftnetCount { at, core: 0, processed: 0, dropped: 9 - dropped, squeezed: 0 };
        scenario.observe(Client, at.0, row);
    }
    let analysis = scenario.analyze();
    let client = analysis.host_series.iter().find(|host| host.host == Client).unwrap();
    assert_eq!(client.cores.len(), 2);
    let busy = |core: usize, second: i64| {
        let inside = |at: TestTime| (second * SECOND..(second + 1) * SECOND).contains(&at.0);
        client.cores[core].series.iter().find(|point| inside(point.at)).unwrap().busy
    };
    for (core, second, share) in [(0, 6, 1.0), (0, 12, 0.25), (1, 6, 0.0)] {
        assert!((busy(core, second) - share).abs() < 0.02, "core {core}, second {second}: {}", busy(core, second));
    }
    assert_eq!(
        client.send_lateness,
        [(TestTime(6 * SECOND), Delay(0)), (TestTime(6 * SECOND + 22 * MS), Delay(2 * MS))]
    );
    let places: Vec<(&str, Vec<u64>)> =
        client.drops.iter().map(|kind| (kind.place, kind.series.iter().map(|point| point.1).collect())).collect();
    assert_eq!(places, [("socket buffers", vec![0, 7]), ("cores' backlogs", vec![0, 0])]);
}
