//! Why a command could not do what it was asked: one line for the user.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    /// A plan is wrong.
    #[error(transparent)]
    Plan(#[from] rrul_model::plan::PlanError),
    /// The test could not begin.
    #[error(transparent)]
    Run(#[from] rrul_engine::client::RunError),
    /// The server could not start.
    #[error(transparent)]
    Server(#[from] rrul_engine::server::ServerError),
    #[cfg(feature = "lab")]
    /// A virtual link could not be had.
    #[error(transparent)]
    Lab(#[from] rrul_lab::Error),
    #[cfg(feature = "charts")]
    /// A chart could not be drawn.
    #[error(transparent)]
    View(#[from] rrul_view::ViewError),
    /// A file could not be read or written.
    #[error("{}: {source}{}", path.display(), advice(source))]
    File {
        /// Which.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// What was asked for cannot be written where `-o` says.
    #[error("{}: {source}{}", path.display(), output_advice(source))]
    Output {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A test has been run, and its recording could not be written to the end.
    #[error("{}: {source}; the file holds the test up to there{}", path.display(), output_advice(source))]
    Unfinished {
        /// Which file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A recording cannot be understood.
    #[error("{}: {source}", path.display())]
    Recording {
        /// Which.
        path: PathBuf,
        /// Why.
        source: rrul_model::recording::RecordingError,
    },
    /// Anything else, in words.
    #[error("{0}")]
    Other(String),
}

impl Failure {
    /// For `map_err`: what went wrong with this file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// For `map_err`: what went wrong with this file, whose place the user chooses with `-o`.
    pub(crate) fn output(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::Output { path, source }
    }
}

fn advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "; it is never overwritten, choose another name",
        io::ErrorKind::NotFound => "; check the path",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room, or choose another place",
        _ => "",
    }
}

fn output_advice(error: &io::Error) -> &'static str {
    match error.kind() {
        io::ErrorKind::AlreadyExists => "; recordings are never overwritten, choose another name with -o",
        io::ErrorKind::NotFound => "; check the path",
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => "; make room, or choose another place with -o",
        _ => "; choose another place with -o",
    }
}
