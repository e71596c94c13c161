//! How a chart becomes a picture: figures, pages, fonts, colours, SVG, PNG, PDF.

pub(crate) mod axis;
pub(crate) mod figure;
pub(crate) mod flow_look;
pub(crate) mod font;
pub(crate) mod page;
pub(crate) mod pdf;
pub(crate) mod png;
pub(crate) mod run_colours;
pub mod svg;
