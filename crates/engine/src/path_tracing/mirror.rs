//! The destination of a path trace: it answers what reaches it.

use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::time::TestTime;
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::packet_seal::replay_window::{Freshness, ReplayWindow};
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use socket2::Socket;

use super::trace::BATCH;
use crate::clock::WallClock;
use crate::clock::test_clock::TestClock;
use crate::greeting;
use crate::observer::ObservationSink;
use crate::socket::datagram;

/// The destination of a trace: this host answers.
pub(crate) struct Mirror {
    pub(crate) flow: FlowId,
    pub(crate) family: AddressFamily,
    pub(crate) octet: u8,
    pub(crate) seal: PacketSeal,
    pub(crate) socket: Socket,
    pub(crate) until: TestTime,
    /// Packets that were answered, where they are sealed: a repeated one gets no second answer.
    pub(crate) answered: ReplayWindow,
}

impl Mirror {
    /// Answers the packets that are there, of a batch.
    pub(super) fn answer_all(&mut self, clock: TestClock, wall: &WallClock) {
        let mut octets = [0; 2048];
        for _ in 0..BATCH {
            let Ok(Some(_)) = datagram::receive_aftermath(&self.socket) else { break };
        }
        for _ in 0..BATCH {
            let Ok(Some(datagram)) = datagram::receive(&self.socket, &mut octets) else { break };
            let received = datagram.stamp.map_or_else(|| clock.now(), |stamp| clock.at(wall.raw(stamp)));
            let packet_octets = &octets[..datagram.length.min(octets.len())];
            let Ok(packet) = TestPacket::read(packet_octets) else { continue };
            if (packet.kind, packet.flow) != (Kind::Trace, self.flow.0) || !self.seal.opens(packet_octets) {
                continue;
            }
            if self.seal.take(&mut self.answered, packet.sequence) != Freshness::New {
                continue;
            }
            let reply = TestPacket {
                kind: Kind::TraceReply,
                token: self.seal.token(),
                octet_received: datagram.octet.unwrap_or(0),
                reflector_count: u32::from(datagram.hop_limit.unwrap_or(0)),
                t2: received.0,
                t3: clock.now().0,
                ..packet
            };
            // An answer is short, whatever the packet was: how much the way back carries is not what is asked. It bears what
            // the packet asked for, as the server's answers do: both ways are then tested in the same class.
            if reply.write(&mut octets[..LEAST_OCTETS]).is_ok() {
                self.seal.seal(&mut octets[..LEAST_OCTETS]);
                let _ = datagram::send_marked(&self.socket, &octets[..LEAST_OCTETS], packet.octet_sent, self.family);
            }
        }
    }

    pub(super) fn greet(&self, clock: TestClock, sink: &mut ObservationSink<'_>) {
        greeting::send(&self.socket, (self.flow, self.octet), &self.seal, clock, sink);
    }
}
