use crate::table::table;

table! {
    /// Delays of test packets as sketches, in long form: how many packets of a run fell into which bin.
    ///
    /// Sum `n` over runs, then walk the bins in ascending order: a percentile lies in the first bin that reaches its rank.
    DelayRow is "delays" ordered by &["kind", "phase", "headline", "direction", "class", "family", "run_key", "bin"];

    /// The run, as in `runs`.
    run_key: Count,
    /// Phase in which the packet was sent: `idle`, `load` (the scored window of the load), `unscored` (the rest of it), `web`, `after`.
    phase: Text,
    /// Service class: `BE`, `EF`, `CS1` and others.
    class: Text,
    /// `ipv4` or `ipv6`.
    family: Text,
    /// `up` or `down` of queueing delay; `both` of round trips.
    direction: Text,
    /// `round_trip` of UDP probes, `queueing` (their delay above that of the fastest idle packet), `icmp_round_trip`, or
    /// `mean_round_trip` (means of exchanges, in files of Flent).
    kind: Text,
    /// 1 when the packets are among those of the headline figures: best effort and expedited forwarding of one kind of probes.
    headline: Count,
    /// ceil(32 * log2(nanoseconds)); -1 of delays of zero and less; 9999 of lost packets. The delay that stands for a bin b is
    /// 2^((b - 0.5) / 32) nanoseconds.
    bin: Count,
    /// Packets in the bin.
    n: Count,
}
