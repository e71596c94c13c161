//! Charts of distributions: of delays, of page loads.

pub(crate) mod box_plot;
pub(crate) mod ccdf;
pub(crate) mod ecdf;
pub(crate) mod ellipse;
pub(crate) mod page_ecdf;
pub(crate) mod qq;
