//! How many packets were sent with each traffic-class byte, and with which they arrived.

use std::collections::BTreeMap;
use std::time::Duration;

use foldhash::{HashMap, HashSet, HashSetExt};
use rrul_model::environment::REFUSED_MARKS;
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::marking::{Ecn, Marking, ServiceClass};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use schemars::JsonSchema;
use serde::Serialize;

use crate::packets::one_way_flow::{OneWayFlow, PacketTransit};
use crate::statistics::proportion::Proportion;

/// From which packets a path's treatment of markings is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum MarkingSource {
    /// A marking sweep: every code point and every ECN value.
    Sweep,
    /// The packets of other flows, each with the class of its flow: a few code points, no ECN.
    Flows,
}

/// Packets of one direction and family, while the line was idle or loaded.
#[derive(Debug, Clone)]
pub(crate) struct Tally {
    pub(crate) direction: Direction,
    pub(crate) family: AddressFamily,
    pub(crate) evidence: MarkingSource,
    pub(crate) loaded: bool,
    /// Whether it is known which packets did not arrive: the reflector's own notes of arrivals have come through.
    pub(crate) exact: bool,
    /// Packets sent with each byte.
    pub(crate) sent: [u64; 256],
    /// Packets by the bytes that they were sent with and arrived with.
    pub(crate) arrived: BTreeMap<(u8, u8), u64>,
    /// The packets with which ECN was tested, those of the sweep's own code point.
    pub(crate) ecn: Vec<EcnPacket>,
}

/// A packet with which ECN was tested.
#[derive(Debug, Clone, Copy)]
pub(crate) struct EcnPacket {
    /// When it was sent, by its sender's clock.
    pub(crate) at: TestTime,
    pub(crate) sent: Ecn,
    /// `None` when it did not arrive.
    pub(crate) arrived: Option<Ecn>,
}

/// The tallies of a recording: of its sweeps; of `flows` (the transits of all other packets) for a direction and family
/// without a sweep.
///
/// Of packets sent later than `waiting_time` before `end`, all of a flow and direction count when all of them arrived, and
/// none otherwise: the fate of some is not known.
pub(crate) fn tallies(
    recording: &Recording,
    sweeps: &[OneWayFlow<'_>],
    flows: &[OneWayFlow<'_>],
    end: TestTime,
    waiting_time: Duration,
) -> Vec<Tally> {
    let octets = octets(recording);
    let refused = refused_marks(recording);
    let mut tallies: BTreeMap<(Direction, AddressFamily, bool), Tally> = BTreeMap::new();
    let mut swept = HashSet::new();
    let of_sweeps = sweeps.iter().map(|one_way| (one_way, MarkingSource::Sweep));
    for (one_way, evidence) in of_sweeps.chain(flows.iter().map(|one_way| (one_way, MarkingSource::Flows))) {
        let path = (one_way.direction, one_way.flow.family);
        match evidence {
            MarkingSource::Sweep => drop(swept.insert(path)),
            MarkingSource::Flows if swept.contains(&path) => continue,
            MarkingSource::Flows => {}
        }
        for transit in decided(one_way, end - waiting_time) {
            let loaded = recording.loaded().is_some_and(|load| load.contains(transit.sent));
            let tally = tallies.entry((path.0, path.1, loaded)).or_insert_with(|| Tally {
                direction: path.0,
                family: path.1,
                evidence,
                loaded,
                exact: true,
                sent: [0; 256],
                arrived: BTreeMap::new(),
                ecn: Vec::new(),
            });
            tally.exact &= one_way.attributed;
            let own = one_way.flow.class.octet();
            let sent = octets.get(&(one_way.flow.id, transit.sequence)).copied().unwrap_or(own);
            if path.0 == Direction::Down && refused.contains(&Marking::from_octet(sent).dscp.value()) {
                continue;
            }
            tally.sent[usize::from(sent)] += 1;
            if let Some(arrived) = transit.octet {
                *tally.arrived.entry((sent, arrived)).or_default() += 1;
            }
            if evidence == MarkingSource::Sweep && Marking::from_octet(sent).dscp == one_way.flow.class.dscp() {
                let arrived = transit.octet.map(Ecn::from_bits);
                tally.ecn.push(EcnPacket { at: transit.sent, sent: Ecn::from_bits(sent), arrived });
            }
        }
    }
    tallies.into_values().collect()
}

/// Code points that the server does not mark with: what arrives without them was sent so.
fn refused_marks(recording: &Recording) -> Vec<u8> {
    let server = recording.host(ObservationPoint::Server);
    let names = server.abilities.get(REFUSED_MARKS).map_or("", String::as_str).split(',');
    names.filter_map(|name| Some(name.parse::<ServiceClass>().ok()?.dscp().value())).collect()
}

/// The packets whose fate is known.
fn decided<'l>(one_way: &'l OneWayFlow<'_>, last: TestTime) -> impl Iterator<Item = &'l PacketTransit> {
    let all_arrived = one_way.transits.iter().filter(|one| one.sent > last).all(|one| one.received.is_some());
    one_way.transits.iter().filter(move |one| all_arrived || one.sent <= last)
}

/// The bytes of packets that do not bear that of their flow's class.
fn octets(recording: &Recording) -> HashMap<(FlowId, u32), u8> {
    let tables = recording.frames.iter().map(|frame| &frame.tables);
    tables.flat_map(|tables| tables.packet_marked.rows()).map(|row| ((row.flow, row.sequence), row.octet)).collect()
}

impl Tally {
    /// Returns the bytes with which packets sent with this byte arrived, and how many did.
    pub(crate) fn arrived_as(&self, sent: u8) -> impl Iterator<Item = (u8, u64)> + '_ {
        let arrived = self.arrived.range((sent, 0)..=(sent, u8::MAX));
        arrived.map(|((_, received), packets)| (*received, *packets))
    }

    /// Packets of this byte that did not arrive, of those sent; `None` where that is not known, or none was sent.
    pub(crate) fn lost(&self, sent: u8) -> Option<Proportion> {
        let of = self.sent[usize::from(sent)];
        let arrived: u64 = self.arrived_as(sent).map(|(_, packets)| packets).sum();
        (self.exact && of > 0).then(|| Proportion { hits: of.saturating_sub(arrived), of })
    }
}
