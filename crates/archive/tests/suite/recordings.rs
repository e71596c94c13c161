//! Recordings of the handbook.

use std::path::PathBuf;

use rrul_model::recording::Recording;

/// The text of a recording of docs/guide/recordings.
pub(crate) fn text(name: &str) -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../docs/guide/recordings").join(name);
    String::from_utf8(zstd::decode_all(&std::fs::read(path).unwrap()[..]).unwrap()).unwrap()
}

pub(crate) fn recording(name: &str) -> Recording {
    Recording::from_lines(&text(name)).unwrap()
}
