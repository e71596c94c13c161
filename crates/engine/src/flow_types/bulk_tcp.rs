//! Bulk TCP: a stream that sends as fast as the network takes it, in one direction (spec: Load Generation Component).

use std::io;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{Direction, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::FlowEventKind;
use rrul_model::time::TestTime;

use super::{parallel_setup, stream_opening};
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::scheduling;
use crate::server::parts::connections::OneStream;
use crate::server::session::ServerPart;
use crate::socket::wait::{self, is_not_ready};
use crate::socket::{options, stream};

/// How long a receiver waits beyond the flow's window for what is still under way.
const DRAINING: Duration = Duration::from_secs(1);

/// How far the two ends' T0 may lie apart: half the round trip of the exchange that placed it.
const CLOCK_SLACK: Duration = Duration::from_millis(100);

/// What acknowledgments take of the other direction.
const ACKNOWLEDGMENTS: f64 = 0.04;

pub(crate) struct BulkTcp;

impl FlowType for BulkTcp {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "bulk_tcp",
            about: "a TCP stream that saturates the link in one direction",
            directed: true,
            parameters: &[
                ParameterWord {
                    name: "congestion_control",
                    kind: ParameterKind::Name,
                    about: "of the kernel at the sender; default cubic",
                },
                ParameterWord {
                    name: "pacing_rate",
                    kind: ParameterKind::Rate,
                    about: "at most this fast; default without limit",
                },
                ParameterWord {
                    name: "mss",
                    kind: ParameterKind::Size,
                    about: "most bytes of a segment, its options included; default as the path allows",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &OneStream(respond)
    }

    fn load(&self, spec: &FlowSpec) -> Option<Footprint> {
        let rate = spec.parameters.rate("pacing_rate")?.0 as f64;
        Some(Footprint::towards(spec.direction, rate, rate * ACKNOWLEDGMENTS))
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, stream_opening::open);
        parallel_setup::spawn_each(opened, initiation, |spec, stream, initiation| match spec.direction {
            Some(Direction::Up) => send(spec, &Arc::new(stream), &initiation.end),
            _ => receive(spec, &Arc::new(stream), &initiation.end),
        })
    }
}

fn respond(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint) {
    if let Err(reason) = stream_opening::prepare(stream, spec, end) {
        end.failed(spec, reason);
        return;
    }
    match spec.direction {
        Some(Direction::Down) => send(spec, stream, end),
        _ => receive(spec, stream, end),
    }
}

/// Sends from the flow's start to its end, then discards what the kernel has not sent.
fn send(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint) {
    let ready = stream::prepare(stream, PATIENCE).and_then(|()| {
        spec.parameters.rate("pacing_rate").map_or(Ok(()), |rate| options::pace(stream, rate))?;
        stream.set_nonblocking(true)?;
        stream::random_file()
    });
    let file = match ready {
        Ok(file) => file,
        Err(error) => return end.failed(spec, error.to_string()),
    };
    end.sampler.watch(spec.id, spec.window, stream, None);
    let outcome = if end.wait_for_start(spec.id, spec.window.from, stream)
        && let Some(clock) = end.wait_for_begin()
    {
        send_until_end(spec, stream, end, clock, file)
    } else {
        Ok(())
    };
    end.finish_sampling(spec.id);
    match outcome {
        Ok(()) => end.event(spec.id, FlowEventKind::Stopped, ""),
        Err(_) if end.is_ending() => end.event(spec.id, FlowEventKind::Stopped, ""),
        Err(error) => end.failed(spec, format!("sending ended early: {error}")),
    }
}

fn send_until_end(
    spec: &FlowSpec,
    stream: &TcpStream,
    end: &Endpoint,
    clock: TestClock,
    file: &std::fs::File,
) -> io::Result<()> {
    let mut offset = 0;
    loop {
        let left = u64::try_from(end.ends(spec.window.to).since(clock.now()).0).unwrap_or(0);
        if left == 0 || end.is_stopped() {
            return Ok(());
        }
        match stream::send_from(stream, file, offset) {
            Ok(sent) => offset = (offset + sent) % stream::CHUNK,
            // Waiting here and not in the call: a call that waits goes on until it has sent all it was given, which
            // on a slow link is long after the flow's end.
            Err(error) if is_not_ready(&error) => wait::writable(stream, Duration::from_nanos(left).min(PATIENCE))?,
            Err(error) => return Err(error),
        }
    }
}

/// Receives until the sender ends the stream.
fn receive(spec: &FlowSpec, stream: &Arc<TcpStream>, end: &Endpoint) {
    if let Err(error) = stream::prepare(stream, PATIENCE) {
        return end.failed(spec, error.to_string());
    }
    let octets = Arc::new(AtomicU64::new(0));
    end.sampler.watch(spec.id, spec.window, stream, Some(&octets));
    let Some(clock) = end.wait_for_begin() else { return };
    scheduling::prompt_timers();
    let outcome = receive_until_end(spec, stream, end, clock, &octets);
    end.finish_sampling(spec.id);
    // A sender that is done resets the connection: what it had not sent must not drain over a bloated link for long.
    let expected = clock.now() + CLOCK_SLACK >= end.ends(spec.window.to) || end.is_ending();
    match outcome {
        Ok(()) | Err(_) if expected => {}
        Ok(()) => end.failed(spec, "the sender closed the stream early"),
        Err(error) => end.failed(spec, format!("receiving ended early: {error}")),
    }
}

fn receive_until_end(
    spec: &FlowSpec,
    stream: &TcpStream,
    end: &Endpoint,
    clock: TestClock,
    octets: &AtomicU64,
) -> io::Result<()> {
    let mut silent = true;
    let mut batch = Batch { since: clock.now(), octets: 0 };
    loop {
        let now = clock.now();
        if now >= end.ends(spec.window.to) + DRAINING || end.is_stopped() {
            return Ok(());
        }
        if let Some(octets) = batch.renew(now) {
            stream::wake_after(stream, octets)?;
        }
        match stream::discard(stream) {
            Ok(0) => return Ok(()),
            Ok(count) => {
                octets.fetch_add(count as u64, Ordering::Relaxed);
                batch.octets += count;
                if silent {
                    silent = false;
                    end.event(spec.id, FlowEventKind::FirstReceived, "");
                }
            }
            Err(error) if is_not_ready(&error) => {}
            Err(error) => return Err(error),
        }
    }
}

/// How much a receiver takes at once: the more, the faster the stream, as waking for every few segments costs more than
/// receiving them. Two milliseconds' worth delays no count that anyone would see.
struct Batch {
    since: TestTime,
    octets: usize,
}

impl Batch {
    const PERIOD: Duration = PATIENCE;
    const SHARE: usize = 50;

    /// Every hundred milliseconds, how many bytes to wait for.
    fn renew(&mut self, now: TestTime) -> Option<usize> {
        if now < self.since + Self::PERIOD {
            return None;
        }
        let octets = self.octets / Self::SHARE;
        *self = Self { since: now, octets: 0 };
        Some(octets)
    }
}
