//! What became of each probe, counted while the test runs.

use rrul_analysis::live::ProbeTally;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{PacketReceived, ProbeFate};
use rrul_model::recording::Frame;
use rrul_model::time::TestTime;

use crate::builder::{MS, SECOND, Scenario, Server, ms};

/// Five probes are lost on the way up, ten on the way down, and the server records what reached it.
fn fates(server_records: bool) -> Vec<ProbeFate> {
    let lost_up = |at: i64| (6 * SECOND..6 * SECOND + 100 * MS).contains(&at);
    let lost_down = |at: i64| (7 * SECOND..7 * SECOND + 200 * MS).contains(&at);
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    scenario.probes(flow, |at| (!lost_up(at) && !lost_down(at)).then_some(20 * MS));
    for frame in &mut scenario.recording.frames {
        frame.tables.packet_received = rrul_model::observation::PacketReceivedTable::default();
    }
    if server_records {
        for sequence in 0..1000 {
            let at = 10 * MS + i64::from(sequence) * 20 * MS;
            if !lost_up(at) {
                let received = TestTime(at + 10 * MS);
                scenario.observe(Server, at + 10 * MS, PacketReceived { flow, sequence, received, octet: 0 });
            }
        }
    }
    let mut tally = ProbeTally::new(&scenario.recording.header);
    let mut frames: Vec<&Frame> = scenario.recording.frames.iter().filter(|frame| frame.number <= 19).collect();
    frames.sort_by_key(|frame| frame.number);
    let known: Vec<_> = frames.into_iter().flat_map(|frame| tally.push(frame)).collect();
    assert!(known.iter().all(|probe| (probe.class, probe.family) == (ServiceClass::BE, AddressFamily::Ipv4)));
    known.into_iter().map(|probe| probe.fate).collect()
}

fn count(fates: &[ProbeFate], fate: ProbeFate) -> usize {
    fates.iter().filter(|one| **one == fate).count()
}

#[test]
fn each_probe_is_counted_once_by_its_fate_and_its_direction() {
    let fates = fates(true);
    assert_eq!(count(&fates, ProbeFate::Lost(Some(Direction::Up))), 5);
    assert_eq!(count(&fates, ProbeFate::Lost(Some(Direction::Down))), 10);
    let answered = count(&fates, ProbeFate::Answered(ms(20).expect("a delay")));
    assert_eq!(answered + 15, fates.len());
    assert!((950..=1000).contains(&fates.len()), "20 s of 50 a second: {}", fates.len());
}

#[test]
fn without_records_of_the_server_the_direction_is_unknown() {
    assert_eq!(count(&fates(false), ProbeFate::Lost(None)), 15);
}
