//! What is known of packets, by the numbers that they bear within their flow.
//!
//! Numbers are dealt out one after another, so that rows come nearly in order and with few gaps: a sorted list in which a
//! number is looked for where it would stand without gaps is several times as fast as a map.

/// One value for each number.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ByNumber<T>(Vec<(u32, T)>);

impl<T> ByNumber<T> {
    pub(crate) fn first(rows: Vec<(u32, T)>) -> Self {
        Self::least_by(rows, |_| ())
    }

    /// Of each number the row whose value comes first by this key; of equal ones the first row.
    pub(crate) fn least_by<K: Ord>(mut rows: Vec<(u32, T)>, key: impl Fn(&T) -> K) -> Self {
        if !rows.is_sorted_by(|one, next| one.0 < next.0) {
            rows.sort_by(|(one, a), (other, b)| one.cmp(other).then_with(|| key(a).cmp(&key(b))));
            rows.dedup_by_key(|row| row.0);
        }
        Self(rows)
    }

    /// What is known of this number.
    pub(crate) fn get(&self, number: u32) -> Option<&T> {
        let from_first = number.checked_sub(self.0.first()?.0)?;
        // Behind gaps it stands nearer to the beginning, never farther.
        let farthest = (from_first as usize).min(self.0.len() - 1);
        let (found, value) = &self.0[farthest];
        if *found == number {
            return Some(value);
        }
        let place = self.0[..farthest].binary_search_by_key(&number, |row| row.0).ok()?;
        Some(&self.0[place].1)
    }

    /// Numbers and values, from the lowest number.
    pub(crate) fn iter(&self) -> impl Iterator<Item = (u32, &T)> {
        self.0.iter().map(|(number, value)| (*number, value))
    }

    /// The same numbers with what this makes of their values.
    pub(crate) fn map<U>(&self, make: impl Fn(u32, &T) -> U) -> ByNumber<U> {
        ByNumber(self.iter().map(|(number, value)| (number, make(number, value))).collect())
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn it_finds_what_a_map_finds(rows in prop::collection::vec((0_u32..60, 0_u8..9), 0..80), sorted in any::<bool>(), base in any::<u32>()) {
            let mut rows: Vec<(u32, u8)> = rows.into_iter().map(|(number, value)| (number.saturating_add(base), value)).collect();
            if sorted {
                rows.sort_by_key(|row| row.0);
                rows.dedup_by_key(|row| row.0);
            }
            let (mut first, mut least) = (BTreeMap::new(), BTreeMap::new());
            for (number, value) in &rows {
                first.entry(*number).or_insert(*value);
                let found: &mut u8 = least.entry(*number).or_insert(*value);
                *found = (*found).min(*value);
            }
            for (found, map) in [(ByNumber::first(rows.clone()), first), (ByNumber::least_by(rows.clone(), |value| *value), least)] {
                prop_assert_eq!(found.iter().map(|(number, value)| (number, *value)).collect::<Vec<_>>(), map.clone().into_iter().collect::<Vec<_>>());
                for number in (0..70).map(|number: u32| number.saturating_add(base.saturating_sub(5))).chain([0, u32::MAX]) {
                    prop_assert_eq!(found.get(number), map.get(&number));
                }
            }
        }
    }
}
