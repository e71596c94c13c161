//! The metrics of a monitor in the text format of Prometheus, version 0.0.4.

use std::collections::BTreeMap;
use std::fmt::Write;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::ProbeFate;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::outcome::{FailReason, RunOutcome, SkipReason};

/// A metric: its name, its kind, and what it means.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Metric {
    pub name: &'static str,
    /// As the text format names it: counter, gauge or histogram.
    pub kind: &'static str,
    pub help: &'static str,
}

const fn metric(name: &'static str, kind: &'static str, help: &'static str) -> Metric {
    Metric { name, kind, help }
}

const BUILD: Metric = metric("rrul_build_info", "gauge", "1, with the version of the program as a label");
const PROBE_DELAY: Metric = metric(
    "rrul_probe_delay_seconds",
    "histogram",
    "Round-trip delay of light probes, without the time in the server; full tests of this monitor left out",
);
const PROBES: Metric =
    metric("rrul_probe_packets_total", "counter", "Light probes whose fate is known, lost ones included");
const PROBES_LOST: Metric = metric(
    "rrul_probe_packets_lost_total",
    "counter",
    "Light probes that were lost, by the direction in which they were",
);
const RUN_TIMESTAMP: Metric =
    metric("rrul_run_timestamp_seconds", "gauge", "When the latest full test with a result began, seconds since 1970");
const RUN_VALID: Metric =
    metric("rrul_run_valid", "gauge", "1 when the latest full test has no validity issues, 0 when it has");
const RUN_GOODPUT: Metric =
    metric("rrul_run_goodput_bytes_per_second", "gauge", "Goodput of the latest full test in its scored window");
const RUN_QUEUEING: Metric = metric(
    "rrul_run_queueing_delay_seconds",
    "gauge",
    "Queueing delay under load of the latest full test; a quantile that falls on a lost packet is missing",
);
const RUN_SCORE: Metric = metric(
    "rrul_run_score",
    "gauge",
    "Scores of the latest full test: web and composite, 0 to 100; rpm, round trips per minute",
);
const RUNS: Metric =
    metric("rrul_runs_total", "counter", "Full tests that were due, by outcome (ran, skipped, failed) and reason");
const DATA: Metric = metric(
    "rrul_data_bytes_total",
    "counter",
    "Data that was booked on the budget: full tests and light probes, both directions",
);

/// Every metric of a monitor, in the order of the text.
pub const METRICS: [Metric; 11] = [
    BUILD,
    PROBE_DELAY,
    PROBES,
    PROBES_LOST,
    RUN_TIMESTAMP,
    RUN_VALID,
    RUN_GOODPUT,
    RUN_QUEUEING,
    RUN_SCORE,
    RUNS,
    DATA,
];

/// Upper bounds of the buckets of delay, seconds.
pub const BUCKETS: [f64; 16] =
    [0.001, 0.002, 0.005, 0.01, 0.02, 0.03, 0.05, 0.075, 0.1, 0.15, 0.2, 0.3, 0.5, 1.0, 2.0, 3.0];

/// The direction in which a probe was lost, as a label.
fn lost_label(direction: Option<Direction>) -> &'static str {
    direction.map_or("unknown", Direction::name)
}

/// Probes of one class and family.
#[derive(Debug, Clone, PartialEq, Default)]
struct Probes {
    known: u64,
    /// By direction, in the order of [`LOST`].
    lost: [u64; 3],
    /// Answered probes by bucket, those beyond the last one at the end.
    buckets: [u64; BUCKETS.len() + 1],
    seconds: f64,
}

const LOST: [Option<Direction>; 3] = [Some(Direction::Up), Some(Direction::Down), None];

/// What a full test has found, as far as metrics show it.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct RunFigures {
    pub began_s: i64,
    pub valid: bool,
    pub goodput: Vec<(Direction, BitRate)>,
    /// By direction and quantile ("0.5").
    pub queueing: Vec<(Direction, &'static str, Delay)>,
    pub scores: Vec<(&'static str, f64)>,
}

/// What a monitor has counted since it was started.
#[derive(Debug, Clone, PartialEq)]
pub struct Figures {
    target: String,
    version: String,
    probes: BTreeMap<(ServiceClass, AddressFamily), Probes>,
    run: Option<RunFigures>,
    runs: BTreeMap<(&'static str, &'static str), u64>,
    octets: u64,
}

impl Figures {
    /// Nothing so far; `target` is a label of all metrics.
    pub fn new(target: &str, version: &str) -> Self {
        let skipped = SkipReason::NAMES.map(|reason| (("skipped", reason), 0));
        let failed = FailReason::NAMES.map(|reason| (("failed", reason), 0));
        // All that there can be from the beginning: a counter that appears with 1 has no increase.
        let runs = [(("ran", ""), 0)].into_iter().chain(skipped).chain(failed).collect();
        Self {
            target: target.to_owned(),
            version: version.to_owned(),
            probes: BTreeMap::new(),
            run: None,
            runs,
            octets: 0,
        }
    }

    pub fn probe(&mut self, class: ServiceClass, family: AddressFamily, fate: ProbeFate) {
        let probes = self.probes.entry((class, family)).or_default();
        probes.known += 1;
        match fate {
            ProbeFate::Answered(delay) => {
                let seconds = delay.0 as f64 / 1e9;
                let bucket = BUCKETS.iter().position(|bound| seconds <= *bound).unwrap_or(BUCKETS.len());
                probes.buckets[bucket] += 1;
                probes.seconds += seconds;
            }
            ProbeFate::Lost(direction) => {
                let place = LOST.iter().position(|lost| *lost == direction).unwrap_or(LOST.len() - 1);
                probes.lost[place] += 1;
            }
        }
    }

    /// A full test that was due has ended so.
    pub fn outcome(&mut self, outcome: &RunOutcome) {
        *self.runs.entry((outcome.name(), outcome.reason())).or_default() += 1;
    }

    /// The latest full test with a result.
    pub fn run(&mut self, figures: RunFigures) {
        self.run = Some(figures);
    }

    /// All data that was booked so far.
    pub fn data(&mut self, octets: ByteCount) {
        self.octets = self.octets.max(octets.0);
    }

    /// Returns the text that Prometheus reads.
    pub fn text(&self) -> String {
        let mut text = Text { text: String::new(), target: &self.target };
        text.head(BUILD);
        text.sample(BUILD.name, &[("version", &self.version)], 1.0);
        self.write_probes(&mut text);
        if let Some(run) = &self.run {
            text.head(RUN_TIMESTAMP);
            text.sample(RUN_TIMESTAMP.name, &[], run.began_s as f64);
            text.head(RUN_VALID);
            text.sample(RUN_VALID.name, &[], f64::from(u8::from(run.valid)));
            text.head(RUN_GOODPUT);
            for (direction, rate) in &run.goodput {
                let labels = [("direction", direction.name())];
                text.sample(RUN_GOODPUT.name, &labels, rate.0 as f64 / 8.0);
            }
            text.head(RUN_QUEUEING);
            for (direction, quantile, delay) in &run.queueing {
                let labels = [("direction", direction.name()), ("quantile", *quantile)];
                text.sample(RUN_QUEUEING.name, &labels, delay.0 as f64 / 1e9);
            }
            text.head(RUN_SCORE);
            for (score, value) in &run.scores {
                text.sample(RUN_SCORE.name, &[("score", *score)], *value);
            }
        }
        text.head(RUNS);
        for ((outcome, reason), count) in &self.runs {
            text.sample(RUNS.name, &[("outcome", *outcome), ("reason", *reason)], *count as f64);
        }
        text.head(DATA);
        text.sample(DATA.name, &[], self.octets as f64);
        text.text
    }

    fn write_probes(&self, text: &mut Text<'_>) {
        text.head(PROBE_DELAY);
        for ((class, family), probes) in &self.probes {
            let (class, family) = (class.to_string(), family.name());
            let mut below = 0;
            let bounds = BUCKETS.iter().map(ToString::to_string).chain(["+Inf".to_owned()]);
            for (bound, count) in bounds.zip(probes.buckets) {
                below += count;
                let labels = [("class", class.as_str()), ("family", family), ("le", bound.as_str())];
                text.sample("rrul_probe_delay_seconds_bucket", &labels, below as f64);
            }
            let labels = [("class", class.as_str()), ("family", family)];
            text.sample("rrul_probe_delay_seconds_sum", &labels, probes.seconds);
            text.sample("rrul_probe_delay_seconds_count", &labels, below as f64);
        }
        text.head(PROBES);
        for ((class, family), probes) in &self.probes {
            let class = class.to_string();
            text.sample(PROBES.name, &[("class", &class), ("family", family.name())], probes.known as f64);
        }
        text.head(PROBES_LOST);
        for ((class, family), probes) in &self.probes {
            let class = class.to_string();
            for (direction, count) in LOST.into_iter().zip(probes.lost) {
                let direction = ("direction", lost_label(direction));
                let labels = [("class", class.as_str()), ("family", family.name()), direction];
                text.sample(PROBES_LOST.name, &labels, count as f64);
            }
        }
    }
}

struct Text<'a> {
    text: String,
    target: &'a str,
}

impl Text<'_> {
    fn head(&mut self, metric: Metric) {
        let Metric { name, kind, help } = metric;
        // Writing to a string does not fail.
        let _ = writeln!(self.text, "# HELP {name} {help}\n# TYPE {name} {kind}");
    }

    /// Values of labels are words of this program and the target, which have nothing to escape.
    fn sample(&mut self, name: &str, labels: &[(&str, &str)], value: f64) {
        let _ = write!(self.text, "{name}{{target=\"{}\"", self.target);
        for (label, word) in labels {
            let _ = write!(self.text, ",{label}=\"{word}\"");
        }
        let _ = writeln!(self.text, "}} {value}");
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figures() -> Figures {
        let mut figures = Figures::new("home", "0.1.0");
        for delay in [500_000, 18_000_000, 18_500_000, 9_000_000_000] {
            figures.probe(ServiceClass::BE, AddressFamily::Ipv4, ProbeFate::Answered(Delay(delay)));
        }
        for direction in [Some(Direction::Up), Some(Direction::Up), None] {
            figures.probe(ServiceClass::BE, AddressFamily::Ipv4, ProbeFate::Lost(direction));
        }
        figures.outcome(&RunOutcome::Ran);
        figures.outcome(&RunOutcome::Skipped(SkipReason::LinkBusy));
        figures.data(ByteCount(1234));
        figures.run(RunFigures {
            began_s: 1_790_000_000,
            valid: true,
            goodput: vec![(Direction::Up, BitRate(8_000_000)), (Direction::Down, BitRate(20_000_000))],
            queueing: vec![(Direction::Up, "0.5", Delay(150_000_000))],
            scores: vec![("web", 14.0)],
        });
        figures
    }

    #[test]
    fn every_figure_is_in_the_text() {
        let text = figures().text();
        for line in [
            "rrul_build_info{target=\"home\",version=\"0.1.0\"} 1",
            "rrul_probe_delay_seconds_bucket{target=\"home\",class=\"BE\",family=\"ipv4\",le=\"0.001\"} 1",
            "rrul_probe_delay_seconds_bucket{target=\"home\",class=\"BE\",family=\"ipv4\",le=\"0.02\"} 3",
            "rrul_probe_delay_seconds_bucket{target=\"home\",class=\"BE\",family=\"ipv4\",le=\"3\"} 3",
            "rrul_probe_delay_seconds_bucket{target=\"home\",class=\"BE\",family=\"ipv4\",le=\"+Inf\"} 4",
            "rrul_probe_delay_seconds_count{target=\"home\",class=\"BE\",family=\"ipv4\"} 4",
            "rrul_probe_packets_total{target=\"home\",class=\"BE\",family=\"ipv4\"} 7",
            "rrul_probe_packets_lost_total{target=\"home\",class=\"BE\",family=\"ipv4\",direction=\"up\"} 2",
            "rrul_probe_packets_lost_total{target=\"home\",class=\"BE\",family=\"ipv4\",direction=\"down\"} 0",
            "rrul_run_timestamp_seconds{target=\"home\"} 1790000000",
            "rrul_run_valid{target=\"home\"} 1",
            "rrul_run_goodput_bytes_per_second{target=\"home\",direction=\"down\"} 2500000",
            "rrul_run_queueing_delay_seconds{target=\"home\",direction=\"up\",quantile=\"0.5\"} 0.15",
            "rrul_run_score{target=\"home\",score=\"web\"} 14",
            "rrul_runs_total{target=\"home\",outcome=\"ran\",reason=\"\"} 1",
            "rrul_runs_total{target=\"home\",outcome=\"skipped\",reason=\"link_busy\"} 1",
            "rrul_runs_total{target=\"home\",outcome=\"skipped\",reason=\"cross_traffic\"} 0",
            "rrul_data_bytes_total{target=\"home\"} 1234",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with('\n'));
    }

    #[test]
    fn every_sample_is_of_a_metric_that_is_listed_and_described_once() {
        let text = figures().text();
        for Metric { name, kind, .. } in METRICS {
            assert_eq!(text.matches(&format!("# TYPE {name} {kind}\n")).count(), 1, "{name}");
        }
        for line in text.lines().filter(|line| !line.starts_with('#')) {
            let name = line.split('{').next().unwrap();
            let base = ["_bucket", "_sum", "_count"].iter().find_map(|part| name.strip_suffix(part)).unwrap_or(name);
            assert!(METRICS.iter().any(|metric| metric.name == base), "{line}");
        }
        for Metric { name, kind, .. } in METRICS {
            assert_eq!(kind == "counter", name.ends_with("_total"), "{name}");
        }
    }
}
