//! What a path makes of the ECN bits of UDP packets (RFC 3168, RFC 9331), and how often it marks congestion.

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::Ecn;
use rrul_model::time::Window;
use serde::Serialize;

use crate::metric_word::{MetricGroup, MetricWord};
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

/// What the paths make of ECN.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct EcnReport {
    /// Each direction and family, from packets of a marking sweep.
    pub paths: Vec<EcnPath>,
    /// Each stream of the load.
    pub streams: Vec<TcpEcn>,
}

/// One direction and family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EcnPath {
    /// Direction.
    pub direction: Direction,
    /// Family.
    pub family: AddressFamily,
    /// The worse of ECT(0) and ECT(1) on the idle line; where that is unknown, under load.
    pub verdict: EcnVerdict,
    /// On the idle line.
    pub idle: Option<EcnPhase>,
    /// Under load.
    pub load: Option<EcnPhase>,
}

/// The four values of the field.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EcnPhase {
    /// Sent not ECN-capable.
    pub not_ect: EcnValue,
    /// Sent as ECT(1).
    pub ect1: EcnValue,
    /// Sent as ECT(0).
    pub ect0: EcnValue,
    /// Sent as CE.
    pub ce: EcnValue,
}

/// What became of packets of one value.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct EcnValue {
    /// In a word.
    pub verdict: EcnVerdict,
    /// Packets sent; `None` where losses have no direction.
    pub sent: Option<u64>,
    /// Packets that arrived.
    pub arrived: u64,
    /// Of those, as Not-ECT.
    pub as_not_ect: u64,
    /// Of those, as ECT(1).
    pub as_ect1: u64,
    /// Of those, as ECT(0).
    pub as_ect0: u64,
    /// Of those, as CE.
    pub as_ce: u64,
    /// Share of what arrived that was marked CE on the way; `None` for packets sent as CE, or when nothing arrived.
    pub marked_share: Option<f64>,
    /// Lower end of its 95 % interval.
    pub marked_share_low: Option<f64>,
    /// Upper end.
    pub marked_share_high: Option<f64>,
    /// Share lost less that of packets that are not ECN-capable.
    pub excess_loss: Option<f64>,
    /// Lower end of its 95 % interval.
    pub excess_loss_low: Option<f64>,
    /// Upper end.
    pub excess_loss_high: Option<f64>,
}

/// What becomes of an ECN value.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EcnVerdict {
    /// It arrives as it was sent; under load, a part of it as CE.
    Pass,
    /// Too little arrived.
    Unknown,
    /// CE on an idle line, on more than one in a hundred: where there is no queue, that is no mark of congestion.
    MarkedIdle,
    /// It becomes ECT(0).
    ToEct0,
    /// It becomes ECT(1).
    ToEct1,
    /// All of it becomes CE.
    ToCe,
    /// Now this, now that.
    Mixed,
    /// It becomes Not-ECT.
    Cleared,
    /// More of it is lost than of packets that are not ECN-capable, beyond chance.
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
    // What an ECN-capable packet is for: congestion on the way is told by CE.
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
        bootstrap.interval(|resample| with_ce.of(resample) / all.of(resample))
    });
    let widest = |other: ConfidenceInterval| ConfidenceInterval {
        low: independent.low.min(other.low),
        high: independent.high.max(other.high),
    };
    Some(resampled.map_or(independent, widest))
}

/// The words for these metrics.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "ECN",
    path: "ecn",
    about: "Whether the ECN field survives, and how often packets are marked CE (congestion experienced), for each \
            direction and family, ECT(0) and ECT(1) apart. From UDP packets of a marking sweep, which bear each of the four \
            values on the same code point; TCP never sends ECT(1) by itself. An AQM marks CE under load, as it should; on \
            an idle line it has no reason to, and a share above 1 % with 95 % confidence is called `marked_idle`. A sender \
            cannot tell from what comes back that its own TCP's ECN is cleared; the receivers' counters can.",
    words: &[
        MetricWord {
            name: "paths[].{direction,family}",
            about: "which packets: `up` is client to server",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "paths[].verdict",
            about: "the worse of ECT(0) and ECT(1) on the idle line, or under load where that is unknown",
            unit: "",
            source: "spec, Test Requirements (ECT(0) and ECT(1))",
        },
        MetricWord {
            name: "paths[].{idle,load}.{not_ect,ect1,ect0,ce}.verdict",
            about: "`pass`: nine tenths arrive as sent, or ECN-capable ones as CE; `cleared`: as Not-ECT; `to_ect0`, \
                    `to_ect1`, `to_ce`: as that; `marked_idle`: over 1 % become CE on the idle line; `mixed`; `dropped`: \
                    more is lost than of Not-ECT beyond chance (as under markings); `unknown`: fewer than ten arrived",
            unit: "",
            source: "RFC 3168; RFC 9331",
        },
        MetricWord {
            name: "paths[].{idle,load}.{not_ect,ect1,ect0,ce}.{sent,arrived}",
            about: "packets sent with that value; `sent` is null when losses have no direction",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "paths[].{idle,load}.{not_ect,ect1,ect0,ce}.{as_not_ect,as_ect1,as_ect0,as_ce}",
            about: "of those that arrived, with which value",
            unit: "count",
            source: "",
        },
        MetricWord {
            name: "paths[].{idle,load}.{not_ect,ect1,ect0,ce}.{marked_share,marked_share_low,marked_share_high}",
            about: "share of what arrived that became CE on the way, and its 95 % interval (Wilson; under load the wider of \
                    that and a bootstrap of blocks of one second). Null for packets sent as CE. ECT(1) marked much more \
                    often than ECT(0) means a queue for L4S",
            unit: "0 to 1",
            source: "RFC 3168; RFC 9331",
        },
        MetricWord {
            name: "paths[].{idle,load}.{not_ect,ect1,ect0,ce}.{excess_loss,excess_loss_low,excess_loss_high}",
            about: "share lost less that of Not-ECT packets, and its 95 % interval; null for Not-ECT, and when losses have \
                    no direction",
            unit: "-1 to 1",
            source: "Newcombe 1998, method 10",
        },
        MetricWord {
            name: "streams[].{flow,negotiated,seen}",
            about: "a stream of the load: whether its ends agreed on ECN, and whether its receiver's kernel ever received \
                    an ECN-capable packet of it",
            unit: "",
            source: "RFC 3168 section 6.1",
        },
        MetricWord {
            name: "streams[].{ect0_octets,ect1_octets,ce_octets}",
            about: "octets that the receiver's kernel received so marked in the load phase; null where its `TCP_INFO` is \
                    too short to say (before Linux 6.18)",
            unit: "octets",
            source: "",
        },
        MetricWord {
            name: "streams[].ce_share",
            about: "of those octets, marked CE; null without any. Retransmissions are sent without ECN and are not among \
                    them. The sender's own count (`delivered_ce`) is not used: with classic ECN it counts every packet \
                    acknowledged during a round trip in which one was marked",
            unit: "0 to 1",
            source: "RFC 3168",
        },
        MetricWord {
            name: "streams[].bleached",
            about: "ECN was negotiated, data arrived, and none of it bore ECT or CE: the path clears the field",
            unit: "",
            source: "RFC 3168",
        },
    ],
};
