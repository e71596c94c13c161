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
    /// What a file holds is of no use here.
    #[error("{}: {problem}", path.display())]
    Content {
        /// Which file.
        path: PathBuf,
        /// Why.
        problem: ContentError,
    },
    /// `-o` names a folder, or nothing.
    #[error("-o \"{}\" names no file; write -o FOLDER/NAME", .0.display())]
    NoFileName(PathBuf),
    /// A name that stands for nothing.
    #[error("there is no {what} \"{name}\"; known: {known}")]
    NotFound {
        /// What is named so.
        what: &'static str,
        /// The name.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// A section that the summary does not have.
    #[error("--section: unknown section \"{name}\"; use one of {known}")]
    Section {
        /// The name.
        name: String,
        /// The names that are known.
        known: String,
    },
    /// Recordings that do not compare.
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
    #[cfg(not(all(feature = "charts", feature = "lab")))]
    /// A command that this build does not have.
    #[error("{command}: this build has no {missing}; copy recordings to a host with the full program and use it there")]
    Absent {
        /// The command.
        command: &'static str,
        /// What it lacks.
        missing: &'static str,
    },
    /// The kernel refuses something that is no file.
    #[error("{what}: {source}")]
    System {
        /// What was to be done.
        what: String,
        /// Why.
        source: io::Error,
    },
    /// A result that cannot be written as JSON.
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[cfg(feature = "export")]
    /// A table that cannot be written as Parquet.
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    /// The thread that writes the recording has panicked.
    #[error("the writing thread has ended early")]
    WriterEnded,
    /// The test ended before it began.
    #[error("the test ended without a header")]
    NoHeader,
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// A batch, or one of its runs.
    #[error(transparent)]
    Batch(#[from] crate::batch::error::BatchError),
    #[cfg(all(feature = "charts", feature = "lab"))]
    /// A batch's file, and what is wrong with it.
    #[error("{}: {failure}", file.display())]
    BatchFile {
        /// The file.
        file: PathBuf,
        /// What is wrong.
        failure: Box<Failure>,
    },
    #[cfg(feature = "lab")]
    /// A command of `rrul lab`.
    #[error(transparent)]
    LabCommand(#[from] crate::commands::lab::error::LabError),
}

/// Why what a file holds is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContentError {
    #[error("there is a file already; --force to write over it")]
    Exists,
    #[error("longer than any recording")]
    TooLong,
    #[error("this is no rrul recording, or nothing was recorded")]
    NoRecording,
    #[error("compressed by bzip2, which rrul does not read; bunzip2 it first")]
    Bzip2,
    #[error("its gzip is damaged or cut off: {0}")]
    Gzip(io::Error),
    #[error("more than {} MiB once decompressed: no recording of Flent is so long", .0 >> 20)]
    TooLongDecompressed(u64),
    #[error(transparent)]
    Flent(#[from] rrul_model::flent::FlentError),
    #[error("this is a recording of rrul already; --to says another form")]
    AlreadyConverted,
    #[error("no page was loaded in this test, so there is nothing to convert")]
    NoPages,
    #[error("the name must end in .svg, .png or .pdf")]
    PictureName,
}

/// Why recordings are not compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ComparisonError {
    #[error("all {runs} recordings have the same {key}: nothing to compare with; choose another --by, or none")]
    OneGroup { runs: usize, key: &'static str },
    #[error("{0}; these do not compare. --anyway compares them all the same")]
    Conflict(String),
}

impl Failure {
    /// For `map_err`: what went wrong with this file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// What a file holds is of no use.
    pub(crate) fn content(path: &Path, problem: impl Into<ContentError>) -> Self {
        Self::Content { path: path.to_owned(), problem: problem.into() }
    }

    /// For `map_err`: what the kernel refuses.
    pub(crate) fn system(what: impl Into<String>) -> impl FnOnce(io::Error) -> Self {
        let what = what.into();
        move |source| Self::System { what, source }
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
