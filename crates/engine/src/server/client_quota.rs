//! How much each source has of the server, so that one host cannot shut out the others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rrul_proto::admission::fair_shares::FairShares;

/// How many of something each source has: an IPv4 address, or the IPv6 /56 that one customer usually has.
#[derive(Debug, Default)]
pub(super) struct ClientQuotas(Mutex<HashMap<IpAddr, u32>>);

/// One that is held, until dropped.
#[derive(Debug)]
pub(super) struct Held {
    quotas: Arc<ClientQuotas>,
    source: IpAddr,
}

impl Drop for Held {
    fn drop(&mut self) {
        let mut counts = self.quotas.0.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some(count) = counts.get_mut(&self.source) {
            *count -= 1;
            if *count == 0 {
                counts.remove(&self.source);
            }
        }
    }
}

/// A connection that counts for as long as this lives, in all and for its source.
#[derive(Debug)]
pub(super) struct CountedConnection {
    all: Arc<AtomicU32>,
    _held: Held,
}

/// A place of a network, given back when it is dropped.
#[derive(Debug)]
pub(super) struct HeldPlace {
    places: Arc<Mutex<FairShares>>,
    address: IpAddr,
}

impl HeldPlace {
    /// Takes one for this address, if its network has one left.
    pub(super) fn take(places: &Arc<Mutex<FairShares>>, address: IpAddr) -> Option<Self> {
        places.lock().unwrap_or_else(PoisonError::into_inner).take(address).ok()?;
        Some(Self { places: Arc::clone(places), address })
    }
}

impl Drop for HeldPlace {
    fn drop(&mut self) {
        self.places.lock().unwrap_or_else(PoisonError::into_inner).give_back(self.address);
    }
}

/// Connections of strangers that have named no session yet, and of addresses that have one. Each has a thread for as long as it says
/// nothing: `TasksMax=` of packaging/systemd has room for all of them, and for threads of tests.
const UNNAMED: u32 = 512;
const UNNAMED_OF_CLIENTS: u32 = 1024;

/// Places for connections until they name a session. Those of strangers take none from addresses that have a session.
#[derive(Debug)]
pub(super) struct UnnamedConnections {
    strangers: Arc<Mutex<FairShares>>,
    clients: Arc<Mutex<FairShares>>,
}

impl Default for UnnamedConnections {
    fn default() -> Self {
        let places = |count| Arc::new(Mutex::new(FairShares::new(count)));
        Self { strangers: places(UNNAMED), clients: places(UNNAMED_OF_CLIENTS) }
    }
}

impl UnnamedConnections {
    /// Takes a place for a connection from this address, if its network has one left.
    pub(super) fn take(&self, address: IpAddr, has_session: bool) -> Option<HeldPlace> {
        let of_clients = has_session.then(|| HeldPlace::take(&self.clients, address)).flatten();
        of_clients.or_else(|| HeldPlace::take(&self.strangers, address))
    }
}

impl CountedConnection {
    /// Counts one more; also returns the count before.
    pub(super) fn new(all: &Arc<AtomicU32>, held: Held) -> (Self, u32) {
        let before = all.fetch_add(1, Ordering::Relaxed);
        (Self { all: Arc::clone(all), _held: held }, before)
    }
}

impl Drop for CountedConnection {
    fn drop(&mut self) {
        self.all.fetch_sub(1, Ordering::Relaxed);
    }
}

/// Takes one more for this address; `None` when its source has `most` already.
pub(super) fn take(quotas: &Arc<ClientQuotas>, address: IpAddr, most: u32) -> Option<Held> {
    let source = prefix(address);
    let mut counts = quotas.0.lock().unwrap_or_else(PoisonError::into_inner);
    let count = counts.entry(source).or_insert(0);
    if *count >= most {
        return None;
    }
    *count += 1;
    Some(Held { quotas: Arc::clone(quotas), source })
}

fn prefix(address: IpAddr) -> IpAddr {
    match address.to_canonical() {
        IpAddr::V6(address) => Ipv6Addr::from(u128::from(address) & (u128::MAX << (128 - 56))).into(),
        v4 @ IpAddr::V4(_) => v4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_source_has_no_more_than_its_share_and_gives_it_back() {
        let quotas = Arc::default();
        let one = "2001:db8:0:ff01::1".parse().unwrap();
        let neighbour = "2001:db8:0:ff02::2".parse().unwrap();
        let stranger = "2001:db8:1::1".parse().unwrap();
        let first = take(&quotas, one, 2).unwrap();
        let _second = take(&quotas, neighbour, 2).unwrap();
        assert!(take(&quotas, one, 2).is_none(), "one /56 is one source");
        assert!(take(&quotas, stranger, 2).is_some());
        drop(first);
        assert!(take(&quotas, one, 2).is_some());
    }

    #[test]
    fn silent_connections_of_one_network_leave_places_to_others_and_to_clients() {
        let unnamed = UnnamedConnections::default();
        let taken = |held: &mut Vec<HeldPlace>, address: &str, has_session| {
            let before = held.len();
            held.extend((0..4096).map_while(|_| unnamed.take(address.parse().unwrap(), has_session)));
            held.len() - before
        };
        let mut held = Vec::new();
        assert_eq!(taken(&mut held, "192.0.2.1", false), 128, "a quarter");
        assert_eq!(taken(&mut held, "192.0.2.2", false), 0, "of the whole /24");
        for network in ["198.51.100.1", "203.0.113.1"] {
            assert_eq!(taken(&mut held, network, false), 128);
        }
        assert_eq!(taken(&mut held, "2001:db8:1:ff00::1", false), 1, "the last quarter is for networks without any");
        assert_eq!(taken(&mut held, "192.0.2.1", true), 256, "an address with a session is no stranger");
        held.clear();
        assert!(unnamed.take("192.0.2.2".parse().unwrap(), false).is_some());
    }

    #[test]
    fn threads_of_connections_without_a_session_fit_the_service_unit() {
        let unit = concat!(env!("CARGO_MANIFEST_DIR"), "/../../packaging/systemd/rrul-server.service");
        let unit = std::fs::read_to_string(unit).unwrap();
        let tasks: u32 = unit.lines().find_map(|line| line.strip_prefix("TasksMax=")?.parse().ok()).unwrap();
        assert!(UNNAMED + UNNAMED_OF_CLIENTS <= tasks * 4 / 5, "{tasks}");
    }

    #[test]
    fn nothing_is_kept_of_a_source_that_has_gone() {
        let quotas: Arc<ClientQuotas> = Arc::default();
        drop(take(&quotas, "192.0.2.1".parse().unwrap(), 1));
        assert!(quotas.0.lock().unwrap().is_empty());
    }
}
