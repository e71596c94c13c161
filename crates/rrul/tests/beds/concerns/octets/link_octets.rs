//! Bytes on the link: rrul's account against the kernel's counters of the interfaces and against the log, IP layer.
//!
//! What a link carries mostly is known much better than to 1 %; in a direction that carries little but acknowledgments,
//! those with selective acknowledgments are estimated.

use std::collections::{HashMap, HashSet};

use rrul_lab::Record;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::Phase;

use crate::journal::TCP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// The load of most beds here.
const LOAD: &str = "10s";
/// The default plan's. An upload of 1 Mbit/s carries so little in 10 s that one short flow, of which it is not known exactly
/// on which side of the load's edge its bytes arrived, is 1.7 % of a family's.
const LONG_LOAD: &str = "60s";

/// What a whole test sends, but the web.
fn everything(load: &str, length: &str) -> String {
    let flows = [
        ("bulk_tcp", load),
        ("udp_probe", "each.class = [\"EF\", \"BE\"]"),
        ("udp_rr", ""),
        ("tcp_rr", ""),
        ("tcp_records", BOTH_WAYS),
        ("tcp_connect", ""),
        ("icmp_echo", ""),
        ("voip", BOTH_WAYS),
        ("dns_lookup", ""),
        ("short_flow", &format!("{BOTH_WAYS}size = \"10kB\"\ninterval = \"500ms\"\n")),
    ];
    plan(&format!("idle = \"2s\", load = \"{length}\", after = \"3s\""), &flows)
}

/// What is loaded.
const DOWN: &str = "direction = \"down\"\n";

/// Streams that carry more bytes than this are the load.
const BULK: u64 = 200_000;

const FQ_CODEL: &str = "queue = \"fq_codel\"";

pub(crate) const CLEAN: Bed = Bed {
    name: "octets",
    about: "20/8 Mbit/s, fq_codel, both families: every byte against the counters of the interfaces and the log.",
    runs: Runs::SideBySide,
    run: |rows| {
        let measured =
            counted(rows, BOTH_WAYS, [&format!("20Mbit/s\"\n{FQ_CODEL}"), &format!("8Mbit/s\"\n{FQ_CODEL}")]);
        for direction in Direction::ALL {
            thinning(rows, &measured, direction);
        }
    },
};

pub(crate) const ACKS_LOST: Bed = Bed {
    name: "octets_acks_lost",
    about: "The same, and of the acknowledgments without data a third is lost on the way up and a third on the way down.",
    runs: Runs::SideBySide,
    run: |rows| {
        let lost = format!("{FQ_CODEL}\nonly = {{ tcp = \"ack\" }}\nloss = \"33%\"");
        let measured = counted(rows, BOTH_WAYS, [&format!("20Mbit/s\"\n{lost}"), &format!("8Mbit/s\"\n{lost}")]);
        for direction in Direction::ALL {
            thinning(rows, &measured, direction);
        }
    },
};

pub(crate) const DOWN_ACKS_LOST: Bed = Bed {
    name: "octets_down_acks_lost",
    about: "20/8 Mbit/s, a download over a FIFO, and of its acknowledgments 30 % are lost on the way up.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let fifo = "20Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"200p\" }";
        let measured = counted(rows, DOWN, [fifo, "8Mbit/s\"\nloss = \"30%\"\nonly = { tcp = \"ack\" }"]);
        thinning(rows, &measured, Direction::Down);
    },
};

pub(crate) const DATA_LOST: Bed = Bed {
    name: "octets_data_lost",
    about: "20/20 Mbit/s, and of the segments 1 % is lost both ways: selective acknowledgments both ways.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let lossy = "20Mbit/s\"\nloss = \"1%\"\nonly = { tcp = \"data\" }";
        let measured = counted(rows, BOTH_WAYS, [lossy, lossy]);
        for direction in Direction::ALL {
            let pointer = format!("/link_octets/load/{direction}/all/retransmitted_octets");
            let truth = sent_again(&measured, direction);
            let found = measured.number(&pointer);
            rows.near("R7 R15", format!("bytes of payload retransmitted {direction}"), found, truth, truth * 0.03);
        }
    },
};

pub(crate) const DOWN_DATA_LOST: Bed = Bed {
    name: "octets_down_data_lost",
    about: "20/8 Mbit/s, a download of which 1 % of the segments is lost: the way up is little but acknowledgments.",
    runs: Runs::InAccuracy,
    run: |rows| {
        counted(rows, DOWN, ["20Mbit/s\"\nloss = \"1%\"\nonly = { tcp = \"data\" }", "8Mbit/s\""]);
    },
};

pub(crate) const ASYMMETRIC: Bed = Bed {
    name: "octets_asymmetric",
    about: "20/1 Mbit/s for 60 s, FIFOs: acknowledgments wait and are lost among the upload's segments.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let fifo = |packets: u32| format!("queue = {{ discipline = \"pfifo\", limit = \"{packets}p\" }}");
        let ways = [&*format!("20Mbit/s\"\n{}", fifo(300)), &*format!("1Mbit/s\"\n{}", fifo(50))];
        let measured = counted_for(LONG_LOAD, rows, BOTH_WAYS, ways);
        thinning(rows, &measured, Direction::Down);
    },
};

pub(crate) const ASYMMETRIC_MANAGED: Bed = Bed {
    name: "octets_asymmetric_managed",
    about: "20/1 Mbit/s for 60 s, fq_codel.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let ways = [&*format!("20Mbit/s\"\n{FQ_CODEL}"), &*format!("1Mbit/s\"\n{FQ_CODEL}")];
        let measured = counted_for(LONG_LOAD, rows, BOTH_WAYS, ways);
        thinning(rows, &measured, Direction::Down);
    },
};

pub(crate) const LINK_LAYER: Bed = Bed {
    name: "octets_link_layer",
    about: "20/8 Mbit/s on the link layer, which takes 18 bytes around every packet as DOCSIS does, FIFOs.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let way = |rate: &str| {
            format!("rate = \"{rate}\"\noverhead = \"18B\"\nqueue = {{ discipline = \"pfifo\", limit = \"100p\" }}")
        };
        let link = format!("rtt = \"20ms\"\n[up]\n{}\n[down]\n{}\n", way("8Mbit/s"), way("20Mbit/s"));
        let plan = format!("link_layer = \"docsis\"\n{}", everything(BOTH_WAYS, LOAD));
        let measured = Setting::new(link, plan).both_families().measure();
        let window = measured.window(Phase::Load);
        for direction in Direction::ALL {
            let log = measured.truth.direction(direction).records();
            let inside = log.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
            let truth = inside.map(|record| f64::from(record.length + 18)).sum::<f64>();
            let found = measured.number(&format!("/link_octets/load/{direction}/all/link_layer_octets"));
            rows.near(
                "R15",
                format!("bytes on the link layer {direction}, against the log"),
                found,
                truth,
                truth * 0.01,
            );
        }
    },
};

/// Measures over a link whose two ways begin with their rates, and compares every account of the load.
fn counted(rows: &mut Rows, load: &str, ways: [&str; 2]) -> Measured {
    counted_for(LOAD, rows, load, ways)
}

/// The same with a load of this length.
fn counted_for(length: &str, rows: &mut Rows, load: &str, [down, up]: [&str; 2]) -> Measured {
    let link = format!("rtt = \"20ms\"\n[up]\nrate = \"{up}\n[down]\nrate = \"{down}\n");
    let plan = everything(&format!("{load}each.class = [\"BE\", \"EF\"]"), length);
    let measured = Setting::new(link, plan).both_families().counted().measure();
    let uncounted = measured.analysis.link_octets.uncounted_flows.len();
    rows.equal("R7", "flows whose bytes are not counted", uncounted, 0);
    let window = measured.window(Phase::Load);
    let counters = measured.counted.as_ref().unwrap();
    for direction in Direction::ALL {
        let account = |part: &str| measured.number(&format!("/link_octets/load/{direction}/{part}/carried_octets"));
        let truth = counters.octets(direction, window.start.0.cast_signed(), window.end.0.cast_signed());
        rows.near("R7", format!("bytes {direction}, against the interface"), account("all"), truth, truth * 0.01);
        for family in AddressFamily::ALL {
            let truth = measured.delivered(direction, Some(family), &window);
            let found = account(family.name());
            rows.near("R7 R15", format!("bytes {direction}, {family}, against the log"), found, truth, truth * 0.01);
        }
    }
    measured
}

/// Bytes of payload of the load that came to the link within the load and had come before.
fn sent_again(measured: &Measured, direction: Direction) -> f64 {
    let window = measured.window(Phase::Load);
    let mut seen: HashSet<(AddressFamily, u16, u16, u32)> = HashSet::new();
    let carried = carried_by_port(measured, direction, |_| true);
    let loads = |record: &&Record| carried.get(&record.client_port(direction)).is_some_and(|carried| *carried > BULK);
    let mut records: Vec<&Record> = measured.truth.direction(direction).records().collect();
    records.sort_by_key(|record| record.arrival);
    let data = records.into_iter().filter(|record| record.protocol == TCP && record.tcp_payload > 0).filter(loads);
    let again = data.filter(|record| {
        let segment = (record.family, record.source_port, record.destination_port, record.tcp_sequence);
        !seen.insert(segment) && window.contains(&record.arrival)
    });
    again.map(|record| f64::from(record.tcp_payload)).sum()
}

/// The part of the acknowledgments of a direction's load that did not arrive: they travel the other way.
fn thinning(rows: &mut Rows, measured: &Measured, direction: Direction) {
    for family in AddressFamily::ALL {
        let pointer = format!("/link_octets/load/{direction}/{family}/acknowledgements/thinning");
        let what = format!("part of the acknowledgments of the load {direction} that is missing, {family}");
        let truth = missing(measured, direction, family);
        // Edges of the window: what is under way is counted at one end and not at the other.
        rows.near("R7", what, measured.number(&pointer), truth, 0.015);
    }
    let reasons = measured.analysis.validity.reasons.iter();
    let told =
        reasons.filter(|reason| reason.code == "acks_missing" && reason.text.starts_with(subject(direction))).count();
    let many = AddressFamily::ALL.into_iter().any(|family| missing(measured, direction, family) > 0.1);
    rows.equal("R7", format!("acks_missing is reported of the load {direction}"), told, usize::from(many));
}

fn subject(direction: Direction) -> &'static str {
    match direction {
        Direction::Down => "Download",
        Direction::Up => "Upload",
    }
}

/// Bytes of payload that came to the link, by the client's port of each TCP connection.
fn carried_by_port(measured: &Measured, direction: Direction, wanted: impl Fn(&Record) -> bool) -> HashMap<u16, u64> {
    let mut carried: HashMap<u16, u64> = HashMap::new();
    for record in
        measured.truth.direction(direction).records().filter(|record| record.protocol == TCP && wanted(record))
    {
        *carried.entry(record.client_port(direction)).or_default() += u64::from(record.tcp_payload);
    }
    carried
}

fn missing(measured: &Measured, direction: Direction, family: AddressFamily) -> f64 {
    let window = measured.window(Phase::Load);
    let stream = |record: &&Record| record.protocol == TCP && record.family == family;
    let carried = carried_by_port(measured, direction, |record| record.family == family);
    // As the metric is defined: up to the last acknowledgment of each stream that arrived within the load. Later ones are
    // still in a queue, which may drop more and more of them.
    let back = direction.opposite();
    let mut streams: HashMap<u16, Vec<&Record>> = HashMap::new();
    for record in measured.truth.direction(back).records().filter(stream) {
        let port = record.client_port(back);
        let loads = carried.get(&port).is_some_and(|carried| *carried > BULK);
        if loads && record.tcp_payload == 0 && window.contains(&record.arrival) {
            streams.entry(port).or_default().push(record);
        }
    }
    let (mut all, mut lost) = (0, 0);
    for records in streams.values_mut() {
        records.sort_by_key(|record| record.arrival);
        let arrived = |record: &&&Record| record.delivery().is_some_and(|at| window.contains(&at));
        let last = records.iter().filter(arrived).map(|record| record.arrival).max();
        for record in records.iter().filter(|record| Some(record.arrival) <= last) {
            all += 1;
            lost += u32::from(record.delivery().is_none());
        }
    }
    f64::from(lost) / f64::from(all)
}
