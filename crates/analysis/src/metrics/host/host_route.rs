//! The first step of the way from each host to the other, and what the size of packets hints at.

use rrul_model::environment::{Interface, Route};
use rrul_model::flow::AddressFamily;
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::Recording;
use schemars::JsonSchema;
use serde::Serialize;

use crate::packets::tcp_readings::TcpReadings;

/// The first hop of one address family.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Routes and wireless links")]
pub struct HostRoute {
    /// `ipv4` or `ipv6`.
    pub family: AddressFamily,
    /// Index of the outgoing interface towards the other host: one of `interfaces[]`.
    ///
    /// Source: rtnetlink(7): RTM_GETROUTE.
    pub interface: u32,
    /// Whether packets go through a gateway: the other host is not on the same link.
    pub gateway: bool,
    /// Whether the other host sees this host under another address, such as behind NAT; `null` if unknown.
    ///
    /// Source: RFC 3022.
    pub translated: Option<bool>,
    /// Path MTU known to this host: the smallest of the interface's MTU, the route's, and that of its TCP streams of
    /// the family. `null` if unknown.
    ///
    /// Source: RFC 1191, RFC 8201.
    pub mtu_octets: Option<u32>,
    /// Common cause of an MTU below 1500, as text; a guess. `null` otherwise.
    ///
    /// Source: RFC 2516, 4213, 2784, 7348, 6333, 8200.
    pub encapsulation_hint: Option<&'static str>,
    /// Speed of the interface's line as its driver says; `null` when it says none, and for interfaces without a line.
    ///
    /// Source: ethtool(8).
    pub speed_bps: Option<u64>,
    /// Whether the line carries one direction at a time; `null` when unknown.
    ///
    /// Source: ethtool(8).
    pub half_duplex: Option<bool>,
    /// State of the interface if it is wireless. Null for others.
    pub wireless: Option<WirelessLink>,
}

/// A wireless link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct WirelessLink {
    /// Center of the channel, before the test.
    ///
    /// Unit: MHz. Source: nl80211.
    pub frequency_mhz: Option<u32>,
    /// Width of the channel.
    ///
    /// Unit: MHz. Source: nl80211.
    pub width_mhz: Option<u32>,
    /// Signal strength.
    ///
    /// Unit: dBm. Source: nl80211.
    pub signal_dbm: Option<i32>,
    /// Rate of sending.
    ///
    /// Source: nl80211.
    pub transmit_bps: Option<u64>,
    /// Rate of receiving.
    ///
    /// Source: nl80211.
    pub receive_bps: Option<u64>,
    /// Transmissions repeated for each packet sent, over the whole test.
    ///
    /// Unit: ratio. Source: nl80211.
    pub retried_share: Option<f64>,
    /// Packets given up, over the whole test.
    ///
    /// Unit: count. Source: nl80211.
    pub failed: Option<u64>,
}

/// Sizes of packets that are left where something is wrapped around them on a line of 1500 bytes.
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

/// Drivers of virtual interfaces name a speed as well, and have no line that it could belong to.
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
