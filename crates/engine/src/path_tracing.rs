//! Path traces: packets that expire on the way, and the hosts that report it. The loop that both ends run.
//!
//! What hosts on the way answer is read from the socket's error queue, which takes no privilege; with CAP_NET_RAW from a raw
//! socket instead, which sees the header that is quoted, and packets of which a router quotes no more than the ports.

mod mirror;
mod trace;

use std::net::SocketAddr;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, FlowSpec};
use rrul_model::observation::FlowEventKind;
use rrul_model::units::BitRate;
use rrul_proto::admission::consent::GREETING_INTERVAL;
use rrul_proto::path_sweep::MOST_PACKETS;

use crate::clock::test_clock::TestClock;
use crate::clock::{RawTime, WallClock};
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::scheduling;
use crate::socket::icmp::IcmpSocket;
use crate::socket::wait::WaitSet;
pub(crate) use mirror::Mirror;
use trace::HopAnswer;
pub(crate) use trace::Trace;

/// After the last packet answers are read for this long.
const LINGERING: Duration = Duration::from_millis(300);

/// Routers answer about once a second (Linux: icmp_ratelimit).
const DEFAULT_INTERVAL: Duration = Duration::from_secs(1);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(200);

/// The parameter that limits the rate of a trace.
pub(crate) const RATE: &str = "rate";

/// Returns how often every hop gets a packet, and the most that all of them together take.
pub(crate) fn pace(spec: &FlowSpec) -> (Duration, Option<BitRate>) {
    (spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL), spec.parameters.rate(RATE))
}

/// Sends these traces and answers those of the other end until their time is over. A thread of its own runs it.
pub(crate) fn run(end: &Endpoint, clock: TestClock, mut traces: Vec<Trace>, mut mirrors: Vec<Mirror>) {
    scheduling::prompt_timers();
    let mut sink = end.observer.sink(rows_between_collections(&traces));
    let mut icmp = hear_icmp(end, &mut traces);
    // Places: the traces, then the mirrors, then the raw sockets.
    let mut waiting = WaitSet::default();
    for trace in &traces {
        waiting.add_readable(trace);
    }
    for mirror in &mirrors {
        waiting.add_readable(&mirror.socket);
    }
    for icmp in &icmp {
        waiting.add_readable(icmp);
    }
    let mut wall = WallClock::new();
    let last = traces.iter().map(|trace| trace.until).chain(mirrors.iter().map(|mirror| mirror.until)).max();
    let Some(last) = last else { return };
    let last = || last.min(end.length()) + LINGERING;
    // Setting up others may have taken longer than the first greeting lasts.
    let mut next_greeting = clock.now();
    while !end.is_stopped() && clock.now() < last() {
        let due = traces.iter().filter_map(Trace::due).min().unwrap_or_else(last);
        let left = Duration::from_nanos(u64::try_from(due.since(clock.now()).0).unwrap_or(0));
        waiting.wait_or_pause(left.min(PATIENCE));
        wall.refresh(RawTime::now());
        for (place, icmp) in (traces.len() + mirrors.len()..).zip(&mut icmp) {
            if !waiting.ready(place) {
                continue;
            }
            icmp.hear(|heard| {
                let quote = &heard.error.quote;
                let to = SocketAddr::new(quote.destination, quote.destination_port);
                let Some(trace) = traces.iter_mut().find(|trace| trace.sends(quote.source_port, to)) else { return };
                let answer = HopAnswer {
                    source: heard.source,
                    stamp: heard.stamp,
                    kind: heard.error.kind,
                    code: heard.error.code,
                    mtu: heard.error.mtu,
                    payload: quote.payload,
                    header: Some((quote.payload_length, quote.octet, quote.hop_limit)),
                };
                trace.hop_answered(&answer, end, clock, &wall, &mut sink);
            });
        }
        for (place, trace) in traces.iter_mut().enumerate() {
            if waiting.ready(place) {
                trace.read_socket(end, clock, &wall, &mut sink);
            }
            trace.send_due(clock, &mut sink);
        }
        for (place, mirror) in (traces.len()..).zip(&mut mirrors) {
            if waiting.ready(place) {
                mirror.answer_all(clock, &wall);
            }
        }
        if clock.now() >= next_greeting {
            for mirror in &mirrors {
                mirror.greet(clock, &mut sink);
            }
            next_greeting = clock.now() + GREETING_INTERVAL;
        }
    }
}

/// Room for what these traces note between two collections, and twice that: none of it may be lost.
fn rows_between_collections(traces: &[Trace]) -> usize {
    // Sent, stamped, answered, quoted.
    const ROWS_A_PACKET: f64 = 4.0;
    const SECONDS: f64 = 3.0;
    let rounds: f64 = traces.iter().map(|trace| SECONDS / trace.interval.as_secs_f64().max(1e-3)).sum();
    (rounds * f64::from(MOST_PACKETS) * ROWS_A_PACKET) as usize + 256
}

/// Opens the raw sockets that these traces can use, where that is allowed, and notes what each goes by.
fn hear_icmp(end: &Endpoint, traces: &mut [Trace]) -> Vec<IcmpSocket> {
    let mut icmp = Vec::new();
    for family in AddressFamily::ALL {
        let mut ours = traces.iter_mut().filter(|trace| trace.family == family).peekable();
        if ours.peek().is_none() {
            continue;
        }
        let opened = IcmpSocket::open(family);
        for trace in ours {
            trace.heard = opened.is_ok();
            let how = match &opened {
                Ok(_) => "quoted headers".to_owned(),
                Err(error) => format!("the error queue, without quoted headers: raw socket: {error}"),
            };
            end.event(trace.flow, FlowEventKind::Uses, how);
        }
        icmp.extend(opened);
    }
    icmp
}
