//! The threads that carry packets: one a direction, between the two TUN devices, through a pipe. What a router answers to a
//! packet of one crosses to the other, with the time when it is due.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use rrul_model::flow::Direction;

use crate::clock;
use crate::error::Error;
use crate::line::counters::DirectionCounters;
use crate::line::pipe::{Outcome, Pipe};
use crate::line::virtual_link::seed_of;
use crate::link::Link;
use crate::link::shaper::Shaper;
use crate::queue::MTU;
use crate::routers::router::RouterAnswer;
use crate::truth::record::Record;
use crate::truth::truth_log::TruthLog;
use crate::tun::Tun;

/// Packets read in a row before what is due is delivered: at 1 microsecond each, less than a lateness worth noting.
const READ_BATCH: usize = 32;

/// How long before a delivery a lane wakes up to await it awake, in nanoseconds: about what a timer is late by.
const SPIN: u64 = 60_000;

/// It does so only after waits of this many nanoseconds, so that spinning takes at most 6% of a processor.
const LONG_WAIT: u64 = 1_000_000;

/// What a lane is asked to do.
enum Order {
    Set(Box<Link>, Sender<()>),
    SetShaper(Option<Box<Shaper>>, Sender<()>),
    Count(Sender<DirectionCounters>),
    /// To carry what a router answered to a packet of the other lane.
    Carry(RouterAnswer),
    Report(Sender<LaneReport>),
    Stop,
}

/// What a lane knows.
pub(crate) struct LaneReport {
    pub(crate) chunks: Vec<Arc<Vec<Record>>>,
    pub(crate) forgotten: u64,
    pub(crate) refused: u64,
    pub(crate) realtime: bool,
}

/// Where a lane is left its orders.
#[derive(Debug)]
struct Desk {
    orders: Sender<Order>,
    wake: PipeWriter,
}

/// Where a lane finds them.
struct Inbox {
    ordered: Receiver<Order>,
    woken: PipeReader,
}

impl Desk {
    fn new() -> Result<(Self, Inbox), Error> {
        let (orders, ordered) = channel();
        let (woken, wake) = std::io::pipe().map_err(Error::io("cannot make a pipe"))?;
        Ok((Self { orders, wake }, Inbox { ordered, woken }))
    }

    fn another(&self) -> Result<Self, Error> {
        let wake = self.wake.try_clone().map_err(Error::io("cannot make a pipe"))?;
        Ok(Self { orders: self.orders.clone(), wake })
    }

    /// Leaves orders and wakes the thread; `None` when it has ended.
    fn give(&self, orders: impl IntoIterator<Item = Order>) -> Option<()> {
        orders.into_iter().try_for_each(|order| self.orders.send(order)).ok()?;
        (&self.wake).write_all(&[0]).ok()
    }
}

/// One direction's thread, seen from outside. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Lane {
    name: &'static str,
    desk: Desk,
    thread: Option<JoinHandle<()>>,
}

impl Lane {
    /// Starts to carry packets between the two devices: the lane up, and that down.
    pub(crate) fn pair(link: &Link, seed: u64, client: &Arc<Tun>, server: &Arc<Tun>) -> Result<(Self, Self), Error> {
        let (up, up_inbox) = Desk::new()?;
        let (down, down_inbox) = Desk::new()?;
        let (to_up, to_down) = (up.another()?, down.another()?);
        let start = |direction: Direction, desk, inbox, other, from: &Arc<Tun>, to: &Arc<Tun>| -> Result<Self, Error> {
            let (link, from, to) = (link.clone(), Arc::clone(from), Arc::clone(to));
            let carry = move || {
                let realtime = clock::be_realtime(clock::LAB_PRIORITY);
                let pipe = Pipe::of_link(&link, direction, seed_of(direction, seed), clock::now());
                Carrier { direction, from, to, pipe, log: TruthLog::new(), refused: 0, realtime, inbox, other }.run();
            };
            let thread = Builder::new().name(format!("lab-{direction}")).spawn(carry);
            let thread = Some(thread.map_err(Error::io("cannot start a thread"))?);
            Ok(Self { name: direction.name(), desk, thread })
        };
        let up = start(Direction::Up, up, up_inbox, to_down, client, server)?;
        Ok((up, start(Direction::Down, down, down_inbox, to_up, server, client)?))
    }

    /// Changes the link; it is in force in this direction when this returns.
    pub(crate) fn set(&self, link: &Link) -> Result<(), Error> {
        self.ask(|answer| Order::Set(Box::new(link.clone()), answer))
    }

    /// Changes the shaper; it is in force when this returns.
    pub(crate) fn set_shaper(&self, shaper: Option<&Shaper>) -> Result<(), Error> {
        self.ask(|answer| Order::SetShaper(shaper.cloned().map(Box::new), answer))
    }

    /// Counters of the queues.
    pub(crate) fn counters(&self) -> Result<DirectionCounters, Error> {
        self.ask(Order::Count)
    }

    /// Everything logged so far.
    pub(crate) fn report(&self) -> Result<LaneReport, Error> {
        self.ask(Order::Report)
    }

    fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Result<T, Error> {
        let stopped = || Error::Stopped { thread: self.name };
        let (answer, answered) = channel();
        self.desk.give([order(answer)]).ok_or_else(stopped)?;
        answered.recv().map_err(|_| stopped())
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // If the thread has already ended nothing is left to stop.
        let _ = self.desk.give([Order::Stop]);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's own side.
struct Carrier {
    direction: Direction,
    from: Arc<Tun>,
    to: Arc<Tun>,
    pipe: Pipe,
    log: TruthLog,
    refused: u64,
    realtime: bool,
    inbox: Inbox,
    /// The other lane's.
    other: Desk,
}

impl Carrier {
    fn run(mut self) {
        let mut spin = false;
        while self.obey() {
            let more = self.read();
            self.deliver();
            self.pass_on();
            let wait = self.until_next_event();
            let close = wait.is_some_and(|wait| wait == 0 || spin && wait <= SPIN);
            if !more && !close {
                spin = wait.is_some_and(|wait| wait >= LONG_WAIT);
                let timeout = wait.map(|wait| if spin { wait - SPIN } else { wait });
                self.wait(timeout);
            }
        }
    }

    /// Waits for a packet or an order, for so many nanoseconds at most; takes away what has woken it.
    fn wait(&mut self, timeout: Option<u64>) {
        let [_, woken] = clock::wait_readable([self.from.as_fd(), self.inbox.woken.as_fd()], timeout);
        if woken {
            // One read empties more wakes than anyone leaves at once; what stays wakes again.
            let _ = self.inbox.woken.read(&mut [0; 4096]);
        }
    }

    /// Carries out what was ordered; false when that was to stop.
    fn obey(&mut self) -> bool {
        let mut obeyed = false;
        // Whoever asked may have given up waiting for the answer; that is his to decide.
        while let Ok(order) = self.inbox.ordered.try_recv() {
            obeyed = true;
            match order {
                Order::Set(link, done) => {
                    self.pipe.set(&link, self.direction, clock::now());
                    let _ = done.send(());
                }
                Order::SetShaper(shaper, done) => {
                    self.pipe.set_shaper(shaper.as_deref(), clock::now());
                    let _ = done.send(());
                }
                Order::Count(answer) => {
                    self.deliver();
                    let _ = answer.send(self.pipe.counters());
                }
                Order::Carry(answer) => self.pipe.take_in(answer),
                Order::Report(answer) => {
                    self.deliver();
                    let (chunks, forgotten) = self.log.snapshot();
                    let (refused, realtime) = (self.refused, self.realtime);
                    let _ = answer.send(LaneReport { chunks, forgotten, refused, realtime });
                }
                Order::Stop => return false,
            }
        }
        if obeyed {
            // A lane that never rests would let the wakes pile up, until whoever leaves one has to wait for it.
            self.wait(Some(0));
        }
        true
    }

    /// Takes what has come, up to a batch; true when there may be more.
    fn read(&mut self) -> bool {
        let mut octets = [0; MTU];
        for _ in 0..READ_BATCH {
            match self.from.receive(&mut octets) {
                Ok(Some(length)) => self.pipe.offer(&octets[..length], clock::now()),
                // An error means that the interface was taken down inside the namespace: nothing comes until it is up.
                Ok(None) | Err(_) => return false,
            }
        }
        true
    }

    /// Hands over what is due.
    fn deliver(&mut self) {
        let Self { pipe, to, log, refused, .. } = self;
        pipe.poll(clock::now(), |outcome| match outcome {
            Outcome::Delivered(octets, mut record) => {
                let due = record.delivery().expect("what is delivered has a time of delivery");
                record.lateness = u32::try_from(clock::now().since(due)).unwrap_or(u32::MAX);
                *refused += u64::from(to.send(octets).is_err());
                log.push(record);
            }
            Outcome::Lost(record) => log.push(record),
        });
    }

    /// Hands what routers have answered to the other lane, long before it is due unless that is now.
    fn pass_on(&mut self) {
        let answers = self.pipe.answers();
        if !answers.is_empty() {
            // The other lane has ended only when the lab is being taken down.
            let _ = self.other.give(answers.into_iter().map(Order::Carry));
        }
    }

    /// Nanoseconds until the pipe has something to deliver.
    fn until_next_event(&self) -> Option<u64> {
        Some(self.pipe.next_event()?.since(clock::now()))
    }
}
