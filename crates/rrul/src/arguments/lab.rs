//! The commands of `rrul lab`.

use std::path::PathBuf;

use clap::{Args, Subcommand, ValueEnum};

#[derive(Debug, Args)]
pub(crate) struct LabArguments {
    #[command(subcommand)]
    pub(crate) action: LabAction,
}

#[derive(Debug, Subcommand)]
pub(crate) enum LabAction {
    /// Run a command over a temporary link with an rrul server
    ///
    /// The command runs in the client's network namespace. The server is 10.78.0.2 and fd78::2.
    Run {
        /// Link: a name from `rrul list links`, or a file
        #[arg(long, value_name = "LINK", default_value = "cable_20_8_pfifo")]
        link: String,
        /// Write the fate of every packet to this CSV file [default: none]
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
        /// Command to run, with its arguments
        #[arg(last = true, required = true, value_name = "COMMAND")]
        command: Vec<std::ffi::OsString>,
    },
    /// Create a link and keep it until `rrul lab down`
    Up {
        /// Link: a name from `rrul list links`, or a file
        #[arg(long, value_name = "LINK", default_value = "cable_20_8_pfifo")]
        link: String,
        /// Name of the lab; each concurrent lab needs its own
        #[arg(long, value_name = "NAME", default_value = "lab")]
        name: String,
    },
    /// Run a command on the client or the server of a lab
    Exec {
        /// Name of the lab
        #[arg(long, value_name = "NAME", default_value = "lab")]
        name: String,
        /// Host to run the command on
        #[arg(value_name = "HOST")]
        end: LabEnd,
        /// Command to run, with its arguments
        #[arg(trailing_var_arg = true, required = true, value_name = "COMMAND", allow_hyphen_values = true)]
        command: Vec<std::ffi::OsString>,
    },
    /// Replace the link of a lab, or change its shapers, while traffic goes on
    Set {
        /// Name of the lab
        #[arg(long, value_name = "NAME", default_value = "lab")]
        name: String,
        /// Link as for `rrul lab up`, or changes such as up.shaper.rate=9Mbit/s
        ///
        /// Changes of shapers: up.shaper.rate=9Mbit/s, up.shaper.queue=cake, up.shaper.link_layer=docsis, up.shaper=off, and
        /// the same with `down`. All of them are made, or none.
        #[arg(required = true, value_name = "LINK|CHANGE")]
        changes: Vec<String>,
    },
    /// Print the counters of a lab's queues as JSON
    Stats {
        /// Name of the lab
        #[arg(long, value_name = "NAME", default_value = "lab")]
        name: String,
    },
    /// Remove a lab
    Down {
        /// Name of the lab
        #[arg(long, value_name = "NAME", default_value = "lab")]
        name: String,
        /// Write the fate of every packet to this CSV file [default: none]
        #[arg(long, value_name = "FILE")]
        truth: Option<PathBuf>,
    },
    /// Keep the link of `rrul lab up`
    #[command(hide = true)]
    Hold {
        /// Link
        link: String,
        /// Folder of its socket
        folder: PathBuf,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum LabEnd {
    /// The client, 10.78.0.1 and fd78::1
    Client,
    /// The server, 10.78.0.2 and fd78::2
    Server,
}
