//! Whether an archive is whole: every file can be read, every run is there once, and has the rows that it should have.

use std::collections::HashMap;
use std::fmt;
use std::path::PathBuf;

use crate::columns::Columns;
use crate::error::ArchiveError;
use crate::folder::{Archive, Partition, entries};
use crate::parquet_file::ParquetSource;
use crate::run_id::run_name_begins;
use crate::table::{Row, Table};
use crate::tables::{DelayRow, FlowRow, RunRow, SecondRow, TABLES};
use crate::writing::noted_run;

/// What was found.
#[derive(Debug, Default)]
pub struct Checked {
    pub runs: u64,
    pub files: u64,
    pub problems: Vec<Problem>,
    /// Additions that were interrupted. The next `add` or `compact` removes what they have left.
    pub interrupted: u64,
}

/// One thing that is wrong.
#[derive(Debug)]
pub enum Problem {
    Unreadable(ArchiveError),
    /// A file that ends in neither `.parquet` nor is a folder of a partition.
    Foreign(PathBuf),
    Doubled {
        run: String,
        date: String,
        times: u64,
    },
    /// Two runs that the other tables cannot tell apart.
    Alike {
        run: String,
        date: String,
    },
    /// Rows without their run, of which the beginning of its name is known.
    Orphans {
        table: &'static str,
        run: String,
        date: String,
        site: String,
        rows: u64,
    },
    Rows {
        table: &'static str,
        run: String,
        date: String,
        found: u64,
        expected: u64,
    },
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Unreadable(error) => error.fmt(f),
            Self::Foreign(path) => write!(f, "{}: no file of an archive", path.display()),
            Self::Doubled { run, date, times } => write!(f, "run {run} of {date}: {times} times in table runs"),
            Self::Alike { run, date } => {
                write!(f, "run {run} of {date}: another run has the same run_key, and questions take one for the other")
            }
            Self::Orphans { table, run, date, site, rows } => {
                write!(f, "run {run}... of {date}, site {site}: {rows} rows in table {table}, but not in table runs")
            }
            Self::Rows { table, run, date, found, expected } => {
                write!(f, "run {run} of {date}: {found} rows in table {table} instead of {expected}")
            }
        }
    }
}

/// What a run should have, and what was found of it, in one partition.
#[derive(Debug, Default)]
struct RunCounts {
    /// Its name; empty while only its rows in other tables were found.
    name: String,
    times: u64,
    expected: [u64; 3],
    found: [u64; 3],
}

/// Tables whose rows `runs` counts, and in which column.
const COUNTED: [(Table, &str); 3] =
    [(FlowRow::TABLE, "flow_rows"), (DelayRow::TABLE, "delay_rows"), (SecondRow::TABLE, "second_rows")];

impl Archive {
    /// Reads every file. What is wrong is in the result.
    ///
    /// # Errors
    /// When a folder cannot be listed.
    pub fn check(&self) -> Result<Checked, ArchiveError> {
        let mut checked = Checked::default();
        let mut days: Vec<String> = Vec::new();
        for table in TABLES {
            let partitions = self.partitions(&table)?;
            days.extend(partitions.iter().map(|partition| partition.date.clone()));
            for partition in &partitions {
                let foreign = entries(&partition.path)?;
                let foreign =
                    foreign.into_iter().filter(|path| path.extension().is_none_or(|ending| ending != "parquet"));
                checked.problems.extend(foreign.map(Problem::Foreign));
            }
        }
        days.sort();
        days.dedup();
        let mut names = HashMap::new();
        for day in days {
            self.check_day(&day, &mut names, &mut checked)?;
        }
        let work = entries(&self.work_folder())?;
        checked.interrupted = work.iter().filter(|path| noted_run(path).is_some()).count() as u64;
        Ok(checked)
    }

    /// `names` has the name of each run that was found so far, as a number, by its key.
    fn check_day(&self, date: &str, names: &mut HashMap<i64, u128>, checked: &mut Checked) -> Result<(), ArchiveError> {
        let mut runs: HashMap<(i64, String), RunCounts> = HashMap::new();
        let mut alike = Vec::new();
        for partition in self.partitions_of_day(&RunRow::TABLE, date)? {
            read(RunRow::TABLE, &partition, checked, |rows| {
                let expected = COUNTED.map(|(_, column)| rows.counts(column).collect::<Vec<_>>());
                let runs_here = rows.texts("run_id").zip(rows.counts("run_key"));
                for (row, (name, key)) in runs_here.enumerate() {
                    let (name, key) = (name.unwrap_or_default(), key.unwrap_or_default());
                    let number = u128::from_str_radix(name, 16).unwrap_or_default();
                    if *names.entry(key).or_insert(number) != number {
                        alike.push(Problem::Alike { run: name.to_owned(), date: date.to_owned() });
                    }
                    let entry = runs.entry((key, partition.site.clone())).or_default();
                    name.clone_into(&mut entry.name);
                    entry.times += 1;
                    // Null in a file of an older rrul, which had no such rows.
                    let known = |counts: &Vec<Option<i64>>| counts.get(row).copied().flatten();
                    entry.expected = expected
                        .each_ref()
                        .map(|counts| known(counts).and_then(|rows| u64::try_from(rows).ok()).unwrap_or(0));
                }
            })?;
        }
        for (place, (table, _)) in COUNTED.into_iter().enumerate() {
            for partition in self.partitions_of_day(&table, date)? {
                read(table, &partition, checked, |rows| {
                    for key in rows.counts("run_key") {
                        let entry = runs.entry((key.unwrap_or_default(), partition.site.clone())).or_default();
                        entry.found[place] += 1;
                    }
                })?;
            }
        }
        checked.problems.extend(alike);
        let mut times: HashMap<&str, u64> = HashMap::new();
        let mut sorted: Vec<_> = runs.iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        for ((key, site), counts) in sorted {
            if counts.times > 0 {
                *times.entry(&counts.name).or_default() += counts.times;
            }
            for (place, (table, _)) in COUNTED.into_iter().enumerate() {
                let (found, expected) = (counts.found[place], counts.expected[place]);
                let (run, date, table) = (counts.name.clone(), date.to_owned(), table.name);
                if counts.times == 0 && found > 0 {
                    let (run, site) = (run_name_begins(*key), site.clone());
                    checked.problems.push(Problem::Orphans { table, run, date, site, rows: found });
                } else if counts.times > 0 && found != expected {
                    checked.problems.push(Problem::Rows { table, run, date, found, expected });
                }
            }
        }
        let mut times: Vec<(&str, u64)> = times.into_iter().collect();
        times.sort_unstable();
        for (run, times) in times {
            checked.runs += 1;
            if times > 1 {
                checked.problems.push(Problem::Doubled { run: run.to_owned(), date: date.to_owned(), times });
            }
        }
        Ok(())
    }
}

/// Reads every file of a partition, row group by row group. A file that cannot be read is a problem.
fn read(
    table: Table,
    partition: &Partition,
    checked: &mut Checked,
    mut each: impl FnMut(&Columns),
) -> Result<(), ArchiveError> {
    for path in partition.files()? {
        checked.files += 1;
        let mut whole = || -> Result<(), ArchiveError> {
            let source = ParquetSource::open(table, &path)?;
            (0..source.groups()).try_for_each(|group| source.group(group).map(|rows| each(&rows)))
        };
        if let Err(error) = whole() {
            checked.problems.push(Problem::Unreadable(error));
        }
    }
    Ok(())
}
