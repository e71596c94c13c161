//! What traces say of where the queue is, against where it is; counted by condition.

use std::collections::BTreeMap;
use std::fmt;

use rrul_analysis::metrics::path::bottleneck::BottleneckPlace;
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_model::flow::Direction;

/// A queue's link as a trace numbers its ends, from its sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Place {
    pub(crate) after: u8,
    pub(crate) before: u8,
}

impl Place {
    /// Of the queue of this direction that router `hop`, counted from the client, sends out of, with `hops` in all.
    pub(crate) fn of(direction: Direction, hop: u8, hops: u8) -> Self {
        let after = if direction == Direction::Up { hop } else { hops + 1 - hop };
        Self { after, before: after + 1 }
    }
}

/// One verdict against the truth.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Verdict {
    /// This link.
    Right,
    /// Somewhere between hops between which it is, but not which link.
    Wide,
    /// It is unknown.
    Unknown,
    /// Another link, another place, or no queue at all.
    Wrong,
}

impl Verdict {
    /// Against the places where the queue was, one after the other.
    fn of(trace: &PathTrace, truth: &[Place]) -> Self {
        let found = &trace.bottleneck;
        match (found.place, found.after_hop, found.before_hop) {
            (BottleneckPlace::Path, Some(after), Some(before)) => {
                let holds = |place: &Place| after <= place.after && place.before <= before;
                match (truth.contains(&Place { after, before }), truth.iter().any(holds)) {
                    (true, _) => Self::Right,
                    (false, true) => Self::Wide,
                    (false, false) => Self::Wrong,
                }
            }
            (BottleneckPlace::Unknown, ..) => Self::Unknown,
            _ => Self::Wrong,
        }
    }
}

/// Verdicts by condition.
#[derive(Debug, Default)]
pub(crate) struct Tally {
    counts: BTreeMap<String, [usize; 4]>,
    /// What was said where it was wrong.
    wrong: Vec<String>,
}

impl Tally {
    /// Counts the verdict of one trace on a queue that was at these places; `what` says which run it is of.
    pub(crate) fn count(&mut self, condition: String, trace: &PathTrace, truth: &[Place], what: &str) {
        let verdict = Verdict::of(trace, truth);
        self.counts.entry(condition).or_default()[verdict as usize] += 1;
        if verdict == Verdict::Wrong {
            let sides: Vec<&str> = trace.hops.iter().map(|hop| hop.side.unwrap_or("?")).collect();
            let (words, sides) = (&trace.bottleneck.words, sides.join(" "));
            self.wrong.push(format!("{what}, {}: {words} [{sides}]", trace.family));
        }
    }

    fn totals(&self) -> [usize; 4] {
        let total = |place: usize| self.counts.values().map(|counts| counts[place]).sum();
        [0, 1, 2, 3].map(total)
    }

    #[track_caller]
    pub(crate) fn assert_never_wrong(&self) {
        assert!(self.wrong.is_empty(), "wrong verdicts:\n{}\n{self}", self.wrong.join("\n"));
    }

    /// The link, or a stretch of the path that it is on, is named in so many of a hundred runs at least.
    #[track_caller]
    pub(crate) fn assert_tells(&self, least: usize) {
        let totals = self.totals();
        let (told, all) = (totals[0] + totals[1], totals.iter().sum::<usize>());
        assert!(all > 0 && told * 100 >= all * least, "{told} of {all} tell where it is\n{self}");
    }

    /// The link is named in 19 of 20 runs at least: of all together, and of each condition that has as many.
    #[track_caller]
    pub(crate) fn assert_nearly_always_right(&self) {
        let totals = self.totals();
        let enough = |counts: &[usize; 4]| counts[0] * 20 >= counts.iter().sum::<usize>() * 19;
        assert!(enough(&totals), "{} of {} are right\n{self}", totals[0], totals.iter().sum::<usize>());
        let weak = self.counts.iter().filter(|(_, counts)| counts.iter().sum::<usize>() >= 20 && !enough(counts));
        let weak: Vec<&str> = weak.map(|(condition, _)| condition.as_str()).collect();
        assert!(weak.is_empty(), "more than one in twenty is missed: {}\n{self}", weak.join("; "));
    }
}

impl fmt::Display for Tally {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "{:<44} {:>6} {:>6} {:>8} {:>6}", "", "right", "wide", "unknown", "wrong")?;
        for (condition, [right, wide, unknown, wrong]) in &self.counts {
            writeln!(f, "{condition:<44} {right:>6} {wide:>6} {unknown:>8} {wrong:>6}")?;
        }
        let [right, wide, unknown, wrong] = self.totals();
        write!(f, "{:<44} {right:>6} {wide:>6} {unknown:>8} {wrong:>6}", "all")
    }
}
