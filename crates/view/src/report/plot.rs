//! A panel as a page holds it: few octets, in the unit that its axis shows, drawn anew whenever it is zoomed.

use serde::{Serialize, Serializer};

use super::palette::Palette;
use crate::axis::Axis;
use crate::figure::{Dash, Scale};
use crate::time_panel::TimePanel;

/// A number with four significant figures, a whole one without a point: a line is thicker than what is left out.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Figure(pub(crate) f64);

impl Serialize for Figure {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = significant(self.0, 4);
        if !rounded.is_finite() {
            return serializer.serialize_none();
        }
        if rounded.fract() == 0.0 && rounded.abs() < 1e15 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// `value` with so many significant figures.
fn significant(value: f64, figures: i32) -> f64 {
    if value == 0.0 || !value.is_finite() {
        return value;
    }
    let decimals = figures - 1 - value.abs().log10().floor() as i32;
    if !(-300..=300).contains(&decimals) {
        return 0.0;
    }
    let power = 10_f64.powi(decimals.abs());
    if decimals >= 0 { (value * power).round() / power } else { (value / power).round() * power }
}

/// A panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plot {
    /// What it shows.
    pub(crate) title: String,
    /// The unit of its values; empty for counts.
    pub(crate) unit: String,
    /// Vertical axis: lower end, upper end, step.
    pub(crate) y: [Figure; 3],
    /// Whether that is logarithmic.
    pub(crate) log: bool,
    /// Pixels.
    pub(crate) height: u32,
    /// Names of rows from the top, in the place of a vertical axis.
    pub(crate) rows: Vec<String>,
    /// From when to when, seconds, there was no load.
    pub(crate) quiet: Vec<(Figure, Figure)>,
    /// Horizontal places, seconds, that lines and bands share.
    pub(crate) grids: Vec<Grid>,
    /// The first at the back.
    pub(crate) lines: Vec<PlotLine>,
    /// Behind the lines.
    pub(crate) bands: Vec<Band>,
    /// Horizontal rules: value and meaning.
    pub(crate) rules: Vec<(Figure, String)>,
    /// Above the panel, a lane for each colour: its number, and seconds.
    pub(crate) strokes: Vec<(usize, Vec<Seconds>)>,
}

/// Seconds to the millisecond.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Seconds(pub(crate) f64);

impl Serialize for Seconds {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let rounded = (self.0 * 1e3).round() / 1e3;
        if rounded.fract() == 0.0 {
            serializer.serialize_i64(rounded as i64)
        } else {
            serializer.serialize_f64(rounded)
        }
    }
}

/// Where points stand.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(crate) enum Grid {
    /// The first, from one to the next, how many.
    Even(f64, f64, usize),
    /// Each.
    Each(Vec<Seconds>),
}

/// A line.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct PlotLine {
    /// Name.
    pub(crate) n: String,
    /// Number of its colour.
    pub(crate) c: usize,
    /// Pixels.
    pub(crate) w: Figure,
    /// Solid, dashed, dotted.
    pub(crate) d: u8,
    /// Number of its grid.
    pub(crate) g: usize,
    /// Place of its first point on the grid.
    pub(crate) s: usize,
    /// Values; a gap where there is none.
    pub(crate) y: Vec<Option<Figure>>,
}

/// A filled range.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Band {
    /// Number of its colour.
    pub(crate) c: usize,
    /// Opacity.
    pub(crate) o: Figure,
    /// Number of its grid.
    pub(crate) g: usize,
    /// Place of its first point on the grid.
    pub(crate) s: usize,
    /// Lower ends.
    pub(crate) lo: Vec<Option<Figure>>,
    /// Upper ends.
    pub(crate) hi: Vec<Option<Figure>>,
}

/// The vertical side of a plot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vertical {
    /// In the unit shown.
    pub(crate) axis: Axis,
    /// Base units in one of these.
    pub(crate) size: f64,
    /// The unit.
    pub(crate) name: &'static str,
    /// Linear or not.
    pub(crate) scale: Scale,
}

impl Plot {
    /// A panel with this vertical side.
    pub(crate) fn of(panel: &TimePanel, vertical: &Vertical, quiet: &[(f64, f64)], palette: &Palette) -> Self {
        let Vertical { axis, size, name, scale } = *vertical;
        let mut grids = Vec::new();
        // A logarithmic axis has no place for what is not positive; it begins below everything that is.
        let scaled = |value: f64| {
            let value = value / size;
            Figure(if scale == Scale::Logarithmic { value.max(axis.min) } else { value })
        };
        let lines = panel.lines.iter().map(|line| {
            let (g, s, y) = placed(&mut grids, &line.points);
            let d = match line.dash {
                Dash::Solid => 0,
                Dash::Dashed => 1,
                Dash::Dotted => 2,
            };
            let y = y.into_iter().map(|value| value.map(scaled)).collect();
            PlotLine { n: line.name.clone(), c: palette.number(line.colour), w: Figure(line.width), d, g, s, y }
        });
        let lines = lines.collect();
        let bands = panel.areas.iter().map(|area| {
            let (g, s, ends) = placed(&mut grids, &area.range);
            let end =
                |pick: fn((f64, f64)) -> f64| ends.iter().map(|ends| ends.map(|ends| scaled(pick(ends)))).collect();
            let (lo, hi) = (end(|ends| ends.0), end(|ends| ends.1));
            Band { c: palette.number(area.fill.colour), o: Figure(area.fill.opacity), g, s, lo, hi }
        });
        let bands = bands.collect();
        let strokes = panel.lanes().into_iter().map(|colour| {
            let at = panel.strokes.iter().filter(|stroke| stroke.1 == colour).map(|stroke| Seconds(stroke.0));
            (palette.number(colour), at.collect())
        });
        Self {
            title: panel.title.clone(),
            unit: name.to_owned(),
            y: [axis.min, axis.max, axis.step].map(Figure),
            log: scale == Scale::Logarithmic,
            height: panel.height as u32,
            rows: panel.rows.iter().map(|(name, _)| name.clone()).collect(),
            quiet: quiet.iter().map(|(from, to)| (Figure(*from), Figure(*to))).collect(),
            strokes: strokes.collect(),
            rules: panel.rules.iter().map(|(value, words)| (Figure(*value / size), words.clone())).collect(),
            grids,
            lines,
            bands,
        }
    }
}

/// The grid of these points, where on it they begin, and their values without gaps at the ends.
fn placed<T: Copy>(grids: &mut Vec<Grid>, points: &[(f64, Option<T>)]) -> (usize, usize, Vec<Option<T>>) {
    let places: Vec<f64> = points.iter().map(|point| point.0).collect();
    let grid = even(&places).unwrap_or_else(|| Grid::Each(places.into_iter().map(Seconds).collect()));
    let number = grids.iter().position(|known| *known == grid).unwrap_or_else(|| {
        grids.push(grid);
        grids.len() - 1
    });
    let known = |point: &(f64, Option<T>)| point.1.is_some();
    let first = points.iter().position(known).unwrap_or(points.len());
    let last = points.iter().rposition(known).map_or(first, |last| last + 1);
    (number, first, points[first..last].iter().map(|point| point.1).collect())
}

/// These places as an even grid, if they are one to the tenth of a millisecond.
fn even(places: &[f64]) -> Option<Grid> {
    let (&first, &second) = (places.first()?, places.get(1)?);
    let step = (places.last()? - first) / (places.len() - 1) as f64;
    let fits = |(index, place): (usize, &f64)| (first + step * index as f64 - place).abs() < 1e-4;
    let round = |value: f64| (value * 1e6).round() / 1e6;
    (second > first && places.iter().enumerate().all(fits)).then(|| Grid::Even(round(first), round(step), places.len()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn figures_are_short_and_gaps_stay_gaps() {
        let written = |value: f64| serde_json::to_string(&Figure(value)).unwrap();
        for (value, text) in [
            (0.0, "0"),
            (12.345_67, "12.35"),
            (-0.000_123_456, "-0.0001235"),
            (123_456.0, "123500"),
            (f64::NAN, "null"),
        ] {
            assert_eq!(written(value), text);
        }
    }

    #[test]
    fn points_on_the_same_places_share_a_grid_and_begin_where_they_are_known() {
        let mut grids = Vec::new();
        let even: Vec<(f64, Option<u8>)> =
            (0..10_u8).map(|step| (0.1 + 0.2 * f64::from(step), (3..6).contains(&step).then_some(step))).collect();
        assert_eq!(placed(&mut grids, &even), (0, 3, vec![Some(3), Some(4), Some(5)]));
        assert_eq!(placed(&mut grids, &even).0, 0);
        assert_eq!(
            placed(&mut grids, &[(0.0, Some(1)), (0.0, None), (1.0, Some(2))]),
            (1, 0, vec![Some(1), None, Some(2)])
        );
        assert_eq!(placed::<u8>(&mut grids, &[(0.0, None)]), (2, 1, Vec::new()));
        assert_eq!(grids[0], Grid::Even(0.1, 0.2, 10));
    }
}
