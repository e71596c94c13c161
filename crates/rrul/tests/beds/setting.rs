//! One measurement over a virtual link: the recording, what is made of it, and what the link knows.

use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::series::RatePoint;
use rrul_analysis::summary::Summary;
use rrul_engine::client::{Families, MemoryRecorder, RunOptions, run};
use rrul_engine::clock::host_clock::ClockDistortion;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{AllowedMarks, LoadPolicy, Server, ServerOptions};
use rrul_engine::vocabulary;
use rrul_lab::{Lab, Link, Truth};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::recording::Recording;
use rrul_model::time::Window;
use serde_json::Value;

use crate::counters::{Counted, Counters};

/// Something done in a lab.
type InLab = Box<dyn FnOnce(&Lab)>;

/// What to measure over.
pub(crate) struct Setting {
    /// A link file.
    pub(crate) link: String,
    /// A plan.
    pub(crate) plan: String,
    pub(crate) families: Families,
    pub(crate) server: ServerOptions,
    /// Link files that take the first one's place, each this long after the run was called.
    pub(crate) then: Vec<(Duration, String)>,
    /// What else goes on over the link.
    pub(crate) beside: Option<InLab>,
    /// What is looked at behind the run.
    pub(crate) afterwards: Option<InLab>,
    /// What of the host is recorded.
    pub(crate) privacy: Privacy,
    /// Whether the kernel's counters of both ends are read all the time.
    pub(crate) counted: bool,
    /// From which schedules are drawn.
    pub(crate) seed: u64,
}

impl Setting {
    /// IPv4, an honest server, a link that stays as it is.
    pub(crate) fn new(link: impl Into<String>, plan: impl Into<String>) -> Self {
        Self {
            link: link.into(),
            plan: plan.into(),
            families: Families::Only(AddressFamily::Ipv4),
            server: ServerOptions { load: LoadPolicy::Unlimited, marks: AllowedMarks::ALL, ..ServerOptions::default() },
            then: Vec::new(),
            beside: None,
            afterwards: None,
            privacy: Privacy::Strict,
            counted: false,
            seed: 7,
        }
    }

    /// A server whose clock runs wrong.
    pub(crate) fn server_clock(mut self, clock: ClockDistortion) -> Self {
        self.server.clock = clock;
        self
    }

    /// With something else on the link, begun just before the run is.
    pub(crate) fn beside(mut self, other: impl FnOnce(&Lab) + 'static) -> Self {
        self.beside = Some(Box::new(other));
        self
    }

    /// With a look at the lab right behind the run.
    pub(crate) fn afterwards(mut self, look: impl FnOnce(&Lab) + 'static) -> Self {
        self.afterwards = Some(Box::new(look));
        self
    }

    /// With names of devices and settings of queues recorded.
    pub(crate) fn open(mut self) -> Self {
        self.privacy = Privacy::Open;
        self
    }

    /// With the counters of the interfaces of both ends.
    pub(crate) fn counted(mut self) -> Self {
        self.counted = true;
        self
    }

    /// With schedules drawn from another seed.
    pub(crate) fn seed(mut self, seed: u64) -> Self {
        self.seed = seed;
        self
    }

    /// IPv4 and IPv6.
    pub(crate) fn both_families(mut self) -> Self {
        self.families = Families::Both;
        self
    }

    /// Another link from this long after the run was called. Connecting takes about a second of that.
    pub(crate) fn then(mut self, after: Duration, link: impl Into<String>) -> Self {
        self.then.push((after, link.into()));
        self
    }

    /// Measures.
    pub(crate) fn measure(self) -> Measured {
        let link = |text: &str| Link::from_toml("bed.toml", text).unwrap_or_else(|error| panic!("{error}"));
        let words = vocabulary();
        let surroundings = Surroundings { flow_types: &words, find: &shipped };
        let plan =
            TestPlan::read("bed", "bed.toml", &self.plan, &[], &surroundings).unwrap_or_else(|error| panic!("{error}"));
        let lab = Lab::up(&link(&self.link), 1).unwrap();
        let options = self.server;
        let server = lab.server().run(|| Server::start(options)).unwrap().unwrap();
        let addresses = AddressFamily::ALL.map(|family| lab.server().address(family).to_string());
        let options = RunOptions {
            server: addresses.join(","),
            port: rrul_engine::PORT,
            families: self.families,
            plan,
            title: String::new(),
            created: String::new(),
            privacy: self.privacy,
            token: None,
            trust: rrul_engine::client::ServerTrust::default(),
            wait: true,
            seed: self.seed,
        };
        if let Some(other) = self.beside {
            other(&lab);
        }
        let counters = self.counted.then(|| Counters::start(&lab));
        let running = lab.client().spawn(move || {
            let mut kept = MemoryRecorder::default();
            run(&options, &mut kept, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"));
            kept.recording().unwrap()
        });
        let mut waited = Duration::ZERO;
        for (after, text) in &self.then {
            std::thread::sleep(after.saturating_sub(waited));
            waited = *after;
            lab.set(&link(text)).unwrap();
        }
        let recording = running.unwrap().join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
        let counted = counters.map(Counters::stop);
        if let Some(look) = self.afterwards {
            look(&lab);
        }
        drop(server);
        let dropped: u64 = recording.frames.iter().map(|frame| frame.dropped).sum();
        assert_eq!(dropped, 0, "the recording contains every observation");
        let truth = lab.truth().unwrap();
        for direction in [&truth.up, &truth.down] {
            assert_eq!((direction.missed, direction.forgotten, direction.refused), (0, 0, 0), "the log is whole");
        }
        Measured::of(recording, truth, counted)
    }
}

/// The plans that come with the program.
fn shipped(name: &str) -> Option<(String, String)> {
    let path = format!("{}/../../plans/{name}.toml", env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(&path).ok()?;
    Some((path, text))
}

/// What a measurement has brought.
pub(crate) struct Measured {
    pub(crate) recording: Recording,
    pub(crate) analysis: Analysis,
    /// As `rrul show --json` prints it.
    pub(crate) summary: Value,
    pub(crate) truth: Truth,
    /// What the interfaces of the ends counted.
    pub(crate) counted: Option<Counted>,
}

impl Measured {
    fn of(recording: Recording, truth: Truth, counted: Option<Counted>) -> Self {
        let analysis = rrul_analysis::analyze(&recording);
        let summary = serde_json::to_value(Summary::from(&analysis)).unwrap();
        if let Some(folder) = std::env::var_os("RRUL_BEDS_KEEP") {
            let path = std::path::Path::new(&folder).join("summary.json");
            std::fs::write(path, serde_json::to_string_pretty(&summary).unwrap()).unwrap();
        }
        Self { recording, analysis, summary, truth, counted }
    }

    /// A number of the summary by its JSON pointer.
    pub(crate) fn number(&self, pointer: &str) -> Option<f64> {
        self.summary.pointer(pointer).and_then(Value::as_f64)
    }

    /// The same in milliseconds, of nanoseconds.
    pub(crate) fn milliseconds(&self, pointer: &str) -> Option<f64> {
        Some(self.number(pointer)? / 1e6)
    }

    /// A word of the summary.
    pub(crate) fn word(&self, pointer: &str) -> String {
        match self.summary.pointer(pointer) {
            None => format!("no {pointer}"),
            Some(Value::String(word)) => word.clone(),
            Some(other) => other.to_string(),
        }
    }

    /// What is shown of the link over time: the most in any second within this stretch of the test, bit/s.
    pub(crate) fn busiest_second(&self, direction: Direction, within: Window) -> f64 {
        let rates = self.analysis.link_octets.rates(direction);
        let inside: Vec<&RatePoint> = rates.iter().filter(|point| within.contains(point.at)).collect();
        let second = |points: &[&RatePoint]| {
            let seconds: f64 = points.iter().map(|point| point.over.as_secs_f64()).sum();
            points.iter().map(|point| point.rate.0 as f64 * point.over.as_secs_f64()).sum::<f64>() / seconds
        };
        let quarters = inside.first().map_or(4, |point| (1.0 / point.over.as_secs_f64()).round() as usize);
        inside.windows(quarters.max(1)).map(second).fold(0.0, f64::max)
    }

    /// The entry of a list whose member `key` is this.
    pub(crate) fn entry(&self, list: &str, key: &str, is: &str) -> Option<&Value> {
        self.summary.pointer(list)?.as_array()?.iter().find(|entry| entry[key] == is)
    }

    /// Codes of the reasons of the verdict.
    pub(crate) fn reasons(&self) -> Vec<String> {
        self.analysis.validity.reasons.iter().map(|reason| reason.code.to_owned()).collect()
    }
}
