//! Delay: an idle link takes the configured time.

use std::io::{Read, Write};
use std::net::{SocketAddr, UdpSocket};
use std::time::{Duration, Instant};

use rrul_lab::{Host, Lab, Link, percentile};
use rrul_model::flow::AddressFamily;
use socket2::{Domain, Protocol, Socket, Type};

const ROUND_TRIPS: usize = 60;

/// Above the lab's own threads, as the product's probes are.
const PROBE_PRIORITY: i32 = 20;

/// What a round trip may take longer than the link beside the waking of threads: two transmissions (0.02 ms) and six
/// system calls that carry a packet through the network stack. Where a thread wakes in 0.02 ms, as on quiet hardware, a
/// round trip is thereby held to 0.22 ms above the link; a busy virtual machine takes 0.05 to 0.1 ms a wake.
const OWN_COST: Duration = Duration::from_micros(100);

/// Wakes on the way of an echo: each of the lab's two threads by the packet and by its timer, and the client.
const ECHO_WAKES: u32 = 5;

/// On the way of a datagram also the thread that reflects it.
const DATAGRAM_WAKES: u32 = 6;

fn link(rtt: &str) -> String {
    format!("rtt = \"{rtt}\"\n[up]\nrate = \"100Mbit/s\"\n[down]\nrate = \"100Mbit/s\"\n")
}

/// Round-trip times in nanoseconds, ascending, and what it cost meanwhile to wake a thread.
struct Measured {
    round_trips: Vec<u64>,
    wake: Duration,
}

/// Sends every datagram that arrives at `address` of `host` back, as often as a test needs.
fn reflect(host: &Host, address: SocketAddr) -> SocketAddr {
    let socket = host.run(move || UdpSocket::bind(address)).unwrap().unwrap();
    let address = socket.local_addr().unwrap();
    let reflecting = host.spawn(move || {
        rrul_lab::be_realtime(PROBE_PRIORITY);
        let mut octets = [0; 100];
        for _ in 0..ROUND_TRIPS {
            let (length, from) = socket.recv_from(&mut octets).unwrap();
            socket.send_to(&octets[..length], from).unwrap();
        }
    });
    drop(reflecting.unwrap());
    address
}

/// A datagram's round trip, from a socket made in the calling thread's namespace.
fn exchange(with: SocketAddr) -> impl FnMut() {
    let socket = UdpSocket::bind(if with.is_ipv4() { "0.0.0.0:0" } else { "[::]:0" }).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    let mut octets = [0; 100];
    move || {
        socket.send_to(&octets, with).unwrap();
        socket.recv(&mut octets).unwrap();
    }
}

/// An ICMP echo, which the other host's kernel answers itself.
fn echo(with: SocketAddr) -> impl FnMut() {
    let (domain, protocol, request) = match with {
        SocketAddr::V4(_) => (Domain::IPV4, Protocol::ICMPV4, 8),
        SocketAddr::V6(_) => (Domain::IPV6, Protocol::ICMPV6, 128),
    };
    let mut socket = Socket::new(domain, Type::DGRAM, Some(protocol)).unwrap();
    socket.set_read_timeout(Some(Duration::from_secs(5))).unwrap();
    socket.connect(&with.into()).unwrap();
    let mut octets = [0; 64];
    move || {
        octets[0] = request;
        socket.write_all(&octets).unwrap();
        assert_eq!(socket.read(&mut octets).unwrap(), octets.len());
    }
}

/// Times what `prepare` gives, from the client. Before each, a thread that has slept as long as those of the lab do is
/// woken and wakes back without any link between: half of that time is the cost of a wake on this host, now.
fn measure<Once: FnMut()>(lab: &Lab, prepare: impl FnOnce() -> Once + Send + 'static) -> Measured {
    let reference = reflect(lab.client(), SocketAddr::from(([127, 0, 0, 1], 0)));
    let work = move || {
        rrul_lab::be_realtime(PROBE_PRIORITY);
        let (mut refer, mut once) = (exchange(reference), prepare());
        let mut times = [Vec::new(), Vec::new()];
        for _ in 0..ROUND_TRIPS {
            std::thread::sleep(Duration::from_millis(9));
            let begun = Instant::now();
            refer();
            let between = Instant::now();
            once();
            times[0].push((between - begun).as_nanos() as u64);
            times[1].push(between.elapsed().as_nanos() as u64);
        }
        times
    };
    let [mut references, mut round_trips] = lab.client().run(work).unwrap();
    references.sort_unstable();
    round_trips.sort_unstable();
    Measured { round_trips, wake: Duration::from_nanos(percentile(&references, 50.0).unwrap()) / 2 }
}

fn assert_median(what: &str, values: &[u64], delay: Duration, allowed: Duration) {
    let median = Duration::from_nanos(percentile(values, 50.0).unwrap());
    let excess = median.checked_sub(delay).unwrap_or_else(|| panic!("{what}: {median:?} is less than {delay:?}"));
    eprintln!("{what}: P50 is {excess:?} above {delay:?}, allowed {allowed:?}");
    assert!(excess < allowed, "{what}: P50 {median:?}, expected {delay:?}; {excess:?} above, allowed {allowed:?}");
}

#[test]
fn an_idle_round_trip_takes_the_configured_delay_over_ipv4_and_ipv6() {
    rrul_lab::on_a_lab("an_idle_round_trip_takes_the_configured_delay", || {
        let Some(lab) = super::lab("an_idle_round_trip_takes_the_configured_delay", &link("18ms")) else { return };
        let delay = Duration::from_millis(18);
        for family in AddressFamily::ALL {
            let server = SocketAddr::new(lab.server().address(family), 0);
            let Measured { round_trips, wake } = measure(&lab, move || echo(server));
            assert_median(&format!("{family} echo"), &round_trips, delay, OWN_COST + ECHO_WAKES * wake);
            let reflector = reflect(lab.server(), server);
            let Measured { round_trips, wake } = measure(&lab, move || exchange(reflector));
            assert_median(&format!("{family} udp"), &round_trips, delay, OWN_COST + DATAGRAM_WAKES * wake);
        }
        let truth = lab.truth().unwrap();
        assert!(truth.up.records().all(|record| record.queueing_delay == 0), "an idle link has no queue");
        assert_eq!(truth.up.records().count(), 4 * ROUND_TRIPS, "only the test sends on the link");
        for lateness in [truth.up.lateness(), truth.down.lateness()] {
            assert_median("lateness", &lateness, Duration::ZERO, OWN_COST);
        }
    });
}

#[test]
fn a_delay_set_while_the_link_runs_applies_from_then_on() {
    rrul_lab::on_a_lab("a_delay_set_while_the_link_runs_applies_from_then_on", || {
        let Some(lab) = super::lab("a_delay_set_while_the_link_runs_applies_from_then_on", &link("2ms")) else {
            return;
        };
        lab.set(&Link::from_toml("test.toml", &link("25ms")).unwrap()).unwrap();
        let server = SocketAddr::new(lab.server().address(AddressFamily::Ipv4), 0);
        let Measured { round_trips, wake } = measure(&lab, move || echo(server));
        assert_median("echo", &round_trips, Duration::from_millis(25), OWN_COST + ECHO_WAKES * wake);
    });
}
