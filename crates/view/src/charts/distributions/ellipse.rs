//! Delay against rate: for each run the ellipse of one standard deviation, in each direction.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;
use rrul_model::phase::Phase;

use crate::chart::{ANY, Chart, Draw};
use crate::delay_sample::{nanoseconds, pooled_packets, window};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit, figures};
use crate::drawing::figure::{Align, Dash, Line, Scale, Side, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{BESIDE_LEFT, PITCH, PLANE_WIDTH, Page, PlanePlan, SIDE_RIGHT};
use crate::drawing::run_colours::{colour_words, run_colours};
use crate::panels::bins::Bins;
use crate::panels::run_heading::{headed, short_names};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Finest bins, seconds: enough packets for a median, and many round trips.
const FINEST: f64 = 1.0;
/// From fewer bins a covariance says nothing.
const FEWEST: usize = 3;
/// Points of an ellipse.
const POINTS: usize = 72;
/// Height of a panel, pixels.
const HEIGHT: f64 = 300.0;
/// Right edges of the columns of figures, from the left of the table.
const COLUMNS: [f64; 3] = [255.0, 325.0, SIDE_RIGHT - BESIDE_LEFT];
/// Most runs named beside a panel.
const NAMED: usize = 16;

/// The chart that shows whether a run pays for rate with delay, and how steady both are.
pub(crate) const CHART: Chart = Chart {
    name: "ellipse",
    about: "goodput against delay, with ellipses of one standard deviation",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

/// Means and covariance of points.
#[derive(Debug, Clone, Copy, PartialEq)]
struct Covariance {
    mean: (f64, f64),
    /// Variance across, covariance, variance upright (n - 1).
    xx: f64,
    xy: f64,
    yy: f64,
}

impl Covariance {
    /// `None` of fewer than three points.
    fn from_points(points: &[(f64, f64)]) -> Option<Self> {
        if points.len() < FEWEST {
            return None;
        }
        let n = points.len() as f64;
        let mean = |of: fn(&(f64, f64)) -> f64| points.iter().map(of).sum::<f64>() / n;
        let mean = (mean(|point| point.0), mean(|point| point.1));
        let sum = |of: &dyn Fn(f64, f64) -> f64| {
            points.iter().map(|point| of(point.0 - mean.0, point.1 - mean.1)).sum::<f64>() / (n - 1.0)
        };
        // What varies by less than a millionth is the rounding of bins.
        let varied = |variance: f64, mean: f64| if variance.sqrt() > 1e-6 * mean.abs() { variance } else { 0.0 };
        let (xx, yy) = (varied(sum(&|x, _| x * x), mean.0), varied(sum(&|_, y| y * y), mean.1));
        let xy = if xx > 0.0 && yy > 0.0 { sum(&|x, y| x * y) } else { 0.0 };
        Some(Self { mean, xx, xy, yy })
    }

    /// The points one standard deviation from the mean (Mahalanobis distance 1): the mean, and the Cholesky factor of
    /// the covariance times the unit circle. Without variance on an axis it is a stroke, or a point.
    fn ellipse(&self) -> Vec<(f64, f64)> {
        let across = self.xx.sqrt();
        let shear = if across > 0.0 { self.xy / across } else { 0.0 };
        let upright = (self.yy - shear * shear).max(0.0).sqrt();
        let at = |step: usize| {
            let (sin, cos) = (std::f64::consts::TAU * step as f64 / POINTS as f64).sin_cos();
            (self.mean.0 + across * cos, self.mean.1 + shear * cos + upright * sin)
        };
        (0..=POINTS).map(at).collect()
    }
}

/// The bins of one run in one direction.
struct Cloud {
    name: String,
    colour: &'static str,
    /// Delay in nanoseconds, rate in bit/s.
    points: Vec<(f64, f64)>,
    covariance: Option<Covariance>,
    /// Bins without a median or a rate.
    without: usize,
    width: f64,
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let names = short_names(runs, theme, 190.0);
    let colours = run_colours(theme, runs.len());
    let mut widths = Vec::new();
    for direction in Direction::ALL {
        let clouds: Vec<Cloud> = runs
            .iter()
            .zip(&names)
            .zip(&colours)
            .map(|((run, name), colour)| cloud(run, direction, name, colour))
            .collect();
        widths.extend(clouds.iter().filter(|cloud| cloud.width > 0.0).map(|cloud| cloud.width));
        if clouds.iter().any(|cloud| !cloud.points.is_empty()) {
            panel(&mut page, direction, &clouds);
        } else {
            let word = direction_word(direction).to_lowercase();
            page.subtitle(&format!("No {word} streams with delay probes beside them under load."));
        }
    }
    if widths.is_empty() {
        page.message("Nothing to draw. No load with delay probes beside it.");
    }
    page.footnote(&format!(
        "{} Points: bins of the scored window, each the sum of the streams' goodput in it and the median delay of {} sent in it. \
         Ellipse: one standard deviation around the means, along and across their covariance (of normally distributed \
         bins it contains 39 %). Better is up and to the left, and smaller. Axes need not begin at zero. {}",
        super::super::bins_words(&widths).replace("Lines: bins", "Bins"),
        pooled_name(runs),
        colour_words(runs.len()),
    ));
    page.finish()
}

fn cloud(run: &Analysis, direction: Direction, name: &str, colour: &'static str) -> Cloud {
    let mut cloud =
        Cloud { name: name.to_owned(), colour, points: Vec::new(), covariance: None, without: 0, width: 0.0 };
    let series = &run.goodput(direction).sum_series;
    let Some(window) = window(run, Phase::Load).filter(|window| window.from < window.to && !series.is_empty()) else {
        return cloud;
    };
    let finest = series.iter().map(|point| point.over.as_secs_f64()).fold(FINEST, f64::max);
    let bins = Bins::over(window.from.seconds(), window.to.seconds(), finest);
    let inside = |at: f64| {
        let half = bins.width / 2.0 * (1.0 - 1e-9);
        at - half >= window.from.seconds() && at + half <= window.to.seconds()
    };
    let delays = bins.delays(pooled_packets(run));
    for ((at, rate), delay) in bins.rates(series).into_iter().zip(delays).filter(|((at, _), _)| inside(*at)) {
        debug_assert!((at - delay.at).abs() < bins.width);
        match (delay.median, rate) {
            (Some(delay), Some(rate)) => cloud.points.push((nanoseconds(delay), rate)),
            _ => cloud.without += 1,
        }
    }
    cloud.width = bins.width;
    cloud.covariance = Covariance::from_points(&cloud.points);
    cloud
}

fn panel(page: &mut Page<'_>, direction: Direction, clouds: &[Cloud]) {
    let shapes: Vec<Vec<(f64, f64)>> =
        clouds.iter().map(|cloud| cloud.covariance.map_or_else(Vec::new, |covariance| covariance.ellipse())).collect();
    let all = || clouds.iter().flat_map(|cloud| &cloud.points).chain(shapes.iter().flatten());
    let ends = |of: fn(&(f64, f64)) -> f64| {
        (all().map(of).fold(f64::INFINITY, f64::min), all().map(of).fold(f64::NEG_INFINITY, f64::max))
    };
    let ((left, right), (low, high)) = (ends(|point| point.0), ends(|point| point.1));
    let (delay_unit, rate_unit) = (Unit::of_delays(right), Unit::of_rates(high));
    let x = Side::new(Axis::covering(left / delay_unit.size, right / delay_unit.size, 8), Scale::Linear);
    let y = Side::new(Axis::covering(low / rate_unit.size, high / rate_unit.size, 5), Scale::Linear);
    let shown = clouds.len().min(NAMED);
    let plan = PlanePlan {
        title: direction_word(direction),
        unit: format!("sum of all streams, {}", rate_unit.name),
        note: None,
        x,
        x_words: format!("median round-trip delay, {}", delay_unit.name),
        y,
        width: PLANE_WIDTH,
        height: HEIGHT,
        side_height: 24.0 + PITCH * (shown as f64 * 2.0 + 1.0),
    };
    let (panel, frame) = page.plane(&plan);
    let scaled = |point: &(f64, f64)| (point.0 / delay_unit.size, point.1 / rate_unit.size);
    for (cloud, shape) in clouds.iter().zip(&shapes) {
        let colour = cloud.colour;
        let points = shape.iter().map(scaled).map(|(x, y)| (x, Some(y))).collect();
        page.figure.line(panel, &Line { name: &cloud.name, points, colour, width: 2.0, dash: Dash::Solid, height: 4 });
        let dots: Vec<_> = cloud.points.iter().map(scaled).collect();
        page.figure.dots(panel, &cloud.name, &dots, Stroke { colour, width: 4.5, opacity: 0.45, height: 3 });
        if let Some(covariance) = cloud.covariance {
            let centre = scaled(&covariance.mean);
            page.figure.dots(panel, &cloud.name, &[centre], Stroke { colour, width: 8.0, opacity: 1.0, height: 5 });
        }
    }
    let head = TextStyle { align: Align::Right, ..TextStyle::left(11.0, Weight::Regular, page.theme.muted) };
    let heads = ["delay, mean".to_owned(), "rate, mean".to_owned(), "bins".to_owned()];
    let units = [delay_unit.name, rate_unit.name, ""];
    for ((edge, head_text), unit) in COLUMNS.into_iter().zip(heads).zip(units) {
        page.figure.text(BESIDE_LEFT + edge, frame.top - 12.0, &head_text, head);
        page.figure.text(BESIDE_LEFT + edge, frame.top + 1.0, unit, head);
    }
    let cell = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::Regular, page.theme.ink) };
    let mut y = frame.top + 18.0;
    for cloud in &clouds[..shown] {
        page.figure.legend(BESIDE_LEFT, y, PITCH, 12.0, std::slice::from_ref(&cloud.name));
        let means = cloud.covariance.map_or_else(
            || ["–".to_owned(), "–".to_owned()],
            |covariance| {
                let (delay, rate) = scaled(&covariance.mean);
                [figures(delay), figures(rate)]
            },
        );
        let [delay, rate] = means;
        for (edge, text) in COLUMNS.into_iter().zip([delay, rate, words::count(cloud.points.len() as u64)]) {
            page.figure.text(BESIDE_LEFT + edge, y + 2.0, &text, cell);
        }
        y += PITCH;
        if let Some(doubt) = doubt(cloud) {
            let style = TextStyle::left(11.5, Weight::Regular, page.theme.alarm);
            page.figure.text(BESIDE_LEFT + 20.0, y, &doubt, style);
            y += PITCH;
        }
    }
    if clouds.len() > shown {
        let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        page.figure.text(BESIDE_LEFT, y + 2.0, &format!("and {} more, not named here", clouds.len() - shown), small);
    }
}

/// What is not as it should be with an ellipse.
fn doubt(cloud: &Cloud) -> Option<String> {
    let mut said = Vec::new();
    match cloud.covariance {
        None => said.push(format!("no ellipse: {}, of {FEWEST} needed", words::counted(cloud.points.len(), "bin"))),
        Some(Covariance { xx, yy, .. }) => match (xx > 0.0, yy > 0.0) {
            (true, true) => {}
            (false, true) => said.push("a stroke: the delay never varied".to_owned()),
            (true, false) => said.push("a stroke: the rate never varied".to_owned()),
            (false, false) => said.push("a point: nothing ever varied".to_owned()),
        },
    }
    if cloud.without > 0 {
        said.push(format!("{} without median or rate left out", words::counted(cloud.without, "bin")));
    }
    (!said.is_empty()).then(|| said.join("; "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_covariance_of_four_points_agrees_with_one_worked_by_hand() {
        // Deviations (-3, -1), (-1, -3), (1, 3), (3, 1): sums of squares 20 and 20, of products 12; over 3.
        let points = [(1.0, 10.0), (3.0, 8.0), (5.0, 14.0), (7.0, 12.0)];
        let covariance = Covariance::from_points(&points).unwrap();
        assert_eq!(covariance.mean, (4.0, 11.0));
        for (value, expected) in [(covariance.xx, 20.0 / 3.0), (covariance.xy, 4.0), (covariance.yy, 20.0 / 3.0)] {
            assert!((value - expected).abs() < 1e-12);
        }
        let determinant = covariance.xx * covariance.yy - covariance.xy * covariance.xy;
        for (x, y) in covariance.ellipse() {
            let (x, y) = (x - 4.0, y - 11.0);
            let distance = (covariance.yy * x * x - 2.0 * covariance.xy * x * y + covariance.xx * y * y) / determinant;
            assert!((distance - 1.0).abs() < 1e-9, "Mahalanobis distance {distance}");
        }
        let right = covariance.ellipse().iter().map(|point| point.0).fold(0.0, f64::max);
        assert!((right - (4.0 + (20.0_f64 / 3.0).sqrt())).abs() < 1e-9, "it reaches one deviation to the right");
    }

    #[test]
    fn without_variance_it_is_a_stroke_or_a_point_and_of_two_points_nothing() {
        assert_eq!(Covariance::from_points(&[(1.0, 2.0), (2.0, 3.0)]), None);
        let stroke = Covariance::from_points(&[(1.0, 2.0), (1.0, 4.0), (1.0, 6.0)]).unwrap().ellipse();
        assert!(stroke.iter().all(|point| (point.0 - 1.0).abs() < 1e-12 && (2.0..=6.0).contains(&point.1)));
        let point = Covariance::from_points(&[(1.0, 2.0); 3]).unwrap().ellipse();
        assert!(point.iter().all(|at| *at == (1.0, 2.0)));
    }
}
