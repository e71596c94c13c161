//! A test second by second, as far as it has come: what a screen shows while it runs.

use foldhash::{HashMap, HashMapExt, HashSet};
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{CpuTime, ObservationPoint, receiver};
use rrul_model::phase::Phase;
use rrul_model::recording::{Frame, Header};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount};

use super::arrivals::Arrivals;
use super::cell::DelayCell;
use super::waiting::{Waiting, probes};
use crate::metrics::host::processor_load::{SATURATED, busy_share};
use crate::packets::recorded_time::last_observation;

const SECOND: i64 = 1_000_000_000;

/// Seconds behind the planned end that are still shown.
const AFTER_THE_END: i64 = 30;

/// Most seconds that are kept, more than a day; a header that was made up may claim any length.
const MOST_SECONDS: i64 = 100_000;

/// Goodput of the load of one class in one direction, second by second.
#[derive(Debug, Clone, PartialEq)]
pub struct RateCourse {
    pub direction: Direction,
    pub class: ServiceClass,
    /// Load flows that it is the sum of.
    pub streams: usize,
    octets: Vec<f64>,
}

/// Follows a test frame by frame and keeps a few numbers of each second.
///
/// Seconds are whole ones of the test's clock, from T0 on. The observing hosts may be a second apart, and so are the
/// directions. Beyond the planned end only a few exist, whatever stamps a server sends.
#[derive(Debug, Clone)]
pub struct Course {
    arrivals: Arrivals,
    /// The latest reading of each stream, and which course it adds to.
    latest: HashMap<FlowId, (TestTime, u64)>,
    place: HashMap<FlowId, usize>,
    rates: Vec<RateCourse>,
    waiting: Waiting,
    cell_of: HashMap<FlowId, usize>,
    cells: Vec<DelayCell>,
    idle: Option<Window>,
    most: usize,
    hosts: [Host; 2],
}

/// What is known of one host.
#[derive(Debug, Clone, Default)]
struct Host {
    now: Option<TestTime>,
    frames: Option<u32>,
    cores: HashMap<u16, CpuTime>,
    busiest: Option<f64>,
}

impl Course {
    /// Creates the course of the test that begins with this header.
    pub fn new(header: &Header) -> Self {
        let mut rates: Vec<RateCourse> = Vec::new();
        let mut place = HashMap::new();
        for flow in super::load(header) {
            let Some(direction) = flow.direction else { continue };
            let found = rates.iter().position(|rate| (rate.direction, rate.class) == (direction, flow.class));
            let index = found.unwrap_or_else(|| {
                rates.push(RateCourse { direction, class: flow.class, streams: 0, octets: Vec::new() });
                rates.len() - 1
            });
            rates[index].streams += 1;
            place.insert(flow.id, index);
        }
        let mut kinds: Vec<(&str, ServiceClass, AddressFamily)> = Vec::new();
        let mut cell_of = HashMap::new();
        for flow in probes(header) {
            let kind = (&*flow.flow_type, flow.class, flow.family);
            let index = kinds.iter().position(|found| *found == kind).unwrap_or_else(|| {
                kinds.push(kind);
                kinds.len() - 1
            });
            cell_of.insert(flow.id, index);
        }
        let end = header.phases.last().map_or(0, |phase| phase.window.to.0.div_euclid(SECOND));
        Self {
            arrivals: Arrivals::new(header),
            latest: HashMap::new(),
            place,
            rates,
            waiting: Waiting::new(header),
            cell_of,
            cells: kinds.into_iter().map(|(_, class, family)| DelayCell::new(class, family)).collect(),
            idle: header.phases.iter().find(|entry| entry.phase == Phase::Idle).map(|entry| entry.window),
            most: usize::try_from(end.saturating_add(AFTER_THE_END).min(MOST_SECONDS)).unwrap_or(0),
            hosts: [Host::default(), Host::default()],
        }
    }

    /// Takes in one frame.
    ///
    /// After a gap in the numbers of frames, what became of the probes that were waiting is not known: they are no longer
    /// counted, rather than taken for lost.
    pub fn push(&mut self, frame: &Frame) {
        let host = &mut self.hosts[place(frame.point)];
        host.now = host.now.max(last_observation(&frame.tables));
        let gap = host.frames.is_some_and(|last| frame.number != last.wrapping_add(1)) || frame.dropped > 0;
        host.frames = Some(frame.number);
        host.take_in(frame);
        for (flow, at, octets) in self.arrivals.readings(frame) {
            let before = self.latest.insert(flow, (at, octets)).unwrap_or((at, octets));
            if let Some(rate) = self.place.get(&flow).and_then(|index| self.rates.get_mut(*index)) {
                rate.add(before, (at, octets), self.most);
            }
        }
        if frame.point == ObservationPoint::Client {
            if gap {
                self.forget_waiting();
            }
            self.push_probes(frame);
        }
    }

    fn push_probes(&mut self, frame: &Frame) {
        let (sent, answers) = self.waiting.take_in(&frame.tables);
        let idle = |at: TestTime| self.idle.is_some_and(|idle| idle.contains(at));
        for (flow, sent) in sent {
            if let (Some(index), Some(second)) = (self.cell_of.get(&flow), second(sent.noted, self.most)) {
                self.cells[*index].sent(second);
            }
        }
        for answer in answers {
            let at = answer.sent.noted;
            if let (Some(index), Some(second)) = (self.cell_of.get(&answer.flow), second(at, self.most)) {
                let cell = &mut self.cells[*index];
                if answer.late {
                    cell.reopened(second, idle(at));
                }
                cell.answered(second, answer.delay, idle(at));
            }
        }
        if let Some(now) = self.hosts[place(ObservationPoint::Client)].now {
            for ((flow, _), sent) in self.waiting.give_up(now) {
                if let (Some(index), Some(second)) = (self.cell_of.get(&flow), second(sent.noted, self.most)) {
                    self.cells[*index].lost(second, idle(sent.noted));
                }
            }
        }
        self.cells.iter_mut().for_each(DelayCell::settle);
    }

    fn forget_waiting(&mut self) {
        for ((flow, _), sent) in self.waiting.forget() {
            if let (Some(index), Some(second)) = (self.cell_of.get(&flow), second(sent.noted, self.most)) {
                self.cells[*index].forgotten(second);
            }
        }
    }

    /// Each class of the load in each direction, in the order of the plan.
    pub fn rates(&self) -> &[RateCourse] {
        &self.rates
    }

    /// Goodput of one class in one direction in each full second.
    pub fn rate(&self, course: &RateCourse) -> Vec<BitRate> {
        let full = self.full_seconds(receiver(course.direction));
        (0..full).map(|second| rate(course.octets.get(second).copied().unwrap_or(0.0))).collect()
    }

    /// Goodput of all load in one direction in each full second.
    pub fn sum(&self, direction: Direction) -> Vec<BitRate> {
        let full = self.full_seconds(receiver(direction));
        let courses = || self.rates.iter().filter(|course| course.direction == direction);
        let octets = |second| courses().map(|course| course.octets.get(second).copied().unwrap_or(0.0)).sum();
        (0..full).map(|second| rate(octets(second))).collect()
    }

    /// The probes of each class and family, in the order of the plan: of one kind, by what was sent so far.
    pub fn cells(&self) -> Vec<&DelayCell> {
        let shown: HashSet<usize> = self.waiting.shown().filter_map(|flow| self.cell_of.get(&flow).copied()).collect();
        self.cells.iter().enumerate().filter(|(index, _)| shown.contains(index)).map(|(_, cell)| cell).collect()
    }

    /// Share of the latest second that the busiest core of a host was busy, 0 to 1; `None` when it is not known.
    pub fn busiest_core(&self, point: ObservationPoint) -> Option<f64> {
        self.hosts[place(point)].busiest
    }

    /// Whether that core had no time left for the test in the latest second, as the verdict counts it.
    pub fn has_full_core(&self, point: ObservationPoint) -> bool {
        self.busiest_core(point).is_some_and(|busy| busy > SATURATED)
    }

    /// The seconds that a host has left behind.
    fn full_seconds(&self, point: ObservationPoint) -> usize {
        let now = self.hosts[place(point)].now.map_or(0, |now| now.0.div_euclid(SECOND));
        usize::try_from(now).unwrap_or(0).min(self.most)
    }
}

impl RateCourse {
    /// Spreads what came between two readings evenly over the time between them.
    fn add(&mut self, before: (TestTime, u64), after: (TestTime, u64), most: usize) {
        let (fresh, took) = (after.1.saturating_sub(before.1) as f64, after.0.since(before.0).0);
        let (Some(first), Some(last)) = (second(before.0, most), second(after.0, most)) else { return };
        if took <= 0 {
            return;
        }
        if self.octets.len() <= last {
            self.octets.resize(last + 1, 0.0);
        }
        for (second, octets) in self.octets.iter_mut().enumerate().take(last + 1).skip(first) {
            let from = TestTime(second as i64 * SECOND);
            let within = Window { from, to: TestTime(from.0 + SECOND) };
            let part = within.intersection(&Window { from: before.0, to: after.0 });
            *octets += fresh * part.length().as_nanos() as f64 / took as f64;
        }
    }
}

impl Host {
    /// Processor time since the reading before, of the core that had least to spare.
    fn take_in(&mut self, frame: &Frame) {
        let mut busiest: Option<f64> = None;
        for row in frame.tables.cpu_time.rows() {
            let share = self.cores.get(&row.core).and_then(|before| busy_share(before, &row));
            busiest = share.into_iter().chain(busiest).reduce(f64::max);
            self.cores.insert(row.core, row);
        }
        self.busiest = busiest.or(self.busiest);
    }
}

fn place(point: ObservationPoint) -> usize {
    usize::from(point == ObservationPoint::Server)
}

/// The number of the second in which something happened; `None` before T0, and long after the planned end.
fn second(at: TestTime, most: usize) -> Option<usize> {
    usize::try_from(at.0.div_euclid(SECOND)).ok().filter(|second| *second < most)
}

fn rate(octets: f64) -> BitRate {
    ByteCount(octets.round() as u64).per(std::time::Duration::from_secs(1))
}
