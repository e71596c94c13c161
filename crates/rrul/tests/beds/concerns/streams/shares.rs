//! How streams share a line: classes and families of known rates.

use rrul_lab::Record;
use rrul_model::flow::{AddressFamily, Direction};

use crate::journal::TCP;
use crate::plans::plan;
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Streams that pace themselves, so that each has a share of its own; `flows` is two of rate, class and family.
fn paced(flows: [(&str, &str, &str); 2]) -> String {
    let [one, other] = flows.map(|(rate, class, family)| {
        format!("direction = \"down\"\nfamily = \"{family}\"\nclass = \"{class}\"\npacing_rate = \"{rate}\"")
    });
    let flows = [("udp_probe", ""), ("bulk_tcp", &*one), ("bulk_tcp", &*other)];
    plan("idle = \"1s\", load = \"10s\", after = \"1s\"", &flows)
}

const LINK: &str = "rtt = \"20ms\"\n[up]\nrate = \"50Mbit/s\"\n[down]\nrate = \"50Mbit/s\"\n";

/// Bytes of the streams of this byte and family that arrived within what is looked at for sharing.
fn carried(measured: &Measured, wanted: impl Fn(&Record) -> bool) -> f64 {
    let Some(sharing) = &measured.analysis.sharing.down else { return f64::NAN };
    let window = measured.window_between(sharing.from_ns, sharing.to_ns);
    let log = measured.truth.direction(Direction::Down).records();
    let ours = log.filter(|record| record.protocol == TCP && record.tcp_payload > 0 && wanted(record));
    let inside = ours.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
    inside.map(|record| f64::from(record.length)).sum()
}

pub(crate) const THREE_TO_ONE: Bed = Bed {
    name: "three_to_one",
    about: "Two streams down of which one has three times the rate of the other: a Jain index of 0.8.",
    runs: Runs::InAccuracy,
    run: three_to_one,
};

fn three_to_one(rows: &mut Rows) {
    let measured = Setting::new(LINK, paced([("6Mbit/s", "BE", "ipv4"), ("2Mbit/s", "EF", "ipv4")])).measure();
    rows.near("R27", "Jain index over classes", measured.number("/sharing/down/jain_classes/overall"), 0.8, 0.02);
    let (best, expedited) = (carried(&measured, |one| one.tos_in == 0), carried(&measured, |one| one.tos_in != 0));
    let classes = measured.summary.pointer("/sharing/down/classes").and_then(|list| list.as_array()).cloned();
    let share = |class: &str| classes.iter().flatten().find(|one| one["class"] == class)?["share"].as_f64();
    rows.near("R27", "share of EF", share("EF"), expedited / (best + expedited), 0.003);
}

pub(crate) const FAMILIES: Bed = Bed {
    name: "ipv6_half_rate",
    about: "A stream of each family down, that over IPv6 at half the rate: a Jain index over families of 0.9.",
    runs: Runs::InAccuracy,
    run: families,
};

fn families(rows: &mut Rows) {
    let flows = [("6Mbit/s", "BE", "ipv4"), ("3Mbit/s", "BE", "ipv6")];
    let measured = Setting::new(LINK, paced(flows)).both_families().measure();
    let jain = measured.number("/sharing/down/jain_families/overall");
    rows.near("R1 R27 R51", "Jain index over families", jain, 0.9, 0.02);
    let [four, six] = AddressFamily::ALL.map(|family| carried(&measured, |record| record.family == family));
    let ratio = measured.number("/sharing/down/ipv6_to_ipv4");
    rows.near("R27 R51", "IPv6 to IPv4", ratio, six / four, 0.005);
}
