//! `rrul server --check`: what this host lacks to be a good server, one line each.

use std::fmt;
use std::fs;
use std::net::{SocketAddr, TcpListener};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
#[cfg(feature = "certificates")]
use std::time::Duration;
use std::time::{SystemTime, UNIX_EPOCH};

#[cfg(feature = "certificates")]
use rrul_engine::control_link::ServerKey;
use rrul_engine::scheduling;
use rrul_engine::server::{Limits, PortState, PortTrial, QuotaLimits, try_ports};
use rustix::process::{Resource, getrlimit};

use crate::arguments::ServerArguments;
use crate::failure::Failure;
use crate::outcome::Outcome;
use crate::output::say;
use crate::secret_files::{self, AccessFile};
use crate::server_config;
use crate::server_state::{self, ServerState};

/// Descriptors of a server beside those of connections and sessions.
const OWN_DESCRIPTORS: u64 = 64;

/// Clock sources that take microseconds to read, or are coarse.
const SLOW_CLOCKS: [&str; 5] = ["acpi_pm", "hpet", "jiffies", "pit", "refined-jiffies"];

/// Bytes that a stream needs in flight for 400 Mbit/s at 80 ms, the longest round trip of the specification.
const LEAST_TCP_BUFFER: u64 = 4 << 20;

/// The kernel's own default of the receive buffer of a UDP socket, bytes.
const LEAST_UDP_BUFFER: u64 = 212_992;

/// Days before its end when a certificate is to be renewed: programs that renew them do so earlier.
#[cfg(feature = "certificates")]
const RENEWAL_DAYS: u64 = 14;

/// How much a finding matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Grade {
    Good,
    /// The server runs, but measures less well or serves fewer clients.
    Note,
    /// The server cannot run as asked.
    Problem,
}

/// What one check has found.
#[derive(Debug)]
struct Finding {
    grade: Grade,
    what: &'static str,
    words: String,
}

impl Finding {
    fn new(grade: Grade, what: &'static str, words: impl Into<String>) -> Self {
        Self { grade, what, words: words.into() }
    }
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let grade = match self.grade {
            Grade::Good => "ok",
            Grade::Note => "note",
            Grade::Problem => "problem",
        };
        write!(f, "{grade:<8} {}: {}", self.what, self.words)
    }
}

/// Prints what this host lacks for a server with these options; doubtful when the server cannot run as asked.
pub(crate) fn execute(given: ServerArguments) -> Outcome {
    let mut findings = Vec::new();
    let arguments = match server_config::completed(given.clone()) {
        Ok(arguments) => {
            findings.extend(given.config.map(|path| Finding::new(Grade::Good, "options", path.display().to_string())));
            arguments
        }
        Err(failure) => {
            findings.push(Finding::new(Grade::Problem, "options", failure.to_string()));
            given
        }
    };
    let host = Host { root: PathBuf::from("/") };
    findings.extend(try_ports(&arguments.listen, arguments.port).iter().map(port));
    if arguments.listen.is_empty() {
        findings.push(host.ipv6());
    }
    findings.push(firewall(arguments.port));
    findings.extend(identity(&arguments));
    findings.extend(arguments.tokens.as_deref().map(tokens));
    findings.extend(arguments.state.as_deref().map(state));
    #[cfg(feature = "metrics")]
    findings.extend(arguments.metrics.as_deref().map(metrics));
    findings.push(descriptors(getrlimit(Resource::Nofile).maximum, arguments.max_sessions));
    findings.push(realtime(&scheduling::realtime_ability()));
    findings.push(user(rustix::process::geteuid().is_root()));
    findings.extend([host.clock(), host.congestion_control(), host.tcp_buffers(), host.udp_buffer()]);
    findings.iter().for_each(say);
    if findings.iter().any(|finding| finding.grade == Grade::Problem) { Outcome::Doubtful } else { Outcome::Good }
}

fn port(PortTrial { address, transport, state }: &PortTrial) -> Finding {
    match state {
        PortState::Free => Finding::new(Grade::Good, "port", format!("{transport} {address} is free")),
        PortState::NoFamily => {
            Finding::new(Grade::Note, "port", format!("{transport} {address}: no IPv6 on this host"))
        }
        PortState::Refused(error) => Finding::new(Grade::Problem, "port", format!("{transport}: {error}")),
    }
}

fn firewall(port: u16) -> Finding {
    let words = format!(
        "not visible from here; open TCP and UDP port {port}, and test from another host: rrul run <this host> --plan ping"
    );
    Finding::new(Grade::Note, "firewall", words)
}

/// By what clients would recognize the server, and until when.
fn identity(arguments: &ServerArguments) -> Vec<Finding> {
    match secret_files::server_identity(arguments) {
        Ok(None) => Vec::new(),
        Ok(Some(key)) => {
            let mut findings = vec![Finding::new(Grade::Good, "key", key.fingerprint().to_string())];
            #[cfg(feature = "certificates")]
            findings.extend(certificate(&key, seconds_now()));
            findings
        }
        Err(failure) => {
            let given = arguments.identity_files().find_map(|path| not_yet("key", path));
            vec![given.unwrap_or_else(|| Finding::new(Grade::Problem, "key", failure.to_string()))]
        }
    }
}

/// A file that the service manager is to provide, and that is not there while the service does not run.
fn not_yet(what: &'static str, path: &Path) -> Option<Finding> {
    let missing = secret_files::is_credential(path) && !path.exists();
    let words = || format!("{} is there while the service runs; start it and run this again", path.display());
    missing.then(|| Finding::new(Grade::Note, what, words()))
}

#[cfg(feature = "certificates")]
fn certificate(key: &ServerKey, now: u64) -> Option<Finding> {
    let end = key.certificate_expiry()?;
    let day = day(end);
    let days = end.saturating_sub(now) / 86_400;
    Some(if end <= now {
        let words = format!("expired on {day}, so that clients refuse the server; renew it");
        Finding::new(Grade::Problem, "certificate", words)
    } else if days < RENEWAL_DAYS {
        let words = format!("expires in {days} days, on {day}; renew it, then reload or restart the server");
        Finding::new(Grade::Note, "certificate", words)
    } else {
        Finding::new(Grade::Good, "certificate", format!("valid until {day}"))
    })
}

/// The list of who may test.
fn tokens(path: &Path) -> Finding {
    let list = match AccessFile::open(path.to_owned()) {
        Ok(file) => file.list(),
        Err(failure) => {
            let problem = || Finding::new(Grade::Problem, "tokens", failure.to_string());
            return not_yet("tokens", path).unwrap_or_else(problem);
        }
    };
    let list = list.lock().unwrap_or_else(PoisonError::into_inner);
    let expired: Vec<&str> = list.expired(seconds_now()).collect();
    let path = path.display();
    match (list.count(), expired.len()) {
        (all, gone) if all == gone => Finding::new(
            Grade::Problem,
            "tokens",
            format!("{path}: no token is accepted now, so that every client is refused"),
        ),
        (all, 0) => Finding::new(Grade::Good, "tokens", format!("{path}: {all} accepted")),
        (_, gone) => {
            let names: Vec<&str> = expired.into_iter().filter(|name| !name.is_empty()).collect();
            let whose = if names.is_empty() { String::new() } else { format!(" ({})", names.join(", ")) };
            Finding::new(Grade::Note, "tokens", format!("{path}: {gone} expired{whose}; remove or renew their lines"))
        }
    }
}

fn seconds_now() -> u64 {
    SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |since| since.as_secs())
}

/// The day of a second since 1970, UTC.
#[cfg(feature = "certificates")]
fn day(second: u64) -> String {
    let time = UNIX_EPOCH.checked_add(Duration::from_secs(second)).unwrap_or(UNIX_EPOCH);
    humantime::format_rfc3339_seconds(time).to_string().chars().take(10).collect()
}

fn state(path: &Path) -> Finding {
    let read = ServerState::read(Some(path.to_owned()), QuotaLimits::NONE).map(drop);
    match read.and_then(|()| server_state::try_writing(path).map_err(Failure::file(path))) {
        Ok(()) => Finding::new(Grade::Good, "state", format!("{} is readable and writable", path.display())),
        Err(failure) => {
            let words = format!("{failure}; give the user of the server this file and its folder, or another --state");
            Finding::new(Grade::Problem, "state", words)
        }
    }
}

#[cfg(feature = "metrics")]
fn metrics(place: &str) -> Finding {
    let address = place.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback());
    let problem = match address {
        Some(address) => TcpListener::bind(address).err().map(|error| error.to_string()),
        None if place.starts_with('/') => {
            let folder = Path::new(place).parent().filter(|folder| !folder.is_dir());
            folder.map(|folder| format!("no folder {}", folder.display()))
        }
        None => Some(Failure::MetricsPlace { option: "--metrics", place: place.to_owned() }.to_string()),
    };
    match problem {
        None => Finding::new(Grade::Good, "metrics", place),
        Some(problem) => {
            Finding::new(Grade::Problem, "metrics", format!("{place}: {problem}; choose another --metrics"))
        }
    }
}

fn descriptors(most: Option<u64>, sessions: u32) -> Finding {
    let needed = u64::from(Limits::default().connections) + u64::from(sessions) + OWN_DESCRIPTORS;
    match most {
        Some(most) if most < needed => {
            let words =
                format!("{most} open files at most, {needed} needed at full use; raise LimitNOFILE or ulimit -Hn");
            Finding::new(Grade::Note, "open files", words)
        }
        _ => Finding::new(Grade::Good, "open files", format!("at least {needed}")),
    }
}

fn realtime(ability: &str) -> Finding {
    match ability.strip_prefix("no: ") {
        None => Finding::new(Grade::Good, "real-time priority", "available"),
        Some(why) => {
            let words = format!("missing, so that replies are late on a busy host: {why}");
            Finding::new(Grade::Note, "real-time priority", words)
        }
    }
}

/// Whose rights a server would have.
fn user(is_root: bool) -> Finding {
    match is_root {
        false => Finding::new(Grade::Good, "user", "not root"),
        true if cfg!(feature = "confine") => {
            Finding::new(Grade::Good, "user", "root, whose rights the server gives up when it starts")
        }
        true => {
            let words = "root, whose rights no server needs; run it as another user";
            Finding::new(Grade::Note, "user", words)
        }
    }
}

/// The files of a host in which the kernel describes itself.
struct Host {
    root: PathBuf,
}

impl Host {
    /// The first line of a file; nothing without that file.
    fn line(&self, path: &str) -> Option<String> {
        let text = fs::read_to_string(self.root.join(path)).ok()?;
        text.lines().next().map(|line| line.trim().to_owned())
    }

    fn ipv6(&self) -> Finding {
        let addresses = fs::read_to_string(self.root.join("proc/net/if_inet6")).unwrap_or_default();
        // Address, interface, length, scope (00 is global), flags, name.
        let is_global = |line: &str| line.split_whitespace().nth(3) == Some("00");
        if addresses.lines().any(is_global) {
            Finding::new(Grade::Good, "IPv6", "this host has a global address")
        } else {
            Finding::new(Grade::Note, "IPv6", "no global address, so that clients test IPv4 alone; configure one")
        }
    }

    fn clock(&self) -> Finding {
        let folder = "sys/devices/system/clocksource/clocksource0";
        let Some(source) = self.line(&format!("{folder}/current_clocksource")) else {
            return Finding::new(Grade::Note, "clock", "source unknown");
        };
        if SLOW_CLOCKS.contains(&&*source) {
            let others = self.line(&format!("{folder}/available_clocksource")).unwrap_or_default();
            let words = format!(
                "source {source} is slow to read or coarse; write another of \"{others}\" to /{folder}/current_clocksource"
            );
            return Finding::new(Grade::Note, "clock", words);
        }
        Finding::new(Grade::Good, "clock", format!("source {source}"))
    }

    fn congestion_control(&self) -> Finding {
        let available = self.line("proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        let here = || available.split_whitespace();
        if here().any(|name| name == "cubic") {
            return Finding::new(Grade::Good, "congestion control", available);
        }
        let words = format!("no cubic, which tests use unless they name another ({available}); modprobe tcp_cubic");
        Finding::new(Grade::Note, "congestion control", words)
    }

    fn tcp_buffers(&self) -> Finding {
        let most = |name: &str| {
            let line = self.line(&format!("proc/sys/net/ipv4/{name}"))?;
            line.split_whitespace().nth(2)?.parse::<u64>().ok()
        };
        let small = ["tcp_wmem", "tcp_rmem"].into_iter().filter_map(|name| Some((name, most(name)?)));
        match small.clone().find(|(_, most)| *most < LEAST_TCP_BUFFER) {
            None => Finding::new(Grade::Good, "TCP buffers", format!("at least {} MiB", LEAST_TCP_BUFFER >> 20)),
            Some((name, most)) => {
                let rate = most * 8 / 80 / 1000;
                let words = format!(
                    "net.ipv4.{name} ends in {most} bytes, which limit a stream to {rate} Mbit/s at 80 ms; raise it to {LEAST_TCP_BUFFER}"
                );
                Finding::new(Grade::Note, "TCP buffers", words)
            }
        }
    }

    fn udp_buffer(&self) -> Finding {
        let names = ["rmem_default", "rmem_max", "wmem_max"];
        let read = |name: &str| self.line(&format!("proc/sys/net/core/{name}"))?.parse::<u64>().ok();
        let small = names.into_iter().filter_map(|name| Some((name, read(name)?)));
        match small.clone().find(|(_, bytes)| *bytes < LEAST_UDP_BUFFER) {
            None => Finding::new(Grade::Good, "socket buffers", format!("at least {LEAST_UDP_BUFFER} bytes")),
            Some((name, bytes)) => {
                let words = format!(
                    "net.core.{name} is {bytes} bytes, so that probes may be lost; raise it to {LEAST_UDP_BUFFER}"
                );
                Finding::new(Grade::Note, "socket buffers", words)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A host with these files, in a folder of this name.
    fn host(name: &str, files: &[(&str, &str)]) -> Host {
        let root = std::env::temp_dir().join(format!("rrul-check-{}-{name}", std::process::id()));
        for (path, text) in files {
            let path = root.join(path);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, text).unwrap();
        }
        Host { root }
    }

    impl Drop for Host {
        fn drop(&mut self) {
            if self.root.starts_with(std::env::temp_dir()) {
                let _ = fs::remove_dir_all(&self.root);
            }
        }
    }

    const CLOCK: &str = "sys/devices/system/clocksource/clocksource0/current_clocksource";

    #[test]
    fn a_good_host_has_nothing_to_change() {
        let good = host(
            "good",
            &[
                ("proc/net/if_inet6", "20010db8000000000000000000000001 02 40 00 80 eth0\n"),
                (CLOCK, "tsc\n"),
                ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno cubic\n"),
                ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t4194304\n"),
                ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
                ("proc/sys/net/core/rmem_max", "212992\n"),
                ("proc/sys/net/core/rmem_default", "212992\n"),
                ("proc/sys/net/core/wmem_max", "212992\n"),
            ],
        );
        for finding in [good.ipv6(), good.clock(), good.congestion_control(), good.tcp_buffers(), good.udp_buffer()] {
            assert_eq!(finding.grade, Grade::Good, "{finding}");
        }
    }

    #[test]
    fn each_shortcoming_is_one_line_with_its_remedy() {
        let poor = host(
            "poor",
            &[
                ("proc/net/if_inet6", "fe800000000000000000000000000001 02 40 20 80 eth0\n"),
                (CLOCK, "hpet\n"),
                ("sys/devices/system/clocksource/clocksource0/available_clocksource", "tsc hpet\n"),
                ("proc/sys/net/ipv4/tcp_available_congestion_control", "reno\n"),
                ("proc/sys/net/ipv4/tcp_wmem", "4096\t16384\t1048576\n"),
                ("proc/sys/net/ipv4/tcp_rmem", "4096\t131072\t6291456\n"),
                ("proc/sys/net/core/rmem_max", "65536\n"),
            ],
        );
        for (finding, words) in [
            (poor.ipv6(), "note     IPv6: no global address"),
            (poor.clock(), "write another of \"tsc hpet\" to /sys/devices"),
            (poor.congestion_control(), "modprobe tcp_cubic"),
            (poor.tcp_buffers(), "104 Mbit/s at 80 ms; raise it to 4194304"),
            (poor.udp_buffer(), "net.core.rmem_max is 65536 bytes"),
            (descriptors(Some(1024), 1024), "1024 open files at most, 5184 needed"),
            (realtime("no: EPERM; give CAP_SYS_NICE"), "give CAP_SYS_NICE"),
        ] {
            let line = finding.to_string();
            assert!(finding.grade == Grade::Note && line.contains(words) && !line.contains('\n'), "{line}");
        }
        assert_eq!(descriptors(None, 1024).grade, Grade::Good);
        assert_eq!(realtime("yes").grade, Grade::Good);
        assert_eq!(user(false).grade, Grade::Good);
        assert_eq!(user(true).grade, if cfg!(feature = "confine") { Grade::Good } else { Grade::Note });
    }
}
