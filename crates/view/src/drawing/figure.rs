//! A figure in the words of Apache ECharts: the one place that makes the library's options.
//!
//! All positions are pixels from the upper left corner; the caller lays out, nothing is placed by chance.

mod plane;

use rrul_model::printable;
use serde_json::{Map, Value, json};

use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, logarithmic_ticks};
use crate::drawing::font;
use crate::drawing::font::Weight;
use crate::theme::Theme;

pub(crate) use plane::{Segment, Side, Step, Stroke, Ticks};

/// A chart under construction.
pub(crate) struct Figure<'a> {
    theme: &'a Theme,
    /// Behind the texts.
    shades: Vec<Value>,
    texts: Vec<Value>,
    grids: Vec<Value>,
    /// Of each panel: where it lies, and its horizontal axis.
    panels: Vec<(Frame, Side)>,
    x_axes: Vec<Value>,
    y_axes: Vec<Value>,
    legends: Vec<Value>,
    series: Vec<Value>,
    stack: Stack,
}

/// Ranges that were filled one upon the other.
#[derive(Default)]
struct Stack {
    number: usize,
    panel: Option<PanelIndex>,
    /// How high it is at each place of the horizontal axis.
    top: Vec<(f64, f64)>,
}

impl Stack {
    /// Whether a range lies upon it wherever the range has a value.
    fn carries(&self, panel: PanelIndex, range: &[(f64, Option<(f64, f64)>)]) -> bool {
        let same = |one: f64, other: f64| one.total_cmp(&other).is_eq();
        let mut places = range.iter().zip(&self.top);
        self.panel == Some(panel)
            && self.top.len() == range.len()
            && places.all(|((x, ends), (place, top))| same(*x, *place) && ends.is_none_or(|(low, _)| same(low, *top)))
    }
}

/// Where a panel's plotting area lies, in pixels.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Frame {
    pub(crate) left: f64,
    pub(crate) top: f64,
    pub(crate) width: f64,
    pub(crate) height: f64,
}

impl Frame {
    /// The pixel at which a panel with this frame shows the value `x`.
    pub(crate) fn x(&self, axis: &Axis, x: f64) -> f64 {
        self.left + (x - axis.min) / axis.length() * self.width
    }

    /// The pixel at which it shows the value `y` of a linear axis.
    pub(crate) fn y(&self, axis: &Axis, y: f64) -> f64 {
        self.top + (axis.max - y) / axis.length() * self.height
    }
}

/// Which side of its position a text stands on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Align {
    Left,
    Centre,
    Right,
}

/// How a text looks.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct TextStyle {
    /// Height in pixels.
    pub(crate) size: f64,
    pub(crate) weight: Weight,
    pub(crate) colour: &'static str,
    pub(crate) align: Align,
}

impl TextStyle {
    /// The look of a text that begins at its position.
    pub(crate) fn left(size: f64, weight: Weight, colour: &'static str) -> Self {
        Self { size, weight, colour, align: Align::Left }
    }

    /// Width in pixels of a text that looks like this.
    pub(crate) fn width(&self, text: &str) -> f64 {
        f64::from(font::width(text, self.size as f32, self.weight))
    }
}

/// How values lie along the vertical axis.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Scale {
    Linear,
    /// Equal ratios; both ends of the axis are above zero.
    Logarithmic,
}

/// A stroke pattern.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Dash {
    Solid,
    /// Long strokes: the second family.
    Dashed,
    /// Points: another type of probe.
    Dotted,
}

/// A line through points; a point without value interrupts it.
pub(crate) struct Line<'a> {
    /// Its name in the legend.
    pub(crate) name: &'a str,
    pub(crate) points: Vec<(f64, Option<f64>)>,
    pub(crate) colour: &'static str,
    /// Pixels.
    pub(crate) width: f64,
    pub(crate) dash: Dash,
    /// Above lines of lower height.
    pub(crate) height: u8,
}

/// How a range is filled.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Fill {
    pub(crate) colour: &'static str,
    /// 0 (nothing) to 1 (hides what is behind).
    pub(crate) opacity: f64,
}

/// A panel that was added to a figure.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PanelIndex(usize);

/// Height of a lane of strokes above a panel, pixels.
pub(crate) const LANE: f64 = 9.0;

/// Words stand on whatever is drawn.
const IN_FRONT: u16 = 1000;

/// Size of the figures at the axes, pixels.
const TICK_SIZE: f64 = 11.5;

impl<'a> Figure<'a> {
    pub(crate) fn new(theme: &'a Theme) -> Self {
        let empty = Vec::new;
        Self {
            theme,
            shades: empty(),
            texts: empty(),
            grids: empty(),
            panels: Vec::new(),
            x_axes: empty(),
            y_axes: empty(),
            legends: empty(),
            series: empty(),
            stack: Stack::default(),
        }
    }

    /// Writes `text` with the top of its line at `y`; whatever XML cannot hold is left out.
    pub(crate) fn text(&mut self, x: f64, y: f64, text: &str, style: TextStyle) {
        let align = match style.align {
            Align::Left => "left",
            Align::Centre => "center",
            Align::Right => "right",
        };
        self.texts.push(json!({
            "type": "text", "x": number(x), "y": number(y), "z": IN_FRONT, "silent": true,
            "style": {
                "text": printable(text), "fill": style.colour, "align": align, "verticalAlign": "top",
                "font": format!("{} {}px {}", style.weight.css(), style.size, font::FAMILY),
            },
        }));
    }

    /// Fills a rectangle; texts written later stand on it.
    pub(crate) fn rect(&mut self, frame: Frame, colour: &str) {
        self.texts.push(filled(frame, colour));
    }

    /// Takes the figures of a panel's vertical axis away: its neighbor's apply, or words replace them.
    pub(crate) fn without_values(&mut self, panel: PanelIndex) {
        if let Some(axis) = self.y_axes.get_mut(panel.0) {
            axis["axisLabel"]["show"] = json!(false);
        }
    }

    /// Adds a panel: a frame with its axes. `labelled` says whether the horizontal axis bears figures.
    pub(crate) fn panel(&mut self, frame: Frame, x: &Axis, y: &Axis, scale: Scale, labelled: bool) -> PanelIndex {
        let index = self.grids.len();
        let theme = self.theme;
        let label = json!({
            "color": theme.muted, "fontSize": TICK_SIZE, "fontFamily": font::FAMILY, "showMinLabel": true, "showMaxLabel": true,
        });
        self.grids.push(json!({
            "left": number(frame.left), "top": number(frame.top),
            "width": number(frame.width), "height": number(frame.height), "containLabel": false, "outerBoundsMode": "none",
        }));
        self.panels.push((frame, Side::new(*x, Scale::Linear)));
        let mut x_label = label.clone();
        x_label["show"] = json!(labelled);
        x_label["margin"] = json!(9);
        self.x_axes.push(json!({
            "type": "value", "gridIndex": index, "min": number(x.min), "max": number(x.max), "interval": number(x.step),
            "axisLine": { "onZero": false, "lineStyle": { "color": theme.axis } },
            "axisTick": { "show": labelled, "lineStyle": { "color": theme.axis } },
            "splitLine": { "show": true, "lineStyle": { "color": theme.grid } },
            "axisLabel": x_label,
        }));
        let mut y_axis = json!({
            "gridIndex": index, "min": number(y.min), "max": number(y.max),
            "axisLine": { "show": false }, "axisTick": { "show": false },
            "splitLine": { "show": true, "lineStyle": { "color": theme.grid } }, "axisLabel": label,
        });
        match scale {
            Scale::Linear => {
                y_axis["type"] = json!("value");
                y_axis["interval"] = number(y.step);
            }
            Scale::Logarithmic => {
                let ticks = logarithmic_ticks(y.min, y.max);
                y_axis["type"] = json!("log");
                y_axis["axisTick"] = json!({ "show": false, "customValues": ticks });
                y_axis["axisLabel"]["customValues"] = json!(ticks);
            }
        }
        self.y_axes.push(y_axis);
        PanelIndex(index)
    }

    pub(crate) fn line(&mut self, panel: PanelIndex, line: &Line<'_>) {
        let dash = match line.dash {
            Dash::Solid => json!("solid"),
            Dash::Dashed => json!([5, 3]),
            Dash::Dotted => json!([1.5, 2.5]),
        };
        // Without "showSymbol" the library goes through all points once more for symbols that are not there.
        self.series.push(json!({
            "type": "line", "name": printable(line.name), "xAxisIndex": panel.0, "yAxisIndex": panel.0,
            "data": points(&line.points), "symbol": "none", "showSymbol": false, "z": line.height, "animation": false,
            "color": line.colour, "emphasis": { "disabled": true },
            "lineStyle": { "color": line.colour, "width": line.width, "type": dash, "join": "round" },
        }));
    }

    /// Fills the space between two heights, `(x, low, high)`; a gap where either is missing.
    ///
    /// It is no line of its own in the legend. Each series takes the library time, whatever it shows. A range that begins where the
    /// one before it ends, or at 0 where the axis does, needs none for what is below it.
    pub(crate) fn range(&mut self, panel: PanelIndex, range: &[(f64, Option<(f64, f64)>)], fill: Fill) {
        let below = if self.stack.carries(panel, range) {
            None
        } else {
            let axis = &self.y_axes[panel.0];
            let floor = range.iter().map(|(x, _)| (*x, 0.0)).collect();
            self.stack = Stack { number: self.stack.number + 1, panel: Some(panel), top: floor };
            let begins_at_floor = axis["type"] == "value" && axis["min"] == 0.0 && self.stack.carries(panel, range);
            (!begins_at_floor).then(|| range.iter().map(|(x, ends)| (*x, ends.map(|(low, _)| low))).collect::<Vec<_>>())
        };
        let rise = range.iter().map(|(x, ends)| (*x, ends.map(|(low, high)| high - low))).collect();
        for (values, opacity) in below.map(|low| (low, 0.0)).into_iter().chain([(rise, fill.opacity)]) {
            self.series.push(json!({
                "type": "line", "xAxisIndex": panel.0, "yAxisIndex": panel.0, "data": points(&values), "symbol": "none", "showSymbol": false,
                "stack": self.stack.number.to_string(), "stackStrategy": "all", "silent": true, "z": 1,
                "animation": false, "emphasis": { "disabled": true },
                "lineStyle": { "opacity": 0 }, "areaStyle": { "color": fill.colour, "opacity": opacity },
            }));
        }
        for (top, (_, ends)) in self.stack.top.iter_mut().zip(range) {
            top.1 = ends.map_or(top.1, |(_, high)| high);
        }
    }

    /// Shades stretches of the horizontal axis behind everything but the grid lines.
    pub(crate) fn shade(&mut self, panel: PanelIndex, stretches: &[(f64, f64)], colour: &str) {
        let (frame, side) = &self.panels[panel.0];
        let place = |value: f64| frame.left + side.part(value).clamp(0.0, 1.0) * frame.width;
        for (from, to) in stretches {
            let (left, right) = (place(*from), place(*to));
            self.shades.push(filled(Frame { left, width: right - left, ..*frame }, colour));
        }
    }

    /// Short strokes above the panel, one at each of these horizontal values; `top` is the upper end of its axis.
    ///
    /// Lane 0 is next to the panel, further lanes are above it.
    pub(crate) fn strokes_above(&mut self, panel: PanelIndex, at: &[f64], top: f64, lane: usize, colour: &str) {
        let data: Vec<_> = at.iter().map(|x| (*x, Some(top))).collect();
        self.series.push(json!({
            "type": "scatter", "xAxisIndex": panel.0, "yAxisIndex": panel.0, "data": points(&data), "clip": false,
            "symbol": "rect", "symbolSize": [1.2, 7], "symbolOffset": [0, number(-6.0 - LANE * lane as f64)], "silent": true, "animation": false,
            "itemStyle": { "color": colour }, "emphasis": { "disabled": true },
        }));
    }

    /// Names lines one below the other, `pitch` pixels apart, each beside a sample of its stroke.
    ///
    /// In an interactive page a click on a name hides its lines. The first name's line has its top at `y`.
    pub(crate) fn legend(&mut self, x: f64, y: f64, pitch: f64, size: f64, names: &[String]) {
        let names: Vec<String> = names.iter().map(|name| printable(name)).collect();
        self.legends.push(json!({
            "left": number(x), "top": number(y), "orient": "vertical", "data": names,
            "itemWidth": 18, "itemHeight": 1, "itemGap": 0, "padding": 0, "selectedMode": "multiple", "align": "left",
            "textStyle": { "color": self.theme.ink, "fontSize": size, "lineHeight": pitch, "fontFamily": font::FAMILY, "padding": [0, 0, 0, 2] },
        }));
    }

    /// The figure as a drawing of this size.
    pub(crate) fn finish(self, width: f64, height: f64, title: &str) -> Drawing {
        let mut option = Map::new();
        option.insert("backgroundColor".into(), json!(self.theme.background));
        option.insert("animation".into(), json!(false));
        option.insert("textStyle".into(), json!({ "fontFamily": font::FAMILY }));
        for (name, parts) in [
            ("grid", self.grids),
            ("xAxis", self.x_axes),
            ("yAxis", self.y_axes),
            ("legend", self.legends),
            ("series", self.series),
            ("graphic", self.shades.into_iter().chain(self.texts).collect()),
        ] {
            if !parts.is_empty() {
                option.insert(name.into(), Value::Array(parts));
            }
        }
        let option = Value::Object(option);
        Drawing { option, width: width as u32, height: height as u32, title: printable(title), nothing: None }
    }
}

/// A filled rectangle as the library reads it.
fn filled(frame: Frame, colour: &str) -> Value {
    json!({
        "type": "rect", "silent": true, "style": { "fill": colour },
        "shape": {
            "x": number(frame.left), "y": number(frame.top), "width": number(frame.width), "height": number(frame.height),
        },
    })
}

/// Points as the library reads them.
fn points(points: &[(f64, Option<f64>)]) -> Value {
    points.iter().map(|(x, y)| json!([number(*x), y.map(number)])).collect()
}

/// A number with six significant figures: half a pixel in a million, and files stay small.
///
/// Not a number and infinity become `null`, a gap.
fn number(value: f64) -> Value {
    if value == 0.0 || !value.is_finite() {
        return json!(if value.is_finite() { Some(0.0) } else { None });
    }
    let decimals = 5 - value.abs().log10().floor() as i32;
    if !(-200..=200).contains(&decimals) {
        return json!(0.0);
    }
    // Divided by a whole power if possible: that gives the nearest float, so few digits print.
    let rounded = if decimals >= 0 {
        let power = 10_f64.powi(decimals);
        (value * power).round() / power
    } else {
        let power = 10_f64.powi(-decimals);
        (value / power).round() * power
    };
    json!(rounded)
}

/// A line of text as it is drawn: without what steers, which XML 1.0 (section 2.2) has no way to write either.
fn printable(text: &str) -> String {
    printable::line(text).into_owned()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_keep_six_figures_and_never_turn_into_words() {
        assert_eq!(number(1.0 / 3.0), json!(0.333_333));
        assert_eq!(number(123_456_789.0), json!(123_457_000.0));
        assert_eq!(number(-0.1), json!(-0.1));
        assert_eq!(number(0.0), json!(0.0));
        for nothing in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY] {
            assert_eq!(number(nothing), Value::Null);
        }
        for extreme in [f64::MAX, f64::MIN_POSITIVE, 1e300, -1e-300] {
            assert!(number(extreme).as_f64().is_some_and(f64::is_finite));
        }
    }

    #[test]
    fn ranges_upon_each_other_are_one_stack() {
        let mut figure = Figure::new(&Theme::LIGHT);
        let frame = Frame { left: 0.0, top: 0.0, width: 100.0, height: 100.0 };
        let fill = Fill { colour: Theme::LIGHT.range, opacity: 1.0 };
        let mut stacks = |low: f64, ranges: &[&[Option<(f64, f64)>]]| -> Vec<(String, Value)> {
            let axis = Axis::between(low, 10.0, 2);
            let panel = figure.panel(frame, &axis, &axis, Scale::Linear, false);
            for range in ranges {
                let range: Vec<_> = range.iter().enumerate().map(|(x, ends)| (x as f64, *ends)).collect();
                figure.range(panel, &range, fill);
            }
            let drawn = figure.series.drain(..);
            drawn.map(|series| (series["stack"].as_str().unwrap().to_owned(), series["data"].clone())).collect()
        };
        let named = |stacks: Vec<(String, Value)>| stacks.into_iter().map(|(stack, _)| stack).collect::<Vec<_>>();
        let (lower, upper) = ([Some((0.0, 2.0)), None], [Some((2.0, 5.0)), Some((0.0, 3.0))]);
        let both = stacks(0.0, &[&lower, &upper]);
        assert_eq!(both[0].1, json!([[0.0, 2.0], [1.0, null]]));
        assert_eq!(both[1].1, json!([[0.0, 3.0], [1.0, 3.0]]), "a gap adds nothing to what lies upon it");
        assert_eq!(named(both), ["1", "1"]);
        assert_eq!(named(stacks(0.0, &[&lower, &[Some((2.5, 5.0)), None]])), ["2", "3", "3"]);
        assert_eq!(named(stacks(1.0, &[&lower])), ["4", "4"], "the axis does not begin at 0");
        assert_eq!(named(stacks(0.0, &[&upper])), ["5", "5"]);
    }

    #[test]
    fn text_that_xml_cannot_hold_becomes_spaces() {
        assert_eq!(printable("a\u{1}b\nc\u{FFFF}d é €"), "a b c d é €");
    }

    #[test]
    fn a_frame_places_values_by_its_axis() {
        let frame = Frame { left: 100.0, top: 0.0, width: 700.0, height: 50.0 };
        assert!((frame.x(&Axis::between(0.0, 70.0, 7), 30.0) - 400.0).abs() < 1e-9);
    }
}
