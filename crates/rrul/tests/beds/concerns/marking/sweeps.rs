//! What links make of markings, in both families.

use std::collections::BTreeMap;

use rrul_analysis::metrics::marking::marking_path::MarkingPath;
use rrul_lab::Record;
use rrul_model::flow::{AddressFamily, Direction};
use serde_json::Value;

use crate::journal::UDP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// A sweep on the idle line and nothing else.
fn sweep() -> String {
    plan("before = \"2600ms\"", &[("marking_sweep", "during = [\"before\"]\ninterval = \"2ms\"")])
}

/// What one direction of a link does to markings, and what is to be said of code points, ECT(0) and ECT(1).
#[derive(Clone, Copy)]
struct Way {
    link: &'static str,
    dscp: &'static str,
    /// The code point that all become.
    remarked_to: Option<u8>,
    ect0: &'static str,
    ect1: &'static str,
}

const PASS: Way = Way { link: "", dscp: "preserved", remarked_to: None, ect0: "pass", ect1: "pass" };
const BLEACH: Way = Way { link: "dscp = \"bleach\"", dscp: "bleached", ..PASS };
const CLEAR: Way = Way { link: "ecn = \"clear\"", ect0: "cleared", ect1: "cleared", ..PASS };
/// Of packets that never reach the server nothing is known of the way back.
const CLEAR_WITHOUT_ECT1: Way = Way { ect1: "unknown", ..CLEAR };
const BLEACH_AND_CLEAR: Way = Way { link: "dscp = \"bleach\"\necn = \"clear\"", dscp: "bleached", ..CLEAR };
const SWAP: Way = Way { link: "ecn = \"ect1_to_ect0\"", ect1: "to_ect0", ..PASS };
const CONSTANT_AND_SWAP: Way = Way {
    link: "dscp = { any = \"AF11\", BE = \"BE\" }\necn = \"ect1_to_ect0\"",
    dscp: "remarked",
    remarked_to: Some(10),
    ..SWAP
};
const PRECEDENCE: Way = Way { link: "dscp = \"clear_precedence\"", dscp: "precedence_bleached", ..PASS };
const PRECEDENCE_AND_MARK: Way =
    Way { link: "dscp = \"clear_precedence\"\necn = { mark_ce = \"10%\" }", dscp: "precedence_bleached", ..MARK };
const ONE_CLASS: Way = Way { link: "dscp = { EF = \"CS1\" }", dscp: "altered", ..PASS };
const ONE_CLASS_WITHOUT_ECT1: Way = Way { ect1: "unknown", ..ONE_CLASS };
const MARK: Way = Way { link: "ecn = { mark_ce = \"10%\" }", ect0: "marked_idle", ect1: "marked_idle", ..PASS };
const DROP: Way = Way { link: "only = { ecn = \"ect1\" }\nloss = \"100%\"", ect1: "dropped", ..PASS };

pub(crate) const BLEACHED_UP: Bed = Bed {
    name: "bleached_up",
    about: "Code points are set to 0 and ECN is cleared on the way up, and nothing is rewritten on the way down.",
    runs: Runs::SideBySide,
    run: |rows| drop(both(rows, BLEACH_AND_CLEAR, PASS)),
};

pub(crate) const BLEACHED_DOWN: Bed = Bed {
    name: "bleached_down",
    about: "The same on the way down.",
    runs: Runs::SideBySide,
    run: |rows| drop(both(rows, PASS, BLEACH_AND_CLEAR)),
};

pub(crate) const CONSTANT_UP: Bed = Bed {
    name: "remarked_up",
    about: "Up, every code point but 0 becomes AF11 and ECT(1) becomes ECT(0); down, the upper three bits of code points are \
        cleared and one in ten is marked CE.",
    runs: Runs::SideBySide,
    run: |rows| drop(both(rows, CONSTANT_AND_SWAP, PRECEDENCE_AND_MARK)),
};

pub(crate) const CONSTANT_DOWN: Bed = Bed {
    name: "remarked_down",
    about: "The same with the directions exchanged.",
    runs: Runs::SideBySide,
    run: |rows| drop(both(rows, PRECEDENCE_AND_MARK, CONSTANT_AND_SWAP)),
};

pub(crate) const ONE_CLASS_UP: Bed = Bed {
    name: "one_class_up",
    about: "EF, and it alone, becomes CS1 on the way up; packets that bear ECT(1) are dropped on the way down.",
    runs: Runs::SideBySide,
    run: |rows| drop(both(rows, ONE_CLASS, DROP)),
};

pub(crate) const ONE_CLASS_DOWN: Bed = Bed {
    name: "one_class_down",
    about: "The same with the directions exchanged: of ECT(1) nothing is known on the way down.",
    runs: Runs::SideBySide,
    run: |rows| drop(both(rows, DROP, ONE_CLASS_WITHOUT_ECT1)),
};

pub(crate) const BLEACHED: Bed = Bed {
    name: "bleached",
    about: "Code points are set to 0 on the way up; on the way down EF, and it alone, becomes CS1.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, BLEACH, ONE_CLASS)),
};

pub(crate) const REWRITTEN: Bed = Bed {
    name: "rewritten",
    about: "ECN is cleared on the way up; on the way down the upper three bits of code points are.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, CLEAR, PRECEDENCE)),
};

pub(crate) const SWAPPED: Bed = Bed {
    name: "ect1_to_ect0",
    about: "ECT(1) becomes ECT(0) on the way down, and nothing is rewritten on the way up.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, PASS, SWAP)),
};

pub(crate) const DROPPED: Bed = Bed {
    name: "ect1_dropped",
    about: "Packets that bear ECT(1) are dropped on the way down.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, PASS, DROP)),
};

pub(crate) const BLEACHED_ALL: Bed = Bed {
    name: "bleached_all",
    about: "Code points are set to 0 and ECN is cleared, both ways.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, BLEACH_AND_CLEAR, BLEACH_AND_CLEAR)),
};

pub(crate) const SWAPPED_UP: Bed = Bed {
    name: "ect1_to_ect0_up",
    about: "ECT(1) becomes ECT(0) on the way up, and one in ten is marked CE on the way down.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, SWAP, MARK)),
};

pub(crate) const DROPPED_UP: Bed = Bed {
    name: "ect1_dropped_up",
    about: "Packets that bear ECT(1) are dropped on the way up, so nothing is known of them on the way down, where ECN is \
        cleared.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, DROP, CLEAR_WITHOUT_ECT1)),
};

pub(crate) const MARKED: Bed = Bed {
    name: "marked",
    about: "Of packets that bear ECT, one in ten is marked CE on the way up.",
    runs: Runs::InAccuracy,
    run: |rows| drop(both(rows, MARK, PASS)),
};

pub(crate) const MARKED_LOADED: Bed = Bed {
    name: "marked_under_load",
    about: "50/50 Mbit/s, streams both ways, and of packets that bear ECT one in ten is marked CE both ways: a queue that \
        marks under load is no fault of the path.",
    runs: Runs::SideBySide,
    run: marked_under_load,
};

fn both(rows: &mut Rows, up: Way, down: Way) -> Measured {
    let link =
        format!("rtt = \"10ms\"\n[up]\nrate = \"50Mbit/s\"\n{}\n[down]\nrate = \"50Mbit/s\"\n{}\n", up.link, down.link);
    let measured = Setting::new(link, sweep()).both_families().measure();
    for family in AddressFamily::ALL {
        for (direction, name, way) in [(Direction::Up, "up", up), (Direction::Down, "down", down)] {
            verdicts(rows, &measured, family, name, way);
            matrix(rows, &measured, direction, family, true);
        }
    }
    measured
}

fn path<'a>(measured: &'a Measured, list: &str, family: AddressFamily, direction: &str) -> Option<&'a Value> {
    let paths = measured.summary.pointer(list)?.as_array()?;
    paths.iter().find(|path| path["family"] == family.name() && path["direction"] == direction)
}

fn verdicts(rows: &mut Rows, measured: &Measured, family: AddressFamily, direction: &str, way: Way) {
    let Way { dscp, ect0, ect1, .. } = way;
    let word = |value: &Value| value.as_str().unwrap_or("nothing").to_owned();
    let found =
        path(measured, "/markings/paths", family, direction).map_or(String::new(), |path| word(&path["verdict"]));
    rows.equal("R2", format!("code points {direction}, {family}"), found, dscp.to_owned());
    let path_found = path(measured, "/markings/paths", family, direction).cloned().unwrap_or_default();
    let remarked_to = way.remarked_to.map_or(Value::Null, Value::from);
    rows.equal("R2", format!("all become, {direction}, {family}"), path_found["remarked_to"].clone(), remarked_to);
    if dscp == "altered" {
        let points = path_found["idle"]["altered"].as_array().cloned().unwrap_or_default();
        let told: Vec<_> = points.iter().map(|one| [&one["dscp"], &one["verdict"], &one["arrives_as"]]).collect();
        let (told, truth) = (serde_json::json!(told).to_string(), "[[46,\"remarked\",8]]".to_owned());
        rows.equal("R2", format!("code points altered {direction}, {family}"), told, truth);
    }
    let ecn = path(measured, "/ecn/paths", family, direction);
    for (value, expected) in [("ect0", ect0), ("ect1", ect1)] {
        // The sweep stands before the idle phase, and counts as of an idle line.
        let found = ecn.map_or(String::new(), |path| word(&path["idle"][value]["verdict"]));
        rows.equal("R12", format!("{value} {direction}, {family}"), found, expected.to_owned());
    }
}

/// Every packet is in the matrix as the log saw it go in and come out; `unmarked`: those without a marking, too, where
/// nothing but the sweep sends any.
fn matrix(rows: &mut Rows, measured: &Measured, direction: Direction, family: AddressFamily, unmarked: bool) {
    type Cells = BTreeMap<(u8, Option<u8>), u64>;
    let of = |path: &&MarkingPath| path.direction == direction && path.family == family;
    let path = measured.analysis.markings.paths.iter().find(of);
    let mut found = Cells::new();
    for cell in path.into_iter().flat_map(|path| &path.matrix).filter(|cell| unmarked || cell.sent_octet != 0) {
        *found.entry((cell.sent_octet, cell.received_octet)).or_default() += cell.packets;
    }
    let mut log = Cells::new();
    let ours = |record: &&Record| record.protocol == UDP && record.family == family && (unmarked || record.tos_in != 0);
    for record in measured.truth.direction(direction).records().filter(ours) {
        *log.entry((record.tos_in, record.delivery().map(|_| record.tos_out))).or_default() += 1;
    }
    // The greeting that opened the flow, and its answer, are no packets of the sweep.
    if let Some((_, count)) = log.iter_mut().find(|((sent, received), _)| *sent == 0 && received.is_some()) {
        *count -= 1;
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
    let way = format!("rate = \"50Mbit/s\"\nqueue = \"fq_codel\"\n{}\n", MARK.link);
    let link = format!("rtt = \"10ms\"\n[up]\n{way}[down]\n{way}");
    let measured = Setting::new(link, plan).both_families().measure();
    let (mut intervals, mut held) = (0, 0);
    for family in AddressFamily::ALL {
        for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
            matrix(rows, &measured, direction, family, false);
            let ecn = path(&measured, "/ecn/paths", family, name).cloned().unwrap_or_default();
            rows.equal("R12", format!("ECN {name}, {family}"), ecn["verdict"].as_str().unwrap_or(""), "pass");
            for (value, octet) in [("ect1", 1), ("ect0", 2)] {
                let marked = |record: &&Record| {
                    (record.protocol, record.family, record.tos_in) == (UDP, family, octet) && record.marked
                };
                let truth = measured.truth.direction(direction).records().filter(marked).count();
                let found = &ecn["load"][value];
                let what = format!("packets of {value} alone that came with CE {name}, {family}");
                // The last are reflected after the load, and count as idle.
                let with_ce = |phase: &str| ecn[phase][value]["as_ce"].as_u64().unwrap_or_default();
                rows.equal("R12", what, (with_ce("load") + with_ce("idle")).to_string(), truth.to_string());
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
