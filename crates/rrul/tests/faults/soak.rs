//! A server that is attacked in every way at once, beside five clients that test: they get their results, and the server stays as
//! small as it was. `make soak` runs it for an hour (DURATION).

use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rrul_engine::control_link::{Compression, ControlStream, read, write};
use rrul_model::flow::FlowSpec;
use rrul_model::random::Random;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::name_question::{Question, RecordKind};
use rrul_proto::opening::{ClientOpening, Offers, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::session_name::SessionName;
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

use crate::client::{flows, flows_of};
use crate::endurance::{Holdings, holdings, vanish};
use crate::page_strangers::{PAGES, get, host, initial};
use crate::program::{Folder, Server, end_of, rrul, run_short, wait_until};
use crate::strangers::packet;
use crate::verdict::Verdict;

/// How long it lasts without RRUL_SOAK_SECONDS.
const SHORT: Duration = Duration::from_secs(20);

/// KiB of memory that a server may take meanwhile, and more of it in the second half of the time than in the first.
const MOST_MEMORY: u64 = 256 << 10;
const MOST_GROWTH: u64 = 8 << 10;

/// KiB of memory that it may keep once all is over: heaps of threads that were many give back little.
const MOST_KEPT: u64 = 64 << 10;

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

const ATTACKS: [(&str, Attack); 12] = [
    ("silent connections", stay_silent),
    ("abandoned sessions", abandon),
    ("bytes of no sense", send_nonsense),
    ("packets of no session", send_packets),
    ("floods of messages", flood_with_messages),
    ("unread streams", read_nothing),
    ("many connections", open_many),
    ("stolen tokens", use_stolen_tokens),
    ("forged packets of encrypted sessions", forge_packets),
    ("handshakes of no sense", shake_no_hands),
    ("questions for names", ask_for_names),
    ("QUIC and pages", ask_for_pages),
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

/// Asks for a test of these flows.
fn open(control: &mut impl Write, flows: &[FlowSpec]) -> io::Result<()> {
    let length = Duration::from_secs(4);
    let open = ClientMessage::Open { flows: flows.to_vec(), length, sample_interval: Duration::from_millis(10) };
    write(control, &open, Compression::Never).map_err(io::Error::other)
}

/// Opens a session with a test of these flows, and hears that it is granted. Returns the number of the first flow of this type.
fn granted(server: SocketAddr, flows: &[FlowSpec], kind: &str) -> io::Result<(TcpStream, Token, u16)> {
    let (mut control, token) = session(server)?;
    open(&mut control, flows)?;
    match read(&mut control, Duration::from_secs(5), Compression::Allowed).map_err(io::Error::other)? {
        ServerMessage::Opened { .. } => {}
        _ => return Err(io::ErrorKind::ConnectionRefused.into()),
    }
    let flow = flows.iter().find(|flow| flow.flow_type == kind).ok_or(io::ErrorKind::NotFound)?;
    Ok((control, token, flow.id.0))
}

/// Opens a test of `short.toml`, and its streams.
fn test(server: SocketAddr) -> io::Result<(TcpStream, Token, Vec<TcpStream>)> {
    let (mut control, token) = session(server)?;
    let flows = flows();
    open(&mut control, &flows)?;
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
    let socket = elsewhere(11, server)?;
    let mut octets = vec![0; 60 + (round % 1400) as usize];
    for number in 0..20 {
        Random(round * 20 + number).fill(&mut octets);
        socket.send(&octets)?;
    }
    socket.send(&packet(Kind::Greeting, Token([9; 16]), 1, LEAST_OCTETS))?;
    expect_silence(&socket, |_| true)
}

/// A socket at an address of this attack alone: at others may arrive what another attack has asked for.
fn elsewhere(host: u8, server: SocketAddr) -> io::Result<UdpSocket> {
    let socket = UdpSocket::bind((Ipv4Addr::new(127, 0, 0, host), 0))?;
    socket.connect(server)?;
    Ok(socket)
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

/// Bytes that came back for so many questions, both together.
static ASKED: AtomicU64 = AtomicU64::new(0);
static ANSWERED: AtomicU64 = AtomicU64::new(0);

/// Counts what comes back, and is a reply, to an address that is owed none.
fn expect_silence(socket: &UdpSocket, is_reply: impl Fn(&[u8]) -> bool) -> io::Result<()> {
    socket.set_read_timeout(Some(Duration::from_millis(5)))?;
    let mut octets = [0; 2048];
    if socket.recv(&mut octets).is_ok_and(|length| is_reply(&octets[..length])) {
        REPLIES.fetch_add(1, Ordering::Relaxed);
    }
    Ok(())
}

/// From another address than the session's, and after its end.
fn use_stolen_tokens(server: SocketAddr, round: u64) -> io::Result<()> {
    let (control, token, flow) = granted(server, &flows(), "udp_probe")?;
    let elsewhere = elsewhere(9, server)?;
    for kind in [Kind::Greeting, Kind::Test] {
        elsewhere.send(&packet(kind, token, flow, LEAST_OCTETS + (round % 1000) as usize))?;
    }
    expect_silence(&elsewhere, |_| true)?;
    drop(control);
    accepted(server, Purpose::Stream, token, 0).map(drop)
}

/// With the token of an encrypted session, and without its keys.
fn forge_packets(server: SocketAddr, _: u64) -> io::Result<()> {
    let mut stream = connect(server)?;
    stream.write_all(&ClientOpening::control(Offers::TLS.and(Offers::SEALS)).encode())?;
    stream.read_exact(&mut [0; SERVER_OCTETS])?;
    let until = Instant::now() + Duration::from_secs(5);
    let (mut control, _) = ControlStream::connect(stream, until).map_err(io::Error::other)?;
    let welcome = read(&mut control, Duration::from_secs(5), Compression::Allowed).map_err(io::Error::other)?;
    let ServerMessage::Welcome { token, .. } = welcome else { return Err(io::ErrorKind::InvalidData.into()) };
    let flows = flows();
    open(&mut control, &flows)?;
    let socket = UdpSocket::bind((unspecified(server), 0))?;
    socket.connect(server)?;
    for flow in &flows {
        for kind in [Kind::Greeting, Kind::Test, Kind::Reply] {
            socket.send(&packet(kind, token, flow.id.0, LEAST_OCTETS))?;
        }
    }
    // The first half of the token names the session in every packet of it.
    let of_session = |packet: &TestPacket| packet.token.0[..8] == token.0[..8];
    expect_silence(&socket, |octets| TestPacket::read(octets).is_ok_and(|packet| of_session(&packet)))?;
    accepted(server, Purpose::Stream, token, flows[0].id.0).map(drop)
}

/// Begins TLS, and goes on with something else or nothing.
fn shake_no_hands(server: SocketAddr, round: u64) -> io::Result<()> {
    let mut stream = connect(server)?;
    stream.write_all(&ClientOpening::control(Offers::TLS).encode())?;
    stream.read_exact(&mut [0; SERVER_OCTETS])?;
    let mut octets = vec![0; (round % 3000) as usize];
    Random(round).fill(&mut octets);
    // A record of TLS, or what is none.
    let begun = if round.is_multiple_of(2) { &[0x16, 3, 1, 0x0b, 0xb8, 1, 0, 0x0b, 0xb4][..] } else { &[] };
    stream.write_all(&[begun, &octets].concat())
}

const LOOKUPS: &str =
    "title = \"t\"\nphases = { load = \"4s\" }\n[flow.d]\ntype = \"dns_lookup\"\ncomponent = \"web\"\n";

/// With a token that is good, and with one that is not.
fn ask_for_names(server: SocketAddr, round: u64) -> io::Result<()> {
    let (_control, token, flow) = granted(server, &flows_of(LOOKUPS), "dns_lookup")?;
    let socket = UdpSocket::bind((unspecified(server), 0))?;
    socket.connect(server)?;
    socket.set_read_timeout(Some(Duration::from_millis(20)))?;
    for number in 0..50 {
        let stranger = number % 5 == 0;
        let token = if stranger { Token([9; 16]) } else { token };
        let label = format!("q{round}-{number}");
        let name = SessionName { label: &label, flow, token }.to_string();
        let question = Question::new(number, &name, RecordKind::A).map_err(io::Error::other)?.encode();
        socket.send(&question)?;
        let mut answer = [0; 2048];
        let answered = socket.recv(&mut answer).unwrap_or(0) as u64;
        // Not that to the question before, which may be late: an answer bears the number of its question.
        if stranger && answered > 0 && answer[..2] == number.to_be_bytes() {
            REPLIES.fetch_add(1, Ordering::Relaxed);
        }
        ASKED.fetch_add(question.len() as u64, Ordering::Relaxed);
        ANSWERED.fetch_add(answered, Ordering::Relaxed);
    }
    Ok(())
}

/// Begins connections of QUIC for a session and for none, asks for pages without reading them, and vanishes.
fn ask_for_pages(server: SocketAddr, round: u64) -> io::Result<()> {
    let (_control, token, flow) = granted(server, &flows_of(PAGES), "web_page")?;
    let stranger = elsewhere(12, server)?;
    for token in [token, Token([9; 16])] {
        stranger.send(&initial(token, flow))?;
    }
    expect_silence(&stranger, |_| true)?;
    let socket = UdpSocket::bind((unspecified(server), 0))?;
    socket.connect(server)?;
    let mut octets = initial(token, flow);
    for _ in 0..4 {
        socket.send(&octets)?;
        let place = 40 + (round % 1000) as usize;
        octets[place] ^= 1;
    }
    let unread: Vec<TcpStream> = (0..8).map(|_| connect(server)).collect::<io::Result<_>>()?;
    for mut stream in &unread {
        stream.write_all(&get(&host(token, flow)))?;
    }
    std::thread::sleep(Duration::from_millis(100));
    Ok(())
}

/// One client that tests until the end; how often.
fn test_honestly(server: &Server, name: &str, until: Instant) -> u64 {
    let mut runs = 0;
    while Instant::now() < until {
        let folder = Folder::with_plan();
        let mut run = run_short(&folder, name, &[]);
        run.env("XDG_DATA_HOME", folder.path());
        let ended = end_of(run);
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
    let keys = Folder::new();
    let key = keys.file("server.key");
    assert_eq!(end_of(rrul(&keys, &["key", "new", "server.key"])).code, Some(0));
    // Honest clients encrypt.
    let mut server = Server::listening(&["127.0.0.1", "::1"], &["--key", key.to_str().unwrap(), "--allow-plain"]);
    let attacked = server.address();
    // From another network than the attacks, as on the Internet.
    let name = format!("[::1]:{}", server.port());
    let process = server.process();
    let idle = holdings(process);
    let begun = Instant::now();
    let until = begun + length();
    let over = AtomicBool::new(false);
    let (mut most, mut runs) = ([idle; 2], 0);
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
            let most = &mut most[usize::from(2 * begun.elapsed() > length())];
            *most = Holdings {
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
    let (asked, answered) = (ASKED.load(Ordering::Relaxed), ANSWERED.load(Ordering::Relaxed));
    println!("{answered} bytes of answers to {asked} bytes of questions for names");
    println!("{runs} honest runs; at rest {idle:?}, at most in each half {most:?}, afterwards {after:?}");
    assert!(runs >= HONEST as u64);
    assert_eq!(REPLIES.load(Ordering::Relaxed), 0, "replies to packets of no session");
    assert!(answered > 0 && 2 * answered <= 3 * asked, "{answered} bytes for {asked}");
    let [first, second] = most;
    assert!(first.memory.max(second.memory) <= MOST_MEMORY, "{most:?}");
    assert!(second.memory <= first.memory + MOST_GROWTH, "it grows: {most:?}");
    assert!(after.memory <= MOST_KEPT, "at rest {idle:?}, afterwards {after:?}");
    assert!(after.descriptors <= idle.descriptors + 4, "at rest {idle:?}, afterwards {after:?}");
    server.assert_sound();
}

/// Sessions one after another, without RRUL_SOAK_SECONDS and with it.
const SESSIONS: (usize, usize) = (1_000, 100_000);

#[test]
fn sessions_without_number_leave_no_memory_thread_or_descriptor() {
    let count = if std::env::var_os("RRUL_SOAK_SECONDS").is_some() { SESSIONS.1 } else { SESSIONS.0 };
    let mut server = Server::start(&[]);
    let process = server.process();
    let idle = holdings(process);
    (0..200).for_each(|round| vanish(&server, round));
    // What the first sessions open is for all.
    let mut warm = holdings(process);
    wait_until("the end of the first sessions", || {
        warm = holdings(process);
        warm.threads == idle.threads && warm.descriptors <= idle.descriptors + 2
    });
    (0..count).for_each(|round| vanish(&server, round));
    wait_until("a server at rest", || {
        let now = holdings(process);
        (now.threads, now.descriptors) == (warm.threads, warm.descriptors)
    });
    let after = holdings(process);
    println!("{count} sessions: before {warm:?}, after {after:?}");
    assert!(after.memory <= warm.memory + MOST_GROWTH, "before {warm:?}, after {after:?}");
    server.assert_sound();
}
