//! Why a chart could not be drawn.

/// Why a chart could not be drawn.
#[derive(Debug, thiserror::Error)]
pub enum ViewError {
    #[error("chart {chart} takes {takes}, not {given}")]
    Runs {
        chart: &'static str,
        /// How many it takes, in words.
        takes: String,
        given: usize,
    },
    #[error("no thread for drawing: {0}; close other programs and try again")]
    Thread(#[source] std::io::Error),
    #[error("chart library: {0}; this is a defect of rrul, report it with the recording")]
    Library(String),
    #[error("chart as JSON: {0}; this is a defect of rrul, report it with the recording")]
    Json(#[from] serde_json::Error),
    #[error("SVG: {0}; give a file that `rrul plot` wrote")]
    Svg(#[from] resvg::usvg::Error),
    #[error("picture of {width} x {height} pixels; choose a scale for which both sides are 1 to {limit}")]
    Size {
        /// Pixels across.
        width: f32,
        /// Pixels down.
        height: f32,
        /// Most pixels a side may have.
        limit: u32,
    },
    #[error("PNG: {0}; choose a smaller scale")]
    Png(String),
    #[error("PDF: {0} cannot be written; choose SVG")]
    Pdf(String),
}
