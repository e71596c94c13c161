//! The first step of the way from each host to the other, and what the size of packets hints at.

use rrul_model::environment::{Interface, Route};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use serde::Serialize;

use crate::metric_word::{MetricGroup, MetricWord};
use crate::packets::tcp_readings::TcpReadings;

/// The words for these facts.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "First steps of the way",
    path: "hosts[].routes[]",
    about: "",
    words: &[
        MetricWord { name: "family", about: "`ipv4` or `ipv6`", unit: "", source: "" },
        MetricWord {
            name: "interface",
            about: "index of the interface by which packets to the other host leave: one of `interfaces[]`",
            unit: "",
            source: "rtnetlink(7): RTM_GETROUTE",
        },
        MetricWord {
            name: "gateway",
            about: "whether a gateway lies between: the other host is not on the same link",
            unit: "",
            source: "",
        },
        MetricWord {
            name: "translated",
            about: "whether the other host sees this one under another address, as behind NAT; `null` when unknown",
            unit: "",
            source: "RFC 3022",
        },
        MetricWord {
            name: "mtu_octets",
            about: "largest packet that passes as far as this host knows: the least of the interface's, the route's and what \
                its TCP streams of the family found; `null` when unknown",
            unit: "octets",
            source: "RFC 1191, RFC 8201",
        },
        MetricWord {
            name: "encapsulation_hint",
            about: "what an MTU below 1500 commonly comes from, in words; `null` without such a sign. A guess",
            unit: "",
            source: "RFC 2516, 4213, 2784, 7348, 6333, 8200",
        },
        MetricWord {
            name: "speed_bps",
            about: "speed of the interface's line as its driver says; `null` when it says none, and for interfaces without a line",
            unit: "bit/s",
            source: "ethtool(8)",
        },
        MetricWord {
            name: "half_duplex",
            about: "whether the line carries one direction at a time; `null` when unknown",
            unit: "",
            source: "ethtool(8)",
        },
        MetricWord {
            name: "wireless.frequency_mhz, wireless.width_mhz, wireless.signal_dbm, wireless.transmit_bps, \
                wireless.receive_bps",
            about: "of a wireless interface, as it was before the test: channel, signal and rates; `wireless` is `null` for \
                others",
            unit: "MHz, dBm, bit/s",
            source: "nl80211",
        },
        MetricWord {
            name: "wireless.retried_share, wireless.failed",
            about: "transmissions repeated for each packet sent, and packets given up, over the whole test",
            unit: "share, count",
            source: "nl80211",
        },
    ],
};

/// The first step for one family.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct HostRoute {
    /// Family.
    pub family: AddressFamily,
    /// Index of the interface.
    pub interface: u32,
    /// Whether a gateway lies between.
    pub gateway: bool,
    /// Whether addresses are translated on the way.
    pub translated: Option<bool>,
    /// Largest packet that passes.
    pub mtu_octets: Option<u32>,
    /// What that hints at.
    pub encapsulation_hint: Option<&'static str>,
    /// Speed of the line.
    pub speed_bps: Option<u64>,
    /// One direction at a time.
    pub half_duplex: Option<bool>,
    /// The wireless link.
    pub wireless: Option<WirelessLink>,
}

/// A wireless link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct WirelessLink {
    /// Channel.
    pub frequency_mhz: Option<u32>,
    /// Its width.
    pub width_mhz: Option<u32>,
    /// Strength of the signal.
    pub signal_dbm: Option<i32>,
    /// Rate of sending.
    pub transmit_bps: Option<u64>,
    /// Rate of receiving.
    pub receive_bps: Option<u64>,
    /// Transmissions repeated for each packet sent.
    pub retried_share: Option<f64>,
    /// Packets given up.
    pub failed: Option<u64>,
}

/// Sizes of packets that are left where something is wrapped around them on a line of 1500 octets.
const HINTS: [(u32, &str); 8] = [
    (1492, "PPPoE"),
    (1480, "an IPv4 tunnel such as 6in4 or 6rd, or IPIP"),
    (1476, "GRE"),
    (1460, "DS-Lite or another tunnel through IPv6"),
    (1450, "VXLAN"),
    (1440, "WireGuard over IPv4"),
    (1420, "WireGuard"),
    (1280, "a tunnel that takes the smallest IPv6 packets"),
];

/// Full-size Ethernet.
const ETHERNET_MTU: u32 = 1500;

/// The routes of one host.
pub(crate) fn routes(recording: &Recording, tcp: &TcpReadings, point: ObservationPoint) -> Vec<HostRoute> {
    let state = &recording.host(point).state;
    let of = |route: &Route| {
        let interface = state.interface(route.interface);
        let mtu_octets = mtu(recording, tcp, point, route, interface);
        HostRoute {
            family: route.family,
            interface: route.interface,
            gateway: route.gateway,
            translated: route.translated,
            mtu_octets,
            encapsulation_hint: mtu_octets.and_then(hint),
            speed_bps: interface.and_then(speed),
            half_duplex: interface.and_then(half_duplex),
            wireless: interface.and_then(|interface| wireless(recording, point, interface)),
        }
    };
    state.routes.iter().map(of).collect()
}

fn mtu(
    recording: &Recording,
    tcp: &TcpReadings,
    point: ObservationPoint,
    route: &Route,
    interface: Option<&Interface>,
) -> Option<u32> {
    let flows = recording.header.flows.iter().filter(|flow| flow.family == route.family);
    let rows = flows.flat_map(|flow| tcp.at(point, flow.id));
    let found = rows.map(|row| row.pmtu).filter(|mtu| *mtu > 0).min();
    let known = [found, route.mtu, interface.map(|interface| interface.mtu)];
    known.into_iter().flatten().filter(|mtu| *mtu > 0).min()
}

fn hint(mtu: u32) -> Option<&'static str> {
    let known = HINTS.iter().find(|(size, _)| *size == mtu).map(|(_, words)| *words);
    known.or((mtu < ETHERNET_MTU).then_some("a tunnel or VPN"))
}

/// Drivers of virtual interfaces name a speed as well, and there is no line that it could be of.
fn is_line(interface: &Interface) -> bool {
    matches!(interface.kind.as_str(), "ethernet" | "bond" | "team")
}

fn speed(interface: &Interface) -> Option<u64> {
    interface.speed.filter(|_| is_line(interface)).map(|speed| u64::from(speed).saturating_mul(1_000_000))
}

fn half_duplex(interface: &Interface) -> Option<bool> {
    match interface.duplex.as_str() {
        "half" if is_line(interface) => Some(true),
        "full" if is_line(interface) => Some(false),
        _ => None,
    }
}

fn wireless(recording: &Recording, point: ObservationPoint, interface: &Interface) -> Option<WirelessLink> {
    let before = interface.wireless?;
    let after =
        recording.end.as_ref().and_then(|end| end.host(point)).and_then(|state| state.interface(interface.index));
    let after = after.and_then(|interface| interface.wireless);
    let rose = |before: Option<u64>, after: Option<u64>| after?.checked_sub(before?);
    let grown = after.map(|after| {
        let sent = rose(before.sent_packets, after.sent_packets);
        (sent, rose(before.sent_retries, after.sent_retries), rose(before.sent_failed, after.sent_failed))
    });
    let (sent, retries, failed) = grown.unwrap_or_default();
    let share = sent.filter(|sent| *sent > 0).zip(retries).map(|(sent, retries)| retries as f64 / sent as f64);
    Some(WirelessLink {
        frequency_mhz: before.frequency,
        width_mhz: before.width,
        signal_dbm: before.signal_average.or(before.signal),
        transmit_bps: before.transmit_rate,
        receive_bps: before.receive_rate,
        retried_share: share,
        failed,
    })
}
