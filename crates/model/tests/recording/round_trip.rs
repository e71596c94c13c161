//! Whatever is observed comes back from the file bit by bit.

use proptest::prelude::*;

use rrul_model::flow::FlowId;
use rrul_model::observation::{
    ClockSample, Column, CpuTime, FlowEvent, FlowEventKind, Observation, ObservationPoint, OctetsReceived,
    ProbeReceived, ProbeSent, Tables, Transaction,
};
use rrul_model::recording::{Frame, Line, Recording};
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};

use crate::specimen;

fn time() -> impl Strategy<Value = TestTime> {
    // Full range and the ordinary: a run's nanoseconds.
    prop_oneof![any::<i64>().prop_map(TestTime), (-1_000_000_000..70_000_000_000_i64).prop_map(TestTime)]
}

fn flow() -> impl Strategy<Value = FlowId> {
    any::<u16>().prop_map(FlowId)
}

fn observation() -> impl Strategy<Value = Observation> {
    prop_oneof![
        (flow(), time(), any::<u64>()).prop_map(|(flow, at, octets)| OctetsReceived {
            flow,
            at,
            octets: ByteCount(octets)
        }
        .into()),
        (flow(), any::<u32>(), time(), time()).prop_map(|(flow, sequence, scheduled, sent)| ProbeSent {
            flow,
            sequence,
            scheduled,
            sent
        }
        .into()),
        (flow(), any::<u32>(), time(), time(), time(), time(), any::<(u8, u8, u32)>()).prop_map(
            |(flow, sequence, received, read, reflector_received, reflector_sent, (reflector_octet, octet, count))| {
                ProbeReceived {
                    flow,
                    sequence,
                    received,
                    read,
                    reflector_received,
                    reflector_sent,
                    reflector_octet,
                    octet,
                    reflector_count: count,
                }
                .into()
            }
        ),
        (flow(), any::<u32>(), time(), any::<i64>(), 0..=1_u8).prop_map(|(flow, sequence, started, took, answered)| {
            Transaction { flow, sequence, started, took: Delay(took), answered }.into()
        }),
        (time(), any::<u16>(), any::<[u64; 8]>()).prop_map(
            |(at, core, [user, nice, system, idle, iowait, irq, softirq, steal])| {
                CpuTime { at, core, user, nice, system, idle, iowait, irq, softirq, steal }.into()
            }
        ),
        (time(), any::<i64>()).prop_map(|(at, realtime)| ClockSample { at, realtime }.into()),
    ]
}

fn frame() -> impl Strategy<Value = Frame> {
    let events = prop::collection::vec((flow(), time(), "\\PC{0,20}"), 0..4);
    (any::<bool>(), any::<u32>(), any::<u64>(), prop::collection::vec(observation(), 0..60), events).prop_map(
        |(client, number, dropped, observations, events)| {
            let mut tables = Tables::default();
            for observation in observations {
                tables.push(observation);
            }
            let point = if client { ObservationPoint::Client } else { ObservationPoint::Server };
            let event = FlowEventKind::Failed;
            let events = events.into_iter().map(|(flow, at, detail)| FlowEvent { flow, at, event, detail }).collect();
            Frame { point, number, dropped, tables, events }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 200,
        failure_persistence: None,
        rng_seed: prop::test_runner::RngSeed::Fixed(7785),
        ..ProptestConfig::default()
    })]

    #[test]
    fn random_frames_come_back_bit_by_bit(frames in prop::collection::vec(frame(), 0..4)) {
        let recording = Recording { frames, ..specimen::recording() };
        let text = specimen::lines_of(&recording).concat();
        prop_assert_eq!(Recording::from_lines(&text).unwrap(), recording);
    }

    #[test]
    fn a_frame_is_one_line_whatever_it_contains(frame in frame()) {
        let text = serde_json::to_string(&Line::Frame(Box::new(frame))).unwrap();
        prop_assert!(!text.contains(['\n', '\r']));
    }

    #[test]
    fn a_column_of_any_integers_comes_back(values in prop::collection::vec(any::<i64>(), 0..100)) {
        let mut column = Column::default();
        for value in &values {
            column.push(*value);
        }
        let back: Column = serde_json::from_str(&serde_json::to_string(&column).unwrap()).unwrap();
        prop_assert_eq!(values.len(), back.len());
        for (row, value) in values.iter().enumerate() {
            prop_assert_eq!(back.get::<i64>(row), Some(*value));
        }
    }

    #[test]
    fn no_text_makes_the_reader_panic(text in "(\\{\"(header|frame|end)\":)?[\\PC\n\"\\[\\]{}]{0,200}") {
        let _ = Recording::from_lines(&text);
    }
}
