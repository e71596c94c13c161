//! `rrul archive`: many runs in one place.

mod adding;
#[cfg(feature = "charts")]
mod answer_picture;
mod asking;
#[cfg(feature = "cluster")]
mod cluster;

use std::path::Path;

use rrul_archive::{Archive, Writer};

use crate::arguments::ArchiveAction;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::say;

pub(crate) fn execute(action: &ArchiveAction) -> Result<Outcome, Failure> {
    match action {
        ArchiveAction::Add(arguments) => adding::add(arguments),
        ArchiveAction::Compact { archive } => compact(archive),
        ArchiveAction::Check { archive } => check(archive),
        ArchiveAction::Query(arguments) => asking::query(arguments),
        #[cfg(feature = "cluster")]
        ArchiveAction::Scheduler { listen } => cluster::scheduler(*listen),
        #[cfg(feature = "cluster")]
        ArchiveAction::Executor(arguments) => cluster::executor(arguments),
    }
}

fn compact(path: &Path) -> Result<Outcome, Failure> {
    let done = Writer::new(Archive::open(path)?)?.compact(|_| ())?;
    if done.partitions == 0 {
        say("nothing to compact");
    } else {
        let partitions = if done.partitions == 1 { "partition" } else { "partitions" };
        say(format_args!(
            "compacted {} {partitions}: {} files into {}",
            done.partitions, done.files_before, done.files_after
        ));
    }
    Ok(Outcome::Good)
}

fn check(path: &Path) -> Result<Outcome, Failure> {
    let found = Archive::open(path)?.check()?;
    for problem in &found.problems {
        say(problem);
    }
    if found.interrupted > 0 {
        say(format_args!(
            "note: {} additions were interrupted; the next add or compact removes what they left",
            found.interrupted
        ));
    }
    let problems = match found.problems.len() {
        0 => "no problems found".to_owned(),
        1 => "1 problem".to_owned(),
        more => format!("{more} problems"),
    };
    say(format_args!("{} runs in {} files: {problems}", found.runs, found.files));
    Ok(if found.problems.is_empty() { Outcome::Good } else { Outcome::Doubtful })
}
