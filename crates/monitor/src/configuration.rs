//! The file of a monitor. docs/guide/monitor.md describes it.

use std::time::Duration;

use rrul_model::marking::ServiceClass;
use rrul_model::units::{BitRate, ByteCount, UnitError, parse_duration};
use serde::Deserialize;

use crate::budget::Budget;
use crate::quiet_hours::{Hours, QuietHours};
use crate::ring::Ring;
use crate::schedule::Schedule;

/// A mistake in the file of a monitor: where, what, and what would be right.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ConfigurationError {
    /// What the parser says, with its line.
    #[error("{place}: {message}")]
    Document { place: String, message: String },
    /// A value that does not go with another.
    #[error("{file}: {key}: {problem}")]
    Value { file: String, key: &'static str, problem: ValueProblem },
}

/// What is wrong with a value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ValueProblem {
    #[error("empty; write the host of rrul server, or HOST:PORT")]
    NoServer,
    #[error("\"{0}\" is no name for metrics; use letters, digits, . _ and -, and no address")]
    Target(String),
    #[error("least_gap must not be more than mean_gap, and mean_gap not more than most_gap")]
    Gaps,
    #[error("at least 1min, so that servers and lines have rest")]
    ShortGap,
    #[error("they leave no time of the day; use fewer")]
    NoTime,
    #[error("the budget is missing; write budget = \"30GB/month\", or budget = \"none\"")]
    NoBudget,
    #[error(transparent)]
    Budget(#[from] crate::budget::BudgetError),
    #[error("from 100ms to 1min")]
    ProbeInterval,
    #[error("at least one class, such as \"BE\"")]
    NoClass,
    #[error("at least 1MB")]
    SmallRing,
}

/// A time such as "30s" or "90d".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Length(Duration);

impl TryFrom<String> for Length {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        let days = text.trim().strip_suffix('d').and_then(|days| days.trim().parse::<u32>().ok());
        match days {
            Some(days) => Ok(Self(Duration::from_hours(u64::from(days) * 24))),
            None => parse_duration(&text).map(Self),
        }
    }
}

/// A size such as "5GB".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Size(ByteCount);

impl TryFrom<String> for Size {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse().map(Self)
    }
}

/// A rate such as "2Mbit/s".
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
struct Rate(BitRate);

impl TryFrom<String> for Rate {
    type Error = UnitError;

    fn try_from(text: String) -> Result<Self, UnitError> {
        text.parse().map(Self)
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
struct Document {
    server: String,
    target: Option<String>,
    budget: Option<String>,
    family: Option<String>,
    token_file: Option<String>,
    encrypt: Option<String>,
    server_key: Option<String>,
    ca: Option<String>,
    link_layer: Option<String>,
    #[serde(default)]
    probes: ProbesTable,
    #[serde(default)]
    runs: RunsTable,
    #[serde(default)]
    cross_traffic: CrossTrafficTable,
    #[serde(default)]
    recordings: RecordingsTable,
    #[serde(default)]
    metrics: MetricsTable,
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct ProbesTable {
    interval: Length,
    classes: Vec<ServiceClass>,
}

impl Default for ProbesTable {
    fn default() -> Self {
        Self { interval: Length(Duration::from_secs(1)), classes: vec![ServiceClass::BE] }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RunsTable {
    plan: String,
    set: Vec<String>,
    mean_gap: Length,
    least_gap: Length,
    most_gap: Length,
    quiet_hours: Vec<Hours>,
    retry: Length,
    retries: u32,
}

impl Default for RunsTable {
    fn default() -> Self {
        let hours = |hours| Length(Duration::from_hours(hours));
        Self {
            plan: "rrul".to_owned(),
            set: Vec::new(),
            mean_gap: hours(6),
            least_gap: hours(1),
            most_gap: hours(24),
            quiet_hours: Vec::new(),
            retry: Length(Duration::from_mins(10)),
            retries: 3,
        }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct CrossTrafficTable {
    limit: Rate,
    over: Length,
}

impl Default for CrossTrafficTable {
    fn default() -> Self {
        Self { limit: Rate(BitRate(1_000_000)), over: Length(Duration::from_secs(10)) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct RecordingsTable {
    size: Size,
    age: Length,
}

impl Default for RecordingsTable {
    fn default() -> Self {
        Self { size: Size(ByteCount(1_000_000_000)), age: Length(Duration::from_hours(90 * 24)) }
    }
}

#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct MetricsTable {
    listen: String,
    textfile: Option<String>,
}

impl Default for MetricsTable {
    fn default() -> Self {
        Self { listen: "127.0.0.1:9786".to_owned(), textfile: None }
    }
}

/// Which plan, and changes of it: `KEY=VALUE`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlanChoice {
    pub plan: String,
    pub set: Vec<String>,
}

/// What traffic of others makes a test be skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CrossTraffic {
    /// In either direction.
    pub limit: BitRate,
    /// The mean of this time.
    pub over: Duration,
}

/// What the file of a monitor says, checked. Words for other parts of the program are as they are written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Configuration {
    pub server: String,
    /// Label `target` of all metrics.
    pub target: String,
    pub budget: Option<Budget>,
    pub family: Option<String>,
    pub token_file: Option<String>,
    pub encrypt: Option<String>,
    pub server_key: Option<String>,
    pub ca: Option<String>,
    pub link_layer: Option<String>,
    /// Between two light probes of one class and family.
    pub probe_interval: Duration,
    /// The classes of light probes.
    pub probe_classes: Vec<ServiceClass>,
    pub runs: PlanChoice,
    pub schedule: Schedule,
    pub retry: Duration,
    pub retries: u32,
    pub cross_traffic: CrossTraffic,
    pub ring: Ring,
    /// Where metrics are served; `None` when they are not.
    pub listen: Option<String>,
    /// The file that node_exporter reads.
    pub textfile: Option<String>,
}

impl Configuration {
    /// Reads the text of a file; `file` names it in messages, `stem` is its name without folder and extension.
    ///
    /// # Errors
    /// The first thing that is wrong.
    pub fn read(file: &str, stem: &str, text: &str) -> Result<Self, ConfigurationError> {
        let line_of = |at: usize| text.get(..at).map_or(1, |before| before.matches('\n').count() + 1);
        let document: Document = toml::from_str(text).map_err(|error| ConfigurationError::Document {
            place: error.span().map_or_else(|| file.to_owned(), |span| format!("{file}:{}", line_of(span.start))),
            message: error.message().trim().replace('\n', " "),
        })?;
        let wrong = |key, problem: ValueProblem| ConfigurationError::Value { file: file.to_owned(), key, problem };
        let Document { server, target, budget, family, token_file, encrypt, .. } = document;
        let Document { server_key, ca, link_layer, probes, runs, cross_traffic, recordings, metrics, .. } = document;
        if server.trim().is_empty() {
            return Err(wrong("server", ValueProblem::NoServer));
        }
        let target = target.unwrap_or_else(|| stem.to_owned());
        if !is_label(&target) {
            return Err(wrong("target", ValueProblem::Target(target)));
        }
        let budget = match budget.as_deref() {
            None => return Err(wrong("budget", ValueProblem::NoBudget)),
            Some("none") => None,
            Some(text) => Some(text.parse().map_err(|error| wrong("budget", ValueProblem::Budget(error)))?),
        };
        let (least, mean, most) = (runs.least_gap.0, runs.mean_gap.0, runs.most_gap.0);
        if least > mean || mean > most {
            return Err(wrong("runs", ValueProblem::Gaps));
        }
        for (key, gap) in [("runs.mean_gap", mean), ("runs.retry", runs.retry.0)] {
            if gap < Duration::from_mins(1) {
                return Err(wrong(key, ValueProblem::ShortGap));
            }
        }
        if !(Duration::from_millis(100)..=Duration::from_mins(1)).contains(&probes.interval.0) {
            return Err(wrong("probes.interval", ValueProblem::ProbeInterval));
        }
        if probes.classes.is_empty() {
            return Err(wrong("probes.classes", ValueProblem::NoClass));
        }
        let quiet = QuietHours::new(runs.quiet_hours).ok_or_else(|| wrong("runs.quiet_hours", ValueProblem::NoTime))?;
        if recordings.size.0.0 < 1_000_000 {
            return Err(wrong("recordings.size", ValueProblem::SmallRing));
        }
        Ok(Self {
            server,
            target,
            budget,
            family,
            token_file,
            encrypt,
            server_key,
            ca,
            link_layer,
            probe_interval: probes.interval.0,
            probe_classes: probes.classes,
            runs: PlanChoice { plan: runs.plan, set: runs.set },
            schedule: Schedule { mean, least, most, quiet },
            retry: runs.retry.0,
            retries: runs.retries,
            cross_traffic: CrossTraffic { limit: cross_traffic.limit.0, over: cross_traffic.over.0 },
            ring: Ring { size: recordings.size.0, age: recordings.age.0 },
            listen: Some(metrics.listen).filter(|listen| listen != "none"),
            textfile: metrics.textfile,
        })
    }
}

/// Whether a text can be a label's value in metrics. Addresses are kept out of them.
fn is_label(text: &str) -> bool {
    let is_word = !text.is_empty() && text.chars().all(|c| c.is_ascii_alphanumeric() || "._-".contains(c));
    is_word && text.parse::<std::net::IpAddr>().is_err()
}

#[cfg(test)]
mod tests {
    use super::*;

    const LEAST: &str = "server = \"host\"\nbudget = \"30GB/month\"\n";

    fn read(text: &str) -> Result<Configuration, ConfigurationError> {
        Configuration::read("m.toml", "home", text)
    }

    #[test]
    fn two_lines_are_enough() {
        let configuration = read(LEAST).unwrap();
        assert_eq!((configuration.target.as_str(), configuration.runs.plan.as_str()), ("home", "rrul"));
        assert_eq!(configuration.schedule.mean, Duration::from_hours(6));
        assert_eq!(configuration.listen.as_deref(), Some("127.0.0.1:9786"));
        assert_eq!(configuration.ring.age, Duration::from_hours(2160));
    }

    #[test]
    fn every_key_is_read() {
        let text = "server = \"host:7000\"\ntarget = \"line-2\"\nbudget = \"none\"\n\
            family = \"4\"\ntoken_file = \"t\"\nencrypt = \"always\"\nserver_key = \"SHA256:x\"\nca = \"c\"\nlink_layer = \"docsis\"\n\
            [probes]\ninterval = \"2s\"\nclasses = [\"EF\", \"BE\"]\n\
            [runs]\nplan = \"quick\"\nset = [\"load=5s\"]\nmean_gap = \"3h\"\nleast_gap = \"30min\"\nmost_gap = \"2d\"\n\
            quiet_hours = [\"19:00-23:00\"]\nretry = \"5min\"\nretries = 1\n\
            [cross_traffic]\nlimit = \"3Mbit/s\"\nover = \"20s\"\n\
            [recordings]\nsize = \"2GB\"\nage = \"30d\"\n\
            [metrics]\nlisten = \"none\"\ntextfile = \"/x.prom\"\n";
        let configuration = read(text).unwrap();
        assert_eq!((configuration.budget, configuration.listen), (None, None));
        assert_eq!(configuration.probe_classes, [ServiceClass::EF, ServiceClass::BE]);
        assert_eq!(configuration.schedule.most, Duration::from_hours(48));
        assert_eq!(configuration.cross_traffic.limit, BitRate(3_000_000));
        assert!(!configuration.schedule.quiet.is_open(20 * 3600));
    }

    #[test]
    fn a_mistake_is_one_line_that_says_where_and_what_to_do() {
        for (text, words) in [
            ("budget = \"1GB/day\"\n".to_owned(), "m.toml:1: missing field `server`"),
            ("server = \"a\"\n".to_owned(), "m.toml: budget: the budget is missing; write budget = "),
            ("server = \"a\"\nbudget = \"1GB\"\n".to_owned(), "m.toml: budget: \"1GB\" is no budget; write it like"),
            (format!("{LEAST}[runs]\nmean = \"1h\"\n"), "m.toml:4: unknown field `mean`"),
            (format!("{LEAST}[runs]\nmean_gap = \"often\"\n"), "m.toml:4: \"often\" is not a valid duration"),
            (format!("{LEAST}[runs]\nmean_gap = \"10min\"\n"), "m.toml: runs: least_gap must not be more than"),
            (format!("{LEAST}[runs]\nleast_gap = \"0s\"\nmean_gap = \"1s\"\n"), "m.toml: runs.mean_gap: at least 1min"),
            (format!("{LEAST}[runs]\nquiet_hours = [\"22-06\"]\n"), "m.toml:4: \"22-06\" is no part of a day"),
            (
                format!("{LEAST}[runs]\nquiet_hours = [\"00:00-12:00\", \"12:00-24:00\"]\n"),
                "m.toml: runs.quiet_hours: they leave no time",
            ),
            (format!("target = \"192.0.2.1\"\n{LEAST}"), "m.toml: target: \"192.0.2.1\" is no name for metrics"),
            (format!("{LEAST}[recordings]\nsize = \"1kB\"\n"), "m.toml: recordings.size: at least 1MB"),
            (format!("{LEAST}[probes]\ninterval = \"1ms\"\n"), "m.toml: probes.interval: from 100ms to 1min"),
            (format!("{LEAST}[probes]\nclasses = []\n"), "m.toml: probes.classes: at least one class"),
            (format!("{LEAST}[probes]\nclasses = [\"fast\"]\n"), "m.toml:4: "),
            (format!("{LEAST}[metrics]\nport = 1\n"), "m.toml:4: unknown field `port`"),
            ("server = \n".to_owned(), "m.toml:1: "),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.starts_with(words) && !error.contains('\n'), "{text}: {error}");
        }
    }
}
