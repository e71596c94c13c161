//! The available browser.

use std::ffi::OsStr;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names under which Chromium and its kin are installed, in the order in which they are looked for.
const NAMES: [&str; 6] =
    ["chromium", "chromium-browser", "google-chrome", "google-chrome-stable", "chrome", "chrome-headless-shell"];

/// Why no browser is available.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ProgramError {
    #[error("browser {0} is not a program; write the path of Chromium or Chrome")]
    NoProgram(String),
    #[error("browser {0} is not on the PATH; write the path of Chromium or Chrome")]
    NotOnPath(String),
    #[error(
        "no browser on the PATH; install Chromium (Debian, Ubuntu: apt install chromium), or name one with --set browser=PATH"
    )]
    None,
}

/// The browser that the user names, or the first that is found.
///
/// # Errors
/// Without one: what is missing, and what to do.
pub(crate) fn find(named: Option<&str>) -> Result<PathBuf, ProgramError> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    match named {
        Some(name) if name.contains('/') => {
            let program = Path::new(name);
            let program = is_program(program).then(|| program.to_owned());
            program.ok_or_else(|| ProgramError::NoProgram(name.to_owned()))
        }
        Some(name) => found(&[name], &path).ok_or_else(|| ProgramError::NotOnPath(name.to_owned())),
        None => found(&NAMES, &path).ok_or(ProgramError::None),
    }
}

fn found(names: &[&str], path: &OsStr) -> Option<PathBuf> {
    let folders: Vec<PathBuf> = std::env::split_paths(path).filter(|folder| folder.is_absolute()).collect();
    names.iter().flat_map(|name| folders.iter().map(move |folder| folder.join(name))).find(|path| is_program(path))
}

fn is_program(path: &Path) -> bool {
    path.metadata().is_ok_and(|data| data.is_file() && data.permissions().mode() & 0o111 != 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_found_by_the_first_name_that_is_installed() {
        let path = OsStr::new("/no/such/folder:/bin:/usr/bin");
        assert!(found(&["no-such-program", "sh"], path).is_some_and(|program| program.ends_with("sh")));
        assert_eq!(found(&["sh"], OsStr::new("")), None, "nothing is found in the folder where one happens to be");
    }

    #[test]
    fn a_missing_browser_is_reported_with_what_to_do() {
        let say = |name: &str| find(Some(name)).unwrap_err().to_string();
        assert_eq!(say("/etc/passwd"), "browser /etc/passwd is not a program; write the path of Chromium or Chrome");
        assert!(say("no-such-browser").starts_with("browser no-such-browser is not on the PATH"));
    }
}
