//! What a thousand clients that only probe cost a server, and one another.
//!
//! A server in a process of its own over the loopback interface. One client probes 200 times a second for a while alone,
//! then beside the others, each with a control connection, a test and a probe a second. Held against limits: what is added
//! to the 99th percentile of that client's round trip, and the server's memory for each of the others. Ends with exit code
//! 1 when a limit is not met.
//!
//! Standard output, and how it ends, are the result.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be made may panic")]
#![allow(dead_code, reason = "modules of tests, of which this uses a part")]

#[path = "../../tests/common/mod.rs"]
mod common;
#[path = "../../tests/sessions/prober.rs"]
mod prober;
#[path = "../../tests/sessions/stranger.rs"]
mod stranger;

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::server::{Server, ServerOptions};
use rrul_proto::control::ClientMessage;
use rrul_proto::limits::Limits;
use rrul_proto::test_packet::LEAST_OCTETS;

use prober::Prober;
use stranger::Stranger;

const CLIENTS: usize = 1000;

/// Added to the 99th percentile of a round trip.
const ADDED: Duration = Duration::from_millis(1);

/// Bytes of the server's memory for one client.
const MEMORY: u64 = 64 * 1024;

/// How long round trips are measured, without the others and beside them.
const MEASURED: Duration = Duration::from_secs(20);

/// Between two probes of the client that measures.
const INTERVAL: Duration = Duration::from_millis(5);

/// In the process with this argument the server runs.
const SERVES: &str = "--serve";

/// Serves until its input ends; says where.
fn serve() -> ExitCode {
    let limits = Limits { sessions: 2 * CLIENTS as u32, ..Limits::default() };
    let addresses = vec![Ipv4Addr::UNSPECIFIED.into()];
    let server = Server::start(ServerOptions { addresses, port: 0, limits, ..ServerOptions::default() }).unwrap();
    println!("{}", server.addresses()[0].port());
    std::io::stdin().read_to_end(&mut Vec::new()).unwrap();
    ExitCode::SUCCESS
}

/// Resident memory of a process, bytes.
fn memory(process: u32) -> u64 {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:")).unwrap();
    line.trim().trim_end_matches(" kB").parse::<u64>().unwrap() * 1024
}

/// A client from this address with a test that runs.
fn probing(server: SocketAddr, from: Ipv4Addr, interval: &str) -> Prober {
    let client = Stranger::try_from(server, from.into()).expect("a place");
    // Counters are read once a second, as a monitor wants it.
    Prober::begin(client, server, interval, Duration::from_secs(1))
}

/// Reads and forgets what the server reports, and says that this client is there.
fn keep(client: &mut Stranger) {
    let mut octets = [0; 8192];
    client.control.set_nonblocking(true).unwrap();
    while client.control.read(&mut octets).is_ok_and(|read| read > 0) {}
    client.control.set_nonblocking(false).unwrap();
    client.say(&ClientMessage::Alive);
}

/// Round trips of one client, ascending.
fn round_trips(prober: &mut Prober) -> Vec<Duration> {
    prober.socket.set_nonblocking(false).unwrap();
    prober.socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let begun = Instant::now();
    let mut measured = Vec::new();
    let mut due = begun;
    let mut kept = begun;
    while begun.elapsed() < MEASURED {
        due += INTERVAL;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let sent = Instant::now();
        prober.send();
        prober.socket.recv(&mut [0; LEAST_OCTETS]).expect("a reply");
        measured.push(sent.elapsed());
        if kept.elapsed() > Duration::from_secs(2) {
            keep(&mut prober.client);
            kept = Instant::now();
        }
    }
    measured.sort_unstable();
    measured
}

fn percentile(measured: &[Duration], percent: usize) -> Duration {
    measured[(measured.len() * percent / 100).min(measured.len() - 1)]
}

/// Has each of these probe once a second, evenly spread, until `stopped`.
fn crowd(probers: &mut [Prober], stopped: &AtomicBool) {
    let each = Duration::from_secs(1) / u32::try_from(probers.len()).unwrap();
    let mut due = Instant::now();
    for round in 0.. {
        for prober in &mut *probers {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            prober.receive();
            prober.send();
            // A client says that it is there every few seconds.
            if round % 4 == 3 {
                keep(&mut prober.client);
            }
            due += each;
            std::thread::sleep(due.saturating_duration_since(Instant::now()));
        }
    }
}

fn start() -> (Child, SocketAddr) {
    let mut server = Command::new(std::env::current_exe().unwrap())
        .arg(SERVES)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut port = String::new();
    BufReader::new(server.stdout.take().unwrap()).read_line(&mut port).unwrap();
    (server, SocketAddr::from((Ipv4Addr::LOCALHOST, port.trim().parse().unwrap())))
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == SERVES) {
        return serve();
    }
    let (mut server, address) = start();
    let mut measuring = probing(address, Ipv4Addr::LOCALHOST, "5ms");
    let alone = round_trips(&mut measuring);
    let before = memory(server.id());
    let mut probers: Vec<Prober> = (0..CLIENTS)
        .map(|number| {
            if number % 50 == 0 {
                keep(&mut measuring.client);
            }
            // Networks of their own, as clients of the Internet have.
            let [high, low] = u16::try_from(number).unwrap().to_be_bytes();
            probing(address, Ipv4Addr::new(127, 1 + high, low, 1), "1s")
        })
        .collect();
    let stopped = AtomicBool::new(false);
    let (beside, after) = std::thread::scope(|scope| {
        scope.spawn(|| crowd(&mut probers, &stopped));
        // The crowd begins.
        std::thread::sleep(Duration::from_secs(3));
        let beside = round_trips(&mut measuring);
        let after = memory(server.id());
        stopped.store(true, Ordering::Relaxed);
        (beside, after)
    });
    std::thread::sleep(Duration::from_secs(1));
    probers.iter_mut().for_each(Prober::receive);
    let sent: u64 = probers.iter().map(|prober| u64::from(prober.sent)).sum();
    let answered: u64 = probers.iter().map(|prober| u64::from(prober.answered)).sum();
    drop(server.stdin.take());
    server.wait().unwrap();
    let each = after.saturating_sub(before) / CLIENTS as u64;
    let added = percentile(&beside, 99).saturating_sub(percentile(&alone, 99));
    println!("round trip alone: P50 {:.1?}, P99 {:.1?}", percentile(&alone, 50), percentile(&alone, 99));
    println!("beside {CLIENTS} clients: P50 {:.1?}, P99 {:.1?}", percentile(&beside, 50), percentile(&beside, 99));
    println!("their probes: {answered} of {sent} answered");
    println!("added to the P99: {added:.1?}, limit {ADDED:.1?}");
    println!("memory of the server for each: {:.1} KiB, limit {} KiB", each as f64 / 1024.0, MEMORY / 1024);
    let met = added <= ADDED && each <= MEMORY && answered == sent;
    if !met {
        println!("a limit is not met");
    }
    if met { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}
