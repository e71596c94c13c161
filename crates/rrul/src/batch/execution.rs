//! One turn of a batch: the link is brought up, commands before, runs side by side, commands after.
//!
//! Every run is this program again, a process of its own: what ends one run ends no other.

use std::ffi::OsString;
use std::fs::File;
use std::path::Path;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use clap::ValueEnum;
use rrul_lab::Lab;
use rrul_model::flow::AddressFamily;

use super::Turn;
use super::error::BatchError;
use super::setting::{Run, Setting};
use crate::arguments::AccessArguments;
use crate::commands::lab::{link_named, server_in};
use crate::failure::Failure;
use crate::secret_files;

/// Between two looks at what is waited for.
const LOOK: Duration = Duration::from_millis(50);

/// Where commands are run.
struct Place<'a> {
    lab: Option<&'a Lab>,
    server: String,
    folder: &'a Path,
    access: &'a RunAccess,
    /// The text file that keeps the output.
    log: File,
}

/// How runs get access to a server: options of `rrul run`.
#[derive(Debug, Default)]
pub(crate) struct RunAccess(Vec<OsString>);

impl RunAccess {
    /// That of the batch's own options. Runs are started in another folder.
    ///
    /// # Errors
    /// When the token cannot be read.
    pub(crate) fn new(arguments: &AccessArguments) -> Result<Self, Failure> {
        let AccessArguments { token_file, encrypt, server_key, .. } = arguments;
        secret_files::client_token(token_file.as_deref())?;
        let mut options = Vec::new();
        if let Some(file) = secret_files::client_token_file(token_file.as_deref()) {
            let file = std::path::absolute(&file).map_err(Failure::file(&file))?;
            options.extend(["--token-file".into(), file.into_os_string()]);
        }
        if let Some(word) = encrypt.to_possible_value() {
            options.extend(["--encrypt".into(), word.get_name().into()]);
        }
        options.extend(server_key.iter().flat_map(|key| ["--server-key".into(), key.to_string().into()]));
        #[cfg(feature = "certificates")]
        if let Some(file) = &arguments.ca {
            let file = std::path::absolute(file).map_err(Failure::file(file))?;
            options.extend(["--ca".into(), file.into_os_string()]);
        }
        Ok(Self(options))
    }
}

/// The names of the recordings of a turn.
pub(crate) fn recordings(turn: &Turn<'_>) -> Vec<String> {
    turn.setting.runs.iter().map(|run| format!("{}.rrul", stem(turn, run))).collect()
}

fn stem(turn: &Turn<'_>, run: &Run) -> String {
    if run.name.is_empty() { turn.name.clone() } else { format!("{}-{}", turn.name, run.name) }
}

/// Runs a turn; `progress` is called now and then. Once `stop` is raised nothing new is begun, and what goes on is waited for.
///
/// # Errors
/// When a command or a run failed; runs beside it are still finished, and commands after it still run.
pub(crate) fn execute(
    turn: &Turn<'_>,
    folder: &Path,
    access: &RunAccess,
    stop: &AtomicBool,
    progress: &mut dyn FnMut(Duration),
) -> Result<(), Failure> {
    let setting = turn.setting;
    let lab = match &setting.link {
        Some(link) => Some(Lab::up(&link_named(link)?, u64::from(turn.repetition))?),
        None => None,
    };
    let server = lab.as_ref().map(server_in).transpose()?;
    let address = match &lab {
        Some(lab) => AddressFamily::ALL.map(|family| lab.server().address(family).to_string()).join(","),
        None => setting.server.clone().unwrap_or_default(),
    };
    let path = folder.join(format!("{}.log", turn.name));
    let log = File::options().create(true).append(true).open(&path).map_err(Failure::output(&path))?;
    let place = Place { lab: lab.as_ref(), server: address, folder, access, log };
    let done = place.shell(&setting.before).and_then(|()| place.side_by_side(turn, stop, progress));
    let after = place.shell(&setting.after);
    drop(server);
    done.and(after)
}

impl Place<'_> {
    fn start(&self, mut command: Command) -> Result<Child, Failure> {
        let said = || self.log.try_clone().map_err(BatchError::Process);
        command.current_dir(self.folder).stdin(Stdio::null()).stdout(said()?).stderr(said()?);
        if let Some(lab) = self.lab {
            return Ok(lab.client().command(command)?);
        }
        // A batch that is killed leaves no run behind that would meet those of the next.
        rrul_lab::die_with_spawning_thread(&mut command);
        let program = command.get_program().display().to_string();
        Ok(command.spawn().map_err(|error| BatchError::Start(program, error))?)
    }

    /// Runs each line by the shell; the first that fails is the last.
    fn shell(&self, lines: &[String]) -> Result<(), Failure> {
        for line in lines {
            let mut command = Command::new("sh");
            command.arg("-c").arg(line);
            let status = self.start(command)?.wait().map_err(BatchError::Process)?;
            if !status.success() {
                return Err(BatchError::Line(line.clone(), status).into());
            }
        }
        Ok(())
    }

    fn side_by_side(
        &self,
        turn: &Turn<'_>,
        stop: &AtomicBool,
        progress: &mut dyn FnMut(Duration),
    ) -> Result<(), Failure> {
        let begun = Instant::now();
        let mut waiting: Vec<&Run> = turn.setting.runs.iter().collect();
        waiting.sort_by_key(|run| run.start);
        waiting.reverse();
        let mut going: Vec<(&Run, Child)> = Vec::new();
        let mut failed: Option<Failure> = None;
        while !going.is_empty() || !waiting.is_empty() {
            if stop.load(Ordering::Relaxed) {
                waiting.clear();
            }
            while waiting.last().is_some_and(|run| run.start <= begun.elapsed()) {
                let Some(run) = waiting.pop() else { break };
                match self.start(self.command(turn, run)?) {
                    Ok(child) => going.push((run, child)),
                    Err(failure) => failed = failed.or(Some(failure)),
                }
            }
            let mut left = Vec::new();
            for (run, mut child) in going {
                match child.try_wait() {
                    Ok(None) => left.push((run, child)),
                    Ok(Some(status)) => failed = failed.or_else(|| complaint(turn, run, status)),
                    Err(error) => failed = failed.or_else(|| Some(BatchError::Process(error).into())),
                }
            }
            going = left;
            progress(begun.elapsed());
            std::thread::sleep(LOOK);
        }
        match failed {
            Some(failure) => Err(failure),
            None if stop.load(Ordering::Relaxed) => Err(BatchError::Interrupted.into()),
            None => Ok(()),
        }
    }

    fn command(&self, turn: &Turn<'_>, run: &Run) -> Result<Command, Failure> {
        let this = std::env::current_exe().map_err(BatchError::Process)?;
        let mut command = Command::new(this);
        command.args(["run", &self.server, "--plan", &run.plan]);
        for setting in &run.set {
            command.args(["--set", setting]);
        }
        let options = [("--family", &run.family), ("--link-layer", &run.link_layer)];
        for (option, value) in options.into_iter().filter_map(|(option, value)| Some((option, value.as_ref()?))) {
            command.args([option, value]);
        }
        // The server at the other end of a virtual link is the batch's own.
        if self.lab.is_none() {
            command.args(&self.access.0);
        }
        command.args(["--title", &title(turn.setting, run), "-o", &format!("{}.rrul", stem(turn, run))]);
        Ok(command)
    }
}

/// What all repetitions of a run are called.
fn title(setting: &Setting, run: &Run) -> String {
    let parts = [setting.about.as_str(), run.name.as_str()];
    let parts: Vec<&str> = parts.into_iter().filter(|part| !part.is_empty()).collect();
    parts.join(", ")
}

/// What is wrong with a run that has ended; one with doubts is a result.
fn complaint(turn: &Turn<'_>, run: &Run, status: ExitStatus) -> Option<Failure> {
    if matches!(status.code(), Some(0 | 1)) {
        return None;
    }
    Some(BatchError::Run { run: stem(turn, run), status, turn: turn.name.clone() }.into())
}
