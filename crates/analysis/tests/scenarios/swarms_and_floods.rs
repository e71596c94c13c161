//! Swarms of slow streams, and floods: what counts as load, and what arrived.

use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, Parameter};
use rrul_model::observation::{ConnectionTotals, OctetsReceived, PacketReceived, ProbeSent, ProbesSkipped};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount};

use crate::builder::{Client, MS, SECOND, Scenario, Server};

const STREAMS: u32 = 40;
/// Bytes that one stream carries in a second, in ten segments.
const OCTETS: u64 = 10_000;

/// A stream's counters after so many seconds: data one way, an acknowledgment for every second segment the other.
fn totals(flow: FlowId, connection: u32, seconds: i64, sends: bool) -> ConnectionTotals {
    let (data, acknowledgments) = (10 * seconds as u32, 5 * seconds as u32);
    let octets = OCTETS * seconds as u64;
    let side = |of: [u32; 2]| if sends { of } else { [of[1], of[0]] };
    let [sent_segments, received_segments] = side([data, acknowledgments]);
    let [sent_data_segments, received_data_segments] = side([data, 0]);
    ConnectionTotals {
        flow,
        connection,
        started: TestTime(5 * SECOND),
        ended: TestTime((5 + seconds) * SECOND),
        transport: 6,
        options: 1,
        sent_octets: if sends { octets } else { 0 },
        retransmitted_octets: 0,
        received_octets: if sends { 0 } else { octets },
        sent_segments,
        received_segments,
        sent_data_segments,
        received_data_segments,
        out_of_order: 0,
    }
}

#[test]
fn the_streams_of_a_swarm_are_one_load_and_every_segment_of_them_is_counted() {
    let mut scenario = Scenario::new();
    let flow = scenario.flow("swarm", Component::Load, Some(Direction::Down), AddressFamily::Ipv4, Scenario::LOAD);
    for seconds in 1..=10 {
        let at = (5 + seconds) * SECOND;
        for connection in 0..STREAMS {
            scenario.observe(Client, at, totals(flow, connection, seconds, false));
            scenario.observe(Server, at, totals(flow, connection, seconds, true));
        }
        let octets = ByteCount(u64::from(STREAMS) * OCTETS * seconds as u64);
        scenario.observe(Client, at, OctetsReceived { flow, at: TestTime(at), octets });
    }
    let found = scenario.analyze();
    let swarm = BitRate(u64::from(STREAMS) * OCTETS * 8);
    assert_eq!(
        (found.goodput.down.flows.len(), found.goodput.down.sum),
        (1, swarm),
        "a flow is one stream of the load"
    );
    let on_the_link = found.link_octets.load.as_ref().unwrap();
    let (load, up) = (&on_the_link.down.all, &on_the_link.up.all);
    // Ten seconds: 100 segments of 1000 bytes in a stream, each with 52 bytes of headers, and 50 acknowledgments.
    let segments = u64::from(STREAMS) * 100;
    let (data, acknowledgments) = (segments * 1052, segments / 2 * 52);
    let syn_options = u64::from(STREAMS) * 8;
    assert_eq!((load.estimated_octets, up.estimated_octets), (0, 0), "nothing of it is guessed");
    assert!(load.parts_octets.load_data.abs_diff(data) <= syn_options, "{} and {data}", load.parts_octets.load_data);
    let carried = up.parts_octets.load_acknowledgements;
    assert!(carried.abs_diff(acknowledgments) <= syn_options, "{carried} and {acknowledgments}");
    assert_eq!((up.parts_octets.load_data, load.parts_octets.measuring()), (0, 0));
}

#[test]
fn a_flood_is_counted_at_its_receiver_and_is_no_stream_of_the_load() {
    let mut scenario = Scenario::healthy();
    let before = scenario.analyze();
    let flow = scenario.flow("udp_flood", Component::Load, Some(Direction::Up), AddressFamily::Ipv4, Scenario::LOAD);
    let length = Parameter::Text("972B".to_owned());
    scenario.recording.header.flows.last_mut().unwrap().parameters.0.insert("length".to_owned(), length);
    // A thousand packets of 1000 bytes on the IP layer in each of ten seconds, of which every fourth is lost.
    for sequence in 0..10_000_u32 {
        let at = 5 * SECOND + i64::from(sequence) * MS;
        let sent = TestTime(at);
        scenario.observe(Client, at, ProbeSent { flow, sequence, scheduled: sent, sent });
        if sequence % 4 != 0 {
            scenario.observe(Server, at, PacketReceived { flow, sequence, received: sent, octet: 0 });
        }
    }
    scenario.observe(Client, 6 * SECOND, ProbesSkipped { flow, at: TestTime(6 * SECOND), count: 7 });
    let found = scenario.analyze();
    let [flood] = found.flood_delivery.as_slice() else { panic!("{:?}", found.flood_delivery) };
    assert_eq!((flood.offered, flood.delivered), (BitRate(8_000_000), Some(BitRate(6_000_000))));
    assert_eq!((flood.sent, flood.lost, flood.loss, flood.skipped), (10_000, Some(2500), Some(0.25), 7));
    assert_eq!(found.goodput, before.goodput, "goodput is that of the streams");
    assert_eq!(found.loss.tcp, before.loss.tcp);
    let load = |analysis: &rrul_analysis::Analysis| analysis.link_octets.load.as_ref().unwrap().up.all.parts_octets;
    let (with, without) = (load(&found), load(&before));
    assert_eq!(with.load_data - without.load_data, 7_500_000, "its bytes on the link are load");
    assert_eq!(with.measuring(), without.measuring(), "and no cost of measuring");
}
