//! `fq_codel`: flow queues served by deficit round robin, each under CoDel: RFC 8290.
//!
//! A packet goes to the queue that its five-tuple hashes to. Queues that have just become active are served first, so
//! flows that send less than a quantum a round (*sparse* flows: DNS, VoIP, the first packets of anything) pass the fat
//! ones. When the whole is full, the fattest queue pays.
//!
//! Two readings where the RFC leaves room: CoDel's test for a backlog of at most one MTU looks at the flow's own queue,
//! as RFC 8289 words it, not at the total; and packet lengths are those of L3, without a link header.

use std::collections::VecDeque;

use super::codel::{CodelBacklog, CodelParameters, CodelState};
use crate::queue::{Discipline, DropCause, DroppedPacket, Queue, QueueError, QueueOptions, QueuedPacket, packet_limit};
use crate::time::LabTime;

/// RFC 8290 section 5.2: the defaults.
const DEFAULT_LIMIT: usize = 10_240;
const DEFAULT_FLOWS: usize = 1024;
const DEFAULT_QUANTUM: u64 = 1514;
/// RFC 8290 section 4.1: most packets dropped at once from the fattest queue.
const DROP_BATCH: usize = 64;

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "fq_codel",
    about: "FQ-CoDel, RFC 8290 (limit 10240p, flows 1024, quantum 1514B, target 5ms, interval 100ms, ecn true)",
    options: &["limit", "flows", "quantum", "target", "interval", "ecn"],
    build: |options, seed| Ok(Box::new(FqCodel::new(options, seed)?)),
};

/// Where a flow queue stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    Inactive,
    Active,
}

#[derive(Debug)]
struct Flow {
    waiting: CodelBacklog,
    codel: CodelState,
    /// Bytes it may still send in this round; negative after a packet that was larger than the rest.
    credits: i64,
    standing: Standing,
}

#[derive(Debug)]
struct FqCodel {
    limit: usize,
    quantum: i64,
    parameters: CodelParameters,
    seed: u64,
    packets: usize,
    flows: Vec<Flow>,
    new: VecDeque<usize>,
    old: VecDeque<usize>,
}

impl FqCodel {
    fn new(options: &QueueOptions, seed: u64) -> Result<Self, QueueError> {
        let flows = options.flows.unwrap_or(DEFAULT_FLOWS);
        if !(1..=65_536).contains(&flows) {
            return Err(QueueError::Flows(flows));
        }
        let quantum = options.quantum.map_or(DEFAULT_QUANTUM, |octets| octets.0);
        if !(64..=1_000_000).contains(&quantum) {
            return Err(QueueError::Quantum(quantum));
        }
        let flow = || Flow {
            waiting: CodelBacklog::default(),
            codel: CodelState::default(),
            credits: 0,
            standing: Standing::Inactive,
        };
        Ok(Self {
            limit: packet_limit(options, DEFAULT_LIMIT)?,
            quantum: quantum as i64,
            parameters: CodelParameters::new(options, true)?,
            seed,
            packets: 0,
            flows: std::iter::repeat_with(flow).take(flows).collect(),
            new: VecDeque::new(),
            old: VecDeque::new(),
        })
    }

    fn flow_of(&self, packet: &QueuedPacket) -> usize {
        (rrul_model::random::mix(packet.flow ^ self.seed) % self.flows.len() as u64) as usize
    }

    /// Drops half of the fattest queue from its head, at most a batch (RFC 8290 section 4.1).
    fn drop_from_fattest(&mut self, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        let fattest = self.flows.iter_mut().max_by_key(|flow| flow.waiting.octets);
        let fattest = fattest.expect("at least one flow queue exists");
        let batch = fattest.waiting.packets.len().div_ceil(2).min(DROP_BATCH);
        for _ in 0..batch {
            let packet = fattest.waiting.pop().expect("half of a queue is in it");
            self.packets -= 1;
            dropped.push(DroppedPacket { packet, cause: DropCause::Overflow, at: now });
        }
    }

    /// The next active queue and whether it is a new one, after giving fresh credits to those that had none left.
    fn next_flow(&mut self) -> Option<(usize, bool)> {
        loop {
            let from_new = !self.new.is_empty();
            let index = *if from_new { self.new.front() } else { self.old.front() }?;
            let flow = &mut self.flows[index];
            if flow.credits > 0 {
                return Some((index, from_new));
            }
            flow.credits += self.quantum;
            self.retire(from_new);
            self.old.push_back(index);
        }
    }

    /// Takes the head off its list.
    fn retire(&mut self, from_new: bool) {
        if from_new { &mut self.new } else { &mut self.old }.pop_front();
    }
}

impl Queue for FqCodel {
    fn enqueue(&mut self, packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        let index = self.flow_of(&packet);
        let flow = &mut self.flows[index];
        flow.waiting.push(packet);
        self.packets += 1;
        if flow.standing == Standing::Inactive {
            flow.standing = Standing::Active;
            flow.credits = self.quantum;
            self.new.push_back(index);
        }
        if self.packets > self.limit {
            self.drop_from_fattest(now, dropped);
        }
    }

    /// RFC 8290 section 4.2.
    fn dequeue(&mut self, now: LabTime, dropped: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        loop {
            let (index, from_new) = self.next_flow()?;
            let flow = &mut self.flows[index];
            let before = flow.waiting.packets.len();
            let packet = flow.codel.dequeue(self.parameters, &mut flow.waiting, now, dropped);
            self.packets -= before - flow.waiting.packets.len();
            if let Some(packet) = packet {
                flow.credits -= i64::from(packet.length);
                return Some(packet);
            }
            self.retire(from_new);
            if from_new {
                // An emptied new queue waits a round among the old ones; else a flow could stay new, and first, for ever.
                self.old.push_back(index);
            } else {
                self.flows[index].standing = Standing::Inactive;
            }
        }
    }

    fn packets(&self) -> usize {
        self.packets
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        let mut all: Vec<QueuedPacket> = Vec::with_capacity(self.packets);
        for flow in &mut self.flows {
            flow.waiting.octets = 0;
            flow.standing = Standing::Inactive;
            all.extend(flow.waiting.packets.drain(..));
        }
        self.new.clear();
        self.old.clear();
        self.packets = 0;
        all.sort_by_key(|packet| packet.arrival);
        all
    }
}

#[cfg(test)]
#[path = "fq_codel_tests.rs"]
mod tests;
