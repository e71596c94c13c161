//! The path traces of a session that the server sends: only to where the client has greeted from, which has proven itself.
//!
//! They leave from the server's own port, so that they take the way back that a NAT has opened, and through sockets of their
//! own, connected to the client: what routers answer comes there, and the reflector is not disturbed.

use std::net::{IpAddr, SocketAddr, SocketAddrV6};
use std::sync::Arc;

use rrul_model::flow::{AddressFamily, FlowSpec};
use socket2::{Protocol, Socket, Type};

use crate::clock::RawTime;
use crate::path_tracing::{self, Trace, pace};
use crate::server::session::{Admission, FlowRefusal, Sending, ServerPart};
use crate::setup_error::SetupError;
use crate::socket::{options, shared_port};

/// The session's reflector answers what comes; towards the client a thread of the session sends.
pub(crate) struct PathTraces;

impl ServerPart for PathTraces {
    fn admit(&self, spec: &FlowSpec, packets_per_second: f64, session: &mut Admission<'_>) -> Result<(), FlowRefusal> {
        session.reserve_trace(spec)?;
        session.reserve_packets(spec, packets_per_second)?;
        session.reserve_replies(spec, packets_per_second);
        Ok(())
    }

    fn sender(&self) -> Option<&'static str> {
        Some("path_trace")
    }

    fn send(&self, sending: &Sending<'_>, specs: &[FlowSpec]) {
        trace(sending, specs);
    }
}

fn trace(&Sending { session, end, clock, privacy, .. }: &Sending<'_>, specs: &[FlowSpec]) {
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
            .and_then(|socket| Trace::new(spec, session.seal().clone(), seed, pace(spec), socket, grants));
        match trace {
            Ok(trace) => traces.push(trace.with_privacy(privacy)),
            Err(reason) => end.failed(spec, reason),
        }
    }
    if !traces.is_empty() {
        path_tracing::run(end, clock, traces, Vec::new());
    }
}

/// A socket at the server's port that takes part in nothing but the conversation with this client. The reason names no
/// address: the client records it, and the server may be private.
fn connected(spec: &FlowSpec, port: SocketAddr, from: Option<IpAddr>, to: SocketAddr) -> Result<Socket, SetupError> {
    let first = beside(spec.family, port, to);
    let local = |socket: &Socket| socket.local_addr().ok()?.as_socket().map(|local| local.ip());
    let socket = match from {
        // This host would rather send from another of its addresses, or from none, than from the one that the greeting came
        // to, where the client's socket expects it.
        Some(from) if first.as_ref().ok().and_then(local) != Some(from) => {
            beside(spec.family, at(from, port.port(), to), to)
        }
        _ => first,
    };
    let socket = socket.map_err(SetupError::socket("no second socket at the server's port"))?;
    options::mark(&socket, spec.family, spec.class).map_err(SetupError::socket("marking is refused"))?;
    Ok(socket)
}

/// This address and port, on the interface through which `to` is reached where addresses are no more than that one's.
fn at(address: IpAddr, port: u16, to: SocketAddr) -> SocketAddr {
    match (address, to) {
        (IpAddr::V6(address), SocketAddr::V6(to)) => SocketAddrV6::new(address, port, 0, to.scope_id()).into(),
        _ => SocketAddr::new(address, port),
    }
}

fn beside(family: AddressFamily, port: SocketAddr, to: SocketAddr) -> std::io::Result<Socket> {
    let socket = Socket::new(options::domain(family), Type::DGRAM, Some(Protocol::UDP))?;
    if family == AddressFamily::Ipv6 {
        socket.set_only_v6(true)?;
    }
    // Where `port` is the reflector's own address, packets of others still go to the first of the group between bind and
    // connect. At one address of those that a reflector of all has, what comes for it meanwhile is lost: mostly of
    // microseconds, of more when this thread has to wait for a core.
    shared_port::bind_beside(&socket, port)?;
    shared_port::connect_beside(&socket, to)?;
    options::receive_marking(&socket, family)?;
    options::report_icmp(&socket, family)?;
    Ok(socket)
}
