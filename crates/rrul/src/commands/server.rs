//! `rrul server`: answer tests.

#[cfg(feature = "check")]
pub(crate) mod check;
#[cfg(feature = "confine")]
pub(crate) mod rights;

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::control_link::ServerKey;
use rrul_engine::hangup;
use rrul_engine::privacy::Privacy;
#[cfg(feature = "log")]
use rrul_engine::server::take_inherited;
use rrul_engine::server::{GivingWay, Limits, PlainClients, ProfileFor, QuotaLimits, Rules, Server, ServerOptions};

use crate::arguments::ServerArguments;
use crate::failure::Failure;
use crate::live_screen::terminal;
use crate::outcome::Outcome;
use crate::output::say;
use crate::secret_files::AccessFile;
use crate::server_state::ServerState;
use crate::service::manager::{self, State};
use crate::{interruption, secret_files, server_config, server_log};

/// Between two looks at whether it is to stop.
const LOOK: Duration = Duration::from_millis(100);

pub(crate) fn execute(mut arguments: ServerArguments) -> Result<Outcome, Failure> {
    #[cfg(feature = "log")]
    let sockets = take_inherited().map_err(Failure::system("the sockets of the service manager"))?;
    rrul_engine::open_files::raise_limit();
    // What it cannot read any more afterwards is refused now, and not at the first reload.
    #[cfg(feature = "confine")]
    let rights = rights::give_up(&arguments)?;
    #[cfg(feature = "log")]
    let log = server_log::log(arguments.log_format);
    #[cfg(not(feature = "log"))]
    let log = server_log::log();
    let mut state = ServerState::read(arguments.state.clone(), quota_limits(&arguments))?;
    let mut access = arguments.tokens.clone().map(AccessFile::open).transpose()?;
    let mut key = secret_files::server_identity(&arguments)?;
    // Before it announces that it listens: from then on it can be asked to stop.
    let stop = interruption::flag();
    if arguments.config.is_some() || key.is_some() {
        hangup::watch();
    }
    let Rules { limits, load, giving_way, marks, privacy, profile } = rules(&arguments);
    let options = ServerOptions {
        addresses: arguments.listen.clone(),
        port: arguments.port,
        limits,
        marks,
        load,
        giving_way,
        privacy,
        profile,
        key: key.clone(),
        plain: if arguments.allow_plain { PlainClients::Served } else { PlainClients::Refused },
        access: access.as_ref().map(AccessFile::list),
        log,
        quota: state.quota(),
        ..ServerOptions::default()
    };
    #[cfg(feature = "log")]
    let server = Server::start_with(sockets, options)?;
    #[cfg(not(feature = "log"))]
    let server = Server::start(options)?;
    let server = Arc::new(server);
    #[cfg(feature = "metrics")]
    if let Some(place) = &arguments.metrics {
        crate::server_metrics::serve(place, &server)?;
    }
    for address in server.addresses() {
        say(format_args!("listening on {address}, TCP and UDP"));
    }
    if let Some(key) = &key {
        #[cfg(feature = "certificates")]
        if let Some(file) = &arguments.certificate {
            say(format_args!("certificate {}", file.display()));
        }
        say(format_args!("key {}", key.fingerprint()));
    }
    #[cfg(feature = "confine")]
    rights.iter().for_each(say);
    say("test from another host: rrul run <this host>");
    manager::tell(State::Ready);
    wait_for(&stop, None, || {
        state.write_now_and_then();
        access.iter_mut().for_each(AccessFile::look);
        if hangup::taken() {
            reload(&mut arguments, &mut key, &server, &state);
        }
        false
    });
    manager::tell(State::Stopping);
    server.drain();
    wait_for(&AtomicBool::new(false), Some(arguments.drain), || {
        access.iter_mut().for_each(AccessFile::look);
        server.sessions() == 0
    });
    drop(server);
    state.write();
    Ok(Outcome::Good)
}

/// Reads the options, the key and the certificate anew, and puts in force what needs no restart. With a mistake in a file all stay as
/// they are.
fn reload(arguments: &mut ServerArguments, key: &mut Option<ServerKey>, server: &Server, state: &ServerState) {
    let read =
        server_config::completed(arguments.clone()).and_then(|new| Ok((secret_files::server_identity(&new)?, new)));
    let (new_key, new) = match read {
        Ok(read) => read,
        Err(failure) => return terminal::say(&format!("rrul: {failure}; the options stay as they are")),
    };
    let fixed = with_restart_alone(arguments, &new);
    let restart = (!fixed.is_empty()).then(|| format!("{} with a restart alone", fixed.join(", ")));
    let known = key.as_ref().map(ServerKey::fingerprint);
    let found = new_key.as_ref().map(ServerKey::fingerprint);
    let other_key =
        (found != known).then(|| found.map_or_else(|| "no key any more".to_owned(), |found| format!("key {found}")));
    let how: Vec<String> = restart.into_iter().chain(other_key).collect();
    state.set_limits(quota_limits(&new));
    server.change(rules(&new), new_key.clone(), &how.join("; "));
    *key = new_key;
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
        giving_way: GivingWay { share: arguments.share, ..GivingWay::default() },
        marks: arguments.dscp.unwrap_or_default(),
        privacy: if arguments.private { Privacy::Strict } else { Privacy::Open },
        profile: if arguments.tell_host { ProfileFor::Everybody } else { ProfileFor::WithToken },
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
