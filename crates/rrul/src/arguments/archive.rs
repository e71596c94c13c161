//! The commands of `rrul archive`.

#[cfg(feature = "cluster")]
use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};
use rrul_archive::labels::{Country, Label, Site};
#[cfg(feature = "cluster")]
use rrul_archive::query::cluster::Scheduler;
use rrul_archive::query::period::Day;
use rrul_model::units::ByteCount;

#[derive(Debug, Args)]
pub(crate) struct ArchiveArguments {
    #[command(subcommand)]
    pub(crate) action: ArchiveAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum ArchiveAction {
    /// Add recordings to an archive, each once
    ///
    /// A run that is in the archive already is left as it is, so an interrupted command can be given again. Labels say what
    /// recordings do not contain. They apply to all FILEs of the command, and must be neither addresses nor host names.
    Add(Box<AddArguments>),
    /// Join the small files of an archive into few large ones
    Compact {
        /// Folder of the archive
        #[arg(value_name = "DIR")]
        archive: PathBuf,
    },
    /// Read every file of an archive, and report what is wrong
    Check {
        /// Folder of the archive
        #[arg(value_name = "DIR")]
        archive: PathBuf,
    },
    /// Answer a question about all runs of an archive
    Query(QueryArguments),
    #[cfg(feature = "cluster")]
    /// Distribute questions to executors on this host and others
    ///
    /// Runs until it is ended. It knows no passwords: use it in a network of your own.
    Scheduler {
        /// Address for executors and for questions
        #[arg(long, default_value = "127.0.0.1:50050", value_name = "ADDRESS")]
        listen: SocketAddr,
    },
    #[cfg(feature = "cluster")]
    /// Work for a scheduler
    ///
    /// Runs until it is ended. It must read the archive at the same path as whoever asks.
    Executor(ExecutorArguments),
}

/// The text after the options of `rrul archive query --help`.
const QUERY_HELP: &str = "\
Tables are runs, flows, delays and seconds, views valid_v1 and usable_v1; docs/archive.md defines their columns.
Without QUESTION the shipped questions are listed.

Examples:
  rrul archive query runs loaded_p95_by_isp_and_hour
  rrul archive query runs 'SELECT isp, COUNT(*) AS n FROM valid_v1 GROUP BY isp' --format csv
  rrul archive query runs loaded_p95_by_isp_and_hour --chart hours.svg
  rrul archive query runs bleached_ef.sql --from 2026-01-01 --to 2026-01-31";

#[derive(Debug, Args)]
#[command(after_help = QUERY_HELP)]
pub(crate) struct QueryArguments {
    /// Folder of the archive, or `s3://BUCKET/FOLDER`
    #[arg(value_name = "DIR")]
    pub(crate) archive: PathBuf,
    /// Name of a shipped question, a file of SQL, or SQL
    ///
    /// A file NAME.sql in this folder is preferred to the shipped question of that name.
    #[arg(value_name = "QUESTION")]
    pub(crate) question: Option<String>,
    /// First day that is read, in UTC [default: any]
    #[arg(long, value_name = "DATE")]
    pub(crate) from: Option<Day>,
    /// Last day that is read [default: any]
    #[arg(long, value_name = "DATE")]
    pub(crate) to: Option<Day>,
    /// Format of the answer
    #[arg(long, default_value = "text", value_name = "FORMAT")]
    pub(crate) format: AnswerFormat,
    #[cfg(feature = "charts")]
    /// Draw the answer to FILE.svg, .png or .pdf [default: none]
    ///
    /// A line of the question says how: `-- chart: bars x=isp y=p95_ms`, or `-- chart: lines x=at_hour y=p95_ms each=isp`.
    #[arg(long, value_name = "FILE")]
    pub(crate) chart: Option<PathBuf>,
    #[cfg(feature = "charts")]
    /// Overwrite an existing chart
    #[arg(long, requires = "chart")]
    pub(crate) force: bool,
    /// Memory for the answer; what needs more goes to disk
    ///
    /// A question that the disk does not help ends with an error.
    #[arg(long, default_value = "2GB", value_name = "SIZE")]
    pub(crate) memory: ByteCount,
    /// Who answers: rrul, or the scheduler df://HOST:PORT
    #[arg(long, default_value = "embedded", value_name = "ENGINE")]
    pub(crate) engine: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum AnswerFormat {
    /// Aligned columns
    Text,
    /// Comma-separated values (RFC 4180)
    Csv,
    /// Names of columns, and rows as objects
    Json,
}

#[cfg(feature = "cluster")]
#[derive(Debug, Args)]
pub(crate) struct ExecutorArguments {
    /// Address of the scheduler: df://HOST:PORT
    #[arg(value_name = "SCHEDULER")]
    pub(crate) scheduler: Scheduler,
    /// Address for other executors and whoever asks
    #[arg(long, default_value = "127.0.0.1:50051", value_name = "ADDRESS")]
    pub(crate) listen: SocketAddr,
    /// Tasks at the same time [default: one for each core]
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..))]
    pub(crate) cores: Option<u16>,
    /// Memory for all tasks; what needs more goes to disk
    #[arg(long, default_value = "2GB", value_name = "SIZE")]
    pub(crate) memory: ByteCount,
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Folder of the archive, created if missing
    #[arg(value_name = "DIR")]
    pub(crate) archive: PathBuf,
    /// Recordings, data files of Flent, or folders of both
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
    /// Also keep each second of each flow, in table seconds
    #[arg(long)]
    pub(crate) seconds: bool,
    /// Where it was measured; the archive is divided by it [default: unknown]
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    pub(crate) site: Option<Site>,
    /// Name of the provider [default: none]
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    pub(crate) isp: Option<Label>,
    /// Number of the provider's autonomous system [default: none]
    #[arg(long, value_name = "N", help_heading = "Labels")]
    pub(crate) asn: Option<u32>,
    /// Country, two letters such as DE [default: none]
    #[arg(long, value_name = "CODE", help_heading = "Labels")]
    pub(crate) country: Option<Country>,
    /// A name for the server [default: none]
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    pub(crate) server: Option<Label>,
    /// Firmware of the router, or whatever changed [default: none]
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    pub(crate) firmware: Option<Label>,
    /// Queue discipline of the download's bottleneck: cake, none [default: none]
    ///
    /// Without it the column is null, unless a tuning session knows its shaper.
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    pub(crate) aqm_down: Option<Label>,
    /// Queue discipline of the upload's bottleneck [default: none]
    #[arg(long, value_name = "NAME", help_heading = "Labels")]
    pub(crate) aqm_up: Option<Label>,
}
