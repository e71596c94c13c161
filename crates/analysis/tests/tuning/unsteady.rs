//! Lines that are not the same all the time: bursts, policers, loss, jitter, other traffic, changing rates.

use rrul_analysis::tuning::result::{Caution, Outcome, Refusal};
use rrul_model::flow::Direction;

use crate::line::{Excess, Line, Side};
use crate::{Session, story, tune};

const LINES: [[f64; 2]; 3] = [[8e6, 20e6], [40e6, 100e6], [25e6, 25e6]];
const SEEDS: u64 = 20;

/// Counts sessions over each line that are as they are to be: 19 of 20 at least.
fn mostly(made: impl Fn(Side) -> Side, is_right: impl Fn(&Session, [f64; 2]) -> bool) {
    mostly_over(|up, down, seed| Line::new(made(up), made(down), seed), is_right);
}

fn mostly_over(made: impl Fn(Side, Side, u64) -> Line, is_right: impl Fn(&Session, [f64; 2]) -> bool) {
    for [up, down] in LINES {
        let run = |seed| tune(&mut made(Side::plain(up), Side::plain(down), seed));
        let ended: Vec<Session> = (0..SEEDS).map(run).collect();
        let wrong: Vec<&Session> = ended.iter().filter(|session| !is_right(session, [up, down])).collect();
        if let [first, ..] = wrong.as_slice() {
            let recommended = first.result.recommended;
            let outcome = &first.result.outcome;
            let what = format!("{outcome:?} {recommended:?} {:?}{}", first.result.directions, story(&first.trials));
            assert!(wrong.len() <= 1, "{up}/{down}: {} of {SEEDS} wrong: {what}", wrong.len());
        }
    }
}

/// Whether both rates are recommended, within these parts of the line's.
fn within(session: &Session, rates: [f64; 2], below: f64, above: f64) -> bool {
    let near = |direction, rate: f64| {
        let found = session.result.recommended.direction(direction).map_or(0.0, |found| found.0 as f64);
        (-below..=above).contains(&(found / rate - 1.0))
    };
    session.result.outcome == Outcome::Recommended && near(Direction::Up, rates[0]) && near(Direction::Down, rates[1])
}

#[test]
fn after_a_burst_the_sustained_rate_is_found_and_the_burst_is_reported() {
    mostly(
        |side| Side { burst: 12.5e6, ..side },
        |session, rates| {
            let burst = session.result.directions.up.as_ref().and_then(|found| found.burst);
            let is_seen = burst.is_some_and(|burst| {
                (0.95..1.02).contains(&(burst.excess.0 as f64 / 12.5e6)) && burst.rate.0 as f64 > 1.8 * rates[0]
            });
            within(session, rates, 0.03, 0.005) && (is_seen || rates[0] > 10e6)
        },
    );
}

#[test]
fn a_burst_that_an_upload_reaches_late_beside_the_download_is_no_rise_of_its_rate() {
    for size in [6e6, 12.5e6, 25e6] {
        mostly_over(
            |up, down, seed| {
                let bursting = |side, queue| Side { burst: size, excess: Excess::Fifo(queue), ..side };
                let mut line = Line::new(bursting(up, 1.5), bursting(down, 0.5), seed);
                line.starved = Direction::Up;
                line.recovers = Some(11.5);
                line
            },
            |session, rates| within(session, rates, 0.03, 0.005),
        );
    }
}

/// Whether the policers of both directions are named with their rates.
fn named(session: &Session, rates: [f64; 2]) -> bool {
    let near = |direction: Direction, rate: f64| {
        let found = session.result.directions.get(direction).as_ref().and_then(|found| found.policer);
        found.is_some_and(|found| (found.rate.0 as f64 / rate - 1.0).abs() < 0.05)
    };
    within(session, rates, 0.05, 0.05) && near(Direction::Up, rates[0]) && near(Direction::Down, rates[1])
}

#[test]
fn a_policer_is_named_with_its_rate() {
    for small_lost in [0.0, 1.0] {
        for bucket in [0.05, 0.5] {
            mostly_over(
                |up, down, seed| {
                    let policed = |side| Side { excess: Excess::Drop(bucket), ..side };
                    let mut line = Line::new(policed(up), policed(down), seed);
                    line.small_lost = small_lost;
                    line
                },
                named,
            );
        }
    }
}

#[test]
fn a_policer_is_named_beside_a_bloated_direction_whose_queue_delays_acknowledgments() {
    mostly_over(
        |up, down, seed| Line::new(Side { excess: Excess::Drop(0.05), ..up }, down, seed),
        |session, rates| {
            let found = session.result.directions.up.as_ref().and_then(|found| found.policer);
            let other = session.result.directions.down.as_ref().and_then(|found| found.policer);
            let is_near = found.is_some_and(|found| (found.rate.0 as f64 / rates[0] - 1.0).abs() < 0.05);
            is_near && other.is_none() && within(session, rates, 0.05, 0.05)
        },
    );
}

#[test]
fn no_policer_is_named_on_a_line_that_queues_or_is_managed() {
    for excess in
        [Excess::Fifo(0.02), Excess::Fifo(0.5), Excess::Managed(0.002), Excess::Managed(0.008), Excess::Managed(0.015)]
    {
        for loss in [0.0, 0.001] {
            mostly(
                |side| Side { excess, loss, ..side },
                |session, _| {
                    let found = &session.result.directions;
                    let is_named = |found: &Option<_>| {
                        let found: &Option<rrul_analysis::tuning::result::TunedDirection> = found;
                        found.as_ref().is_some_and(|found| found.policer.is_some())
                    };
                    !is_named(&found.up) && !is_named(&found.down)
                },
            );
        }
    }
}

#[test]
fn random_loss_is_reported_beside_the_rates() {
    for [up, down] in [[8e6, 20e6], [5e6, 15e6]] {
        for seed in 0..SEEDS {
            let lossy = |rate| Side { loss: 0.005, ..Side::plain(rate) };
            let ended = tune(&mut Line::new(lossy(up), lossy(down), seed));
            assert!(within(&ended, [up, down], 0.05, 0.05), "{:?}{}", ended.result.outcome, story(&ended.trials));
            let is_reported = ended.result.cautions.iter().any(|one| matches!(one, Caution::RandomLoss { .. }));
            assert!(is_reported, "{:?}", ended.result.cautions);
        }
    }
}

#[test]
fn jitter_does_not_mislead() {
    mostly(|side| Side { jitter: 0.002, ..side }, |session, rates| within(session, rates, 0.05, 0.05));
}

#[test]
fn other_traffic_is_noticed_or_does_no_harm() {
    for each in [3.0, 10.0, 40.0] {
        mostly(
            |side| Side { others: Some((0.2, each)), ..side },
            |session, rates| {
                let outcome = &session.result.outcome;
                let is_disturbed = matches!(outcome, Outcome::Refused { refusal: Refusal::Disturbed { .. } });
                is_disturbed || within(session, rates, 0.05, 0.05)
            },
        );
    }
}

#[test]
fn a_line_that_changes_in_steps_varies_and_its_percentiles_are_reported() {
    let near = |session: &Session, rates: [f64; 2], middle: std::ops::RangeInclusive<f64>| {
        let all = [(Direction::Up, rates[0]), (Direction::Down, rates[1])].map(|(direction, rate)| {
            let found = session.result.directions.get(direction).as_ref().and_then(|found| found.varying);
            let is = |found: u64, part: f64| (found as f64 / (rate * part) - 1.0).abs() < 0.05;
            found.is_some_and(|found| {
                let p50 = found.p50.0 as f64 / rate;
                is(found.p10.0, 0.8) && is(found.p90.0, 1.2) && middle.contains(&p50)
            })
        });
        session.result.outcome == Outcome::Varies && all == [true; 2]
    };
    // Half of the time at each: the middle lies anywhere between.
    mostly(
        |side| Side { steps: Some((&[1.2, 0.8], 20.0)), ..side },
        |session, rates| near(session, rates, 0.76..=1.26),
    );
    mostly(
        |side| Side { steps: Some((&[1.0, 1.2, 1.0, 0.8], 20.0)), ..side },
        |session, rates| near(session, rates, 0.95..=1.05),
    );
}

#[test]
fn a_steady_line_never_varies() {
    mostly(|side| Side { jitter: 0.0005, ..side }, |session, _| session.result.outcome == Outcome::Recommended);
}

/// A machine on the way stands still, or the radio of a modem does.
#[test]
fn an_interruption_is_no_change_of_the_rate() {
    for (length, part) in [(1.0, 0.0), (3.0, 0.5), (6.0, 0.7)] {
        mostly_over(
            |up, down, seed| {
                let mut line = Line::new(up, down, seed);
                let from = 8.0 + 7.0 * seed as f64;
                line.interrupted = Some((from..from + length, part));
                line
            },
            |session, rates| within(session, rates, 0.05, 0.005),
        );
    }
}
