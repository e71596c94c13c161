//! A few numbers about the last second, while the test runs.

use std::collections::{BTreeMap, HashMap, HashSet, VecDeque};
use std::time::Duration;

use rrul_model::flow::{Component, Direction, FlowId};
use rrul_model::observation::{ObservationPoint, OctetsReceived, ProbeReceived, Tables};
use rrul_model::recording::{Frame, Header};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::join::{ICMP_ECHO, SHORTEST_WAITING_TIME, UDP_PROBE};
use crate::metrics::start_spread::receiver;
use crate::recorded_time::last_observation;
use crate::statistics::counter::Counter;
use crate::statistics::percentile::percentile;

const SECOND: Duration = Duration::from_secs(1);
/// How long readings are kept: the last full second, the part of one that follows, and one to interpolate from.
const KEPT: Duration = Duration::from_secs(4);

/// What happened in the last full second.
///
/// For the eye, while the test runs; [`analyze`](crate::analyze::analyze) has the numbers. Rates are segments that arrived
/// times their usual size, and delays lack stamps that arrive late.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LiveSnapshot {
    /// Goodput of all load flows together, client to server.
    pub up: BitRate,
    /// Goodput of all load flows together, server to client.
    pub down: BitRate,
    /// Median round-trip delay of the probes whose reply came in that second; `None` when none did.
    pub delay: Option<Delay>,
    /// Probes whose waiting time of 3 s ran out in that second.
    pub lost_last_second: u64,
}

/// What has arrived of one stream.
#[derive(Debug, Clone, Copy)]
struct Arrivals {
    segments: u32,
    octets: u64,
}

/// Follows a test frame by frame and remembers a few seconds of it.
///
/// A second is a whole one of the test's clock, and the last full one is the last that the observing host has left
/// behind; the two hosts may be a second apart.
#[derive(Debug, Clone)]
pub struct Live {
    directions: HashMap<FlowId, Direction>,
    probes: HashSet<FlowId>,
    /// In the order of flows, so that sums come out the same each time.
    octets: BTreeMap<FlowId, VecDeque<(TestTime, u64)>>,
    /// Where segments are counted, octets by their arrival, as octets in order jump when a hole is filled.
    arrivals: HashMap<FlowId, Arrivals>,
    waiting: HashMap<(FlowId, u32), TestTime>,
    answered: VecDeque<(TestTime, Delay)>,
    client: Option<TestTime>,
    server: Option<TestTime>,
}

impl Live {
    /// A view on the test that begins with this header.
    ///
    /// Delay is that of the UDP probes, or of ICMP echo when the plan has none.
    pub fn new(header: &Header) -> Self {
        let udp = header.flows.iter().any(|flow| flow.flow_type == UDP_PROBE);
        let chosen = if udp { UDP_PROBE } else { ICMP_ECHO };
        let load = header.flows.iter().filter(|flow| flow.component == Component::Load);
        Self {
            directions: load.filter_map(|flow| Some((flow.id, flow.direction?))).collect(),
            probes: header.flows.iter().filter(|flow| flow.flow_type == chosen).map(|flow| flow.id).collect(),
            octets: BTreeMap::new(),
            arrivals: HashMap::new(),
            waiting: HashMap::new(),
            answered: VecDeque::new(),
            client: None,
            server: None,
        }
    }

    /// Takes in one frame.
    pub fn push(&mut self, frame: &Frame) {
        let last = last_observation(&frame.tables);
        match frame.point {
            ObservationPoint::Client => self.client = self.client.max(last),
            ObservationPoint::Server => self.server = self.server.max(last),
        }
        // Both ends of a stream may count; only the receiver's count is goodput.
        let at_receiver = |flow| self.directions.get(&flow).copied().map(receiver) == Some(frame.point);
        for row in frame.tables.tcp_info.rows().filter(|row| at_receiver(row.flow)) {
            let arrivals = self.arrivals.entry(row.flow).or_insert(Arrivals { segments: row.data_segs_in, octets: 0 });
            let fresh = row.data_segs_in.saturating_sub(arrivals.segments);
            *arrivals = Arrivals {
                segments: row.data_segs_in,
                octets: arrivals.octets.saturating_add(u64::from(fresh) * u64::from(row.rcv_mss)),
            };
            self.octets.entry(row.flow).or_default().push_back((row.at, arrivals.octets));
        }
        for OctetsReceived { flow, at, octets } in frame.tables.octets_received.rows() {
            if at_receiver(flow) && !self.arrivals.contains_key(&flow) {
                self.octets.entry(flow).or_default().push_back((at, octets.0));
            }
        }
        if frame.point == ObservationPoint::Client {
            self.push_probes(&frame.tables);
        }
        self.forget();
    }

    fn push_probes(&mut self, tables: &Tables) {
        for row in tables.probe_sent.rows().filter(|row| self.probes.contains(&row.flow)) {
            self.waiting.insert((row.flow, row.sequence), row.sent);
        }
        for row in tables.probe_stamped.rows() {
            if let Some(sent) = self.waiting.get_mut(&(row.flow, row.sequence)) {
                // A stamp from before the program's own is not of this packet.
                *sent = row.sent.max(*sent);
            }
        }
        for ProbeReceived { flow, sequence, received, reflector_received, reflector_sent, .. } in
            tables.probe_received.rows()
        {
            self.answer(flow, sequence, received, reflector_sent.since(reflector_received));
        }
        for row in tables.echo_received.rows() {
            self.answer(row.flow, row.sequence, row.received, Delay(0));
        }
    }

    fn answer(&mut self, flow: FlowId, sequence: u32, received: TestTime, held: Delay) {
        if let Some(sent) = self.waiting.remove(&(flow, sequence)) {
            self.answered.push_back((received, received.since(sent) - held));
        }
    }

    /// Drops what no later snapshot can need.
    fn forget(&mut self) {
        for (flow, readings) in &mut self.octets {
            let now = match self.directions.get(flow).copied().map(receiver) {
                Some(ObservationPoint::Client) => self.client,
                _ => self.server,
            };
            let Some(now) = now else { continue };
            // The last reading before the stretch stays, to interpolate from.
            while readings.get(1).is_some_and(|(at, _)| *at < now - KEPT) {
                readings.pop_front();
            }
        }
        let Some(now) = self.client else { return };
        self.answered.retain(|(received, _)| *received >= now - KEPT);
        self.waiting.retain(|_, sent| *sent + SHORTEST_WAITING_TIME >= now - KEPT);
    }

    /// The last full second.
    pub fn snapshot(&self) -> LiveSnapshot {
        let rate = |direction| match receiver(direction) {
            ObservationPoint::Client => self.rate(direction, self.client),
            ObservationPoint::Server => self.rate(direction, self.server),
        };
        let mut snapshot =
            LiveSnapshot { up: rate(Direction::Up), down: rate(Direction::Down), ..LiveSnapshot::default() };
        if let Some(second) = self.client.map(last_full_second) {
            let inside = self.answered.iter().filter(|(received, _)| second.contains(*received));
            let mut delays: Vec<Delay> = inside.map(|(_, delay)| *delay).collect();
            delays.sort_unstable();
            snapshot.delay = percentile(&delays, 0, 500);
            let given_up = self.waiting.values().filter(|sent| second.contains(**sent + SHORTEST_WAITING_TIME));
            snapshot.lost_last_second = given_up.count() as u64;
        }
        snapshot
    }

    fn rate(&self, direction: Direction, now: Option<TestTime>) -> BitRate {
        let Some(second) = now.map(last_full_second) else { return BitRate(0) };
        let flows = self.octets.iter().filter(|(flow, _)| self.directions.get(flow) == Some(&direction));
        let octets: f64 = flows
            .map(|(_, readings)| {
                let counter = Counter::new(readings.iter().copied().collect());
                counter.at(second.to) - counter.at(second.from)
            })
            .sum();
        ByteCount(octets.round() as u64).per(SECOND)
    }
}

/// The last whole second of the test's clock that is over at `now`.
fn last_full_second(now: TestTime) -> Window {
    let to = TestTime(now.0.div_euclid(1_000_000_000).saturating_mul(1_000_000_000));
    Window { from: to - SECOND, to }
}
