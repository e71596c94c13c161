//! Summaries in words and figures, for terminals and files.

pub(crate) mod class_words;
pub mod comparison;
pub mod equalizer;
pub(crate) mod fate_lines;
pub mod full_summary;
pub(crate) mod host_lines;
pub mod improvement;
pub(crate) mod label;
pub(crate) mod lookup_lines;
pub(crate) mod marking_words;
pub(crate) mod octet_lines;
pub(crate) mod page_lines;
pub(crate) mod path_lines;
pub(crate) mod pooled_probes;
pub(crate) mod score_lines;
pub(crate) mod sections;
pub(crate) mod short_summary;
pub(crate) mod stream_lines;
pub mod style;
pub(crate) mod table;
pub(crate) mod text_scored;
pub(crate) mod traffic_lines;
pub(crate) mod tuning;
pub(crate) mod voice_table;
pub(crate) mod words;
