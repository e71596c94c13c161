//! What binds the streams of a session to its encrypted control connection.
//!
//! The token of an opening is visible on the path. Where the control connection is encrypted, an opening bears in its place the first
//! half of the token, by which the server finds the session, and 8 octets of an HMAC-SHA256 (RFC 2104) of the opening, under a key
//! that both ends derive from that connection.

use std::fmt;

use ring::hmac;

use crate::opening::{CLIENT_OCTETS, ClientOpening};
use crate::token::Token;

/// Octets of the place of the token that name the session; the others prove who opens the connection.
pub const NAMING_OCTETS: usize = 8;

/// Where the token is in an opening.
const TOKEN: std::ops::Range<usize> = 8..24;

/// The key of a session's streams.
#[derive(Clone)]
pub struct StreamKey(hmac::Key);

impl StreamKey {
    /// The key of which both ends have these octets.
    pub fn new(octets: &[u8; 32]) -> Self {
        Self(hmac::Key::new(hmac::HMAC_SHA256, octets))
    }

    /// An opening of the session with this token, whose token proves where it comes from.
    pub fn seal(&self, opening: ClientOpening, session: Token) -> ClientOpening {
        ClientOpening { token: self.proof(opening, session), ..opening }
    }

    /// Whether an opening comes from the client of the session with this token.
    pub fn opens(&self, opening: &ClientOpening, session: Token) -> bool {
        are_equal(&self.proof(*opening, session).0, &opening.token.0)
    }

    fn proof(&self, opening: ClientOpening, session: Token) -> Token {
        let mut octets: [u8; CLIENT_OCTETS] = ClientOpening { token: session, ..opening }.encode();
        octets[TOKEN.start + NAMING_OCTETS..TOKEN.end].fill(0);
        let tag = hmac::sign(&self.0, &octets);
        let mut token = session;
        token.0[NAMING_OCTETS..].copy_from_slice(&tag.as_ref()[..TOKEN.len() - NAMING_OCTETS]);
        token
    }
}

/// Whether these are the same octets. All are looked at in any case: how many are right shows in no answer time.
pub(crate) fn are_equal(expected: &[u8], borne: &[u8]) -> bool {
    let pairs = expected.iter().zip(borne);
    expected.len() == borne.len() && pairs.fold(0, |differing, (one, other)| differing | (one ^ other)) == 0
}

impl fmt::Debug for StreamKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("StreamKey(..)")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::opening::Purpose;

    const SESSION: Token = Token([0xab; 16]);
    const TAG: [u8; 8] = [0xee, 0x42, 0xe9, 0x9a, 0x95, 0xaa, 0x51, 0x24];

    #[test]
    fn a_sealed_opening_is_these_octets() {
        // Python: hmac.new(bytes([7]) * 32, opening with the naming half alone, "sha256").digest()[:8]
        let opening = ClientOpening::new(Purpose::Stream, Token::NONE, 0x0102);
        let sealed = StreamKey::new(&[7; 32]).seal(opening, SESSION);
        let mut expected = [0xab; 16];
        expected[8..].copy_from_slice(&TAG);
        assert_eq!(sealed.token.0, expected);
    }

    #[test]
    fn only_the_clients_own_openings_open_streams() {
        let key = StreamKey::new(&[7; 32]);
        let sealed = key.seal(ClientOpening::new(Purpose::Stream, Token::NONE, 5), SESSION);
        assert!(key.opens(&sealed, SESSION));
        for other in [
            ClientOpening { flow: 6, ..sealed },
            ClientOpening { purpose: Purpose::Presence, ..sealed },
            ClientOpening { token: SESSION, ..sealed },
            ClientOpening { highest: sealed.highest + 1, ..sealed },
        ] {
            assert!(!key.opens(&other, SESSION), "{other:?}");
        }
        assert!(!StreamKey::new(&[8; 32]).opens(&sealed, SESSION));
        assert!(!key.opens(&sealed, Token([0xac; 16])));
    }
}
