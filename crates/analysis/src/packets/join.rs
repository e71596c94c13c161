//! Rows of the probe tables joined by flow and sequence number into one packet each.

use std::time::Duration;

use foldhash::HashMap;
use rrul_model::flow::{FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{ObservationPoint, Tables};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;

use crate::packets::by_number::ByNumber;
use crate::packets::probe_pool::{ProbeSample, pooled};
use crate::statistics::percentile::percentiles;

/// Shortest waiting time: loss threshold of the test packets (RFC 7680 section 2).
pub(crate) const SHORTEST_WAITING_TIME: Duration = Duration::from_secs(3);
/// On a long path a packet is waited for this many idle median round trips.
const IDLE_ROUND_TRIPS: i64 = 10;
/// Behind a queue of seconds a packet is waited for as long as any took, and for this many loaded median round trips at most.
/// While a queue grows with the square of time, its last packet takes four times as long as the median one.
const LOADED_ROUND_TRIPS: i64 = 4;

/// A reply as it came back.
#[derive(Debug, Clone, Copy)]
struct Reply {
    received: TestTime,
    /// How long the reflector held the packet, both stamps on its clock.
    held: Delay,
}

/// One test packet and what is known of its fate.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Probe {
    /// Its number within the flow.
    pub(crate) sequence: u32,
    /// When it left: the kernel's stamp, or the program's where the kernel gave none.
    pub(crate) sent: TestTime,
    /// How late the program sent it, against its schedule.
    pub(crate) lateness: Delay,
    reply: Option<Reply>,
}

impl Probe {
    /// Round-trip delay without the time the reflector held the packet (RFC 2681, RFC 8762 T4-T1-(T3-T2)).
    fn round_trip_delay(&self) -> Option<Delay> {
        self.reply.map(|reply| reply.received.since(self.sent) - reply.held)
    }

    /// Its round-trip delay when it was answered within the waiting time; `None` when it was not.
    pub(crate) fn answered_within(&self, waiting_time: Duration) -> Option<Delay> {
        let reply = self.reply?;
        let in_time = reply.received.since(self.sent) <= Delay::from(waiting_time);
        self.round_trip_delay().filter(|_| in_time)
    }
}

/// All test packets of one flow in the order in which they were numbered.
#[derive(Debug, Clone)]
pub(crate) struct ProbeFlow<'a> {
    pub(crate) flow: &'a FlowSpec,
    pub(crate) probes: Vec<Probe>,
    /// Packets that were due and not sent, as the host stalled. They have no number and are not among `probes`.
    pub(crate) skipped: u64,
}

/// When a reply came; when the reflector received the packet and sent it back, if it did.
type Received = (TestTime, Option<(TestTime, TestTime)>);

/// Rows of one flow while they are gathered, by the number of their packet.
#[derive(Default)]
struct Rows {
    sent: Vec<(u32, (TestTime, TestTime))>,
    stamped: Vec<(u32, TestTime)>,
    received: Vec<(u32, Received)>,
    reply_stamped: Vec<(u32, TestTime)>,
    skipped: u64,
}

impl Rows {
    fn probes(self) -> Vec<Probe> {
        let sent = ByNumber::first(self.sent);
        let stamped = ByNumber::first(self.stamped);
        // The earliest reply: a duplicated packet counts once.
        let received = ByNumber::least_by(self.received, |(received, _)| *received);
        let reply_stamped = ByNumber::least_by(self.reply_stamped, |stamp| *stamp);
        // Replies without a row for the packet they answer are passed over: with that row's frame lost, neither when
        // the packet left nor in which phase is known.
        let probe = |(sequence, (scheduled, sent)): (u32, &(TestTime, TestTime))| {
            let reply = received.get(sequence).map(|(received, reflector)| {
                let held = reflector.map_or(Delay(0), |(arrived, left)| {
                    // A stamp from before the reflector's own belongs to another copy of the packet.
                    let stamp = reply_stamped.get(sequence).filter(|stamp| **stamp >= left);
                    stamp.copied().unwrap_or(left).since(arrived)
                });
                Reply { received: *received, held }
            });
            // No packet leaves before it was sent: such a stamp is of another one.
            let left = stamped.get(sequence).copied().filter(|stamp| stamp >= sent).unwrap_or(*sent);
            Probe { sequence, sent: left, lateness: sent.since(*scheduled), reply }
        };
        sent.iter().map(probe).collect()
    }
}

impl ProbeSample for ProbeFlow<'_> {
    fn kind(&self) -> FlowKind {
        self.flow.kind()
    }

    fn class(&self) -> ServiceClass {
        self.flow.class
    }

    fn was_sent(&self) -> bool {
        !self.probes.is_empty()
    }
}

/// The packets of every UDP probe and ICMP echo flow of the plan, in its order; empty for a flow that sent none.
///
/// Of an imported recording also the means of exchanges, each as one packet.
pub(crate) fn probe_flows(recording: &Recording) -> Vec<ProbeFlow<'_>> {
    let flows = || recording.header.flows.iter().filter(|flow| flow.kind().is_probe());
    let mut gathered: HashMap<FlowId, Rows> = flows().map(|flow| (flow.id, Rows::default())).collect();
    // Only the client sends test packets.
    for tables in recording.tables_of(ObservationPoint::Client) {
        gather(&mut gathered, tables);
    }
    flows()
        .map(|flow| {
            let rows = gathered.remove(&flow.id).unwrap_or_default();
            ProbeFlow { flow, skipped: rows.skipped, probes: rows.probes() }
        })
        .collect()
}

fn gather(gathered: &mut HashMap<FlowId, Rows>, tables: &Tables) {
    for row in tables.probe_sent.rows() {
        if let Some(rows) = gathered.get_mut(&row.flow) {
            rows.sent.push((row.sequence, (row.scheduled, row.sent)));
        }
    }
    for row in tables.probes_skipped.rows() {
        if let Some(rows) = gathered.get_mut(&row.flow) {
            rows.skipped = rows.skipped.saturating_add(u64::from(row.count));
        }
    }
    for row in tables.probe_stamped.rows() {
        if let Some(rows) = gathered.get_mut(&row.flow) {
            rows.stamped.push((row.sequence, row.sent));
        }
    }
    for row in tables.probe_received.rows() {
        if let Some(rows) = gathered.get_mut(&row.flow) {
            let reflector = Some((row.reflector_received, row.reflector_sent));
            rows.received.push((row.sequence, (row.received, reflector)));
        }
    }
    for row in tables.echo_received.rows() {
        if let Some(rows) = gathered.get_mut(&row.flow) {
            rows.received.push((row.sequence, (row.received, None)));
        }
    }
    for row in tables.reply_stamped.rows() {
        if let Some(rows) = gathered.get_mut(&row.flow) {
            rows.reply_stamped.push((row.sequence, row.reflector_sent));
        }
    }
}

/// How long a packet is waited for: 3 s, or 10 idle median round trips where that is longer; or where packets under load
/// took longer yet, as long as they did, at most 4 loaded median round trips.
///
/// It goes by the pooled packets that were sent in the phase and answered, however late: what is lost cannot be known
/// before the waiting time is.
pub(crate) fn waiting_time(flows: &[ProbeFlow<'_>], idle: Option<Window>, load: Option<Window>) -> Duration {
    let median_and_longest = |phase: Option<Window>| {
        let probes = pooled(flows).into_iter().flat_map(|entry| &entry.probes);
        let sent = probes.filter(|probe| phase.is_some_and(|phase| phase.contains(probe.sent)));
        let mut delays: Vec<Delay> = sent.filter_map(Probe::round_trip_delay).collect();
        percentiles(&mut delays, 0, [500, 1000]).map(|delay| delay.unwrap_or_default().0)
    };
    let [idle, _] = median_and_longest(idle);
    let [loaded, longest] = median_and_longest(load);
    let long = idle.saturating_mul(IDLE_ROUND_TRIPS).max(longest.min(loaded.saturating_mul(LOADED_ROUND_TRIPS)));
    SHORTEST_WAITING_TIME.max(Duration::from_nanos(u64::try_from(long).unwrap_or(0)))
}
