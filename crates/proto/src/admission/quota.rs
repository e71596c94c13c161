//! How many tests and how much data each network may have of a server in an hour and a day, and all together.
//!
//! A provider of IPv6, a /32, has as much as 16 networks: it has 65,536 of them. One of IPv4 is not counted: a /16 has only 256
//! networks, and may have tens of thousands of customers.
//!
//! The bearer of a token, key or ticket that has a quota of its own is counted by itself, wherever it comes from.
//!
//! What was used is counted in steps of a minute and an hour, and forgotten when it is older than the hour or the day that the
//! limit names: at no time does a network have more than its limit in any hour or day before it.

use std::collections::HashMap;
use std::fmt;
use std::hash::Hash;
use std::net::IpAddr;
use std::time::Duration;

use serde::{Deserialize, Serialize};

use super::prefix::Prefix;
use super::quota_class::OwnQuota;
#[cfg(feature = "tickets")]
use super::quota_class::{BearerId, QuotaClass};

const MINUTE: u64 = 60;
const HOUR: u64 = 60 * MINUTE;
const DAY: u64 = 24 * HOUR;

/// Networks that are remembered, and bearers. Beyond that, those that have used least are forgotten.
const MOST_NETWORKS: usize = 65_536;

/// What each network, and what all together may use; 0 is no limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QuotaLimits {
    pub tests_per_hour: u32,
    pub octets_per_day: u64,
    pub total_tests_per_hour: u32,
    pub total_octets_per_day: u64,
    /// Whether networks are counted that the Internet does not reach: loopback, private, link-local.
    pub counts_private: bool,
}

impl QuotaLimits {
    /// No limit at all.
    pub const NONE: Self = Self {
        tests_per_hour: 0,
        octets_per_day: 0,
        total_tests_per_hour: 0,
        total_octets_per_day: 0,
        counts_private: false,
    };
}

/// Networks of one provider that have their whole quota beside each other.
const NETWORKS_OF_A_PROVIDER: u32 = 16;

/// Who has used what it may.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Party {
    Network,
    /// All networks of an IPv6 /32.
    Provider,
    /// The bearer of a token, key or ticket.
    #[cfg(feature = "tickets")]
    Bearer,
}

impl fmt::Display for Party {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Network => "a network",
            Self::Provider => "all networks of an IPv6 /32",
            #[cfg(feature = "tickets")]
            Self::Bearer => "this token, key or ticket",
        })
    }
}

/// Why no test begins, and when one may.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum QuotaError {
    #[error("{limit} tests an hour are granted to {party}; the next in {} min", minutes(.retry_after))]
    Tests { party: Party, limit: u32, retry_after: Duration },
    #[error("the data granted to {party} in a day is used; the next test in {} min", minutes(.retry_after))]
    Octets { party: Party, retry_after: Duration },
    #[error("this server grants {limit} tests an hour to all networks; the next in {} min", minutes(.retry_after))]
    AllTests { limit: u32, retry_after: Duration },
    #[error("the data that this server grants in a day is used; the next test in {} min", minutes(.retry_after))]
    AllOctets { retry_after: Duration },
}

fn minutes(time: &Duration) -> u64 {
    time.as_secs().div_ceil(MINUTE).max(1)
}

/// What was used, by the time step in which it was. Times are seconds of a clock that goes on while the server does not run.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
struct Usage {
    /// Minute, and tests that began in it.
    tests: Vec<(u64, u32)>,
    /// Hour, and octets that were moved in it.
    octets: Vec<(u64, u64)>,
}

impl Usage {
    fn forget(&mut self, now: u64) {
        // Counted by a clock that was ahead: as old as now, or the network would have used it until that time.
        self.tests.iter_mut().for_each(|(minute, _)| *minute = (*minute).min(now / MINUTE));
        self.octets.iter_mut().for_each(|(hour, _)| *hour = (*hour).min(now / HOUR));
        self.tests.retain(|(minute, _)| (minute + 1) * MINUTE + HOUR > now);
        self.octets.retain(|(hour, _)| (hour + 1) * HOUR + DAY > now);
    }

    fn tests(&self) -> u64 {
        self.tests.iter().map(|(_, count)| u64::from(*count)).sum()
    }

    fn octets(&self) -> u64 {
        self.octets.iter().fold(0, |sum, (_, octets)| sum.saturating_add(*octets))
    }

    fn begin(&mut self, now: u64) {
        match self.tests.last_mut().filter(|(minute, _)| *minute >= now / MINUTE) {
            Some((_, count)) => *count = count.saturating_add(1),
            None => self.tests.push((now / MINUTE, 1)),
        }
    }

    fn spend(&mut self, octets: u64, now: u64) {
        match self.octets.last_mut().filter(|(hour, _)| *hour >= now / HOUR) {
            Some((_, sum)) => *sum = sum.saturating_add(octets),
            None => self.octets.push((now / HOUR, octets)),
        }
    }

    /// How long until the oldest of it is forgotten.
    fn tests_wait(&self, now: u64) -> Duration {
        let first = self.tests.first().map_or(now, |(minute, _)| (minute + 1) * MINUTE + HOUR);
        Duration::from_secs(first.saturating_sub(now))
    }

    fn octets_wait(&self, now: u64) -> Duration {
        let first = self.octets.first().map_or(now, |(hour, _)| (hour + 1) * HOUR + DAY);
        Duration::from_secs(first.saturating_sub(now))
    }
}

/// What a server has granted. It is kept as JSON while the server does not run.
#[derive(Debug)]
pub struct Quota {
    limits: QuotaLimits,
    all: Usage,
    networks: HashMap<Prefix, Usage>,
    #[cfg(feature = "tickets")]
    bearers: HashMap<BearerId, Usage>,
}

/// The form in which it is kept.
#[derive(Debug, Default, Serialize, Deserialize)]
struct Stored {
    all: Usage,
    networks: Vec<(IpAddr, u8, Usage)>,
    #[cfg(feature = "tickets")]
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    bearers: Vec<(BearerId, Usage)>,
}

/// Whose use is counted.
#[derive(Debug, Clone, Copy)]
enum Counted {
    Network(Prefix),
    #[cfg(feature = "tickets")]
    Bearer(BearerId),
}

/// One party of a test, and what it may use.
#[derive(Debug, Clone, Copy)]
struct Account {
    counted: Counted,
    party: Party,
    tests_per_hour: u32,
    octets_per_day: u64,
}

impl Quota {
    /// Nothing has been used.
    pub fn new(limits: QuotaLimits) -> Self {
        Self {
            limits,
            all: Usage::default(),
            networks: HashMap::new(),
            #[cfg(feature = "tickets")]
            bearers: HashMap::new(),
        }
    }

    /// Changes what may be used. What was used stays so.
    pub fn set_limits(&mut self, limits: QuotaLimits) {
        self.limits = limits;
    }

    /// What was kept as JSON.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn from_json(limits: QuotaLimits, json: &str) -> Result<Self, serde_json::Error> {
        let stored: Stored = serde_json::from_str(json)?;
        let networks = stored.networks.into_iter().take(MOST_NETWORKS);
        let networks = networks.map(|(address, bits, usage)| (Prefix::of(address, bits), usage)).collect();
        Ok(Self {
            limits,
            all: stored.all,
            networks,
            #[cfg(feature = "tickets")]
            bearers: stored.bearers.into_iter().take(MOST_NETWORKS).collect(),
        })
    }

    /// What is to be kept.
    ///
    /// # Errors
    /// Never in practice: all of it is numbers.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        let networks = self.networks.iter().map(|(network, usage)| (network.address, network.bits, usage.clone()));
        serde_json::to_string(&Stored {
            all: self.all.clone(),
            networks: networks.collect(),
            #[cfg(feature = "tickets")]
            bearers: self.bearers.iter().map(|(bearer, usage)| (*bearer, usage.clone())).collect(),
        })
    }

    /// A test from this address begins, of a bearer with a quota of its own or of its network.
    ///
    /// # Errors
    /// When its bearer or network, or all together, have used what they may.
    pub fn begin(&mut self, address: IpAddr, own: Option<OwnQuota>, now: u64) -> Result<(), QuotaError> {
        if !self.counts(address, own) {
            return Ok(());
        }
        let QuotaLimits { total_tests_per_hour, total_octets_per_day, .. } = self.limits;
        self.all.forget(now);
        if is_used(self.all.tests(), total_tests_per_hour.into()) {
            return Err(QuotaError::AllTests { limit: total_tests_per_hour, retry_after: self.all.tests_wait(now) });
        }
        if is_used(self.all.octets(), total_octets_per_day) {
            return Err(QuotaError::AllOctets { retry_after: self.all.octets_wait(now) });
        }
        let accounts = self.accounts(address, own);
        for &Account { counted, party, tests_per_hour, octets_per_day } in &accounts {
            let usage = self.usage(counted, now);
            usage.forget(now);
            if is_used(usage.tests(), tests_per_hour.into()) {
                return Err(QuotaError::Tests { party, limit: tests_per_hour, retry_after: usage.tests_wait(now) });
            }
            if is_used(usage.octets(), octets_per_day) {
                return Err(QuotaError::Octets { party, retry_after: usage.octets_wait(now) });
            }
        }
        for account in accounts {
            self.usage(account.counted, now).begin(now);
        }
        self.all.begin(now);
        Ok(())
    }

    /// Such a test has moved so many octets more. Whether it may go on.
    pub fn spend(&mut self, address: IpAddr, own: Option<OwnQuota>, octets: u64, now: u64) -> bool {
        if !self.counts(address, own) {
            return true;
        }
        let mut is_within = true;
        for Account { counted, octets_per_day, .. } in self.accounts(address, own) {
            let usage = self.usage(counted, now);
            usage.spend(octets, now);
            usage.forget(now);
            is_within &= !is_used(usage.octets(), octets_per_day);
        }
        self.all.spend(octets, now);
        self.all.forget(now);
        is_within && !is_used(self.all.octets(), self.limits.total_octets_per_day)
    }

    fn counts(&self, address: IpAddr, own: Option<OwnQuota>) -> bool {
        let limits = QuotaLimits { counts_private: false, ..self.limits };
        own.is_some() || limits != QuotaLimits::NONE && (self.limits.counts_private || !is_private(address))
    }

    /// Who is counted for a test. The largest is first: who is refused by it takes no memory for a network.
    fn accounts(&self, address: IpAddr, own: Option<OwnQuota>) -> Vec<Account> {
        let QuotaLimits { tests_per_hour, octets_per_day, .. } = self.limits;
        #[cfg(feature = "tickets")]
        if let Some(own) = own {
            let network = QuotaClass { tests_per_hour: Some(tests_per_hour), octets_per_day: Some(octets_per_day) };
            let class = own.granted(network);
            return vec![Account {
                counted: Counted::Bearer(own.bearer),
                party: Party::Bearer,
                tests_per_hour: class.tests_per_hour.unwrap_or(tests_per_hour),
                octets_per_day: class.octets_per_day.unwrap_or(octets_per_day),
            }];
        }
        #[cfg(not(feature = "tickets"))]
        let _ = own;
        let provider = address.to_canonical().is_ipv6().then(|| Account {
            counted: Counted::Network(Prefix::provider_of(address)),
            party: Party::Provider,
            tests_per_hour: tests_per_hour.saturating_mul(NETWORKS_OF_A_PROVIDER),
            octets_per_day: octets_per_day.saturating_mul(NETWORKS_OF_A_PROVIDER.into()),
        });
        let counted = Counted::Network(Prefix::party_of(address));
        let network = Account { counted, party: Party::Network, tests_per_hour, octets_per_day };
        provider.into_iter().chain([network]).collect()
    }

    /// What one of them has used.
    fn usage(&mut self, counted: Counted, now: u64) -> &mut Usage {
        match counted {
            Counted::Network(network) => {
                make_room(&mut self.networks, now);
                self.networks.entry(network).or_default()
            }
            #[cfg(feature = "tickets")]
            Counted::Bearer(bearer) => {
                make_room(&mut self.bearers, now);
                self.bearers.entry(bearer).or_default()
            }
        }
    }
}

/// Forgets those that have used least when they are too many.
fn make_room<K: Eq + Hash>(usages: &mut HashMap<K, Usage>, now: u64) {
    if usages.len() < MOST_NETWORKS {
        return;
    }
    usages.retain(|_, usage| {
        usage.forget(now);
        *usage != Usage::default()
    });
    if usages.len() >= MOST_NETWORKS {
        let mut used: Vec<(u64, u64)> = usages.values().map(|usage| (usage.octets(), usage.tests())).collect();
        used.sort_unstable();
        let least = used[used.len() / 4];
        usages.retain(|_, usage| (usage.octets(), usage.tests()) > least);
    }
}

fn is_used(used: u64, limit: u64) -> bool {
    limit > 0 && used >= limit
}

/// Whether an address is of a network that the Internet does not reach.
fn is_private(address: IpAddr) -> bool {
    match address.to_canonical() {
        IpAddr::V4(address) => address.is_private() || address.is_loopback() || address.is_link_local(),
        IpAddr::V6(address) => address.is_loopback() || address.is_unique_local() || address.is_unicast_link_local(),
    }
}
#[cfg(test)]
#[path = "quota_tests.rs"]
mod tests;
