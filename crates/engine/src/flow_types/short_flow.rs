//! Short flows: a new TCP connection now and then that carries a given number of bytes (spec: Short Flow Transfer Rate).
//!
//! Most of what a page or an app fetches is over before TCP knows how fast the line is: what counts is how many round
//! trips it takes, and what they last. Open loop, at the instants of a Poisson process: a transfer that drags on does
//! not delay the next. At the client one thread drives all flows of this type.

use std::collections::BTreeMap;
use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rrul_model::flow::{Direction, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{ConnectionTotals, ObservationPoint, ProbesSkipped, Transfer};
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};
use rrul_proto::opening::CLIENT_OCTETS;
use rrul_proto::schedule::poisson_schedule::PoissonSchedule;
use rrul_proto::short_flow::encode_number;
use socket2::{SockRef, Socket};

use super::transfer_attempt::{Attempt, Which};
use super::{WAITING, parallel_setup, stream_opening};
use crate::clock::test_clock::TestClock;
use crate::connection_totals::Opened;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::observer::ObservationSink;
use crate::server::parts::connections::ManyStreams;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::socket::wait::{WaitSet, is_not_ready};
use crate::socket::{options, stream};
use crate::{scheduling, tcp_info};

/// The name in plans.
pub(crate) const NAME: &str = "short_flow";

const DEFAULT_INTERVAL: Duration = Duration::from_secs(2);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(50);

/// What headers, and acknowledgments in the other direction, add to the bytes carried.
const HEADERS_SHARE: f64 = 0.04;

const DEFAULT_OCTETS: u64 = 100_000;
const MOST_OCTETS: u64 = 100_000_000;

/// When a transfer is given up, at both ends.
const LONGEST: Duration = Duration::from_secs(30);

/// Transfers of one flow at the same time; one that is due beyond is left out.
const MOST_AT_ONCE: usize = 8;

/// How long the server waits for a client to close that has everything: its reset may have been lost.
const CLOSING: Duration = Duration::from_secs(2);

/// Rows between two collections: two of each transfer.
const ROWS: usize = 2048;

pub(crate) struct ShortFlow;

impl FlowType for ShortFlow {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: NAME,
            about: "new TCP connections that carry a given number of bytes, at random times: flow completion time, rate",
            directed: true,
            parameters: &[
                ParameterWord {
                    name: "size",
                    kind: ParameterKind::Size,
                    about: "bytes of one transfer; default 100kB, most 100MB",
                },
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "mean time from one to the next, exponentially distributed; default 2s, least 50ms",
                },
                stream_opening::CONGESTION_CONTROL_PARAMETER,
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &ManyStreams(serve_connection)
    }

    fn connections_per_second(&self, spec: &FlowSpec) -> f64 {
        interval_of(spec).as_secs_f64().recip()
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let forth = (size_of(spec) * 8) as f64 * (1.0 + HEADERS_SHARE);
        let rate = self.connections_per_second(spec);
        Footprint::towards(spec.direction, forth * rate, forth * rate * HEADERS_SHARE)
    }

    fn pacing(&self) -> Pacing {
        let longest = Duration::from_mins(1);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 1.0 }
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        BTreeMap::from([("size", format!("{}B", size_of(spec)))])
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        parallel_setup::spawn_one(NAME, specs, initiation, Opener::new, run)
    }
}

fn serve_connection(spec: &FlowSpec, stream: &Arc<TcpStream>, answer: &[u8], end: &Endpoint) {
    let Some(clock) = end.clock() else { return };
    let started = clock.now();
    let Some(number) = stream_opening::number_of(stream, spec, end) else { return };
    let mut steps = Steps::new(Opened { flow: spec.id, connection: number, started });
    // What broke shows at the client, and in what the kernel counted.
    let _ = serve(spec, stream, answer, number, end, &mut |stream| steps.take(stream, clock.now()));
    let ended = see_closed(stream, clock, end);
    let mut sink = end.observer.sink(steps.rows.len() + 1);
    steps.rows.drain(..).for_each(|row| sink.note(row));
    note_totals(&mut sink, &**stream, spec, number, started, ended);
}

fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

/// Bytes of one transfer of this flow; `None` of another type.
pub(crate) fn size(spec: &FlowSpec) -> Option<ByteCount> {
    (spec.kind() == FlowKind::ShortFlow).then(|| ByteCount(size_of(spec)))
}

fn size_of(spec: &FlowSpec) -> u64 {
    spec.parameters.size("size", ByteCount(DEFAULT_OCTETS)).0.clamp(1, MOST_OCTETS)
}

/// How often a connection that receives reads its counters: where segments are lost, a transfer of a few bytes takes seconds,
/// and most of them arrive at its end.
const STEP: Duration = Duration::from_millis(200);

/// Counters of a connection while it receives.
struct Steps {
    opened: Opened,
    last: TestTime,
    rows: Vec<ConnectionTotals>,
}

impl Steps {
    fn new(opened: Opened) -> Self {
        Self { opened, last: opened.started, rows: Vec::new() }
    }

    fn take(&mut self, stream: &TcpStream, now: TestTime) {
        if now.since(self.last).0 >= STEP.as_nanos() as i64 {
            self.rows.extend(self.opened.tcp(stream, now));
            self.last = now;
        }
    }
}

/// The server's end of one transfer. Each time that bytes have been received, `received` is called.
fn serve(
    spec: &FlowSpec,
    mut stream: &TcpStream,
    answer: &[u8],
    number: u32,
    end: &Endpoint,
    received: &mut dyn FnMut(&TcpStream),
) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_write_timeout(Some(PATIENCE))?;
    stream.set_read_timeout(Some(PATIENCE))?;
    let deadline = Instant::now() + LONGEST;
    let size = size_of(spec) as usize;
    match spec.direction.unwrap_or(Direction::Down) {
        Direction::Down => {
            let file = stream::random_file()?;
            // The answer leaves in one segment with what follows: alone it would take one of the first flight's.
            SockRef::from(stream).set_tcp_cork(true)?;
            stream.write_all(answer)?;
            let mut sent = 0;
            while sent < size {
                sent += patient(end, deadline, || stream::send_part(stream, file, sent % stream::CHUNK, size - sent))?;
            }
            SockRef::from(stream).set_tcp_cork(false)
        }
        Direction::Up => {
            stream.write_all(answer)?;
            let mut arrived = 0;
            while arrived < size {
                match patient(end, deadline, || stream::discard(stream))? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    count => {
                        arrived += count;
                        received(stream);
                    }
                }
            }
            stream.write_all(&encode_number(number))
        }
    }
}

/// Calls until something comes of it, the test is stopped, or the deadline has passed.
fn patient(end: &Endpoint, deadline: Instant, mut call: impl FnMut() -> io::Result<usize>) -> io::Result<usize> {
    loop {
        match call() {
            Err(error) if is_not_ready(&error) && !end.is_stopped() && Instant::now() < deadline => {}
            outcome => return outcome,
        }
    }
}

/// Waits until the client has closed, and so has everything; when that was, or when all had been acknowledged.
fn see_closed(mut stream: &TcpStream, clock: TestClock, end: &Endpoint) -> TestTime {
    let deadline = Instant::now() + LONGEST;
    let mut acknowledged: Option<(Instant, TestTime)> = None;
    while !end.is_stopped() && Instant::now() < deadline {
        match stream.read(&mut [0; 64]) {
            Ok(0) => break,
            Ok(_) => {}
            Err(error) if is_not_ready(&error) => {}
            Err(_) => break,
        }
        let row = tcp_info::read(stream, rrul_model::flow::FlowId::CONTROL, clock.now());
        if row.is_some_and(|row| row.unacked == 0 && row.notsent_bytes == 0) {
            let (since, at) = *acknowledged.get_or_insert_with(|| (Instant::now(), clock.now()));
            if since.elapsed() > CLOSING {
                return at;
            }
        }
    }
    clock.now()
}

/// Notes what this end's kernel counted of a connection.
fn note_totals(
    sink: &mut ObservationSink<'_>,
    stream: &impl std::os::fd::AsFd,
    spec: &FlowSpec,
    connection: u32,
    started: TestTime,
    ended: TestTime,
) {
    let opened = Opened { flow: spec.id, connection, started };
    if let Some(totals) = opened.tcp(stream, ended) {
        sink.note(totals);
    }
}

/// What begins the transfers of one flow.
struct Opener {
    spec: FlowSpec,
    direction: Direction,
    server: SocketAddr,
    opening: [u8; CLIENT_OCTETS],
    size: u64,
    schedule: std::iter::Peekable<PoissonSchedule>,
    interval: Duration,
    sequence: u32,
    pending: Vec<Attempt>,
    /// When what is not complete is given up.
    reset_at: TestTime,
}

impl Opener {
    fn new(spec: &FlowSpec, initiation: &Initiation) -> Result<Self, SetupError> {
        let server = initiation.server_for(spec)?;
        let interval = interval_of(spec);
        let opener = Self {
            spec: spec.clone(),
            direction: spec.direction.unwrap_or(Direction::Down),
            server,
            opening: initiation.stream_opening(spec.id),
            size: size_of(spec),
            schedule: PoissonSchedule::new(spec.window, interval, initiation.schedule_seed_for(spec)).peekable(),
            interval,
            sequence: 0,
            pending: Vec::with_capacity(MOST_AT_ONCE),
            reset_at: initiation.reset_at(spec),
        };
        // Whether this host marks such sockets, and what congestion control it has, shows before the test.
        let socket = opener.socket().map_err(SetupError::socket("cannot set up a connection"))?;
        stream_opening::prepare(&socket, spec, &initiation.end)?;
        Ok(opener)
    }

    /// When each transfer that goes on is given up.
    fn given_up(&self) -> impl Iterator<Item = TestTime> {
        self.pending.iter().map(|attempt| self.reset_at.min(attempt.started() + LONGEST))
    }

    fn socket(&self) -> io::Result<Socket> {
        let socket = stream_opening::connecting_socket(&self.spec)?;
        options::congestion_control(&socket, stream_opening::congestion_control(&self.spec), options::Asker::User)?;
        Ok(socket)
    }

    fn due(&mut self, ends: TestTime) -> Option<TestTime> {
        self.schedule.peek().copied().filter(|due| *due < ends)
    }

    /// Begins every transfer that is due.
    fn open_due(&mut self, (clock, ends): (TestClock, TestTime), sink: &mut ObservationSink<'_>) {
        while let Some(scheduled) = self.due(ends).filter(|due| *due <= clock.now()) {
            self.schedule.next();
            let now = clock.now();
            // What became due while the host stalled would be a burst.
            if now.since(scheduled) > Delay::from(self.interval) || self.pending.len() >= MOST_AT_ONCE {
                sink.note(ProbesSkipped { flow: self.spec.id, at: now, count: 1 });
                continue;
            }
            let which = Which { flow: self.spec.id, sequence: self.sequence, scheduled, octets: ByteCount(self.size) };
            self.sequence = self.sequence.wrapping_add(1);
            let attempt = self
                .socket()
                .map(|socket| Attempt::start(which, socket, self.server, self.direction, self.opening, clock));
            match attempt {
                Ok(Ok(attempt)) => self.pending.push(attempt),
                Ok(Err(row)) => sink.note(row),
                Err(_) => sink.note(which.row(now, Transfer::IMPOSSIBLE)),
            }
        }
    }

    /// Notes a transfer that has ended, and what its connection carried.
    fn close(&mut self, place: usize, row: Transfer, now: TestTime, sink: &mut ObservationSink<'_>) {
        let attempt = self.pending.swap_remove(place);
        sink.note(row);
        note_totals(sink, &attempt, &self.spec, row.sequence, row.started, now);
    }
}

/// Begins and follows transfers until every one has ended or timed out. The thread's whole life.
fn run(end: &Endpoint, clock: TestClock, mut openers: Vec<Opener>) {
    debug_assert_eq!(end.observer.point(), ObservationPoint::Client);
    // Without permission stamps come a little later on a busy host; the environment says so.
    let _ = scheduling::run_as_probe();
    scheduling::prompt_timers();
    let mut sink = end.observer.sink(ROWS);
    let mut room = vec![0; 64 * 1024];
    let mut random = room.clone();
    Random(clock.now().0.cast_unsigned()).fill(&mut random);
    let last = end.length() + WAITING;
    let mut waiting = WaitSet::default();
    loop {
        let now = clock.now();
        let due = openers.iter_mut().filter_map(|opener| opener.due(end.length())).min();
        let mut given_up = openers.iter().flat_map(Opener::given_up).peekable();
        if end.is_stopped() || now >= last || due.is_none() && given_up.peek().is_none() {
            break;
        }
        let until = given_up.chain(due).min().unwrap_or(last);
        waiting.clear();
        for attempt in openers.iter().flat_map(|opener| &opener.pending) {
            attempt.wait_in(&mut waiting);
        }
        let patience = u64::try_from(until.since(now).0).map_or(Duration::ZERO, Duration::from_nanos);
        waiting.wait_or_pause(patience.min(PATIENCE));
        let mut begin = 0;
        for opener in &mut openers {
            let count = opener.pending.len();
            // From the last to the first, so that the one that takes the place of a finished one has been looked at.
            for place in (0..count).rev() {
                let attempt = &mut opener.pending[place];
                let ended =
                    if waiting.ready(begin + place) { attempt.proceed(clock, &random, &mut room) } else { None };
                let now = clock.now();
                let ended = ended.or_else(|| {
                    (now >= opener.reset_at.min(attempt.started() + LONGEST)).then(|| attempt.given_up(now))
                });
                if let Some(row) = ended {
                    opener.close(place, row, now, &mut sink);
                }
            }
            begin += count;
        }
        for opener in &mut openers {
            opener.open_due((clock, end.length()), &mut sink);
        }
    }
    let now = clock.now();
    for opener in &mut openers {
        while let Some(attempt) = opener.pending.last() {
            let row = attempt.given_up(now);
            opener.close(opener.pending.len() - 1, row, now, &mut sink);
        }
    }
}
