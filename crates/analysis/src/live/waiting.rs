//! Probes that have been sent and wait for their reply.

use std::time::Duration;

use foldhash::{HashMap, HashMapExt, HashSet};
use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ProbeReceived, Tables};
use rrul_model::recording::Header;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::packets::join::SHORTEST_WAITING_TIME;
use crate::packets::probe_pool::{ProbeSample, of_one_kind, pooled};

/// The flows of the plan that probe, of every kind and class.
pub(super) fn probes(header: &Header) -> impl Iterator<Item = &FlowSpec> {
    header.flows.iter().filter(|flow| flow.kind().is_probe())
}

/// A flow that probes.
#[derive(Debug, Clone)]
struct Prober {
    flow: FlowId,
    kind: FlowKind,
    class: ServiceClass,
    /// Whether any of its probes was sent so far.
    sent: bool,
}

impl ProbeSample for Prober {
    fn kind(&self) -> FlowKind {
        self.kind
    }

    fn class(&self) -> ServiceClass {
        self.class
    }

    fn was_sent(&self) -> bool {
        self.sent
    }
}

/// The longest waiting time; queues on real lines are shorter.
pub(super) const LONGEST_WAITING_TIME: Duration = Duration::from_secs(30);

/// When a probe was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// By the program's clock: by this it is counted.
    pub(super) noted: TestTime,
    /// By the kernel's stamp where that has come in: from here its delay runs.
    pub(super) left: TestTime,
}

/// A probe whose reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    pub(super) flow: FlowId,
    pub(super) sent: Sent,
    pub(super) received: TestTime,
    /// Round-trip delay without the time in the reflector.
    pub(super) delay: Delay,
    /// Whether the probe had been given up, and so counted as lost.
    pub(super) late: bool,
}

/// Joins replies with the probes that they answer.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    flows: Vec<Prober>,
    sent: HashMap<(FlowId, u32), Sent>,
    given_up: HashMap<(FlowId, u32), Sent>,
    /// How long probes wait until they are given up: twice the longest delay so far, as queues grow.
    patience: Duration,
}

impl Waiting {
    /// For the probes of a test.
    pub(super) fn new(header: &Header) -> Self {
        let prober = |flow: &FlowSpec| Prober { flow: flow.id, kind: flow.kind(), class: flow.class, sent: false };
        Self {
            flows: probes(header).map(prober).collect(),
            sent: HashMap::new(),
            given_up: HashMap::new(),
            patience: SHORTEST_WAITING_TIME,
        }
    }

    /// Whether the probes of this flow are pooled into headline figures, by what was sent so far.
    pub(super) fn is_pooled(&self, flow: FlowId) -> bool {
        pooled(&self.flows).iter().any(|prober| prober.flow == flow)
    }

    /// The flows of the kind of probes that is shown, by what was sent so far.
    pub(super) fn shown(&self) -> impl Iterator<Item = FlowId> {
        of_one_kind(&self.flows).into_iter().map(|prober| prober.flow)
    }

    /// Takes in what the client observed: the probes that it sent, and those of all that have been answered.
    pub(super) fn take_in(&mut self, tables: &Tables) -> (Vec<(FlowId, Sent)>, Vec<Answer>) {
        let mut sent = Vec::new();
        for row in tables.probe_sent.rows() {
            let Some(prober) = self.flows.iter_mut().find(|prober| prober.flow == row.flow) else { continue };
            prober.sent = true;
            let one = Sent { noted: row.sent, left: row.sent };
            self.sent.insert((row.flow, row.sequence), one);
            sent.push((row.flow, one));
        }
        for row in tables.probe_stamped.rows() {
            if let Some(sent) = self.sent.get_mut(&(row.flow, row.sequence)) {
                // A stamp from before the program's own is not of this packet.
                sent.left = row.sent.max(sent.left);
            }
        }
        let mut answers = Vec::new();
        for ProbeReceived { flow, sequence, received, reflector_received, reflector_sent, .. } in
            tables.probe_received.rows()
        {
            answers.extend(self.answer(flow, sequence, received, reflector_sent.since(reflector_received)));
        }
        for row in tables.echo_received.rows() {
            answers.extend(self.answer(row.flow, row.sequence, row.received, Delay(0)));
        }
        (sent, answers)
    }

    fn answer(&mut self, flow: FlowId, sequence: u32, received: TestTime, held: Delay) -> Option<Answer> {
        let probe = (flow, sequence);
        let in_time = self.sent.remove(&probe);
        let sent = in_time.or_else(|| self.given_up.remove(&probe))?;
        let delay = received.since(sent.left) - held;
        let twice = Duration::from_nanos(delay.0.max(0).cast_unsigned()).saturating_mul(2);
        self.patience = self.patience.max(twice.min(LONGEST_WAITING_TIME));
        Some(Answer { flow, sent, received, delay, late: in_time.is_none() })
    }

    /// When a probe is given up, or was.
    pub(super) fn given_up(&self, sent: Sent) -> TestTime {
        sent.left + self.patience
    }

    /// Those that still wait, of the flows that are pooled.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Sent> {
        let pooled: HashSet<FlowId> = pooled(&self.flows).iter().map(|prober| prober.flow).collect();
        self.sent.iter().filter(move |((flow, _), _)| pooled.contains(flow)).map(|(_, sent)| sent)
    }

    /// Gives up those whose waiting time was over before this, and says which. A reply is recognized for as long again.
    pub(super) fn give_up(&mut self, before: TestTime) -> Vec<((FlowId, u32), Sent)> {
        let last = before - self.patience;
        let given_up: Vec<_> = self.sent.extract_if(|_, sent| sent.left < last).collect();
        self.given_up.extend(given_up.iter().copied());
        self.given_up.retain(|_, sent| sent.left + self.patience >= last);
        given_up
    }

    /// Forgets all that wait, and says which.
    pub(super) fn forget(&mut self) -> Vec<((FlowId, u32), Sent)> {
        self.given_up.clear();
        self.sent.drain().collect()
    }
}
