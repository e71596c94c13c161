//! Connecting: every family at once; IPv4 leads where both answer, the other is proven.

use std::io::{self, Write};
use std::net::{SocketAddr, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use rrul_model::environment::Environment;
use rrul_model::flow::AddressFamily;
use rrul_model::printable;
use rrul_model::recording::AbsentFamily;
use rrul_model::units::ByteCount;
use rrul_proto::control::{ClientMessage, ServerMessage};
use rrul_proto::limits::Limits;
use rrul_proto::opening::{ClientOpening, Offers, OpeningError, Purpose, SERVER_OCTETS, ServerOpening, Status};
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::stream_key::StreamKey;
use rrul_proto::token::Token;
use socket2::{Protocol, SockRef, Socket, Type};

use super::control_client::{Heartbeat, listen, send};
use super::options::{Families, NameError, RunError, RunOptions};
#[cfg(feature = "certificates")]
use super::server_names;
use super::server_silence::GIVEN_UP;
use super::server_trust::{Encryption, Met, TrustError};
#[cfg(feature = "certificates")]
use crate::control_link::CertifiedError;
use crate::control_link::{ACCESS_LABEL, ControlStream, LinkError, STREAM_LABEL, read_exact_until};
use crate::socket::options;

/// How long the handshakes of one family may take together: the other family's connection waits meanwhile, and a server
/// closes one that says nothing for 5 s.
const CONNECT_TIME: Duration = Duration::from_secs(4);

/// How long the server's first bytes may take.
const ANSWER_TIME: Duration = Duration::from_secs(5);

/// The largest segment of a control connection, either way: with its headers it fits into every path of IPv6. Where longer packets are
/// lost without a report, a test can say so instead of failing.
const CONTROL_SEGMENT: ByteCount = ByteCount(1220);

/// A session is open and every family under test is proven.
pub(super) struct Connected {
    pub(super) control: ControlStream,
    pub(super) token: Token,
    /// What test packets are sealed with.
    pub(super) seal: PacketSeal,
    /// What streams are opened with, where the control connection is encrypted.
    pub(super) stream_key: Option<StreamKey>,
    pub(super) limits: Limits,
    pub(super) server: Box<Environment>,
    /// The server's address in each family under test.
    pub(super) proven: Vec<SocketAddr>,
    pub(super) absent: Vec<AbsentFamily>,
    pub(super) heartbeat: Heartbeat,
}

/// A TCP connection that has said nothing yet, or why not.
struct Attempt {
    family: AddressFamily,
    outcome: Result<(TcpStream, SocketAddr), RunError>,
}

/// Opens a session over a family that answers, and proves the other.
pub(super) fn connect(
    options: &RunOptions,
    addresses: &[SocketAddr],
    stop: &AtomicBool,
) -> Result<Connected, RunError> {
    let wanted = match options.families {
        Families::Both => AddressFamily::ALL.to_vec(),
        Families::Only(family) => vec![family],
    };
    let mut absents = Vec::new();
    let mut connected = Vec::new();
    let mut failures = Vec::new();
    for attempt in attempt_all(&wanted, addresses, &options.server) {
        match attempt.outcome {
            Ok(found) => connected.push((attempt.family, found)),
            Err(error) => {
                absents.push(absent(attempt.family, reason_of(&error)));
                failures.push(error);
            }
        }
    }
    if connected.is_empty() {
        // The most telling reason: a refused connection says more than a missing address.
        failures.sort_by_key(|error| matches!(error, RunError::Name { .. }));
        return Err(failures
            .into_iter()
            .next()
            .unwrap_or(RunError::Name { server: options.server.clone(), reason: NameError::Unreached }));
    }
    let (_, (control, address)) = connected.remove(0);
    let (mut control, greetings) = secured(control, address, options)?;
    let stream_key = control.export(STREAM_LABEL, &greetings).map(|octets| StreamKey::new(&octets));
    let welcome = enter(&mut control, &greetings, options, stop)?;
    let (token, server, limits, hears_alive, seals) = match welcome {
        ServerMessage::Welcome { token, environment, limits, hears_alive, seals } => {
            (token, environment, limits, hears_alive, seals)
        }
        ServerMessage::Refused { retry_after: Some(_), .. } => return Err(RunError::Full { address }),
        ServerMessage::Refused { reason, .. } => {
            let reason = printable::field(&reason).into_owned();
            return Err(RunError::Access { server: options.server.clone(), reason });
        }
        _ => return Err(RunError::Lost { server: options.server.clone(), source: LinkError::Closed }),
    };
    let secrets = control.packet_secrets(&greetings).filter(|_| seals);
    let mut proven = vec![address];
    for (family, (mut stream, address)) in connected {
        let presence = ClientOpening::new(Purpose::Presence, token, 0);
        let presence = stream_key.as_ref().map_or(presence, |key| key.seal(presence, token));
        match open(&mut stream, address, presence) {
            Ok(_) => proven.push(address),
            Err(error) => absents.push(absent(family, reason_of(&error))),
        }
    }
    Ok(Connected {
        control,
        token,
        seal: PacketSeal::of_client(token, secrets.as_ref()),
        stream_key,
        limits,
        server,
        proven,
        absent: absents,
        heartbeat: Heartbeat::new(hears_alive),
    })
}

/// The control connection, opened and encrypted as the user wants it, and what both ends have said in the clear.
fn secured(
    mut stream: TcpStream,
    address: SocketAddr,
    options: &RunOptions,
) -> Result<(ControlStream, Vec<u8>), RunError> {
    let trust = &options.trust;
    let refused = |source| RunError::Trust { server: options.server.clone(), source };
    let encrypts = trust.encryption != Encryption::Never;
    let mut offers = if encrypts { Offers::ACCESS.and(Offers::TLS).and(Offers::SEALS) } else { Offers::ACCESS };
    if trust.verifies_certificates() {
        offers = offers.and(Offers::CERTIFICATES);
    }
    options::insist(&stream);
    // The kernel counts attempts otherwise, and gives up after 14 waits of 1 s.
    let _ = SockRef::from(&stream).set_tcp_user_timeout(Some(GIVEN_UP));
    let opening = ClientOpening::control(offers);
    let answer = match open(&mut stream, address, opening) {
        Err(RunError::Lacking { .. }) if !encrypts => return Err(refused(TrustError::EncryptedOnly)),
        answer => answer?,
    };
    let greetings = [&opening.encode()[..], &answer.encode()].concat();
    let handshake = |error: io::Error| refused(TrustError::Handshake(error.to_string()));
    let deadline = Instant::now() + ANSWER_TIME;
    let (stream, met) = match answer.status {
        Status::Secure => {
            let (stream, key) = ControlStream::connect(stream, deadline).map_err(handshake)?;
            (stream, Met::Key(key))
        }
        #[cfg(feature = "certificates")]
        Status::Certified if trust.verifies_certificates() => {
            let name = server_names::name_of(&options.server, address);
            let stream = ControlStream::connect_certified(stream, &trust.authorities, &name, deadline);
            let stream = stream.map_err(|error| match error {
                CertifiedError::Certificate(problem) => refused(problem.into()),
                CertifiedError::Handshake(error) => handshake(error),
            })?;
            (stream, Met::Certificate)
        }
        Status::Certified => return Err(RunError::Lacking { address }),
        _ => {
            trust.meet_plain().map_err(refused)?;
            return Ok((ControlStream::plain(stream), greetings));
        }
    };
    trust.meet(&met).map_err(refused)?;
    Ok((stream, greetings))
}

/// The server's first message, or its second where the first asks for a token.
fn enter(
    control: &mut ControlStream,
    greetings: &[u8],
    options: &RunOptions,
    stop: &AtomicBool,
) -> Result<ServerMessage, RunError> {
    let lost = |source| {
        if stop.load(Ordering::Relaxed) {
            return RunError::Stopped;
        }
        RunError::Lost { server: options.server.clone(), source }
    };
    let first = listen(control, stop).map_err(lost)?;
    let ServerMessage::Challenge { challenge } = first else { return Ok(first) };
    let binding = control.export(ACCESS_LABEL, greetings);
    let binding = binding.as_ref().map_or(&[][..], |octets| octets);
    let answer = options.token.as_ref().map(|token| token.answer(&challenge, binding));
    send(control, &ClientMessage::Proof(answer.unwrap_or_default())).map_err(lost)?;
    listen(control, stop).map_err(lost)
}

/// Why a family is absent, without its address: that may have to stay out of the recording.
fn reason_of(error: &RunError) -> String {
    match error {
        RunError::Name { reason, .. } => reason.to_string(),
        RunError::Connect { reason, .. } => reason.clone(),
        other => other.to_string(),
    }
}

/// Tries every family at the same time, each address of a family in turn.
fn attempt_all(wanted: &[AddressFamily], addresses: &[SocketAddr], server: &str) -> Vec<Attempt> {
    std::thread::scope(|scope| {
        let threads: Vec<_> = wanted
            .iter()
            .map(|&family| {
                let of_family: Vec<SocketAddr> = of_family(addresses, family).copied().collect();
                scope.spawn(move || Attempt { family, outcome: attempt(&of_family, family, server) })
            })
            .collect();
        threads.into_iter().filter_map(|thread| thread.join().ok()).collect()
    })
}

fn attempt(addresses: &[SocketAddr], family: AddressFamily, server: &str) -> Result<(TcpStream, SocketAddr), RunError> {
    let mut last = RunError::Name { server: server.to_owned(), reason: NameError::NoAddress(family) };
    let deadline = Instant::now() + CONNECT_TIME;
    for (tried, &address) in addresses.iter().enumerate() {
        let fair = deadline.saturating_duration_since(Instant::now()) / (addresses.len() - tried) as u32;
        match connect_within(address, family, fair.max(Duration::from_millis(1))) {
            Ok(stream) => return Ok((stream, address)),
            Err(error) => last = RunError::Connect { address, reason: advice(&error, address.port()) },
        }
    }
    Err(last)
}

fn connect_within(address: SocketAddr, family: AddressFamily, most: Duration) -> io::Result<TcpStream> {
    let socket = Socket::new(options::domain(family), Type::STREAM, Some(Protocol::TCP))?;
    options::limit_segments(&socket, CONTROL_SEGMENT)?;
    socket.connect_timeout(&address.into(), most)?;
    Ok(socket.into())
}

fn advice(error: &io::Error, port: u16) -> String {
    match error.kind() {
        io::ErrorKind::ConnectionRefused => {
            format!("connection refused; check that `rrul server` runs there on TCP port {port}")
        }
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
            format!("no answer; let TCP port {port} through all firewalls")
        }
        io::ErrorKind::NetworkUnreachable | io::ErrorKind::HostUnreachable => {
            format!("{error}; this host has no route to it")
        }
        _ => error.to_string(),
    }
}

/// Says what the connection is for, and understands the answer.
fn open(stream: &mut TcpStream, address: SocketAddr, opening: ClientOpening) -> Result<ServerOpening, RunError> {
    let failed = |reason: String| RunError::Connect { address, reason };
    let not_rrul = || failed("something answers there, but not an rrul server; check host and port".to_owned());
    let mut exchange = || -> io::Result<[u8; SERVER_OCTETS]> {
        stream.set_nodelay(true)?;
        stream.write_all(&opening.encode())?;
        let mut answer = [0; SERVER_OCTETS];
        read_exact_until(stream, &mut answer, Instant::now() + ANSWER_TIME)?;
        Ok(answer)
    };
    let answer = exchange().map_err(|error| match error.kind() {
        io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => failed(format!(
            "connected, but no answer within {} s; check that host and port are those of an rrul server",
            ANSWER_TIME.as_secs()
        )),
        _ => not_rrul(),
    })?;
    match ServerOpening::decode(&answer) {
        Ok(opening @ ServerOpening { status: Status::Accepted | Status::Secure | Status::Certified, .. }) => {
            Ok(opening)
        }
        Ok(opening @ ServerOpening { status: Status::Version, .. }) => Err(failed(opening.version_message())),
        Ok(ServerOpening { status: Status::Busy, .. }) => Err(RunError::Full { address }),
        Ok(ServerOpening { status: Status::Unknown, .. }) => {
            Err(failed("the server no longer knows the session".to_owned()))
        }
        Ok(ServerOpening { status: Status::Lacking, .. }) => Err(RunError::Lacking { address }),
        Err(error @ OpeningError::UnknownStatus(_)) => {
            Err(failed(format!("the server says {error}; update this client")))
        }
        Err(_) => Err(not_rrul()),
    }
}

/// An address family that is not under test, with the reason.
pub(super) fn absent(family: AddressFamily, reason: impl Into<String>) -> AbsentFamily {
    AbsentFamily { family, reason: reason.into() }
}

/// The families of these addresses.
pub(super) fn of_family(addresses: &[SocketAddr], family: AddressFamily) -> impl Iterator<Item = &SocketAddr> {
    addresses.iter().filter(move |address| AddressFamily::from_address(address.ip()) == family)
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, TcpListener};

    use rrul_model::flow::FlowId;
    use rrul_model::time::TestTime;

    use super::*;
    use crate::tcp_info;

    #[test]
    fn both_ends_of_a_control_connection_send_short_segments() {
        for address in [IpAddr::from(Ipv4Addr::LOCALHOST), IpAddr::from(Ipv6Addr::LOCALHOST)] {
            let listener = TcpListener::bind((address, 0)).unwrap();
            let address = listener.local_addr().unwrap();
            let (client, _) = attempt(&[address], AddressFamily::from_address(address.ip()), "").ok().unwrap();
            let (server, _) = listener.accept().unwrap();
            for end in [client, server] {
                let segment = tcp_info::read(&end, FlowId(0), TestTime::ZERO).unwrap().snd_mss;
                assert!((1000..=1220).contains(&segment), "{segment}");
            }
        }
    }
}
