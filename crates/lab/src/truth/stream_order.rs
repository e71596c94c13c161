//! What a receiver of TCP could hand to its program, and when.

use std::collections::BTreeMap;

use crate::time::LabTime;
use crate::truth::record::Record;

/// How many bytes of one stream were with its receiver without a gap, and since when, by the records of its packets in
/// the order in which they entered the link.
///
/// Bytes count from the first that entered. Of a stream of 4 GiB and more nothing sensible comes out.
pub fn in_order<'a>(records: impl IntoIterator<Item = &'a Record>) -> Vec<(u64, LabTime)> {
    let mut segments = records.into_iter().filter(|record| record.tcp_payload > 0).peekable();
    let Some(first) = segments.peek().map(|record| record.tcp_sequence) else { return Vec::new() };
    let delivered = segments.filter_map(|record| {
        let from = u64::from(record.tcp_sequence.wrapping_sub(first));
        Some((record.delivery()?, from, from + u64::from(record.tcp_payload)))
    });
    let mut delivered: Vec<_> = delivered.collect();
    delivered.sort_unstable();
    let (mut next, mut early, mut reached) = (0, BTreeMap::new(), Vec::new());
    for (at, from, to) in delivered {
        early.entry(from).and_modify(|end: &mut u64| *end = to.max(*end)).or_insert(to);
        while let Some((from, to)) = early.first_key_value().map(|(from, to)| (*from, *to))
            && from <= next
        {
            early.remove(&from);
            if to > next {
                next = to;
                reached.push((next, at));
            }
        }
    }
    reached
}
