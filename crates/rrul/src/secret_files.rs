//! Files with secrets: tokens, and keys of servers. One that others than its owner may read is refused.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError};
use std::time::{Duration, Instant};

#[cfg(feature = "certificates")]
use rrul_engine::control_link::KeyError;
use rrul_engine::control_link::ServerKey;
use rrul_engine::server::{AccessList, AccessToken, MOST_TOKENS, Secret, SharedAccessList};

use crate::arguments::ServerArguments;
use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;

/// Names the file of a client's token where no option does.
pub(crate) const TOKEN_FILE_VARIABLE: &str = "RRUL_TOKEN_FILE";

/// Longest file that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// How often a server looks whether its list has changed.
const LOOKING: Duration = Duration::from_millis(200);

/// Reads a file that only its owner may read.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let failed = || Failure::file(path);
    let file = File::open(path).map_err(failed())?;
    let mode = file.metadata().map_err(failed())?.permissions().mode() & 0o777;
    // What the service manager hands over it guards itself (systemd.exec(5), LoadCredential=), by access lists that look like a group's.
    let is_handed_over = std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| path.starts_with(folder));
    if mode & 0o077 != 0 && !is_handed_over {
        return Err(Failure::content(path, ContentError::OpenSecret { mode }));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(failed())?;
    Ok(text)
}

/// The file of a client's token: this one, the one that the environment names, or none.
pub(crate) fn client_token_file(option: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os(TOKEN_FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    option.map(Path::to_owned).or_else(variable)
}

/// The token of a client, of the file that it has.
pub(crate) fn client_token(option: Option<&Path>) -> Result<Option<Secret>, Failure> {
    let Some(path) = client_token_file(option) else { return Ok(None) };
    let text = read(&path)?;
    let first = lines(&text).next().and_then(|(_, line)| line.split_whitespace().next()).unwrap_or_default();
    let secret = Secret::from_text(first).map_err(|error| wrong(&path, 1, error))?;
    Ok(Some(secret))
}

/// The key of a server.
pub(crate) fn server_key(path: &Path) -> Result<ServerKey, Failure> {
    ServerKey::from_pem(&read(path)?).map_err(|error| Failure::content(path, error))
}

/// By what clients are to recognize a server with these options.
pub(crate) fn server_identity(arguments: &ServerArguments) -> Result<Option<ServerKey>, Failure> {
    let key = arguments.key.as_deref().map(server_key).transpose()?;
    #[cfg(feature = "certificates")]
    match (&arguments.certificate, &arguments.certificate_key) {
        (None, None) => {}
        (Some(chain), Some(private)) => {
            // A certificate is no secret.
            let text = std::fs::read_to_string(chain).map_err(Failure::file(chain))?;
            let certified = ServerKey::certified(&text, &read(private)?, key);
            return certified.map(Some).map_err(|error| {
                let file = if matches!(error, KeyError::NoCertificate) { chain } else { private };
                Failure::content(file, error)
            });
        }
        (Some(_), None) => return Err(Failure::Lacking { option: "--certificate", other: "--certificate-key FILE" }),
        (None, Some(_)) => return Err(Failure::Lacking { option: "--certificate-key", other: "--certificate FILE" }),
    }
    Ok(key)
}

/// Creates a file that only its owner may read.
pub(crate) fn create(path: &Path, text: &str) -> io::Result<()> {
    let mut file = File::options().write(true).create_new(true).mode(0o600).open(path)?;
    file.write_all(text.as_bytes())
}

/// The list of a server's tokens, and the file that it comes from.
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

/// Lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn wrong(path: &Path, line: usize, what: impl std::fmt::Display) -> Failure {
    Failure::content(path, ContentError::Configuration(format!("line {line}: {what}")))
}

fn access_list(path: &Path, text: &str) -> Result<AccessList, Failure> {
    let tokens: Vec<AccessToken> = lines(text)
        .map(|(number, line)| access_token(line).map_err(|error| wrong(path, number, error)))
        .collect::<Result<_, _>>()?;
    if tokens.len() > MOST_TOKENS {
        return Err(wrong(path, MOST_TOKENS + 1, format!("more than {MOST_TOKENS} tokens")));
    }
    Ok(AccessList::new(tokens))
}

/// Why a line is no token.
#[derive(Debug, thiserror::Error)]
enum LineError {
    #[error(transparent)]
    Secret(#[from] rrul_engine::server::SecretError),
    #[error("expires={0}: write a day as 2026-12-31, or 2026-12-31T18:00:00Z")]
    Expiry(String),
    #[error("unknown word; write TOKEN name=NAME expires=DAY")]
    Word,
}

/// `TOKEN name=NAME expires=DAY`, of which the token alone must be there.
fn access_token(line: &str) -> Result<AccessToken, LineError> {
    let mut words = line.split_whitespace();
    let secret = Secret::from_text(words.next().unwrap_or_default())?;
    let mut token = AccessToken { secret, name: String::new(), expires: None };
    for word in words {
        match word.split_once('=') {
            Some(("name", name)) => name.clone_into(&mut token.name),
            Some(("expires", when)) => token.expires = Some(instant(when)?),
            // Not repeated: it may be a part of a secret.
            _ => return Err(LineError::Word),
        }
    }
    Ok(token)
}

/// Seconds since 1970; a day ends at its midnight, UTC.
fn instant(when: &str) -> Result<u64, LineError> {
    let wrong = || LineError::Expiry(when.to_owned());
    let (text, more) = if when.contains('T') { (when.to_owned(), 0) } else { (format!("{when}T00:00:00Z"), 86_400) };
    let time = humantime::parse_rfc3339(&text).map_err(|_| wrong())?;
    Ok(time.duration_since(std::time::UNIX_EPOCH).map_err(|_| wrong())?.as_secs() + more)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_line_is_a_token_with_a_name_and_a_last_day() {
        let text = "# of the office\n\n0123456789abcdef name=alice expires=2026-12-31\n  ABCDEFGHIJKLMNOPQR\n";
        let list: Vec<_> = lines(text).map(|(_, line)| access_token(line).unwrap()).collect();
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
    }
}
