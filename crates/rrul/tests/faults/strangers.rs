//! What a server that is on the open Internet gets: bytes of no sense, and packets from whom it does not know.

use std::io::{Read, Write};
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpStream, UdpSocket};
use std::time::Duration;

use rrul_model::random::Random;
use rrul_proto::test_packet::{Kind, LEAST_OCTETS, TestPacket};
use rrul_proto::token::Token;

use crate::client::Client;
use crate::program::{Folder, Server, end_of, run_short, wait_until};
use crate::verdict::Verdict;

/// A packet of this kind and length that is right in everything else.
pub(crate) fn packet(kind: Kind, token: Token, flow: u16, length: usize) -> Vec<u8> {
    let mut octets = vec![0; length];
    let packet = TestPacket::request(kind, flow, 0, token, 0, 0);
    packet.write(&mut octets).unwrap();
    octets
}

pub(crate) fn socket(from: Ipv4Addr, server: SocketAddr) -> UdpSocket {
    let socket = UdpSocket::bind((from, 0)).unwrap();
    socket.connect(server).unwrap();
    socket
}

/// Waits until the server has answered a greeting.
pub(crate) fn greet(known: &UdpSocket, greeting: &[u8]) {
    known.set_read_timeout(Some(Duration::from_millis(100))).unwrap();
    wait_until("the answer to a greeting", || {
        // Behind a flood the server's queue may be full, and the greeting is dropped: it is sent until it is answered.
        known.send(greeting).unwrap();
        known.recv(&mut [0; 4096]).is_ok_and(|length| length == greeting.len())
    });
}

/// Everything that the server replies on this socket until it has answered a greeting of `known`, sent last and from an
/// address that it knows: a server answers in the order of arrival, so what it has not answered by then it will not.
fn replies_until_answered(socket: &UdpSocket, known: &UdpSocket, greeting: &[u8]) -> Vec<Vec<u8>> {
    greet(known, greeting);
    let mut octets = [0; 4096];
    socket.set_nonblocking(true).unwrap();
    let mut replies = Vec::new();
    while let Ok(length) = socket.recv(&mut octets) {
        replies.push(octets[..length].to_vec());
    }
    replies
}

/// The number of a flow of test packets that the session has.
fn probe(client: &mut Client) -> u16 {
    client.open_test().iter().find(|flow| flow.flow_type == "udp_probe").unwrap().id.0
}

#[test]
fn bytes_of_no_sense_get_no_udp_reply_and_do_no_harm() {
    let mut server = Server::start(&[]);
    let mut client = Client::new(server.address());
    let flow = probe(&mut client);
    let known = socket(Ipv4Addr::LOCALHOST, server.address());
    let stranger = socket(Ipv4Addr::LOCALHOST, server.address());
    let mut random = Random(7);
    for round in 0..2000_usize {
        let mut octets = vec![0; round % 1500];
        random.fill(&mut octets);
        if round % 2 == 0 && octets.len() >= LEAST_OCTETS {
            // What a test packet begins with, and a token of no session.
            octets[..4].copy_from_slice(&[b'R', b'R', 1, 1 + (round % 4) as u8]);
        }
        // A full queue drops it, as any network may.
        let _ = stranger.send(&octets);
    }
    let greeting = packet(Kind::Greeting, client.token, flow, LEAST_OCTETS);
    assert_eq!(replies_until_answered(&stranger, &known, &greeting), Vec::<Vec<u8>>::new());
    drop(client);

    let mut octets = [0; 4096];
    for round in 0..300_usize {
        let Ok(mut stream) = TcpStream::connect(server.address()) else { panic!("round {round}: not accepted") };
        let length = random.next() as usize % octets.len();
        random.fill(&mut octets[..length]);
        match round % 3 {
            0 => {}
            1 => octets[..4].copy_from_slice(b"RRUL"),
            // A whole opening of a session, and then bytes of no sense where a message should stand.
            _ => octets[..28].copy_from_slice(b"RRUL\x01\x01\x01\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"),
        }
        // The server may have closed already.
        let _ = stream.write_all(&octets[..length]);
        let _ = stream.shutdown(Shutdown::Write);
        let _ = stream.set_read_timeout(Some(Duration::from_secs(20)));
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        let most = if round % 3 == 2 { 65_536 } else { 8 };
        assert!(answer.len() <= most, "round {round}: {} bytes in answer to {length}", answer.len());
    }
    let folder = Folder::with_plan();
    let ended = end_of(run_short(&folder, &server.name(), &[]));
    Verdict::of(&folder.file("out.rrul")).assert_good(&ended);
    server.assert_sound();
}

#[test]
fn an_address_that_has_not_proven_itself_gets_no_reply_even_with_the_token() {
    let server = Server::start(&[]);
    let mut client = Client::new(server.address());
    let flow = probe(&mut client);
    // All of 127.0.0.0/8 is this host (RFC 1122, section 3.2.1.3), and only one address of it has a connection.
    let stranger = socket(Ipv4Addr::new(127, 0, 0, 2), server.address());
    let known = socket(Ipv4Addr::LOCALHOST, server.address());
    let greeting = packet(Kind::Greeting, client.token, flow, LEAST_OCTETS);
    for kind in [Kind::Greeting, Kind::Test, Kind::Reply, Kind::GreetingReply] {
        for length in [LEAST_OCTETS, 200, 1472] {
            stranger.send(&packet(kind, client.token, flow, length)).unwrap();
        }
    }
    assert_eq!(replies_until_answered(&stranger, &known, &greeting), Vec::<Vec<u8>>::new());
}

/// Probes of the greatest length.
const LONG_PROBES: &str = "title = \"l\"\nphases = { idle = \"4s\" }\n[flow.p]\ntype = \"udp_probe\"\n\
    component = \"realtime\"\nlength = \"1400B\"\n";

#[test]
fn a_reply_is_exactly_as_long_as_its_request_and_replies_get_none() {
    let server = Server::start(&[]);
    let mut client = Client::new(server.address());
    let flow = client.open_plan(LONG_PROBES)[0].id.0;
    let asking = socket(Ipv4Addr::LOCALHOST, server.address());
    let known = socket(Ipv4Addr::LOCALHOST, server.address());
    let lengths = [LEAST_OCTETS, LEAST_OCTETS + 1, 500, 1400];
    for length in lengths {
        asking.send(&packet(Kind::Test, client.token, flow, length)).unwrap();
    }
    // Longer than declared, longer than granted, of no flow, of no session, and replies: PROTOCOL.md, section 6.
    asking.send(&packet(Kind::Test, client.token, flow, 1401)).unwrap();
    asking.send(&packet(Kind::Test, client.token, flow, 1473)).unwrap();
    asking.send(&packet(Kind::Test, client.token, flow, 4000)).unwrap();
    asking.send(&packet(Kind::Test, client.token, flow + 1000, 100)).unwrap();
    asking.send(&packet(Kind::Test, Token([9; 16]), flow, 100)).unwrap();
    asking.send(&packet(Kind::Reply, client.token, flow, 100)).unwrap();
    asking.send(&packet(Kind::GreetingReply, client.token, flow, 100)).unwrap();
    let greeting = packet(Kind::Greeting, client.token, flow, LEAST_OCTETS);
    let replies = replies_until_answered(&asking, &known, &greeting);
    assert_eq!(replies.iter().map(Vec::len).collect::<Vec<_>>(), lengths);
    assert!(replies.iter().all(|reply| TestPacket::read(reply).unwrap().kind == Kind::Reply));
}
