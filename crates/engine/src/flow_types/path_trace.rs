//! Path trace: packets that expire at each router on the way, all the time, and what the routers answer (spec: the equivalent
//! of tcptraceroute or mtr, continuously in both directions, to identify the bottleneck).
//!
//! Towards the server the client sends; towards the client the server does, to the address from which the client has greeted.

use std::sync::Arc;
use std::thread::JoinHandle;

use rrul_model::flow::{Direction, FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_proto::packet_seal::replay_window::ReplayWindow;
use socket2::Socket;

use super::{parallel_setup, udp_probe};
use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::path_tracing::{self, Mirror, RATE, Trace, pace};
use crate::server::parts::path_trace::PathTraces;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::socket::options;

/// Packets in an interval at most: thirty hops, the destination, the search for the path MTU.
const MOST_PACKETS: f64 = 32.0;
/// As many as most paths have routers, including the destination.
const USUAL_PACKETS: f64 = 10.0;
/// Bytes of UDP payload of the middle one of them.
const USUAL_PAYLOAD: u64 = 96;

pub(crate) struct PathTrace;

pub(crate) const NAME: &str = "path_trace";

impl FlowType for PathTrace {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: NAME,
            about: "UDP packets that expire at each router on the path: per-hop delay and remarking",
            directed: true,
            parameters: &[
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one packet to every hop in each; default 1s, least 200ms",
                },
                ParameterWord {
                    name: RATE,
                    kind: ParameterKind::Rate,
                    about: "largest share of either direction for its packets and their answers: on a slow line the \
                        interval grows; default all traces together 1 % of the slower direction, measured with a short train of \
                        packets, or of 1 Mbit/s if that fails",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &PathTraces
    }

    fn packets_per_second(&self, spec: &FlowSpec) -> f64 {
        MOST_PACKETS / pace(spec).0.as_secs_f64()
    }

    fn footprint(&self, spec: &FlowSpec) -> Footprint {
        let (interval, most) = pace(spec);
        let rate = USUAL_PACKETS / interval.as_secs_f64() * udp_probe::packet_bits(spec, USUAL_PAYLOAD);
        Footprint::both(most.map_or(rate, |most| rate.min(most.0 as f64)))
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let opened = parallel_setup::open_all(specs, initiation, open);
        let of_thread = initiation.clone();
        parallel_setup::spawn(NAME, parallel_setup::ids(&opened), initiation, move || run(opened, &of_thread))
    }
}

/// A greeted socket that receives the hop limit of packets.
fn open(spec: &FlowSpec, initiation: &Initiation) -> Result<Socket, SetupError> {
    let socket = udp_probe::open(spec, initiation)?;
    options::receive_hop_limit(&socket, spec.family).map_err(SetupError::socket("no hop limits are reported"))?;
    Ok(socket)
}

fn run(opened: Vec<(FlowSpec, Socket)>, initiation: &Initiation) {
    let end = Arc::clone(&initiation.end);
    let Some(clock) = end.wait_for_begin() else { return };
    let (mut traces, mut mirrors) = (Vec::new(), Vec::new());
    for (spec, socket) in opened {
        if spec.direction == Some(Direction::Down) {
            let (flow, octet, until) = (spec.id, spec.class.octet(), spec.window.to);
            let (seal, answered) = (initiation.seal.clone(), ReplayWindow::default());
            mirrors.push(Mirror { flow, family: spec.family, octet, seal, socket, until, answered });
            continue;
        }
        match Trace::new(&spec, initiation.seal.clone(), initiation.seed_for(&spec), pace(&spec), socket, || true) {
            Ok(trace) => traces.push(trace),
            Err(reason) => end.failed(&spec, reason),
        }
    }
    path_tracing::run(&end, clock, traces, mirrors);
}
