//! What ICMP says of packets sent, as the kernel shows it: ip(7), IP_RECVERR.
#![allow(unsafe_code, reason = "neither std nor socket2 reads error queues")]

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, UdpSocket};
use std::os::fd::AsRawFd;

/// An ICMP message about a packet sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct IcmpError {
    pub(crate) kind: u8,
    pub(crate) code: u8,
    /// The MTU, where it is about that.
    pub(crate) information: u32,
    pub(crate) router: IpAddr,
}

/// Asks the kernel to keep what ICMP says for this socket.
pub(crate) fn ask(socket: &UdpSocket) {
    let (level, option) = if socket.local_addr().unwrap().is_ipv4() {
        (libc::IPPROTO_IP, libc::IP_RECVERR)
    } else {
        (libc::IPPROTO_IPV6, libc::IPV6_RECVERR)
    };
    let on: libc::c_int = 1;
    let length = size_of::<libc::c_int>() as libc::socklen_t;
    // SAFETY: the option is a c_int, which is valid for the length of the call.
    let set = unsafe { libc::setsockopt(socket.as_raw_fd(), level, option, (&raw const on).cast(), length) };
    assert_eq!(set, 0, "{}", io::Error::last_os_error());
}

/// Takes the next message from the error queue; `None` without one.
pub(crate) fn take(socket: &UdpSocket) -> Option<IcmpError> {
    #[repr(C, align(8))]
    struct Control([u8; 512]);
    let (mut octets, mut control) = ([0u8; 1500], Control([0; 512]));
    let mut piece = libc::iovec { iov_base: octets.as_mut_ptr().cast(), iov_len: octets.len() };
    // SAFETY: msghdr is plain data, for which all zeros is valid.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    header.msg_iov = &raw mut piece;
    header.msg_iovlen = 1;
    header.msg_control = control.0.as_mut_ptr().cast();
    header.msg_controllen = control.0.len() as _;
    let flags = libc::MSG_ERRQUEUE | libc::MSG_DONTWAIT;
    // SAFETY: every pointer in `header` is valid for its length until the call returns.
    if unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, flags) } < 0 {
        return None;
    }
    // SAFETY: recvmsg has filled `header`; CMSG_FIRSTHDR stays within the control buffer, or is null.
    let message = unsafe { libc::CMSG_FIRSTHDR(&raw const header) };
    assert!(!message.is_null(), "nothing beside the packet");
    // SAFETY: what comes first on an error queue is a sock_extended_err with an address behind it; both are read unaligned.
    let (error, address) = unsafe {
        let data = libc::CMSG_DATA(message);
        let behind = data.add(size_of::<libc::sock_extended_err>());
        let error = data.cast::<libc::sock_extended_err>().read_unaligned();
        (error, behind.cast::<libc::sockaddr_in6>().read_unaligned())
    };
    let router = match error.ee_origin {
        // sockaddr_in has its address where sockaddr_in6 has the flow label.
        libc::SO_EE_ORIGIN_ICMP => Ipv4Addr::from(address.sin6_flowinfo.to_ne_bytes()).into(),
        libc::SO_EE_ORIGIN_ICMP6 => Ipv6Addr::from(address.sin6_addr.s6_addr).into(),
        origin => panic!("an error that no router reported: origin {origin}, errno {}", error.ee_errno),
    };
    Some(IcmpError { kind: error.ee_type, code: error.ee_code, information: error.ee_info, router })
}
