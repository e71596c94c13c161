//! Whether streams lose and back off together.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::flow::Direction;

use crate::journal::TCP;
use crate::plans::plan;
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

fn eight_down() -> String {
    let flows = [("bulk_tcp", "direction = \"down\"\ncount = 8"), ("udp_probe", "")];
    plan("idle = \"2s\", load = \"24s\", after = \"2s\"", &flows)
}

fn link(down: &str) -> String {
    format!("rtt = \"40ms\"\n[up]\nrate = \"20Mbit/s\"\n[down]\nrate = \"20Mbit/s\"\n{down}\n")
}

const QUEUE: &str = "queue = { discipline = \"pfifo\", limit = \"200p\" }";

pub(crate) const LOCK_STEP: Bed = Bed {
    name: "lock_step",
    about: "20 Mbit/s, 40 ms, eight streams down, and six times the way down loses everything for 150 ms: all back off.",
    runs: Runs::InAccuracy,
    run: |rows| {
        let mut setting = Setting::new(link(QUEUE), eight_down());
        for outage in 0..6 {
            let at = Duration::from_millis(7500 + 3000 * outage);
            setting = setting.then(at, link(&format!("{QUEUE}\nloss = \"100%\"")));
            setting = setting.then(at + Duration::from_millis(150), link(QUEUE));
        }
        judged(rows, &setting.measure(), "yes");
    },
};

pub(crate) const DEEP_QUEUE: Bed = Bed {
    name: "deep_queue",
    about: "The same without outages, five times: a queue of 200 packets, in which one stream or another backs off.",
    runs: Runs::InAccuracy,
    run: |rows| {
        for _ in 0..5 {
            judged(rows, &Setting::new(link(QUEUE), eight_down()).measure(), "no");
        }
    },
};

fn judged(rows: &mut Rows, measured: &Measured, synchronized: &str) {
    let word = measured.word("/global_synchronization/down/synchronized");
    rows.equal("R61", "streams down are synchronized", word, synchronized.to_owned());
    let ratio = measured.number("/global_synchronization/down/variance_ratio");
    let truth = variance_ratio(measured);
    rows.near("R61", "variance ratio", ratio, truth, (truth * 0.2).max(0.05));
}

/// Of the bytes of each stream that arrived in each interval: variance of the sum over the sum of variances.
fn variance_ratio(measured: &Measured) -> f64 {
    let interval = measured.number("/global_synchronization/down/interval_ns").unwrap() as u64;
    let window = measured.scored();
    let intervals = ((window.end.0 - window.start.0) / interval) as usize;
    let mut streams: BTreeMap<u16, Vec<f64>> = BTreeMap::new();
    let log = measured.truth.direction(Direction::Down).records();
    for record in log.filter(|record| record.protocol == TCP && record.tcp_payload > 1000) {
        let Some(at) = record.delivery().filter(|at| window.contains(at)) else { continue };
        let octets = streams.entry(record.destination_port).or_insert_with(|| vec![0.0; intervals]);
        if let Some(cell) = octets.get_mut(((at.0 - window.start.0) / interval) as usize) {
            *cell += f64::from(record.length);
        }
    }
    // The control connection carries little.
    streams.retain(|_, octets| octets.iter().sum::<f64>() > 200_000.0);
    assert_eq!(streams.len(), 8);
    let variance = |values: &[f64]| {
        let mean = values.iter().sum::<f64>() / values.len() as f64;
        values.iter().map(|value| (value - mean).powi(2)).sum::<f64>()
    };
    let sums: Vec<f64> = (0..intervals).map(|at| streams.values().map(|one| one[at]).sum()).collect();
    variance(&sums) / streams.values().map(|one| variance(one)).sum::<f64>()
}
