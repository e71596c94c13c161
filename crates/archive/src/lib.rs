//! Many runs in one archive: tables in Parquet files that every engine reads, divided by day and site.
//!
//! The stages, each of which uses only those before it:
//!
//! 1. [`sketch`]: delays as counts by bin, which merge exactly
//! 2. [`table`], [`tables`]: what the tables contain; [`document`]: docs/archive.md, made from them
//! 3. [`labels`]: what the user says of runs; `vocabulary`: the words of a recording that may be kept
//! 4. `run_id`, `delay_rows`, `flow_rows`, `second_rows`, `marking_verdict`, [`run_rows`]: from a recording to rows, pure
//! 5. `columns`, `parquet_file`: rows by column, and as files
//! 6. [`folder`]: an archive on disk; [`writing`], [`compaction`], [`checking`]
//! 7. [`questions`]: views and questions in SQL; with feature `engine`, `query`: their answers
//!
//! Beside them: [`synthetic`], runs from a seed for tests and benches. No address and no host name is in any column.

#![forbid(unsafe_code)]

pub mod checking;
mod columns;
pub mod compaction;
mod delay_rows;
pub mod document;
mod error;
mod flow_rows;
pub mod folder;
pub mod labels;
mod marking_verdict;
mod parquet_file;
#[cfg(feature = "engine")]
pub mod query;
pub mod questions;
mod run_id;
pub mod run_rows;
mod second_rows;
pub mod sketch;
pub mod synthetic;
pub mod table;
pub mod tables;
mod vocabulary;
pub mod writing;

pub use error::ArchiveError;
pub use folder::Archive;
pub use labels::Labels;
pub use run_rows::RunRows;
pub use writing::{Added, Writer};
