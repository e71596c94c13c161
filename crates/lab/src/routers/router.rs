//! What the routers of a path answer to the packets of one direction.

use std::collections::HashMap;
use std::net::IpAddr;

use rrul_model::flow::AddressFamily;

use crate::link::path::Path;
use crate::routers::icmp;
use crate::routers::icmp::{Damage, Notice};
use crate::time::{LabTime, nanoseconds};
use rrul_model::random::Random;

/// The TTL that routers give their answers, as Linux does.
const TTL: u8 = 64;

/// An answer on its way back: a packet for the pipe of the other direction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RouterAnswer {
    /// The router's number from the client.
    pub(crate) hop: u8,
    /// When it leaves the router.
    pub(crate) due: LabTime,
    pub(crate) octets: Vec<u8>,
}

/// The routers, as one direction meets them.
///
/// The receivers of answers are never the same in both directions, so that what one router remembers of each is its
/// own.
#[derive(Debug)]
pub(crate) struct Routers {
    path: Option<Path>,
    random: Random,
    /// When each router last answered each address, where it minds.
    answered: HashMap<(u8, IpAddr), LabTime>,
    /// How many answers each router has damaged.
    damaged: HashMap<u8, usize>,
    number: u16,
}

impl Routers {
    pub(crate) fn new(path: Option<&Path>, seed: u64) -> Self {
        let random = Random::new(seed, "routers");
        Self { path: path.cloned(), random, answered: HashMap::new(), damaged: HashMap::new(), number: 0 }
    }

    /// Takes over new settings; what each remembers stays.
    pub(crate) fn set(&mut self, path: Option<&Path>) {
        self.path = path.cloned();
    }

    /// What router `hop`, which has `forwarded` others before it, answers to a packet that reached it at `now`; `packet`
    /// is as it came there.
    pub(crate) fn answer(
        &mut self,
        hop: u8,
        forwarded: u8,
        notice: Notice,
        packet: &[u8],
        now: LabTime,
    ) -> Option<RouterAnswer> {
        let path = self.path.as_ref().filter(|path| hop <= path.hops && !path.silent.contains(&hop))?;
        let to = icmp::answerable_source(packet)?;
        if notice == Notice::TimeExceeded {
            if let Some(every) = path.rate_limited.get(&hop) {
                let last = self.answered.get(&(hop, to));
                if last.is_some_and(|last| now < last.after(*every)) {
                    return None;
                }
                self.answered.insert((hop, to), now);
            }
        } else if !icmp::must_not_be_cut(packet) {
            return None;
        }
        let damage = path.garbage.contains(&hop).then(|| {
            let count = self.damaged.entry(hop).or_default();
            *count += 1;
            Damage::ALL[(*count - 1) % Damage::ALL.len()]
        });
        let extra = path.slow.get(&hop).map_or(0, |up_to| self.random.up_to(nanoseconds(*up_to)));
        self.number = self.number.wrapping_add(1);
        let answer = icmp::Answer {
            notice,
            router: path.address(AddressFamily::from_address(to), hop),
            ttl: TTL.saturating_sub(forwarded),
            number: self.number,
            short_quote: path.short_quotes.contains(&hop),
            damage,
        };
        let octets = icmp::write(&answer, packet, to, &mut self.random);
        Some(RouterAnswer { hop, due: LabTime(now.0.saturating_add(extra)), octets })
    }
}

#[cfg(test)]
#[path = "router_tests.rs"]
mod tests;
