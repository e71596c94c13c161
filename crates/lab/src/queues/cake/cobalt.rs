//! COBALT: CoDel beside BLUE, the AQM of each of CAKE's queues.
//!
//! Høiland-Jørgensen, Täht, Morton: "Piece of CAKE", arXiv 1804.07617, section 2.4 and its references. CoDel signals to flows
//! that answer to it; BLUE raises a drop probability while the queue overflows and lowers it while it is empty, for those that
//! do not. Unlike in RFC 8289, CoDel keeps its count when the delay falls below the target, and lowers it by one a control interval.
//!
//! As in Linux, a queue that comes above its target is signaled to at once, without waiting for an interval, when it is used for
//! the first time or when its count has not decayed yet.

use rrul_model::random::Random;

use crate::queue::QueuedPacket;
use crate::time::LabTime;

/// BLUE's probability grows by 1/256 when the queue overflows and falls by 1/4096 when it is empty, in units of 2^-32.
const BLUE_UP: u32 = 1 << 24;
const BLUE_DOWN: u32 = 1 << 20;

/// The settings of a tin, in nanoseconds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct CobaltParameters {
    pub(super) target: u64,
    pub(super) interval: u64,
    /// Transmission time of a full packet at the tin's threshold.
    pub(super) packet_time: u64,
}

impl CobaltParameters {
    /// The control interval after this many signals: RFC 8289 section 3.2.
    fn pause(&self, count: u32) -> i128 {
        (self.interval as f64 / f64::from(count.max(1)).sqrt()) as i128
    }
}

/// What is to happen to a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Verdict {
    Send,
    Mark,
    Drop,
}

/// The state of one queue. Times are signed nanoseconds.
#[derive(Debug, Default)]
pub(super) struct Cobalt {
    count: u32,
    /// Whether the count was ever more than one.
    used: bool,
    dropping: bool,
    /// When CoDel signals next; while it is at rest, until when the state is kept.
    next: i128,
    /// BLUE's drop probability in units of 2^-32.
    probability: u32,
    /// When it was changed last.
    changed: i128,
}

impl Cobalt {
    /// Judges the packet that is to leave at `now`. In ingress mode `bulk_flows` counts the flows of the tin with a backlog, each
    /// of which may keep two packets; otherwise it is zero.
    pub(super) fn judge(
        &mut self,
        parameters: &CobaltParameters,
        packet: &QueuedPacket,
        bulk_flows: u32,
        now: LabTime,
        random: &mut Random,
    ) -> Verdict {
        let sojourn = now.since(packet.arrival);
        let instant = i128::from(now.0);
        let above = sojourn > parameters.target
            && sojourn > 4 * parameters.packet_time
            && sojourn > 2 * u64::from(bulk_flows) * parameters.packet_time;
        let due = self.count > 0 && instant >= self.next;
        let late = instant > self.next;
        if above && !self.dropping {
            self.next = instant + if self.used { parameters.pause(self.count) } else { 0 };
        }
        if above {
            self.count = self.count.max(1);
        }
        self.dropping = above;
        let mut advanced = false;
        let mut verdict = Verdict::Send;
        if due && self.dropping {
            verdict = if packet.ecn_capable { Verdict::Mark } else { Verdict::Drop };
            self.count = self.count.saturating_add(1);
            self.used = true;
            self.next += parameters.pause(self.count);
            advanced = true;
        } else if due {
            while self.count > 0 && instant >= self.next {
                self.count -= 1;
                self.used = true;
                self.next += parameters.pause(self.count);
                advanced = true;
            }
        }
        if self.probability > 0 && ((random.next() >> 32) as u32) < self.probability {
            verdict = Verdict::Drop;
        }
        if self.count == 0 {
            self.next = instant + i128::from(parameters.interval);
        } else if verdict != Verdict::Drop && if advanced { instant > self.next } else { late } {
            self.next = instant;
        }
        verdict
    }

    /// A packet of this queue was dropped because the whole was full.
    pub(super) fn overflowed(&mut self, parameters: &CobaltParameters, now: LabTime) {
        let instant = i128::from(now.0);
        if instant - self.changed > i128::from(parameters.target) {
            self.probability = self.probability.saturating_add(BLUE_UP);
            self.changed = instant;
        }
        self.dropping = true;
        self.next = instant;
        self.count = self.count.max(1);
    }

    /// The queue was found empty. Returns whether its state has come to rest.
    pub(super) fn emptied(&mut self, parameters: &CobaltParameters, now: LabTime) -> bool {
        let instant = i128::from(now.0);
        if self.probability > 0 && instant - self.changed > i128::from(parameters.target) {
            self.probability = self.probability.saturating_sub(BLUE_DOWN);
            self.changed = instant;
        }
        self.dropping = false;
        if self.count > 0 && instant >= self.next {
            self.count -= 1;
            self.used = true;
            self.next += parameters.pause(self.count);
        }
        self.probability == 0 && self.count == 0 && instant >= self.next
    }
}
