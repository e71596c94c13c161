//! The penalty and the optimum.

use proptest::prelude::*;
use rrul_analysis::scores::optimum::{Goal, Optimum, OptimumItem, State, family_factor};
use rrul_analysis::scores::penalty::{Misbehaviour, Penalty, PenaltyItem, unevenness};
use rrul_analysis::statistics::jain_index::jain_index;
use rrul_model::flow::Direction;

const ALL: [Misbehaviour; 9] = [
    Misbehaviour::Expedited,
    Misbehaviour::Background,
    Misbehaviour::BackgroundStarved,
    Misbehaviour::UnequalStreams,
    Misbehaviour::SlowConnects,
    Misbehaviour::Queue,
    Misbehaviour::Ipv6Absent,
    Misbehaviour::CodePointsAltered,
    Misbehaviour::EcnAltered,
];

#[test]
fn the_points_of_the_definition() {
    let points = [
        (Misbehaviour::Expedited, 0.30, 0.0),
        (Misbehaviour::Expedited, 0.625, 10.0),
        (Misbehaviour::Expedited, 0.95, 20.0),
        (Misbehaviour::Expedited, 1.0, 20.0),
        // Four equal streams of four classes: the path does not distinguish background.
        (Misbehaviour::Background, 0.25, 10.0),
        (Misbehaviour::Background, 0.05, 0.0),
        (Misbehaviour::BackgroundStarved, 0.25, 5.0),
        (Misbehaviour::SlowConnects, 0.025, 5.0),
        (Misbehaviour::Queue, 200.0, 0.0),
        (Misbehaviour::Queue, 600.0, 5.0),
        (Misbehaviour::Queue, f64::INFINITY, 10.0),
        (Misbehaviour::Ipv6Absent, 1.0, 5.0),
        (Misbehaviour::CodePointsAltered, 1.0, 5.0),
        (Misbehaviour::EcnAltered, 1.0, 5.0),
    ];
    for (what, value, expected) in points {
        let found = what.points(value).unwrap();
        assert!((found - expected).abs() < 1e-9, "{what:?} {value}: {found}");
    }
}

#[test]
fn unevenness_is_nothing_of_equals_and_one_when_one_has_everything() {
    assert_eq!(unevenness(1.0, 4), Some(0.0));
    assert_eq!(unevenness(0.25, 4), Some(1.0));
    assert_eq!(unevenness(1.0, 1), None, "no one to share with");
    // IPv6 with half of what IPv4 has: J = 0.9, a fifth of the way.
    assert!((unevenness(0.9, 2).unwrap() - 0.2).abs() < 1e-12);
}

#[test]
fn the_optimum_of_the_specification_has_no_penalty_and_every_item_met() {
    let values = [
        (Misbehaviour::Expedited, 0.30),
        (Misbehaviour::Background, 0.05),
        (Misbehaviour::BackgroundStarved, 0.0),
        (Misbehaviour::UnequalStreams, 0.0),
        (Misbehaviour::SlowConnects, 0.0),
        (Misbehaviour::Queue, 25.0),
        (Misbehaviour::Ipv6Absent, 0.0),
        (Misbehaviour::CodePointsAltered, 0.0),
        (Misbehaviour::EcnAltered, 0.0),
    ];
    let items = values.iter().map(|(what, value)| PenaltyItem::new(*what, None, Some(*value))).collect();
    assert_eq!(Penalty::new(items).total, 0.0);
    let goals = [
        (Goal::RealtimeLoss, 0.0),
        (Goal::VoipLoss, 0.0),
        (Goal::RealtimeVariation, 29.9),
        (Goal::VoipVariation, 29.9),
        (Goal::BackgroundShare, 0.05),
        (Goal::BackgroundStarved, 0.0),
        (Goal::ExpeditedShare, 0.30),
        (Goal::FamiliesRate, 1.0),
        (Goal::FamiliesDelay, 1.0),
        (Goal::FamiliesVariation, 1.0),
    ];
    let found = Optimum::new(goals.iter().map(|(goal, value)| OptimumItem::new(*goal, None, Some(*value))).collect());
    assert_eq!((found.met, found.not_met, found.not_measured), (10, 0, 0));
    let worse = goals.map(|(goal, value)| OptimumItem::new(goal, None, Some(value + 0.3)).state);
    assert_eq!(worse, [State::NotMet; 10]);
    let unknown = goals.map(|(goal, _)| [None, Some(f64::NAN)].map(|value| OptimumItem::new(goal, None, value).state));
    assert_eq!(unknown, [[State::NotMeasured; 2]; 10]);
}

#[test]
fn families_are_alike_within_a_factor_or_a_few_milliseconds() {
    assert_eq!(family_factor(1.0, 4.0, 5.0), 1.0);
    assert_eq!(family_factor(20.0, 40.0, 5.0), 2.0);
    assert_eq!((family_factor(0.0, 10.0, 5.0), family_factor(0.0, 0.0, 0.0)), (f64::INFINITY, 1.0));
}

fn items() -> impl Strategy<Value = Vec<PenaltyItem>> {
    let value =
        prop_oneof![Just(None), (0.0..2000.0_f64).prop_map(Some), Just(Some(f64::INFINITY)), Just(Some(f64::NAN))];
    prop::collection::vec((0_usize..9, prop::bool::ANY, value), 0..30).prop_map(|items| {
        let direction = |up| Some(if up { Direction::Up } else { Direction::Down });
        items.into_iter().map(|(what, up, value)| PenaltyItem::new(ALL[what], direction(up), value)).collect()
    })
}

proptest! {
    #[test]
    fn it_is_additive_and_never_negative(one in items(), other in items()) {
        let both = Penalty::new([one.clone(), other.clone()].concat()).total;
        let (one, other) = (Penalty::new(one).total, Penalty::new(other).total);
        prop_assert!(one >= 0.0 && other >= 0.0 && (both - one - other).abs() < 1e-9);
    }

    #[test]
    fn each_item_lies_within_its_maximum_and_never_falls_as_it_gets_worse(what in 0_usize..9, value in 0.0..3000.0_f64, more in 0.0..1000.0_f64) {
        let (before, after) = (ALL[what].points(value).unwrap(), ALL[what].points(value + more).unwrap());
        prop_assert!(0.0 <= before && before <= after && after <= ALL[what].maximum());
    }

    #[test]
    fn what_was_not_measured_has_no_points_and_is_not_taken_for_none(what in 0_usize..9) {
        for value in [None, Some(f64::NAN)] {
            let item = PenaltyItem::new(ALL[what], None, value);
            prop_assert_eq!((item.points, item.value), (None, None));
        }
    }

    #[test]
    fn swapping_the_directions_changes_nothing(items in items()) {
        let swapped = items.iter().map(|item| PenaltyItem { direction: item.direction.map(Direction::opposite), ..*item }).collect();
        prop_assert_eq!(Penalty::new(items).total, Penalty::new(swapped).total);
    }

    #[test]
    fn only_shares_count_and_not_rates(rates in prop::collection::vec(1.0..1e9_f64, 2..8), scale in 1e-3..1e3_f64, turn in 0_usize..8) {
        let streams = rates.len() as u64;
        let mut other: Vec<f64> = rates.iter().map(|rate| rate * scale).collect();
        other.rotate_left(turn % rates.len());
        let uneven = |rates: &[f64]| unevenness(jain_index(rates).unwrap(), streams).unwrap();
        prop_assert!((uneven(&rates) - uneven(&other)).abs() < 1e-9);
    }
}
