//! `rrul archive scheduler` and `rrul archive executor`: hosts that answer questions together.

use std::fs;
use std::net::SocketAddr;
use std::thread::available_parallelism;

use rrul_archive::query::cluster::{Executor, run_scheduler};

use crate::arguments::ExecutorArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::say;

pub(crate) fn scheduler(listen: SocketAddr) -> Result<Outcome, Failure> {
    run_scheduler(listen, |address| say(format_args!("scheduler: df://{address}")))?;
    Ok(Outcome::Good)
}

pub(crate) fn executor(arguments: &ExecutorArguments) -> Result<Outcome, Failure> {
    let work = std::env::temp_dir().join(format!("rrul-executor-{}", std::process::id()));
    fs::create_dir(&work).map_err(Failure::file(&work))?;
    let executor = Executor {
        scheduler: arguments.scheduler.clone(),
        listen: arguments.listen,
        cores: arguments.cores.map_or_else(|| available_parallelism().map_or(1, Into::into), usize::from),
        memory: arguments.memory.0,
        work: work.clone(),
    };
    say(format_args!("executor: {} for {}", executor.listen, executor.scheduler));
    let ended = executor.run();
    // What is in it is of no use to anyone.
    let _ = fs::remove_dir_all(&work);
    ended?;
    Ok(Outcome::Good)
}
