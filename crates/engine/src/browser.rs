//! A real browser: Chromium, or one that speaks its DevTools protocol, started anew for every load of a page.
//!
//! The conversation goes through two pipes (`--remote-debugging-pipe`): no port, no WebSocket, and a browser whose pipe
//! closes ends by itself. Each load has a process group and a profile of its own, so that nothing is warm: no cache, no
//! name, no connection, no TLS session. Group and profile are gone when the value is, whatever has become of the browser.

mod devtools;
mod error;
mod page_visit;
mod process;
mod profile;
mod program;
mod resource;
mod site;

use std::path::Path;
use std::time::Duration;

use serde_json::{Value, json};

use crate::clock::RawTime;
use crate::endpoint::Endpoint;
use crate::endpoint::test_course::PATIENCE;
use devtools::{DevTools, Message};
pub(crate) use error::BrowserError;
pub(crate) use page_visit::{PageVisit, VisitEnd, Which};
use process::Process;
pub(crate) use process::ProcessorTime;
use profile::Profile;
pub(crate) use program::{ProgramError, find};
pub(crate) use site::Site;
pub(crate) use site::SiteError;

/// How long a browser may take until it answers for the first time. On a busy, slow host it is seconds.
const STARTING: Duration = Duration::from_secs(20);

/// How long an answer may take that needs no page: a browser that does not give it hangs.
const ANSWERING: Duration = Duration::from_secs(3);

/// How often its processor time is read, nanoseconds.
const READING: i64 = 1_000_000_000;

/// The window: that of a common desktop, so that the same page shows the same objects on every host.
const WINDOW: &str = "--window-size=1366,768";

/// How to start one.
#[derive(Debug, Clone, Default)]
pub(crate) struct BrowserOptions {
    /// HTTP/3 is allowed.
    pub(crate) quic: bool,
    /// The page is one of rrul's own: its hosts prove themselves by nothing, and it says itself when it is complete.
    pub(crate) own_page: bool,
    /// Value of `--host-resolver-rules`; names that it does not map are looked up as ever.
    pub(crate) resolver_rules: Option<String>,
}

/// A running browser with one empty page.
pub(crate) struct Browser {
    // Fields are dropped in this order: the processes must be gone before their profile.
    devtools: DevTools,
    process: Process,
    profile: Profile,
    product: String,
    session: String,
    frame: String,
    own_page: bool,
}

impl Browser {
    /// Starts a browser and opens an empty page in it.
    ///
    /// # Errors
    /// When it does not get there within 20 s, or `end` is stopped.
    pub(crate) fn start(program: &Path, options: &BrowserOptions, end: &Endpoint) -> Result<Self, BrowserError> {
        let failed = |what: &str| {
            let what = what.to_owned();
            move |error: std::io::Error| BrowserError::Start(format!("{what}: {error}"))
        };
        let profile = Profile::new().map_err(failed("cannot make a folder for the browser's profile"))?;
        let arguments = arguments(&profile, options);
        let (process, to, from) =
            Process::start(program, &arguments, &profile).map_err(failed(&program.display().to_string()))?;
        let (product, session, frame) = Default::default();
        let own_page = options.own_page;
        let devtools = DevTools::new(to, from);
        let mut browser = Self { devtools, process, profile, product, session, frame, own_page };
        match browser.open_page(end) {
            Ok(()) => Ok(browser),
            Err(BrowserError::Gone(_)) => Err(BrowserError::Start(browser.why_it_ended(program))),
            Err(error) => Err(error),
        }
    }

    fn open_page(&mut self, end: &Endpoint) -> Result<(), BrowserError> {
        let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
        let version = self.ask("Browser.getVersion", &json!({}), STARTING, end)?;
        self.product = text(&version["product"]);
        let page = self.ask("Target.createTarget", &json!({ "url": "about:blank" }), STARTING, end)?;
        self.frame = text(&page["targetId"]);
        let attach = json!({ "targetId": self.frame, "flatten": true });
        self.session = text(&self.ask("Target.attachToTarget", &attach, STARTING, end)?["sessionId"]);
        for (method, parameters) in [
            ("Inspector.enable", json!({})),
            ("Page.enable", json!({})),
            ("Page.setLifecycleEventsEnabled", json!({ "enabled": true })),
            ("Network.enable", json!({})),
            ("Target.setAutoAttach", auto_attach()),
        ] {
            self.ask(method, &parameters, STARTING, end)?;
        }
        // A download would lie about on the user's disk; refused, it ends the load.
        self.ask("Browser.setDownloadBehavior", &json!({ "behavior": "deny" }), STARTING, end)?;
        Ok(())
    }

    /// Name and version, as it says them itself.
    pub(crate) fn product(&self) -> &str {
        &self.product
    }

    /// Processor time of its processes until now.
    pub(crate) fn processor_time(&mut self) -> ProcessorTime {
        self.process.processor_time()
    }

    /// Loads a page: follows its events until its load event has been handled and what was painted is known, until it
    /// has failed, or until `deadline`, when it ends as `late`. Meanwhile `each_second` receives the processor time of
    /// the browser.
    pub(crate) fn visit(
        &mut self,
        url: &str,
        (deadline, late): (RawTime, VisitEnd),
        end: &Endpoint,
        mut each_second: impl FnMut(ProcessorTime),
    ) -> PageVisit {
        let mut visit = PageVisit::new(&self.frame, RawTime::now());
        let navigating = match self.send("Page.navigate", &json!({ "url": url })) {
            Ok(id) => id,
            Err(error) => return visit.broken(&error),
        };
        let mut next_reading = RawTime::now();
        while !visit.is_over() {
            if RawTime::now() >= next_reading {
                each_second(self.process.processor_time());
                next_reading = RawTime::now().plus(READING);
            }
            let left = deadline.since(RawTime::now());
            let Some(left) = u64::try_from(left).ok().filter(|left| *left > 0) else {
                // A page that takes its time is one thing, a browser that hangs another.
                match self.ask("Browser.getVersion", &json!({}), ANSWERING, end) {
                    Ok(_) => visit.out_of_time(late.clone()),
                    Err(error) => return visit.broken(&error),
                }
                break;
            };
            match self.hear(Duration::from_nanos(left), end) {
                Ok(Some(message)) if message.id == Some(navigating) => visit.navigated(&message),
                Ok(Some(message)) => visit.event(&message),
                Ok(None) => {}
                Err(error) => return visit.broken(&error),
            }
        }
        if visit.is_loaded() {
            match self.timing(&mut visit, deadline, end) {
                Ok(timing) => visit.timed(&timing),
                // The load event of rrul's own pages does not wait for all that they consist of.
                Err(_) if self.own_page => visit.not_complete(late),
                // What another page says of itself is more than its load, which is complete without it.
                Err(_) => {}
            }
        }
        visit.finish(RawTime::now());
        visit
    }

    /// What the page's own timings say, once it has been painted.
    fn timing(&mut self, visit: &mut PageVisit, deadline: RawTime, end: &Endpoint) -> Result<Value, BrowserError> {
        let mut evaluate = json!({
            "expression": format!("({})({})", include_str!("browser/timing.js"), self.own_page),
            "awaitPromise": true,
            "returnByValue": true,
        });
        let mut patience = ANSWERING;
        if self.own_page {
            let left = u64::try_from(deadline.since(RawTime::now())).unwrap_or(0);
            patience = Duration::from_nanos(left);
        } else {
            // In a world of its own, where scripts of the page have changed nothing.
            let world = json!({ "frameId": self.frame, "worldName": "rrul" });
            let context =
                self.ask_while("Page.createIsolatedWorld", &world, patience, end, |event| visit.event(event))?;
            evaluate["contextId"] = context["executionContextId"].clone();
        }
        let answer = self.ask_while("Runtime.evaluate", &evaluate, patience, end, |event| visit.event(event))?;
        Ok(answer["result"]["value"].clone())
    }

    /// Asks and waits for the answer.
    fn ask(
        &mut self,
        method: &str,
        parameters: &Value,
        patience: Duration,
        end: &Endpoint,
    ) -> Result<Value, BrowserError> {
        self.ask_while(method, parameters, patience, end, |_| {})
    }

    /// The same, with what happens meanwhile.
    fn ask_while(
        &mut self,
        method: &str,
        parameters: &Value,
        patience: Duration,
        end: &Endpoint,
        mut meanwhile: impl FnMut(&Message),
    ) -> Result<Value, BrowserError> {
        let until = RawTime::now().plus(i64::try_from(patience.as_nanos()).unwrap_or(i64::MAX));
        let id = self.send(method, parameters)?;
        loop {
            let left = u64::try_from(until.since(RawTime::now())).unwrap_or(0);
            if left == 0 {
                return Err(BrowserError::Silent(patience));
            }
            match self.hear(Duration::from_nanos(left), end)? {
                Some(message) if message.id == Some(id) => {
                    return match message.error {
                        Some(error) => Err(BrowserError::Unreadable(format!("{method}: {error}"))),
                        None => Ok(message.result),
                    };
                }
                Some(message) => meanwhile(&message),
                None => {}
            }
        }
    }

    /// Sends a command: to the page where the command is about one, to the browser where it is not.
    fn send(&mut self, method: &str, parameters: &Value) -> Result<u64, BrowserError> {
        let page = !self.session.is_empty() && !method.starts_with("Browser.");
        let session = page.then_some(&*self.session);
        self.devtools.send(session, method, parameters)
    }

    /// The next message within a tenth of a second or `patience`; does what cannot wait for anybody.
    fn hear(&mut self, patience: Duration, end: &Endpoint) -> Result<Option<Message>, BrowserError> {
        if end.is_stopped() {
            return Err(BrowserError::Stopped);
        }
        let heard = match self.devtools.receive(patience.min(PATIENCE)) {
            Err(BrowserError::Gone(_)) => Err(BrowserError::Gone(self.process.end_in_words())),
            heard => heard,
        };
        if let Ok(Some(message)) = &heard {
            match message.method.as_str() {
                // Frames of other sites and workers have processes, and sessions, of their own.
                "Target.attachedToTarget" => self.attached(&message.params)?,
                // A dialog would hold the page until somebody presses a button.
                "Page.javascriptDialogOpening" => {
                    self.send("Page.handleJavaScriptDialog", &json!({ "accept": true }))?;
                }
                _ => {}
            }
        }
        heard
    }

    fn attached(&mut self, parameters: &Value) -> Result<(), BrowserError> {
        let session = parameters["sessionId"].as_str().unwrap_or_default();
        if session == self.session || session.is_empty() || self.session.is_empty() {
            return Ok(());
        }
        for (method, parameters) in [
            ("Network.enable", json!({})),
            ("Target.setAutoAttach", auto_attach()),
            ("Runtime.runIfWaitingForDebugger", json!({})),
        ] {
            self.devtools.send(Some(session), method, &parameters)?;
        }
        Ok(())
    }

    /// Why it ended before it answered.
    fn why_it_ended(&mut self, program: &Path) -> String {
        let end = self.process.end_in_words();
        let last_words = self.profile.last_words().map(|words| format!(": {words}")).unwrap_or_default();
        format!("{} ended as it started ({end}){last_words}", program.display())
    }
}

fn auto_attach() -> Value {
    json!({ "autoAttach": true, "waitForDebuggerOnStart": true, "flatten": true })
}

fn arguments(profile: &Profile, options: &BrowserOptions) -> Vec<String> {
    let mut arguments = vec![
        "--headless".to_owned(),
        "--remote-debugging-pipe".to_owned(),
        format!("--user-data-dir={}", profile.folder().display()),
        WINDOW.to_owned(),
    ];
    // What talks to others, asks the user, or is shared with other programs.
    let quiet = [
        "--disable-gpu",
        "--disable-dev-shm-usage",
        "--no-first-run",
        "--no-default-browser-check",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
        "--disable-default-apps",
        "--disable-extensions",
        "--disable-breakpad",
        "--mute-audio",
        // A proxy would be measured in place of the line.
        "--no-proxy-server",
    ];
    arguments.extend(quiet.map(str::to_owned));
    if process::is_root() {
        // The browser refuses to start as root with its sandbox.
        arguments.push("--no-sandbox".to_owned());
    }
    if !options.quic {
        arguments.push("--disable-quic".to_owned());
    }
    arguments.extend(options.resolver_rules.iter().map(|rules| format!("--host-resolver-rules={rules}")));
    if options.own_page {
        arguments.push("--ignore-certificate-errors".to_owned());
    }
    arguments.push("about:blank".to_owned());
    arguments
}
