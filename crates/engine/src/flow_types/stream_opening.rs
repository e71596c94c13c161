//! Opening the TCP connection of a flow, at the client.

use std::io::{self, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rrul_model::flow::{FlowSpec, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, ObservationPoint};
use rrul_model::units::ByteCount;
use rrul_proto::limits;
use rrul_proto::opening::{SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::short_flow::{NUMBER_OCTETS, decode_number};
use socket2::{Protocol, Socket, Type};

use crate::control_link::read_exact_until;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::Initiation;
use crate::setup_error::SetupError;
use crate::socket::options::{self, Asker};
use crate::socket::wait;

/// How long the handshake and the server's answer may take.
const OPENING_TIME: Duration = Duration::from_secs(10);

/// Bytes of the timestamps option with its padding (RFC 7323).
const TIMESTAMPS: u16 = 12;

/// The congestion control of load unless the plan says otherwise.
pub(super) const CONGESTION_CONTROL: &str = "cubic";

/// The parameter of flow types whose streams both ends send on.
pub(super) const CONGESTION_CONTROL_PARAMETER: ParameterWord = ParameterWord {
    name: "congestion_control",
    kind: ParameterKind::Name,
    about: "of the kernel at both ends; default cubic",
};

/// Returns the congestion control that a flow asks for.
pub(super) fn congestion_control(spec: &FlowSpec) -> &str {
    spec.parameters.text("congestion_control").unwrap_or(CONGESTION_CONTROL)
}

/// Returns a socket that has not been connected, for a flow of many connections: marked, not blocking, and reset when it is closed.
pub(super) fn connecting_socket(spec: &FlowSpec) -> io::Result<Socket> {
    let socket = Socket::new(options::domain(spec.family), Type::STREAM, Some(Protocol::TCP))?;
    options::mark(&socket, spec.family, spec.class)?;
    socket.set_nonblocking(true)?;
    socket.set_tcp_nodelay(true)?;
    // What is unsent must not drain over the link when the flow has ended, nothing lingers in TIME_WAIT, here or there, and no
    // cache of the kernel keeps what this connection learnt.
    socket.set_linger(Some(Duration::ZERO))?;
    Ok(socket)
}

/// Returns the number of a connection that a client has opened, which has been given the flow's congestion control; `None` for one
/// that is not served.
pub(super) fn number_of(mut stream: &TcpStream, spec: &FlowSpec, end: &Endpoint) -> Option<u32> {
    let mut number = [0; NUMBER_OCTETS];
    read_exact_until(&mut stream, &mut number, Instant::now() + limits::OPENING_TIME).ok()?;
    let number = decode_number(number);
    if number > 0 {
        let _ = options::congestion_control(stream, congestion_control(spec), Asker::Stranger);
    } else if let Err(reason) = prepare(stream, spec, end) {
        // Once a flow is enough to record what is in force.
        end.failed(spec, reason);
        return None;
    }
    Some(number)
}

/// Bits of a TCP segment with so many bytes of data, on the IP layer, with timestamps.
pub(super) fn segment_bits(spec: &FlowSpec, octets: u64) -> f64 {
    let headers = spec.family.tcp_header_octets() + TIMESTAMPS;
    ((octets + u64::from(headers)) * 8) as f64
}

/// Opens the connection of this flow: marked before the SYN, with the congestion control asked for.
///
/// When no stream was opened.
pub(super) fn open(spec: &FlowSpec, initiation: &Initiation) -> Result<TcpStream, SetupError> {
    if initiation.end.is_stopped() {
        return Err(SetupError::Stopped);
    }
    let server = initiation.server_for(spec)?;
    let socket = Socket::new(options::domain(spec.family), Type::STREAM, Some(Protocol::TCP))
        .map_err(SetupError::socket("no socket towards the server"))?;
    prepare(&socket, spec, &initiation.end)?;
    // Announced in the SYN, so that the server keeps to it as well.
    if let Some(most) = spec.parameters.text("mss").and_then(|text| text.parse::<ByteCount>().ok()) {
        options::limit_segments(&socket, most).map_err(SetupError::socket("the kernel refuses these segments"))?;
    }
    initiation.end.event(spec.id, FlowEventKind::ConnectStarted, "");
    socket.connect_timeout(&server.into(), OPENING_TIME).map_err(SetupError::socket("cannot connect to the server"))?;
    initiation.end.event(spec.id, FlowEventKind::Connected, "");
    let mut stream = TcpStream::from(socket);
    greet(&mut stream, initiation, spec).map_err(SetupError::socket("no answer from the server"))?;
    Ok(stream)
}

fn greet(stream: &mut TcpStream, initiation: &Initiation, spec: &FlowSpec) -> io::Result<()> {
    stream.set_nodelay(true)?;
    stream.write_all(&initiation.stream_opening(spec.id))?;
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
/// When the marking is refused: an unmarked flow would be a different test.
pub(super) fn prepare(socket: &impl std::os::fd::AsFd, spec: &FlowSpec, end: &Endpoint) -> Result<(), SetupError> {
    let wanted = spec.class.octet();
    options::mark(socket, spec.family, spec.class)
        .map_err(|error| SetupError::Marking(spec.class.dscp().value(), error))?;
    let octet = options::marked(socket, spec.family).unwrap_or(u32::from(wanted));
    end.event(spec.id, FlowEventKind::Marked, octet.to_string());
    let control = congestion_control(spec);
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
