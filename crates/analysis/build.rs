//! Names the code that computes: a hash of its sources, for what one program writes and only the same one may read.

#![allow(clippy::disallowed_methods, reason = "what computes opens no file; this runs while it is built")]

use std::path::{Path, PathBuf};
use std::{env, fs};

use sha2::{Digest, Sha256};

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
    let mut hash = Sha256::new();
    for folder in [manifest.join("src"), manifest.join("../model/src")] {
        println!("cargo::rerun-if-changed={}", folder.display());
        add(&folder, &mut hash);
    }
    let name = hash.finalize().iter().take(8).fold(0, |name: u64, octet| name << 8 | u64::from(*octet));
    println!("cargo::rustc-env=RRUL_ANALYSIS_SOURCE={name:016x}");
}

fn add(folder: &Path, hash: &mut Sha256) {
    let entries = fs::read_dir(folder).expect("the sources are there");
    let mut paths: Vec<PathBuf> = entries.map(|entry| entry.expect("a folder can be read").path()).collect();
    paths.sort();
    for path in paths {
        if path.is_dir() {
            add(&path, hash);
        } else {
            hash.update(path.file_name().expect("it has a name").as_encoded_bytes());
            hash.update(fs::read(&path).expect("the sources can be read"));
        }
    }
}
