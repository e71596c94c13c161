//! By what servers are recognized that were tested before: a file with a line for each, as ssh has it.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use rrul_engine::client::{Encryption, ExpectedKey, Met, ServerTrust};
#[cfg(feature = "certificates")]
use rrul_engine::control_link::Authorities;

use crate::arguments::AccessArguments;
use crate::failure::{ContentError, Failure};
use crate::live_screen::terminal;

/// How a server is to be recognized, as its user calls it.
///
/// # Errors
/// When the file of known servers cannot be read.
pub(crate) fn trust(arguments: &AccessArguments, server: &str, port: u16) -> Result<ServerTrust, Failure> {
    let encryption = Encryption::from(arguments.encrypt);
    if encryption == Encryption::Never {
        return Ok(ServerTrust { encryption, ..ServerTrust::default() });
    }
    if let Some(fingerprint) = arguments.server_key.clone() {
        let expected = ExpectedKey { fingerprint, remedy: "give the new one with --server-key".to_owned() };
        let encryption = Encryption::Required;
        return Ok(ServerTrust { encryption, expected: Some(expected), ..ServerTrust::default() });
    }
    #[cfg(feature = "certificates")]
    if let Some(path) = &arguments.ca {
        let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
        return Ok(ServerTrust {
            encryption: Encryption::Required,
            certificate: Some("run without --ca".to_owned()),
            authorities: Authorities::from_pem(&text).map_err(|error| Failure::content(path, error))?,
            ..ServerTrust::default()
        });
    }
    let name = name_of(server, port);
    let Some(path) = path() else { return Ok(ServerTrust { encryption, ..ServerTrust::default() }) };
    let (expected, certificate) = match known(&path, &name)? {
        None => (None, None),
        Some(Known::Key(key)) => (Some(key), None),
        Some(Known::Certificate { remedy }) => (None, Some(remedy)),
    };
    // A client that waits for a place, or runs several tests, meets the server again.
    let once = Once::new();
    let first_met = move |met: &Met| once.call_once(|| report_first_meeting(&path, &name, met));
    Ok(ServerTrust {
        encryption,
        expected,
        certificate,
        #[cfg(feature = "certificates")]
        authorities: Authorities::default(),
        first_met: Some(Arc::new(first_met)),
    })
}

fn report_first_meeting(path: &Path, name: &str, met: &Met) {
    let place = path.display();
    let (word, what) = match met {
        Met::Key(key) => (key.to_string(), format!("its key is {key}")),
        Met::Certificate => (CERTIFICATE.to_owned(), "it has a valid certificate".to_owned()),
    };
    terminal::say(&match remember(path, name, &word) {
        Ok(()) => format!("first test of this server: {what}, remembered in {place}"),
        Err(error) => format!("rrul: {place}: {error}; that {what} is not remembered"),
    });
}

/// What a line says in the place of a key.
const CERTIFICATE: &str = "certificate";

/// By what a server was recognized before.
#[derive(Debug, PartialEq, Eq)]
enum Known {
    Key(ExpectedKey),
    Certificate { remedy: String },
}

/// What a line begins with: the server as the user names it, with its port.
fn name_of(server: &str, port: u16) -> String {
    let name: String = server.split_whitespace().collect();
    format!("{name} {port}")
}

/// `$XDG_DATA_HOME/rrul/known_servers`, or in `~/.local/share`.
fn path() -> Option<PathBuf> {
    let folder = |name: &str| std::env::var_os(name).map(PathBuf::from).filter(|path| path.is_absolute());
    let data = folder("XDG_DATA_HOME").or_else(|| Some(folder("HOME")?.join(".local/share")))?;
    Some(data.join("rrul/known_servers"))
}

/// By what a server was recognized that was tested before.
fn known(path: &Path, name: &str) -> Result<Option<Known>, Failure> {
    let text = match std::fs::read_to_string(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
        // In a folder that this user may not enter, this user has remembered nothing.
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied && path.symlink_metadata().is_err() => {
            return Ok(None);
        }
        other => other.map_err(Failure::file(path))?,
    };
    for (index, line) in text.lines().enumerate() {
        let Some(rest) = line.strip_prefix(name).and_then(|rest| rest.strip_prefix(' ')) else { continue };
        let remedy = format!("remove line {} of {}", index + 1, path.display());
        if rest.trim() == CERTIFICATE {
            return Ok(Some(Known::Certificate { remedy }));
        }
        let fingerprint = rest.trim().parse().map_err(|error| {
            Failure::content(path, ContentError::Configuration(format!("line {}: {error}", index + 1)))
        })?;
        return Ok(Some(Known::Key(ExpectedKey { fingerprint, remedy })));
    }
    Ok(None)
}

fn remember(path: &Path, name: &str, word: &str) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
    // In one step: two tests may end up here at once.
    file.write_all(format!("{name} {word}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_again_by_name_and_port() {
        let folder = std::env::temp_dir().join(format!("rrul-known-{}", std::process::id()));
        let path = folder.join("rrul/known_servers");
        let key = |digit: &str| format!("SHA256:{}", digit.repeat(43));
        assert_eq!(known(&path, &name_of("a", 1)).unwrap(), None);
        remember(&path, &name_of("a", 1), &key("A")).unwrap();
        remember(&path, &name_of("192.0.2.1, 2001:db8::1", 12), &key("B")).unwrap();
        remember(&path, &name_of("c", 1), CERTIFICATE).unwrap();
        let found = |server, port| match known(&path, &name_of(server, port)).unwrap()? {
            Known::Key(expected) => Some(expected.fingerprint.to_string()),
            Known::Certificate { remedy } => Some(remedy),
        };
        assert_eq!(found("a", 1), Some(key("A")));
        assert_eq!(found("192.0.2.1,2001:db8::1", 12), Some(key("B")));
        assert_eq!((found("a", 12), found("b", 1)), (None, None));
        assert_eq!(found("c", 1), Some(format!("remove line 3 of {}", path.display())));
        std::fs::write(&path, "a 1 SHA256:short\n").unwrap();
        let error = known(&path, &name_of("a", 1)).unwrap_err().to_string();
        assert!(error.contains("known_servers: line 1: a fingerprint is"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
