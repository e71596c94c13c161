//! Scores of others: their published vectors, edges and bounds.

use proptest::prelude::*;
use rrul_analysis::scores::aim::{Aim, Experience, Line};
use rrul_analysis::scores::e_model::{Concealment, Impairment, mean_opinion_score};
use rrul_analysis::scores::qoo::{Inputs, PROFILES, Profile, QualityOfOutcome, Requirement};
use rrul_analysis::scores::responsiveness::{Responsiveness, TrimmedMean};
use rrul_analysis::scores::voip_mos::VoipMos;
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;

/// The example of draft-ietf-ippm-qoo.
const EXAMPLE: Profile = Profile {
    name: "example",
    about: "",
    delays: &[(990, Requirement { rop: 200.0, cpup: 500.0 }), (999, Requirement { rop: 300.0, cpup: 600.0 })],
    loss: Requirement { rop: 0.01, cpup: 0.05 },
    rate: 4e6,
};

#[test]
fn the_example_of_the_qoo_draft_gives_fifty() {
    // 98 % arrive; the percentiles of what arrived alone stand at 350 and 375 ms in the draft, so none is counted as lost here.
    let mut delays = vec![100.0; 989];
    delays.extend([350.0; 9]);
    delays.extend([375.0; 2]);
    let of_delays = QualityOfOutcome::score(&EXAMPLE, &Inputs { delays, lost: 0, rate: Some(28e6) });
    assert!((of_delays.delay.unwrap() - 50.0).abs() < 1e-9, "{of_delays:?}");
    let loss = 100.0 * EXAMPLE.loss.met(0.02).unwrap();
    assert!((loss - 75.0).abs() < 1e-9);
    let all = QualityOfOutcome::new("example", of_delays.delay, Some(loss), of_delays.rate);
    assert!((all.score.unwrap() - 50.0).abs() < 1e-9);
}

#[test]
fn a_part_of_qoo_that_lacks_makes_it_unknown_unless_another_is_nothing_already() {
    let score = |delay, loss, rate| QualityOfOutcome::new("x", delay, loss, rate).score;
    assert_eq!(score(Some(100.0), None, Some(100.0)), None);
    assert_eq!(score(None, None, None), None);
    assert_eq!(score(Some(0.0), None, None), Some(0.0));
    assert_eq!(QualityOfOutcome::score(&EXAMPLE, &Inputs::default()).score, None, "nothing measured is not perfect");
    assert_eq!(EXAMPLE.loss.met(f64::NAN), None);
}

#[test]
fn a_percentile_that_falls_on_a_loss_is_of_no_use() {
    let found = QualityOfOutcome::score(&EXAMPLE, &Inputs { delays: vec![10.0; 98], lost: 2, rate: Some(1e9) });
    assert_eq!((found.delay, found.score), (Some(0.0), Some(0.0)));
}

#[test]
fn the_profiles_are_in_order() {
    for profile in PROFILES {
        for requirement in profile.delays.iter().map(|(_, requirement)| requirement).chain([&profile.loss]) {
            assert!(requirement.rop < requirement.cpup, "{}", profile.name);
        }
        assert!(profile.delays.is_sorted_by_key(|(per_mille, requirement)| (*per_mille, requirement.rop as i64)));
    }
}

#[test]
fn aim_is_past_a_step_at_its_edge() {
    let great = Line {
        latency_ms: Some(5.0),
        rise_ms: Some(5.0),
        variation_ms: Some(5.0),
        loss: Some(0.0),
        download_bps: Some(2e8),
    };
    // 20 + 10 + 30 + 20; 20 + 10 + 20; 20 + 10 + 10 + 20.
    let of = |line: Line| {
        let found = Aim::new(&line);
        [found.streaming, found.gaming, found.rtc].map(|use_| use_.map(|Experience { points, word }| (points, word)))
    };
    assert_eq!(of(great), [Some((80, "great")), Some((50, "great")), Some((60, "great"))]);
    let edges: [Edge; 5] = [
        (|value| Line { latency_ms: Some(value), ..GREAT }, 10.0, [70, 40, 50]),
        (|value| Line { rise_ms: Some(value), ..GREAT }, 500.0, [40, 10, 20]),
        (|value| Line { loss: Some(value), ..GREAT }, 0.01, [75, 45, 55]),
        (|value| Line { variation_ms: Some(value), ..GREAT }, 20.0, [80, 50, 50]),
        (|value| Line { download_bps: Some(value), ..GREAT }, 1e6, [55, 50, 60]),
    ];
    for (line, edge, points) in edges {
        assert_eq!(of(line(edge)).map(|use_| use_.unwrap().0), points, "at {edge}");
        let before = of(line(edge * (1.0 - 1e-9))).map(|use_| use_.unwrap().0);
        assert_ne!(before, points, "just below {edge}");
    }
    // Where classes begin: gaming is good at 25 and average at 20.
    assert_eq!(of(Line { rise_ms: Some(60.0), latency_ms: Some(30.0), ..GREAT })[1], Some((15, "average")));
    assert_eq!(of(Line { rise_ms: Some(20.0), latency_ms: Some(10.0), ..GREAT })[1], Some((25, "good")));
    assert_eq!(of(Line { rise_ms: Some(900.0), latency_ms: Some(900.0), ..GREAT })[1], Some((0, "bad")));
}

/// A line with one value that is free, where a step of that value lies, and the points of the three uses there.
type Edge = (fn(f64) -> Line, f64, [i32; 3]);

const GREAT: Line = Line {
    latency_ms: Some(5.0),
    rise_ms: Some(5.0),
    variation_ms: Some(5.0),
    loss: Some(0.0),
    download_bps: Some(2e8),
};

#[test]
fn aim_without_a_value_has_no_use_and_without_loss_no_points_for_it() {
    let found = Aim::new(&Line { variation_ms: None, download_bps: Some(f64::NAN), loss: None, ..GREAT });
    assert_eq!((found.streaming, found.rtc), (None, None));
    assert_eq!(found.gaming.map(|gaming| gaming.points), Some(40));
    assert_eq!(Aim::new(&Line::default()), Aim { streaming: None, gaming: None, rtc: None });
}

#[test]
fn responsiveness_worked_by_hand() {
    // 20 samples, of which the highest one is left out.
    let with_outlier = |usual: f64| [vec![usual; 19], vec![9999.0]].concat();
    let (tcp, tls, http, loaded) = (with_outlier(20.0), with_outlier(30.0), with_outlier(40.0), with_outlier(200.0));
    let found = Responsiveness::new(&tcp, &tls, &http, &loaded).unwrap();
    // 60000 / 30 = 2000, 60000 / 200 = 300.
    assert!((found.foreign_rpm - 2000.0).abs() < 1e-9 && (found.loaded_rpm - 300.0).abs() < 1e-9);
    assert!((found.rpm - 1150.0).abs() < 1e-9 && found.with_tls);
    // Without TLS it is the mean of two, and not of three with a zero.
    let plain = Responsiveness::new(&tcp, &[], &http, &loaded).unwrap();
    assert!((plain.foreign_rpm - 2000.0).abs() < 1e-9 && !plain.with_tls);
    assert_eq!(TrimmedMean::from_samples(&[1.0, 3.0]).unwrap().trimmed_mean_ms, 2.0, "a twentieth of two is none");
}

#[test]
fn responsiveness_lacks_where_one_of_its_times_does() {
    let some = [10.0; 5];
    for lacking in 0..3 {
        let sample = |at: usize| if at == lacking { &[][..] } else { &some[..] };
        assert_eq!(Responsiveness::new(sample(0), &some, sample(1), sample(2)), None);
    }
    assert_eq!(Responsiveness::new(&[f64::NAN], &[], &some, &some), None);
    assert_eq!(Responsiveness::new(&[0.0], &[], &some, &some), None, "nothing takes no time");
}

#[test]
fn the_table_of_the_e_model() {
    let score = |milliseconds: i64, percent: f64, concealment| {
        let mouth_to_ear = Delay(milliseconds * 1_000_000);
        mean_opinion_score(Impairment { mouth_to_ear, loss: percent / 100.0, burst_ratio: 1.0 }.rating(concealment))
    };
    for (milliseconds, expected) in [(150, 4.41), (200, 4.34), (300, 3.96), (400, 3.56), (1000, 2.54)] {
        assert!((score(milliseconds, 0.0, Concealment::Plc) - expected).abs() < 0.01, "{milliseconds} ms");
    }
    for (percent, expected) in [(1.0, 3.83), (5.0, 2.17)] {
        assert!((score(0, percent, Concealment::None) - expected).abs() < 0.01, "{percent} %");
    }
}

#[test]
fn calls_are_reported_by_class_and_direction_and_background_is_not_the_worst() {
    let streams = [
        (ServiceClass::EF, Direction::Up, 4.0),
        (ServiceClass::EF, Direction::Up, 3.0),
        (ServiceClass::EF, Direction::Down, 4.4),
        (ServiceClass::BK, Direction::Up, 1.2),
    ];
    let found = VoipMos::new(&streams).unwrap();
    assert_eq!(found.worst, Some(3.0));
    let classes: Vec<_> = found.classes.iter().map(|entry| (entry.worst, entry.mean, entry.streams)).collect();
    assert_eq!(classes, [(3.0, 3.5, 2), (4.4, 4.4, 1), (1.2, 1.2, 1)]);
    assert_eq!(VoipMos::new(&[]), None);
    assert_eq!(VoipMos::new(&streams[3..]).unwrap().worst, None);
}

proptest! {
    #[test]
    fn qoo_lies_within_its_bounds_and_never_rises_with_delay_or_loss(
        mut delays in prop::collection::vec(0.0..2000.0_f64, 1..100), lost in 0_u64..20, by in 0.0..500.0_f64, more in 0_u64..20
    ) {
        delays.sort_unstable_by(f64::total_cmp);
        let later: Vec<f64> = delays.iter().map(|delay| delay + by).collect();
        for profile in &PROFILES {
            let of = |delays: &[f64], lost| {
                QualityOfOutcome::score(profile, &Inputs { delays: delays.to_vec(), lost, rate: Some(1e9) }).score.unwrap()
            };
            let before = of(&delays, lost);
            prop_assert!((0.0..=100.0).contains(&before));
            prop_assert!(of(&later, lost) <= before && of(&delays, lost + more) <= before);
        }
    }

    #[test]
    fn aim_never_rises_as_anything_gets_worse(
        latency in 0.0..700.0_f64, rise in 0.0..700.0_f64, variation in 0.0..700.0_f64, loss in 0.0..1.0_f64, more in 0.0..300.0_f64
    ) {
        let line = Line {
            latency_ms: Some(latency), rise_ms: Some(rise), variation_ms: Some(variation), loss: Some(loss), download_bps: Some(2e7),
        };
        let points = |line: Line| { let aim = Aim::new(&line); [aim.streaming, aim.gaming, aim.rtc].map(|use_| use_.unwrap().points) };
        let before = points(line);
        for worse in [
            Line { latency_ms: Some(latency + more), ..line },
            Line { rise_ms: Some(rise + more), ..line },
            Line { variation_ms: Some(variation + more), ..line },
            Line { loss: Some(loss + more / 1000.0), ..line },
            Line { download_bps: Some(2e7 / (1.0 + more)), ..line },
        ] {
            prop_assert!(points(worse).iter().zip(before).all(|(worse, before)| *worse <= before));
        }
    }

    #[test]
    fn slower_round_trips_are_fewer_a_minute(
        times in prop::collection::vec(1.0..1000.0_f64, 1..60), slower in 1.0..10.0_f64
    ) {
        let slow: Vec<f64> = times.iter().map(|time| time * slower).collect();
        let before = Responsiveness::new(&times, &times, &times, &times).unwrap();
        let after = Responsiveness::new(&slow, &slow, &slow, &slow).unwrap();
        prop_assert!((before.rpm / slower - after.rpm).abs() < 1e-6 * before.rpm);
    }
}
