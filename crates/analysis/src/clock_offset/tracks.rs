//! What the offset of two clocks is estimated from: apparent delays of packets of one kind, by path and direction.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::ByteCount;

use crate::by_direction::ByDirection;
use crate::clock_offset::wall_clock::Steps;
use crate::packets::one_way_flow::OneWayFlow;

/// An apparent delay longer than this is of a stamp that cannot be right, nanoseconds.
const LONGEST: i128 = 60_000_000_000;

/// Packets of one kind: what is sent in one byte more or less takes another time to send, and each family has its own
/// route, so each kind has a smallest delay of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Kind {
    flow_type: String,
    family: AddressFamily,
    length: ByteCount,
}

impl Kind {
    fn from_flow(flow: &FlowSpec) -> Self {
        let length = flow.parameters.size("length", ByteCount(0));
        Self { flow_type: flow.flow_type.clone(), family: flow.family, length }
    }

    pub(super) fn family(&self) -> AddressFamily {
        self.family
    }
}

/// A packet that arrived.
#[derive(Debug, Clone, Copy)]
pub(super) struct Packet {
    /// Its stamp at the server, whether it was sent or received there, nanoseconds.
    pub(super) server: i64,
    /// Its stamp at the client.
    pub(super) client: i64,
    /// Its delay as if the server's clock were ahead by just the reference, nanoseconds.
    pub(super) apparent: f64,
}

/// The packets of one flow in one direction, as they are numbered.
#[derive(Debug, Clone)]
pub(super) struct Track {
    pub(super) kind: usize,
    pub(super) direction: Direction,
    pub(super) packets: Vec<Packet>,
}

impl Track {
    /// Where a packet stands on the line that drift draws: the server's time, running backwards on the way down, so that
    /// one slope serves both directions.
    pub(super) fn x(&self, packet: &Packet) -> f64 {
        match self.direction {
            Direction::Up => packet.server as f64,
            Direction::Down => -(packet.server as f64),
        }
    }
}

/// All packets from which clocks can be matched.
#[derive(Debug, Clone)]
pub(super) struct Tracks {
    /// The server's clock less the client's, roughly, nanoseconds.
    pub(super) reference: i64,
    pub(super) kinds: Vec<Kind>,
    /// The kind of each flow's packets, as an index.
    pub(super) kind_of: HashMap<FlowId, usize>,
    by_kind: Vec<ByDirection<Vec<Track>>>,
    /// What the wall clocks of client and server did against those that the ends stamp with.
    pub(super) wall_clocks: [Steps; 2],
}

impl Tracks {
    /// Collects the packets that the ends stamp when they pass the kernel. `None` without any in either direction.
    ///
    /// Stamps around steps of `wall_clocks`, the client's and the server's, are not used.
    pub(super) fn new(one_way_flows: &[OneWayFlow<'_>], wall_clocks: &[Steps; 2]) -> Option<Self> {
        let [at_client, at_server] = wall_clocks;
        let unusable =
            |server, client| at_server.are_around(TestTime(server)) || at_client.are_around(TestTime(client));
        let one_way_flows = || {
            one_way_flows.iter().filter(|one_way| matches!(one_way.flow.kind(), FlowKind::UdpProbe | FlowKind::Voip))
        };
        let stamps = |one_way: &OneWayFlow<'_>| -> Vec<(i64, i64)> {
            let both = one_way.transits.iter().filter_map(|one| Some((one.sent.0, one.received?.0)));
            let placed = both.map(|(sent, received)| match one_way.direction {
                Direction::Up => (received, sent),
                Direction::Down => (sent, received),
            });
            placed.filter(|(server, client)| !unusable(*server, *client)).collect()
        };
        let stamps: Vec<(&OneWayFlow<'_>, Vec<(i64, i64)>)> =
            one_way_flows().map(|one_way| (one_way, stamps(one_way))).collect();
        let ahead = |(server, client): &(i64, i64)| i128::from(*server) - i128::from(*client);
        let middle = |direction| {
            let ours = stamps.iter().filter(|(one_way, _)| one_way.direction == direction);
            let mut ahead: Vec<i128> = ours.flat_map(|(_, stamps)| stamps.iter().map(ahead)).collect();
            let middle = ahead.len() / 2;
            (!ahead.is_empty()).then(|| *ahead.select_nth_unstable(middle).1)
        };
        let reference = i128::midpoint(middle(Direction::Up)?, middle(Direction::Down)?);
        let reference = reference.clamp(i64::MIN.into(), i64::MAX.into()) as i64;
        let mut found: HashMap<Kind, usize> = HashMap::new();
        let mut tracks = Self {
            reference,
            kinds: Vec::new(),
            kind_of: HashMap::new(),
            by_kind: Vec::new(),
            wall_clocks: wall_clocks.clone(),
        };
        for (one_way, stamps) in &stamps {
            let packet = |stamps: &(i64, i64)| {
                let ahead = ahead(stamps) - i128::from(reference);
                let apparent = if one_way.direction == Direction::Up { ahead } else { -ahead };
                let (server, client) = *stamps;
                (apparent.abs() <= LONGEST).then_some(Packet { server, client, apparent: apparent as f64 })
            };
            let packets: Vec<Packet> = stamps.iter().filter_map(packet).collect();
            if packets.is_empty() {
                continue;
            }
            let kind = *found.entry(Kind::from_flow(one_way.flow)).or_insert_with_key(|kind| {
                tracks.kinds.push(kind.clone());
                tracks.by_kind.push(ByDirection::default());
                tracks.kinds.len() - 1
            });
            tracks.kind_of.insert(one_way.flow.id, kind);
            tracks.by_kind[kind].get_mut(one_way.direction).push(Track { kind, direction: one_way.direction, packets });
        }
        Some(tracks)
    }

    /// The flows of one kind in one direction.
    pub(super) fn of_kind(&self, kind: usize, direction: Direction) -> &[Track] {
        self.by_kind.get(kind).map_or(&[], |by_kind| by_kind.get(direction))
    }

    pub(super) fn all(&self) -> impl Iterator<Item = &Track> {
        self.by_kind.iter().flat_map(|by_kind| by_kind.up.iter().chain(&by_kind.down))
    }

    /// Packets of one kind and direction that the client sent or received within these windows: x and apparent delay.
    pub(super) fn points<'a>(
        &'a self,
        kind: usize,
        direction: Direction,
        within: &'a [Window],
    ) -> impl Iterator<Item = (f64, f64)> + 'a {
        self.of_kind(kind, direction).iter().flat_map(move |track| {
            let inside = move |packet: &&Packet| {
                within.iter().any(|window| (window.from.0..window.to.0).contains(&packet.client))
            };
            track.packets.iter().filter(inside).map(|packet| (track.x(packet), packet.apparent))
        })
    }
}
