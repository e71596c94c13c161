//! A damaged or hostile recording gives some analysis, never a panic.

use std::time::Duration;

use proptest::prelude::*;
use rrul_analysis::live::{Course, Live};
use rrul_analysis::summary::Summary;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::observation::{
    ClockSample, Connection, CpuTime, EchoReceived, FlowEvent, FlowEventKind, IcmpMessage, Observation, OctetsReceived,
    PacketReceived, PathAnswer, PathProbe, PathQuote, ProbeReceived, ProbeSent, ProbeStamped, ProbesSkipped,
    ProcessTime, ReflectorWindow, ReplyStamped, Tables, TcpInfo, Transaction, TransactionStamped,
};
use rrul_model::recording::{End, Frame, Recording};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{ByteCount, Delay};

use crate::builder::{Client, SECOND, Scenario, Server, tcp_info};

fn any_i64() -> impl Strategy<Value = i64> {
    prop_oneof![4 => -SECOND..21 * SECOND, 1 => any::<i64>(), 1 => Just(i64::MIN), 1 => Just(i64::MAX)]
}

fn any_u64() -> impl Strategy<Value = u64> {
    prop_oneof![4 => 0_u64..1_000_000, 1 => any::<u64>(), 1 => Just(u64::MAX)]
}

fn time() -> impl Strategy<Value = TestTime> {
    any_i64().prop_map(TestTime)
}

fn flow() -> impl Strategy<Value = FlowId> {
    prop_oneof![8 => (0_u16..14).prop_map(FlowId), 1 => any::<u16>().prop_map(FlowId)]
}

/// A row of any kind with any numbers.
pub(crate) fn observation() -> impl Strategy<Value = Observation> {
    let numbers = (any_u64(), any_u64(), any_u64(), any_u64());
    (0_u8..19, flow(), 0_u32..6, (time(), time(), time(), time()), numbers).prop_map(
        |(kind, flow, sequence, (a, b, c, d), (w, x, y, z))| match kind {
            0 => OctetsReceived { flow, at: a, octets: ByteCount(w) }.into(),
            1 => {
                let (data_segs_in, rcv_mss, snd_mss, rtt, snd_cwnd) =
                    (x as u32, w as u32, y as u32, z as u32, w as u32);
                let (busy_time, rwnd_limited, sndbuf_limited) = (w, x, y);
                let row = TcpInfo { data_segs_in, rcv_mss, bytes_sent: y, bytes_retrans: z, ..tcp_info(flow, a.0) };
                TcpInfo { snd_mss, rtt, snd_cwnd, busy_time, rwnd_limited, sndbuf_limited, ..row }.into()
            }
            2 => ProbeSent { flow, sequence, scheduled: a, sent: b }.into(),
            3 => ProbeStamped { flow, sequence, sent: a }.into(),
            4 => ProbeReceived {
                flow,
                sequence,
                received: a,
                read: b,
                reflector_received: c,
                reflector_sent: d,
                reflector_octet: w as u8,
                octet: x as u8,
                reflector_count: y as u32,
            }
            .into(),
            5 => ReplyStamped { flow, sequence, reflector_sent: a }.into(),
            6 => EchoReceived { flow, sequence, received: a, read: b }.into(),
            14 => ReflectorWindow { flow, sequence, highest: x as u32, window: y }.into(),
            15 => {
                let (from_server, mtu) = (z as u8, x as u32);
                IcmpMessage { flow, at: a, kind: w as u8, code: x as u8, from_server, mtu, count: y as u32 }.into()
            }
            7 => Transaction { flow, sequence, started: a, took: Delay(b.0), answered: w as u8 }.into(),
            8 => CpuTime {
                at: a,
                core: sequence as u16,
                user: w,
                nice: x,
                system: y,
                idle: z,
                iowait: w,
                irq: x,
                softirq: y,
                steal: z,
            }
            .into(),
            10 => ProbesSkipped { flow, at: a, count: w as u32 }.into(),
            11 => PacketReceived { flow, sequence, received: a, octet: w as u8 }.into(),
            12 => Connection {
                flow,
                sequence,
                scheduled: a,
                started: b,
                reached: (w % 6) as u8,
                connect: Delay(c.0),
                answer: Delay(a.0),
                syn_retransmits: x as u8,
            }
            .into(),
            16 => {
                let (hop_limit, octet, length) = ((w % 70) as u8, x as u8, y as u16);
                PathProbe { flow, sequence, sent: a, hop_limit, octet, length }.into()
            }
            17 => {
                let (source, kind, code, mtu, left) = ((w % 4) as u16, (x % 12) as u8, y as u8, z as u32, y as u8);
                PathAnswer { flow, sequence, received: a, source, kind, code, mtu, held: Delay(b.0), left }.into()
            }
            18 => PathQuote { flow, sequence, octet: w as u8, hop_limit: x as u8 }.into(),
            19 => {
                TransactionStamped { flow, sequence, sent: a, server_received: b, server_sent: c, received: d }.into()
            }
            9 => ProcessTime { at: a, user: Delay(b.0), system: Delay(c.0) }.into(),
            _ => ClockSample { at: a, realtime: b.0 }.into(),
        },
    )
}

fn event() -> impl Strategy<Value = FlowEvent> {
    let kinds = [
        FlowEventKind::FirstSent,
        FlowEventKind::FirstReceived,
        FlowEventKind::ConnectStarted,
        FlowEventKind::Failed,
        FlowEventKind::Connected,
        FlowEventKind::CongestionControl,
        FlowEventKind::Marked,
        FlowEventKind::HopAddress,
        FlowEventKind::Uses,
    ];
    let details = [
        "quoted headers",
        "1 192.0.2.1",
        "",
        "cubic",
        "bbr (cubic: no)",
        "unknown: no",
        "0",
        "184",
        "4294967296",
        "-1",
    ];
    (flow(), time(), prop::sample::select(kinds.to_vec()), prop::sample::select(details.to_vec()))
        .prop_map(|(flow, at, event, detail)| FlowEvent { flow, at, event, detail: detail.to_owned() })
}

fn frame() -> impl Strategy<Value = Frame> {
    let rows = prop::collection::vec(observation(), 0..40);
    let numbers = prop_oneof![0_u32..5, Just(u32::MAX)];
    (any::<bool>(), numbers, any_u64(), rows, prop::collection::vec(event(), 0..5)).prop_map(
        |(client, number, dropped, rows, events)| {
            let mut tables = Tables::default();
            for row in rows {
                tables.push(row);
            }
            Frame { point: if client { Client } else { Server }, number, dropped, tables, events }
        },
    )
}

fn recording() -> impl Strategy<Value = Recording> {
    let end = prop::option::of((time(), any::<bool>()));
    let windows = prop::collection::vec((time(), time()), 12);
    let phases = prop::option::of(prop::collection::vec((time(), time()), 3));
    (prop::collection::vec(frame(), 0..6), end, windows, phases, any_u64()).prop_map(
        |(frames, end, windows, phases, interval)| {
            let mut scenario = Scenario::new();
            let kinds = [
                ("udp_probe", Component::Realtime, None),
                ("icmp_echo", Component::Realtime, None),
                ("udp_rr", Component::Realtime, None),
                ("tcp_connect", Component::Realtime, None),
                ("tcp_records", Component::Realtime, Some(Direction::Up)),
                ("tcp_records", Component::Realtime, Some(Direction::Down)),
                ("bulk_tcp", Component::Load, Some(Direction::Up)),
                ("bulk_tcp", Component::Load, Some(Direction::Down)),
                ("bulk_tcp", Component::Load, Some(Direction::Down)),
                ("voip", Component::Voip, Some(Direction::Down)),
                ("path_trace", Component::Analysis, Some(Direction::Up)),
                ("path_trace", Component::Analysis, Some(Direction::Down)),
            ];
            for ((kind, component, direction), (from, to)) in kinds.into_iter().zip(windows) {
                scenario.flow(kind, component, direction, AddressFamily::Ipv4, Window { from, to });
            }
            let mut recording = scenario.recording;
            // The same number twice, as only a damaged file has it.
            recording.header.flows.extend(recording.header.flows.last().cloned());
            recording.header.plan.sample_interval = Duration::from_nanos(interval);
            for (entry, (from, to)) in recording.header.phases.iter_mut().zip(phases.unwrap_or_default()) {
                entry.window = Window { from, to };
            }
            recording.frames = frames;
            recording.end = end.map(|(at, partial)| End {
                at,
                partial: partial.then(|| "interrupted".to_owned()),
                ..End::default()
            });
            recording
        },
    )
}

proptest! {
    #[test]
    fn any_recording_is_analyzed_without_panic_and_with_finite_numbers(recording in recording()) {
        let analysis = rrul_analysis::analyze(&recording);
        prop_assert!(analysis.loss.round_trips.lost <= analysis.loss.round_trips.sent);
        prop_assert!(analysis.round_trip_delay.flows.iter().all(|flow| flow.skipped.packets <= flow.skipped.due));
        let fates = analysis.loss.fates.flows.iter().flat_map(|flow| [flow.up, flow.down]);
        for fate in fates.flat_map(|fates| [fates.idle, fates.load, fates.after, fates.all]).flatten() {
            prop_assert_eq!(fate.sent, fate.arrived + fate.lost + fate.unattributed);
            prop_assert!(fate.late <= fate.lost && fate.share_least <= fate.share_most && fate.share_most <= 1.0);
        }
        for load in &analysis.processor {
            for share in [load.mean, load.busiest_core, load.saturated, load.steal, load.stolen] {
                prop_assert!((0.0..=1.0).contains(&share), "{:?}", load);
            }
        }
        for (_, phase) in analysis.transaction_flows.iter().flat_map(|flow| flow.phases.known()) {
            prop_assert!(phase.per_second.is_finite());
        }
        prop_assert_eq!(&analysis, &rrul_analysis::analyze(&recording), "the same recording, the same analysis");
        prop_assert!(serde_json::to_string(&Summary::from(&analysis)).is_ok());
    }

    #[test]
    fn any_frames_can_be_followed_live(recording in recording()) {
        let mut live = Live::new(&recording.header);
        let mut course = Course::new(&recording.header);
        for frame in &recording.frames {
            live.push(frame);
            course.push(frame);
            for cell in course.cells() {
                let losses = cell.losses();
                prop_assert!(losses.gone <= losses.sent && cell.kept(9).len() <= 9, "{losses:?}");
                let _ = cell.idle_median();
            }
            let snapshot = live.snapshot();
            prop_assert!(snapshot.lost_last_second <= 240, "more losses than packets");
        }
    }
}
