//! The keys of servers that were tested before: a file with a line for each, as ssh has it.

use std::fs::{DirBuilder, File};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Once};

use rrul_engine::client::{Encryption, ExpectedKey, ServerTrust};
use rrul_engine::control_link::Fingerprint;

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
        return Ok(ServerTrust { encryption: Encryption::Required, expected: Some(expected), first_met: None });
    }
    let name = name_of(server, port);
    let Some(path) = path() else { return Ok(ServerTrust { encryption, ..ServerTrust::default() }) };
    let expected = known(&path, &name)?;
    // A client that waits for a place, or runs several tests, meets the server again.
    let once = Once::new();
    let first_met = move |key: &Fingerprint| once.call_once(|| report_first_meeting(&path, &name, key));
    Ok(ServerTrust { encryption, expected, first_met: Some(Arc::new(first_met)) })
}

fn report_first_meeting(path: &Path, name: &str, key: &Fingerprint) {
    let place = path.display();
    terminal::say(&match remember(path, name, key) {
        Ok(()) => format!("first test of this server: its key is {key}, remembered in {place}"),
        Err(error) => format!("rrul: {place}: {error}; the key of this server, {key}, is not remembered"),
    });
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

/// The key of a server that was tested before.
fn known(path: &Path, name: &str) -> Result<Option<ExpectedKey>, Failure> {
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
        let fingerprint = rest.trim().parse().map_err(|error| {
            Failure::content(path, ContentError::Configuration(format!("line {}: {error}", index + 1)))
        })?;
        let remedy = format!("remove line {} of {}", index + 1, path.display());
        return Ok(Some(ExpectedKey { fingerprint, remedy }));
    }
    Ok(None)
}

fn remember(path: &Path, name: &str, key: &Fingerprint) -> io::Result<()> {
    if let Some(folder) = path.parent() {
        DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    }
    let mut file = File::options().append(true).create(true).mode(0o600).open(path)?;
    // In one step: two tests may end up here at once.
    file.write_all(format!("{name} {key}\n").as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_key_is_found_again_by_name_and_port() {
        let folder = std::env::temp_dir().join(format!("rrul-known-{}", std::process::id()));
        let path = folder.join("rrul/known_servers");
        let key = |digit: &str| format!("SHA256:{}", digit.repeat(43)).parse::<Fingerprint>().unwrap();
        assert_eq!(known(&path, &name_of("a", 1)).unwrap(), None);
        remember(&path, &name_of("a", 1), &key("A")).unwrap();
        remember(&path, &name_of("192.0.2.1, 2001:db8::1", 12), &key("B")).unwrap();
        let found = |server, port| known(&path, &name_of(server, port)).unwrap().map(|expected| expected.fingerprint);
        assert_eq!(found("a", 1), Some(key("A")));
        assert_eq!(found("192.0.2.1,2001:db8::1", 12), Some(key("B")));
        assert_eq!((found("a", 12), found("b", 1)), (None, None));
        std::fs::write(&path, "a 1 SHA256:short\n").unwrap();
        let error = known(&path, &name_of("a", 1)).unwrap_err().to_string();
        assert!(error.contains("known_servers: line 1: a fingerprint is"), "{error}");
        std::fs::remove_dir_all(folder).unwrap();
    }
}
