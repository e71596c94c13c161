//! A link that stands until it is taken down: it is held by a process of its own, spoken to over a Unix socket.

use std::ffi::OsString;
use std::fs::{self, DirBuilder};
use std::io::{BufRead, BufReader, Read, Write};
use std::os::unix::fs::DirBuilderExt;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use super::error::LabError;
pub(crate) use super::holder::CHANGE_END;
use super::holder::{READY, SOCKET};
use super::{command_of, finish, link_named};
use crate::arguments::LabEnd;
use crate::failure::Failure;
use crate::outcome::Outcome;

/// How long a lab may take to end.
const ENDING: Duration = Duration::from_secs(10);

/// The folder of the lab with this name; only its owner can look into it.
pub(crate) fn folder(name: &str) -> Result<PathBuf, Failure> {
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_';
    if name.is_empty() || !name.chars().all(plain) {
        return Err(LabError::Name(name.to_owned()).into());
    }
    let own = std::env::var_os("XDG_RUNTIME_DIR").map(PathBuf::from).filter(|path| path.is_dir());
    Ok(own.unwrap_or_else(std::env::temp_dir).join(format!("rrul-lab-{name}")))
}

pub(super) fn up(link: &str, name: &str) -> Result<Outcome, Failure> {
    // Complains here, where the user sees it, and not in the holder.
    link_named(link)?;
    let folder = folder(name)?;
    if UnixStream::connect(folder.join(SOCKET)).is_ok() {
        return Err(LabError::IsUp(name.to_owned()).into());
    }
    // What a holder that was killed has left behind.
    let _ = fs::remove_dir_all(&folder);
    DirBuilder::new().mode(0o700).create(&folder).map_err(Failure::file(&folder))?;
    let this = std::env::current_exe().map_err(LabError::Start)?;
    let mut holder = Command::new(this)
        .args(["lab", "hold", link])
        .arg(&folder)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(LabError::Start)?;
    let mut line = String::new();
    if let Some(said) = holder.stdout.take() {
        // An early end reads as an empty line, which is no READY.
        let _ = BufReader::new(said).read_line(&mut line);
    }
    if line.trim_end() == READY {
        println!("lab \"{name}\" is up: client 10.78.0.1 fd78::1, server 10.78.0.2 fd78::2 with an rrul server");
        println!("try: rrul lab exec --name {name} client ping -c 3 10.78.0.2");
        return Ok(Outcome::Good);
    }
    let mut complaint = String::new();
    if let Some(mut said) = holder.stderr.take() {
        let _ = said.read_to_string(&mut complaint);
    }
    let _ = holder.wait();
    let _ = fs::remove_dir_all(&folder);
    let complaint = complaint.trim().trim_start_matches("rrul: ");
    Err(if complaint.is_empty() { LabError::Ended } else { LabError::Answer(complaint.to_owned()) }.into())
}

/// Asks the holder of a lab; its answer is one line, `ok ...` or a complaint.
pub(crate) fn ask(name: &str, question: &str) -> Result<String, Failure> {
    let mut stream = UnixStream::connect(folder(name)?.join(SOCKET)).map_err(|_| LabError::NoLab(name.to_owned()))?;
    let mut exchange = || {
        stream.write_all(format!("{question}\n").as_bytes())?;
        let mut answer = String::new();
        BufReader::new(&stream).read_line(&mut answer)?;
        Ok(answer)
    };
    let answer: String = exchange().map_err(|error| LabError::Exchange(name.to_owned(), error))?;
    match answer.trim_end().strip_prefix("ok") {
        Some(rest) => Ok(rest.trim_start().to_owned()),
        None => Err(LabError::Answer(answer.trim_end().to_owned()).into()),
    }
}

/// Runs a command at one end.
pub(super) fn exec(name: &str, end: LabEnd, words: &[OsString]) -> Result<Outcome, Failure> {
    let end = match end {
        LabEnd::Client => "client",
        LabEnd::Server => "server",
    };
    let namespace = ask(name, &format!("where {end}"))?;
    rrul_lab::join(Path::new(&namespace))?;
    let mut command = command_of(words)?;
    let program = command.get_program().to_owned();
    let child = command.spawn().map_err(|error| LabError::Command(program.display().to_string(), error))?;
    finish(child, &program)
}

pub(super) fn set(name: &str, changes: &[String]) -> Result<Outcome, Failure> {
    let changes_a_shaper = |text: &String| text.contains('=') && (text.starts_with("up.") || text.starts_with("down."));
    if changes.iter().all(changes_a_shaper) {
        ask(name, &format!("change {}", changes.join(CHANGE_END)))?;
        println!("lab \"{name}\": {}", changes.join(", "));
        return Ok(Outcome::Good);
    }
    let [link] = changes else { return Err(LabError::LinkAndChanges.into()) };
    link_named(link)?;
    ask(name, &format!("set {}", absolute(link)))?;
    println!("lab \"{name}\" is now {link}");
    Ok(Outcome::Good)
}

pub(super) fn stats(name: &str) -> Result<Outcome, Failure> {
    println!("{}", ask(name, "stats")?);
    Ok(Outcome::Good)
}

pub(super) fn down(name: &str, truth: Option<&Path>) -> Result<Outcome, Failure> {
    if let Some(path) = truth {
        ask(name, &format!("truth {}", absolute(&path.to_string_lossy())))?;
        println!("truth: {}", path.display());
    }
    ask(name, "down")?;
    // The holder removes its folder last: another lab of this name can then be brought up.
    let (folder, asked) = (folder(name)?, Instant::now());
    while folder.exists() {
        if asked.elapsed() > ENDING {
            return Err(LabError::StillUp(name.to_owned()).into());
        }
        std::thread::sleep(Duration::from_millis(20));
    }
    println!("lab \"{name}\" is down");
    Ok(Outcome::Good)
}

/// A file name as the holder, which has another working folder, can find it; other names stay.
fn absolute(name: &str) -> String {
    let path = Path::new(name);
    if path.extension().is_none() {
        return name.to_owned();
    }
    std::path::absolute(path).map_or_else(|_| name.to_owned(), |path| path.to_string_lossy().into_owned())
}
