//! The list of those that a server tests for: tokens, keys, and issuers of tickets.

use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

use rrul_engine::server::{AccessList, AccessToken, MOST_TOKENS, Secret, SharedAccessList};
#[cfg(feature = "tickets")]
use rrul_engine::server::{KeyList, ListedKey, PublicKey, QuotaClass};

use super::{DayError, instant, is_of_keys, lines, read, wrong};
use crate::failure::Failure;
use crate::live_screen::terminal;

/// How often a server looks whether its list has changed.
const LOOKING: Duration = Duration::from_millis(200);

/// The list of a server, and the file that it comes from.
pub(crate) struct AccessFile {
    path: PathBuf,
    list: SharedAccessList,
    /// What the list was made from; `None` after a failure.
    text: Option<String>,
    looked: Instant,
}

impl AccessFile {
    /// Reads the list.
    pub(crate) fn open(path: PathBuf) -> Result<Self, Failure> {
        let text = read(&path)?;
        let list = access_list(&path, &text)?;
        let list = SharedAccessList::new(list.into());
        Ok(Self { path, list, text: Some(text), looked: Instant::now() })
    }

    pub(crate) fn list(&self) -> SharedAccessList {
        Arc::clone(&self.list)
    }

    /// Takes over what has changed in the file. A file that cannot be read opens no session: it may have been taken away for that.
    pub(crate) fn look(&mut self) {
        if self.looked.elapsed() < LOOKING {
            return;
        }
        self.looked = Instant::now();
        let (text, list) = match read(&self.path).and_then(|text| Ok((access_list(&self.path, &text)?, text))) {
            Ok((_, text)) if self.text.as_ref() == Some(&text) => return,
            Ok((list, text)) => (Some(text), list),
            Err(_) if self.text.is_none() => return,
            Err(failure) => {
                terminal::say(&format!("rrul: {failure}; no client has access until that is mended"));
                (None, AccessList::default())
            }
        };
        self.text = text;
        *self.list.lock().unwrap_or_else(PoisonError::into_inner) = list;
    }
}

fn access_list(path: &Path, text: &str) -> Result<AccessList, Failure> {
    let mut entries = Entries::default();
    for (count, (number, line)) in lines(text).enumerate() {
        if count >= MOST_TOKENS {
            return Err(wrong(path, number, format!("more than {MOST_TOKENS} lines")));
        }
        entries.add(line).map_err(|error| wrong(path, number, error))?;
    }
    let list = AccessList::new(entries.tokens);
    #[cfg(feature = "tickets")]
    let list = list.with_keys(entries.keys);
    Ok(list)
}

/// Why a line is of no use.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error(transparent)]
    Secret(#[from] rrul_engine::server::SecretError),
    #[error("expires={0}: {1}")]
    Expiry(String, DayError),
    #[cfg(not(feature = "tickets"))]
    #[error("unknown word; write TOKEN name=NAME expires=DAY")]
    Word,
    #[cfg(not(feature = "tickets"))]
    #[error(transparent)]
    NoTickets(crate::failure::ContentError),
    #[cfg(feature = "tickets")]
    #[error("unknown word; write TOKEN or KEY, then name=NAME expires=DAY tests-per-hour=N data-per-day=SIZE")]
    Word,
    #[cfg(feature = "tickets")]
    #[error(transparent)]
    Key(#[from] rrul_engine::server::PublicKeyError),
    #[cfg(feature = "tickets")]
    #[error("tests-per-hour={0}: write a number; 0 is no limit")]
    Tests(String),
    #[cfg(feature = "tickets")]
    #[error("data-per-day={0}: write a size as 50GB; 0B is no limit")]
    Data(String),
    #[cfg(feature = "tickets")]
    #[error("a revoked key has no word but name=NAME; to revoke it no more, remove the line")]
    Revoked,
    #[cfg(feature = "tickets")]
    #[error("a private key or a ticket is for the file of a client; `rrul key public FILE` prints a line of this list")]
    Client,
}

/// What is behind the first word of a line.
#[derive(Default)]
struct Terms {
    name: String,
    expires: Option<u64>,
    #[cfg(feature = "tickets")]
    quota: QuotaClass,
}

impl Terms {
    fn read<'a>(words: impl Iterator<Item = &'a str>) -> Result<Self, LineError> {
        let mut terms = Self::default();
        for word in words {
            match word.split_once('=') {
                Some(("name", name)) => name.clone_into(&mut terms.name),
                Some(("expires", when)) => {
                    let expires = instant(when).map_err(|error| LineError::Expiry(when.to_owned(), error))?;
                    terms.expires = Some(expires);
                }
                #[cfg(feature = "tickets")]
                Some(("tests-per-hour", number)) => {
                    let number = number.parse().map_err(|_| LineError::Tests(number.to_owned()))?;
                    terms.quota.tests_per_hour = Some(number);
                }
                #[cfg(feature = "tickets")]
                Some(("data-per-day", size)) => {
                    let size: rrul_model::units::ByteCount =
                        size.parse().map_err(|_| LineError::Data(size.to_owned()))?;
                    terms.quota.octets_per_day = Some(size.0);
                }
                // Not repeated: it may be a part of a secret.
                _ => return Err(LineError::Word),
            }
        }
        Ok(terms)
    }
}

/// What the lines of a list are.
#[derive(Default)]
struct Entries {
    tokens: Vec<AccessToken>,
    #[cfg(feature = "tickets")]
    keys: KeyList,
}

impl Entries {
    /// Reads a line: a token, `ed25519:KEY`, `issuer:KEY` or `revoked:ed25519:KEY`, and then its terms.
    fn add(&mut self, line: &str) -> Result<(), LineError> {
        let mut words = line.split_whitespace();
        let first = words.next().unwrap_or_default();
        if is_of_keys(first) {
            #[cfg(feature = "tickets")]
            return self.add_key(first, words);
            #[cfg(not(feature = "tickets"))]
            return Err(LineError::NoTickets(crate::failure::ContentError::NoTickets));
        }
        let secret = Secret::from_text(first)?;
        let terms = Terms::read(words)?;
        self.tokens.push(AccessToken {
            secret,
            name: terms.name,
            expires: terms.expires,
            #[cfg(feature = "tickets")]
            quota: terms.quota,
        });
        Ok(())
    }

    #[cfg(feature = "tickets")]
    fn add_key<'a>(&mut self, first: &str, words: impl Iterator<Item = &'a str>) -> Result<(), LineError> {
        let (list, key) = match first.split_once(':') {
            Some(("issuer", key)) => (Some(&mut self.keys.issuers), key),
            Some(("revoked", key)) => (None, key),
            Some(("ed25519", key)) => (Some(&mut self.keys.clients), key),
            _ => return Err(LineError::Client),
        };
        // With the name of the algorithm or without, as it is copied from another line.
        let key = PublicKey::from_base64(key.strip_prefix(PublicKey::PREFIX).unwrap_or(key))?;
        let Terms { name, expires, quota } = Terms::read(words)?;
        match list {
            Some(list) => list.push(ListedKey { key, name, expires, quota }),
            None if expires.is_some() || quota != QuotaClass::default() => return Err(LineError::Revoked),
            None => self.keys.revoked.push(key),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn entries(text: &str) -> Entries {
        let mut entries = Entries::default();
        lines(text).for_each(|(_, line)| entries.add(line).unwrap());
        entries
    }

    #[test]
    fn a_line_is_a_token_with_a_name_and_a_last_day() {
        let text = "# of the office\n\n0123456789abcdef name=alice expires=2026-12-31\n  ABCDEFGHIJKLMNOPQR\n";
        let list = entries(text).tokens;
        assert_eq!((list[0].name.as_str(), list[0].expires), ("alice", Some(1_798_761_600)));
        assert_eq!((list[1].name.as_str(), list[1].expires), ("", None));
        assert_eq!(instant("2026-12-31T18:00:00Z").unwrap(), 1_798_740_000);
    }

    #[test]
    fn a_mistake_names_the_line_and_repeats_no_secret() {
        let path = Path::new("tokens");
        for (text, words) in [
            ("# a\nshort\n", "tokens: line 2: a token has 16 to 128 characters"),
            ("0123456789abcdef 0123456789abcdeg", "line 1: unknown word"),
            ("0123456789abcdef expires=soon", "expires=soon: write a day"),
        ] {
            let error = access_list(path, text).unwrap_err().to_string();
            assert!(error.contains(words) && !error.contains("0123456789"), "{error}");
        }
        let long = "0123456789abcdef\n".repeat(MOST_TOKENS + 1);
        assert!(access_list(path, &long).unwrap_err().to_string().contains("line 1025: more than 1024 lines"));
    }

    #[cfg(not(feature = "tickets"))]
    #[test]
    fn a_build_without_keys_takes_none_for_a_token() {
        let key = "ed25519:AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";
        let error = access_list(Path::new("tokens"), key).unwrap_err().to_string();
        assert!(error.contains("tokens: line 1: this build has no client keys and tickets"), "{error}");
    }

    #[cfg(feature = "tickets")]
    mod of_keys {
        use super::*;

        const ZERO: &str = "AAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAA=";

        #[test]
        fn a_line_is_a_key_of_a_client_or_an_issuer_or_one_that_is_revoked() {
            let text = format!(
                "ed25519:{ZERO} name=alice expires=2026-12-31 tests-per-hour=40 data-per-day=5GB\n\
                 issuer:{ZERO} name=office tests-per-hour=0\nrevoked:ed25519:{ZERO} name=bob\nrevoked:{ZERO}\n\
                 0123456789abcdef data-per-day=1MB\nissuer:ed25519:{ZERO}"
            );
            let Entries { tokens, keys: KeyList { clients, issuers, revoked } } = entries(&text);
            let quota = |tests_per_hour, octets_per_day| QuotaClass { tests_per_hour, octets_per_day };
            assert_eq!((clients.len(), issuers.len(), &revoked[..]), (1, 2, &[PublicKey([0; 32]); 2][..]));
            assert_eq!((clients[0].name.as_str(), clients[0].expires), ("alice", Some(1_798_761_600)));
            assert_eq!(clients[0].quota, quota(Some(40), Some(5_000_000_000)));
            assert_eq!(issuers[0].quota, quota(Some(0), None));
            assert_eq!(tokens[0].quota, quota(None, Some(1_000_000)));
        }

        #[test]
        fn a_mistake_in_a_line_of_a_key_says_what_to_write() {
            for (line, words) in [
                ("ed25519:AAAA".to_owned(), "a public key is ed25519: and 44 characters"),
                ("issuer:".to_owned(), "a public key is ed25519:"),
                ("ticket:AAAA".to_owned(), "for the file of a client"),
                ("-----BEGIN PRIVATE KEY-----".to_owned(), "for the file of a client"),
                (format!("revoked:{ZERO} expires=2026-12-31"), "no word but name=NAME"),
                (format!("ed25519:{ZERO} tests-per-hour=many"), "tests-per-hour=many: write a number"),
                (format!("ed25519:{ZERO} data-per-day=5"), "data-per-day=5: write a size"),
                (format!("ed25519:{ZERO} color=red"), "unknown word"),
            ] {
                let error = access_list(Path::new("tokens"), &line).unwrap_err().to_string();
                assert!(error.starts_with("tokens: line 1: ") && error.contains(words), "{error}");
            }
        }
    }
}
