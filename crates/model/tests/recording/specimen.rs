//! One recording with every table, every column and every kind of event in it: the truth behind tests/data/v1.jsonl.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::environment::HostState;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId, FlowSpec, Parameter, Parameters};
use rrul_model::line_rate::{Dispersion, LineRate};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{
    CgroupThrottle, ClockSample, Connection, CpuTime, EchoReceived, FlowEvent, FlowEventKind, GreetingSent,
    IcmpMessage, InterfaceCount, ObservationPoint, OctetsReceived, OtherSessions, PacketMarked, PacketReceived,
    PathAnswer, PathProbe, PathQuote, ProbeReceived, ProbeSent, ProbeStamped, ProbesSkipped, ProcessTime, QueueCount,
    ReflectorWindow, ReplyStamped, SocketDrops, SoftnetCount, Tables, TcpInfo, Transaction, TransactionStamped,
};
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::plan::{FlowEntry, PhaseLength, TestPlan};
use rrul_model::recording::{AbsentFamily, Clocks, End, FORMAT, Frame, Header, Recording};
use rrul_model::shaping::{
    CounterPair, DirectionCounters, ShaperCounters, ShaperDescription, ShaperRates, StepPurpose, TuningPlan, TuningStep,
};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::specimen_host::environment;
use crate::specimen_web;

const SECOND: i64 = 1_000_000_000;

/// The recording.
pub(crate) fn recording() -> Recording {
    Recording {
        header: header(),
        frames: vec![client_frame(), server_frame()],
        steps: Vec::new(),
        digest: None,
        end: Some(End {
            at: TestTime(70 * SECOND),
            partial: Some("stopped by the user".into()),
            phases_ended: None,
            load_ended: None,
            client_frames: Some(1),
            server_frames: Some(1),
            client: Some(Box::new(HostState { load_average: vec![97, 45, 10], ..HostState::default() })),
            server: Some(Box::new(HostState { interfaces_left_out: 7, ..HostState::default() })),
        }),
    }
}

/// The recording of a session in which a shaper was set in steps.
pub(crate) fn tuned() -> Recording {
    let counters = |packets| DirectionCounters {
        sent: ByteCount(1_000_000 * packets),
        packets,
        dropped: 3,
        marked: 4,
        backlog: ByteCount(1514),
    };
    let of = |packets| ShaperCounters { down: None, up: Some(counters(packets)) };
    let step = |number: u32, purpose, up| TuningStep {
        number,
        purpose,
        direction: Some(Direction::Up),
        rates: ShaperRates { down: None, up },
        set_at: TestTime(i64::from(number) * 10 * SECOND + 7),
        settled_at: TestTime(i64::from(number) * 10 * SECOND + 2 * SECOND),
        ended_at: TestTime(i64::from(number + 1) * 10 * SECOND),
        counters: (number > 0).then(|| CounterPair { before: of(5), after: of(900) }),
    };
    let shaper = ShaperDescription {
        driver: "tc".into(),
        target: "eth0 and ifb4eth0".into(),
        up_discipline: Some("cake diffserv4".into()),
        up_link_layer: Some("docsis".into()),
        found: Some(ShaperRates { down: None, up: Some(BitRate(9_000_000)) }),
        ..ShaperDescription::default()
    };
    let unshaped = ShaperRates::UNSHAPED;
    let plan = TuningPlan { delay_limit: Some(Delay(5_000_000)), fixed: vec![unshaped], ..TuningPlan::new(shaper) };
    let mut recording = recording();
    recording.header.tuning = Some(plan);
    recording.steps =
        vec![step(0, StepPurpose::Reference, None), step(1, StepPurpose::Search, Some(BitRate(7_600_000)))];
    recording
}

/// The flow that loads.
const BULK: FlowId = FlowId(0);
/// The flow that probes.
const PROBE: FlowId = FlowId(1);

fn header() -> Header {
    let load = Window { from: TestTime(5 * SECOND), to: TestTime(65 * SECOND) };
    let whole = Window { from: TestTime(0), to: TestTime(70 * SECOND) };
    let interval = Parameters(BTreeMap::from([("interval".into(), Parameter::Text("20ms".into()))]));
    Header {
        format: FORMAT.into(),
        title: "Täht's cable modem".into(),
        created: "2026-11-21T19:44:00Z".into(),
        plan: plan(interval.clone()),
        flows: vec![
            FlowSpec {
                id: BULK,
                name: "bulk_tcp/BE/up/ipv4".into(),
                flow_type: "bulk_tcp".into(),
                component: Component::Load,
                direction: Some(Direction::Up),
                family: AddressFamily::Ipv4,
                class: ServiceClass::BE,
                window: load,
                parameters: Parameters::default(),
            },
            FlowSpec {
                id: PROBE,
                name: "udp_probe/EF/ipv4".into(),
                flow_type: "udp_probe".into(),
                component: Component::Realtime,
                direction: None,
                family: AddressFamily::Ipv4,
                class: ServiceClass::EF,
                window: whole,
                parameters: interval,
            },
        ],
        phases: vec![
            PhaseWindow { phase: Phase::Idle, window: Window { from: TestTime(0), to: load.from } },
            PhaseWindow { phase: Phase::Load, window: load },
            PhaseWindow { phase: Phase::After, window: Window { from: load.to, to: whole.to } },
        ],
        families: vec![AddressFamily::Ipv4],
        absent_families: vec![AbsentFamily { family: AddressFamily::Ipv6, reason: "no address".into() }],
        server_name: "server.example".into(),
        encrypted: false,
        server_addresses: vec!["192.0.2.7".parse().unwrap()],
        clocks: Clocks { client_origin: 123_456_789_012_345, exchange_round_trip: 412_000 },
        budget: None,
        line_rate: Some(LineRate {
            up: Some(Dispersion { packets: 19, octets: ByteCount(1228), took: Duration::from_micros(23_332) }),
            down: None,
        }),
        client: environment("client"),
        server: environment("server"),
        imported: None,
        tuning: None,
    }
}

fn plan(interval: Parameters) -> TestPlan {
    let seconds = |phase, length| PhaseLength { phase, length: Duration::from_secs(length) };
    TestPlan {
        name: "specimen".into(),
        title: "One stream and one probe".into(),
        spec: "RRUL2013".into(),
        phases: vec![seconds(Phase::Idle, 5), seconds(Phase::Load, 60), seconds(Phase::After, 5)],
        sample_interval: Duration::from_millis(100),
        link_layer: Some("docsis".to_owned()),
        after_at_most: None,
        overhead: None,
        entries: vec![
            FlowEntry {
                label: "bulk".into(),
                flow_type: "bulk_tcp".into(),
                component: Component::Load,
                during: vec![Phase::Load],
                start: Duration::from_secs(1),
                duration: Some(Duration::from_secs(59)),
                directions: vec![Direction::Up],
                classes: vec![ServiceClass::BE],
                families: vec![AddressFamily::Ipv4],
                count: 1,
                count_alone: Some(2),
                parameters: vec![Parameters::default()],
            },
            FlowEntry {
                label: "probe".into(),
                flow_type: "udp_probe".into(),
                component: Component::Realtime,
                during: vec![Phase::Survey, Phase::Idle, Phase::Load, Phase::After],
                start: Duration::ZERO,
                duration: None,
                directions: vec![],
                classes: vec![ServiceClass::EF],
                families: vec![],
                count: 1,
                count_alone: None,
                parameters: vec![interval],
            },
        ],
    }
}

fn client_frame() -> Frame {
    let mut tables = Tables::default();
    for n in 0..3 {
        let at = TestTime(5 * SECOND + i64::from(n) * 20_000_000);
        let later = |nanoseconds: i64| TestTime(at.0 + nanoseconds);
        tables.push(ProbeSent { flow: PROBE, sequence: n, scheduled: at, sent: later(41_000) }.into());
        tables.push(ProbesSkipped { flow: PROBE, at, count: 25 + n }.into());
        tables.push(ProbeStamped { flow: PROBE, sequence: n, sent: later(48_000) }.into());
        let received = ProbeReceived {
            flow: PROBE,
            sequence: n,
            received: later(18_240_000),
            read: later(18_251_000),
            reflector_received: later(9_100_000),
            reflector_sent: later(9_120_000),
            reflector_octet: 0xb8,
            octet: 0,
            reflector_count: n + 1,
        };
        tables.push(received.into());
        tables.push(ReplyStamped { flow: PROBE, sequence: n, reflector_sent: later(9_125_000) }.into());
        tables.push(EchoReceived { flow: PROBE, sequence: n, received: later(18_000_000), read: at }.into());
        let took = Delay(18_000_000 + i64::from(n));
        tables.push(Transaction { flow: PROBE, sequence: n, started: at, took, answered: u8::from(n != 1) }.into());
        let stamped = TransactionStamped {
            flow: PROBE,
            sequence: n,
            sent: later(11_000),
            server_received: later(9_200_000),
            server_sent: later(9_231_000),
            received: later(18_000_000),
        };
        tables.push(stamped.into());
        let mtu = 1280 * n;
        tables.push(IcmpMessage { flow: PROBE, at, kind: 3, code: n as u8, from_server: 1, mtu, count: 9 }.into());
        tables.push(ReflectorWindow { flow: PROBE, sequence: n, highest: n, window: (2 << n) - 1 }.into());
        tables.push(PacketMarked { flow: PROBE, sequence: n, octet: 4 * n as u8 }.into());
        let connection = Connection {
            flow: PROBE,
            sequence: n,
            scheduled: at,
            started: later(30_000),
            reached: n as u8,
            connect: Delay(18_000_000),
            answer: Delay(36_000_000),
            syn_retransmits: 1,
        };
        tables.push(connection.into());
        specimen_web::push(&mut tables, PROBE, n as u8, at);
    }
    let mut frame = Frame { point: ObservationPoint::Client, number: 0, dropped: 3, tables, events: Vec::new() };
    let kinds = [
        FlowEventKind::ConnectStarted,
        FlowEventKind::Connected,
        FlowEventKind::CongestionControl,
        FlowEventKind::Marked,
        FlowEventKind::FirstSent,
        FlowEventKind::FirstReceived,
        FlowEventKind::Uses,
        FlowEventKind::HopAddress,
        FlowEventKind::Resource,
        FlowEventKind::LoadFailed,
        FlowEventKind::Stopped,
        FlowEventKind::Failed,
    ];
    for (at, event) in (-4..).zip(kinds) {
        let detail = if event == FlowEventKind::CongestionControl { "cubic".into() } else { String::new() };
        frame.events.push(FlowEvent { flow: BULK, at: TestTime(at * 1_000_000), event, detail });
    }
    frame
}

fn server_frame() -> Frame {
    let mut tables = Tables::default();
    for n in 0..2_u64 {
        let at = TestTime(5 * SECOND + 100_000_000 * n.cast_signed());
        tables.push(OctetsReceived { flow: BULK, at, octets: ByteCount(125_000 * n) }.into());
        tables.push(tcp_info(at, n).into());
        let ticks = 1000 + n;
        let cpu = CpuTime {
            at,
            core: 1,
            user: ticks,
            nice: ticks + 1,
            system: ticks + 2,
            idle: u64::MAX,
            iowait: ticks + 3,
            irq: ticks + 4,
            softirq: ticks + 5,
            steal: 0,
        };
        tables.push(cpu.into());
        tables.push(ProcessTime { at, user: Delay(7_000_000), system: Delay(9_000_000) }.into());
        tables.push(ClockSample { at, realtime: at.0 - 250 }.into());
        let n32 = u32::try_from(n).unwrap();
        tables.push(GreetingSent { flow: PROBE, sent: at, length: 80 }.into());
        tables.push(PacketReceived { flow: PROBE, sequence: n32, received: at, octet: 0xb8 }.into());
        let length = 120 + u16::try_from(n).unwrap();
        tables.push(PathProbe { flow: PROBE, sequence: n32, sent: at, hop_limit: 3, octet: 0xb9, length }.into());
        let answer = PathAnswer {
            flow: PROBE,
            sequence: n32,
            received: at,
            source: 2,
            kind: 11,
            code: 1,
            mtu: 1420,
            held: Delay(30_000),
            left: 61,
        };
        tables.push(answer.into());
        tables.push(PathQuote { flow: PROBE, sequence: n32, octet: 0x01, hop_limit: 4 }.into());
        let softnet = SoftnetCount { at, core: 1, processed: 900 + n32, dropped: 3, squeezed: 4 };
        tables.push(softnet.into());
        let throttle = CgroupThrottle { at, periods: 40 + n, throttled_periods: 2, throttled: Delay(5_000_000) };
        tables.push(throttle.into());
        tables.push(OtherSessions { at, octets: 800 + n, packets: 8 + n }.into());
        tables.push(SocketDrops { flow: FlowId::CONTROL, at, dropped: n32 }.into());
        let interface = InterfaceCount {
            at,
            interface: 2,
            received_octets: u64::MAX,
            received_packets: 71 + n,
            received_dropped: 1,
            sent_octets: 90_000 * n,
            sent_packets: 72 + n,
            sent_dropped: 6,
        };
        tables.push(interface.into());
        let queue =
            QueueCount { at, interface: 2, backlog_octets: 3028, backlog_packets: 2, dropped: 8, requeued: 9 + n32 };
        tables.push(queue.into());
    }
    Frame { point: ObservationPoint::Server, number: 0, dropped: 0, tables, events: Vec::new() }
}

/// A reading whose fields all differ, so that no two columns can be taken for each other.
fn tcp_info(at: TestTime, n: u64) -> TcpInfo {
    let n32 = u32::try_from(n).unwrap();
    TcpInfo {
        flow: BULK,
        at,
        state: 1,
        ca_state: 3,
        options: 7,
        rtt: 18_000 + n32,
        rttvar: 4_001,
        min_rtt: 17_900,
        rto: 220_000,
        snd_mss: 1448,
        rcv_mss: 1447,
        pmtu: 1500,
        snd_cwnd: 40 + n32,
        snd_ssthresh: 2_147_483_647,
        unacked: 39,
        lost: 2,
        total_retrans: 5,
        notsent_bytes: 65_536,
        snd_wnd: 3_145_728,
        rcv_wnd: 65_535,
        bytes_acked: 1_000_000 * n,
        bytes_received: 11,
        bytes_sent: 1_100_000 * n,
        bytes_retrans: 7_240,
        segs_out: 760,
        segs_in: 381,
        data_segs_in: 12,
        data_segs_out: 759,
        delivered: 701,
        delivered_ce: 13,
        dsack_dups: 14,
        reord_seen: 15,
        rcv_ooopack: 16,
        delivery_rate: 1_250_000,
        pacing_rate: 1_500_000,
        busy_time: 100_000 * n,
        rwnd_limited: 17,
        sndbuf_limited: 18,
        total_rto: 21,
        received_ce_bytes: 19,
        received_e0_bytes: 20,
        received_e1_bytes: u32::MAX,
        app_limited: 1,
    }
}

/// The names and numbers of rows of all tables; a table that is added must be added here.
pub(crate) fn table_lengths(tables: &Tables) -> [(&'static str, usize); 35] {
    let Tables {
        octets_received,
        tcp_info,
        probe_sent,
        probes_skipped,
        probe_stamped,
        probe_received,
        reply_stamped,
        echo_received,
        packet_received,
        greeting_sent,
        reflector_window,
        icmp_message,
        packet_marked,
        path_probe,
        path_answer,
        path_quote,
        transaction,
        transaction_stamped,
        connection,
        name_lookup,
        transfer,
        connection_totals,
        page_load,
        web_object,
        browser_timing,
        browser_time,
        cpu_time,
        process_time,
        clock_sample,
        softnet_count,
        cgroup_throttle,
        other_sessions,
        socket_drops,
        interface_count,
        queue_count,
    } = tables;
    [
        ("octets_received", octets_received.len()),
        ("tcp_info", tcp_info.len()),
        ("probe_sent", probe_sent.len()),
        ("probes_skipped", probes_skipped.len()),
        ("probe_stamped", probe_stamped.len()),
        ("probe_received", probe_received.len()),
        ("reply_stamped", reply_stamped.len()),
        ("echo_received", echo_received.len()),
        ("packet_received", packet_received.len()),
        ("greeting_sent", greeting_sent.len()),
        ("reflector_window", reflector_window.len()),
        ("icmp_message", icmp_message.len()),
        ("packet_marked", packet_marked.len()),
        ("path_probe", path_probe.len()),
        ("path_answer", path_answer.len()),
        ("path_quote", path_quote.len()),
        ("transaction", transaction.len()),
        ("transaction_stamped", transaction_stamped.len()),
        ("connection", connection.len()),
        ("name_lookup", name_lookup.len()),
        ("transfer", transfer.len()),
        ("connection_totals", connection_totals.len()),
        ("page_load", page_load.len()),
        ("web_object", web_object.len()),
        ("browser_timing", browser_timing.len()),
        ("browser_time", browser_time.len()),
        ("cpu_time", cpu_time.len()),
        ("process_time", process_time.len()),
        ("clock_sample", clock_sample.len()),
        ("softnet_count", softnet_count.len()),
        ("cgroup_throttle", cgroup_throttle.len()),
        ("other_sessions", other_sessions.len()),
        ("socket_drops", socket_drops.len()),
        ("interface_count", interface_count.len()),
        ("queue_count", queue_count.len()),
    ]
}

/// The lines of a recording as the program writes them, each with its newline.
pub(crate) fn lines_of(recording: &Recording) -> Vec<String> {
    use rrul_model::recording::Line;
    let header = Line::Header(Box::new(recording.header.clone()));
    let frames = recording.frames.iter().map(|frame| Line::Frame(Box::new(frame.clone())));
    let steps = recording.steps.iter().map(|step| Line::Step(Box::new(step.clone())));
    let end = recording.end.clone().map(Line::End);
    let lines = std::iter::once(header).chain(frames).chain(steps).chain(end);
    lines.map(|line| serde_json::to_string(&line).unwrap() + "\n").collect()
}
