use crate::table::table;

table! {
    /// Flows of a run: one row a stream of the load, and one for each phase of a flow of probes.
    FlowRow is "flows" ordered by &["flow_type", "run_key", "phase", "flow"];

    /// The run, as in `runs`.
    run_key: Count,
    /// `load` of streams; the phase in which the packets were sent of probes, as in `delays`.
    phase: Text,
    /// Type, class, direction and family of the flow, with a number where several are alike: `bulk_tcp/BE/down/ipv4#2`.
    flow: Text,
    /// Its type, a name from `rrul list flows`; `other` if unknown.
    flow_type: Text,
    /// Service class.
    class: Text,
    /// `ipv4` or `ipv6`.
    family: Text,
    /// `up` or `down`; null of flows that go both ways.
    direction: Text,
    /// Bytes delivered to the receiver in the load phase.
    octets: Count,
    /// Delivered bytes over time, in the scored window, bits per second.
    goodput_bps: Count,
    /// Retransmitted bytes per million bytes sent.
    retransmitted_ppm: Number,
    /// Segments with data that the sender sent, retransmitted ones included.
    segments: Count,
    /// Segments retransmitted.
    retransmitted: Count,
    /// Test packets whose fate is known.
    packets: Count,
    /// Of those, packets lost in either direction.
    lost: Count,
}
