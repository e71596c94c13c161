//! What may be typed after `rrul lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) action: LabAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabAction {
    /// Bring a link up with an rrul server at its far end, run a command at its near end, take it down
    Run {
        /// The link: a name from `rrul list links`, or a file
        #[arg(long, value_name = "LINK", default_value = "cable_20_8_pfifo")]
        link: String,
        /// Write what happened to every packet to this file, CSV
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
        /// The command, with its arguments; the server is 10.78.0.2 and fd78::2
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<std::ffi::OsString>,
    },
    /// Bring a link up and keep it until `rrul lab down`
    Up {
        /// The link: a name from `rrul list links`, or a file
        #[arg(long, value_name = "LINK", default_value = "cable_20_8_pfifo")]
        link: String,
        /// A name for this lab, so that several can stand side by side
        #[arg(long, default_value = "lab")]
        name: String,
    },
    /// Run a command at one end of a link that is up
    Exec {
        /// The name given to `rrul lab up`
        #[arg(long, default_value = "lab")]
        name: String,
        /// Which end
        end: LabEnd,
        /// The command, with its arguments
        #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND", allow_hyphen_values = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Change the link while it is up
    Set {
        /// The name given to `rrul lab up`
        #[arg(long, default_value = "lab")]
        name: String,
        /// The link: a name from `rrul list links`, or a file
        link: String,
    },
    /// Take a link down
    Down {
        /// The name given to `rrul lab up`
        #[arg(long, default_value = "lab")]
        name: String,
        /// Write what happened to every packet to this file first, CSV
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
    },
    /// Hold a link for `rrul lab up`
    #[command(hide = true)]
    Hold {
        /// The link
        link: String,
        /// The folder of its socket
        folder: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabEnd {
    /// The near end
    Client,
    /// The far end
    Server,
}
