//! New TCP connections all through the test: how long until they stand, and until the server's first byte.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{Connection, ObservationPoint};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::packets::join::SHORTEST_WAITING_TIME;
use crate::packets::probe_pool::HeadlineClasses;
use crate::statistics::percentile::DelayStatistics;

/// Longer than this a handshake takes only when a SYN or its answer was lost (RFC 6298: first timeout 1 s).
const SLOW: Delay = Delay(1_000_000_000);

/// The new connections of a test.
///
/// Stream start time slew of connections opened throughout the test, open loop (flow type `tcp_connect`; spec, "bad
/// slew (indicating SYN packet loss on new streams)"). Their SYN has the class. The SYN-ACK has the server host's
/// default unless that host reflects the class (`net.ipv4.tcp_reflect_tos`). The opening and the answer have it in both
/// directions.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "New connections")]
pub struct Connections {
    /// Those of best effort and expedited forwarding; of every class where neither was made.
    #[serde(flatten)]
    pub pooled: ConnectionPhases,
    /// Those of each class.
    pub classes: Vec<ClassConnections>,
    /// Those of each address family.
    pub families: Vec<FamilyConnections>,
    /// Those of each flow.
    pub flows: Vec<FlowConnections>,
}

/// Connections by the phase in which they were begun.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct ConnectionPhases {
    /// Begun on the idle line.
    ///
    /// Source: spec, Variables Under Test.
    pub idle: Option<ConnectionStatistics>,
    /// Begun under load, in the [scored window](#scored-window).
    ///
    /// Source: spec, Variables Under Test.
    pub load: Option<ConnectionStatistics>,
    /// Begun after the load.
    ///
    /// Source: spec, Variables Under Test.
    pub after: Option<ConnectionStatistics>,
}

/// Of one class.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassConnections {
    /// Service class.
    pub class: ServiceClass,
    /// By phase.
    #[serde(flatten)]
    pub phases: ConnectionPhases,
}

/// Of one family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FamilyConnections {
    /// Address family.
    pub family: AddressFamily,
    /// By phase.
    #[serde(flatten)]
    pub phases: ConnectionPhases,
}

/// Of one flow.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FlowConnections {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// By phase.
    #[serde(flatten)]
    pub phases: ConnectionPhases,
    /// Each attempt: when it began, and its connect time; `None` when it never stood.
    #[serde(skip)]
    pub series: Vec<(TestTime, Option<Delay>)>,
    /// Each attempt: when it began, and from the end of the handshake to the server's first byte; `None` when none came.
    #[serde(skip)]
    pub exchanges: Vec<(TestTime, Option<Delay>)>,
}

/// Attempts to open a connection in one phase.
///
/// An attempt is given up after 10 s, at the end of the test after 3 s. Those begun in the last 3 s before listening
/// ended count if all of a flow's ended by themselves, and none of them counts otherwise. Leaving out only the
/// unfinished ones would favor the quick ones.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Connection attempts")]
pub struct ConnectionStatistics {
    /// [Statistics](#statistics-of-delays) of the time from `connect` to the end of the handshake, at the client;
    /// failed attempts count as infinitely late (`lost`). A lost SYN or SYN-ACK adds 1 s.
    ///
    /// Source: RFC 6298 section 2.
    pub connect: DelayStatistics,
    /// The same until the server's first byte, which takes one round trip more.
    pub answer: DelayStatistics,
    /// Share of the attempts that took over 1 s to connect, or failed.
    ///
    /// Unit: share.
    pub over_1s: f64,
    /// Attempts of which a SYN was retransmitted, by the client's kernel.
    ///
    /// Unit: count.
    pub retried: u64,
    /// SYNs retransmitted, in all.
    ///
    /// Unit: count. Source: RFC 4898.
    pub syn_retransmits: u64,
    /// Attempts that were given up without a handshake.
    ///
    /// Unit: count.
    pub unanswered: u64,
    /// Attempts that were refused: reset, or the server accepts no more.
    ///
    /// Unit: count.
    pub refused: u64,
    /// Attempts that are impossible according to the client's host or the network.
    ///
    /// Unit: count.
    pub impossible: u64,
}

impl ConnectionStatistics {
    fn from_rows<'a>(rows: &(impl Iterator<Item = &'a Connection> + Clone)) -> Option<Self> {
        let n = rows.clone().count() as u64;
        let times = |reached: fn(&Connection) -> Option<Delay>| {
            let known: Vec<Delay> = rows.clone().filter_map(reached).collect();
            let missing = n - known.len() as u64;
            DelayStatistics::from_delays(known, missing)
        };
        let count = |wanted: &dyn Fn(&Connection) -> bool| rows.clone().filter(|row| wanted(row)).count() as u64;
        let slow = count(&|row| connect_time(row).is_none_or(|time| time > SLOW));
        Some(Self {
            connect: times(connect_time)?,
            answer: times(|row| (row.reached == Connection::ANSWERED).then_some(row.answer))?,
            over_1s: slow as f64 / n as f64,
            retried: count(&|row| row.syn_retransmits > 0),
            syn_retransmits: rows.clone().map(|row| u64::from(row.syn_retransmits)).sum(),
            unanswered: count(&|row| row.reached == Connection::UNANSWERED),
            refused: count(&|row| row.reached == Connection::REFUSED),
            impossible: count(&|row| row.reached >= Connection::IMPOSSIBLE),
        })
    }
}

fn connect_time(row: &Connection) -> Option<Delay> {
    matches!(row.reached, Connection::CONNECTED | Connection::ANSWERED).then_some(row.connect)
}

fn exchange_time(row: &Connection) -> Option<Delay> {
    (row.reached == Connection::ANSWERED).then(|| row.answer - row.connect)
}

/// The connections of the plan's flows of that type, by class, family and flow, by the phase in which they were begun;
/// `phases` has the scored window in place of the load.
///
/// Attempts that were begun less than the waiting time before `end` count only when all of their flow came to an end
/// of their own: what was still waited for when listening ended would look lost, and leaving out just those would leave
/// the quick ones.
pub(crate) fn connections(recording: &Recording, phases: &[PhaseWindow], end: TestTime) -> Connections {
    let mut rows: HashMap<FlowId, Vec<Connection>> = HashMap::new();
    for row in recording.tables_of(ObservationPoint::Client).flat_map(|tables| tables.connection.rows()) {
        rows.entry(row.flow).or_default().push(row);
    }
    let mut flows: Vec<(FlowLabel, Vec<Connection>)> = Vec::new();
    for flow in recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::TcpConnect) {
        let mut own = rows.remove(&flow.id).unwrap_or_default();
        own.sort_unstable_by_key(|row| row.sequence);
        own.dedup_by_key(|row| row.sequence);
        let late = |row: &Connection| row.started + SHORTEST_WAITING_TIME > end;
        if own.iter().any(|row| late(row) && row.reached == Connection::UNANSWERED) {
            own.retain(|row| !late(row));
        }
        flows.push((flow.into(), own));
    }
    let sent = flows.iter().filter(|(_, rows)| !rows.is_empty());
    let classes = HeadlineClasses::among(sent.map(|(flow, _)| flow.class));
    let pooled =
        by_phase(phases, &flows.iter().filter(|(flow, _)| classes.contains(flow.class)).flat_map(|(_, rows)| rows));
    let class = |class| {
        let of_class = flows.iter().filter(|(flow, _)| flow.class == class).flat_map(|(_, rows)| rows);
        ClassConnections { class, phases: by_phase(phases, &of_class) }
    };
    let family = |family| {
        let of_family = flows.iter().filter(|(flow, _)| flow.family == family).flat_map(|(_, rows)| rows);
        FamilyConnections { family, phases: by_phase(phases, &of_family) }
    };
    Connections {
        pooled,
        classes: in_order(flows.iter().map(|(flow, _)| flow.class)).into_iter().map(class).collect(),
        families: in_order(flows.iter().map(|(flow, _)| flow.family)).into_iter().map(family).collect(),
        flows: flows
            .iter()
            .map(|(flow, rows)| FlowConnections {
                flow: flow.clone(),
                phases: by_phase(phases, &rows.iter()),
                series: rows.iter().map(|row| (row.started, connect_time(row))).collect(),
                exchanges: rows.iter().map(|row| (row.started, exchange_time(row))).collect(),
            })
            .collect(),
    }
}

fn by_phase<'a>(phases: &[PhaseWindow], rows: &(impl Iterator<Item = &'a Connection> + Clone)) -> ConnectionPhases {
    let of = |phase: Phase| {
        let window = phases.iter().find(|entry| entry.phase == phase)?.window;
        ConnectionStatistics::from_rows(&rows.clone().filter(|row| window.contains(row.started)))
    };
    ConnectionPhases { idle: of(Phase::Idle), load: of(Phase::Load), after: of(Phase::After) }
}

/// Each once, in the order in which they first occur.
fn in_order<T: PartialEq>(all: impl Iterator<Item = T>) -> Vec<T> {
    let mut seen = Vec::new();
    for one in all {
        if !seen.contains(&one) {
            seen.push(one);
        }
    }
    seen
}
