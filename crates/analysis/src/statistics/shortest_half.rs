//! The mean of the shortest half: where values lie densest (Andrews et al., "Robust Estimates of Location", 1972).

/// The mean of those neighbors among the sorted values that are half of them, rounded up, and nearest to each other; 0 of nothing.
///
/// Of two halves that are as short it is the upper one.
pub(crate) fn mean_of_shortest_half(values: &[f64]) -> f64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable_by(f64::total_cmp);
    let half = sorted.len().div_ceil(2).max(1);
    let width = |half: &&[f64]| half[half.len() - 1] - half[0];
    let shortest = sorted.windows(half).rev().min_by(|a, b| width(a).total_cmp(&width(b)));
    shortest.map_or(0.0, |half| half.iter().sum::<f64>() / half.len() as f64)
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "sums of whole numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn it_is_where_values_lie_densest() {
        assert_eq!(mean_of_shortest_half(&[7.0, 10.0, 2.0, 9.0, 10.0, 10.0]), 10.0);
        assert_eq!(mean_of_shortest_half(&[1.0, 2.0, 3.0]), 2.5);
        assert_eq!(mean_of_shortest_half(&[4.0]), 4.0);
        assert_eq!(mean_of_shortest_half(&[]), 0.0);
    }
}
