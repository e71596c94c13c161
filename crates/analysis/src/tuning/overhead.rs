//! The bytes that a link adds to each packet, from what arrives at two packet sizes, or from the stairs of ATM's cells.

/// Payload of a cell.
const PAYLOAD: u32 = 48;
/// Stairs fit this many times better than a slope, in the sum of squares.
const BETTER: f64 = 2.0;
/// The fewest sizes that show stairs.
const FEWEST: usize = 24;

/// What arrived of IP packets of one size over a saturated line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedRate {
    /// Bytes of each IP packet.
    pub size: f64,
    /// Bytes of IP packets a second.
    pub rate: f64,
    /// The standard error of that rate, as a part of it.
    pub error: f64,
}

/// Bytes that a link adds to each packet.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PacketOverhead {
    /// Bytes.
    pub overhead: f64,
    /// Its standard error.
    pub error: f64,
}

/// The overhead of a packet on a link that carries as many bytes a second at either size.
///
/// Of C bytes a second, packets of s bytes with an overhead of o get C s / (s + o). `None` when the sizes do not differ, or when
/// small packets arrive so slowly that their number is the limit.
pub fn from_two_sizes(large: SizedRate, small: SizedRate) -> Option<PacketOverhead> {
    let ratio = small.rate / large.rate;
    let below = ratio * large.size - small.size;
    if large.size <= small.size || large.rate <= 0.0 || below <= 0.0 {
        return None;
    }
    let product = large.size * small.size;
    let overhead = product * (1.0 - ratio) / below;
    let slope = product * (large.size - small.size) / below.powi(2);
    Some(PacketOverhead { overhead, error: slope * ratio * large.error.hypot(small.error) })
}

/// The round-trip time of packets of one size: the smallest, or the median of many.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedTime {
    /// Bytes of each IP packet.
    pub size: u16,
    /// Seconds.
    pub time: f64,
}

/// What the round-trip times show of the cells of ATM.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Cells {
    /// Bytes that are added to a packet before it is cut into cells.
    pub overhead: u16,
    /// Seconds that each cell takes.
    pub cell_time: f64,
}

/// The stairs of ATM in the round-trip times: each started cell of 48 bytes takes as long as a full one.
///
/// Overheads that differ by a whole cell give the same stairs, so the result is below 48 bytes. `None` on any other link, and when
/// the sizes are too few.
pub fn from_cells(times: &[SizedTime]) -> Option<Cells> {
    if times.len() < FEWEST {
        return None;
    }
    let slope = fit(times, f64::from)?;
    let stairs = |overhead: u16| {
        let fitted = fit(times, |size| f64::from((u32::from(size) + u32::from(overhead)).div_ceil(PAYLOAD)))?;
        Some((overhead, fitted))
    };
    let fits: Vec<(u16, Fit)> = (0..PAYLOAD as u16).filter_map(stairs).collect();
    let least = fits.iter().map(|(_, fit)| fit.squares).min_by(f64::total_cmp)?;
    if least * BETTER > slope.squares {
        return None;
    }
    // Sizes that are a few bytes apart leave several overheads as good as each other: the middle one is nearest to all.
    let best: Vec<&(u16, Fit)> = fits.iter().filter(|(_, fit)| fit.squares <= least * (1.0 + 1e-9)).collect();
    let (overhead, fitted) = best.get(best.len() / 2)?;
    (fitted.slope > 0.0).then_some(Cells { overhead: *overhead, cell_time: fitted.slope })
}

/// A straight line through points.
#[derive(Debug, Clone, Copy)]
struct Fit {
    slope: f64,
    /// The sum of the squares of what is left.
    squares: f64,
}

fn fit(times: &[SizedTime], of_size: impl Fn(u16) -> f64) -> Option<Fit> {
    let n = times.len() as f64;
    let points: Vec<(f64, f64)> = times.iter().map(|one| (of_size(one.size), one.time)).collect();
    let (x, y) = points.iter().fold((0.0, 0.0), |(x, y), point| (x + point.0 / n, y + point.1 / n));
    let (mut xx, mut xy) = (0.0, 0.0);
    for point in &points {
        xx += (point.0 - x).powi(2);
        xy += (point.0 - x) * (point.1 - y);
    }
    if xx <= 0.0 {
        return None;
    }
    let slope = xy / xx;
    let squares = points.iter().map(|point| (point.1 - y - slope * (point.0 - x)).powi(2)).sum();
    Some(Fit { slope, squares })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Between -1 and 1, of a number.
    fn random(number: u64) -> f64 {
        let mixed = (number.wrapping_add(1)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        let mixed = (mixed ^ (mixed >> 29)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        ((mixed ^ (mixed >> 32)) >> 11) as f64 / (1u64 << 52) as f64 - 1.0
    }

    #[test]
    fn two_packet_sizes_show_the_overhead_within_two_bytes() {
        for overhead in [0.0, 18.0, 38.0, 46.0] {
            for seed in 0..20 {
                let of = |size: f64, seed: u64| {
                    let rate = 2.5e6 * size / (size + overhead) * (1.0 + 0.003 * random(seed));
                    SizedRate { size, rate, error: 0.002 }
                };
                let found = from_two_sizes(of(1500.0, 2 * seed), of(200.0, 2 * seed + 1)).unwrap();
                assert!((found.overhead - overhead).abs() < 2.0, "{found:?}, truth {overhead}");
                assert!((0.5..1.5).contains(&found.error), "{found:?}");
            }
        }
    }

    #[test]
    fn a_line_whose_number_of_packets_is_limited_shows_no_overhead() {
        let large = SizedRate { size: 1500.0, rate: 12e6, error: 0.002 };
        assert_eq!(from_two_sizes(large, SizedRate { size: 200.0, rate: 1.5e6, error: 0.002 }), None);
        assert_eq!(from_two_sizes(large, large), None);
    }

    /// Medians of fifty probes at each size over a line of 1 Mbit/s, each within 0.2 ms of the truth.
    fn times(of: impl Fn(u16) -> f64) -> Vec<SizedTime> {
        let median = |size: u16| {
            let mut probes: Vec<f64> =
                (0..50).map(|probe| of(size) + 2e-4 * random(u64::from(size) * 100 + probe)).collect();
            probes.sort_by(f64::total_cmp);
            SizedTime { size, time: probes[25] }
        };
        (20..=400).step_by(2).map(median).collect()
    }

    #[test]
    fn the_stairs_of_cells_show_the_overhead_within_two_bytes() {
        for overhead in [0_u16, 18, 38, 46] {
            let cell = 53.0 * 8.0 / 1e6;
            let found = times(|size| 0.02 + cell * f64::from((u32::from(size) + u32::from(overhead)).div_ceil(48)));
            let found = from_cells(&found).unwrap();
            let apart = (i32::from(found.overhead) - i32::from(overhead)).rem_euclid(48);
            assert!(apart.min(48 - apart) <= 2, "{found:?}, truth {overhead}");
            assert!((found.cell_time / cell - 1.0).abs() < 0.05, "{found:?}");
        }
    }

    #[test]
    fn a_link_without_cells_shows_no_stairs() {
        let found = times(|size| 0.02 + f64::from(size) * 8.0 / 1e6);
        assert_eq!(from_cells(&found), None);
        assert_eq!(from_cells(&found[..10]), None);
    }
}
