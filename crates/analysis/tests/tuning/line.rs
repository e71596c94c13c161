//! A model of a shaper in series with a line, in virtual time: a step of a session gives the figures of a trial.
//!
//! Traffic is a fluid in pieces of a tenth of a second. The load takes what it gets; the delay of a probe is that of the line's
//! queue, of the shaper's own queue and of the noise.

use std::time::Duration;

use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::tuning::next_step::NextStep;
use rrul_analysis::tuning::trial::{HostLimit, QueueHop, Trial, TrialDelay, TrialDirection};
use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperRates, TuningStep};
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, Delay};

use crate::chance::Chance;

const TICK: f64 = 0.1;
/// Probes in a piece of time: three flows, one each 20 ms.
const PROBES: usize = 15;

/// What a line does when more arrives than it carries.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Excess {
    /// It queues up to this many seconds.
    Fifo(f64),
    /// It keeps its queue short, with this P95 of the delay.
    Managed(f64),
    /// It drops, beyond so many seconds at its rate.
    Drop(f64),
}

/// The shaper's queue, with its own share of the delay.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Kind {
    /// Its queue of probes is a packet or two.
    Cake,
    /// Behind the line: arrivals come in clumps at the line's rate.
    CakeBehind,
    /// On a router whose interface queues as well.
    FqCodelWithoutLimits,
}

/// One direction.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Side {
    /// bit/s.
    pub(crate) rate: f64,
    pub(crate) excess: Excess,
    pub(crate) kind: Kind,
    /// Seconds of a jitter that is spread evenly.
    pub(crate) jitter: f64,
    /// Share of packets lost at random.
    pub(crate) loss: f64,
    /// Most that the senders deliver.
    pub(crate) host: Option<(f64, Option<HostLimit>)>,
    /// Bytes that pass at twice the rate.
    pub(crate) burst: f64,
    /// The rate is that of the second, in these parts, each this many seconds.
    pub(crate) steps: Option<(&'static [f64], f64)>,
    /// Others use this part of the rate, on and off for this many seconds.
    pub(crate) others: Option<(f64, f64)>,
    /// A queue of these seconds elsewhere, and where.
    pub(crate) elsewhere: Option<(f64, Option<QueueHop>)>,
    /// Bytes that arrive, in relation to those that the shaper counts.
    pub(crate) counted: f64,
}

impl Side {
    pub(crate) fn plain(rate: f64) -> Self {
        Self {
            rate,
            excess: Excess::Fifo(0.5),
            kind: Kind::Cake,
            jitter: 0.0,
            loss: 0.0,
            host: None,
            burst: 0.0,
            steps: None,
            others: None,
            elsewhere: None,
            counted: 1.0,
        }
    }
}

/// What the shaper does with a setting.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Path {
    Through,
    /// Nothing passes it.
    Around,
    /// Everything passes it twice.
    Twice,
    /// The router shapes no more than this part of the line's rate, and carries all of it without a shaper.
    Slow(f64),
    /// Its directions are crossed, or the client is outside.
    Crossed,
}

/// The state of one direction.
#[derive(Default)]
struct State {
    /// Bits in the line's queue.
    queue: f64,
    /// Bits that may still pass beyond the rate.
    tokens: f64,
    /// Part of the line that a sender has found, which grows to 1 and more.
    found: f64,
}

pub(crate) struct Line {
    pub(crate) sides: ByDirection<Side>,
    /// How often a policer drops a small probe, in relation to a segment of the load.
    pub(crate) small_lost: f64,
    pub(crate) path: Path,
    pub(crate) has_counters: bool,
    /// The direction whose acknowledgments are late while the queue of the other one is long.
    pub(crate) starved: Direction,
    /// The path is long: the load needs so many seconds to grow to the line's rate, and both directions are uneven while the other
    /// one queues.
    pub(crate) long: Option<f64>,
    /// Its connections have found the line in this second of the session, and are not late any more.
    pub(crate) recovers: Option<f64>,
    /// From which second of the session until which the line carries only a part of its rate, and that part.
    pub(crate) interrupted: Option<(std::ops::Range<f64>, f64)>,
    chance: Chance,
    now: f64,
    states: ByDirection<State>,
    /// Where in their turns the steps and the others began.
    phase: f64,
}

impl Line {
    pub(crate) fn new(up: Side, down: Side, seed: u64) -> Self {
        let mut chance = Chance::new(seed);
        let phase = chance.between(0.0, 40.0);
        let state = |side: &Side| State {
            tokens: match side.excess {
                Excess::Drop(seconds) => seconds * side.rate,
                _ => side.burst * 8.0,
            },
            ..State::default()
        };
        let states = ByDirection { up: state(&up), down: state(&down) };
        let sides = ByDirection { up, down };
        Self {
            sides,
            small_lost: 0.0,
            path: Path::Through,
            has_counters: true,
            starved: Direction::Down,
            long: None,
            recovers: None,
            interrupted: None,
            chance,
            now: 0.0,
            states,
            phase,
        }
    }

    /// Takes a step: its trial.
    pub(crate) fn trial(&mut self, next: &NextStep, number: u32) -> Trial {
        if let Some(flush) = next.flush {
            self.run(flush.rates, flush.hold);
        }
        let set_at = self.now;
        let settled = self.run(next.rates, next.settle);
        let settled_at = self.now;
        let measured = self.run(next.rates, next.measure);
        let time = |seconds: f64| TestTime((seconds * 1e9).round() as i64);
        let step = TuningStep {
            number,
            purpose: next.purpose,
            direction: next.direction,
            rates: next.rates,
            set_at: time(set_at),
            settled_at: time(settled_at),
            ended_at: time(self.now),
            counters: None,
        };
        self.now += 0.5;
        let mut limit = None;
        let directions = ByDirection::each(|direction| {
            let side = *self.sides.get(direction);
            let (before, within) = (settled.get(direction), measured.get(direction));
            let all: Vec<f64> = before.own.iter().chain(&within.own).copied().collect();
            let course: Vec<BitRate> = all
                .chunks_exact(10)
                .map(|second| BitRate((mean(second) * (1.0 + 0.008 * self.chance.normal())) as u64))
                .collect();
            let last = &course[course.len() - next.measure.as_secs() as usize..];
            let delivered = BitRate(last.iter().map(|rate| rate.0).sum::<u64>() / last.len() as u64);
            let (own, others) = (mean(&within.own), mean(&within.others));
            let is_limited = side.host.is_some_and(|(host, _)| own > 0.98 * host * side.counted);
            if is_limited {
                limit = side.host.and_then(|(_, limit)| limit);
            }
            let shaped = next.rates.direction(direction).is_some();
            TrialDirection {
                delivered: Some(delivered).filter(|rate| rate.0 > 0),
                course,
                goodput: Some(BitRate((own * 0.95) as u64)),
                queueing_delay: Some(delay_of(&within.delays)),
                idle_p95: Some(self.idle(&side)),
                queue_hop: side.elsewhere.and_then(|(_, hop)| hop),
                probe_loss: Some(mean(&within.loss)),
                load_delay: Some(Delay((mean(&within.load_delay) * (1.0 + 0.05 * self.chance.even()) * 1e9) as i64)),
                retransmitted: Some(mean(&within.loss) + mean(&within.dropped) + 0.001),
                saturated: Some(!is_limited),
                foreign: (shaped && self.has_counters).then(|| {
                    let sent = (own + others) * if self.path == Path::Twice { 2.0 } else { 1.0 };
                    1.0 - own / sent
                }),
                classes: Vec::new(),
            }
        });
        Trial { step, directions, host_limit: limit, stolen_from: None }
    }

    fn idle(&mut self, side: &Side) -> Delay {
        Delay((150_000.0 + 0.95 * side.jitter * 1e9) as i64 + (20_000.0 * self.chance.even()) as i64)
    }

    /// What the shaper of each direction limits to.
    fn shaped(&self, rates: ShaperRates, direction: Direction) -> Option<f64> {
        let set = |direction| rates.direction(direction).map(|rate| rate.0 as f64);
        match self.path {
            Path::Through => set(direction),
            Path::Around => None,
            Path::Twice => set(direction).map(|rate| rate / 2.0),
            Path::Slow(part) => set(direction).map(|rate| rate.min(part * self.sides.get(direction).rate)),
            Path::Crossed => set(direction.opposite()),
        }
    }

    fn run(&mut self, rates: ShaperRates, length: Duration) -> ByDirection<Seen> {
        let mut seen = ByDirection::<Seen>::default();
        for _ in 0..(length.as_secs_f64() / TICK).round() as usize {
            let other = self.starved.opposite();
            let waits = self.states.get(self.starved).queue > 0.05 * self.sides.get(self.starved).rate;
            let uneven = if self.long.is_some() && waits { 0.78 + 0.08 * (self.now * 0.7).sin() } else { 1.0 };
            let queue = self.tick(rates, other, uneven, seen.get_mut(other));
            // Late acknowledgments come in clumps; where these fall together the upload has a short queue for a moment.
            let clump = self.starved == Direction::Up && ((self.now / 0.5) as usize).is_multiple_of(8);
            let part = if queue <= 0.05 || clump { 1.0 } else { 0.55 };
            let part = match self.recovers {
                Some(second) => {
                    if self.now < second {
                        0.25
                    } else {
                        1.0
                    }
                }
                None => part,
            };
            self.tick(rates, self.starved, part, seen.get_mut(self.starved));
            self.now += TICK;
        }
        seen
    }

    /// A tenth of a second in one direction; returns how long the line's queue is, in seconds.
    fn tick(&mut self, rates: ShaperRates, direction: Direction, most: f64, seen: &mut Seen) -> f64 {
        let side = *self.sides.get(direction);
        let shaped = self.shaped(rates, direction);
        let turn = self.now + self.phase;
        let factor = side.steps.map_or(1.0, |(parts, each)| parts[(turn / each) as usize % parts.len()]);
        let interrupted = self.interrupted.as_ref().filter(|(seconds, _)| seconds.contains(&self.now));
        let line = side.rate * factor * interrupted.map_or(1.0, |(_, part)| *part);
        let others =
            side.others.map_or(0.0, |(part, each)| if (turn / each) as usize % 2 == 1 { part * line } else { 0.0 });
        let host = side.host.map_or(f64::INFINITY, |(host, _)| host);
        // Four connections of a 25 ms path, in the equation of Mathis et al.
        let lossy =
            if side.loss > 0.0 { 4.0 * 1.25 * 1448.0 * 8.0 / (0.025 * side.loss.sqrt()) } else { f64::INFINITY };
        let back = self.states.get(direction.opposite()).queue / self.sides.get(direction.opposite()).rate;
        let state = self.states.get_mut(direction);
        state.found = (state.found + TICK / self.long.unwrap_or(1.5)).min(1.0);
        let room = shaped.unwrap_or(f64::INFINITY) - others;
        let greedy = host.min(lossy) * most;
        let burst = if matches!(side.excess, Excess::Drop(_)) { 0.0 } else { state.tokens.min(line * TICK) };
        let (mut own, mut lost, mut dropped) = (0.0, side.loss, 0.0);
        match side.excess {
            Excess::Drop(bucket) => {
                let offered = room.min(greedy);
                let passes = line + state.tokens / TICK;
                own = offered.min(1.6 * line).min(passes);
                if offered > passes {
                    // Senders slow down when packets are lost, and so less than the rate arrives.
                    let over = (offered / passes).min(1.3) - 1.0;
                    own = passes * (0.985 - 0.1 * over + 0.01 * self.chance.normal());
                    dropped = 0.02 + 0.05 * over;
                    lost += self.small_lost * dropped;
                }
                state.tokens = (state.tokens + (line - own) * TICK).clamp(0.0, bucket * line);
            }
            Excess::Fifo(depth) | Excess::Managed(depth) => {
                let carried = line + burst / TICK;
                let is_fifo = matches!(side.excess, Excess::Fifo(_));
                let full = if is_fifo { depth * line } else { 0.0 };
                let wanted = (carried * 1.25 * state.found * most).min(room).min(greedy);
                let arriving = wanted + others;
                state.queue += (arriving - carried) * TICK;
                if self.long.is_some() {
                    state.found = state.found.min(wanted / line + 0.01);
                }
                let out = if state.queue < 0.0 { carried + state.queue / TICK } else { carried };
                if state.queue > full {
                    // Losses halve a window, and the queue falls a little.
                    state.queue = full * self.chance.between(0.75, 1.0);
                }
                state.queue = state.queue.max(0.0);
                own += (out.min(carried) - others).max(0.0);
                if burst > 0.0 || side.burst > 0.0 {
                    state.tokens = (state.tokens + (line - own - others) * TICK).clamp(0.0, side.burst * 8.0);
                }
            }
        }
        let queue = state.queue / line;
        // A load of four streams keeps a few packets and CoDel's target in a managed queue, wherever that is.
        let binding = shaped.filter(|shaped| *shaped <= line).or((dropped == 0.0).then_some(line));
        let held = if binding.is_some_and(|rate| own + others >= 0.97 * rate) { 0.006 + 24_000.0 / line } else { 0.0 };
        if held > 0.0 && (shaped.is_some_and(|shaped| shaped <= line) || matches!(side.excess, Excess::Managed(_))) {
            dropped = 0.02;
        }
        seen.dropped.push(dropped);
        seen.load_delay.push(0.008 + back + queue.max(held));
        seen.own.push(own * side.counted);
        seen.others.push(others);
        seen.loss.push(lost);
        let stretch = shaped.map_or(0.0, |shaped| own_delay(side.kind, shaped, line));
        let managed = match side.excess {
            Excess::Managed(p95) if shaped.is_none_or(|shaped| shaped > line) => p95,
            _ => 0.0,
        };
        let elsewhere = side.elsewhere.map_or(0.0, |(seconds, _)| seconds);
        for _ in 0..PROBES {
            let chance = &mut self.chance;
            let noise = 0.0001 * chance.normal().abs() + side.jitter * chance.even();
            let own = chance.exponential(stretch + managed);
            let other = elsewhere * chance.between(0.7, 1.0);
            seen.delays.push(queue + noise + own + other);
        }
        queue + elsewhere
    }
}

/// 95th percentile of what the shaper's own queue adds, in seconds.
fn own_delay(kind: Kind, shaped: f64, line: f64) -> f64 {
    let packet = 1514.0 * 8.0 / shaped;
    let part = (shaped / line).min(1.0);
    match kind {
        Kind::Cake => 1.2 * packet,
        // Measured at 20 Mbit/s: 4.5, 7.2 and 13.6 ms at 95, 97 and 99 %.
        Kind::CakeBehind => {
            let ms = if part < 0.9 {
                3.2
            } else {
                3.2 + 1.3 * ((part - 0.9) / 0.05) + 2.4 * ((part - 0.95).max(0.0) / 0.02).powf(1.6)
            };
            ms / 1000.0 * (20e6 / line).powf(0.25)
        }
        Kind::FqCodelWithoutLimits => {
            (0.0126 + 0.004 * ((part - 0.9).max(0.0) / 0.07)) * (20e6 / line).clamp(0.3, 1.3) + packet
        }
    }
}

/// What was seen of one direction, piece by piece.
#[derive(Default)]
struct Seen {
    own: Vec<f64>,
    /// Share of the load's segments that a policer or a queue discipline drops: small probes hardly meet that.
    dropped: Vec<f64>,
    /// How long the load waits, on the way back as well.
    load_delay: Vec<f64>,
    others: Vec<f64>,
    loss: Vec<f64>,
    delays: Vec<f64>,
}

fn mean(values: &[f64]) -> f64 {
    values.iter().sum::<f64>() / values.len().max(1) as f64
}

fn at(sorted: &[f64], part: f64) -> f64 {
    sorted[((sorted.len() as f64 * part).ceil() as usize).clamp(1, sorted.len()) - 1]
}

fn delay_of(delays: &[f64]) -> TrialDelay {
    let sorted = |some: &[f64]| {
        let mut sorted = some.to_vec();
        sorted.sort_by(f64::total_cmp);
        sorted
    };
    let all = sorted(delays);
    // What a bootstrap of blocks would find: the blocks' own percentiles differ by this.
    let blocks: Vec<f64> = delays.chunks(delays.len().div_ceil(8)).map(|block| at(&sorted(block), 0.95)).collect();
    let spread = blocks.iter().map(|p95| (p95 - mean(&blocks)).powi(2)).sum::<f64>() / (blocks.len() - 1) as f64;
    let half = 1.96 * (spread / blocks.len() as f64).sqrt();
    let delay = |seconds: f64| Delay((seconds * 1e9) as i64);
    let p95 = at(&all, 0.95);
    TrialDelay {
        n: delays.len() as u64,
        p50: delay(at(&all, 0.5)),
        p95: delay(p95),
        p99: delay(at(&all, 0.99)),
        p95_low: delay((p95 - half).max(0.0)),
        p95_high: delay(p95 + half),
    }
}
