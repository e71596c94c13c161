//! Embeds the schema of the summary, compressed: what `rrul list metrics` prints is in it.

fn main() {
    #[cfg(feature = "export")]
    compress_schema().expect("docs/summary.schema.json can be compressed");
}

#[cfg(feature = "export")]
fn compress_schema() -> std::io::Result<()> {
    use std::env;
    use std::fs::{self, File};
    use std::io::Write;
    use std::path::PathBuf;

    use flate2::Compression;
    use flate2::write::GzEncoder;

    let folder = |name: &str| PathBuf::from(env::var_os(name).expect("cargo sets it for build scripts"));
    let schema = folder("CARGO_MANIFEST_DIR").join("../../docs/summary.schema.json");
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-changed={}", schema.display());
    let compressed = File::create(folder("OUT_DIR").join("summary.schema.json.gz"))?;
    let mut encoder = GzEncoder::new(compressed, Compression::best());
    encoder.write_all(&fs::read(schema)?)?;
    encoder.finish().map(drop)
}
