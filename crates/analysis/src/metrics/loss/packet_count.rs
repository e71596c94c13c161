//! Counts of test packets: sent, lost, due and never sent.

use schemars::JsonSchema;
use serde::Serialize;

/// Counts of packets. Lost ones are counted, never left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct Loss {
    /// Packets over all phases whose fate is known; those of the pooled flows at the top.
    ///
    /// Unit: count.
    pub sent: u64,
    /// Of those, packets not answered within the waiting time, in whichever direction they were lost. A later reply
    /// does not count; of duplicates the first counts.
    ///
    /// Unit: count. Source: RFC 6673; RFC 7680 section 2.
    pub lost: u64,
}

/// Packets that were due and not sent, because the host stalled and they would have been a burst. They are not lost.
///
/// It is serialized as the number of packets that were not sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
#[serde(transparent)]
#[schemars(inline)]
pub struct Skipped {
    /// Not sent.
    pub packets: u64,
    /// What the schedule wanted sent in that time: these and all that were sent, whatever became of them.
    #[serde(skip)]
    pub due: u64,
}

impl Skipped {
    /// The part of what was due that was not sent, 0 to 1; 0 when nothing was due.
    pub fn share(self) -> f64 {
        if self.due == 0 { 0.0 } else { self.packets as f64 / self.due as f64 }
    }
}
