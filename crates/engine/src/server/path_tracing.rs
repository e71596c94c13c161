//! The path traces of a session that the server sends: only to where the client has greeted from, which has proven itself.
//!
//! They leave from the server's own port, so that they take the way back that a NAT has opened, and through sockets of their
//! own, connected to the client: what routers answer comes there, and the reflector is not disturbed.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use rrul_model::flow::{AddressFamily, FlowSpec};
use socket2::{Protocol, Socket, Type};

use super::session::Session;
use crate::clock::{RawTime, TestClock};
use crate::environment::Privacy;
use crate::flow_types::path_trace::pace;
use crate::path_tracing::{self, Trace};
use crate::socket::options;
use crate::test_end::TestEnd;

/// Traces that one session may have sent: each opens a socket of its own, and as many as a session may have flows would use
/// up the server's descriptors.
pub(super) const MOST_TRACES: usize = 8;

/// Sends these flows until their end. A thread of its own runs it.
pub(super) fn trace(session: &Arc<Session>, end: &TestEnd, clock: TestClock, specs: &[FlowSpec], privacy: Privacy) {
    let mut traces = Vec::new();
    for spec in specs {
        // What has not greeted gets nothing: the client has said why.
        let Some((port, from, to)) = session.one_way.way_of(spec.id) else { continue };
        let of_trace = Arc::clone(session);
        let grants = move || {
            let now = of_trace.at(RawTime::now());
            of_trace.reflector().grant(now)
        };
        let seed = u64::from(spec.id.0);
        let trace = connected(spec, port, from, to)
            .and_then(|socket| Trace::new(spec, session.token(), seed, pace(spec), socket, grants));
        match trace {
            Ok(trace) => traces.push(trace.telling(privacy)),
            Err(reason) => end.failed(spec, reason),
        }
    }
    if !traces.is_empty() {
        path_tracing::run(end, clock, traces, &[]);
    }
}

/// A socket at the server's port that takes part in nothing but the conversation with this client. Why there is none names no
/// address: the client is told, and the server may be private.
fn connected(spec: &FlowSpec, port: SocketAddr, from: Option<IpAddr>, to: SocketAddr) -> Result<Socket, String> {
    let socket =
        beside(spec.family, port, to).map_err(|error| format!("no second socket at the server's port: {error}"))?;
    options::mark(&socket, spec.family, spec.class).map_err(|error| format!("marking is refused: {error}"))?;
    let local = socket.local_addr().ok().and_then(|local| local.as_socket()).map(|local| local.ip());
    match from {
        Some(from) if local != Some(from) => {
            Err("the way back to the client begins at another address of the server than its greeting came to"
                .to_owned())
        }
        _ => Ok(socket),
    }
}

fn beside(family: AddressFamily, port: SocketAddr, to: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(options::domain(family), Type::DGRAM, Some(Protocol::UDP))?;
    if family == AddressFamily::Ipv6 {
        socket.set_only_v6(true)?;
    }
    // At the same address as the reflector's, not at the client's view of it: between bind and connect the packets of others
    // then still go to the first of the group.
    socket.set_reuse_port(true)?;
    socket.bind(&port.into())?;
    socket.connect(&to.into())?;
    options::receive_marking(&socket, family)?;
    options::report_icmp(&socket, family)?;
    Ok(socket)
}
