//! Several UDP sockets at one address and port, of which the first receives all that is for none of them in particular.
//!
//! The kernel keeps such sockets in a group (socket(7): `SO_REUSEPORT`), and a program at the group picks its first. Since Linux
//! 6.13 a socket leaves its group when it is connected, and one that is bound after that is put into a new group with it: one
//! without that program, which draws all packets. So a connected socket gives the option up, and whoever is bound next joins the
//! first. What the kernel asks of it instead is `SO_REUSEADDR`, which the first does not have: the port stays this user's.

use std::io;
use std::net::SocketAddr;

use socket2::Socket;

use super::options::set;

/// `BPF_RET` | `BPF_K` (linux/filter.h).
const RETURN: u16 = 0x06;

/// Makes a socket the first of its address, before it is bound to it.
///
/// # Errors
/// When the kernel refuses.
pub fn be_first(socket: &Socket) -> io::Result<()> {
    socket.set_reuse_port(true)?;
    // One instruction: return 0, the place of the first.
    let mut code = [libc::sock_filter { code: RETURN, jt: 0, jf: 0, k: 0 }];
    let program = libc::sock_fprog { len: 1, filter: code.as_mut_ptr() };
    set(socket, libc::SOL_SOCKET, libc::SO_ATTACH_REUSEPORT_CBPF, program)
}

/// Binds a socket beside the first of an address. It receives nothing.
///
/// # Errors
/// When the kernel refuses.
pub fn bind_beside(socket: &Socket, address: SocketAddr) -> io::Result<()> {
    socket.set_reuse_port(true)?;
    socket.set_reuse_address(true)?;
    socket.bind(&address.into())
}

/// Connects a socket that was bound beside the first: what this peer sends comes here from now on.
///
/// # Errors
/// When the kernel refuses.
pub fn connect_beside(socket: &Socket, peer: SocketAddr) -> io::Result<()> {
    socket.connect(&peer.into())?;
    socket.set_reuse_port(false)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::socket::options::domain;
    use rrul_model::flow::AddressFamily;
    use socket2::{Protocol, Type};
    use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};

    const STRANGERS: usize = 8;

    fn socket(at: SocketAddr) -> Socket {
        let socket =
            Socket::new(domain(AddressFamily::from_address(at.ip())), Type::DGRAM, Some(Protocol::UDP)).unwrap();
        if at.is_ipv6() {
            socket.set_only_v6(true).unwrap();
        }
        socket.set_nonblocking(true).unwrap();
        socket
    }

    fn received(socket: &Socket) -> usize {
        std::iter::from_fn(|| socket.recv(&mut [std::mem::MaybeUninit::uninit(); 8]).ok()).count()
    }

    /// Sockets that take no peer and such that are connected come and go in every order; strangers reach the first alone.
    #[test]
    fn whatever_is_bound_and_connected_beside_the_first_draws_no_packet_of_a_stranger() {
        let here = [IpAddr::V4(Ipv4Addr::LOCALHOST), IpAddr::V6(Ipv6Addr::LOCALHOST)];
        let any = [IpAddr::V4(Ipv4Addr::UNSPECIFIED), IpAddr::V6(Ipv6Addr::UNSPECIFIED)];
        for (listening, host) in here.into_iter().zip(here).chain(any.into_iter().zip(here)) {
            for order in ["", "b", "c", "cb", "bc", "cbc", "cbcb", "ccbb", "c-b", "cb-", "cbc-b"] {
                let first = socket(SocketAddr::new(listening, 0));
                be_first(&first).unwrap();
                first.bind(&SocketAddr::new(listening, 0).into()).unwrap();
                let address = first.local_addr().unwrap().as_socket().unwrap();
                let to = SocketAddr::new(host, address.port());
                let peers: Vec<UdpSocket> = order.chars().map(|_| UdpSocket::bind((host, 0)).unwrap()).collect();
                let mut beside: Vec<(Socket, Option<&UdpSocket>)> = Vec::new();
                for (step, peer) in order.chars().zip(&peers) {
                    if step == '-' {
                        beside.remove(0);
                        continue;
                    }
                    let socket = socket(address);
                    bind_beside(&socket, address).unwrap();
                    if step == 'c' {
                        connect_beside(&socket, peer.local_addr().unwrap()).unwrap();
                    }
                    beside.push((socket, (step == 'c').then_some(peer)));
                }
                for _ in 0..STRANGERS {
                    UdpSocket::bind((host, 0)).unwrap().send_to(b"stranger", to).unwrap();
                }
                beside.iter().filter_map(|(_, peer)| *peer).for_each(|peer| {
                    peer.send_to(b"peer", to).unwrap();
                });
                assert_eq!(received(&first), STRANGERS, "{address}: {order}");
                for (socket, peer) in &beside {
                    assert_eq!(received(socket), usize::from(peer.is_some()), "{address}: {order}");
                }
            }
        }
    }
}
