//! The test packet: what a UDP probe and its reply look like.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+---------------+---------------+
//! |          0x5252 "RR"          |    Version    |     Kind      |  0
//! +-------------------------------+---------------+---------------+
//! |             Flow              |  Octet sent   | Octet received|  4
//! +-------------------------------+---------------+---------------+
//! |                         Token (16 octets)                     |  8
//! +---------------------------------------------------------------+
//! |                           Sequence                            | 24
//! +---------------------------------------------------------------+
//! |                        Reflector count                        | 28
//! +---------------------------------------------------------------+
//! |                 T1: sender's transmit stamp (64)              | 32
//! +---------------------------------------------------------------+
//! |                T2: reflector's receive stamp (64)             | 40
//! +---------------------------------------------------------------+
//! |               T3: reflector's transmit stamp (64)             | 48
//! +---------------------------------------------------------------+
//! |                      Follow-up: sequence                      | 56
//! +---------------------------------------------------------------+
//! |                Window: highest sequence arrived               | 60
//! +---------------------------------------------------------------+
//! |       Follow-up: kernel transmit stamp of that reply (64)     | 64
//! +---------------------------------------------------------------+
//! |     Window: which of the latest 64 packets have arrived (64)  | 72
//! +---------------------------------------------------------------+
//! |                       Padding, random                         | 80
//! ```

use crate::receive_window::ReceiveWindow;
use crate::stream_key::NAMING_OCTETS;
use crate::token::Token;

/// Octets of a test packet without padding; shorter ones are not answered.
pub const LEAST_OCTETS: usize = 80;

/// Octets of its beginning that tell which packet it is: to the end of the sequence.
pub const NUMBERED_OCTETS: usize = 28;

const MARK: [u8; 2] = *b"RR";
const VERSION: u8 = 1;
/// A sequence number that follow-ups use to say "none".
const NO_SEQUENCE: u32 = u32::MAX;

/// What a packet is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    Test,
    Reply,
    /// From the sender before the test: is there a way? Answered, and counted nowhere.
    Greeting,
    /// The answer to a greeting.
    GreetingReply,
    /// A packet of a path trace, from either end: it may expire on its way. Answered, and counted nowhere.
    Trace,
    /// The answer to one that did not: no longer than it must be, with the hop limit that was left in the place of the
    /// reflector count, 0 where that is not known.
    TraceReply,
}

impl Kind {
    const ALL: [(u8, Self); 6] = [
        (1, Self::Test),
        (2, Self::Reply),
        (3, Self::Greeting),
        (4, Self::GreetingReply),
        (9, Self::Trace),
        (10, Self::TraceReply),
    ];

    fn code(self) -> u8 {
        Self::ALL.iter().find(|(_, kind)| *kind == self).map_or(0, |(code, _)| *code)
    }

    fn from_code(code: u8) -> Option<Self> {
        Self::ALL.iter().find(|(known, _)| *known == code).map(|(_, kind)| *kind)
    }
}

/// A reply's news about an earlier reply: the kernel's stamp of its departure (RFC 8972 §4.7, follow-up telemetry).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FollowUp {
    /// Which reply, by the packet it answered: 0 to `u32::MAX` - 1. The highest number is no packet's: on the wire it
    /// means no news.
    pub sequence: u32,
    /// When the reflector's kernel sent it, nanoseconds on the session clock.
    pub sent: i64,
}

/// The fields of a test packet. Stamps are nanoseconds: T1 on the sender's clock, the others on the session clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TestPacket {
    pub kind: Kind,
    pub flow: u16,
    /// The traffic-class octet that its sender asked for.
    pub octet_sent: u8,
    /// In a reply: the octet that the test packet bore when it arrived.
    pub octet_received: u8,
    pub token: Token,
    pub sequence: u32,
    /// In a reply: test packets of this flow that have been answered so far, this one and duplicates included.
    pub reflector_count: u32,
    /// Sender's transmit stamp; the reflector returns it untouched.
    pub t1: i64,
    pub t2: i64,
    pub t3: i64,
    /// News of an earlier reply.
    pub follow_up: Option<FollowUp>,
    /// In a reply: the test packets of this flow that have arrived so far.
    pub window: ReceiveWindow,
}

/// Why octets are no test packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum PacketError {
    #[error("{0} octets, a test packet has at least {LEAST_OCTETS}")]
    Short(usize),
    #[error("not a test packet of this version")]
    Foreign,
}

impl TestPacket {
    /// A packet as its sender fills it in.
    pub fn request(kind: Kind, flow: u16, octet: u8, token: Token, sequence: u32, t1: i64) -> Self {
        Self {
            kind,
            flow,
            octet_sent: octet,
            octet_received: 0,
            token,
            sequence,
            reflector_count: 0,
            t1,
            t2: 0,
            t3: 0,
            follow_up: None,
            window: ReceiveWindow::default(),
        }
    }

    /// Writes the fields over the first [`LEAST_OCTETS`] of `octets` and leaves the padding alone.
    ///
    /// # Errors
    /// When octets are missing.
    pub fn write(&self, octets: &mut [u8]) -> Result<(), PacketError> {
        let length = octets.len();
        let octets = octets.first_chunk_mut::<LEAST_OCTETS>().ok_or(PacketError::Short(length))?;
        octets[0..2].copy_from_slice(&MARK);
        octets[2] = VERSION;
        octets[3] = self.kind.code();
        octets[4..6].copy_from_slice(&self.flow.to_be_bytes());
        octets[6] = self.octet_sent;
        octets[7] = self.octet_received;
        octets[8..24].copy_from_slice(&self.token.0);
        octets[24..28].copy_from_slice(&self.sequence.to_be_bytes());
        octets[28..32].copy_from_slice(&self.reflector_count.to_be_bytes());
        octets[32..40].copy_from_slice(&self.t1.to_be_bytes());
        octets[40..48].copy_from_slice(&self.t2.to_be_bytes());
        octets[48..56].copy_from_slice(&self.t3.to_be_bytes());
        let follow_up = self.follow_up.unwrap_or(FollowUp { sequence: NO_SEQUENCE, sent: 0 });
        octets[56..60].copy_from_slice(&follow_up.sequence.to_be_bytes());
        octets[60..64].copy_from_slice(&self.window.highest.to_be_bytes());
        octets[64..72].copy_from_slice(&follow_up.sent.to_be_bytes());
        octets[72..80].copy_from_slice(&self.window.bits.to_be_bytes());
        Ok(())
    }

    /// The number of a packet of this flow of which at least the beginning is quoted, as ICMP messages do. Of the token only what
    /// names the session is compared: the rest may be a tag.
    pub fn quoted_sequence(quoted: &[u8], flow: u16, token: &Token) -> Option<u32> {
        let begins = quoted.get(..24)?;
        let ours = begins[0..2] == MARK && begins[2] == VERSION && begins[4..6] == flow.to_be_bytes();
        let sequence = <[u8; 4]>::try_from(quoted.get(24..NUMBERED_OCTETS)?).ok()?;
        (ours && begins[8..8 + NAMING_OCTETS] == token.0[..NAMING_OCTETS]).then(|| u32::from_be_bytes(sequence))
    }

    /// Reads the fields.
    ///
    /// # Errors
    /// When the octets are too few or not ours.
    pub fn read(octets: &[u8]) -> Result<Self, PacketError> {
        let octets = octets.first_chunk::<LEAST_OCTETS>().ok_or(PacketError::Short(octets.len()))?;
        if octets[0..2] != MARK || octets[2] != VERSION {
            return Err(PacketError::Foreign);
        }
        let word = |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let stamp = |at: usize| (i64::from(word(at).cast_signed()) << 32) | i64::from(word(at + 4));
        let mut token = [0; 16];
        token.copy_from_slice(&octets[8..24]);
        let sequence = word(56);
        Ok(Self {
            kind: Kind::from_code(octets[3]).ok_or(PacketError::Foreign)?,
            flow: u16::from_be_bytes([octets[4], octets[5]]),
            octet_sent: octets[6],
            octet_received: octets[7],
            token: Token(token),
            sequence: word(24),
            reflector_count: word(28),
            t1: stamp(32),
            t2: stamp(40),
            t3: stamp(48),
            follow_up: (sequence != NO_SEQUENCE).then(|| FollowUp { sequence, sent: stamp(64) }),
            window: ReceiveWindow { highest: word(60), bits: stamp(72).cast_unsigned() },
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn packet() -> TestPacket {
        TestPacket {
            kind: Kind::Reply,
            flow: 0x0102,
            octet_sent: 0xb8,
            octet_received: 0x20,
            token: Token([7; 16]),
            sequence: 0x0304_0506,
            reflector_count: 9,
            t1: -2,
            t2: 0x0102_0304_0506_0708,
            t3: i64::MAX,
            follow_up: Some(FollowUp { sequence: 1, sent: i64::MIN }),
            window: ReceiveWindow { highest: 0x0a0b_0c0d, bits: 0xf102_0304_0506_0709 },
        }
    }

    #[test]
    fn a_test_packet_is_these_octets() {
        let mut octets = [0xee; 88];
        packet().write(&mut octets).unwrap();
        assert_eq!(octets[0..8], [b'R', b'R', 1, 2, 1, 2, 0xb8, 0x20]);
        assert_eq!(octets[8..24], [7; 16]);
        assert_eq!(octets[24..32], [3, 4, 5, 6, 0, 0, 0, 9]);
        assert_eq!(octets[32..40], [255, 255, 255, 255, 255, 255, 255, 254]);
        assert_eq!(octets[40..48], [1, 2, 3, 4, 5, 6, 7, 8]);
        assert_eq!(octets[56..64], [0, 0, 0, 1, 0x0a, 0x0b, 0x0c, 0x0d]);
        assert_eq!(octets[64..72], [0x80, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(octets[72..80], [0xf1, 2, 3, 4, 5, 6, 7, 9]);
        assert_eq!(octets[80..88], [0xee; 8], "the padding is left alone");
        assert_eq!(TestPacket::read(&octets), Ok(packet()));
    }

    #[test]
    fn foreign_or_short_octets_are_refused() {
        let mut octets = [0; LEAST_OCTETS];
        packet().write(&mut octets).unwrap();
        assert_eq!(TestPacket::read(&octets[..79]), Err(PacketError::Short(79)));
        for at in 0..4 {
            let mut other = octets;
            other[at] = 0xff;
            assert_eq!(TestPacket::read(&other), Err(PacketError::Foreign), "octet {at}");
        }
        assert_eq!(packet().write(&mut [0; 10]), Err(PacketError::Short(10)));
    }

    #[test]
    fn no_follow_up_reads_back_as_none() {
        let mut octets = [0; LEAST_OCTETS];
        TestPacket { follow_up: None, ..packet() }.write(&mut octets).unwrap();
        assert_eq!(TestPacket::read(&octets).unwrap().follow_up, None);
    }
}
