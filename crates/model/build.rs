//! Embeds the pages that come with the program, compressed.

use std::fs;
use std::path::PathBuf;

/// zstd level: compressed once and read often.
const LEVEL: i32 = 19;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo sets it for build scripts"));
    for name in ["rrul2013", "rrul2025"] {
        let page = folder("CARGO_MANIFEST_DIR").join("../../pages").join(format!("{name}.toml"));
        println!("cargo::rerun-if-changed={}", page.display());
        let compressed = fs::read(page).and_then(|text| zstd::bulk::compress(&text, LEVEL));
        let compressed = compressed.expect("a page can be compressed");
        fs::write(folder("OUT_DIR").join(format!("{name}.zst")), compressed)
            .expect("cargo's output folder can be written");
    }
}
