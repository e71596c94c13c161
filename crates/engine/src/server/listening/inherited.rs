//! Ports of sockets that the service manager has opened: TCP listeners, each with the UDP socket of its address and port.

use std::fs::File;
use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::OwnedFd;
use std::os::unix::fs::MetadataExt;

use rrul_model::flow::AddressFamily;
use socket2::{Domain, Socket, Type};

use super::{Port, as_listener, prepare_to_reflect, receive};
use crate::server::options::ServerError;
use crate::socket::inherited::InheritedSocket;
use crate::socket::shared_port;

/// Why sockets of the service manager are not used.
#[derive(Debug, thiserror::Error)]
pub enum InheritedError {
    #[error("{socket} of the service manager: {problem}")]
    Socket { socket: String, problem: Unfit },
    #[error("--listen {wanted}: the sockets of the service manager are of {given}; leave out --listen")]
    Listen { wanted: IpAddr, given: SocketAddr },
    #[error("--port {wanted}: the sockets of the service manager are of port {given}; leave out --port")]
    Port { wanted: u16, given: u16 },
}

/// Why a socket does not fit.
#[derive(Debug, thiserror::Error)]
pub enum Unfit {
    #[error("{0}; a socket unit may have ListenStream= and ListenDatagram= alone")]
    Unusable(#[from] io::Error),
    #[error("neither a TCP listener nor a UDP socket; write ListenStream=ADDRESS:PORT or ListenDatagram=ADDRESS:PORT")]
    Kind,
    #[error("a connection and no listener; set Accept=no in the socket unit")]
    Connection,
    #[error("it takes IPv4 as well as IPv6; set BindIPv6Only=ipv6-only in the socket unit, and listen on each family")]
    BothFamilies,
    #[error("a second one at {0}; leave it out of the socket unit")]
    Twice(SocketAddr),
    #[error("UDP at {0} without a TCP listener there; add ListenStream={0} to the socket unit")]
    Alone(SocketAddr),
    #[error("the server can open no socket beside it; set ReusePort=yes in the socket unit")]
    NotShared,
    #[error(
        "it belongs to user {owner} and the server runs as user {user}, who can open no socket beside it; leave out ListenDatagram, and \
         the server opens UDP itself"
    )]
    Owner { owner: u32, user: u32 },
}

/// What a socket is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Listener,
    Datagram,
}

/// Makes ports of these sockets. Where UDP is missing beside a listener it is opened here.
///
/// # Errors
/// When a socket is of no use, or they are not where the options say.
pub(in crate::server) fn ports(
    sockets: Vec<InheritedSocket>,
    addresses: &[IpAddr],
    port: u16,
) -> Result<Vec<Port>, ServerError> {
    let mut listeners: Vec<(SocketAddr, Socket)> = Vec::new();
    let mut datagrams: Vec<(SocketAddr, InheritedSocket)> = Vec::new();
    for inherited in sockets {
        let unfit = |problem| InheritedError::Socket { socket: inherited.to_string(), problem };
        let (kind, address) = place(&inherited.socket).map_err(unfit)?;
        let is_taken = match kind {
            Kind::Listener => listeners.iter().any(|(other, _)| *other == address),
            Kind::Datagram => datagrams.iter().any(|(other, _)| *other == address),
        };
        if is_taken {
            return Err(unfit(Unfit::Twice(address)).into());
        }
        match kind {
            Kind::Listener => listeners.push((address, inherited.socket)),
            Kind::Datagram => datagrams.push((address, inherited)),
        }
    }
    if let Some((address, alone)) = datagrams.iter().find(|(at, _)| listeners.iter().all(|(other, _)| other != at)) {
        return Err(InheritedError::Socket { socket: alone.to_string(), problem: Unfit::Alone(*address) }.into());
    }
    agree(listeners.iter().map(|(address, _)| *address), addresses, port)?;
    let complete = |(address, stream): (SocketAddr, Socket)| -> Result<Port, ServerError> {
        let listen = |source| ServerError::Listen { address, source };
        let given = datagrams.iter().position(|(other, _)| *other == address);
        let datagram = match given.map(|index| datagrams.swap_remove(index).1) {
            Some(inherited) => take_over(&inherited.socket, address)
                .map(|()| inherited.socket)
                .map_err(|problem| InheritedError::Socket { socket: format!("UDP {address}"), problem })?,
            None => receive(address).map_err(listen)?,
        };
        Ok(Port { address, stream: as_listener(stream).map_err(listen)?, datagram })
    };
    listeners.into_iter().map(complete).collect()
}

/// What a socket is for, and where.
fn place(socket: &Socket) -> Result<(Kind, SocketAddr), Unfit> {
    let domain = socket.domain()?;
    let address = socket.local_addr()?.as_socket().filter(|_| [Domain::IPV4, Domain::IPV6].contains(&domain));
    let address = address.ok_or(Unfit::Kind)?;
    let kind = match socket.r#type()? {
        Type::STREAM if socket.is_listener()? => Kind::Listener,
        Type::STREAM => return Err(Unfit::Connection),
        Type::DGRAM => Kind::Datagram,
        _ => return Err(Unfit::Kind),
    };
    if domain == Domain::IPV6 && !socket.only_v6()? {
        return Err(Unfit::BothFamilies);
    }
    Ok((kind, address))
}

/// Whether the options ask for what the service manager gives.
fn agree(
    given: impl Iterator<Item = SocketAddr> + Clone,
    addresses: &[IpAddr],
    port: u16,
) -> Result<(), InheritedError> {
    let Some(first) = given.clone().next() else { return Ok(()) };
    let missing = addresses.iter().find(|wanted| given.clone().all(|given| given.ip() != **wanted));
    let other = given.clone().find(|given| !addresses.is_empty() && !addresses.contains(&given.ip()));
    match (missing, other) {
        (Some(wanted), other) => return Err(InheritedError::Listen { wanted: *wanted, given: other.unwrap_or(first) }),
        (None, Some(other)) => return Err(InheritedError::Listen { wanted: addresses[0], given: other }),
        (None, None) => {}
    }
    // The default shows no wish.
    let other = given.map(|given| given.port()).find(|given| ![0, rrul_proto::PORT, *given].contains(&port));
    other.map_or(Ok(()), |given| Err(InheritedError::Port { wanted: port, given }))
}

/// Has a UDP socket work as one that the server has opened itself.
fn take_over(datagram: &Socket, address: SocketAddr) -> Result<(), Unfit> {
    if !datagram.reuse_port()? {
        return Err(Unfit::NotShared);
    }
    // The kernel lets sockets of one user alone share an address (socket(7): SO_REUSEPORT).
    let owner = File::from(OwnedFd::from(datagram.try_clone()?)).metadata()?.uid();
    let user = rustix::process::geteuid().as_raw();
    if owner != user {
        return Err(Unfit::Owner { owner, user });
    }
    shared_port::be_first(datagram)?;
    prepare_to_reflect(datagram, AddressFamily::from_address(address.ip()))?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use socket2::Protocol;
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener, UdpSocket};
    use std::os::unix::net::UnixDatagram;

    const HERE: IpAddr = IpAddr::V4(Ipv4Addr::LOCALHOST);
    const HERE_IPV6: IpAddr = IpAddr::V6(Ipv6Addr::LOCALHOST);

    fn listener(ip: IpAddr) -> (Socket, SocketAddr) {
        let listener = TcpListener::bind((ip, 0)).unwrap();
        let address = listener.local_addr().unwrap();
        let socket = Socket::from(listener);
        (socket, address)
    }

    /// A UDP socket that the same user may share.
    fn datagram(address: SocketAddr) -> Socket {
        let socket = Socket::new(Domain::for_address(address), Type::DGRAM, Some(Protocol::UDP)).unwrap();
        if address.is_ipv6() {
            socket.set_only_v6(true).unwrap();
        }
        socket.set_reuse_port(true).unwrap();
        socket.bind(&address.into()).unwrap();
        socket
    }

    fn given(sockets: impl IntoIterator<Item = Socket>) -> Vec<InheritedSocket> {
        sockets.into_iter().zip(3..).map(|(socket, number)| InheritedSocket::from_test(socket, number)).collect()
    }

    /// A listener of IPv6 alone.
    fn listener_ipv6() -> (Socket, SocketAddr) {
        let socket = Socket::new(Domain::IPV6, Type::STREAM, Some(Protocol::TCP)).unwrap();
        socket.set_only_v6(true).unwrap();
        socket.bind(&SocketAddr::new(HERE_IPV6, 0).into()).unwrap();
        socket.listen(1).unwrap();
        let address = socket.local_addr().unwrap().as_socket().unwrap();
        (socket, address)
    }

    fn complaint(sockets: Vec<Socket>, addresses: &[IpAddr], port: u16) -> String {
        let error = ports(given(sockets), addresses, port).err().expect("they do not fit").to_string();
        assert!(!error.contains('\n'), "{error}");
        error
    }

    #[test]
    fn each_listener_gets_the_udp_socket_of_its_address_in_whatever_order_they_come() {
        let ((one, at_one), (other, at_other)) = (listener(HERE), listener_ipv6());
        let sockets = given([datagram(at_other), one, datagram(at_one), other]);
        let ports = ports(sockets, &[], rrul_proto::PORT).unwrap();
        assert_eq!(ports.iter().map(|port| port.address).collect::<Vec<_>>(), [at_one, at_other]);
        for port in ports {
            assert_eq!(port.datagram.local_addr().unwrap().as_socket(), Some(port.address));
            assert_eq!(port.stream.local_addr().unwrap(), port.address);
            // As a session opens one.
            datagram(port.address);
        }
    }

    #[test]
    fn udp_that_is_not_given_is_opened() {
        let (one, address) = listener(HERE);
        let ports = ports(given([one]), &[HERE], 0).unwrap();
        assert_eq!(ports[0].datagram.local_addr().unwrap().as_socket(), Some(address));
    }

    #[test]
    fn what_does_not_fit_is_one_line_that_names_the_socket_and_what_to_change() {
        let (one, address) = listener(HERE);
        let alone = complaint(vec![datagram(address)], &[], 0);
        assert!(alone.contains("descriptor 3 (rrul-server.socket)"), "{alone}");
        assert!(alone.contains(&format!("add ListenStream={address}")), "{alone}");
        let again = one.try_clone().unwrap();
        let twice = complaint(vec![one, again], &[], 0);
        assert!(twice.contains("descriptor 4") && twice.contains("a second one at"), "{twice}");
        let unix = Socket::from(UnixDatagram::unbound().unwrap());
        assert!(complaint(vec![unix], &[], 0).contains("neither a TCP listener nor a UDP socket"));
        let file = Socket::from(OwnedFd::from(File::open("/dev/null").unwrap()));
        assert!(complaint(vec![file], &[], 0).contains("ListenStream= and ListenDatagram= alone"));
        let (one, address) = listener(HERE);
        let connection = Socket::from(std::net::TcpStream::connect(address).unwrap());
        assert!(complaint(vec![one, connection], &[], 0).contains("set Accept=no"));
        let both = TcpListener::bind((Ipv6Addr::UNSPECIFIED, 0)).unwrap();
        assert!(complaint(vec![both.into()], &[], 0).contains("set BindIPv6Only=ipv6-only"));
        let (one, address) = listener(HERE);
        let unshared = UdpSocket::bind(address).unwrap();
        assert!(complaint(vec![one, unshared.into()], &[], 0).contains("set ReusePort=yes"));
    }

    #[test]
    fn options_that_ask_for_other_addresses_are_refused() {
        let sockets = || vec![listener(HERE).0];
        let error = complaint(sockets(), &[HERE_IPV6], 0);
        assert!(error.contains("--listen ::1") && error.contains("leave out --listen"), "{error}");
        assert!(complaint(sockets(), &[HERE, HERE_IPV6], 0).contains("--listen ::1"));
        let both = vec![listener(HERE).0, listener_ipv6().0];
        assert!(complaint(both, &[HERE], 0).contains("are of [::1]:"));
        assert!(complaint(sockets(), &[HERE], 1).contains("--port 1: "));
    }
}
