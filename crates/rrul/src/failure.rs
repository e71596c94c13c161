//! Why a command could not do what it was asked: one line for the user.

use std::io;
use std::path::{Path, PathBuf};

/// What went wrong, where, and what to do.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Failure {
    #[error(transparent)]
    Plan(#[from] rrul_model::plan::PlanError),
    #[error(transparent)]
    Run(#[from] rrul_engine::client::RunError),
    #[cfg(all(feature = "charts", feature = "lab"))]
    #[error(transparent)]
    Shaper(#[from] crate::tuning::shaper::ShaperError),
    #[cfg(all(feature = "charts", feature = "lab"))]
    #[error(transparent)]
    Tune(#[from] crate::commands::tune::TuneError),
    #[cfg(all(feature = "charts", feature = "lab"))]
    #[error(transparent)]
    Rates(#[from] crate::tuning::rate_list::RateListError),
    #[error(transparent)]
    Server(#[from] rrul_engine::server::ServerError),
    #[cfg(feature = "confine")]
    #[error(transparent)]
    Rights(#[from] crate::commands::server::rights::RightsError),
    #[cfg(feature = "lab")]
    #[error(transparent)]
    Lab(#[from] rrul_lab::Error),
    #[cfg(feature = "charts")]
    #[error(transparent)]
    View(#[from] rrul_view::ViewError),
    #[error("{}: {source}{}", path.display(), advice(source))]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}{}", path.display(), output_advice(source))]
    Output { path: PathBuf, source: io::Error },
    #[error("{}: {source}; the file contains the test up to there{}", path.display(), output_advice(source))]
    Unfinished { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Recording { path: PathBuf, source: rrul_model::recording::RecordingError },
    #[error("{}: {problem}", path.display())]
    Content { path: PathBuf, problem: ContentError },
    #[error("-o \"{}\" names no file; write -o FOLDER/NAME", .0.display())]
    NoFileName(PathBuf),
    #[error("no {what} named \"{name}\"; known: {known}")]
    NotFound { what: &'static str, name: String, known: String },
    #[error("--section: unknown section \"{name}\"; use one of {known}")]
    Section { name: String, known: String },
    #[error(transparent)]
    Comparison(#[from] ComparisonError),
    #[cfg(not(all(feature = "charts", feature = "export", feature = "lab", feature = "monitor")))]
    #[error("{command}: this build has no {missing}; copy recordings to a host with the full program and use it there")]
    Absent { command: &'static str, missing: &'static str },
    #[cfg(any(feature = "metrics", feature = "monitor"))]
    #[error("{option} \"{place}\": use an address of this host alone, such as 127.0.0.1:9785, or the path of a socket")]
    MetricsPlace { option: &'static str, place: String },
    #[cfg(feature = "certificates")]
    #[error("{option} needs {other}")]
    Lacking { option: &'static str, other: &'static str },
    #[cfg(feature = "tickets")]
    #[error("--expires {when}: {problem}")]
    Expiry { when: String, problem: crate::commands::key::ExpiryError },
    #[cfg(feature = "tickets")]
    #[error(transparent)]
    Ticket(#[from] rrul_engine::server::TicketError),
    #[cfg(feature = "monitor")]
    #[error(transparent)]
    Monitor(#[from] rrul_monitor::configuration::ConfigurationError),
    #[cfg(feature = "archive")]
    #[error(transparent)]
    Archive(#[from] rrul_archive::ArchiveError),
    #[cfg(feature = "archive")]
    #[error(transparent)]
    Query(#[from] rrul_archive::query::QueryError),
    #[cfg(feature = "archive")]
    #[error("--engine \"{0}\": {1}")]
    QueryEngine(String, &'static str),
    #[cfg(all(feature = "archive", feature = "charts"))]
    #[error(transparent)]
    AnswerChart(#[from] rrul_view::answer_chart::AnswerFormError),
    #[error("{what}: {source}")]
    System { what: String, source: io::Error },
    #[error(transparent)]
    Json(#[from] serde_json::Error),
    #[cfg(feature = "export")]
    #[error(transparent)]
    Parquet(#[from] parquet::errors::ParquetError),
    #[error("the writing thread has ended early")]
    WriterEnded,
    #[error("the test ended without a header")]
    NoHeader,
    #[cfg(all(feature = "charts", feature = "lab"))]
    #[error(transparent)]
    Batch(#[from] crate::batch::error::BatchError),
    #[cfg(all(feature = "charts", feature = "lab"))]
    #[error("{}: {failure}", file.display())]
    BatchFile { file: PathBuf, failure: Box<Failure> },
    #[cfg(feature = "lab")]
    #[error(transparent)]
    LabCommand(#[from] crate::commands::lab::error::LabError),
}

/// Why the content of a file is of no use.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ContentError {
    #[error("the file exists; use --force to overwrite it")]
    Exists,
    #[error("too long, or expands to more than any recording of rrul")]
    TooLong,
    #[error("not an rrul recording, or nothing was recorded")]
    NoRecording,
    #[cfg(not(feature = "export"))]
    #[error("this is no rrul recording; only the full program reads recordings of Flent")]
    FlentNotBuilt,
    #[cfg(not(feature = "charts"))]
    #[error("a tuning session; only the full program shows those")]
    TuningNotBuilt,
    #[error("compressed by bzip2, which rrul does not read; bunzip2 it first")]
    Bzip2,
    #[error("its gzip is damaged or cut off: {0}")]
    Gzip(io::Error),
    #[error("more than {} MiB of text: no recording of Flent is that long", .0 >> 20)]
    FlentTooLong(u64),
    #[error(transparent)]
    Flent(#[from] rrul_model::flent::FlentError),
    #[error("this is a recording of rrul already; use --to for another format")]
    AlreadyConverted,
    #[error("no page was loaded in this test: nothing to convert")]
    NoPages,
    #[error(transparent)]
    Key(#[from] rrul_engine::control_link::KeyError),
    #[cfg(feature = "certificates")]
    #[error(transparent)]
    Authority(#[from] rrul_engine::control_link::NoAuthority),
    #[cfg(feature = "tickets")]
    #[error(transparent)]
    ClientFile(#[from] crate::secret_files::ClientFileError),
    #[cfg(feature = "tickets")]
    #[error(transparent)]
    SigningKey(#[from] rrul_engine::server::SigningKeyError),
    #[cfg(not(feature = "tickets"))]
    #[error("this build has no client keys and tickets; use a token, or the full program")]
    NoTickets,
    #[error("others may read this secret (mode {mode:04o}); run chmod 600 on it")]
    OpenSecret { mode: u32 },
    #[error("{0}")]
    Configuration(String),
    #[cfg(feature = "charts")]
    #[error("no recording of that time in it; name a folder of rrul monitor, or a longer time with --since")]
    NoPastRun,
    #[cfg(feature = "monitor")]
    #[error("another monitor uses this folder; choose another one with -o")]
    FolderInUse,
    #[cfg(feature = "archive")]
    #[error(transparent)]
    Rows(#[from] rrul_archive::run_rows::RowsError),
    #[error("the name must end in .svg, .png or .pdf")]
    PictureName,
}

/// Why recordings are not compared.
#[derive(Debug, thiserror::Error)]
pub(crate) enum ComparisonError {
    #[error("all {runs} recordings have the same {key}, so they are one group; use another --by, or none")]
    OneGroup { runs: usize, key: &'static str },
    #[error("{0}; these do not compare. Use --anyway to compare them nevertheless")]
    Conflict(String),
}

impl Failure {
    /// For `map_err`: what went wrong with this file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// The content of a file is of no use.
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
