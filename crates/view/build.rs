//! Embeds the chart library and the font, compressed, from `web/`.

use std::path::{Path, PathBuf};
use std::{env, fs, process};

/// What is embedded: its name in the output folder, and where `web/` has it.
const EMBEDDED: [(&str, &str); 3] = [
    ("chart-library.js.zst", "dist/chart-library.js"),
    ("regular.ttf.zst", "node_modules/@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf"),
    ("semibold.ttf.zst", "node_modules/@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf"),
];

/// zstd level: the library is compressed once and read often, and 19 is the smallest without extra memory.
const LEVEL: i32 = 19;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
    let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
    let web = manifest.join("../../web");
    for (name, path) in EMBEDDED {
        let source = web.join(path);
        println!("cargo::rerun-if-changed={}", source.display());
        if let Err(problem) = embed(&source, &out.join(name)) {
            println!("cargo::error=web/{path}: {problem}; run `make build` (it runs npm ci and the bundler in web/)");
            process::exit(1);
        }
    }
}

/// Writes `source` compressed to `target`.
fn embed(source: &Path, target: &Path) -> std::io::Result<()> {
    fs::write(target, zstd::encode_all(fs::read(source)?.as_slice(), LEVEL)?)
}
