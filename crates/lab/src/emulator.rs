//! The threads that carry packets: one a direction, between the two TUN devices, through a pipe.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsFd;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::{Builder, JoinHandle};

use rrul_model::flow::Direction;

use crate::clock;
use crate::error::Error;
use crate::link::LinkDirection;
use crate::pipe::{Outcome, Pipe};
use crate::queue::MTU;
use crate::record::Record;
use crate::truth_log::TruthLog;
use crate::tun::Tun;

/// Packets read in a row before what is due is delivered: at 1 microsecond each, less than a lateness worth noting.
const READ_BATCH: usize = 32;

/// How long before a delivery a lane wakes up to await it awake, in nanoseconds: about what a timer is late by.
const SPIN: u64 = 60_000;

/// It does so only after waits of this many nanoseconds, so that spinning takes at most 6% of a processor.
const LONG_WAIT: u64 = 1_000_000;

/// What a lane is asked to do.
enum Order {
    Set(Box<LinkDirection>, Sender<()>),
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

/// One direction's thread, seen from outside. Dropping it ends the thread.
#[derive(Debug)]
pub(crate) struct Lane {
    name: &'static str,
    orders: Sender<Order>,
    wake: PipeWriter,
    thread: Option<JoinHandle<()>>,
}

impl Lane {
    /// Starts to carry packets from one device to the other.
    pub(crate) fn start(
        direction: Direction,
        settings: &LinkDirection,
        seed: u64,
        from: Arc<Tun>,
        to: Arc<Tun>,
    ) -> Result<Self, Error> {
        let (orders, ordered) = channel();
        let (woken, wake) = std::io::pipe().map_err(Error::io("cannot make a pipe"))?;
        let settings = settings.clone();
        let carry = move || Carrier::new(&settings, seed, from, to, ordered, woken).run();
        let thread = Builder::new().name(format!("lab-{direction}")).spawn(carry);
        let thread = Some(thread.map_err(Error::io("cannot start a thread"))?);
        Ok(Self { name: direction.name(), orders, wake, thread })
    }

    /// Changes the settings; they are in force when this returns.
    pub(crate) fn set(&self, settings: &LinkDirection) -> Result<(), Error> {
        self.ask(|answer| Order::Set(Box::new(settings.clone()), answer))
    }

    /// Everything logged so far.
    pub(crate) fn report(&self) -> Result<LaneReport, Error> {
        self.ask(Order::Report)
    }

    fn ask<T>(&self, order: impl FnOnce(Sender<T>) -> Order) -> Result<T, Error> {
        let stopped = || Error::Stopped { thread: self.name };
        let (answer, answered) = channel();
        self.give(order(answer)).ok_or_else(stopped)?;
        answered.recv().map_err(|_| stopped())
    }

    /// Leaves an order and wakes the thread; `None` when it has ended.
    fn give(&self, order: Order) -> Option<()> {
        self.orders.send(order).ok()?;
        (&self.wake).write_all(&[0]).ok()
    }
}

impl Drop for Lane {
    fn drop(&mut self) {
        // If the thread has already ended there is nobody to stop.
        let _ = self.give(Order::Stop);
        if let Some(thread) = self.thread.take() {
            let _ = thread.join();
        }
    }
}

/// The thread's own side.
struct Carrier {
    from: Arc<Tun>,
    to: Arc<Tun>,
    pipe: Pipe,
    log: TruthLog,
    refused: u64,
    realtime: bool,
    ordered: Receiver<Order>,
    woken: PipeReader,
}

impl Carrier {
    fn new(
        settings: &LinkDirection,
        seed: u64,
        from: Arc<Tun>,
        to: Arc<Tun>,
        ordered: Receiver<Order>,
        woken: PipeReader,
    ) -> Self {
        let realtime = clock::be_realtime(clock::LAB_PRIORITY);
        let pipe = Pipe::new(settings, seed, clock::now());
        Self { from, to, pipe, log: TruthLog::new(), refused: 0, realtime, ordered, woken }
    }

    fn run(mut self) {
        let mut spin = false;
        while self.obey() {
            let more = self.read();
            self.deliver();
            let wait = self.until_next_event();
            let close = wait.is_some_and(|wait| wait == 0 || spin && wait <= SPIN);
            if !more && !close {
                spin = wait.is_some_and(|wait| wait >= LONG_WAIT);
                let timeout = wait.map(|wait| if spin { wait - SPIN } else { wait });
                let [_, woken] = clock::wait_readable([self.from.as_fd(), self.woken.as_fd()], timeout);
                if woken {
                    // One read empties more wakes than anyone leaves at once; what stays wakes again.
                    let _ = self.woken.read(&mut [0; 64]);
                }
            }
        }
    }

    /// Carries out what was ordered; false when that was to stop.
    fn obey(&mut self) -> bool {
        // Whoever asked may have given up waiting for the answer; that is his to decide.
        while let Ok(order) = self.ordered.try_recv() {
            match order {
                Order::Set(settings, done) => {
                    self.pipe.set(&settings, clock::now());
                    let _ = done.send(());
                }
                Order::Report(answer) => {
                    self.deliver();
                    let (chunks, forgotten) = self.log.snapshot();
                    let (refused, realtime) = (self.refused, self.realtime);
                    let _ = answer.send(LaneReport { chunks, forgotten, refused, realtime });
                }
                Order::Stop => return false,
            }
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

    /// Nanoseconds until the pipe has something to deliver.
    fn until_next_event(&self) -> Option<u64> {
        Some(self.pipe.next_event()?.since(clock::now()))
    }
}
