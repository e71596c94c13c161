//! Clients that take as much of a server as it grants, and ask for more.

use std::io::Write;
use std::net::{Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{Scope, ScopedJoinHandle};
use std::time::{Duration, Instant};

use rrul_engine::control_link::{Compression, write};
use rrul_model::random::Random;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose};
use rrul_proto::token::Token;

use crate::prober::Prober;
use crate::stranger::{Stranger, flows};
use crate::{keep, probing};

/// Between two steps: what is measured is a server under attack and not two processors that are full of attackers.
const PACE: Duration = Duration::from_millis(1);

/// Probes in one step, of one client: as many as its session is answered in a second, and half as many more.
const PROBES: usize = 12;

/// Streams of one client that are not read.
const STREAMS: usize = 64;

type Greedy = fn(SocketAddr, Ipv4Addr, &AtomicBool) -> u64;

const GREEDY: [(&str, Greedy); 5] = [
    ("steps of a flood of probes", probe_too_often),
    ("messages", send_messages),
    ("seconds of unread streams", read_nothing),
    ("connections", connect_without_end),
    ("steps of a flood of packets of no session", send_packets),
];

/// Starts each of them at an address of its own; they return how many steps they made.
pub(crate) fn start<'scope>(
    scope: &'scope Scope<'scope, '_>,
    server: SocketAddr,
    stopped: &'scope AtomicBool,
) -> Vec<(&'static str, ScopedJoinHandle<'scope, u64>)> {
    let start = |(number, (name, work)): (u8, (&'static str, Greedy))| {
        (name, scope.spawn(move || work(server, Ipv4Addr::new(127, 200, number, 1), stopped)))
    };
    (1..).zip(GREEDY).map(start).collect()
}

/// Repeats a step until it is stopped; how often.
fn repeat(stopped: &AtomicBool, pace: Duration, mut step: impl FnMut(u64)) -> u64 {
    let mut steps = 0;
    let mut due = Instant::now();
    while !stopped.load(Ordering::Relaxed) {
        step(steps);
        steps += 1;
        due += pace;
        std::thread::sleep(due.saturating_duration_since(Instant::now()));
    }
    steps
}

fn probe_too_often(server: SocketAddr, from: Ipv4Addr, stopped: &AtomicBool) -> u64 {
    let mut prober = probing(server, from, "1ms");
    repeat(stopped, PACE, |step| {
        (0..PROBES).for_each(|_| Prober::send(&mut prober));
        prober.receive();
        if step % 2000 == 0 {
            keep(&mut prober.client);
        }
    })
}

fn send_messages(server: SocketAddr, from: Ipv4Addr, stopped: &AtomicBool) -> u64 {
    let mut client = Stranger::try_from(server, from.into()).unwrap();
    client.control.set_nonblocking(true).unwrap();
    repeat(stopped, PACE, |step| {
        let message = ClientMessage::Time { id: step as u32 };
        if write(&mut client.control, &message, Compression::Never).is_err() {
            // Its kernel is full, or the session is over.
            std::thread::sleep(Duration::from_millis(100));
            if let Some(next) = Stranger::try_from(server, from.into()) {
                next.control.set_nonblocking(true).unwrap();
                client = next;
            }
        }
    })
}

fn read_nothing(server: SocketAddr, from: Ipv4Addr, stopped: &AtomicBool) -> u64 {
    let asked = flows(&format!(
        "title = \"b\"\nphases = {{ load = \"60s\" }}\n[flow.b]\ntype = \"bulk_tcp\"\ndirection = \"down\"\n\
        component = \"load\"\ncount = {STREAMS}\n"
    ));
    let mut client = Stranger::try_from(server, from.into()).unwrap();
    assert!(matches!(client.open(&asked, Duration::from_mins(1)), ServerMessage::Opened { .. }));
    let unread: Vec<TcpStream> = asked.iter().map(|flow| client.stream(flow)).collect();
    client.begin();
    let steps = repeat(stopped, Duration::from_secs(1), |_| {});
    drop(unread);
    steps
}

fn connect_without_end(server: SocketAddr, _: Ipv4Addr, stopped: &AtomicBool) -> u64 {
    repeat(stopped, PACE, |step| {
        let Ok(mut stream) = TcpStream::connect(server) else { return };
        if step % 2 == 0 {
            // The server may have refused it already.
            let _ = stream.write_all(&ClientOpening::new(Purpose::Control, Token::NONE, 0).encode());
        }
    })
}

fn send_packets(server: SocketAddr, from: Ipv4Addr, stopped: &AtomicBool) -> u64 {
    let socket = UdpSocket::bind((from, 0)).unwrap();
    let mut octets = [0; 200];
    repeat(stopped, PACE, |step| {
        Random(step).fill(&mut octets);
        octets[..4].copy_from_slice(b"RR\x01\x01");
        for _ in 0..PROBES {
            // What the kernel has no room for is not sent.
            let _ = socket.send_to(&octets, server);
        }
    })
}
