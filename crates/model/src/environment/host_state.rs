//! What changes while a host runs: read before a test and after it.

use std::collections::BTreeMap;
use std::net::IpAddr;

use serde::{Deserialize, Serialize};

use super::Interface;
use crate::flow::AddressFamily;

/// A host at one moment. Counters are cumulative, so that of two moments the difference says what happened.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HostState {
    /// Mean length of the run queue over 1, 5 and 15 minutes, hundredths (proc(5), /proc/loadavg).
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub load_average: Vec<u32>,
    /// Present frequency of each core, kHz; empty where the kernel does not say.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub core_frequencies: Vec<u32>,
    /// The ways to the other host, one a family.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub routes: Vec<Route>,
    /// Network interfaces: those that packets to the other host pass first, with all that is known of them; of the
    /// others a little.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub interfaces: Vec<Interface>,
    /// Interfaces that are not described, because they are very many.
    #[serde(skip_serializing_if = "is_zero")]
    pub interfaces_left_out: u32,
    /// Counters of the kernel's network stack, by name (`TcpExt.ListenDrops`, ...; /proc/net/netstat, snmp, snmp6).
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub kernel_counters: BTreeMap<String, u64>,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde asks for a reference")]
fn is_zero(count: &u32) -> bool {
    *count == 0
}

impl HostState {
    pub fn is_empty(&self) -> bool {
        *self == Self::default()
    }

    pub fn interface(&self, index: u32) -> Option<&Interface> {
        self.interfaces.iter().find(|interface| interface.index == index)
    }

    /// The interfaces that packets to the other host pass: those of its routes, and those below them.
    pub fn interfaces_in_use(&self) -> impl Iterator<Item = &Interface> {
        self.interfaces.iter().filter(|interface| interface.in_use)
    }

    /// The interfaces of its routes themselves, each once: what packets to the other host are counted at first.
    pub fn routed_interfaces(&self) -> Vec<u32> {
        let mut indexes: Vec<u32> = self.routes.iter().map(|route| route.interface).collect();
        indexes.sort_unstable();
        indexes.dedup();
        indexes
    }
}

/// How packets get to the other host, by the kernel's own lookup.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Route {
    pub family: AddressFamily,
    /// Index of the interface that they leave by.
    pub interface: u32,
    /// The address that they leave from; `None` when the privacy switch is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub source: Option<IpAddr>,
    /// The address that they are sent to; `None` when the privacy switch is on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub destination: Option<IpAddr>,
    /// Whether a gateway lies between: the other host is not on the same link.
    pub gateway: bool,
    /// Largest packet that the kernel believes in on this way, bytes; `None` where it knows of no limit but the
    /// interface's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub mtu: Option<u32>,
    /// Whether the other host sees this one under another address: something on the way translates (RFC 3022).
    /// `None` when that is not known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub translated: Option<bool>,
}
