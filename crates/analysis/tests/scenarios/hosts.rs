//! What hosts drop, hold back and queue themselves.

use rrul_analysis::metrics::host::host_health::{CounterIncrease, HostHealth, HostSocket};
use rrul_analysis::metrics::host::host_interface::{HostInterface, Passed};
use rrul_model::environment::{HostState, Interface, QueueDiscipline, Route, Wireless};
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::observation::{
    CgroupThrottle, InterfaceCount, ObservationPoint, PacketReceived, ProbeSent, ProbeStamped, QueueCount,
    ReplyStamped, SocketDrops, SoftnetCount,
};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::builder::{Client, HELD, MS, SECOND, Scenario, Server, ms, tcp_info};

/// Gives both hosts something of everything, for tests of forms.
pub(crate) fn furnish(scenario: &mut Scenario) {
    let route = Route {
        family: AddressFamily::Ipv4,
        interface: 2,
        source: None,
        destination: None,
        gateway: true,
        mtu: Some(1480),
        translated: Some(true),
    };
    let queue = QueueDiscipline { kind: "cake".into(), parent: "root".into(), ..QueueDiscipline::default() };
    let wlan = Interface { wireless: Some(Wireless::default()), queue_disciplines: vec![queue], ..interface() };
    let state = |drops| HostState {
        routes: vec![route.clone()],
        interfaces: vec![wlan.clone()],
        kernel_counters: [("TcpExt.ListenDrops".to_owned(), drops), ("rrul.ListenDrops".to_owned(), drops)].into(),
        ..HostState::default()
    };
    let header = &mut scenario.recording.header;
    (header.client.state, header.server.state) = (state(1), state(1));
    header.client.kernel = "Linux".into();
    let end = scenario.recording.end.as_mut().unwrap();
    (end.client, end.server) = (Some(Box::new(state(3))), Some(Box::new(state(3))));
    let flow = scenario.recording.header.flows[0].id;
    each_second(scenario, |scenario, at, _| {
        scenario.observe(Client, at.0, SocketDrops { flow, at, dropped: 0 });
        let row = InterfaceCount {
            interface: 2,
            at,
            received_octets: 0,
            received_packets: 0,
            received_dropped: 0,
            sent_octets: 0,
            sent_packets: 0,
            sent_dropped: 0,
        };
        scenario.observe(Client, at.0, row);
    });
}

/// A reading each second of the whole test, a little after it, reported how many seconds of load lie before it.
fn each_second(scenario: &mut Scenario, mut row: impl FnMut(&mut Scenario, TestTime, u64)) {
    for second in 0..=20_i64 {
        let at = TestTime(second * SECOND + 2 * MS);
        row(scenario, at, second.clamp(5, 15).cast_unsigned() - 5);
    }
}

fn host_health(scenario: &Scenario, point: ObservationPoint) -> HostHealth {
    let hosts = scenario.analyze().measured.hosts;
    hosts.into_iter().find(|host| host.host == point).unwrap_or_else(|| panic!("{point:?} reported nothing"))
}

fn close(found: Option<f64>, expected: f64) {
    assert!(found.is_some_and(|found| (found - expected).abs() < 1e-9), "{found:?} is not {expected}");
}

#[test]
fn a_host_that_reported_nothing_is_left_out() {
    assert!(Scenario::new().analyze().hosts.is_empty());
}

#[test]
fn drops_at_backlogs_are_those_of_the_load_over_all_cores() {
    let mut scenario = Scenario::new();
    each_second(&mut scenario, |scenario, at, loaded| {
        for core in 0..2_u16 {
            // 7 and 14 drops a second of load on top of earlier ones; the counter of the first core runs over.
            let before = if core == 0 { u32::MAX - 30 } else { 900 };
            let dropped = before.wrapping_add(loaded as u32 * 7 * (u32::from(core) + 1));
            let squeezed = 40 + loaded as u32;
            let row = SoftnetCount { at, core, processed: 1, dropped, squeezed };
            scenario.observe(Client, at.0, row);
        }
    });
    let client = host_health(&scenario, Client);
    assert_eq!((client.softnet_dropped, client.softnet_squeezed), (Some(210), Some(20)));
    assert_eq!(client.host, Client);
    assert_eq!(scenario.analyze().hosts.len(), 1, "the server reported nothing");
}

#[test]
fn readings_outside_the_load_say_nothing_about_it() {
    let mut scenario = Scenario::new();
    for (at, dropped) in [(SECOND, 0), (2 * SECOND, 50), (17 * SECOND, 90)] {
        let at = TestTime(at);
        scenario.observe(Server, at.0, SoftnetCount { at, core: 0, processed: 0, dropped, squeezed: 0 });
    }
    assert!(scenario.analyze().hosts.is_empty(), "no reading lies within the load");
}

#[test]
fn a_control_group_is_throttled_for_its_share_of_periods() {
    let mut scenario = Scenario::new();
    each_second(&mut scenario, |scenario, at, loaded| {
        let second = at.0.div_euclid(SECOND).cast_unsigned();
        let throttled = Delay(loaded.cast_signed() * 640 * MS);
        let row = CgroupThrottle { at, periods: 500 + 10 * second, throttled_periods: 30 + 8 * loaded, throttled };
        scenario.observe(Server, at.0, row);
    });
    let server = host_health(&scenario, Server);
    close(server.throttled_share, 0.8);
    // Readings are 2 ms late, so that part of the last second falls behind the load.
    assert_eq!(server.throttled_ns, Some(6400 * MS - 640 * MS * 2 / 1000));
    assert_eq!(server.softnet_dropped, None, "not reported, and not 0");
}

#[test]
fn drops_at_sockets_are_reported_by_flow_with_their_share() {
    let mut scenario = Scenario::healthy();
    let probe = scenario.recording.header.flows[0].id;
    // 500 replies arrive under load; 4 more were dropped at the client's socket, and 8 packets at the server's.
    each_second(&mut scenario, |scenario, at, loaded| {
        let dropped = 3 + u32::try_from(loaded.min(4)).unwrap();
        scenario.observe(Client, at.0, SocketDrops { flow: probe, at, dropped });
        let dropped = 100 + 2 * u32::try_from(loaded.min(4)).unwrap();
        scenario.observe(Server, at.0, SocketDrops { flow: FlowId::CONTROL, at, dropped });
    });
    for sequence in 0..192_u32 {
        let received = TestTime(6 * SECOND + i64::from(sequence) * 20 * MS);
        scenario.observe(Server, received.0, PacketReceived { flow: probe, sequence, received, octet: 0 });
    }
    let name = scenario.recording.header.flows[0].name.clone();
    let expected = HostSocket { flow: Some(name), dropped: 4, dropped_share: Some(4.0 / 504.0) };
    assert_eq!(host_health(&scenario, Client).sockets, [expected]);
    let expected = HostSocket { flow: None, dropped: 8, dropped_share: Some(8.0 / 200.0) };
    assert_eq!(host_health(&scenario, Server).sockets, [expected]);
}

#[test]
fn the_time_in_the_own_queue_is_between_the_programs_stamp_and_the_kernels() {
    let mut scenario = Scenario::new();
    let flow = scenario.udp_probe(AddressFamily::Ipv4);
    for sequence in 0..1000_u32 {
        let at = i64::from(sequence) * 20 * MS;
        let loaded = Scenario::LOAD.contains(TestTime(at));
        let scheduled = TestTime(at - MS);
        scenario.observe(Client, at, ProbeSent { flow, sequence, scheduled, sent: TestTime(at) });
        // Under load every tenth packet lies 3 ms in the client's queue, the others 10 us, idle ones 1 us.
        let lay = match (loaded, sequence % 10) {
            (true, 0) => 3 * MS,
            (true, _) => 10_000,
            (false, _) => 1000,
        };
        scenario.observe(Client, at, ProbeStamped { flow, sequence, sent: TestTime(at + lay) });
        scenario.received(flow, sequence, at, 20 * MS);
        // The reflector lets its replies lie for 2 ms.
        let left = at + 10 * MS + crate::builder::CLOCK_OFFSET + HELD + 2 * MS;
        scenario.observe(Client, at, ReplyStamped { flow, sequence, reflector_sent: TestTime(left) });
    }
    let client = host_health(&scenario, Client).transmit_queueing.unwrap();
    assert_eq!((client.n, client.p50, client.p95, client.max), (500, Some(Delay(10_000)), ms(3), ms(3)));
    let server = host_health(&scenario, Server).transmit_queueing.unwrap();
    assert_eq!((server.n, server.min, server.max), (500, ms(2), ms(2)));
}

fn interface() -> Interface {
    Interface {
        index: 2,
        name: "eth0".into(),
        kind: "ethernet".into(),
        in_use: true,
        mtu: 1500,
        ..Interface::default()
    }
}

/// Both states of the client, of which the second is made from the first.
fn states(scenario: &mut Scenario, before: HostState, change: impl FnOnce(&mut HostState)) {
    let mut after = before.clone();
    change(&mut after);
    scenario.recording.header.client.state = before;
    scenario.recording.end.as_mut().unwrap().client = Some(Box::new(after));
}

#[test]
fn interfaces_tell_what_passed_in_each_phase_and_what_waited_before_them() {
    let mut scenario = Scenario::new();
    let queue = |kind: &str, handle: &str, parent: &str| QueueDiscipline {
        kind: kind.into(),
        handle: handle.into(),
        parent: parent.into(),
        ..QueueDiscipline::default()
    };
    let mut eth0 = interface();
    eth0.queue_disciplines = vec![queue("htb", "1:", "root"), queue("fq_codel", "8003:", "1:10")];
    eth0.queue_disciplines[1].details.insert("ecn_mark".into(), 40);
    eth0.queue_disciplines[1].counters.dropped = 7;
    let unused = Interface { index: 5, name: "docker0".into(), ..Interface::default() };
    let before = HostState { interfaces: vec![eth0, unused], ..HostState::default() };
    states(&mut scenario, before, |after| {
        let queues = &mut after.interfaces[0].queue_disciplines;
        queues[0].counters.overlimits = 9;
        queues[0].counters.packets = 5000;
        queues[1].counters.dropped = 10;
        queues[1].details.insert("ecn_mark".into(), 61);
        queues[1].details.insert("ce_mark".into(), 0);
    });
    each_second(&mut scenario, |scenario, at, loaded| {
        let second = at.0.div_euclid(SECOND).cast_unsigned();
        // 1000 bytes a second, and a million more under load.
        let octets = 77 + 1000 * second + 1_000_000 * loaded;
        let row = InterfaceCount {
            interface: 2,
            at,
            received_octets: octets,
            received_packets: second,
            received_dropped: loaded,
            sent_octets: 2 * octets,
            sent_packets: 3 * second,
            sent_dropped: 0,
        };
        scenario.observe(Client, at.0, row);
    });
    for tenth in 0..200_i64 {
        let at = TestTime(tenth * 100 * MS);
        // Under load the backlog climbs from 1 to 100 packets; idle readings are larger and do not count.
        let packets = if Scenario::LOAD.contains(at) { (tenth - 49) as u32 } else { 5000 };
        let row = QueueCount {
            interface: 2,
            at,
            backlog_octets: 1500 * packets,
            backlog_packets: packets,
            dropped: 0,
            requeued: 0,
        };
        scenario.observe(Client, at.0, row);
    }
    let client = host_health(&scenario, Client);
    let [HostInterface { interface: 2, name, idle, load, received_dropped, sent_dropped, queue_disciplines, .. }] =
        client.interfaces.as_slice()
    else {
        panic!("{:?}", client.interfaces)
    };
    assert_eq!(name, "eth0");
    // Readings are 2 ms late and interpolated, so that part of the last second falls behind the load.
    let passed = |seconds: u64, loaded: u64| Passed {
        received_octets: 1000 * seconds + 1_000_000 * loaded - 2000,
        received_packets: seconds,
        sent_octets: 2000 * seconds + 2_000_000 * loaded - 4000,
        sent_packets: 3 * seconds,
    };
    assert_eq!(*load, Some(passed(10, 10)));
    let idle = idle.unwrap();
    assert!(idle.received_octets.abs_diff(5000) <= 2 && idle.received_packets == 5, "{idle:?}");
    assert_eq!((*received_dropped, *sent_dropped), (Some(10), Some(0)));
    let client = &client.interfaces[0];
    assert_eq!(client.backlog_p95_octets, Some(95 * 1500));
    assert_eq!((client.backlog_max_octets, client.backlog_max_packets), (Some(150_000), Some(100)));
    let queues: Vec<_> = queue_disciplines
        .iter()
        .map(|queue| (queue.kind.as_str(), queue.dropped, queue.marked, queue.overlimits))
        .collect();
    assert_eq!(queues, [("htb", Some(0), None, Some(9)), ("fq_codel", Some(3), Some(21), Some(0))]);
    assert_eq!(queue_disciplines[0].packets, Some(5000));
}

#[test]
fn a_discipline_that_was_made_anew_or_a_cut_off_recording_leaves_its_counts_unknown() {
    let mut scenario = Scenario::new();
    let mut eth0 = interface();
    let old =
        QueueDiscipline { kind: "cake".into(), handle: "8001:".into(), parent: "root".into(), ..Default::default() };
    eth0.queue_disciplines = vec![old];
    eth0.queue_disciplines[0].counters.dropped = 100;
    let before = HostState { interfaces: vec![eth0], ..HostState::default() };
    let dropped = |scenario: &Scenario| host_health(scenario, Client).interfaces[0].queue_disciplines[0].dropped;
    states(&mut scenario, before.clone(), |after| after.interfaces[0].queue_disciplines[0].counters.dropped = 3);
    assert_eq!(dropped(&scenario), None, "it counts from 0 again");
    states(&mut scenario, before, |after| after.interfaces[0].queue_disciplines[0].handle = "8002:".into());
    assert_eq!(dropped(&scenario), None, "it is another one");
    scenario.recording.end = None;
    assert_eq!(dropped(&scenario), None, "the recording breaks off");
}

#[test]
fn counters_that_rose_are_reported_and_the_servers_own_listeners_apart() {
    let mut scenario = Scenario::new();
    let counters = |values: [(&str, u64); 3]| values.map(|(name, value)| (name.to_owned(), value)).into();
    let names = ["TcpExt.ListenDrops", "Udp.RcvbufErrors", "rrul.ListenDrops"];
    let with = |values: [u64; 3]| HostState {
        kernel_counters: counters([(names[0], values[0]), (names[1], values[1]), (names[2], values[2])]),
        interfaces: vec![interface()],
        ..HostState::default()
    };
    scenario.recording.header.server.state = with([10, 5, 2]);
    scenario.recording.end.as_mut().unwrap().server = Some(Box::new(with([17, 5, 6])));
    let server = host_health(&scenario, Server);
    assert_eq!(server.listen_drops, Some(4));
    assert_eq!(server.kernel_counters, [CounterIncrease { name: names[0].to_owned(), increase: 7 }]);
    scenario.recording.end.as_mut().unwrap().server = None;
    let server = host_health(&scenario, Server);
    assert_eq!((server.listen_drops, server.kernel_counters.len()), (None, 0), "the server was lost");
}

#[test]
fn an_mtu_hints_at_what_is_wrapped_around_packets() {
    let mut scenario = Scenario::healthy();
    let route = |family, mtu| Route {
        family,
        interface: 2,
        source: None,
        destination: None,
        gateway: true,
        mtu,
        translated: Some(true),
    };
    let radio = Wireless {
        frequency: Some(5210),
        signal: Some(-70),
        signal_average: Some(-61),
        sent_packets: Some(1000),
        sent_retries: Some(100),
        sent_failed: Some(2),
        ..Wireless::default()
    };
    let wlan = Interface { kind: "wireless".into(), wireless: Some(radio), ..interface() };
    let routes = vec![route(AddressFamily::Ipv4, None), route(AddressFamily::Ipv6, Some(1480))];
    let before = HostState { routes, interfaces: vec![wlan], ..HostState::default() };
    states(&mut scenario, before, |after| {
        let radio = after.interfaces[0].wireless.as_mut().unwrap();
        (radio.sent_packets, radio.sent_retries, radio.sent_failed) = (Some(3000), Some(600), Some(2));
    });
    let [ipv4, ipv6] = <[_; 2]>::try_from(host_health(&scenario, Client).routes).unwrap();
    assert_eq!((ipv4.mtu_octets, ipv4.encapsulation_hint, ipv4.translated), (Some(1500), None, Some(true)));
    assert_eq!((ipv6.mtu_octets, ipv6.gateway), (Some(1480), true));
    assert!(ipv6.encapsulation_hint.unwrap().contains("6in4"), "{ipv6:?}");
    let link = ipv4.wireless.unwrap();
    assert_eq!((link.frequency_mhz, link.signal_dbm, link.failed), (Some(5210), Some(-61), Some(0)));
    close(link.retried_share, 0.25);
    // A stream of the family found out that less passes.
    let bulk = scenario.recording.header.flows[1].id;
    let mut row = tcp_info(bulk, 7 * SECOND);
    row.pmtu = 1492;
    scenario.observe(Client, 7 * SECOND, row);
    let ipv4 = &host_health(&scenario, Client).routes[0];
    assert_eq!((ipv4.mtu_octets, ipv4.encapsulation_hint), (Some(1492), Some("PPPoE")));
}

#[test]
fn a_line_has_a_speed_and_a_virtual_interface_has_none() {
    let mut scenario = Scenario::new();
    let route = Route {
        family: AddressFamily::Ipv4,
        interface: 2,
        source: None,
        destination: None,
        gateway: false,
        mtu: None,
        translated: None,
    };
    let mut link_of = |kind: &str| {
        let eth0 = Interface { kind: kind.into(), speed: Some(10_000), duplex: "half".into(), ..interface() };
        let state = HostState { routes: vec![route.clone()], interfaces: vec![eth0], ..HostState::default() };
        scenario.recording.header.client.state = state;
        let route = host_health(&scenario, Client).routes.remove(0);
        (route.speed_bps, route.half_duplex)
    };
    assert_eq!(link_of("ethernet"), (Some(10_000_000_000), Some(true)));
    assert_eq!(link_of("veth"), (None, None));
}

#[test]
fn packets_that_failed_authentication_at_the_client_are_counted_and_are_no_counter_of_the_kernel() {
    let mut scenario = Scenario::new();
    let with = |forged: Option<u64>| HostState {
        kernel_counters: forged.map(|count| ("rrul.PacketsForged".to_owned(), count)).into_iter().collect(),
        interfaces: vec![interface()],
        ..HostState::default()
    };
    for (before, after, expected) in [(Some(0), Some(12), Some(12)), (Some(0), Some(0), Some(0)), (None, None, None)] {
        scenario.recording.header.client.state = with(before);
        scenario.recording.end.as_mut().unwrap().client = Some(Box::new(with(after)));
        let client = host_health(&scenario, Client);
        assert_eq!((client.forged_packets, client.kernel_counters.len()), (expected, 0));
    }
}
