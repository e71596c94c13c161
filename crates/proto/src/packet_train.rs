//! Packet trains: the rate of a line, measured before anything loads it (packet dispersion).
//!
//! Packets that enter a line back to back leave it as far apart as the line needs for each. The client sends a train, the
//! server notes when each packet arrives, and sends as many back: so each direction is measured by itself, and no more
//! octets come back than went. A shaper that lets a burst through at more than its rate shows that rate; so only the
//! second half of a train is looked at.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+---------------+---------------+
//! |          0x5252 "RR"          |    Version    |     Kind      |  0
//! +-------------------------------+---------------+---------------+
//! |             Train             |           Arrived             |  4
//! +-------------------------------+-------------------------------+
//! |                         Token (16 octets)                     |  8
//! +---------------------------------------------------------------+
//! |                           Sequence                            | 24
//! +---------------------------------------------------------------+
//! |                           Reserved                            | 28
//! +---------------------------------------------------------------+
//! |              T2: server's receive stamp (64 bits)             | 32
//! |                                                               | 36
//! +---------------------------------------------------------------+
//! |                       Padding, random                         | 40
//! ```

use std::time::Duration;

use crate::test_packet::PacketError;
use crate::token::Token;

/// Octets of a train's packet without padding; shorter ones are not taken.
pub const LEAST_OCTETS: usize = 40;
/// Packets in a train.
pub const PACKETS: u16 = 40;
/// UDP payload of each: fits every path that carries IPv6 undivided.
pub const PACKET_OCTETS: usize = 1200;

/// Bits of the place of a packet in its train.
const PLACE_BITS: u32 = 6;
const _: () = assert!(PACKETS < 1 << PLACE_BITS);

const MARK: [u8; 2] = *b"RR";
const VERSION: u8 = 1;

/// What a packet of a train is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TrainKind {
    Car,
    /// The train has left: send back what has arrived.
    Last,
    /// One of the train that comes back.
    Back,
}

impl TrainKind {
    const ALL: [(u8, Self); 3] = [(6, Self::Car), (7, Self::Last), (8, Self::Back)];
}

/// The fields of a train's packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TrainPacket {
    pub kind: TrainKind,
    /// The train's number within the session, from 1.
    pub train: u16,
    /// On the way back: how many packets of the train had arrived, as many as come back.
    pub arrived: u16,
    pub token: Token,
    /// The packet's number within the train; on the way back, that of the packet whose arrival it reports.
    pub sequence: u32,
    /// On the way back: when that packet arrived, on the session clock, nanoseconds.
    pub t2: i64,
}

impl TrainPacket {
    /// Writes the fields over the first [`LEAST_OCTETS`] of `octets` and leaves the padding alone.
    ///
    /// # Errors
    /// When octets are missing.
    pub fn write(&self, octets: &mut [u8]) -> Result<(), PacketError> {
        let length = octets.len();
        let octets = octets.first_chunk_mut::<LEAST_OCTETS>().ok_or(PacketError::Short(length))?;
        let kind = TrainKind::ALL.iter().find(|(_, kind)| *kind == self.kind).map_or(0, |(code, _)| *code);
        octets[0..2].copy_from_slice(&MARK);
        octets[2..4].copy_from_slice(&[VERSION, kind]);
        octets[4..6].copy_from_slice(&self.train.to_be_bytes());
        octets[6..8].copy_from_slice(&self.arrived.to_be_bytes());
        octets[8..24].copy_from_slice(&self.token.0);
        octets[24..28].copy_from_slice(&self.sequence.to_be_bytes());
        octets[28..32].fill(0);
        octets[32..40].copy_from_slice(&self.t2.to_be_bytes());
        Ok(())
    }

    /// A number of its own among the packets of all trains.
    pub(crate) fn number(&self) -> u32 {
        // A packet at a higher place than a train has is not noted.
        u32::from(self.train) << PLACE_BITS | self.sequence.min((1 << PLACE_BITS) - 1)
    }

    /// Reads the fields.
    ///
    /// # Errors
    /// When the octets are too few or those of another kind of packet.
    pub fn read(octets: &[u8]) -> Result<Self, PacketError> {
        let octets = octets.first_chunk::<LEAST_OCTETS>().ok_or(PacketError::Short(octets.len()))?;
        let kind = TrainKind::ALL.iter().find(|(code, _)| *code == octets[3]).map(|(_, kind)| *kind);
        let (Some(kind), [b'R', b'R', VERSION]) = (kind, [octets[0], octets[1], octets[2]]) else {
            return Err(PacketError::Foreign);
        };
        let half = |at: usize| u16::from_be_bytes([octets[at], octets[at + 1]]);
        let word = |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let mut token = [0; 16];
        token.copy_from_slice(&octets[8..24]);
        Ok(Self {
            kind,
            train: half(4),
            arrived: half(6),
            token: Token(token),
            sequence: word(24),
            t2: (i64::from(word(32).cast_signed()) << 32) | i64::from(word(36)),
        })
    }
}

/// What has arrived of the latest train of a session.
#[derive(Debug, Default)]
pub struct TrainArrivals {
    train: u16,
    octets: usize,
    arrived: Vec<(u32, i64)>,
    /// A train is sent back once: its end may be announced several times.
    sent_back: bool,
}

impl TrainArrivals {
    /// Whether this packet begins a train.
    pub(crate) fn is_new(&self, packet: &TrainPacket) -> bool {
        packet.train > self.train
    }

    /// Whether as many packets of the latest train have arrived as one has.
    pub(crate) fn is_full(&self) -> bool {
        self.arrived.len() >= usize::from(PACKETS)
    }

    /// Notes a packet of a train with its length and the stamp of its arrival. A later train takes the place of an
    /// earlier one; of one that is longer than ours nothing more is kept.
    pub fn note(&mut self, packet: &TrainPacket, octets: usize, received: i64) {
        if self.is_new(packet) {
            *self = Self { train: packet.train, octets, arrived: std::mem::take(&mut self.arrived), sent_back: false };
            self.arrived.clear();
            self.arrived.reserve_exact(usize::from(PACKETS));
        }
        let fits = packet.train == self.train && octets == self.octets && !self.sent_back;
        if fits && self.arrived.len() < usize::from(PACKETS) {
            self.arrived.push((packet.sequence, received));
        }
    }

    /// The train of this number has left: what to send back, and in how many octets each. Nothing the second time.
    pub fn end(&mut self, packet: &TrainPacket) -> Option<(Vec<TrainPacket>, usize)> {
        if packet.train != self.train || self.sent_back || self.arrived.is_empty() {
            return None;
        }
        self.sent_back = true;
        let arrived = self.arrived.len() as u16;
        let back = |(sequence, t2): &(u32, i64)| TrainPacket {
            kind: TrainKind::Back,
            train: packet.train,
            arrived,
            token: packet.token,
            sequence: *sequence,
            t2: *t2,
        };
        Some((self.arrived.iter().map(back).collect(), self.octets))
    }
}

/// How long a line took for the second half of a train.
///
/// `arrivals` are stamps in nanoseconds, in any order. Gives the packets that the time was for, and the time; `None` of
/// fewer than eight arrivals, or when no time has passed.
pub fn dispersion(arrivals: &[i64]) -> Option<(u16, Duration)> {
    const FEWEST: usize = 8;
    let mut sorted = arrivals.to_vec();
    sorted.sort_unstable();
    let half = sorted.get(sorted.len() / 2..).filter(|_| sorted.len() >= FEWEST)?;
    let took = half.last()?.checked_sub(*half.first()?)?;
    let took = u64::try_from(took).ok().filter(|took| *took > 0)?;
    Some(((half.len() - 1) as u16, Duration::from_nanos(took)))
}

#[cfg(test)]
mod tests {
    use super::*;

    const PACKET: TrainPacket = TrainPacket {
        kind: TrainKind::Back,
        train: 0x0102,
        arrived: 0x0304,
        token: Token([7; 16]),
        sequence: 0x0506_0708,
        t2: -2,
    };

    fn car(train: u16, sequence: u32) -> TrainPacket {
        TrainPacket { kind: TrainKind::Car, train, arrived: 0, sequence, t2: 0, ..PACKET }
    }

    #[test]
    fn a_packet_of_a_train_is_these_octets() {
        let mut octets = [0xee; 48];
        PACKET.write(&mut octets).unwrap();
        assert_eq!(octets[0..8], [b'R', b'R', 1, 8, 1, 2, 3, 4]);
        assert_eq!(octets[8..24], [7; 16]);
        assert_eq!(octets[24..32], [5, 6, 7, 8, 0, 0, 0, 0]);
        assert_eq!(octets[32..40], [255, 255, 255, 255, 255, 255, 255, 254]);
        assert_eq!(octets[40..48], [0xee; 8], "the padding is left alone");
        assert_eq!(TrainPacket::read(&octets), Ok(PACKET));
        assert_eq!(TrainPacket::read(&octets[..39]), Err(PacketError::Short(39)));
        for at in 0..4 {
            let mut other = octets;
            other[at] = 0xff;
            assert_eq!(TrainPacket::read(&other), Err(PacketError::Foreign), "octet {at}");
        }
    }

    #[test]
    fn as_many_packets_come_back_as_arrived_and_only_once() {
        let mut arrivals = TrainArrivals::default();
        for sequence in [0, 1, 3] {
            arrivals.note(&car(5, sequence), 1200, i64::from(sequence) * 100);
        }
        let last = TrainPacket { kind: TrainKind::Last, ..car(5, 4) };
        assert!(arrivals.end(&TrainPacket { train: 6, ..last }).is_none(), "of another train nothing came");
        let (back, octets) = arrivals.end(&last).unwrap();
        assert_eq!(octets, 1200);
        let told: Vec<_> = back.iter().map(|packet| (packet.sequence, packet.t2, packet.arrived)).collect();
        assert_eq!(told, [(0, 0, 3), (1, 100, 3), (3, 300, 3)]);
        assert!(arrivals.end(&last).is_none(), "what was sent back is not sent twice");
        arrivals.note(&car(5, 7), 1200, 0);
        assert!(arrivals.end(&last).is_none());
        arrivals.note(&car(6, 0), 1200, 0);
        assert_eq!(arrivals.end(&TrainPacket { train: 6, ..last }).unwrap().0.len(), 1, "a later train counts anew");
    }

    #[test]
    fn a_stranger_gets_back_no_more_than_was_sent_and_never_more_than_a_train() {
        let mut arrivals = TrainArrivals::default();
        arrivals.note(&car(1, 0), 40, 0);
        (0..10_000).for_each(|sequence| arrivals.note(&car(1, sequence), 1400, 0));
        let last = TrainPacket { kind: TrainKind::Last, ..car(1, 0) };
        let (back, octets) = arrivals.end(&last).unwrap();
        assert_eq!((back.len(), octets), (1, 40), "packets of another length than the first are not taken");
        (0..10_000).for_each(|sequence| arrivals.note(&car(2, sequence), 1400, 0));
        let (back, _) = arrivals.end(&TrainPacket { train: 2, ..last }).unwrap();
        assert_eq!(back.len(), usize::from(PACKETS));
    }

    #[test]
    fn dispersion_is_that_of_the_second_half() {
        // Ten at once out of a bucket, then one a millisecond.
        let burst: Vec<i64> = (0..40).map(|n: i64| (n - 9).max(0) * 1_000_000).rev().collect();
        assert_eq!(dispersion(&burst), Some((19, Duration::from_millis(19))));
        assert_eq!(dispersion(&burst[..7]), None, "too few to tell");
        assert_eq!(dispersion(&[5; 40]), None, "no time has passed");
        assert_eq!(
            dispersion(&[i64::MIN, 0, 0, 0, i64::MIN, i64::MIN, 0, i64::MAX]).map(|(packets, _)| packets),
            Some(3)
        );
    }
}
