//! How many places of a server each network has, so that none can shut out the others.

use std::collections::HashMap;
use std::net::IpAddr;

use super::prefix::Prefix;

/// Of all places, one network of any size may hold one in so many, and as many are kept for networks that hold none.
const SHARE: u32 = 4;

/// Why an address gets no place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoPlace {
    #[error("every place is taken")]
    Full,
    #[error("what is left is kept for networks that have no session")]
    Kept,
    #[error("network {}/{} has its share", .0.address, .0.bits)]
    Share(Prefix),
}

/// The places of a server, by the networks that hold them.
#[derive(Debug)]
pub struct FairShares {
    places: u32,
    held: u32,
    networks: HashMap<Prefix, u32>,
}

impl FairShares {
    /// So many places, none held.
    pub fn new(places: u32) -> Self {
        Self { places, held: 0, networks: HashMap::new() }
    }

    /// Changes the number of places. Those that are held stay held.
    pub fn resize(&mut self, places: u32) {
        self.places = places;
    }

    /// Takes one place for this address.
    ///
    /// # Errors
    /// When none is left for it.
    pub fn take(&mut self, address: IpAddr) -> Result<(), NoPlace> {
        if self.held >= self.places {
            return Err(NoPlace::Full);
        }
        let most = self.places.div_ceil(SHARE);
        let crowded = Prefix::all_of(address).find(|network| self.held_by(network) >= most);
        if let Some(network) = crowded {
            return Err(NoPlace::Share(network));
        }
        if self.held >= self.places - self.places / SHARE && self.held_by(&Prefix::party_of(address)) > 0 {
            return Err(NoPlace::Kept);
        }
        self.held += 1;
        for network in Prefix::all_of(address) {
            *self.networks.entry(network).or_insert(0) += 1;
        }
        Ok(())
    }

    /// Gives one place of this address back; without effect where it has none.
    pub fn give_back(&mut self, address: IpAddr) {
        if Prefix::all_of(address).any(|network| self.held_by(&network) == 0) {
            return;
        }
        self.held -= 1;
        for network in Prefix::all_of(address) {
            if let Some(count) = self.networks.get_mut(&network) {
                *count -= 1;
                if *count == 0 {
                    self.networks.remove(&network);
                }
            }
        }
    }

    /// How many are held.
    pub fn held(&self) -> u32 {
        self.held
    }

    fn held_by(&self, network: &Prefix) -> u32 {
        self.networks.get(network).copied().unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn address(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    /// How many places this network gets when its hosts take all they can.
    fn taken(shares: &mut FairShares, host: impl Fn(u32) -> IpAddr) -> u32 {
        (0..1000).filter(|number| shares.take(host(*number)).is_ok()).count() as u32
    }

    #[test]
    fn one_host_one_network_and_one_provider_hold_a_quarter_at_most() {
        let host = |_| address("192.0.2.1");
        assert_eq!(taken(&mut FairShares::new(32), host), 8);
        let network = |number: u32| IpAddr::from([192, 0, 2, number as u8]);
        assert_eq!(taken(&mut FairShares::new(32), network), 8);
        let sites = |number: u32| IpAddr::from([0x2001, 0xdb8, number as u16, 0, 0, 0, 0, 1]);
        assert_eq!(taken(&mut FairShares::new(32), sites), 8, "all within one /32");
        let links = |number: u32| IpAddr::from([0x2001, 0xdb8, 1, number as u16, 0, 0, 0, 1]);
        assert_eq!(taken(&mut FairShares::new(32), links), 8, "all within one /48");
    }

    #[test]
    fn two_networks_that_take_all_they_can_leave_half_for_the_others() {
        let mut shares = FairShares::new(32);
        assert_eq!(taken(&mut shares, |_| address("2001:db8:1::1")), 8);
        assert_eq!(taken(&mut shares, |_| address("2001:db9:1::1")), 8);
        assert_eq!(shares.take(address("2001:dba:1::1")), Ok(()));
    }

    #[test]
    fn the_last_quarter_is_for_networks_that_hold_nothing() {
        let mut shares = FairShares::new(32);
        for network in 0..3 {
            assert_eq!(taken(&mut shares, |_| IpAddr::from([192, 0, network, 1])), 8);
        }
        assert_eq!(shares.held(), 24);
        for network in 10..18 {
            let host = IpAddr::from([198, 51, network, 1]);
            assert_eq!(shares.take(host), Ok(()), "its first");
            assert!(matches!(shares.take(host), Err(NoPlace::Kept | NoPlace::Full)), "its second");
        }
        assert_eq!(shares.take(address("203.0.113.1")), Err(NoPlace::Full));
    }

    #[test]
    fn places_that_are_held_outlast_a_smaller_number() {
        let mut shares = FairShares::new(32);
        assert_eq!(taken(&mut shares, |_| address("192.0.2.1")), 8);
        shares.resize(4);
        assert_eq!(shares.take(address("198.51.100.1")), Err(NoPlace::Full));
        (0..8).for_each(|_| shares.give_back(address("192.0.2.1")));
        assert_eq!(shares.held(), 0);
        assert_eq!(taken(&mut shares, |number| IpAddr::from([198, 51, number as u8, 1])), 4);
    }

    #[test]
    fn one_place_is_one_place() {
        let mut shares = FairShares::new(1);
        assert_eq!(shares.take(address("192.0.2.1")), Ok(()));
        assert_eq!(shares.take(address("198.51.100.1")), Err(NoPlace::Full));
        shares.give_back(address("192.0.2.1"));
        assert_eq!(shares.take(address("198.51.100.1")), Ok(()));
    }

    #[test]
    fn nothing_is_kept_of_networks_that_have_gone() {
        let mut shares = FairShares::new(4);
        shares.take(address("192.0.2.1")).unwrap();
        shares.give_back(address("192.0.2.9"));
        assert_eq!(shares.held(), 1, "another host of the network gives nothing back");
        shares.give_back(address("192.0.2.1"));
        shares.give_back(address("192.0.2.1"));
        assert!(shares.held() == 0 && shares.networks.is_empty());
    }
}
