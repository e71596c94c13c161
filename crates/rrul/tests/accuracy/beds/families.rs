//! Two address families, of which one is worse off or not there at all.

use rrul_lab::Fate;
use rrul_model::flow::{AddressFamily, Direction};

use crate::Bed;
use crate::bed::Setting;
use crate::rows::Rows;

const PLAN: &str = r#"
title = "one stream a family each way"
phases = { idle = "3s", load = "20s", after = "4s" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
[flow.probe]
type = "udp_probe"
component = "realtime"
[flow.connect]
type = "tcp_connect"
component = "realtime"
interval = "200ms"
"#;

const BLACKHOLED: &str = "only = { family = \"ipv6\" }\nloss = \"100%\"\n";
const POLICED: &str = "only = { family = \"ipv6\" }\npolice = { rate = \"5Mbit/s\", size = \"60kB\" }\n";

fn link(impairment: &str) -> String {
    let queue = "rate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
    format!("rtt = \"20ms\"\n[down]\n{queue}{impairment}[up]\n{queue}{impairment}")
}

pub(crate) const BLACKHOLE: Bed = Bed {
    name: "ipv6_blackhole",
    about: "20/20 Mbit/s, IPv6 addresses there and every packet to and from them lost.",
    quick: false,
    run: blackhole,
};

fn blackhole(rows: &mut Rows) {
    let measured = Setting::new(link(BLACKHOLED), PLAN).both_families().measure();
    rows.equal("R1 R50", "families under test", measured.summary["families"].to_string(), "[\"ipv4\"]".to_owned());
    let absent: Vec<AddressFamily> = measured.analysis.absent_families.iter().map(|absent| absent.family).collect();
    let told = measured.analysis.absent_families.first().map_or(String::new(), |absent| absent.reason.clone());
    rows.holds("R50", "ipv6 is told to be absent, with a reason", "ipv6", told, absent == [AddressFamily::Ipv6]);
}

pub(crate) const HALF: Bed = Bed {
    name: "ipv6_policed",
    about: "20/20 Mbit/s, and IPv6 policed to 5 Mbit/s: the same address family policy in both directions.",
    quick: false,
    run: half,
};

fn half(rows: &mut Rows) {
    let measured = Setting::new(link(POLICED), PLAN).both_families().measure();
    for (direction, name) in [(Direction::Down, "down"), (Direction::Up, "up")] {
        let from = measured.number(&format!("/sharing/{name}/from_ns")).unwrap_or(0.0);
        let to = measured.number(&format!("/sharing/{name}/to_ns")).unwrap_or(0.0);
        let load = measured.window_between(from as i64, to as i64);
        // By arrival at the receiver, as shares are: every full segment of the bulk streams counts.
        let of_family = |family| -> f64 {
            let log = measured.truth.direction(direction).records();
            let bulk = |record: &&rrul_lab::Record| {
                record.family == family && record.tcp_payload > 1000 && record.fate == Fate::Delivered
            };
            let inside = log.filter(bulk).filter(|record| record.delivery().is_some_and(|at| load.contains(&at)));
            inside.map(|record| f64::from(record.length)).sum()
        };
        let (ipv4, ipv6) = (of_family(AddressFamily::Ipv4), of_family(AddressFamily::Ipv6));
        let ratio = measured.number(&format!("/sharing/{name}/ipv6_to_ipv4"));
        rows.near("R27 R51", format!("ipv6 to ipv4, {name}"), ratio, ipv6 / ipv4, 0.02);
    }
}
