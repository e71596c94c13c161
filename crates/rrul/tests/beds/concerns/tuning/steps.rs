//! Steps of a shaper in series with a line, while the load goes on: each step's figures against the link's log.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

use rrul_analysis::tuning::trials;
use rrul_engine::client::{Families, MemoryRecorder, RunObserver, RunOptions, run_until};
use rrul_engine::clock::RawTime;
use rrul_engine::clock::test_clock::TestClock;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_engine::vocabulary;
use rrul_lab::{Lab, LabTime, Link};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::recording::{End, Frame, Header, Recording};
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningStep};
use rrul_model::time::TestTime;
use rrul_model::units::BitRate;

use crate::rows::Rows;
use crate::{Bed, Runs};

pub(crate) const STEPS: Bed = Bed {
    name: "shaper_steps",
    about: "A shaper (cake) before and behind a line of 20/8 Mbit/s with a deep FIFO, set below and above it under load.",
    runs: Runs::Alone,
    run: |rows| steps(rows, [20e6, 8e6], "18ms", &[[0.95, 0.95], [1.05, 1.05], [0.97, 0.97]]),
};

pub(crate) const SLOW_STEPS: Bed = Bed {
    name: "slow_shaper_steps",
    about: "The same over a line of 5/1 Mbit/s.",
    runs: Runs::InAccuracy,
    run: |rows| steps(rows, [5e6, 1e6], "30ms", &[[0.95, 0.95], [1.05, 1.05], [0.97, 0.97]]),
};

/// How long a setting that lies above the line is followed by one at half of it.
const FLUSH: Duration = Duration::from_secs(4);
const SETTLE: Duration = Duration::from_secs(2);
const MEASURE: Duration = Duration::from_secs(8);

/// Keeps everything, and tells when the test begins.
struct Told {
    recorder: MemoryRecorder,
    begun: mpsc::Sender<(TestClock, TestTime)>,
}

impl RunObserver for Told {
    fn header(&mut self, header: &Header) {
        let clock = TestClock::since(RawTime(header.clocks.client_origin));
        let load = rrul_model::phase::loaded(&header.phases).unwrap();
        self.begun.send((clock, load.from)).unwrap();
        self.recorder.header(header);
    }

    fn frame(&mut self, frame: Frame) {
        self.recorder.frame(frame);
    }

    fn tick(&mut self, _now: TestTime) {}

    fn end(&mut self, end: &End) {
        self.recorder.end(end);
    }
}

/// A run over a line of these rates, during which the shaper is set to these parts of them, down and up.
fn steps(rows: &mut Rows, [down, up]: [f64; 2], rtt: &str, settings: &[[f64; 2]]) {
    let toml = format!(
        "rtt = \"{rtt}\"\n[up]\nrate = \"{up}bit/s\"\nqueue = {{ discipline = \"pfifo\", limit = \"1000p\" }}\n\
         [down]\nrate = \"{down}bit/s\"\nqueue = {{ discipline = \"pfifo\", limit = \"1000p\" }}\n"
    );
    let link = Link::from_toml("bed.toml", &toml).unwrap_or_else(|error| panic!("{error}"));
    let lab = Lab::up(&link, 1).unwrap();
    let server = lab.server().run(|| Server::start(ServerOptions::default())).unwrap().unwrap();
    let options = RunOptions {
        server: lab.server().address(AddressFamily::Ipv4).to_string(),
        port: rrul_engine::PORT,
        families: Families::Only(AddressFamily::Ipv4),
        plan: tune(),
        title: String::new(),
        created: String::new(),
        privacy: Privacy::Strict,
        seed: 7,
    };
    let end_load = Arc::new(AtomicBool::new(false));
    let (begun, told) = mpsc::channel();
    let ending = Arc::clone(&end_load);
    let running = lab.client().spawn(move || {
        let mut observer = Told { recorder: MemoryRecorder::default(), begun };
        run_until(&options, &mut observer, &AtomicBool::new(false), &ending).unwrap_or_else(|error| panic!("{error}"));
        observer.recorder.recording().unwrap()
    });
    let running = running.unwrap();
    let (clock, load) = told.recv().unwrap();
    let set = |parts: [f64; 2]| {
        let mut changed = link.clone();
        let rates = [down * parts[0], up * parts[1]].map(|rate| rate.round() as u64);
        changed.change_shaper(&format!("down.shaper.rate={}bit/s", rates[0])).unwrap();
        changed.change_shaper(&format!("up.shaper.rate={}bit/s", rates[1])).unwrap();
        lab.set_shaper(Direction::Down, changed.down.shaper.as_ref()).unwrap();
        lab.set_shaper(Direction::Up, changed.up.shaper.as_ref()).unwrap();
        ShaperRates { down: Some(BitRate(rates[0])), up: Some(BitRate(rates[1])) }
    };
    let sleep_until = |at: TestTime| rrul_engine::clock::sleep_until(clock.raw(at));
    sleep_until(load);
    let mut taken = Vec::new();
    for (number, parts) in (0..).zip(settings) {
        set([0.5, 0.5]);
        sleep_until(clock.now() + FLUSH);
        let rates = set(*parts);
        let set_at = clock.now();
        let settled_at = set_at + SETTLE;
        let ended_at = settled_at + MEASURE;
        sleep_until(ended_at);
        let (purpose, direction, counters) = (StepPurpose::Fixed, None, None);
        taken.push(TuningStep { number, purpose, direction, rates, set_at, settled_at, ended_at, counters });
    }
    end_load.store(true, Ordering::Relaxed);
    let recording =
        Recording { steps: taken, ..running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)) };
    drop(server);
    rows.equal("R65", "the load ended early, and the test is whole", partial(&recording), String::new());
    judge(rows, &recording, clock, &lab, [down, up], settings);
}

fn partial(recording: &Recording) -> String {
    recording.end.as_ref().and_then(|end| end.partial.clone()).unwrap_or_default()
}

fn judge(rows: &mut Rows, recording: &Recording, clock: TestClock, lab: &Lab, line: [f64; 2], settings: &[[f64; 2]]) {
    let truth = lab.truth().unwrap();
    let trials = trials::trials(recording);
    rows.equal("R65", "steps with figures", trials.len(), settings.len());
    for (trial, parts) in trials.iter().zip(settings) {
        for (direction, line, part) in [(Direction::Down, line[0], parts[0]), (Direction::Up, line[1], parts[1])] {
            let found = trial.directions.of(direction);
            let name = format!("{} at {:.0} % of the line", direction.name(), part * 100.0);
            let lab_time = |at: TestTime| LabTime(clock.raw(at).0 as u64);
            let window = lab_time(trial.step.settled_at)..lab_time(trial.step.ended_at);
            let log = truth.direction(direction);
            let arrived = log.delivered_octets(window.clone()).0 as f64 * 8.0 / MEASURE.as_secs_f64() / 1e6;
            let delivered = found.delivered.map(BitRate::megabits);
            rows.near("R65", format!("{name}: delivered, Mbit/s, by the log"), delivered, arrived, arrived * 0.005);
            // Above the line acknowledgments wait in the other direction's queue, and neither direction need be full.
            if part < 1.0 {
                let set = line * part / 1e6;
                rows.near("R65", format!("{name}: delivered, Mbit/s, of what was set"), delivered, set, set * 0.01);
            }
            rows.equal(
                "R65",
                format!("{name}: the network limited the load"),
                format!("{:?}", found.saturated),
                "Some(true)".to_owned(),
            );
            let delay = found.queueing_delay.unwrap();
            // UDP: the probes alone.
            let probes = log.records().filter(|record| record.protocol == 17);
            let inside = probes.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
            let mut waits: Vec<u64> = inside.map(|record| record.queueing_delay).collect();
            waits.sort_unstable();
            let truth_of = |percent| rrul_lab::percentile(&waits, percent).unwrap_or(0) as f64 / 1e6;
            let (p50, p95) = (truth_of(50.0), truth_of(95.0));
            rows.near(
                "R65",
                format!("{name}: median queueing, ms"),
                Some(delay.p50.milliseconds()),
                p50,
                1.0 + p50 * 0.02,
            );
            rows.near(
                "R65",
                format!("{name}: P95 of queueing, ms"),
                Some(delay.p95.milliseconds()),
                p95,
                1.5 + p95 * 0.05,
            );
        }
    }
}

/// The plan of a session, with as little before and behind the load as it needs.
fn tune() -> TestPlan {
    let words = vocabulary();
    let shipped = |name: &str| {
        let path = format!("{}/../../plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
        Some((path.clone(), std::fs::read_to_string(&path).ok()?))
    };
    let surroundings = Surroundings { flow_types: &words, find: &shipped };
    let (file, text) = shipped("tune").unwrap();
    let settings = ["survey=0s", "sweep=false", "idle=3s", "after=3s", "after_at_most=8s"].map(str::to_owned);
    TestPlan::read("tune", &file, &text, &settings, &surroundings).unwrap_or_else(|error| panic!("{error}"))
}
