//! Web page: a page of many objects and hosts, loaded again and again, cold every time (spec: Web Component).
//!
//! What the page consists of is frozen in a manifest; rrul's own server serves it. Loads begin on a grid and take turns
//! between families and versions of HTTP, so that they never load each other: one thread drives them all.

use std::cell::{Cell, RefCell};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::rc::Rc;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{FlowEventKind, Observation, PageLoad, ProbesSkipped};
use rrul_model::page::{HttpVersion, Page};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_proto::token::Token;

use super::parallel_setup;
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use crate::flow_type::{FlowType, Footprint, Initiation};
use crate::observer::ObservationSink;
use crate::server::parts::connections::ServedPages;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;
use crate::web::client::Visitor;
use crate::web::client::page_load::{Times, load};

const DEFAULT_INTERVAL: Duration = Duration::from_secs(4);
const SHORTEST_INTERVAL: Duration = Duration::from_millis(500);
const DEFAULT_CAP: Duration = Duration::from_secs(30);

/// Rows of one load, and more.
const ROWS: usize = 8192;

/// What all hosts are to speak.
const VERSIONS: [(&str, Option<HttpVersion>); 4] = [
    ("page", None),
    ("http1", Some(HttpVersion::Http1)),
    ("http2", Some(HttpVersion::Http2)),
    ("http3", Some(HttpVersion::Http3)),
];

pub(crate) struct WebPage;

impl FlowType for WebPage {
    fn descriptor(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "web_page",
            about: "a synthetic page of many objects and hosts, loaded repeatedly with empty caches: page load time, object by object",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "page",
                    kind: ParameterKind::Choice(&Page::NAMES),
                    about: "page to load; default rrul2025",
                },
                ParameterWord {
                    name: "version",
                    kind: ParameterKind::Choice(&["page", "http1", "http2", "http3"]),
                    about: "of HTTP, at every host; default page, what its manifest has for each",
                },
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "one load in each, all flows of this type in turns; default 4s, least 500ms",
                },
                ParameterWord {
                    name: "cap",
                    kind: ParameterKind::Duration,
                    about: "time limit of a load; default 30s",
                },
            ],
        }
    }

    fn server_part(&self) -> &'static dyn ServerPart {
        &ServedPages
    }

    fn effective_parameters(&self, spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        let text = |name, default: &str| spec.parameters.text(name).unwrap_or(default).to_owned();
        let time = |time: Duration| format!("{}ms", time.as_millis());
        BTreeMap::from([
            ("page", text("page", Page::DEFAULT)),
            ("version", text("version", VERSIONS[0].0)),
            ("interval", time(interval_of(spec))),
            ("cap", time(cap_of(spec))),
        ])
    }

    fn load(&self, _spec: &FlowSpec) -> Option<Footprint> {
        None
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let of_thread = initiation.clone();
        let run = move |_: &Endpoint, clock, flows: Vec<Flow>| run(&of_thread, clock, &flows);
        parallel_setup::spawn_one("web_page", specs, initiation, Flow::new, run)
    }
}

fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

fn cap_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("cap", DEFAULT_CAP)
}

/// What is known of a flow before the test begins.
struct Flow {
    spec: FlowSpec,
    page: Page,
    version: Option<HttpVersion>,
    server: SocketAddr,
    token: Token,
}

impl Flow {
    fn new(spec: &FlowSpec, initiation: &Initiation) -> Result<Self, SetupError> {
        let server = initiation.server_for(spec)?;
        let name = spec.parameters.text("page").unwrap_or(Page::DEFAULT);
        let page = Page::named(name).ok_or_else(|| SetupError::UnknownPage(name.to_owned()))?;
        let version = spec.parameters.text("version").unwrap_or(VERSIONS[0].0);
        let version = VERSIONS.iter().find(|(known, _)| *known == version).and_then(|(_, version)| *version);
        initiation.end.event(spec.id, FlowEventKind::Uses, format!("page {name} sha256:{}", page.hash));
        Ok(Self { spec: spec.clone(), page, version, server, token: initiation.token })
    }
}

struct Turns {
    visitor: Rc<Visitor>,
    cap: Duration,
    due: TestTime,
    /// From one turn to the next.
    round: Delay,
    load: u32,
    /// The shortest complete load so far.
    shortest: Option<Delay>,
}

impl Turns {
    fn over(&self) -> bool {
        self.due >= self.visitor.spec.window.to
    }

    /// Whether this is the same page in the same window, by another family or version of HTTP at most.
    fn is_alike(&self, other: &Self) -> bool {
        self.visitor.spec.window == other.visitor.spec.window && self.visitor.page.hash == other.visitor.page.hash
    }

    fn learn(&mut self, observed: &[Observation]) {
        let complete = observed.iter().filter_map(|row| match row {
            Observation::PageLoad(load) if load.outcome == PageLoad::COMPLETE => Some(load.took),
            _ => None,
        });
        self.shortest = complete.chain(self.shortest).min();
    }
}

/// The turns of all flows. Those of one window divide its grid among them, the first place of which is one interval after
/// its beginning: load that begins with the window is in force by then.
fn turns(flows: &[Flow], clock: TestClock) -> Vec<Turns> {
    let of = |flow: &Flow| {
        let peers: Vec<_> = flows.iter().filter(|other| other.spec.window == flow.spec.window).collect();
        let place = peers.iter().position(|other| other.spec.id == flow.spec.id).unwrap_or(0) as i64;
        let interval = Delay::from(interval_of(&flow.spec)).0;
        let visitor = Visitor {
            spec: flow.spec.clone(),
            page: flow.page.clone(),
            version: flow.version,
            server: flow.server,
            token: flow.token,
            clock,
            connections: Cell::new(0),
            lookups: Cell::new(0),
            asked: RefCell::default(),
        };
        Turns {
            cap: cap_of(&flow.spec),
            due: TestTime(flow.spec.window.from.0.saturating_add(interval.saturating_mul(1 + place))),
            round: Delay(interval.saturating_mul(peers.len() as i64)),
            load: 0,
            shortest: None,
            visitor: Rc::new(visitor),
        }
    };
    flows.iter().map(of).collect()
}

/// Whether a load that begins now cannot end in its window, as no load of its page so far was short enough. Its packets would
/// only fill queues for the next phase.
fn too_late(all: &[Turns], place: usize, now: TestTime, window_end: TestTime) -> bool {
    let alike = all.iter().filter(|turns| turns.is_alike(&all[place]));
    let shortest = alike.filter_map(|turns| turns.shortest).min().unwrap_or_default();
    window_end.since(now) <= shortest
}

/// One load after the other, until all windows are over. The thread's whole life.
fn run(initiation: &Initiation, clock: TestClock, flows: &[Flow]) {
    let end = &initiation.end;
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => {
            for flow in flows {
                end.failed(&flow.spec, format!("cannot load pages: {error}"));
            }
            return;
        }
    };
    let mut sink = end.observer.sink(ROWS);
    let mut all = turns(flows, clock);
    loop {
        all.retain(|turns| !turns.over());
        let Some(place) = (0..all.len()).min_by_key(|place| all[*place].due) else { return };
        let Some((scheduled, visitor, cap)) = next(&mut all, place, end, clock, &mut sink) else { return };
        let Some(scheduled) = scheduled else { continue };
        let following = all.iter().map(|turns| turns.due).min().unwrap_or(TestTime(i64::MAX));
        let window_end = end.ends(visitor.spec.window.to);
        let turn = initiation.page_turn();
        let now = clock.now();
        if too_late(&all, place, now, window_end) {
            sink.note(ProbesSkipped { flow: visitor.spec.id, at: now, count: 1 });
            continue;
        }
        let times = Times { scheduled, cap: now + cap, window_end, linger: following.min(window_end) };
        let number = all[place].load;
        all[place].load += 1;
        let observed = runtime.block_on(load(&visitor, number, times, stopped(end), move || drop(turn)));
        all[place].learn(&observed);
        for row in observed {
            sink.note(row);
        }
    }
}

/// Waits for the next turn of the flow at `place`; `None` when the test has been stopped, and no time when the turn was
/// missed, as a load before it took too long.
fn next(
    all: &mut [Turns],
    place: usize,
    end: &Endpoint,
    clock: TestClock,
    sink: &mut ObservationSink<'_>,
) -> Option<(Option<TestTime>, Rc<Visitor>, Duration)> {
    let turns = &mut all[place];
    let scheduled = turns.due;
    turns.due = TestTime(scheduled.0.saturating_add(turns.round.0));
    let (visitor, cap) = (Rc::clone(&turns.visitor), turns.cap);
    if !end.sleep_until(clock, scheduled) {
        return None;
    }
    let now = clock.now();
    // Its own next turn has come, or its window is over: this one will not be made up for.
    if now >= turns.due || now >= end.ends(visitor.spec.window.to) {
        sink.note(ProbesSkipped { flow: visitor.spec.id, at: now, count: 1 });
        return Some((None, visitor, cap));
    }
    Some((Some(scheduled), visitor, cap))
}

/// Resolves once the test has been stopped.
async fn stopped(end: &Endpoint) {
    while !end.is_stopped() {
        tokio::time::sleep(PATIENCE).await;
    }
}
