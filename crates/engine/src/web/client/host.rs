//! The connections to one host of a page, as a browser keeps them: up to six for HTTP/1.1, each with one request at a time;
//! one for HTTP/2 and HTTP/3, with all of them.

use std::cell::{Cell, RefCell};
use std::collections::VecDeque;
use std::io;
use std::rc::Rc;

use quinn::Endpoint;
use rrul_model::observation::{ConnectionTotals, WebObject};
use rrul_model::page::HttpVersion;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};
use rrul_proto::session_name::SessionName;
use tokio::sync::{OnceCell, oneshot};

use super::Visitor;
use super::dial::{Counted, Dialled, Witness, dial};
use super::exchange::{Address, Progress, exchange};
use super::look_up::look_up;

/// Connections to one host over HTTP/1.1, in every browser.
const MOST_CONNECTIONS: usize = 6;

/// What came of asking a host for an object; dropped or failed on the way, it still says how far that came.
#[derive(Debug)]
pub(super) struct Asked {
    /// When the page wanted it.
    pub(super) wanted: TestTime,
    /// What the connection cost, where one had to be made for this object.
    lookup: Delay,
    connect: Delay,
    secure: Delay,
    connection: u32,
    version: Option<HttpVersion>,
    progress: Option<Progress>,
}

impl Asked {
    pub(super) fn at(wanted: TestTime) -> Self {
        let none = WebObject::NONE;
        Self { wanted, lookup: none, connect: none, secure: none, connection: 0, version: None, progress: None }
    }

    /// Whether it is there, and is what the page has: whatever else answers on the way is no such object.
    pub(super) fn complete(&self, octets: ByteCount) -> bool {
        self.progress.is_some_and(|progress| progress.whole && progress.status == 200 && progress.octets == octets.0)
    }

    /// The row, with what is so at `now`.
    pub(super) fn row(&self, visitor: &Visitor, load: u32, object: u16, outcome: u8, now: TestTime) -> WebObject {
        let none = WebObject::NONE;
        let known = |delay: Delay| if delay == none { 0 } else { delay.0 };
        let made = known(self.lookup) + known(self.connect) + known(self.secure);
        let sent = self.progress.map_or(now, |progress| progress.sent);
        let answered = self.progress.and_then(|progress| progress.answered);
        WebObject {
            flow: visitor.spec.id,
            load,
            object,
            outcome,
            status: self.progress.map_or(0, |progress| progress.status),
            protocol: self.version.map_or(0, HttpVersion::code),
            connection: self.connection,
            wanted: self.wanted,
            blocked: Delay((sent.since(self.wanted).0 - made).max(0)),
            lookup: self.lookup,
            connect: self.connect,
            secure: self.secure,
            send: self.progress.map_or(none, |_| Delay(0)),
            wait: self.progress.map_or(none, |progress| answered.unwrap_or(now).since(progress.sent)),
            receive: answered.map_or(none, |answered| now.since(answered)),
            octets: ByteCount(self.progress.map_or(0, |progress| progress.octets)),
        }
    }
}

/// One host in one load.
pub(super) struct Host {
    name: String,
    authority: String,
    version: HttpVersion,
    address: OnceCell<()>,
    /// HTTP/1.1: connections without a request, their number, and the requests that wait for one.
    idle: RefCell<Vec<Rc<Dialled>>>,
    open: Cell<usize>,
    waiting: RefCell<VecDeque<oneshot::Sender<Rc<Dialled>>>>,
    /// HTTP/2 and HTTP/3.
    shared: OnceCell<Rc<Dialled>>,
    /// Every connection that is fit for use, to take leave of.
    made: RefCell<Vec<Rc<Dialled>>>,
    /// Every connection begun, for its totals.
    begun: RefCell<Vec<Rc<Counted>>>,
    /// How often HTTP/2 took the place of HTTP/3.
    pub(super) fallbacks: Cell<u16>,
}

impl Host {
    /// The host of this number, not yet spoken to.
    pub(super) fn new(visitor: &Visitor, number: usize) -> Self {
        let host = &visitor.page.hosts[number];
        let name = SessionName { label: &host.name, flow: visitor.spec.id.0, token: visitor.token }.to_string();
        Self {
            authority: format!("{name}:{}", visitor.server.port()),
            name,
            version: visitor.version.unwrap_or(host.protocol),
            address: OnceCell::new(),
            idle: RefCell::default(),
            open: Cell::new(0),
            waiting: RefCell::default(),
            shared: OnceCell::new(),
            made: RefCell::default(),
            begun: RefCell::default(),
            fallbacks: Cell::new(0),
        }
    }

    pub(super) fn part(&self) {
        self.made.borrow().iter().for_each(|dialled| dialled.part());
    }

    /// What answers for its connections of QUIC until the other end has heard of their end.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        self.begun.borrow().iter().filter_map(|counted| counted.endpoint()).collect()
    }

    /// The outcome of its connections.
    pub(super) fn totals(&self, now: TestTime) -> Vec<ConnectionTotals> {
        self.begun.borrow().iter().filter_map(|counted| counted.totals(now)).collect()
    }

    /// Asks it for a path; what happens is noted in `asked`.
    pub(super) async fn ask(&self, visitor: &Visitor, path: &str, asked: &RefCell<Asked>) -> io::Result<()> {
        if self.version == HttpVersion::Http1 {
            let dialled = self.one_of_six(visitor, asked).await?;
            let outcome = self.exchange(visitor, &dialled, path, asked).await;
            match outcome {
                Ok(()) => self.hand_on(dialled),
                Err(_) => self.lose_one(),
            }
            outcome
        } else {
            let dialled = self.shared.get_or_try_init(|| self.dial(visitor, asked)).await?;
            self.exchange(visitor, dialled, path, asked).await
        }
    }

    async fn exchange(
        &self,
        visitor: &Visitor,
        dialled: &Dialled,
        path: &str,
        asked: &RefCell<Asked>,
    ) -> io::Result<()> {
        {
            let mut asked = asked.borrow_mut();
            asked.connection = dialled.opened.connection;
            asked.version = Some(dialled.version);
        }
        let secure = visitor.page.secure || dialled.version != HttpVersion::Http1;
        let scheme = if secure { "https" } else { "http" };
        let address = Address { scheme, authority: &self.authority, path };
        let report = |progress: Progress| asked.borrow_mut().progress = Some(progress);
        let channel = dialled.channel().ok_or(io::ErrorKind::NotConnected)?;
        exchange(&channel, address, visitor.clock, &report).await
    }

    /// A connection that no other request uses: an idle one, a new one, or the next that becomes free.
    async fn one_of_six(&self, visitor: &Visitor, asked: &RefCell<Asked>) -> io::Result<Rc<Dialled>> {
        loop {
            if let Some(dialled) = self.idle.borrow_mut().pop() {
                return Ok(dialled);
            }
            if self.open.get() < MOST_CONNECTIONS {
                self.open.set(self.open.get() + 1);
                let dialled = self.dial(visitor, asked).await;
                if dialled.is_err() {
                    self.lose_one();
                }
                return dialled;
            }
            let (promise, receiver) = oneshot::channel();
            self.waiting.borrow_mut().push_back(promise);
            if let Ok(dialled) = receiver.await {
                return Ok(dialled);
            }
        }
    }

    /// Gives a connection to the request that waits longest, or keeps it.
    fn hand_on(&self, mut dialled: Rc<Dialled>) {
        loop {
            let Some(promise) = self.waiting.borrow_mut().pop_front() else { break };
            match promise.send(dialled) {
                Ok(()) => return,
                Err(back) => dialled = back,
            }
        }
        self.idle.borrow_mut().push(dialled);
    }

    /// A connection has broken, or could not be made: the request that waits longest may make another.
    fn lose_one(&self) {
        self.open.set(self.open.get().saturating_sub(1));
        drop(self.waiting.borrow_mut().pop_front());
    }

    async fn dial(&self, visitor: &Visitor, asked: &RefCell<Asked>) -> io::Result<Rc<Dialled>> {
        let begun = visitor.clock.now();
        let known = self.address.initialized();
        self.address.get_or_try_init(|| look_up(visitor, &self.name)).await?;
        if !known {
            asked.borrow_mut().lookup = visitor.clock.now().since(begun);
        }
        let witness = Beginning { asked, begun: &self.begun };
        let (dialled, fell_back) = dial(visitor, &self.name, self.version, &witness).await?;
        if fell_back {
            self.fallbacks.set(self.fallbacks.get().saturating_add(1));
        }
        let dialled = Rc::new(dialled);
        self.made.borrow_mut().push(Rc::clone(&dialled));
        let mut asked = asked.borrow_mut();
        (asked.connect, asked.secure) = (dialled.connect, dialled.secure);
        Ok(dialled)
    }
}

/// Notes what is known of a connection before it is fit for use.
struct Beginning<'a> {
    asked: &'a RefCell<Asked>,
    begun: &'a RefCell<Vec<Rc<Counted>>>,
}

impl Witness for Beginning<'_> {
    fn opens(&self, counted: Rc<Counted>) {
        self.begun.borrow_mut().push(counted);
    }

    fn connected(&self, took: Delay) {
        self.asked.borrow_mut().connect = took;
    }
}
