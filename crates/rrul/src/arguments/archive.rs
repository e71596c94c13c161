//! The commands of `rrul archive`.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use rrul_archive::labels::{Country, Label, Site};

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
}

#[derive(Debug, Args)]
pub(crate) struct AddArguments {
    /// Folder of the archive, created if missing
    #[arg(value_name = "DIR")]
    pub(crate) archive: PathBuf,
    /// Recordings, data files of Flent, or folders of both
    #[arg(value_name = "FILE", required = true)]
    pub(crate) files: Vec<PathBuf>,
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
