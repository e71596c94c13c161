//! Two address families, of which one is worse off or not there at all.

use std::collections::HashMap;

use rrul_engine::client::Families;
use rrul_lab::{Fate, Lab};
use rrul_model::flow::{AddressFamily, Direction};

use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::Setting;
use crate::{Bed, Runs};

/// A stream each way, probes and connections, with these phases.
fn each_way(phases: &str, streams: &str) -> String {
    let streams = format!("{BOTH_WAYS}{streams}");
    plan(phases, &[("bulk_tcp", &streams), ("udp_probe", ""), ("tcp_connect", "interval = \"200ms\"")])
}

const PHASES: &str = "idle = \"3s\", load = \"20s\", after = \"4s\"";

const BLACKHOLED: &str = "only = { family = \"ipv6\" }\nloss = \"100%\"\n";
const POLICED: &str = "only = { family = \"ipv6\" }\npolice = { rate = \"5Mbit/s\", size = \"60kB\" }\n";

fn link(impairment: &str) -> String {
    let queue = "rate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
    format!("rtt = \"20ms\"\n[down]\n{queue}{impairment}[up]\n{queue}{impairment}")
}

pub(crate) const BLACKHOLE: Bed = Bed {
    name: "ipv6_blackhole",
    about: "20/20 Mbit/s, IPv6 addresses there and every packet to and from them lost.",
    runs: Runs::InAccuracy,
    run: blackhole,
};

fn blackhole(rows: &mut Rows) {
    let measured = Setting::new(link(BLACKHOLED), each_way(PHASES, "")).both_families().measure();
    rows.equal("R1 R50", "families under test", measured.summary["families"].to_string(), "[\"ipv4\"]".to_owned());
    let absent: Vec<AddressFamily> =
        measured.analysis.test.absent_families.iter().map(|absent| absent.family).collect();
    let told = measured.analysis.test.absent_families.first().map_or(String::new(), |absent| absent.reason.clone());
    rows.holds("R50", "ipv6 is reported to be absent, with a reason", "ipv6", told, absent == [AddressFamily::Ipv6]);
}

pub(crate) const HALF: Bed = Bed {
    name: "ipv6_policed",
    about: "20/20 Mbit/s, and IPv6 policed to 5 Mbit/s in both directions.",
    runs: Runs::InAccuracy,
    run: half,
};

fn half(rows: &mut Rows) {
    let measured = Setting::new(link(POLICED), each_way(PHASES, "")).both_families().measure();
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
        rows.near("R27 R51", format!("ipv6 to ipv4, {name}"), ratio, ipv6 / ipv4, 0.005);
    }
}

pub(crate) const LISTS: Bed = Bed {
    name: "families",
    about: "20/20 Mbit/s with IPv4 alone, IPv6 alone, both, and both of which only one is asked for: the load has the same \
        number of streams, shared between the families that are there.",
    runs: Runs::InAccuracy,
    run: lists,
};

fn lists(rows: &mut Rows) {
    let plan = each_way("idle = \"1s\", load = \"4s\", after = \"1s\"", "count_alone = 2");
    let [ipv4, ipv6] = AddressFamily::ALL;
    let lost = format!("only = {{ family = \"{ipv4}\" }}\nloss = \"100%\"\n");
    let over = |impairment: &str| Setting::new(link(impairment), plan.clone()).both_families();
    let mut asked_for = over("");
    asked_for.families = Families::Only(ipv6);
    for (about, setting, truth) in [
        ("IPv4 alone", over("").beside(without_ipv6), vec![ipv4]),
        ("IPv6 alone", over(&lost), vec![ipv6]),
        ("both", over(""), vec![ipv4, ipv6]),
        ("IPv6 asked for", asked_for, vec![ipv6]),
    ] {
        let measured = setting.measure();
        let names: Vec<&str> = truth.iter().map(|family| family.name()).collect();
        let told = measured.summary["families"].to_string();
        rows.equal("R1", format!("{about}: families under test"), told, serde_json::to_string(&names).unwrap());
        for (place, family) in truth.iter().enumerate() {
            for (member, allowed) in [("min_ns", 0.5), ("p50_ns", 1.0)] {
                let found = measured.milliseconds(&format!("/round_trip_delay/families/{place}/idle/{member}"));
                rows.near(
                    "R44",
                    format!("{about}: idle round trip over {family}, {member}, in ms"),
                    found,
                    20.0,
                    allowed,
                );
            }
        }
        for family in AddressFamily::ALL {
            for direction in Direction::ALL {
                // What the log saw to carry data, and not what the plan says.
                let mut streams: HashMap<u16, u64> = HashMap::new();
                let log = measured.truth.direction(direction).records();
                for record in log.filter(|record| record.family == family && record.delivery().is_some()) {
                    let port = record.client_port(direction);
                    *streams.entry(port).or_default() += u64::from(record.tcp_payload);
                }
                let full = streams.values().filter(|octets| **octets > 500_000).count();
                let expected = if truth.contains(&family) { 2 / truth.len() } else { 0 };
                rows.equal("R50", format!("{about}: full streams {direction} over {family}"), full, expected);
            }
        }
    }
}

/// As on a host that was booted without IPv6.
fn without_ipv6(lab: &Lab) {
    for host in [lab.client(), lab.server()] {
        host.run(|| std::fs::write("/proc/sys/net/ipv6/conf/all/disable_ipv6", "1")).unwrap().unwrap();
    }
}
