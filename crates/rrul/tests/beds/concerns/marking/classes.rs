//! Whether the path acts on classes: strict priority does, in its direction; first in, first out does not, nor does a fair
//! queue.

use rrul_analysis::metrics::sharing::class_difference::ClassDifference;
use rrul_lab::{Record, percentile};
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;

use crate::journal::UDP;
use crate::plans::{BOTH_WAYS, THREE_CLASSES, plan};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

const PFIFO: &str = "{ discipline = \"pfifo\", limit = \"100p\" }";
const PRIO: &str = "{ discipline = \"prio\", limit = \"100p\" }";

pub(crate) const PRIORITY: Bed = Bed {
    name: "priority",
    about: "20/8 Mbit/s: strict priority by class on the way up, one FIFO on the way down.",
    runs: Runs::SideBySide,
    run: |rows| priority(rows, [PRIO, PFIFO], Direction::Up),
};

pub(crate) const PRIORITY_DOWN: Bed = Bed {
    name: "priority_down",
    about: "20/8 Mbit/s: fq_codel on the way up, strict priority by class on the way down.",
    runs: Runs::SideBySide,
    run: |rows| priority(rows, ["\"fq_codel\"", PRIO], Direction::Down),
};

fn priority(rows: &mut Rows, [up, down]: [&str; 2], acting: Direction) {
    let link = format!(
        "rtt = \"10ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = {up}\n[down]\nrate = \"20Mbit/s\"\nqueue = {down}\n"
    );
    let flows = [("bulk_tcp", BOTH_WAYS), ("udp_probe", THREE_CLASSES)];
    let measured = Setting::new(link, plan("idle = \"2s\", load = \"14s\", after = \"3500ms\"", &flows)).measure();
    for direction in Direction::ALL {
        let expected = direction == acting;
        for name in [ServiceClass::EF, ServiceClass::BK] {
            let found = class(&measured, direction, name).and_then(|found| found.acted_on);
            let told = found.map_or("not known".to_owned(), |acted| acted.to_string());
            // Of background that starves too little comes back to be judged in the other direction.
            let may_be_unknown = name == ServiceClass::BK && !expected;
            let right = found == Some(expected) || may_be_unknown && found.is_none();
            rows.holds("R2", format!("{name} is treated otherwise {direction}"), expected, told, right);
        }
        let found = class(&measured, direction, ServiceClass::EF).map(|found| &found.delay_p50);
        let milliseconds = |of: fn(&_) -> Option<i64>| found.and_then(of).map(|found| found as f64 / 1e6);
        let wait = |class| median_wait(&measured, direction, class);
        let truth = wait(ServiceClass::EF) - wait(ServiceClass::BE);
        let difference = milliseconds(|found| found.difference_ns);
        let allowed = (truth.abs() * 0.05).max(1.0);
        rows.near("R2", format!("queueing of EF less BE {direction}, P50, ms"), difference, truth, allowed);
        let (low, high) = (milliseconds(|found| found.low_ns), milliseconds(|found| found.high_ns));
        let inside = low.is_some_and(|low| low <= truth + 1.0) && high.is_some_and(|high| high >= truth - 1.0);
        let told = format!("{:.2} to {:.2}", low.unwrap_or(f64::NAN), high.unwrap_or(f64::NAN));
        let what = format!("its interval {direction}, ms, has the truth within 1 ms");
        rows.holds("R2", what, format!("{truth:.2}"), told, inside);
    }
}

fn class(measured: &Measured, direction: Direction, class: ServiceClass) -> Option<&ClassDifference> {
    let directions = &measured.analysis.class_treatment.directions;
    let treatment = directions.iter().find(|one| one.direction == direction)?;
    treatment.classes.iter().find(|one| one.class == class)
}

/// The median wait of one class's probes in the log, in milliseconds; lost ones count as the longest.
fn median_wait(measured: &Measured, direction: Direction, class: ServiceClass) -> f64 {
    let window = measured.scored();
    let ours =
        |record: &&Record| record.protocol == UDP && record.tos_in == class.octet() && window.contains(&record.arrival);
    let records = measured.truth.direction(direction).records().filter(ours);
    let mut waits: Vec<u64> =
        records.map(|record| if record.delivery().is_some() { record.queueing_delay } else { u64::MAX }).collect();
    waits.sort_unstable();
    percentile(&waits, 50.0).map_or(f64::NAN, |wait| wait as f64 / 1e6)
}
