//! A link: what lies between the client and the server, in each direction.

use std::net::IpAddr;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::units::{BitRate, ByteCount};

use crate::filter::PacketFilter;
use crate::path::Path;
use crate::queue::{QueueOptions, QueueSpec};
use crate::rate_schedule::RateSchedule;
use crate::record::Fate;
use crate::remark::{DscpRewrite, EcnRewrite};
use crate::selection::Selection;
use crate::token_bucket::{BurstAllowance, Policer};
use crate::way::{Course, Way};

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
/// delay variation and reordering. With routers, as much of the propagation comes before the queue as there are segments.
#[derive(Debug, Clone, PartialEq)]
pub struct LinkDirection {
    /// Bits of L3 (plus overhead) per second.
    pub rate: RateSchedule,
    /// How much may go faster than the rate after a pause. The rate must be constant then.
    pub burst: Option<BurstAllowance>,
    /// Octets that each packet takes on the link beside its L3 length: link headers and trailers, preamble.
    pub overhead: ByteCount,
    /// Propagation delay.
    pub delay: Duration,
    /// Extra delay, drawn uniformly from zero to this for each packet, without reordering.
    pub delay_variation: Duration,
    /// What waits before the link.
    pub queue: QueueSpec,
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
            delay: Duration::ZERO,
            delay_variation: Duration::ZERO,
            queue: QueueSpec::new("pfifo", QueueOptions::default()).expect("pfifo is on the shelf"),
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
    /// The routers on it; without any the two hosts are neighbours, and no TTL is touched.
    pub path: Option<Path>,
}

impl Link {
    /// Reads a link file. `file_name` appears in errors and, without folder and `.toml`, becomes the link's name.
    ///
    /// Errors name file, line and key; unknown keys are refused with the known ones named.
    ///
    /// ```
    /// let text = "# My line\nrtt = \"18ms\"\n[up]\nrate = \"8Mbit/s\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
    /// let link = rrul_lab::Link::from_toml("my_line.toml", text)?;
    /// assert_eq!(link.name, "my_line");
    /// assert_eq!(link.idle_round_trip(), std::time::Duration::from_millis(18));
    /// # Ok::<(), rrul_lab::Error>(())
    /// ```
    pub fn from_toml(file_name: &str, text: &str) -> Result<Self, crate::Error> {
        crate::link_file::parse(file_name, text)
    }

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

    /// The address from which router `hop`, counted from the client, answers; `None` when there is none of this number.
    pub fn hop_address(&self, family: AddressFamily, hop: u8) -> Option<IpAddr> {
        let path = self.path.as_ref().filter(|path| (1..=path.hops).contains(&hop))?;
        Some(path.address(family, hop))
    }

    /// The round-trip delay from a host to router `hop`, counted from the client, and back: propagation alone, without
    /// transmission times and a slow router's extra. `trace` is the way that the packets take which the router answers:
    /// [`Direction::Up`] means from the client. `None` when there is no router of this number.
    pub fn hop_round_trip(&self, trace: Direction, hop: u8) -> Option<Duration> {
        self.hop_address(AddressFamily::Ipv4, hop)?;
        let (there, back) = (Way::new(self, trace), Way::new(self, trace.opposite()));
        let there = there.propagation(Course::EndsAt { hop, fate: Fate::Expired });
        Some(Duration::from_nanos(there + back.propagation(Course::AnswerOf { hop })))
    }
}
