//! What people see of a test: charts and summaries drawn from an analysis.
//!
//! A chart is data first ([`drawing::Drawing`], an Apache ECharts option object), and every surface draws that data:
//! [`svg()`], [`png()`] and [`pdf()`] here, without a browser, and pages with the same library. This crate measures nothing and
//! computes no number that it puts into words; bins and ranges of axes are the limit.
//!
//! - [`charts::CHARTS`]: all charts; [`chart::Chart`] says what one is
//! - [`short_summary()`]: the summary of a run on one screen of a terminal
//! - [`text`]: everything about a run for a terminal, in sections
//! - [`text::comparison`]: runs against each other for a terminal
//! - [`text::equalizer`]: scores over time for a terminal
//! - [`answer_chart`]: the answer to a question about many runs
//! - [`exports::har`]: page loads in the form that other tools read
//! - [`exports::flent_export`]: a run in the form of Flent
//! - [`exports::tidy_export`]: every series and every sample as rows of a table
//! - [`report`]: everything as one page of HTML
//! - [`theme`]: the colors of charts
//!
//! Feature `charts`, on by default, has everything that draws: charts, reports and the program libraries behind them. Without
//! it, summaries, comparisons and exports remain, and no bundle of `web/` is needed.

// Words that only charts use are no reason to split the sentences that charts and summaries share.
#![cfg_attr(not(feature = "charts"), allow(dead_code))]

#[cfg(feature = "charts")]
pub mod answer_chart;
#[cfg(feature = "charts")]
pub mod chart;
#[cfg(feature = "charts")]
pub mod charts;
mod delay_sample;
#[cfg(feature = "charts")]
pub mod drawing;
#[cfg(feature = "charts")]
pub mod error;
pub mod exports;
#[cfg(feature = "charts")]
mod panels;
#[cfg(feature = "charts")]
pub mod report;
pub mod text;
pub mod theme;

#[cfg(feature = "charts")]
use rrul_analysis::Analysis;

#[cfg(feature = "charts")]
pub use chart::Chart;
#[cfg(feature = "charts")]
pub use drawing::pdf::pdf;
#[cfg(feature = "charts")]
pub use drawing::png::png;
#[cfg(feature = "charts")]
pub use error::ViewError;
pub use text::comparison::text_comparison;
pub use text::equalizer::text_equalizer;
pub use text::full_summary::{text_sections, text_summary};
pub use text::sections::Topic;
pub use text::short_summary::short_summary;
pub use text::style::Style;
pub use theme::Theme;

/// The chart of this name; `None` without such a chart.
#[cfg(feature = "charts")]
pub fn chart_named(name: &str) -> Option<&'static Chart> {
    charts::CHARTS.iter().copied().find(|chart| chart.name == name)
}

/// A chart of these runs as SVG text. The same runs give the same bytes.
///
/// # Errors
/// [`ViewError::Runs`] when the chart cannot show that many runs; others are defects.
#[cfg(feature = "charts")]
pub fn svg(chart: &Chart, runs: &[&Analysis], theme: &Theme) -> Result<String, ViewError> {
    let drawing = chart.draw(runs, theme)?;
    drawing::svg::with_renderer(|renderer| renderer.svg(&drawing))
}
