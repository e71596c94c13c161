//! How late test packets were passed to the kernel, compared with their schedule.

use rrul_model::units::Delay;

use crate::packets::join::ProbeFlow;
use crate::statistics::percentile::{DelayStatistics, percentiles};

/// Lateness of all test packets of all probe flows.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SendLateness {
    /// Where it lies; nothing is ever lost.
    pub(crate) statistics: DelayStatistics,
    /// The 99.9th percentile.
    pub(crate) p99_9: Delay,
}

/// The lateness of every packet that was sent; `None` when none was.
///
/// Taken from the program's own stamp just before the send call, because what the kernel does with a packet afterwards
/// is no fault of the schedule.
pub(crate) fn send_lateness(flows: &[ProbeFlow<'_>]) -> Option<SendLateness> {
    let mut lateness: Vec<Delay> = flows.iter().flat_map(|entry| &entry.probes).map(|probe| probe.lateness).collect();
    let [p99_9] = percentiles(&mut lateness, 0, [999]);
    Some(SendLateness { statistics: DelayStatistics::from_delays(lateness, 0)?, p99_9: p99_9? })
}
