//! What a path makes of markings, known by construction.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::marking::code_point::CodePointVerdict;
use rrul_analysis::metrics::marking::ecn::{EcnPath, EcnVerdict};
use rrul_analysis::metrics::marking::marking_path::{MarkingPath, PathVerdict};
use rrul_analysis::metrics::marking::marking_tally::MarkingSource;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::{PacketMarked, PacketReceived, ProbeReceived};
use rrul_model::time::TestTime;

use crate::builder::{CLOCK_OFFSET, Client, HELD, MS, SECOND, Scenario, Server, tcp_info};

/// What becomes of a byte on the way: another, or nothing; given the packet's number among those of its byte.
type Rewrite = fn(octet: u8, number: u32) -> Option<u8>;

const KEEP: Rewrite = |octet, _| Some(octet);

/// The bytes of one sweep: 64 code points five times, the ECN values 200 times, one after another.
fn octets() -> Vec<u8> {
    let mut octets: Vec<u8> = (0..5).flat_map(|_| (0..64).map(|dscp| dscp << 2)).collect();
    octets.extend((0..200).flat_map(|_| [0, 1, 2, 3]));
    octets
}

/// Sweeps from `from` on, a packet each 3 ms, in one family.
fn sweep(scenario: &mut Scenario, family: AddressFamily, from: i64, up: Rewrite, down: Rewrite) -> FlowId {
    let flow = scenario.flow("marking_sweep", Component::Analysis, None, family, Scenario::ALL);
    let mut numbers = [0; 256];
    for (sequence, octet) in (0..).zip(octets()) {
        let at = from + i64::from(sequence) * 3 * MS;
        let number = numbers[usize::from(octet)];
        numbers[usize::from(octet)] += 1;
        scenario.sent(flow, sequence, at);
        scenario.observe(Client, at, PacketMarked { flow, sequence, octet });
        let Some(reflector_octet) = up(octet, number) else { continue };
        let received = TestTime(at + 10 * MS + CLOCK_OFFSET);
        scenario.observe(Server, at, PacketReceived { flow, sequence, received, octet: reflector_octet });
        let Some(returned) = down(octet, number) else { continue };
        let row = ProbeReceived {
            flow,
            sequence,
            received: TestTime(at + 20 * MS + HELD),
            read: TestTime(at + 20 * MS + HELD),
            reflector_received: received,
            reflector_sent: TestTime(received.0 + HELD),
            reflector_octet,
            octet: returned,
            reflector_count: sequence,
        };
        scenario.observe(Client, at, row);
    }
    flow
}

fn swept(up: Rewrite, down: Rewrite) -> Analysis {
    let mut scenario = Scenario::healthy();
    sweep(&mut scenario, AddressFamily::Ipv4, 100 * MS, up, down);
    scenario.analyze()
}

fn path(analysis: &Analysis, direction: Direction) -> &MarkingPath {
    analysis.markings.paths.iter().find(|path| path.direction == direction).unwrap()
}

fn ecn(analysis: &Analysis, direction: Direction) -> &EcnPath {
    analysis.ecn.paths.iter().find(|path| path.direction == direction).unwrap()
}

#[test]
fn a_path_that_changes_nothing_preserves_all_64_code_points() {
    let analysis = swept(KEEP, KEEP);
    for direction in Direction::ALL {
        let path = path(&analysis, direction);
        assert_eq!((path.verdict, path.evidence), (PathVerdict::Preserved, MarkingSource::Sweep));
        let idle = path.idle.as_ref().unwrap();
        assert_eq!((idle.preserved, idle.unknown, idle.altered.len()), (64, 0, 0));
        assert_eq!(path.load, None, "nothing was swept under load");
        let packets: u64 = path.matrix.iter().map(|cell| cell.packets).sum();
        assert_eq!(packets, 64 * 5 + 800);
        assert!(path.matrix.iter().all(|cell| cell.received_octet == Some(cell.sent_octet)));
        assert_eq!(ecn(&analysis, direction).verdict, EcnVerdict::Pass);
    }
}

#[test]
fn marks_that_the_server_refuses_are_not_taken_for_bleached_on_the_way_back() {
    let refused: Rewrite = |octet, _| Some(if [48, 56].contains(&(octet >> 2)) { octet & 3 } else { octet });
    let mut scenario = Scenario::healthy();
    sweep(&mut scenario, AddressFamily::Ipv4, 100 * MS, KEEP, refused);
    scenario.recording.header.server.abilities.insert("refused_marks".to_owned(), "CS6,CS7".to_owned());
    let analysis = scenario.analyze();
    assert_eq!(path(&analysis, Direction::Up).idle.as_ref().unwrap().preserved, 64);
    let down = path(&analysis, Direction::Down);
    let idle = down.idle.as_ref().unwrap();
    assert_eq!((down.verdict, idle.preserved, idle.altered.len()), (PathVerdict::Preserved, 62, 0));
    assert_eq!(
        path(&swept(KEEP, refused), Direction::Down).idle.as_ref().unwrap().altered.len(),
        2,
        "where it does not"
    );
}

#[test]
fn each_way_of_altering_has_its_name_and_only_in_its_direction() {
    let rewrites: [(Rewrite, PathVerdict, Option<u8>); 4] = [
        (|octet, _| Some(octet & 3), PathVerdict::Bleached, None),
        (|octet, _| Some(octet & 0x1f), PathVerdict::PrecedenceBleached, None),
        (|octet, _| Some(if octet >> 2 == 0 { octet } else { 10 << 2 }), PathVerdict::Remarked, Some(10)),
        (|octet, _| (octet >> 2 == 0).then_some(octet), PathVerdict::Dropped, None),
    ];
    for (rewrite, verdict, to) in rewrites {
        let analysis = swept(rewrite, KEEP);
        let up = path(&analysis, Direction::Up);
        assert_eq!((up.verdict, up.remarked_to), (verdict, to));
        // What is lost on the way out is never answered: nothing is known of its way back.
        let back = if verdict == PathVerdict::Dropped { PathVerdict::Unknown } else { PathVerdict::Preserved };
        assert_eq!(path(&analysis, Direction::Down).verdict, back, "{verdict:?} on the way there");
        let analysis = swept(KEEP, rewrite);
        let down = path(&analysis, Direction::Down);
        assert_eq!((down.verdict, down.remarked_to), (verdict, to));
        assert_eq!(path(&analysis, Direction::Up).verdict, PathVerdict::Preserved, "{verdict:?} on the way back");
    }
}

#[test]
fn single_code_points_are_named_with_their_verdicts() {
    let rewrite: Rewrite = |octet, number| match octet >> 2 {
        46 => Some(8 << 2),
        8 => Some(0),
        48 => None,
        34 => Some(if number % 2 == 0 { octet } else { 0 }),
        63 => (number == 0).then_some(octet),
        _ => Some(octet),
    };
    let analysis = swept(KEEP, rewrite);
    let down = path(&analysis, Direction::Down);
    assert_eq!(down.verdict, PathVerdict::Altered);
    let idle = down.idle.as_ref().unwrap();
    let found: Vec<_> = idle.altered.iter().map(|point| (point.dscp, point.verdict, point.arrives_as)).collect();
    assert_eq!(
        found,
        [
            (8, CodePointVerdict::Bleached, Some(0)),
            (34, CodePointVerdict::Mixed, Some(34)),
            (46, CodePointVerdict::Remarked, Some(8)),
            (48, CodePointVerdict::Dropped, None),
            // Four of five lost where of 205 others none was.
            (63, CodePointVerdict::Dropped, Some(63)),
        ]
    );
    let counts = [idle.preserved, idle.bleached, idle.remarked, idle.mixed, idle.dropped, idle.unknown];
    assert_eq!(counts, [59, 1, 1, 1, 2, 0]);
    let dropped = &idle.altered[3];
    assert_eq!((dropped.sent, dropped.arrived, dropped.excess_loss), (Some(5), 0, Some(1.0)));
    assert!(dropped.excess_loss_low.unwrap() > 0.5 && dropped.excess_loss_high.unwrap() <= 1.0);
    let lost = down.matrix.iter().find(|cell| cell.sent_octet == 48 << 2).unwrap();
    assert_eq!((lost.received_octet, lost.packets), (None, 5));
}

#[test]
fn loss_that_hits_all_markings_alike_is_no_markings_doing() {
    // A third of everything is lost, both ways.
    let lossy: Rewrite = |octet, number| (number % 3 != 1).then_some(octet);
    let analysis = swept(lossy, KEEP);
    assert_eq!(path(&analysis, Direction::Up).verdict, PathVerdict::Preserved);
    assert_eq!(path(&analysis, Direction::Up).idle.as_ref().unwrap().dropped, 0);
    assert_eq!(ecn(&analysis, Direction::Up).verdict, EcnVerdict::Pass);
}

#[test]
fn without_the_reflectors_notes_losses_have_no_direction() {
    let mut scenario = Scenario::healthy();
    sweep(&mut scenario, AddressFamily::Ipv4, 100 * MS, |octet, _| (octet >> 2 != 46).then_some(octet), KEEP);
    for frame in &mut scenario.recording.frames {
        frame.tables.packet_received = rrul_model::observation::PacketReceivedTable::default();
    }
    let analysis = scenario.analyze();
    for direction in Direction::ALL {
        let idle = path(&analysis, direction).idle.as_ref().unwrap();
        assert_eq!((idle.preserved, idle.dropped), (63, 0), "{direction}");
        assert!(path(&analysis, direction).matrix.iter().all(|cell| cell.received_octet.is_some()));
    }
}

#[test]
fn what_was_answered_had_arrived_though_a_frame_of_the_server_is_missing() {
    let mut scenario = Scenario::healthy();
    sweep(&mut scenario, AddressFamily::Ipv4, 100 * MS, KEEP, KEEP);
    scenario.frame(Server, 2 * SECOND).tables.packet_received = rrul_model::observation::PacketReceivedTable::default();
    let analysis = scenario.analyze();
    for direction in Direction::ALL {
        let path = path(&analysis, direction);
        assert_eq!(path.verdict, PathVerdict::Preserved, "{direction}");
        assert!(path.matrix.iter().all(|cell| cell.received_octet.is_some()), "{direction}: nothing was lost");
    }
}

#[test]
fn what_marks_every_packet_marks_those_that_know_no_ecn_too() {
    let analysis = swept(|octet, _| Some(octet | 3), KEEP);
    let idle = ecn(&analysis, Direction::Up).idle.unwrap();
    assert_eq!([idle.not_ect, idle.ect1, idle.ect0].map(|value| value.verdict), [EcnVerdict::ToCe; 3]);
    assert_eq!(idle.ce.verdict, EcnVerdict::Pass);
}

#[test]
fn ecn_is_judged_by_value_and_direction() {
    let rewrites: [(Rewrite, EcnVerdict, EcnVerdict); 5] = [
        (|octet, _| Some(octet & 0xfc), EcnVerdict::Cleared, EcnVerdict::Cleared),
        (|octet, _| Some(if octet & 3 == 1 { octet ^ 3 } else { octet }), EcnVerdict::Pass, EcnVerdict::ToEct0),
        (
            |octet, n| Some(if octet & 3 != 0 && n % 10 == 0 { octet | 3 } else { octet }),
            EcnVerdict::MarkedIdle,
            EcnVerdict::MarkedIdle,
        ),
        (|octet, _| (octet & 3 != 1).then_some(octet), EcnVerdict::Pass, EcnVerdict::Dropped),
        (|octet, _| Some(if octet & 3 == 2 { octet | 3 } else { octet }), EcnVerdict::ToCe, EcnVerdict::Pass),
    ];
    for (rewrite, ect0, ect1) in rewrites {
        for direction in Direction::ALL {
            let analysis = if direction == Direction::Up { swept(rewrite, KEEP) } else { swept(KEEP, rewrite) };
            let found = ecn(&analysis, direction);
            let idle = found.idle.unwrap();
            assert_eq!((idle.ect0.verdict, idle.ect1.verdict), (ect0, ect1), "{direction}");
            assert_eq!(idle.not_ect.verdict, EcnVerdict::Pass);
            assert_eq!(found.verdict, ect0.max(ect1));
            assert_eq!(path(&analysis, direction).verdict, PathVerdict::Preserved, "ECN is no code point");
            let other = if direction == Direction::Up { Direction::Down } else { Direction::Up };
            let back = ecn(&analysis, other).idle.unwrap().ect0.verdict;
            assert_eq!(back, EcnVerdict::Pass, "the other direction");
        }
    }
}

#[test]
fn marks_under_load_are_congestion_and_counted_with_their_interval() {
    let mut scenario = Scenario::healthy();
    let marking: Rewrite = |octet, n| Some(if matches!(octet & 3, 1 | 2) && n % 10 == 0 { octet | 3 } else { octet });
    sweep(&mut scenario, AddressFamily::Ipv4, 6 * SECOND, marking, KEEP);
    let analysis = scenario.analyze();
    let up = ecn(&analysis, Direction::Up);
    assert_eq!((up.verdict, up.idle), (EcnVerdict::Pass, None));
    let load = up.load.unwrap();
    for value in [load.ect0, load.ect1] {
        assert_eq!((value.arrived, value.as_ce, value.marked_share), (200, 20, Some(0.1)));
        assert!(value.marked_share_low.unwrap() < 0.1 && value.marked_share_low.unwrap() > 0.03);
        assert!(value.marked_share_high.unwrap() > 0.1 && value.marked_share_high.unwrap() < 0.2);
    }
    assert_eq!((load.ce.marked_share, load.not_ect.marked_share), (None, Some(0.0)));
    assert_eq!(ecn(&analysis, Direction::Down).load.unwrap().ect0.as_ce, 0);
}

#[test]
fn without_a_sweep_the_classes_of_other_flows_are_all_that_is_known() {
    let mut scenario = Scenario::healthy();
    scenario.recording.header.flows[0].class = "EF".parse().unwrap();
    let analysis = scenario.analyze();
    // The builder's reflector receives and sends byte 0: EF is bleached both ways.
    for direction in Direction::ALL {
        let path = path(&analysis, direction);
        assert_eq!((path.evidence, path.verdict), (MarkingSource::Flows, PathVerdict::Bleached));
    }
    assert_eq!(analysis.ecn.paths, []);
    let flow = &analysis.markings.flows[0];
    assert_eq!((flow.arrived, flow.as_sent, flow.mostly_otherwise), (1000, 0, Some(0)));
}

#[test]
fn the_ecn_of_streams_is_read_from_the_receivers_kernel() {
    let mut scenario = Scenario::healthy();
    scenario.recording.header.client.tcp_info_length = 280;
    scenario.recording.header.server.tcp_info_length = 232;
    let [down, up] = [FlowId(1), FlowId(2)];
    for at in (5..=15).map(|second| second * SECOND) {
        let since = (at - 5 * SECOND) / SECOND;
        // 800 million bytes a second: 32 bits wrap around twice.
        let wrapped = |a_second: i64| (since * a_second) as u32;
        let client = rrul_model::observation::TcpInfo {
            options: 8 | 16,
            bytes_received: 1_000_000_000 * since as u64,
            received_e0_bytes: wrapped(800_000_000),
            received_ce_bytes: wrapped(200_000_000),
            ..tcp_info(down, at)
        };
        scenario.observe(Client, at, client);
        scenario.observe(Server, at, rrul_model::observation::TcpInfo { options: 8, ..tcp_info(up, at) });
    }
    let analysis = scenario.analyze();
    let [first, second] = [&analysis.ecn.streams[0], &analysis.ecn.streams[1]];
    assert_eq!((first.negotiated, first.seen, first.bleached), (Some(true), Some(true), Some(false)));
    assert_eq!((first.ect0_octets, first.ce_octets), (Some(8_000_000_000), Some(2_000_000_000)));
    assert_eq!(first.ce_share, Some(0.2));
    // The server's kernel is too old to count.
    assert_eq!((second.negotiated, second.ect0_octets, second.bleached), (Some(true), None, None));
}

#[test]
fn a_stream_whose_marks_all_vanish_is_bleached() {
    for (octets, truth) in [(0, Some(true)), (1448, Some(false))] {
        let mut scenario = Scenario::healthy();
        scenario.recording.header.client.tcp_info_length = 280;
        for (at, share) in [(6, 0), (14, 1)] {
            let row = rrul_model::observation::TcpInfo {
                options: 8,
                bytes_received: 20_000_000 * share,
                received_e0_bytes: octets * share as u32,
                ..tcp_info(FlowId(1), at * SECOND)
            };
            scenario.observe(Client, at * SECOND, row);
        }
        assert_eq!(scenario.analyze().ecn.streams[0].bleached, truth);
    }
}
