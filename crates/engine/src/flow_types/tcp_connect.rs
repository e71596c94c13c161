//! TCP connect: a new connection in every interval, whatever becomes of those before (spec: Stream Start Time Slew).
//!
//! What a page or an app meets that has no connection yet: the handshake, and the first bytes of the answer. Open loop:
//! connections that wait for a lost SYN do not delay the next. One thread drives all flows of this type.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{Connection, FlowEventKind, ProbesSkipped};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_proto::opening::{CLIENT_OCTETS, SERVER_OCTETS};
use rrul_proto::schedule::send_schedule::SendSchedule;

use super::connection_attempt::{Attempt, Which};
use super::{WAITING, parallel_setup, stream_opening};
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::observer::ObservationSink;
use crate::scheduling;
use crate::server::parts::connections::ManyStreams;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::socket::{options, wait::WaitSet};

const DEFAULT_INTERVAL: Duration = Duration::from_millis(500);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(10);

/// When a connection is given up: Linux has sent its SYN six times by then, and no user waits longer for a page.
const LONGEST: Duration = Duration::from_secs(10);

/// Rows between two collections, and connections that wait at the same time: more than any server grants in that time.
const ROWS: usize = 1024;

pub(crate) struct TcpConnect;

impl FlowType for TcpConnect {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "tcp_connect",
            about: "a new TCP connection in every interval: time to connect and to the first answer, retransmitted SYNs",
            directed: false,
            parameters: &[ParameterWord {
                name: "interval",
                kind: ParameterKind::Duration,
                about: "one connection in each, at a random phase; default 500ms, least 10ms",
            }],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &ManyStreams(answer)
    }

    fn connections_per_second(&self, spec: &FlowSpec) -> f64 {
        interval_of(spec).as_secs_f64().recip()
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        // SYN, two acknowledgments, the opening, the reset; SYN of the server, two acknowledgments, the answer.
        let up = 5.0 * stream_opening::segment_bits(spec, 0) + (CLIENT_OCTETS * 8) as f64;
        let down = 4.0 * stream_opening::segment_bits(spec, 0) + (SERVER_OCTETS * 8) as f64;
        let rate = self.connections_per_second(spec);
        Footprint { up: up * rate, down: down * rate }
    }

    fn pacing(&self) -> Pacing {
        let longest = Duration::from_secs(4);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 1.0 }
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        parallel_setup::spawn_one("tcp_connect", specs, initiation, Opener::new, run)
    }
}

fn answer(_spec: &FlowSpec, stream: &Arc<TcpStream>, answer: &[u8], _end: &Endpoint) {
    // A client that is gone by now has its own row.
    let _ = (&**stream).write_all(answer);
}

fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

/// What opens the connections of one flow.
struct Opener {
    spec: FlowSpec,
    server: SocketAddr,
    opening: [u8; CLIENT_OCTETS],
    interval: Duration,
    schedule: std::iter::Peekable<SendSchedule>,
    sequence: u32,
}

impl Opener {
    fn new(spec: &FlowSpec, initiation: &Initiation) -> Result<Self, SetupError> {
        let server = initiation.server_for(spec)?;
        let interval = interval_of(spec);
        let opener = Self {
            spec: spec.clone(),
            server,
            opening: initiation.stream_opening(spec.id),
            interval,
            schedule: SendSchedule::new(spec.window, interval, initiation.seed_for(spec)).peekable(),
            sequence: 0,
        };
        // Whether this host marks such sockets at all shows before the test.
        let socket =
            stream_opening::connecting_socket(spec).map_err(SetupError::socket("cannot set up a connection"))?;
        let octet = options::marked(&socket, spec.family).unwrap_or(u32::from(spec.class.octet()));
        initiation.end.event(spec.id, FlowEventKind::Marked, octet.to_string());
        Ok(opener)
    }

    fn due(&mut self, ends: TestTime) -> Option<TestTime> {
        self.schedule.peek().copied().filter(|due| *due < ends)
    }

    /// Starts every connection that is due.
    fn open_due(
        &mut self,
        (clock, ends): (TestClock, TestTime),
        pending: &mut Vec<Attempt>,
        sink: &mut ObservationSink<'_>,
    ) {
        while let Some(scheduled) = self.due(ends).filter(|due| *due <= clock.now()) {
            self.schedule.next();
            let now = clock.now();
            // As with test packets: what became due while the host stalled would be a burst.
            if now.since(scheduled) > Delay::from(self.interval) {
                sink.note(ProbesSkipped { flow: self.spec.id, at: now, count: 1 });
                continue;
            }
            let which = Which { flow: self.spec.id, sequence: self.sequence, scheduled };
            self.sequence = self.sequence.wrapping_add(1);
            let socket = stream_opening::connecting_socket(&self.spec);
            let attempt = socket.map(|socket| Attempt::start(which, socket, self.server, self.opening, clock));
            match attempt {
                Ok(Ok(attempt)) => pending.push(attempt),
                Ok(Err(row)) => sink.note(row),
                Err(_) => sink.note(which.row(now, Connection::IMPOSSIBLE)),
            }
        }
    }
}

/// Opens and follows connections until every one has ended or timed out. The thread's whole life.
fn run(end: &Endpoint, clock: TestClock, mut openers: Vec<Opener>) {
    // Without permission stamps come a little later on a busy host; the environment says so.
    let _ = scheduling::run_as_probe();
    scheduling::prompt_timers();
    let mut sink = end.observer.sink(ROWS);
    let last = end.length() + WAITING;
    let mut pending: Vec<Attempt> = Vec::with_capacity(ROWS);
    let mut waiting = WaitSet::default();
    loop {
        let now = clock.now();
        let due = openers.iter_mut().filter_map(|opener| opener.due(end.length())).min();
        if end.is_stopped() || now >= last || due.is_none() && pending.is_empty() {
            break;
        }
        waiting.clear();
        for attempt in &pending {
            attempt.wait_in(&mut waiting);
        }
        let until = pending.iter().map(|attempt| attempt.started() + LONGEST).chain(due).min().unwrap_or(last);
        let patience = u64::try_from(until.since(now).0).map_or(Duration::ZERO, Duration::from_nanos);
        waiting.wait_or_pause(patience.min(PATIENCE));
        let now = clock.now();
        // From the last to the first, so that the one that takes the place of a finished one has been looked at.
        for place in (0..pending.len()).rev() {
            let attempt = &mut pending[place];
            let ended = if waiting.ready(place) { attempt.proceed(now) } else { None };
            let ended = ended.or_else(|| (now >= attempt.started() + LONGEST).then(|| attempt.given_up(now)));
            if let Some(row) = ended {
                sink.note(row);
                pending.swap_remove(place);
            }
        }
        for opener in &mut openers {
            opener.open_due((clock, end.length()), &mut pending, &mut sink);
        }
    }
    let now = clock.now();
    for attempt in &pending {
        sink.note(attempt.given_up(now));
    }
}
