//! Where each option and counter lies, and its name.

/// What becomes of a number on its way to a name.
#[derive(Debug, Clone, Copy)]
pub(super) enum Form {
    Plain,
    /// That it is there at all says it, whatever its value.
    Presence,
    /// Signed, 32 bits.
    Signed,
    /// Bytes per second, reported as bits per second.
    Rate,
    /// Left out where it is all ones: no such limit exists.
    Limit,
    RateLimit,
}

use Form::{Limit, Plain, Presence, Rate, RateLimit, Signed};

/// Options that are attributes: kind of the attribute, name, form.
pub(super) type Word = (u16, &'static str, Form);

pub(super) const FQ_CODEL: &[Word] = &[
    (1, "target_us", Plain),
    (2, "limit_packets", Plain),
    (3, "interval_us", Plain),
    (4, "ecn", Plain),
    (5, "flows", Plain),
    (6, "quantum_octets", Plain),
    (7, "ce_threshold_us", Limit),
    (8, "drop_batch_packets", Plain),
    (9, "memory_limit_octets", Plain),
];

pub(super) const CODEL: &[Word] = &[
    (1, "target_us", Plain),
    (2, "limit_packets", Plain),
    (3, "interval_us", Plain),
    (4, "ecn", Plain),
    (5, "ce_threshold_us", Limit),
];

pub(super) const CAKE: &[Word] = &[
    (2, "bandwidth_bps", Rate),
    (3, "diffserv_mode", Plain),
    (4, "atm_mode", Plain),
    (5, "flow_mode", Plain),
    (6, "overhead_octets", Signed),
    (7, "rtt_us", Plain),
    (8, "target_us", Plain),
    (9, "autorate_ingress", Plain),
    (10, "memory_limit_octets", Plain),
    (11, "nat", Plain),
    (12, "raw", Presence),
    (13, "wash", Plain),
    (14, "mpu_octets", Plain),
    (15, "ingress", Plain),
    (16, "ack_filter", Plain),
    (17, "split_gso", Plain),
    (18, "fwmark", Plain),
];

pub(super) const FQ: &[Word] = &[
    (1, "limit_packets", Plain),
    (2, "flow_limit_packets", Plain),
    (3, "quantum_octets", Plain),
    (4, "initial_quantum_octets", Plain),
    (5, "pacing", Plain),
    (7, "maxrate_bps", RateLimit),
    (9, "refill_delay_us", Plain),
    (11, "low_rate_threshold_bps", Rate),
    (12, "ce_threshold_us", Limit),
    (13, "timer_slack_ns", Plain),
    (14, "horizon_us", Plain),
    (15, "horizon_drop", Plain),
];

pub(super) const PIE: &[Word] = &[
    (1, "target_us", Plain),
    (2, "limit_packets", Plain),
    (3, "tupdate_us", Plain),
    (4, "alpha", Plain),
    (5, "beta", Plain),
    (6, "ecn", Plain),
    (7, "bytemode", Plain),
];

pub(super) const FQ_PIE: &[Word] = &[
    (1, "limit_packets", Plain),
    (2, "flows", Plain),
    (3, "target_us", Plain),
    (4, "tupdate_us", Plain),
    (5, "alpha", Plain),
    (6, "beta", Plain),
    (7, "quantum_octets", Plain),
    (8, "memory_limit_octets", Plain),
    (9, "ecn_prob_percent", Plain),
    (10, "ecn", Plain),
    (11, "bytemode", Plain),
];

pub(super) const DUALPI2: &[Word] = &[
    (1, "limit_packets", Plain),
    (2, "memory_limit_octets", Plain),
    (3, "target_us", Plain),
    (4, "tupdate_us", Plain),
    (5, "alpha", Plain),
    (6, "beta", Plain),
    (7, "step_thresh_packets", Plain),
    (8, "step_thresh_us", Plain),
    (9, "min_qlen_step_packets", Plain),
    (10, "coupling_factor", Plain),
    (13, "classic_protection_percent", Plain),
    (14, "ecn_mask", Plain),
    (15, "split_gso", Plain),
];

/// Where each number lies in a fixed structure: place, width in bytes, name.
pub(super) type Field = (usize, usize, &'static str);

pub(super) const FQ_CODEL_DETAILS: &[Field] = &[
    (4, 4, "maxpacket"),
    (8, 4, "drop_overlimit"),
    (12, 4, "ecn_mark"),
    (16, 4, "new_flow_count"),
    (20, 4, "new_flows_len"),
    (24, 4, "old_flows_len"),
    (28, 4, "ce_mark"),
    (32, 4, "memory_used"),
    (36, 4, "drop_overmemory"),
];

pub(super) const CODEL_DETAILS: &[Field] = &[
    (0, 4, "maxpacket"),
    (4, 4, "count"),
    (8, 4, "lastcount"),
    (12, 4, "ldelay_us"),
    (20, 4, "drop_overlimit"),
    (24, 4, "ecn_mark"),
    (28, 4, "dropping"),
    (32, 4, "ce_mark"),
];

pub(super) const FQ_DETAILS: &[Field] = &[
    (8, 8, "highprio"),
    (24, 8, "throttled"),
    (32, 8, "flows_plimit"),
    (40, 8, "pkts_too_long"),
    (48, 8, "alloc_errors"),
    (64, 4, "flows"),
    (68, 4, "inactive_flows"),
    (72, 4, "throttled_flows"),
    (80, 8, "ce_mark"),
    (88, 8, "horizon_drops"),
    (96, 8, "horizon_caps"),
];

pub(super) const PIE_DETAILS: &[Field] = &[
    (8, 4, "delay_us"),
    (20, 4, "packets_in"),
    (24, 4, "dropped_early"),
    (28, 4, "overlimit"),
    (32, 4, "maxq"),
    (36, 4, "ecn_mark"),
];

pub(super) const FQ_PIE_DETAILS: &[Field] = &[
    (0, 4, "packets_in"),
    (4, 4, "dropped_early"),
    (8, 4, "overlimit"),
    (12, 4, "overmemory"),
    (16, 4, "ecn_mark"),
    (20, 4, "new_flow_count"),
    (24, 4, "new_flows_len"),
    (28, 4, "old_flows_len"),
    (32, 4, "memory_used"),
];

pub(super) const RED_DETAILS: &[Field] = &[(0, 4, "early"), (4, 4, "pdrop"), (8, 4, "other"), (12, 4, "ecn_mark")];

pub(super) const DUALPI2_DETAILS: &[Field] = &[
    (4, 4, "delay_c_us"),
    (8, 4, "delay_l_us"),
    (12, 4, "pkts_in_c"),
    (16, 4, "pkts_in_l"),
    (20, 4, "maxq"),
    (24, 4, "ecn_mark"),
    (28, 4, "step_mark"),
    (36, 4, "memory_used"),
    (40, 4, "max_memory_used"),
];

pub(super) const HTB_CLASS_DETAILS: &[Field] = &[(0, 4, "lended"), (4, 4, "borrowed")];

/// Cake reports its counters as attributes.
pub(super) const CAKE_DETAILS: &[Word] =
    &[(2, "capacity_estimate_bps", Rate), (3, "memory_limit", Plain), (4, "memory_used", Plain)];
pub(super) const CAKE_TINS: u16 = 10;
pub(super) const CAKE_TIN: &[Word] = &[
    (2, "sent_packets", Plain),
    (3, "sent_octets", Plain),
    (4, "dropped_packets", Plain),
    (5, "dropped_octets", Plain),
    (6, "ack_drop", Plain),
    (8, "ecn_mark", Plain),
    (10, "backlog_packets", Plain),
    (11, "backlog_octets", Plain),
    (12, "threshold_bps", Rate),
    (13, "target_us", Plain),
    (14, "interval_us", Plain),
    (18, "peak_delay_us", Plain),
    (19, "avg_delay_us", Plain),
    (20, "base_delay_us", Plain),
    (21, "sparse_flows", Plain),
    (22, "bulk_flows", Plain),
    (23, "unresponsive_flows", Plain),
    (24, "max_len_octets", Plain),
    (25, "quantum_octets", Plain),
];
