//! What passes the interfaces on the way to a server.

use std::io;
use std::net::SocketAddr;

use rrul_model::units::ByteCount;

use super::interfaces;
use super::routes::{self, AddressPair};
use crate::netlink::{self, Netlink};

/// Reads the counters of the interfaces by which packets go to a server.
#[derive(Debug)]
pub struct InterfaceMeter {
    netlink: Netlink,
    /// By their numbers, each once.
    interfaces: Vec<u32>,
    names: String,
}

/// What an interface has carried since it exists, headers of its layer included.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Carried {
    pub received: ByteCount,
    pub sent: ByteCount,
}

impl InterfaceMeter {
    /// For the routes to these addresses, as they are now; addresses without a route are left out.
    ///
    /// # Errors
    /// When none has a route, or the kernel reports none.
    pub fn towards(addresses: &[SocketAddr]) -> io::Result<Self> {
        let mut netlink = Netlink::open(netlink::ROUTE)?;
        let mut interfaces = Vec::new();
        let mut failure = io::ErrorKind::NotFound.into();
        for to in addresses {
            match routes::look_up(&mut netlink, &AddressPair { from: None, to: *to }) {
                Ok(route) if !interfaces.contains(&route.interface) => interfaces.push(route.interface),
                Ok(_) => {}
                Err(error) => failure = error,
            }
        }
        if interfaces.is_empty() {
            return Err(failure);
        }
        let all = interfaces::all(&mut netlink)?;
        let names: Vec<String> =
            all.into_iter().filter(|one| interfaces.contains(&one.index)).map(|one| one.name).collect();
        let mut meter = Self { netlink, interfaces, names: names.join("+") };
        meter.read()?;
        Ok(meter)
    }

    /// Returns the names of the interfaces, joined by `+`.
    pub fn names(&self) -> &str {
        &self.names
    }

    /// Returns what all of them have carried together.
    ///
    /// # Errors
    /// When an interface has gone.
    pub fn read(&mut self) -> io::Result<Carried> {
        let mut sum = Carried::default();
        for index in &self.interfaces {
            let counters = interfaces::counters(&mut self.netlink, *index)?;
            sum.received.0 += counters.received_octets;
            sum.sent.0 += counters.sent_octets;
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;

    #[test]
    fn what_passes_the_loopback_interface_is_counted() {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = socket.local_addr().unwrap();
        let mut meter = InterfaceMeter::towards(&[to, to]).unwrap();
        assert_eq!(meter.names(), "lo");
        let before = meter.read().unwrap();
        for _ in 0..10 {
            socket.send_to(&[0; 1000], to).unwrap();
        }
        let after = meter.read().unwrap();
        assert!(after.sent.0 >= before.sent.0 + 10_000 && after.received.0 >= before.received.0 + 10_000);
    }
}
