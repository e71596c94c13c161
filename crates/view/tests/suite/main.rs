//! Charts, reports and summaries of made-up runs, read back as a person would see them.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod charts;
mod distributions;
mod exports;
mod extremes;
mod over_time;
mod page_charts;
mod pages;
mod path_charts;
mod phases_and_variants;
mod planes;
mod read_back;
mod recordings;
mod report;
mod scores;
mod shelf;
mod short_summary;
mod streams;
mod summary;
mod synthetic;
mod time_charts;
mod totals;
mod tuning;
