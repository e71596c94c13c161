//! Which packets of a voice stream are there when they are to be played.
//!
//! A receiver plays a packet a fixed time after the fastest it has seen. The RRUL specification takes a packet for lost
//! whose delay varies by more than 30 ms; from what, it leaves open. Two receivers are modeled: one that follows the path
//! (its reference is the smallest one-way delay of the last five seconds, so a standing queue becomes delay) and one
//! that does not (the smallest since the stream began, so a standing queue becomes loss).

use std::collections::VecDeque;
use std::time::Duration;

use rrul_model::flow::Direction;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::clock_offset::ClockOffset;
use crate::packets::one_way_flow::{OneWayFlow, PacketTransit};

/// Above its reference by more than this a packet is too late: RRUL spec, VoIP Component.
pub(crate) const LATENESS_LIMIT: Delay = Delay(30_000_000);
/// How far back the adaptive reference looks.
pub(crate) const REFERENCE_WINDOW: Duration = Duration::from_secs(5);

/// One packet and what became of it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    pub(crate) sequence: u32,
    /// When it was sent, on the client's clock.
    pub(crate) sent: TestTime,
    /// Its one-way delay, off by the same for all where the clocks' offset is unknown; `None` when it was lost.
    pub(crate) delay: Option<Delay>,
    /// Too late for the receiver that adapts.
    pub(crate) late: bool,
    /// Too late for the one that does not.
    pub(crate) late_fixed: bool,
    pub(crate) copies: u32,
    /// Its first copy arrived after a packet of a higher number (RFC 4737).
    pub(crate) reordered: bool,
}

/// What determines the fate of the packets of one direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Listening<'a> {
    /// How long a packet is waited for.
    pub(crate) waiting_time: Duration,
    /// Until when the receiver listened.
    pub(crate) until: TestTime,
    /// The two clocks; `None` where they cannot be brought together.
    pub(crate) offset: Option<&'a ClockOffset>,
}

impl Listening<'_> {
    /// The packets of a stream whose fate is known, in the order of their numbers.
    ///
    /// Of what was sent less than the waiting time before the receiver stopped to listen, the fate is known only when
    /// all of it arrived. Else all of it is left out: to keep what arrived and to drop the rest would hide losses.
    pub(crate) fn packets(&self, one_way: &OneWayFlow<'_>) -> Vec<Packet> {
        let mut packets: Vec<Packet> =
            one_way.transits.iter().map(|transit| self.packet(one_way.direction, transit)).collect();
        let decided = self.until - self.waiting_time;
        if packets.iter().any(|packet| packet.sent > decided && packet.delay.is_none()) {
            packets.retain(|packet| packet.sent <= decided);
        }
        order_of_arrival(&mut packets, &one_way.arrivals);
        lateness(&mut packets);
        packets
    }

    fn packet(&self, direction: Direction, transit: &PacketTransit) -> Packet {
        let delay = |received: TestTime| match self.offset {
            Some(offset) => offset.one_way_delay(direction, transit.sent, received),
            None => received.since(transit.sent),
        };
        let sent = match (direction, self.offset) {
            (Direction::Down, Some(offset)) => offset.client_time(transit.sent),
            _ => transit.sent,
        };
        let limit = Delay::from(self.waiting_time);
        let delay = transit.received.map(delay).filter(|delay| *delay <= limit);
        let sequence = transit.sequence;
        Packet { sequence, sent, delay, late: false, late_fixed: false, copies: 0, reordered: false }
    }
}

/// Notes copies, and what was overtaken.
fn order_of_arrival(packets: &mut [Packet], arrivals: &[u32]) {
    let mut seen = vec![false; packets.len()];
    let mut next = 0;
    for sequence in arrivals {
        let Ok(place) = packets.binary_search_by_key(sequence, |packet| packet.sequence) else { continue };
        let (packet, seen) = (&mut packets[place], &mut seen[place]);
        if *seen {
            packet.copies = packet.copies.saturating_add(1);
            continue;
        }
        *seen = true;
        packet.reordered = *sequence < next;
        next = next.max(sequence.saturating_add(1));
    }
}

/// Compares every packet that arrived with both references.
fn lateness(packets: &mut [Packet]) {
    let mut fastest: Option<Delay> = None;
    // The smallest delays within the window, rising from the front; each with when its packet was sent.
    let mut window: VecDeque<(TestTime, Delay)> = VecDeque::new();
    for packet in packets {
        let Some(delay) = packet.delay else { continue };
        while window.back().is_some_and(|(_, slower)| *slower >= delay) {
            window.pop_back();
        }
        window.push_back((packet.sent, delay));
        while window.front().is_some_and(|(sent, _)| *sent + REFERENCE_WINDOW <= packet.sent) {
            window.pop_front();
        }
        let adaptive = window.front().map_or(delay, |(_, smallest)| *smallest);
        let fixed = fastest.map_or(delay, |fastest| fastest.min(delay));
        fastest = Some(fixed);
        packet.late = delay - adaptive > LATENESS_LIMIT;
        packet.late_fixed = delay - fixed > LATENESS_LIMIT;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    /// A packet every 10 ms, with these delays in milliseconds.
    fn stream(delays: impl IntoIterator<Item = Option<i64>>) -> Vec<Packet> {
        let packet = |(sequence, delay): (u32, Option<i64>)| Packet {
            sequence,
            sent: TestTime(i64::from(sequence) * 10 * MS),
            delay: delay.map(|delay| Delay(delay * MS)),
            late: false,
            late_fixed: false,
            copies: 0,
            reordered: false,
        };
        let mut packets: Vec<Packet> = (0..).zip(delays).map(packet).collect();
        lateness(&mut packets);
        packets
    }

    fn late(packets: &[Packet]) -> (usize, usize) {
        let count = |of: fn(&Packet) -> bool| packets.iter().filter(|packet| of(packet)).count();
        (count(|packet| packet.late), count(|packet| packet.late_fixed))
    }

    #[test]
    fn spikes_of_every_tenth_packet_are_late_above_thirty_milliseconds_and_not_at_it() {
        for (spike, expected) in [(0, 0), (29, 0), (30, 0), (31, 100)] {
            let packets = stream((0..1000).map(|n| Some(if n % 10 == 5 { 20 + spike } else { 20 })));
            assert_eq!(late(&packets), (expected, expected), "spikes of {spike} ms");
        }
    }

    #[test]
    fn a_standing_queue_is_loss_for_five_seconds_to_an_adaptive_receiver_and_for_ever_to_a_fixed_one() {
        // 5 s at 20 ms, then 15 s at 220 ms.
        let packets = stream((0..2000).map(|n| Some(if n < 500 { 20 } else { 220 })));
        // The last fast packet was sent 10 ms before the queue stood: until 4.98 s into it the window contains it.
        assert_eq!(late(&packets), (499, 1500));
        assert!(packets[998].late && !packets[999].late);
    }

    #[test]
    fn a_falling_delay_is_never_late_and_a_lost_packet_is_no_reference() {
        let falling = stream((0..500).map(|n| Some(520 - n)));
        assert_eq!(late(&falling), (0, 0));
        let around_a_loss = stream([Some(50), None, Some(80), Some(81)]);
        assert_eq!(late(&around_a_loss), (1, 1), "30 ms above is not late, 31 ms is");
    }

    #[test]
    fn copies_are_counted_and_only_what_was_overtaken_is_reordered() {
        let mut packets = stream((0..6).map(|_| Some(20)));
        order_of_arrival(&mut packets, &[0, 3, 1, 1, 2, 4, 4, 4, 5, 77]);
        let reordered: Vec<u32> =
            packets.iter().filter(|packet| packet.reordered).map(|packet| packet.sequence).collect();
        assert_eq!(reordered, [1, 2]);
        assert_eq!(packets.iter().map(|packet| packet.copies).collect::<Vec<_>>(), [0, 1, 0, 0, 2, 0]);
    }
}
