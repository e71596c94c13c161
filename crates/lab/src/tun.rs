//! TUN devices: IP packets in and out of a network namespace, and its addresses, without any program's help.
#![allow(unsafe_code, reason = "TUNSETIFF, the SIOCSIF* ioctls and netlink sockets have no safe form in std")]

use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::OpenOptionsExt;
use std::thread;
use std::time::Duration;

use crate::error::Error;
use crate::queue::MTU;

const DEVICE: &str = "/dev/net/tun";

/// The interface's name, the same in every namespace.
pub(crate) const INTERFACE: &str = "rrul0";

/// Packets that the kernel keeps for a lab that has not read them yet; far more than a thread of priority leaves.
const TRANSMIT_QUEUE: u32 = 10_000;

/// Milliseconds to wait for an IPv6 address to become usable; it takes one or two.
const USABLE_TRIES: u32 = 5000;

/// Wide enough that the addresses of all routers lie behind the device ([`crate::Path::address`]), so that a host sends
/// there and, by its reverse-path filter, takes from there.
const IPV4_PREFIX: u32 = 16;
const IPV6_PREFIX: u32 = 48;

/// The lab's end of a TUN device. The device vanishes when this is closed.
#[derive(Debug)]
pub(crate) struct Tun(File);

impl Tun {
    /// Makes the device in the calling thread's network namespace, gives it both addresses, and brings it and `lo` up.
    pub(crate) fn open(ipv4: Ipv4Addr, ipv6: Ipv6Addr) -> Result<Self, Error> {
        let file = open_device()?;
        let mut request = request(INTERFACE);
        request.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI) as libc::c_short;
        // SAFETY: TUNSETIFF reads and writes one ifreq, which is valid and outlives the call.
        if unsafe { libc::ioctl(file.as_raw_fd(), libc::TUNSETIFF as libc::Ioctl, &raw mut request) } != 0 {
            let remedy = "; run as root, or call rrul_lab::enter_user_namespace() first";
            return Err(Error::last_os("cannot make a TUN device", remedy));
        }
        let control4 = control_socket(Ipv4Addr::UNSPECIFIED.into())?;
        set_up("lo", &control4)?;
        set_queue_length(&control4)?;
        set_mtu(&control4)?;
        set_ipv4(&control4, ipv4)?;
        set_up(INTERFACE, &control4)?;
        set_ipv6(ipv6)?;
        Ok(Self(file))
    }

    /// Reads one packet; `None` without one.
    pub(crate) fn receive(&self, octets: &mut [u8]) -> io::Result<Option<usize>> {
        match (&self.0).read(octets) {
            Ok(length) => Ok(Some(length)),
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Hands one packet to the host.
    pub(crate) fn send(&self, octets: &[u8]) -> io::Result<()> {
        (&self.0).write(octets).map(|_| ())
    }
}

impl AsFd for Tun {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.0.as_fd()
    }
}

fn open_device() -> Result<File, Error> {
    let opened = OpenOptions::new().read(true).write(true).custom_flags(libc::O_NONBLOCK).open(DEVICE);
    opened.map_err(|source| {
        let remedy = match source.kind() {
            io::ErrorKind::PermissionDenied => "; run as root, or allow users to open it (chmod 0666 /dev/net/tun)",
            io::ErrorKind::NotFound => "; load the kernel module (modprobe tun) or give the container this device",
            _ => "; the kernel needs CONFIG_TUN",
        };
        Error::System { what: DEVICE.to_owned(), remedy, source }
    })
}

/// Any socket of the family takes the interface ioctls.
fn control_socket(address: IpAddr) -> Result<UdpSocket, Error> {
    UdpSocket::bind((address, 0)).map_err(Error::io("cannot open a socket to configure interfaces"))
}

/// An ifreq that names an interface and says nothing else.
fn request(interface: &str) -> libc::ifreq {
    // SAFETY: ifreq is plain old data, for which all zeros is a valid value.
    let mut request: libc::ifreq = unsafe { std::mem::zeroed() };
    // The name is shorter than IFNAMSIZ, so the zero that ends it stays.
    for (to, from) in request.ifr_name.iter_mut().zip(interface.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    request
}

fn control(socket: &UdpSocket, number: libc::c_ulong, request: &mut libc::ifreq, what: &str) -> Result<(), Error> {
    // SAFETY: every SIOC* request used here reads and writes one ifreq, which is valid and outlives the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), number as libc::Ioctl, std::ptr::from_mut(request)) } != 0 {
        return Err(Error::last_os(what.to_owned(), ""));
    }
    Ok(())
}

fn set_mtu(socket: &UdpSocket) -> Result<(), Error> {
    let mut request = request(INTERFACE);
    request.ifr_ifru.ifru_mtu = MTU as i32;
    control(socket, libc::SIOCSIFMTU, &mut request, &format!("cannot set the MTU of {INTERFACE} to {MTU}"))
}

fn interface_index(socket: &UdpSocket) -> Result<i32, Error> {
    let mut request = request(INTERFACE);
    control(socket, libc::SIOCGIFINDEX, &mut request, &format!("cannot find {INTERFACE}"))?;
    // SAFETY: SIOCGIFINDEX has just filled in the index of the union.
    Ok(unsafe { request.ifr_ifru.ifru_ifindex })
}

/// By rtnetlink(7), because the ioctl for it is refused to the root of a user namespace.
fn set_queue_length(socket: &UdpSocket) -> Result<(), Error> {
    let what = format!("cannot set the queue length of {INTERFACE} to {TRANSMIT_QUEUE}");
    let message = queue_length_message(interface_index(socket)?);
    // SAFETY: socket takes three numbers.
    let netlink = unsafe { libc::socket(libc::AF_NETLINK, libc::SOCK_RAW | libc::SOCK_CLOEXEC, libc::NETLINK_ROUTE) };
    if netlink < 0 {
        return Err(Error::last_os(what, ""));
    }
    // SAFETY: the file was just opened and has no other owner.
    let mut netlink = File::from(unsafe { OwnedFd::from_raw_fd(netlink) });
    netlink.write_all(&message).map_err(Error::io(what.clone()))?;
    let mut answer = [0; 64];
    netlink.read(&mut answer).map_err(Error::io(what.clone()))?;
    // nlmsgerr: behind the header of 16 bytes, zero or the negative of an error number.
    match i32::from_ne_bytes([answer[16], answer[17], answer[18], answer[19]]) {
        0 => Ok(()),
        error => Err(Error::io(what)(io::Error::from_raw_os_error(-error))),
    }
}

/// RTM_NEWLINK with the one attribute IFLA_TXQLEN, in the host's order of bytes.
///
/// ```text
/// nlmsghdr   length 4 | type 2 | flags 2 | sequence 4 | port 4
/// ifinfomsg  family 1 | pad 1 | device type 2 | index 4 | flags 4 | change 4
/// rtattr     length 2 | type 2 | queue length 4
/// ```
fn queue_length_message(index: i32) -> [u8; 40] {
    let mut message = [0; 40];
    message[0..4].copy_from_slice(&40u32.to_ne_bytes());
    message[4..6].copy_from_slice(&libc::RTM_NEWLINK.to_ne_bytes());
    message[6..8].copy_from_slice(&((libc::NLM_F_REQUEST | libc::NLM_F_ACK) as u16).to_ne_bytes());
    message[20..24].copy_from_slice(&index.to_ne_bytes());
    message[32..34].copy_from_slice(&8u16.to_ne_bytes());
    message[34..36].copy_from_slice(&libc::IFLA_TXQLEN.to_ne_bytes());
    message[36..40].copy_from_slice(&TRANSMIT_QUEUE.to_ne_bytes());
    message
}

fn set_up(interface: &str, socket: &UdpSocket) -> Result<(), Error> {
    let what = format!("cannot bring {interface} up");
    let mut request = request(interface);
    control(socket, libc::SIOCGIFFLAGS, &mut request, &what)?;
    // SAFETY: SIOCGIFFLAGS has just filled in the flags of the union.
    let flags = unsafe { request.ifr_ifru.ifru_flags };
    request.ifr_ifru.ifru_flags = flags | (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
    control(socket, libc::SIOCSIFFLAGS, &mut request, &what)
}

fn set_ipv4(socket: &UdpSocket, address: Ipv4Addr) -> Result<(), Error> {
    let netmask = Ipv4Addr::from_bits(u32::MAX << (32 - IPV4_PREFIX));
    let mut request = request(INTERFACE);
    request.ifr_ifru.ifru_addr = ipv4_socket_address(address);
    control(socket, libc::SIOCSIFADDR, &mut request, &format!("cannot give {INTERFACE} the address {address}"))?;
    request.ifr_ifru.ifru_netmask = ipv4_socket_address(netmask);
    control(socket, libc::SIOCSIFNETMASK, &mut request, &format!("cannot give {INTERFACE} the netmask {netmask}"))
}

fn ipv4_socket_address(address: Ipv4Addr) -> libc::sockaddr {
    let mut data = [0; 14];
    // sockaddr_in: two bytes of port, then four of address, as they go over the wire.
    for (to, from) in data[2..6].iter_mut().zip(address.octets()) {
        *to = from as libc::c_char;
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}

fn set_ipv6(address: Ipv6Addr) -> Result<(), Error> {
    let what = format!("cannot give {INTERFACE} the address {address}; the kernel needs IPv6");
    let socket = control_socket(Ipv6Addr::UNSPECIFIED.into())?;
    let request = libc::in6_ifreq {
        ifr6_addr: libc::in6_addr { s6_addr: address.octets() },
        ifr6_prefixlen: IPV6_PREFIX,
        ifr6_ifindex: interface_index(&socket)?,
    };
    // SAFETY: on an IPv6 socket SIOCSIFADDR reads one in6_ifreq, which is valid and outlives the call.
    if unsafe { libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFADDR as libc::Ioctl, &raw const request) } != 0 {
        return Err(Error::last_os(what, ""));
    }
    await_usable(address).map_err(Error::io(what))
}

/// Waits until the address can be bound to: the kernel takes it out of its tentative state (RFC 4862 section 5.4) in the
/// background, at once on a link without other hosts, but not within the ioctl.
fn await_usable(address: Ipv6Addr) -> io::Result<()> {
    for _ in 0..USABLE_TRIES {
        match UdpSocket::bind((address, 0)) {
            Err(error) if error.kind() == io::ErrorKind::AddrNotAvailable => thread::sleep(Duration::from_millis(1)),
            bound => return bound.map(|_| ()),
        }
    }
    Err(io::Error::new(io::ErrorKind::TimedOut, "it stays tentative"))
}

/// How many packets the kernel has dropped at the interface on their way into the lab, by `/proc/net/dev` as `text`.
pub(crate) fn transmit_drops(text: &str) -> Option<u64> {
    let line = text.lines().find_map(|line| line.trim_start().strip_prefix(INTERFACE)?.strip_prefix(':'))?;
    // Eight columns of receive counters, then bytes, packets, errs, drop of transmit.
    line.split_whitespace().nth(11)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_drop_counter_is_the_twelfth_column() {
        let text = "Inter-|   Receive                                                |  Transmit\n \
                    face |bytes    packets errs drop fifo frame compressed multicast|bytes packets errs drop\n\
                    \x20   lo:  1 2 0 0 0 0 0 0 1 2 0 9 0 0 0 0\n rrul0: 100 2 0 3 0 0 0 0 200 4 0 17 0 0 0 0\n";
        assert_eq!(transmit_drops(text), Some(17));
        assert_eq!(transmit_drops("lo: 1"), None);
    }
}
