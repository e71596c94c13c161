//! The ports of a server: for each address a TCP listener and a UDP socket of the same number.

#[cfg(feature = "activation")]
pub(super) mod inherited;

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener};

use rrul_model::flow::AddressFamily;
use socket2::{Protocol, Socket, Type};

use super::options::ServerError;
use crate::socket::options::{self, Asker};
use crate::socket::shared_port;

/// For connections that do not request another one.
const CONGESTION_CONTROL: &str = "cubic";

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4096;

/// How many port numbers to try when the kernel may choose, as one free for TCP may be taken for UDP.
const TRIES: u32 = 16;

/// Every address of both families.
const EVERYWHERE: [IpAddr; 2] = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];

/// One address with its sockets.
pub(super) struct Port {
    pub(super) address: SocketAddr,
    pub(super) stream: TcpListener,
    pub(super) datagram: Socket,
}

/// Opens every address. Without any given, all of both families: IPv6 is left out where the host has none.
pub(super) fn open(addresses: &[IpAddr], port: u16) -> Result<Vec<Port>, ServerError> {
    let wanted = if addresses.is_empty() { &EVERYWHERE[..] } else { addresses };
    let tries = if port == 0 { TRIES } else { 1 };
    let mut last = None;
    for _ in 0..tries {
        match open_all(wanted, port, addresses.is_empty()) {
            Ok(ports) => return Ok(ports),
            Err(error) => last = Some(error),
        }
    }
    Err(last.unwrap_or(ServerError::Listen {
        address: (Ipv4Addr::UNSPECIFIED, port).into(),
        source: io::ErrorKind::AddrNotAvailable.into(),
    }))
}

fn open_all(addresses: &[IpAddr], port: u16, optional: bool) -> Result<Vec<Port>, ServerError> {
    let mut ports: Vec<Port> = Vec::new();
    for ip in addresses {
        let number = ports.first().map_or(port, |first| first.address.port());
        let address = SocketAddr::new(*ip, number);
        match open_one(address) {
            Ok(port) => ports.push(port),
            Err(error) if optional && ip.is_ipv6() && is_absent(&error) => {}
            Err(source) => return Err(ServerError::Listen { address, source }),
        }
    }
    Ok(ports)
}

/// Whether the host simply has no such family.
fn is_absent(error: &io::Error) -> bool {
    error.kind() == io::ErrorKind::AddrNotAvailable || error.raw_os_error() == Some(libc::EAFNOSUPPORT)
}

/// An address that a server is to listen on, and whether it can.
#[derive(Debug)]
pub struct PortTrial {
    pub address: SocketAddr,
    /// `TCP` or `UDP`.
    pub transport: &'static str,
    pub state: PortState,
}

/// Whether a server can listen somewhere.
#[derive(Debug)]
pub enum PortState {
    Free,
    /// This host lacks the address family, which was not asked for.
    NoFamily,
    Refused(ServerError),
}

/// Tries where a server with these options would listen, and leaves nothing open.
pub fn try_ports(addresses: &[IpAddr], port: u16) -> Vec<PortTrial> {
    let wanted = if addresses.is_empty() { &EVERYWHERE[..] } else { addresses };
    let tries = wanted.iter().flat_map(|ip| {
        let address = SocketAddr::new(*ip, port);
        [("TCP", listen(address).map(drop)), ("UDP", receive(address).map(drop))].map(|(transport, outcome)| {
            let state = match outcome {
                Ok(()) => PortState::Free,
                Err(error) if addresses.is_empty() && ip.is_ipv6() && is_absent(&error) => PortState::NoFamily,
                Err(source) => PortState::Refused(ServerError::Listen { address, source }),
            };
            PortTrial { address, transport, state }
        })
    });
    tries.collect()
}

fn open_one(address: SocketAddr) -> io::Result<Port> {
    let stream = listen(address)?;
    let address = SocketAddr::new(address.ip(), stream.local_addr()?.port());
    Ok(Port { address, stream, datagram: receive(address)? })
}

fn listen(address: SocketAddr) -> io::Result<TcpListener> {
    let family = AddressFamily::from_address(address.ip());
    let stream = socket(family, Type::STREAM, Protocol::TCP)?;
    stream.set_reuse_address(true)?;
    stream.bind(&address.into())?;
    as_listener(stream)
}

/// A bound socket as one that takes connections.
fn as_listener(stream: Socket) -> io::Result<TcpListener> {
    // Connections have it from here, and what a plan asks for takes its place later. Of a host whose default is BBR they
    // would go on to pace what they send, as the kernel has it, whatever takes BBR's place: each last flight took up to
    // half a round trip more.
    let _ = options::congestion_control(&stream, CONGESTION_CONTROL, Asker::User);
    stream.listen(BACKLOG)?;
    stream.set_nonblocking(true)?;
    Ok(stream.into())
}

fn receive(address: SocketAddr) -> io::Result<Socket> {
    let family = AddressFamily::from_address(address.ip());
    let datagram = socket(family, Type::DGRAM, Protocol::UDP)?;
    // The path traces of sessions have sockets at this address, too.
    shared_port::be_first(&datagram)?;
    datagram.bind(&address.into())?;
    prepare_to_reflect(&datagram, family)?;
    Ok(datagram)
}

/// Has the kernel keep packets until the reflector runs, and report of each what it has to know.
fn prepare_to_reflect(datagram: &Socket, family: AddressFamily) -> io::Result<()> {
    options::enlarge_receive_buffer(datagram);
    options::receive_marking(datagram, family)?;
    options::receive_local_address(datagram, family)?;
    options::receive_hop_limit(datagram, family)?;
    options::stamp(datagram)
}

fn socket(family: AddressFamily, kind: Type, protocol: Protocol) -> io::Result<Socket> {
    let socket = Socket::new(options::domain(family), kind, Some(protocol))?;
    if family == AddressFamily::Ipv6 {
        // IPv4 has a socket of its own, so that a family is never taken for the other.
        socket.set_only_v6(true)?;
    }
    Ok(socket)
}
