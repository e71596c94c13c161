//! One load of a page: every object as soon as the one that it hangs on is there, and the time to think has passed.

use std::cell::{Cell, RefCell};
use std::collections::{BTreeMap, HashMap};
use std::rc::Rc;
use std::time::Duration;

use rrul_model::observation::{ConnectionTotals, Observation, PageLoad, WebObject};
use rrul_model::page::Page;
use rrul_model::time::TestTime;
use rrul_model::units::ByteCount;
use tokio::sync::Notify;
use tokio::task::{LocalSet, spawn_local};
use tokio::time::{Instant, sleep, sleep_until, timeout, timeout_at};

use super::Visitor;
use super::host::{Asked, Host};

/// How long the first request for what is new may take when the next load is due.
const REFRESH_PATIENCE: Duration = Duration::from_secs(5);

/// How long connections are given to take leave.
const PARTING: Duration = Duration::from_millis(10);

/// Most time in which packets of a server are answered with the end of their QUIC connection (RFC 9000 section 10.2.1), when a
/// load has ended without all its objects: a server that has not heard of the end goes on sending them.
const FAREWELL: Duration = Duration::from_secs(1);

/// How often it is noted what connections have carried.
const COUNTING: Duration = Duration::from_millis(200);

/// When a load begins, and until when it may last.
#[derive(Debug, Clone, Copy)]
pub struct Times {
    /// When it was to begin.
    pub scheduled: TestTime,
    /// When it is given up.
    pub cap: TestTime,
    /// The end of the flow's window: a load that is not complete then has been cut off, not given up.
    pub window_end: TestTime,
    /// Until when the page goes on asking for what is new, once it is there: at least once.
    pub linger: TestTime,
}

/// Loads the page once; what was observed, until `stopped` ends if that is sooner.
///
/// `loaded` is called once the load itself is over.
pub async fn load(
    visitor: &Rc<Visitor>,
    number: u32,
    times: Times,
    stopped: impl Future<Output = ()>,
    loaded: impl FnOnce(),
) -> Vec<Observation> {
    let load = Rc::new(Load {
        visitor: Rc::clone(visitor),
        number,
        hosts: (0..visitor.page.hosts.len()).map(|host| Host::new(visitor, host)).collect(),
        rows: RefCell::default(),
        counts: RefCell::default(),
        in_flight: RefCell::default(),
        left: Cell::new(visitor.page.awaited().count()),
        settled: Cell::new(None),
        missing: Cell::new(false),
        changed: Notify::new(),
    });
    // Everything that is still on its way at the end goes with the set.
    let tasks = LocalSet::new();
    let observed = tasks.run_until(run(&load, times, stopped, loaded)).await;
    let owed = load.left.get() > 0;
    let endpoints = if owed { load.hosts.iter().flat_map(Host::endpoints).collect() } else { Vec::new() };
    // Connections of TCP end with their sockets.
    drop(tasks);
    drop(load);
    let farewell = async {
        for endpoint in endpoints {
            endpoint.wait_idle().await;
        }
    };
    let _ = timeout(FAREWELL, farewell).await;
    observed
}

/// A load under way.
struct Load {
    visitor: Rc<Visitor>,
    number: u32,
    hosts: Vec<Host>,
    rows: RefCell<Vec<WebObject>>,
    counts: RefCell<Vec<ConnectionTotals>>,
    in_flight: RefCell<BTreeMap<u16, Rc<RefCell<Asked>>>>,
    /// Objects that the load event still waits for.
    left: Cell<usize>,
    /// When the last of them was there, or was known not to come. A busy processor lets the load notice that later.
    settled: Cell<Option<TestTime>>,
    /// An object that the load event waits for could not be had.
    missing: Cell<bool>,
    changed: Notify,
}

async fn run(
    load: &Rc<Load>,
    times: Times,
    stopped: impl Future<Output = ()>,
    loaded: impl FnOnce(),
) -> Vec<Observation> {
    let mut stopped = std::pin::pin!(stopped);
    let clock = load.visitor.clock;
    let at =
        |time: TestTime| Instant::now() + Duration::from_nanos(u64::try_from(time.since(clock.now()).0).unwrap_or(0));
    let started = clock.now();
    spawn_local(Rc::clone(load).object(0));
    spawn_local(count_now_and_then(Rc::clone(load)));
    let of_all = |settled| (if load.missing.get() { PageLoad::FAILED } else { PageLoad::COMPLETE }, settled);
    let (outcome, ended) = tokio::select! {
        settled = load.ended() => of_all(settled),
        () = sleep_until(at(times.window_end)) => (PageLoad::CUT, clock.now()),
        () = sleep_until(at(times.cap)) => (PageLoad::CAPPED, clock.now()),
        () = &mut stopped => (PageLoad::CUT, clock.now()),
    };
    loaded();
    if outcome == PageLoad::COMPLETE {
        tokio::select! {
            () = load.refresh(at(times.linger), at(times.window_end)) => {}
            () = stopped => {}
        }
    }
    let now = clock.now();
    load.hosts.iter().for_each(Host::part);
    sleep(PARTING).await;
    let parted = clock.now();
    let visitor = &load.visitor;
    let mut observed: Vec<Observation> = load.rows.borrow().iter().map(|row| Observation::from(*row)).collect();
    for (object, asked) in load.in_flight.borrow().iter() {
        observed.push(asked.borrow().row(visitor, load.number, *object, WebObject::INCOMPLETE, now).into());
    }
    let fallbacks = load.hosts.iter().map(|host| host.fallbacks.get()).fold(0, u16::saturating_add);
    let row = PageLoad {
        flow: visitor.spec.id,
        load: load.number,
        scheduled: times.scheduled,
        started,
        outcome,
        took: ended.since(started),
        fallbacks,
    };
    observed.push(row.into());
    observed.extend(visitor.asked.borrow_mut().drain(..).map(Observation::from));
    let counts = load.counts.borrow();
    let totals = load.hosts.iter().flat_map(|host| host.totals(parted));
    observed.extend(counts.iter().copied().chain(totals).map(Observation::from));
    observed
}

/// Notes now and then what the connections have carried until then: while a page loads, it comes in bursts.
async fn count_now_and_then(load: Rc<Load>) {
    let mut last: HashMap<u32, ConnectionTotals> = HashMap::new();
    loop {
        sleep(COUNTING).await;
        let now = load.visitor.clock.now();
        for totals in load.hosts.iter().flat_map(|host| host.totals(now)) {
            let carried = |totals: &ConnectionTotals| (totals.sent_segments, totals.received_segments);
            let before = last.insert(totals.connection, totals);
            if before.is_none_or(|before| carried(&before) != carried(&totals)) {
                load.counts.borrow_mut().push(totals);
            }
        }
    }
}

impl Load {
    /// Waits for the load event, or until nothing is on its way that would bring it about; when that was.
    async fn ended(&self) -> TestTime {
        loop {
            if let Some(at) = self.settled.get() {
                return at;
            }
            self.changed.notified().await;
        }
    }

    /// Asks for an object once the time to think has passed, and then for those that hang on it.
    async fn object(self: Rc<Self>, number: usize) {
        let Some(object) = self.visitor.page.objects.get(number) else { return };
        if !object.think.is_zero() {
            sleep(object.think).await;
        }
        let path = format!("/{}/{number}", self.visitor.page.name);
        let (there, at) = self.fetch(number as u16, object.host, &path, object.octets).await;
        if there {
            for (child, _) in self.visitor.page.children(number) {
                spawn_local(Rc::clone(&self).object(child));
            }
        }
        let settled = if there { usize::from(!object.later) } else { awaited_with(&self.visitor.page, number) };
        if !there && settled > 0 {
            self.missing.set(true);
        }
        self.left.set(self.left.get().saturating_sub(settled));
        if self.left.get() == 0 && self.settled.get().is_none() {
            self.settled.set(Some(at));
        }
        self.changed.notify_one();
    }

    /// Asks a host for a path, and notes what came of it; whether that is what the page has, of this length, and when that was
    /// known.
    async fn fetch(&self, object: u16, host: usize, path: &str, octets: ByteCount) -> (bool, TestTime) {
        let clock = self.visitor.clock;
        let asked = Rc::new(RefCell::new(Asked::at(clock.now())));
        self.in_flight.borrow_mut().insert(object, Rc::clone(&asked));
        let Some(host) = self.hosts.get(host) else { return (false, clock.now()) };
        // Why it failed is in how far it came.
        let _ = host.ask(&self.visitor, path, &asked).await;
        self.in_flight.borrow_mut().remove(&object);
        let complete = asked.borrow().complete(octets);
        let outcome = if complete { WebObject::COMPLETE } else { WebObject::FAILED };
        let now = clock.now();
        let row = asked.borrow().row(&self.visitor, self.number, object, outcome, now);
        self.rows.borrow_mut().push(row);
        (complete, now)
    }

    /// Goes on as an open page does: asks for what is new, over an existing connection.
    ///
    /// Once in any case, even when the next load is due: else nothing would be known of it where loads take long.
    async fn refresh(&self, until: Instant, window_end: Instant) {
        let Some(refresh) = self.visitor.page.refresh.clone() else {
            sleep_until(until).await;
            return;
        };
        let path = format!("/{}/refresh", self.visitor.page.name);
        let mut due = Instant::now();
        for number in 0..Page::REFRESH {
            due += refresh.interval;
            let last = if number == 0 { until.max(due + REFRESH_PATIENCE) } else { until }.min(window_end);
            if due >= last {
                break;
            }
            sleep_until(due).await;
            // One that is not answered in time stands among those on their way.
            let asked = self.fetch(Page::REFRESH + number, refresh.host, &path, refresh.octets);
            if timeout_at(last, asked).await.is_err() {
                return;
            }
            due = due.max(Instant::now());
        }
        sleep_until(until).await;
    }
}

/// How many objects the load event will not wait for any longer when this one is unavailable: it, and all that hang on
/// it.
fn awaited_with(page: &Page, number: usize) -> usize {
    let below: usize = page.children(number).map(|(child, _)| awaited_with(page, child)).sum();
    below + usize::from(page.objects.get(number).is_some_and(|object| !object.later))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_hangs_on_an_object_that_failed_is_waited_for_no_longer() {
        for name in Page::NAMES {
            let page = Page::named(name).unwrap();
            assert_eq!(awaited_with(&page, 0), page.awaited().count());
            let last = page.objects.len() - 1;
            assert_eq!(awaited_with(&page, last), usize::from(!page.objects[last].later));
        }
    }
}
