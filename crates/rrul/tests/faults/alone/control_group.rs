//! A client whose control group may use a twentieth of a core.

use std::fs;
use std::time::Duration;

use crate::program::{Folder, Server, end_of, run_short, shown_in_full, skipped};
use crate::quota::Group;
use crate::verdict::{Verdict, recording};

/// Load that takes more than that, even on a busy machine.
const HEAVY: &str = "
title = \"as much as goes\"
phases = { idle = \"1s\", load = \"3s\", after = \"500ms\" }
[flow.bulk]
type = \"bulk_tcp\"
component = \"load\"
during = [\"load\"]
each.direction = [\"up\", \"down\"]
[flow.probe]
type = \"udp_probe\"
component = \"realtime\"
";

#[test]
fn a_client_with_a_quota_of_processor_time_says_how_much_it_was_held_back() {
    let test = "a_client_with_a_quota_of_processor_time_says_how_much_it_was_held_back";
    let group = match Group::limited() {
        Ok(group) => group,
        Err(reason) => return skipped(test, &format!("no control group with a quota can be made: {reason}")),
    };
    let server = Server::start(&[]);
    let folder = Folder::new();
    folder.write("short.toml", HEAVY);
    let ended = end_of(group.command(&run_short(&folder, &server.name(), &[])));
    let path = folder.file("out.rrul");
    let recorded = recording(&path);
    let rows: Vec<_> = recorded.frames.iter().flat_map(|frame| frame.tables.cgroup_throttle.rows()).collect();
    let (first, last) = (rows.first().unwrap(), rows.last().unwrap());
    // A period ends each 100 ms in which the group wants anything.
    assert!(last.periods > first.periods + 20, "{first:?} {last:?}");
    let kernel = fs::read_to_string(group.0.join("cpu.stat")).unwrap();
    let of_kernel = |name: &str| -> u64 {
        let line = kernel.lines().find(|line| line.starts_with(name)).unwrap();
        line.split(' ').nth(1).unwrap().parse().unwrap()
    };
    assert!(last.periods <= of_kernel("nr_periods") && last.throttled_periods <= of_kernel("nr_throttled"), "{kernel}");
    // The group is the client's own, so that all of it was seen but the end: it is read once a second. The analysis then takes as long
    // as the processor needs, all of that throttled.
    let end = recorded.header.phases.last().unwrap().window.to;
    assert!(last.at + Duration::from_millis(1500) >= end, "{last:?}, the test ended at {end:?}");
    assert!(last.throttled_periods > of_kernel("nr_throttled") / 2, "{last:?} {kernel}");
    let hosts = &Verdict::of(&path).summary["hosts"];
    let share = hosts[0]["throttled_share"].as_f64().unwrap_or_else(|| panic!("{hosts:#}"));
    assert!(share > 0.25, "throttled in {share} of its periods: {ended:#?}");
    assert!(hosts[1]["throttled_share"].is_null(), "the server has no quota");
    let shown = shown_in_full(&path).stdout;
    assert!(shown.contains("client: throttled by its CPU quota in "), "{shown}");
}
