//! Lines that run faster at first, and lines that do not.

use rrul_model::flow::Direction;

use crate::plans::{BOTH_WAYS, plan};
use crate::rows::Rows;
use crate::setting::Setting;
use crate::{Bed, Runs};

/// Four streams and probes, with phases of so many seconds.
fn four(direction: &str, [idle, load, after]: [u32; 3]) -> String {
    let phases = format!("idle = \"{idle}s\", load = \"{load}s\", after = \"{after}s\"");
    plan(&phases, &[("bulk_tcp", &format!("{direction}count = 4")), ("udp_probe", "")])
}

pub(crate) const POWERBOOST: Bed = Bed {
    name: "powerboost",
    about: "Down 40 Mbit/s for the first 25 MB above 20 Mbit/s, which is 10 s, and 20 Mbit/s from then on.",
    runs: Runs::InAccuracy,
    run: powerboost,
};

fn powerboost(rows: &mut Rows) {
    let link = "rtt = \"20ms\"\n[up]\nrate = \"20Mbit/s\"\n[down]\nrate = \"20Mbit/s\"\n\
        burst = { size = \"25MB\", peak = \"40Mbit/s\" }\nqueue = { discipline = \"pfifo\", limit = \"200p\" }\n";
    let measured = Setting::new(link, four("direction = \"down\"\n", [2, 36, 2])).measure();
    let burst = measured.summary.pointer("/bursts/down/burst").cloned().unwrap_or_default();
    let number = |name: &str| burst[name].as_f64();
    rows.near("R3", "length of the burst, s", number("duration_ns").map(|found| found / 1e9), 10.0, 1.0);
    rows.near("R3", "bytes of the burst", number("octets"), 25e6, 2.5e6);
    rows.near("R3", "rate in the burst, Mbit/s", number("peak_bps").map(|found| found / 1e6), 40.0, 1.0);
    rows.near("R3", "rate after it, Mbit/s", number("sustained_bps").map(|found| found / 1e6), 20.0, 0.5);
    let from = measured.milliseconds("/scored_window/down/from_ns");
    let load = measured.recording.phase(rrul_model::phase::Phase::Load).unwrap().from.0 as f64 / 1e6;
    rows.near("R3", "the scored window begins, s after the load", from.map(|from| (from - load) / 1e3), 12.0, 1.0);
    let goodput = measured.number("/goodput/down/sum_bps").map(|bits| bits / 1e6);
    rows.near("R3", "goodput is that of the line without it, Mbit/s", goodput, 20.0 * 1448.0 / 1500.0, 0.4);
}

pub(crate) const STEADY: Bed = Bed {
    name: "steady",
    about: "Twenty short runs over lines that stay what they are: 20/8 Mbit/s, FIFO and fq_codel in turns.",
    runs: Runs::InAccuracy,
    run: steady,
};

fn steady(rows: &mut Rows) {
    let run = |run: u32| {
        let queue = if run.is_multiple_of(2) { "\"fq_codel\"" } else { "{ discipline = \"pfifo\", limit = \"150p\" }" };
        let link = format!(
            "rtt = \"{}ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = {queue}\n[down]\nrate = \"20Mbit/s\"\nqueue = {queue}\n",
            10 + 2 * run
        );
        let measured = Setting::new(link, four(BOTH_WAYS, [1, 14, 1])).measure();
        let history = |direction| measured.analysis.bursts.direction(direction).cloned().unwrap_or_default();
        let both = Direction::ALL.map(history);
        (both.iter().filter(|one| one.searched).count(), both.iter().filter(|one| one.burst.is_some()).count())
    };
    let (mut searched, mut found) = (0, 0);
    // Two at a time, each over a link of its own.
    for pair in 0..10 {
        let both = std::thread::scope(|scope| {
            let beside = scope.spawn(move || run(2 * pair + 1));
            [run(2 * pair), beside.join().unwrap()]
        });
        for (looked, told) in both {
            searched += looked;
            found += told;
        }
    }
    rows.equal("R3", "directions in which a burst was looked for", searched, 40);
    rows.equal("R3", "directions in which one was found", found, 0);
}
