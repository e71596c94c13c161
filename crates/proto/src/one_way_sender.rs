//! The sending end of a one-way flow, without a socket: what to send when.

use rrul_model::flow::FlowId;
use rrul_model::observation::ProbeSent;
use rrul_model::time::TestTime;

use crate::one_way_packet::OneWayPacket;
use crate::packet_seal::PacketSeal;
use crate::schedule::periodic_schedule::PeriodicSchedule;

/// Sends on a fixed schedule, and never catches up.
#[derive(Debug, Clone)]
pub struct OneWaySender {
    flow: FlowId,
    seal: PacketSeal,
    octet: u8,
    schedule: PeriodicSchedule,
    next: Option<TestTime>,
    left: u32,
    sequence: u32,
}

impl OneWaySender {
    /// A flow whose packets bear this seal and traffic-class octet.
    pub fn new(flow: FlowId, seal: impl Into<PacketSeal>, octet: u8, mut schedule: PeriodicSchedule) -> Self {
        let left = schedule.left();
        let next = schedule.next();
        Self { flow, seal: seal.into(), octet, schedule, next, left, sequence: 0 }
    }

    pub fn flow(&self) -> FlowId {
        self.flow
    }

    /// When the next packet is due; `None` when the flow has sent them all.
    pub fn due(&self) -> Option<TestTime> {
        self.next
    }

    /// Writes the packet that is due into `octets` and moves on. The caller hands it to the kernel right away.
    ///
    /// `None` when none is left or `octets` are too few.
    pub fn send(&mut self, now: TestTime, octets: &mut [u8]) -> Option<ProbeSent> {
        let scheduled = self.next?;
        let (token, sequence, octet_sent) = (self.seal.token(), self.sequence, self.octet);
        let to_come = self.left.saturating_sub(1);
        OneWayPacket { flow: self.flow.0, octet_sent, token, sequence, to_come }.write(octets).ok()?;
        self.seal.seal(octets);
        self.sequence += 1;
        self.advance();
        Some(ProbeSent { flow: self.flow, sequence, scheduled, sent: now })
    }

    /// Leaves out what was due before `now`: sent in a burst the packets would measure each other. The numbers of the
    /// packets left out are never used, so they do not look lost. Returns how many.
    pub fn skip_before(&mut self, now: TestTime) -> u32 {
        let mut skipped = 0;
        while self.next.is_some_and(|due| due < now) {
            self.advance();
            skipped += 1;
        }
        skipped
    }

    fn advance(&mut self) {
        self.left = self.left.saturating_sub(1);
        self.next = self.schedule.next();
    }
}
