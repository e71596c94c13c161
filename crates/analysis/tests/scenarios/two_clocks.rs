//! Probes between two hosts whose clocks are known to step and to drift, over a line whose queues are known.

use rrul_analysis::Analysis;
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::observation::{PacketReceived, ProbeReceived, ProbeSent};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};

use crate::builder::{Client, HELD, MS, SECOND, Scenario, Server};

/// Numbers that look random and are the same each time (Marsaglia 2003, xorshift).
pub(crate) struct Random(u64);

impl Random {
    /// The same each time.
    pub(crate) fn seeded() -> Self {
        Self(0x9e37_79b9_7f4a_7c15)
    }

    /// Between 0 and 1, neither of them.
    pub(crate) fn unit(&mut self) -> f64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        ((self.0 >> 11) as f64 + 0.5) / (1_u64 << 53) as f64
    }

    /// Exponential with this mean.
    fn exponential(&mut self, mean: f64) -> i64 {
        (-self.unit().ln() * mean) as i64
    }
}

/// A clock: how it reads at a true time.
#[derive(Debug, Clone, Default)]
pub(crate) struct Clock {
    pub(crate) offset: i64,
    pub(crate) skew_ppm: f64,
    /// When it steps forward, in true time, and by how much.
    pub(crate) steps: Vec<(i64, i64)>,
}

impl Clock {
    pub(crate) fn reads(&self, at: i64) -> i64 {
        let steps: i64 = self.steps.iter().filter(|(when, _)| *when <= at).map(|(_, by)| by).sum();
        at + self.offset + (at as f64 * self.skew_ppm * 1e-6).round() as i64 + steps
    }
}

/// What is known of a line and of the clocks at its ends.
pub(crate) struct TwoClocks {
    pub(crate) client: Clock,
    pub(crate) server: Clock,
    /// Smallest delay at a true time, up and down.
    pub(crate) base: fn(Direction, i64) -> i64,
    /// What queues add at a true time.
    pub(crate) queue: fn(Direction, i64) -> i64,
    /// Mean of the noise of each way, exponential.
    pub(crate) noise: f64,
    /// Of packets lost each way.
    pub(crate) loss: f64,
    /// Lengths of the phases, seconds.
    pub(crate) phases: [i64; 3],
    pub(crate) families: Vec<AddressFamily>,
}

impl Default for TwoClocks {
    /// 30 ms up and 10 ms down, and a queue of 150 ms up that stands all through the load.
    fn default() -> Self {
        Self {
            client: Clock::default(),
            server: Clock { offset: 7_654_321, ..Clock::default() },
            base: |direction, _| if direction == Direction::Up { 30 * MS } else { 10 * MS },
            queue: |direction, at| {
                let loaded = (5 * SECOND..65 * SECOND).contains(&at);
                if direction == Direction::Up && loaded { 150 * MS } else { 0 }
            },
            noise: 50_000.0,
            loss: 0.05,
            phases: [5, 60, 5],
            families: vec![AddressFamily::Ipv4],
        }
    }
}

/// One packet that arrived: in which direction, what queue and what delay it met.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Truth {
    pub(crate) flow: FlowId,
    pub(crate) direction: Direction,
    /// Its queueing delay and the noise of hosts.
    pub(crate) queueing: i64,
    pub(crate) delay: i64,
}

/// A run with its truth.
pub(crate) struct Run {
    pub(crate) scenario: Scenario,
    pub(crate) truth: Vec<Truth>,
    server: Clock,
}

impl TwoClocks {
    /// Three probe flows of each family, a packet each 20 ms, all through the test.
    pub(crate) fn run(&self) -> Run {
        let mut scenario = Scenario::new();
        let mut from = 0;
        let phases = [Phase::Idle, Phase::Load, Phase::After].into_iter().zip(self.phases);
        let mut window = |phase, length: i64| {
            let window = Window { from: TestTime(from), to: TestTime(from + length * SECOND) };
            from = window.to.0;
            PhaseWindow { phase, window }
        };
        scenario.recording.header.phases =
            phases.filter(|(_, length)| *length > 0).map(|(p, l)| window(p, l)).collect();
        let end = from;
        scenario.recording.end.as_mut().unwrap().at = TestTime(end + 10 * SECOND);
        let mut random = Random::seeded();
        let mut truth = Vec::new();
        for family in self.families.clone() {
            for class in 0..3 {
                let flow = scenario.udp_probe(family);
                for sequence in 0..u32::try_from((end - 20 * MS) / (20 * MS)).unwrap() {
                    let sent = 10 * MS + i64::from(sequence) * 20 * MS + class * 7 * MS;
                    self.probe(&mut scenario, &mut truth, &mut random, flow, sequence, sent);
                }
            }
        }
        Run { scenario, truth, server: self.server.clone() }
    }

    fn probe(
        &self,
        scenario: &mut Scenario,
        truth: &mut Vec<Truth>,
        random: &mut Random,
        flow: FlowId,
        sequence: u32,
        sent: i64,
    ) {
        let client = |at| TestTime(self.client.reads(at));
        let server = |at| TestTime(self.server.reads(at));
        let mut cross = |direction, time: i64| {
            let queueing = (self.queue)(direction, time) + random.exponential(self.noise);
            let delay = (self.base)(direction, time) + queueing;
            let lost = random.unit() < self.loss;
            if !lost {
                truth.push(Truth { flow, direction, queueing, delay });
            }
            (time + delay, lost)
        };
        let (arrived, lost) = cross(Direction::Up, sent);
        scenario.observe(Client, sent, ProbeSent { flow, sequence, scheduled: client(sent), sent: client(sent) });
        if lost {
            return;
        }
        let received = server(arrived);
        scenario.observe(Server, arrived, PacketReceived { flow, sequence, received, octet: 0 });
        let answered = arrived + HELD;
        let (returned, lost) = cross(Direction::Down, answered);
        if lost {
            return;
        }
        let row = ProbeReceived {
            flow,
            sequence,
            received: client(returned),
            read: client(returned + 50_000),
            reflector_received: server(arrived),
            reflector_sent: server(answered),
            reflector_octet: 0,
            octet: 0,
            reflector_count: sequence + 1,
        };
        scenario.observe(Client, returned, row);
    }
}

impl Run {
    /// What the server's clock shows at a true time.
    pub(crate) fn server(&self, at: i64) -> i64 {
        self.server.reads(at)
    }

    pub(crate) fn analyze(&self) -> Analysis {
        self.scenario.analyze()
    }

    /// Per mille of packets, their error of queueing delay against the truth, nanoseconds.
    pub(crate) fn queueing_error(&self, analysis: &Analysis, per_mille: usize) -> i64 {
        self.errors(analysis, per_mille, |point, truth| point - truth.queueing, true)
    }

    /// The same of absolute one-way delay, with its sign, in one direction.
    pub(crate) fn delay_errors(&self, analysis: &Analysis, direction: Direction) -> Vec<i64> {
        let mut errors = self.compare(analysis, |point, truth| point - truth.delay, false, Some(direction));
        errors.sort_unstable();
        errors
    }

    fn errors(&self, analysis: &Analysis, per_mille: usize, error: impl Fn(i64, &Truth) -> i64, queueing: bool) -> i64 {
        let mut errors: Vec<i64> = self.compare(analysis, error, queueing, None).into_iter().map(i64::abs).collect();
        errors.sort_unstable();
        errors[(errors.len() * per_mille / 1000).min(errors.len() - 1)]
    }

    /// Packet by packet, as both are in the order of their numbers.
    fn compare(
        &self,
        analysis: &Analysis,
        error: impl Fn(i64, &Truth) -> i64,
        queueing: bool,
        only: Option<Direction>,
    ) -> Vec<i64> {
        let mut errors = Vec::new();
        for leg in analysis.one_way_delay.legs.iter().filter(|leg| only.is_none_or(|only| leg.direction == only)) {
            let series = if queueing { &leg.queueing_series } else { &leg.series };
            let found = series.iter().filter_map(|point| Some(point.delay?.0));
            let truth = self.truth.iter().filter(|truth| truth.flow == leg.flow.id && truth.direction == leg.direction);
            let truth: Vec<&Truth> = truth.collect();
            assert_eq!(found.clone().count(), truth.len(), "every packet has its delay");
            errors.extend(found.zip(truth).map(|(found, truth)| error(found, truth)));
        }
        assert!(!errors.is_empty());
        errors
    }
}
