//! Lines and shapers for which no rates are recommended, and why.

use std::net::{IpAddr, Ipv4Addr};

use rrul_analysis::tuning::result::{Caution, Outcome, Refusal, TuningResult};
use rrul_analysis::tuning::search::{Action, next_action};
use rrul_analysis::tuning::trial::{HostLimit, QueueHop, TrialDirection};
use rrul_model::flow::Direction;
use rrul_model::shaping::{StepPurpose, TuningPlan};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::line::{Excess, Line, Path, Side};
use crate::{Session, altered_session, plan, session, story, tune};

const LINES: [[f64; 2]; 4] = [[8e6, 20e6], [40e6, 100e6], [1e6, 5e6], [25e6, 25e6]];
const SEEDS: u64 = 20;

/// A session over each line with each seed is refused for the right reason within four trials.
fn refused(made: impl Fn(Side, Side, u64) -> Line, right: impl Fn(&Refusal) -> bool) {
    for [up, down] in LINES {
        for seed in 0..SEEDS {
            let ended = tune(&mut made(Side::plain(up), Side::plain(down), seed));
            let is_right = matches!(&ended.result.outcome, Outcome::Refused { refusal } if right(refusal));
            let what = format!("{up}/{down}, seed {seed}: {:?}{}", ended.result.outcome, story(&ended.trials));
            assert!(is_right && ended.trials.len() <= 4, "{what}");
            assert_eq!((ended.result.recommended.up, ended.result.recommended.down), (None, None));
        }
    }
}

fn through(path: Path) -> impl Fn(Side, Side, u64) -> Line {
    move |up, down, seed| {
        let mut line = Line::new(up, down, seed);
        line.path = path;
        line
    }
}

#[test]
fn crossed_directions_and_a_client_outside_are_noticed() {
    refused(through(Path::Crossed), |refusal| matches!(refusal, Refusal::DirectionsSwapped { .. }));
}

#[test]
fn a_shaper_that_nothing_passes_is_noticed() {
    refused(
        through(Path::Around),
        |refusal| matches!(refusal, Refusal::NotInPath { set, delivered, .. } if delivered.0 > set.0),
    );
}

#[test]
fn a_shaper_that_nothing_passes_is_noticed_with_one_direction_loaded() {
    let asked = TuningPlan { directions: vec![Direction::Up], ..plan() };
    for seed in 0..SEEDS {
        let mut line =
            through(Path::Around)(Side::plain(8e6), Side { host: Some((0.0, None)), ..Side::plain(20e6) }, seed);
        let ended = session(&asked, &mut line);
        let outcome = ended.result.outcome;
        let is_right = matches!(outcome, Outcome::Refused { refusal: Refusal::NotInPath { .. } });
        assert!(is_right && ended.trials.len() <= 4, "{outcome:?}{}", story(&ended.trials));
    }
}

#[test]
fn crossed_directions_are_noticed_where_the_download_queues_longest() {
    refused(
        |up, down, seed| {
            let mut line = through(Path::Crossed)(up, Side { excess: Excess::Fifo(1.0), ..down }, seed);
            line.starved = Direction::Up;
            line
        },
        |refusal| matches!(refusal, Refusal::DirectionsSwapped { .. }),
    );
}

#[test]
fn packets_that_pass_twice_are_noticed() {
    for has_counters in [true, false] {
        refused(
            |up, down, seed| {
                let mut line = through(Path::Twice)(up, down, seed);
                line.has_counters = has_counters;
                line
            },
            |refusal| matches!(refusal, Refusal::CountedTwice { .. }),
        );
    }
}

#[test]
fn a_router_that_is_too_slow_to_shape_is_noticed() {
    for part in [0.25, 0.35] {
        refused(through(Path::Slow(part)), |refusal| {
            matches!(refusal, Refusal::HostLimited { set: Some(_), limit: Some(HostLimit::RouterProcessor), .. })
        });
    }
}

#[test]
fn a_queue_that_stays_whatever_the_shaper_does_is_noticed() {
    refused(
        |up, down, seed| Line::new(Side { elsewhere: Some((0.2, None)), ..up }, down, seed),
        |refusal| matches!(refusal, Refusal::QueueElsewhere { direction: Direction::Up, set: Some(_), hop: None, .. }),
    );
}

#[test]
fn a_queue_in_front_of_the_shaper_is_named_with_its_hop() {
    let address = Some(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1)));
    let hop = QueueHop { hop: 1, address, before_shaper: true };
    refused(
        |up, down, seed| Line::new(Side { elsewhere: Some((0.1, Some(hop))), ..up }, down, seed),
        |refusal| matches!(refusal, Refusal::QueueElsewhere { hop: Some(found), .. } if *found == hop),
    );
}

#[test]
fn a_slow_server_is_noticed() {
    for known in [Some(HostLimit::ServerProcessor), None] {
        refused(
            |up, down, seed| {
                let host = Some((0.7 * down.rate, known));
                Line::new(up, Side { host, ..down }, seed)
            },
            |refusal| matches!(refusal, Refusal::HostLimited { direction: Direction::Down, .. }),
        );
    }
}

#[test]
fn a_server_that_its_quota_throttles_is_noticed_even_where_the_line_has_a_queue() {
    let throttled = |side: Side| Side { host: Some((1.02 * side.rate, Some(HostLimit::ServerQuota))), ..side };
    refused(
        |up, down, seed| Line::new(up, throttled(down), seed),
        |refusal| matches!(refusal, Refusal::HostLimited { limit: Some(HostLimit::ServerQuota), set: None, .. }),
    );
}

#[test]
fn random_loss_that_keeps_the_load_below_the_line_is_noticed() {
    // Four connections deliver a tenth of 200 Mbit/s at this loss.
    let made = |up: Side, down: Side, seed| Line::new(up, Side { loss: 0.01, ..down }, seed);
    for seed in 0..SEEDS {
        let ended = tune(&mut made(Side::plain(40e6), Side::plain(200e6), seed));
        let outcome = ended.result.outcome;
        let is_right =
            matches!(outcome, Outcome::Refused { refusal: Refusal::LossLimited { direction: Direction::Down, .. } });
        assert!(is_right && ended.trials.len() <= 4, "{outcome:?}{}", story(&ended.trials));
    }
}

#[test]
fn a_limit_that_no_rate_keeps_is_noticed() {
    let asked = TuningPlan { delay_limit: Some(Delay(300_000)), ..plan() };
    for seed in 0..SEEDS {
        let ended = session(&asked, &mut Line::new(Side::plain(8e6), Side::plain(20e6), seed));
        let outcome = ended.result.outcome;
        assert!(matches!(outcome, Outcome::Refused { refusal: Refusal::NoRatePasses { .. } }), "{outcome:?}");
    }
}

#[test]
fn nothing_is_measured_without_probes() {
    let mut line = Line::new(Side::plain(8e6), Side::plain(20e6), 1);
    let next = rrul_analysis::tuning::search::next_action(&plan(), &[]);
    let rrul_analysis::tuning::search::Action::Step(next) = next else { panic!("{next:?}") };
    let mut first = line.trial(&next, 0);
    first.directions.down.delivered = None;
    let result = rrul_analysis::tuning::result::TuningResult::new(&plan(), &[first], ByteCount(0));
    let right = Outcome::Refused { refusal: Refusal::NotMeasured { direction: Direction::Down } };
    assert_eq!(result.outcome, right);
}

fn managed(side: Side) -> Side {
    Side { excess: Excess::Managed(0.002), ..side }
}

#[test]
fn a_managed_line_has_nothing_to_gain() {
    for [up, down] in LINES {
        for seed in 0..SEEDS {
            let ended = tune(&mut Line::new(managed(Side::plain(up)), managed(Side::plain(down)), seed));
            assert_eq!(ended.result.outcome, Outcome::NothingToGain, "{}", story(&ended.trials));
            assert!(ended.trials.len() <= 4);
        }
    }
}

/// Asserts that one direction is tuned and the other one left alone.
fn one_managed(ended: &Session, left: Direction, rate: f64) {
    let result = &ended.result;
    assert_eq!(result.outcome, Outcome::Recommended, "{}", story(&ended.trials));
    assert_eq!(result.recommended.direction(left), None);
    assert!(result.cautions.contains(&Caution::AlreadyManaged { direction: left }), "{:?}", result.cautions);
    let found = result.recommended.direction(left.opposite()).unwrap_or(BitRate(0)).0 as f64;
    assert!((-0.03..=0.005).contains(&(found / rate - 1.0)), "{found} of {rate}{}", story(&ended.trials));
}

#[test]
fn a_managed_direction_is_left_alone_and_the_other_one_tuned() {
    for [up, down] in LINES {
        for seed in 0..SEEDS {
            one_managed(&tune(&mut Line::new(managed(Side::plain(up)), Side::plain(down), seed)), Direction::Up, down);
            one_managed(&tune(&mut Line::new(Side::plain(up), managed(Side::plain(down)), seed)), Direction::Down, up);
        }
    }
}

#[test]
fn a_direction_of_unknown_rate_has_no_limit_of_the_delay_unless_one_is_asked_for() {
    let limits = |plan: &TuningPlan| {
        let Action::Step(next) = next_action(plan, &[]) else { panic!("the first step") };
        let mut trial = Line::new(Side::plain(8e6), Side::plain(20e6), 0).trial(&next, 0);
        trial.directions.down = TrialDirection::default();
        let result = TuningResult::new(plan, &[trial], ByteCount(0));
        [Direction::Up, Direction::Down].map(|direction| result.directions.get(direction).as_ref().unwrap().limit)
    };
    let [up, down] = limits(&plan());
    assert!(up.is_some() && down.is_none(), "{up:?} {down:?}");
    let asked = Some(Delay(4_000_000));
    assert_eq!(limits(&TuningPlan { delay_limit: asked, ..plan() }), [asked, asked]);
}

#[test]
fn a_shaper_that_counts_less_of_acknowledgments_is_not_bypassed() {
    // A quarter of the upload is acknowledgments of 66 bytes, of which this shaper counts 52.
    let session = altered_session(&plan(), &mut Line::new(Side::plain(4e6), Side::plain(40e6), 1), |trial| {
        let up = &mut trial.directions.up;
        if trial.step.purpose == StepPurpose::Knob && trial.step.rates.down.is_none() {
            up.delivered = up.delivered.map(|rate| BitRate(rate.0 / 100 * 107));
        }
    });
    assert_eq!(session.result.outcome, Outcome::Recommended, "{}", story(&session.trials));
}
