//! `rrul server`: answer tests.

use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Limits, Server, ServerOptions};

use crate::arguments::ServerArguments;
use crate::failure::Failure;
use crate::interruption;
use crate::outcome::Outcome;
use crate::output::say;

pub(crate) fn execute(arguments: ServerArguments) -> Result<Outcome, Failure> {
    rrul_engine::open_files::raise_limit();
    let limits = Limits {
        sessions: arguments.max_sessions,
        length: arguments.max_length,
        flood_bits_per_second: arguments.allow_flood.0,
        ..Limits::default()
    };
    // Before it announces that it listens: from then on it can be asked to stop.
    let stop = interruption::flag();
    let server = Server::start(ServerOptions {
        addresses: arguments.listen,
        port: arguments.port,
        limits,
        load: arguments.egress.unwrap_or_default(),
        privacy: if arguments.private { Privacy::Strict } else { Privacy::Open },
        log: Arc::new(|line| {
            // A server whose log is not read any more goes on serving.
            let now = humantime::format_rfc3339_seconds(std::time::SystemTime::now());
            let _ = writeln!(std::io::stderr(), "{now} {line}");
        }),
        ..ServerOptions::default()
    })?;
    for address in server.addresses() {
        say(format_args!("listening on {address}, TCP and UDP"));
    }
    say("test from another host: rrul run <this host>");
    while !stop.load(Ordering::Relaxed) {
        std::thread::sleep(Duration::from_millis(100));
    }
    Ok(Outcome::Good)
}
