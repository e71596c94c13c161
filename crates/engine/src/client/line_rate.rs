//! How fast the line is in each direction, asked with a short train of packets before the test is opened.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use rrul_model::flow::AddressFamily;
use rrul_model::line_rate::{Dispersion, LineRate};
use rrul_model::random::Random;
use rrul_model::units::ByteCount;
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::packet_train::{self, LEAST_OCTETS, PACKET_OCTETS, PACKETS, TrainKind, TrainPacket, dispersion};
use socket2::{Protocol, Socket, Type};

use crate::clock::RawTime;
use crate::socket::{datagram, options, wait};

/// How long the round trip of a train may take: at 256 kbit/s each takes 1.5 s.
const LONGEST: Duration = Duration::from_secs(4);

/// How often the end of the train is announced to the server, as that packet may be lost with the train's end.
const TELLING: Duration = Duration::from_millis(50);

/// When no more of the train has come back for this long, no more will.
const SILENCE: Duration = Duration::from_millis(300);

/// Trains that are asked: a host that stands still for a moment while one is under way makes the line look slow, so the
/// middle one of three is believed.
const TRAINS: u16 = 3;

/// A train that takes this long each way is believed by itself: a line so slow dwarfs what a host adds.
const LONG_ENOUGH: Duration = Duration::from_millis(150);

/// Estimates the rate of the line to this server from packet trains; `None` when none came back.
pub(super) fn estimate(server: SocketAddr, seal: &PacketSeal, stop: &AtomicBool) -> Option<LineRate> {
    let family = AddressFamily::from_address(server.ip());
    let socket = connected(server, family).ok()?;
    let octets = ByteCount(PACKET_OCTETS as u64 + u64::from(family.udp_header_octets()));
    let (mut up, mut down) = (Vec::new(), Vec::new());
    for train in 1..=TRAINS {
        let back = send(&socket, train, seal, stop).ok()?;
        if back.is_empty() {
            break;
        }
        let measure =
            |stamps: Vec<i64>| dispersion(&stamps).map(|(packets, took)| Dispersion { packets, octets, took });
        up.extend(measure(back.iter().map(|(there, _)| *there).collect()));
        down.extend(measure(back.iter().map(|(_, here)| *here).collect()));
        if [&up, &down].iter().all(|found| found.iter().any(|one| one.took > LONG_ENOUGH)) {
            break;
        }
    }
    (!up.is_empty() || !down.is_empty()).then(|| LineRate { up: middle(up), down: middle(down) })
}

/// The one with as many slower as faster ones; of two the faster, as what a host adds only makes slower.
fn middle(mut dispersions: Vec<Dispersion>) -> Option<Dispersion> {
    dispersions.sort_by_key(|one| one.took / u32::from(one.packets));
    dispersions.get((dispersions.len().max(1) - 1) / 2).copied()
}

fn connected(server: SocketAddr, family: AddressFamily) -> io::Result<Socket> {
    let socket = Socket::new(options::domain(family), Type::DGRAM, Some(Protocol::UDP))?;
    let any: SocketAddr = match family {
        AddressFamily::Ipv4 => (Ipv4Addr::UNSPECIFIED, 0).into(),
        AddressFamily::Ipv6 => (Ipv6Addr::UNSPECIFIED, 0).into(),
    };
    socket.bind(&any.into())?;
    socket.connect(&server.into())?;
    options::stamp_received(&socket)?;
    Ok(socket)
}

/// Sends a train and waits for it to come back: when each of its packets arrived there, and its reply here, each on one
/// clock of its own, nanoseconds.
fn send(socket: &Socket, train: u16, seal: &PacketSeal, stop: &AtomicBool) -> io::Result<Vec<(i64, i64)>> {
    let car = TrainPacket { kind: TrainKind::Car, train, arrived: 0, token: seal.token(), sequence: 0, t2: 0 };
    let mut octets = [0; PACKET_OCTETS];
    Random(u64::from(train)).fill(&mut octets);
    for sequence in 0..u32::from(PACKETS) {
        let _ = TrainPacket { sequence, ..car }.write(&mut octets);
        seal.seal(&mut octets);
        // What does not leave is missing, as what is lost.
        let _ = datagram::send(socket, &octets);
    }
    let mut last = [0; LEAST_OCTETS];
    let _ = TrainPacket { kind: TrainKind::Last, ..car }.write(&mut last);
    seal.seal(&mut last);
    let deadline = RawTime::now().plus(LONGEST.as_nanos() as i64);
    let mut back: Vec<(u32, i64, i64)> = Vec::with_capacity(usize::from(PACKETS));
    let mut patience = TELLING;
    let mut next_announcement = RawTime::now();
    while RawTime::now() < deadline && !stop.load(Ordering::Relaxed) {
        // ICMP errors end a wait early, and each announcement may cause one.
        if back.is_empty() && RawTime::now() >= next_announcement {
            let _ = datagram::send(socket, &last);
            next_announcement = RawTime::now().plus(TELLING.as_nanos() as i64);
        }
        let ready = wait::readable(&[socket], patience)?;
        if !ready && !back.is_empty() {
            break;
        }
        loop {
            let datagram = match datagram::receive(socket, &mut octets) {
                Ok(Some(datagram)) => datagram,
                // A port that is closed returns no train.
                Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => return Ok(stamps(&back)),
                Ok(None) | Err(_) => break,
            };
            let packet_octets = &octets[..datagram.length.min(octets.len())];
            let (Ok(packet), Some(stamp)) = (packet_train::TrainPacket::read(packet_octets), datagram.stamp) else {
                continue;
            };
            let ours = (packet.kind, packet.train) == (TrainKind::Back, train) && seal.opens(packet_octets);
            let new = back.iter().all(|(sequence, ..)| *sequence != packet.sequence);
            if ours && new && datagram.length == PACKET_OCTETS && back.len() < usize::from(PACKETS) {
                back.push((packet.sequence, packet.t2, stamp));
                patience = SILENCE;
                if back.len() == usize::from(packet.arrived) {
                    return Ok(stamps(&back));
                }
            }
        }
    }
    Ok(stamps(&back))
}

fn stamps(back: &[(u32, i64, i64)]) -> Vec<(i64, i64)> {
    back.iter().map(|(_, there, here)| (*there, *here)).collect()
}

#[cfg(test)]
mod tests {
    use std::net::UdpSocket;
    use std::time::Instant;

    use rrul_proto::token::Token;

    use super::*;

    fn asked(server: SocketAddr, stop: &AtomicBool) -> Option<LineRate> {
        estimate(server, &PacketSeal::of_client(Token([7; 16]), None), stop)
    }

    #[test]
    fn a_port_that_is_closed_is_not_asked_again() {
        // Bound, so that no other test listens there, and deaf to all but one peer.
        let deaf = UdpSocket::bind("127.0.0.1:0").unwrap();
        deaf.connect("127.0.0.1:9").unwrap();
        let closed = deaf.local_addr().unwrap();
        let began = Instant::now();
        assert_eq!(asked(closed, &AtomicBool::new(false)), None);
        assert!(began.elapsed() < LONGEST / 2, "{:?}", began.elapsed());
    }

    #[test]
    fn a_server_that_is_silent_hears_of_the_end_now_and_then() {
        let silent = UdpSocket::bind("127.0.0.1:0").unwrap();
        let (server, stop) = (silent.local_addr().unwrap(), AtomicBool::new(false));
        let began = Instant::now();
        std::thread::scope(|scope| {
            scope.spawn(|| {
                std::thread::sleep(TELLING * 10);
                stop.store(true, Ordering::Relaxed);
            });
            assert_eq!(asked(server, &stop), None);
        });
        let most = began.elapsed().as_millis().div_ceil(TELLING.as_millis()) as usize;
        silent.set_nonblocking(true).unwrap();
        let packets = std::iter::from_fn(|| silent.recv(&mut [0; 2000]).ok()).filter(|octets| *octets < PACKET_OCTETS);
        let announced = packets.count();
        assert!((2..=most).contains(&announced), "{announced} announcements, at most {most}");
    }
}
