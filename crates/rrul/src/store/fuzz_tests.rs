//! Files on disk may come from anybody: whatever they contain, they are read or refused, and no more is read than the limit.

#[path = "../../../model/tests/fuzz/campaign.rs"]
mod campaign;
#[path = "../../../model/tests/fuzz/mutation.rs"]
mod mutation;

use std::io::Write;
use std::path::Path;

use flate2::Compression;
use flate2::write::GzEncoder;
use proptest::prelude::*;

use super::{flent, salvage};
use campaign::config;
use mutation::{Octets, mutated};

/// Most text that is read here.
const LONGEST: usize = 1 << 20;

/// A recording as it is on disk: a zstd frame for every line, with its checksum.
fn recordings() -> impl Strategy<Value = Octets> {
    let text = include_str!("../../../model/tests/data/v2.jsonl");
    let frame = |line: &str| {
        let mut compressor = zstd::bulk::Compressor::new(3).unwrap();
        compressor.include_checksum(true).unwrap();
        compressor.compress(line.as_bytes()).unwrap()
    };
    let frames: Vec<u8> = text.split_inclusive('\n').flat_map(frame).collect();
    // In one frame without its length, as other programs write it.
    let mut stream = zstd::stream::write::Encoder::new(Vec::new(), 1).unwrap();
    stream.write_all(text.as_bytes()).unwrap();
    mutated(vec![frames, stream.finish().unwrap()])
}

fn compressed_flent_files() -> impl Strategy<Value = Octets> {
    let gzip = |text: &str| {
        let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
        encoder.write_all(text.as_bytes()).unwrap();
        encoder.finish().unwrap()
    };
    let file = "{\"version\":4,\"x_values\":[0.0,1.0],\"results\":{\"TCP upload\":[8.0,8.0]},\"metadata\":{\"NAME\":\"tcp_upload\"}}";
    mutated(vec![gzip(file), file.as_bytes().to_vec(), b"BZh91AY".to_vec()])
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn any_bytes_of_a_recording_give_whole_lines_or_nothing(octets in recordings()) {
        if let Ok(text) = salvage::text(&octets, LONGEST) {
            prop_assert!(text.len() < LONGEST);
        }
        if let Ok(text) = salvage::text(&octets, 2000) {
            prop_assert!(text.len() < 2000);
        }
    }

    #[test]
    fn any_bytes_of_a_file_of_flent_are_read_or_refused_in_one_line(octets in compressed_flent_files()) {
        if let Some(Err(failure)) = flent::read(Path::new("x.flent.gz"), &octets) {
            let said = failure.to_string();
            prop_assert!(said.starts_with("x.flent.gz: ") && !said.contains('\n'), "{said}");
        }
    }
}
