//! How a chart becomes a picture: figures, pages, fonts, colors, SVG, PNG, PDF.

pub(crate) mod axis;
pub(crate) mod figure;
pub(crate) mod flow_look;
pub(crate) mod font;
pub(crate) mod name_room;
pub(crate) mod page;
pub(crate) mod pdf;
pub(crate) mod png;
pub(crate) mod run_colours;
pub mod svg;

use serde_json::Value;

/// A chart as data: what every surface (SVG, PNG, page) draws.
#[derive(Debug, Clone, PartialEq)]
pub struct Drawing {
    /// The whole chart as an Apache ECharts option object, without functions.
    pub option: Value,
    /// Width in pixels.
    pub width: u32,
    /// Height in pixels; it grows with the number of flows.
    pub height: u32,
    /// What it shows, for the name of a file, a tab, or a reader that speaks.
    pub title: String,
    /// Why it shows only words; `None` if it shows something.
    pub nothing: Option<String>,
}
