//! The kernel's round-trip time of streams, on the client's clock.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::TcpInfo;
use rrul_model::units::Delay;

use crate::builder::{CLOCK_OFFSET, Client, MS, SECOND, Scenario, Server, ms, tcp_info};

#[test]
fn the_senders_kernel_shows_the_round_trip_of_its_stream_by_phase() {
    let mut scenario = Scenario::new();
    // The scenario's probes say how the clocks stand.
    let probe = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(probe, |_| Some(20 * MS));
    let [up, down] = [Direction::Up, Direction::Down].map(|direction| scenario.bulk(direction));
    for tick in 0..100 {
        let at = 5 * SECOND + tick * SECOND / 10;
        let reading = |flow, at, rtt| TcpInfo { rtt, min_rtt: 21_000, ..tcp_info(flow, at) };
        scenario.observe(Client, at, reading(up, at, if tick % 10 == 9 { 400_000 } else { 170_500 }));
        scenario.observe(Server, at, reading(down, at + CLOCK_OFFSET, 30_000));
        // A receiver's kernel measures nothing, and says what it has.
        scenario.observe(Server, at, reading(up, at + CLOCK_OFFSET, 999_000));
    }
    // Before the first sample, and when the stream is over.
    scenario.observe(Client, 5 * SECOND, TcpInfo { rtt: 0, min_rtt: u32::MAX, ..tcp_info(up, 5 * SECOND - 1) });
    scenario.observe(Client, 16 * SECOND, TcpInfo { rtt: 22_000, min_rtt: 20_500, ..tcp_info(up, 16 * SECOND) });
    let streams = scenario.analyze().measured.tcp_round_trip;
    assert_eq!(streams.len(), 2);
    let load = streams[0].smoothed.load.unwrap();
    let most = Some(Delay(170_500_000));
    assert_eq!((load.n, load.p50, load.p90, load.p95, load.max), (100, most, most, ms(400), ms(400)));
    assert_eq!(streams[0].smoothed.after.unwrap().p50, ms(22));
    assert_eq!((streams[0].smoothed.idle, streams[0].min_rtt_ns), (None, Some(20_500_000)));
    let load = streams[1].smoothed.load.unwrap();
    assert_eq!((load.n, load.p50), (100, ms(30)), "read on the server's clock");
    // Carried over to the client's clock.
    let first = streams[1].series[0].at.0;
    assert!((first - 5 * SECOND).abs() < MS, "{first}");
}

#[test]
fn a_stream_without_readings_has_none() {
    let mut scenario = Scenario::new();
    scenario.bulk(Direction::Up);
    assert!(scenario.analyze().tcp_round_trip.is_empty());
}
