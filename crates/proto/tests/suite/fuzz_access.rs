//! Keys and tickets of strangers: any octets are read in their one form or refused, and none opens a session that its issuer has not
//! granted.

use proptest::collection::vec;
use proptest::prelude::*;

use rrul_proto::admission::access::{
    AccessAnswer, AccessList, Challenge, Credentials, KeyList, ListedKey, PublicKey, SigningKey, Ticket, TicketTerms,
};
use rrul_proto::admission::quota_class::QuotaClass;

use crate::campaign::config;
use crate::strategies::nearly;

const NOW: u64 = 1_790_000_000;
const CHALLENGE: Challenge = Challenge([7; 32]);

/// The private key of this number: PKCS #8 (RFC 8410, section 7) without the public key.
fn key(number: u8) -> SigningKey {
    let head = [0x30, 0x2e, 2, 1, 0, 0x30, 5, 6, 3, 0x2b, 0x65, 0x70, 4, 0x22, 4, 0x20];
    SigningKey::from_pkcs8(&[&head[..], &[number; 32]].concat()).expect("a private key")
}

/// A ticket of issuer 1 for the holder of key 2.
fn ticket() -> impl Strategy<Value = Ticket> {
    let quota = (any::<Option<u32>>(), any::<Option<u64>>());
    ("[!-~]{0,32}", any::<u64>(), quota).prop_map(|(name, expires, (tests_per_hour, octets_per_day))| {
        let quota = QuotaClass { tests_per_hour, octets_per_day };
        let terms = TicketTerms { holder: key(2).public(), name, expires, quota };
        Ticket::issue(&key(1), terms).expect("the name is a word")
    })
}

/// What the holder answers with this text as its ticket.
fn answer(ticket: String) -> AccessAnswer {
    let mut answer = Credentials::Key(key(2), None).answer(&CHALLENGE, b"");
    answer.key.as_mut().expect("it is of a key").ticket = Some(ticket);
    answer
}

fn list() -> AccessList {
    let issuer = ListedKey { key: key(1).public(), name: String::new(), expires: None, quota: QuotaClass::default() };
    AccessList::default().with_keys(KeyList { issuers: vec![issuer], ..KeyList::default() })
}

proptest! {
    #![proptest_config(config())]

    #[test]
    fn a_ticket_reads_back_as_octets_and_as_text(ticket in ticket()) {
        prop_assert_eq!(Ticket::decode(&ticket.encode()), Ok(ticket.clone()));
        prop_assert_eq!(ticket.to_string().parse(), Ok(ticket.clone()));
        let opened = list().bearer(&answer(ticket.to_string()), &CHALLENGE, b"", NOW);
        prop_assert_eq!(opened.is_ok(), NOW < ticket.terms.expires);
    }

    #[test]
    fn any_octets_for_a_ticket_are_read_in_one_form_or_refused(octets in nearly(ticket().prop_map(|ticket| ticket.encode()))) {
        if let Ok(ticket) = Ticket::decode(&octets) {
            prop_assert_eq!(ticket.encode(), octets);
        }
    }

    #[test]
    fn any_text_for_a_ticket_opens_only_what_was_signed(
        (ticket, octets) in ticket().prop_flat_map(|ticket| {
            let text = ticket.to_string().into_bytes();
            (Just(ticket), nearly(Just(text)))
        })
    ) {
        let text = String::from_utf8_lossy(&octets).into_owned();
        if list().bearer(&answer(text.clone()), &CHALLENGE, b"", NOW).is_ok() {
            prop_assert_eq!(text, ticket.to_string());
        }
    }

    #[test]
    fn any_text_for_a_public_key_is_read_in_one_form_or_refused(
        octets in nearly(any::<[u8; 32]>().prop_map(|octets| PublicKey(octets).to_string().into_bytes()))
    ) {
        let text = String::from_utf8_lossy(&octets);
        if let Ok(key) = text.parse::<PublicKey>() {
            prop_assert_eq!(key.to_string(), text);
        }
    }

    #[test]
    fn any_octets_for_a_private_key_are_read_or_refused(octets in vec(any::<u8>(), 0..100)) {
        let _ = SigningKey::from_pkcs8(&octets);
    }

    #[test]
    fn any_message_for_an_answer_is_read_and_proves_nothing(
        octets in nearly(ticket().prop_map(|ticket| {
            // Of another challenge.
            let other = Credentials::Key(key(2), Some(ticket)).answer(&Challenge([8; 32]), b"");
            serde_json::to_vec(&other).expect("it is JSON")
        }))
    ) {
        if let Ok(answer) = serde_json::from_slice::<AccessAnswer>(&octets) {
            prop_assert!(list().bearer(&answer, &CHALLENGE, b"", NOW).is_err());
        }
    }
}
