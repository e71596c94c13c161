//! The kernel's state of a stream, of which the socket statistics of Flent contain a little.

use super::document::TcpValue;
use crate::flow::FlowId;
use crate::observation::TcpInfo;
use crate::time::TestTime;

/// A row with the known values, and 0 elsewhere.
pub(super) fn tcp_info(flow: FlowId, at: TestTime, value: TcpValue) -> TcpInfo {
    let microseconds = |milliseconds: f32| (f64::from(milliseconds) * 1e3).round() as u32;
    let octets = |megabits: f32| (f64::from(megabits) * 1e6 / 8.0).round() as u64;
    TcpInfo {
        flow,
        at,
        state: 1,
        ca_state: 0,
        options: 0,
        rtt: microseconds(value.rtt),
        rttvar: microseconds(value.rtt_var),
        min_rtt: 0,
        rto: 0,
        snd_mss: 0,
        rcv_mss: 0,
        pmtu: 0,
        snd_cwnd: value.window.round() as u32,
        snd_ssthresh: u32::MAX,
        unacked: 0,
        lost: 0,
        total_retrans: 0,
        notsent_bytes: 0,
        snd_wnd: 0,
        rcv_wnd: 0,
        bytes_acked: 0,
        bytes_received: 0,
        bytes_sent: 0,
        bytes_retrans: 0,
        segs_out: 0,
        segs_in: 0,
        data_segs_in: 0,
        data_segs_out: 0,
        delivered: 0,
        delivered_ce: 0,
        dsack_dups: 0,
        reord_seen: 0,
        rcv_ooopack: 0,
        delivery_rate: octets(value.delivery_rate),
        pacing_rate: octets(value.pacing_rate),
        busy_time: 0,
        rwnd_limited: 0,
        sndbuf_limited: 0,
        total_rto: 0,
        received_ce_bytes: 0,
        received_e0_bytes: 0,
        received_e1_bytes: 0,
        app_limited: 0,
    }
}
