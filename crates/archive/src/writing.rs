//! Adding runs: whole or not at all, and once.
//!
//! A run becomes one file in each table, named after the run. Each is written to `.work` and renamed; that in `runs` is the last. So
//! a run is in the archive when it is in `runs`, and questions join the other tables with it. A note in `.work` names the run while
//! it is added. Whoever writes next removes what an addition that was killed has left.

use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use crate::columns::Columns;
use crate::error::ArchiveError;
use crate::folder::{Archive, entries, sync_folder};
use crate::parquet_file::{ParquetSource, ParquetWriter};
use crate::run_id::is_run_id;
use crate::run_rows::RunRows;
use crate::table::{Row, Table};
use crate::tables::{RunRow, TABLES};

/// What the name of a note begins with.
const NOTE: &str = "adding.";

/// An archive that this process alone writes to.
#[derive(Debug)]
pub struct Writer {
    pub(crate) archive: Archive,
    #[expect(dead_code, reason = "closing the file ends the lock")]
    lock: File,
    /// The runs of each day that was looked at.
    known: Mutex<HashMap<String, HashSet<String>>>,
}

/// What became of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Added {
    New,
    /// It was in the archive already.
    Known,
}

impl Writer {
    /// Takes the archive for writing, and removes what a killed process has left unfinished.
    ///
    /// # Errors
    /// When another process writes, or the archive cannot be written to.
    pub fn new(archive: Archive) -> Result<Self, ArchiveError> {
        let lock = archive.lock()?;
        let work = archive.work_folder();
        fs::create_dir_all(&work).map_err(ArchiveError::file(&work))?;
        let writer = Self { archive, lock, known: Mutex::default() };
        writer.clean_up()?;
        Ok(writer)
    }

    /// Removes rows of runs that were never whole, and unfinished files. Notes go last.
    fn clean_up(&self) -> Result<(), ArchiveError> {
        let (notes, rest): (Vec<PathBuf>, Vec<PathBuf>) =
            entries(&self.archive.work_folder())?.into_iter().partition(|path| noted_run(path).is_some());
        for path in rest {
            let removed = if path.is_dir() { fs::remove_dir_all(&path) } else { fs::remove_file(&path) };
            removed.map_err(ArchiveError::file(&path))?;
        }
        for note in notes {
            let Some(run) = noted_run(&note) else { continue };
            let place = fs::read_to_string(&note).map_err(ArchiveError::file(&note))?;
            if let Some((date, site)) = place.trim_end().split_once('\t')
                && !self.file(RunRow::TABLE.name, date, site, run).exists()
            {
                for table in TABLES {
                    remove_if_there(&self.file(table.name, date, site, run))?;
                }
            }
            remove_if_there(&note)?;
        }
        Ok(())
    }

    fn file(&self, table: &str, date: &str, site: &str, run: &str) -> PathBuf {
        self.archive.partition_folder(table, date, site).join(format!("{run}.parquet"))
    }

    /// Adds a run unless the archive has it. Several threads may add at the same time.
    ///
    /// # Errors
    /// When it cannot be written; it is then not in the archive.
    pub fn add(&self, rows: &RunRows) -> Result<Added, ArchiveError> {
        let id = rows.run_id();
        if !self.claim(&rows.date, id)? {
            return Ok(Added::Known);
        }
        let written = self.write(rows, id);
        if written.is_err() {
            // Another attempt may follow.
            let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
            known.entry(rows.date.clone()).or_default().remove(id);
        }
        written.map(|()| Added::New)
    }

    /// Whether the run is new, which it is for one caller only.
    fn claim(&self, date: &str, id: &str) -> Result<bool, ArchiveError> {
        let mut known = self.known.lock().unwrap_or_else(PoisonError::into_inner);
        if !known.contains_key(date) {
            known.insert(date.to_owned(), runs_of_day(&self.archive, date)?);
        }
        Ok(known.entry(date.to_owned()).or_default().insert(id.to_owned()))
    }

    fn write(&self, rows: &RunRows, id: &str) -> Result<(), ArchiveError> {
        let (date, site) = (rows.date.as_str(), rows.site.as_str());
        let note = self.archive.work_folder().join(format!("{NOTE}{id}"));
        fs::write(&note, format!("{date}\t{site}\n")).map_err(ArchiveError::file(&note))?;
        self.put(&columns(&rows.delays), date, site, id)?;
        self.put(&columns(&rows.flows), date, site, id)?;
        self.put(&columns(&rows.seconds), date, site, id)?;
        self.put(&columns(std::slice::from_ref(&rows.run)), date, site, id)?;
        remove_if_there(&note)
    }

    /// Writes a file, and gives it its name when it is on disk.
    fn put(&self, rows: &Columns, date: &str, site: &str, id: &str) -> Result<(), ArchiveError> {
        if rows.len() == 0 {
            return Ok(());
        }
        let table = rows.table.name;
        let part = self.archive.work_folder().join(format!("{table}.{id}"));
        write_file(&part, rows)?;
        let path = self.file(table, date, site, id);
        let folder = self.archive.partition_folder(table, date, site);
        fs::create_dir_all(&folder).map_err(ArchiveError::file(&folder))?;
        fs::rename(&part, &path).map_err(ArchiveError::file(&path))?;
        sync_folder(&folder)
    }
}

/// The run that is being added, of a note.
pub(crate) fn noted_run(path: &Path) -> Option<&str> {
    path.file_name()?.to_str()?.strip_prefix(NOTE).filter(|run| is_run_id(run))
}

fn remove_if_there(path: &Path) -> Result<(), ArchiveError> {
    match fs::remove_file(path) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(ArchiveError::file(path)(error)),
        _ => Ok(()),
    }
}

/// Rows as columns.
pub(crate) fn columns<R: Row>(rows: &[R]) -> Columns {
    let mut columns = Columns::new(R::TABLE);
    for row in rows {
        columns.push(&row.values());
    }
    columns
}

fn write_file(path: &Path, rows: &Columns) -> Result<(), ArchiveError> {
    let file = File::create(path).map_err(ArchiveError::file(path))?;
    let write = || {
        let mut writer = ParquetWriter::new(&rows.table, &file)?;
        writer.write(rows)?;
        writer.finish()
    };
    write().map_err(ArchiveError::parquet(path))?;
    file.sync_all().map_err(ArchiveError::file(path))
}

/// The runs that the archive has of a day, at any site.
fn runs_of_day(archive: &Archive, date: &str) -> Result<HashSet<String>, ArchiveError> {
    const TABLE: Table = RunRow::TABLE;
    let mut runs = HashSet::new();
    for partition in archive.partitions_of_day(&TABLE, date)? {
        for path in partition.files()? {
            let stem = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default();
            if is_run_id(stem) {
                runs.insert(stem.to_owned());
                continue;
            }
            let source = ParquetSource::open(TABLE, &path)?;
            for group in 0..source.groups() {
                runs.extend(source.some_columns(group, &["run_id"])?.texts("run_id").flatten().map(str::to_owned));
            }
        }
    }
    Ok(runs)
}
