//! The composite.

use proptest::prelude::*;
use rrul_analysis::scores::composite::{CompositeParts, Ratios, loss_ratio, ratio};
use rrul_analysis::scores::score_cell::{Conditions, Losses};
use rrul_analysis::scores::web::relative_speed;

/// What one cell met: delay, delay variation and connect time in milliseconds, packets lost in a million.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Met([f64; 3], u64);

impl Met {
    fn conditions(self) -> Conditions {
        let Self([delay, variation, connect], gone) = self;
        let losses = Losses { sent: 1_000_000, gone };
        Conditions {
            delay_ms: Some(delay),
            delay_variation_ms: Some(variation),
            connect_ms: Some(connect),
            losses,
            heard: true,
        }
    }
}

fn ratios(idle: Met, load: Met) -> Ratios {
    Ratios::new(&idle.conditions(), &load.conditions())
}

fn total(web: (f64, f64), cells: &[(Met, Met)]) -> f64 {
    let cells: Vec<Ratios> = cells.iter().map(|(idle, load)| ratios(*idle, *load)).collect();
    CompositeParts::new(relative_speed(web.0, web.1), &cells).total()
}

fn met() -> impl Strategy<Value = Met> {
    (prop::array::uniform3(0.0..2000.0_f64), 0_u64..1_000_000).prop_map(|(times, gone)| Met(times, gone))
}

fn pairs() -> impl Strategy<Value = Vec<(Met, Met)>> {
    prop::collection::vec((met(), met()), 1..9)
}

#[test]
fn the_two_examples_of_the_definition() {
    // Parts by hand: 6.667 + 3.333 + 4.4 + 3.333 + 7.071, and 17.391 + 16.818 + 15.714 + 17.391 + 20.
    let bloated = [(Met([20.0, 1.0, 20.0], 0), Met([220.0, 40.0, 220.0], 30_000))];
    assert!((total((1.0, 3.0), &bloated) - 24.804).abs() < 1e-3, "{}", total((1.0, 3.0), &bloated));
    let shaped = [(Met([17.0, 1.0, 20.0], 0), Met([24.0, 4.0, 26.0], 0))];
    assert!((total((1.0, 1.15), &shaped) - 87.315).abs() < 1e-3, "{}", total((1.0, 1.15), &shaped));
}

#[test]
fn what_lacks_is_neither_good_nor_stretched() {
    let idle = Met([20.0, 1.0, 20.0], 0);
    let mut some = ratios(idle, idle);
    some.slew = None;
    let parts = CompositeParts::new(None, &[some]);
    assert_eq!((parts.web, parts.slew), (None, None));
    assert!((parts.total() - 60.0).abs() < 1e-9 && (parts.maximum_available() - 60.0).abs() < 1e-9);
    let nothing = CompositeParts::new(None, &[]);
    assert_eq!((nothing.total(), nothing.maximum_available()), (0.0, 0.0));
    // Nothing sent, nothing lost: that is no perfect part.
    assert_eq!(Ratios::new(&Conditions::default(), &Conditions::default()), Ratios::default());
}

#[test]
fn what_is_no_number_is_not_measured_and_what_never_arrives_leaves_nothing() {
    assert_eq!((ratio(f64::NAN, 1.0, 20.0), ratio(1.0, f64::NAN, 20.0)), (None, None));
    assert_eq!(
        ratio(f64::INFINITY, f64::INFINITY, 20.0),
        None,
        "an idle line that loses every twentieth is no baseline"
    );
    assert_eq!(ratio(1.0, f64::INFINITY, 20.0), Some(0.0));
    for (idle, load) in [(f64::NAN, 0.0), (0.0, f64::NAN), (-0.1, 0.0), (0.0, 1.1)] {
        assert_eq!(loss_ratio(idle, load), None);
    }
    assert_eq!(relative_speed(f64::NAN, f64::NAN), None);
}

#[test]
fn a_line_of_a_millisecond_may_have_five_more() {
    assert!(ratio(1.0, 6.0, 20.0).unwrap() > 0.8);
    // Two hundredths of loss halve their part.
    assert!((loss_ratio(0.01, 0.03).unwrap() - 0.5).abs() < 1e-12);
}

proptest! {
    #[test]
    fn it_lies_between_nothing_and_a_hundred(web in (1e-3..60.0_f64, 1e-3..60.0_f64), cells in pairs()) {
        let total = total(web, &cells);
        prop_assert!((0.0..=100.0).contains(&total), "{}", total);
    }

    #[test]
    fn a_line_that_the_load_does_not_change_has_a_hundred(web in 1e-3..60.0_f64, cells in prop::collection::vec(met(), 1..9)) {
        let same: Vec<(Met, Met)> = cells.into_iter().map(|cell| (cell, cell)).collect();
        prop_assert!((total((web, web), &same) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn better_under_load_than_idle_is_no_more_than_a_hundred(web in 1e-3..60.0_f64, cells in pairs()) {
        let better: Vec<(Met, Met)> = cells
            .into_iter()
            .map(|(idle, load)| {
                let least = |at: usize| idle.0[at].min(load.0[at]);
                (idle, Met([least(0), least(1), least(2)], idle.1.min(load.1)))
            })
            .collect();
        prop_assert!((total((web, web / 2.0), &better) - 100.0).abs() < 1e-9);
    }

    #[test]
    fn nothing_that_gets_worse_under_load_raises_it(
        web in (1e-3..60.0_f64, 1e-3..60.0_f64), cells in pairs(), more in prop::array::uniform3(0.0..500.0_f64),
        gone in 0_u64..100_000, slower in 1.0..5.0_f64, which in 0_usize..9
    ) {
        let before = total(web, &cells);
        prop_assert!(total((web.0, web.1 * slower), &cells) <= before + 1e-9);
        let which = which % cells.len();
        for part in 0..4 {
            let mut worse = cells.clone();
            match part {
                3 => worse[which].1.1 = (worse[which].1.1 + gone).min(1_000_000),
                _ => worse[which].1.0[part] += more.get(part).copied().unwrap_or_default(),
            }
            prop_assert!(total(web, &worse) <= before + 1e-9, "part {} of {:?}", part, worse);
        }
    }

    #[test]
    fn a_little_more_of_anything_moves_it_a_little(cells in pairs(), by in 0.0..1.0_f64, which in 0_usize..9) {
        // The steepest: 20 points over a floor of 10 ms for variation; ln 2 / 0.02 of 20 points for loss.
        let before = total((1.0, 2.0), &cells);
        let which = which % cells.len();
        for part in 0..3 {
            let mut moved = cells.clone();
            moved[which].1.0[part] += by;
            prop_assert!((total((1.0, 2.0), &moved) - before).abs() <= 2.0 * by + 1e-9);
        }
        let mut moved = cells.clone();
        moved[which].1.1 = (moved[which].1.1 + (1000.0 * by) as u64).min(1_000_000);
        prop_assert!((total((1.0, 2.0), &moved) - before).abs() <= 20.0 * 0.001 * by * 34.7 + 1e-9);
    }

    #[test]
    fn order_and_names_of_cells_do_not_matter(cells in pairs(), turn in 0_usize..9) {
        // So neither renaming streams of one class nor swapping up and down can.
        let mut other = cells.clone();
        let turn = turn % cells.len();
        other.rotate_left(turn);
        prop_assert!((total((1.0, 2.0), &cells) - total((1.0, 2.0), &other)).abs() < 1e-9);
        other.reverse();
        prop_assert!((total((1.0, 2.0), &cells) - total((1.0, 2.0), &other)).abs() < 1e-9);
    }

    #[test]
    fn twice_as_many_packets_with_twice_the_losses_are_the_same(idle in 0_u64..1000, load in 0_u64..1000) {
        let losses = |gone, times| Conditions { losses: Losses { sent: 1000 * times, gone: gone * times }, heard: true, ..Conditions::default() };
        let once = Ratios::new(&losses(idle, 1), &losses(load, 1)).loss.unwrap();
        prop_assert!((once - Ratios::new(&losses(idle, 2), &losses(load, 2)).loss.unwrap()).abs() < 1e-12);
    }

    #[test]
    fn losses_of_two_stretches_merge_by_adding(a in (1_u64..1000, 0_u64..1000), b in (1_u64..1000, 0_u64..1000)) {
        let losses = |(sent, gone): (u64, u64)| Losses { sent: sent + gone, gone };
        let both = losses(a).and(losses(b));
        let share = (a.1 + b.1) as f64 / (a.0 + a.1 + b.0 + b.1) as f64;
        prop_assert!((both.share().unwrap() - share).abs() < 1e-12);
        prop_assert_eq!(both, losses(b).and(losses(a)));
    }
}
