//! Routers, as sockets see them.

use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rrul_lab::{Fate, Host, Link};
use rrul_model::flow::{AddressFamily, Direction};
use socket2::SockRef;

use super::error_queue::{self, IcmpError};

const HOPS: u8 = 4;
const PORT: u16 = 7786;

/// Round trip of one segment of five. A trace that is late by less still shows one router's distance from the next
/// one's.
const SEGMENT: Duration = Duration::from_millis(2);

fn link(path: &str) -> String {
    format!(
        "rtt = \"10ms\"\n[up]\nrate = \"100Mbit/s\"\n[down]\nrate = \"100Mbit/s\"\n\
         [path]\nhops = {HOPS}\nup_queue_after = 2\ndown_queue_after = 2\n{path}\n"
    )
}

/// Sends back every datagram that comes, until one is empty.
fn reflect(host: &Host, family: AddressFamily) -> SocketAddr {
    let address = SocketAddr::new(host.address(family), PORT);
    let socket = host.run(move || UdpSocket::bind(address)).unwrap().unwrap();
    let reflecting = host.spawn(move || {
        let mut octets = [0; 1500];
        loop {
            match socket.recv_from(&mut octets).unwrap() {
                (0, _) => return,
                (length, from) => socket.send_to(&octets[..length], from).unwrap(),
            };
        }
    });
    drop(reflecting.unwrap());
    address
}

/// What came of one packet: a router's answer, or the other host's, and after how long.
#[derive(Debug)]
struct Heard {
    error: Option<IcmpError>,
    after: Duration,
}

/// Sends a datagram of so many bytes with each of these TTLs to `to`, each when the one before was answered; then the one that
/// ends the reflector.
fn probe(host: &Host, to: SocketAddr, ttls: impl Iterator<Item = u8>, octets: usize) -> Vec<Heard> {
    let own = SocketAddr::new(host.address(AddressFamily::from_address(to.ip())), 0);
    let ttls: Vec<u8> = ttls.collect();
    let work = move || {
        let socket = UdpSocket::bind(own).unwrap();
        socket.connect(to).unwrap();
        socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
        error_queue::ask(&socket);
        let set_ttl = |ttl: u8| match to {
            SocketAddr::V4(_) => SockRef::from(&socket).set_ttl_v4(ttl.into()).unwrap(),
            SocketAddr::V6(_) => SockRef::from(&socket).set_unicast_hops_v6(ttl.into()).unwrap(),
        };
        let once = |ttl: u8| {
            set_ttl(ttl);
            let sent = Instant::now();
            socket.send(&[ttl; 1500][..octets]).unwrap();
            // An error that waits in the queue is also what reading says, once.
            let said = socket.recv(&mut [0; 1500]);
            let after = sent.elapsed();
            let error = error_queue::take(&socket);
            assert_eq!(error.is_some(), said.is_err(), "TTL {ttl}: {said:?}, {error:?}");
            Heard { error, after }
        };
        let heard = ttls.into_iter().map(once).collect();
        set_ttl(64);
        socket.send(&[]).unwrap();
        heard
    };
    host.run(work).unwrap()
}

#[test]
fn a_trace_from_either_host_finds_every_router_and_then_the_other_host() {
    rrul_lab::on_a_lab("a_trace_from_either_host_finds_every_router", || {
        let Some(lab) = super::lab("a_trace_from_either_host_finds_every_router", &link("")) else { return };
        let description = Link::from_toml("test.toml", &link("")).unwrap();
        for (direction, family) in Direction::ALL.into_iter().flat_map(|one| AddressFamily::ALL.map(|two| (one, two))) {
            let (near, far) = match direction {
                Direction::Up => (lab.client(), lab.server()),
                Direction::Down => (lab.server(), lab.client()),
            };
            let heard = probe(near, reflect(far, family), 1..=HOPS + 1, 60);
            let kind = if family == AddressFamily::Ipv4 { 11 } else { 3 };
            for (ttl, Heard { error, after }) in (1u8..).zip(&heard[..usize::from(HOPS)]) {
                let hop = if direction == Direction::Up { ttl } else { HOPS + 1 - ttl };
                let router = description.hop_address(family, hop).unwrap();
                let what = format!("{direction}, {family}, TTL {ttl}");
                assert_eq!(*error, Some(IcmpError { kind, code: 0, information: 0, router }), "{what}");
                let least = description.hop_round_trip(direction, hop).unwrap();
                let excess =
                    after.checked_sub(least).unwrap_or_else(|| panic!("{what}: {after:?} is less than {least:?}"));
                eprintln!("{what}: {excess:?} above {least:?}");
                assert!(excess < SEGMENT, "{what}: {after:?}, expected {least:?}");
            }
            let last = &heard[usize::from(HOPS)];
            assert!(last.error.is_none() && last.after >= Duration::from_millis(10), "{direction}, {family}: {last:?}");
        }
        let truth = lab.truth().unwrap();
        for direction in Direction::ALL {
            let records = || truth.direction(direction).records();
            assert_eq!(truth.direction(direction).count(Fate::Expired), 2 * u64::from(HOPS));
            let answers = records().filter(|record| [1, 58].contains(&record.protocol));
            assert_eq!(answers.filter(|record| record.fate == Fate::Delivered).count(), 2 * usize::from(HOPS));
            assert_eq!(truth.direction(direction).refused, 0);
        }
    });
}

#[test]
fn a_route_that_is_changed_while_the_link_runs_answers_from_other_addresses() {
    let Some(lab) = super::lab("a_route_that_is_changed_answers_from_other_addresses", &link("")) else { return };
    let other = Link::from_toml("test.toml", &link("addresses = 1")).unwrap();
    lab.set(&other).unwrap();
    for family in AddressFamily::ALL {
        let heard = probe(lab.client(), reflect(lab.server(), family), 2..=2, 60);
        assert_eq!(heard[0].error.map(|error| error.router), other.hop_address(family, 2));
    }
}

#[test]
fn a_host_learns_what_a_narrow_link_carries() {
    let narrow = link("mtu = { hop = 3, octets = 1400 }");
    let Some(lab) = super::lab("a_host_learns_what_a_narrow_link_carries", &narrow) else { return };
    let description = Link::from_toml("test.toml", &narrow).unwrap();
    for (family, kind, code) in [(AddressFamily::Ipv4, 3, 4), (AddressFamily::Ipv6, 2, 0)] {
        let heard = probe(lab.client(), reflect(lab.server(), family), [64].into_iter(), 1440);
        let router = description.hop_address(family, 3).unwrap();
        assert_eq!(heard[0].error, Some(IcmpError { kind, code, information: 1400, router }), "{family}");
    }
    assert_eq!(lab.truth().unwrap().up.count(Fate::TooBig), 2);
}
