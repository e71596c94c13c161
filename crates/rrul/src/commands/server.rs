//! `rrul server`: answer tests.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rrul_engine::environment::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_proto::limits::Limits;

use crate::Outcome;
use crate::arguments::ServerArguments;
use crate::failure::Failure;
use crate::interruption;

pub(crate) fn execute(arguments: ServerArguments) -> Result<Outcome, Failure> {
    let limits = Limits { sessions: arguments.max_sessions, length: arguments.max_length, ..Limits::default() };
    let server = Server::start(ServerOptions {
        addresses: arguments.listen,
        port: arguments.port,
        limits,
        privacy: if arguments.private { Privacy::Strict } else { Privacy::Open },
        log: Arc::new(|line| eprintln!("{} {line}", humantime::format_rfc3339_seconds(std::time::SystemTime::now()))),
    })?;
    for address in server.addresses() {
        println!("listening on {address}, TCP and UDP");
    }
    println!("test from another host: rrul run <this host>");
    let stop = interruption::flag();
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(Outcome::Good)
}
