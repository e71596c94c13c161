//! `pie`: one queue under the Proportional Integral controller Enhanced of RFC 8033.
//!
//! Every `tupdate` the controller derives a drop probability from the queueing delay: `alpha` times its distance from the
//! target plus `beta` times its change. A packet is dropped as it arrives, with that probability. ECN-capable packets are
//! marked instead while the probability is at most 10 %.
//!
//! Where the RFC leaves room, this follows Linux: the queueing delay is the sojourn time of the packet that left last (RFC
//! 8033 section 5.2 allows time stamps instead of an estimated departure rate), and `alpha` and `beta` are written in sixteenths
//! per second.

use std::collections::VecDeque;

use rrul_model::random::Random;

use crate::queue::{
    Discipline, DropCause, DroppedPacket, MTU, Queue, QueueError, QueueOptions, QueuedPacket, packet_limit,
};
use crate::time::{LabTime, nanoseconds};

const DEFAULT_LIMIT: usize = 1000;
/// RFC 8033 section 4.2.
const DEFAULT_TARGET: u64 = 15_000_000;
const DEFAULT_TUPDATE: u64 = 15_000_000;
const DEFAULT_ALPHA: u32 = 2;
const DEFAULT_BETA: u32 = 20;
/// RFC 8033 section 4.4.
const DEFAULT_BURST: u64 = 150_000_000;
/// RFC 8033 section 5.1: above this probability ECN-capable packets are dropped like others.
const MOST_MARKED: f64 = 0.1;
/// RFC 8033 section 5.5: once the probability has reached 10 %, it grows by no more than this at a time.
const MOST_STEP: f64 = 0.02;
/// RFC 8033 section 5.5: with a delay above this the probability grows by `MOST_STEP` in addition.
const HIGH_DELAY: u64 = 250_000_000;
/// RFC 8033 section 4.2: what is left of the probability after each update of an idle queue.
const IDLE_DECAY: f64 = 0.98;
/// RFC 8033 section 4.1: below this probability and half of the target nothing is dropped.
const SAFE_PROBABILITY: f64 = 0.2;
/// RFC 8033 section 5.4: nothing is dropped before this much probability has accumulated since the last drop ...
const LEAST_ACCUMULATED: f64 = 0.85;
/// ... and everything beyond this.
const MOST_ACCUMULATED: f64 = 8.5;

pub(super) static DISCIPLINE: Discipline = Discipline {
    name: "pie",
    about: "PIE, RFC 8033 (limit 1000p, target 15ms, tupdate 15ms, alpha 2, beta 20, ecn false, bytemode false, burst 150ms)",
    options: &["limit", "target", "tupdate", "alpha", "beta", "ecn", "bytemode", "burst"],
    build: |options, seed| Ok(Box::new(Pie::new(options, seed)?)),
};

/// The settings, with times in nanoseconds.
#[derive(Debug, Clone, Copy)]
struct PieParameters {
    target: u64,
    tupdate: u64,
    /// Probability per second.
    alpha: f64,
    /// Probability per second.
    beta: f64,
    ecn: bool,
    bytemode: bool,
    burst: u64,
}

impl PieParameters {
    fn new(options: &QueueOptions) -> Result<Self, QueueError> {
        let target = options.target.map_or(DEFAULT_TARGET, nanoseconds);
        let tupdate = options.tupdate.map_or(DEFAULT_TUPDATE, nanoseconds);
        if target < 1000 || tupdate < 1000 {
            return Err(QueueError::Pie);
        }
        let gain = |name, given: Option<u32>, default| match given.unwrap_or(default) {
            sixteenths @ 0..=32 => Ok(f64::from(sixteenths) / 16.0),
            sixteenths => Err(QueueError::Gain(name, sixteenths)),
        };
        Ok(Self {
            target,
            tupdate,
            alpha: gain("alpha", options.alpha, DEFAULT_ALPHA)?,
            beta: gain("beta", options.beta, DEFAULT_BETA)?,
            ecn: options.ecn.unwrap_or(false),
            bytemode: options.bytemode.unwrap_or(false),
            burst: options.burst.map_or(DEFAULT_BURST, nanoseconds),
        })
    }
}

/// The state of the controller; RFC 8033 section 4.
#[derive(Debug)]
struct Controller {
    probability: f64,
    /// Probability accumulated since the last drop (RFC 8033 section 5.4).
    accumulated: f64,
    /// Sojourn time of the packet that left last; zero when it left the queue empty.
    delay: u64,
    /// The delay at the update before.
    delay_before: u64,
    burst_left: u64,
    random: Random,
}

impl Controller {
    /// Whether to signal congestion to a packet of this length that arrives at a queue with this backlog in bytes.
    fn signals(&mut self, parameters: &PieParameters, backlog: u64, length: u32) -> bool {
        let calm = self.delay < parameters.target / 2 && self.probability < SAFE_PROBABILITY;
        if self.burst_left > 0 || calm || backlog < 2 * MTU as u64 {
            return false;
        }
        let scale = if parameters.bytemode { (f64::from(length) / MTU as f64).min(1.0) } else { 1.0 };
        let probability = self.probability * scale;
        if probability == 0.0 {
            self.accumulated = 0.0;
        }
        self.accumulated += probability;
        let due = self.accumulated >= LEAST_ACCUMULATED
            && (self.accumulated >= MOST_ACCUMULATED || self.random.unit() < probability);
        if due {
            self.accumulated = 0.0;
        }
        due
    }

    /// Derives the probability anew; RFC 8033 section 4.2, with the bounds of section 5.5.
    fn update(&mut self, parameters: &PieParameters, backlog: u64) {
        let seconds = |nanoseconds: u64| nanoseconds as f64 / 1e9;
        let change = seconds(self.delay) - seconds(self.delay_before);
        let distance = seconds(self.delay) - seconds(parameters.target);
        let mut step = (parameters.alpha * distance + parameters.beta * change) * gain_scale(self.probability);
        if self.probability >= 0.1 {
            step = step.min(MOST_STEP);
        }
        if self.delay > HIGH_DELAY {
            step += MOST_STEP;
        }
        // A backlog whose first packet has not left yet has no known delay.
        if self.delay > 0 || backlog == 0 {
            self.probability += step;
        }
        if self.delay == 0 && self.delay_before == 0 {
            self.probability *= IDLE_DECAY;
        }
        self.probability = self.probability.clamp(0.0, 1.0);
        self.burst_left = self.burst_left.saturating_sub(parameters.tupdate);
        let low = parameters.target / 2;
        if self.probability == 0.0 && self.delay < low && self.delay_before < low {
            self.burst_left = parameters.burst;
        }
        self.delay_before = self.delay;
    }
}

/// What the gains are multiplied by: less while the probability is small (RFC 8033 section 4.2).
fn gain_scale(probability: f64) -> f64 {
    const STEPS: [(f64, f64); 6] =
        [(1e-6, 2048.0), (1e-5, 512.0), (1e-4, 128.0), (1e-3, 32.0), (1e-2, 8.0), (1e-1, 2.0)];
    STEPS.iter().find(|(below, _)| probability < *below).map_or(1.0, |(_, divisor)| 1.0 / divisor)
}

#[derive(Debug)]
struct Pie {
    limit: usize,
    parameters: PieParameters,
    controller: Controller,
    /// When the probability is derived next; `None` before the first packet.
    next_update: Option<LabTime>,
    waiting: VecDeque<QueuedPacket>,
    octets: u64,
}

impl Pie {
    fn new(options: &QueueOptions, seed: u64) -> Result<Self, QueueError> {
        let parameters = PieParameters::new(options)?;
        let controller = Controller {
            probability: 0.0,
            accumulated: 0.0,
            delay: 0,
            delay_before: 0,
            burst_left: parameters.burst,
            random: Random::new(seed, "pie"),
        };
        let limit = packet_limit(options, DEFAULT_LIMIT)?;
        Ok(Self { limit, parameters, controller, next_update: None, waiting: VecDeque::new(), octets: 0 })
    }

    /// Carries out the updates that are due by `now`.
    fn catch_up(&mut self, now: LabTime) {
        let tupdate = self.parameters.tupdate;
        let mut next = self.next_update.unwrap_or(LabTime(now.0.saturating_add(tupdate)));
        while next <= now {
            self.controller.update(&self.parameters, self.octets);
            if self.is_at_rest() {
                // Further updates change nothing.
                next = LabTime(next.0.saturating_add(now.since(next) / tupdate * tupdate));
            }
            next = LabTime(next.0.saturating_add(tupdate));
        }
        self.next_update = Some(next);
    }

    fn is_at_rest(&self) -> bool {
        let Controller { probability, delay, delay_before, .. } = self.controller;
        self.octets == 0 && probability == 0.0 && delay == 0 && delay_before == 0
    }
}

impl Queue for Pie {
    fn enqueue(&mut self, mut packet: QueuedPacket, now: LabTime, dropped: &mut Vec<DroppedPacket>) {
        self.catch_up(now);
        if self.waiting.len() >= self.limit {
            self.controller.accumulated = 0.0;
            dropped.push(DroppedPacket { packet, cause: DropCause::Overflow, at: now });
            return;
        }
        if self.controller.signals(&self.parameters, self.octets, packet.length) {
            if !self.parameters.ecn || !packet.ecn_capable || self.controller.probability > MOST_MARKED {
                dropped.push(DroppedPacket { packet, cause: DropCause::Aqm, at: now });
                return;
            }
            packet.marked = true;
        }
        self.octets += u64::from(packet.length);
        self.waiting.push_back(packet);
    }

    fn dequeue(&mut self, now: LabTime, _: &mut Vec<DroppedPacket>) -> Option<QueuedPacket> {
        self.catch_up(now);
        let packet = self.waiting.pop_front()?;
        self.octets -= u64::from(packet.length);
        self.controller.delay = if self.waiting.is_empty() { 0 } else { now.since(packet.arrival) };
        Some(packet)
    }

    fn packets(&self) -> usize {
        self.waiting.len()
    }

    fn drain(&mut self) -> Vec<QueuedPacket> {
        self.octets = 0;
        self.controller.delay = 0;
        self.waiting.drain(..).collect()
    }
}

#[cfg(test)]
#[path = "pie_tests.rs"]
mod tests;
