//! A client that only probes, by hand.

use std::net::{SocketAddr, UdpSocket};
use std::time::Duration;

use rrul_proto::control::ServerMessage;
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};

use crate::stranger::{Stranger, flows};

/// How long its test lasts.
const LENGTH: Duration = Duration::from_mins(2);

pub(crate) struct Prober {
    pub(crate) client: Stranger,
    pub(crate) socket: UdpSocket,
    pub(crate) flow: u16,
    pub(crate) sent: u32,
    pub(crate) answered: u32,
}

impl Prober {
    /// Begins a test with one flow of probes; counters are read this often.
    pub(crate) fn begin(mut client: Stranger, server: SocketAddr, interval: &str, sampled: Duration) -> Self {
        let asked = flows(&format!(
            "title = \"p\"\nphases = {{ load = \"{}s\" }}\n[flow.p]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\n\
            interval = \"{interval}\"\n",
            LENGTH.as_secs()
        ));
        let opened = client.open_sampled(&asked, LENGTH, sampled);
        assert!(matches!(&opened, ServerMessage::Opened { refused, .. } if refused.is_empty()), "{opened:?}");
        client.begin();
        let socket = UdpSocket::bind((client.from, 0)).unwrap();
        socket.connect(server).unwrap();
        socket.set_nonblocking(true).unwrap();
        Self { client, socket, flow: asked[0].id.0, sent: 0, answered: 0 }
    }

    pub(crate) fn send(&mut self) {
        let packet = TestPacket::request(Kind::Test, self.flow, 0, self.client.token, self.sent, 1);
        let mut octets = [0; LEAST_OCTETS];
        packet.write(&mut octets).unwrap();
        self.socket.send(&octets).unwrap();
        self.sent += 1;
    }

    /// Takes what has arrived.
    pub(crate) fn receive(&mut self) {
        let mut octets = [0; LEAST_OCTETS];
        while self.socket.recv(&mut octets).is_ok() {
            assert_eq!(TestPacket::read(&octets).unwrap().kind, Kind::Reply);
            self.answered += 1;
        }
    }
}
