//! The server of lookups of the session's own names, without a socket.
//!
//! With a new label each time no cache contains the name, so that every lookup is one question and one answer over the
//! path.

use std::net::IpAddr;

use hickory_proto::op::{Edns, Message, MessageType, OpCode};
use hickory_proto::rr::rdata::{A, AAAA};
use hickory_proto::rr::{DNSClass, RData, Record, RecordType};

use crate::session_name::SessionName;
use crate::token::Token;

/// The longest question that is read: every name fits.
const LONGEST_QUESTION: usize = 512;

/// How much longer than its question an answer may be: one record with an IPv6 address.
pub const MOST_ADDED: usize = 28;

/// Octets of a datagram with nothing but the header.
const HEADER: usize = 12;

/// A question for one of these names.
#[derive(Debug, Clone)]
pub struct Asked {
    pub token: Token,
    pub flow: u16,
    message: Message,
}

impl Asked {
    /// The question in these octets; `None` when they are anything else, another name's question among it.
    pub fn read(octets: &[u8]) -> Option<Self> {
        // Before anything is taken apart: a standard query (RFC 1035 section 4.1.1) with one question, without answers,
        // with one additional record at most.
        let counts = [[0, 1, 0, 0, 0, 0, 0, 0], [0, 1, 0, 0, 0, 0, 0, 1]];
        let plain = octets.len() <= LONGEST_QUESTION
            && octets.get(2).is_some_and(|flags| flags & 0xf8 == 0)
            && counts.iter().any(|counts| octets.get(4..HEADER) == Some(counts));
        if !plain {
            return None;
        }
        let message = Message::from_vec(octets).ok()?;
        let [query] = message.queries.as_slice() else { return None };
        if query.query_class() != DNSClass::IN || message.metadata.op_code != OpCode::Query {
            return None;
        }
        let name = query.name().to_ascii();
        let SessionName { flow, token, .. } = SessionName::read(&name)?;
        Some(Self { token, flow, message })
    }

    /// The answer: this address where it is of the kind that was asked for, else that none exists.
    pub fn answer(&self, address: IpAddr) -> Vec<u8> {
        let asked = &self.message;
        let mut answer = Message::new(asked.metadata.id, MessageType::Response, OpCode::Query);
        answer.metadata.authoritative = true;
        answer.metadata.recursion_desired = asked.metadata.recursion_desired;
        for query in &asked.queries {
            let data = match (query.query_type(), address.to_canonical()) {
                (RecordType::A, IpAddr::V4(address)) => Some(RData::A(A(address))),
                (RecordType::AAAA, IpAddr::V6(address)) => Some(RData::AAAA(AAAA(address))),
                _ => None,
            };
            answer.add_query(query.clone());
            // Never cached: time to live 0.
            answer.add_answers(data.map(|data| Record::from_rdata(query.name().clone(), 0, data)));
        }
        if asked.edns.is_some() {
            answer.set_edns(Edns::new());
        }
        answer.to_vec().expect("what was read can be written")
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::name_question::{Question, RecordKind};

    const TOKEN: Token = Token(*b"0123456789abcdef");

    fn question(name: &str, record: RecordKind) -> Vec<u8> {
        Question::new(7, name, record).unwrap().encode()
    }

    #[test]
    fn names_of_a_session_are_answered_with_the_address_of_the_kind_asked_for() {
        let name = SessionName { label: "www", flow: 12, token: TOKEN }.to_string();
        let addresses: [IpAddr; 2] = ["192.0.2.7".parse().unwrap(), "2001:db8::7".parse().unwrap()];
        for (record, kind) in RecordKind::ALL.into_iter().enumerate() {
            let question = Question::new(7, &name, kind).unwrap();
            let asked = Asked::read(&question.encode()).unwrap();
            assert_eq!((asked.token, asked.flow), (TOKEN, 12));
            for (family, address) in addresses.into_iter().enumerate() {
                let octets = asked.answer(address);
                assert!(octets.len() <= question.encode().len() + MOST_ADDED, "{} octets", octets.len());
                let answer = question.answer(&octets).unwrap();
                let expected = if record == family { vec![address] } else { Vec::new() };
                assert_eq!((answer.response_code, answer.addresses), (0, expected));
            }
        }
    }

    #[test]
    fn other_names_and_other_messages_are_nobodys() {
        let hex = "30313233343536373839616263646566";
        let names = [
            format!("12.{hex}.rrul.test"),
            format!("a.12.{hex}.rrul.example"),
            format!("a.12.{hex}.other.test"),
            "example.com".to_owned(),
        ];
        for name in names {
            assert!(Asked::read(&question(&name, RecordKind::A)).is_none(), "{name}");
        }
        let good = question(&SessionName { label: "a", flow: 12, token: TOKEN }.to_string(), RecordKind::A);
        assert!(Asked::read(&good).is_some());
        for (place, octet, what) in
            [(2, 0x81, "a response"), (2, 0x29, "an update"), (5, 2, "two questions"), (7, 1, "an answer in it")]
        {
            let mut octets = good.clone();
            octets[place] = octet;
            assert!(Asked::read(&octets).is_none(), "{what}");
        }
        for length in 0..good.len() {
            assert!(Asked::read(&good[..length]).is_none(), "cut off after {length} octets");
        }
        let answered = Asked::read(&good).unwrap().answer("192.0.2.7".parse().unwrap());
        assert!(Asked::read(&answered).is_none(), "an answer is never answered");
    }
}
