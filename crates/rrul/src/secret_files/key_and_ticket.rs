//! The file of a client with a key: the private key in PEM form, and a ticket for it where it has one, in either order.

use rrul_engine::control_link::client_key;
use rrul_engine::server::{Credentials, PublicKey, SigningKeyError, Ticket, TicketError};

use super::{PEM, lines};

/// How a key in PEM form ends (RFC 7468).
const PEM_END: &str = "-----END";

/// Why such a file is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ClientFileError {
    #[error(transparent)]
    Key(#[from] SigningKeyError),
    #[error("line {0}: {1}; ask its issuer for another")]
    Ticket(usize, TicketError),
    #[error("line {0}: neither a private key nor a ticket")]
    Line(usize),
    #[error("line {0}: a second ticket; keep one")]
    Second(usize),
    #[error("a ticket needs the private key that it names; put both into this file")]
    NoKey,
    #[error("a public key is for the list of a server; a client needs the private key that `rrul key new FILE` makes")]
    Public,
    #[error("the ticket is of another key; ask its issuer for one of {0}")]
    Holder(PublicKey),
}

/// Reads the text of the file.
pub(super) fn read(text: &str) -> Result<Credentials, ClientFileError> {
    let (mut has_key, mut within_key) = (false, false);
    let mut ticket: Option<Ticket> = None;
    for (number, line) in lines(text) {
        if within_key || line.starts_with(PEM) {
            has_key = true;
            within_key = !line.starts_with(PEM_END);
        } else if line.starts_with(Ticket::PREFIX) {
            let read = line.parse().map_err(|error| ClientFileError::Ticket(number, error))?;
            if ticket.replace(read).is_some() {
                return Err(ClientFileError::Second(number));
            }
        } else if line.starts_with(PublicKey::PREFIX) {
            return Err(ClientFileError::Public);
        } else {
            return Err(ClientFileError::Line(number));
        }
    }
    if !has_key {
        return Err(ClientFileError::NoKey);
    }
    let key = client_key(text)?;
    let holder = key.public();
    if ticket.as_ref().is_some_and(|ticket| ticket.terms.holder != holder) {
        return Err(ClientFileError::Holder(holder));
    }
    Ok(Credentials::Key(key, ticket))
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_engine::control_link::ServerKey;
    use rrul_engine::server::{QuotaClass, TicketTerms};

    /// A ticket for the key of this text, of an issuer of its own.
    fn ticket(holder: &str) -> String {
        let issuer = client_key(&ServerKey::generate().unwrap()).unwrap();
        let holder = client_key(holder).unwrap().public();
        let terms = TicketTerms { holder, name: String::new(), expires: 0, quota: QuotaClass::default() };
        Ticket::issue(&issuer, terms).unwrap().to_string()
    }

    #[test]
    fn a_key_and_its_ticket_are_read_in_either_order() {
        let key = ServerKey::generate().unwrap();
        let ticket = ticket(&key);
        for (text, has_ticket) in [
            (key.clone(), false),
            (format!("{key}{ticket}\n"), true),
            (format!("# of the office\n\n{ticket}\n{key}"), true),
        ] {
            let Credentials::Key(_, found) = read(&text).unwrap() else { panic!("it is a key") };
            assert_eq!(found.map(|found| found.to_string()), has_ticket.then(|| ticket.clone()));
        }
    }

    #[test]
    fn a_mistake_says_what_to_do_and_shows_no_key() {
        let key = ServerKey::generate().unwrap();
        let digits = key.lines().nth(1).unwrap();
        let (own, other) = (ticket(&key), ticket(&ServerKey::generate().unwrap()));
        for (text, words) in [
            (own.clone(), "a ticket needs the private key"),
            (format!("{own}\n{key}{own}"), "line 6: a second ticket"),
            (format!("{key}{}", &own[..60]), "line 5: the ticket is damaged; ask its issuer"),
            (format!("{key}{other}"), "the ticket is of another key; ask its issuer for one of ed25519:"),
            (format!("{key}0123456789abcdef"), "line 5: neither a private key nor a ticket"),
            ("ed25519:AAAA name=alice".to_owned(), "a public key is for the list of a server"),
            (key.replace(digits, "AAAA"), "no private key of Ed25519 in PEM form"),
        ] {
            let error = read(&text).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains(digits), "{error}");
        }
    }
}
