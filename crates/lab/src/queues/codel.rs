//! `codel`: one queue under the Controlled Delay AQM of RFC 8289.
//!
//! CoDel watches the time that packets have waited (their *sojourn time*) when they leave. Once it has stood above
//! `target` for a whole `interval`, a packet is dropped, and the next ones at intervals that shrink with the square root
//! of the number of drops, until the sojourn time falls below target. ECN-capable packets are marked instead.

use std::collections::VecDeque;

use crate::queue::{
    Discipline, DropCause, DroppedPacket, MTU, Queue, QueueError, QueueOptions, QueuedPacket, packet_limit,
};
use crate::time::{LabTime, nanoseconds};

const DEFAULT_LIMIT: usize = 1000;

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "codel",
    about: "CoDel, RFC 8289 (limit 1000p, target 5ms, interval 100ms, ecn false)",
    options: &["limit", "target", "interval", "ecn"],
    build: |options, _| {
        Ok(Box::new(Codel {
            limit: packet_limit(options, DEFAULT_LIMIT)?,
            parameters: CodelParameters::new(options, false)?,
            state: CodelState::default(),
            waiting: CodelBacklog::default(),
        }))
    },
};

/// What RFC 8289 section 4.3 calls the setpoints, and whether to mark.
#[derive(Debug, Clone, Copy)]
pub(super) struct CodelParameters {
    target: u64,
    interval: u64,
    ecn: bool,
}

impl CodelParameters {
    pub(super) fn new(options: &QueueOptions, ecn_default: bool) -> Result<Self, QueueError> {
        let target = options.target.map_or(5_000_000, nanoseconds);
        let interval = options.interval.map_or(100_000_000, nanoseconds);
        if target == 0 || interval <= target {
            return Err(QueueError::Codel);
        }
        Ok(Self { target, interval, ecn: options.ecn.unwrap_or(ecn_default) })
    }

    /// When to drop next, after the `count`th drop: RFC 8289 section 3.2, `t + interval / sqrt(count)`.
    fn control_law(self, after: LabTime, count: u32) -> LabTime {
        LabTime(after.0.saturating_add((self.interval as f64 / f64::from(count).sqrt()) as u64))
    }
}

/// Packets in order, with their bytes.
#[derive(Debug, Default)]
pub(super) struct CodelBacklog {
    pub(super) packets: VecDeque<QueuedPacket>,
    pub(super) octets: u64,
}

impl CodelBacklog {
    pub(super) fn push(&mut self, packet: QueuedPacket) {
        self.octets += u64::from(packet.length);
        self.packets.push_back(packet);
    }

    pub(super) fn pop(&mut self) -> Option<QueuedPacket> {
        let packet = self.packets.pop_front()?;
        self.octets -= u64::from(packet.length);
        Some(packet)
    }
}

/// The state of the control loop of one queue; the names are those of RFC 8289 section 5.
#[derive(Debug, Default)]
pub(super) struct CodelState {
    first_above_time: Option<LabTime>,
    drop_next: LabTime,
    count: u32,
    last_count: u32,
    dropping: bool,
}

impl CodelState {
    /// The next packet to send at `now`, RFC 8289 section 5.5.
    pub(super) fn dequeue(
        &mut self,
        parameters: CodelParameters,
        backlog: &mut CodelBacklog,
        now: LabTime,
        dropped: &mut Vec<DroppedPacket>,
    ) -> Option<QueuedPacket> {
        let (mut head, mut ok_to_drop) = self.look_at_head(parameters, backlog, now);
        if self.dropping {
            self.dropping &= ok_to_drop;
            while self.dropping && now >= self.drop_next {
                self.count += 1;
                match signal(parameters, &mut head, now, dropped) {
                    Signal::Marked => {
                        self.drop_next = parameters.control_law(self.drop_next, self.count);
                        break;
                    }
                    Signal::Dropped => {
                        (head, ok_to_drop) = self.look_at_head(parameters, backlog, now);
                        if ok_to_drop {
                            self.drop_next = parameters.control_law(self.drop_next, self.count);
                        } else {
                            self.dropping = false;
                        }
                    }
                }
            }
        } else if ok_to_drop {
            if signal(parameters, &mut head, now, dropped) == Signal::Dropped {
                (head, _) = self.look_at_head(parameters, backlog, now);
            }
            self.enter_dropping(parameters, now);
        }
        head
    }

    /// Takes the head and returns whether it has been above target for an interval: RFC 8289 section 5.6, `dodequeue`.
    fn look_at_head(
        &mut self,
        parameters: CodelParameters,
        backlog: &mut CodelBacklog,
        now: LabTime,
    ) -> (Option<QueuedPacket>, bool) {
        let Some(packet) = backlog.pop() else {
            self.first_above_time = None;
            return (None, false);
        };
        // One packet of the largest size still waiting is no standing queue: below that, dropping would starve the link.
        if now.since(packet.arrival) < parameters.target || backlog.octets <= MTU as u64 {
            self.first_above_time = None;
            return (Some(packet), false);
        }
        let first_above = *self.first_above_time.get_or_insert(LabTime(now.0 + parameters.interval));
        (Some(packet), now >= first_above)
    }

    /// Begins to drop, at the rate that controlled the queue last time if that was not long ago.
    fn enter_dropping(&mut self, parameters: CodelParameters, now: LabTime) {
        let delta = self.count.saturating_sub(self.last_count);
        let lately = now.since(self.drop_next) < 16 * parameters.interval;
        self.dropping = true;
        self.count = if delta > 1 && lately { delta } else { 1 };
        self.drop_next = parameters.control_law(now, self.count);
        self.last_count = self.count;
    }
}

#[derive(PartialEq)]
enum Signal {
    Marked,
    Dropped,
}

/// Signals the sender by a mark on its packet if possible, else by the loss of it (RFC 8289 section 3, ECN).
fn signal(
    parameters: CodelParameters,
    head: &mut Option<QueuedPacket>,
    now: LabTime,
    dropped: &mut Vec<DroppedPacket>,
) -> Signal {
    match head {
        Some(packet) if parameters.ecn && packet.ecn_capable => {
            packet.marked = true;
            Signal::Marked
        }
        _ => {
            dropped.extend(head.take().map(|packet| DroppedPacket { packet, cause: DropCause::Aqm, at: now }));
            Signal::Dropped
        }
    }
}

#[derive(Debug)]
struct Codel {
    limit: usize,
    parameters: CodelParameters,
    state: CodelState,
    waiting: CodelBacklog,
}

impl Queue for Codel {
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        if self.waiting.packets.len() < self.limit {
            self.waiting.push(packet);
        } else {
            dropped.push(DroppedPacket { packet, cause: DropCause::Overflow, at: now });
        }
    }

    fn dequeue(&mut self, now: LabTime, dropped: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        self.state.dequeue(self.parameters, &mut self.waiting, now, dropped)
    }

    fn packets(&self) -> usize {
        self.waiting.packets.len()
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        self.waiting.octets = 0;
        self.waiting.packets.drain(..).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::queue::drive::{ms, packet};

    /// Keeps a queue 50 packets deep with one departure a millisecond, so that every packet waits 50 ms.
    /// Gives the times in ms of what CoDel did: drops, and marks.
    fn overload(ecn_capable: bool, milliseconds: u64) -> (Vec<u64>, Vec<u64>) {
        let options = QueueOptions { ecn: Some(true), ..QueueOptions::default() };
        let mut queue = (DISCIPLINE.build)(&options, 0).unwrap();
        let (mut dropped, mut marks) = (Vec::new(), Vec::new());
        for now in 0..milliseconds {
            while queue.packets() < 50 {
                // An arrival 50 ms back keeps the sojourn time constant whatever was dropped meanwhile.
                let arrival = LabTime(ms(now).0.saturating_sub(50_000_000));
                queue.enqueue(QueuedPacket { ecn_capable, ..packet(0, 0, arrival) }, ms(now), &mut dropped);
            }
            let sent = queue.dequeue(ms(now), &mut dropped).unwrap();
            if sent.marked {
                marks.push(now);
            }
        }
        (dropped.iter().map(|drop| drop.at.0 / 1_000_000).collect(), marks)
    }

    /// RFC 8289 by hand: the sojourn time is 5 ms from `above` on; first drop an interval later, then interval/sqrt(n).
    fn control_law_by_hand(above: f64, milliseconds: f64) -> Vec<u64> {
        let mut times = vec![above + 100.0];
        for count in 1.. {
            let next = times[count - 1] + 100.0 / (count as f64).sqrt();
            if next > milliseconds - 1.0 {
                break;
            }
            times.push(next);
        }
        // The queue is looked at once a millisecond, so a drop comes at the first look not before its time.
        times.iter().map(|time| time.ceil() as u64).collect()
    }

    #[test]
    fn drops_follow_interval_over_the_square_root_of_their_count() {
        let (drops, marks) = overload(false, 1000);
        // Arrivals are clamped to zero before 50 ms, so the head first waits 5 ms at time 5.
        let expected = control_law_by_hand(5.0, 1000.0);
        assert_eq!(drops, expected);
        assert!(expected.len() > 20 && marks.is_empty(), "{} drops, marks {marks:?}", expected.len());
    }

    #[test]
    fn ecn_capable_packets_are_marked_when_others_would_be_dropped() {
        let (drops, marks) = overload(true, 1000);
        assert_eq!(drops, [] as [u64; 0]);
        assert_eq!(marks, control_law_by_hand(5.0, 1000.0));
    }

    #[test]
    fn a_queue_that_empties_within_an_interval_loses_nothing() {
        let mut queue = (DISCIPLINE.build)(&QueueOptions::default(), 0).unwrap();
        let mut dropped = Vec::new();
        for burst in 0..10 {
            for slot in 0..90 {
                queue.enqueue(packet(slot, 0, ms(burst * 100)), ms(burst * 100), &mut dropped);
            }
            for step in 0..90 {
                assert!(queue.dequeue(ms(burst * 100 + step), &mut dropped).is_some());
            }
        }
        assert_eq!(dropped, [], "bursts of 90 ms are good queue");
    }

    #[test]
    fn the_last_packet_is_never_dropped_however_long_it_waited() {
        let mut queue = (DISCIPLINE.build)(&QueueOptions::default(), 0).unwrap();
        let mut dropped = Vec::new();
        for step in 0..50 {
            queue.enqueue(packet(step, 0, ms(0)), ms(0), &mut dropped);
            assert_eq!(queue.dequeue(ms(1000 + 20 * u64::from(step)), &mut dropped).map(|sent| sent.slot), Some(step));
        }
        assert_eq!(dropped, []);
    }

    #[test]
    fn dropping_resumes_near_the_rate_that_controlled_the_queue_before() {
        let parameters = CodelParameters::new(&QueueOptions::default(), false).unwrap();
        let resumed = |now| {
            let mut state = CodelState { drop_next: ms(1000), count: 26, last_count: 1, ..CodelState::default() };
            state.enter_dropping(parameters, now);
            (state.count, state.drop_next.since(now))
        };
        assert_eq!(resumed(ms(2599)), (25, 20_000_000), "within 16 intervals: 25 drops, 100 ms / 5");
        assert_eq!(resumed(ms(2600)), (1, 100_000_000), "later it starts afresh");
    }

    #[test]
    fn setpoints_that_make_no_sense_are_refused() {
        let options = QueueOptions { target: Some(std::time::Duration::from_millis(100)), ..QueueOptions::default() };
        assert!((DISCIPLINE.build)(&options, 0).is_err());
    }
}
