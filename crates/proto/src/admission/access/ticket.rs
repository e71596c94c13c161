//! Tickets: an issuer grants access to the holder of a key, until a time and within a quota.
//!
//! ```text
//! octets  what
//!      1  version, 1
//!      1  which figures of the quota it has: bit 0 tests, bit 1 data
//!      1  octets of the name, 0 to 32
//!      8  until when, seconds since 1970
//!      4  tests an hour, or 0
//!      8  data a day in octets, or 0
//!     32  public key of the issuer
//!     32  public key of the holder
//!      n  name: ASCII letters, digits and punctuation
//!     64  signature of the issuer: of `rrul ticket 1`, a zero, and all octets before
//! ```
//!
//! A ticket is no secret: it is of use only with the private key of its holder.

use std::fmt;
use std::str::FromStr;

use data_encoding::BASE64;

use super::signing_key::{PublicKey, SIGNATURE_OCTETS, Signature, SigningKey};
use crate::admission::quota_class::QuotaClass;

/// What the signature is about, so that it is of no use elsewhere.
const CONTEXT: &[u8] = b"rrul ticket 1\0";

const VERSION: u8 = 1;

/// Longest name, octets.
pub const LONGEST_NAME: usize = 32;

/// Octets in front of the name, and of a whole ticket without it.
const HEAD_OCTETS: usize = 3 + 8 + 4 + 8 + 32 + 32;
const LEAST_OCTETS: usize = HEAD_OCTETS + SIGNATURE_OCTETS;

/// Characters of the longest ticket in base64.
const LONGEST_BASE64: usize = (LEAST_OCTETS + LONGEST_NAME).div_ceil(3) * 4;

/// Bits of the second octet.
const HAS_TESTS: u8 = 1;
const HAS_DATA: u8 = 2;

/// Why something is no ticket.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TicketError {
    #[error("the ticket is damaged")]
    Form,
    #[error("the ticket is of version {0}, which this program does not know")]
    Version(u8),
    #[error("a name has at most {LONGEST_NAME} ASCII letters, digits and punctuation, and no space")]
    Name,
}

/// What a ticket grants, and to whom.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TicketTerms {
    pub holder: PublicKey,
    /// Whose it is, for the log; may be empty.
    pub name: String,
    /// Until when it is accepted, seconds since 1970.
    pub expires: u64,
    pub quota: QuotaClass,
}

/// Terms that an issuer has signed. Whether they are, [`Ticket::is_genuine`] says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    pub issuer: PublicKey,
    pub terms: TicketTerms,
    signature: Signature,
}

impl Ticket {
    /// What is in front of its base64.
    pub const PREFIX: &'static str = "ticket:";

    /// Signs terms.
    ///
    /// # Errors
    /// When the name is no word or too long.
    pub fn issue(issuer: &SigningKey, terms: TicketTerms) -> Result<Self, TicketError> {
        let name = terms.name.as_bytes();
        if name.len() > LONGEST_NAME || !name.iter().all(u8::is_ascii_graphic) {
            return Err(TicketError::Name);
        }
        let signature = issuer.sign(&[CONTEXT, &signed_octets(issuer.public(), &terms)].concat());
        Ok(Self { issuer: issuer.public(), terms, signature })
    }

    /// Whether its issuer has signed it.
    pub fn is_genuine(&self) -> bool {
        let message = [CONTEXT, &signed_octets(self.issuer, &self.terms)].concat();
        self.issuer.has_signed(&message, &self.signature)
    }

    pub fn encode(&self) -> Vec<u8> {
        let mut octets = signed_octets(self.issuer, &self.terms);
        octets.extend(self.signature.0);
        octets
    }

    /// Reads the octets of a ticket; each has one form alone.
    ///
    /// # Errors
    /// When they are none, or of a later version.
    pub fn decode(octets: &[u8]) -> Result<Self, TicketError> {
        let version = *octets.first().ok_or(TicketError::Form)?;
        if version != VERSION {
            return Err(TicketError::Version(version));
        }
        read(octets).ok_or(TicketError::Form)
    }
}

/// All octets in front of the signature.
fn signed_octets(issuer: PublicKey, terms: &TicketTerms) -> Vec<u8> {
    let QuotaClass { tests_per_hour, octets_per_day } = terms.quota;
    let has_tests = if tests_per_hour.is_some() { HAS_TESTS } else { 0 };
    let has_data = if octets_per_day.is_some() { HAS_DATA } else { 0 };
    let mut octets = Vec::with_capacity(LEAST_OCTETS + terms.name.len());
    octets.extend([VERSION, has_tests | has_data, terms.name.len() as u8]);
    octets.extend(terms.expires.to_be_bytes());
    octets.extend(tests_per_hour.unwrap_or(0).to_be_bytes());
    octets.extend(octets_per_day.unwrap_or(0).to_be_bytes());
    octets.extend(issuer.0);
    octets.extend(terms.holder.0);
    octets.extend(terms.name.as_bytes());
    octets
}

fn read(octets: &[u8]) -> Option<Ticket> {
    let (&[_, figures, name_octets], rest) = octets.split_first_chunk()?;
    let (expires, rest) = rest.split_first_chunk()?;
    let (tests, rest) = rest.split_first_chunk()?;
    let (data, rest) = rest.split_first_chunk()?;
    let (issuer, rest) = rest.split_first_chunk()?;
    let (holder, rest) = rest.split_first_chunk()?;
    let (name, signature) = rest.split_last_chunk()?;
    let (tests, data) = (u32::from_be_bytes(*tests), u64::from_be_bytes(*data));
    let (has_tests, has_data) = (figures & HAS_TESTS != 0, figures & HAS_DATA != 0);
    if figures & !(HAS_TESTS | HAS_DATA) != 0
        || (!has_tests && tests != 0)
        || (!has_data && data != 0)
        || name.len() != usize::from(name_octets)
        || name.len() > LONGEST_NAME
        || !name.iter().all(u8::is_ascii_graphic)
    {
        return None;
    }
    let quota = QuotaClass { tests_per_hour: has_tests.then_some(tests), octets_per_day: has_data.then_some(data) };
    let name = str::from_utf8(name).ok()?.to_owned();
    let terms = TicketTerms { holder: PublicKey(*holder), name, expires: u64::from_be_bytes(*expires), quota };
    Some(Ticket { issuer: PublicKey(*issuer), terms, signature: Signature(*signature) })
}

impl fmt::Display for Ticket {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}{}", Self::PREFIX, BASE64.encode(&self.encode()))
    }
}

impl FromStr for Ticket {
    type Err = TicketError;

    fn from_str(text: &str) -> Result<Self, TicketError> {
        let digits = text.strip_prefix(Self::PREFIX).filter(|digits| digits.len() <= LONGEST_BASE64);
        let octets = digits.and_then(|digits| BASE64.decode(digits.as_bytes()).ok());
        Self::decode(&octets.ok_or(TicketError::Form)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn terms(name: &str) -> TicketTerms {
        let quota = QuotaClass { tests_per_hour: Some(40), octets_per_day: None };
        TicketTerms { holder: SigningKey::numbered(2).public(), name: name.to_owned(), expires: 1_798_761_600, quota }
    }

    #[test]
    fn a_ticket_has_the_octets_that_the_document_names() {
        let ticket = Ticket::issue(&SigningKey::numbered(1), terms("alice")).unwrap();
        let octets = ticket.encode();
        assert_eq!(octets[..3], [1, 1, 5]);
        assert_eq!(octets[3..23], [0, 0, 0, 0, 0x6b, 0x36, 0xec, 0x80, 0, 0, 0, 40, 0, 0, 0, 0, 0, 0, 0, 0]);
        assert_eq!(octets[23..55], SigningKey::numbered(1).public().0);
        assert_eq!(octets[55..87], SigningKey::numbered(2).public().0);
        assert_eq!((&octets[87..92], octets.len()), (&b"alice"[..], 92 + 64));
        assert_eq!(Ticket::decode(&octets).as_ref(), Ok(&ticket));
        assert_eq!(ticket.to_string().parse().as_ref(), Ok(&ticket));
        assert!(ticket.is_genuine());
    }

    #[test]
    fn no_octet_of_a_ticket_can_be_changed() {
        let octets = Ticket::issue(&SigningKey::numbered(1), terms("alice")).unwrap().encode();
        for at in 0..octets.len() {
            for bit in 0..8 {
                let mut changed = octets.clone();
                changed[at] ^= 1 << bit;
                let is_genuine = Ticket::decode(&changed).is_ok_and(|ticket| ticket.is_genuine());
                assert!(!is_genuine, "octet {at}, bit {bit}");
            }
        }
    }

    #[test]
    fn a_ticket_is_neither_cut_nor_longer_and_of_a_known_version() {
        let octets = Ticket::issue(&SigningKey::numbered(1), terms(&"n".repeat(32))).unwrap().encode();
        assert!((0..octets.len()).all(|length| Ticket::decode(&octets[..length]).is_err()));
        assert_eq!(Ticket::decode(&[&octets[..], &[0]].concat()), Err(TicketError::Form));
        assert_eq!(Ticket::decode(&[2]), Err(TicketError::Version(2)));
        let longest = Ticket::decode(&octets).unwrap().to_string();
        assert_eq!(longest.len(), Ticket::PREFIX.len() + LONGEST_BASE64);
        assert_eq!(longest.parse::<Ticket>().unwrap().encode(), octets);
        for bad in [&longest[1..], &format!("{longest}AAAA"), "ticket:", "ticket:A", ""] {
            assert_eq!(bad.parse::<Ticket>(), Err(TicketError::Form), "{bad}");
        }
        for name in ["two words", "\u{e9}t\u{e9}", "line\n", &"n".repeat(33)] {
            assert_eq!(Ticket::issue(&SigningKey::numbered(1), terms(name)), Err(TicketError::Name), "{name}");
        }
    }
}
