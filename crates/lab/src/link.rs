//! A link: what lies between the client and the server, in each direction.

pub(crate) mod directed_path;
pub(crate) mod filter;
pub(crate) mod link_file;
pub(crate) mod links;
pub(crate) mod path;
pub(crate) mod path_file;
pub(crate) mod rate_schedule;
pub(crate) mod remark;
pub(crate) mod selection;
pub(crate) mod shaper;
pub(crate) mod shaper_change;
pub(crate) mod token_bucket;
pub(crate) mod toml_section;

use std::net::IpAddr;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::link_layer::LinkLayer;
use rrul_model::units::{BitRate, ByteCount};

use crate::link::filter::PacketFilter;
use crate::link::path::Path;
use crate::link::rate_schedule::RateSchedule;
use crate::link::remark::{DscpRewrite, EcnRewrite};
use crate::link::selection::Selection;
use crate::link::shaper::Shaper;
use crate::link::token_bucket::{BurstAllowance, Policer};
use crate::queue::{QueueOptions, QueueSpec};

/// Packets that are held back so that later ones overtake them (RFC 4737).
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Reorder {
    /// Which, counted as they leave the queue.
    pub packets: Selection,
    /// How many packets overtake a held one before it follows; `None` leaves it to the extra delay alone.
    pub displacement: Option<u32>,
    /// How long it is held back at most.
    pub extra_delay: Duration,
}

/// One direction of a link.
///
/// In this order a packet meets: loss, remarking, the policer, the queue, transmission at the rate, duplication, propagation with
/// delay variation and reordering. A shaper is met directly before the policer upward, and directly behind the
/// transmission downward. With routers, as many parts of the propagation come before the queue as segments.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkDirection {
    /// Bits of L3 (plus overhead) per second.
    pub rate: RateSchedule,
    /// How much may go faster than the rate after a pause. The rate must be constant then.
    pub burst: Option<BurstAllowance>,
    /// Bytes that each packet takes on the link beside its L3 length: link headers and trailers, preamble.
    pub overhead: ByteCount,
    /// The link layer: what it adds to each packet, before `overhead`.
    pub link_layer: LinkLayer,
    /// Propagation delay.
    pub delay: Duration,
    /// Extra delay, drawn uniformly from zero to this for each packet, without reordering.
    pub delay_variation: Duration,
    /// What waits before the link.
    pub queue: QueueSpec,
    /// The shaper in series with the line: before it upward, behind it downward.
    pub shaper: Option<Shaper>,
    /// Which packets the impairments below may hit. Rate, queue and delay hold for all.
    pub only: PacketFilter,
    /// Which are lost, before the queue and without use of the link.
    pub loss: Selection,
    /// Which arrive twice, the copy right behind the original and without use of the link.
    pub duplicate: Selection,
    /// Which are held back.
    pub reorder: Reorder,
    /// What is dropped as too much, before the queue.
    pub police: Option<Policer>,
    /// How DSCP is rewritten, before the queue.
    pub dscp: DscpRewrite,
    /// How ECN is rewritten, before the queue.
    pub ecn: EcnRewrite,
}

impl LinkDirection {
    /// 1 Gbit/s, no delay, `pfifo` of 1000 packets, no impairments: where settings start from.
    pub fn ideal() -> Self {
        Self {
            rate: RateSchedule::constant(BitRate(1_000_000_000)),
            burst: None,
            overhead: ByteCount(0),
            link_layer: no_link_layer(),
            delay: Duration::ZERO,
            delay_variation: Duration::ZERO,
            queue: QueueSpec::new("pfifo", QueueOptions::default()).expect("pfifo is on the shelf"),
            shaper: None,
            only: PacketFilter::default(),
            loss: Selection::Never,
            duplicate: Selection::Never,
            reorder: Reorder::default(),
            police: None,
            dscp: DscpRewrite::default(),
            ecn: EcnRewrite::Keep,
        }
    }
}

/// The link layer that adds nothing.
pub(crate) fn no_link_layer() -> LinkLayer {
    "ip".parse().expect("ip is a link layer")
}

/// A link between client and server, as a link file describes it.
#[derive(Debug, Clone, PartialEq)]
pub struct Link {
    /// The file's name without folder and `.toml`.
    pub name: String,
    /// What it stands for: the file's first line.
    pub about: String,
    /// Client to server.
    pub up: LinkDirection,
    /// Server to client.
    pub down: LinkDirection,
    /// The routers on it; without any the two hosts are adjacent, and no TTL is touched.
    pub path: Option<Path>,
}

impl Link {
    /// The settings of one direction.
    pub fn direction(&self, direction: Direction) -> &LinkDirection {
        match direction {
            Direction::Up => &self.up,
            Direction::Down => &self.down,
        }
    }

    /// The round-trip delay of an idle link: both propagation delays, without transmission times and delay variation.
    pub fn idle_round_trip(&self) -> Duration {
        self.up.delay + self.down.delay
    }

    /// The address from which router `hop`, counted from the client, answers; `None` without one of this number.
    pub fn hop_address(&self, family: AddressFamily, hop: u8) -> Option<IpAddr> {
        let path = self.path.as_ref().filter(|path| (1..=path.hops).contains(&hop))?;
        Some(path.address(family, hop))
    }
}
