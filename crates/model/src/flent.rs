//! Recordings of Flent, and of netperf-wrapper before it: file versions 1 to 4, and those of 2012 without a number.
//!
//! A file of Flent becomes a [`Recording`] as far as it goes; docs/flent.md says what becomes what. What it does not hold
//! is not made up: the recording's [`Imported`](crate::imported::Imported) says so. Nothing in a file can make this panic or hold more memory than
//! the limits in this folder allow, beside its text.

mod conversion;
mod document;
mod flow_source;
mod host;
mod packet;
mod probe_rows;
mod scalar;
mod series;
mod stream;
mod tcp_state;
mod timeline;

use crate::printable;
use crate::recording::Recording;

/// Why a file of Flent cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FlentError {
    #[error("unreadable recording of Flent: {}", printable::message(&_0.to_string()))]
    Document(serde_json::Error),
    #[error("this recording of Flent contains nothing that rrul can show: no TCP stream, ping or voice")]
    NoFlows,
}

/// Reads the text of a file, decompressed.
///
/// # Errors
/// When it is no such file, or contains nothing that can be shown.
pub fn read(text: &[u8]) -> Result<Recording, FlentError> {
    let document = document::Document::read(text).map_err(FlentError::Document)?;
    conversion::recording(document)
}

/// Whether this text begins like a file of Flent: a JSON object that is no line of a recording of rrul.
pub fn looks_like(text: &[u8]) -> bool {
    let text = text.trim_ascii_start();
    text.starts_with(b"{") && !text.starts_with(b"{\"header\"")
}
