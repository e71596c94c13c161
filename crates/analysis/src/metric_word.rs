//! The words for metrics: what docs/metrics.md and `rrul list metrics` are made of.

/// One number of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricWord {
    /// Its name in the JSON, below its group's path: `flows[].mean_bps`. Several that are defined together stand in one
    /// word, separated by ", ".
    pub name: &'static str,
    /// What it is, from what it is computed, when it is null, what it must not be taken for.
    pub about: &'static str,
    /// Unit: `ns`, `bit/s`, `octets`, `share`, `count`...; empty for names and words.
    pub unit: &'static str,
    /// Section of the specification, RFC or paper that defines it; empty where it is ours.
    pub source: &'static str,
}

/// The metrics of one concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricGroup {
    /// Heading.
    pub title: &'static str,
    /// Where they stand in the JSON; empty for the top.
    pub path: &'static str,
    /// What they have in common, in Markdown: estimator, conditions, pitfalls, error.
    pub about: &'static str,
    /// The metrics.
    pub words: &'static [MetricWord],
}
