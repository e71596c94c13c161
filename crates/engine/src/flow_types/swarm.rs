//! A swarm: dozens to hundreds of TCP streams at once, each at a low rate, in one direction (spec, "Possible Problems").
//!
//! A program that shares files keeps such streams: they join one after another over the first seconds, and the kernel at the
//! sender limits each to its rate. At the client one thread serves all flows of this type, on a tick; a stream that breaks is
//! opened again.

use std::collections::BTreeMap;
use std::io::{self, Read};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{Direction, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::FlowEventKind;
use rrul_model::time::TestTime;
use rrul_model::units::BitRate;
use rrul_proto::opening::{CLIENT_OCTETS, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::short_flow::{NUMBER_OCTETS, encode_number};
use socket2::{SockRef, Socket};

use super::{parallel_setup, stream_opening};
use crate::clock::test_clock::TestClock;
use crate::connection_totals::Opened;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::observer::ObservationSink;
use crate::server::parts::connections::ManyStreams;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::socket::wait::{self, is_not_ready};
use crate::socket::{options, stream};

const NAME: &str = "swarm";

const DEFAULT_STREAMS: u32 = 32;
const MOST_STREAMS: u32 = 256;
const DEFAULT_RATE: BitRate = BitRate(100_000);
const LEAST_RATE: BitRate = BitRate(1_000);

/// In which the streams of a flow join, evenly spread.
const JOINING: Duration = Duration::from_secs(5);

/// How long after a stream has broken, or was refused, another takes its place.
const REPLACING: Duration = Duration::from_secs(1);

/// How often the client looks after every stream.
const TICK: Duration = Duration::from_millis(20);

/// How often both ends note the counters of every stream.
const NOTING: Duration = Duration::from_secs(1);

/// Send buffer of a stream, so that a slow one does not hold megabytes.
const SEND_BUFFER: usize = 64 * 1024;

/// Bytes offered to the kernel in one call.
const PIECE: usize = 16 * 1024;

/// Rows of one stream between two collections, and twice that.
const ROWS_A_STREAM: usize = 6;

pub(crate) struct Swarm;

impl FlowType for Swarm {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: NAME,
            about: "many TCP streams at a low rate each, in one direction, as in file sharing",
            directed: true,
            parameters: &[
                ParameterWord {
                    name: "streams",
                    kind: ParameterKind::Count,
                    about: "number of streams, which join over the first 5 s; default 32, most 256",
                },
                ParameterWord {
                    name: "rate",
                    kind: ParameterKind::Rate,
                    about: "of each stream at most; default 100kbit/s, least 1kbit/s",
                },
                stream_opening::CONGESTION_CONTROL_PARAMETER,
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &ManyStreams(serve_connection)
    }

    fn connections_per_second(&self, spec: &FlowSpec) -> f64 {
        f64::from(streams_of(spec)) / JOINING.as_secs_f64()
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        BTreeMap::from([("rate", format!("{}bit/s", rate_of(spec).0))])
    }

    fn load(&self, _spec: &FlowSpec) -> Option<Footprint> {
        None
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        parallel_setup::spawn_one(NAME, specs, initiation, Member::new, run)
    }
}

fn serve_connection(spec: &FlowSpec, stream: &Arc<TcpStream>, answer: &[u8], end: &Endpoint) {
    let Some(clock) = end.clock() else { return };
    let started = clock.now();
    let Some(connection) = stream_opening::number_of(stream, spec, end) else { return };
    let mut served = Served {
        opened: Opened { flow: spec.id, connection, started },
        noted: started,
        sink: end.observer.sink(ROWS_A_STREAM),
    };
    // What broke shows at the client, and in what the kernel counted.
    let _ = serve(spec, stream, answer, end, clock, &mut served);
    served.note(stream, clock.now());
}

fn streams_of(spec: &FlowSpec) -> u32 {
    spec.parameters.count("streams", DEFAULT_STREAMS).clamp(1, MOST_STREAMS)
}

fn rate_of(spec: &FlowSpec) -> BitRate {
    spec.parameters.rate("rate").unwrap_or(DEFAULT_RATE).max(LEAST_RATE)
}

/// Limits what a stream sends, and what waits to be sent.
fn limit(socket: &impl std::os::fd::AsFd, spec: &FlowSpec) -> io::Result<()> {
    SockRef::from(socket).set_send_buffer_size(SEND_BUFFER)?;
    options::pace(socket, rate_of(spec))
}

/// A stream at the server, and its counters.
struct Served<'a> {
    opened: Opened,
    noted: TestTime,
    sink: ObservationSink<'a>,
}

impl Served<'_> {
    fn note(&mut self, stream: &TcpStream, now: TestTime) {
        if let Some(totals) = self.opened.tcp(stream, now) {
            self.sink.note(totals);
        }
        self.noted = now;
    }

    fn note_now_and_then(&mut self, stream: &TcpStream, now: TestTime) {
        if now >= self.noted + NOTING {
            self.note(stream, now);
        }
    }
}

/// The server's end of one stream, until the flow ends or the client closes.
fn serve(
    spec: &FlowSpec,
    mut stream: &TcpStream,
    answer: &[u8],
    end: &Endpoint,
    clock: TestClock,
    served: &mut Served<'_>,
) -> io::Result<()> {
    stream::prepare(stream, PATIENCE)?;
    io::Write::write_all(&mut stream, answer)?;
    let goes_on = || !end.is_stopped() && clock.now() < end.ends(spec.window.to);
    match spec.direction.unwrap_or(Direction::Down) {
        Direction::Down => {
            limit(stream, spec)?;
            stream.set_nonblocking(true)?;
            let file = stream::random_file()?;
            let mut offset = 0;
            while goes_on() {
                match stream::send_part(stream, file, offset, PIECE) {
                    Ok(sent) => offset = (offset + sent) % stream::CHUNK,
                    Err(error) if is_not_ready(&error) => wait::writable(stream, PATIENCE)?,
                    Err(error) => return Err(error),
                }
                served.note_now_and_then(stream, clock.now());
            }
        }
        Direction::Up => {
            let received = end.sampler.count(spec.id, spec.window);
            while goes_on() {
                match stream::discard(stream) {
                    Ok(0) => return Ok(()),
                    Ok(count) => _ = received.fetch_add(count as u64, Ordering::Relaxed),
                    Err(error) if is_not_ready(&error) => {}
                    Err(error) => return Err(error),
                }
                served.note_now_and_then(stream, clock.now());
            }
        }
    }
    Ok(())
}

/// A stream at the client.
struct Peer {
    stream: TcpStream,
    opened: Opened,
    /// What the client says first, and how much of it has been sent.
    head: [u8; CLIENT_OCTETS + NUMBER_OCTETS],
    said: usize,
    /// What the server says first, and how much of it has been read.
    answer: [u8; SERVER_OCTETS],
    heard: usize,
    /// Where in the random bytes the next ones stand.
    offset: usize,
}

impl Peer {
    /// Goes on as far as the socket lets it. Returns bytes received.
    ///
    /// # Errors
    /// When the stream cannot be opened, is refused or breaks.
    fn proceed(&mut self, direction: Direction, file: &std::fs::File) -> io::Result<u64> {
        while self.said < self.head.len() {
            match stream::send_now(&self.stream, &self.head[self.said..]) {
                Ok(sent) => self.said += sent,
                // Also as long as the handshake lasts.
                Err(error) if is_not_ready(&error) => return Ok(0),
                Err(error) => return Err(error),
            }
        }
        while self.heard < self.answer.len() {
            match (&self.stream).read(&mut self.answer[self.heard..]) {
                Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                Ok(count) => self.heard += count,
                Err(error) if is_not_ready(&error) => return Ok(0),
                Err(error) => return Err(error),
            }
        }
        if !self.is_served() {
            return Err(io::ErrorKind::ConnectionRefused.into());
        }
        match direction {
            Direction::Up => loop {
                match stream::send_part(&self.stream, file, self.offset, PIECE) {
                    Ok(sent) => self.offset = (self.offset + sent) % stream::CHUNK,
                    Err(error) if is_not_ready(&error) => return Ok(0),
                    Err(error) => return Err(error),
                }
            },
            Direction::Down => {
                let mut octets = 0;
                loop {
                    match stream::discard(&self.stream) {
                        Ok(0) => return Err(io::ErrorKind::UnexpectedEof.into()),
                        Ok(count) => octets += count as u64,
                        Err(error) if is_not_ready(&error) => return Ok(octets),
                        Err(error) => return Err(error),
                    }
                }
            }
        }
    }

    /// Whether the server has accepted the stream.
    fn is_served(&self) -> bool {
        self.heard == SERVER_OCTETS
            && matches!(ServerOpening::decode(&self.answer), Ok(ServerOpening { status: Status::Accepted, .. }))
    }
}

/// One flow at the client: its share in the swarm.
struct Member {
    spec: FlowSpec,
    direction: Direction,
    server: SocketAddr,
    opening: [u8; CLIENT_OCTETS],
    received: Arc<AtomicU64>,
    peers: Vec<Peer>,
    /// Streams that are to be opened, each at its time.
    to_open: Vec<TestTime>,
    next_number: u32,
    noted: TestTime,
    /// Why the last stream broke; `None` as soon as one is served.
    trouble: Option<io::Error>,
    was_served: bool,
}

impl Member {
    fn new(spec: &FlowSpec, initiation: &Initiation) -> Result<Self, SetupError> {
        let server = initiation.server_for(spec)?;
        let streams = streams_of(spec);
        let joins = |stream: u32| spec.window.from + JOINING * stream / streams;
        let direction = spec.direction.unwrap_or(Direction::Down);
        let member = Self {
            spec: spec.clone(),
            direction,
            server,
            opening: initiation.stream_opening(spec.id),
            received: Arc::default(),
            peers: Vec::with_capacity(streams as usize),
            to_open: (0..streams).map(joins).collect(),
            next_number: 0,
            noted: spec.window.from,
            trouble: None,
            was_served: false,
        };
        // Whether this host marks such sockets, and what congestion control it has, shows before the test.
        let socket = member.socket().map_err(SetupError::socket("cannot set up a connection"))?;
        stream_opening::prepare(&socket, spec, &initiation.end)?;
        let received = (direction == Direction::Down).then(|| initiation.end.sampler.count(spec.id, spec.window));
        Ok(Self { received: received.unwrap_or_default(), ..member })
    }

    fn socket(&self) -> io::Result<Socket> {
        let socket = stream_opening::connecting_socket(&self.spec)?;
        options::congestion_control(&socket, stream_opening::congestion_control(&self.spec), options::Asker::User)?;
        if self.direction == Direction::Up {
            limit(&socket, &self.spec)?;
        }
        Ok(socket)
    }

    fn open(&mut self, now: TestTime) -> io::Result<Peer> {
        let socket = self.socket()?;
        match socket.connect(&self.server.into()) {
            Err(error) if error.raw_os_error() != Some(libc::EINPROGRESS) => return Err(error),
            _ => {}
        }
        let connection = self.next_number;
        self.next_number += 1;
        let mut head = [0; CLIENT_OCTETS + NUMBER_OCTETS];
        head[..CLIENT_OCTETS].copy_from_slice(&self.opening);
        head[CLIENT_OCTETS..].copy_from_slice(&encode_number(connection));
        let opened = Opened { flow: self.spec.id, connection, started: now };
        let stream = TcpStream::from(socket);
        Ok(Peer { stream, opened, head, said: 0, answer: [0; SERVER_OCTETS], heard: 0, offset: 0 })
    }

    /// Opens the streams that are due.
    fn open_due(&mut self, now: TestTime) {
        let due = self.to_open.iter().filter(|at| **at <= now).count();
        self.to_open.retain(|at| *at > now);
        for _ in 0..due {
            match self.open(now) {
                Ok(peer) => self.peers.push(peer),
                Err(error) => self.lose(error, now),
            }
        }
    }

    /// Another stream will take the place of one that is gone.
    fn lose(&mut self, error: io::Error, now: TestTime) {
        self.trouble = Some(error);
        self.to_open.push(now + REPLACING);
    }

    fn proceed(&mut self, clock: TestClock, file: &std::fs::File, sink: &mut ObservationSink<'_>) {
        let mut lost = Vec::new();
        for (place, peer) in self.peers.iter_mut().enumerate() {
            match peer.proceed(self.direction, file) {
                Ok(octets) => {
                    self.received.fetch_add(octets, Ordering::Relaxed);
                    self.was_served |= peer.is_served();
                }
                Err(error) => lost.push((place, error)),
            }
        }
        let now = clock.now();
        for (place, error) in lost.into_iter().rev() {
            note(&self.peers.swap_remove(place), now, sink);
            self.lose(error, now);
        }
        if now >= self.noted + NOTING {
            self.peers.iter().for_each(|peer| note(peer, now, sink));
            self.noted = now;
        }
    }

    fn end(&mut self, end: &Endpoint, clock: TestClock, sink: &mut ObservationSink<'_>) {
        let now = clock.now();
        self.peers.drain(..).for_each(|peer| note(&peer, now, sink));
        end.finish_sampling(self.spec.id);
        match &self.trouble {
            Some(error) if !self.was_served => end.failed(&self.spec, format!("no stream was served: {error}")),
            _ => end.event(self.spec.id, FlowEventKind::Stopped, ""),
        }
    }
}

fn note(peer: &Peer, now: TestTime, sink: &mut ObservationSink<'_>) {
    if let Some(totals) = peer.opened.tcp(&peer.stream, now) {
        sink.note(totals);
    }
}

/// Serves all flows until the last has ended. The thread's whole life.
fn run(end: &Endpoint, clock: TestClock, mut members: Vec<Member>) {
    let streams: u32 = members.iter().map(|member| streams_of(&member.spec)).sum();
    let mut sink = end.observer.sink(streams as usize * ROWS_A_STREAM + 256);
    let file = match stream::random_file() {
        Ok(file) => file,
        Err(error) => return members.iter().for_each(|member| end.failed(&member.spec, error.to_string())),
    };
    let mut tick = clock.now();
    while !members.is_empty() {
        let now = clock.now();
        for member in members.extract_if(.., |member| end.ends(member.spec.window.to) <= now || end.is_stopped()) {
            let mut member = member;
            member.end(end, clock, &mut sink);
        }
        for member in &mut members {
            member.open_due(now);
            member.proceed(clock, file, &mut sink);
        }
        tick = (tick + TICK).max(clock.now());
        end.sleep_until(clock, tick);
    }
}
