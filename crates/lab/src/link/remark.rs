//! Rewriting of DSCP and ECN on the way, as access networks and misbehaving boxes do.

use rrul_model::random::Random;

use crate::link::selection::{Selection, Selector};

/// What becomes of each of the 64 code points (RFC 2474).
#[derive(Debug, Clone, PartialEq)]
pub struct DscpRewrite([u8; 64]);

impl Default for DscpRewrite {
    /// Every code point stays.
    fn default() -> Self {
        Self(std::array::from_fn(|dscp| dscp as u8))
    }
}

impl DscpRewrite {
    /// Every code point becomes 0.
    pub fn bleach() -> Self {
        Self([0; 64])
    }

    /// Every code point becomes this one, of which the lower six bits count.
    pub fn constant(to: u8) -> Self {
        Self([to & 63; 64])
    }

    /// The upper three bits are cleared (`dscp & 7`): what remains when old gear clears the IP precedence of RFC 791.
    pub fn clear_precedence() -> Self {
        Self(std::array::from_fn(|dscp| dscp as u8 & 7))
    }

    /// This rewrite with `from` now becoming `to`; the lower six bits of both count.
    #[must_use]
    pub fn mapping(mut self, from: u8, to: u8) -> Self {
        self.0[usize::from(from & 63)] = to & 63;
        self
    }

    /// What becomes of `dscp`, of which the lower six bits count.
    pub fn apply(&self, dscp: u8) -> u8 {
        self.0[usize::from(dscp & 63)]
    }
}

/// What becomes of the ECN bits (RFC 3168) before the queue sees the packet.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum EcnRewrite {
    /// They stay.
    #[default]
    Keep,
    /// All become Not-ECT, so that an AQM behind drops instead of marking.
    Clear,
    /// ECT(1) becomes ECT(0), which hides L4S (RFC 9331) from the path behind.
    Ect1ToEct0,
    /// The selected ones among ECT(0) and ECT(1) become CE; only packets that are ECN-capable are counted.
    MarkCe(Selection),
}

/// Both rewrites at work.
#[derive(Debug)]
pub(crate) struct Remarker {
    dscp: DscpRewrite,
    ecn: EcnRewrite,
    mark_ce: Selector,
}

impl Remarker {
    pub(crate) fn new(dscp: DscpRewrite, ecn: EcnRewrite, random: Random) -> Self {
        let selection = if let EcnRewrite::MarkCe(selection) = &ecn { selection.clone() } else { Selection::Never };
        Self { dscp, ecn, mark_ce: Selector::new(selection, random) }
    }

    /// The byte that leaves for the byte that came.
    pub(crate) fn apply(&mut self, tos: u8) -> u8 {
        let ecn = match (&self.ecn, tos & 3) {
            (EcnRewrite::Clear, _) => 0,
            (EcnRewrite::Ect1ToEct0, 1) => 2,
            (EcnRewrite::MarkCe(_), 1 | 2) if self.mark_ce.hits() => 3,
            (_, ecn) => ecn,
        };
        (self.dscp.apply(tos >> 2) << 2) | ecn
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn remarked(dscp: DscpRewrite, ecn: EcnRewrite, tos: &[u8]) -> Vec<u8> {
        let mut remarker = Remarker::new(dscp, ecn, Random::new(1, "ecn"));
        tos.iter().map(|octet| remarker.apply(*octet)).collect()
    }

    #[test]
    fn bleaching_and_mapping_leave_the_ecn_bits_alone() {
        assert_eq!(remarked(DscpRewrite::bleach(), EcnRewrite::Keep, &[0xb9, 0x22]), [1, 2]);
        let map = DscpRewrite::default().mapping(46, 8);
        assert_eq!(remarked(map, EcnRewrite::Keep, &[0xb9, 0x88]), [0x21, 0x88]);
        let but_one = DscpRewrite::constant(10).mapping(0, 0);
        assert_eq!(remarked(but_one, EcnRewrite::Keep, &[0xb9, 0x02]), [0x29, 0x02]);
        assert_eq!(remarked(DscpRewrite::clear_precedence(), EcnRewrite::Keep, &[0xb8, 0x20]), [6 << 2, 0]);
    }

    #[test]
    fn each_ecn_rewrite_touches_only_what_it_names() {
        let all = [0b00, 0b01, 0b10, 0b11];
        let with = |ecn| remarked(DscpRewrite::default(), ecn, &all);
        assert_eq!(with(EcnRewrite::Keep), [0, 1, 2, 3]);
        assert_eq!(with(EcnRewrite::Clear), [0, 0, 0, 0]);
        assert_eq!(with(EcnRewrite::Ect1ToEct0), [0, 2, 2, 3]);
        assert_eq!(with(EcnRewrite::MarkCe(Selection::Every(1))), [0, 3, 3, 3]);
        assert_eq!(with(EcnRewrite::MarkCe(Selection::Numbers(vec![2]))), [0, 1, 3, 3]);
    }
}
