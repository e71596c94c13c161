//! Tuning sessions in virtual time over modeled lines: what is searched, found and refused.

mod chance;
mod line;
mod rates;
mod refusals;
mod sessions;
mod unsteady;

use rrul_analysis::tuning::result::{Discarded, TuningResult};
use rrul_analysis::tuning::search::{Action, next_action};
use rrul_analysis::tuning::trial::Trial;
use rrul_model::flow::Direction;
use rrul_model::shaping::{ShaperDescription, TuningPlan};
use rrul_model::units::{BitRate, ByteCount, Delay};

use line::Line;

/// A session that has ended.
struct Session {
    trials: Vec<Trial>,
    result: TuningResult,
}

/// Takes every step that the search asks for.
fn session(plan: &TuningPlan, line: &mut Line) -> Session {
    altered_session(plan, line, |_| ())
}

/// The same with another outcome of each trial.
fn altered_session(plan: &TuningPlan, line: &mut Line, alter: impl Fn(&mut Trial)) -> Session {
    let mut trials = Vec::new();
    while let Action::Step(next) = next_action(plan, &trials) {
        let mut trial = line.trial(&next, trials.len() as u32);
        alter(&mut trial);
        trials.push(trial);
        // Of each direction four that a hypervisor spoiled may be repeated.
        assert!(trials.len() <= 14 + 8, "{}", story(&trials));
    }
    let result = TuningResult::new(plan, &trials, octets(&trials));
    let spoiled = result.trials.iter().filter(|trial| trial.discarded == Some(Discarded::Stolen)).count();
    assert!(trials.len() <= 14 + spoiled, "{}", story(&trials));
    Session { trials, result }
}

/// Bytes that arrived in these trials.
fn octets(trials: &[Trial]) -> ByteCount {
    let octets = |trial: &Trial| {
        let rates = Direction::ALL.into_iter().filter_map(|direction| trial.directions.get(direction).delivered);
        let length = trial.step.ended_at.since(trial.step.set_at).0 as f64 / 1e9;
        (rates.map(|rate| rate.0).sum::<u64>() as f64 * length / 8.0) as u64
    };
    ByteCount(trials.iter().map(octets).sum())
}

fn tune(line: &mut Line) -> Session {
    session(&plan(), line)
}

fn plan() -> TuningPlan {
    TuningPlan::new(ShaperDescription::default())
}

/// The trials in a few words, for messages.
fn story(trials: &[Trial]) -> String {
    trials.iter().map(line_of).collect()
}

fn line_of(trial: &Trial) -> String {
    let rate = |rate: Option<BitRate>| rate.map_or(0.0, BitRate::megabits);
    let side = |direction| {
        let figures = trial.directions.get(direction);
        let delay = figures.queueing_delay.map_or([0.0; 2], |delay| [delay.p50, delay.p95].map(Delay::milliseconds));
        format!(
            "{direction} set {:.3} got {:.3} p50 {:.1} p95 {:.1} ms loss {:.4} foreign {:.2}",
            rate(trial.step.rates.direction(direction)),
            rate(figures.delivered),
            delay[0],
            delay[1],
            figures.probe_loss.unwrap_or(0.0),
            figures.foreign.unwrap_or(0.0),
        )
    };
    let step = &trial.step;
    let (up, down) = (side(Direction::Up), side(Direction::Down));
    format!("\n  {:?} {:?} at {:.0} s: {up} | {down}", step.purpose, step.direction, step.ended_at.seconds())
}
