//! The words for metrics: what docs/metrics.md and `rrul list metrics` are made of.

/// One number of the summary.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricWord {
    /// Its name in the JSON, below its group's path: `flows[].mean_bps`. Several that are defined together stand in one
    /// word, separated by ", ". Braces stand for each of what is in them: `{idle,load}.p50_ns`.
    pub name: &'static str,
    /// What it is, from what it is computed, when it is null, what it must not be taken for.
    pub about: &'static str,
    /// Unit: `ns`, `bit/s`, `octets`, `share`, `count`...; empty for names and words.
    pub unit: &'static str,
    /// Section of the specification, RFC or paper that defines it; empty where it is ours.
    pub source: &'static str,
}

impl MetricWord {
    /// A word in one line.
    pub const fn new(name: &'static str, about: &'static str, unit: &'static str, source: &'static str) -> Self {
        Self { name, about, unit, source }
    }
}

/// The metrics of one concern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MetricGroup {
    /// Heading.
    pub title: &'static str,
    /// Where they stand in the JSON, `goodput.{down,up}`; empty for the top. With `#` in front, the name of a shape in
    /// the schema's `$defs` that several members share: it is explained once, and they say that they have it.
    pub path: &'static str,
    /// What they have in common, in Markdown: estimator, conditions, pitfalls, error.
    pub about: &'static str,
    /// The metrics.
    pub words: &'static [MetricWord],
}
