//! Why a command of `rrul lab` failed.

use std::io;
use std::process::ExitStatus;

/// Why a command of `rrul lab` failed.
#[derive(Debug, thiserror::Error)]
pub(crate) enum LabError {
    #[error("\"{0}\" is no name for a lab; use letters, digits, - and _")]
    Name(String),
    #[error("no lab \"{0}\"; bring one up with: rrul lab up --name {0}")]
    NoLab(String),
    #[error("lab \"{0}\" is up already; take it down with: rrul lab down --name {0}")]
    IsUp(String),
    #[error("lab \"{0}\" has not ended yet; its processes may still run")]
    StillUp(String),
    #[error("cannot start the lab's process: {0}")]
    Start(io::Error),
    #[error("the lab's process ended early")]
    Ended,
    #[error("{0}")]
    Answer(String),
    #[error("the lab does not understand \"{0}\"")]
    Question(String),
    #[error("lab \"{0}\": {1}")]
    Exchange(String, io::Error),
    #[error("give one link, or changes of shapers such as up.shaper.rate=9Mbit/s; both at once is not possible")]
    LinkAndChanges,
    #[error("no command")]
    NoCommand,
    #[error("{0}: {1}")]
    Command(String, io::Error),
    #[error("{0}: ended with exit code {1}")]
    ExitCode(String, i32),
    #[error("{0}: killed by {1}")]
    Killed(String, ExitStatus),
}
