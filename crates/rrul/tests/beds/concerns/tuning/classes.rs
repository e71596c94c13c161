//! What a shaper with classes gives to each while all of them load.

use rrul_analysis::tuning::trials;
use rrul_lab::Fate;
use rrul_model::flow::{Component, Direction};
use rrul_model::marking::ServiceClass;

use super::session::{Session, tune};
use crate::rows::Rows;
use crate::{Bed, Runs};

pub(crate) const CLASSES: Bed = Bed {
    name: "shaper_classes",
    about: "One stream of each of four classes each way through cake diffserv4, below a line of 20/8 Mbit/s.",
    runs: Runs::InAccuracy,
    run: classes,
};

/// Best effort 68.75 %, background 6.25 %, and a quarter for the classes above, which share a tin.
const PROMISED: [(ServiceClass, f64); 4] =
    [(ServiceClass::BE, 68.75), (ServiceClass::BK, 6.25), (ServiceClass::CS5, 12.5), (ServiceClass::EF, 12.5)];

fn classes(rows: &mut Rows) {
    let mut plan = tune();
    for entry in plan.entries.iter_mut().filter(|entry| entry.component == Component::Load) {
        (entry.count, entry.count_alone) = (1, None);
        entry.classes = PROMISED.map(|(class, _)| class).to_vec();
    }
    let queue = "{ discipline = \"cake\", tins = \"diffserv4\" }";
    let session = Session { line: [20e6, 8e6], layer: "ip", rtt: "18ms", queue, plan, settings: &[[0.9, 0.9]] };
    let stepped = session.run();
    rows.equal("R66", "the test is whole", stepped.partial(), String::new());
    let truth = stepped.lab.truth().unwrap();
    for trial in trials::trials(&stepped.recording) {
        let window = stepped.on_the_log(trial.step.window());
        for direction in Direction::ALL {
            let found = &trial.directions.get(direction).classes;
            let octets = |class| found.iter().filter(move |one| one.class == class).flat_map(|one| &one.seconds);
            let sum = |class| octets(class).map(|octets| octets.0 as f64).sum::<f64>();
            let all: f64 = PROMISED.iter().map(|(class, _)| sum(*class)).sum();
            let log = |class: Option<ServiceClass>| {
                let delivered = truth.direction(direction).records().filter(|record| record.fate == Fate::Delivered);
                let of = delivered.filter(|record| class.is_none_or(|class| record.tos_in >> 2 == class.octet() >> 2));
                let inside = of.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
                inside.map(|record| f64::from(record.tcp_payload)).sum::<f64>()
            };
            for (class, promised) in PROMISED {
                let share = Some(100.0 * sum(class) / all);
                let name = format!("{}: share of {class}, %", direction.name());
                rows.near("R66", format!("{name}, by the log"), share, 100.0 * log(Some(class)) / log(None), 1.0);
                rows.near("R66", name, share, promised, 2.0);
            }
        }
    }
}
