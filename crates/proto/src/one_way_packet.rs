//! The one-way packet: what travels in one direction and is never answered, such as a voice stream.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-------------------------------+---------------+---------------+
//! |          0x5252 "RR"          |    Version    |     Kind      |  0
//! +-------------------------------+---------------+---------------+
//! |             Flow              |  Octet sent   |   Reserved    |  4
//! +-------------------------------+---------------+---------------+
//! |                         Token (16 octets)                     |  8
//! +---------------------------------------------------------------+
//! |                           Sequence                            | 24
//! +---------------------------------------------------------------+
//! |                            To come                            | 28
//! +---------------------------------------------------------------+
//! |                       Padding, random                         | 32
//! ```

use crate::test_packet::PacketError;
use crate::token::Token;

/// Octets of a one-way packet without padding; shorter ones are not taken.
pub const LEAST_OCTETS: usize = 32;

const MARK: [u8; 2] = *b"RR";
const VERSION: u8 = 1;
/// Beside the kinds of [`crate::test_packet::Kind`].
const KIND: u8 = 5;

/// The fields of a one-way packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OneWayPacket {
    pub flow: u16,
    /// The traffic-class octet that its sender asked for.
    pub octet_sent: u8,
    pub token: Token,
    pub sequence: u32,
    /// How many packets the schedule of the flow still has after this one; 0 in the last.
    pub to_come: u32,
}

impl OneWayPacket {
    /// Writes the fields over the first [`LEAST_OCTETS`] of `octets` and leaves the padding alone.
    ///
    /// # Errors
    /// When octets are missing.
    pub fn write(&self, octets: &mut [u8]) -> Result<(), PacketError> {
        let length = octets.len();
        let octets = octets.first_chunk_mut::<LEAST_OCTETS>().ok_or(PacketError::Short(length))?;
        octets[0..2].copy_from_slice(&MARK);
        octets[2..4].copy_from_slice(&[VERSION, KIND]);
        octets[4..6].copy_from_slice(&self.flow.to_be_bytes());
        octets[6..8].copy_from_slice(&[self.octet_sent, 0]);
        octets[8..24].copy_from_slice(&self.token.0);
        octets[24..28].copy_from_slice(&self.sequence.to_be_bytes());
        octets[28..32].copy_from_slice(&self.to_come.to_be_bytes());
        Ok(())
    }

    /// Reads the fields.
    ///
    /// # Errors
    /// When the octets are too few or those of another kind of packet.
    pub fn read(octets: &[u8]) -> Result<Self, PacketError> {
        let octets = octets.first_chunk::<LEAST_OCTETS>().ok_or(PacketError::Short(octets.len()))?;
        if octets[0..2] != MARK || octets[2..4] != [VERSION, KIND] {
            return Err(PacketError::Foreign);
        }
        let word = |at: usize| u32::from_be_bytes([octets[at], octets[at + 1], octets[at + 2], octets[at + 3]]);
        let mut token = [0; 16];
        token.copy_from_slice(&octets[8..24]);
        Ok(Self {
            flow: u16::from_be_bytes([octets[4], octets[5]]),
            octet_sent: octets[6],
            token: Token(token),
            sequence: word(24),
            to_come: word(28),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_packet::TestPacket;

    const PACKET: OneWayPacket = OneWayPacket {
        flow: 0x0102,
        octet_sent: 0xb8,
        token: Token([7; 16]),
        sequence: 0x0304_0506,
        to_come: 0x0a0b_0c0d,
    };

    #[test]
    fn a_one_way_packet_is_these_octets() {
        let mut octets = [0xee; 92];
        PACKET.write(&mut octets).unwrap();
        assert_eq!(octets[0..8], [b'R', b'R', 1, 5, 1, 2, 0xb8, 0]);
        assert_eq!(octets[8..24], [7; 16]);
        assert_eq!(octets[24..32], [3, 4, 5, 6, 0x0a, 0x0b, 0x0c, 0x0d]);
        assert_eq!(octets[32..92], [0xee; 60], "the padding is left alone");
        assert_eq!(OneWayPacket::read(&octets), Ok(PACKET));
    }

    #[test]
    fn foreign_or_short_octets_are_refused() {
        let mut octets = [0; LEAST_OCTETS];
        PACKET.write(&mut octets).unwrap();
        assert_eq!(OneWayPacket::read(&octets[..31]), Err(PacketError::Short(31)));
        assert_eq!(PACKET.write(&mut [0; 31]), Err(PacketError::Short(31)));
        for at in 0..4 {
            let mut other = octets;
            other[at] = 0xff;
            assert_eq!(OneWayPacket::read(&other), Err(PacketError::Foreign), "octet {at}");
        }
    }

    #[test]
    fn it_is_never_taken_for_a_packet_that_is_answered() {
        let mut octets = [0; 200];
        PACKET.write(&mut octets).unwrap();
        assert_eq!(TestPacket::read(&octets), Err(PacketError::Foreign));
        for kind in 1..=4 {
            octets[3] = kind;
            assert_eq!(OneWayPacket::read(&octets), Err(PacketError::Foreign));
        }
    }
}
