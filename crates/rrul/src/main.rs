//! rrul: Realtime Response Under Load.
//!
//! This crate wires the others together: arguments, files, the terminal, exit codes. It knows no formula and no packet.
//!
//! - [`arguments`]: what the user may type
//! - [`commands`]: one file a command
//! - [`plan_book`]: the plans that come with the program, and those in files
//! - [`store`]: recordings as files
//! - [`measurement`]: one test with its recording and its progress

mod arguments;
mod commands;
mod failure;
mod interruption;
mod measurement;
mod plan_book;
mod progress;
mod store;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;

use arguments::{Arguments, Command};

/// What a run means to whoever started it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Outcome {
    /// A valid result, or whatever was asked for was done.
    Good,
    /// A result with doubts, or with flows that failed.
    Doubtful,
}

fn main() -> ExitCode {
    rrul_engine::heap::share();
    // A reader that has seen enough (`rrul show ... | head`) closes the pipe: end quietly, as other tools do.
    interruption::end_quietly_on_broken_pipe();
    let done = match Arguments::parse().command {
        Command::Server(arguments) => commands::server::execute(arguments),
        Command::Run(arguments) => commands::run::execute(&arguments),
        Command::Demo(arguments) => commands::demo::execute(&arguments),
        Command::Lab(arguments) => commands::lab::execute(arguments.action),
        Command::Show(arguments) => commands::show::execute(&arguments),
        Command::Compare(arguments) => commands::compare::execute(&arguments),
        Command::Plot(arguments) => commands::plot::execute(&arguments),
        Command::Report(arguments) => commands::report::execute(&arguments),
        Command::Convert(arguments) => commands::convert::execute(&arguments),
        Command::List(arguments) => commands::list::execute(arguments.what),
    };
    match done {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Doubtful) => ExitCode::from(1),
        Err(failure) => {
            // The exit code says it as well, should nobody read this.
            let _ = writeln!(std::io::stderr(), "rrul: {failure}");
            ExitCode::from(2)
        }
    }
}
