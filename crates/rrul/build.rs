//! Embeds, compressed, the plans that come with the program, and the schema of the summary: what `rrul list metrics` prints is in it.

use std::fs;
use std::io::Result;
use std::path::{Path, PathBuf};

/// zstd level: compressed once and read often.
const LEVEL: i32 = 19;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    let folder = |name: &str| PathBuf::from(std::env::var_os(name).expect("cargo sets it for build scripts"));
    let (root, out) = (folder("CARGO_MANIFEST_DIR").join("../.."), folder("OUT_DIR"));
    compress_plans(&root.join("plans"), &out.join("plans.zst")).expect("plans can be compressed");
    #[cfg(feature = "export")]
    compress_schema(&root.join("docs/summary.schema.json"), &out.join("summary.schema.json.gz"))
        .expect("docs/summary.schema.json can be compressed");
}

/// Name and text of each plan, each with a zero byte behind it.
fn compress_plans(plans: &Path, into: &Path) -> Result<()> {
    println!("cargo::rerun-if-changed={}", plans.display());
    let mut files: Vec<PathBuf> = fs::read_dir(plans)?.map(|entry| Ok(entry?.path())).collect::<Result<_>>()?;
    files.retain(|file| file.extension().is_some_and(|extension| extension == "toml"));
    files.sort();
    let mut all = Vec::new();
    for file in files {
        let name = file.file_stem().map(|stem| stem.to_string_lossy().into_owned()).unwrap_or_default();
        all.extend([name.as_bytes(), b"\0", &fs::read(&file)?, b"\0"].concat());
    }
    fs::write(into, zstd::bulk::compress(&all, LEVEL)?)
}

#[cfg(feature = "export")]
fn compress_schema(schema: &Path, into: &Path) -> Result<()> {
    use std::io::Write;

    println!("cargo::rerun-if-changed={}", schema.display());
    let mut encoder = flate2::write::GzEncoder::new(fs::File::create(into)?, flate2::Compression::best());
    encoder.write_all(&fs::read(schema)?)?;
    encoder.finish().map(drop)
}
