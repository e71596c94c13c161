//! Why a batch, or one of its runs, came to nothing.

use std::io;
use std::path::PathBuf;
use std::process::ExitStatus;

/// Why a batch, or one of its runs, came to nothing.
#[derive(Debug, thiserror::Error)]
pub(crate) enum BatchError {
    #[error("{0}: {1}")]
    Document(String, String),
    #[error("{0}: repetitions must be from 1 to {1}")]
    Repetitions(String, u32),
    #[error("{0}: name either a server or a link: server = \"HOST\", or link = \"LINK\"")]
    ServerOrLink(String),
    #[error("[each] has more than {0} combinations")]
    TooManySettings(usize),
    #[error("[each]: two settings have the same name \"{0}\"")]
    SameName(String),
    #[error("[each] {0}: write a text, a number or a list of them")]
    NoText(String),
    #[error("[each] {0}: the list is empty, so nothing would be run")]
    EmptyList(String),
    #[error("\"{text}\": [each] has no \"{name}\"; it has: {known}")]
    UnknownPlaceholder { text: String, name: String, known: String },
    #[error("{} contains results of another batch ({} differs); choose another folder with -o", folder.display(), copy.display())]
    OtherResults { folder: PathBuf, copy: PathBuf },
    #[error("\"{0}\": {1}")]
    Line(String, ExitStatus),
    #[error("{run}: {status}; see {turn}.log")]
    Run { run: String, status: ExitStatus, turn: String },
    #[error("cannot start {0}: {1}")]
    Start(String, io::Error),
    #[error(transparent)]
    Process(io::Error),
    #[error("interrupted")]
    Interrupted,
    #[error("no run completed")]
    NoResult,
}
