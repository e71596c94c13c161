//! What can go wrong with a lab, one clear line each.

use std::io;

/// Why a link could not be read or a lab not be brought up.
///
/// Every message is one line: what, where, and what to do about it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A link file says something that is not understood; the text begins with file, line and key.
    #[error("{file}:{line}: {key}{problem}")]
    LinkFile {
        /// The file as the caller named it.
        file: String,
        /// Line of the offending key or value, from 1.
        line: usize,
        /// The dotted key followed by `: `, or nothing where the file is no TOML at all.
        key: String,
        /// What is wrong and what would be right.
        problem: String,
    },
    /// No built-in link has this name.
    #[error("unknown link \"{name}\"; known: {known}")]
    UnknownLink {
        /// The name asked for.
        name: String,
        /// Every built-in name, separated by commas.
        known: String,
    },
    /// A change of a shaper that is not understood.
    #[error("cannot change \"{change}\"; {known}")]
    ShaperChange {
        /// The change as the caller wrote it.
        change: String,
        /// What can be changed.
        known: &'static str,
    },
    /// The kernel refused something that the lab needs.
    #[error("lab: {what}: {source}{remedy}")]
    System {
        /// The operation and its object.
        what: String,
        /// What the user can do, beginning with `; `, or nothing.
        remedy: &'static str,
        /// The kernel's answer.
        source: io::Error,
    },
    /// A thread of the lab has ended, which happens only when it panicked.
    #[error("lab: the {thread} thread has ended; bring the lab up again")]
    Stopped {
        /// Which thread.
        thread: &'static str,
    },
}

impl Error {
    /// The last operating-system error, with what was being done.
    pub(crate) fn last_os(what: impl Into<String>, remedy: &'static str) -> Self {
        Self::system(what, remedy, io::Error::last_os_error())
    }

    /// What the kernel refused, with what was being done.
    pub(crate) fn system(what: impl Into<String>, remedy: &'static str, source: impl Into<io::Error>) -> Self {
        Self::System { what: what.into(), remedy, source: source.into() }
    }

    /// Puts what was being done in front of an I/O error.
    pub(crate) fn io(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, remedy: "", source }
    }
}
