//! Commands of the full program that this build does not have: hidden from its help, and known well enough to say why.

use std::ffi::OsString;

use clap::{Args, Subcommand};

use crate::failure::Failure;

#[derive(Debug, Subcommand)]
pub(crate) enum AbsentCommand {
    #[cfg(not(feature = "charts"))]
    #[command(hide = true)]
    Plot(Anything),
    #[cfg(not(feature = "charts"))]
    #[command(hide = true)]
    Report(Anything),
    #[cfg(not(feature = "lab"))]
    #[command(hide = true)]
    Lab(Anything),
    #[cfg(not(feature = "compare"))]
    #[command(hide = true)]
    Compare(Anything),
    #[cfg(not(feature = "export"))]
    #[command(hide = true)]
    Convert(Anything),
    #[cfg(not(feature = "monitor"))]
    #[command(hide = true)]
    Monitor(Anything),
    #[cfg(not(all(feature = "charts", feature = "lab")))]
    #[command(hide = true)]
    Batch(Anything),
    #[cfg(not(all(feature = "charts", feature = "lab")))]
    #[command(hide = true)]
    Demo(Anything),
    #[cfg(not(all(feature = "charts", feature = "lab")))]
    #[command(hide = true)]
    Tune(Anything),
    #[cfg(not(all(feature = "charts", feature = "lab")))]
    #[command(hide = true)]
    Sweep(Anything),
}

/// What is typed after such a command. It is ignored.
#[derive(Debug, Args)]
#[command(disable_help_flag = true)]
pub(crate) struct Anything {
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    rest: Vec<OsString>,
}

impl AbsentCommand {
    /// Why it cannot be executed, and what to do.
    pub(crate) fn failure(&self) -> Failure {
        let (command, missing) = match self {
            #[cfg(not(feature = "charts"))]
            Self::Plot(_) => ("plot", "charts"),
            #[cfg(not(feature = "charts"))]
            Self::Report(_) => ("report", "charts"),
            #[cfg(not(feature = "lab"))]
            Self::Lab(_) => ("lab", "virtual links"),
            #[cfg(not(feature = "compare"))]
            Self::Compare(_) => ("compare", "comparison"),
            #[cfg(not(feature = "export"))]
            Self::Convert(_) => ("convert", "conversion"),
            #[cfg(not(feature = "monitor"))]
            Self::Monitor(_) => ("monitor", "monitor"),
            #[cfg(not(all(feature = "charts", feature = "lab")))]
            Self::Batch(_) => ("batch", WHAT_BOTH_LACK),
            #[cfg(not(all(feature = "charts", feature = "lab")))]
            Self::Demo(_) => ("demo", WHAT_BOTH_LACK),
            #[cfg(not(all(feature = "charts", feature = "lab")))]
            Self::Tune(_) => ("tune", WHAT_BOTH_LACK),
            #[cfg(not(all(feature = "charts", feature = "lab")))]
            Self::Sweep(_) => ("sweep", WHAT_BOTH_LACK),
        };
        Failure::Absent { command, missing }
    }
}

/// What commands lack that need charts and virtual links.
#[cfg(not(all(feature = "charts", feature = "lab")))]
const WHAT_BOTH_LACK: &str = match (cfg!(feature = "charts"), cfg!(feature = "lab")) {
    (true, _) => "virtual links",
    (_, true) => "charts",
    _ => "virtual links and charts",
};
