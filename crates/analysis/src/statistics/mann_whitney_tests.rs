//! Ranks against published tables and examples, and against counting by hand.

use proptest::prelude::*;

use super::*;

/// Samples of these sizes without ties whose U is this: the second has its values as low as U allows.
fn with_u(n: usize, m: usize, u: usize) -> (Vec<f64>, Vec<f64>) {
    let (mut left, mut second) = (u, Vec::new());
    for index in (0..m).rev() {
        let over = left.min(n);
        left -= over;
        second.push(over as f64 + index as f64 * 1e-3 - 0.5);
    }
    ((0..n).map(|value| value as f64).collect(), second)
}

#[test]
fn critical_values_are_those_of_the_published_table() {
    // Largest U that is significant at 5 %, two-sided, as in every textbook's table.
    for (n, m, critical) in
        [(4, 4, 0), (3, 5, 0), (5, 5, 2), (6, 6, 5), (7, 7, 8), (8, 8, 13), (10, 10, 23), (5, 10, 8)]
    {
        let p = |u| {
            let (first, second) = with_u(n, m, u);
            let test = mann_whitney(&first, &second).unwrap();
            assert!((test.u - u as f64).abs() < 1e-9, "{n} and {m}: U {} for {u}", test.u);
            test.p
        };
        assert!(p(critical) <= 0.05 && p(critical + 1) > 0.05, "{n} and {m}: {} {}", p(critical), p(critical + 1));
    }
}

#[test]
fn a_published_example_comes_out() {
    // Hollander and Wolfe (1973), p. 69: permeability of membranes, at term and earlier. R: W = 35, p = 0.1272 one-sided.
    let term = [0.80, 0.83, 1.89, 1.04, 1.45, 1.38, 1.91, 1.64, 0.73, 1.46];
    let earlier = [1.15, 0.88, 0.90, 0.74, 1.21];
    let test = mann_whitney(&earlier, &term).unwrap();
    assert!((test.u - 35.0).abs() < 1e-9 && (test.p - 2.0 * 0.1272).abs() < 1e-4, "{test:?}");
    let shift = hodges_lehmann(&earlier, &term).unwrap();
    assert!((shift.estimate - 0.305).abs() < 1e-9, "{shift:?}");
    // U = 8 is significant for 5 and 10, so eight differences are left out below and above: the ninth of fifty.
    let interval = shift.interval.unwrap();
    assert!((interval.low + 0.15).abs() < 1e-9 && (interval.high - 0.76).abs() < 1e-9, "{interval:?}");
}

#[test]
fn too_few_values_have_no_interval() {
    for (n, m, is_enough) in
        [(1, 1, false), (3, 3, false), (4, 4, true), (3, 5, true), (2, 7, false), (2, 8, true), (0, 9, false)]
    {
        assert_eq!(enough(n, m), is_enough, "{n} and {m}");
    }
    let shift = hodges_lehmann(&[1.0, 2.0, 3.0], &[11.0, 12.0, 14.0]).unwrap();
    assert_eq!((shift.interval, shift.range.low, shift.range.high), (None, 8.0, 13.0));
}

#[test]
fn ties_are_counted_as_they_are() {
    // Of six ways to choose two of (1, 1, 1, 2) by place, three have the 2: no less even than this is any.
    let test = mann_whitney(&[1.0, 1.0], &[1.0, 2.0]).unwrap();
    assert!((test.u - 3.0).abs() < 1e-9 && (test.p - 1.0).abs() < 1e-9, "{test:?}");
    let same = mann_whitney(&[5.0; 4], &[5.0; 4]).unwrap();
    assert!((same.u - 8.0).abs() < 1e-9 && (same.p - 1.0).abs() < 1e-9);
    assert!((mann_whitney(&[5.0; 40], &[5.0; 40]).unwrap().p - 1.0).abs() < 1e-9);
}

#[test]
fn what_is_lost_is_the_highest_rank_and_has_no_difference_from_its_like() {
    let lost = f64::INFINITY;
    let test = mann_whitney(&[1.0, 2.0, 3.0, 4.0], &[lost; 4]).unwrap();
    assert!((test.p - 2.0 / 70.0).abs() < 1e-9, "{test:?}");
    assert_eq!(hodges_lehmann(&[1.0, lost], &[lost]), None);
    assert!(hodges_lehmann(&[1.0, 2.0], &[lost]).unwrap().estimate.is_infinite());
    assert_eq!(mann_whitney(&[f64::NAN], &[1.0]), None);
    assert_eq!(mann_whitney(&[], &[1.0]), None);
}

#[test]
fn the_approximation_goes_on_where_counting_ends() {
    let first: Vec<f64> = (0..30).map(|value| f64::from(value) * 7.3 % 10.0).collect();
    let second: Vec<f64> = (0..30).map(|value| f64::from(value) * 3.1 % 10.0 + 1.0).collect();
    let exact = mann_whitney(&first, &second).unwrap();
    let mut more = second.clone();
    more.push(second[0]);
    let approximate = mann_whitney(&first, &more).unwrap();
    // By hand, without the two ties: (|543 - 450| - 0.5) / sqrt(900 * 61 / 12) and (|546 - 465| - 0.5) / sqrt(930 * 62 / 12).
    assert!((exact.p - 0.1715).abs() < 0.002, "{exact:?}");
    assert!((approximate.p - 0.2455).abs() < 0.000_5, "{approximate:?}");
    let (counted, by_deviate) = (left_out(30, 30).unwrap(), left_out(31, 30).unwrap());
    assert!(counted.abs_diff(by_deviate) < 20, "{counted} {by_deviate}");
}

proptest! {
    #[test]
    fn p_is_the_share_of_ways_that_are_as_uneven(
        values in prop::collection::vec(0_u8..6, 2..9), split in 1_usize..8
    ) {
        let values: Vec<f64> = values.into_iter().map(f64::from).collect();
        let split = split.min(values.len() - 1);
        let u = |chosen: usize| {
            let of = |side| values.iter().enumerate().filter(move |(at, _)| (((chosen >> at) & 1) == 1) == side);
            let pairs = of(true).flat_map(|(_, b)| of(false).map(move |(_, a)| (a, b)));
            pairs.map(|(a, b)| if b > a { 1.0 } else { f64::from(u8::from(b.total_cmp(a).is_eq())) / 2.0 }).sum::<f64>()
        };
        let second = values.len() - split;
        let middle = (split * second) as f64 / 2.0;
        // The first `split` are the first sample.
        let found = u((1 << values.len()) - (1 << split));
        let choices = (0_usize..1 << values.len()).filter(|chosen| chosen.count_ones() as usize == second);
        let ways: Vec<f64> = choices.map(u).collect();
        let extreme = ways.iter().filter(|way| (**way - middle).abs() >= (found - middle).abs() - 1e-9).count();
        let test = mann_whitney(&values[..split], &values[split..]).unwrap();
        prop_assert!((test.u - found).abs() < 1e-9);
        prop_assert!((test.p - extreme as f64 / ways.len() as f64).abs() < 1e-9, "{:?}", test);
    }

    #[test]
    fn swapping_turns_the_shift_around(
        first in prop::collection::vec(-50_i32..50, 1..12), second in prop::collection::vec(-50_i32..50, 1..12)
    ) {
        let of = |values: Vec<i32>| values.into_iter().map(f64::from).collect::<Vec<_>>();
        let (first, second) = (of(first), of(second));
        let (there, back) = (hodges_lehmann(&first, &second).unwrap(), hodges_lehmann(&second, &first).unwrap());
        prop_assert!((there.estimate + back.estimate).abs() < 1e-9);
        prop_assert_eq!(there.interval.map(|i| (i.low, i.high)), back.interval.map(|i| (-i.high, -i.low)));
        let (there, back) = (mann_whitney(&first, &second).unwrap(), mann_whitney(&second, &first).unwrap());
        prop_assert!((there.p - back.p).abs() < 1e-9, "{:?} {:?}", there, back);
    }
}
