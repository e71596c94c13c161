//! What one session moves, as this server counts it: each packet as it passes, and each stream by what the kernel counts.
//!
//! It depends on nothing that a client says: no window, no number of a connection, no declared length.

use std::net::{IpAddr, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::observation::TcpInfo;
use rrul_model::time::TestTime;

use crate::tcp_info;

/// An amount of traffic, both directions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(in crate::server) struct Amount {
    pub(in crate::server) octets: u64,
    pub(in crate::server) packets: u64,
}

impl Amount {
    /// What the kernel has counted of a stream.
    pub(in crate::server) fn of_stream(counted: &TcpInfo) -> Self {
        Self {
            octets: counted.bytes_sent.saturating_add(counted.bytes_received),
            packets: u64::from(counted.segs_out) + u64::from(counted.segs_in),
        }
    }

    pub(in crate::server) fn add(&mut self, more: Self) {
        self.octets = self.octets.saturating_add(more.octets);
        self.packets = self.packets.saturating_add(more.packets);
    }

    pub(in crate::server) fn less(self, other: Self) -> Self {
        Self { octets: self.octets.saturating_sub(other.octets), packets: self.packets.saturating_sub(other.packets) }
    }
}

/// What one session moves in both directions.
#[derive(Debug, Default)]
pub(crate) struct SessionTraffic {
    packet_octets: AtomicU64,
    packets: AtomicU64,
    streams: Mutex<Streams>,
    /// Bytes of all its streams as they were read last.
    stream_octets: AtomicU64,
    /// Packets of the client.
    from_client: AtomicU64,
}

/// What the kernel has counted of streams.
#[derive(Debug, Clone, Copy, Default)]
struct Counted {
    moved: Amount,
    /// Bytes that the client has sent or acknowledged.
    answered: u64,
}

impl Counted {
    fn read(stream: &TcpStream) -> Self {
        let info = tcp_info::read(stream, FlowId::CONTROL, TestTime::ZERO);
        info.map_or_else(Self::default, |info| Self {
            moved: Amount::of_stream(&info),
            answered: tcp_info::answered(&info),
        })
    }

    fn add(&mut self, more: Self) {
        self.moved.add(more.moved);
        self.answered = self.answered.saturating_add(more.answered);
    }
}

#[derive(Debug, Default)]
struct Streams {
    open: Vec<Arc<TcpStream>>,
    /// Of those that are closed.
    closed: Counted,
    /// What has been taken of the whole.
    taken: Amount,
}

/// A stream that is counted until this is dropped.
#[derive(Debug)]
pub(crate) struct CountedStream {
    session: Arc<SessionTraffic>,
    stream: Arc<TcpStream>,
}

impl Drop for CountedStream {
    fn drop(&mut self) {
        let mut streams = self.session.streams.lock().unwrap_or_else(PoisonError::into_inner);
        streams.open.retain(|open| !Arc::ptr_eq(open, &self.stream));
        streams.closed.add(Counted::read(&self.stream));
    }
}

impl Streams {
    fn read(&self) -> Counted {
        let mut all = self.closed;
        self.open.iter().for_each(|stream| all.add(Counted::read(stream)));
        all
    }
}

impl SessionTraffic {
    /// Counts a stream from now on, with what it has moved before.
    pub(in crate::server) fn watch(self: &Arc<Self>, stream: &Arc<TcpStream>) -> CountedStream {
        self.streams.lock().unwrap_or_else(PoisonError::into_inner).open.push(Arc::clone(stream));
        CountedStream { session: Arc::clone(self), stream: Arc::clone(stream) }
    }

    /// Counts a UDP packet from or to this address, with its headers.
    pub(in crate::server) fn passed(&self, address: IpAddr, payload: usize) {
        let headers = AddressFamily::from_address(address).udp_header_octets();
        self.packet_octets.fetch_add(payload as u64 + u64::from(headers), Ordering::Relaxed);
        self.packets.fetch_add(1, Ordering::Relaxed);
    }

    /// Counts a packet of the client that bears its token, or its tag.
    pub(in crate::server) fn took(&self, address: IpAddr, payload: usize) {
        self.passed(address, payload);
        self.from_client.fetch_add(1, Ordering::Relaxed);
    }

    /// Bytes of all packets so far, and of streams as they were read last.
    pub(in crate::server) fn octets(&self) -> u64 {
        self.packet_octets.load(Ordering::Relaxed).saturating_add(self.stream_octets.load(Ordering::Relaxed))
    }

    /// Reads every stream; returns a number that grows while packets of the client come, or bytes that it has sent or
    /// acknowledged in a stream.
    pub(in crate::server) fn signs_of_life(&self) -> u64 {
        let all = self.streams.lock().unwrap_or_else(PoisonError::into_inner).read();
        self.stream_octets.fetch_max(all.moved.octets, Ordering::Relaxed);
        all.answered.saturating_add(self.from_client.load(Ordering::Relaxed))
    }

    /// Reads every stream; returns what has been moved since this was last called.
    pub(in crate::server) fn take_new(&self) -> Amount {
        let mut streams = self.streams.lock().unwrap_or_else(PoisonError::into_inner);
        let mut all = streams.read().moved;
        self.stream_octets.fetch_max(all.octets, Ordering::Relaxed);
        all.add(Amount {
            octets: self.packet_octets.load(Ordering::Relaxed),
            packets: self.packets.load(Ordering::Relaxed),
        });
        let new = all.less(streams.taken);
        streams.taken.add(new);
        new
    }
}

#[cfg(test)]
mod tests {
    use std::io::{Read, Write};
    use std::net::{Ipv4Addr, Ipv6Addr, TcpListener};

    use super::*;

    #[test]
    fn packets_and_streams_are_counted_once_in_both_directions_and_after_their_end() {
        let session = Arc::new(SessionTraffic::default());
        session.passed(Ipv4Addr::LOCALHOST.into(), 100);
        session.passed(Ipv6Addr::LOCALHOST.into(), 100);
        assert_eq!(session.take_new(), Amount { octets: 128 + 148, packets: 2 });
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let stream = Arc::new(listener.accept().unwrap().0);
        let counted = session.watch(&stream);
        client.write_all(&[1; 3000]).unwrap();
        (&*stream).read_exact(&mut [0; 3000]).unwrap();
        assert_eq!((session.take_new().octets, session.take_new().octets), (3000, 0));
        (&*stream).write_all(&[2; 500]).unwrap();
        drop(counted);
        assert_eq!((session.take_new().octets, session.take_new().octets), (500, 0), "what came before the end");
        assert_eq!(session.octets(), 128 + 148 + 3500);
        client.write_all(&[1; 3000]).unwrap();
        assert_eq!(session.take_new().octets, 0, "it is no longer counted");
    }
}
