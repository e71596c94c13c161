//! Several tests at once, with one level for all of them (Holm 1979).

/// Each p as it counts when it stands among the others: that one of them falls below a level by chance is then no
/// likelier than the level. In the order given.
pub(crate) fn adjusted(p: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p.len()).collect();
    order.sort_by(|a, b| p[*a].total_cmp(&p[*b]));
    let mut adjusted = vec![1.0; p.len()];
    let mut so_far = 0.0_f64;
    for (place, index) in order.into_iter().enumerate() {
        so_far = so_far.max(p[index] * (p.len() - place) as f64).min(1.0);
        adjusted[index] = so_far;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn values_worked_by_hand_come_out() {
        // R: p.adjust(c(.01, .04, .03, .005), "holm") is .03 .06 .06 .02
        let found = adjusted(&[0.01, 0.04, 0.03, 0.005]);
        for (found, truth) in found.iter().zip([0.03, 0.06, 0.06, 0.02]) {
            assert!((found - truth).abs() < 1e-12, "{found} for {truth}");
        }
        assert_eq!(adjusted(&[]), Vec::<f64>::new());
        assert!(adjusted(&[0.6, 0.9]).iter().all(|p| (p - 1.0).abs() < 1e-12));
    }
}
