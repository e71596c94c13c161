//! Which packets an impairment hits: by chance, or by exact count.

use rrul_model::random::Random;

/// Which packets are hit, among those that the direction's filter lets through to the impairments.
///
/// Packets are numbered from 1, per impairment and direction.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Selection {
    /// Hits no packet.
    #[default]
    Never,
    /// Each with this probability, 0 to 1, independently, from the seed.
    Probability(f64),
    /// Every Nth: numbers N, 2N, 3N and so on. Zero hits none.
    Every(u64),
    /// Exactly these numbers.
    Numbers(Vec<u64>),
}

impl Selection {
    /// Whether the count of hits is known beforehand, which is what tests compare integers with.
    pub fn is_exact(&self) -> bool {
        matches!(self, Self::Every(_) | Self::Numbers(_))
    }
}

/// A selection at work: it counts packets and draws numbers.
#[derive(Debug, Clone)]
pub(crate) struct Selector {
    selection: Selection,
    seen: u64,
    random: Random,
}

impl Selector {
    pub(crate) fn new(selection: Selection, random: Random) -> Self {
        Self { selection, seen: 0, random }
    }

    /// Counts one packet and returns whether it is hit.
    pub(crate) fn hits(&mut self) -> bool {
        self.seen += 1;
        match &self.selection {
            Selection::Never => false,
            Selection::Probability(probability) => self.random.unit() < *probability,
            Selection::Every(n) => *n > 0 && self.seen.is_multiple_of(*n),
            Selection::Numbers(numbers) => numbers.contains(&self.seen),
        }
    }

    /// Whether the hits are by exact count.
    pub(crate) fn is_exact(&self) -> bool {
        self.selection.is_exact()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hit_numbers(selection: Selection, packets: u64) -> Vec<u64> {
        let mut selector = Selector::new(selection, Random::new(1, "test"));
        (1..=packets).filter(|_| selector.hits()).collect()
    }

    #[test]
    fn every_third_hits_three_six_nine() {
        assert_eq!(hit_numbers(Selection::Every(3), 10), [3, 6, 9]);
        assert_eq!(hit_numbers(Selection::Every(0), 10), [] as [u64; 0]);
    }

    #[test]
    fn listed_numbers_and_no_others_are_hit() {
        assert_eq!(hit_numbers(Selection::Numbers(vec![1, 7]), 20), [1, 7]);
        assert_eq!(hit_numbers(Selection::Never, 20), [] as [u64; 0]);
    }

    #[test]
    fn a_probability_hits_its_share() {
        // Binomial: n = 100000, p = 0.01, standard deviation 31.5; five of them bound the test.
        let hits = hit_numbers(Selection::Probability(0.01), 100_000).len() as i64;
        assert!((hits - 1000).abs() < 158, "{hits} of 100000 hit, expected 1000");
        assert_eq!(hit_numbers(Selection::Probability(1.0), 5).len(), 5);
        assert_eq!(hit_numbers(Selection::Probability(0.0), 5).len(), 0);
    }
}
