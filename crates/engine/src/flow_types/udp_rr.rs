//! UDP request-response: the next request leaves when the response is there (spec: Realtime Component).
//!
//! Closed loop, as fast as the round trip allows. It counts transactions; percentiles of delay come from `udp_probe`.

use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::Transaction;
use rrul_proto::test_packet::{Kind, TestPacket};
use socket2::Socket;

use super::icmp_watch::IcmpWatch;
use super::{at_once, udp_probe};
use crate::clock::RawTime;
use crate::flow_type::{FlowType, Footprint, Initiation, Pacing, ServerPart};
use crate::socket::control_message::IcmpReport;
use crate::socket::datagram::Aftermath;
use crate::socket::{datagram, wait};
use crate::test_end::{PATIENCE, TestEnd};

pub(super) const DEFAULT_MIN_INTERVAL: Duration = Duration::from_millis(1);
/// Longer than this the measurement budget does not make it.
pub(super) const LONGEST_MIN_INTERVAL: Duration = Duration::from_secs(1);
const DEFAULT_TIMEOUT: Duration = Duration::from_secs(1);
/// Transactions between two collections.
pub(super) const ROWS: usize = 1 << 13;

/// The flow type.
#[derive(Debug)]
pub struct UdpRr;

impl FlowType for UdpRr {
    fn words(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "udp_rr",
            about: "UDP request-response, one at a time: transactions per second",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "length",
                    kind: ParameterKind::Size,
                    about: "UDP payload; default and least 80B, most 1400B",
                },
                ParameterWord {
                    name: "min_interval",
                    kind: ParameterKind::Duration,
                    about: "least time from one request to the next; default 1ms",
                },
                ParameterWord {
                    name: "timeout",
                    kind: ParameterKind::Duration,
                    about: "how long a response is waited for; default 1s",
                },
            ],
        }
    }

    fn server_part(&self) -> ServerPart {
        ServerPart::Reflector
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        spec.parameters.duration("min_interval", DEFAULT_MIN_INTERVAL).as_secs_f64().recip()
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        Footprint::both(
            self.packets_per_second(spec) * udp_probe::packet_bits(spec, udp_probe::packet_for(spec).len() as u64),
        )
    }

    fn pacing(&self) -> Pacing {
        Pacing::ClosedLoop { parameter: "min_interval", default: DEFAULT_MIN_INTERVAL, longest: LONGEST_MIN_INTERVAL }
    }

    fn length(&self, spec: &FlowSpec) -> Option<usize> {
        Some(udp_probe::packet_for(spec).len())
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = at_once::open_all(specs, initiation, udp_probe::open);
        at_once::spawn_each(opened, initiation, |spec, socket, initiation| exchange(spec, &socket, initiation))
    }
}

fn exchange(spec: &FlowSpec, socket: &Socket, initiation: &Initiation) {
    let end: &Arc<TestEnd> = &initiation.end;
    let Some(clock) = end.wait_for_begin() else { return };
    let min_interval = spec.parameters.duration("min_interval", DEFAULT_MIN_INTERVAL);
    let timeout = spec.parameters.duration("timeout", DEFAULT_TIMEOUT);
    let mut notebook = end.observer.notebook(ROWS);
    let mut icmp = IcmpWatch::new(spec.id, socket);
    let mut octets = udp_probe::packet_for(spec);
    let mut next = spec.window.from;
    for sequence in 0.. {
        if next >= spec.window.to || !end.sleep_until(clock, next) {
            break;
        }
        let started = clock.now();
        let request =
            TestPacket::request(Kind::Test, spec.id.0, spec.class.octet(), initiation.token, sequence, started.0);
        let sent = request.write(&mut octets).is_ok() && datagram::send(socket, &octets).is_ok();
        let deadline = RawTime::now().plus(timeout.as_nanos() as i64);
        let mut told = |report| icmp.take(report, clock.now(), &mut notebook);
        let answered = sent && answered(end, socket, &mut octets, &request, deadline, &mut told);
        if !answered && end.is_stopped() {
            break;
        }
        let took = clock.now().since(started);
        notebook.note(Transaction { flow: spec.id, sequence, started, took, answered: u8::from(answered) });
        // An unanswered request that could not even be sent must not spin.
        next = (started + min_interval).max(if sent { clock.now() } else { started + timeout });
    }
    icmp.finish(clock.now(), &mut notebook);
}

/// Waits for the response to this request, and hands on what ICMP says meanwhile.
fn answered(
    end: &TestEnd,
    socket: &Socket,
    octets: &mut [u8],
    request: &TestPacket,
    deadline: RawTime,
    told: &mut dyn FnMut(IcmpReport),
) -> bool {
    while let Ok(left) = u64::try_from(deadline.since(RawTime::now())) {
        if end.is_stopped() {
            return false;
        }
        let _ = wait::readable(&[socket], Duration::from_nanos(left).min(PATIENCE));
        while let Ok(Some(aftermath)) = datagram::receive_aftermath(socket) {
            if let Aftermath::Icmp(report) = aftermath {
                told(report);
            }
        }
        match datagram::receive(socket, octets) {
            Ok(Some(reply)) => {
                let kept = &octets[..reply.length.min(octets.len())];
                let identity = |packet: &TestPacket| (packet.flow, packet.token, packet.sequence);
                let ours = |packet: TestPacket| packet.kind == Kind::Reply && identity(&packet) == identity(request);
                if TestPacket::read(kept).is_ok_and(ours) {
                    return true;
                }
            }
            Ok(None) => {}
            // Refused or unreachable: there is nobody to wait for.
            Err(_) => return false,
        }
    }
    false
}
