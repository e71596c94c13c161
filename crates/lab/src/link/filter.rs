//! Which packets the impairments of a direction look at.

use rrul_model::flow::AddressFamily;
use rrul_model::marking::{Ecn, ServiceClass};

use crate::packet::{Header, protocol};

/// Kinds of TCP segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Segment {
    /// A connection request: SYN without ACK.
    Syn,
    /// Its answer: SYN and ACK.
    SynAck,
    /// An acknowledgment without data, and no SYN, FIN or RST.
    Ack,
    /// A segment with data.
    Data,
}

impl Segment {
    /// The kinds by their names in link files.
    pub const ALL: [(&'static str, Self); 4] =
        [("syn", Self::Syn), ("syn_ack", Self::SynAck), ("ack", Self::Ack), ("data", Self::Data)];

    fn is(self, header: &Header) -> bool {
        let (syn, ack) = (header.tcp_flags & 2 != 0, header.tcp_flags & 16 != 0);
        let ends = header.tcp_flags & 5 != 0;
        header.protocol == protocol::TCP
            && match self {
                Self::Syn => syn && !ack,
                Self::SynAck => syn && ack,
                Self::Ack => ack && !syn && !ends && header.tcp_payload == 0,
                Self::Data => header.tcp_payload > 0,
            }
    }
}

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
    /// ECN field as it arrives at the link.
    pub ecn: Option<Ecn>,
    /// Kind of TCP segment.
    pub tcp: Option<Segment>,
    /// More L3 bytes than this: what a path of a small MTU does not carry.
    pub longer_than: Option<u16>,
}

impl PacketFilter {
    pub(crate) fn matches(&self, header: &Header, length: usize) -> bool {
        self.protocol.is_none_or(|protocol| protocol == header.protocol)
            && self.port.is_none_or(|port| port == header.source_port || port == header.destination_port)
            && self.family.is_none_or(|family| family == header.family)
            && self.class.is_none_or(|class| class.dscp().value() == header.tos >> 2)
            && self.ecn.is_none_or(|ecn| ecn == Ecn::from_bits(header.tos))
            && self.tcp.is_none_or(|segment| segment.is(header))
            && self.longer_than.is_none_or(|most| length > usize::from(most))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::packet::build::{tcp4, udp4, udp6};

    #[test]
    fn every_given_condition_must_hold() {
        let dns = PacketFilter { protocol: Some(17), port: Some(53), ..PacketFilter::default() };
        let matches =
            |filter: &PacketFilter, octets: &[u8]| filter.matches(&Header::parse(octets).unwrap(), octets.len());
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
        let long = PacketFilter { longer_than: Some(59), ..PacketFilter::default() };
        assert_eq!([59, 60].map(|length| matches(&long, &udp4(length, 9, 0))), [false, true]);
        let ect1 = PacketFilter { ecn: Some(Ecn::Ect1), ..PacketFilter::default() };
        let found: Vec<bool> = (0..4).map(|ecn| matches(&ect1, &udp4(60, 9, 0xb8 | ecn))).collect();
        assert_eq!(found, [false, true, false, false]);
    }

    #[test]
    fn a_tcp_segment_is_of_one_kind_at_most() {
        let kinds = |length: usize, flags: u8| -> Vec<&str> {
            let mut octets = tcp4(length, 9, 0);
            octets[33] = flags;
            let header = Header::parse(&octets).unwrap();
            Segment::ALL.iter().filter(|(_, kind)| kind.is(&header)).map(|(name, _)| *name).collect()
        };
        assert_eq!(kinds(52, 2), ["syn"]);
        assert_eq!(kinds(52, 18), ["syn_ack"]);
        assert_eq!(kinds(52, 16), ["ack"]);
        assert_eq!(kinds(53, 24), ["data"]);
        assert!(kinds(52, 17).is_empty() && kinds(52, 20).is_empty(), "FIN and RST close");
        let udp = Header::parse(&udp4(60, 1, 0)).unwrap();
        assert!(Segment::ALL.iter().all(|(_, kind)| !kind.is(&udp)));
    }
}
