//! Seeded random numbers, never for secrets: the same seed gives the same schedules, payloads and virtual links in every version,
//! so that a recording names what was sent by its seed. A generator of a library may change with the library.

/// SplitMix64 (Steele, Lea, Flood: "Fast splittable pseudorandom number generators", 2014): 64 bits of state, period 2^64.
#[derive(Debug, Clone)]
pub struct Random(pub u64);

impl Random {
    /// A stream of its own for each `purpose`, so that drawing more for one does not shift the draws of another.
    pub fn new(seed: u64, purpose: &str) -> Self {
        Self(purpose.bytes().fold(seed, |state, octet| mix(state ^ u64::from(octet))))
    }

    /// Returns the next 64 random bits.
    #[expect(clippy::should_implement_trait, reason = "it never ends, so Option would only be in the way")]
    pub fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        mix(self.0)
    }

    /// Uniform in [0, 1), 53 bits.
    pub fn unit(&mut self) -> f64 {
        (self.next() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// Uniform in 0..=`most`; the bias is below `most` / 2^64.
    pub fn up_to(&mut self, most: u64) -> u64 {
        let values = u128::from(most) + 1;
        ((u128::from(self.next()) * values) >> 64) as u64
    }

    /// Uniform in 0..`limit`, and 0 where nothing is below it.
    pub fn below(&mut self, limit: usize) -> usize {
        self.up_to((limit as u64).saturating_sub(1)) as usize
    }

    /// Fills `octets`.
    pub fn fill(&mut self, octets: &mut [u8]) {
        for chunk in octets.chunks_mut(8) {
            let word = self.next().to_le_bytes();
            chunk.copy_from_slice(&word[..chunk.len()]);
        }
    }
}

/// The finalizer of SplitMix64: a bijection that spreads every input bit over all output bits.
pub fn mix(value: u64) -> u64 {
    let value = (value ^ (value >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let value = (value ^ (value >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    value ^ (value >> 31)
}

/// FNV-1a (draft-eastlake-fnv): a hash that is the same in every version.
pub fn fnv1a(octets: impl IntoIterator<Item = u8>) -> u64 {
    octets
        .into_iter()
        .fold(0xcbf2_9ce4_8422_2325, |hash, octet| (hash ^ u64::from(octet)).wrapping_mul(0x0100_0000_01b3))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hash_gives_the_published_values() {
        assert_eq!(fnv1a([]), 0xcbf2_9ce4_8422_2325);
        assert_eq!(fnv1a(*b"a"), 0xaf63_dc4c_8601_ec8c);
        assert_eq!(fnv1a(*b"foobar"), 0x8594_4171_f739_67e8);
    }

    #[test]
    fn the_generator_gives_the_published_sequence() {
        // SplitMix64 from state 1234567: the vector used by several independent implementations.
        let mut random = Random(1_234_567);
        let drawn: Vec<u64> = (0..3).map(|_| random.next()).collect();
        assert_eq!(drawn, [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]);
    }

    #[test]
    fn streams_for_two_purposes_differ_and_repeat_with_the_seed() {
        let first = |seed, purpose| Random::new(seed, purpose).next();
        assert_eq!(first(1, "loss"), first(1, "loss"));
        assert_ne!(first(1, "loss"), first(1, "reorder"));
        assert_ne!(first(1, "loss"), first(2, "loss"));
    }

    #[test]
    fn draws_stay_in_their_range_and_reach_both_ends() {
        let mut random = Random::new(7, "range");
        let drawn: Vec<u64> = (0..1000).map(|_| random.up_to(3)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&0), Some(&3)));
        assert!((0..1000).all(|_| (0.0..1.0).contains(&random.unit())));
    }
}
