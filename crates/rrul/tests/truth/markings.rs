//! What a link makes of markings: rrul's verdicts held against links that are known to alter them, and its matrix against
//! the link's log, packet by packet.

use std::collections::BTreeMap;

use rrul_analysis::metrics::marking::code_point::CodePointVerdict;
use rrul_analysis::metrics::marking::ecn::{EcnPath, EcnVerdict};
use rrul_analysis::metrics::marking::marking_path::{MarkingPath, PathVerdict};
use rrul_analysis::metrics::sharing::class_difference::ClassDifference;
use rrul_analysis::metrics::sharing::class_treatment::DirectionTreatment;
use rrul_analysis::{Analysis, analyze};
use rrul_engine::client::Families;
use rrul_lab::{Link, Record, percentile};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;

use crate::link_log::window_of;
use crate::over_a_link::{Measured, measure_over};

const UDP: u8 = 17;

/// A sweep on an idle line and nothing else.
const SWEEP: &str = r#"
title = "which markings survive"
overhead = "none"
phases = { survey = "2600ms" }
[flow.sweep]
type = "marking_sweep"
component = "analysis"
interval = "2ms"
"#;

/// What one direction of a link does to markings, and what rrul should say of it.
#[derive(Clone, Copy)]
struct Way {
    link: &'static str,
    dscp: PathVerdict,
    remarked_to: Option<u8>,
    ect0: EcnVerdict,
    ect1: EcnVerdict,
}

const PASS: Way =
    Way { link: "", dscp: PathVerdict::Preserved, remarked_to: None, ect0: EcnVerdict::Pass, ect1: EcnVerdict::Pass };
const BLEACH_AND_CLEAR: Way = Way {
    link: "dscp = \"bleach\"\necn = \"clear\"",
    dscp: PathVerdict::Bleached,
    ect0: EcnVerdict::Cleared,
    ect1: EcnVerdict::Cleared,
    ..PASS
};
const CONSTANT_AND_HIDE_L4S: Way = Way {
    link: "dscp = { any = \"AF11\", BE = \"BE\" }\necn = \"ect1_to_ect0\"",
    dscp: PathVerdict::Remarked,
    remarked_to: Some(10),
    ect1: EcnVerdict::ToEct0,
    ..PASS
};
const PRECEDENCE_AND_MARK: Way = Way {
    link: "dscp = \"clear_precedence\"\necn = { mark_ce = \"10%\" }",
    dscp: PathVerdict::PrecedenceBleached,
    ect0: EcnVerdict::MarkedIdle,
    ect1: EcnVerdict::MarkedIdle,
    ..PASS
};
const ONE_CLASS: Way = Way { link: "dscp = { EF = \"CS1\" }", dscp: PathVerdict::Altered, ..PASS };
const DROP_ECT1: Way = Way { link: "only = { ecn = \"ect1\" }\nloss = \"100%\"", ect1: EcnVerdict::Dropped, ..PASS };

fn link(up: &str, down: &str) -> Link {
    let text = format!("# A link of the test\nrtt = \"10ms\"\n[up]\n{up}\n[down]\n{down}\n");
    Link::from_toml("markings.toml", &text).expect("a link file")
}

fn over(up: Way, down: Way) -> Measured {
    let rate = |way: Way| format!("rate = \"50Mbit/s\"\n{}", way.link);
    measure_over(&link(&rate(up), &rate(down)), SWEEP, Families::Both, "markings")
}

/// How many UDP packets of one family the link was given with each octet, and with which it handed them over.
fn log_of(measured: &Measured, direction: Direction, family: AddressFamily) -> BTreeMap<(u8, Option<u8>), u64> {
    let mut log = BTreeMap::new();
    let ours = |record: &&Record| record.protocol == UDP && record.family == family;
    for record in measured.truth.direction(direction).records().filter(ours) {
        *log.entry((record.tos_in, record.delivery().map(|_| record.tos_out))).or_default() += 1;
    }
    // The greeting that opened the flow, and its answer, are no packets of the sweep.
    let greeted = log.keys().find(|(sent, received)| *sent == 0 && received.is_some()).copied();
    if let Some(count) = greeted.and_then(|cell| log.get_mut(&cell)) {
        *count -= 1;
    }
    log
}

fn is_right(measured: &Measured, analysis: &Analysis, direction: Direction, way: Way) {
    for family in AddressFamily::ALL {
        let case = format!("{direction} {family}, {:?}", way.link);
        let of = |path: &&MarkingPath| path.direction == direction && path.family == family;
        let path = analysis.markings.paths.iter().find(of).unwrap_or_else(|| panic!("{case}: nothing is known"));
        assert_eq!((path.verdict, path.remarked_to), (way.dscp, way.remarked_to), "{case}");
        let found: BTreeMap<(u8, Option<u8>), u64> =
            path.matrix.iter().map(|cell| ((cell.sent_octet, cell.received_octet), cell.packets)).collect();
        assert_eq!(found, log_of(measured, direction, family), "{case}: the matrix is the log's");
        let of = |path: &&EcnPath| path.direction == direction && path.family == family;
        let ecn = analysis.ecn.paths.iter().find(of).and_then(|path| path.idle).expect("a sweep on the idle line");
        assert_eq!((ecn.ect0.verdict, ecn.ect1.verdict), (way.ect0, way.ect1), "{case}");
        if way.dscp == PathVerdict::Altered {
            let altered = &path.idle.as_ref().expect("an idle line").altered;
            let found: Vec<_> = altered.iter().map(|point| (point.dscp, point.verdict, point.arrives_as)).collect();
            assert_eq!(found, [(46, CodePointVerdict::Remarked, Some(8))], "{case}");
        }
        eprintln!("{case}: {:?}, ECT(0) {:?}, ECT(1) {:?}: right", path.verdict, ecn.ect0.verdict, ecn.ect1.verdict);
    }
}

/// Of packets that never reach the server nothing is known of the way back.
const ONE_CLASS_WITHOUT_L4S: Way = Way { ect1: EcnVerdict::Unknown, ..ONE_CLASS };

macro_rules! markings {
    ($($name:ident: up $up:ident, down $down:ident;)*) => {$(
        #[test]
        fn $name() {
            rrul_lab::on_a_lab(stringify!($name), || {
                let measured = over($up, $down);
                let analysis = analyze(&measured.recording);
                assert!(analysis.failed_flows.is_empty(), "{:?}", analysis.failed_flows);
                is_right(&measured, &analysis, Direction::Up, $up);
                is_right(&measured, &analysis, Direction::Down, $down);
            });
        }
    )*};
}

markings! {
    markings_that_are_bleached_on_the_way_up_are_found_there: up BLEACH_AND_CLEAR, down PASS;
    markings_that_are_bleached_on_the_way_down_are_found_there: up PASS, down BLEACH_AND_CLEAR;
    a_constant_class_up_and_cleared_precedence_down: up CONSTANT_AND_HIDE_L4S, down PRECEDENCE_AND_MARK;
    cleared_precedence_up_and_a_constant_class_down: up PRECEDENCE_AND_MARK, down CONSTANT_AND_HIDE_L4S;
    one_class_remarked_up_and_l4s_dropped_down: up ONE_CLASS, down DROP_ECT1;
    l4s_dropped_up_and_one_class_remarked_down: up DROP_ECT1, down ONE_CLASS_WITHOUT_L4S;
}

const CLASSES: &str = r#"
title = "three classes beside each other"
overhead = "none"
phases = { idle = "2s", load = "14s", after = "3500ms" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BK", "BE"]
"#;

fn treatment(analysis: &Analysis, direction: Direction) -> &DirectionTreatment {
    let of = |entry: &&DirectionTreatment| entry.direction == direction;
    analysis.class_treatment.directions.iter().find(of).expect("classes beside each other")
}

fn class(treatment: &DirectionTreatment, class: ServiceClass) -> &ClassDifference {
    treatment.classes.iter().find(|entry| entry.class == class).expect("the class was sent")
}

/// The median wait of one class's probes in the log, nanoseconds.
fn median_wait(measured: &Measured, direction: Direction, class: ServiceClass) -> f64 {
    let load = window_of(&measured.recording, Phase::Load);
    let ours =
        |record: &&Record| record.protocol == UDP && record.tos_in == class.octet() && load.contains(&record.arrival);
    let records = measured.truth.direction(direction).records().filter(ours);
    let mut waits: Vec<u64> =
        records.map(|record| if record.delivery().is_some() { record.queueing_delay } else { u64::MAX }).collect();
    waits.sort_unstable();
    percentile(&waits, 50.0).expect("probes") as f64
}

/// Strict priority acts on classes, in its direction; first in, first out does not, nor does a fair queue.
fn strict_priority_is_found(name: &str, queues: [&str; 2], acting: Direction) {
    let [up, down] = queues;
    let link = link(&format!("rate = \"8Mbit/s\"\nqueue = {up}"), &format!("rate = \"20Mbit/s\"\nqueue = {down}"));
    let measured = measure_over(&link, CLASSES, Families::Only(AddressFamily::Ipv4), name);
    let analysis = analyze(&measured.recording);
    for direction in Direction::ALL {
        let treatment = treatment(&analysis, direction);
        for name in [ServiceClass::EF, ServiceClass::BK] {
            let found = class(treatment, name);
            eprintln!("{direction} {name}: {found:?}");
            // Of background that starves on the way up too little comes back to be judged.
            let judged = name == ServiceClass::EF || direction == acting;
            let truth = Some(direction == acting);
            assert!(found.acted_on == truth || !judged && found.acted_on.is_none(), "{direction} {name}");
        }
    }
    let found = class(treatment(&analysis, acting), ServiceClass::EF).delay_p50;
    let truth = median_wait(&measured, acting, ServiceClass::EF) - median_wait(&measured, acting, ServiceClass::BE);
    let difference = found.difference_ns.expect("medians of both") as f64;
    eprintln!("EF less BE, P50: measured {difference:.0} ns, truth {truth:.0} ns, {found:?}");
    assert!((difference - truth).abs() < (truth.abs() * 0.05).max(1e6), "measured {difference}, truth {truth}");
    assert!(found.low_ns.is_some_and(|low| low as f64 <= truth + 1e6), "{found:?}");
    assert!(found.high_ns.is_some_and(|high| high as f64 >= truth - 1e6), "{found:?}");
}

const PFIFO: &str = "{ discipline = \"pfifo\", limit = \"100p\" }";
const PRIO: &str = "{ discipline = \"prio\", limit = \"100p\" }";

#[test]
fn strict_priority_up_is_acted_on_and_a_fifo_down_is_not() {
    let name = "strict_priority_up_is_acted_on_and_a_fifo_down_is_not";
    rrul_lab::on_a_lab(name, || strict_priority_is_found(name, [PRIO, PFIFO], Direction::Up));
}

#[test]
fn strict_priority_down_is_acted_on_and_a_fair_queue_up_is_not() {
    let name = "strict_priority_down_is_acted_on_and_a_fair_queue_up_is_not";
    rrul_lab::on_a_lab(name, || strict_priority_is_found(name, ["\"fq_codel\"", PRIO], Direction::Down));
}
