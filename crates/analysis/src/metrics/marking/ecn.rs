//! What a path makes of the ECN bits of UDP packets (RFC 3168, RFC 9331), and how often it marks congestion.

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::Ecn;
use rrul_model::time::Window;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::marking::code_point::is_beyond_chance;
use crate::metrics::marking::marking_tally::{EcnPacket, Tally};
use crate::metrics::tcp::tcp_ecn::TcpEcn;
use crate::statistics::block_bootstrap::{BlockBootstrap, ConfidenceInterval};
use crate::statistics::proportion::Proportion;

/// Packets of an ECN value that must have arrived for anything to be said of it.
const FEWEST: u64 = 10;
/// The part of them that must arrive alike, in tenths.
const ALIKE_TENTHS: u64 = 9;
/// Above this share of packets marked CE on the idle line, with 95 % confidence, it is no queue that marks them.
const IDLE_MARKS: f64 = 0.01;
/// Blocks for the interval of the share that is marked under load.
const BLOCK: std::time::Duration = std::time::Duration::from_secs(1);

/// What the path does to ECN.
///
/// Whether the ECN field survives, and how often packets are marked CE (congestion experienced), for each direction and
/// family, ECT(0) and ECT(1) apart. From UDP packets of a marking sweep, with each of the four values on the same code
/// point; TCP never sends ECT(1) by itself. An AQM marks CE under load, as it should; on an idle line it has no reason
/// to, and a share above 1 % with 95 % confidence is called `marked_idle`. A sender cannot detect from replies that ECN
/// of its own TCP is cleared; the receiver's counters can.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "ECN")]
pub struct EcnReport {
    /// Each direction and family, from the packets of a marking sweep.
    pub paths: Vec<EcnPath>,
    /// Each stream of the load.
    pub streams: Vec<TcpEcn>,
}

/// One direction and family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct EcnPath {
    /// Direction of the packets.
    pub direction: Direction,
    /// Address family of the packets.
    pub family: AddressFamily,
    /// The worse verdict of ECT(0) and ECT(1) on the idle line, or under load where that is unknown.
    ///
    /// Source: RFC 3168.
    pub verdict: EcnVerdict,
    /// On the idle line.
    pub idle: Option<EcnPhase>,
    /// Under load.
    pub load: Option<EcnPhase>,
}

/// The four values of the field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EcnPhase {
    /// Packets sent as Not-ECT.
    pub not_ect: EcnValue,
    /// Packets sent as ECT(1).
    pub ect1: EcnValue,
    /// Packets sent as ECT(0).
    pub ect0: EcnValue,
    /// Packets sent as CE.
    pub ce: EcnValue,
}

/// What became of packets of one value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct EcnValue {
    /// What becomes of packets with this value. `unknown` is fewer than ten packets.
    ///
    /// Source: RFC 3168; RFC 9331.
    pub verdict: EcnVerdict,
    /// Packets sent with this value. Null when losses have no direction.
    ///
    /// Unit: count.
    pub sent: Option<u64>,
    /// Packets that arrived.
    ///
    /// Unit: count.
    pub arrived: u64,
    /// Of those, packets that arrived as Not-ECT.
    ///
    /// Unit: count.
    pub as_not_ect: u64,
    /// Of those, packets that arrived as ECT(1).
    ///
    /// Unit: count.
    pub as_ect1: u64,
    /// Of those, packets that arrived as ECT(0).
    ///
    /// Unit: count.
    pub as_ect0: u64,
    /// Of those, packets that arrived as CE.
    ///
    /// Unit: count.
    pub as_ce: u64,
    /// Share of the packets that arrived which became CE on the way. Null for packets sent as CE. If ECT(1) is marked
    /// much more often than ECT(0), the queue supports L4S.
    ///
    /// Unit: share. Source: RFC 3168; RFC 9331.
    pub marked_share: Option<f64>,
    /// Lower end of its 95 % interval (Wilson; under load the wider of that and a bootstrap of blocks of one second).
    ///
    /// Unit: share.
    pub marked_share_low: Option<f64>,
    /// Upper end of its 95 % interval.
    ///
    /// Unit: share.
    pub marked_share_high: Option<f64>,
    /// Share of the packets lost less that of Not-ECT packets. Null for Not-ECT, and when losses have no direction.
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

/// What becomes of an ECN value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum EcnVerdict {
    /// Nine tenths are preserved, or ECN-capable ones arrive as CE.
    Pass,
    /// Too little arrived.
    Unknown,
    /// Over 1 % become CE on the idle line: where nothing queues, that is no mark of congestion.
    MarkedIdle,
    /// Becomes ECT(0).
    ToEct0,
    /// Becomes ECT(1).
    ToEct1,
    /// All of it becomes CE.
    ToCe,
    /// Arrives sometimes as one, sometimes as another.
    Mixed,
    /// Becomes Not-ECT.
    Cleared,
    /// More of it is lost than of Not-ECT packets, beyond chance.
    Dropped,
}

/// From the sweeps; `streams` is passed on.
pub(crate) fn ecn(tallies: &[Tally], load: Window, streams: Vec<TcpEcn>) -> EcnReport {
    let mut paths: BTreeMap<(Direction, AddressFamily), EcnPath> = BTreeMap::new();
    for tally in tallies.iter().filter(|tally| !tally.ecn.is_empty()) {
        let path = paths.entry((tally.direction, tally.family)).or_insert_with(|| EcnPath {
            direction: tally.direction,
            family: tally.family,
            verdict: EcnVerdict::Unknown,
            idle: None,
            load: None,
        });
        let phase = if tally.loaded { &mut path.load } else { &mut path.idle };
        *phase = Some(judged(tally, load));
    }
    for path in paths.values_mut() {
        let verdicts = path.idle.iter().chain(&path.load).map(|phase| phase.ect0.verdict.max(phase.ect1.verdict));
        path.verdict =
            verdicts.into_iter().find(|verdict| *verdict != EcnVerdict::Unknown).unwrap_or(EcnVerdict::Unknown);
    }
    EcnReport { paths: paths.into_values().collect(), streams }
}

fn judged(tally: &Tally, load: Window) -> EcnPhase {
    let bootstrap = if tally.loaded { BlockBootstrap::new(load, BLOCK) } else { None };
    let value = |sent| value(tally, sent, bootstrap.as_ref());
    EcnPhase { not_ect: value(Ecn::NotEct), ect1: value(Ecn::Ect1), ect0: value(Ecn::Ect0), ce: value(Ecn::Ce) }
}

fn value(tally: &Tally, sent: Ecn, bootstrap: Option<&BlockBootstrap>) -> EcnValue {
    let packets = |sent: Ecn| tally.ecn.iter().filter(move |packet| packet.sent == sent);
    let count = |arrived: Ecn| packets(sent).filter(|packet| packet.arrived == Some(arrived)).count() as u64;
    let lost = |sent: Ecn| {
        let hits = packets(sent).filter(|packet| packet.arrived.is_none()).count() as u64;
        tally.exact.then(|| Proportion { hits, of: packets(sent).count() as u64 })
    };
    let [as_not_ect, as_ect1, as_ect0, as_ce] = [Ecn::NotEct, Ecn::Ect1, Ecn::Ect0, Ecn::Ce].map(count);
    let arrived = as_not_ect + as_ect1 + as_ect0 + as_ce;
    let against = lost(sent).zip(lost(Ecn::NotEct)).filter(|_| sent != Ecn::NotEct);
    let excess = against.and_then(|(own, plain)| own.less(plain));
    let marked = Proportion { hits: as_ce, of: arrived };
    let marked = (sent != Ecn::Ce).then_some(marked);
    let marked_interval = marked.and_then(|marked| marked_interval(marked, packets(sent), bootstrap));
    let dropped = against.is_some_and(|(own, plain)| is_beyond_chance(own, plain));
    let capable = matches!(sent, Ecn::Ect0 | Ecn::Ect1);
    let own = match sent {
        Ecn::NotEct => as_not_ect,
        Ecn::Ect1 => as_ect1,
        Ecn::Ect0 => as_ect0,
        Ecn::Ce => as_ce,
    };
    // What an ECN-capable packet is for: congestion on the way is shown by CE.
    let passed = own + if capable { as_ce } else { 0 };
    let most_of = |count: u64| count * 10 >= arrived * ALIKE_TENTHS;
    let verdict = if dropped {
        EcnVerdict::Dropped
    } else if arrived < FEWEST {
        EcnVerdict::Unknown
    } else if capable && !tally.loaded && marked_interval.is_some_and(|interval| interval.low > IDLE_MARKS) {
        if most_of(as_ce) { EcnVerdict::ToCe } else { EcnVerdict::MarkedIdle }
    } else if most_of(passed) {
        EcnVerdict::Pass
    } else if most_of(as_not_ect) {
        EcnVerdict::Cleared
    } else if most_of(as_ce) {
        EcnVerdict::ToCe
    } else if most_of(as_ect0 + as_ce) {
        EcnVerdict::ToEct0
    } else if most_of(as_ect1 + as_ce) {
        EcnVerdict::ToEct1
    } else {
        EcnVerdict::Mixed
    };
    EcnValue {
        verdict,
        sent: lost(sent).map(|lost| lost.of),
        arrived,
        as_not_ect,
        as_ect1,
        as_ect0,
        as_ce,
        marked_share: marked.and_then(Proportion::share),
        marked_share_low: marked_interval.map(|interval| interval.low),
        marked_share_high: marked_interval.map(|interval| interval.high),
        excess_loss: against.and_then(|(own, plain)| Some(own.share()? - plain.share()?)),
        excess_loss_low: excess.map(|interval| interval.low),
        excess_loss_high: excess.map(|interval| interval.high),
    }
}

/// The interval of the share marked: under load by resampled seconds, as marks come in bursts, and never narrower than
/// for packets that are independent of each other.
fn marked_interval<'a>(
    marked: Proportion,
    packets: impl Iterator<Item = &'a EcnPacket> + Clone,
    bootstrap: Option<&BlockBootstrap>,
) -> Option<ConfidenceInterval> {
    let independent = marked.interval()?;
    let resampled = bootstrap.and_then(|bootstrap| {
        let arrived = packets.filter_map(|packet| Some((packet.at, packet.arrived?)));
        let all = bootstrap.sums(arrived.clone().map(|(at, _)| (at, 1.0)));
        let with_ce = bootstrap.sums(arrived.map(|(at, ecn)| (at, f64::from(u8::from(ecn == Ecn::Ce)))));
        bootstrap.interval(|resample| with_ce.sum(resample) / all.sum(resample))
    });
    let widest = |other: ConfidenceInterval| ConfidenceInterval {
        low: independent.low.min(other.low),
        high: independent.high.max(other.high),
    };
    Some(resampled.map_or(independent, widest))
}
