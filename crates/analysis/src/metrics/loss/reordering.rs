//! Reordering of packets (RFC 4737).

use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

/// A packet as it arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Arrival {
    /// Its number in the order of sending.
    pub(crate) number: u32,
    /// When it arrived, on any clock.
    pub(crate) at: TestTime,
}

/// By how much a reordered packet came too late.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Displacement {
    /// Arrivals since the earliest one that overtook it, that one included.
    extent: u64,
    /// Whether at least the three arrivals before it had all been sent later.
    three: bool,
    /// Time since the earliest one that overtook it arrived.
    late_time: Delay,
}

/// For each of these arrivals, which must be first copies in the order of arrival: how it is displaced, if it is.
pub(crate) fn displacements(arrivals: &[Arrival]) -> Vec<Option<Displacement>> {
    // Arrivals with a number above all before them. Their numbers rise, so the earliest above a given one is found at once.
    let mut records: Vec<usize> = Vec::new();
    let displacement = |(index, arrival): (usize, &Arrival)| {
        let first_above = records.partition_point(|record| arrivals[*record].number <= arrival.number);
        let Some(overtaker) = records.get(first_above).copied() else {
            records.push(index);
            return None;
        };
        let before = &arrivals[index.saturating_sub(3)..index];
        Some(Displacement {
            extent: (index - overtaker) as u64,
            three: before.len() == 3 && before.iter().all(|earlier| earlier.number > arrival.number),
            late_time: arrival.at.since(arrivals[overtaker].at),
        })
    };
    arrivals.iter().enumerate().map(displacement).collect()
}

/// Reordering within one sample of packets.
///
/// A packet is reordered when a packet that was sent later arrived before it. Only the first copy of a packet counts.
/// Packets that did not arrive reorder nothing.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Reordering")]
pub struct Reordering {
    /// Packets whose number is below that of one that arrived before.
    ///
    /// Unit: count. Source: RFC 4737 section 3.
    pub reordered: u64,
    /// Of the packets that arrived; `null` when none did.
    ///
    /// Unit: share. Source: RFC 4737 section 4.1.
    pub share: Option<f64>,
    /// Largest number of packets from the earliest one that overtook a reordered packet to the last before it: the
    /// buffer length that restores the order. Null without reordering.
    ///
    /// Unit: packets. Source: RFC 4737 section 4.2.
    pub extent_max: Option<u64>,
    /// Mean of the same.
    ///
    /// Unit: packets.
    pub extent_mean: Option<f64>,
    /// Packets that at least the three before them overtook (n-reordering for n = 3): a TCP without SACK takes such a
    /// packet for lost.
    ///
    /// Unit: count. Source: RFC 4737 section 5.3.
    pub three_reordered: u64,
    /// Longest time from the arrival of the earliest packet that overtook to the arrival of the reordered one; `null`
    /// without reordering.
    ///
    /// Source: RFC 4737 section 4.3.
    pub late_time_max_ns: Option<i64>,
}

impl Reordering {
    /// Counts the displacements of packets that arrived, in one stream or several.
    pub(crate) fn from_displacements(packets: impl IntoIterator<Item = Option<Displacement>>) -> Self {
        let mut arrived = 0_u64;
        let displaced: Vec<Displacement> = packets.into_iter().inspect(|_| arrived += 1).flatten().collect();
        let reordered = displaced.len() as u64;
        Self {
            reordered,
            share: (arrived > 0).then(|| reordered as f64 / arrived as f64),
            extent_max: displaced.iter().map(|packet| packet.extent).max(),
            extent_mean: (reordered > 0)
                .then(|| displaced.iter().map(|packet| packet.extent as f64).sum::<f64>() / reordered as f64),
            three_reordered: displaced.iter().filter(|packet| packet.three).count() as u64,
            late_time_max_ns: displaced.iter().map(|packet| packet.late_time.0).max(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One arrival a millisecond.
    fn reordering(numbers: &[u32]) -> Reordering {
        let arrival =
            |(index, number): (usize, &u32)| Arrival { number: *number, at: TestTime(index as i64 * 1_000_000) };
        let arrivals: Vec<Arrival> = numbers.iter().enumerate().map(arrival).collect();
        Reordering::from_displacements(displacements(&arrivals))
    }

    #[test]
    fn packets_in_order_and_gaps_are_no_reordering() {
        let none = Reordering { share: Some(0.0), ..Reordering::default() };
        assert_eq!(reordering(&[0, 1, 2, 3]), none);
        assert_eq!(reordering(&[0, 5, 9, 100]), none);
        assert_eq!(reordering(&[]), Reordering::default());
    }

    #[test]
    fn the_examples_of_rfc_4737_come_out() {
        // Section 7.1: packet 4 arrives after 5 to 7.
        let one_late = reordering(&[1, 2, 3, 5, 6, 7, 4, 8, 9, 10]);
        let expected = Reordering {
            reordered: 1,
            share: Some(0.1),
            extent_max: Some(3),
            extent_mean: Some(3.0),
            three_reordered: 1,
            late_time_max_ns: Some(3_000_000),
        };
        assert_eq!(one_late, expected);
        // Section 7.2: 7 and 8 overtake 5 and 6 each by two, and the second of each pair is not overtaken by the first.
        let pairs = reordering(&[1, 2, 3, 7, 8, 9, 10, 4, 5, 6, 11]);
        assert_eq!((pairs.reordered, pairs.extent_max, pairs.extent_mean), (3, Some(6), Some(5.0)));
        // 4 has the four before it above it; 5 and 6 have 4 right before them, and so are not 3-reordered.
        assert_eq!(pairs.three_reordered, 1);
    }

    #[test]
    fn adjacent_packets_that_change_places_are_reordered_by_one() {
        let swapped = reordering(&[1, 0, 3, 2]);
        assert_eq!((swapped.reordered, swapped.extent_max, swapped.three_reordered), (2, Some(1), 0));
        assert_eq!(swapped.late_time_max_ns, Some(1_000_000));
    }

    #[test]
    fn the_extent_reaches_back_to_the_earliest_that_overtook() {
        // Number 2 is behind 5 and 3: 5 came first.
        let first_three = reordering(&[5, 3, 2]);
        assert_eq!((first_three.extent_max, first_three.three_reordered), (Some(2), 0));
        // Number 4 was overtaken by 5 alone.
        assert_eq!(reordering(&[3, 5, 4]).extent_max, Some(1));
    }
}
