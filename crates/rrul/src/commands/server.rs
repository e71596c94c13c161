//! `rrul server`: answer tests.

#[cfg(feature = "check")]
pub(crate) mod check;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::hangup;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Limits, PlainClients, QuotaLimits, Rules, Server, ServerOptions};

use crate::arguments::ServerArguments;
use crate::failure::Failure;
use crate::live_screen::terminal;
use crate::outcome::Outcome;
use crate::output::say;
use crate::secret_files::AccessFile;
use crate::server_state::ServerState;
use crate::{interruption, secret_files, server_config, server_log};

/// Between two looks at whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn execute(mut arguments: ServerArguments) -> Result<Outcome, Failure> {
    rrul_engine::open_files::raise_limit();
    #[cfg(feature = "log")]
    let log = server_log::log(arguments.log_format);
    #[cfg(not(feature = "log"))]
    let log = server_log::log();
    let mut state = ServerState::read(arguments.state.clone(), quota_limits(&arguments))?;
    let mut access = arguments.tokens.clone().map(AccessFile::open).transpose()?;
    let key = arguments.key.as_deref().map(secret_files::server_key).transpose()?;
    // Before it announces that it listens: from then on it can be asked to stop.
    let stop = interruption::flag();
    if arguments.config.is_some() {
        hangup::watch();
    }
    let Rules { limits, load, marks, privacy } = rules(&arguments);
    let server = Server::start(ServerOptions {
        addresses: arguments.listen.clone(),
        port: arguments.port,
        limits,
        marks,
        load,
        privacy,
        key: key.clone(),
        plain: if arguments.allow_plain { PlainClients::Served } else { PlainClients::Refused },
        access: access.as_ref().map(AccessFile::list),
        log,
        quota: state.quota(),
        ..ServerOptions::default()
    })?;
    let server = Arc::new(server);
    #[cfg(feature = "metrics")]
    if let Some(place) = &arguments.metrics {
        crate::server_metrics::serve(place, &server)?;
    }
    for address in server.addresses() {
        say(format_args!("listening on {address}, TCP and UDP"));
    }
    if let Some(key) = key {
        say(format_args!("key {}", key.fingerprint()));
    }
    say("test from another host: rrul run <this host>");
    tell_manager(State::Ready);
    wait_for(&stop, None, || {
        state.write_now_and_then();
        access.iter_mut().for_each(AccessFile::look);
        if hangup::taken() {
            reload(&mut arguments, &server, &state);
        }
        false
    });
    tell_manager(State::Stopping);
    server.drain();
    wait_for(&AtomicBool::new(false), Some(arguments.drain), || {
        access.iter_mut().for_each(AccessFile::look);
        server.sessions() == 0
    });
    drop(server);
    state.write();
    Ok(Outcome::Good)
}

/// Reads the options anew, and puts those in force that need no restart. With a mistake in the file all stay as they are.
fn reload(arguments: &mut ServerArguments, server: &Server, state: &ServerState) {
    let new = match server_config::completed(arguments.clone()) {
        Ok(new) => new,
        Err(failure) => return terminal::say(&format!("rrul: {failure}; the options stay as they are")),
    };
    let fixed = with_restart_alone(arguments, &new);
    let how = if fixed.is_empty() { String::new() } else { format!("{} with a restart alone", fixed.join(", ")) };
    state.set_limits(quota_limits(&new));
    server.change(rules(&new), &how);
    // The others stay as the server has begun, so that they are named the next time too.
    let ServerArguments { listen, port, state: file, tokens, config, .. } = arguments.clone();
    #[cfg(feature = "metrics")]
    let metrics = arguments.metrics.clone();
    #[cfg(feature = "log")]
    let log_format = arguments.log_format;
    *arguments = ServerArguments {
        listen,
        port,
        state: file,
        tokens,
        config,
        #[cfg(feature = "metrics")]
        metrics,
        #[cfg(feature = "log")]
        log_format,
        ..new
    };
}

/// The options that differ and cannot change while the server runs.
fn with_restart_alone(old: &ServerArguments, new: &ServerArguments) -> Vec<&'static str> {
    let options = [
        ("listen", old.listen != new.listen),
        ("port", old.port != new.port),
        ("state", old.state != new.state),
        ("tokens", old.tokens != new.tokens),
        ("key", old.key != new.key),
        ("allow-plain", old.allow_plain != new.allow_plain),
        #[cfg(feature = "metrics")]
        ("metrics", old.metrics != new.metrics),
        #[cfg(feature = "log")]
        ("log-format", old.log_format != new.log_format),
    ];
    options.into_iter().filter(|(_, differs)| *differs).map(|(name, _)| name).collect()
}

fn rules(arguments: &ServerArguments) -> Rules {
    Rules {
        limits: Limits {
            sessions: arguments.max_sessions,
            length: arguments.max_length,
            flood_bits_per_second: arguments.allow_flood.0,
            ..Limits::default()
        },
        load: arguments.egress.unwrap_or_default(),
        marks: arguments.dscp.unwrap_or_default(),
        privacy: if arguments.private { Privacy::Strict } else { Privacy::Open },
    }
}

fn quota_limits(arguments: &ServerArguments) -> QuotaLimits {
    QuotaLimits {
        tests_per_hour: arguments.tests_per_hour,
        octets_per_day: arguments.data_per_day.0,
        total_tests_per_hour: arguments.all_tests_per_hour,
        total_octets_per_day: arguments.all_data_per_day.0,
        counts_private: arguments.count_private,
    }
}

/// Waits for the flag, the condition, or until this time has passed.
fn wait_for(flag: &AtomicBool, most: Option<Duration>, mut condition: impl FnMut() -> bool) {
    let deadline = most.map(|most| Instant::now() + most);
    while !flag.load(Ordering::Relaxed) && !condition() && deadline.is_none_or(|deadline| Instant::now() < deadline) {
        std::thread::sleep(LOOK);
    }
}

/// What the service manager is to know (sd_notify(3)).
#[derive(Debug, Clone, Copy)]
enum State {
    Ready,
    Stopping,
}

#[cfg(feature = "log")]
fn tell_manager(state: State) {
    let state = match state {
        State::Ready => sd_notify::NotifyState::Ready,
        State::Stopping => sd_notify::NotifyState::Stopping,
    };
    // Without a manager that listens nothing is sent.
    let _ = sd_notify::notify(&[state]);
}

#[cfg(not(feature = "log"))]
fn tell_manager(_: State) {}
