//! Loss, copies and order of test packets: integers, each that of the link's log.

use rrul_analysis::metrics::loss::packet_fate::PacketFate;
use rrul_lab::{Fate, LabTime, Record};
use rrul_model::flow::{AddressFamily, Direction};

use crate::journal::UDP;
use crate::plans::{THREE_CLASSES, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Probes in three classes, a packet each 10 ms.
fn probes() -> String {
    let more = format!("{THREE_CLASSES}interval = \"10ms\"");
    plan("idle = \"3s\", load = \"6s\", after = \"2s\"", &[("udp_probe", &more)])
}

const UDP_ONLY: &str = "rate = \"100Mbit/s\"\nonly = { protocol = \"udp\", port = 7785 }\n";

pub(crate) const UP: Bed = Bed {
    name: "loss_up",
    about: "Of the packets up 3 % are lost, of those down none, in both families.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let link = format!("rtt = \"20ms\"\n[up]\n{UDP_ONLY}loss = \"3%\"\n[down]\n{UDP_ONLY}");
        exact(rows, &Setting::new(link, probes()).both_families().measure());
    },
};

pub(crate) const BOTH: Bed = Bed {
    name: "loss_both",
    about: "Packets up are lost (1 %) and doubled (1 %), packets down lost (2 %) and held back until three have overtaken \
        them (1 %), in both families.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let link = format!(
            "rtt = \"20ms\"\n[up]\n{UDP_ONLY}loss = \"1%\"\nduplicate = \"1%\"\n[down]\n{UDP_ONLY}loss = \"2%\"\n\
             reorder = {{ probability = \"1%\", displacement = 3, extra_delay = \"300ms\" }}\n"
        );
        exact(rows, &Setting::new(link, probes()).both_families().measure());
    },
};

pub(crate) const OUTAGE: Bed = Bed {
    name: "outage",
    about: "The way up carries nothing for a second, and later the way down does not: more than a window of 64 packets.",
    runs: Runs::InAccuracy,
    run: |rows| {
        // A second of three flows in two families, a packet each 10 ms.
        let outage = |from: u32| {
            let numbers: Vec<String> = (from..from + 600).map(|number| number.to_string()).collect();
            format!("loss = {{ packets = [{}] }}\n", numbers.join(", "))
        };
        let link = format!("rtt = \"20ms\"\n[up]\n{UDP_ONLY}{}[down]\n{UDP_ONLY}{}", outage(1000), outage(3000));
        exact(rows, &Setting::new(link, probes()).both_families().measure());
    },
};

/// The records of one flow's packets since T0; before it are greetings.
fn records(
    measured: &Measured,
    direction: Direction,
    family: AddressFamily,
    octet: u8,
) -> impl Iterator<Item = &Record> {
    let t0 = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
    let ours = move |record: &&Record| {
        (record.protocol, record.family, record.tos_in) == (UDP, family, octet) && record.arrival >= t0
    };
    measured.truth.direction(direction).records().filter(ours)
}

/// How many packets one flow lost, got twice, or got out of order, over the whole test: rrul's count and the log's.
fn exact(rows: &mut Rows, measured: &Measured) {
    rows.equal("R17 R18", "flows reported: three classes, two families", measured.analysis.loss.fates.flows.len(), 6);
    for flow in &measured.analysis.loss.fates.flows {
        for (direction, fate) in [(Direction::Up, &flow.up), (Direction::Down, &flow.down)] {
            let log: Vec<&Record> = records(measured, direction, flow.flow.family, flow.flow.class.octet()).collect();
            let original = |record: &&&Record| !record.duplicate;
            let count = |wanted: &dyn Fn(&Record) -> bool| log.iter().filter(|record| wanted(record)).count();
            let truth = [
                log.iter().filter(original).count(),
                count(&|record| !record.duplicate && record.fate != Fate::Delivered),
                count(&|record| record.duplicate),
                overtaken(&log),
            ];
            let found = fate.all.as_ref().map(counts);
            let name = format!("{} {direction}: sent, lost, doubled, reordered", flow.flow.name);
            let told = found.map_or("nothing".to_owned(), |found| format!("{found:?}"));
            rows.equal("R17 R18", name, told, format!("{:?}", truth.map(|count| count as u64)));
        }
    }
}

/// Packets that were delivered after one that entered the link later (RFC 4737). The log is in the order of delivery.
fn overtaken(log: &[&Record]) -> usize {
    let mut latest = LabTime(0);
    let behind = log.iter().filter(|record| record.fate == Fate::Delivered && !record.duplicate).filter(|record| {
        let behind = record.arrival < latest;
        latest = latest.max(record.arrival);
        behind
    });
    behind.count()
}

fn counts(fate: &PacketFate) -> [u64; 4] {
    // What is not known is not 0.
    let unknown = u64::MAX;
    let reordered = fate.reordering.as_ref().map_or(unknown, |order| order.reordered);
    let lost = if fate.unattributed == 0 { fate.lost } else { unknown };
    [fate.sent, lost, fate.duplicated.unwrap_or(unknown), reordered]
}
