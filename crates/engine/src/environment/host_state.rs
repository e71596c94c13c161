//! This host at this moment, as far as it concerns packets to certain others.

use rrul_model::environment::{HostState, Interface};

use super::routes::{self, AddressPair};
use super::{byte_queue_limits, ethtool, interfaces, kernel_counters, machine, queue_disciplines, wireless};
use crate::netlink::{self, Netlink};

/// How much of a host is reported.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Extent {
    /// What packets pass, and a little of every other interface.
    Whole,
    /// What packets pass, and nothing else: a stranger needs no more.
    InUse,
}

/// Interfaces reported in full, and briefly.
const MOST_IN_USE: usize = 8;
const MOST_OTHERS: usize = 64;

/// Reads the state. Takes some milliseconds; what the system does not report is left out.
pub fn read_state(pairs: &[AddressPair], extent: Extent) -> HostState {
    let mut state = HostState {
        load_average: machine::load_average(),
        core_frequencies: machine::core_frequencies(),
        kernel_counters: kernel_counters::read(),
        ..HostState::default()
    };
    if let Ok(mut netlink) = Netlink::open(netlink::ROUTE) {
        state.routes = pairs.iter().filter_map(|pair| routes::look_up(&mut netlink, pair).ok()).collect();
        let all = interfaces::all(&mut netlink).unwrap_or_default();
        let (used, others) = sorted_out(all, &state.routed_interfaces());
        let described_others = if extent == Extent::Whole { MOST_OTHERS } else { 0 };
        if extent == Extent::Whole {
            state.interfaces_left_out = others.len().saturating_sub(MOST_OTHERS) as u32;
        }
        state.interfaces_left_out += used.len().saturating_sub(MOST_IN_USE) as u32;
        state.interfaces = used.into_iter().take(MOST_IN_USE).collect();
        describe(&mut netlink, &mut state.interfaces);
        state.interfaces.extend(others.into_iter().take(described_others).map(interfaces::briefly));
    }
    state
}

fn sorted_out(mut all: Vec<Interface>, routed: &[u32]) -> (Vec<Interface>, Vec<Interface>) {
    interfaces::mark_in_use(&mut all, routed);
    // Those of routes first: they are reported in any case.
    all.sort_by_key(|interface| !routed.contains(&interface.index));
    all.into_iter().partition(|interface| interface.in_use)
}

fn describe(netlink: &mut Netlink, used: &mut [Interface]) {
    for interface in used.iter_mut() {
        ethtool::fill(interface);
        let queues = interface.transmit_queues.unwrap_or_default();
        interface.byte_queue_limits = byte_queue_limits::read(&interface.name, interface.index, queues);
    }
    let mut used: Vec<&mut Interface> = used.iter_mut().collect();
    // Where the kernel does not report its queue disciplines the interfaces have none.
    let _ = queue_disciplines::fill(netlink, &mut used);
    wireless::fill(&mut used);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_sees_only_the_interfaces_that_his_packets_pass() {
        let pairs = [AddressPair { from: None, to: "127.0.0.1:7785".parse().unwrap() }];
        let whole = read_state(&pairs, Extent::Whole);
        let in_use = read_state(&pairs, Extent::InUse);
        let kinds: Vec<&str> = in_use.interfaces.iter().map(|interface| interface.kind.as_str()).collect();
        assert_eq!(kinds, ["loopback"]);
        assert_eq!(in_use.routes, whole.routes);
        assert_eq!(in_use.interfaces_in_use().count(), 1);
        assert!(whole.interfaces.len() >= in_use.interfaces.len());
        let other = whole.interfaces.iter().find(|interface| !interface.in_use);
        assert!(other.is_none_or(|other| other.offloads.is_empty() && other.queue_disciplines.is_empty()));
        assert!(!in_use.interfaces[0].offloads.is_empty());
    }
}
