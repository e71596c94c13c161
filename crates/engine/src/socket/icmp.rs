//! A raw socket that hears the ICMP messages of this host: what they quote of packets is passed to no one else.

use std::io;
use std::net::{IpAddr, Ipv4Addr};
use std::os::fd::{AsFd, BorrowedFd};

use rrul_model::flow::AddressFamily;
use rrul_proto::icmp_error::{self, IcmpError};
use socket2::{Protocol, Socket, Type};

use super::{datagram, options};

/// ICMPv6 types 0 to 255, of which a set bit keeps one out (RFC 3542 §3.2); and its option, which libc does not name.
const ICMP6_FILTER: libc::c_int = 1;
/// Likewise for ICMP types 0 to 31, from linux/icmp.h.
const ICMP_FILTER: libc::c_int = 1;

/// Messages read in a row: a flood of them must not keep the thread from everything else.
const BATCH: usize = 64;

/// Hears the messages of one family that quote packets.
#[derive(Debug)]
pub struct IcmpSocket {
    socket: Socket,
    family: AddressFamily,
    octets: Box<[u8; 2048]>,
}

/// A message and what the kernel knows of it.
#[derive(Debug, Clone, Copy)]
pub struct Heard<'a> {
    pub source: Option<IpAddr>,
    /// The kernel's receive stamp, wall clock, nanoseconds.
    pub stamp: Option<i64>,
    pub error: IcmpError<'a>,
}

impl AsFd for IcmpSocket {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

impl IcmpSocket {
    /// Takes CAP_NET_RAW.
    ///
    /// # Errors
    /// As socket(2): most programs may not.
    pub fn open(family: AddressFamily) -> io::Result<Self> {
        let socket = Socket::new(options::domain(family), Type::RAW, Some(protocol(family)))?;
        socket.set_nonblocking(true)?;
        options::stamp_received(&socket)?;
        match family {
            AddressFamily::Ipv4 => {
                let passed: u32 = 1 << 3 | 1 << 11 | 1 << 12;
                options::set(&socket, libc::SOL_RAW, ICMP_FILTER, !passed)?;
            }
            AddressFamily::Ipv6 => {
                let mut kept_out = [u32::MAX; 8];
                kept_out[0] = !(1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
                options::set(&socket, libc::IPPROTO_ICMPV6, ICMP6_FILTER, kept_out)?;
            }
        }
        Ok(Self { socket, family, octets: Box::new([0; 2048]) })
    }

    pub fn family(&self) -> AddressFamily {
        self.family
    }

    /// Hands over the messages that have come and can be read, of a batch; others make the socket readable again at once.
    pub fn hear(&mut self, mut take: impl FnMut(Heard<'_>)) {
        for _ in 0..BATCH {
            let Ok(Some(found)) = datagram::receive(&self.socket, &mut self.octets[..]) else { break };
            let octets = &self.octets[..found.length.min(self.octets.len())];
            let error = match self.family {
                AddressFamily::Ipv4 => icmp_error::read_ipv4(octets),
                AddressFamily::Ipv6 => icmp_error::read_ipv6(octets),
            };
            let source = found.source.map(|source| source.ip()).filter(|ip| *ip != IpAddr::V4(Ipv4Addr::UNSPECIFIED));
            if let Some(error) = error {
                take(Heard { source, stamp: found.stamp, error });
            }
        }
    }
}

/// Whether echo requests can be sent from here, in words for the environment.
pub fn echo_ability() -> String {
    match echo_socket(AddressFamily::Ipv4) {
        Ok((_, Access::Ping)) => "yes: ping socket".to_owned(),
        Ok((_, Access::Raw)) => "yes: raw socket".to_owned(),
        Err(error) => format!("no: {error}; widen net.ipv4.ping_group_range or give CAP_NET_RAW"),
    }
}

/// A kind of socket that sends echo requests.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Access {
    /// The kernel fills in identifier and checksum, and hands up only our replies, without an IP header.
    Ping,
    /// Everything that arrives is handed up, over IPv4 with its IP header.
    Raw,
}

/// Returns a socket for echo requests: a ping socket where this host permits it, else a raw one.
///
/// # Errors
/// As socket(2), when neither is permitted.
pub fn echo_socket(family: AddressFamily) -> io::Result<(Socket, Access)> {
    let (domain, protocol) = (options::domain(family), protocol(family));
    let ping = Socket::new(domain, Type::DGRAM, Some(protocol)).map(|socket| (socket, Access::Ping));
    ping.or_else(|_| Ok((Socket::new(domain, Type::RAW, Some(protocol))?, Access::Raw)))
}

fn protocol(family: AddressFamily) -> Protocol {
    match family {
        AddressFamily::Ipv4 => Protocol::ICMPV4,
        AddressFamily::Ipv6 => Protocol::ICMPV6,
    }
}
