//! What becomes of one code point on its way (RFC 2474).

use std::collections::BTreeMap;

use rrul_model::marking::{Dscp, Ecn, Marking, ServiceClass};
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::marking::marking_tally::Tally;
use crate::statistics::proportion::Proportion;

/// Packets of a code point that must have arrived for anything to be said of it.
const FEWEST: u64 = 2;
/// The part of a code point's packets that must arrive alike, in tenths.
const ALIKE_TENTHS: u64 = 9;
/// Losses of a code point are due to its marking when chance brings as many once in so many code points: a run judges
/// up to 512, and all runs of a year should blame no path wrongly more often than now and then.
const LIKELIEST_CHANCE: f64 = 1e-5;

/// What becomes of one code point.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct CodePoint {
    /// Number of the code point.
    ///
    /// Unit: DSCP. Source: RFC 2474.
    pub dscp: u8,
    /// Name of the code point.
    pub class: ServiceClass,
    /// What becomes of the code point.
    pub verdict: CodePointVerdict,
    /// The code point with which most of its packets arrive; null if none arrives.
    ///
    /// Unit: DSCP.
    pub arrives_as: Option<u8>,
    /// Packets sent. Null when losses have no direction.
    ///
    /// Unit: count.
    pub sent: Option<u64>,
    /// Packets that arrived.
    ///
    /// Unit: count.
    pub arrived: u64,
    /// Share of its packets lost less that of unmarked packets. Null when losses have no direction.
    ///
    /// Unit: -1 to 1. Source: Newcombe 1998, method 10.
    pub excess_loss: Option<f64>,
    /// Lower end of its 95 % interval.
    ///
    /// Unit: -1 to 1.
    pub excess_loss_low: Option<f64>,
    /// Upper end of its 95 % interval.
    ///
    /// Unit: -1 to 1.
    pub excess_loss_high: Option<f64>,
}

/// What becomes of a code point.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum CodePointVerdict {
    /// Is preserved.
    Preserved,
    /// Becomes 0.
    Bleached,
    /// Becomes another code point.
    Remarked,
    /// Arrives sometimes as one, sometimes as another.
    Mixed,
    /// More of it is lost than of unmarked packets, beyond chance.
    Dropped,
    /// Too little arrived.
    Unknown,
}

/// The byte of a code point without ECN.
pub(crate) fn octet(dscp: Dscp) -> u8 {
    Marking { dscp, ecn: Ecn::NotEct }.octet()
}

pub(crate) fn code_point(tally: &Tally, dscp: Dscp) -> CodePoint {
    let own = octet(dscp);
    let mut arrivals: BTreeMap<u8, u64> = BTreeMap::new();
    for (received, packets) in tally.arrived_as(own) {
        *arrivals.entry(Marking::from_octet(received).dscp.value()).or_default() += packets;
    }
    let arrived: u64 = arrivals.values().sum();
    let most = arrivals.iter().max_by_key(|(_, packets)| **packets).map(|(dscp, packets)| (*dscp, *packets));
    let lost = tally.lost(own);
    let against = lost.zip(tally.lost(0)).filter(|_| own != 0);
    let excess = against.and_then(|(lost, unmarked)| lost.less(unmarked));
    let verdict = match most {
        _ if against.is_some_and(|(lost, unmarked)| is_beyond_chance(lost, unmarked)) => CodePointVerdict::Dropped,
        _ if arrived < FEWEST => CodePointVerdict::Unknown,
        Some((_, packets)) if packets * 10 < arrived * ALIKE_TENTHS => CodePointVerdict::Mixed,
        Some((to, _)) if to == dscp.value() => CodePointVerdict::Preserved,
        Some((0, _)) => CodePointVerdict::Bleached,
        Some(_) => CodePointVerdict::Remarked,
        None => CodePointVerdict::Unknown,
    };
    CodePoint {
        dscp: dscp.value(),
        class: ServiceClass::from_dscp(dscp),
        verdict,
        arrives_as: most.map(|(to, _)| to),
        sent: lost.map(|lost| lost.of),
        arrived,
        excess_loss: against.and_then(|(lost, unmarked)| Some(lost.share()? - unmarked.share()?)),
        excess_loss_low: excess.map(|interval| interval.low),
        excess_loss_high: excess.map(|interval| interval.high),
    }
}

/// Whether so many more are lost of a marking than of unmarked packets that the marking must be why.
pub(crate) fn is_beyond_chance(lost: Proportion, unmarked: Proportion) -> bool {
    lost.share() > unmarked.share() && lost.chance_of_exceeding(unmarked) < LIKELIEST_CHANCE
}
