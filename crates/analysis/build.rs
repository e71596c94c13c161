//! Names the code that computes: a hash of its sources, for what one program writes and only the same one may read.

#![allow(clippy::disallowed_methods, reason = "what computes opens no file; this runs while it is built")]

use std::path::{Path, PathBuf};
use std::{env, fs};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
    // FNV-1a, as in rrul_model::random.
    let mut hash = 0xcbf2_9ce4_8422_2325_u64;
    let mut add = |octets: &[u8]| {
        hash = octets.iter().fold(hash, |hash, octet| (hash ^ u64::from(*octet)).wrapping_mul(0x0100_0000_01b3));
    };
    for folder in [manifest.join("src"), manifest.join("../model/src")] {
        println!("cargo::rerun-if-changed={}", folder.display());
        add_folder(&folder, &mut add);
    }
    println!("cargo::rustc-env=RRUL_ANALYSIS_SOURCES={hash:016x}");
}

fn add_folder(folder: &Path, add: &mut impl FnMut(&[u8])) {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add_folder(&path, add);
        } else {
            add(path.file_name().expect("it has a name").as_encoded_bytes());
            add(&fs::read(&path).expect("the sources can be read"));
        }
    }
}
