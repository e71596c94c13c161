//! Fewer points for a picture in which no difference is seen.

/// Cells a pixel is cut into on each axis: pictures are drawn at twice the size for dense screens and print.
pub(crate) const CELLS: f64 = 2.0;

/// The points of a monotone line that can be distinguished from each other on `width` by `height` cells.
///
/// `place` says where a point lies on each axis, 0 to 1. Of the points in one column of cells the first and the last
/// stay, and of those in one row of cells too. A monotone line has its extremes of a column at exactly these, so it
/// still enters and leaves every column and every row of cells where it did: what is drawn does not change.
pub(crate) fn thinned(
    points: &[(f64, f64)],
    place: impl Fn((f64, f64)) -> (f64, f64),
    width: f64,
    height: f64,
) -> Vec<(f64, f64)> {
    // Saturates: whatever lies far outside shares one cell there, and its extremes stay as well.
    let column = |point: (f64, f64)| (place(point).0 * width).floor() as i64;
    let row = |point: (f64, f64)| (place(point).1 * height).floor() as i64;
    ends(&ends(points, column), row)
}

/// The first and the last point of every stretch of points with the same key.
fn ends(points: &[(f64, f64)], key: impl Fn((f64, f64)) -> i64) -> Vec<(f64, f64)> {
    let keys: Vec<i64> = points.iter().map(|point| key(*point)).collect();
    let at_end = |index: usize| {
        index == 0 || index + 1 == keys.len() || keys[index] != keys[index - 1] || keys[index] != keys[index + 1]
    };
    points.iter().enumerate().filter(|(index, _)| at_end(*index)).map(|(_, point)| *point).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_points_stay_as_they_are() {
        let points = vec![(0.1, 0.2), (0.4, 0.5), (0.9, 1.0)];
        assert_eq!(thinned(&points, |point| point, 100.0, 100.0), points);
        assert!(thinned(&[], |point| point, 100.0, 100.0).is_empty());
    }

    #[test]
    fn thinning_moves_a_line_by_less_than_a_cell() {
        // A cube: flat at first, then steep.
        let points: Vec<(f64, f64)> = (0..=100_000).map(|step| f64::from(step) / 1e5).map(|x| (x, x.powi(3))).collect();
        let kept = thinned(&points, |point| point, 640.0 * CELLS, 320.0 * CELLS);
        assert!(kept.len() < 2 * 2 * 320 + 2, "{} points", kept.len());
        assert_eq!((kept[0], kept[kept.len() - 1]), (points[0], points[points.len() - 1]));
        for (x, y) in points {
            // The step line has at x the value of the last point kept at or before it.
            let drawn = kept[kept.partition_point(|point| point.0 <= x) - 1];
            let apart = ((y - drawn.1) * 320.0 * CELLS).min((x - drawn.0) * 640.0 * CELLS);
            assert!(apart <= 1.0, "{x}: {y} is drawn as {drawn:?}, {apart} cells away");
        }
    }
}
