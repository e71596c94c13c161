//! Datagrams with what the kernel knows of them: stamp, traffic class, local address.

#![allow(unsafe_code, reason = "recvmsg and sendmsg")]

use std::io;
use std::net::{IpAddr, SocketAddr};
use std::os::fd::{AsFd, AsRawFd};

use rrul_model::flow::AddressFamily;
use socket2::{SockAddr, SockAddrStorage};

use super::control_message::{self, Beside, Buffer, IcmpReport};

/// A datagram received.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Datagram {
    /// Its bytes, of which at most the buffer's length were kept.
    pub length: usize,
    /// From where; `None` on sockets without addresses.
    pub source: Option<SocketAddr>,
    /// Kernel's receive stamp, wall clock, nanoseconds; `None` when the kernel gave none.
    pub stamp: Option<i64>,
    /// Traffic-class byte; `None` when the kernel did not report it.
    pub octet: Option<u8>,
    /// The TTL or hop limit that it had left, where asked for.
    pub hop_limit: Option<u8>,
    /// Local address that it was sent to, where asked for.
    pub local: Option<IpAddr>,
}

/// The kernel's stamp of a packet that left.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TransmitStamp {
    /// Which packet, counted from 0 since stamps were asked for.
    pub number: u32,
    /// Wall clock, nanoseconds.
    pub stamp: i64,
}

/// Reads one datagram, if any; `None` otherwise.
///
/// # Errors
/// As recvmsg(2), among them the errors that ICMP messages have left on a connected socket.
pub fn receive(socket: &impl AsFd, octets: &mut [u8]) -> io::Result<Option<Datagram>> {
    message(socket, octets, libc::MSG_DONTWAIT | libc::MSG_TRUNC).map(|found| found.map(|(datagram, _)| datagram))
}

/// What the kernel reports of packets sent, on a socket's error queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Aftermath {
    Left(TransmitStamp),
    /// ICMP has said something of one.
    Icmp(IcmpReport),
    /// One has not left, as this host's own link carries no more bytes than this.
    Exceeds(u32),
}

/// Reads one report of the kernel on a packet sent, if any.
///
/// # Errors
/// As recvmsg(2).
pub fn receive_aftermath(socket: &impl AsFd) -> io::Result<Option<Aftermath>> {
    receive_aftermath_with(socket, &mut [0; 8]).map(|found| found.map(|(aftermath, _)| aftermath))
}

/// The same, with as much of the packet as ICMP has quoted above its UDP header, and when that came.
///
/// # Errors
/// As recvmsg(2).
pub fn receive_aftermath_with(socket: &impl AsFd, octets: &mut [u8]) -> io::Result<Option<(Aftermath, Datagram)>> {
    loop {
        let Some((quoted, beside)) = message(socket, octets, libc::MSG_DONTWAIT | libc::MSG_ERRQUEUE)? else {
            return Ok(None);
        };
        if let (Some(number), Some(stamp)) = (beside.sent_number, beside.stamp) {
            return Ok(Some((Aftermath::Left(TransmitStamp { number, stamp }), quoted)));
        }
        if let Some(report) = beside.icmp {
            return Ok(Some((Aftermath::Icmp(report), quoted)));
        }
        if let Some(mtu) = beside.own_mtu {
            return Ok(Some((Aftermath::Exceeds(mtu), quoted)));
        }
    }
}

/// Reads one transmit stamp, if any, and passes over what ICMP says.
///
/// # Errors
/// As recvmsg(2).
pub fn receive_transmit_stamp(socket: &impl AsFd) -> io::Result<Option<TransmitStamp>> {
    loop {
        match receive_aftermath(socket)? {
            Some(Aftermath::Left(stamp)) => return Ok(Some(stamp)),
            Some(Aftermath::Icmp(_) | Aftermath::Exceeds(_)) => {}
            None => return Ok(None),
        }
    }
}

fn message(socket: &impl AsFd, octets: &mut [u8], flags: libc::c_int) -> io::Result<Option<(Datagram, Beside)>> {
    let mut control = Buffer([0; 256]);
    let mut storage = SockAddrStorage::zeroed();
    let mut piece = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    // SAFETY: msghdr is plain data, for which all-zero is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_name = (&raw mut storage).cast();
    header.msg_namelen = storage.size_of();
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    // SAFETY: every pointer in `header` is valid for its length until the call returns.
    let length = unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &raw mut header, flags) };
    if length < 0 {
        let error = io::Error::last_os_error();
        return if error.kind() == io::ErrorKind::WouldBlock { Ok(None) } else { Err(error) };
    }
    let beside = control_message::read(&header);
    // SAFETY: the kernel has written msg_namelen bytes of an address into `storage`.
    let source = unsafe { SockAddr::new(storage, header.msg_namelen) }.as_socket();
    let Some(length) = usize::try_from(length).ok() else { return Ok(None) };
    let Beside { stamp, octet, hop_limit, local, .. } = beside;
    let datagram = Datagram { length, source, stamp, octet, hop_limit, local };
    Ok(Some((datagram, beside)))
}

/// Sends one datagram on a connected socket.
///
/// # Errors
/// As send(2).
pub fn send(socket: &impl AsFd, octets: &[u8]) -> io::Result<()> {
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the bytes are valid for their length.
    let sent = unsafe { libc::send(socket.as_fd().as_raw_fd(), octets.as_ptr().cast(), octets.len(), flags) };
    outcome(sent)
}

/// Sends one datagram on a connected socket of this family, marked with `octet` in place of the socket's own.
///
/// # Errors
/// As sendmsg(2).
pub fn send_marked(socket: &impl AsFd, octets: &[u8], octet: u8, family: AddressFamily) -> io::Result<()> {
    let mut control = Buffer([0; 256]);
    let used = control_message::write(&mut control, octet, None, family == AddressFamily::Ipv6);
    send_message(socket, octets, None, &mut control, used)
}

/// The same, which may pass so many hops.
///
/// # Errors
/// As sendmsg(2).
pub fn send_limited(
    socket: &impl AsFd,
    octets: &[u8],
    octet: u8,
    hop_limit: u8,
    family: AddressFamily,
) -> io::Result<()> {
    let mut control = Buffer([0; 256]);
    let v6 = family == AddressFamily::Ipv6;
    let used = control_message::write(&mut control, octet, None, v6);
    let used = used + control_message::write_hop_limit(&mut control, used, hop_limit, v6);
    send_message(socket, octets, None, &mut control, used)
}

/// Sends one datagram to `to`, marked with `octet`, from the local address `from`.
///
/// # Errors
/// As sendmsg(2).
pub fn send_to(socket: &impl AsFd, octets: &[u8], to: SocketAddr, octet: u8, from: Option<IpAddr>) -> io::Result<()> {
    let mut control = Buffer([0; 256]);
    let used = control_message::write(&mut control, octet, from, to.is_ipv6());
    send_message(socket, octets, Some(&SockAddr::from(to)), &mut control, used)
}

/// The same, without a stamp or a number, on a socket whose packets otherwise get them.
///
/// # Errors
/// As sendmsg(2).
pub fn send_unstamped(
    socket: &impl AsFd,
    octets: &[u8],
    to: SocketAddr,
    octet: u8,
    from: Option<IpAddr>,
) -> io::Result<()> {
    let mut control = Buffer([0; 256]);
    let used = control_message::write(&mut control, octet, from, to.is_ipv6());
    let used = used + control_message::write_no_stamp(&mut control, used);
    send_message(socket, octets, Some(&SockAddr::from(to)), &mut control, used)
}

/// Sends with so many bytes of control messages; without an address, to where the socket is connected.
fn send_message(
    socket: &impl AsFd,
    octets: &[u8],
    to: Option<&SockAddr>,
    control: &mut Buffer,
    used: usize,
) -> io::Result<()> {
    let mut piece = libc::iovec { iov_base: octets.as_ptr().cast_mut().cast(), iov_len: octets.len() };
    // SAFETY: msghdr is plain data, for which all-zero is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    if let Some(address) = to {
        header.msg_name = address.as_ptr().cast_mut().cast();
        header.msg_namelen = address.len();
    }
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = used as _;
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: every pointer in `header` is valid for its length until the call returns, and sendmsg only reads.
    let sent = unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &raw const header, flags) };
    outcome(sent)
}

/// What became of a packet handed to the kernel.
///
/// One that a full queue of this very host drops was sent, and is lost: the kernel has counted it among the stamped,
/// and reports the drop only to sockets that ask for ICMP errors (ip(7), IP_RECVERR).
fn outcome(sent: isize) -> io::Result<()> {
    if sent >= 0 {
        return Ok(());
    }
    match io::Error::last_os_error() {
        error if error.raw_os_error() == Some(libc::ENOBUFS) => Ok(()),
        error => Err(error),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::clock::wall_now;
    use crate::socket::{options, wait};
    use std::net::UdpSocket;
    use std::time::Duration;

    /// The kernel begins to stamp what it receives a moment after the first socket on the host has asked for it.
    fn wait_for_stamping(client: &UdpSocket, server: &UdpSocket) {
        let deadline = std::time::Instant::now() + Duration::from_secs(2);
        loop {
            send_to(client, b"stamped?", server.local_addr().unwrap(), 0, None).unwrap();
            assert!(wait::readable(&[server], Duration::from_secs(2)).unwrap());
            let found = receive(server, &mut [0; 64]).unwrap().unwrap();
            while receive_transmit_stamp(client).unwrap().is_some() {}
            if found.stamp.is_some() {
                return;
            }
            assert!(std::time::Instant::now() < deadline, "the kernel does not stamp what it receives");
        }
    }

    fn exchange(address: &str, family: AddressFamily) {
        let server = UdpSocket::bind(address).unwrap();
        let client = UdpSocket::bind(address).unwrap();
        client.connect(server.local_addr().unwrap()).unwrap();
        options::receive_marking(&server, family).unwrap();
        options::receive_local_address(&server, family).unwrap();
        for socket in [&server, &client] {
            options::stamp(socket).unwrap();
        }
        wait_for_stamping(&client, &server);
        options::stamp(&client).unwrap();
        let before = wall_now();
        send_to(&client, b"question", server.local_addr().unwrap(), 0xb9, None).unwrap();
        let mut octets = [0; 64];
        assert!(wait::readable(&[&server], Duration::from_secs(2)).unwrap());
        let question = receive(&server, &mut octets).unwrap().unwrap();
        let after = wall_now();
        assert_eq!(&octets[..question.length], b"question");
        assert_eq!((question.octet, question.source), (Some(0xb9), Some(client.local_addr().unwrap())));
        assert_eq!(question.local, Some(server.local_addr().unwrap().ip()));
        assert!((before..=after).contains(&question.stamp.unwrap()), "the stamp lies outside the exchange");
        send_marked(&client, b"second", 0x2e, family).unwrap();
        assert!(wait::readable(&[&server], Duration::from_secs(2)).unwrap());
        let second = receive(&server, &mut octets).unwrap().unwrap();
        assert_eq!((second.octet, second.length), (Some(0x2e), 6));
        send(&client, b"third").unwrap();
        assert!(wait::readable(&[&server], Duration::from_secs(2)).unwrap());
        assert_eq!(receive(&server, &mut octets).unwrap().unwrap().octet, Some(0), "the socket's own marking is back");
        for number in 0..3 {
            wait::readable(&[&client], Duration::from_secs(2)).unwrap();
            let left = receive_transmit_stamp(&client).unwrap().unwrap();
            assert_eq!(left.number, number);
            assert!(left.stamp >= before);
        }
        assert_eq!(receive_transmit_stamp(&client).unwrap(), None);
        options::stamp(&client).unwrap();
        send(&client, b"fourth").unwrap();
        wait::readable(&[&client], Duration::from_secs(2)).unwrap();
        assert_eq!(receive_transmit_stamp(&client).unwrap().unwrap().number, 0, "the numbers restart");
    }

    #[test]
    fn a_datagram_over_ipv4_has_its_stamp_marking_and_address() {
        exchange("127.0.0.1:0", AddressFamily::Ipv4);
    }

    /// No program listens at a port that was just given back.
    fn refused(address: &str, family: AddressFamily, kind: u8, code: u8) {
        let client = UdpSocket::bind(address).unwrap();
        let nobody = UdpSocket::bind(address).unwrap().local_addr().unwrap();
        client.connect(nobody).unwrap();
        options::report_icmp(&client, family).unwrap();
        options::stamp(&client).unwrap();
        send(&client, b"is anybody there?").unwrap();
        let deadline = std::time::Instant::now() + Duration::from_secs(2);
        let report = loop {
            wait::readable(&[&client], Duration::from_millis(100)).unwrap();
            match receive_aftermath(&client).unwrap() {
                Some(Aftermath::Icmp(report)) => break report,
                Some(Aftermath::Left(_) | Aftermath::Exceeds(_)) => {}
                None => assert!(std::time::Instant::now() < deadline, "the kernel does not report the refusal"),
            }
        };
        assert_eq!(report, IcmpReport { kind, code, mtu: 0, offender: Some(nobody.ip()) });
        while let Some(aftermath) = receive_aftermath(&client).unwrap() {
            assert!(matches!(aftermath, Aftermath::Left(_)), "it is reported once");
        }
    }

    #[test]
    fn a_refusal_is_reported_with_its_type_code_and_sender() {
        refused("127.0.0.1:0", AddressFamily::Ipv4, 3, 3);
        refused("[::1]:0", AddressFamily::Ipv6, 1, 4);
    }

    #[test]
    fn a_datagram_over_ipv6_has_its_stamp_marking_and_address() {
        if UdpSocket::bind("[::1]:0").is_ok() {
            exchange("[::1]:0", AddressFamily::Ipv6);
        } else {
            panic!(
                "no IPv6 on the loopback interface; enable it (sysctl net.ipv6.conf.lo.disable_ipv6=0) to run this test"
            );
        }
    }
}
