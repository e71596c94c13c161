//! Rates found over lines that queue.

use std::cell::Cell;

use rrul_analysis::tuning::result::{Caution, Discarded, JudgedTrial, Outcome, Refusal, TuningResult};
use rrul_analysis::tuning::trial::{Trial, TrialDelay};
use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::shaping::{Preference, StepPurpose, TuningPlan};
use rrul_model::units::{BitRate, Delay};

use crate::line::{Kind, Line, Side};
use crate::{Session, altered_session, octets, plan, story, tune};

/// Rates of the line, up and down, bit/s.
const LINES: [[f64; 2]; 8] =
    [[8e6, 20e6], [40e6, 100e6], [1e6, 5e6], [25e6, 25e6], [0.8e6, 8e6], [50e6, 1000e6], [2e6, 40e6], [1000e6, 1000e6]];

fn line(up: f64, down: f64, behind: Kind, seed: u64) -> Line {
    Line::new(Side::plain(up), Side { kind: behind, ..Side::plain(down) }, seed)
}

/// Why a session did not find the rates as closely as they are to be found.
fn shortfall(session: &Session, rates: [f64; 2], below: f64) -> Option<String> {
    let result = &session.result;
    if result.outcome != Outcome::Recommended {
        return Some(format!("{:?}", result.outcome));
    }
    if session.trials.len() > 14 || result.took.0 > 480_000_000_000 {
        return Some(format!("{} trials, {}", session.trials.len(), result.took));
    }
    for (direction, rate) in [(Direction::Up, rates[0]), (Direction::Down, rates[1])] {
        let Some(found) = result.recommended.direction(direction) else { return Some(format!("{direction}: none")) };
        let off = found.0 as f64 / rate - 1.0;
        if !(-below..=0.005).contains(&off) {
            return Some(format!("{direction}: {found}, {:+.2} %", off * 100.0));
        }
    }
    None
}

/// Counts the sessions, one for each seed, that did not find the rates within 3 percent below: one of 20 at most.
fn found_by_all_but_one(rates: [f64; 2], session: impl Fn(u64) -> Session) {
    let sessions = (0..20).map(session);
    let short: Vec<String> = sessions
        .filter_map(|session| Some(format!("{}{}", shortfall(&session, rates, 0.03)?, story(&session.trials))))
        .collect();
    assert!(short.len() <= 1, "{rates:?}: {} of 20: {}", short.len(), short[0]);
}

#[test]
fn the_rates_are_found_within_three_percent_below_and_half_a_percent_above() {
    let mut all = Vec::new();
    for kind in [Kind::Cake, Kind::CakeBehind, Kind::FqCodelWithoutLimits] {
        // Behind the line the delay rises from 95 % on, and a search ends where it reaches the limit.
        let below = if kind == Kind::CakeBehind { 0.05 } else { 0.03 };
        for [up, down] in LINES {
            let sessions = (0..20).map(|seed| tune(&mut line(up, down, kind, seed)));
            let short: Vec<String> = sessions
                .filter_map(|session| {
                    Some(format!("{}{}", shortfall(&session, [up, down], below)?, story(&session.trials)))
                })
                .collect();
            if short.len() > 1 {
                all.push(format!("{kind:?} {up}/{down}: {} of 20: {}", short.len(), short[0]));
            }
        }
    }
    assert!(all.is_empty(), "{}", all.join("\n"));
}

#[test]
fn an_upload_whose_acknowledgments_wait_in_the_download_is_found_at_its_rate() {
    for [up, down] in [[25e6, 25e6], [8e6, 8e6], [10e6, 100e6]] {
        found_by_all_but_one([up, down], |seed| {
            let mut line = line(up, down, Kind::Cake, seed);
            line.starved = Direction::Up;
            tune(&mut line)
        });
    }
}

#[test]
fn a_long_path_on_which_the_load_grows_slowly_is_found_at_its_rate() {
    for [up, down] in [[30e6, 30e6], [12e6, 50e6]] {
        found_by_all_but_one([up, down], |seed| {
            let mut line = line(up, down, Kind::Cake, seed);
            line.long = Some(12.0);
            tune(&mut line)
        });
    }
}

/// Makes a trial what was seen where a host stood still again and again: less arrives, and what waits meanwhile arrives late.
fn hold_back(trial: &mut Trial) {
    let down = &mut trial.directions.down;
    down.delivered = down.delivered.map(|rate| BitRate(rate.0 / 1000 * 965));
    let delay = down.queueing_delay.as_mut().expect("probes");
    let [p50, low, p95, high] = [9, 22, 46, 50].map(|ms| Delay(ms * 1_000_000));
    (delay.p50, delay.p95_low, delay.p95, delay.p95_high) = (p50, low, p95, high);
}

/// Twenty sessions in which the first two trials of the download are altered: both are discarded, and the rates are found.
fn two_are_discarded(alter: fn(&mut Trial), why: Discarded, caution: &Caution) {
    found_by_all_but_one([8e6, 20e6], |seed| {
        let left = Cell::new(2);
        let session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::Cake, seed), |trial| {
            let searches = trial.step.purpose == StepPurpose::Search && trial.step.direction == Some(Direction::Down);
            if searches && left.get() > 0 {
                left.set(left.get() - 1);
                alter(trial);
            }
        });
        let discarded = session.result.trials.iter().filter(|trial| trial.discarded == Some(why));
        assert_eq!(discarded.count(), 2, "{}", story(&session.trials));
        assert!(session.result.cautions.contains(caution), "{:?}", session.result.cautions);
        session
    });
}

#[test]
fn trials_that_something_else_held_back_are_discarded_and_do_not_lower_the_rate() {
    let caution = Caution::Interrupted { direction: Direction::Down, trials: 2 };
    two_are_discarded(hold_back, Discarded::Interrupted, &caution);
}

/// Makes a trial what was seen where a hypervisor gave a quarter of the processors to others: all of it arrives, and late.
fn steal(trial: &mut Trial) {
    trial.stolen_from = Some(ObservationPoint::Client);
    let delay = trial.directions.down.queueing_delay.as_mut().expect("probes");
    let [p50, low, p95, high] = [44, 50, 75, 77].map(|ms| Delay(ms * 1_000_000));
    (delay.p50, delay.p95_low, delay.p95, delay.p95_high) = (p50, low, p95, high);
}

#[test]
fn trials_whose_delay_a_hypervisor_may_have_caused_are_discarded_and_do_not_lower_the_rate() {
    let caution = Caution::Stolen { direction: Direction::Down, trials: 2 };
    two_are_discarded(steal, Discarded::Stolen, &caution);
}

#[test]
fn a_hypervisor_that_takes_processors_all_the_time_costs_four_trials_of_a_direction_at_most() {
    // The line is overdriven each time: what is discarded at first counts from the fifth on.
    let session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::Cake, 1), |trial| {
        trial.stolen_from = Some(ObservationPoint::Server);
        if trial.step.purpose == StepPurpose::Search && trial.step.direction == Some(Direction::Down) {
            steal(trial);
        }
    });
    let why = |trial: &JudgedTrial| (trial.trial.step.direction == Some(Direction::Down)).then_some(trial.discarded);
    let searched = session.result.trials.iter().filter(|trial| trial.trial.step.purpose == StepPurpose::Search);
    let found: Vec<Option<Discarded>> = searched.filter_map(why).collect();
    let stolen = found.iter().filter(|why| **why == Some(Discarded::Stolen)).count();
    assert!(found.len() > 4 && stolen == 4, "{found:?}{}", story(&session.trials));
}

#[test]
fn trials_that_a_hypervisor_spoils_are_not_counted_among_the_fourteen() {
    let mut more = 0;
    for seed in 0..20 {
        let spoiled = [Cell::new(0), Cell::new(0)];
        let session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::CakeBehind, seed), |trial| {
            for (direction, spoiled) in Direction::ALL.into_iter().zip(&spoiled) {
                let is_searched = trial.step.purpose == StepPurpose::Search && trial.step.direction == Some(direction);
                if is_searched && spoiled.get() < 4 {
                    spoiled.set(spoiled.get() + 1);
                    trial.stolen_from = Some(ObservationPoint::Client);
                    let delay = trial.directions.get_mut(direction).queueing_delay.as_mut().expect("probes");
                    (delay.p50, delay.p95) = (Delay(30_000_000), Delay(75_000_000));
                }
            }
        });
        assert_eq!(session.result.outcome, Outcome::Recommended, "{seed}{}", story(&session.trials));
        more += usize::from(session.trials.len() > 14);
    }
    assert!(more > 10, "only {more} of 20 sessions had more than 14 trials");
}

#[test]
fn less_than_was_set_beside_a_hypervisor_is_a_limit_from_the_fifth_trial_on() {
    let session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::Cake, 1), |trial| {
        if trial.step.purpose == StepPurpose::Search && trial.step.direction == Some(Direction::Up) {
            trial.stolen_from = Some(ObservationPoint::Client);
            let up = &mut trial.directions.up;
            up.delivered = up.delivered.map(|rate| BitRate(rate.0 / 10 * 9));
            up.course.iter_mut().for_each(|rate| *rate = BitRate(rate.0 / 10 * 9));
        }
    });
    let stolen = session.result.trials.iter().filter(|trial| trial.discarded == Some(Discarded::Stolen));
    assert_eq!(stolen.count(), 4, "{}", story(&session.trials));
    let is_limited = matches!(session.result.outcome, Outcome::Refused { refusal: Refusal::HostLimited { .. } });
    assert!(is_limited, "{:?}{}", session.result.outcome, story(&session.trials));
}

#[test]
fn a_check_with_a_long_queue_is_not_recommended_because_a_hypervisor_took_processors() {
    let session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::Cake, 1), |trial| {
        if trial.step.purpose == StepPurpose::Joint {
            steal(trial);
        }
    });
    assert_ne!(session.result.outcome, Outcome::Recommended, "{}", story(&session.trials));
}

#[test]
fn a_check_that_something_else_held_back_is_repeated_and_then_recommended_with_a_caution() {
    for seed in 0..20 {
        let mut session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::Cake, seed), |trial| {
            if trial.step.purpose == StepPurpose::Joint {
                hold_back(trial);
            }
        });
        let joints = session.trials.iter().filter(|trial| trial.step.purpose == StepPurpose::Joint).count();
        assert_eq!(joints, 2, "{}", story(&session.trials));
        let mut result = session.result.clone();
        for checks in ["both", "the first, without a trial left for another"] {
            let near = |caution: &Caution| matches!(caution, Caution::NearLimit { direction: Direction::Down, .. });
            assert_eq!(result.outcome, Outcome::Recommended, "{checks}{}", story(&session.trials));
            assert!(result.cautions.iter().any(near), "{checks}: {:?}", result.cautions);
            session.trials.truncate(session.trials.len() - 1);
            let limited = TuningPlan { most_trials: session.trials.len() as u32, ..plan() };
            result = TuningResult::new(&limited, &session.trials, octets(&session.trials));
        }
    }
}

#[test]
fn the_interval_contains_the_truth_as_often_as_it_says() {
    for [up, down] in [LINES[0], LINES[2]] {
        let mut inside = [0, 0];
        for seed in 0..100 {
            let session = tune(&mut line(up, down, Kind::Cake, 1000 + seed));
            for (place, direction, rate) in [(0, Direction::Up, up), (1, Direction::Down, down)] {
                let found = session.result.directions.get(direction).as_ref().and_then(|found| found.capacity);
                let is_inside = found.is_some_and(|found| found.low.0 as f64 <= rate && rate <= found.high.0 as f64);
                inside[place] += usize::from(is_inside);
            }
        }
        for count in inside {
            assert!((80..=98).contains(&count), "{up}/{down}: {inside:?} of 100");
        }
    }
}

#[test]
fn a_check_that_is_near_the_limit_each_time_is_recommended_with_a_caution_and_one_far_beyond_is_not() {
    // P95 of the download in each check, milliseconds, whose limit is 5 ms and what the shaper itself adds.
    for (p95, is_recommended) in [(11, true), (80, false)] {
        let mut line = line(8e6, 20e6, Kind::Cake, 7);
        let session = altered_session(&plan(), &mut line, |trial| {
            let delay = &mut trial.directions.down.queueing_delay;
            if let Some(delay) = delay.as_mut().filter(|_| trial.step.purpose == StepPurpose::Joint) {
                delay.p95 = Delay(p95 * 1_000_000);
                (delay.p95_low, delay.p95_high) = (Delay(delay.p95.0 / 2), Delay(delay.p95.0 * 2));
            }
        });
        let (result, trials) = (&session.result, story(&session.trials));
        assert_eq!(result.outcome == Outcome::Recommended, is_recommended, "{:?}{trials}", result.outcome);
        assert_eq!(result.recommended.down.is_some(), is_recommended, "{trials}");
        let near = Caution::NearLimit { direction: Direction::Down, percentile: 95, delay: Delay(p95 * 1_000_000) };
        assert_eq!(result.cautions.contains(&near), is_recommended, "{:?}", result.cautions);
    }
}

#[test]
fn verdicts_near_the_limit_do_not_lead_far_away() {
    let limit = Delay(15_000_000);
    let plan = TuningPlan { delay_limit: Some(limit), ..plan() };
    for seed in 0..20 {
        // Above 19 Mbit/s the delay is a little above the limit, and once a little below.
        let searched = Cell::new(0);
        let session = altered_session(&plan, &mut line(8e6, 20e6, Kind::Cake, seed), |trial| {
            let is_high = trial.step.rates.down.is_some_and(|rate| rate > BitRate(19_000_000));
            if trial.step.purpose != StepPurpose::Search || !is_high {
                return;
            }
            searched.set(searched.get() + 1);
            let p95 = limit + Delay(if searched.get() == 2 { -300_000 } else { 300_000 });
            let delay = trial.directions.down.queueing_delay.as_mut().expect("probes");
            (delay.p95_low, delay.p95, delay.p95_high) = (p95 - Delay(4_000_000), p95, p95 + Delay(4_000_000));
        });
        let why = shortfall(&session, [8e6, 20e6], 0.06);
        assert_eq!(why, None, "{seed}: {}", story(&session.trials));
    }
}

/// A long line with a slow upload: acknowledgments of the download arrive in clumps, so that its delay grows slowly with its rate. At P95
/// it is 4 ms at half of the rate, 8 ms at 0.88 of it, 11 ms slightly below it.
fn clumps(trial: &mut Trial, line: f64) {
    let set = trial.step.rates.down.map_or(f64::INFINITY, |rate| rate.0 as f64 / line);
    let Some(delay) = trial.directions.down.queueing_delay.as_mut().filter(|_| set < 1.0) else { return };
    let ms = |ms: f64| Delay((ms * 1e6) as i64);
    // From one trial to the next it differs by a tenth, so that verdicts contradict each other.
    let differs = [1.0, 1.1, 0.9][trial.step.number as usize % 3];
    let p95 = differs * (4.0 + 4.3 * (set - 0.5).max(0.0) / 0.38 + 20.0 * (set - 0.9).max(0.0));
    (delay.p50, delay.p95, delay.p99) = (ms(p95 / 2.0), ms(p95), ms(1.2 * p95));
    (delay.p95_low, delay.p95_high) = (ms(0.92 * p95), ms(1.08 * p95));
}

#[test]
fn bursts_that_a_lower_rate_hardly_shortens_do_not_lower_it_unless_low_delay_is_preferred() {
    for seed in 0..20 {
        let over = |plan: &TuningPlan| {
            altered_session(plan, &mut line(3e6, 33e6, Kind::Cake, seed), |trial| clumps(trial, 33e6))
        };
        let found = over(&plan());
        assert_eq!(shortfall(&found, [3e6, 33e6], 0.035), None, "{seed}: {}", story(&found.trials));
        let beyond = |caution: &Caution| matches!(caution, Caution::NearLimit { direction: Direction::Down, .. });
        assert!(
            found.result.cautions.iter().any(beyond),
            "{seed}: {:?} {}",
            found.result.directions.down,
            story(&found.trials)
        );
        let low = over(&TuningPlan { prefer: Preference::Delay, ..plan() });
        assert!(low.result.recommended.down.is_none_or(|rate| rate < BitRate(31_000_000)), "{}", story(&low.trials));
    }
}

/// In the check of both directions, as beside a home router that is late now and then: few packets wait, for twice the limit.
fn burst_in_check(trial: &mut Trial) {
    if trial.step.purpose == StepPurpose::Joint
        && let Some(delay) = &mut trial.directions.down.queueing_delay
    {
        delay.p50 = Delay(1_000_000);
        (delay.p95_low, delay.p95, delay.p95_high) = (Delay(11_000_000), Delay(12_000_000), Delay(13_000_000));
    }
}

#[test]
fn where_no_trial_is_left_bursts_in_the_check_are_a_caution() {
    for seed in 0..20 {
        let session = altered_session(&plan(), &mut line(40e6, 100e6, Kind::Cake, seed), burst_in_check);
        assert_eq!(session.result.outcome, Outcome::Recommended, "{seed}: {}", story(&session.trials));
        let caution = Caution::NearLimit { direction: Direction::Down, percentile: 95, delay: Delay(12_000_000) };
        assert!(session.result.cautions.contains(&caution), "{seed}: {:?}", session.result.cautions);
        // A queue that stays is none.
        let session = altered_session(&plan(), &mut line(40e6, 100e6, Kind::Cake, seed), |trial| {
            burst_in_check(trial);
            let delay = trial.directions.down.queueing_delay.filter(|_| trial.step.purpose == StepPurpose::Joint);
            if let Some(delay) = delay {
                trial.directions.down.queueing_delay = Some(TrialDelay { p50: delay.p95, ..delay });
            }
        });
        assert_ne!(session.result.outcome, Outcome::Recommended, "{seed}: {}", story(&session.trials));
    }
}

/// As over a path of 120 ms whose shaper drops early: the seconds between two drops are full, and on average 6 % are missing.
fn slow_down(trial: &mut Trial) {
    let down = &mut trial.directions.down;
    let whole = down.course.len();
    for (second, rate) in down.course.iter_mut().enumerate().filter(|(second, _)| (whole - second) % 4 != 1) {
        *rate = BitRate(rate.0 * if second % 2 == 0 { 90 } else { 94 } / 100);
    }
    down.delivered = down.delivered.map(|rate| BitRate(rate.0 * 94 / 100));
}

#[test]
fn a_load_that_fills_the_shaper_now_and_then_is_not_limited_by_a_host() {
    for seed in 0..20 {
        let session = altered_session(&plan(), &mut line(10e6, 50e6, Kind::Cake, seed), |trial| {
            if trial.step.rates.down.is_some_and(|rate| rate < BitRate(50_000_000)) {
                slow_down(trial);
            }
        });
        let why = shortfall(&session, [10e6, 50e6], 0.06);
        assert_eq!(why, None, "{seed}: {}", story(&session.trials));
    }
}

#[test]
fn what_disturbed_the_idle_line_and_is_gone_under_load_does_not_raise_the_limit() {
    for seed in 0..5 {
        let session = altered_session(&plan(), &mut line(8e6, 20e6, Kind::Cake, seed), |trial| {
            trial.directions.down.idle_p95 = Some(Delay(12_000_000));
        });
        let limit = session.result.directions.down.as_ref().and_then(|down| down.limit);
        assert!(limit.is_some_and(|limit| limit < Delay(15_000_000)), "{limit:?}");
    }
}
