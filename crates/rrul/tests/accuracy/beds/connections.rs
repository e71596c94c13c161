//! New connections: what a lost SYN costs.

use crate::Bed;
use crate::bed::Setting;
use crate::rows::Rows;

pub(crate) const FIRST_SYN: Bed = Bed {
    name: "first_syn",
    about: "20/20 Mbit/s, 30 ms, every tenth SYN lost: its connection waits for the kernel's first timeout of 1 s.",
    quick: false,
    run: first_syn,
};

fn first_syn(rows: &mut Rows) {
    // The control connection and nothing else of the setting-up has SYNs before: two of them.
    let link = "rtt = \"30ms\"\n[down]\nrate = \"20Mbit/s\"\n[up]\nrate = \"20Mbit/s\"\n\
        only = { tcp = \"syn\" }\nloss = { every = 10 }";
    let plan = "title = \"connections\"\nphases = { idle = \"10s\", after = \"3s\" }\n[flow.connect]\ntype = \"tcp_connect\"\n\
        component = \"realtime\"\nduring = [\"idle\"]\ninterval = \"100ms\"\n[flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n";
    let measured = Setting::new(link, plan).measure();
    let lost = measured.truth.up.count(rrul_lab::Fate::ExactLoss);
    let idle = "/connections/idle";
    rows.equal("R19", "SYN sent again", measured.word(&format!("{idle}/syn_retransmits")), lost.to_string());
    rows.equal("R19", "connections that had to", measured.word(&format!("{idle}/retried")), lost.to_string());
    let median = measured.milliseconds(&format!("{idle}/connect/p50_ns"));
    rows.near("R19", "connect time P50, ms", median, 30.0, 1.0);
    let longest = measured.milliseconds(&format!("{idle}/connect/max_ns"));
    // The kernel's timer wheel rounds a second up by as much as 80 ms, depending on its tick.
    rows.between("R19", "connect time of the slowest, ms", longest, "1 s and 30 ms", 1029.0..=1112.0);
}
