//! How many delays fell into which bin: the one form in which the archive keeps delays.
//!
//! The bin of a delay of d nanoseconds is ceil(32 * log2(d)), so a bin is 2^(1/32) = 2.19 % wide (schema 5 of Prometheus' native
//! histograms, scale 5 of OpenTelemetry's exponential ones). Merging adds counts: it is exact, and neither order nor grouping
//! changes the result. A percentile is the geometric middle of its bin, at most 1.1 % off the exact one.

use std::collections::BTreeMap;

use rrul_model::units::Delay;

/// The bin of delays of zero and less: a packet that waited no longer than the fastest of the idle line.
pub const NO_DELAY: i64 = -1;

/// The bin of lost packets, behind all others: a lost packet counts as infinitely late.
pub const LOST: i64 = 9999;

/// Bins of a doubling of the delay.
const STEPS: u32 = 32;

/// floor(2^(63 + r / 32)) for r from 0 to 31: where the bins of a doubling end. Integers, so that every machine agrees.
const ENDS: [u64; STEPS as usize] = [
    0x8000_0000_0000_0000,
    0x82cd_8698_ac2b_a1d7,
    0x85aa_c367_cc48_7b14,
    0x8898_0e80_92da_8527,
    0x8b95_c1e3_ea8b_d6e6,
    0x8ea4_398b_45cd_53c0,
    0x91c3_d373_ab11_c336,
    0x94f4_efa8_fef7_0961,
    0x9837_f051_8db8_a96f,
    0x9b8d_39b9_d54e_5538,
    0x9ef5_3260_91a1_11ad,
    0xa270_4303_0c49_6818,
    0xa5fe_d6a9_b151_38ea,
    0xa9a1_5ab4_ea7c_0ef8,
    0xad58_3eea_42a1_4ac6,
    0xb123_f581_d2ac_258f,
    0xb504_f333_f9de_6484,
    0xb8fb_af47_62fb_9ee9,
    0xbd08_a39f_580c_36be,
    0xc12c_4cca_6670_9456,
    0xc567_2a11_5506_dadd,
    0xc9b9_bd86_6e2f_27a2,
    0xce24_8c15_1f84_80e3,
    0xd2a8_1d91_f12a_e45a,
    0xd744_fcca_d69d_6af4,
    0xdbfb_b797_daf2_3755,
    0xe0cc_deec_2a94_e111,
    0xe5b9_06e7_7c83_48a8,
    0xeac0_c6e7_dd24_392e,
    0xefe4_b99b_dcda_f5cb,
    0xf525_7d15_2486_cc2c,
    0xfa83_b2db_722a_033a,
];

/// The bin of a delay: ceil(32 * log2(nanoseconds)), or [`NO_DELAY`].
pub fn bin_of(delay: Delay) -> i64 {
    let Ok(nanoseconds) = u64::try_from(delay.0) else { return NO_DELAY };
    let Some(doublings) = nanoseconds.checked_ilog2() else { return NO_DELAY };
    let scaled = nanoseconds << (u64::BITS - 1 - doublings);
    let step = ENDS.partition_point(|end| *end < scaled);
    i64::from(doublings * STEPS) + step as i64
}

/// The delay that stands for a bin, nanoseconds: its geometric middle; 0 of [`NO_DELAY`]; `None` of [`LOST`].
pub fn middle_of(bin: i64) -> Option<f64> {
    match bin {
        LOST => None,
        NO_DELAY => Some(0.0),
        bin => Some(((bin as f64 - 0.5) / f64::from(STEPS)).exp2()),
    }
}

/// Counts of delays by bin.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sketch {
    counts: BTreeMap<i64, u64>,
}

impl Sketch {
    /// Counts a packet; `None` is a lost one.
    pub fn add(&mut self, delay: Option<Delay>) {
        *self.counts.entry(delay.map_or(LOST, bin_of)).or_default() += 1;
    }

    /// Adds all counts of another sketch.
    pub fn merge(&mut self, other: &Self) {
        for (bin, count) in &other.counts {
            let entry = self.counts.entry(*bin).or_default();
            *entry = entry.saturating_add(*count);
        }
    }

    /// The bins that have counts, in ascending order.
    pub fn bins(&self) -> impl Iterator<Item = (i64, u64)> {
        self.counts.iter().map(|(bin, count)| (*bin, *count))
    }

    /// Packets, lost ones included.
    pub fn count(&self) -> u64 {
        self.counts.values().fold(0, |sum, count| sum.saturating_add(*count))
    }

    /// The bin of the packet at rank ceil(n * `per_mille` / 1000), counted from 1 (nearest rank); `None` without packets.
    pub fn percentile_bin(&self, per_mille: u16) -> Option<i64> {
        let rank = (u128::from(self.count()) * u128::from(per_mille.min(1000))).div_ceil(1000).max(1);
        let mut reached = 0_u128;
        self.bins().find_map(|(bin, count)| {
            reached += u128::from(count);
            (reached >= rank).then_some(bin)
        })
    }

    /// The percentile in nanoseconds; `None` without packets, or when the rank falls on a lost one.
    pub fn percentile(&self, per_mille: u16) -> Option<f64> {
        middle_of(self.percentile_bin(per_mille)?)
    }
}

#[cfg(test)]
mod tests {
    use rrul_model::random::Random;

    use super::*;
    use proptest::prelude::*;
    use rrul_analysis::statistics::percentile::percentile;

    /// The largest error of a percentile: half a bin, 2^(1/64) - 1 = 1.09 %.
    const ERROR: f64 = 0.011;

    #[test]
    fn bins_are_those_of_the_definition() {
        // ceil(32 * log2(d)) by a calculator.
        for (nanoseconds, bin) in
            [(1, 0), (2, 32), (3, 51), (4, 64), (5, 75), (1_000, 319), (1_000_000, 638), (20_000_000, 777)]
        {
            assert_eq!(bin_of(Delay(nanoseconds)), bin, "{nanoseconds} ns");
        }
        assert_eq!(bin_of(Delay(i64::MAX)), 63 * 32);
        for doublings in 0..63 {
            assert_eq!(bin_of(Delay(1 << doublings)), 32 * doublings, "2^{doublings} is the end of its bin");
        }
    }

    #[test]
    fn delays_of_zero_and_less_have_a_bin_below_all_others_and_lost_packets_one_above() {
        assert_eq!([0, -1, i64::MIN].map(|delay| bin_of(Delay(delay))), [NO_DELAY; 3]);
        let mut sketch = Sketch::default();
        for delay in [Some(Delay(-5)), Some(Delay(1_000_000)), None] {
            sketch.add(delay);
        }
        assert_eq!(sketch.percentile(300), Some(0.0));
        assert_eq!(sketch.percentile_bin(500), Some(638));
        assert_eq!((sketch.percentile_bin(990), sketch.percentile(990)), (Some(LOST), None));
        assert_eq!(Sketch::default().percentile(500), None);
    }

    #[test]
    fn any_split_and_order_of_ten_thousand_runs_gives_the_same_bits() {
        let mut random = Random(20);
        let runs: Vec<Sketch> = (0..10_000)
            .map(|_| {
                let mut sketch = Sketch::default();
                let scale = 1 + random.next() % 400_000_000;
                for _ in 0..20 {
                    let lost = random.next().is_multiple_of(100);
                    sketch.add((!lost).then_some(Delay((random.next() % scale) as i64)));
                }
                sketch
            })
            .collect();
        let figures = |sketch: &Sketch| [500, 950, 990].map(|place| sketch.percentile(place).map(f64::to_bits));
        let mut whole = Sketch::default();
        for run in &runs {
            whole.merge(run);
        }
        assert_eq!(whole.count(), 200_000);
        for parts in [1_usize, 2, 7, 100, 10_000] {
            let mut order: Vec<usize> = (0..runs.len()).collect();
            for at in (1..order.len()).rev() {
                order.swap(at, (random.next() % (at as u64 + 1)) as usize);
            }
            let mut merged: Vec<Sketch> = order
                .chunks(runs.len().div_ceil(parts))
                .map(|chunk| {
                    let mut part = Sketch::default();
                    for run in chunk {
                        part.merge(&runs[*run]);
                    }
                    part
                })
                .collect();
            // As a tree, the last part first.
            while let Some(last) = merged.pop() {
                if let Some(first) = merged.first_mut() {
                    first.merge(&last);
                } else {
                    assert_eq!(last, whole, "{parts} parts");
                    assert_eq!(figures(&last), figures(&whole), "{parts} parts");
                }
            }
        }
    }

    /// Samples of one of three shapes: any magnitude, around one value, two modes.
    fn samples() -> impl Strategy<Value = Vec<i64>> {
        let any_magnitude = prop::collection::vec((0_u32..62, 0_u64..1 << 20), 1..300).prop_map(|all| {
            all.into_iter()
                .map(|(doublings, part)| ((1_u128 << doublings) + ((u128::from(part) << doublings) >> 20)) as i64)
                .collect()
        });
        let narrow = (1_000_i64..1_000_000_000)
            .prop_flat_map(|middle| prop::collection::vec(middle..middle + 1 + middle / 50, 1..300));
        let two_modes =
            prop::collection::vec(prop_oneof![9_000_000_i64..11_000_000, 200_000_000_i64..900_000_000], 1..300);
        prop_oneof![any_magnitude, narrow, two_modes]
    }

    proptest! {
        #[test]
        fn percentiles_are_within_1_1_percent_of_the_exact_ones(mut delays in samples(), lost in 0_u64..9) {
            let mut sketch = Sketch::default();
            for delay in &delays {
                sketch.add(Some(Delay(*delay)));
            }
            for _ in 0..lost {
                sketch.add(None);
            }
            delays.sort_unstable();
            for place in [500, 950, 990] {
                match (percentile(&delays, lost, place), sketch.percentile(place)) {
                    (Some(exact), Some(found)) => {
                        let error = (found / exact as f64 - 1.0).abs();
                        prop_assert!(error <= ERROR, "P{}: {} for {}, {} off", place / 10, found, exact, error);
                    }
                    (exact, found) => prop_assert_eq!(exact.is_none(), found.is_none(), "{:?} {:?}", exact, found),
                }
            }
        }

        #[test]
        fn a_bin_ends_where_the_logarithm_says(delay in 1_i64..1 << 50) {
            let exact = 32.0 * (delay as f64).log2();
            let bin = bin_of(Delay(delay)) as f64;
            prop_assert!(bin >= exact - 1e-9 && bin < exact + 1.0 + 1e-9, "{} {}", bin, exact);
        }
    }
}
