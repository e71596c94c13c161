//! An archive on disk: `DIR/TABLE/v=1/date=YYYY-MM-DD/site=NAME/*.parquet`.
//!
//! Readers see these files alone. What is being written is in `DIR/.work`, and whoever writes has the lock of `DIR/.lock`.

use std::fs::{self, File, TryLockError};
use std::io;
use std::path::{Path, PathBuf};

use crate::error::ArchiveError;
use crate::parquet_file::VERSION;
use crate::table::Table;
use crate::tables::TABLES;

/// What a file of rows ends in.
const ENDING: &str = "parquet";

/// An archive that is read.
#[derive(Debug, Clone)]
pub struct Archive {
    path: PathBuf,
}

/// One folder of files: a table's rows of one day and one site.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Partition {
    /// `2026-01-31`.
    pub(crate) date: String,
    pub(crate) site: String,
    pub(crate) path: PathBuf,
}

impl Archive {
    /// An archive that exists.
    ///
    /// # Errors
    /// When the folder has none.
    pub fn open(path: &Path) -> Result<Self, ArchiveError> {
        let archive = Self { path: path.to_owned() };
        if archive.table_folder(TABLES[0].name).is_dir() {
            Ok(archive)
        } else {
            Err(ArchiveError::NoArchive(path.to_owned()))
        }
    }

    /// An archive, made if missing.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(path: &Path) -> Result<Self, ArchiveError> {
        let archive = Self { path: path.to_owned() };
        for table in TABLES {
            let folder = archive.table_folder(table.name);
            fs::create_dir_all(&folder).map_err(ArchiveError::file(&folder))?;
        }
        Ok(archive)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The folder of a table in this version of the tables.
    pub fn table_folder(&self, table: &str) -> PathBuf {
        self.path.join(table).join(format!("v={VERSION}"))
    }

    /// Where the rows of a table of this day and site are.
    pub(crate) fn partition_folder(&self, table: &str, date: &str, site: &str) -> PathBuf {
        self.table_folder(table).join(format!("date={date}")).join(format!("site={site}"))
    }

    /// Where files are that no reader picks up.
    pub(crate) fn work_folder(&self) -> PathBuf {
        self.path.join(".work")
    }

    /// The partitions of a table, in the order of date and site.
    pub(crate) fn partitions(&self, table: &Table) -> Result<Vec<Partition>, ArchiveError> {
        let mut found = Vec::new();
        for (date, folder) in folders_named(&self.table_folder(table.name), "date=")? {
            for (site, path) in folders_named(&folder, "site=")? {
                found.push(Partition { date: date.clone(), site, path });
            }
        }
        found.sort();
        Ok(found)
    }

    /// The partitions of a table of one day.
    pub(crate) fn partitions_of_day(&self, table: &Table, date: &str) -> Result<Vec<Partition>, ArchiveError> {
        let folder = self.table_folder(table.name).join(format!("date={date}"));
        let sites = folders_named(&folder, "site=")?;
        let mut found: Vec<Partition> =
            sites.into_iter().map(|(site, path)| Partition { date: date.to_owned(), site, path }).collect();
        found.sort();
        Ok(found)
    }

    /// Locks the archive for writing, until the lock is dropped.
    ///
    /// # Errors
    /// When another process writes.
    pub(crate) fn lock(&self) -> Result<File, ArchiveError> {
        let path = self.path.join(".lock");
        let file =
            File::options().create(true).truncate(false).write(true).open(&path).map_err(ArchiveError::file(&path))?;
        match file.try_lock() {
            Ok(()) => Ok(file),
            Err(TryLockError::WouldBlock) => Err(ArchiveError::InUse(self.path.clone())),
            Err(TryLockError::Error(source)) => Err(ArchiveError::File { path, source }),
        }
    }
}

impl Partition {
    /// The files of rows, in the order of their names.
    pub(crate) fn files(&self) -> Result<Vec<PathBuf>, ArchiveError> {
        let mut found = Vec::new();
        for entry in entries(&self.path)? {
            if entry.extension().is_some_and(|ending| ending == ENDING) {
                found.push(entry);
            }
        }
        found.sort();
        Ok(found)
    }
}

/// The folders in a folder whose name begins so, with the rest of the name. None in a folder that does not exist.
fn folders_named(folder: &Path, prefix: &str) -> Result<Vec<(String, PathBuf)>, ArchiveError> {
    let named = |path: PathBuf| {
        let rest = path.file_name()?.to_str()?.strip_prefix(prefix)?.to_owned();
        path.is_dir().then_some((rest, path))
    };
    Ok(entries(folder)?.into_iter().filter_map(named).collect())
}

/// What is in a folder; nothing if it does not exist.
pub(crate) fn entries(folder: &Path) -> Result<Vec<PathBuf>, ArchiveError> {
    let listed = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        listed => listed.map_err(ArchiveError::file(folder))?,
    };
    listed.map(|entry| entry.map(|entry| entry.path()).map_err(ArchiveError::file(folder))).collect()
}

/// Makes what was renamed into a folder, or removed from it, survive a power failure.
pub(crate) fn sync_folder(folder: &Path) -> Result<(), ArchiveError> {
    File::open(folder).and_then(|folder| folder.sync_all()).map_err(ArchiveError::file(folder))
}
