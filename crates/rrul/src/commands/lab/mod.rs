//! `rrul lab`: virtual links for experiments.

mod counters;
pub(crate) mod error;
pub(crate) mod holder;
pub(crate) mod standing;

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::BufWriter;
use std::path::Path;
use std::process::{Child, Command};

use rrul_engine::privacy::Privacy;
use rrul_engine::server::{AllowedMarks, LoadPolicy, Server, ServerOptions};
use rrul_lab::{Lab, Link};

use crate::arguments::LabAction;
use crate::failure::Failure;
use crate::interruption;
use crate::outcome::Outcome;
use error::LabError;

pub(crate) fn execute(action: LabAction) -> Result<Outcome, Failure> {
    match action {
        LabAction::Run { link, truth, command } => run(&link, truth.as_deref(), &command),
        LabAction::Up { link, name } => standing::up(&link, &name),
        LabAction::Exec { name, end, command } => standing::exec(&name, end, &command),
        LabAction::Set { name, changes } => standing::set(&name, &changes),
        LabAction::Stats { name } => standing::stats(&name),
        LabAction::Down { name, truth } => standing::down(&name, truth.as_deref()),
        LabAction::Hold { link, folder } => holder::hold(&link, &folder),
    }
}

/// The link of this name, or in this file.
pub(crate) fn link_named(name: &str) -> Result<Link, Failure> {
    let path = Path::new(name);
    if path.extension().is_some_and(|ending| ending == "toml") {
        let text = std::fs::read_to_string(path).map_err(Failure::file(path))?;
        return Ok(Link::from_toml(name, &text)?);
    }
    Ok(Link::builtin(name)?)
}

/// Makes a lab possible: as root it is; otherwise in a user namespace. To be called before any thread is started.
pub(crate) fn make_possible() -> Result<(), Failure> {
    if rrul_lab::available().is_ok() {
        return Ok(());
    }
    rrul_lab::enter_user_namespace()?;
    Ok(rrul_lab::available()?)
}

/// Starts an rrul server on the server host of a lab.
pub(crate) fn server_in(lab: &Lab) -> Result<Server, Failure> {
    let (load, marks) = (LoadPolicy::Unlimited, AllowedMarks::ALL);
    let options = ServerOptions { load, marks, privacy: Privacy::Open, ..ServerOptions::default() };
    Ok(lab.server().run(|| Server::start(options))??)
}

/// Writes what happened to every packet to a file, which is at this path.
pub(crate) fn write_truth(lab: &Lab, file: File, path: &Path) -> Result<(), Failure> {
    lab.truth()?.write_csv(BufWriter::new(file)).map_err(Failure::file(path))
}

/// The command that was typed.
fn command_of(words: &[OsString]) -> Result<Command, Failure> {
    let (program, arguments) = words.split_first().ok_or(LabError::NoCommand)?;
    let mut command = Command::new(program);
    command.args(arguments);
    Ok(command)
}

/// Waits for a command, and takes over its exit code.
fn finish(mut child: Child, program: &OsStr) -> Result<Outcome, Failure> {
    let name = || program.display().to_string();
    let status = child.wait().map_err(|error| LabError::Command(name(), error))?;
    match status.code() {
        Some(0) => Ok(Outcome::Good),
        Some(1) => Ok(Outcome::Doubtful),
        Some(code) => Err(LabError::ExitCode(name(), code).into()),
        None => Err(LabError::Killed(name(), status).into()),
    }
}

fn run(link: &str, truth: Option<&Path>, words: &[OsString]) -> Result<Outcome, Failure> {
    make_possible()?;
    let link = link_named(link)?;
    let lab = Lab::up(&link, 1)?;
    // A place that cannot be written to is known before the command has run.
    let file = truth.map(|path| File::create_new(path).map_err(Failure::file(path))).transpose()?;
    let server = server_in(&lab)?;
    let command = command_of(words)?;
    let program = command.get_program().to_owned();
    interruption::leave_to_the_command();
    let outcome = lab.client().command(command).map_err(Failure::from).and_then(|child| finish(child, &program));
    drop(server);
    if let Some((path, file)) = truth.zip(file) {
        write_truth(&lab, file, path)?;
        println!("truth: {}", path.display());
    }
    outcome
}
