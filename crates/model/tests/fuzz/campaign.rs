//! From which seed a fuzz target runs, and for how long. The targets of all crates share this file.

use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

use proptest::prelude::ProptestConfig;
use proptest::test_runner::RngSeed;

/// Cases of a target in an ordinary run of the tests. `PROPTEST_CASES`, which `make fuzz` sets, asks for more.
const CASES: u32 = 2000;

/// Returns the settings of a target. The seed is a new one in every run and is printed with a failure; `RRUL_FUZZ_SEED=N`
/// repeats the cases of that run.
pub(crate) fn config() -> ProptestConfig {
    let default = ProptestConfig::default();
    let asked = std::env::var_os("PROPTEST_CASES").is_some();
    let seed = seed();
    println!("RRUL_FUZZ_SEED={seed} repeats these cases");
    ProptestConfig {
        cases: if asked { default.cases } else { CASES },
        rng_seed: RngSeed::Fixed(seed),
        failure_persistence: None,
        ..default
    }
}

/// The seed of every target of this program.
fn seed() -> u64 {
    static SEED: OnceLock<u64> = OnceLock::new();
    *SEED.get_or_init(|| match std::env::var("RRUL_FUZZ_SEED") {
        Ok(seed) => seed.parse().expect("RRUL_FUZZ_SEED is a number"),
        Err(_) => RandomState::new().build_hasher().finish(),
    })
}
