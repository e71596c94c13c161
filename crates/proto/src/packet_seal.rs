//! What binds packets to a session: its token, or, where the control connection is encrypted, a tag under a key of that connection.
//!
//! The token of a packet is visible on the path. A sealed packet bears in its place the first half of the token, by which the server
//! finds the session, and 8 octets of an HMAC-SHA256 (RFC 2104) of the packet's fields and length. Each direction has a key of its own,
//! so that no packet can be sent back to where it came from.

pub mod replay_window;

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};

use ring::hmac;

use self::replay_window::{Freshness, ReplayWindow};
use crate::stream_key::{NAMING_OCTETS, are_equal};
use crate::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use crate::token::Token;

/// Where the token is in every packet, and the tag within it.
const TOKEN_PLACE: std::ops::Range<usize> = 8..24;
const TAG_PLACE: std::ops::Range<usize> = TOKEN_PLACE.start + NAMING_OCTETS..TOKEN_PLACE.end;

/// Octets of a packet that its tag covers at most: the fields of the longest kind. What follows is padding.
const COVERED_OCTETS: usize = LEAST_OCTETS;

/// Octets of the length of a packet, which the tag covers too.
const LENGTH_OCTETS: usize = 4;

/// What both ends of an encrypted connection derive for packets, by direction.
#[derive(Clone, Copy)]
pub struct PacketSecrets {
    pub up: [u8; 32],
    pub down: [u8; 32],
}

/// Seals the packets that one end of a session sends, and recognizes those of the other end.
#[derive(Clone)]
pub struct PacketSeal {
    token: Token,
    keys: Option<Arc<Keys>>,
}

struct Keys {
    sending: hmac::Key,
    receiving: hmac::Key,
    /// Greetings that this end has sent.
    greetings: AtomicI64,
    /// Packets that came without the tag of the other end.
    forged: AtomicU64,
}

impl From<Token> for PacketSeal {
    /// Packets that bear the token.
    fn from(token: Token) -> Self {
        Self { token, keys: None }
    }
}

impl PacketSeal {
    /// That of a client; packets bear the token where no secrets are given.
    pub fn of_client(token: Token, secrets: Option<&PacketSecrets>) -> Self {
        Self { token, keys: secrets.map(|PacketSecrets { up, down }| Keys::new(up, down)) }
    }

    /// That of a server; packets bear the token where no secrets are given.
    pub fn of_server(token: Token, secrets: Option<&PacketSecrets>) -> Self {
        Self { token, keys: secrets.map(|PacketSecrets { up, down }| Keys::new(down, up)) }
    }

    /// The session's token, which is written before a packet is sealed.
    pub fn token(&self) -> Token {
        self.token
    }

    /// Whether packets bear a tag.
    pub fn is_keyed(&self) -> bool {
        self.keys.is_some()
    }

    /// Completes a packet whose fields have been written: to be called last.
    pub fn seal(&self, packet: &mut [u8]) {
        if let Some(keys) = &self.keys
            && let Some(tag) = tag(&keys.sending, packet)
        {
            packet[TAG_PLACE].copy_from_slice(&tag);
        }
    }

    /// Whether a packet comes from the other end of the session. Where packets bear tags, others are counted.
    pub fn opens(&self, packet: &[u8]) -> bool {
        let Some(keys) = &self.keys else { return packet.get(TOKEN_PLACE) == Some(&self.token.0[..]) };
        let opened = packet.get(TOKEN_PLACE).is_some_and(|named| {
            let (name, borne) = named.split_at(NAMING_OCTETS);
            name == &self.token.0[..NAMING_OCTETS]
                && tag(&keys.receiving, packet).is_some_and(|expected| are_equal(&expected, borne))
        });
        if !opened {
            keys.forged.fetch_add(1, Ordering::Relaxed);
        }
        opened
    }

    /// Packets that were none of the other end's, of this seal and all its copies; `None` where packets bear no tags.
    pub fn forged(&self) -> Option<u64> {
        self.keys.as_ref().map(|keys| keys.forged.load(Ordering::Relaxed))
    }

    /// How a packet that this seal opens is to be taken, by its number: what is not sealed may come as often as it likes.
    pub fn take(&self, taken: &mut ReplayWindow, number: u32) -> Freshness {
        if self.is_keyed() { taken.take(number) } else { Freshness::New }
    }

    /// The next greeting of a flow. Where packets are sealed its T1 is one more than in the greeting before, so that none is of use
    /// to others.
    pub fn greeting(&self, flow: u16, octet: u8) -> TestPacket {
        let number =
            self.keys.as_ref().map_or(0, |keys| keys.greetings.fetch_add(1, Ordering::Relaxed).saturating_add(1));
        TestPacket::request(Kind::Greeting, flow, octet, self.token, 0, number)
    }
}

impl Keys {
    fn new(sending: &[u8; 32], receiving: &[u8; 32]) -> Arc<Self> {
        let key = |octets: &[u8; 32]| hmac::Key::new(hmac::HMAC_SHA256, octets);
        Arc::new(Self {
            sending: key(sending),
            receiving: key(receiving),
            greetings: AtomicI64::new(0),
            forged: AtomicU64::new(0),
        })
    }
}

/// The tag of a packet; `None` of one that has no room for it.
fn tag(key: &hmac::Key, packet: &[u8]) -> Option<[u8; TAG_PLACE.end - TAG_PLACE.start]> {
    let mut covered = [0; COVERED_OCTETS + LENGTH_OCTETS];
    let fields = packet.len().min(COVERED_OCTETS);
    if fields < TAG_PLACE.end {
        return None;
    }
    covered[..fields].copy_from_slice(&packet[..fields]);
    covered[TAG_PLACE].fill(0);
    let length = u32::try_from(packet.len()).ok()?;
    covered[fields..fields + LENGTH_OCTETS].copy_from_slice(&length.to_be_bytes());
    hmac::sign(key, &covered[..fields + LENGTH_OCTETS]).as_ref().first_chunk().copied()
}

impl fmt::Debug for PacketSeal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("PacketSeal(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SESSION: Token = Token([0xab; 16]);
    const SECRETS: PacketSecrets = PacketSecrets { up: [7; 32], down: [8; 32] };

    fn sealed(seal: &PacketSeal, length: usize) -> Vec<u8> {
        let mut octets = vec![0x5a; length];
        TestPacket::request(Kind::Test, 0x0102, 0xb8, seal.token(), 3, 4).write(&mut octets).unwrap();
        seal.seal(&mut octets);
        octets
    }

    #[test]
    fn a_sealed_packet_is_these_octets() {
        // Python: hmac.new(bytes([7]) * 32, the fields with a tag of zeros + (100).to_bytes(4, "big"), "sha256").digest()[:8]
        let octets = sealed(&PacketSeal::of_client(SESSION, Some(&SECRETS)), 100);
        assert_eq!(octets[8..16], [0xab; 8]);
        assert_eq!(octets[16..24], [0xf6, 0x82, 0x66, 0x9a, 0xfc, 0x00, 0x1a, 0x8a]);
        assert_eq!(sealed(&SESSION.into(), 100)[8..24], [0xab; 16], "without a key the token");
    }

    #[test]
    fn a_changed_packet_and_one_of_the_other_direction_are_not_opened() {
        let client = PacketSeal::of_client(SESSION, Some(&SECRETS));
        let server = PacketSeal::of_server(SESSION, Some(&SECRETS));
        let octets = sealed(&client, 100);
        assert!(server.opens(&octets));
        assert!(!client.opens(&octets), "sent back");
        assert!(!PacketSeal::from(SESSION).opens(&octets));
        for at in 0..LEAST_OCTETS {
            let mut changed = octets.clone();
            changed[at] ^= 1;
            assert!(!server.opens(&changed), "octet {at}");
        }
        let mut padded = octets.clone();
        padded[99] ^= 1;
        assert!(server.opens(&padded), "padding has no meaning");
        for length in (0..100).chain([101]) {
            let mut cut = octets.clone();
            cut.resize(length, 0x5a);
            assert!(!server.opens(&cut), "{length} octets");
        }
        let other = PacketSecrets { up: [9; 32], ..SECRETS };
        assert!(!PacketSeal::of_server(SESSION, Some(&other)).opens(&octets));
        assert!(!PacketSeal::of_server(Token([0xac; 16]), Some(&SECRETS)).opens(&octets));
    }

    #[test]
    fn packets_that_are_not_opened_are_counted_where_packets_bear_tags() {
        let server = PacketSeal::of_server(SESSION, Some(&SECRETS));
        let client = PacketSeal::of_client(SESSION, Some(&SECRETS));
        let copy = client.clone();
        let mut octets = sealed(&server, 100);
        assert!(client.opens(&octets));
        assert_eq!(client.forged(), Some(0));
        octets[20] ^= 1;
        assert!(!client.opens(&octets) && !copy.opens(&octets[..10]));
        assert_eq!((client.forged(), copy.forged()), (Some(2), Some(2)));
        let plain = PacketSeal::from(SESSION);
        assert!(!plain.opens(&octets));
        assert_eq!(plain.forged(), None);
    }

    #[test]
    fn greetings_of_a_key_are_numbered() {
        let seal = PacketSeal::of_client(SESSION, Some(&SECRETS));
        assert_eq!([seal.greeting(1, 0).t1, seal.clone().greeting(2, 0).t1], [1, 2]);
        assert_eq!(PacketSeal::from(SESSION).greeting(1, 0).t1, 0);
    }
}
