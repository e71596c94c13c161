//! Embeds the chart library, the report's style and script, and the font, compressed, from `web/`.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    #[cfg(feature = "charts")]
    embedding::embed_all();
}

#[cfg(feature = "charts")]
mod embedding {
    use std::path::{Path, PathBuf};
    use std::{env, fs, process};

    use data_encoding::BASE64;
    use sha2::{Digest, Sha256};

    /// What is embedded: its name in the output folder, and where `web/` has it.
    const EMBEDDED: [(&str, &str); 5] = [
        ("chart-library.js.zst", "dist/chart-library.js"),
        ("report.js.zst", REPORT_SCRIPT),
        ("report.css.zst", "dist/report.css"),
        ("regular.ttf.zst", "node_modules/@expo-google-fonts/inter/400Regular/Inter_400Regular.ttf"),
        ("semibold.ttf.zst", "node_modules/@expo-google-fonts/inter/600SemiBold/Inter_600SemiBold.ttf"),
    ];

    /// The script of the report, which the page allows browsers to run by its hash alone.
    const REPORT_SCRIPT: &str = "dist/report.js";

    /// zstd level: the library is compressed once and read often, and 19 is the smallest without extra memory.
    const LEVEL: i32 = 19;

    pub(crate) fn embed_all() {
        let manifest = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").expect("cargo sets it for build scripts"));
        let out = PathBuf::from(env::var_os("OUT_DIR").expect("cargo sets it for build scripts"));
        let web = manifest.join("../../web");
        for (name, path) in EMBEDDED {
            let source = web.join(path);
            println!("cargo::rerun-if-changed={}", source.display());
            if let Err(problem) = embed(&source, &out.join(name)) {
                println!(
                    "cargo::error=web/{path}: {problem}; run `make build` (it runs npm ci and the bundler in web/)"
                );
                process::exit(1);
            }
        }
        let hash = fs::read(web.join(REPORT_SCRIPT))
            .map(|script| format!("sha256-{}", BASE64.encode(&Sha256::digest(script))));
        fs::write(out.join("report.js.sha256"), hash.expect("it was embedded"))
            .expect("cargo's output folder can be written");
    }

    /// Writes `source` compressed to `target`.
    fn embed(source: &Path, target: &Path) -> std::io::Result<()> {
        fs::write(target, zstd::encode_all(fs::read(source)?.as_slice(), LEVEL)?)
    }
}
