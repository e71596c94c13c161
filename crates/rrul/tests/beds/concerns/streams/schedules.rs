//! The same seed twice: what is sent when is the same, so that two runs compare.

use std::collections::BTreeSet;

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::time::TestTime;

use crate::plans::{BOTH_WAYS, THREE_CLASSES, plan};
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

fn of_all_kinds() -> String {
    let flows = [
        ("marking_sweep", "during = [\"before\"]\ninterval = \"2ms\""),
        ("bulk_tcp", BOTH_WAYS),
        ("udp_probe", THREE_CLASSES),
        ("voip", "schedule = \"full\"\ndirection = \"up\""),
        ("tcp_connect", ""),
        ("tcp_records", "direction = \"up\""),
    ];
    plan("before = \"2600ms\", idle = \"2s\", load = \"4s\", after = \"1s\"", &flows)
}

pub(crate) const REPEATED: Bed = Bed {
    name: "schedules",
    about: "20/8 Mbit/s, the same plan and seed twice, then another seed: what is due when, packet by packet.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let link = "rtt = \"20ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n\
            [up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"\n";
        let [one, two, other] = [7, 7, 8].map(|seed| Due::of(&Setting::new(link, of_all_kinds()).seed(seed).measure()));
        let due = one.0.len();
        rows.holds("R14", "packets and connections, and when each is due", "thousands", due, due > 3000);
        // What a host that stalls leaves out is in one run and not in the other.
        let skipped = one.1 + two.1;
        let apart = one.0.symmetric_difference(&two.0).count() as f64;
        rows.between("R14", "of these, not due in both runs of one seed", Some(apart), skipped, 0.0..=skipped as f64);
        let common = one.0.intersection(&other.0).count();
        rows.holds("R14", "due at the same time with another seed", "few", common, common < due / 2);
    },
};

/// When packets and connections of each flow were due, and how many of them were left out.
struct Due(BTreeSet<(FlowId, TestTime)>, u64);

impl Due {
    fn of(measured: &Measured) -> Self {
        let (mut due, mut skipped) = (BTreeSet::new(), 0);
        for tables in measured.recording.tables_of(ObservationPoint::Client) {
            due.extend(tables.probe_sent.rows().map(|row| (row.flow, row.scheduled)));
            due.extend(tables.connection.rows().map(|row| (row.flow, row.scheduled)));
            skipped += tables.probes_skipped.rows().map(|row| u64::from(row.count)).sum::<u64>();
        }
        Self(due, skipped)
    }
}
