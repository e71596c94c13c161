//! A server that is attacked in every way at once, beside five clients that test: they get their results, and the server stays as
//! small as it was. `make soak` runs it for an hour (DURATION).

use std::io::{self, Read, Write};
use std::net::{IpAddr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::control_link::{Compression, read, write};
use rrul_model::random::Random;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS};
use rrul_proto::token::Token;

use crate::client::flows;
use crate::endurance::{Holdings, holdings};
use crate::program::{Folder, Server, end_of, run_short, wait_until};
use crate::strangers::packet;
use crate::verdict::Verdict;

/// How long it lasts without RRUL_SOAK_SECONDS.
const SHORT: Duration = Duration::from_secs(20);

/// KiB of memory that a server may take meanwhile, and more than before once all is over.
const MOST_MEMORY: u64 = 256 << 10;
const MOST_GROWTH: u64 = 8 << 10;

/// Clients that test.
const HONEST: usize = 5;

/// Between two steps of an attack: together they take part of a core, and the server's answer to them another.
const PACE: Duration = Duration::from_millis(2);

/// Doubts that such a run may have: other sessions load at the same time.
const EXPECTED: [&str; 1] = ["server_shared"];

fn length() -> Duration {
    let given = std::env::var("RRUL_SOAK_SECONDS").ok();
    given.map_or(SHORT, |seconds| Duration::from_secs(seconds.parse().expect("RRUL_SOAK_SECONDS is a number")))
}

/// A step of an attack, by its number; what the server does to it is no concern of its own.
type Attack = fn(SocketAddr, u64) -> io::Result<()>;

const ATTACKS: [(&str, Attack); 7] = [
    ("silent connections", stay_silent),
    ("abandoned sessions", abandon),
    ("bytes of no sense", send_nonsense),
    ("packets of no session", send_packets),
    ("floods of messages", flood_with_messages),
    ("unread streams", read_nothing),
    ("many connections", open_many),
];

fn connect(server: SocketAddr) -> io::Result<TcpStream> {
    let stream = TcpStream::connect_timeout(&server, Duration::from_secs(5))?;
    stream.set_read_timeout(Some(Duration::from_secs(5)))?;
    stream.set_write_timeout(Some(Duration::from_secs(5)))?;
    Ok(stream)
}

/// Connects for this purpose, and is accepted.
fn accepted(server: SocketAddr, purpose: Purpose, token: Token, flow: u16) -> io::Result<TcpStream> {
    let mut stream = connect(server)?;
    stream.write_all(&ClientOpening::new(purpose, token, flow).encode())?;
    let mut answer = [0; SERVER_OCTETS];
    stream.read_exact(&mut answer)?;
    let answer = ServerOpening::decode(&answer).map_err(io::Error::other)?;
    if answer.status == Status::Accepted { Ok(stream) } else { Err(io::ErrorKind::ConnectionRefused.into()) }
}

/// Opens a session.
fn session(server: SocketAddr) -> io::Result<(TcpStream, Token)> {
    let mut control = accepted(server, Purpose::Control, Token::NONE, 0)?;
    match read(&mut control, Duration::from_secs(5), Compression::Allowed).map_err(io::Error::other)? {
        ServerMessage::Welcome { token, .. } => Ok((control, token)),
        _ => Err(io::ErrorKind::InvalidData.into()),
    }
}

/// Opens a test of `short.toml`, and its streams.
fn test(server: SocketAddr) -> io::Result<(TcpStream, Token, Vec<TcpStream>)> {
    let (mut control, token) = session(server)?;
    let flows = flows();
    let length = Duration::from_secs(4);
    let open = ClientMessage::Open { flows: flows.clone(), length, sample_interval: Duration::from_millis(10) };
    write(&mut control, &open, Compression::Never).map_err(io::Error::other)?;
    let bulk = flows.iter().filter(|flow| flow.flow_type == "bulk_tcp");
    let streams = bulk.map(|flow| accepted(server, Purpose::Stream, token, flow.id.0)).collect::<io::Result<_>>()?;
    Ok((control, token, streams))
}

fn stay_silent(server: SocketAddr, _: u64) -> io::Result<()> {
    let held: Vec<TcpStream> = (0..50).map(|_| connect(server)).collect::<io::Result<_>>()?;
    std::thread::sleep(Duration::from_millis(500));
    drop(held);
    Ok(())
}

fn abandon(server: SocketAddr, round: u64) -> io::Result<()> {
    match round % 3 {
        0 => session(server).map(drop),
        _ => test(server).map(drop),
    }
}

fn send_nonsense(server: SocketAddr, round: u64) -> io::Result<()> {
    let mut octets = vec![0; (round % 4096) as usize];
    Random(round).fill(&mut octets);
    let mut stream = connect(server)?;
    if round.is_multiple_of(2) {
        stream.write_all(&ClientOpening::new(Purpose::Control, Token::NONE, 0).encode())?;
        // A message of 2 GB, or of what the bytes happen to say.
        stream.write_all(if round.is_multiple_of(4) { &[0x7f, 0xff, 0xff, 0xff] } else { &[] })?;
    }
    stream.write_all(&octets)
}

fn send_packets(server: SocketAddr, round: u64) -> io::Result<()> {
    let socket = UdpSocket::bind((unspecified(server), 0))?;
    socket.connect(server)?;
    let mut octets = vec![0; 60 + (round % 1400) as usize];
    for number in 0..20 {
        Random(round * 20 + number).fill(&mut octets);
        socket.send(&octets)?;
    }
    socket.send(&packet(Kind::Greeting, Token([9; 16]), 1, LEAST_OCTETS))?;
    socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    if socket.recv(&mut octets).is_ok() {
        REPLIES.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// Replies to packets of no session.
static REPLIES: AtomicU64 = AtomicU64::new(0);

fn unspecified(server: SocketAddr) -> IpAddr {
    if server.is_ipv4() { IpAddr::from([0; 4]) } else { IpAddr::from([0; 16]) }
}

fn flood_with_messages(server: SocketAddr, _: u64) -> io::Result<()> {
    let (mut control, _) = session(server)?;
    for id in 0..500 {
        write(&mut control, &ClientMessage::Time { id }, Compression::Never).map_err(io::Error::other)?;
    }
    Ok(())
}

fn read_nothing(server: SocketAddr, _: u64) -> io::Result<()> {
    let (mut control, _, streams) = test(server)?;
    write(&mut control, &ClientMessage::Begin { origin: 1_000_000_000 }, Compression::Never)
        .map_err(io::Error::other)?;
    std::thread::sleep(Duration::from_secs(2));
    drop(streams);
    Ok(())
}

fn open_many(server: SocketAddr, _: u64) -> io::Result<()> {
    let (_control, token, _streams) = test(server)?;
    for flow in 0..60 {
        let mut stream = connect(server)?;
        stream.write_all(&ClientOpening::new(Purpose::Stream, token, flow % 4).encode())?;
    }
    Ok(())
}

/// One client that tests until the end; how often.
fn test_honestly(server: &Server, name: &str, until: Instant) -> u64 {
    let mut runs = 0;
    while Instant::now() < until {
        let folder = Folder::with_plan();
        let ended = end_of(run_short(&folder, name, &[]));
        let verdict = Verdict::of(&folder.file("out.rrul"));
        let doubts = verdict.doubts();
        assert!(doubts.iter().all(|doubt| EXPECTED.contains(doubt)), "{doubts:?} {ended:#?}\n{}", server.log());
        assert_eq!(verdict.summary["partial"], serde_json::Value::Null, "{ended:#?}");
        runs += 1;
    }
    runs
}

#[test]
fn honest_clients_get_their_results_beside_every_attack_at_once() {
    let mut server = Server::listening(&["127.0.0.1", "::1"], &[]);
    let attacked = server.address();
    // From another network than the attacks, as on the Internet.
    let name = format!("[::1]:{}", server.port());
    let process = server.process();
    let idle = holdings(process);
    let until = Instant::now() + length();
    let over = AtomicBool::new(false);
    let (mut most, mut runs) = (idle, 0);
    let steps = ATTACKS.map(|_| AtomicU64::new(0));
    std::thread::scope(|scope| {
        for ((_, attack), steps) in ATTACKS.iter().zip(&steps) {
            scope.spawn(|| {
                while !over.load(Ordering::Relaxed) {
                    // What is refused or closed is tried again.
                    let _ = attack(attacked, steps.fetch_add(1, Ordering::Relaxed));
                    std::thread::sleep(PACE);
                }
            });
        }
        let honest: Vec<_> = (0..HONEST).map(|_| scope.spawn(|| test_honestly(&server, &name, until))).collect();
        while honest.iter().any(|client| !client.is_finished()) {
            let now = holdings(process);
            most = Holdings {
                memory: most.memory.max(now.memory),
                threads: most.threads.max(now.threads),
                descriptors: most.descriptors.max(now.descriptors),
            };
            std::thread::sleep(Duration::from_millis(100));
        }
        over.store(true, Ordering::Relaxed);
        for client in honest {
            runs += client.join().unwrap();
        }
    });
    // A session whose client has vanished is forgotten after 15 s.
    wait_until("a server at rest", || holdings(process).threads <= idle.threads + 2);
    let after = holdings(process);
    for ((name, _), steps) in ATTACKS.iter().zip(&steps) {
        println!("{name}: {}", steps.load(Ordering::Relaxed));
    }
    println!("{runs} honest runs; at rest {idle:?}, at most {most:?}, afterwards {after:?}");
    assert!(runs >= HONEST as u64);
    assert_eq!(REPLIES.load(Ordering::Relaxed), 0, "replies to packets of no session");
    assert!(most.memory <= MOST_MEMORY, "{most:?}");
    assert!(after.memory <= idle.memory.max(20 << 10) + MOST_GROWTH, "at rest {idle:?}, afterwards {after:?}");
    assert!(after.descriptors <= idle.descriptors + 4, "at rest {idle:?}, afterwards {after:?}");
    server.assert_sound();
}
