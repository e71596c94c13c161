//! The opening: the first octets of a TCP connection, fixed in every version.

use crate::token::Token;
use crate::{HIGHEST_VERSION, LOWEST_VERSION, MAGIC};

/// Octets of a client's opening.
pub const CLIENT_OCTETS: usize = 28;

/// Octets of a server's answer.
pub const SERVER_OCTETS: usize = 8;

/// What a connection is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Control messages; opens a session.
    Control,
    /// The stream of one flow.
    Stream,
    /// Proof that the session's client can be reached over this address family; closed at once.
    Presence,
}

impl Purpose {
    fn code(self) -> u8 {
        match self {
            Self::Control => 1,
            Self::Stream => 2,
            Self::Presence => 3,
        }
    }

    fn from_code(code: u8) -> Option<Self> {
        [Self::Control, Self::Stream, Self::Presence].into_iter().find(|purpose| purpose.code() == code)
    }
}

/// What a client is able to do beside what every one is, on a control connection.
///
/// Servers that do not know of it ignore it. One that demands what a client does not offer answers [`Status::Lacking`].
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Offers(u8);

impl Offers {
    pub const NONE: Self = Self(0);
    /// It answers challenges, with a token or by saying that it has none.
    pub const ACCESS: Self = Self(1);
    /// It speaks TLS on this connection, when the server answers [`Status::Secure`].
    pub const TLS: Self = Self(2);
    /// On an encrypted connection it seals its test packets.
    pub const SEALS: Self = Self(4);
    /// It verifies the certificate of a server, when the server answers [`Status::Certified`].
    pub const CERTIFICATES: Self = Self(8);

    /// Those of the octet; bits that this version does not know are left out.
    fn from_octet(octet: u8) -> Self {
        Self(octet & (Self::ACCESS.0 | Self::TLS.0 | Self::SEALS.0 | Self::CERTIFICATES.0))
    }

    /// These and those.
    #[must_use]
    pub fn and(self, others: Self) -> Self {
        Self(self.0 | others.0)
    }

    /// Whether it offers all of these.
    pub fn has(self, others: Self) -> bool {
        self.0 & others.0 == others.0
    }
}

/// What the client says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ClientOpening {
    pub lowest: u8,
    pub highest: u8,
    /// What the connection is for.
    pub purpose: Purpose,
    pub offers: Offers,
    /// The session; [`Token::NONE`] on a control connection.
    pub token: Token,
    /// The flow of a stream; 0 otherwise.
    pub flow: u16,
}

/// Why an opening is not understood.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum OpeningError {
    #[error("the other end does not speak the rrul protocol")]
    NotRrul,
    #[error("unknown purpose {0}")]
    UnknownPurpose(u8),
    #[error("unknown status {0}")]
    UnknownStatus(u8),
}

impl ClientOpening {
    /// An opening with the versions of this program.
    pub fn new(purpose: Purpose, token: Token, flow: u16) -> Self {
        Self { lowest: LOWEST_VERSION, highest: HIGHEST_VERSION, purpose, offers: Offers::NONE, token, flow }
    }

    /// The opening of a control connection.
    pub fn control(offers: Offers) -> Self {
        Self { offers, ..Self::new(Purpose::Control, Token::NONE, 0) }
    }

    pub fn encode(&self) -> [u8; CLIENT_OCTETS] {
        let mut octets = [0; CLIENT_OCTETS];
        octets[0..4].copy_from_slice(&MAGIC);
        octets[4] = self.lowest;
        octets[5] = self.highest;
        octets[6] = self.purpose.code();
        octets[7] = self.offers.0;
        octets[8..24].copy_from_slice(&self.token.0);
        octets[24..26].copy_from_slice(&self.flow.to_be_bytes());
        octets
    }

    /// Reads the octets. The versions are checked by [`agreed_version`], so that a newer client gets an answer.
    ///
    /// # Errors
    /// When the magic is missing or the purpose unknown.
    pub fn decode(octets: &[u8; CLIENT_OCTETS]) -> Result<Self, OpeningError> {
        if octets[0..4] != MAGIC {
            return Err(OpeningError::NotRrul);
        }
        let mut token = [0; 16];
        token.copy_from_slice(&octets[8..24]);
        Ok(Self {
            lowest: octets[4],
            highest: octets[5],
            purpose: Purpose::from_code(octets[6]).ok_or(OpeningError::UnknownPurpose(octets[6]))?,
            offers: Offers::from_octet(octets[7]),
            token: Token(token),
            flow: u16::from_be_bytes([octets[24], octets[25]]),
        })
    }
}

/// How the server takes a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    Accepted,
    Version,
    /// No room now; try later.
    Busy,
    /// No such session, or no such flow in it.
    Unknown,
    /// The server demands what the client does not offer.
    Lacking,
    /// Accepted, and the client begins TLS on this connection.
    Secure,
    /// The same, and the server shows a certificate in the place of its key.
    Certified,
}

impl Status {
    pub const ALL: [Self; 7] =
        [Self::Accepted, Self::Version, Self::Busy, Self::Unknown, Self::Lacking, Self::Secure, Self::Certified];

    fn code(self) -> u8 {
        match self {
            Self::Accepted => 0,
            Self::Version => 1,
            Self::Busy => 2,
            Self::Unknown => 3,
            Self::Lacking => 4,
            Self::Secure => 5,
            Self::Certified => 6,
        }
    }
}

/// What the server says first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ServerOpening {
    pub status: Status,
    /// The version agreed; 0 when none is.
    pub version: u8,
    /// Lowest version the server speaks.
    pub lowest: u8,
    /// Highest version the server speaks.
    pub highest: u8,
}

impl ServerOpening {
    pub fn encode(&self) -> [u8; SERVER_OCTETS] {
        let [m0, m1, m2, m3] = MAGIC;
        [m0, m1, m2, m3, self.status.code(), self.version, self.lowest, self.highest]
    }

    /// Reads the octets.
    ///
    /// # Errors
    /// When the magic is missing or the status unknown.
    pub fn decode(octets: &[u8; SERVER_OCTETS]) -> Result<Self, OpeningError> {
        if octets[0..4] != MAGIC {
            return Err(OpeningError::NotRrul);
        }
        let status = Status::ALL
            .into_iter()
            .find(|status| status.code() == octets[4])
            .ok_or(OpeningError::UnknownStatus(octets[4]))?;
        Ok(Self { status, version: octets[5], lowest: octets[6], highest: octets[7] })
    }

    /// This program's answer with this status.
    pub fn answer(status: Status, version: u8) -> Self {
        Self { status, version, lowest: LOWEST_VERSION, highest: HIGHEST_VERSION }
    }

    /// What a client reports to its user when the versions do not match.
    pub fn version_message(&self) -> String {
        let range = |lowest: u8, highest: u8| {
            if lowest == highest { lowest.to_string() } else { format!("{lowest} to {highest}") }
        };
        let older = if self.highest < LOWEST_VERSION { "server" } else { "client" };
        format!(
            "the server speaks protocol {}, this client {}; update the {older}",
            range(self.lowest, self.highest),
            range(LOWEST_VERSION, HIGHEST_VERSION)
        )
    }
}

/// The highest version that both speak; `None` without one.
pub fn agreed_version(client: &ClientOpening) -> Option<u8> {
    let highest = client.highest.min(HIGHEST_VERSION);
    (highest >= client.lowest.max(LOWEST_VERSION)).then_some(highest)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_client_opening_is_these_octets() {
        let opening = ClientOpening::new(Purpose::Stream, Token([0xab; 16]), 0x0102);
        let mut octets = *b"RRUL\x01\x01\x02\x00................\x01\x02\x00\x00";
        octets[8..24].fill(0xab);
        assert_eq!(opening.encode(), octets);
        assert_eq!(ClientOpening::decode(&octets), Ok(opening));
    }

    #[test]
    fn offers_take_a_reserved_octet_and_unknown_ones_are_ignored() {
        let mut octets = ClientOpening::control(Offers::ACCESS).encode();
        assert_eq!(octets[..8], *b"RRUL\x01\x01\x01\x01");
        octets[7] = 0xff;
        let offers = ClientOpening::decode(&octets).unwrap().offers;
        assert!(offers.has(Offers::ACCESS) && !Offers::NONE.has(Offers::ACCESS));
        octets[7] = 0xf0;
        assert_eq!(ClientOpening::decode(&octets), Ok(ClientOpening::control(Offers::NONE)));
    }

    #[test]
    fn another_protocol_is_recognized() {
        let octets = *b"GET / HTTP/1.1\r\nHost: 192.0.";
        assert_eq!(ClientOpening::decode(&octets), Err(OpeningError::NotRrul));
        assert_eq!(ServerOpening::decode(b"SSH-2.0-"), Err(OpeningError::NotRrul));
    }

    #[test]
    fn versions_meet_at_the_highest_both_speak_or_say_who_is_old() {
        let client =
            |lowest, highest| ClientOpening { lowest, highest, ..ClientOpening::new(Purpose::Control, Token::NONE, 0) };
        assert_eq!(agreed_version(&client(1, 9)), Some(HIGHEST_VERSION));
        assert_eq!(agreed_version(&client(HIGHEST_VERSION + 1, 9)), None);
        assert_eq!(agreed_version(&client(0, 0)), None);
        let newer = ServerOpening { status: Status::Version, version: 0, lowest: 3, highest: 4 };
        assert_eq!(newer.version_message(), "the server speaks protocol 3 to 4, this client 1; update the client");
        let older = ServerOpening { status: Status::Version, version: 0, lowest: 0, highest: 0 };
        assert_eq!(older.version_message(), "the server speaks protocol 0, this client 1; update the server");
    }

    #[test]
    fn a_server_opening_reads_back() {
        for status in Status::ALL {
            let opening = ServerOpening::answer(status, 1);
            assert_eq!(ServerOpening::decode(&opening.encode()), Ok(opening));
        }
        assert_eq!(ServerOpening::decode(b"RRUL\x09\x01\x01\x01"), Err(OpeningError::UnknownStatus(9)));
    }
}
