//! A panel in the form of a page: few bytes, in the unit that its axis shows, drawn anew whenever it is zoomed.

use rrul_model::phase::PhaseWindow;
use serde::{Serialize, Serializer};

use super::palette::Palette;
use crate::drawing::axis::Axis;
use crate::drawing::figure::{Dash, Scale};
use crate::panels::time_panel::{Area, TimeLine, TimePanel};
use crate::theme::Theme;

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

/// A phase: name, from when to when in seconds, and the number of the color behind it; none behind the load.
pub(crate) type ShownPhase = (&'static str, Figure, Figure, Option<usize>);

/// A panel.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Plot {
    pub(crate) title: String,
    /// The unit of its values; empty for counts.
    pub(crate) unit: String,
    /// Whether the vertical axis is logarithmic.
    pub(crate) log: bool,
    /// Pixels.
    pub(crate) height: u32,
    /// Names of rows from the top, in the place of a vertical axis.
    pub(crate) rows: Vec<String>,
    /// Written once for all panels of a run.
    #[serde(skip)]
    pub(crate) phases: Vec<ShownPhase>,
    /// The first at the back.
    pub(crate) lines: Vec<LineLook>,
    pub(crate) bands: Vec<BandLook>,
    /// Whether lines stand on each other: then each is worth the height of its band.
    pub(crate) stacked: bool,
    /// What is drawn of the whole time, and of less of it: bins of one width, and of a smaller one if room is left.
    pub(crate) levels: Vec<Level>,
    /// Horizontal rules: value and meaning.
    pub(crate) rules: Vec<(Figure, String)>,
    /// Above the panel, a lane for each color: its number, and seconds.
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
    Each(Vec<Seconds>),
}

#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct LineLook {
    pub(crate) n: String,
    pub(crate) c: usize,
    /// Pixels.
    pub(crate) w: Figure,
    pub(crate) d: u8,
}

/// How a filled range looks.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct BandLook {
    pub(crate) c: usize,
    /// Opacity.
    pub(crate) o: Figure,
}

/// The values of all lines and ranges of a plot, in bins of one width.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Level {
    /// Vertical axis: lower end, upper end, step.
    pub(crate) y: [Figure; 3],
    /// Horizontal places, seconds, that lines and bands share.
    pub(crate) grids: Vec<Grid>,
    pub(crate) lines: Vec<Values>,
    /// Of each band the lower ends, and the upper; none where they follow from the lines that stand on each other.
    pub(crate) bands: Vec<[Values; 2]>,
}

/// Values on a grid.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(crate) struct Values {
    pub(crate) g: usize,
    /// Place of the first on it.
    pub(crate) s: usize,
    /// The values with commas between them, in which a gap takes no more than its comma. `18*3` is three times 18.
    pub(crate) y: String,
}

/// The vertical side of a plot.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Vertical {
    pub(crate) axis: Axis,
    /// Base units in one of these.
    pub(crate) size: f64,
    pub(crate) name: &'static str,
    pub(crate) scale: Scale,
}

impl Plot {
    /// A panel with its vertical side; `finer` is the same panel in smaller bins, in the same unit.
    pub(crate) fn of(
        panel: &TimePanel,
        vertical: &Vertical,
        finer: Option<(&TimePanel, &Vertical)>,
        phases: &[PhaseWindow],
        palette: &Palette,
    ) -> Self {
        let Vertical { size, name, scale, .. } = *vertical;
        let lines = panel.lines.iter().map(|line| {
            let d = match line.dash {
                Dash::Solid => 0,
                Dash::Dashed => 1,
                Dash::Dotted => 2,
            };
            LineLook { n: line.name.clone(), c: palette.number(line.colour), w: Figure(line.width), d }
        });
        let bands = panel
            .areas
            .iter()
            .map(|area| BandLook { c: palette.number(area.fill.colour), o: Figure(area.fill.opacity) });
        let strokes = panel.lanes().into_iter().map(|colour| {
            let at = panel.strokes.iter().filter(|stroke| stroke.1 == colour).map(|stroke| Seconds(stroke.0));
            (palette.number(colour), at.collect())
        });
        let mut levels = vec![Level::of(panel, vertical)];
        let finer = finer.map(|(finer, vertical)| Level::of(finer, vertical));
        levels.extend(finer.filter(|finer| *finer != levels[0] && finer.lines.len() == levels[0].lines.len()));
        Self {
            title: panel.title.clone(),
            unit: name.to_owned(),
            log: scale == Scale::Logarithmic,
            height: panel.height as u32,
            rows: panel.rows.iter().map(|(name, _)| name.clone()).collect(),
            phases: phases.iter().map(|entry| phase(entry, palette)).collect(),
            strokes: strokes.collect(),
            rules: panel.rules.iter().map(|(value, words)| (Figure(*value / size), words.clone())).collect(),
            lines: lines.collect(),
            bands: bands.collect(),
            stacked: is_stacked(panel),
            levels,
        }
    }
}

fn phase(entry: &PhaseWindow, palette: &Palette) -> ShownPhase {
    let PhaseWindow { phase, window } = entry;
    let shade = Theme::LIGHT.phase_shade(*phase).map(|colour| palette.number(colour));
    (phase.name(), Figure(window.from.seconds()), Figure(window.to.seconds()), shade)
}

/// Whether each band of a panel reaches up to the line of its place, the lowest of them from nought.
fn is_stacked(panel: &TimePanel) -> bool {
    let Some(first) = panel.areas.first() else { return false };
    let ends_in_its_line = |(area, line): (&Area, &TimeLine)| {
        let tops = area.range.iter().map(|(at, ends)| (*at, ends.map(|ends| ends.1)));
        tops.eq(line.points.iter().copied())
    };
    panel.areas.len() < panel.lines.len()
        && first.range.iter().filter_map(|(_, ends)| *ends).all(|(low, _)| low == 0.0)
        && panel.areas.iter().zip(&panel.lines).all(ends_in_its_line)
}

/// Whether each band of a stacked panel also begins at the line below it: the nearest that has a value there, or nought.
fn follows_from_lines(panel: &TimePanel) -> bool {
    let length = panel.areas.first().map_or(0, |area| area.range.len());
    let mut below = vec![0.0; length];
    let begins_below = |area: &Area| {
        area.range.len() == length
            && area.range.iter().zip(&mut below).all(|((_, ends), below)| {
                ends.is_none_or(|(low, high)| low.total_cmp(&std::mem::replace(below, high)).is_eq())
            })
    };
    is_stacked(panel) && panel.areas.iter().all(begins_below)
}

impl Level {
    fn of(panel: &TimePanel, vertical: &Vertical) -> Self {
        let Vertical { axis, size, scale, .. } = *vertical;
        // A logarithmic axis has no place for what is not positive; it begins below everything that is.
        let scaled = |value: f64| {
            let value = value / size;
            if scale == Scale::Logarithmic { value.max(axis.min) } else { value }
        };
        let written = |value: Option<f64>| value.map(|value| short(scaled(value), axis.length())).unwrap_or_default();
        let y = [axis.min, axis.max, axis.step].map(Figure);
        let mut level = Self { y, grids: Vec::new(), lines: Vec::new(), bands: Vec::new() };
        for line in &panel.lines {
            let (g, s, values) = placed(&mut level.grids, &line.points);
            level.lines.push(Values { g, s, y: joined(values.into_iter().map(written)) });
        }
        let areas = if follows_from_lines(panel) { &[][..] } else { &panel.areas };
        for area in areas {
            let (g, s, ends) = placed(&mut level.grids, &area.range);
            let end = |pick: fn((f64, f64)) -> f64| Values {
                g,
                s,
                y: joined(ends.iter().map(|ends| written(ends.map(pick)))),
            };
            level.bands.push([end(|ends| ends.0), end(|ends| ends.1)]);
        }
        level
    }
}

/// Values with commas between them, runs of one value as that and how often where this is shorter.
fn joined(values: impl Iterator<Item = String>) -> String {
    let values: Vec<String> = values.collect();
    let run = |run: &[String]| {
        let (all, short) = (run.join(","), format!("{}*{}", run[0], run.len()));
        if short.len() < all.len() { short } else { all }
    };
    values.chunk_by(|one, other| one == other).map(run).collect::<Vec<_>>().join(",")
}

/// A value to three significant figures, or more where that would be seen on an axis of this length.
fn short(value: f64, length: f64) -> String {
    if !value.is_finite() {
        return String::new();
    }
    let magnitude = if value == 0.0 { 0 } else { value.abs().log10().floor() as i32 };
    let seen = (length.abs() / 1e3).log10().floor() as i32;
    let figures = (magnitude - seen + 1).clamp(3, 6);
    let rounded = significant(value, figures);
    // Adding nought takes the sign from a negative one.
    let text = format!("{:.*}", (figures - 1 - magnitude).clamp(0, 12) as usize, rounded + 0.0);
    if text.contains('.') { text.trim_end_matches('0').trim_end_matches('.').to_owned() } else { text }
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
    use crate::drawing::figure::Fill;
    use crate::panels::time_panel::Quantity;

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
    fn values_are_no_longer_than_what_can_be_seen() {
        for (value, length, text) in [
            (0.0, 100.0, "0"),
            (554.32, 1000.0, "554"),
            (18.345, 1000.0, "18.3"),
            (1004.4, 1250.0, "1004"),
            (0.012_345, 1.0, "0.0123"),
            (0.5, 1.0, "0.5"),
            (-0.2, 5.0, "-0.2"),
            (123_456.0, 200_000.0, "123500"),
            (f64::NAN, 1.0, ""),
        ] {
            assert_eq!(short(value, length), text, "{value} on {length}");
        }
    }

    #[test]
    fn runs_of_one_value_are_written_once() {
        let values = |text: &str| joined(text.split(',').map(str::to_owned));
        for (all, short) in
            [("0,0,0,0,18.5,18.5,3", "0*4,18.5*2,3"), ("1,1,2,,,3", "1,1,2,,,3"), ("1,,,,,,2", "1,*5,2")]
        {
            assert_eq!(values(all), short);
        }
    }

    #[test]
    fn bands_that_follow_from_lines_are_left_out() {
        let line = |values: [Option<f64>; 3]| TimeLine {
            name: String::new(),
            points: [0.0, 1.0, 2.0].into_iter().zip(values).collect(),
            colour: "",
            width: 1.0,
            dash: Dash::Solid,
            figures: Vec::new(),
        };
        let area = |ends: [Option<(f64, f64)>; 3]| Area {
            range: [0.0, 1.0, 2.0].into_iter().zip(ends).collect(),
            fill: Fill { colour: "", opacity: 1.0 },
        };
        let mut panel = TimePanel::new("", Quantity::Rate, "", 100.0);
        panel.lines = vec![
            line([Some(1.0), None, Some(2.0)]),
            line([Some(3.0), Some(4.0), Some(5.0)]),
            line([Some(9.0), Some(9.0), Some(9.0)]),
        ];
        panel.areas = vec![
            area([Some((0.0, 1.0)), None, Some((0.0, 2.0))]),
            area([Some((1.0, 3.0)), Some((0.0, 4.0)), Some((2.0, 5.0))]),
        ];
        assert!(is_stacked(&panel) && follows_from_lines(&panel));
        panel.areas[1].range[1].1 = Some((0.5, 4.0));
        assert!(is_stacked(&panel) && !follows_from_lines(&panel), "it begins where no line is");
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
