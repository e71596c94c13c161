//! What a path makes of service classes: the code point with which packets of each code point arrive (RFC 2474).

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::{Dscp, Ecn, Marking};
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metrics::marking::code_point::{CodePoint, CodePointVerdict, code_point, octet};
use crate::metrics::marking::marking_tally::{MarkingSource, Tally};
use crate::packets::one_way_flow::OneWayFlow;

/// What the path does to markings.
///
/// The code point (DSCP) with which packets of each code point arrive, for each direction and family. Each direction is
/// tested separately: the server answers a test packet with the requested marking, whatever arrived. The evidence is a
/// marking sweep, which interleaves all 64 code points. If the plan has none, it is the packets of the other UDP flows,
/// which have few classes. The idle line (phases survey, idle, after) and the load are judged apart. A code point is
/// judged when two of its packets arrived; nine tenths must arrive alike. It is `dropped` when more of its packets are
/// lost than of unmarked ones by a difference that chance brings once in 100 000 times (Fisher's exact test). That
/// needs the reflector's records of arrivals, without which the loss direction is unknown.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Markings")]
pub struct Markings {
    /// Each direction and family.
    pub paths: Vec<MarkingPath>,
    /// Each UDP flow in each direction.
    pub flows: Vec<FlowMarking>,
}

/// What the path of one direction and address family does to markings.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MarkingPath {
    /// Direction of the packets.
    pub direction: Direction,
    /// Address family of the packets.
    pub family: AddressFamily,
    /// Packets that show this.
    pub evidence: MarkingSource,
    /// What the path does to all code points together: idle, or under load if too little arrived idle.
    ///
    /// Source: spec, Test Requirements (classification preservation); RFC 2474.
    pub verdict: PathVerdict,
    /// The code point that all others become. Null unless the verdict is `remarked`.
    ///
    /// Unit: DSCP.
    pub remarked_to: Option<u8>,
    /// What was found on the idle line.
    pub idle: Option<MarkingPhase>,
    /// What was found under load.
    pub load: Option<MarkingPhase>,
    /// How many packets sent with one traffic-class byte arrived with which.
    pub matrix: Vec<MatrixCell>,
}

/// What a direction does to service classes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum PathVerdict {
    /// Every known code point is preserved.
    Preserved,
    /// All become 0.
    Bleached,
    /// All lose their upper three bits (`dscp & 7`), as when old equipment clears the IP precedence of RFC 791.
    PrecedenceBleached,
    /// All become the same other code point.
    Remarked,
    /// None but 0 arrives.
    Dropped,
    /// Some are changed or dropped.
    Altered,
    /// Too little arrived.
    Unknown,
}

/// What became of the code points of one direction and address family in one phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct MarkingPhase {
    /// What the path does to all code points together.
    ///
    /// Source: spec, Test Requirements (classification preservation); RFC 2474.
    pub verdict: PathVerdict,
    /// The code point that all others become. Null unless the verdict is `remarked`.
    ///
    /// Unit: DSCP.
    pub remarked_to: Option<u8>,
    /// Code points that are preserved.
    ///
    /// Unit: count.
    pub preserved: u64,
    /// Code points that become 0.
    ///
    /// Unit: count.
    pub bleached: u64,
    /// Code points that become another.
    ///
    /// Unit: count.
    pub remarked: u64,
    /// Code points that arrive with different values.
    ///
    /// Unit: count.
    pub mixed: u64,
    /// Code points that are lost because of their marking.
    ///
    /// Unit: count.
    pub dropped: u64,
    /// Code points with too few arrivals.
    ///
    /// Unit: count.
    pub unknown: u64,
    /// Each code point that is neither preserved nor unknown.
    pub altered: Vec<CodePoint>,
}

/// Packets sent with one byte that arrived with another, or with the same, or not at all.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct MatrixCell {
    /// Whether the line was loaded.
    pub loaded: bool,
    /// Traffic-class byte at the sender: DSCP times 4 plus ECN (0 Not-ECT, 1 ECT(1), 2 ECT(0), 3 CE).
    pub sent_octet: u8,
    /// Traffic-class byte as it arrived. Null for lost packets.
    pub received_octet: Option<u8>,
    /// Packets sent with the one and received with the other.
    ///
    /// Unit: count.
    pub packets: u64,
}

/// With which marking the packets of a flow arrived.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowMarking {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Direction of its packets.
    pub direction: Direction,
    /// Packets that arrived.
    ///
    /// Unit: count.
    pub arrived: u64,
    /// Of those, packets with the code point of the class of the flow.
    ///
    /// Unit: count.
    pub as_sent: u64,
    /// Of those, with CE, though sent without ECN: a defect of the path.
    ///
    /// Unit: count. Source: RFC 3168.
    pub marked_ce: u64,
    /// The code point of most that were not preserved; null when all did.
    ///
    /// Unit: DSCP.
    pub mostly_otherwise: Option<u8>,
}

pub(crate) fn markings(tallies: &[Tally], flows: &[OneWayFlow<'_>]) -> Markings {
    let mut paths: BTreeMap<(Direction, AddressFamily), MarkingPath> = BTreeMap::new();
    for tally in tallies {
        let path = paths.entry((tally.direction, tally.family)).or_insert_with(|| MarkingPath {
            direction: tally.direction,
            family: tally.family,
            evidence: tally.evidence,
            verdict: PathVerdict::Unknown,
            remarked_to: None,
            idle: None,
            load: None,
            matrix: Vec::new(),
        });
        let phase = if tally.loaded { &mut path.load } else { &mut path.idle };
        *phase = Some(judged(tally));
        path.matrix.extend(matrix(tally));
    }
    for path in paths.values_mut() {
        let known = |phase: &&MarkingPhase| phase.verdict != PathVerdict::Unknown;
        if let Some(phase) = path.idle.iter().chain(&path.load).find(known) {
            (path.verdict, path.remarked_to) = (phase.verdict, phase.remarked_to);
        }
    }
    Markings { paths: paths.into_values().collect(), flows: flows.iter().filter_map(flow_marking).collect() }
}

fn judged(tally: &Tally) -> MarkingPhase {
    let sent = |dscp: &Dscp| tally.sent[usize::from(octet(*dscp))] > 0;
    let points: Vec<CodePoint> =
        (0..64).filter_map(Dscp::new).filter(sent).map(|dscp| code_point(tally, dscp)).collect();
    let count = |verdict| points.iter().filter(|point| point.verdict == verdict).count() as u64;
    let (verdict, remarked_to) = together(&points);
    MarkingPhase {
        verdict,
        remarked_to,
        preserved: count(CodePointVerdict::Preserved),
        bleached: count(CodePointVerdict::Bleached),
        remarked: count(CodePointVerdict::Remarked),
        mixed: count(CodePointVerdict::Mixed),
        dropped: count(CodePointVerdict::Dropped),
        unknown: count(CodePointVerdict::Unknown),
        altered: points.into_iter().filter(|point| !is_plain(point.verdict)).collect(),
    }
}

fn is_plain(verdict: CodePointVerdict) -> bool {
    matches!(verdict, CodePointVerdict::Preserved | CodePointVerdict::Unknown)
}

/// What all code points that are known of have in common.
fn together(points: &[CodePoint]) -> (PathVerdict, Option<u8>) {
    let known: Vec<&CodePoint> = points.iter().filter(|point| point.verdict != CodePointVerdict::Unknown).collect();
    // Without half of them, or with none but 0, nothing can be said of the path.
    if known.len() * 2 < points.len() || known.iter().all(|point| point.dscp == 0) {
        return (PathVerdict::Unknown, None);
    }
    if known.iter().all(|point| point.verdict == CodePointVerdict::Preserved) {
        return (PathVerdict::Preserved, None);
    }
    let marked = || known.iter().filter(|point| point.dscp != 0);
    if marked().all(|point| point.verdict == CodePointVerdict::Dropped) {
        return (PathVerdict::Dropped, None);
    }
    let mapped = |point: &CodePoint| match point.verdict {
        CodePointVerdict::Dropped | CodePointVerdict::Mixed => None,
        _ => point.arrives_as,
    };
    if marked().all(|point| mapped(point) == Some(0)) {
        return (PathVerdict::Bleached, None);
    }
    if known.iter().all(|point| mapped(point) == Some(point.dscp & 7)) {
        return (PathVerdict::PrecedenceBleached, None);
    }
    let first = marked().next().and_then(|point| mapped(point));
    let constant = first.filter(|_| marked().all(|point| mapped(point) == first));
    match constant {
        Some(to) if marked().count() > 1 => (PathVerdict::Remarked, Some(to)),
        _ => (PathVerdict::Altered, None),
    }
}

fn matrix(tally: &Tally) -> Vec<MatrixCell> {
    let cell =
        |sent_octet, received_octet, packets| MatrixCell { loaded: tally.loaded, sent_octet, received_octet, packets };
    let mut cells: Vec<MatrixCell> =
        tally.arrived.iter().map(|((sent, received), packets)| cell(*sent, Some(*received), *packets)).collect();
    let lost = |octet: u8| Some(cell(octet, None, tally.lost(octet)?.hits)).filter(|cell| cell.packets > 0);
    cells.extend((0..=255).filter_map(lost));
    cells.sort_unstable_by_key(|cell| (cell.sent_octet, cell.received_octet));
    cells
}

fn flow_marking(one_way: &OneWayFlow<'_>) -> Option<FlowMarking> {
    let own = one_way.flow.class.dscp();
    let mut others: BTreeMap<u8, u64> = BTreeMap::new();
    let mut marking = FlowMarking {
        flow: one_way.flow.into(),
        direction: one_way.direction,
        arrived: 0,
        as_sent: 0,
        marked_ce: 0,
        mostly_otherwise: None,
    };
    for octet in one_way.transits.iter().filter_map(|transit| transit.octet) {
        let Marking { dscp, ecn } = Marking::from_octet(octet);
        marking.arrived += 1;
        marking.as_sent += u64::from(dscp == own);
        marking.marked_ce += u64::from(ecn == Ecn::Ce);
        if dscp != own {
            *others.entry(dscp.value()).or_default() += 1;
        }
    }
    marking.mostly_otherwise = others.into_iter().max_by_key(|(_, packets)| *packets).map(|(dscp, _)| dscp);
    (marking.arrived > 0).then_some(marking)
}
