//! Which packets of the log belong to which TCP connection.

use std::collections::BTreeMap;

use rrul_model::flow::{AddressFamily, Direction};

use crate::truth::Truth;
use crate::truth::record::Record;

/// Bytes of an IPv4 SYN or SYN-ACK as Linux sends it with all its options. An acknowledgment with timestamps has 52, or with
/// blocks of SACK 64, 72 or 80.
const SYN_OCTETS: u16 = 60;

/// How much longer the header of IPv6 is.
const IPV6_MORE: u16 = 20;

const TCP: u8 = 6;

/// What distinguishes a connection of the client from its others.
///
/// Ports do not: Linux draws its place among them anew every ten seconds, so that a port which was given back may soon
/// have another owner.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ConnectionKey {
    /// IPv4 or IPv6.
    pub family: AddressFamily,
    /// The client's port.
    pub client_port: u16,
    /// How many connections had this port before.
    pub owner: usize,
}

impl Truth {
    /// TCP packets of this direction by the connection that they belong to, in the order in which they came to the link.
    pub fn connections(&self, direction: Direction) -> BTreeMap<ConnectionKey, Vec<&Record>> {
        let mut records: Vec<&Record> =
            self.direction(direction).records().filter(|record| record.protocol == TCP).collect();
        records.sort_by_key(|record| record.arrival);
        let mut latest: BTreeMap<(AddressFamily, u16), usize> = BTreeMap::new();
        let mut connections: BTreeMap<ConnectionKey, Vec<&Record>> = BTreeMap::new();
        for record in records {
            let (family, client_port) = (record.family, record.client_port(direction));
            let owner = latest.entry((family, client_port)).or_default();
            let mut key = ConnectionKey { family, client_port, owner: *owner };
            // A retransmitted SYN has the number of the first.
            let first = connections.get(&key).map(|own| own[0].tcp_sequence);
            if opens(record) && first.is_some_and(|first| first != record.tcp_sequence) {
                *owner += 1;
                key.owner = *owner;
            }
            connections.entry(key).or_default().push(record);
        }
        connections
    }
}

fn opens(record: &Record) -> bool {
    let more = if record.family == AddressFamily::Ipv6 { IPV6_MORE } else { 0 };
    (record.length, record.tcp_payload) == (SYN_OCTETS + more, 0)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::packet::Header;
    use crate::packet::build::tcp4;
    use crate::time::LabTime;
    use crate::truth::DirectionTruth;

    /// The client's port, sequence number and bytes above TCP of each packet; a SYN is one of 60 bytes without any.
    fn log(packets: &[(u16, u32, u16)]) -> Truth {
        let record = |(at, &(port, sequence, payload)): (usize, &(u16, u32, u16))| {
            let octets = tcp4(52 + usize::from(payload), port, sequence);
            let header = Header::parse(&octets).unwrap();
            let mut record = Record::arrived(&header, octets.len(), LabTime(at as u64));
            if payload == 0 {
                record.length = SYN_OCTETS;
            }
            record
        };
        let up = DirectionTruth {
            chunks: vec![Arc::new(packets.iter().enumerate().map(record).collect())],
            ..DirectionTruth::default()
        };
        Truth { up, down: DirectionTruth::default(), taken: LabTime(0), realtime: false }
    }

    #[test]
    fn a_port_that_is_used_again_is_another_connection_and_a_retransmitted_syn_is_not() {
        let log = log(&[(7, 100, 0), (7, 100, 0), (7, 101, 50), (8, 1, 0), (7, 900, 0), (7, 901, 60), (8, 2, 10)]);
        let connections = log.connections(Direction::Up);
        let of = |client_port, owner| {
            let key = ConnectionKey { family: AddressFamily::Ipv4, client_port, owner };
            connections[&key].iter().map(|record| record.tcp_sequence).collect::<Vec<_>>()
        };
        assert_eq!((connections.len(), of(7, 0), of(7, 1)), (3, vec![100, 100, 101], vec![900, 901]));
        assert_eq!(of(8, 0), [1, 2]);
        assert!(log.connections(Direction::Down).is_empty());
    }
}
