//! Many small files of a partition become few large ones, sorted so that engines can skip rows.
//!
//! The new files are written into a folder of their own in `.work`. That folder and the partition's change places at once
//! (renameat2(2) with RENAME_EXCHANGE), and the old one is removed. A reader that lists the partition sees the old files or the
//! new ones, never both and never none. Each table is compacted by itself, and no row changes.

use std::fs::{self, File};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, RenameFlags, renameat_with};
use sha2::{Digest, Sha256};

use crate::columns::Columns;
use crate::error::ArchiveError;
use crate::folder::{Partition, sync_folder};
use crate::parquet_file::{ParquetSource, ParquetWriter};
use crate::table::Table;
use crate::tables::TABLES;
use crate::writing::Writer;

/// A file of at least this size is left as it is, and a new one ends here, bytes.
const LARGE: u64 = 256 << 20;
/// Rows that are sorted together: about 400 MB of memory.
const MOST_ROWS: usize = 4_000_000;
/// Rows of a row group.
const GROUP: usize = 131_072;
/// Long texts take more memory than others: rows of table `runs` that are sorted together.
const MOST_RUNS: usize = 20_000;

/// What compacting has done.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Compacted {
    pub partitions: u64,
    pub files_before: u64,
    pub files_after: u64,
}

impl Writer {
    /// Compacts every partition that has more than one small file; `progress` gets what is done so far.
    ///
    /// # Errors
    /// When a file cannot be read or written. What was compacted before stays so.
    pub fn compact(&mut self, mut progress: impl FnMut(Compacted)) -> Result<Compacted, ArchiveError> {
        let mut done = Compacted::default();
        for table in TABLES {
            for partition in self.archive.partitions(&table)? {
                if let Some((before, after)) = self.compact_partition(table, &partition)? {
                    done.partitions += 1;
                    done.files_before += before;
                    done.files_after += after;
                    progress(done);
                }
            }
        }
        Ok(done)
    }

    /// Files before and after; `None` if nothing was to do.
    fn compact_partition(&self, table: Table, partition: &Partition) -> Result<Option<(u64, u64)>, ArchiveError> {
        let files = partition.files()?;
        let mut small = Vec::new();
        let mut large = Vec::new();
        for path in &files {
            let length = fs::metadata(path).map_err(ArchiveError::file(path))?.len();
            if length < LARGE { small.push(path.clone()) } else { large.push(path.clone()) }
        }
        if small.len() < 2 {
            return Ok(None);
        }
        let folder =
            self.archive.work_folder().join(format!("{}.date={}.site={}", table.name, partition.date, partition.site));
        if folder.exists() {
            fs::remove_dir_all(&folder).map_err(ArchiveError::file(&folder))?;
        }
        fs::create_dir(&folder).map_err(ArchiveError::file(&folder))?;
        for path in &large {
            let name = path.file_name().unwrap_or_default();
            fs::hard_link(path, folder.join(name)).map_err(ArchiveError::file(path))?;
        }
        let written = join(table, &small, &folder)?;
        sync_folder(&folder)?;
        exchange(&folder, &partition.path)?;
        if let Some(parent) = partition.path.parent() {
            sync_folder(parent)?;
        }
        fs::remove_dir_all(&folder).map_err(ArchiveError::file(&folder))?;
        Ok(Some((files.len() as u64, large.len() as u64 + written)))
    }
}

fn exchange(a: &Path, b: &Path) -> Result<(), ArchiveError> {
    renameat_with(CWD, a, CWD, b, RenameFlags::EXCHANGE).map_err(|error| match error {
        rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS => ArchiveError::NoExchange(b.to_owned()),
        error => ArchiveError::file(b)(error.into()),
    })
}

/// Writes the rows of these files into as few as possible, and returns how many they are.
fn join(table: Table, files: &[PathBuf], folder: &Path) -> Result<u64, ArchiveError> {
    let mut joined = LargeFiles::new(table, folder, stem(files));
    for path in files {
        let source = ParquetSource::open(table, path)?;
        (0..source.groups()).try_for_each(|group| joined.append(source.group(group)?))?;
    }
    joined.finish()
}

/// A name that no file of another set of runs has.
fn stem(files: &[PathBuf]) -> String {
    let mut hash = Sha256::new();
    for name in files.iter().filter_map(|path| path.file_name()) {
        hash.update(name.as_encoded_bytes());
        hash.update([0]);
    }
    hash.finalize().iter().take(8).fold("compact-".to_owned(), |name, octet| name + &format!("{octet:02x}"))
}

/// Large files of sorted rows that are being written.
pub(crate) struct LargeFiles<'a> {
    table: Table,
    folder: &'a Path,
    stem: String,
    /// Rows that are not written yet.
    rows: Columns,
    /// How many files are complete.
    written: u64,
    open: Option<(PathBuf, ParquetWriter<File>)>,
}

impl<'a> LargeFiles<'a> {
    pub(crate) fn new(table: Table, folder: &'a Path, stem: String) -> Self {
        Self { table, folder, stem, rows: Columns::new(table), written: 0, open: None }
    }

    /// Adds rows, and writes those that are enough for sorting.
    pub(crate) fn append(&mut self, rows: Columns) -> Result<(), ArchiveError> {
        let has_long_texts = self.table.columns.iter().any(|column| column.name == "summary");
        self.rows.append(rows);
        if self.rows.len() >= if has_long_texts { MOST_RUNS } else { MOST_ROWS } { self.write() } else { Ok(()) }
    }

    /// Writes the rest, and returns the number of files.
    pub(crate) fn finish(mut self) -> Result<u64, ArchiveError> {
        self.write()?;
        self.close()?;
        Ok(self.written)
    }

    fn write(&mut self) -> Result<(), ArchiveError> {
        let rows = std::mem::replace(&mut self.rows, Columns::new(self.table));
        if rows.len() == 0 {
            return Ok(());
        }
        let (path, mut writer) = if let Some(open) = self.open.take() {
            open
        } else {
            let path = self.folder.join(format!("{}-{}.parquet", self.stem, self.written));
            let file = File::create_new(&path).map_err(ArchiveError::file(&path))?;
            let writer = ParquetWriter::new(&self.table, file).map_err(ArchiveError::parquet(&path))?;
            (path, writer)
        };
        for piece in rows.sorted().pieces(GROUP) {
            writer.write(&piece).map_err(ArchiveError::parquet(&path))?;
        }
        let full = writer.written() >= LARGE;
        self.open = Some((path, writer));
        if full { self.close() } else { Ok(()) }
    }

    fn close(&mut self) -> Result<(), ArchiveError> {
        if let Some((path, writer)) = self.open.take() {
            let file = writer.finish().map_err(ArchiveError::parquet(&path))?;
            file.sync_all().map_err(ArchiveError::file(&path))?;
            self.written += 1;
        }
        Ok(())
    }
}
