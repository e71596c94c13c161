//! How this host fares while it measures: what it drops, where it is held back, how much lies in its own queues.
//!
//! Read by the sampler's thread, never by one that measures. Once a second: the cores' backlogs, the control group, drops at
//! the test's sockets, counters of interfaces. Ten times a second: root queue disciplines, as a queue comes and goes; less
//! often on a host with so many that this would take more than half a percent of a core.

mod control_group;
mod softnet;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, PoisonError, Weak};

use rrul_model::environment::{HostState, Interface};
use rrul_model::flow::FlowId;
use rrul_model::observation::{InterfaceCount, Observation, QueueCount, SocketDrops};
use rrul_model::time::TestTime;
use socket2::Socket;

use crate::clock::test_clock::TestClock;
use crate::environment::{interfaces, queue_disciplines};
use crate::netlink::{self, Netlink};
use crate::processor_time;
use crate::socket::drops;
use control_group::ControlGroup;

/// Root queue disciplines are read this often,
const QUEUE_INTERVAL: i64 = 100_000_000;
/// unless one reading takes more than this part of the interval.
const QUEUE_SHARE: i64 = 200;

/// Sockets that may still be added.
const SOCKETS: usize = 64;

/// What is to be read, beside what concerns the whole host.
#[derive(Debug, Default)]
pub struct HostHealth(Mutex<Watched>);

#[derive(Debug, Default)]
struct Watched {
    interfaces: Vec<u32>,
    queues: Vec<u32>,
    sockets: Vec<(FlowId, Weak<Socket>)>,
}

impl HostHealth {
    /// Counts what passes the interfaces of this state's routes, and watches the queues of all that packets pass.
    pub fn watch_interfaces(&self, state: &HostState) {
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.interfaces = state.routed_interfaces();
        let queues = |interface: &&Interface| {
            let root = interface.queue_disciplines.iter().find(|entry| entry.parent == "root");
            root.is_some_and(|root| root.kind != "noqueue")
        };
        let queued = state.interfaces_in_use().filter(queues);
        watched.queues = queued.map(|interface| interface.index).collect();
    }

    /// Counts what the kernel drops at a socket on which packets of a test arrive, for as long as the socket is kept; several
    /// of one flow are summed.
    pub fn watch_socket(&self, flow: FlowId, socket: &Arc<Socket>) {
        let socket = Arc::downgrade(socket);
        self.0.lock().unwrap_or_else(PoisonError::into_inner).sockets.push((flow, socket));
    }

    /// As [`HostHealth::watch_socket`] for a socket that its owner does not share: by a second descriptor, for as long as what
    /// this returns is kept. `None` without a free descriptor; then drops stay unknown.
    pub fn watch_while_kept(&self, flow: FlowId, socket: &Socket) -> Option<Arc<Socket>> {
        let socket = Arc::new(socket.try_clone().ok()?);
        self.watch_socket(flow, &socket);
        Some(socket)
    }

    /// Watches the interfaces and queues that these watch, and no others.
    pub(crate) fn watch_those_of<'a>(&self, others: impl Iterator<Item = &'a Self>) {
        let (mut interfaces, mut queues) = (BTreeSet::new(), BTreeSet::new());
        for other in others {
            let watched = other.0.lock().unwrap_or_else(PoisonError::into_inner);
            interfaces.extend(&watched.interfaces);
            queues.extend(&watched.queues);
        }
        let mut watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        watched.interfaces = interfaces.into_iter().collect();
        watched.queues = queues.into_iter().collect();
    }

    /// Whether a row that was read for several concerns what this one watches.
    pub(crate) fn watches(&self, row: &Observation) -> bool {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        match row {
            Observation::InterfaceCount(row) => watched.interfaces.contains(&row.interface),
            Observation::QueueCount(row) => watched.queues.contains(&row.interface),
            _ => true,
        }
    }

    /// Rows that are noted in so many seconds, at most.
    pub(crate) fn rows_in(&self, seconds: f64) -> usize {
        let watched = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        let cores = std::thread::available_parallelism().map_or(1, std::num::NonZero::get);
        // Cores twice, as more may be at work than this process may use; process, control group and clock beside them.
        let each_second = 4 * cores + watched.interfaces.len() + SOCKETS.max(watched.sockets.len()) + 8;
        let queues = 10 * watched.queues.len();
        ((each_second + queues) as f64 * seconds).ceil() as usize
    }

    /// Whoever reads, from now on.
    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader {
            health: self,
            netlink: Netlink::open(netlink::ROUTE).ok(),
            control_group: ControlGroup::of_this_process(),
            queues_due: i64::MIN,
        }
    }
}

/// Reads everything, on the sampler's thread.
pub(crate) struct Reader<'a> {
    health: &'a HostHealth,
    netlink: Option<Netlink>,
    control_group: Option<ControlGroup>,
    queues_due: i64,
}

impl Reader<'_> {
    /// What is read ten times a second; to be called as often or more.
    pub(crate) fn often(&mut self, clock: TestClock, mut note: impl FnMut(Observation)) {
        let before = clock.now();
        let Some(netlink) = self.netlink.as_mut().filter(|_| before.0 >= self.queues_due) else { return };
        let queues = self.health.0.lock().unwrap_or_else(PoisonError::into_inner).queues.clone();
        if queues.is_empty() {
            return;
        }
        // An answer that does not come is missing, and may come the next time.
        let found = queue_disciplines::root_counters(netlink, &queues).unwrap_or_default();
        let after = clock.now();
        for (interface, counters) in found {
            let row = QueueCount {
                interface,
                at: after,
                backlog_octets: counters.backlog_octets as u32,
                backlog_packets: counters.backlog_packets as u32,
                dropped: counters.dropped as u32,
                requeued: counters.requeued as u32,
            };
            note(row.into());
        }
        let next = before.0.div_euclid(QUEUE_INTERVAL).saturating_add(1).saturating_mul(QUEUE_INTERVAL);
        self.queues_due = next.max(after.0.saturating_add(after.since(before).0.saturating_mul(QUEUE_SHARE)));
    }

    /// What is read once a second.
    pub(crate) fn each_second(&mut self, clock: TestClock, mut note: impl FnMut(Observation)) {
        let now = clock.now();
        for row in processor_time::cores(now) {
            note(row.into());
        }
        note(processor_time::process(now).into());
        for row in softnet::cores(now) {
            note(row.into());
        }
        if let Some(row) = self.control_group.as_ref().and_then(|group| group.read(now)) {
            note(row.into());
        }
        let mut watched = self.health.0.lock().unwrap_or_else(PoisonError::into_inner);
        for row in socket_drops(&watched.sockets, now) {
            note(row.into());
        }
        if let Some(netlink) = &mut self.netlink {
            watched.interfaces.retain(|interface| {
                let Ok(counters) = interfaces::counters(netlink, *interface) else { return false };
                let row = InterfaceCount {
                    interface: *interface,
                    at: clock.now(),
                    received_octets: counters.received_octets,
                    received_packets: counters.received_packets,
                    received_dropped: counters.received_dropped.saturating_add(counters.received_missed),
                    sent_octets: counters.sent_octets,
                    sent_packets: counters.sent_packets,
                    sent_dropped: counters.sent_dropped,
                };
                note(row.into());
                true
            });
        }
    }
}

fn socket_drops(sockets: &[(FlowId, Weak<Socket>)], at: TestTime) -> Vec<SocketDrops> {
    let mut sums: BTreeMap<FlowId, u32> = BTreeMap::new();
    for (flow, socket) in sockets {
        if let Some(dropped) = socket.upgrade().and_then(|socket| drops::read(&*socket)) {
            let sum = sums.entry(*flow).or_default();
            *sum = sum.wrapping_add(dropped);
        }
    }
    sums.into_iter().map(|(flow, dropped)| SocketDrops { flow, at, dropped }).collect()
}

#[cfg(test)]
#[path = "host_health/tests.rs"]
mod tests;
