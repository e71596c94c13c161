//! The flow queues of one tin, and their round: DRR++ with fairness among hosts.
//!
//! "Piece of CAKE", arXiv 1804.07617, sections 2.2 and 2.3. Packets hash into sets of eight queues; a flow takes the queue that
//! it has, or an idle one of its set, so that flows share a queue only when more than eight of a set are active. A flow that
//! has just begun is *sparse* and goes first. Once its quantum is used up it joins the round of the *bulk* flows. There the
//! quantum of a flow is divided by the number of bulk flows of its host. A flow that has run empty *decays* until its AQM is at rest.

use std::collections::{HashMap, VecDeque};

use rrul_model::random::{Random, mix};

use super::cobalt::{Cobalt, CobaltParameters, Verdict};
use crate::queue::{FlowIsolation, QueuedPacket};
use crate::time::LabTime;

/// Queues of a tin, and how many a flow may choose from.
const QUEUES: usize = 1024;
const WAYS: usize = 8;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Nothing waits, and nothing is remembered.
    Idle,
    Sparse,
    /// Its quantum is used up and it is empty; it waits a round among the bulk flows, and counts as none.
    SparseEmpty,
    Bulk,
    Decaying,
}

#[derive(Debug)]
struct Flow {
    waiting: VecDeque<QueuedPacket>,
    octets: u64,
    /// Bytes on the link that it may still send in this round.
    deficit: i64,
    standing: Standing,
    cobalt: Cobalt,
    /// Which flow has it.
    tag: u64,
    source: u64,
    destination: u64,
}

/// What a tin hands out.
#[derive(Debug)]
pub(super) enum Served {
    Sent(QueuedPacket),
    Dropped(QueuedPacket),
    Nothing,
}

/// The queues of one tin.
#[derive(Debug)]
pub(super) struct Flows {
    isolation: FlowIsolation,
    seed: u64,
    queues: Vec<Flow>,
    sparse: VecDeque<usize>,
    bulk: VecDeque<usize>,
    decaying: VecDeque<usize>,
    /// How many are bulk.
    backlogged: u32,
    /// Bulk flows of each address.
    sources: HashMap<u64, u32>,
    destinations: HashMap<u64, u32>,
    pub(super) octets: u64,
    pub(super) packets: usize,
}

impl Flows {
    pub(super) fn new(isolation: FlowIsolation, seed: u64) -> Self {
        let flow = || Flow {
            waiting: VecDeque::new(),
            octets: 0,
            deficit: 0,
            standing: Standing::Idle,
            cobalt: Cobalt::default(),
            tag: 0,
            source: 0,
            destination: 0,
        };
        Self {
            isolation,
            seed,
            queues: std::iter::repeat_with(flow).take(QUEUES).collect(),
            sparse: VecDeque::new(),
            bulk: VecDeque::new(),
            decaying: VecDeque::new(),
            backlogged: 0,
            sources: HashMap::new(),
            destinations: HashMap::new(),
            octets: 0,
            packets: 0,
        }
    }

    /// Puts a packet into its queue. A queue that was idle becomes sparse with a quantum of this many bytes.
    pub(super) fn enqueue(&mut self, packet: QueuedPacket, quantum: u64) {
        let index = self.place(&packet);
        self.packets += 1;
        self.octets += u64::from(packet.length);
        let flow = &mut self.queues[index];
        flow.octets += u64::from(packet.length);
        flow.waiting.push_back(packet);
        match flow.standing {
            Standing::Idle | Standing::Decaying => {
                if flow.standing == Standing::Decaying {
                    self.decaying.retain(|other| *other != index);
                }
                self.queues[index].standing = Standing::Sparse;
                self.sparse.push_back(index);
                self.queues[index].deficit = (quantum / u64::from(self.host_load(index))) as i64;
            }
            Standing::SparseEmpty => self.join_bulk(index),
            Standing::Sparse | Standing::Bulk => {}
        }
    }

    /// Serves the next queue at `now`: sends or drops one packet.
    pub(super) fn serve(
        &mut self,
        parameters: &CobaltParameters,
        quantum: u64,
        ingress: bool,
        now: LabTime,
        random: &mut Random,
    ) -> Served {
        self.decay_one(parameters, now);
        loop {
            let from_sparse = !self.sparse.is_empty();
            let list = if from_sparse { &mut self.sparse } else { &mut self.bulk };
            let Some(index) = list.front().copied() else { return Served::Nothing };
            if self.queues[index].deficit <= 0 {
                list.pop_front();
                self.next_round(index, quantum, random);
                continue;
            }
            let bulk_flows = if ingress { self.backlogged } else { 0 };
            let flow = &mut self.queues[index];
            let Some(packet) = flow.waiting.pop_front() else {
                list.pop_front();
                self.run_empty(index, parameters, now);
                continue;
            };
            flow.octets -= u64::from(packet.length);
            self.octets -= u64::from(packet.length);
            self.packets -= 1;
            return match flow.cobalt.judge(parameters, &packet, bulk_flows, now, random) {
                // The last packet of a queue is sent in any case.
                Verdict::Drop if !flow.waiting.is_empty() => {
                    if ingress {
                        flow.deficit -= i64::from(packet.link_octets);
                    }
                    Served::Dropped(packet)
                }
                verdict => {
                    flow.deficit -= i64::from(packet.link_octets);
                    Served::Sent(QueuedPacket { marked: packet.marked || verdict == Verdict::Mark, ..packet })
                }
            };
        }
    }

    /// Bytes of the longest queue; zero when all are empty.
    pub(super) fn longest(&self) -> u64 {
        self.longest_queue().map_or(0, |index| self.queues[index].octets)
    }

    /// Drops the head of the longest queue, because the whole is full.
    pub(super) fn drop_from_longest(&mut self, parameters: &CobaltParameters, now: LabTime) -> Option<QueuedPacket> {
        let index = self.longest_queue()?;
        let flow = &mut self.queues[index];
        let packet = flow.waiting.pop_front()?;
        flow.octets -= u64::from(packet.length);
        flow.cobalt.overflowed(parameters, now);
        self.octets -= u64::from(packet.length);
        self.packets -= 1;
        Some(packet)
    }

    /// Takes out everything.
    pub(super) fn drain(&mut self) -> Vec<QueuedPacket> {
        let packets = self.queues.iter_mut().flat_map(|flow| flow.waiting.drain(..)).collect();
        *self = Self::new(self.isolation, self.seed);
        packets
    }

    fn longest_queue(&self) -> Option<usize> {
        self.sparse.iter().chain(&self.bulk).copied().max_by_key(|index| self.queues[*index].octets)
    }

    /// The queue of a packet.
    fn place(&mut self, packet: &QueuedPacket) -> usize {
        let tag = self.tag(packet);
        let first = (mix(tag ^ self.seed) % (QUEUES / WAYS) as u64) as usize * WAYS;
        let mut ways = first..first + WAYS;
        let taken = |index: &usize| self.queues[*index].standing != Standing::Idle;
        if let Some(own) = ways.clone().find(|index| taken(index) && self.queues[*index].tag == tag) {
            return own;
        }
        // With all of them taken, it shares one.
        let index = ways.find(|index| !taken(index)).unwrap_or(first + (mix(tag) % WAYS as u64) as usize);
        let flow = &mut self.queues[index];
        if flow.standing == Standing::Idle {
            (flow.tag, flow.source, flow.destination) = (tag, packet.source, packet.destination);
        }
        index
    }

    fn tag(&self, packet: &QueuedPacket) -> u64 {
        match self.isolation {
            FlowIsolation::FlowBlind => 0,
            FlowIsolation::SourceHost => packet.source,
            FlowIsolation::DestinationHost => packet.destination,
            FlowIsolation::Hosts => mix(packet.source) ^ packet.destination,
            FlowIsolation::Flows
            | FlowIsolation::DualSourceHost
            | FlowIsolation::DualDestinationHost
            | FlowIsolation::TripleIsolate => packet.flow,
        }
    }

    /// Bulk flows of the host that a flow belongs to, of the busier one with both addresses; at least one.
    fn host_load(&self, index: usize) -> u32 {
        let flow = &self.queues[index];
        let (by_source, by_destination) = self.fair_hosts();
        let load = |counts: &HashMap<u64, u32>, host| counts.get(&host).copied().unwrap_or(0);
        let source = if by_source { load(&self.sources, flow.source) } else { 0 };
        let destination = if by_destination { load(&self.destinations, flow.destination) } else { 0 };
        source.max(destination).max(1)
    }

    /// Whether source and destination addresses get equal shares.
    fn fair_hosts(&self) -> (bool, bool) {
        match self.isolation {
            FlowIsolation::DualSourceHost => (true, false),
            FlowIsolation::DualDestinationHost => (false, true),
            FlowIsolation::TripleIsolate => (true, true),
            _ => (false, false),
        }
    }

    fn join_bulk(&mut self, index: usize) {
        let flow = &mut self.queues[index];
        flow.standing = Standing::Bulk;
        self.backlogged += 1;
        *self.sources.entry(flow.source).or_default() += 1;
        *self.destinations.entry(flow.destination).or_default() += 1;
    }

    fn leave_bulk(&mut self, index: usize) {
        let flow = &self.queues[index];
        self.backlogged -= 1;
        for (counts, host) in [(&mut self.sources, flow.source), (&mut self.destinations, flow.destination)] {
            if let Some(count) = counts.get_mut(&host) {
                *count -= 1;
                if *count == 0 {
                    counts.remove(&host);
                }
            }
        }
    }

    /// Gives a flow without deficit its next quantum, and puts it behind the bulk flows.
    fn next_round(&mut self, index: usize, quantum: u64, random: &mut Random) {
        if self.queues[index].standing == Standing::Sparse {
            if self.queues[index].waiting.is_empty() {
                self.queues[index].standing = Standing::SparseEmpty;
            } else {
                self.join_bulk(index);
            }
        }
        // What the division leaves over is given by chance, so that no byte is lost on average.
        let load = u64::from(self.host_load(index));
        let fraction = random.up_to(load - 1);
        self.queues[index].deficit += ((quantum + fraction) / load) as i64;
        self.bulk.push_back(index);
    }

    /// A queue was found empty, and has been taken off its list.
    fn run_empty(&mut self, index: usize, parameters: &CobaltParameters, now: LabTime) {
        if self.queues[index].standing == Standing::Bulk {
            self.leave_bulk(index);
        }
        let flow = &mut self.queues[index];
        if flow.cobalt.emptied(parameters, now) {
            flow.standing = Standing::Idle;
        } else {
            flow.standing = Standing::Decaying;
            self.decaying.push_back(index);
        }
    }

    /// Lets one of the queues that have run empty decay.
    fn decay_one(&mut self, parameters: &CobaltParameters, now: LabTime) {
        let Some(index) = self.decaying.pop_front() else { return };
        let flow = &mut self.queues[index];
        if flow.cobalt.emptied(parameters, now) {
            flow.standing = Standing::Idle;
        } else {
            self.decaying.push_back(index);
        }
    }
}
