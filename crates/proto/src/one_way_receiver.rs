//! The receiving end of a one-way flow, without a socket: what belongs to it, and whether all of it has come.

use std::time::Duration;

use crate::one_way_packet::OneWayPacket;
use crate::packet_seal::PacketSeal;
use crate::packet_seal::replay_window::{Freshness, ReplayWindow};

/// Most packets that are remembered of one flow.
const REMEMBERED: usize = 4096;

/// What has arrived of a flow, as far as it must be known to stop waiting for the rest.
#[derive(Debug, Clone)]
pub struct OneWayReceiver {
    flow: u16,
    seal: PacketSeal,
    /// Packets that were taken, where they are sealed.
    taken: ReplayWindow,
    /// The numbers that have arrived of late, each at its place.
    latest: Vec<Option<u32>>,
    /// The number of the flow's last packet, once that has arrived.
    last: Option<u32>,
}

impl OneWayReceiver {
    /// A flow without an arrival so far; of its last packets, those of `waiting_time` are looked for.
    pub fn new(flow: u16, seal: impl Into<PacketSeal>, interval: Duration, waiting_time: Duration) -> Self {
        let packets = waiting_time.as_nanos() / interval.as_nanos().max(1);
        let latest = vec![None; usize::try_from(packets).unwrap_or(REMEMBERED).clamp(1, REMEMBERED)];
        Self { flow, seal: seal.into(), taken: ReplayWindow::default(), latest, last: None }
    }

    /// Takes a packet; `None` when it is none of this flow. Copies of a packet are taken, too.
    pub fn receive(&mut self, octets: &[u8]) -> Option<OneWayPacket> {
        let packet = OneWayPacket::read(octets).ok()?;
        if packet.flow != self.flow || !self.seal.opens(octets) {
            return None;
        }
        if self.seal.take(&mut self.taken, packet.sequence) == Freshness::Excess {
            return None;
        }
        self.note(packet.sequence, packet.to_come);
        Some(packet)
    }

    /// A packet of this flow has arrived.
    pub fn note(&mut self, sequence: u32, to_come: u32) {
        let places = self.latest.len();
        self.latest[sequence as usize % places] = Some(sequence);
        if to_come == 0 {
            self.last = Some(sequence);
        }
    }

    /// Whether the last packet has arrived, and every one that was sent within the waiting time before it: nothing that
    /// is worth waiting for can still come.
    pub fn is_complete(&self) -> bool {
        let Some(last) = self.last else { return false };
        let places = self.latest.len() as u32;
        let first = last.saturating_sub(places - 1);
        (first..=last).all(|sequence| self.latest[(sequence % places) as usize] == Some(sequence))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::token::Token;

    const TOKEN: Token = Token(*b"a token of tests");

    fn receiver() -> OneWayReceiver {
        OneWayReceiver::new(3, TOKEN, Duration::from_millis(10), Duration::from_millis(50))
    }

    #[test]
    fn a_flow_is_complete_when_its_last_packets_have_all_come() {
        let mut receiver = receiver();
        // Number 2 is lost, long before the end: no one waits for it any more.
        for sequence in [0, 1, 3, 4, 5, 6, 8, 9] {
            receiver.note(sequence, 9 - sequence);
            assert!(!receiver.is_complete(), "after {sequence}: 7 may still come");
        }
        receiver.note(7, 2);
        assert!(receiver.is_complete());
    }

    #[test]
    fn without_its_last_packet_a_flow_is_never_complete() {
        let mut receiver = receiver();
        (0..9).for_each(|sequence| receiver.note(sequence, 9 - sequence));
        assert!(!receiver.is_complete());
        receiver.note(u32::MAX, 0);
        assert!(!receiver.is_complete(), "a number that cannot be overflows nothing");
    }

    #[test]
    fn only_packets_of_the_flow_and_session_are_taken() {
        let mut octets = [0; 92];
        let packet = OneWayPacket { flow: 3, octet_sent: 0, token: TOKEN, sequence: 0, to_come: 0 };
        for (flow, token, ours) in [(3, TOKEN, true), (4, TOKEN, false), (3, Token::NONE, false)] {
            OneWayPacket { flow, token, ..packet }.write(&mut octets).unwrap();
            assert_eq!(receiver().receive(&octets).is_some(), ours, "{flow}");
        }
        assert_eq!(receiver().receive(&octets[..20]), None);
    }
}
