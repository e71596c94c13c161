//! TCP request-response: a few bytes there, as many back, on one connection (spec: Realtime Component).
//!
//! Closed loop. It counts transactions; a lost segment shows as one long transaction, as TCP repairs it. The response
//! carries the server's stamps. They are the programs' own: TCP gives no stamp of the kernel that belongs to a message.

use std::io::{self, Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, Transaction, TransactionStamped};
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;
use rrul_proto::exchange_stamps::{ExchangeStamps, STAMP_OCTETS};

use super::udp_rr::{DEFAULT_MIN_INTERVAL, LONGEST_MIN_INTERVAL, ROWS};
use super::{parallel_setup, stream_opening};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing};
use crate::server::parts::connections::OneStream;
use crate::server::session::ServerPart;
use crate::socket::stream;
use crate::socket::wait::is_not_ready;

const MOST_OCTETS: u64 = 64 * 1024;

/// How long after the end of its window a flow is answered.
const DRAINING: Duration = Duration::from_secs(1);

/// How long a kernel waits for something to acknowledge with.
const DELAYED_ACK: Duration = Duration::from_millis(40);

pub(crate) struct TcpRr;

impl FlowType for TcpRr {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "tcp_rr",
            about: "TCP request-response on one connection, one at a time: transactions per second",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "of request and of response; default 16B, which the server's stamps take; most 64KiB",
                },
                ParameterWord {
                    name: "min_interval",
                    kind: ParameterKind::Duration,
                    about: "least time from one request to the next; default 1ms",
                },
                stream_opening::CONGESTION_CONTROL_PARAMETER,
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &OneStream(respond)
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let interval = spec.parameters.duration("min_interval", DEFAULT_MIN_INTERVAL);
        // Request and response acknowledge each other; one that comes later than an acknowledgment may wait follows one.
        let segments = if interval < DELAYED_ACK { 1.0 } else { 2.0 };
        let bits = segments * stream_opening::segment_bits(spec, 0) + (length_of(spec) * 8) as f64;
        Footprint::both(bits / interval.as_secs_f64())
    }

    fn pacing(&self) -> Pacing {
        Pacing::ClosedLoop { parameter: "min_interval", default: DEFAULT_MIN_INTERVAL, longest: LONGEST_MIN_INTERVAL }
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(length_of(spec))
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, stream_opening::open);
        parallel_setup::spawn_each(opened, initiation, |spec, stream, initiation| {
            let (end, stream) = (&initiation.end, Arc::new(stream));
            end.sampler.watch_slowly(spec.id, spec.window, &stream);
            let outcome = request(spec, &stream, end);
            end.finish_sampling(spec.id);
            match outcome {
                Ok(()) => end.event(spec.id, FlowEventKind::Stopped, ""),
                Err(_) if end.is_ending() => end.event(spec.id, FlowEventKind::Stopped, ""),
                Err(error) => end.failed(spec, format!("ended early: {error}")),
            }
        })
    }
}

fn respond(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint) {
    if let Err(reason) = stream_opening::prepare(stream, spec, end) {
        return end.failed(spec, reason);
    }
    end.sampler.watch_slowly(spec.id, spec.window, stream);
    // How a client ends its connection is its business; it has counted every transaction.
    let _ = echo(spec, stream, end);
    end.finish_sampling(spec.id);
}

fn length_of(spec: &FlowSpec) -> usize {
    spec.parameters.size("length", ByteCount(STAMP_OCTETS as u64)).0.clamp(1, MOST_OCTETS) as usize
}

fn request(spec: &FlowSpec, stream: &TcpStream, end: &Endpoint) -> io::Result<()> {
    stream::prepare(stream, PATIENCE)?;
    let Some(clock) = end.wait_for_begin() else { return Ok(()) };
    let min_interval = spec.parameters.duration("min_interval", DEFAULT_MIN_INTERVAL);
    let over = || end.is_stopped() || clock.now() >= end.asks_until(spec.window.to);
    let mut sink = end.observer.sink(ROWS);
    let mut octets = vec![0; length_of(spec)];
    let mut next = spec.window.from;
    for sequence in 0.. {
        if next >= end.asks_until(spec.window.to) || !end.sleep_until(clock, next) {
            break;
        }
        ExchangeStamps::clear(&mut octets);
        let started = clock.now();
        let answered = write_all(stream, &octets, over)? && read_all(stream, &mut octets, over)?;
        let received = clock.now();
        let took = received.since(started);
        // One that the end of the window cut short was neither answered nor given up.
        if answered || !over() {
            sink.note(Transaction { flow: spec.id, sequence, started, took, answered: u8::from(answered) });
        }
        if let Some(stamps) = ExchangeStamps::read(&octets).filter(|_| answered) {
            let [server_received, server_sent] = [stamps.received, stamps.sent].map(TestTime);
            let (flow, sent) = (spec.id, started);
            sink.note(TransactionStamped { flow, sequence, sent, server_received, server_sent, received });
        }
        next = (started + min_interval).max(clock.now());
    }
    Ok(())
}

fn echo(spec: &FlowSpec, stream: &TcpStream, end: &Endpoint) -> io::Result<()> {
    stream::prepare(stream, PATIENCE)?;
    let Some(clock) = end.wait_for_begin() else { return Ok(()) };
    // A client ends with the window; what it has sent by then may arrive a little later.
    let over = || end.is_stopped() || clock.now() >= end.ends(spec.window.to) + DRAINING;
    let mut octets = vec![0; length_of(spec)];
    while !over() && read_all(stream, &mut octets, over)? {
        let received = clock.now().0;
        ExchangeStamps { received, sent: clock.now().0 }.write(&mut octets);
        if !write_all(stream, &octets, over)? {
            break;
        }
    }
    Ok(())
}

/// Reads as many bytes as fit; `false` when it is `over` before that, or the stream has ended.
fn read_all(mut stream: &TcpStream, octets: &mut [u8], over: impl Fn() -> bool) -> io::Result<bool> {
    let mut done = 0;
    while done < octets.len() {
        match stream.read(&mut octets[done..]) {
            Ok(0) => return Ok(false),
            Ok(count) => done += count,
            Err(error) if is_not_ready(&error) && over() => return Ok(false),
            Err(error) if is_not_ready(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}

/// Writes all bytes; `false` when it is `over` before that.
fn write_all(mut stream: &TcpStream, octets: &[u8], over: impl Fn() -> bool) -> io::Result<bool> {
    let mut done = 0;
    while done < octets.len() {
        match stream.write(&octets[done..]) {
            Ok(count) => done += count,
            Err(error) if is_not_ready(&error) && over() => return Ok(false),
            Err(error) if is_not_ready(&error) => {}
            Err(error) => return Err(error),
        }
    }
    Ok(true)
}
