//! Bytes on the link, from readings whose bytes are known.

use rrul_analysis::metrics::octets::link_octets::{DirectionOctets, LinkOctets};
use rrul_analysis::metrics::octets::octet_account::{Account, Acknowledgements};
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, Parameter};
use rrul_model::observation::{Connection, GreetingSent, OctetsReceived, PacketReceived, ProbeSent, TcpInfo};
use rrul_model::observation::{ProbeReceived, Transaction};
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};

use crate::builder::{Client, MS, SECOND, Scenario, Server, tcp_info};

/// A stream of the load, and what happens to it in every 100 ms of the load phase.
#[derive(Clone, Copy)]
pub(crate) struct Stream {
    pub(crate) family: AddressFamily,
    pub(crate) timestamps: bool,
    /// Payload of a segment.
    pub(crate) segment: u64,
    /// Data segments sent, and of those, again; segments that arrive, and of those, out of order or twice.
    pub(crate) sent: u32,
    pub(crate) again: u32,
    pub(crate) arrive: u32,
    pub(crate) out_of_order: u32,
    pub(crate) twice: u32,
    /// Acknowledgments sent, and those that arrive.
    pub(crate) acknowledged: u32,
    pub(crate) received: u32,
    /// How long an acknowledgment takes, nanoseconds.
    pub(crate) delay: i64,
}

/// 100 segments of 1500 bytes in 100 ms: 12 Mbit/s; every second one acknowledged.
pub(crate) const PLAIN: Stream = Stream {
    family: AddressFamily::Ipv4,
    timestamps: true,
    segment: 1448,
    sent: 100,
    again: 0,
    arrive: 100,
    out_of_order: 0,
    twice: 0,
    acknowledged: 50,
    received: 50,
    delay: 0,
};

/// A flow whose client has noted the length of its packets.
fn with_length(scenario: &mut Scenario, flow: FlowId, octets: u64) -> FlowId {
    let spec = scenario.recording.header.flows.iter_mut().find(|spec| spec.id == flow).unwrap();
    spec.parameters.0.insert("length".to_owned(), Parameter::Text(format!("{octets}B")));
    flow
}

/// Readings of both ends over the load phase.
pub(crate) fn stream(scenario: &mut Scenario, direction: Direction, stream: Stream) -> FlowId {
    let flow = scenario.flow("bulk_tcp", Component::Load, Some(direction), stream.family, Scenario::LOAD);
    let (sender, receiver) = if direction == Direction::Down { (Server, Client) } else { (Client, Server) };
    let options = u8::from(stream.timestamps) | 2;
    // One reading before the load and two behind it: 100 steps of 100 ms.
    for reading in -1..=102 {
        let at = 5 * SECOND + reading * 100 * MS;
        let steps = |at: i64| u32::try_from(((at - 5 * SECOND) / (100 * MS)).clamp(0, 100)).unwrap();
        let (now, heard) = (steps(at), steps(at - stream.delay));
        let octets = |steps: u32| u64::from(steps) * u64::from(stream.arrive - stream.twice) * stream.segment;
        scenario.observe(receiver, at, OctetsReceived { flow, at: TestTime(at), octets: ByteCount(octets(now)) });
        let row = TcpInfo {
            options,
            bytes_received: octets(now),
            data_segs_in: now * stream.arrive,
            segs_in: now * stream.arrive,
            segs_out: now * stream.acknowledged,
            rcv_ooopack: now * stream.out_of_order,
            ..tcp_info(flow, at)
        };
        scenario.observe(receiver, at, row);
        let row = TcpInfo {
            options,
            bytes_sent: u64::from(now * stream.sent) * stream.segment,
            bytes_retrans: u64::from(now * stream.again) * stream.segment,
            bytes_acked: octets(heard),
            data_segs_out: now * stream.sent,
            segs_out: now * stream.sent,
            segs_in: heard * stream.received,
            ..tcp_info(flow, at)
        };
        scenario.observe(sender, at, row);
    }
    flow
}

pub(crate) fn octets(scenario: &Scenario) -> LinkOctets {
    scenario.analyze().measured.link_octets
}

pub(crate) fn loaded(octets: &LinkOctets, direction: Direction) -> &DirectionOctets {
    octets.load.as_ref().expect("the load phase").direction(direction)
}

/// Within half a packet, which the edges of a phase may add or take.
#[track_caller]
pub(crate) fn close(found: u64, expected: u64, of: &str) {
    assert!(found.abs_diff(expected) <= 50, "{of}: {found}, expected {expected}");
}

#[track_caller]
fn share(found: Option<f64>, expected: f64) {
    let found = found.expect("a share");
    assert!((found - expected).abs() < 1e-6, "{found}, expected {expected}");
}

#[test]
fn data_and_acknowledgments_are_counted_with_their_headers() {
    let mut scenario = Scenario::new();
    stream(&mut scenario, Direction::Down, PLAIN);
    let octets = octets(&scenario);
    let (down, up) = (&loaded(&octets, Direction::Down).all, &loaded(&octets, Direction::Up).all);
    assert_eq!(down.parts_octets.load_data, 10_000 * 1500);
    assert_eq!((down.carried_octets, down.carried_bps, down.carried_packets), (15_000_000, 12_000_000, 10_000));
    assert_eq!((down.goodput_octets, down.goodput_bps), (14_480_000, 11_584_000));
    assert_eq!(up.parts_octets.load_acknowledgements, 5000 * 52);
    assert_eq!((up.carried_octets, up.goodput_octets, up.carried_packets), (260_000, 0, 5000));
    share(up.acknowledgement_share, 1.0);
    share(down.acknowledgement_share, 0.0);
    share(down.retransmitted_share, 0.0);
    assert_eq!((down.duplicate_octets, down.estimated_octets), (Some(0), 0));
    assert_eq!(
        down.acknowledgements,
        Some(Acknowledgements { sent: 5000, received: 5000, thinning: Some(0.0), per_data_segment: Some(0.5) })
    );
    assert_eq!(up.acknowledgements, None, "nothing is loaded upwards");
    let both = octets.load.as_ref().unwrap().both;
    assert_eq!((both.carried_octets, both.goodput_octets), (15_260_000, 14_480_000));
    assert_eq!(both.goodput_bps, 11_584_000);
    // Nothing happens before and after.
    for phase in [octets.idle.as_ref().unwrap(), octets.after.as_ref().unwrap()] {
        assert_eq!((phase.both.carried_octets, phase.down.all.acknowledgement_share), (0, None));
    }
    assert_eq!(octets.survey, None);
}

#[test]
fn headers_are_those_of_the_family_and_of_the_options_in_use() {
    let mut scenario = Scenario::new();
    scenario.recording.header.families = AddressFamily::ALL.to_vec();
    let v6 = Stream { family: AddressFamily::Ipv6, segment: 1440, timestamps: false, ..PLAIN };
    stream(&mut scenario, Direction::Up, v6);
    stream(&mut scenario, Direction::Up, PLAIN);
    let octets = octets(&scenario);
    let of = |direction: Direction| {
        let found = loaded(&octets, direction);
        let carried = |account: &Option<Account>| account.as_ref().unwrap().carried_octets;
        (carried(&found.ipv4), carried(&found.ipv6), found.all.carried_octets)
    };
    assert_eq!(of(Direction::Up), (15_000_000, 15_000_000, 30_000_000));
    assert_eq!(of(Direction::Down), (260_000, 300_000, 560_000));
}

#[test]
fn a_family_that_is_not_under_test_has_no_account() {
    let mut scenario = Scenario::new();
    stream(&mut scenario, Direction::Down, PLAIN);
    assert!(loaded(&octets(&scenario), Direction::Down).ipv6.is_none());
}

#[test]
fn what_was_lost_is_offered_and_not_carried() {
    let mut scenario = Scenario::new();
    let lossy = Stream { sent: 104, again: 4, arrive: 101, twice: 1, received: 35, ..PLAIN };
    stream(&mut scenario, Direction::Down, lossy);
    let octets = octets(&scenario);
    let (down, up) = (&loaded(&octets, Direction::Down).all, &loaded(&octets, Direction::Up).all);
    assert_eq!(down.carried_octets, 10_100 * 1500);
    assert_eq!(down.offered_octets, 10_400 * 1500);
    assert_eq!(down.goodput_octets, 14_480_000);
    assert_eq!(down.duplicate_octets, Some(100 * 1448));
    assert_eq!(down.retransmitted_octets, Some(400 * 1448));
    share(down.retransmitted_share, 4.0 / 104.0);
    assert_eq!((up.carried_octets, up.offered_octets), (3500 * 52, 5000 * 52));
    let acknowledgements = down.acknowledgements.unwrap();
    assert_eq!((acknowledgements.sent, acknowledgements.received), (5000, 3500));
    share(acknowledgements.thinning, 0.3);
    share(acknowledgements.per_data_segment, 50.0 / 101.0);
    let reason = missing_acknowledgements(&scenario).unwrap();
    assert!(reason.starts_with("Download misses ACKs (30 %, limit 10 %)"), "{reason}");
}

/// What the verdict says of them.
fn missing_acknowledgements(scenario: &Scenario) -> Option<String> {
    let reasons = scenario.analyze().validity.reasons;
    reasons.into_iter().find(|reason| reason.code == "acks_missing").map(|reason| reason.text)
}

#[test]
fn acknowledgments_under_way_are_not_lost() {
    let mut scenario = Scenario::new();
    stream(&mut scenario, Direction::Up, Stream { delay: 2 * SECOND, ..PLAIN });
    let acknowledgements = loaded(&octets(&scenario), Direction::Up).all.acknowledgements.unwrap();
    // At the end of the load phase the sender knows what the receiver had two seconds before.
    assert_eq!((acknowledgements.sent, acknowledgements.received), (4000, 4000));
    share(acknowledgements.thinning, 0.0);
    assert_eq!(missing_acknowledgements(&scenario), None);
}

#[test]
fn probes_count_in_the_direction_in_which_they_arrived() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    with_length(&mut scenario, flow, 72);
    // Every packet reaches the reflector; of the load phase's replies every fifth is lost.
    for sequence in 0..1000_u32 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        scenario.sent(flow, sequence, at);
        let row = PacketReceived { flow, sequence, received: TestTime(at + 5 * MS), octet: 0 };
        scenario.observe(Server, at, row);
        if !(sequence.is_multiple_of(5) && Scenario::LOAD.contains(TestTime(at))) {
            scenario.received(flow, sequence, at, 8 * MS);
        }
    }
    let octets = octets(&scenario);
    let (down, up) = (&loaded(&octets, Direction::Down).all, &loaded(&octets, Direction::Up).all);
    // 72 bytes of payload, 28 of headers.
    close(up.parts_octets.probes, 500 * 100, "there");
    close(down.parts_octets.probes, 400 * 100, "back");
    close(down.offered_octets, 500 * 100, "answered");
    let idle = octets.idle.as_ref().unwrap();
    close(idle.both.carried_octets, 500 * 100, "idle");
    assert_eq!(up.carried_octets, up.parts_octets.measuring());
}

#[test]
fn a_server_that_did_not_tell_what_arrived_has_reported_how_much() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    with_length(&mut scenario, flow, 72);
    for sequence in 0..1000_u32 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        scenario.sent(flow, sequence, at);
        // Of two replies one is lost; the count of the other covers both.
        if sequence % 2 == 1 {
            let row = ProbeReceived {
                flow,
                sequence,
                received: TestTime(at + MS),
                read: TestTime(at + MS),
                reflector_received: TestTime(at),
                reflector_sent: TestTime(at),
                reflector_octet: 0,
                octet: 0,
                reflector_count: sequence + 1,
            };
            scenario.observe(Client, at, row);
        }
    }
    let octets = octets(&scenario);
    let up = loaded(&octets, Direction::Up).all.parts_octets.probes;
    assert!(up.abs_diff(50_000) <= 100, "{up}, expected 500 packets within one");
    close(loaded(&octets, Direction::Down).all.parts_octets.probes, 25_000, "back");
}

#[test]
fn greetings_count_as_much_as_probes_arrive() {
    let mut scenario = Scenario::new();
    let v4 = AddressFamily::Ipv4;
    let probe = scenario.udp_probe(v4);
    let voip = scenario.flow("voip", Component::Voip, Some(Direction::Down), v4, Scenario::ALL);
    // Of ten probes eight reach the reflector, and four of its replies the client.
    for sequence in 0..1000_u32 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        scenario.sent(probe, sequence, at);
        if sequence % 10 < 8 {
            let row = PacketReceived { flow: probe, sequence, received: TestTime(at + 5 * MS), octet: 0 };
            scenario.observe(Server, at, row);
        }
        if sequence % 10 < 4 {
            scenario.received(probe, sequence, at, 8 * MS);
        }
        if sequence.is_multiple_of(10) {
            scenario.observe(Client, at, GreetingSent { flow: voip, sent: TestTime(at), length: 80 });
        }
    }
    let octets = octets(&scenario);
    let (down, up) = (&loaded(&octets, Direction::Down).all, &loaded(&octets, Direction::Up).all);
    // 80 bytes of payload, 28 of headers.
    close(up.parts_octets.voip, 40 * 108, "there");
    close(down.parts_octets.voip, 20 * 108, "back");
    assert_eq!((up.estimated_octets, down.estimated_octets), (up.parts_octets.voip, down.parts_octets.voip));
}

#[test]
fn voip_exchanges_and_connections_have_their_own_parts() {
    let mut scenario = Scenario::new();
    let (all, v4) = (Scenario::ALL, AddressFamily::Ipv4);
    let voip = scenario.flow("voip", Component::Voip, Some(Direction::Down), v4, all);
    let rr = scenario.flow("udp_rr", Component::Realtime, None, v4, all);
    with_length(&mut scenario, voip, 92);
    with_length(&mut scenario, rr, 72);
    let connect = scenario.flow("tcp_connect", Component::Realtime, None, v4, all);
    for number in 0..200_u32 {
        let at = 100 * MS * i64::from(number) + MS;
        let sent = ProbeSent { flow: voip, sequence: number, scheduled: TestTime(at), sent: TestTime(at) };
        scenario.observe(Server, at, sent);
        if number % 4 != 0 {
            let row = PacketReceived { flow: voip, sequence: number, received: TestTime(at + MS), octet: 0 };
            scenario.observe(Client, at, row);
        }
        let row = Transaction { flow: rr, started: TestTime(at), took: Delay(MS), answered: 1, ..transaction(rr) };
        scenario.observe(Client, at, row);
        let row = Connection {
            flow: connect,
            sequence: number,
            scheduled: TestTime(at),
            started: TestTime(at),
            reached: Connection::ANSWERED,
            connect: Delay(MS),
            answer: Delay(2 * MS),
            syn_retransmits: u8::from(number % 2 == 0),
        };
        scenario.observe(Client, at, row);
    }
    let octets = octets(&scenario);
    let (down, up) = (&loaded(&octets, Direction::Down).all, &loaded(&octets, Direction::Up).all);
    close(down.parts_octets.voip, 75 * 120, "VoIP");
    close(down.offered_octets - down.parts_octets.exchanges - down.parts_octets.connections, 100 * 120, "VoIP sent");
    assert_eq!(up.parts_octets.voip, 0);
    for account in [down, up] {
        close(account.parts_octets.exchanges, 100 * 100, "exchanges");
        assert_eq!(account.estimated_octets, account.parts_octets.connections);
    }
    // SYN and half of them again, the handshake's end, question, two more with timestamps, one without.
    close(up.parts_octets.connections, 100 * (60 + 30 + 52 + 80 + 2 * 52 + 40), "connections, up");
    close(down.parts_octets.connections, 100 * (60 + 52 + 60 + 52), "connections, down");
}

fn transaction(flow: FlowId) -> Transaction {
    Transaction { flow, sequence: 0, started: TestTime(0), took: Delay(0), answered: 0 }
}

#[test]
fn the_control_connection_is_of_the_first_family() {
    let mut scenario = Scenario::new();
    scenario.recording.header.families = vec![AddressFamily::Ipv6, AddressFamily::Ipv4];
    for second in 0..=20_u32 {
        let at = i64::from(second) * SECOND;
        // A frame of 3000 bytes in three segments each second, two acknowledgments.
        let down = TcpInfo {
            options: 1,
            bytes_received: u64::from(second) * 3000,
            data_segs_in: second * 3,
            segs_in: second * 3,
            segs_out: second * 2,
            ..tcp_info(FlowId::CONTROL, at)
        };
        scenario.observe(Client, at, down);
        let up = TcpInfo { options: 1, segs_in: second * 2, segs_out: second * 3, ..tcp_info(FlowId::CONTROL, at) };
        scenario.observe(Server, at, up);
    }
    let octets = octets(&scenario);
    let of = |direction| loaded(&octets, direction).ipv6.as_ref().unwrap().parts_octets.control;
    assert_eq!((of(Direction::Down), of(Direction::Up)), (10 * (3000 + 3 * 72), 10 * 2 * 72));
    assert_eq!(loaded(&octets, Direction::Down).ipv4.as_ref().unwrap().carried_octets, 0);
}

#[test]
fn the_link_layer_adds_to_every_packet_what_it_takes() {
    let mut scenario = Scenario::new();
    stream(&mut scenario, Direction::Down, PLAIN);
    assert_eq!(loaded(&octets(&scenario), Direction::Down).all.link_layer_octets, None);
    scenario.recording.header.plan.link_layer = Some("atm/pppoe-llcsnap".to_owned());
    let found = octets(&scenario);
    assert_eq!(found.link_layer.as_deref(), Some("atm/pppoe-llcsnap"));
    // 1540 bytes in 33 cells, 92 in 2.
    assert_eq!(loaded(&found, Direction::Down).all.link_layer_octets, Some(10_000 * 33 * 53));
    assert_eq!(loaded(&found, Direction::Up).all.link_layer_octets, Some(5000 * 2 * 53));
    assert_eq!(loaded(&found, Direction::Up).all.link_layer_bps, Some(5000 * 2 * 53 * 8 / 10));
    scenario.recording.header.plan.link_layer = Some("of another age".to_owned());
    assert_eq!(octets(&scenario).link_layer, None, "an unknown one is passed over");
}

#[test]
fn rates_over_time_add_up_to_what_was_carried() {
    let mut scenario = Scenario::new();
    stream(&mut scenario, Direction::Down, PLAIN);
    let octets = octets(&scenario);
    let rates = octets.rates(Direction::Down);
    assert_eq!(rates.len(), 80, "20 s of 250 ms");
    assert!(rates[20..60].iter().all(|point| point.rate.0 == 12_000_000), "{rates:?}");
    assert!(rates[..20].iter().chain(&rates[60..]).all(|point| point.rate.0 == 0), "{rates:?}");
    assert!(octets.rates(Direction::Up)[20..60].iter().all(|point| point.rate.0.abs_diff(208_000) < 32), "{octets:?}");
}

#[test]
fn packets_of_an_unknown_length_are_not_counted_and_it_is_reported() {
    let mut scenario = Scenario::new();
    let known = scenario.flow("of_today", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    with_length(&mut scenario, known, 72);
    scenario.sent(known, 0, 6 * SECOND);
    let flow = scenario.flow("of_tomorrow", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    scenario.sent(flow, 0, 6 * SECOND);
    scenario.flow("silent", Component::Realtime, None, AddressFamily::Ipv4, Scenario::ALL);
    let uncounted: Vec<_> = octets(&scenario).uncounted_flows.into_iter().map(|flow| flow.id).collect();
    assert_eq!(uncounted, [flow]);
}
