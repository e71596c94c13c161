//! rrul: Realtime Response Under Load.
//!
//! This crate wires the others together: arguments, files, the terminal, exit codes. It knows no formula and no packet.
//!
//! - [`arguments`]: what the user may type
//! - [`commands`]: one file a command
//! - [`batch`]: many tests from one file
//! - [`plan_book`]: the plans that come with the program, and those in files
//! - [`server_config`], [`server_log`], [`server_state`]: options of a server from a file; what it reports, and keeps
//! - [`secret_files`], [`known_servers`]: tokens and keys as files; servers that were met before
//! - [`store`]: recordings as files
//! - [`together`]: several of them at once
//! - [`parquet_table`]: tables as Parquet
//! - `absent`: commands that this build does not have
//! - [`measurement`]: one test with its recording and its progress
//! - [`tuning`]: shapers whose rates are searched
//! - [`monitor`]: light probes always, full tests within a data budget
//! - [`service`]: metrics over HTTP, the service manager
//! - [`live_screen`]: what a terminal shows while the test runs
//! - [`output`]: files that a command writes for the user
//!
//! Features, all on by default: `charts` (plot, report), `compare`, `lab` (virtual links; with charts demo and batch), `export`
//! (convert, Flent's files), `browser` (pages in Chromium), `check` (`rrul server --check`), `monitor` and `manual` (manual pages and shell completions). Without them it is
//! the program for routers. Off by default: `archive`.

// What serves commands that this build does not have needs no list of its own.
#![cfg_attr(not(all(feature = "charts", feature = "export", feature = "lab", feature = "monitor")), allow(dead_code))]

#[cfg(not(all(feature = "charts", feature = "export", feature = "lab", feature = "monitor")))]
mod absent;
mod arguments;
#[cfg(all(feature = "charts", feature = "lab"))]
mod batch;
mod commands;
mod failure;
mod interruption;
mod known_servers;
mod live_screen;
mod measurement;
#[cfg(feature = "monitor")]
mod monitor;
mod outcome;
mod output;
#[cfg(feature = "export")]
mod parquet_table;
mod plan_book;
mod progress;
mod progress_line;
mod secret_files;
mod server_config;
mod server_log;
#[cfg(feature = "metrics")]
mod server_metrics;
mod server_state;
mod service;
mod store;
mod together;
// A program without charts or lab tunes nothing.
#[cfg(all(feature = "charts", feature = "lab"))]
mod tuning;

use std::io::Write;
use std::process::ExitCode;

use clap::Parser;
use rrul_model::printable;

use arguments::{Arguments, Command};
use outcome::Outcome;

fn main() -> ExitCode {
    // A reader that has seen enough (`rrul show ... | head`) closes the pipe: end quietly, as other tools do.
    interruption::end_quietly_on_broken_pipe();
    let command = Arguments::parse().command;
    match &command {
        #[cfg(feature = "compare")]
        Command::Compare(_) => rrul_engine::heap::keep(),
        // Threads that share one heap would wait for each other at every batch of rows.
        #[cfg(feature = "archive")]
        Command::Archive(_) => rrul_engine::heap::keep(),
        #[cfg(feature = "charts")]
        Command::Plot(_) | Command::Report(_) => rrul_engine::heap::keep(),
        _ => rrul_engine::heap::share(),
    }
    let done = match command {
        #[cfg(feature = "check")]
        Command::Server(arguments) if arguments.check => Ok(commands::server::check::execute(*arguments)),
        Command::Server(arguments) => server_config::completed(*arguments).and_then(commands::server::execute),
        Command::Run(arguments) => commands::run::execute(&arguments),
        #[cfg(all(feature = "charts", feature = "lab"))]
        Command::Tune(arguments) => commands::tune::execute(&arguments),
        #[cfg(all(feature = "charts", feature = "lab"))]
        Command::Sweep(arguments) => commands::sweep::execute(&arguments),
        #[cfg(feature = "monitor")]
        Command::Monitor(arguments) => commands::monitor::execute(&arguments),
        #[cfg(all(feature = "charts", feature = "lab"))]
        Command::Batch(arguments) => commands::batch::execute(&arguments),
        #[cfg(all(feature = "charts", feature = "lab"))]
        Command::Demo(arguments) => commands::demo::execute(&arguments),
        #[cfg(feature = "lab")]
        Command::Lab(arguments) => commands::lab::execute(arguments.action),
        Command::Show(arguments) => commands::show::execute(&arguments),
        #[cfg(feature = "compare")]
        Command::Compare(arguments) => commands::compare::execute(&arguments),
        #[cfg(feature = "charts")]
        Command::Plot(arguments) => commands::plot::execute(&arguments),
        #[cfg(feature = "charts")]
        Command::Report(arguments) => commands::report::execute(&arguments),
        #[cfg(feature = "export")]
        Command::Convert(arguments) => commands::convert::execute(&arguments),
        #[cfg(feature = "archive")]
        Command::Archive(arguments) => commands::archive::execute(&arguments.action),
        Command::Key(arguments) => commands::key::execute(arguments.action),
        Command::List(arguments) => commands::list::execute(arguments.what),
        #[cfg(feature = "manual")]
        Command::Completions(arguments) => commands::manual::print_completions(arguments.shell),
        #[cfg(feature = "manual")]
        Command::Man(arguments) => commands::manual::write_pages(&arguments.folder),
        #[cfg(not(all(feature = "charts", feature = "export", feature = "lab", feature = "monitor")))]
        Command::Absent(absent) => Err(absent.failure()),
        Command::GuardTerminal => {
            live_screen::guard::watch();
            Ok(Outcome::Good)
        }
    };
    match done {
        Ok(Outcome::Good) => ExitCode::SUCCESS,
        Ok(Outcome::Doubtful) => ExitCode::from(1),
        Err(failure) => {
            // The exit code says it as well, if this is not read.
            let _ = writeln!(std::io::stderr(), "rrul: {}", printable::message(&failure.to_string()));
            ExitCode::from(2)
        }
    }
}
