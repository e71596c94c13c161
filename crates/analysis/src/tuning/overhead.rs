//! The bytes that a link adds to each packet, from what it delivers of packets of several sizes while it is saturated.
//!
//! Of C bytes a second, packets of s bytes that take w(s) bytes on the link get C s / w(s). On most links w(s) is s and a
//! constant; on ATM it is a number of whole cells, which shows in sizes that differ by less than a cell.

use std::ops::RangeInclusive;

use rrul_model::flow::AddressFamily;
use rrul_model::link_layer::LinkLayer;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;

/// Bytes of a cell, and of its payload.
const CELL: f64 = 53.0;
const PAYLOAD: f64 = 48.0;
/// Overheads to look for, in bytes. Below zero only errors are.
const OF_PACKETS: RangeInclusive<f64> = -8.0..=160.0;
const STEP: f64 = 0.25;
const OF_CELLS: RangeInclusive<f64> = 0.0..=60.0;
/// The sum of squares grows by this at the ends of a 90 % interval, and is beyond this where nothing fits.
const INTERVAL: f64 = 2.7;
const NOTHING_FITS: f64 = 25.0;
/// The larger of the small sizes: half a cell above the other one.
const HALF_CELL: u16 = 24;
/// Cells are known when their overhead is within so many bytes, or after so many sizes.
const NARROW: f64 = 2.0;
const MOST_SIZES: usize = 8;
/// The small size, and the most packets a second that it is to take: hosts are the limit beyond.
const SMALL: f64 = 200.0;
const LARGEST_SMALL: f64 = 700.0;
const PACKETS_PER_SECOND: f64 = 12_000.0;
/// Overheads differ by more than this.
const DIFFERENT: f64 = 2.0;

/// What arrived of IP packets of one size over a saturated link.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct SizedRate {
    /// Bytes of each IP packet.
    pub size: f64,
    /// Bytes of IP packets a second.
    pub rate: f64,
    /// The standard error of that rate, as a part of it.
    pub error: f64,
}

/// How a link carries packets.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Framing {
    /// Each with some bytes more.
    Packets,
    /// With some bytes more, in cells of ATM, the last one filled up.
    Cells,
}

/// What a link adds to each IP packet.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Link-layer overhead")]
pub struct LineOverhead {
    /// How the link carries packets.
    pub framing: Framing,
    /// Bytes that it adds to each packet, before that is cut into cells.
    #[serde(rename = "overhead_octets")]
    pub overhead: f64,
    /// Lower end of the 90 % interval.
    #[serde(rename = "low_octets")]
    pub low: f64,
    /// Upper end of that interval.
    #[serde(rename = "high_octets")]
    pub high: f64,
}

/// What the line adds to each IP packet in each direction.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Link-layer overhead by direction")]
pub struct LineOverheads {
    /// Null where it was not found.
    #[serde(flatten)]
    pub directions: ByDirection<Option<LineOverhead>>,
}

impl Framing {
    /// Bytes on the link of an IP packet.
    fn octets(self, size: f64, overhead: f64) -> f64 {
        match self {
            Self::Packets => size + overhead,
            Self::Cells => ((size.round() + overhead) / PAYLOAD).ceil() * CELL,
        }
    }

    fn overheads(self) -> impl Iterator<Item = f64> {
        let (range, step) = match self {
            Self::Packets => (OF_PACKETS, STEP),
            Self::Cells => (OF_CELLS, 1.0),
        };
        let count = ((range.end() - range.start()) / step).round() as u32;
        (0..=count).map(move |place| range.start() + f64::from(place) * step)
    }
}

impl LineOverhead {
    /// What fits these rates. `None` with fewer than three sizes, or where nothing fits: something else than the link's bytes
    /// was the limit.
    pub fn find(rates: &[SizedRate]) -> Option<Self> {
        if rates.len() < 3 {
            return None;
        }
        let fits = |framing: Framing| {
            framing.overheads().map(move |overhead| (framing, overhead, misfit(rates, framing, overhead)))
        };
        let all = || fits(Framing::Packets).chain(fits(Framing::Cells));
        let least = all().map(|(_, _, misfit)| misfit).min_by(f64::total_cmp).filter(|least| *least < NOTHING_FITS)?;
        let (framing, _, _) = all().find(|(_, _, misfit)| *misfit <= least)?;
        let plausible: Vec<f64> = fits(framing)
            .filter(|(_, _, misfit)| *misfit <= least + INTERVAL)
            .map(|(_, overhead, _)| overhead)
            .collect();
        let (low, high) = (*plausible.first()?, *plausible.last()?);
        Some(Self { framing, overhead: f64::midpoint(low, high), low, high })
    }

    /// Whether a shaper that counts in this link layer counts as the line does.
    pub fn agrees(&self, layer: &LinkLayer) -> bool {
        [SMALL, 1500.0].into_iter().all(|size| {
            let counted = layer.octets(AddressFamily::Ipv4, size as u64) as f64;
            let [least, most] = [self.low, self.high].map(|overhead| self.framing.octets(size, overhead));
            (least - DIFFERENT..=most + DIFFERENT).contains(&counted)
        })
    }
}

/// How badly rates fit, as a sum of squares in standard errors: the link's rate has to be the same at each size.
fn misfit(rates: &[SizedRate], framing: Framing, overhead: f64) -> f64 {
    let of_link = |one: &SizedRate| (one.rate * framing.octets(one.size, overhead) / one.size).ln();
    let weight = |one: &SizedRate| one.error.powi(-2);
    let sum: f64 = rates.iter().map(weight).sum();
    let mean = rates.iter().map(|one| weight(one) * of_link(one)).sum::<f64>() / sum;
    rates.iter().map(|one| weight(one) * (of_link(one) - mean).powi(2)).sum()
}

/// The size of the IP packets to load with next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NextSize {
    /// As large as the path allows.
    Largest,
    /// So many bytes.
    Bytes(u16),
}

/// The size that says most after these. `None` when the overhead is known, or cannot be.
pub fn next_size(rates: &[SizedRate]) -> Option<NextSize> {
    let Some(largest) = rates.first() else { return Some(NextSize::Largest) };
    let small = (largest.rate / PACKETS_PER_SECOND).clamp(SMALL, LARGEST_SMALL) as u16;
    match rates.len() {
        1 => Some(NextSize::Bytes(small)),
        2 => Some(NextSize::Bytes(small + HALF_CELL)),
        MOST_SIZES.. => None,
        _ => {
            let found = LineOverhead::find(rates)?;
            let is_open = found.framing == Framing::Cells && found.high - found.low > NARROW;
            // Half of the overheads that are left need one cell more for this size.
            let middle = found.overhead.floor() as u16;
            let rest = (small + middle) % PAYLOAD as u16;
            is_open.then(|| NextSize::Bytes(small + (PAYLOAD as u16 - rest) % PAYLOAD as u16))
        }
    }
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

    /// Loads with one size after another until the overhead is known; what was found, and how many sizes it took.
    fn measured(link: f64, octets: impl Fn(f64) -> f64, seed: u64) -> (Option<LineOverhead>, usize) {
        let mut rates = Vec::new();
        while let Some(next) = next_size(&rates) {
            let size = match next {
                NextSize::Largest => 1500.0,
                NextSize::Bytes(size) => f64::from(size),
            };
            let noise = 1.0 + 0.003 * random(seed * 100 + rates.len() as u64);
            rates.push(SizedRate { size, rate: link * size / octets(size) * noise, error: 0.002 });
        }
        (LineOverhead::find(&rates), rates.len())
    }

    #[test]
    fn three_packet_sizes_show_the_overhead_within_two_bytes() {
        for overhead in [0.0, 18.0, 38.0, 46.0] {
            for seed in 0..20 {
                let (found, sizes) = measured(2.5e6, |size| size + overhead, seed);
                let found = found.unwrap();
                assert!((found.overhead - overhead).abs() < 2.0, "{found:?}, truth {overhead}");
                assert_eq!((found.framing, sizes), (Framing::Packets, 3));
                assert!(found.high - found.low < 6.0, "{found:?}");
            }
        }
    }

    #[test]
    fn cells_show_the_overhead_within_two_bytes() {
        for overhead in 0..=48_u16 {
            for seed in 0..10 {
                let cells = |size: f64| 53.0 * ((size + f64::from(overhead)) / 48.0).ceil();
                let (found, sizes) = measured(1.2e5, cells, seed);
                let found = found.unwrap();
                assert_eq!(found.framing, Framing::Cells, "{found:?}, truth {overhead}");
                assert!((found.overhead - f64::from(overhead)).abs() <= 2.0, "{found:?}, truth {overhead}");
                assert!(sizes <= 8, "{sizes}");
            }
        }
    }

    #[test]
    fn a_line_whose_number_of_packets_is_limited_shows_no_overhead() {
        // 6000 packets a second, whatever their size.
        let limited = |size: f64| if size > 1000.0 { size } else { 2.5e6 / 6000.0 };
        assert_eq!(measured(2.5e6, limited, 1).0, None);
    }

    #[test]
    fn a_shaper_that_counts_other_bytes_is_noticed() {
        let found =
            |framing, overhead: f64| LineOverhead { framing, overhead, low: overhead - 0.5, high: overhead + 0.5 };
        let agrees = |found: LineOverhead, layer: &str| found.agrees(&layer.parse().unwrap());
        assert!(agrees(found(Framing::Packets, 38.0), "ethernet") && agrees(found(Framing::Packets, 17.0), "docsis"));
        assert!(!agrees(found(Framing::Packets, 38.0), "ip") && !agrees(found(Framing::Cells, 40.0), "ip+40"));
        assert!(agrees(found(Framing::Cells, 40.0), "atm/pppoe-llcsnap"));
    }
}
