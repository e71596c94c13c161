//! What ICMP said of test packets.

use rrul_analysis::metrics::loss::icmp_messages::Sender;
use rrul_model::flow::AddressFamily;
use rrul_model::observation::IcmpMessage;
use rrul_model::time::TestTime;

use crate::builder::{Client, SECOND, Scenario};

#[test]
fn messages_are_summed_by_flow_kind_and_sender_and_named() {
    let mut scenario = Scenario::new();
    let (v4, v6) = (scenario.udp_probe(AddressFamily::Ipv4), scenario.udp_probe(AddressFamily::Ipv6));
    let mut observe = |flow, second: i64, kind, code, from_server, mtu, count| {
        let at = TestTime(second * SECOND);
        scenario.observe(Client, at.0, IcmpMessage { flow, at, kind, code, from_server, mtu, count });
    };
    observe(v4, 6, 3, 3, 1, 0, 1);
    observe(v4, 7, 3, 3, 1, 0, 90);
    observe(v4, 7, 3, 3, 0, 0, 2);
    observe(v4, 8, 3, 4, 0, 1480, 1);
    observe(v4, 9, 3, 4, 0, 1280, 1);
    observe(v6, 6, 1, 4, 1, 0, 5);
    observe(v6, 6, 3, 3, 0, 0, 6);
    let messages = scenario.analyze().measured.icmp_messages;
    let found: Vec<_> = messages.iter().map(|m| (m.flow.id, &*m.message, m.sender, m.mtu_octets, m.count)).collect();
    let expected = [
        (v4, "port unreachable", Sender::Server, None, 91),
        (v4, "port unreachable", Sender::Path, None, 2),
        (v4, "packet too big", Sender::Path, Some(1280), 2),
        (v6, "port unreachable", Sender::Server, None, 5),
        (v6, "ICMP type 3, code 3", Sender::Path, None, 6),
    ];
    assert_eq!(found, expected);
    let packet_too_big = &messages[2];
    assert_eq!((packet_too_big.kind, packet_too_big.code), (3, 4));
}

#[test]
fn without_messages_nothing_is_reported() {
    assert_eq!(Scenario::healthy().analyze().icmp_messages, []);
}
