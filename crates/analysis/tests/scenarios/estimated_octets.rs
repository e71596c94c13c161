//! Bytes that no kernel counts: selective acknowledgments, and whole directions without `TCP_INFO`.

use rrul_model::flow::Direction;
use rrul_model::observation::{ObservationPoint, TcpInfo};

use crate::builder::{MS, SECOND, Scenario};
use crate::octets::{PLAIN, Stream, close, loaded, octets, stream};

/// Half of the readings out of order, acknowledged at once each.
fn with_holes(acknowledged: u32) -> u64 {
    let mut scenario = Scenario::new();
    let flow = stream(&mut scenario, Direction::Down, PLAIN);
    // From 10 s on 40 of each 100 segments arrive out of order.
    for frame in &mut scenario.recording.frames {
        let rows: Vec<TcpInfo> = frame.tables.tcp_info.rows().collect();
        frame.tables.tcp_info = rrul_model::observation::TcpInfoTable::default();
        for mut row in rows {
            let late = u32::try_from(((row.at.0 - 10 * SECOND) / (100 * MS)).clamp(0, 50)).unwrap();
            match frame.point {
                ObservationPoint::Client => {
                    row.rcv_ooopack = late * 40;
                    row.segs_out = row.segs_out + late * acknowledged - late * 50;
                }
                ObservationPoint::Server => row.segs_in = row.segs_in + late * acknowledged - late * 50,
            }
            assert_eq!(row.flow, flow);
            frame.tables.tcp_info.push(row);
        }
    }
    loaded(&octets(&scenario), Direction::Up).all.carried_octets
}

#[test]
fn selective_acknowledgments_are_those_beyond_what_segments_in_order_get() {
    let plain = |acknowledgements: u64| acknowledgements * 52;
    // 60 segments in order get 30; 40 out of order get one each, or share them with others, or none is distinguished.
    close(with_holes(70), plain(2500 + 3500) + 2000 * 12, "one each");
    close(with_holes(50), plain(2500 + 2500) + 1000 * 12, "one for two");
    close(with_holes(30), plain(2500 + 1500), "none");
    // More than one for each segment out of order is something else.
    close(with_holes(90), plain(2500 + 4500) + 2000 * 12, "as many as there can be");
}

#[test]
fn without_tcp_info_the_bytes_are_estimated_and_called_so() {
    let mut scenario = Scenario::new();
    let flow = scenario.bulk(Direction::Down);
    scenario.stream(flow, 11_584_000);
    let octets = octets(&scenario);
    let (down, up) = (&loaded(&octets, Direction::Down).all, &loaded(&octets, Direction::Up).all);
    // 14.48 MB in segments of 1448 bytes; each second one acknowledged.
    for (account, expected) in [(down, 15_000_000_u64), (up, 260_000)] {
        assert!(account.carried_octets.abs_diff(expected) < 300, "{account:?}");
        assert_eq!(account.carried_octets, account.estimated_octets);
    }
    assert_eq!(down.estimate_octets.load_data, down.carried_octets);
    assert_eq!(up.estimate_octets.load_acknowledgements, up.carried_octets);
    assert_eq!((down.retransmitted_share, down.duplicate_octets, down.acknowledgements), (None, None, None));
}

#[test]
fn the_estimate_is_beside_what_was_counted() {
    let mut scenario = Scenario::new();
    stream(&mut scenario, Direction::Down, Stream { acknowledged: 25, received: 25, ..PLAIN });
    let octets = octets(&scenario);
    let up = &loaded(&octets, Direction::Up).all;
    assert_eq!((up.carried_octets, up.estimated_octets), (130_000, 0));
    assert_eq!(up.estimate_octets.load_acknowledgements, 260_000);
    assert_eq!(loaded(&octets, Direction::Down).all.estimate_octets.load_data, 15_000_000);
}
