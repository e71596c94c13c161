//! Socket options: marking, congestion control, kernel stamps, and reading back what is in force.

#![allow(unsafe_code, reason = "setsockopt for options that socket2 does not know")]

use std::io;
use std::os::fd::{AsFd, AsRawFd};

use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount};
use socket2::{Domain, SockRef};

use crate::tcp_info;

/// linux/tcp.h, since 6.15: the longest wait, in milliseconds.
const TCP_RTO_MAX_MS: libc::c_int = 44;

/// Receive buffer of a UDP socket in bytes, as the kernel counts them: some 3600 packets. A reader that does not run for 0.4 s loses
/// none of a flood of 8000 a second; the kernel's own default lasts for 11 ms of it.
const RECEIVE_BUFFER: usize = 8 << 20;

/// The socket domain of a family.
pub fn domain(family: AddressFamily) -> Domain {
    match family {
        AddressFamily::Ipv4 => Domain::IPV4,
        AddressFamily::Ipv6 => Domain::IPV6,
    }
}

/// Marks every packet that the socket sends. To be called before `connect`, so that the SYN is marked too.
///
/// # Errors
/// When the kernel refuses; classes above CS5 may need CAP_NET_ADMIN on some systems.
pub fn mark(socket: &impl AsFd, family: AddressFamily, class: ServiceClass) -> io::Result<()> {
    let socket = SockRef::from(socket);
    match family {
        AddressFamily::Ipv4 => socket.set_tos_v4(u32::from(class.octet())),
        AddressFamily::Ipv6 => socket.set_tclass_v6(u32::from(class.octet())),
    }
}

/// The traffic-class byte in force.
///
/// # Errors
/// When the kernel does not say.
pub fn marked(socket: &impl AsFd, family: AddressFamily) -> io::Result<u32> {
    let socket = SockRef::from(socket);
    match family {
        AddressFamily::Ipv4 => socket.tos_v4(),
        AddressFamily::Ipv6 => socket.tclass_v6(),
    }
}

/// Who asks for a congestion control.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Asker {
    /// The user of this host: the kernel may load a module for it.
    User,
    /// A stranger: only what is there already, as a name must not make the kernel load anything.
    Stranger,
}

/// Asks for a congestion control, and reads back which one is in force.
///
/// # Errors
/// When not even that can be read.
pub fn congestion_control(socket: &impl AsFd, wanted: &str, asker: Asker) -> io::Result<CongestionControl> {
    let socket = SockRef::from(socket);
    let refused = if asker == Asker::Stranger && !is_available(wanted) {
        Some(io::Error::new(io::ErrorKind::Unsupported, "not available here"))
    } else {
        socket.set_tcp_congestion(wanted.as_bytes()).err()
    };
    let name = socket.tcp_congestion()?;
    let end = name.iter().position(|octet| *octet == 0).unwrap_or(name.len());
    let effective = String::from_utf8_lossy(&name[..end]).into_owned();
    Ok(CongestionControl { effective, refused })
}

fn is_available(name: &str) -> bool {
    let there = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
    there.split_whitespace().any(|available| available == name)
}

/// What came of asking for a congestion control.
#[derive(Debug)]
pub struct CongestionControl {
    pub effective: String,
    /// Why it is not the one asked for.
    pub refused: Option<io::Error>,
}

/// Lets the kernel pace a stream (tcp(7): SO_MAX_PACING_RATE).
///
/// # Errors
/// When the kernel refuses.
pub fn pace(socket: &impl AsFd, rate: BitRate) -> io::Result<()> {
    set(socket, libc::SOL_SOCKET, libc::SO_MAX_PACING_RATE, rate.0 / 8)
}

/// Limits the segments of a stream in both directions (tcp(7): TCP_MAXSEG). To be called before `connect`.
///
/// # Errors
/// When the kernel refuses: below 88 bytes.
pub fn limit_segments(socket: &impl AsFd, most: ByteCount) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_MAXSEG, libc::c_int::try_from(most.0).unwrap_or(libc::c_int::MAX))
}

/// Lets no more than so many bytes that have not left wait in a stream (tcp(7): TCP_NOTSENT_LOWAT): what its receiver does not
/// take costs no more memory. How much is on its way is not bounded.
///
/// # Errors
/// When the kernel refuses.
pub fn limit_unsent(socket: &impl AsFd, octets: usize) -> io::Result<()> {
    set(socket, libc::IPPROTO_TCP, libc::TCP_NOTSENT_LOWAT, octets as libc::c_int)
}

/// The shortest wait that [`TCP_RTO_MAX_MS`] takes, and the longest that is of use: where a load has starved the stream, what waits is
/// to arrive soon after the load.
const BOUNDS_MS: (u32, u32) = (1000, 10_000);

/// Has a stream that says little retransmit soon what was lost, however often it is lost. To be called before each message: how soon
/// depends on the round trip, which the load changes.
///
/// A queue may drop every other packet of such a stream: CoDel does where a full packet takes longer than its target, as on uploads of
/// 1 Mbit/s behind fq_codel. Each loss in a row doubles the wait for the next attempt, until the other end takes the stream for dead.
/// But what waits in a queue of seconds is not lost. Where it is retransmitted before its acknowledgment can have come, the kernel
/// counts attempts in vain, and gives up a stream of which everything arrives. A kernel that knows neither option waits as it always did.
pub fn insist(socket: &impl AsFd) {
    let linear: libc::c_int = 1;
    // Of few packets under way, the first six attempts follow each other after the same wait.
    let _ = set(socket, libc::IPPROTO_TCP, libc::TCP_THIN_LINEAR_TIMEOUTS, linear);
    let info = tcp_info::read(socket, FlowId::CONTROL, TestTime::ZERO);
    let longest = info.map_or(BOUNDS_MS.0, |info| longest_wait_ms(info.rtt, info.rttvar));
    let _ = set(socket, libc::IPPROTO_TCP, TCP_RTO_MAX_MS, longest.cast_signed());
}

/// The longest wait for an acknowledgment, from the smoothed round trip and its variation in microseconds: twice the retransmission
/// timeout of RFC 6298, within the bounds.
fn longest_wait_ms(rtt_us: u32, variation_us: u32) -> u32 {
    let first = rtt_us.saturating_add(variation_us.saturating_mul(4));
    (first / 500).clamp(BOUNDS_MS.0, BOUNDS_MS.1)
}

/// Asks for kernel stamps of what the socket receives and sends.
///
/// Stamps of sent packets come back on the error queue, numbered from 0 with every packet sent from now on; calling
/// this again restarts the numbers.
///
/// # Errors
/// When the kernel refuses.
pub fn stamp(socket: &impl AsFd) -> io::Result<()> {
    let receive = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    let numbered =
        libc::SOF_TIMESTAMPING_TX_SOFTWARE | libc::SOF_TIMESTAMPING_OPT_ID | libc::SOF_TIMESTAMPING_OPT_TSONLY;
    // The kernel restarts the numbers only when numbering is switched on anew.
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, receive)?;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, receive | numbered)
}

/// Asks for kernel stamps of what the socket receives alone.
///
/// # Errors
/// When the kernel refuses.
pub fn stamp_received(socket: &impl AsFd) -> io::Result<()> {
    let receive = libc::SOF_TIMESTAMPING_RX_SOFTWARE | libc::SOF_TIMESTAMPING_SOFTWARE;
    set(socket, libc::SOL_SOCKET, libc::SO_TIMESTAMPING, receive)
}

/// Lets more packets wait at a UDP socket than by default: they have crossed the line, so this host must not lose them while another
/// program keeps their reader waiting. When they arrived is the kernel's stamp, however long they wait. A kernel that allows less
/// (`net.core.rmem_max`) gives what it allows.
pub fn enlarge_receive_buffer(socket: &impl AsFd) {
    let buffer = SockRef::from(socket);
    if buffer.recv_buffer_size().is_ok_and(|size| size >= RECEIVE_BUFFER) {
        return;
    }
    // The kernel doubles what is asked for: it counts what it keeps beside each packet, too.
    let asked = RECEIVE_BUFFER / 2;
    // Beyond net.core.rmem_max only with the right to it (CAP_NET_ADMIN).
    if set(socket, libc::SOL_SOCKET, libc::SO_RCVBUFFORCE, asked as libc::c_int).is_err() {
        let _ = buffer.set_recv_buffer_size(asked);
    }
}

/// Requests the traffic-class byte of every packet received.
///
/// # Errors
/// When the kernel refuses.
pub fn receive_marking(socket: &impl AsFd, family: AddressFamily) -> io::Result<()> {
    let on: libc::c_int = 1;
    match family {
        AddressFamily::Ipv4 => set(socket, libc::IPPROTO_IP, libc::IP_RECVTOS, on),
        AddressFamily::Ipv6 => set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVTCLASS, on),
    }
}

/// Requests the TTL or hop limit of every packet received.
///
/// # Errors
/// When the kernel refuses.
pub fn receive_hop_limit(socket: &impl AsFd, family: AddressFamily) -> io::Result<()> {
    let on: libc::c_int = 1;
    match family {
        AddressFamily::Ipv4 => set(socket, libc::IPPROTO_IP, libc::IP_RECVTTL, on),
        AddressFamily::Ipv6 => set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVHOPLIMIT, on),
    }
}

/// Has every packet sent whole or not at all, whatever the kernel believes of the path's MTU (ip(7): IP_PMTUDISC_PROBE).
///
/// # Errors
/// When the kernel refuses.
pub fn never_fragment(socket: &impl AsFd, family: AddressFamily) -> io::Result<()> {
    match family {
        AddressFamily::Ipv4 => set(socket, libc::IPPROTO_IP, libc::IP_MTU_DISCOVER, libc::IP_PMTUDISC_PROBE),
        AddressFamily::Ipv6 => {
            let on: libc::c_int = 1;
            set(socket, libc::IPPROTO_IPV6, libc::IPV6_MTU_DISCOVER, libc::IPV6_PMTUDISC_PROBE)?;
            set(socket, libc::IPPROTO_IPV6, libc::IPV6_DONTFRAG, on)
        }
    }
}

/// Requests the ICMP errors about the packets sent (ip(7): IP_RECVERR), on the error queue.
///
/// # Errors
/// When the kernel refuses.
pub fn report_icmp(socket: &impl AsFd, family: AddressFamily) -> io::Result<()> {
    let on: libc::c_int = 1;
    match family {
        AddressFamily::Ipv4 => set(socket, libc::IPPROTO_IP, libc::IP_RECVERR, on),
        AddressFamily::Ipv6 => set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVERR, on),
    }
}

/// Requests the local address of every packet received, so that a reply can leave from it.
///
/// # Errors
/// When the kernel refuses.
pub fn receive_local_address(socket: &impl AsFd, family: AddressFamily) -> io::Result<()> {
    let on: libc::c_int = 1;
    match family {
        AddressFamily::Ipv4 => set(socket, libc::IPPROTO_IP, libc::IP_PKTINFO, on),
        AddressFamily::Ipv6 => set(socket, libc::IPPROTO_IPV6, libc::IPV6_RECVPKTINFO, on),
    }
}

pub(super) fn set<T: Copy>(socket: &impl AsFd, level: libc::c_int, name: libc::c_int, value: T) -> io::Result<()> {
    // SAFETY: the value is plain data, its length is its own, and the descriptor is open while borrowed.
    let status = unsafe {
        libc::setsockopt(
            socket.as_fd().as_raw_fd(),
            level,
            name,
            (&raw const value).cast(),
            size_of::<T>() as libc::socklen_t,
        )
    };
    if status == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
}

#[cfg(test)]
mod tests {
    use std::net::{TcpListener, TcpStream, UdpSocket};

    use super::*;
    use crate::socket::drops;

    #[test]
    fn packets_wait_at_a_socket_whose_reader_does_not_run() {
        let receiver = UdpSocket::bind("127.0.0.1:0").unwrap();
        enlarge_receive_buffer(&receiver);
        // Older kernels do not show it in a network namespace.
        let most = std::fs::read_to_string("/proc/sys/net/core/rmem_max").unwrap_or_default();
        let most = most.trim().parse::<usize>().unwrap_or(0);
        let size = SockRef::from(&receiver).recv_buffer_size().unwrap();
        assert!(size >= RECEIVE_BUFFER.min(2 * most), "{size} bytes");
        let sender = UdpSocket::bind("127.0.0.1:0").unwrap();
        // 2304 bytes of memory each.
        let packets = RECEIVE_BUFFER.min(size) / 2304 * 9 / 10;
        for _ in 0..packets {
            sender.send_to(&[0; 972], receiver.local_addr().unwrap()).unwrap();
        }
        assert_eq!(drops::read(&receiver), Some(0), "of {packets}");
        enlarge_receive_buffer(&receiver);
        assert_eq!(SockRef::from(&receiver).recv_buffer_size().unwrap(), size, "it is not made smaller");
    }

    #[test]
    fn who_insists_waits_no_longer_than_a_second_where_the_path_is_short() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let socket = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let in_force = |name: libc::c_int| {
            let (mut value, mut length): (libc::c_int, libc::socklen_t) = (0, 4);
            // SAFETY: both point to plain data of that length, and the descriptor is open.
            let status = unsafe {
                let (value, length) = ((&raw mut value).cast(), &raw mut length);
                libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, name, value, length)
            };
            (status == 0).then_some(value)
        };
        insist(&socket);
        assert_eq!(in_force(libc::TCP_THIN_LINEAR_TIMEOUTS), Some(1));
        // A kernel before 6.15 knows no such option.
        assert!(in_force(TCP_RTO_MAX_MS).is_none_or(|longest| longest == 1000));
    }

    #[test]
    fn what_waits_in_a_queue_of_seconds_is_waited_for() {
        assert_eq!(longest_wait_ms(20_000, 10_000), 1000);
        assert_eq!(longest_wait_ms(3_000_000, 250_000), 8000, "first after 4 s");
        assert_eq!(longest_wait_ms(u32::MAX, u32::MAX), 10_000);
    }
}
