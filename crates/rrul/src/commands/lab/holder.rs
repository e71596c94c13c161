//! The process that keeps a standing link: it takes commands over a Unix socket, and nothing remains when it ends.

use std::fs::{self, File};
use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::Path;

use rrul_lab::{Lab, Link};
use rrul_model::flow::Direction;
use serde_json::json;

use super::counters::counters_json;
use super::error::LabError;
use super::{link_named, make_possible, server_in, write_truth};
use crate::failure::Failure;
use crate::outcome::Outcome;

/// What the holder prints when the link is up.
pub(super) const READY: &str = "ready";

/// The socket's name in the lab's folder.
pub(crate) const SOCKET: &str = "socket";

/// What separates changes of shapers in one line.
pub(crate) const CHANGE_END: &str = "\t";

/// Keeps a link until the command `down` or a signal.
pub(crate) fn hold(link: &str, folder: &Path) -> Result<Outcome, Failure> {
    make_possible()?;
    let mut link = link_named(link)?;
    let lab = Lab::up(&link, 1)?;
    let server = server_in(&lab)?;
    let socket = folder.join(SOCKET);
    let listener = UnixListener::bind(&socket).map_err(Failure::file(&socket))?;
    println!("{READY}");
    for stream in listener.incoming().flatten() {
        if serve(&stream, &lab, &mut link) == Next::Down {
            break;
        }
    }
    drop(server);
    // Should the folder stay, the next `up` clears it.
    let _ = fs::remove_dir_all(folder);
    Ok(Outcome::Good)
}

#[derive(PartialEq, Eq)]
enum Next {
    Stay,
    Down,
}

fn serve(mut stream: &UnixStream, lab: &Lab, link: &mut Link) -> Next {
    let mut question = String::new();
    if BufReader::new(stream).read_line(&mut question).is_err() {
        return Next::Stay;
    }
    let question = question.trim_end();
    let (word, rest) = question.split_once(' ').unwrap_or((question, ""));
    let (answer, next) = match (word, rest) {
        ("where", "client") => (Ok(lab.client().namespace_path().display().to_string()), Next::Stay),
        ("where", "server") => (Ok(lab.server().namespace_path().display().to_string()), Next::Stay),
        ("set", name) => (set(name, lab, link).map(|()| String::new()), Next::Stay),
        ("change", changes) => (change(changes, lab, link).map(|()| String::new()), Next::Stay),
        ("shapers", _) => (Ok(shapers(link)), Next::Stay),
        ("stats", _) => (stats(lab), Next::Stay),
        ("truth", path) => (truth_to(Path::new(path), lab).map(|()| String::new()), Next::Stay),
        ("down", _) => (Ok(String::new()), Next::Down),
        _ => (Err(LabError::Question(question.to_owned()).into()), Next::Stay),
    };
    let line = match answer {
        Ok(text) => format!("ok {text}\n"),
        Err(failure) => format!("{failure}\n"),
    };
    // Who asked and went away misses only the answer.
    let _ = stream.write_all(line.as_bytes());
    next
}

fn set(name: &str, lab: &Lab, link: &mut Link) -> Result<(), Failure> {
    let other = link_named(name)?;
    lab.set(&other)?;
    *link = other;
    Ok(())
}

/// Carries out changes of shapers: all of them, or none when one is refused.
fn change(changes: &str, lab: &Lab, link: &mut Link) -> Result<(), Failure> {
    let mut changed = link.clone();
    let directions =
        changes.split(CHANGE_END).map(|change| changed.change_shaper(change)).collect::<Result<Vec<_>, _>>()?;
    for direction in Direction::ALL.into_iter().filter(|direction| directions.contains(direction)) {
        lab.set_shaper(direction, changed.direction(direction).shaper.as_ref())?;
    }
    *link = changed;
    Ok(())
}

/// The shapers as JSON; null for a direction without one.
fn shapers(link: &Link) -> String {
    let described = |direction: Direction| {
        link.direction(direction).shaper.as_ref().map(|shaper| {
            json!({
                "rate_bps": shaper.rate.0,
                "link_layer": shaper.link_layer.to_string(),
                "queue": shaper.queue.discipline().name,
            })
        })
    };
    json!({ "up": described(Direction::Up), "down": described(Direction::Down) }).to_string()
}

fn stats(lab: &Lab) -> Result<String, Failure> {
    Ok(counters_json(&lab.counters()?).to_string())
}

fn truth_to(path: &Path, lab: &Lab) -> Result<(), Failure> {
    write_truth(lab, File::create_new(path).map_err(Failure::file(path))?, path)
}
