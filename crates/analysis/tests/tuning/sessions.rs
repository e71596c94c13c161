//! Sessions of given rates, and why a search ended before it had found any.

use std::time::Duration;

use rrul_analysis::tuning::result::{Caution, Outcome, TuningResult, Unfinished};
use rrul_analysis::tuning::search::{Action, next_action};
use rrul_analysis::tuning::trial::HostLimit;
use rrul_model::observation::ObservationPoint;
use rrul_model::shaping::{ShaperRates, StepPurpose, TuningPlan};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::line::{Excess, Line, Side};
use crate::{altered_session, plan, session, story};

#[test]
fn a_lower_rate_is_measured_once_the_queue_of_a_higher_one_has_drained() {
    let up = |rate| ShaperRates { down: None, up: Some(BitRate(rate)) };
    let plan = TuningPlan { fixed: vec![up(6_000_000), up(9_000_000), up(7_000_000)], ..plan() };
    let mut line = Line::new(Side { excess: Excess::Fifo(1.0), ..Side::plain(8e6) }, Side::plain(20e6), 1);
    let ended = session(&plan, &mut line);
    let waits: Vec<f64> =
        ended.trials.iter().map(|trial| trial.directions.up.queueing_delay.unwrap().p95.milliseconds()).collect();
    // Above the line's rate it queues; below it does not, although a second of queue came before.
    assert!(waits[1] > 500.0 && waits[0] < 20.0 && waits[2] < 20.0, "{waits:?}");
}

#[test]
fn the_reason_why_a_search_ended_early_is_reported() {
    let mut line = Line::new(Side::plain(8e6), Side::plain(20e6), 1);
    let Action::Step(next) = next_action(&plan(), &[]) else { panic!("the first step") };
    let trials = [line.trial(&next, 0)];
    let most = ByteCount(70_000_000);
    let limited = TuningPlan { most_data: Some(most), ..plan() };
    for (plan, data, reason) in [
        (&limited, ByteCount(65_000_000), Unfinished::Data),
        (&limited, ByteCount(5_000_000), Unfinished::Interrupted),
        (&plan(), ByteCount(65_000_000), Unfinished::Interrupted),
    ] {
        let result = TuningResult::new(plan, &trials, data);
        assert_eq!((result.outcome, result.data), (Outcome::Unfinished { reason }, data));
    }
    // Two trials beyond the limit, and no time for a third, do not show that no rate passes.
    let short = TuningPlan { longest: Duration::from_secs(100), ..plan() };
    let ended = altered_session(&short, &mut line, |trial| {
        let delay = trial.directions.up.queueing_delay.as_mut();
        if let Some(delay) = delay.filter(|_| trial.step.purpose == StepPurpose::Search) {
            (delay.p95, delay.p95_low, delay.p95_high) = (Delay(60_000_000), Delay(50_000_000), Delay(70_000_000));
        }
    });
    let searched = ended.trials.iter().filter(|trial| trial.step.purpose == StepPurpose::Search).count();
    let reason = Unfinished::Time;
    assert_eq!(ended.result.outcome, Outcome::Unfinished { reason }, "{}", story(&ended.trials));
    assert_eq!(searched, 2, "{}", story(&ended.trials));
    // Before anything was measured as well.
    let result = TuningResult::new(&limited, &[], most);
    assert_eq!(result.outcome, Outcome::Unfinished { reason: Unfinished::Data });
}

#[test]
fn busy_processors_are_named_where_rates_were_found_in_spite_of_them() {
    let busy = |host| Some(Caution::BusyProcessors { host, trials: 1 });
    for (limit, expected) in [
        (HostLimit::ServerProcessor, busy(ObservationPoint::Server)),
        (HostLimit::ClientProcessor, busy(ObservationPoint::Client)),
        (HostLimit::SendBuffer, None),
    ] {
        let ended = altered_session(&plan(), &mut Line::new(Side::plain(8e6), Side::plain(20e6), 1), |trial| {
            trial.host_limit = (trial.step.purpose == StepPurpose::Joint).then_some(limit);
        });
        assert_eq!(ended.result.outcome, Outcome::Recommended, "{}", story(&ended.trials));
        let found = ended.result.cautions.iter().find(|caution| matches!(caution, Caution::BusyProcessors { .. }));
        assert_eq!(found, expected.as_ref(), "{limit:?}");
    }
}
