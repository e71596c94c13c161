//! Counts of test packets: sent, lost, due and never sent.

/// Counts of packets. Lost ones are counted, never left out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Loss {
    /// Sent, less those of an unknown fate: docs/metrics.md says which.
    pub sent: u64,
    /// Of those, not answered within the waiting time.
    pub lost: u64,
}

/// Packets that were due and not sent, because the host stalled and they would have been a burst. They are not lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Skipped {
    /// Not sent.
    pub packets: u64,
    /// What the schedule wanted sent in that time: these and all that were sent, whatever became of them.
    pub due: u64,
}

impl Skipped {
    /// The part of what was due that was not sent, 0 to 1; 0 when nothing was due.
    pub fn share(self) -> f64 {
        if self.due == 0 { 0.0 } else { self.packets as f64 / self.due as f64 }
    }
}
