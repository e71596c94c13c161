//! Why a queue cannot be made.

use rrul_model::unknown_name::UnknownName;

/// Why the queue is invalid.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum QueueError {
    /// No discipline has this name.
    #[error(transparent)]
    Unknown(#[from] UnknownName),
    /// A limit that is no number of packets or bytes.
    #[error("\"{0}\" is not a queue limit; write it like \"1000p\" (packets) or \"256kB\"")]
    Limit(String),
    /// Bytes, for a discipline that counts packets.
    #[error("this queue counts packets; write its limit like \"1000p\"")]
    CountsPackets,
    /// Packets, for a discipline that counts bytes.
    #[error("this queue counts bytes; write its limit like \"256kB\"")]
    CountsOctets,
    /// CoDel with a target of zero, or an interval no longer than the target.
    #[error("CoDel needs 0 < target < interval, such as 5ms and 100ms")]
    Codel,
    /// FQ-CoDel with no flows, or too many.
    #[error("flows = {0} is out of range; 1 to 65536 are possible")]
    Flows(usize),
    /// FQ-CoDel with too small or too large a quantum.
    #[error("a quantum of {0} bytes is out of range; 64B to 1MB are possible")]
    Quantum(u64),
    /// PIE with a target or an update interval of zero.
    #[error("PIE needs a target and a tupdate of at least 1us, such as 15ms and 15ms")]
    Pie,
    /// PIE with a gain that the kernel does not take.
    #[error("{0} = {1} is out of range; 0 to 32 are possible, in sixteenths per second")]
    Gain(&'static str, u32),
    /// CAKE with a round-trip time out of range.
    #[error("CAKE needs an rtt from 100us to 1h, such as 100ms")]
    Rtt,
}
