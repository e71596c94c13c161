//! Opening the TCP connection of a flow, at the client.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_proto::opening::{ClientOpening, Purpose, SERVER_OCTETS, ServerOpening, Status};
use socket2::{Protocol, Socket, Type};

use crate::control_link::read_exact_until;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::Initiation;
use crate::socket::options::{self, Asker};
use crate::socket::wait;

/// How long the handshake and the server's answer may take.
const OPENING_TIME: Duration = Duration::from_secs(10);

/// The congestion control of load unless the plan says otherwise.
pub(super) const CONGESTION_CONTROL: &str = "cubic";

/// Bits of a TCP segment with so many octets of data, on the IP layer, with timestamps.
pub(super) fn segment_bits(spec: &FlowSpec, octets: u64) -> f64 {
    let headers = match spec.family {
        AddressFamily::Ipv4 => 20 + 32,
        AddressFamily::Ipv6 => 40 + 32,
    };
    ((octets + headers) * 8) as f64
}

/// The end that sends a flow of this direction.
pub(super) fn sender_of(direction: Direction) -> ObservationPoint {
    match direction {
        Direction::Up => ObservationPoint::Client,
        Direction::Down => ObservationPoint::Server,
    }
}

/// Opens the connection of this flow: marked before the SYN, with the congestion control asked for.
///
/// # Errors
/// In words, for the flow's failure.
pub(super) fn open(spec: &FlowSpec, initiation: &Initiation) -> Result<TcpStream, String> {
    if initiation.end.is_stopped() {
        return Err("stopped by the user".to_owned());
    }
    let server = initiation.server_for(spec).ok_or_else(|| format!("the server has no {} address", spec.family))?;
    // Without its address: that stands in the header, unless the user wants it nowhere.
    let at = |what: &'static str| move |error: io::Error| format!("{what} the server: {error}");
    let socket = Socket::new(options::domain(spec.family), Type::STREAM, Some(Protocol::TCP))
        .map_err(at("no socket towards"))?;
    prepare(&socket, spec, &initiation.end)?;
    initiation.end.event(spec.id, FlowEventKind::ConnectStarted, "");
    socket.connect_timeout(&server.into(), OPENING_TIME).map_err(at("cannot connect to"))?;
    initiation.end.event(spec.id, FlowEventKind::Connected, "");
    let mut stream = TcpStream::from(socket);
    greet(&mut stream, initiation, spec).map_err(at("no answer from"))?;
    Ok(stream)
}

fn greet(stream: &mut TcpStream, initiation: &Initiation, spec: &FlowSpec) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&ClientOpening::new(Purpose::Stream, initiation.token, spec.id.0).encode())?;
    let mut answer = [0; SERVER_OCTETS];
    let deadline = Instant::now() + OPENING_TIME;
    // In short waits, so that a user who stops the test need not wait for a server that does not answer.
    while !wait::readable(&[&*stream], PATIENCE)? && Instant::now() < deadline {
        if initiation.end.is_stopped() {
            return Err(io::Error::other("stopped by the user"));
        }
    }
    read_exact_until(stream, &mut answer, deadline)?;
    match ServerOpening::decode(&answer) {
        Ok(ServerOpening { status: Status::Accepted, .. }) => Ok(()),
        Ok(ServerOpening { status, .. }) => Err(io::Error::other(format!("it refused the stream: {status:?}"))),
        Err(error) => Err(io::Error::other(error)),
    }
}

/// Marks a stream and sets its congestion control, and notes what is in force. Used at both ends.
///
/// # Errors
/// In words, when the marking is refused: an unmarked flow would be a different test.
pub(super) fn prepare(socket: &impl std::os::fd::AsFd, spec: &FlowSpec, end: &Endpoint) -> Result<(), String> {
    let wanted = spec.class.octet();
    options::mark(socket, spec.family, spec.class)
        .map_err(|error| format!("cannot set DSCP {}: {error}", spec.class.dscp().value()))?;
    let octet = options::marked(socket, spec.family).unwrap_or(u32::from(wanted));
    end.event(spec.id, FlowEventKind::Marked, octet.to_string());
    let control = spec.parameters.text("congestion_control").unwrap_or(CONGESTION_CONTROL);
    let asker = match end.observer.point() {
        ObservationPoint::Client => Asker::User,
        ObservationPoint::Server => Asker::Stranger,
    };
    match options::congestion_control(socket, control, asker) {
        Ok(options::CongestionControl { effective, refused: None }) => {
            end.event(spec.id, FlowEventKind::CongestionControl, effective);
        }
        Ok(options::CongestionControl { effective, refused: Some(error) }) => {
            end.event(spec.id, FlowEventKind::CongestionControl, format!("{effective} ({control}: {error})"));
        }
        Err(error) => end.event(spec.id, FlowEventKind::CongestionControl, format!("unknown: {error}")),
    }
    Ok(())
}
