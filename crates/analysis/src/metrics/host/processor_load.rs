//! How busy the processors of both hosts were while the load ran.

use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;
use std::collections::BTreeMap;

use rrul_model::observation::{CpuTime, ObservationPoint};
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};

use crate::statistics::counter::Counter;

/// CPU load of one host during the load phase.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "CPU load")]
pub struct ProcessorLoad {
    /// `client` or `server`; what follows is of the load phase.
    ///
    /// Source: spec, Test Requirements.
    #[serde(rename = "host")]
    pub point: ObservationPoint,
    /// Share of time that the cores were busy: user, nice, system, irq, softirq, steal over all.
    ///
    /// Unit: share. Source: proc(5).
    pub mean: f64,
    /// Highest share of one second that one core was busy.
    ///
    /// Unit: share.
    pub busiest_core: f64,
    /// Share of seconds in which a core that the test needed was over 95 % busy. A core that other programs fill does
    /// not count. Such a core spends at most 5 % of its time in the kernel, on a host of which rrul may use every core,
    /// while another core is half idle and rrul takes less than half of one. This is a rule, not a trace.
    ///
    /// Unit: share. Source: spec, Test Requirements.
    pub saturated: f64,
    /// Highest share of one second that the hypervisor took from one core.
    ///
    /// Unit: share.
    pub steal: f64,
    /// Share of seconds in which it took over 5 % of some core.
    ///
    /// Unit: share.
    pub stolen: f64,
    /// CPU time of rrul itself, all threads.
    ///
    /// Source: getrusage(2).
    #[serde(rename = "process_ns")]
    pub process: Option<Delay>,
}

/// A core that was busy for more than this share of a second had no time left for the test.
pub(crate) const SATURATED: f64 = 0.95;
/// A core that spends more than this share of a second in the kernel may be handling packets there.
const HANDLES_PACKETS: f64 = 0.05;
/// A core that is less busy than this has room for a program that needs less than this of one.
const ROOM: f64 = 0.5;
/// A hypervisor that takes more than this share of the time lets packets wait.
pub(crate) const STOLEN: f64 = 0.05;

const SECOND: i64 = 1_000_000_000;

/// Ticks that one core spent during one second.
#[derive(Debug, Clone, Copy, Default)]
struct Ticks {
    busy: u64,
    /// Of that, what the kernel spent: packets, whoever they are for.
    kernel: u64,
    steal: u64,
    all: u64,
}

/// What one core spent, and between which readings.
type Spent = (Ticks, Window);

impl Ticks {
    /// Between two readings. Counters that fall (a core that went away and came back) count as standing still.
    fn between(before: &CpuTime, after: &CpuTime) -> Self {
        let grown = |field: fn(&CpuTime) -> u64| field(after).saturating_sub(field(before));
        let fields: [fn(&CpuTime) -> u64; 6] =
            [|t| t.user, |t| t.nice, |t| t.system, |t| t.irq, |t| t.softirq, |t| t.steal];
        let busy = fields.into_iter().map(grown).fold(0, u64::saturating_add);
        let idle = grown(|t| t.idle).saturating_add(grown(|t| t.iowait));
        let kernel = [grown(|t| t.system), grown(|t| t.irq), grown(|t| t.softirq)];
        let kernel = kernel.into_iter().fold(0, u64::saturating_add);
        Self { busy, kernel, steal: grown(|t| t.steal), all: busy.saturating_add(idle) }
    }

    fn share(self, part: u64) -> f64 {
        part as f64 / self.all as f64
    }
}

/// Share of the time between two readings of a core that it was busy, 0 to 1; `None` when no time passed.
pub(crate) fn busy_share(before: &CpuTime, after: &CpuTime) -> Option<f64> {
    let ticks = Ticks::between(before, after);
    (ticks.all > 0).then(|| ticks.share(ticks.busy))
}

/// The processor load of each host that recorded any during `load`.
///
/// Every core on its own, because the mean over cores hides the one that is full. Readings are taken once a second and
/// fall near whole seconds; of several near the same one the first counts. Time that the hypervisor took counts as
/// busy: the test could not have it.
pub(crate) fn processor_load(recording: &Recording, load: Window) -> Vec<ProcessorLoad> {
    [ObservationPoint::Client, ObservationPoint::Server]
        .into_iter()
        .filter_map(|point| {
            host(point, &readings(recording, point, load), &Program::from_recording(recording, point), load)
        })
        .collect()
}

/// The readings of each core of a host during `load`, by the whole second that is nearest.
fn readings(recording: &Recording, point: ObservationPoint, load: Window) -> BTreeMap<u16, BTreeMap<i64, CpuTime>> {
    let mut cores: BTreeMap<u16, BTreeMap<i64, CpuTime>> = BTreeMap::new();
    let rows = recording.tables_of(point).flat_map(|tables| tables.cpu_time.rows());
    // The reading at the end of the load falls just behind it.
    for row in rows.filter(|row| near(load.from) <= near(row.at) && near(row.at) <= near(load.to)) {
        cores.entry(row.core).or_default().entry(near(row.at)).or_insert(row);
    }
    cores
}

/// Each second of a host during `load` in which one of its cores was full and no other had room: whatever ran in it had to
/// share.
pub(crate) fn shared_seconds(recording: &Recording, point: ObservationPoint, load: Window) -> Vec<(Window, bool)> {
    let mut seconds: BTreeMap<i64, (Window, bool, bool)> = BTreeMap::new();
    for readings in readings(recording, point, load).values() {
        for ((_, before), (second, after)) in readings.iter().zip(readings.iter().skip(1)) {
            let ticks = Ticks::between(before, after);
            if ticks.all == 0 {
                continue;
            }
            let window = Window { from: before.at, to: after.at };
            let busy = ticks.share(ticks.busy);
            let (_, full, room) = seconds.entry(*second).or_insert((window, false, false));
            *full |= busy > SATURATED;
            *room |= busy < ROOM;
        }
    }
    seconds.into_values().map(|(window, full, room)| (window, full && !room)).collect()
}

/// Whether the hypervisor took over 5 % of the window from some core.
pub(crate) fn is_stolen(recording: &Recording, point: ObservationPoint, window: Window) -> bool {
    readings(recording, point, window).values().any(|readings| {
        let (first, last) = (readings.first_key_value(), readings.last_key_value());
        let ticks = first.zip(last).map(|((_, first), (_, last))| Ticks::between(first, last)).unwrap_or_default();
        ticks.all > 0 && ticks.share(ticks.steal) > STOLEN
    })
}

/// The whole second that is nearest.
fn near(at: TestTime) -> i64 {
    at.0.saturating_add(SECOND / 2).div_euclid(SECOND)
}

fn host(
    point: ObservationPoint,
    cores: &BTreeMap<u16, BTreeMap<i64, CpuTime>>,
    program: &Program,
    load: Window,
) -> Option<ProcessorLoad> {
    let process = program.between(load);
    let any_core = program.cores as usize >= cores.len();
    let mut found =
        ProcessorLoad { point, mean: 0.0, busiest_core: 0.0, saturated: 0.0, steal: 0.0, stolen: 0.0, process };
    let (mut busy, mut all) = (0.0, 0.0);
    let mut seconds: BTreeMap<i64, Vec<Spent>> = BTreeMap::new();
    for readings in cores.values() {
        for ((_, before), (second, after)) in readings.iter().zip(readings.iter().skip(1)) {
            let ticks = Ticks::between(before, after);
            if ticks.all == 0 {
                continue;
            }
            busy += ticks.busy as f64;
            all += ticks.all as f64;
            found.busiest_core = found.busiest_core.max(ticks.share(ticks.busy));
            found.steal = found.steal.max(ticks.share(ticks.steal));
            seconds.entry(*second).or_default().push((ticks, Window { from: before.at, to: after.at }));
        }
    }
    if seconds.is_empty() {
        return None;
    }
    let part = |of: &dyn Fn(&[Spent]) -> bool| {
        seconds.values().filter(|cores| of(cores)).count() as f64 / seconds.len() as f64
    };
    found.mean = busy / all;
    found.saturated = part(&|cores| is_saturated(cores, any_core.then_some(program)));
    found.stolen = part(&|cores| cores.iter().any(|(ticks, _)| ticks.share(ticks.steal) > STOLEN));
    Some(found)
}

/// Whether a core that the test needed was full in this second; `program` is given when it may run on any.
fn is_saturated(cores: &[Spent], program: Option<&Program>) -> bool {
    let busy = |ticks: &Ticks| ticks.share(ticks.busy);
    let room = cores.iter().any(|(ticks, _)| busy(ticks) < ROOM);
    let needed = |(ticks, second): &Spent| {
        let is_small = program
            .and_then(|program| program.between(*second))
            .is_some_and(|time| time < second.length().mul_f64(ROOM).into());
        !(room && is_small && ticks.share(ticks.kernel) <= HANDLES_PACKETS)
    };
    cores.iter().any(|core| busy(&core.0) > SATURATED && needed(core))
}

/// Processor time of the program itself, all threads, since it began.
struct Program {
    time: Counter,
    /// How many cores it may use.
    cores: u32,
}

impl Program {
    fn from_recording(recording: &Recording, point: ObservationPoint) -> Self {
        let rows = recording.tables_of(point).flat_map(|tables| tables.process_time.rows());
        let time = rows.map(|row| (row.at, u64::try_from((row.user + row.system).0).unwrap_or(0))).collect();
        Self { time: Counter::new(time), cores: recording.host(point).cores }
    }

    /// Between the edges of a window; `None` when that is not known.
    fn between(&self, window: Window) -> Option<Delay> {
        let (first, last) = self.time.first().zip(self.time.last())?;
        let known = first.0 < window.to && window.from < last.0;
        known.then(|| Delay((self.time.at(window.to) - self.time.at(window.from)).round() as i64))
    }
}
