//! Voice: packets that come too late count as lost.

use rrul_lab::{LabTime, Record};
use rrul_model::flow::Direction;

use crate::Bed;
use crate::bed::Setting;
use crate::journal::UDP;
use crate::rows::Rows;

const PLAN: &str = r#"
title = "voice alone"
phases = { idle = "12s" }
[flow.voice]
type = "voip"
component = "voip"
schedule = "full"
direction = "up"
"#;

pub(crate) const LATE: Bed = Bed {
    name: "late_voice",
    about: "Every tenth voice packet up comes 29 ms late: all of them in time. Then 31 ms: a tenth too late.",
    quick: false,
    run: late,
};

fn late(rows: &mut Rows) {
    for (extra, expected) in [(29, 0.0), (31, 0.1)] {
        let link = format!(
            "rtt = \"20ms\"\n[down]\nrate = \"50Mbit/s\"\n[up]\nrate = \"50Mbit/s\"\nonly = {{ protocol = \"udp\" }}\n\
             reorder = {{ every = 10, extra_delay = \"{extra}ms\" }}\n"
        );
        let measured = Setting::new(link, PLAN).measure();
        let t0 = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
        for flow in measured.analysis.voip.iter().flat_map(|voip| &voip.flows) {
            let Some(idle) = &flow.idle else { continue };
            let ours = |record: &&Record| {
                record.protocol == UDP && record.arrival >= t0 && record.tos_in == flow.flow.class.octet()
            };
            let log: Vec<&Record> = measured.truth.direction(Direction::Up).records().filter(ours).collect();
            let held = log.iter().filter(|record| record.reordered).count() as u64;
            let truth = if expected == 0.0 { 0 } else { held };
            let name = &flow.flow.name;
            // Sampled against the sender's schedule, a late send of the host itself may make one more or less.
            let found = [("late30", idle.late30), ("late30_fixed", idle.late30_fixed)];
            for (word, found) in found {
                rows.near("R36", format!("{name}, {extra} ms: {word}"), Some(found as f64), truth as f64, 1.0);
            }
            rows.equal("R34", format!("{name}, {extra} ms: lost"), idle.lost, 0);
            rows.near("R36", format!("{name}, {extra} ms: effective loss"), idle.effective_loss, expected, 0.002);
        }
    }
}
