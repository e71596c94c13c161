//! Greetings: with them a client asks for a flow that the server sends, or how much of a flow has arrived.

use rrul_model::flow::FlowId;
use rrul_model::observation::GreetingSent;
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::test_packet::LEAST_OCTETS;
use socket2::Socket;

use crate::clock::test_clock::TestClock;
use crate::observer::ObservationSink;
use crate::socket::datagram;

/// Sends a greeting of a flow with this traffic-class byte, no longer than it must be, and notes it.
pub(crate) fn send(
    socket: &Socket,
    (flow, octet): (FlowId, u8),
    seal: &PacketSeal,
    clock: TestClock,
    sink: &mut ObservationSink<'_>,
) {
    let mut octets = [0; LEAST_OCTETS];
    let sent = clock.now();
    if seal.greeting(flow.0, octet).write(&mut octets).is_err() {
        return;
    }
    seal.seal(&mut octets);
    // One that does not leave is as one that is lost: another will follow.
    if datagram::send(socket, &octets).is_ok() {
        sink.note(GreetingSent { flow, sent, length: LEAST_OCTETS as u16 });
    }
}
