//! Rows: what was measured, what is true, how far apart they may be.

use std::fmt::{self, Display};

/// One figure against its truth.
pub(crate) struct Row {
    /// Numbers of docs/spec-conformance.md.
    pub(crate) requirements: &'static str,
    /// What it is, with its unit.
    pub(crate) what: String,
    pub(crate) truth: String,
    pub(crate) measured: String,
    pub(crate) allowed: String,
    pub(crate) pass: bool,
}

/// The rows of one bed.
#[derive(Default)]
pub(crate) struct Rows(Vec<Row>);

impl Rows {
    pub(crate) fn iter(&self) -> impl Iterator<Item = &Row> {
        self.0.iter()
    }

    /// Whether rows exist and all of them pass.
    pub(crate) fn all_pass(&self) -> bool {
        !self.0.is_empty() && self.all_pass_so_far()
    }

    /// Whether none fails.
    pub(crate) fn all_pass_so_far(&self) -> bool {
        self.0.iter().all(|row| row.pass)
    }

    /// The bed did not come to its end.
    pub(crate) fn broken(&mut self) {
        self.push("", "the whole bed", "runs", "panicked, see above", "", false);
    }

    fn push(
        &mut self,
        requirements: &'static str,
        what: impl Into<String>,
        truth: impl Display,
        measured: impl Display,
        allowed: impl Display,
        pass: bool,
    ) {
        let row = Row {
            requirements,
            what: what.into(),
            truth: truth.to_string(),
            measured: measured.to_string(),
            allowed: allowed.to_string(),
            pass,
        };
        self.0.push(row);
    }

    /// A number that may be off by so much.
    pub(crate) fn near(
        &mut self,
        requirements: &'static str,
        what: impl Into<String>,
        measured: Option<f64>,
        truth: f64,
        allowed: f64,
    ) {
        let pass = measured.is_some_and(|measured| (measured - truth).abs() <= allowed);
        self.push(requirements, what, number(truth), told(measured), format!("±{}", number(allowed)), pass);
    }

    /// A number that must lie in a range.
    pub(crate) fn between(
        &mut self,
        requirements: &'static str,
        what: impl Into<String>,
        measured: Option<f64>,
        truth: impl Display,
        range: std::ops::RangeInclusive<f64>,
    ) {
        let pass = measured.is_some_and(|measured| range.contains(&measured));
        let allowed = format!("{} to {}", number(*range.start()), number(*range.end()));
        self.push(requirements, what, truth, told(measured), allowed, pass);
    }

    /// Something that must be exactly so.
    pub(crate) fn equal<T: PartialEq + Display>(
        &mut self,
        requirements: &'static str,
        what: impl Into<String>,
        measured: T,
        truth: T,
    ) {
        let pass = measured == truth;
        self.push(requirements, what, truth, measured, "exactly", pass);
    }

    /// Something that must hold.
    pub(crate) fn holds(
        &mut self,
        requirements: &'static str,
        what: impl Into<String>,
        truth: impl Display,
        measured: impl Display,
        pass: bool,
    ) {
        self.push(requirements, what, truth, measured, "", pass);
    }
}

/// One line a row.
impl Display for Rows {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|Row { what, truth, measured, allowed, pass, .. }| {
            let mark = if *pass { "ok  " } else { "FAIL" };
            writeln!(f, "  {mark} {what}: measured {measured}, truth {truth}, allowed {allowed}")
        })
    }
}

fn told(measured: Option<f64>) -> String {
    measured.map_or_else(|| "nothing".to_owned(), number)
}

/// With as many decimals as a reader can use.
fn number(value: f64) -> String {
    let decimals = match value.abs() {
        size if size >= 1000.0 || value.fract() == 0.0 => 0,
        size if size >= 10.0 => 1,
        size if size >= 1.0 => 2,
        _ => 4,
    };
    format!("{value:.decimals$}")
}
