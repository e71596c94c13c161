//! Somebody on the path who forges and repeats packets of an encrypted session.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::net::{Ipv4Addr, Shutdown, SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use rrul_engine::client::Families;
use rrul_engine::control_link::ServerKey;
use rrul_engine::server::{Server, ServerOptions};
use rrul_model::environment::FORGED_PACKETS;
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use rrul_proto::test_packet::{Kind, TestPacket};

use crate::common::{options, plan, record};

/// Flow types whose client takes replies, and one whose client answers.
const FLOWS: &str = r#"
title = "on the path"
[phases]
idle = "500ms"
load = "1500ms"
after = "300ms"
[flow.probe]
type = "udp_probe"
component = "realtime"
interval = "10ms"
[flow.rr]
type = "udp_rr"
component = "realtime"
min_interval = "5ms"
[flow.voice]
type = "voip"
component = "voip"
each.direction = ["up", "down"]
[flow.path]
type = "path_trace"
component = "analysis"
interval = "200ms"
each.direction = ["up", "down"]
"#;

/// Where a packet is on its way to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum To {
    Client,
    Server,
}

/// What becomes of a packet: those that arrive in its place.
type Tamper = Arc<dyn Fn(To, &[u8]) -> Vec<Vec<u8>> + Send + Sync>;

/// A host on the path between client and server, which passes everything on. Its threads end with the program.
fn on_the_path(server: SocketAddr, tamper: &Tamper) -> SocketAddr {
    let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
    let address = listener.local_addr().unwrap();
    let socket = Arc::new(UdpSocket::bind(address).unwrap());
    thread::spawn(move || {
        for client in listener.incoming() {
            let (client, server) = (client.unwrap(), TcpStream::connect(server).unwrap());
            pass_on(client.try_clone().unwrap(), server.try_clone().unwrap());
            pass_on(server, client);
        }
    });
    let tamper = Arc::clone(tamper);
    thread::spawn(move || {
        let mut ways: BTreeMap<SocketAddr, Arc<UdpSocket>> = BTreeMap::new();
        let mut octets = [0; 2048];
        loop {
            // An error is what ICMP said of an earlier packet.
            let Ok((length, client)) = socket.recv_from(&mut octets) else { continue };
            let way = ways.entry(client).or_insert_with(|| way(server, client, &socket, &tamper));
            for packet in tamper(To::Server, &octets[..length]) {
                let _ = way.send(&packet);
            }
        }
    });
    address
}

/// The socket from which the server hears this client, and a thread that passes on what comes back.
fn way(server: SocketAddr, client: SocketAddr, socket: &Arc<UdpSocket>, tamper: &Tamper) -> Arc<UdpSocket> {
    let way = Arc::new(UdpSocket::bind((Ipv4Addr::LOCALHOST, 0)).unwrap());
    way.connect(server).unwrap();
    let (back, socket, tamper) = (Arc::clone(&way), Arc::clone(socket), Arc::clone(tamper));
    thread::spawn(move || {
        let mut octets = [0; 2048];
        loop {
            let Ok(length) = back.recv(&mut octets) else { continue };
            for packet in tamper(To::Client, &octets[..length]) {
                let _ = socket.send_to(&packet, client);
            }
        }
    });
    way
}

fn pass_on(mut from: TcpStream, mut to: TcpStream) {
    thread::spawn(move || {
        let _ = io::copy(&mut from, &mut to);
        let _ = to.shutdown(Shutdown::Write);
    });
}

/// A test of these flows past somebody who does this.
fn tested(flows: &str, tamper: &Tamper) -> (Recording, Server) {
    let key = ServerKey::from_pem(&ServerKey::generate().unwrap()).unwrap();
    let addresses = vec![Ipv4Addr::LOCALHOST.into()];
    let server = Server::start(ServerOptions { addresses, port: 0, key: Some(key), ..ServerOptions::default() });
    let server = server.unwrap();
    let mut options = options(&server, plan(flows));
    options.server = on_the_path(server.addresses()[0], tamper).to_string();
    options.families = Families::Only(AddressFamily::Ipv4);
    let recording = record(&options).unwrap();
    assert!(recording.header.encrypted);
    assert_eq!(recording.end.as_ref().unwrap().partial, None);
    (recording, server)
}

fn forged(recording: &Recording) -> Option<u64> {
    recording.end.as_ref().unwrap().client.as_ref().unwrap().kernel_counters.get(FORGED_PACKETS).copied()
}

/// Asserts that each exchange of `udp_rr` was taken once, with stamps of the packets that really crossed the path, and returns
/// their number.
fn exchanges(recording: &Recording) -> usize {
    let second = Duration::from_secs(1).as_nanos() as i64;
    let (mut exchanges, mut stamped) = (BTreeSet::new(), BTreeSet::new());
    for tables in recording.frames.iter().map(|frame| &frame.tables) {
        for row in tables.transaction.rows() {
            assert!(exchanges.insert(row.sequence), "number {} twice", row.sequence);
            assert!((0..second).contains(&row.took.0), "{row:?}");
        }
        for row in tables.transaction_stamped.rows() {
            assert!(stamped.insert(row.sequence), "stamps of number {} twice", row.sequence);
            assert!((0..second).contains(&row.received.since(row.sent).0), "{row:?}");
            assert!((0..second).contains(&row.server_sent.since(row.server_received).0), "{row:?}");
        }
    }
    exchanges.len()
}

#[test]
fn forged_packets_are_counted_at_the_client_and_change_no_figure() {
    let sent = Arc::new(AtomicU64::new(0));
    let count = Arc::clone(&sent);
    // Before each packet a copy with other stamps, which would take its place.
    let tamper: Tamper = Arc::new(move |to, packet| {
        if to == To::Server || packet.len() < 60 {
            return vec![packet.to_vec()];
        }
        count.fetch_add(1, Ordering::Relaxed);
        let mut forged = packet.to_vec();
        forged[32..56].iter_mut().for_each(|octet| *octet ^= 0xff);
        vec![forged, packet.to_vec()]
    });
    let (recording, _server) = tested(FLOWS, &tamper);
    let (forged, sent) = (forged(&recording).unwrap(), sent.load(Ordering::Relaxed));
    // The last ones of a flow come when its socket is closed.
    assert!((sent * 8 / 10..=sent).contains(&forged), "{forged} of {sent} counted");
    let mut replies = BTreeSet::new();
    for row in recording.frames.iter().flat_map(|frame| frame.tables.probe_received.rows()) {
        assert!(replies.insert((row.flow, row.sequence)), "{row:?}");
        let held = row.reflector_sent.since(row.reflector_received).0;
        assert!((0..1_000_000_000).contains(&held), "{row:?}");
    }
    let events: Vec<_> = recording.events().map(|(_, event)| event).collect();
    let voice = voice_packets(&recording, ObservationPoint::Client);
    assert!(voice > 50, "{voice} packets of voice: {events:?}");
    let (replies, exchanges) = (replies.len(), exchanges(&recording));
    assert!(replies + exchanges > 100, "{replies} replies, {exchanges} exchanges: {events:?}");
}

/// Asserts that each packet of the voice flows was taken once, and returns their number.
fn voice_packets(recording: &Recording, point: ObservationPoint) -> usize {
    let is_voice = |flow: FlowId| {
        let spec = recording.header.flows.iter().find(|spec| spec.id == flow);
        spec.is_some_and(|spec| spec.flow_type == "voip")
    };
    let mut taken = BTreeSet::new();
    for row in
        recording.tables_of(point).flat_map(|tables| tables.packet_received.rows()).filter(|row| is_voice(row.flow))
    {
        assert!(taken.insert((row.flow, row.sequence)), "{row:?} twice");
    }
    taken.len()
}

#[test]
fn forged_packets_towards_the_server_are_counted_and_neither_answered_nor_taken() {
    let (injected, traced) = (Arc::new(AtomicU64::new(0)), Arc::new(AtomicU64::new(0)));
    let answers: Arc<Mutex<BTreeMap<(u16, u32), u32>>> = Arc::default();
    let (count, asked, seen) = (Arc::clone(&injected), Arc::clone(&traced), Arc::clone(&answers));
    let tamper: Tamper = Arc::new(move |to, packet| {
        let kind = TestPacket::read(packet).ok().map(|packet| (packet.kind, packet.flow, packet.sequence));
        match (to, kind) {
            (To::Client, Some((Kind::TraceReply, flow, sequence))) => {
                *seen.lock().unwrap().entry((flow, sequence)).or_default() += 1;
            }
            // To a socket of the trace's own, which counts nothing.
            (To::Server, Some((Kind::TraceReply, ..))) => {}
            (To::Server, _) if packet.starts_with(b"RR") => {
                asked.fetch_add(u64::from(kind.is_some_and(|(kind, ..)| kind == Kind::Trace)), Ordering::Relaxed);
                count.fetch_add(1, Ordering::Relaxed);
                // The last byte before the padding of the shortest packet.
                let mut forged = packet.to_vec();
                forged[31] ^= 0xff;
                return vec![forged, packet.to_vec()];
            }
            _ => {}
        }
        vec![packet.to_vec()]
    });
    let (recording, server) = tested(FLOWS, &tamper);
    let (injected, counted) = (injected.load(Ordering::Relaxed), server.counts().forged);
    // What comes after the session's end belongs to none.
    assert!((injected * 8 / 10..=injected).contains(&counted), "{counted} of {injected} counted");
    let taken = voice_packets(&recording, ObservationPoint::Server);
    assert!(taken > 50, "{taken} packets of voice");
    let answers = answers.lock().unwrap();
    let traced = traced.load(Ordering::Relaxed);
    assert!(answers.len() as u64 >= traced / 2 && !answers.is_empty(), "{answers:?} of {traced}");
    assert!(answers.values().all(|count| *count == 1), "{answers:?}");
    assert_eq!(forged(&recording), Some(0));
}

#[test]
fn a_test_without_forged_packets_counts_none() {
    let (recording, server) = tested(FLOWS, &(Arc::new(|_, packet: &[u8]| vec![packet.to_vec()]) as Tamper));
    assert_eq!(forged(&recording), Some(0));
    assert_eq!((server.counts().forged, server.counts().replayed), (0, 0));
}

#[test]
fn repeated_packets_are_answered_once_by_a_mirror_and_taken_once_by_an_exchange() {
    let answers: Arc<Mutex<BTreeMap<(u16, u32), u32>>> = Arc::default();
    let first: Mutex<BTreeMap<u16, Vec<u8>>> = Mutex::default();
    let traced = Arc::new(AtomicU64::new(0));
    let (seen, asked) = (Arc::clone(&answers), Arc::clone(&traced));
    // Each packet three times, and to the client the first of its flow once more before it.
    let tamper: Tamper = Arc::new(move |to, packet| {
        let Ok(read) = TestPacket::read(packet) else { return vec![packet.to_vec()] };
        let mut arriving = vec![packet.to_vec(); 3];
        match (to, read.kind) {
            (To::Server, Kind::TraceReply) => *seen.lock().unwrap().entry((read.flow, read.sequence)).or_default() += 1,
            (To::Client, Kind::Trace) => {
                asked.fetch_add(1, Ordering::Relaxed);
            }
            (To::Client, Kind::Reply) => {
                let mut first = first.lock().unwrap();
                arriving.insert(0, first.entry(read.flow).or_insert_with(|| packet.to_vec()).clone());
            }
            _ => {}
        }
        arriving
    });
    let (recording, _server) = tested(FLOWS, &tamper);
    let answers = answers.lock().unwrap();
    assert!(
        answers.len() as u64 >= traced.load(Ordering::Relaxed) / 2 && !answers.is_empty(),
        "{answers:?} {traced:?}"
    );
    assert!(answers.values().all(|count| *count == 1), "{answers:?}");
    assert!(exchanges(&recording) > 50);
    assert_eq!(forged(&recording), Some(0));
    // The others count what the network repeats, as it does without anybody's help, and no more of it than of packets.
    let mut copies: BTreeMap<(u16, u32), u64> = BTreeMap::new();
    for row in recording.frames.iter().flat_map(|frame| frame.tables.probe_received.rows()) {
        *copies.entry((row.flow.0, row.sequence)).or_default() += 1;
    }
    assert!(copies.len() > 100, "{}", copies.len());
}
