use crate::table::table;

table! {
    /// Seconds of runs that were added with `--seconds`: one row a flow and second.
    SecondRow is "seconds" ordered by &["flow_type", "run_key", "flow", "second"];

    /// The run, as in `runs`.
    run_key: Count,
    /// Whole seconds from when the test began until this second.
    second: Count,
    /// Phase of the middle of the second, as in `delays`; null between phases.
    phase: Text,
    /// The flow, named as in `flows`.
    flow: Text,
    /// Its type, a name from `rrul list flows`; `other` if unknown.
    flow_type: Text,
    /// Service class.
    class: Text,
    /// `ipv4` or `ipv6`.
    family: Text,
    /// `up` or `down`; null of flows that go both ways.
    direction: Text,
    /// Delivered bytes over time, of the sample intervals of a stream whose middle is in this second, bits per second.
    goodput_bps: Count,
    /// Test packets sent in this second whose fate is known.
    packets: Count,
    /// Of those, packets lost in either direction.
    lost: Count,
    /// Their round-trip delay, median; a lost packet is infinitely late, and a median among lost packets is null.
    p50_ns: Count,
    /// Their largest round-trip delay, lost packets left out.
    max_ns: Count,
}
