//! The tins of CAKE: into which one a packet goes, and up to which rate each has priority.
//!
//! Tables after tc-cake(8), with the code points that Linux 6.1 sorts into each tin.

use rrul_model::units::BitRate;

use crate::queue::TinLayout;

/// The threshold of a tin, as a part of the rate.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Threshold {
    /// 1 / 2 to this power.
    Half(u32),
    /// 7/8 to this power, in whole bytes per second at each step.
    SevenEighths(u32),
}

/// One tin of a layout.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct TinKind {
    /// Name in `tc -s qdisc`.
    pub(super) name: &'static str,
    threshold: Threshold,
    /// Place in reports: from the lowest priority to the highest, as people think of it.
    pub(super) place: usize,
}

impl TinKind {
    const fn new(name: &'static str, threshold: Threshold, place: usize) -> Self {
        Self { name, threshold, place }
    }

    /// The rate up to which the tin has priority over those before it.
    pub(super) fn threshold(self, rate: BitRate) -> BitRate {
        let octets = rate.0 / 8;
        let threshold = match self.threshold {
            Threshold::Half(power) => octets >> power,
            Threshold::SevenEighths(power) => (0..power).fold(octets, |octets, _| octets - octets.div_ceil(8)),
        };
        BitRate(threshold.max(1) * 8)
    }
}

const BULK: TinKind = TinKind::new("Bulk", Threshold::Half(4), 0);
const BEST_EFFORT: TinKind = TinKind::new("Best Effort", Threshold::Half(0), 1);
const ONE: &[TinKind] = &[TinKind::new("Tin 0", Threshold::Half(0), 0)];

/// In the order in which they are asked: a later tin goes first while it is below its threshold. Best effort is asked before bulk,
/// so that bulk gets its threshold even when best effort is saturated.
const THREE: &[TinKind] = &[BEST_EFFORT, BULK, TinKind::new("Voice", Threshold::Half(2), 2)];
const FOUR: &[TinKind] =
    &[BEST_EFFORT, BULK, TinKind::new("Video", Threshold::Half(1), 2), TinKind::new("Voice", Threshold::Half(2), 3)];
const EIGHT: &[TinKind] = &[
    TinKind::new("Tin 0", Threshold::SevenEighths(0), 0),
    TinKind::new("Tin 1", Threshold::SevenEighths(1), 1),
    TinKind::new("Tin 2", Threshold::SevenEighths(2), 2),
    TinKind::new("Tin 3", Threshold::SevenEighths(3), 3),
    TinKind::new("Tin 4", Threshold::SevenEighths(4), 4),
    TinKind::new("Tin 5", Threshold::SevenEighths(5), 5),
    TinKind::new("Tin 6", Threshold::SevenEighths(6), 6),
    TinKind::new("Tin 7", Threshold::SevenEighths(7), 7),
];

/// The tins of a layout.
pub(super) fn kinds(layout: TinLayout) -> &'static [TinKind] {
    match layout {
        TinLayout::BestEffort => ONE,
        TinLayout::Diffserv3 => THREE,
        TinLayout::Diffserv4 => FOUR,
        TinLayout::Diffserv8 => EIGHT,
    }
}

/// The index in [`kinds`] of the tin of a code point.
pub(super) fn tin_of(layout: TinLayout, dscp: u8) -> usize {
    match layout {
        TinLayout::BestEffort => 0,
        TinLayout::Diffserv3 => match dscp {
            1 | 8 => 1,
            4 | 44 | 46 | 48 | 56 => 2,
            _ => 0,
        },
        TinLayout::Diffserv4 => match dscp {
            1 | 8 => 1,
            4 | 16 | 18 | 20 | 22 | 24 | 26 | 28 | 30 | 34 | 36 | 38 => 2,
            32 | 40 | 44 | 46 | 48 | 56 => 3,
            _ => 0,
        },
        TinLayout::Diffserv8 => match dscp {
            1 => 0,
            2 | 8 | 10 | 12 | 14 => 1,
            24 | 26 | 28 | 30 | 34 | 36 | 38 => 3,
            4 | 18 | 20 | 22 => 4,
            16 => 5,
            32 | 40 | 44 | 46 => 6,
            48 | 56 => 7,
            _ => 2,
        },
    }
}
