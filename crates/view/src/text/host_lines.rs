//! Problems and limits of the two hosts, in lines for people. Most runs have none.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::host::host_health::HostHealth;
use rrul_analysis::metrics::host::host_interface::HostInterface;
use rrul_analysis::metrics::host::host_route::{HostRoute, WirelessLink};
use rrul_model::units::{BitRate, Delay};

use crate::text::words::{count, family_name, percent};

/// Local queueing delay from which on it is reported.
const OWN_QUEUE: Delay = Delay(1_000_000);

/// Returns one line for each.
pub(crate) fn lines(run: &Analysis) -> Vec<String> {
    run.hosts
        .iter()
        .flat_map(|host| of(host).into_iter().map(|line| format!("  {}: {line}", host.host.name())))
        .collect()
}

fn counted(number: u64, one: &str) -> String {
    format!("{} {one}{}", count(number), if number == 1 { "" } else { "s" })
}

fn of(host: &HostHealth) -> Vec<String> {
    let mut lines = ways(host);
    if let Some(share) = host.throttled_share.filter(|share| *share > 0.0) {
        lines.push(format!("throttled by its CPU quota in {} of periods (control group)", percent(share)));
    }
    if let Some(dropped) = host.softnet_dropped.filter(|dropped| *dropped > 0) {
        let dropped = counted(dropped, "packet");
        lines.push(format!("dropped {dropped} at a full CPU backlog (net.core.netdev_max_backlog)"));
    }
    for socket in host.sockets.iter().filter(|socket| socket.dropped > 0) {
        let share = socket.dropped_share.map_or_else(String::new, |share| format!(" ({})", percent(share)));
        let dropped = counted(socket.dropped, "test packet");
        let whose = socket.flow.as_ref().map_or_else(String::new, |flow| format!(" of {flow}"));
        lines.push(format!("dropped {dropped}{whose}{share} at a full socket buffer (net.core.rmem_max)"));
    }
    if let Some(dropped) = host.listen_drops.filter(|dropped| *dropped > 0) {
        lines.push(format!(
            "dropped {} at a full listen queue (net.core.somaxconn)",
            counted(dropped, "connection attempt")
        ));
    }
    if let Some(forged) = host.forged_packets.filter(|forged| *forged > 0) {
        let forged = counted(forged, "test packet");
        lines.push(format!("dropped {forged} that failed authentication: forged, or changed on the way"));
    }
    lines.extend(host.interfaces.iter().flat_map(interface));
    let queueing = host.transmit_queueing.as_ref().and_then(|statistics| statistics.p95);
    if let Some(p95) = queueing.filter(|p95| *p95 >= OWN_QUEUE) {
        lines.push(format!("local queueing delay of test packets under load: P95 {p95}, not part of delays above"));
    }
    lines
}

/// The first link of the route, where it is no plain wire.
fn ways(host: &HostHealth) -> Vec<String> {
    let mut lines: Vec<String> = Vec::new();
    for route in &host.routes {
        let interface = host.interfaces.iter().find(|interface| interface.interface == route.interface);
        let name = interface.map_or_else(|| format!("interface {}", route.interface), |found| found.name.clone());
        lines.extend(route.wireless.as_ref().map(|link| format!("{name} is wireless{}", radio(link))));
        lines.extend(route.half_duplex.filter(|half| *half).map(|_| format!("{name} is half duplex")));
        lines.extend(smaller_packets(route));
    }
    lines.dedup();
    lines
}

fn radio(link: &WirelessLink) -> String {
    let rate = |rate: Option<u64>, way: &str| rate.map(|rate| format!("{way} {}", BitRate(rate)));
    let said = [
        link.frequency_mhz.map(|frequency| format!("{frequency} MHz")),
        link.signal_dbm.map(|signal| format!("{signal} dBm")),
        rate(link.transmit_bps, "transmit"),
        rate(link.receive_bps, "receive"),
        link.retried_share.map(|share| format!("{} retransmitted", percent(share))),
        link.failed.filter(|failed| *failed > 0).map(|failed| format!("{} failed", counted(failed, "packet"))),
    ];
    let said: Vec<String> = said.into_iter().flatten().collect();
    if said.is_empty() { String::new() } else { format!(": {}", said.join(", ")) }
}

fn smaller_packets(route: &HostRoute) -> Option<String> {
    let (mtu, hint) = route.mtu_octets.zip(route.encapsulation_hint)?;
    Some(format!("{} MTU {mtu} bytes, typical of {hint}", family_name(route.family)))
}

fn interface(interface: &HostInterface) -> Vec<String> {
    let name = &interface.name;
    let mut lines = Vec::new();
    for (dropped, what) in
        [(interface.received_dropped, "incoming packet"), (interface.sent_dropped, "outgoing packet")]
    {
        if let Some(dropped) = dropped.filter(|dropped| *dropped > 0) {
            lines.push(format!("{name} dropped {} under load", counted(dropped, what)));
        }
    }
    for queue in &interface.queue_disciplines {
        let did = [(queue.dropped, "dropped"), (queue.marked, "marked")];
        let did: Vec<String> = did
            .into_iter()
            .filter_map(|(packets, verb)| Some(format!("{verb} {}", count(packets.filter(|packets| *packets > 0)?))))
            .collect();
        if !did.is_empty() {
            lines.push(format!("{} on {name} {} packets: a local queue", queue.kind, did.join(" and ")));
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_analysis::measured::Measured;
    use rrul_analysis::metrics::host::host_health::HostSocket;
    use rrul_analysis::metrics::host::host_interface::HostQueue;
    use rrul_analysis::statistics::percentile::DelayStatistics;
    use rrul_model::flow::AddressFamily;
    use rrul_model::observation::ObservationPoint;

    fn quiet(host: ObservationPoint) -> HostHealth {
        let queue = HostQueue {
            kind: "fq_codel".to_owned(),
            handle: "8001:".to_owned(),
            parent: "root".to_owned(),
            packets: Some(5000),
            dropped: Some(0),
            marked: Some(0),
            overlimits: Some(0),
        };
        let interface = HostInterface {
            interface: 2,
            name: "wlan0".to_owned(),
            kind: "wireless".to_owned(),
            idle: None,
            load: None,
            received_dropped: Some(0),
            sent_dropped: None,
            backlog_p95_octets: Some(3000),
            backlog_max_octets: Some(9000),
            backlog_max_packets: Some(6),
            queue_disciplines: vec![queue],
        };
        let route = HostRoute {
            family: AddressFamily::Ipv6,
            interface: 2,
            gateway: true,
            translated: Some(true),
            mtu_octets: Some(1500),
            encapsulation_hint: None,
            speed_bps: None,
            half_duplex: Some(false),
            wireless: None,
        };
        HostHealth {
            host,
            kernel: None,
            processor: None,
            virtualisation: None,
            cores: Some(2),
            softnet_dropped: Some(0),
            softnet_squeezed: Some(12),
            throttled_share: Some(0.0),
            throttled_ns: Some(0),
            listen_drops: Some(0),
            forged_packets: Some(0),
            transmit_queueing: DelayStatistics::from_delays(vec![Delay(90_000)], 0),
            sockets: vec![HostSocket { flow: None, dropped: 0, dropped_share: Some(0.0) }],
            routes: vec![route],
            interfaces: vec![interface],
            kernel_counters: Vec::new(),
        }
    }

    fn said(hosts: Vec<HostHealth>) -> Vec<String> {
        lines(&Analysis { measured: Measured { hosts, ..Measured::default() }, ..Analysis::default() })
    }

    #[test]
    fn of_hosts_that_fared_well_nothing_is_printed() {
        assert!(said(vec![quiet(ObservationPoint::Client), quiet(ObservationPoint::Server)]).is_empty());
        assert!(said(Vec::new()).is_empty());
    }

    #[test]
    fn what_is_worth_knowing_is_printed_with_the_host_that_it_concerns() {
        let mut client = quiet(ObservationPoint::Client);
        client.routes[0].wireless = Some(WirelessLink {
            frequency_mhz: Some(5210),
            width_mhz: Some(80),
            signal_dbm: Some(-61),
            transmit_bps: Some(866_700_000),
            receive_bps: None,
            retried_share: Some(0.25),
            failed: Some(0),
        });
        client.routes[0].mtu_octets = Some(1480);
        client.routes[0].encapsulation_hint = Some("6in4");
        client.interfaces[0].queue_disciplines[0].marked = Some(21);
        client.interfaces[0].sent_dropped = Some(1);
        client.forged_packets = Some(3);
        client.transmit_queueing = DelayStatistics::from_delays(vec![Delay(3_200_000)], 0);
        let mut server = quiet(ObservationPoint::Server);
        server.throttled_share = Some(0.8);
        server.softnet_dropped = Some(12_345);
        server.sockets[0] = HostSocket { flow: None, dropped: 8, dropped_share: Some(0.04) };
        server.listen_drops = Some(1);
        let expected = [
            "  client: wlan0 is wireless: 5210 MHz, -61 dBm, transmit 867 Mbit/s, 25 % retransmitted",
            "  client: IPv6 MTU 1480 bytes, typical of 6in4",
            "  client: dropped 3 test packets that failed authentication: forged, or changed on the way",
            "  client: wlan0 dropped 1 outgoing packet under load",
            "  client: fq_codel on wlan0 marked 21 packets: a local queue",
            "  client: local queueing delay of test packets under load: P95 3.2 ms, not part of delays above",
            "  server: throttled by its CPU quota in 80 % of periods (control group)",
            "  server: dropped 12\u{a0}345 packets at a full CPU backlog (net.core.netdev_max_backlog)",
            "  server: dropped 8 test packets (4.0 %) at a full socket buffer (net.core.rmem_max)",
            "  server: dropped 1 connection attempt at a full listen queue (net.core.somaxconn)",
        ];
        assert_eq!(said(vec![client, server]), expected);
    }
}
