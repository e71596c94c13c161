//! What headline figures are of: best effort and expedited forwarding, probes of one kind, the same in every place.

use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::metric::ComparedMetric;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::comparison::run_confidence::RunConfidence;
use rrul_analysis::live::Live;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::recording::{Frame, Recording};

use crate::builder::{MS, SECOND, Scenario, ms};
use crate::classes::probes;

const V4: AddressFamily = AddressFamily::Ipv4;

/// Probes of these classes over a line that is well managed: background alone waits and is lost under load.
fn well_managed(classes: &[ServiceClass]) -> Scenario {
    let mut scenario = Scenario::new();
    for direction in Direction::ALL {
        let stream = scenario.bulk(direction);
        scenario.stream(stream, 8_000_000);
    }
    for class in classes {
        let loaded = |at: i64| (5 * SECOND..15 * SECOND).contains(&at);
        let starved = *class != ServiceClass::BE && *class != ServiceClass::EF;
        let up = move |at: i64| match (loaded(at), starved) {
            (true, true) => (at / (20 * MS) % 5 < 2).then_some(400 * MS),
            (true, false) => Some(2 * MS),
            _ => Some(0),
        };
        probes(&mut scenario, *class, V4, &up, &|_| Some(0));
    }
    scenario
}

#[test]
fn background_that_starves_is_in_no_headline() {
    let analysis = well_managed(&[ServiceClass::EF, ServiceClass::BK, ServiceClass::BE]).analyze();
    assert_eq!(analysis.loss.round_trips.lost, 0);
    let load = analysis.round_trip_delay.pooled.load.unwrap();
    // Round trip 20 ms, 2 ms in the queue.
    assert_eq!((load.lost, load.p50, load.p99), (0, ms(22), ms(22)));
    assert_eq!(analysis.round_trip_delay.families[0].delays.load, Some(load));
    let fate = analysis.loss.fates.pooled(Direction::Up).unwrap().load.unwrap();
    assert_eq!((fate.lost, fate.sent), (0, load.n));
    let queue = analysis.one_way_delay.up.queueing_delay.load.unwrap();
    assert!(queue.lost == 0 && queue.max.unwrap() < ms(4).unwrap(), "{queue:?}");
    let said = analysis.scores.in_words.as_ref().unwrap();
    assert!(!said.contains("lost") && said.contains(", good."), "{said}");
    // Of its own it is all there.
    let of_class = |class| analysis.round_trip_delay.flows.iter().find(|entry| entry.flow.class == class).unwrap();
    let background = of_class(ServiceClass::BK);
    assert!(background.loss.lost >= 250, "{:?}", background.loss);
    let flow = analysis.loss.fates.flows.iter().find(|entry| entry.flow.class == ServiceClass::BK).unwrap();
    assert!(flow.up.load.unwrap().lost >= 200);
    assert!(!analysis.class_treatment.directions.is_empty());
}

#[test]
fn where_only_background_is_probed_it_is_pooled() {
    let analysis = well_managed(&[ServiceClass::BK]).analyze();
    assert!(analysis.loss.round_trips.lost >= 250);
    assert!(analysis.loss.fates.pooled(Direction::Up).unwrap().load.unwrap().lost >= 200);
    assert!(analysis.one_way_delay.up.queueing_delay.load.is_some());
}

/// The delay that each place reports which pools probes, milliseconds.
fn everywhere(recording: &Recording) -> [i64; 4] {
    let analysis = rrul_analysis::analyze(recording);
    let of_analysis = analysis.round_trip_delay.pooled.load.unwrap().p50.unwrap().0;
    let interval = RunConfidence::from_analysis(&analysis).delay_p50.unwrap();
    let compared = |name: &str| ComparedRun::from_recording(name, recording, &analysis);
    let comparison = Comparison::new(vec![compared("a"), compared("b")], None);
    let figure = comparison.pairs[0].metric(ComparedMetric::LoadedDelayP50).unwrap().reference.unwrap();
    let mut live = Live::new(&recording.header);
    let mut frames: Vec<&Frame> = recording.frames.iter().filter(|frame| frame.number < 12).collect();
    frames.sort_by_key(|frame| frame.number);
    for frame in frames {
        live.push(frame);
    }
    assert!((interval.high - interval.low).abs() < 1.0, "{interval:?}");
    [of_analysis, interval.low as i64, figure as i64, live.snapshot().delay.unwrap().0].map(|time| time / MS)
}

#[test]
fn every_place_pools_the_same_probes() {
    // Means of exchanges, echo requests and UDP probes of two classes, each with a delay of its own.
    let recording = |sent: &[&str]| {
        let mut scenario = Scenario::healthy();
        scenario.recording.header.flows[0].flow_type = "udp_rr".to_owned();
        let kinds = [
            ("exchange_mean", ServiceClass::BE, 80),
            ("icmp_echo", ServiceClass::BE, 60),
            ("udp_probe", ServiceClass::BK, 300),
            ("udp_probe", ServiceClass::EF, 40),
        ];
        for (kind, class, delay) in kinds {
            let flow = scenario.flow(kind, Component::Realtime, None, V4, Scenario::ALL);
            scenario.recording.header.flows.last_mut().unwrap().class = class;
            if sent.contains(&kind) {
                scenario.probes(flow, |_| Some(delay * MS));
            }
        }
        scenario.recording
    };
    assert_eq!(everywhere(&recording(&["udp_probe", "icmp_echo", "exchange_mean"])), [40; 4]);
    assert_eq!(everywhere(&recording(&["icmp_echo", "exchange_mean"])), [60; 4]);
    assert_eq!(everywhere(&recording(&["exchange_mean"])), [80; 4]);
}
