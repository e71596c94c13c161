//! What a session moves is bounded by what it has declared, and counted, whatever carries it.

use std::net::UdpSocket;
use std::time::Duration;

use rrul_engine::server::Server;
use rrul_proto::packet_train::{PACKET_OCTETS, PACKETS, TrainKind, TrainPacket};

use crate::common::server;
use crate::stranger::Stranger;

/// A socket towards the server's IPv4 address.
fn socket(server: &Server) -> UdpSocket {
    let address = *server.addresses().iter().find(|address| address.is_ipv4()).unwrap();
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    socket.connect(address).unwrap();
    socket
}

/// Sends a train and its end; how many packets come back.
fn train(socket: &UdpSocket, client: &Stranger, number: u16) -> usize {
    let car = TrainPacket { kind: TrainKind::Car, train: number, arrived: 0, token: client.token, sequence: 0, t2: 0 };
    let mut octets = [0; PACKET_OCTETS];
    for sequence in 0..u32::from(PACKETS) {
        TrainPacket { sequence, ..car }.write(&mut octets).unwrap();
        socket.send(&octets).unwrap();
    }
    TrainPacket { kind: TrainKind::Last, ..car }.write(&mut octets).unwrap();
    socket.send(&octets).unwrap();
    socket.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
    std::iter::from_fn(|| socket.recv(&mut octets).ok()).count()
}

#[test]
fn trains_come_back_a_few_times_and_then_no_more() {
    let server = server();
    let client = Stranger::new(&server);
    let socket = socket(&server);
    let back: Vec<_> = (1..=12).map(|number| train(&socket, &client, number)).collect();
    assert!(back[..8].iter().all(|packets| *packets == usize::from(PACKETS)), "{back:?}");
    assert!(back[8..].iter().all(|packets| *packets == 0), "{back:?}");
}
