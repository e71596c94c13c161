//! The thread that serves every test of probes alone after its T0: a session costs what it has to send, and no thread.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::OwnedFd;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use rrul_proto::arrival_log::LoggedArrival;
use rustix::buffer::spare_capacity;
use rustix::event::Timespec;
use rustix::event::epoll::{self, CreateFlags, EventData, EventFlags};

use super::conversation::closed;
use super::light_session::LightSession;
use super::shared::Shared;
use crate::clock::RawTime;
use crate::control_link::LinkError;
use crate::endpoint::shared_sampler::SharedSampler;
use crate::endpoint::test_course::PATIENCE;
use crate::host_health::HostHealth;

/// The bell's number among the descriptors that are waited for; sessions have the others.
const BELL: u64 = 0;

/// Descriptors that are looked at in one round.
const EVENTS: usize = 256;

/// Starts the thread. It ends after the server has stopped, once its last session is closed.
pub(super) fn start(shared: &Arc<Shared>) -> io::Result<()> {
    let waiting = epoll::create(CreateFlags::CLOEXEC)?;
    epoll::add(&waiting, &shared.light, EventData::new_u64(BELL), EventFlags::IN)?;
    let shared = Arc::clone(shared);
    std::thread::Builder::new().name("light tests".to_owned()).spawn(move || run(&waiting, &shared)).map(drop)
}

/// A session, and what is waited for at its connection.
struct Served<'a> {
    session: LightSession<'a>,
    awaited: EventFlags,
}

fn run(waiting: &OwnedFd, shared: &Shared) {
    let health = HostHealth::default();
    shared.sockets.watched_by(&health);
    let mut sampler = SharedSampler::new(&health);
    let mut sessions: BTreeMap<u64, Served<'_>> = BTreeMap::new();
    let mut arrivals: Vec<LoggedArrival> = Vec::new();
    let mut events = Vec::with_capacity(EVENTS);
    let mut number = BELL;
    let mut due = None;
    while !(shared.is_stopped() && sessions.is_empty()) {
        if wait(waiting, &mut events, due).is_err() {
            // A wait that fails would fail again at once.
            std::thread::sleep(PATIENCE);
        }
        let now = RawTime::now();
        for event in events.drain(..) {
            let epoll::Event { flags, data } = event;
            let key = data.u64();
            let Some(served) = sessions.get_mut(&key) else { continue };
            match guarded(|| heed(&mut served.session, flags, now)) {
                Ok(true) => {}
                ended => close(&mut sessions, key, ended, shared),
            }
        }
        for test in shared.light.fetch() {
            number += 1;
            let peer = test.open.session.peer();
            let begun = LightSession::new(test, &sampler, shared).and_then(|session| {
                epoll::add(waiting, session.socket(), EventData::new_u64(number), EventFlags::IN)
                    .map_err(io::Error::from)?;
                Ok(Served { session, awaited: EventFlags::IN })
            });
            match begun {
                Ok(served) => {
                    sessions.insert(number, served);
                }
                Err(error) => closed(peer, Err(error), shared),
            }
        }
        if sessions.is_empty() {
            due = None;
            continue;
        }
        sampler.read(now, sessions.values().map(|served| served.session.health()));
        let mut ended = Vec::new();
        for (key, served) in &mut sessions {
            if now >= served.session.due(now) {
                match guarded(|| served.session.go_on(now, (&sampler, &mut arrivals), shared)) {
                    Ok(true) => {}
                    outcome => ended.push((*key, outcome)),
                }
            }
        }
        // One at a time: the others are not to wait for more than one reading of the host's state.
        if let Some((key, served)) = sessions.iter_mut().find(|(_, served)| served.session.is_finishing())
            && let Err(error) = guarded(|| served.session.finish(shared))
        {
            ended.push((*key, Err(error)));
        }
        for (key, outcome) in ended {
            close(&mut sessions, key, outcome, shared);
        }
        due = Some(await_next(waiting, &mut sessions, sampler.due()));
    }
}

/// Has a panic end the session in which it came up, and no other.
fn guarded<T>(work: impl FnOnce() -> Result<T, LinkError>) -> Result<T, LinkError> {
    // The session is dropped, and locks are taken whether they are poisoned or not.
    let outcome = catch_unwind(AssertUnwindSafe(work));
    outcome.unwrap_or_else(|_| Err(io::Error::other("this server has failed").into()))
}

/// Takes what has come on a session's connection; whether it goes on.
fn heed(session: &mut LightSession<'_>, flags: EventFlags, now: RawTime) -> Result<bool, LinkError> {
    if flags.contains(EventFlags::OUT) {
        session.flush()?;
    }
    if session.is_deaf(now) && flags.intersects(EventFlags::HUP | EventFlags::ERR) {
        return Err(LinkError::Closed);
    }
    session.hear(now)
}

fn close(sessions: &mut BTreeMap<u64, Served<'_>>, key: u64, outcome: Result<bool, LinkError>, shared: &Shared) {
    if let Some(served) = sessions.remove(&key) {
        served.session.count_rest(shared);
        closed(served.session.peer(), outcome.map(drop), shared);
    }
}

/// Has the kernel report what each session can take now; returns when the next thing is due.
fn await_next(waiting: &OwnedFd, sessions: &mut BTreeMap<u64, Served<'_>>, sampling: RawTime) -> RawTime {
    let now = RawTime::now();
    let mut due = sampling;
    for (key, Served { session, awaited }) in sessions {
        let mut wanted = EventFlags::empty();
        wanted.set(EventFlags::IN, !session.is_deaf(now));
        wanted.set(EventFlags::OUT, session.is_sending());
        if wanted != *awaited && epoll::modify(waiting, session.socket(), EventData::new_u64(*key), wanted).is_ok() {
            *awaited = wanted;
        }
        due = due.min(if session.is_finishing() { now } else { session.due(now) });
    }
    due
}

/// Waits until something comes, or until this time.
fn wait(waiting: &OwnedFd, events: &mut Vec<epoll::Event>, due: Option<RawTime>) -> rustix::io::Result<()> {
    let timeout = due.map(|due| {
        let left = due.since(RawTime::now()).max(0);
        Timespec { tv_sec: left / 1_000_000_000, tv_nsec: left % 1_000_000_000 }
    });
    match epoll::wait(waiting, spare_capacity(events), timeout.as_ref()) {
        Err(rustix::io::Errno::INTR) | Ok(_) => Ok(()),
        Err(error) => Err(error),
    }
}
