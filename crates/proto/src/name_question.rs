//! The client of a DNS lookup, without a socket: the question's octets, and which datagram is its answer.
//!
//! One question and one answer over UDP (RFC 1035), with EDNS0 (RFC 6891). The octets are hickory's business.

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, MessageType, OpCode, Query, ResponseCode};
use hickory_proto::rr::{DNSClass, Name, RData, RecordType};

/// Octets that an answer may have, as the question announces: what passes on every path without fragments.
const MOST_OCTETS: u16 = 1232;

/// What is asked for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum RecordKind {
    /// An IPv4 address (RFC 1035).
    A,
    /// An IPv6 address (RFC 3596).
    Aaaa,
}

impl RecordKind {
    /// Both, as a host asks for them.
    pub const ALL: [Self; 2] = [Self::A, Self::Aaaa];

    /// The number of the record type.
    pub fn code(self) -> u16 {
        self.record_type().into()
    }

    fn record_type(self) -> RecordType {
        match self {
            Self::A => RecordType::A,
            Self::Aaaa => RecordType::AAAA,
        }
    }
}

/// One question to a resolver.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Question {
    id: u16,
    query: Query,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a name of a host")]
pub struct NotAName;

/// What a resolver answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Answer {
    /// Response code, with its extension by EDNS0; codes above 255 count as that.
    pub response_code: u8,
    /// The addresses in it, of the kind asked for, in its order.
    pub addresses: Vec<IpAddr>,
}

impl Answer {
    /// The name has such a record, or has none: the two answers that end a lookup.
    pub fn is_final(&self) -> bool {
        let codes = [ResponseCode::NoError, ResponseCode::NXDomain];
        codes.into_iter().any(|code| u16::from(code) == u16::from(self.response_code))
    }
}

impl Question {
    /// The question for this record of `name`, whether that ends in a dot or not. The id is best hard to guess, as
    /// are ports: an answer is known by nothing else.
    ///
    /// # Errors
    /// [`NotAName`].
    pub fn new(id: u16, name: &str, record: RecordKind) -> Result<Self, NotAName> {
        let mut name = Name::from_ascii(name).map_err(|_| NotAName)?;
        if name.iter().next().is_none() {
            return Err(NotAName);
        }
        name.set_fqdn(true);
        Ok(Self { id, query: Query::query(name, record.record_type()) })
    }

    /// The octets above UDP.
    pub fn encode(&self) -> Vec<u8> {
        let mut message = Message::new(self.id, MessageType::Query, OpCode::Query);
        message.metadata.recursion_desired = true;
        message.add_query(self.query.clone());
        let mut edns = Edns::new();
        edns.set_max_payload(MOST_OCTETS);
        message.set_edns(edns);
        message.to_vec().expect("a name that has been read fits into a message")
    }

    /// The answer in these octets; `None` when they are none, or the answer to something else (RFC 5452 section 9.1).
    ///
    /// A server that cannot even read the question may leave it out of its answer.
    pub fn answer(&self, octets: &[u8]) -> Option<Answer> {
        let message = Message::from_vec(octets).ok()?;
        let about = match message.queries.as_slice() {
            [query] => self.is_about(query),
            [] => message.metadata.response_code == ResponseCode::FormErr,
            _ => false,
        };
        if message.metadata.message_type != MessageType::Response || message.metadata.id != self.id || !about {
            return None;
        }
        let address = |data: &RData| match (data, self.query.query_type()) {
            (RData::A(address), RecordType::A) => Some(IpAddr::V4(address.0)),
            (RData::AAAA(address), RecordType::AAAA) => Some(IpAddr::V6(address.0)),
            _ => None,
        };
        Some(Answer {
            response_code: u16::from(message.metadata.response_code).try_into().unwrap_or(u8::MAX),
            addresses: message.answers.iter().filter_map(|record| address(&record.data)).collect(),
        })
    }

    fn is_about(&self, query: &Query) -> bool {
        query.query_class() == DNSClass::IN
            && query.query_type() == self.query.query_type()
            && query.name() == self.query.name()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// id 0x1234, recursion desired, one question, one additional; example.com, AAAA, IN; OPT of 1232 octets.
    const OCTETS: &[u8] = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x01\x07example\x03com\x00\x00\x1c\x00\x01\
        \x00\x00\x29\x04\xd0\x00\x00\x00\x00\x00\x00";

    fn question() -> Question {
        Question::new(0x1234, "example.com", RecordKind::Aaaa).unwrap()
    }

    /// An answer with the address 2001:db8::1, its name a pointer to the question's.
    fn answer() -> Vec<u8> {
        let mut octets = b"\x12\x34\x81\x80\x00\x01\x00\x01\x00\x00\x00\x00\x07example\x03com\x00\x00\x1c\x00\x01\
            \xc0\x0c\x00\x1c\x00\x01\x00\x00\x00\x3c\x00\x10"
            .to_vec();
        octets.extend([0x20, 1, 0xd, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1]);
        octets
    }

    #[test]
    fn a_question_is_these_octets() {
        assert_eq!(question().encode(), OCTETS);
        assert_eq!(Question::new(0x1234, "example.com.", RecordKind::Aaaa), Ok(question()));
        assert_eq!(RecordKind::ALL.map(RecordKind::code), [1, 28]);
        for bad in ["", ".", "a..b", &"a".repeat(64), &"abc.".repeat(64)] {
            assert_eq!(Question::new(1, bad, RecordKind::A), Err(NotAName), "{bad:?}");
        }
    }

    #[test]
    fn an_answer_is_read_with_its_code_and_addresses() {
        let found = question().answer(&answer()).unwrap();
        assert_eq!(found, Answer { response_code: 0, addresses: vec!["2001:db8::1".parse().unwrap()] });
        for (code, is_final) in [(0, true), (2, false), (3, true), (5, false)] {
            let mut octets = answer();
            octets[3] = 0x80 | code;
            let found = question().answer(&octets).unwrap();
            assert_eq!((found.response_code, found.is_final()), (code, is_final));
        }
        let mut shouted = answer();
        shouted[13..20].make_ascii_uppercase();
        assert!(question().answer(&shouted).is_some(), "names are the same in either case");
    }

    #[test]
    fn what_answers_another_question_is_no_answer() {
        let changed = |place: usize, octet: u8| {
            let mut octets = answer();
            octets[place] = octet;
            question().answer(&octets)
        };
        assert_eq!(changed(0, 0x13), None, "another id");
        assert_eq!(changed(2, 0x01), None, "a question");
        assert_eq!(changed(13, b'f'), None, "another name");
        assert_eq!(changed(26, 1), None, "another record");
        assert_eq!(changed(28, 3), None, "another class");
        for length in 0..answer().len() {
            assert_eq!(question().answer(&answer()[..length]), None, "cut off after {length} octets");
        }
        let bare = [0x12, 0x34, 0x80, 0x01, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(question().answer(&bare).map(|answer| answer.response_code), Some(1), "not even read");
        let refused = [0x12, 0x34, 0x80, 0x05, 0, 0, 0, 0, 0, 0, 0, 0];
        assert_eq!(question().answer(&refused), None, "a question that was read is repeated");
    }
}
