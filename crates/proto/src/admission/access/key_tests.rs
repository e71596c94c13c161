//! Clients with keys and tickets: who has access, and who has not.

use super::{
    AccessAnswer, AccessError, AccessList, AccessToken, Challenge, Credentials, KeyList, KeyRefusal, ListedKey, Secret,
    SigningKey, Ticket, TicketError, TicketTerms,
};
use crate::admission::quota_class::QuotaClass;

const CHALLENGE: Challenge = Challenge([7; 32]);
const BINDING: &[u8] = b"tls";
/// Some Wednesday.
const NOW: u64 = 1_790_000_000;
const LATER: u64 = NOW + 86_400;

/// Private keys by number: clients, issuers, and a stranger.
const ALICE: u8 = 1;
const BOB: u8 = 2;
const OFFICE: u8 = 11;
const OTHER_OFFICE: u8 = 12;

fn class(tests_per_hour: Option<u32>, octets_per_day: Option<u64>) -> QuotaClass {
    QuotaClass { tests_per_hour, octets_per_day }
}

fn listed(key: u8, name: &str, expires: Option<u64>, quota: QuotaClass) -> ListedKey {
    ListedKey { key: SigningKey::numbered(key).public(), name: name.to_owned(), expires, quota }
}

/// A list with Alice's key and the office as issuer.
fn keys() -> KeyList {
    KeyList {
        clients: vec![listed(ALICE, "alice", Some(LATER), class(None, None))],
        issuers: vec![listed(OFFICE, "office", None, class(None, None))],
        revoked: Vec::new(),
    }
}

fn list(keys: KeyList) -> AccessList {
    AccessList::default().with_keys(keys)
}

fn ticket(issuer: u8, holder: u8, quota: QuotaClass) -> Ticket {
    let holder = SigningKey::numbered(holder).public();
    let terms = TicketTerms { holder, name: "bob".to_owned(), expires: LATER, quota };
    Ticket::issue(&SigningKey::numbered(issuer), terms).expect("its name is a word")
}

fn answer(key: u8, ticket: Option<Ticket>) -> AccessAnswer {
    Credentials::Key(SigningKey::numbered(key), ticket).answer(&CHALLENGE, BINDING)
}

/// Whether Bob has access with this ticket.
fn of_bob(list: &AccessList, ticket: Ticket, now: u64) -> Result<super::Bearer, AccessError> {
    list.bearer(&answer(BOB, Some(ticket)), &CHALLENGE, BINDING, now)
}

fn refused(why: KeyRefusal) -> Result<super::Bearer, AccessError> {
    Err(why.into())
}

#[test]
fn only_the_right_key_challenge_and_connection_open_a_session() {
    let list = list(keys());
    let right = answer(ALICE, None);
    let bearer = list.bearer(&right, &CHALLENGE, BINDING, NOW).unwrap();
    assert_eq!((bearer.name.as_str(), bearer.own_quota()), ("alice", None));
    assert_eq!(list.bearer(&right, &CHALLENGE, BINDING, LATER), refused(KeyRefusal::Expired));
    assert_eq!(list.bearer(&right, &CHALLENGE, b"", NOW), refused(KeyRefusal::Signature));
    assert_eq!(list.bearer(&right, &Challenge([8; 32]), BINDING, NOW), refused(KeyRefusal::Signature));
    assert_eq!(list.bearer(&answer(BOB, None), &CHALLENGE, BINDING, NOW), refused(KeyRefusal::Unknown));
    // Another client's public key with a signature of its own.
    let mut stolen = answer(BOB, None);
    stolen.key.as_mut().unwrap().public_key = SigningKey::numbered(ALICE).public();
    assert_eq!(list.bearer(&stolen, &CHALLENGE, BINDING, NOW), refused(KeyRefusal::Signature));
    assert_eq!((list.count(), list.expired(NOW).count()), (2, 0));
    assert_eq!(list.expired(LATER).collect::<Vec<_>>(), ["alice"]);
    let mut renewed = keys();
    renewed.clients.push(ListedKey { expires: None, ..renewed.clients[0].clone() });
    assert!(self::list(renewed).bearer(&right, &CHALLENGE, BINDING, LATER).is_ok(), "a line that has not expired");
}

#[test]
fn a_key_that_leaves_the_list_or_is_revoked_ends_its_session() {
    let bearer = list(keys()).bearer(&answer(ALICE, None), &CHALLENGE, BINDING, NOW).unwrap();
    assert!(list(keys()).has(&bearer));
    assert!(!list(KeyList { clients: Vec::new(), ..keys() }).has(&bearer));
    let revoked = list(KeyList { revoked: vec![SigningKey::numbered(ALICE).public()], ..keys() });
    assert!(!revoked.has(&bearer));
    assert_eq!(revoked.bearer(&answer(ALICE, None), &CHALLENGE, BINDING, NOW), refused(KeyRefusal::Revoked));
}

#[test]
fn a_ticket_opens_a_session_until_it_expires() {
    let list = list(keys());
    let ticket = ticket(OFFICE, BOB, class(None, None));
    let bearer = of_bob(&list, ticket.clone(), LATER - 1).unwrap();
    assert_eq!(bearer.name, "bob");
    assert_eq!(of_bob(&list, ticket, LATER), refused(KeyRefusal::TicketExpired));
    // A test that began before goes on.
    assert!(list.has(&bearer));
}

#[test]
fn a_ticket_is_of_use_with_its_issuer_and_its_holder_alone() {
    let mine = ticket(OFFICE, BOB, class(None, None));
    let of_stranger = answer(3, Some(mine.clone()));
    assert_eq!(list(keys()).bearer(&of_stranger, &CHALLENGE, BINDING, NOW), refused(KeyRefusal::Holder));
    let other = ticket(OTHER_OFFICE, BOB, class(None, None));
    assert_eq!(of_bob(&list(keys()), other, NOW), refused(KeyRefusal::Issuer));
    let own = ticket(BOB, BOB, class(None, None));
    assert_eq!(of_bob(&list(keys()), own, NOW), refused(KeyRefusal::Issuer));
    // A client's key is no issuer.
    let by_client = ticket(ALICE, BOB, class(None, None));
    assert_eq!(of_bob(&list(keys()), by_client, NOW), refused(KeyRefusal::Issuer));
    let gone = KeyList { issuers: vec![listed(OFFICE, "", Some(NOW), class(None, None))], ..keys() };
    assert_eq!(of_bob(&list(gone), mine.clone(), NOW), refused(KeyRefusal::IssuerExpired));
    // With the key on the list, a ticket that is of no use here does no harm.
    let listed_too = answer(ALICE, Some(ticket(OTHER_OFFICE, ALICE, class(None, None))));
    assert!(list(keys()).bearer(&listed_too, &CHALLENGE, BINDING, NOW).is_ok());
}

#[test]
fn a_changed_ticket_opens_nothing() {
    let octets = ticket(OFFICE, BOB, class(Some(5), None)).encode();
    for at in 0..octets.len() {
        let mut changed = octets.clone();
        changed[at] ^= 1;
        let mut answer = answer(BOB, None);
        let text = format!("ticket:{}", data_encoding::BASE64.encode(&changed));
        answer.key.as_mut().unwrap().ticket = Some(text);
        assert!(list(keys()).bearer(&answer, &CHALLENGE, BINDING, NOW).is_err(), "octet {at}");
    }
    // More tests than the issuer has signed.
    let mut raised = octets;
    raised[14] = 200;
    assert_eq!(of_bob(&list(keys()), Ticket::decode(&raised).unwrap(), NOW), refused(KeyRefusal::Forged));
    let mut of_tomorrow = answer(BOB, None);
    of_tomorrow.key.as_mut().unwrap().ticket = Some("ticket:AgAA".to_owned());
    let refusal = refused(KeyRefusal::Ticket(TicketError::Version(2)));
    assert_eq!(list(keys()).bearer(&of_tomorrow, &CHALLENGE, BINDING, NOW), refusal);
}

#[test]
fn an_issuer_that_leaves_the_list_and_a_holder_that_is_revoked_end_their_sessions() {
    let ticket = ticket(OFFICE, BOB, class(None, None));
    let bearer = of_bob(&list(keys()), ticket.clone(), NOW).unwrap();
    let without = KeyList { issuers: vec![listed(OTHER_OFFICE, "", None, class(None, None))], ..keys() };
    assert!(!list(without).has(&bearer));
    let revoked = list(KeyList { revoked: vec![SigningKey::numbered(BOB).public()], ..keys() });
    assert!(!revoked.has(&bearer));
    assert_eq!(of_bob(&revoked, ticket, NOW), refused(KeyRefusal::Revoked));
    // Others of the same issuer go on.
    let of_others = Ticket::issue(
        &SigningKey::numbered(OFFICE),
        TicketTerms {
            holder: SigningKey::numbered(3).public(),
            name: String::new(),
            expires: LATER,
            quota: class(None, None),
        },
    );
    let other = revoked.bearer(&answer(3, Some(of_others.unwrap())), &CHALLENGE, BINDING, NOW).unwrap();
    assert!(revoked.has(&other));
}

#[test]
fn a_ticket_grants_its_quota_and_no_more_than_its_issuer_may() {
    let network = class(Some(16), Some(50_000));
    let granted = |own: QuotaClass, most: QuotaClass| {
        let issuers = vec![listed(OFFICE, "office", None, most)];
        let bob = of_bob(&list(KeyList { issuers, ..keys() }), ticket(OFFICE, BOB, own), NOW).unwrap();
        bob.own_quota().map(|own| own.granted(network))
    };
    assert_eq!(granted(class(None, None), class(None, None)), None, "that of its network");
    // A line without figures grants as much as a network may.
    assert_eq!(granted(class(Some(40), None), class(None, None)), Some(network));
    assert_eq!(granted(class(Some(0), Some(0)), class(None, None)), Some(network));
    assert_eq!(granted(class(Some(3), None), class(None, None)), Some(class(Some(3), Some(50_000))));
    let most = class(Some(20), Some(1_000_000));
    assert_eq!(granted(class(Some(40), Some(5)), most), Some(class(Some(20), Some(5))));
    assert_eq!(granted(class(Some(0), Some(0)), most), Some(most), "no limit is more than any");
    assert_eq!(granted(class(None, None), most), Some(most));
}

#[test]
fn tokens_and_keys_have_quotas_of_their_own() {
    let quota = class(Some(3), None);
    let secret = Secret::from_text("correct-horse-battery").unwrap();
    let token = AccessToken { secret: secret.clone(), name: String::new(), expires: None, quota };
    let clients = vec![listed(ALICE, "alice", None, quota)];
    let list = AccessList::new(vec![token]).with_keys(KeyList { clients, ..keys() });
    let of = |answer: &AccessAnswer| list.bearer(answer, &CHALLENGE, BINDING, NOW).unwrap().own_quota().unwrap();
    let by_token = of(&Credentials::Token(secret).answer(&CHALLENGE, BINDING));
    assert_ne!(by_token, of(&answer(ALICE, None)), "each its own");
}

#[test]
fn the_proof_of_a_key_is_a_part_of_the_message_that_older_programs_ignore() {
    let answer = answer(BOB, Some(ticket(OFFICE, BOB, class(None, None))));
    let json = serde_json::to_value(&answer).unwrap();
    assert!(json["key"]["public_key"].as_str().unwrap().starts_with("ed25519:") && json.get("proof").is_none());
    assert_eq!(serde_json::from_value::<AccessAnswer>(json).unwrap(), answer);
    assert_eq!(serde_json::to_string(&AccessAnswer::default()).unwrap(), "{}");
}
