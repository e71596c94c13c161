//! Browser page: a site in a real browser, cold each time, one load in every interval (spec: Web Component).
//!
//! What the synthetic page stands for, measured on what it stands for: the site that the user knows, with its scripts and
//! all its hosts. One thread leads all flows of this type, which take turns: two browsers at a time would measure each
//! other. A browser marks nothing and chooses families by itself but for the site's own host; the plan says BE.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{FlowSpec, FlowTypeWords, ParameterKind, ParameterWord};
use rrul_model::observation::{BrowserTime, FlowEventKind, PageLoad};
use rrul_model::time::TestTime;

use crate::browser::{self, Browser, BrowserError, BrowserOptions, PageVisit, ProcessorTime, Site, VisitEnd, Which};
use crate::clock::{TestClock, monotonic_distance};
use crate::environment::Privacy;
use crate::flow_type::{FlowType, Initiation, ServerPart};
use crate::observer::Notebook;
use crate::test_end::TestEnd;

mod slots;

use slots::Slots;

const DEFAULT_INTERVAL: Duration = Duration::from_secs(10);
const SHORTEST_INTERVAL: Duration = Duration::from_secs(1);
const DEFAULT_CAP: Duration = Duration::from_secs(30);
const SHORTEST_CAP: Duration = Duration::from_millis(100);

/// How long before its slot a browser is started. It is ready within half a second on a host that has time.
const HEAD_START: Duration = Duration::from_secs(2);

/// How many times in a row a browser may fail to start until its flow is given up.
const MOST_FAILURES: u32 = 3;

/// Rows between two collections: the objects of a load.
const ROWS: usize = 4096;

/// The flow type.
#[derive(Debug)]
pub struct BrowserPage;

impl FlowType for BrowserPage {
    fn words(&self) -> &'static FlowTypeWords {
        &FlowTypeWords {
            name: "browser_page",
            about: "a site in headless Chromium, nothing cached: load event, paints and every object; one load in every interval",
            directed: false,
            parameters: &[
                ParameterWord {
                    name: "url",
                    kind: ParameterKind::Name,
                    about: "the site, such as https://example.com/",
                },
                ParameterWord {
                    name: "interval",
                    kind: ParameterKind::Duration,
                    about: "from one load to the next; default 10s, least 1s",
                },
                ParameterWord {
                    name: "cap",
                    kind: ParameterKind::Duration,
                    about: "when a load is given up; default 30s, least 100ms",
                },
                ParameterWord {
                    name: "browser",
                    kind: ParameterKind::Name,
                    about: "the browser, a path or a name; default: the first of Chromium and Chrome on the PATH",
                },
                ParameterWord {
                    name: "quic",
                    kind: ParameterKind::Choice(&["off", "on"]),
                    about: "whether it may use HTTP/3; default off",
                },
            ],
        }
    }

    fn server_part(&self) -> ServerPart {
        ServerPart::Nothing
    }

    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>> {
        let mut loaders = Vec::new();
        for &spec in specs {
            let slots = Slots::new(spec.window, interval_of(spec), HEAD_START, turn_of(spec, specs));
            match Loader::new(spec, slots, initiation.privacy) {
                Ok(loader) => loaders.push(loader),
                Err(reason) => initiation.end.failed(spec, reason),
            }
        }
        if loaders.is_empty() {
            return Vec::new();
        }
        let of_thread = initiation.end.clone();
        let spawned = std::thread::Builder::new().name("browser_page".to_owned()).spawn(move || {
            run(&of_thread, loaders);
        });
        match spawned {
            Ok(thread) => vec![thread],
            Err(error) => {
                for spec in specs {
                    initiation.end.failed(spec, format!("cannot start a thread: {error}"));
                }
                Vec::new()
            }
        }
    }
}

fn interval_of(spec: &FlowSpec) -> Duration {
    spec.parameters.duration("interval", DEFAULT_INTERVAL).max(SHORTEST_INTERVAL)
}

/// Which of the flows that run at the same time this is, and of how many.
fn turn_of(spec: &FlowSpec, all: &[&FlowSpec]) -> (u32, u32) {
    let together = || all.iter().filter(|other| other.window.overlaps(&spec.window));
    let before = together().take_while(|other| other.id != spec.id).count();
    (before as u32, together().count().max(1) as u32)
}

/// What loads the pages of one flow.
struct Loader {
    spec: FlowSpec,
    site: Site,
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
    fn new(spec: &FlowSpec, slots: Slots, privacy: Privacy) -> Result<Self, String> {
        if spec.class.octet() != 0 {
            return Err(format!(
                "a browser marks no packets, so it cannot be of class {}; write class = \"BE\"",
                spec.class
            ));
        }
        let url = spec.parameters.text("url").ok_or("no url; write one, such as url = \"https://example.com/\"")?;
        let quic = spec.parameters.text("quic") == Some("on");
        Ok(Self {
            spec: spec.clone(),
            site: Site::from_url(url)?,
            program: browser::find(spec.parameters.text("browser"))?,
            options: BrowserOptions { quic, resolver_rules: None },
            cap: spec.parameters.duration("cap", DEFAULT_CAP).max(SHORTEST_CAP),
            slots,
            privacy,
            load: 0,
            failures: 0,
            spent: ProcessorTime::default(),
            product: None,
        })
    }

    /// One load, from the start of its browser to the rows about it.
    fn load(&mut self, scheduled: TestTime, end: &TestEnd, clock: TestClock, notebook: &mut Notebook<'_>) {
        let began = clock.now();
        let mut browser = match Browser::start(&self.program, &self.options, end) {
            Ok(browser) => browser,
            Err(BrowserError::Stopped) => return,
            Err(error) => return self.not_started(scheduled, began, &error, end, clock, notebook),
        };
        self.failures = 0;
        self.told_product(browser.product(), end);
        let spent = self.spent;
        let flow = self.spec.id;
        let row = |time: ProcessorTime| BrowserTime {
            flow,
            at: clock.now(),
            user: spent.user + time.user,
            system: spent.system + time.system,
        };
        notebook.note(row(ProcessorTime::default()));
        if !end.sleep_until(clock, scheduled) {
            return;
        }
        let last = self.spec.window.to.min(clock.now() + self.cap);
        let url = self.site.url().to_owned();
        let visit = browser.visit(&url, clock.raw(last), end, |time| notebook.note(row(time)));
        let time = browser.processor_time();
        notebook.note(row(time));
        self.spent = ProcessorTime { user: spent.user + time.user, system: spent.system + time.system };
        drop(browser);
        self.note(&visit, scheduled, end, clock, notebook);
    }

    fn told_product(&mut self, product: &str, end: &TestEnd) {
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
        end: &TestEnd,
        clock: TestClock,
        notebook: &mut Notebook<'_>,
    ) {
        let which = Which { flow: self.spec.id, load: self.load, scheduled };
        let rows = visit.rows(which, monotonic_distance(), |raw| clock.at(raw));
        notebook.note(rows.page);
        for (row, url) in rows.objects {
            notebook.note(row);
            if self.privacy == Privacy::Open {
                end.event(self.spec.id, FlowEventKind::Resource, format!("{} {} {url}", row.load, row.object));
            }
        }
        if let Some(timing) = rows.timing {
            notebook.note(timing);
        }
        if let VisitEnd::Failed(reason) | VisitEnd::Broken(reason) = visit.end() {
            end.event(self.spec.id, FlowEventKind::LoadFailed, format!("{} {reason}", self.load));
        }
        self.load += 1;
    }

    /// Notes a load for which there was no browser.
    fn not_started(
        &mut self,
        scheduled: TestTime,
        started: TestTime,
        error: &BrowserError,
        end: &TestEnd,
        clock: TestClock,
        notebook: &mut Notebook<'_>,
    ) {
        let took = clock.now().since(started);
        let outcome = PageLoad::BROKEN;
        notebook.note(PageLoad {
            flow: self.spec.id,
            load: self.load,
            scheduled,
            started,
            outcome,
            took,
            fallbacks: 0,
        });
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
fn run(end: &TestEnd, loaders: Vec<Loader>) {
    let mut ready: Vec<Loader> = Vec::with_capacity(loaders.len());
    for mut loader in loaders {
        match loader.site.resolver_rules(loader.spec.family, end) {
            Ok(rules) => {
                loader.options.resolver_rules = rules;
                ready.push(loader);
            }
            Err(reason) => end.failed(&loader.spec, reason),
        }
    }
    let Some(clock) = end.wait_for_begin() else { return };
    let mut notebook = end.observer.notebook(ROWS);
    loop {
        let now = clock.now();
        let due = |loader: &mut Loader| loader.slots.next_from(now + HEAD_START / 2);
        let next = ready.iter_mut().filter_map(|loader| Some((due(loader)?, loader))).min_by_key(|(slot, _)| *slot);
        let Some((slot, loader)) = next else { return };
        if !end.sleep_until(clock, slot - HEAD_START) {
            return;
        }
        loader.slots.take(slot);
        loader.load(slot, end, clock, &mut notebook);
    }
}
