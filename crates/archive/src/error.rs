//! Why an archive cannot be read or written: one line for the user.

use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum ArchiveError {
    #[error("{}: {source}", path.display())]
    File { path: PathBuf, source: io::Error },
    #[error("{}: {source}", path.display())]
    Parquet { path: PathBuf, source: parquet::errors::ParquetError },
    #[error("{}: no archive; make one with rrul archive add", _0.display())]
    NoArchive(PathBuf),
    #[error("{}: another add or compact uses this archive; wait until it has ended", _0.display())]
    InUse(PathBuf),
    #[error("{}: column {column} is missing or is no {kind}", path.display())]
    Column { path: PathBuf, column: &'static str, kind: &'static str },
    #[error("{}: column {column} is of a later rrul; update rrul", path.display())]
    UnknownColumn { path: PathBuf, column: String },
    #[error("{}: this file system cannot exchange two folders at once; compact on ext4, XFS, Btrfs or tmpfs", _0.display())]
    NoExchange(PathBuf),
}

impl ArchiveError {
    /// For `map_err`: what went wrong with this file.
    pub(crate) fn file(path: &Path) -> impl FnOnce(io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }

    /// For `map_err`: what went wrong in this file.
    pub(crate) fn parquet(path: &Path) -> impl FnOnce(parquet::errors::ParquetError) -> Self {
        let path = path.to_owned();
        move |source| Self::Parquet { path, source }
    }
}
