//! What a thousand clients that only probe, and a few that take all they can, cost a server and one another.
//!
//! A server in a process of its own over the loopback interface. One client probes 200 times a second for a while alone,
//! then beside a thousand others, each with a control connection, a test and a probe a second; and, at another server, beside
//! clients that take as much as a server grants, and more. Held against limits: what is added to the 99th percentile of that
//! client's round trip, its loss beside the greedy ones, and the server's memory for each of the thousand. Ends with exit code
//! 1 when a limit is not met.
//!
//! Standard output, and how it ends, are the result.

#![allow(clippy::unwrap_used, reason = "a benchmark that cannot be made may panic")]
#![allow(dead_code, reason = "modules of tests, of which this uses a part")]

#[path = "../../tests/common/mod.rs"]
mod common;
mod greedy;
#[path = "../../tests/sessions/prober.rs"]
mod prober;
#[path = "../../tests/sessions/stranger.rs"]
mod stranger;

use std::io::{BufRead, BufReader, Read};
use std::net::{Ipv4Addr, SocketAddr};
use std::process::{Child, Command, ExitCode, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::server::{LoadPolicy, Server, ServerOptions};
use rrul_proto::control::ClientMessage;
use rrul_proto::limits::Limits;
use rrul_proto::test_packet::{LEAST_OCTETS, TestPacket};

use prober::Prober;
use stranger::Stranger;

const CLIENTS: usize = 1000;

/// Added to the 99th percentile of a round trip.
const ADDED: Duration = Duration::from_millis(1);

/// Of the probes of one client, lost beside greedy ones.
const LOST: f64 = 0.001;

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
    // Any number of tests may load: what is measured is not whose turn it is.
    let load = LoadPolicy::Unlimited;
    let server = Server::start(ServerOptions { addresses, port: 0, limits, load, ..ServerOptions::default() }).unwrap();
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

/// Round trips of one client.
struct RoundTrips {
    /// Ascending.
    took: Vec<Duration>,
    lost: usize,
}

impl RoundTrips {
    fn percentile(&self, percent: usize) -> Duration {
        self.took[(self.took.len() * percent / 100).min(self.took.len() - 1)]
    }

    /// Share of the probes.
    fn loss(&self) -> f64 {
        self.lost as f64 / (self.lost + self.took.len()) as f64
    }
}

/// Waits until this probe of a client is answered.
fn is_answered(prober: &Prober, number: u32) -> bool {
    let mut octets = [0; LEAST_OCTETS];
    while prober.socket.recv(&mut octets).is_ok() {
        if TestPacket::read(&octets).is_ok_and(|reply| reply.sequence == number) {
            return true;
        }
    }
    false
}

fn round_trips(prober: &mut Prober) -> RoundTrips {
    prober.socket.set_nonblocking(false).unwrap();
    prober.socket.set_read_timeout(Some(Duration::from_secs(1))).unwrap();
    let mut lost = 0;
    let begun = Instant::now();
    let mut measured = Vec::new();
    let mut due = begun;
    let mut kept = begun;
    while begun.elapsed() < MEASURED {
        due += INTERVAL;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
        let sent = Instant::now();
        let number = prober.sent;
        prober.send();
        if is_answered(prober, number) {
            measured.push(sent.elapsed());
        } else {
            lost += 1;
        }
        if kept.elapsed() > Duration::from_secs(2) {
            keep(&mut prober.client);
            kept = Instant::now();
        }
    }
    measured.sort_unstable();
    RoundTrips { took: measured, lost }
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

/// Ends a server.
fn end(mut server: Child) {
    drop(server.stdin.take());
    server.wait().unwrap();
}

/// Prints round trips without others and beside them; what these add to the 99th percentile.
fn compare(others: &str, alone: &RoundTrips, beside: &RoundTrips) -> Duration {
    for (name, measured) in [("alone", alone), (others, beside)] {
        println!("{name}: P50 {:.1?}, P99 {:.1?}", measured.percentile(50), measured.percentile(99));
    }
    let added = beside.percentile(99).saturating_sub(alone.percentile(99));
    println!("added to the P99: {added:.1?}, limit {ADDED:.1?}");
    added
}

/// Whether a thousand clients that probe cost what they may.
fn beside_a_crowd() -> bool {
    let (server, address) = start();
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
    end(server);
    let each = after.saturating_sub(before) / CLIENTS as u64;
    let added = compare(&format!("beside {CLIENTS} clients"), &alone, &beside);
    println!("their probes: {answered} of {sent} answered");
    println!("memory of the server for each: {:.1} KiB, limit {} KiB", each as f64 / 1024.0, MEMORY / 1024);
    added <= ADDED && each <= MEMORY && answered == sent && beside.lost == 0
}

/// Whether clients that take all they can cost another what they may.
fn beside_greedy_clients() -> bool {
    let (server, address) = start();
    let mut measuring = probing(address, Ipv4Addr::LOCALHOST, "5ms");
    let alone = round_trips(&mut measuring);
    let stopped = AtomicBool::new(false);
    let (beside, steps) = std::thread::scope(|scope| {
        let greedy = greedy::start(scope, address, &stopped);
        std::thread::sleep(Duration::from_secs(1));
        let beside = round_trips(&mut measuring);
        stopped.store(true, Ordering::Relaxed);
        let steps: Vec<(&str, u64)> = greedy.into_iter().map(|(name, thread)| (name, thread.join().unwrap())).collect();
        (beside, steps)
    });
    let memory = memory(server.id());
    end(server);
    let added = compare("beside greedy clients", &alone, &beside);
    for (name, steps) in &steps {
        println!("{name}: {steps}");
    }
    println!("lost: {:.3} %, limit {:.3} %", beside.loss() * 100.0, LOST * 100.0);
    println!("memory of the server: {:.1} MiB", memory as f64 / f64::from(1 << 20));
    added <= ADDED && beside.loss() <= LOST && steps.iter().all(|(_, steps)| *steps > 0)
}

fn main() -> ExitCode {
    if std::env::args().any(|word| word == SERVES) {
        return serve();
    }
    let met = [beside_a_crowd(), beside_greedy_clients()];
    if met == [true, true] {
        ExitCode::SUCCESS
    } else {
        println!("a limit is not met");
        ExitCode::FAILURE
    }
}
