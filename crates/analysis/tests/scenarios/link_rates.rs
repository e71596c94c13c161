//! What a link carried over time, where short connections are read once, at their end.

use rrul_analysis::series::RatePoint;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::ConnectionTotals;
use rrul_model::time::TestTime;

use crate::builder::{Client, MS, SECOND, Scenario, Server};
use crate::two_clocks::Random;

/// Of the link, bytes of IP packets in a tenth of a second: 5 Mbit/s.
const FULL: f64 = 62_500.0;

/// What one end read of a short upload as it ended.
fn totals(
    flow: FlowId,
    connection: u32,
    (started, ended): (i64, i64),
    octets: f64,
    received: bool,
) -> ConnectionTotals {
    let segments = (octets / 1500.0).round() as u32;
    let payload = u64::from(segments) * 1448;
    let of = |this: bool| if this { (payload, segments) } else { (0, 0) };
    let ((sent_octets, sent_segments), (received_octets, received_segments)) = (of(!received), of(received));
    ConnectionTotals {
        flow,
        connection,
        started: TestTime(started),
        ended: TestTime(ended),
        transport: 6,
        options: 1,
        sent_octets,
        retransmitted_octets: 0,
        received_octets,
        sent_segments,
        received_segments,
        sent_data_segments: sent_segments,
        received_data_segments: received_segments,
        out_of_order: 0,
    }
}

#[test]
fn no_second_shows_more_than_the_link_carries_for_want_of_readings() {
    let mut scenario = Scenario::new();
    let bulk = scenario.bulk(Direction::Up);
    let family = AddressFamily::Ipv4;
    let short = scenario.flow("short_flow", Component::Realtime, Some(Direction::Up), family, Scenario::LOAD);
    let mut random = Random::seeded();
    // Four uploads of 100 kB at a time; each stands still for most of its time and then comes in bursts.
    let mut open: Vec<(i64, f64)> = vec![(5 * SECOND, 0.0); 4];
    let (mut number, mut bulk_sum, mut sums) = (0, 0.0, vec![0_u64]);
    let mut truth = Vec::new();
    for step in 0..100_i64 {
        let at = 5 * SECOND + step * 100 * MS;
        let mut left = FULL;
        for one in &mut open {
            let burst =
                if random.unit() < 0.2 { (FULL * 0.9 * random.unit()).min(100_000.0 - one.1).min(left) } else { 0.0 };
            one.1 += burst;
            left -= burst;
            if one.1 >= 99_999.0 || step == 99 {
                let ended = at + 100 * MS;
                scenario.observe(Client, ended, totals(short, number, (one.0, ended), one.1, false));
                scenario.observe(Server, ended, totals(short, number, (one.0, ended), one.1, true));
                number += 1;
                *one = (ended, 0.0);
            }
        }
        bulk_sum += left * 1448.0 / 1500.0;
        sums.push(bulk_sum as u64);
        truth.push(left);
    }
    assert!(number > 15, "{number} uploads");
    assert!(truth.iter().any(|left| *left < FULL / 3.0), "bursts that matter");
    scenario.stream_with(
        bulk,
        |at| at,
        |at, from| sums[usize::try_from((at - from) / (100 * MS)).unwrap().min(sums.len() - 1)],
    );
    let octets = scenario.analyze().measured.link_octets;
    let load = octets.rates(Direction::Up).iter().filter(|point| Scenario::LOAD.contains(point.at));
    let quarters: Vec<f64> = load.map(|point| point.rate.0 as f64).collect();
    let seconds: Vec<f64> = quarters.windows(4).map(|four| four.iter().sum::<f64>() / 4.0).collect();
    assert_eq!(quarters.len(), 40);
    let (least, most) =
        seconds.iter().fold((f64::MAX, 0.0_f64), |(least, most), rate| (least.min(*rate), most.max(*rate)));
    assert!(most <= 5e6 * 1.02, "{most} bit/s");
    assert!(least >= 5e6 * 0.95, "{least} bit/s");

    // The parts add up to the whole in each interval, and each to its own bytes.
    let parts = octets.part_rates(Direction::Up);
    assert!(parts.web.is_empty() && parts.short_flows.len() == parts.load_data.len());
    for (index, all) in octets.rates(Direction::Up).iter().enumerate() {
        let of = |part: &[RatePoint]| part.get(index).map_or(0, |point| point.rate.0);
        let sum = of(&parts.short_flows) + of(&parts.load_data);
        assert!(sum.abs_diff(all.rate.0) < 100, "{sum} of {} bit/s at {:?}", all.rate.0, all.at);
    }
    let account = octets.load.as_ref().unwrap().direction(Direction::Up).all.parts_octets;
    for (part, truth) in [(&parts.short_flows, account.short_flows), (&parts.load_data, account.load_data)] {
        let within = part.iter().filter(|point| Scenario::LOAD.contains(point.at));
        let octets: f64 = within.map(|point| point.rate.0 as f64 / 8.0 * point.over.as_secs_f64()).sum();
        assert!((octets / truth as f64 - 1.0).abs() < 0.01, "{octets} of {truth} bytes");
    }
}
