//! Octets on the link: rrul's account against the kernel's counters of the interfaces and against the log.

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::Phase;

use crate::Bed;
use crate::bed::Setting;
use crate::rows::Rows;

/// What a whole test sends, but the web.
const PLAN: &str = r#"
title = "everything, counted"
phases = { idle = "2s", load = "12s", after = "3s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
each.class = ["BE", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BE"]
[flow.udp_rr]
type = "udp_rr"
component = "realtime"
[flow.tcp_rr]
type = "tcp_rr"
component = "realtime"
[flow.records]
type = "tcp_records"
component = "realtime"
each.direction = ["down", "up"]
[flow.connect]
type = "tcp_connect"
component = "realtime"
[flow.icmp]
type = "icmp_echo"
component = "realtime"
[flow.voice]
type = "voip"
component = "voip"
each.direction = ["down", "up"]
"#;

pub(crate) const COUNTED: Bed = Bed {
    name: "octets",
    about: "20/8 Mbit/s, fq_codel, both families: every octet against the counters of the interfaces and the log.",
    quick: false,
    run: |rows| counted(rows, ""),
};

pub(crate) const ACKS_LOST: Bed = Bed {
    name: "octets_acks_lost",
    about: "The same, and of the acknowledgements without data a third is lost on the way up and a third on the way down.",
    quick: false,
    run: |rows| counted(rows, "only = { tcp = \"ack\" }\nloss = \"33%\"\n"),
};

fn counted(rows: &mut Rows, impairment: &str) {
    let queue = "queue = \"fq_codel\"";
    let link = format!(
        "rtt = \"20ms\"\n[up]\nrate = \"8Mbit/s\"\n{queue}\n{impairment}[down]\nrate = \"20Mbit/s\"\n{queue}\n{impairment}"
    );
    let measured = Setting::new(link, PLAN).both_families().counted().measure();
    let load = measured.window(Phase::Load);
    let counters = measured.counted.as_ref().unwrap();
    for (direction, name) in [(Direction::Up, "up"), (Direction::Down, "down")] {
        let account = |part: &str| measured.number(&format!("/link_octets/load/{name}/{part}/carried_octets"));
        let truth = counters.octets(direction, load.start.0.cast_signed(), load.end.0.cast_signed());
        rows.near("R7", format!("octets {name}, against the interface"), account("all"), truth, truth * 0.01);
        for family in AddressFamily::ALL {
            let truth = measured.delivered(direction, Some(family), &load);
            let found = account(family.name());
            rows.near("R7 R41", format!("octets {name}, {family}, against the log"), found, truth, truth * 0.01);
        }
    }
}
