//! Whether the path acts on service classes, known by construction.

use rrul_analysis::metrics::sharing::class_difference::ClassDifference;
use rrul_analysis::metrics::sharing::class_share::ExpeditedVerdict;
use rrul_analysis::metrics::sharing::class_treatment::{DelayOf, DirectionTreatment};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::{PacketReceived, ProbeReceived};
use rrul_model::phase::Phase;
use rrul_model::time::TestTime;

use crate::builder::{CLOCK_OFFSET, Client, HELD, MS, SECOND, Scenario, Server};

const BASE: i64 = 10 * MS;

/// How long a packet sent at a time waits in a queue; `None` when it is lost.
pub(crate) type Wait<'a> = &'a dyn Fn(i64) -> Option<i64>;

/// A wait around this many milliseconds while the load runs, which saws and flickers; nothing else.
fn queue(milliseconds: i64) -> impl Fn(i64) -> Option<i64> {
    move |at| {
        if !(5 * SECOND..15 * SECOND).contains(&at) {
            return Some(0);
        }
        let saw = (at % (700 * MS)) * 2 / 7 - 100 * MS;
        let flicker = (at / MS).wrapping_mul(2_654_435_761).rem_euclid(1000) * MS / 1000;
        Some((milliseconds * MS + saw * milliseconds / 500 + flicker).max(0))
    }
}

/// A flow of probes, one packet each 20 ms.
pub(crate) fn probes(
    scenario: &mut Scenario,
    class: ServiceClass,
    family: AddressFamily,
    up: Wait<'_>,
    down: Wait<'_>,
) {
    let flow = scenario.udp_probe(family);
    scenario.recording.header.flows.last_mut().unwrap().class = class;
    let octet = class.octet();
    for sequence in 0..1000 {
        let at = 10 * MS + i64::from(sequence) * 20 * MS;
        scenario.sent(flow, sequence, at);
        let Some(wait) = up(at) else { continue };
        let arrived = at + BASE + wait;
        let reflector_received = TestTime(arrived + CLOCK_OFFSET);
        scenario.observe(Server, at, PacketReceived { flow, sequence, received: reflector_received, octet });
        let Some(wait) = down(at) else { continue };
        let received = TestTime(arrived + HELD + BASE + wait);
        let row = ProbeReceived {
            flow,
            sequence,
            received,
            read: received,
            reflector_received,
            reflector_sent: TestTime(reflector_received.0 + HELD),
            reflector_octet: octet,
            octet,
            reflector_count: sequence + 1,
        };
        scenario.observe(Client, at, row);
    }
}

const V4: AddressFamily = AddressFamily::Ipv4;
const V6: AddressFamily = AddressFamily::Ipv6;
const NO_WAIT: Wait<'static> = &|_| Some(0);

fn treated(scenario: &Scenario, direction: Direction) -> DirectionTreatment {
    let analysis = scenario.analyze();
    analysis.measured.class_treatment.directions.into_iter().find(|entry| entry.direction == direction).unwrap()
}

fn class(treatment: &DirectionTreatment, class: ServiceClass) -> &ClassDifference {
    treatment.classes.iter().find(|entry| entry.class == class).unwrap()
}

#[test]
fn one_queue_for_all_is_no_treatment() {
    let mut scenario = Scenario::new();
    for class in [ServiceClass::EF, ServiceClass::BK, ServiceClass::BE] {
        // The same queue, met at different moments.
        let shift = i64::from(class.octet()) * 37 * MS / 10;
        let shared = move |at: i64| queue(150)(at).and(queue(150)((at + shift).clamp(5 * SECOND, 15 * SECOND - 1)));
        probes(&mut scenario, class, V4, &|at| if queue(1)(at) == Some(0) { Some(0) } else { shared(at) }, NO_WAIT);
    }
    let up = treated(&scenario, Direction::Up);
    assert_eq!(up.delay_of, DelayOf::Queueing);
    assert!(up.blocks >= 8, "{}", up.blocks);
    for name in [ServiceClass::EF, ServiceClass::BK] {
        let difference = class(&up, name);
        assert_eq!(difference.acted_on, Some(false), "{difference:?}");
        let p50 = difference.delay_p50;
        assert!(p50.low_ns.unwrap() <= 0 && p50.high_ns.unwrap() >= 0, "{p50:?}");
    }
}

#[test]
fn a_class_that_waits_less_is_acted_upon_in_that_direction_only() {
    let mut scenario = Scenario::new();
    for (class, wait) in [(ServiceClass::EF, 1), (ServiceClass::BE, 80), (ServiceClass::BK, 300)] {
        probes(&mut scenario, class, V4, &queue(wait), &queue(50));
    }
    let up = treated(&scenario, Direction::Up);
    for (name, truth) in [(ServiceClass::EF, -79), (ServiceClass::BK, 220)] {
        let difference = class(&up, name);
        assert_eq!(difference.acted_on, Some(true), "{difference:?}");
        let p50 = difference.delay_p50;
        assert!((p50.difference_ns.unwrap() - truth * MS).abs() < 3 * MS, "{name}: {p50:?}");
        assert!(
            p50.low_ns.unwrap() <= p50.difference_ns.unwrap() && p50.difference_ns.unwrap() <= p50.high_ns.unwrap()
        );
        assert!(p50.low_ns.unwrap() > truth * MS - 20 * MS && p50.high_ns.unwrap() < truth * MS + 20 * MS, "{p50:?}");
    }
    let down = treated(&scenario, Direction::Down);
    assert!(down.classes.iter().all(|entry| entry.acted_on == Some(false)), "{:?}", down.classes);
}

#[test]
fn the_few_that_came_through_do_not_stand_for_their_class() {
    for (part, acted_on) in [(2, Some(true)), (5, None)] {
        let mut scenario = Scenario::new();
        probes(&mut scenario, ServiceClass::BE, V4, NO_WAIT, &queue(50));
        // One in so many comes through on the way up, and meets another queue on the way down.
        let starved =
            move |at: i64| (!(5 * SECOND..15 * SECOND).contains(&at) || at / (20 * MS) % part == 0).then_some(0);
        probes(&mut scenario, ServiceClass::BK, V4, &starved, &queue(20));
        assert_eq!(class(&treated(&scenario, Direction::Up), ServiceClass::BK).acted_on, Some(true));
        assert_eq!(class(&treated(&scenario, Direction::Down), ServiceClass::BK).acted_on, acted_on);
    }
}

#[test]
fn other_moments_of_one_queue_are_no_treatment() {
    // The way up acts on classes. On the way down each packet of best effort comes just behind a burst of 4 ms.
    let best_effort = |at: i64| queue(80)(at).map(|wait| wait + at % (777 * MS) / 40);
    let arrivals: Vec<i64> =
        (0..1000).map(|sequence| 10 * MS + sequence * 20 * MS).filter_map(|at| Some(at + best_effort(at)?)).collect();
    for (queues, acted_on) in [(1, false), (2, true)] {
        let mut scenario = Scenario::new();
        let burst = |at: i64| queue(1)(at).map(|wait| if wait > 0 { 4 * MS } else { 0 });
        probes(&mut scenario, ServiceClass::BE, V4, &best_effort, &burst);
        let behind = |at: i64| {
            let last = arrivals.iter().rev().find(|arrived| **arrived <= at).filter(|_| queues == 1);
            let left = last.map_or(0, |arrived| arrived + 4 * MS - at);
            burst(at).map(|wait| left.max(2 * MS).min(wait))
        };
        probes(&mut scenario, ServiceClass::EF, V4, NO_WAIT, &behind);
        assert_eq!(class(&treated(&scenario, Direction::Up), ServiceClass::EF).acted_on, Some(true));
        let down = treated(&scenario, Direction::Down);
        let difference = class(&down, ServiceClass::EF);
        assert_eq!(difference.delay_p50.difference_ns, Some(-2 * MS), "{difference:?}");
        assert_eq!(difference.acted_on, Some(acted_on), "{queues} queues: {difference:?}");
    }
}

#[test]
fn losses_of_packets_that_come_at_other_moments_prove_nothing() {
    let lossy = |at: i64| (at / (20 * MS) % 10 != 3).then_some(0);
    for (wait, acted_on) in [(80, None), (0, Some(true))] {
        let mut scenario = Scenario::new();
        probes(&mut scenario, ServiceClass::BE, V4, &queue(wait), &lossy);
        probes(&mut scenario, ServiceClass::EF, V4, NO_WAIT, NO_WAIT);
        let up = class(&treated(&scenario, Direction::Up), ServiceClass::EF).acted_on;
        assert_eq!(up, Some(wait > 0), "best effort waits {wait} ms on the way up");
        let down = treated(&scenario, Direction::Down);
        let difference = class(&down, ServiceClass::EF);
        assert!((difference.loss.difference.unwrap() + 0.1).abs() < 0.01, "{difference:?}");
        assert_eq!(difference.acted_on, acted_on, "{difference:?}");
    }
}

#[test]
fn what_only_one_family_shows_is_chance() {
    let both = |second: i64| {
        let mut scenario = Scenario::new();
        scenario.recording.header.families.push(V6);
        probes(&mut scenario, ServiceClass::BE, V4, &queue(5), NO_WAIT);
        probes(&mut scenario, ServiceClass::BE, V6, &queue(5), NO_WAIT);
        // A flow that shares its place in a fair queue with a bulk stream.
        probes(&mut scenario, ServiceClass::EF, V4, &queue(40), NO_WAIT);
        probes(&mut scenario, ServiceClass::EF, V6, &queue(second), NO_WAIT);
        class(&treated(&scenario, Direction::Up), ServiceClass::EF).acted_on
    };
    assert_eq!(both(5), Some(false));
    assert_eq!(both(40), Some(true));
}

#[test]
fn a_difference_below_a_millisecond_or_a_tenth_is_none() {
    for (own, other, acted_on) in [(1, 1, false), (104, 100, false), (120, 100, true)] {
        let mut scenario = Scenario::new();
        probes(&mut scenario, ServiceClass::EF, V4, &queue(own), NO_WAIT);
        probes(&mut scenario, ServiceClass::BE, V4, &queue(other), NO_WAIT);
        let found = class(&treated(&scenario, Direction::Up), ServiceClass::EF).acted_on;
        assert_eq!(found, Some(acted_on), "{own} ms against {other} ms");
    }
}

#[test]
fn a_class_that_is_dropped_more_is_acted_upon() {
    let mut scenario = Scenario::new();
    probes(&mut scenario, ServiceClass::BE, V4, NO_WAIT, NO_WAIT);
    let lossy = |at: i64| (at / (20 * MS) % 10 != 3).then_some(0);
    probes(&mut scenario, ServiceClass::BK, V4, NO_WAIT, &lossy);
    let up = treated(&scenario, Direction::Up);
    let difference = class(&up, ServiceClass::BK);
    assert_eq!((difference.acted_on, difference.loss.difference), (Some(false), Some(0.0)));
    let down = treated(&scenario, Direction::Down);
    let difference = class(&down, ServiceClass::BK);
    assert_eq!(difference.acted_on, Some(true));
    assert!((difference.loss.difference.unwrap() - 0.1).abs() < 1e-9);
    assert!(difference.loss.low.unwrap() > 0.05 && difference.loss.high.unwrap() < 0.15, "{:?}", difference.loss);
    // A tenth of the packets is lost: their delay has no 95th percentile.
    assert_eq!(difference.delay_p95.difference_ns, None);
}

#[test]
fn a_load_of_fewer_than_five_blocks_reports_nothing() {
    for (wait, blocks) in [(600, 0), (400, 5)] {
        let mut scenario = Scenario::new();
        // Four round trips of 0.62 s are 2.5 s: four blocks of the load's ten seconds. Of 0.42 s: five.
        probes(&mut scenario, ServiceClass::BE, V4, &queue(wait), NO_WAIT);
        probes(&mut scenario, ServiceClass::EF, V4, &queue(wait), NO_WAIT);
        let up = treated(&scenario, Direction::Up);
        let difference = class(&up, ServiceClass::EF);
        assert_eq!(up.blocks, blocks);
        assert_eq!(difference.acted_on, (blocks > 0).then_some(false));
        assert_eq!(difference.delay_p50.difference_ns, Some(0), "what was seen is reported");
        assert_eq!(difference.delay_p50.low_ns.is_some(), blocks > 0);
    }
}

#[test]
fn without_the_reflectors_notes_delays_are_still_compared_and_losses_are_not() {
    let mut scenario = Scenario::new();
    let lossy = |at: i64| (at / (20 * MS) % 10 != 3).then_some(0);
    probes(&mut scenario, ServiceClass::EF, V4, &queue(1), &lossy);
    probes(&mut scenario, ServiceClass::BE, V4, &queue(80), &lossy);
    for frame in &mut scenario.recording.frames {
        frame.tables.packet_received = rrul_model::observation::PacketReceivedTable::default();
    }
    let up = treated(&scenario, Direction::Up);
    let difference = class(&up, ServiceClass::EF);
    assert_eq!((up.delay_of, difference.acted_on, difference.loss.difference), (DelayOf::Queueing, Some(true), None));
}

#[test]
fn without_an_idle_line_round_trips_are_compared() {
    let mut scenario = Scenario::new();
    probes(&mut scenario, ServiceClass::EF, V4, &queue(1), NO_WAIT);
    probes(&mut scenario, ServiceClass::BE, V4, &queue(80), NO_WAIT);
    scenario.recording.header.phases.retain(|entry| entry.phase == Phase::Load);
    for direction in Direction::ALL {
        let treatment = treated(&scenario, direction);
        let difference = class(&treatment, ServiceClass::EF);
        assert_eq!((treatment.delay_of, difference.acted_on), (DelayOf::RoundTrip, Some(true)), "{direction}");
        assert!((difference.delay_p50.difference_ns.unwrap() + 79 * MS).abs() < 3 * MS);
    }
}

#[test]
fn shares_of_classes_are_reported_and_starving_is_found() {
    let mut scenario = Scenario::new();
    let rates = [(ServiceClass::BE, 3_000_000), (ServiceClass::EF, 6_900_000), (ServiceClass::BK, 100_000)];
    for (class, rate) in rates {
        let flow = scenario.bulk(Direction::Up);
        scenario.recording.header.flows.last_mut().unwrap().class = class;
        if class == ServiceClass::BK {
            // It gets its part in the first six of ten seconds and nothing after; the last eight are scored.
            scenario.stream_with(
                flow,
                |at| at,
                |at, from| (at - from).min(6 * SECOND) as u64 * rate / 8 / SECOND as u64,
            );
        } else {
            scenario.stream(flow, rate);
        }
    }
    let up = treated(&scenario, Direction::Up);
    let background = up.background.unwrap();
    assert!((background.starved_share - 0.5).abs() < 0.02 && background.starved, "{background:?}");
    assert!((background.share - 0.005).abs() < 0.001, "{background:?}");
    let expedited = up.expedited.unwrap();
    assert_eq!(expedited.verdict, ExpeditedVerdict::Much);
    assert!((expedited.share - 0.69).abs() < 0.02, "{expedited:?}");
    let rate = class(&up, ServiceClass::EF).rate_share;
    assert!((rate.difference.unwrap() - 0.39).abs() < 0.01, "{rate:?}");
    assert!(rate.low.unwrap() <= rate.difference.unwrap() && rate.difference.unwrap() <= rate.high.unwrap());
    // Streams are no evidence of treatment.
    assert_eq!(class(&up, ServiceClass::EF).acted_on, None);
}

#[test]
fn a_host_that_prefers_classes_itself_is_named() {
    for (discipline, named) in [("pfifo_fast", true), ("fq_codel", false)] {
        let mut scenario = Scenario::new();
        scenario.recording.header.client.settings.insert("net.core.default_qdisc".into(), discipline.into());
        probes(&mut scenario, ServiceClass::EF, V4, &queue(1), NO_WAIT);
        probes(&mut scenario, ServiceClass::BE, V4, &queue(80), NO_WAIT);
        assert_eq!(treated(&scenario, Direction::Up).own_queue.is_some(), named);
        assert_eq!(treated(&scenario, Direction::Down).own_queue, None, "the server's is not known");
    }
}
