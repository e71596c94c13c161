//! Probes that have been sent and wait for their reply.

use foldhash::{HashMap, HashMapExt, HashSet};
use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::observation::{ProbeReceived, Tables};
use rrul_model::recording::Header;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::join::{ICMP_ECHO, SHORTEST_WAITING_TIME, UDP_PROBE};

/// The flows whose delay is shown: the UDP probes, or ICMP echo when the plan has none.
pub(super) fn probes(header: &Header) -> impl Iterator<Item = &FlowSpec> {
    let udp = header.flows.iter().any(|flow| flow.flow_type == UDP_PROBE);
    let chosen = if udp { UDP_PROBE } else { ICMP_ECHO };
    header.flows.iter().filter(move |flow| flow.flow_type == chosen)
}

/// When a probe was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Sent {
    /// By the program's clock: by this it is counted.
    pub(super) noted: TestTime,
    /// By the kernel's stamp where that has come in: from here its delay runs.
    pub(super) left: TestTime,
}

impl Sent {
    /// When it is given up.
    pub(super) fn given_up(self) -> TestTime {
        self.left + SHORTEST_WAITING_TIME
    }
}

/// A probe whose reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Answer {
    /// Of which flow.
    pub(super) flow: FlowId,
    /// When it was sent.
    pub(super) sent: Sent,
    /// When the reply came.
    pub(super) received: TestTime,
    /// Round-trip delay without the time in the reflector.
    pub(super) delay: Delay,
}

/// Joins replies with the probes that they answer.
#[derive(Debug, Clone)]
pub(super) struct Waiting {
    flows: HashSet<FlowId>,
    sent: HashMap<(FlowId, u32), Sent>,
}

impl Waiting {
    /// For the probes of a test.
    pub(super) fn new(header: &Header) -> Self {
        Self { flows: probes(header).map(|flow| flow.id).collect(), sent: HashMap::new() }
    }

    /// Takes in what the client observed: the probes that it sent, and those of all that have been answered.
    pub(super) fn take_in(&mut self, tables: &Tables) -> (Vec<(FlowId, Sent)>, Vec<Answer>) {
        let mut sent = Vec::new();
        for row in tables.probe_sent.rows().filter(|row| self.flows.contains(&row.flow)) {
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
        let sent = self.sent.remove(&(flow, sequence))?;
        Some(Answer { flow, sent, received, delay: received.since(sent.left) - held })
    }

    /// Those that still wait.
    pub(super) fn sent(&self) -> impl Iterator<Item = &Sent> {
        self.sent.values()
    }

    /// Forgets those that were given up before this, and says which.
    pub(super) fn give_up(&mut self, before: TestTime) -> Vec<(FlowId, Sent)> {
        let gone = self.sent.extract_if(|_, sent| sent.given_up() < before);
        gone.map(|((flow, _), sent)| (flow, sent)).collect()
    }
}
