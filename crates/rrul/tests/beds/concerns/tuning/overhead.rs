//! What a line adds to each packet, from loads of several packet sizes.

use rrul_analysis::tuning::overhead::{Framing, LineOverhead, NextSize, SizedRate, next_size};
use rrul_analysis::tuning::trials::sized_rate;
use rrul_model::flow::{Component, Direction, Parameter};

use super::session::{Session, tune};
use crate::rows::Rows;
use crate::{Bed, Runs};

pub(crate) const OVERHEAD: Bed = Bed {
    name: "line_overhead",
    about: "Packets of three sizes over lines of 20/8 Mbit/s that add 0, 18, 38 or 46 bytes to each, and of eight over ATM cells.",
    runs: Runs::InAccuracy,
    run: |rows| {
        for (layer, truth, direction) in [
            ("ip", 0, Direction::Up),
            ("ip+18", 18, Direction::Down),
            ("ip+38", 38, Direction::Up),
            ("ip+46", 46, Direction::Down),
        ] {
            overhead(rows, layer, direction, Framing::Packets, truth);
        }
        overhead(rows, "atm/pppoe-llcsnap", Direction::Up, Framing::Cells, 40);
    },
};

/// IP and TCP headers without options, IPv4.
const HEADERS: u16 = 40;

fn overhead(rows: &mut Rows, layer: &str, direction: Direction, framing: Framing, truth: u32) {
    let mut rates: Vec<SizedRate> = Vec::new();
    let mut all = Vec::new();
    while let Some(size) = next_size(&rates) {
        let mut plan = tune();
        for entry in plan.entries.iter_mut().filter(|entry| entry.component == Component::Load) {
            entry.directions = vec![direction];
            if let NextSize::Bytes(size) = size {
                let mss = Parameter::Text(format!("{}B", size - HEADERS));
                entry.parameters.iter_mut().for_each(|one| drop(one.0.insert("mss".to_owned(), mss.clone())));
            }
        }
        let session = Session { line: [20e6, 8e6], layer, rtt: "18ms", queue: "cake", plan, settings: &[[2.0, 2.0]] };
        let stepped = session.run();
        all.push(stepped.partial());
        let Some(rate) = sized_rate(&stepped.recording, &stepped.recording.steps[0], direction) else { break };
        rates.push(rate);
    }
    let name = format!("{layer}, {}", direction.name());
    rows.equal("R65", format!("{name}: the tests are whole"), all.concat(), String::new());
    let found = LineOverhead::find(&rates);
    rows.equal(
        "R65",
        format!("{name}: framing"),
        format!("{:?}", found.map(|found| found.framing)),
        format!("{:?}", Some(framing)),
    );
    rows.near("R65", format!("{name}: overhead, bytes"), found.map(|found| found.overhead), f64::from(truth), 2.0);
}
