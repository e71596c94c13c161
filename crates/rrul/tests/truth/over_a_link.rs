//! One measurement over a virtual link, with the link's log.

use std::fmt;
use std::sync::atomic::AtomicBool;
use std::time::Duration;

use rrul_engine::client::{Families, Kept, RunOptions, run};
use rrul_engine::flow_types::vocabulary;
use rrul_engine::privacy::Privacy;
use rrul_engine::server::{Server, ServerOptions};
use rrul_lab::{Lab, Link, Truth};
use rrul_model::flow::AddressFamily;
use rrul_model::plan::{Surroundings, TestPlan};
use rrul_model::recording::Recording;
use rrul_model::units::BitRate;

/// A link to measure over.
pub(crate) struct Case {
    pub(crate) down: BitRate,
    pub(crate) up: BitRate,
    pub(crate) round_trip: Duration,
    pub(crate) queue: &'static str,
}

impl fmt::Display for Case {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { down, up, round_trip, queue } = self;
        write!(f, "{queue} {:.0}/{:.0} Mbit/s {} ms", down.megabits(), up.megabits(), round_trip.as_millis())
    }
}

/// A pfifo holds this much time at its rate.
const QUEUE: Duration = Duration::from_millis(200);

impl Case {
    fn link(&self) -> Link {
        let direction = |rate: BitRate| {
            let queue = match self.queue {
                "pfifo" => {
                    let packets = rate.0 as f64 * QUEUE.as_secs_f64() / (1500.0 * 8.0);
                    format!("{{ discipline = \"pfifo\", limit = \"{packets:.0}p\" }}")
                }
                other => format!("\"{other}\""),
            };
            format!("rate = \"{}bit/s\"\nqueue = {queue}\n", rate.0)
        };
        let text = format!(
            "# A link of the test\nrtt = \"{}us\"\n[up]\n{}[down]\n{}",
            self.round_trip.as_micros(),
            direction(self.up),
            direction(self.down)
        );
        Link::from_toml("case.toml", &text).expect("a link file")
    }
}

/// A recording and what the link knows of the same packets.
pub(crate) struct Measured {
    pub(crate) recording: Recording,
    pub(crate) truth: Truth,
}

const PLAN: &str = r#"
title = "four streams each way and probes in three classes"
overhead = "none"
phases = { idle = "2s", load = "10s", after = "3500ms" }
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = ["down", "up"]
each.class = ["BE", "BK", "CS5", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BK", "BE"]
"#;

/// Measures over the link of this case.
pub(crate) fn measure(case: &Case) -> Measured {
    measure_over(&case.link(), PLAN, Families::Only(AddressFamily::Ipv4), &case.to_string())
}

/// Runs this plan over this link.
pub(crate) fn measure_over(link: &Link, plan: &str, families: Families, title: &str) -> Measured {
    measure_against(ServerOptions::default(), link, plan, families, title)
}

/// The same against a server that runs so.
pub(crate) fn measure_against(
    server: ServerOptions,
    link: &Link,
    plan: &str,
    families: Families,
    title: &str,
) -> Measured {
    measure_beside(server, link, plan, families, title, |_| {})
}

/// The same with something else in the lab, begun before the run is.
pub(crate) fn measure_beside(
    server: ServerOptions,
    link: &Link,
    plan: &str,
    families: Families,
    title: &str,
    beside: impl FnOnce(&Lab),
) -> Measured {
    let words = vocabulary();
    let surroundings = Surroundings { flow_types: &words, find: &|_| None };
    let plan =
        TestPlan::read("truth", "truth.toml", plan, &[], &surroundings).unwrap_or_else(|error| panic!("{error}"));
    let lab = Lab::up(link, 1).expect("a lab, as one is available");
    let server = lab.server().run(move || Server::start(server));
    let server = server.expect("a thread at the far end").expect("a server at the far end");
    beside(&lab);
    let options = RunOptions {
        server: AddressFamily::ALL.map(|family| lab.server().address(family).to_string()).join(","),
        port: rrul_engine::PORT,
        families,
        plan,
        title: title.to_owned(),
        created: String::new(),
        privacy: Privacy::Strict,
        seed: 7,
    };
    let recording = lab.client().run(move || {
        let mut kept = Kept::default();
        run(&options, &mut kept, &AtomicBool::new(false)).unwrap_or_else(|error| panic!("{error}"));
        kept.recording().expect("a header")
    });
    drop(server);
    let truth = lab.truth().expect("the link's log");
    for direction in [&truth.up, &truth.down] {
        assert_eq!((direction.missed, direction.forgotten, direction.refused), (0, 0, 0), "the log is whole");
    }
    Measured { recording: recording.expect("a thread at the near end"), truth }
}
