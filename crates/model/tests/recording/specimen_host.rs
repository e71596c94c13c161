//! The hosts of the specimen: everything that a description of a host can hold.

use std::collections::BTreeMap;

use rrul_model::environment::{
    ByteQueueLimit, Environment, HostState, Interface, InterfaceCounters, QueueDiscipline, Rings, Route, TrafficClass,
    TrafficCounters, Wireless,
};
use rrul_model::flow::AddressFamily;

/// A host with something of everything.
pub(crate) fn environment(host: &str) -> Environment {
    let map = |name: &str, value: &str| BTreeMap::from([(name.to_owned(), value.to_owned())]);
    Environment {
        program: "0.1.0".into(),
        host: host.into(),
        kernel: "Linux 6.18.44".into(),
        architecture: "x86_64".into(),
        virtualisation: "kvm".into(),
        cores: 2,
        processor: "an example".into(),
        governors: BTreeMap::from([("schedutil".into(), 2)]),
        ticks_per_second: 100,
        clock_source: "tsc".into(),
        tcp_info_length: 280,
        abilities: map("realtime_scheduling", "yes"),
        settings: map("net.ipv4.tcp_congestion_control", "cubic"),
        state: state(),
    }
}

fn state() -> HostState {
    HostState {
        load_average: vec![12, 34, 5],
        core_frequencies: vec![2_400_000, 1_200_000],
        routes: vec![Route {
            family: AddressFamily::Ipv4,
            interface: 2,
            source: Some("192.0.2.1".parse().unwrap()),
            destination: Some("192.0.2.7".parse().unwrap()),
            gateway: true,
            mtu: Some(1492),
            translated: Some(false),
        }],
        interfaces: vec![
            interface(),
            Interface { index: 1, name: "lo".into(), kind: "loopback".into(), mtu: 65536, ..Interface::default() },
        ],
        interfaces_left_out: 3,
        kernel_counters: BTreeMap::from([("TcpExt.ListenDrops".into(), 3)]),
    }
}

fn interface() -> Interface {
    let counters = InterfaceCounters {
        received_octets: 1,
        received_packets: 2,
        received_errors: 3,
        received_dropped: 4,
        received_missed: 5,
        sent_octets: u64::MAX,
        sent_packets: 7,
        sent_errors: 8,
        sent_dropped: 9,
        collisions: 10,
    };
    let passed = TrafficCounters {
        octets: 1514,
        packets: 1,
        dropped: 2,
        overlimits: 3,
        requeued: 4,
        backlog_octets: 5,
        backlog_packets: 6,
    };
    Interface {
        index: 2,
        name: "eth0".into(),
        kind: "ethernet".into(),
        in_use: true,
        lower: Some(1),
        upper: Some(5),
        mtu: 1500,
        up: true,
        carrier: true,
        operational: "up".into(),
        header: Some(14),
        counters,
        queue_length: Some(1000),
        transmit_queues: Some(4),
        receive_queues: Some(4),
        segmentation_limit: Some(65536),
        driver: "example".into(),
        speed: Some(1000),
        duplex: "full".into(),
        offloads: BTreeMap::from([("tso".into(), true), ("lro".into(), false)]),
        rings: Some(Rings { receive: 256, receive_limit: 4096, transmit: 512, transmit_limit: 2048 }),
        byte_queue_limits: vec![ByteQueueLimit { queue: 1, limit: 30_280, inflight: 1514 }],
        queue_disciplines: vec![QueueDiscipline {
            kind: "fq_codel".into(),
            handle: "8001:".into(),
            parent: "1:10".into(),
            offloaded: true,
            options: BTreeMap::from([("target_us".into(), 4999)]),
            counters: passed,
            details: BTreeMap::from([("ecn_mark".into(), 11)]),
        }],
        classes: vec![TrafficClass {
            kind: "htb".into(),
            handle: "1:10".into(),
            parent: "root".into(),
            options: BTreeMap::from([("rate_bps".into(), 20_000_000)]),
            counters: passed,
            details: BTreeMap::from([("borrows".into(), 12)]),
        }],
        wireless: Some(Wireless {
            frequency: Some(5180),
            width: Some(80),
            stations: 1,
            signal: Some(-61),
            signal_average: Some(-62),
            transmit_rate: Some(866_700_000),
            receive_rate: Some(780_000_000),
            sent_packets: Some(1),
            sent_retries: Some(2),
            sent_failed: Some(3),
            received_dropped: Some(4),
            beacons_lost: Some(5),
        }),
    }
}
