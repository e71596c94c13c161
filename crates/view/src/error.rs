//! Why a chart could not be drawn.

/// Why a chart could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    /// The chart was given too few or too many runs.
    #[error("chart {chart} takes {takes}, not {given}")]
    Runs {
        /// The chart's name.
        chart: &'static str,
        /// How many it takes, in words.
        takes: String,
        /// How many it was given.
        given: usize,
    },
    /// The chart shows single runs only.
    #[error("chart {chart} takes no groups of runs; charts bars and totals do")]
    Grouping {
        /// The chart's name.
        chart: &'static str,
    },
    /// The thread that draws could not be started.
    #[error("no thread for drawing: {0}; close other programs and try again")]
    Thread(#[source] std::io::Error),
    /// The chart library refused the chart: a defect of rrul.
    #[error("chart library: {0}; this is a defect of rrul, report it with the recording")]
    Library(String),
    /// A chart could not be written as JSON: a defect of rrul.
    #[error("chart as JSON: {0}; this is a defect of rrul, report it with the recording")]
    Json(#[from] serde_json::Error),
    /// The text is no SVG that can be drawn.
    #[error("SVG: {0}; give a file that `rrul plot` wrote")]
    Svg(#[from] resvg::usvg::Error),
    /// The picture would be empty or larger than can be held.
    #[error("picture of {width} x {height} pixels; choose a scale for which both sides are 1 to {limit}")]
    Size {
        /// Pixels across.
        width: f32,
        /// Pixels down.
        height: f32,
        /// Most pixels a side may have.
        limit: u32,
    },
    /// The picture could not be written as PNG.
    #[error("PNG: {0}; choose a smaller scale")]
    Png(String),
    /// The picture could not be written as PDF.
    #[error("PDF: {0} cannot be written; choose SVG")]
    Pdf(String),
}
