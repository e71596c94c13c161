//! A session of steps over a virtual link, led by the bed itself.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, mpsc};
use std::time::Duration;

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
use rrul_model::time::{TestTime, Window};
use rrul_model::units::BitRate;

/// How long the shaper is at half of the line before each setting: the line's FIFO drains in this time.
const FLUSH: Duration = Duration::from_secs(4);
/// The longest wait in the line's FIFO, if 1000 packets do not fill it earlier.
const DEPTH: Duration = Duration::from_millis(1600);
const FULL_PACKET_BITS: f64 = 1514.0 * 8.0;
const SETTLE: Duration = Duration::from_secs(2);
pub(super) const MEASURE: Duration = Duration::from_secs(8);

/// Keeps everything, and reports when the test begins.
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

/// What to run.
pub(super) struct Session<'a> {
    /// Rates of the line, down and up, bit/s.
    pub(super) line: [f64; 2],
    /// What a packet takes on the line.
    pub(super) layer: &'a str,
    pub(super) rtt: &'a str,
    /// The queue of the shaper, as a link file has it.
    pub(super) queue: &'a str,
    pub(super) plan: TestPlan,
    /// The parts of the line's rates, down and up, that the shaper is set to.
    pub(super) settings: &'a [[f64; 2]],
}

/// What was run.
pub(super) struct Stepped {
    /// With its steps.
    pub(super) recording: Recording,
    pub(super) lab: Lab,
    clock: TestClock,
}

impl Session<'_> {
    /// Runs over a line with a deep FIFO, whose shaper is set in steps; the load ends behind the last.
    pub(super) fn run(self) -> Stepped {
        let [down, up] = self.line;
        let side = |name: &str, rate: f64| {
            let limit = ((rate * DEPTH.as_secs_f64() / FULL_PACKET_BITS) as u64).min(1000);
            format!(
                "[{name}]\nrate = \"{rate}bit/s\"\nlink_layer = \"{}\"\n\
                 queue = {{ discipline = \"pfifo\", limit = \"{limit}p\" }}\n",
                self.layer
            )
        };
        let toml = format!("rtt = \"{}\"\n{}{}", self.rtt, side("up", up), side("down", down));
        let link = Link::from_toml("bed.toml", &toml).unwrap_or_else(|error| panic!("{error}"));
        let lab = Lab::up(&link, 1).unwrap();
        let server = lab.server().run(|| Server::start(ServerOptions::default())).unwrap().unwrap();
        let options = RunOptions {
            server: lab.server().address(AddressFamily::Ipv4).to_string(),
            port: rrul_engine::PORT,
            families: Families::Only(AddressFamily::Ipv4),
            plan: self.plan,
            title: String::new(),
            created: String::new(),
            privacy: Privacy::Strict,
            token: None,
            trust: rrul_engine::client::ServerTrust::default(),
            wait: true,
            seed: 7,
        };
        let end_load = Arc::new(AtomicBool::new(false));
        let (begun, told) = mpsc::channel();
        let ending = Arc::clone(&end_load);
        let running = lab.client().spawn(move || {
            let mut observer = Told { recorder: MemoryRecorder::default(), begun };
            let stop = AtomicBool::new(false);
            run_until(&options, &mut observer, &stop, &ending).unwrap_or_else(|error| panic!("{error}"));
            observer.recorder.recording().unwrap()
        });
        let running = running.unwrap();
        let (clock, load) = told.recv().unwrap();
        let set = |parts: [f64; 2]| {
            let mut changed = link.clone();
            let rates = [down * parts[0], up * parts[1]].map(|rate| rate.round() as u64);
            for (side, rate) in ["down", "up"].into_iter().zip(rates) {
                changed.change_shaper(&format!("{side}.shaper.rate={rate}bit/s")).unwrap();
                changed.change_shaper(&format!("{side}.shaper.queue={}", self.queue)).unwrap();
            }
            lab.set_shaper(Direction::Down, changed.down.shaper.as_ref()).unwrap();
            lab.set_shaper(Direction::Up, changed.up.shaper.as_ref()).unwrap();
            ShaperRates { down: Some(BitRate(rates[0])), up: Some(BitRate(rates[1])) }
        };
        let sleep_until = |at: TestTime| rrul_engine::clock::sleep_until(clock.raw(at));
        sleep_until(load);
        let mut steps = Vec::new();
        for (number, parts) in (0..).zip(self.settings) {
            // A setting alone follows no other, so nothing is to be drained.
            if self.settings.len() > 1 {
                set([0.5, 0.5]);
                sleep_until(clock.now() + FLUSH);
            }
            let rates = set(*parts);
            let set_at = clock.now();
            let settled_at = set_at + SETTLE;
            let ended_at = settled_at + MEASURE;
            sleep_until(ended_at);
            let (purpose, direction, counters) = (StepPurpose::Fixed, None, None);
            steps.push(TuningStep { number, purpose, direction, rates, set_at, settled_at, ended_at, counters });
        }
        end_load.store(true, Ordering::Relaxed);
        let recording = running.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        drop(server);
        Stepped { recording: Recording { steps, ..recording }, lab, clock }
    }
}

impl Stepped {
    /// Why the test is not whole; empty when it is.
    pub(super) fn partial(&self) -> String {
        self.recording.end.as_ref().and_then(|end| end.partial.clone()).unwrap_or_default()
    }

    /// A stretch of test time on the clock of the link's log.
    pub(super) fn on_the_log(&self, window: Window) -> std::ops::Range<LabTime> {
        let time = |at: TestTime| LabTime(self.clock.raw(at).0.cast_unsigned());
        time(window.from)..time(window.to)
    }
}

/// The plan of a session, with as little before and behind the load as it needs.
pub(super) fn tune() -> TestPlan {
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
