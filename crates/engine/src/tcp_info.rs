//! `TCP_INFO`: what the kernel knows of a TCP connection (tcp(7), include/uapi/linux/tcp.h).
//!
//! Read by byte offset and by the length that the kernel returns: the C libraries' own structures end at different
//! fields. Fields beyond the returned length are 0.

#![allow(unsafe_code, reason = "getsockopt")]

use std::os::fd::{AsFd, AsRawFd};

use rrul_model::flow::FlowId;
use rrul_model::observation::TcpInfo;
use rrul_model::time::TestTime;

/// Bytes asked for; later kernels have more, and only cut it.
const LONGEST: usize = 512;

/// The structure as returned.
struct Raw {
    octets: [u8; LONGEST],
    length: usize,
}

impl Raw {
    fn read(socket: impl AsFd) -> Option<Self> {
        let mut raw = Self { octets: [0; LONGEST], length: 0 };
        let mut length = LONGEST as libc::socklen_t;
        // SAFETY: the buffer and its length are valid for writing, and the descriptor is open while borrowed.
        let status = unsafe {
            libc::getsockopt(
                socket.as_fd().as_raw_fd(),
                libc::IPPROTO_TCP,
                libc::TCP_INFO,
                raw.octets.as_mut_ptr().cast(),
                &raw mut length,
            )
        };
        raw.length = (length as usize).min(LONGEST);
        (status == 0).then_some(raw)
    }

    fn u8(&self, offset: usize) -> u8 {
        self.octets[offset]
    }

    fn u16(&self, offset: usize) -> u16 {
        self.octets[offset..].first_chunk().map_or(0, |chunk| u16::from_ne_bytes(*chunk))
    }

    fn u32(&self, offset: usize) -> u32 {
        self.octets[offset..].first_chunk().map_or(0, |chunk| u32::from_ne_bytes(*chunk))
    }

    fn u64(&self, offset: usize) -> u64 {
        self.octets[offset..].first_chunk().map_or(0, |chunk| u64::from_ne_bytes(*chunk))
    }
}

/// Bytes that the other end has sent or acknowledged: while they grow, it is there.
pub fn answered(info: &TcpInfo) -> u64 {
    info.bytes_received.saturating_add(info.bytes_acked)
}

/// Reads the state of a connection; `None` when this is no TCP socket.
pub fn read(socket: impl AsFd, flow: FlowId, at: TestTime) -> Option<TcpInfo> {
    let raw = Raw::read(socket)?;
    Some(TcpInfo {
        flow,
        at,
        state: raw.u8(0),
        ca_state: raw.u8(1),
        options: raw.u8(5),
        rto: raw.u32(8),
        snd_mss: raw.u32(16),
        rcv_mss: raw.u32(20),
        unacked: raw.u32(24),
        lost: raw.u32(32),
        pmtu: raw.u32(60),
        rtt: raw.u32(68),
        rttvar: raw.u32(72),
        snd_ssthresh: raw.u32(76),
        snd_cwnd: raw.u32(80),
        total_retrans: raw.u32(100),
        pacing_rate: raw.u64(104),
        bytes_acked: raw.u64(120),
        bytes_received: raw.u64(128),
        segs_out: raw.u32(136),
        segs_in: raw.u32(140),
        notsent_bytes: raw.u32(144),
        min_rtt: raw.u32(148),
        data_segs_in: raw.u32(152),
        data_segs_out: raw.u32(156),
        delivery_rate: raw.u64(160),
        busy_time: raw.u64(168),
        rwnd_limited: raw.u64(176),
        sndbuf_limited: raw.u64(184),
        delivered: raw.u32(192),
        delivered_ce: raw.u32(196),
        bytes_sent: raw.u64(200),
        bytes_retrans: raw.u64(208),
        dsack_dups: raw.u32(216),
        reord_seen: raw.u32(220),
        rcv_ooopack: raw.u32(224),
        snd_wnd: raw.u32(228),
        rcv_wnd: raw.u32(232),
        total_rto: u32::from(raw.u16(240)),
        received_ce_bytes: raw.u32(272),
        received_e0_bytes: raw.u32(268),
        received_e1_bytes: raw.u32(264),
        // A bit field; the other bits say how TCP Fast Open failed.
        app_limited: raw.u8(7) & 1,
    })
}

/// How long this kernel's structure is, bytes; 0 when it is unknown.
pub fn kernel_length() -> u32 {
    let Ok(socket) = socket2::Socket::new(socket2::Domain::IPV4, socket2::Type::STREAM, None) else { return 0 };
    Raw::read(&socket).map_or(0, |raw| raw.length as u32)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn the_bytes_of_a_real_connection_are_counted_where_we_look() {
        let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
        let mut sender = std::net::TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut receiver, _) = listener.accept().unwrap();
        sender.write_all(&vec![7; 50_000]).unwrap();
        receiver.read_exact(&mut vec![0; 50_000]).unwrap();
        let received = read(&receiver, FlowId(1), TestTime(0)).unwrap();
        assert_eq!(received.bytes_received, 50_000);
        assert!(received.data_segs_in >= 1 && received.segs_in >= received.data_segs_in);
        let sent = read(&sender, FlowId(1), TestTime(0)).unwrap();
        assert_eq!((sent.state, sent.bytes_sent, sent.bytes_retrans), (1, 50_000, 0));
        assert!(sent.snd_cwnd >= 2 && sent.snd_mss > 500 && sent.pmtu > sent.snd_mss);
        assert!(kernel_length() >= 232, "this kernel is older than 5.4");
    }
}
