//! The same seed twice: what is sent when is the same, so that two runs compare.

use std::collections::BTreeMap;

use rrul_model::flow::FlowId;
use rrul_model::observation::ObservationPoint;
use rrul_model::time::TestTime;

use crate::Bed;
use crate::bed::{Measured, Setting};
use crate::plans::{BOTH_WAYS, THREE_CLASSES, plan};

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
    quick: false,
    run: |rows| {
        let link = "rtt = \"20ms\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n\
            [up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"\n";
        let [one, two, other] = [7, 7, 8].map(|seed| Due::of(&Setting::new(link, of_all_kinds()).seed(seed).measure()));
        rows.holds("R14", "packets and connections whose schedule is known", "thousands", one.len(), one.len() > 3000);
        rows.equal("R14", "of these, due at another time when the seed is the same", one.apart(&two), 0);
        let moved = one.apart(&other);
        rows.holds("R14", "due at another time when the seed is another", "most", moved, moved > one.len() / 2);
    },
};

/// When each packet and connection of each flow was due.
struct Due(BTreeMap<(FlowId, u32), TestTime>);

impl Due {
    fn of(measured: &Measured) -> Self {
        let mut due = BTreeMap::new();
        for tables in measured.recording.tables_of(ObservationPoint::Client) {
            due.extend(tables.probe_sent.rows().map(|row| ((row.flow, row.sequence), row.scheduled)));
            due.extend(tables.connection.rows().map(|row| ((row.flow, row.sequence), row.scheduled)));
        }
        Self(due)
    }

    fn len(&self) -> usize {
        self.0.len()
    }

    /// Of what both have, how much is due at another time. What a busy machine had to leave out one has and the other has not.
    fn apart(&self, other: &Self) -> usize {
        self.0.iter().filter(|(key, at)| other.0.get(key).is_some_and(|then| then != *at)).count()
    }
}
