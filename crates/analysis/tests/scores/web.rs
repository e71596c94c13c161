//! The web score and the letter.

use proptest::prelude::*;
use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::metrics::web::page_load::LoadOutcome;
use rrul_analysis::metrics::web::page_load_statistics::counted;
use rrul_analysis::scores::bufferbloat::{Added, Bufferbloat, Letter};
use rrul_analysis::scores::web::{relative_speed, score};
use rrul_model::units::Delay;

#[test]
fn the_example_of_the_specification() {
    assert_eq!(score(relative_speed(20.0, 139.0).unwrap()), 14);
}

#[test]
fn what_is_no_time_is_no_score() {
    for (unloaded, loaded) in
        [(f64::NAN, 1.0), (1.0, f64::NAN), (0.0, 1.0), (-1.0, 1.0), (1.0, 0.0), (f64::INFINITY, 1.0)]
    {
        assert_eq!(relative_speed(unloaded, loaded), None, "{unloaded} {loaded}");
    }
    assert_eq!(score(relative_speed(1.0, f64::INFINITY).unwrap()), 0, "pages that never load");
}

#[test]
fn letters_begin_where_dslreports_has_them() {
    let cuts = [
        (-3.0, "A+"),
        (4.999, "A+"),
        (5.0, "A"),
        (29.999, "A"),
        (30.0, "B"),
        (59.999, "B"),
        (60.0, "C"),
        (199.999, "C"),
        (200.0, "D"),
        (399.999, "D"),
        (400.0, "F"),
        (f64::INFINITY, "F"),
    ];
    for (added, letter) in cuts {
        assert_eq!(Letter::from_added_ms(added).unwrap().name(), letter, "{added} ms");
    }
    assert_eq!(Letter::from_added_ms(f64::NAN), None);
}

#[test]
fn the_headline_is_of_the_worse_direction_and_the_compatible_letter_of_both() {
    let added = |ms| Added { mean: ms, median: ms, p95: 2.0 * ms };
    let found = Bufferbloat::by_direction(ByDirection { up: added(300.0), down: added(2.0) }).unwrap();
    assert_eq!((found.letter, found.letter_median, found.letter_p95), (Letter::D, Letter::D, Letter::F));
    assert_eq!(found.dslreports_compatible, Some(Letter::C), "151 ms");
    assert_eq!((found.up.unwrap().letter, found.down.unwrap().letter), (Letter::D, Letter::APlus));
    let found = Bufferbloat::of_round_trips(added(302.0)).unwrap();
    assert_eq!((found.letter, found.dslreports_compatible, found.of_round_trips), (Letter::D, Some(Letter::C), true));
}

#[test]
fn losses_do_not_make_a_letter_better() {
    let idle = vec![Some(10.0); 100];
    let load = |lost: usize| -> Vec<Option<f64>> { (0..100).map(|n| (n >= lost).then_some(15.0)).collect() };
    let found = |lost| Added::between(&idle, &load(lost)).unwrap();
    assert_eq!((found(0).mean, found(0).median, found(0).p95), (5.0, 5.0, 5.0));
    assert_eq!((found(10).median, found(10).p95), (5.0, f64::INFINITY));
    assert_eq!((found(60).median, found(100).mean), (f64::INFINITY, f64::INFINITY));
    assert_eq!(Added::between(&[None; 5], &load(0)), None, "no baseline");
    assert_eq!(Added::between(&idle, &[]), None, "nothing under load");
}

proptest! {
    #[test]
    fn it_lies_within_its_bounds_and_a_slower_page_never_scores_higher(
        unloaded in 1e-3..1e2_f64, loaded in 1e-3..1e3_f64, slower in 1.0..10.0_f64
    ) {
        let (before, after) = (relative_speed(unloaded, loaded).unwrap(), relative_speed(unloaded, loaded * slower).unwrap());
        prop_assert!((0.0..=1.0).contains(&before) && after <= before);
        prop_assert!(score(after) <= score(before) && score(before) <= 100);
    }

    #[test]
    fn as_fast_as_ever_or_faster_is_a_hundred(unloaded in 1e-3..1e2_f64, faster in 0.01..=1.0_f64) {
        prop_assert_eq!(score(relative_speed(unloaded, unloaded * faster).unwrap()), 100);
    }

    #[test]
    fn the_unit_does_not_matter(unloaded in 1e-3..1e2_f64, loaded in 1e-3..1e3_f64) {
        let (seconds, milliseconds) = (relative_speed(unloaded, loaded).unwrap(), relative_speed(1e3 * unloaded, 1e3 * loaded).unwrap());
        prop_assert!((seconds - milliseconds).abs() < 1e-12);
    }

    #[test]
    fn swapping_the_directions_changes_no_headline(
        up in prop::array::uniform3(-5.0..600.0_f64), down in prop::array::uniform3(-5.0..600.0_f64)
    ) {
        let added = |[mean, median, p95]: [f64; 3]| Added { mean, median, p95 };
        let one = Bufferbloat::by_direction(ByDirection { up: added(up), down: added(down) }).unwrap();
        let other = Bufferbloat::by_direction(ByDirection { up: added(down), down: added(up) }).unwrap();
        prop_assert_eq!((one.letter, one.letter_median, one.letter_p95), (other.letter, other.letter_median, other.letter_p95));
        prop_assert_eq!((one.dslreports_compatible, one.up, one.down), (other.dslreports_compatible, other.down, other.up));
        prop_assert!(one.dslreports_compatible.unwrap() <= one.letter, "the worse direction is never better than the mean of both");
    }

    #[test]
    fn a_longer_load_never_lowers_the_mean(took in prop::collection::vec(1_i64..29_000, 1..8), more in 0_i64..1000, which in 0_usize..8) {
        let loads = |took: &[i64]| -> Vec<(LoadOutcome, Delay, Delay)> {
            took.iter().map(|ms| (LoadOutcome::Complete, Delay(ms * 1_000_000), Delay(30_000_000_000))).collect()
        };
        let mean = |took: &[i64]| { let times = counted(&loads(took)); times.iter().sum::<f64>() / times.len() as f64 };
        let mut longer = took.clone();
        let which = which % took.len();
        longer[which] += more;
        prop_assert!(mean(&longer) >= mean(&took) - 1e-12);
        // A failure is never better than any load that came to its end.
        let mut failed = loads(&took);
        failed[which].0 = LoadOutcome::Failed;
        let times = counted(&failed);
        prop_assert!(times.iter().sum::<f64>() / times.len() as f64 >= mean(&took) - 1e-12);
    }
}
