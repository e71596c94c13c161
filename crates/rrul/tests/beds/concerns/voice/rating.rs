//! Voice: packets that come too late count as lost.

use rrul_lab::{LabTime, Record};
use rrul_model::flow::Direction;

use crate::journal::UDP;
use crate::plans::plan;
use crate::rows::Rows;
use crate::setting::Setting;
use crate::{Bed, Runs};

/// Voice upwards and nothing else.
fn voice_alone() -> String {
    plan("idle = \"12s\"", &[("voip", "schedule = \"full\"\ndirection = \"up\"")])
}

pub(crate) const LATE: Bed = Bed {
    name: "late_voice",
    about: "Every tenth voice packet up comes 29 ms late: all of them in time. Then 31 ms: a tenth too late.",
    runs: Runs::InAccuracy,
    run: late,
};

fn late(rows: &mut Rows) {
    for (extra, expected) in [(29, 0.0), (31, 0.1)] {
        let link = format!(
            "rtt = \"20ms\"\n[down]\nrate = \"50Mbit/s\"\n[up]\nrate = \"50Mbit/s\"\nonly = {{ protocol = \"udp\" }}\n\
             reorder = {{ every = 10, extra_delay = \"{extra}ms\" }}\n"
        );
        let measured = Setting::new(link, voice_alone()).measure();
        let t0 = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
        for flow in measured.analysis.voip.iter().flat_map(|voip| &voip.flows) {
            let Some(idle) = &flow.idle else { continue };
            let ours = |record: &&Record| {
                record.protocol == UDP && record.arrival >= t0 && record.tos_in == flow.flow.class.octet()
            };
            let log: Vec<&Record> = measured.truth.direction(Direction::Up).records().filter(ours).collect();
            // Above the smallest by more than 30 ms, by the log's own delays.
            let delays: Vec<u64> = log.iter().filter_map(|one| Some(one.delivery()?.0 - one.arrival.0)).collect();
            let least = delays.iter().min().copied().unwrap_or_default();
            let truth = delays.iter().filter(|delay| **delay - least > 30_000_000).count();
            let name = &flow.flow.name;
            let found = [("late30", idle.late30), ("late30_fixed", idle.late30_fixed)];
            for (word, found) in found {
                rows.near("R36", format!("{name}, {extra} ms: {word}"), Some(found as f64), truth as f64, 1.0);
            }
            rows.equal("R34", format!("{name}, {extra} ms: lost"), idle.lost, 0);
            rows.near("R36", format!("{name}, {extra} ms: effective loss"), idle.effective_loss, expected, 0.002);
        }
    }
}

/// Bytes of an IPv4 packet of voice.
const VOICE: u16 = 120;

/// Voice of one class upwards, beside probes of another that bring the clocks together.
fn a_call() -> String {
    let voice = "during = [\"idle\"]\nschedule = \"full\"\ndirection = \"up\"\nclass = \"EF\"";
    plan("idle = \"20s\", after = \"3500ms\"", &[("voip", voice), ("udp_probe", "class = \"BE\"")])
}

pub(crate) const RATED: Bed = Bed {
    name: "voice_rating",
    about: "150 ms each way, and of a call up every hundred packets lose three in a row and one alone: what the E-model \
        makes of the log's delay, loss and bursts.",
    runs: Runs::InAccuracy,
    run: rated,
};

fn rated(rows: &mut Rows) {
    let lost: Vec<String> = (0..40).flat_map(|at| [1, 2, 3, 50].map(|n| (100 * at + n).to_string())).collect();
    let link = format!(
        "rtt = \"300ms\"\n[down]\nrate = \"50Mbit/s\"\n[up]\nrate = \"50Mbit/s\"\nonly = {{ protocol = \"udp\", class = \"EF\" }}\n\
         loss = {{ packets = [{}] }}\n",
        lost.join(", ")
    );
    let measured = Setting::new(link, a_call()).measure();
    let t0 = LabTime(measured.recording.header.clocks.client_origin.cast_unsigned());
    let ours = |record: &&Record| record.protocol == UDP && record.arrival >= t0 && record.length == VOICE;
    let mut log: Vec<&Record> = measured.truth.direction(Direction::Up).records().filter(ours).collect();
    log.sort_by_key(|record| record.arrival);
    let took = |one: &Record| Some((one.delivery()?.0 - one.arrival.0) as f64 / 1e6);
    let delays: Vec<f64> = log.iter().filter_map(|one| took(one)).collect();
    let delay = delays.iter().sum::<f64>() / delays.len() as f64;
    let least = delays.iter().copied().fold(f64::INFINITY, f64::min);
    let lost = log.len() - delays.len();
    // A moment in which this machine stands still makes packets late, too.
    let gone = |one: &Record| took(one).is_none_or(|delay| delay > least + 30.0);
    let runs = log.chunk_by(|one, next| gone(one) == gone(next));
    let bursts: Vec<usize> = runs.filter(|run| gone(run[0])).map(<[&Record]>::len).collect();
    let missing: usize = bursts.iter().sum();
    let loss = missing as f64 / log.len() as f64;
    let burst_ratio = missing as f64 / bursts.len() as f64 * (1.0 - loss);

    let flow = measured.entry("/voip/flows", "flow", "voip/EF/up/ipv4").unwrap();
    let found = |pointer: &str| flow["idle"].pointer(pointer).and_then(serde_json::Value::as_f64);
    rows.equal("R34", "packets lost", flow["idle"]["lost"].to_string(), lost.to_string());
    rows.near("R34 R36", "effective loss", found("/effective_loss"), loss, 0.001);
    rows.near("R34 R36", "burst ratio of what was lost or late", found("/effective_burst_ratio"), burst_ratio, 0.05);
    rows.near("R35", "mean one-way delay, ms", found("/one_way_delay_mean_ns").map(|mean| mean / 1e6), delay, 0.5);
    for (word, robustness) in [("plc", 25.1), ("no_plc", 4.3)] {
        let rating = rating(delay + 40.0, loss * 100.0, burst_ratio, robustness);
        let score = 1.0 + 0.035 * rating + rating * (rating - 60.0) * (100.0 - rating) * 7e-6;
        rows.near("R34", format!("R of the E-model, {word}"), found(&format!("/rating_{word}")), rating, 0.5);
        rows.near("R34", format!("mean opinion score, {word}"), found(&format!("/mos_{word}")), score, 0.02);
    }
}

/// G.107 with all but delay, loss and bursts at its defaults, G.711 in packets of 10 ms, played out 30 ms later.
fn rating(mouth_to_ear: f64, percent_lost: f64, burst_ratio: f64, robustness: f64) -> f64 {
    let x = (mouth_to_ear / 100.0).log2();
    let term = |x: f64| (1.0 + x.powi(6)).powf(1.0 / 6.0);
    let delay = if mouth_to_ear > 100.0 { 25.0 * (term(x) - 3.0 * term(x / 3.0) + 2.0) } else { 0.0 };
    93.2 - delay - 95.0 * percent_lost / (percent_lost / burst_ratio + robustness)
}
