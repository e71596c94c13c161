//! The tree of queue disciplines of an interface, with its counters (rtnetlink: RTM_GETQDISC, RTM_GETTCLASS).

use std::collections::BTreeMap;
use std::io;

use rrul_model::environment::{Interface, QueueDiscipline, TrafficClass, TrafficCounters};

use super::queue_options;
use crate::netlink::attributes::Attributes;
use crate::netlink::message::{long_number, number};
use crate::netlink::{DUMP, Netlink};

/// Bytes of `struct tcmsg`.
const FIXED: usize = 20;

// rtnetlink.h and gen_stats.h.
const TCA_HW_OFFLOAD: u16 = 12;
const TCA_STATS_BASIC: u16 = 1;
const TCA_STATS_QUEUE: u16 = 3;
const TCA_STATS_APP: u16 = 4;
const TCA_STATS_PKT64: u16 = 8;

// pkt_sched.h.
const TC_H_ROOT: u32 = 0xffff_ffff;
const TC_H_INGRESS: u32 = 0xffff_fff1;

/// Kinds whose classes somebody made; the classes of others are their queues or flows.
const CLASSFUL: [&str; 5] = ["htb", "hfsc", "drr", "qfq", "cbq"];

/// Queue disciplines, and classes, reported of one interface: a card may have a thousand queues.
const MOST: usize = 64;

/// A queue discipline or class in the form of a message.
struct Entry<'a> {
    interface: u32,
    handle: u32,
    parent: u32,
    kind: String,
    attributes: Attributes<'a>,
}

/// Reads the trees of these interfaces into them.
pub(super) fn fill(netlink: &mut Netlink, interfaces: &mut [&mut Interface]) -> io::Result<()> {
    netlink.ask(libc::RTM_GETQDISC, DUMP, &[0; FIXED], &mut |_, content| {
        let Some(entry) = Entry::read(content) else { return };
        let owner = interfaces.iter_mut().find(|interface| interface.index == entry.interface);
        if let Some(interface) = owner.filter(|interface| interface.queue_disciplines.len() < MOST) {
            interface.queue_disciplines.push(entry.queue_discipline());
        }
    })?;
    for interface in interfaces {
        // The kernel reports the root first, and then by handle.
        let classful = |entry: &QueueDiscipline| CLASSFUL.contains(&entry.kind.as_str());
        if interface.queue_disciplines.iter().any(classful) {
            let classes = &mut interface.classes;
            netlink.ask(libc::RTM_GETTCLASS, DUMP, &about(interface.index), &mut |_, content| {
                let entry = Entry::read(content).filter(|entry| CLASSFUL.contains(&entry.kind.as_str()));
                if let Some(entry) = entry.filter(|_| classes.len() < MOST) {
                    classes.push(entry.class());
                }
            })?;
        }
    }
    Ok(())
}

/// The counters of the root queue disciplines of these interfaces, with the index of each.
///
/// All that the host has are asked for, as the kernel answers a question about one to everybody who listens to changes.
pub(crate) fn root_counters(netlink: &mut Netlink, interfaces: &[u32]) -> io::Result<Vec<(u32, TrafficCounters)>> {
    let mut found = Vec::with_capacity(interfaces.len());
    netlink.ask(libc::RTM_GETQDISC, DUMP, &[0; FIXED], &mut |_, content| {
        let place = |at| number(content, at);
        if place(12) == Some(TC_H_ROOT) && place(4).is_some_and(|interface| interfaces.contains(&interface)) {
            found.extend(Entry::read(content).map(|entry| (entry.interface, entry.counters())));
        }
    })?;
    Ok(found)
}

fn about(interface: u32) -> [u8; FIXED] {
    let mut content = [0; FIXED];
    content[4..8].copy_from_slice(&interface.to_ne_bytes());
    content
}

impl<'a> Entry<'a> {
    fn read(content: &'a [u8]) -> Option<Self> {
        let attributes = Attributes::behind(content, FIXED);
        let (interface, handle, parent) = (number(content, 4)?, number(content, 8)?, number(content, 12)?);
        Some(Self { interface, handle, parent, kind: attributes.text(libc::TCA_KIND)?, attributes })
    }

    fn counters(&self) -> TrafficCounters {
        let statistics = self.attributes.nested(libc::TCA_STATS2);
        let basic = statistics.get(TCA_STATS_BASIC).unwrap_or_default();
        let queue = statistics.get(TCA_STATS_QUEUE).unwrap_or_default();
        let small = |octets, at| number(octets, at).map_or(0, u64::from);
        TrafficCounters {
            octets: long_number(basic, 0).unwrap_or_default(),
            packets: statistics.number(TCA_STATS_PKT64).unwrap_or_else(|| small(basic, 8)),
            backlog_packets: small(queue, 0),
            backlog_octets: small(queue, 4),
            dropped: small(queue, 8),
            requeued: small(queue, 12),
            overlimits: small(queue, 16),
        }
    }

    fn options(&self) -> BTreeMap<String, i64> {
        queue_options::options(&self.kind, self.attributes.get(libc::TCA_OPTIONS).unwrap_or_default())
    }

    fn details(&self) -> BTreeMap<String, u64> {
        let statistics = self.attributes.nested(libc::TCA_STATS2);
        queue_options::details(&self.kind, statistics.get(TCA_STATS_APP).unwrap_or_default())
    }

    fn queue_discipline(&self) -> QueueDiscipline {
        let mut details = self.details();
        details.extend(queue_options::counted_among_options(
            &self.kind,
            self.attributes.get(libc::TCA_OPTIONS).unwrap_or_default(),
        ));
        QueueDiscipline {
            kind: self.kind.clone(),
            handle: format!("{:x}:", self.handle >> 16),
            parent: parent(self.parent),
            offloaded: self.attributes.number(TCA_HW_OFFLOAD).is_some_and(|offloaded| offloaded != 0),
            options: self.options(),
            counters: self.counters(),
            details,
        }
    }

    fn class(&self) -> TrafficClass {
        TrafficClass {
            kind: self.kind.clone(),
            handle: handle(self.handle),
            parent: parent(self.parent),
            options: queue_options::class_options(
                &self.kind,
                self.attributes.get(libc::TCA_OPTIONS).unwrap_or_default(),
            ),
            counters: self.counters(),
            details: queue_options::class_details(
                &self.kind,
                self.attributes.nested(libc::TCA_STATS2).get(TCA_STATS_APP).unwrap_or_default(),
            ),
        }
    }
}

/// As tc(8) writes it: both parts hexadecimal.
fn handle(handle: u32) -> String {
    format!("{:x}:{:x}", handle >> 16, handle & 0xffff)
}

fn parent(parent: u32) -> String {
    match parent {
        TC_H_ROOT => "root".to_owned(),
        TC_H_INGRESS => "ingress".to_owned(),
        other => handle(other),
    }
}

#[cfg(test)]
#[path = "queue_disciplines_tests.rs"]
mod tests;
