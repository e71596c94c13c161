//! Whether the path acts on classes.

use rrul_analysis::metrics::sharing::class_difference::ClassDifference;
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;

use crate::Bed;
use crate::bed::{Measured, Setting};
use crate::journal::UDP;
use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;

/// Two streams each way, and probes of two classes.
fn two_classes() -> String {
    let flows = [("bulk_tcp", &*format!("{BOTH_WAYS}count = 2")), ("udp_probe", "each.class = [\"EF\", \"BE\"]")];
    plan("idle = \"3s\", load = \"24s\", after = \"4s\"", &flows)
}

pub(crate) const PRIORITY: Bed = Bed {
    name: "priority",
    about: "20/8 Mbit/s: strict priority by class on the way up, one FIFO on the way down.",
    quick: false,
    run: priority,
};

fn priority(rows: &mut Rows) {
    let link = "rtt = \"20ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = { discipline = \"prio\", limit = \"100p\" }\n\
        [down]\nrate = \"20Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"100p\" }\n";
    let measured = Setting::new(link, two_classes()).measure();
    for (direction, expected) in [(Direction::Up, true), (Direction::Down, false)] {
        let found = expedited(&measured, direction);
        let acted = found.and_then(|found| found.acted_on);
        let told = acted.map_or("not known".to_owned(), |acted| acted.to_string());
        rows.equal("R2", format!("EF is treated otherwise {direction}"), told, expected.to_string());
        let wait = |class| median_wait(&measured, direction, class);
        let truth = wait(ServiceClass::EF) - wait(ServiceClass::BE);
        let difference = found.and_then(|found| found.delay_p50.difference_ns).map(|found| found as f64 / 1e6);
        let allowed = (truth.abs() * 0.05).max(1.0);
        rows.near("R2", format!("queueing of EF less BE {direction}, P50, ms"), difference, truth, allowed);
    }
}

fn expedited(measured: &Measured, direction: Direction) -> Option<&ClassDifference> {
    let directions = &measured.analysis.class_treatment.directions;
    let treatment = directions.iter().find(|one| one.direction == direction)?;
    treatment.classes.iter().find(|one| one.class == ServiceClass::EF)
}

fn median_wait(measured: &Measured, direction: Direction, class: ServiceClass) -> f64 {
    let window = measured.scored();
    let ours = |record: &rrul_lab::Record| record.protocol == UDP && record.tos_in == class.octet();
    let waits = measured.truth.direction(direction).queueing_delays_of(window, ours);
    rrul_lab::percentile(&waits, 50.0).map_or(f64::NAN, |wait| wait as f64 / 1e6)
}
