//! The line that lies beneath points whose errors are all upward, such as delays over time.
//!
//! Queueing only ever adds to a delay, so the drift of two clocks is the slope of the line beneath the delays, not of one
//! through their middle. Moon, Skelly and Towsley (1999) take, of all lines beneath, the one that is nearest to the
//! points on average; Zhang, Liu and Xia (2002) find it on the lower convex hull. Here several sets of points share one
//! slope, each with a level of its own: the two directions of a path, several paths, stretches before and after a step.

/// The lower convex hull of points, and what an average needs to know of them.
#[derive(Debug, Clone, PartialEq)]
pub struct LowerHull {
    /// Corners from left to right; slopes between them rise.
    corners: Vec<(f64, f64)>,
    n: f64,
    mean_x: f64,
}

impl LowerHull {
    /// Computes the hull of points in any order; `None` without any. Points that are not finite are skipped.
    pub fn from_points(points: impl IntoIterator<Item = (f64, f64)>) -> Option<Self> {
        let mut points: Vec<_> = points.into_iter().filter(|(x, y)| x.is_finite() && y.is_finite()).collect();
        points.sort_unstable_by(|a, b| a.0.total_cmp(&b.0).then(a.1.total_cmp(&b.1)));
        let n = points.len() as f64;
        let mean_x = points.iter().map(|(x, _)| x / n).sum();
        // Of points above one another only the lowest, which comes first, can be a corner.
        points.dedup_by_key(|point| point.0);
        let mut corners: Vec<(f64, f64)> = Vec::new();
        for point in points {
            while let [.., a, b] = corners[..]
                && (b.0 - a.0) * (point.1 - a.1) <= (b.1 - a.1) * (point.0 - a.0)
            {
                corners.pop();
            }
            corners.push(point);
        }
        (!corners.is_empty()).then_some(Self { corners, n, mean_x })
    }

    /// The corner that a line of this slope touches from below; of two, the right one.
    fn corner(&self, slope: f64) -> (f64, f64) {
        let after = self.slopes().partition_point(|edge| *edge <= slope);
        self.corners.get(after).or(self.corners.last()).copied().unwrap_or_default()
    }

    /// Where the line of this slope that lies just beneath all points meets x = 0.
    pub fn level(&self, slope: f64) -> f64 {
        let (x, y) = self.corner(slope);
        y - slope * x
    }

    /// The slopes of its edges from left to right, rising.
    pub fn edges(&self) -> impl Iterator<Item = f64> {
        self.slopes().all()
    }

    fn slopes(&self) -> Slopes<'_> {
        Slopes(&self.corners)
    }
}

/// The slopes of the edges between corners, rising.
struct Slopes<'a>(&'a [(f64, f64)]);

impl<'a> Slopes<'a> {
    fn all(&self) -> impl Iterator<Item = f64> + use<'a> {
        self.0.windows(2).map(slope)
    }

    fn partition_point(&self, before: impl Fn(&f64) -> bool) -> usize {
        let (mut low, mut high) = (0, self.0.len().saturating_sub(1));
        while low < high {
            let middle = usize::midpoint(low, high);
            if before(&slope(&self.0[middle..])) {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        low
    }
}

/// Between the first two of these corners.
fn slope(edge: &[(f64, f64)]) -> f64 {
    match edge {
        [a, b, ..] => (b.1 - a.1) / (b.0 - a.0),
        _ => f64::INFINITY,
    }
}

/// The slope that all these sets share: that of lines beneath them, each at its own level, which are nearest to all
/// points on average (least sum of residuals, none of them negative).
///
/// An exact solution of that linear program: it is convex in the slope, and turns at an edge of some hull. `None` when no
/// set has two points at different x. Where a stretch of slopes is equally good, its middle.
pub fn common_slope(hulls: &[LowerHull]) -> Option<f64> {
    let mut edges: Vec<f64> = hulls.iter().flat_map(|hull| hull.slopes().all().collect::<Vec<_>>()).collect();
    edges.sort_unstable_by(f64::total_cmp);
    // How the sum of residuals changes with the slope, just above it.
    let change = |slope: f64| -> f64 { hulls.iter().map(|hull| hull.n * (hull.corner(slope).0 - hull.mean_x)).sum() };
    let turn = edges.partition_point(|edge| change(*edge) < 0.0);
    let found = *edges.get(turn).or(edges.last())?;
    let next = edges[turn.min(edges.len())..].iter().copied().find(|edge| *edge > found);
    // The sums are of numbers around the largest x times n; what is smaller by twelve digits is rounding.
    let scale: f64 = hulls.iter().map(|hull| hull.n * hull.corners.iter().map(|c| c.0.abs()).fold(0.0, f64::max)).sum();
    match next {
        Some(next) if change(found).abs() <= scale * 1e-12 => Some(f64::midpoint(found, next)),
        _ => Some(found),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn the_hull_is_beneath_every_point_and_touches() {
        let hull =
            LowerHull::from_points([(0.0, 1.0), (1.0, 5.0), (2.0, 1.5), (3.0, 9.0), (4.0, 4.0), (2.0, 7.0)]).unwrap();
        assert_eq!(hull.corners, [(0.0, 1.0), (2.0, 1.5), (4.0, 4.0)]);
        for (slope, level) in [(0.25, 1.0), (0.0, 1.0), (2.0, -4.0)] {
            assert!((hull.level(slope) - level).abs() < 1e-12, "{slope}: {}", hull.level(slope));
        }
    }

    #[test]
    fn the_edge_over_the_mean_is_the_slope_of_one_set() {
        // Moon et al.: the edge of the hull that spans the mean x, here 2.2, of (0,0) (2,1) (4,4) and two above.
        let hull = LowerHull::from_points([(0.0, 0.0), (2.0, 1.0), (4.0, 4.0), (2.0, 8.0), (3.0, 8.0)]).unwrap();
        assert_eq!(common_slope(&[hull]), Some(1.5));
    }

    #[test]
    fn sets_at_different_levels_share_their_slope() {
        let line = |level: f64, from: i32| {
            LowerHull::from_points(
                (from..from + 50).map(|x| (f64::from(x), level + 0.5 * f64::from(x) + f64::from(x % 7))),
            )
        };
        let hulls = [line(100.0, 0).unwrap(), line(-3.0, 500).unwrap()];
        assert!((common_slope(&hulls).unwrap() - 0.5).abs() < 1e-9);
    }

    #[test]
    fn without_two_points_the_slope_is_unknown() {
        assert_eq!(LowerHull::from_points([]), None);
        assert_eq!(LowerHull::from_points([(f64::NAN, 1.0)]), None);
        let single = LowerHull::from_points([(1.0, 2.0), (1.0, 3.0)]).unwrap();
        assert_eq!(common_slope(&[single]), None);
        assert_eq!(common_slope(&[]), None);
    }

    proptest! {
        #[test]
        fn no_other_slope_has_a_smaller_sum_of_residuals(
            sets in prop::collection::vec(prop::collection::vec((-50_i32..50, -50_i32..50), 2..20), 1..4),
            other in -100.0..100.0_f64,
        ) {
            let sets: Vec<Vec<(f64, f64)>> =
                sets.iter().map(|set| set.iter().map(|(x, y)| (f64::from(*x), f64::from(*y))).collect()).collect();
            let hulls: Vec<_> = sets.iter().filter_map(|set| LowerHull::from_points(set.clone())).collect();
            let residuals = |slope: f64| -> f64 {
                let of = |set: &Vec<(f64, f64)>| {
                    let above: Vec<f64> = set.iter().map(|(x, y)| y - slope * x).collect();
                    let level = above.iter().copied().fold(f64::INFINITY, f64::min);
                    above.iter().map(|one| one - level).sum::<f64>()
                };
                sets.iter().map(of).sum()
            };
            if let Some(slope) = common_slope(&hulls) {
                prop_assert!(residuals(slope) <= residuals(other) + 1e-6, "{slope} against {other}");
            }
        }
    }
}
