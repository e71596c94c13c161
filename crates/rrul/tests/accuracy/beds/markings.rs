//! What links make of markings, in both families.

use std::collections::BTreeMap;

use rrul_analysis::metrics::marking::marking_path::MarkingPath;
use rrul_lab::Record;
use rrul_model::flow::{AddressFamily, Direction};
use serde_json::Value;

use crate::Bed;
use crate::bed::{Measured, Setting};
use crate::journal::UDP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;

/// A sweep on the idle line.
fn sweep() -> String {
    let sweep = "during = [\"before\"]\ninterval = \"2ms\"";
    plan("before = \"2600ms\", idle = \"1s\"", &[("marking_sweep", sweep), ("udp_probe", "")])
}

/// A rewriting, and what is to be said of code points, ECT(0) and ECT(1).
type Way = (&'static str, &'static str, &'static str, &'static str);

const PASS: Way = ("", "preserved", "pass", "pass");
const BLEACH: Way = ("dscp = \"bleach\"", "bleached", "pass", "pass");
const CLEAR: Way = ("ecn = \"clear\"", "preserved", "cleared", "cleared");
const CLEAR_WITHOUT_ECT1: Way = ("ecn = \"clear\"", "preserved", "cleared", "unknown");
const BLEACH_AND_CLEAR: Way = ("dscp = \"bleach\"\necn = \"clear\"", "bleached", "cleared", "cleared");
const SWAP: Way = ("ecn = \"ect1_to_ect0\"", "preserved", "pass", "to_ect0");
const PRECEDENCE: Way = ("dscp = \"clear_precedence\"", "precedence_bleached", "pass", "pass");
const ONE_CLASS: Way = ("dscp = { EF = \"CS1\" }", "altered", "pass", "pass");
const MARK: Way = ("ecn = { mark_ce = \"10%\" }", "preserved", "marked_idle", "marked_idle");
const DROP: Way = ("only = { ecn = \"ect1\" }\nloss = \"100%\"", "preserved", "pass", "dropped");

pub(crate) const BLEACHED: Bed = Bed {
    name: "bleached",
    about: "Code points are set to 0 on the way up; on the way down EF, and it alone, becomes CS1.",
    quick: false,
    run: |rows| drop(both(rows, BLEACH, ONE_CLASS)),
};

pub(crate) const REWRITTEN: Bed = Bed {
    name: "rewritten",
    about: "ECN is cleared on the way up; on the way down the upper three bits of code points are.",
    quick: false,
    run: |rows| drop(both(rows, CLEAR, PRECEDENCE)),
};

pub(crate) const SWAPPED: Bed = Bed {
    name: "ect1_to_ect0",
    about: "ECT(1) becomes ECT(0) on the way down, and nothing is rewritten on the way up.",
    quick: false,
    run: |rows| drop(both(rows, PASS, SWAP)),
};

pub(crate) const DROPPED: Bed = Bed {
    name: "ect1_dropped",
    about: "Packets that bear ECT(1) are dropped on the way down.",
    quick: false,
    run: |rows| drop(both(rows, PASS, DROP)),
};

pub(crate) const BLEACHED_ALL: Bed = Bed {
    name: "bleached_all",
    about: "Code points are set to 0 and ECN is cleared, both ways.",
    quick: false,
    run: |rows| drop(both(rows, BLEACH_AND_CLEAR, BLEACH_AND_CLEAR)),
};

pub(crate) const SWAPPED_UP: Bed = Bed {
    name: "ect1_to_ect0_up",
    about: "ECT(1) becomes ECT(0) on the way up, and one in ten is marked CE on the way down.",
    quick: false,
    run: |rows| drop(both(rows, SWAP, MARK)),
};

pub(crate) const DROPPED_UP: Bed = Bed {
    name: "ect1_dropped_up",
    about: "Packets that bear ECT(1) are dropped on the way up, so nothing is known of them on the way down, where ECN is \
        cleared.",
    quick: false,
    run: |rows| drop(both(rows, DROP, CLEAR_WITHOUT_ECT1)),
};

pub(crate) const MARKED: Bed = Bed {
    name: "marked",
    about: "Of packets that bear ECT, one in ten is marked CE on the way up.",
    quick: false,
    run: |rows| drop(both(rows, MARK, PASS)),
};

pub(crate) const MARKED_LOADED: Bed = Bed {
    name: "marked_under_load",
    about: "50/50 Mbit/s, streams both ways, and of packets that bear ECT one in ten is marked CE both ways: a queue that \
        marks under load is no fault of the path.",
    quick: true,
    run: marked_under_load,
};

fn both(rows: &mut Rows, up: Way, down: Way) -> Measured {
    let link =
        format!("rtt = \"10ms\"\n[up]\nrate = \"50Mbit/s\"\n{}\n[down]\nrate = \"50Mbit/s\"\n{}\n", up.0, down.0);
    let measured = Setting::new(link, sweep()).both_families().measure();
    for family in AddressFamily::ALL {
        for (direction, name, way) in [(Direction::Up, "up", up), (Direction::Down, "down", down)] {
            verdicts(rows, &measured, family, name, way);
            matrix(rows, &measured, direction, family);
        }
    }
    measured
}

fn path<'a>(measured: &'a Measured, list: &str, family: AddressFamily, direction: &str) -> Option<&'a Value> {
    let paths = measured.summary.pointer(list)?.as_array()?;
    paths.iter().find(|path| path["family"] == family.name() && path["direction"] == direction)
}

fn verdicts(rows: &mut Rows, measured: &Measured, family: AddressFamily, direction: &str, way: Way) {
    let (_, dscp, ect0, ect1) = way;
    let word = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    let found =
        path(measured, "/markings/paths", family, direction).map_or(String::new(), |path| word(&path["verdict"]));
    rows.equal("R2", format!("code points {direction}, {family}"), found, dscp.to_owned());
    let ecn = path(measured, "/ecn/paths", family, direction);
    for (value, expected) in [("ect0", ect0), ("ect1", ect1)] {
        // The sweep stands before the idle phase, and counts as of an idle line.
        let found = ecn.map_or(String::new(), |path| word(&path["idle"][value]["verdict"]));
        rows.equal("R12", format!("{value} {direction}, {family}"), found, expected.to_owned());
    }
}

/// Every packet that bears a marking stands in the matrix as the log saw it go in and come out.
fn matrix(rows: &mut Rows, measured: &Measured, direction: Direction, family: AddressFamily) {
    type Cells = BTreeMap<(u8, Option<u8>), u64>;
    let of = |path: &&MarkingPath| path.direction == direction && path.family == family;
    let path = measured.analysis.markings.paths.iter().find(of);
    let mut found = Cells::new();
    for cell in path.into_iter().flat_map(|path| &path.matrix).filter(|cell| cell.sent_octet != 0) {
        *found.entry((cell.sent_octet, cell.received_octet)).or_default() += cell.packets;
    }
    let mut log = Cells::new();
    // Greetings, trains and probes bear none.
    let ours = |record: &&Record| record.protocol == UDP && record.family == family && record.tos_in != 0;
    for record in measured.truth.direction(direction).records().filter(ours) {
        *log.entry((record.tos_in, record.delivery().map(|_| record.tos_out))).or_default() += 1;
    }
    let other = log.iter().filter(|(cell, packets)| found.get(cell) != Some(packets)).count();
    let more = found.keys().filter(|cell| !log.contains_key(cell)).count();
    let what = format!("cells of the matrix {direction}, {family}, that are not the log's {}", log.len());
    rows.equal("R2 R12", what, other + more, 0);
    rows.holds("R2 R12", format!("cells in the log {direction}, {family}"), "over 60", log.len(), log.len() > 60);
}

fn marked_under_load(rows: &mut Rows) {
    let sweep = "during = [\"load\"]\ninterval = \"5ms\"";
    let flows = [("marking_sweep", sweep), ("bulk_tcp", BOTH_WAYS), ("udp_probe", "")];
    let plan = plan("idle = \"1s\", load = \"7s\", after = \"1s\"", &flows);
    let way = format!("rate = \"50Mbit/s\"\nqueue = \"fq_codel\"\n{}\n", MARK.0);
    let link = format!("rtt = \"10ms\"\n[up]\n{way}[down]\n{way}");
    let measured = Setting::new(link, plan).both_families().measure();
    let (mut intervals, mut held) = (0, 0);
    for family in AddressFamily::ALL {
        for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
            matrix(rows, &measured, direction, family);
            let ecn = path(&measured, "/ecn/paths", family, name).cloned().unwrap_or_default();
            rows.equal("R12", format!("ECN {name}, {family}"), ecn["verdict"].as_str().unwrap_or(""), "pass");
            for (value, octet) in [("ect1", 1), ("ect0", 2)] {
                let marked = |record: &&Record| {
                    (record.protocol, record.family, record.tos_in) == (UDP, family, octet) && record.marked
                };
                let truth = measured.truth.direction(direction).records().filter(marked).count();
                let found = &ecn["load"][value];
                let what = format!("packets of {value} alone that came with CE {name}, {family}");
                rows.equal("R12", what, found["as_ce"].to_string(), truth.to_string());
                let bound = |name: &str| found[name].as_f64();
                if let Some((low, high)) = bound("marked_share_low").zip(bound("marked_share_high")) {
                    intervals += 1;
                    held += u32::from(low <= 0.1 && 0.1 <= high && high - low < 0.2);
                }
            }
        }
    }
    rows.equal("R12", "shares marked that have an interval", intervals, 8);
    // Four and more of eight 95 % intervals miss once in 2700 runs.
    rows.between("R12", "of these, hold 10 %", Some(f64::from(held)), "95 %", 5.0..=8.0);
}
