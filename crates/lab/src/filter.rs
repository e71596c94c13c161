//! Which packets the impairments of a direction look at.

use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;

use crate::packet::Header;

/// Conditions on a packet; all that are given must hold. Without any, every packet matches.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct PacketFilter {
    /// IP protocol number: 1 ICMP, 6 TCP, 17 UDP, 58 ICMPv6.
    pub protocol: Option<u8>,
    /// Source or destination port.
    pub port: Option<u16>,
    /// Address family.
    pub family: Option<AddressFamily>,
    /// DSCP as it arrives at the link.
    pub class: Option<ServiceClass>,
}

impl PacketFilter {
    pub(crate) fn matches(&self, header: &Header) -> bool {
        self.protocol.is_none_or(|protocol| protocol == header.protocol)
            && self.port.is_none_or(|port| port == header.source_port || port == header.destination_port)
            && self.family.is_none_or(|family| family == header.family)
            && self.class.is_none_or(|class| class.dscp().value() == header.tos >> 2)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::build::{tcp4, udp4, udp6};

    #[test]
    fn every_given_condition_must_hold() {
        let dns = PacketFilter { protocol: Some(17), port: Some(53), ..PacketFilter::default() };
        let matches = |filter: &PacketFilter, octets: &[u8]| filter.matches(&Header::parse(octets).unwrap());
        assert!(matches(&dns, &udp6(60, 9, 0)), "destination port 53");
        assert!(matches(&dns, &udp4(60, 53, 0)), "source port 53");
        assert!(!matches(&dns, &udp4(60, 54, 0)));
        assert!(!matches(&dns, &tcp4(60, 53, 0)));
        assert!(matches(&PacketFilter::default(), &tcp4(60, 53, 0)));
        let ef6 = PacketFilter {
            family: Some(AddressFamily::Ipv6),
            class: Some(ServiceClass::EF),
            ..PacketFilter::default()
        };
        assert!(matches(&ef6, &udp6(60, 9, 0xb9)));
        assert!(!matches(&ef6, &udp4(60, 9, 0xb9)));
        assert!(!matches(&ef6, &udp6(60, 9, 0)));
    }
}
