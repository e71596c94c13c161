//! Which packet was lost in which direction, as a session shows it, held against what the link did.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;
use rrul_model::time::{TestTime, Window};

use crate::virtual_link::{EF, MILLISECOND, Run, SECOND, Scenario, Way};

/// Any loss, doubling, overtaking and outage.
pub(crate) fn way() -> impl Strategy<Value = Way> {
    let one_in = || prop_oneof![Just(0_u64), 2..200_u64];
    let outage = (1..50_i64, 1..3_000_i64).prop_map(|(from, length)| {
        let from = from * SECOND;
        Window { from: TestTime(from), to: TestTime(from + length * MILLISECOND) }
    });
    let variation = prop_oneof![Just(0), 0..100 * MILLISECOND];
    (one_in(), one_in(), variation, prop::option::of(outage)).prop_map(
        |(loses_one_in, doubles_one_in, variation, outage)| Way {
            variation,
            loses_one_in,
            doubles_one_in,
            outage,
            ..Way::of(7 * MILLISECOND)
        },
    )
}

/// Every copy that reached the reflector is noted, in its order; the replies' counts say which note is whose; and so
/// the losses of either way are exactly those of the link.
pub(crate) fn by_the_reflectors_notes(run: &Run) {
    let noted: Vec<(u32, i64)> = run.arrivals.iter().map(|arrival| (arrival.sequence, arrival.received)).collect();
    assert_eq!(noted, run.delivered, "notes are arrivals in their order");
    assert!(run.arrivals.iter().all(|arrival| arrival.octet == EF));

    let arrived: BTreeSet<u32> = run.arrivals.iter().map(|arrival| arrival.sequence).collect();
    let lost_up: Vec<u32> = run.sent.iter().map(|sent| sent.sequence).filter(|sent| !arrived.contains(sent)).collect();
    assert_eq!(lost_up, run.lost_up, "lost on the way up");

    let answers: BTreeMap<u32, u32> =
        run.received.iter().map(|(reply, _)| (reply.reflector_count, reply.sequence)).collect();
    for (count, sequence) in &answers {
        assert_eq!(run.arrivals[*count as usize - 1].sequence, *sequence, "the reply that bears the count {count}");
    }
    let counted = (1..).zip(&run.arrivals).filter(|(count, _)| !answers.contains_key(count));
    let mut lost_down: Vec<u32> = counted.map(|(_, arrival)| arrival.sequence).collect();
    lost_down.sort_unstable();
    let mut truth = run.lost_down.clone();
    truth.sort_unstable();
    assert_eq!(lost_down, truth, "lost on the way down");
}

/// Without the notes: what replies and their windows say is true, and they leave open only what was lost at the end or
/// together with more than a window contains. Returns how many packets they leave open.
pub(crate) fn by_windows(scenario: &Scenario, run: &Run) -> usize {
    let answered = run.received.iter().map(|(reply, _)| reply.sequence);
    let mut arrived: BTreeSet<u32> = answered.clone().collect();
    let mut missing = BTreeSet::new();
    for told in &run.windows {
        let numbers = (0..64_u32).filter_map(|behind| Some((behind, told.highest.checked_sub(behind)?)));
        for (behind, sequence) in numbers {
            let set = told.window & (1 << behind) != 0;
            if set {
                arrived.insert(sequence)
            } else {
                missing.insert(sequence)
            };
        }
    }
    let delivered: BTreeSet<u32> = run.delivered.iter().map(|(sequence, _)| *sequence).collect();
    assert!(arrived.is_subset(&delivered), "what is reported to have arrived has");
    let lost_up: BTreeSet<u32> = run.lost_up.iter().copied().collect();
    if scenario.up.variation == 0 {
        assert!(missing.is_subset(&lost_up), "what is reported to be missing was lost, as nothing came late");
    }
    let last = answered.clone().max();
    let open: Vec<u32> = (0..run.sent.len() as u32)
        .filter(|sequence| !arrived.contains(sequence) && !missing.contains(sequence))
        .collect();
    // A packet is left open when no reply came to any of the 64 from it on, less those that later ones may have overtaken.
    let overtaken = if scenario.up.variation == 0 { 0 } else { 8 };
    let answered: BTreeSet<u32> = answered.collect();
    let unanswered = |from: u32| answered.range(from..from + 64 - overtaken).next().is_none();
    for sequence in &open {
        assert!(last.is_none_or(|last| *sequence > last) || unanswered(*sequence), "{sequence} is left open");
    }
    open.len()
}
