//! The hops of a path read back from their SVG: every round trip where the data put it, and the queue between its rows.

use crate::planes::{THEME, across, drawn, run};
use crate::read_back::Stroke;
use crate::synthetic::label;
use rrul_analysis::Analysis;
use rrul_analysis::by_phase::ByPhase;
use rrul_analysis::measured::Measured;
use rrul_analysis::metrics::path::bottleneck::{Bottleneck, BottleneckPlace};
use rrul_analysis::metrics::path::path_hops::{Hop, HopAnswers};
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;

/// The edges of the panel.
const EDGES: (f64, f64) = (270.0, 830.0);

fn answers(milliseconds: &[i64], sent: u64) -> HopAnswers {
    let trips: Vec<Delay> = milliseconds.iter().map(|ms| Delay(ms * 1_000_000)).collect();
    HopAnswers { sent, answered: trips.len() as u64, round_trip: DelayStatistics::from_delays(trips, 0) }
}

fn hop(number: u8, far_end: bool, idle: &[i64], load: &[i64]) -> Hop {
    let phases = ByPhase { idle: answers(idle, 5), load: answers(load, 20), after: HopAnswers::default() };
    Hop {
        hop: number,
        far_end,
        addresses: vec![format!("192.0.2.{number}")],
        phases,
        queueing_ns: None,
        side: None,
        series: Vec::new(),
    }
}

fn traced() -> Analysis {
    let bottleneck = Bottleneck {
        place: BottleneckPlace::Path,
        queue_ns: Some(80_000_000),
        host_queue_ns: None,
        after_hop: Some(1),
        before_hop: Some(2),
        agreeing: Some(1.0),
        words: "upload queue, 80 ms, between hop 1 and hop 2".to_owned(),
    };
    let flow = label(3, "path_trace", Component::Analysis, Some(Direction::Up), AddressFamily::Ipv4, ServiceClass::BE);
    let trace = PathTrace {
        flow,
        direction: Direction::Up,
        family: AddressFamily::Ipv4,
        sees_quoted_headers: true,
        routers: Some(2),
        route_changes: Vec::new(),
        bottleneck,
        hops: vec![
            hop(1, false, &[2, 3, 4], &[2, 5, 8]),
            hop(2, false, &[6, 7], &[60, 80, 100]),
            hop(3, true, &[9, 11], &[70, 90]),
        ],
        remarkings: Vec::new(),
        path_mtu: None,
        messages: Vec::new(),
        strays: 0,
    };
    Analysis { measured: Measured { path_traces: vec![trace], ..(run(&[], &[])).measured }, ..run(&[], &[]) }
}

#[test]
fn every_hop_has_its_round_trips_idle_and_loaded_and_the_queue_stands_between_its_rows() {
    let picture = drawn("path_hops", &[&traced()]);
    let bars: Vec<&Stroke> = picture.strokes.iter().filter(|one| (one.width - 6.0).abs() < 0.01).collect();
    assert_eq!(bars.len(), 6, "idle and loaded of three hops: {bars:?}");
    let mut found: Vec<(f64, [f64; 2])> = bars
        .iter()
        .map(|bar| (bar.points[0].1, [0, 1].map(|end| across(&picture, EDGES, bar.points[end], false))))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    // By nearest rank the P90 of three is the third, of two the second.
    let expected = [[2.0, 4.0], [2.0, 8.0], [6.0, 7.0], [60.0, 100.0], [9.0, 11.0], [70.0, 90.0]];
    for ((_, ends), expected) in found.iter().zip(expected) {
        assert!(ends.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.2), "{found:?}");
    }
    let red: Vec<&Stroke> = picture.strokes.iter().filter(|one| one.colour == THEME.alarm).collect();
    let [queue] = red[..] else { panic!("one red line: {red:?}") };
    let (above, below) = (queue.points[0].1.min(queue.points[1].1), queue.points[0].1.max(queue.points[1].1));
    let row = |first: usize| f64::midpoint(found[first].0, found[first + 1].0);
    assert!((above - row(0)).abs() < 1.0 && (below - row(2)).abs() < 1.0, "{queue:?}, {found:?}");
    for words in ["1  192.0.2.1", "destination  192.0.2.3", "3 of 20 answered under load", "between hop 1 and hop 2"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn a_run_without_traces_says_so_and_several_runs_are_distinguished() {
    let picture = drawn("path_hops", &[&run(&[], &[])]);
    assert!(picture.says("The run has no path trace"), "{:?}", picture.words());
    let (one, two) = (traced(), traced());
    let picture = drawn("path_hops", &[&one, &two]);
    assert_eq!(picture.strokes.iter().filter(|stroke| (stroke.width - 6.0).abs() < 0.01).count(), 12);
    assert_eq!(picture.strokes.iter().filter(|stroke| stroke.colour == THEME.alarm).count(), 2);
}
