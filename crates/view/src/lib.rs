//! What people see of a test: charts and summaries drawn from an analysis.
//!
//! A chart is data first ([`chart::Drawing`], an Apache ECharts option object), and every surface draws that data:
//! [`svg()`], [`png()`] and [`pdf()`] here, without a browser, and pages with the same library. This crate measures nothing and
//! computes no number that it puts into words; bins and ranges of axes are the limit.
//!
//! - [`charts::CHARTS`]: the charts that there are; [`chart::Chart`] says what one is
//! - [`short_summary()`]: the summary of a run on one screen of a terminal
//! - [`text`]: everything about a run for a terminal, in sections
//! - [`comparison`]: runs against each other for a terminal
//! - [`equaliser`]: scores over time for a terminal
//! - [`grouping`]: runs taken together by what is known of them
//! - [`har`]: page loads in the form that other tools read
//! - [`flent_export`]: a run in the form of Flent
//! - [`tidy_export`]: every series and every sample as rows of a table
//! - [`report`]: everything as one page of HTML
//! - [`theme`]: the colours of charts

pub mod chart;
pub mod charts;
pub mod comparison;
pub mod equaliser;
pub mod error;
pub mod flent_export;
pub mod grouping;
pub mod har;
mod host_lines;
pub mod improvement;
pub mod report;
pub mod svg;
pub mod text;
pub mod theme;
pub mod tidy_export;

mod axis;
mod bins;
mod class_words;
mod delay_panel;
mod distribution;
mod fate_lines;
mod figure;
mod flow_look;
mod font;
mod label;
mod link_panel;
mod lookup_lines;
mod marking_words;
mod octet_lines;
mod page;
mod page_conditions;
mod page_lines;
mod path_lines;
mod pdf;
mod png;
mod pooled_probes;
mod rate_panel;
mod run_colours;
mod run_heading;
mod sample;
mod score_lines;
mod sections;
mod short_summary;
mod statistics_words;
mod stream_lines;
mod table;
mod text_scored;
mod thinning;
mod time_chart;
mod time_panel;
mod voice_table;
mod words;

use rrul_analysis::Analysis;

pub use chart::{Chart, Part};
pub use comparison::text_comparison;
pub use equaliser::text_equaliser;
pub use error::ViewError;
pub use grouping::Grouping;
pub use pdf::pdf;
pub use png::png;
pub use sections::Topic;
pub use short_summary::short_summary;
pub use text::{Style, text_sections, text_summary};
pub use theme::Theme;

/// The chart of this name; `None` when there is no such chart.
pub fn chart_named(name: &str) -> Option<&'static dyn Chart> {
    charts::CHARTS.iter().copied().find(|chart| chart.name() == name)
}

/// A chart of these runs as SVG text. The same runs give the same bytes.
///
/// # Errors
/// [`ViewError::Runs`] when the chart cannot show that many runs; others are defects.
pub fn svg(chart: &dyn Chart, runs: &[&Analysis], theme: &Theme) -> Result<String, ViewError> {
    let drawing = chart.draw(runs, theme)?;
    svg::with_renderer(|renderer| renderer.svg(&drawing))
}
