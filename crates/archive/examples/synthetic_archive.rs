//! Writes an archive of synthetic runs: `cargo run --release -p rrul-archive --example synthetic_archive DIR RUNS [SEED]`.

use std::path::Path;
use std::process::ExitCode;
use std::time::Instant;

use rrul_archive::{Archive, synthetic};

fn main() -> ExitCode {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let seed = arguments.get(2).map_or(Ok(1), |seed| seed.parse());
    let (Some(folder), Some(Ok(runs)), Ok(seed)) = (arguments.first(), arguments.get(1).map(|runs| runs.parse()), seed)
    else {
        eprintln!("usage: synthetic_archive DIR RUNS [SEED]");
        return ExitCode::from(2);
    };
    let began = Instant::now();
    match Archive::create(Path::new(folder)).and_then(|archive| synthetic::write(&archive, seed, runs)) {
        Ok(()) => {
            println!("{folder}: {runs} runs of seed {seed} in {:.0} s", began.elapsed().as_secs_f64());
            ExitCode::SUCCESS
        }
        Err(error) => {
            eprintln!("{error}");
            ExitCode::from(2)
        }
    }
}
