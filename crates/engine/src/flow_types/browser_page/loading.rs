//! The client's end of browser pages: one thread that starts a browser for every load, flow by flow.

use std::net::IpAddr;
use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::FlowSpec;
use rrul_model::observation::{BrowserTime, FlowEventKind, PageLoad, ProbesSkipped};
use rrul_model::page::Page;
use rrul_model::time::TestTime;
use rrul_proto::session_name::{SessionName, ZONE};

use super::parameters::{URL, cap_of, interval_of};
use super::slots::Slots;
use crate::browser::{self, Browser, BrowserError, BrowserOptions, PageVisit, ProcessorTime, Site, VisitEnd, Which};
use crate::clock::monotonic_distance;
use crate::clock::test_clock::TestClock;
use crate::endpoint::Endpoint;
use crate::flow_type::Initiation;
use crate::flow_types::parallel_setup;
use crate::observer::ObservationSink;
use crate::privacy::Privacy;
use crate::setup_error::SetupError;

/// How long before its slot a browser is started. It is ready within half a second on a host that has time.
const HEAD_START: Duration = Duration::from_secs(2);

/// How many times in a row a browser may fail to start until its flow is given up.
const MOST_FAILURES: u32 = 3;

/// Rows between two collections: the objects of a load.
const ROWS: usize = 4096;

/// Starts the thread that loads the pages of these flows.
pub(super) fn initiate(specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
    let mut loaders = Vec::new();
    for &spec in specs {
        let slots = Slots::new(spec.window, interval_of(spec), HEAD_START, turn_of(spec, specs));
        match Loader::new(spec, slots, initiation) {
            Ok(loader) => loaders.push(loader),
            Err(reason) => initiation.end.failed(spec, reason),
        }
    }
    let flows = loaders.iter().map(|loader| loader.spec.id).collect();
    let of_thread = initiation.clone();
    parallel_setup::spawn("browser_page", flows, initiation, move || run(&of_thread, loaders))
}

/// Which of the flows that run at the same time this is, and of how many.
fn turn_of(spec: &FlowSpec, all: &[&FlowSpec]) -> (u32, u32) {
    let together = || all.iter().filter(|other| other.window.overlaps(&spec.window));
    let before = together().take_while(|other| other.id != spec.id).count();
    (before as u32, together().count().max(1) as u32)
}

/// What is loaded.
enum Target {
    Site(Site),
    /// The document of a page that the test's server has.
    Own(String),
}

impl Target {
    fn url(&self) -> &str {
        match self {
            Self::Site(site) => site.url(),
            Self::Own(url) => url,
        }
    }
}

/// A page of rrul's own, and how a browser is brought to ask the test's server for it: every host of the page is there.
fn own_page(spec: &FlowSpec, name: &str, initiation: &Initiation) -> Result<(Target, BrowserOptions), SetupError> {
    let server = initiation.server_for(spec)?;
    let page = Page::named(name).ok_or_else(|| SetupError::UnknownPage(name.to_owned()))?;
    let document = page.objects.first().and_then(|object| page.hosts.get(object.host));
    let label = document.map(|host| host.name.as_str()).unwrap_or_default();
    let host = SessionName { label, flow: spec.id.0, token: initiation.token };
    let scheme = if page.secure { "https" } else { "http" };
    let address = match server.ip() {
        IpAddr::V4(address) => address.to_string(),
        IpAddr::V6(address) => format!("[{address}]"),
    };
    let url = format!("{scheme}://{host}:{}/{name}/0", server.port());
    initiation.end.event(spec.id, FlowEventKind::Uses, format!("page {name} sha256:{}", page.hash));
    let options =
        BrowserOptions { quic: false, own_page: true, resolver_rules: Some(format!("MAP *.{ZONE} {address}")) };
    Ok((Target::Own(url), options))
}

/// What loads the pages of one flow.
struct Loader {
    spec: FlowSpec,
    target: Target,
    program: PathBuf,
    options: BrowserOptions,
    cap: Duration,
    slots: Slots,
    privacy: Privacy,
    /// The number of the next load.
    load: u32,
    /// How many times in a row no browser could be started.
    failures: u32,
    /// Processor time of the browsers that have ended.
    spent: ProcessorTime,
    /// What the browser said of itself first.
    product: Option<String>,
}

impl Loader {
    fn new(spec: &FlowSpec, slots: Slots, initiation: &Initiation) -> Result<Self, SetupError> {
        if spec.class.octet() != 0 {
            return Err(SetupError::Parameters(format!(
                "a browser marks no packets, so it cannot be of class {}; write class = \"BE\"",
                spec.class
            )));
        }
        let quic = spec.parameters.text("quic") == Some("on");
        let (target, options) = match (spec.parameters.text(URL), spec.parameters.text("page")) {
            (Some(url), None) => {
                (Target::Site(Site::from_url(url)?), BrowserOptions { quic, ..BrowserOptions::default() })
            }
            (None, Some(page)) => own_page(spec, page, initiation)?,
            (None, None) => {
                let advice = "no url; write one, such as url = \"https://example.com/\"";
                return Err(SetupError::Parameters(advice.to_owned()));
            }
            (Some(_), Some(_)) => {
                return Err(SetupError::Parameters("both url and page; write one of them".to_owned()));
            }
        };
        Ok(Self {
            spec: spec.clone(),
            target,
            program: browser::find(spec.parameters.text("browser"))?,
            options,
            cap: cap_of(spec),
            slots,
            privacy: initiation.privacy,
            load: 0,
            failures: 0,
            spent: ProcessorTime::default(),
            product: None,
        })
    }

    /// One load, from the start of its browser to the rows about it.
    fn load(&mut self, scheduled: TestTime, initiation: &Initiation, clock: TestClock, sink: &mut ObservationSink<'_>) {
        let end = &initiation.end;
        let began = clock.now();
        let mut browser = match Browser::start(&self.program, &self.options, end) {
            Ok(browser) => browser,
            Err(BrowserError::Stopped) => return,
            Err(error) => return self.not_started(scheduled, began, &error, end, clock, sink),
        };
        self.failures = 0;
        self.record_product(browser.product(), end);
        let spent = self.spent;
        let flow = self.spec.id;
        let row = |time: ProcessorTime| BrowserTime {
            flow,
            at: clock.now(),
            user: spent.user + time.user,
            system: spent.system + time.system,
        };
        sink.note(row(ProcessorTime::default()));
        if !end.sleep_until(clock, scheduled) {
            return;
        }
        let turn = initiation.page_turn();
        if clock.now() >= self.spec.window.to {
            return sink.note(ProbesSkipped { flow, at: clock.now(), count: 1 });
        }
        let cap = clock.now() + self.cap;
        let (last, late) = match self.spec.window.to {
            to if to < cap => (to, VisitEnd::Cut),
            _ => (cap, VisitEnd::Capped),
        };
        let visit = browser.visit(self.target.url(), (clock.raw(last), late), end, |time| sink.note(row(time)));
        drop(turn);
        let time = browser.processor_time();
        sink.note(row(time));
        self.spent = ProcessorTime { user: spent.user + time.user, system: spent.system + time.system };
        drop(browser);
        self.note(&visit, scheduled, end, clock, sink);
    }

    fn record_product(&mut self, product: &str, end: &Endpoint) {
        if self.product.as_deref() == Some(product) {
            return;
        }
        self.product = Some(product.to_owned());
        let program = match self.privacy {
            Privacy::Open => format!(" at {}", self.program.display()),
            Privacy::Strict => String::new(),
        };
        end.event(self.spec.id, FlowEventKind::Uses, format!("{product}{program}"));
    }

    /// Notes everything that is known of a load.
    fn note(
        &mut self,
        visit: &PageVisit,
        scheduled: TestTime,
        end: &Endpoint,
        clock: TestClock,
        sink: &mut ObservationSink<'_>,
    ) {
        let which = Which { flow: self.spec.id, load: self.load, scheduled };
        let rows = visit.rows(which, monotonic_distance(), |raw| clock.at(raw));
        sink.note(rows.page);
        for (row, url) in rows.objects {
            sink.note(row);
            if self.privacy == Privacy::Open {
                end.event(self.spec.id, FlowEventKind::Resource, format!("{} {} {url}", row.load, row.object));
            }
        }
        if let Some(timing) = rows.timing {
            sink.note(timing);
        }
        if let VisitEnd::Failed(reason) | VisitEnd::Broken(reason) = visit.end() {
            end.event(self.spec.id, FlowEventKind::LoadFailed, format!("{} {reason}", self.load));
        }
        self.load += 1;
    }

    /// Notes a load for which no browser ran.
    fn not_started(
        &mut self,
        scheduled: TestTime,
        started: TestTime,
        error: &BrowserError,
        end: &Endpoint,
        clock: TestClock,
        sink: &mut ObservationSink<'_>,
    ) {
        let took = clock.now().since(started);
        let outcome = PageLoad::BROKEN;
        sink.note(PageLoad { flow: self.spec.id, load: self.load, scheduled, started, outcome, took, fallbacks: 0 });
        end.event(self.spec.id, FlowEventKind::LoadFailed, format!("{} {error}", self.load));
        self.load += 1;
        self.failures += 1;
        if self.failures == MOST_FAILURES {
            end.failed(&self.spec, format!("given up after {MOST_FAILURES} loads without a browser: {error}"));
            self.slots = Slots::none();
        }
    }
}

/// Loads pages in the order of their slots. The thread's whole life.
fn run(initiation: &Initiation, loaders: Vec<Loader>) {
    let end = &initiation.end;
    let mut ready: Vec<Loader> = Vec::with_capacity(loaders.len());
    for mut loader in loaders {
        let rules = match &loader.target {
            Target::Site(site) => site.resolver_rules(loader.spec.family, end),
            Target::Own(_) => Ok(loader.options.resolver_rules.take()),
        };
        match rules {
            Ok(rules) => {
                loader.options.resolver_rules = rules;
                ready.push(loader);
            }
            Err(reason) => end.failed(&loader.spec, reason),
        }
    }
    let Some(clock) = end.wait_for_begin() else { return };
    let mut sink = end.observer.sink(ROWS);
    loop {
        let now = clock.now();
        // A load, or the start of its browser, that took long takes the slots of others.
        for loader in &mut ready {
            let count = loader.slots.pass_before(now + HEAD_START / 2);
            if count > 0 {
                sink.note(ProbesSkipped { flow: loader.spec.id, at: now, count });
            }
        }
        let next = ready
            .iter_mut()
            .filter_map(|loader| Some((loader.slots.upcoming()?, loader)))
            .min_by_key(|(slot, _)| *slot);
        let Some((slot, loader)) = next else { return };
        if !end.sleep_until(clock, slot - HEAD_START) {
            return;
        }
        loader.slots.take(slot);
        loader.load(slot, initiation, clock, &mut sink);
    }
}
