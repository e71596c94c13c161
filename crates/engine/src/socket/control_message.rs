//! Control messages beside a datagram (cmsg(3)): stamps, traffic class, local address.

#![allow(unsafe_code, reason = "cmsg traversal")]

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

/// Room for the control messages of one datagram, aligned as the kernel wants them.
#[repr(C, align(8))]
pub(super) struct Buffer(pub(super) [u8; 256]);

/// What the kernel said beside one datagram.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Beside {
    /// Software stamp, wall clock, nanoseconds.
    pub(super) stamp: Option<i64>,
    pub(super) octet: Option<u8>,
    /// The TTL or hop limit that it had left.
    pub(super) hop_limit: Option<u8>,
    /// Local address that it was sent to.
    pub(super) local: Option<IpAddr>,
    /// Number of the sent packet that a stamp on the error queue belongs to.
    pub(super) sent_number: Option<u32>,
    /// What ICMP said of a sent packet.
    pub(super) icmp: Option<IcmpReport>,
    /// The MTU of this host's own link, which a packet that was to be sent exceeds, bytes.
    pub(super) own_mtu: Option<u32>,
}

/// An ICMP message about a packet sent, as the kernel reports it. The quoted packet is not reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IcmpReport {
    pub kind: u8,
    pub code: u8,
    /// The MTU that it names, bytes; 0 when it names none.
    pub mtu: u32,
    pub offender: Option<IpAddr>,
}

/// Reads the control messages that `recvmsg` left behind `header`.
pub(super) fn read(header: &libc::msghdr) -> Beside {
    let mut beside = Beside::default();
    // SAFETY: `header` was filled by recvmsg; CMSG_FIRSTHDR and CMSG_NXTHDR stay within its control buffer, and each
    // payload is read unaligned at the type that the kernel documents for that level and type.
    unsafe {
        let mut message = libc::CMSG_FIRSTHDR(header);
        while !message.is_null() {
            let data = libc::CMSG_DATA(message);
            match ((*message).cmsg_level, (*message).cmsg_type) {
                (libc::SOL_SOCKET, libc::SCM_TIMESTAMPING) => {
                    // Three stamps: software, unused, hardware.
                    let stamp = data.cast::<libc::timespec>().read_unaligned();
                    if stamp.tv_sec != 0 {
                        beside.stamp = Some(stamp.tv_sec * 1_000_000_000 + stamp.tv_nsec);
                    }
                }
                (libc::IPPROTO_IP, libc::IP_TOS) => beside.octet = Some(data.read()),
                (libc::IPPROTO_IPV6, libc::IPV6_TCLASS) => {
                    beside.octet = Some(data.cast::<libc::c_int>().read_unaligned() as u8);
                }
                (libc::IPPROTO_IP, libc::IP_TTL) | (libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT) => {
                    beside.hop_limit = Some(data.cast::<libc::c_int>().read_unaligned() as u8);
                }
                (libc::IPPROTO_IP, libc::IP_PKTINFO) => {
                    let info = data.cast::<libc::in_pktinfo>().read_unaligned();
                    beside.local = Some(Ipv4Addr::from(u32::from_be(info.ipi_spec_dst.s_addr)).into());
                }
                (libc::IPPROTO_IPV6, libc::IPV6_PKTINFO) => {
                    let info = data.cast::<libc::in6_pktinfo>().read_unaligned();
                    beside.local = Some(Ipv6Addr::from(info.ipi6_addr.s6_addr).into());
                }
                (libc::IPPROTO_IP, libc::IP_RECVERR) | (libc::IPPROTO_IPV6, libc::IPV6_RECVERR) => {
                    let error = data.cast::<libc::sock_extended_err>().read_unaligned();
                    match error.ee_origin {
                        libc::SO_EE_ORIGIN_TIMESTAMPING => beside.sent_number = Some(error.ee_data),
                        libc::SO_EE_ORIGIN_ICMP | libc::SO_EE_ORIGIN_ICMP6 => {
                            let offender = data.add(size_of::<libc::sock_extended_err>());
                            beside.icmp = Some(IcmpReport {
                                kind: error.ee_type,
                                code: error.ee_code,
                                mtu: if error.ee_errno == libc::EMSGSIZE as u32 { error.ee_info } else { 0 },
                                offender: address_at(offender),
                            });
                        }
                        libc::SO_EE_ORIGIN_LOCAL if error.ee_errno == libc::EMSGSIZE as u32 => {
                            beside.own_mtu = Some(error.ee_info);
                        }
                        _ => {}
                    }
                }
                _ => {}
            }
            message = libc::CMSG_NXTHDR(header, message);
        }
    }
    beside
}

/// The address that the kernel has put behind a `sock_extended_err`; `None` when it knows none.
///
/// # Safety
/// A `sockaddr_in` or `sockaddr_in6` must stand there, as its family says.
unsafe fn address_at(place: *const u8) -> Option<IpAddr> {
    // SAFETY: every socket address begins with its family, and has the length of that family; all are read unaligned.
    unsafe {
        match libc::c_int::from(place.cast::<libc::sa_family_t>().read_unaligned()) {
            libc::AF_INET => {
                let address = place.cast::<libc::sockaddr_in>().read_unaligned();
                Some(Ipv4Addr::from(u32::from_be(address.sin_addr.s_addr)).into())
            }
            libc::AF_INET6 => {
                let address = place.cast::<libc::sockaddr_in6>().read_unaligned();
                Some(IpAddr::from(Ipv6Addr::from(address.sin6_addr.s6_addr)).to_canonical())
            }
            _ => None,
        }
    }
}

/// Writes the marking and the source address of a datagram to be sent; returns how many bytes that takes.
pub(super) fn write(buffer: &mut Buffer, octet: u8, local: Option<IpAddr>, v6: bool) -> usize {
    let mut used = 0;
    let marking = libc::c_int::from(octet);
    if v6 {
        used += append(&mut buffer.0[used..], libc::IPPROTO_IPV6, libc::IPV6_TCLASS, marking);
    } else {
        used += append(&mut buffer.0[used..], libc::IPPROTO_IP, libc::IP_TOS, marking);
    }
    match local {
        Some(IpAddr::V4(address)) if !v6 => {
            let source = libc::in_addr { s_addr: u32::from(address).to_be() };
            let info = libc::in_pktinfo { ipi_ifindex: 0, ipi_spec_dst: source, ipi_addr: libc::in_addr { s_addr: 0 } };
            used += append(&mut buffer.0[used..], libc::IPPROTO_IP, libc::IP_PKTINFO, info);
        }
        Some(IpAddr::V6(address)) if v6 => {
            let info = libc::in6_pktinfo { ipi6_addr: libc::in6_addr { s6_addr: address.octets() }, ipi6_ifindex: 0 };
            used += append(&mut buffer.0[used..], libc::IPPROTO_IPV6, libc::IPV6_PKTINFO, info);
        }
        _ => {}
    }
    used
}

/// Adds, behind what is `used`, how many hops this datagram may pass; returns how many bytes that takes.
pub(super) fn write_hop_limit(buffer: &mut Buffer, used: usize, hop_limit: u8, v6: bool) -> usize {
    let room = &mut buffer.0[used..];
    let value = libc::c_int::from(hop_limit);
    if v6 {
        append(room, libc::IPPROTO_IPV6, libc::IPV6_HOPLIMIT, value)
    } else {
        append(room, libc::IPPROTO_IP, libc::IP_TTL, value)
    }
}

/// Adds, behind what is `used`, that this datagram is to be neither stamped nor numbered as it leaves; returns how many
/// bytes that takes.
pub(super) fn write_no_stamp(buffer: &mut Buffer, used: usize) -> usize {
    let no_flags: u32 = 0;
    append(&mut buffer.0[used..], libc::SOL_SOCKET, libc::SO_TIMESTAMPING, no_flags)
}

fn append<T: Copy>(room: &mut [u8], level: libc::c_int, kind: libc::c_int, value: T) -> usize {
    // SAFETY: CMSG_SPACE and CMSG_LEN only compute.
    let (space, length) =
        unsafe { (libc::CMSG_SPACE(size_of::<T>() as u32) as usize, libc::CMSG_LEN(size_of::<T>() as u32) as usize) };
    assert!(space <= room.len(), "the control buffer has room for a marking and an address");
    // SAFETY: `room` has the space for header and value; both are written unaligned. A header is integers alone, and some C
    // libraries put padding between them.
    unsafe {
        let mut header: libc::cmsghdr = std::mem::zeroed();
        header.cmsg_len = length as _;
        header.cmsg_level = level;
        header.cmsg_type = kind;
        room.as_mut_ptr().cast::<libc::cmsghdr>().write_unaligned(header);
        let data = room.as_mut_ptr().add(libc::CMSG_LEN(0) as usize);
        data.cast::<T>().write_unaligned(value);
    }
    space
}
