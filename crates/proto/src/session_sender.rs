//! The sending end of one UDP probe flow, without a socket: what to send when, and what a reply means.

use std::time::Duration;

use rrul_model::flow::FlowId;
use rrul_model::observation::{ProbeReceived, ProbeSent, ReflectorWindow, ReplyStamped};
use rrul_model::time::{TestTime, Window};

use crate::packet_seal::PacketSeal;
use crate::packet_seal::replay_window::{Freshness, ReplayWindow};
use crate::receive_window::KnownArrivals;
use crate::schedule::send_schedule::SendSchedule;
use crate::test_packet::{FollowUp, Kind, TestPacket};

/// RFC 8762 Session-Sender, open loop: the schedule never waits for a reply.
#[derive(Debug, Clone)]
pub struct SessionSender {
    flow: FlowId,
    seal: PacketSeal,
    octet: u8,
    /// What the server's session clock shows at T0.
    server_origin: i64,
    schedule: SendSchedule,
    next: Option<TestTime>,
    sequence: u32,
    last_follow_up: Option<u32>,
    known: KnownArrivals,
    /// Replies that were taken, where they are sealed.
    taken: ReplayWindow,
}

/// What identifies a flow's packets.
#[derive(Debug, Clone)]
pub struct Identity {
    pub flow: FlowId,
    pub seal: PacketSeal,
    /// The traffic-class octet that its packets bear.
    pub octet: u8,
    /// What the server's session clock shows at T0.
    pub server_origin: i64,
}

/// How a reply was received.
#[derive(Debug, Clone, Copy)]
pub struct Arrival {
    pub received: TestTime,
    /// When the program read it.
    pub read: TestTime,
    /// The traffic-class octet it bore.
    pub octet: u8,
}

/// What a reply says.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    pub received: ProbeReceived,
    /// What it reports of an earlier reply.
    pub stamped: Option<ReplyStamped>,
    /// What it reports of other packets, where nothing before it has reported the same.
    pub window: Option<ReflectorWindow>,
}

impl SessionSender {
    /// A flow that sends one packet every `interval` within `window`.
    pub fn new(identity: Identity, window: Window, interval: Duration, seed: u64) -> Self {
        let mut schedule = SendSchedule::new(window, interval, seed);
        let next = schedule.next();
        let Identity { flow, seal, octet, server_origin } = identity;
        Self {
            flow,
            seal,
            octet,
            server_origin,
            schedule,
            next,
            sequence: 0,
            last_follow_up: None,
            known: KnownArrivals::default(),
            taken: ReplayWindow::default(),
        }
    }

    /// The traffic-class octet that packets are to bear from now on.
    pub fn mark(&mut self, octet: u8) {
        self.octet = octet;
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
        let packet = TestPacket::request(Kind::Test, self.flow.0, self.octet, self.seal.token(), self.sequence, now.0);
        packet.write(octets).ok()?;
        self.seal.seal(octets);
        let sent = ProbeSent { flow: self.flow, sequence: self.sequence, scheduled, sent: now };
        self.sequence += 1;
        self.next = self.schedule.next();
        Some(sent)
    }

    /// Leaves out what was due before `now`: after a stall the schedule is not caught up with, as a burst would
    /// measure itself. The numbers of the packets left out are never used, so they do not look lost. Returns how many.
    pub fn skip_before(&mut self, now: TestTime) -> u32 {
        let mut skipped = 0;
        while self.next.is_some_and(|due| due < now) {
            self.next = self.schedule.next();
            skipped += 1;
        }
        skipped
    }

    /// Takes a reply; `None` when it is not one to this flow's packets.
    pub fn receive(&mut self, octets: &[u8], arrival: Arrival) -> Option<Answer> {
        let packet = TestPacket::read(octets).ok()?;
        // The seal counts what is forged, whatever number it bears.
        let ours = packet.kind == Kind::Reply
            && packet.flow == self.flow.0
            && self.seal.opens(octets)
            && packet.sequence < self.sequence;
        if !ours || self.seal.take(&mut self.taken, packet.sequence) == Freshness::Excess {
            return None;
        }
        let server_time = |stamp: i64| TestTime(stamp.saturating_sub(self.server_origin));
        let received = ProbeReceived {
            flow: self.flow,
            sequence: packet.sequence,
            received: arrival.received,
            read: arrival.read,
            reflector_received: server_time(packet.t2),
            reflector_sent: server_time(packet.t3),
            reflector_octet: packet.octet_received,
            octet: arrival.octet,
            reflector_count: packet.reflector_count,
        };
        let news = |FollowUp { sequence, .. }: &FollowUp| {
            *sequence < self.sequence && self.last_follow_up.is_none_or(|last| *sequence > last)
        };
        let stamped = packet.follow_up.filter(news).map(|FollowUp { sequence, sent }| {
            self.last_follow_up = Some(sequence);
            ReplyStamped { flow: self.flow, sequence, reflector_sent: server_time(sent) }
        });
        let is_news = self.known.take(packet.sequence, packet.window, self.sequence);
        let window = is_news.then_some(ReflectorWindow {
            flow: self.flow,
            sequence: packet.sequence,
            highest: packet.window.highest,
            window: packet.window.bits,
        });
        Some(Answer { received, stamped, window })
    }
}
