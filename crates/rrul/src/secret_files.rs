//! Files with secrets: tokens, and keys of clients and servers. One that others than its owner may read is refused.

mod access_file;
#[cfg(feature = "tickets")]
mod key_and_ticket;

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::fs::{OpenOptionsExt, PermissionsExt};
use std::path::{Path, PathBuf};

#[cfg(feature = "certificates")]
use rrul_engine::control_link::KeyError;
use rrul_engine::control_link::ServerKey;
#[cfg(feature = "tickets")]
use rrul_engine::server::SigningKey;
use rrul_engine::server::{Credentials, Secret};

pub(crate) use access_file::AccessFile;
#[cfg(feature = "tickets")]
pub(crate) use key_and_ticket::ClientFileError;

use crate::arguments::ServerArguments;
use crate::failure::{ContentError, Failure};

/// Names the file of a client's token where no option does.
pub(crate) const TOKEN_FILE_VARIABLE: &str = "RRUL_TOKEN_FILE";

/// How a key in PEM form begins (RFC 7468).
const PEM: &str = "-----BEGIN";

/// Longest file that is read, bytes.
const LONGEST: u64 = 1 << 20;

/// Reads a file that only its owner may read.
pub(crate) fn read(path: &Path) -> Result<String, Failure> {
    let failed = || Failure::file(path);
    let file = File::open(path).map_err(failed())?;
    let mode = file.metadata().map_err(failed())?.permissions().mode() & 0o777;
    // What the service manager hands over it guards itself, by access lists that look like a group's.
    let in_folder = std::env::var_os("CREDENTIALS_DIRECTORY").is_some_and(|folder| path.starts_with(folder));
    if mode & 0o077 != 0 && !in_folder && !is_credential(path) {
        return Err(Failure::content(path, ContentError::OpenSecret { mode }));
    }
    let mut text = String::new();
    file.take(LONGEST).read_to_string(&mut text).map_err(failed())?;
    Ok(text)
}

/// Whether the service manager provides this file, and only while the service runs (systemd.exec(5), LoadCredential=).
pub(crate) fn is_credential(path: &Path) -> bool {
    path.starts_with("/run/credentials")
}

/// The file of a client's token: this one, the one that the environment names, or none.
pub(crate) fn client_token_file(option: Option<&Path>) -> Option<PathBuf> {
    let variable = || std::env::var_os(TOKEN_FILE_VARIABLE).filter(|path| !path.is_empty()).map(PathBuf::from);
    option.map(Path::to_owned).or_else(variable)
}

/// The token, or key and ticket, of a client, of the file that it has.
pub(crate) fn client_token(option: Option<&Path>) -> Result<Option<Credentials>, Failure> {
    let Some(path) = client_token_file(option) else { return Ok(None) };
    let text = read(&path)?;
    let first = lines(&text).next().and_then(|(_, line)| line.split_whitespace().next()).unwrap_or_default();
    if is_of_keys(first) {
        #[cfg(feature = "tickets")]
        return key_and_ticket::read(&text).map(Some).map_err(|error| Failure::content(&path, error));
        #[cfg(not(feature = "tickets"))]
        return Err(Failure::content(&path, ContentError::NoTickets));
    }
    let secret = Secret::from_text(first).map_err(|error| wrong(&path, 1, error))?;
    Ok(Some(Credentials::Token(secret)))
}

/// Whether the first word of a file or line is not that of a token: it could be taken for one.
fn is_of_keys(word: &str) -> bool {
    [PEM, "ed25519:", "issuer:", "revoked:", "ticket:"].iter().any(|start| word.starts_with(start))
}

/// The key of a client, or of an issuer of tickets.
#[cfg(feature = "tickets")]
pub(crate) fn client_key(path: &Path) -> Result<SigningKey, Failure> {
    rrul_engine::control_link::client_key(&read(path)?).map_err(|error| Failure::content(path, error))
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

/// Lines that say something, with their numbers.
fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let lines = text.lines().enumerate().map(|(index, line)| (index + 1, line.trim()));
    lines.filter(|(_, line)| !line.is_empty() && !line.starts_with('#'))
}

fn wrong(path: &Path, line: usize, what: impl std::fmt::Display) -> Failure {
    Failure::content(path, ContentError::Configuration(format!("line {line}: {what}")))
}

/// Why a text is no day.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("write a day as 2026-12-31, or 2026-12-31T18:00:00Z")]
pub(crate) struct DayError;

/// Seconds since 1970; a day ends at its midnight, UTC.
pub(crate) fn instant(when: &str) -> Result<u64, DayError> {
    let (text, more) = if when.contains('T') { (when.to_owned(), 0) } else { (format!("{when}T00:00:00Z"), 86_400) };
    let time = humantime::parse_rfc3339(&text).map_err(|_| DayError)?;
    Ok(time.duration_since(std::time::UNIX_EPOCH).map_err(|_| DayError)?.as_secs() + more)
}
