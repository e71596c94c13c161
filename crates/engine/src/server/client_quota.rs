//! How much each source has of the server, so that one host cannot shut out the others.

use std::collections::HashMap;
use std::net::{IpAddr, Ipv6Addr};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

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
    fn nothing_is_kept_of_a_source_that_has_gone() {
        let quotas: Arc<ClientQuotas> = Arc::default();
        drop(take(&quotas, "192.0.2.1".parse().unwrap(), 1));
        assert!(quotas.0.lock().unwrap().is_empty());
    }
}
