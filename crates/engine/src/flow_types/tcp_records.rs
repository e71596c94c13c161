//! TCP records: a stream of small records at a low rate, for the delay that an application meets (spec: Stream Delay).
//!
//! In band: a record waits in the sender's socket buffer, and at the receiver behind a segment that was lost, as the
//! bytes of every application do. Stamps are the programs' own, just before the record is written and as soon as it has
//! been read whole; TCP gives no stamp of the kernel that belongs to a record.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{Direction, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, ObservationPoint, PacketReceived, ProbeSent, ProbesSkipped, sender};
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};
use rrul_proto::schedule::send_schedule::SendSchedule;

use super::{WAITING, parallel_setup, stream_opening};
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::observer::ObservationSink;
use crate::scheduling;
use crate::server::parts::connections::OneStream;
use crate::server::session::ServerPart;
use crate::socket::wait::{self, is_not_ready};

const DEFAULT_INTERVAL: Duration = Duration::from_millis(50);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(1);

/// Bytes of a record: its number, and random bytes.
const DEFAULT_OCTETS: u64 = 100;
const LEAST_OCTETS: u64 = NUMBER_OCTETS as u64;
const MOST_OCTETS: u64 = 16 * 1024;
const NUMBER_OCTETS: usize = 4;

/// Send buffer asked for: room for ten seconds of small records, so that what waits there waits for the network, and the
/// program never for the buffer.
const SEND_BUFFER: usize = 256 * 1024;

/// How far the two ends' T0 may lie apart.
const CLOCK_SLACK: Duration = Duration::from_secs(1);

pub(crate) struct TcpRecords;

impl FlowType for TcpRecords {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "tcp_records",
            about: "numbered records in a TCP stream of low rate: in-stream delay",
            directed: true,
            parameters: &[
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one record in each, at a random phase; default 50ms, least 1ms",
                },
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "of a record; default 100B, least 4B, most 16KiB",
                },
                ParameterWord {
                    name: "congestion_control",
                    kind: ParameterKind::Name,
                    about: "of the kernel at the sender; default cubic",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &OneStream(respond)
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let rate = interval_of(spec).as_secs_f64().recip();
        let forth = stream_opening::segment_bits(spec, length_of(spec) as u64);
        Footprint::towards(spec.direction, forth * rate, stream_opening::segment_bits(spec, 0) * rate)
    }

    fn pacing(&self) -> Pacing {
        let longest = Duration::from_secs(1);
        Pacing::Interval { parameter: "interval", default: DEFAULT_INTERVAL, longest, yields: 2.0 }
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(length_of(spec))
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, stream_opening::open);
        parallel_setup::spawn_each(opened, initiation, |spec, stream, initiation| {
            take_part(spec, &Arc::new(stream), &initiation.end, initiation.seed_for(spec));
        })
    }
}

fn respond(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint) {
    if let Err(reason) = stream_opening::prepare(stream, spec, end) {
        return end.failed(spec, reason);
    }
    // The server does not compute the same instants: its records say when they were due.
    take_part(spec, stream, end, Random(u64::from(spec.id.0)).next());
}

/// One end of one flow: the sender's where the bytes leave, else the receiver's.
fn take_part(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint, seed: u64) {
    let sends = end.observer.point() == sender(spec.direction.unwrap_or(Direction::Down));
    end.sampler.watch_slowly(spec.id, spec.window, stream);
    let outcome = if sends { send(spec, stream, end, seed) } else { receive(spec, stream, end) };
    end.finish_sampling(spec.id);
    match outcome {
        Ok(()) if sends => end.event(spec.id, FlowEventKind::Stopped, ""),
        Ok(()) => {}
        Err(_) if end.is_ending() => end.event(spec.id, FlowEventKind::Stopped, ""),
        Err(error) => end.failed(spec, format!("ended early: {error}")),
    }
}

fn length_of(spec: &FlowSpec) -> usize {
    spec.parameters.size("length", ByteCount(DEFAULT_OCTETS)).0.clamp(LEAST_OCTETS, MOST_OCTETS) as usize
}

fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

/// Rows between two collections, and those of ten seconds that come at once when a loss has been repaired.
fn rows_between_collections(interval: Duration) -> usize {
    const SECONDS: f64 = 12.0;
    (SECONDS / interval.as_secs_f64()) as usize + 128
}

fn send(spec: &FlowSpec, stream: &TcpStream, end: &Endpoint, seed: u64) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.set_nonblocking(true)?;
    socket2::SockRef::from(stream).set_send_buffer_size(SEND_BUFFER)?;
    let mut octets = vec![0; length_of(spec)];
    Random(seed).fill(&mut octets);
    let Some(clock) = end.wait_for_begin() else { return Ok(()) };
    run_promptly(end);
    let interval = interval_of(spec);
    let mut sink = end.observer.sink(rows_between_collections(interval));
    let mut sequence: u32 = 0;
    for scheduled in SendSchedule::new(spec.window, interval, seed) {
        if !end.sleep_until(clock, scheduled) {
            return Ok(());
        }
        let sent = clock.now();
        if sent >= end.ends(spec.window.to) {
            break;
        }
        // The host stalled, or the buffer was full: what became due meanwhile would be a burst.
        if sent.since(scheduled) > Delay::from(interval) {
            sink.note(ProbesSkipped { flow: spec.id, at: sent, count: 1 });
            continue;
        }
        octets[..NUMBER_OCTETS].copy_from_slice(&sequence.to_be_bytes());
        sink.note(ProbeSent { flow: spec.id, sequence, scheduled, sent });
        sequence = sequence.wrapping_add(1);
        if !write_whole(stream, &octets, end)? {
            return Ok(());
        }
    }
    // The last record may be due long before the window ends, and a receiver takes an earlier end for a failure.
    end.sleep_until(clock, end.ends(spec.window.to));
    stream.shutdown(std::net::Shutdown::Write)
}

/// At the client ahead of all ordinary threads, where allowed; at the server not, as a stranger has asked for the thread.
fn run_promptly(end: &Endpoint) {
    if end.observer.point() == ObservationPoint::Client {
        let _ = scheduling::run_as_probe();
    }
    scheduling::prompt_timers();
}

/// Writes a whole record, waiting for the buffer where that is full; `false` when the test is stopped before.
fn write_whole(mut stream: &TcpStream, octets: &[u8], end: &Endpoint) -> io::Result<bool> {
    let mut done = 0;
    while done < octets.len() {
        match stream.write(&octets[done..]) {
            Ok(count) => done += count,
            Err(_) if end.is_stopped() => return Ok(false),
            Err(error) if is_not_ready(&error) => wait::writable(stream, PATIENCE)?,
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

fn receive(spec: &FlowSpec, stream: &TcpStream, end: &Endpoint) -> io::Result<()> {
    stream.set_read_timeout(Some(PATIENCE))?;
    let Some(clock) = end.wait_for_begin() else { return Ok(()) };
    run_promptly(end);
    let mut records = Records::new(length_of(spec), interval_of(spec));
    let mut sink = end.observer.sink(rows_between_collections(interval_of(spec)));
    while clock.now() < end.ends(spec.window.to) + WAITING && !end.is_stopped() {
        match records.read_from(stream) {
            Ok(0) if clock.now() + PATIENCE >= end.ends(spec.window.to) => return Ok(()),
            Ok(0) => return Err(io::Error::new(io::ErrorKind::UnexpectedEof, "the sender closed the stream")),
            Ok(_) => records.note(spec, clock, &mut sink)?,
            Err(error) if is_not_ready(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(())
}

/// What has been read of the stream and is not a whole record yet.
struct Records {
    octets: Vec<u8>,
    held: usize,
    length: usize,
    interval: Duration,
    next: u32,
}

impl Records {
    fn new(length: usize, interval: Duration) -> Self {
        // Room for several: after a loss was repaired all that waited behind it comes at once.
        Self { octets: vec![0; length.max(MOST_OCTETS as usize)], held: 0, length, interval, next: 0 }
    }

    fn read_from(&mut self, mut stream: &TcpStream) -> io::Result<usize> {
        let count = stream.read(&mut self.octets[self.held..])?;
        self.held += count;
        Ok(count)
    }

    /// Whether there can be so many records by now. This thread runs ahead of ordinary ones, so a stranger must not
    /// keep it busy.
    fn is_due(&self, spec: &FlowSpec, now: TestTime) -> bool {
        let since = now.since(spec.window.from) + Delay::from(CLOCK_SLACK);
        let intervals = i128::from(since.0) / i128::try_from(self.interval.as_nanos()).unwrap_or(i128::MAX).max(1);
        since.0 >= 0 && i128::from(self.next) <= intervals + 1
    }

    /// Notes every record that is whole now.
    fn note(&mut self, spec: &FlowSpec, clock: TestClock, sink: &mut ObservationSink<'_>) -> io::Result<()> {
        let received = clock.now();
        let whole = self.held / self.length * self.length;
        for record in self.octets[..whole].chunks_exact(self.length) {
            let number = record.first_chunk().map_or(0, |octets| u32::from_be_bytes(*octets));
            if number != self.next {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "something on the path changes the bytes"));
            }
            self.next = self.next.wrapping_add(1);
            if !self.is_due(spec, received) {
                return Err(io::Error::new(io::ErrorKind::InvalidData, "more records than its interval allows"));
            }
            // TCP does not report the traffic class with which a segment arrived.
            sink.note(PacketReceived { flow: spec.id, sequence: number, received, octet: 0 });
        }
        self.octets.copy_within(whole..self.held, 0);
        self.held -= whole;
        Ok(())
    }
}
