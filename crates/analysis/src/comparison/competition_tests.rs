//! Two made runs whose shares are known.

use crate::measured::{Measured, TestDescription};
use rrul_model::phase::PhaseWindow;

use super::*;

fn window(from: i64, to: i64) -> Window {
    Window { from: TestTime(from * BIN), to: TestTime(to * BIN) }
}

/// A run that loads downwards for this long, with this rate in each tenth of a second of its own clock.
fn run(origin: i64, created: &str, load: Window, rate: impl Fn(f64) -> f64) -> Analysis {
    let mut run = Analysis {
        measured: Measured {
            test: TestDescription {
                created: created.to_owned(),
                client_clock: Some(ClientClock { host: "one".to_owned(), origin: origin * BIN }),
                phases: vec![PhaseWindow { phase: Phase::Load, window: load }],
                ..TestDescription::default()
            },
            ..Measured::default()
        },
        ..Analysis::default()
    };
    let (from, to) = (load.from.0 / 100_000_000, load.to.0 / 100_000_000);
    let points = (from..to).map(|tenth| RatePoint {
        at: TestTime(tenth * 100_000_000 + 50_000_000),
        over: Duration::from_millis(100),
        rate: BitRate(rate(tenth as f64 / 10.0 + 0.05) as u64),
    });
    run.goodput.down.sum_series = points.collect();
    run
}

/// The first has 20 Mbit/s alone; the second comes at its second 30, takes all for 10 s, then they share; from second 90 on
/// the first is alone, and takes 4 s to come back.
fn met() -> (Analysis, Analysis) {
    let first = run(100, "2026-03-01T00:00:00Z", window(0, 120), |at| match at {
        at if at < 30.0 => 20e6,
        at if at < 40.0 => 2e6,
        at if at < 94.0 => 10e6,
        _ => 19e6,
    });
    let second = run(130, "2026-03-01T00:00:30Z", window(0, 60), |at| if at < 10.0 { 18e6 } else { 10e6 });
    (first, second)
}

#[test]
fn shares_convergence_and_recovery_are_those_that_were_made() {
    let (first, second) = met();
    for runs in [[&first, &second], [&second, &first]] {
        let (found, [earlier, _]) = Competition::measure(runs).unwrap();
        assert_eq!(earlier.test.phases, first.test.phases, "which began first");
        assert_eq!((found.offset, found.together), (Delay(30 * BIN), window(30, 90)));
        let [down] = found.directions.as_slice() else { panic!("{:?}", found.directions) };
        assert_eq!(down.alone, Some(BitRate(20_000_000)));
        // 10 s of 2 and 18, 50 s of 10 and 10.
        assert_eq!(down.rates, [BitRate(8_666_667), BitRate(11_333_333)]);
        assert_eq!(down.convergence, Some(Delay(10 * BIN)));
        assert_eq!(down.recovery, Some(Delay(4 * BIN)));
        // (20)^2 / (2 * (4 + 324)) = 0.6098 for 10 s, 1 for 50 s.
        assert!((down.jain.mean - (0.609_756 * 10.0 + 50.0) / 60.0).abs() < 1e-5, "{:?}", down.jain);
    }
}

#[test]
fn what_never_shares_never_converges() {
    let (first, _) = met();
    let second = run(130, "2026-03-01T00:00:30Z", window(0, 60), |_| 1e6);
    let down = Competition::measure([&first, &second]).unwrap().0.directions.remove(0);
    assert_eq!(down.convergence, None);
}

#[test]
fn runs_that_did_not_meet_or_whose_clocks_do_not_fit_are_reported() {
    let (first, second) = met();
    let later = run(300, "2026-03-01T00:03:20Z", window(0, 60), |_| 1e7);
    assert_eq!(Competition::measure([&first, &later]).unwrap_err(), NoCompetition::NoOverlap);
    let mut rebooted = second.clone();
    rebooted.test.client_clock.as_mut().unwrap().origin = 5 * BIN;
    assert_eq!(Competition::measure([&first, &rebooted]).unwrap_err(), NoCompetition::Clocks);
    let mut elsewhere = second.clone();
    elsewhere.test.client_clock.as_mut().unwrap().host = "two".to_owned();
    assert_eq!(Competition::measure([&first, &elsewhere]).unwrap_err(), NoCompetition::Clocks);
    let mut idle = second.clone();
    idle.goodput.down.sum_series.clear();
    assert_eq!(Competition::measure([&first, &idle]).unwrap_err(), NoCompetition::NoDirection);
}
