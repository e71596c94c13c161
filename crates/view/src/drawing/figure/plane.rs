//! Panels with two axes of values, neither of them time, and what is drawn on them: steps, strokes, points.

use serde_json::{Value, json};

use crate::drawing::axis::{Axis, logarithmic_ticks};
use crate::drawing::figure::{
    Align, Figure, Frame, Line, PanelIndex, Scale, TICK_SIZE, TextStyle, number, points, printable,
};
use crate::drawing::font;
use crate::drawing::font::Weight;

/// One axis of a panel.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Side {
    pub(crate) axis: Axis,
    /// How values lie along it.
    pub(crate) scale: Scale,
    /// What is written at it.
    pub(crate) ticks: Ticks,
}

/// What is written at an axis.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Ticks {
    /// Its steps; on a logarithmic axis 1, 2 and 5 times powers of ten.
    Steps,
    /// These words at these values.
    Named(Vec<(f64, String)>),
    /// Nothing, and no lines across the panel.
    None,
}

impl Side {
    /// An axis that bears its steps.
    pub(crate) fn new(axis: Axis, scale: Scale) -> Self {
        Self { axis, scale, ticks: Ticks::Steps }
    }

    /// Where a value lies along it, 0 at its lower end and 1 at its upper.
    pub(crate) fn part(&self, value: f64) -> f64 {
        let Axis { min, max, .. } = self.axis;
        match self.scale {
            Scale::Linear => (value - min) / (max - min),
            Scale::Logarithmic => (value / min).ln() / (max / min).ln(),
        }
    }

    pub(crate) fn reaches(&self, value: f64) -> bool {
        (self.axis.min..=self.axis.max).contains(&value)
    }
}

/// The shape of a step from one point to the next.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Step {
    /// Across first: the value applies from its point on.
    Across,
    /// Up or down first: the value applies up to its point.
    Upright,
}

/// A stroke from one point to another.
pub(crate) type Segment = [(f64, f64); 2];

/// How strokes look.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Stroke {
    pub(crate) colour: &'static str,
    /// Pixels.
    pub(crate) width: f64,
    /// 0 (nothing) to 1 (hides what is behind).
    pub(crate) opacity: f64,
    /// Above what has a lower height.
    pub(crate) height: u8,
}

impl Figure<'_> {
    /// Adds a panel with these axes; the horizontal one bears its figures.
    pub(crate) fn plane(&mut self, frame: Frame, x: &Side, y: &Side) -> PanelIndex {
        let index = self.grids.len();
        self.grids.push(json!({
            "left": number(frame.left), "top": number(frame.top),
            "width": number(frame.width), "height": number(frame.height), "containLabel": false, "outerBoundsMode": "none",
        }));
        self.panels.push((frame, x.clone()));
        let mut across = self.side(x, index);
        across["axisLine"] = json!({ "onZero": false, "lineStyle": { "color": self.theme.axis } });
        across["axisLabel"]["margin"] = json!(9);
        across["axisLabel"]["hideOverlap"] = json!(true);
        self.x_axes.push(across);
        let upright = self.side(y, index);
        self.y_axes.push(upright);
        let style = TextStyle::left(TICK_SIZE, Weight::Regular, self.theme.muted);
        if let Ticks::Named(names) = &x.ticks {
            for (value, name) in names {
                let at = frame.left + x.part(*value) * frame.width;
                let style = TextStyle { align: Align::Centre, ..style };
                self.text(at, frame.top + frame.height + 9.0, name, style);
            }
        }
        if let Ticks::Named(names) = &y.ticks {
            for (value, name) in names {
                let at = frame.top + (1.0 - y.part(*value)) * frame.height;
                self.text(frame.left - 8.0, at - 6.0, name, TextStyle { align: Align::Right, ..style });
            }
        }
        PanelIndex(index)
    }

    fn side(&self, side: &Side, index: usize) -> Value {
        let theme = self.theme;
        let kind = if side.scale == Scale::Logarithmic { "log" } else { "value" };
        let mut axis = json!({
            "type": kind, "gridIndex": index, "min": number(side.axis.min), "max": number(side.axis.max),
            "axisLine": { "show": false }, "axisTick": { "show": false },
            "splitLine": { "show": side.ticks != Ticks::None, "lineStyle": { "color": theme.grid } },
            "axisLabel": {
                "show": side.ticks == Ticks::Steps, "color": theme.muted, "fontSize": TICK_SIZE,
                "fontFamily": font::FAMILY, "showMinLabel": true, "showMaxLabel": true,
            },
        });
        let custom: Option<Vec<Value>> = match (&side.ticks, side.scale) {
            (Ticks::Named(names), _) => Some(names.iter().map(|(value, _)| number(*value)).collect()),
            (Ticks::Steps, Scale::Logarithmic) => {
                Some(logarithmic_ticks(side.axis.min, side.axis.max).into_iter().map(number).collect())
            }
            (Ticks::Steps, Scale::Linear) => {
                axis["interval"] = number(side.axis.step);
                None
            }
            (Ticks::None, _) => None,
        };
        if let Some(values) = custom {
            axis["axisTick"]["customValues"] = json!(values);
            axis["axisLabel"]["customValues"] = json!(values);
        }
        axis
    }

    /// Adds a line that goes from point to point in steps.
    pub(crate) fn steps(&mut self, panel: PanelIndex, line: &Line<'_>, step: Step) {
        self.line(panel, line);
        if let Some(series) = self.series.last_mut() {
            series["step"] = json!(if step == Step::Across { "end" } else { "start" });
            series["lineStyle"]["join"] = json!("miter");
        }
    }

    /// Adds strokes, each apart from the others: bars, boxes, whiskers. They end where they end, without caps.
    pub(crate) fn segments(&mut self, panel: PanelIndex, name: &str, segments: &[Segment], stroke: Stroke) {
        let apart = segments.iter().flat_map(|[from, to]| [(from.0, Some(from.1)), (to.0, Some(to.1)), (to.0, None)]);
        self.series.push(json!({
            "type": "line", "name": printable(name), "xAxisIndex": panel.0, "yAxisIndex": panel.0,
            "data": points(&apart.collect::<Vec<_>>()), "symbol": "none", "showSymbol": false, "z": stroke.height, "animation": false,
            "color": stroke.colour, "emphasis": { "disabled": true }, "connectNulls": false,
            "lineStyle": { "color": stroke.colour, "width": stroke.width, "opacity": stroke.opacity, "cap": "butt" },
        }));
    }

    /// Adds points, `stroke.width` pixels across.
    pub(crate) fn dots(&mut self, panel: PanelIndex, name: &str, at: &[(f64, f64)], stroke: Stroke) {
        let data: Vec<_> = at.iter().map(|(x, y)| (*x, Some(*y))).collect();
        self.series.push(json!({
            "type": "scatter", "name": printable(name), "xAxisIndex": panel.0, "yAxisIndex": panel.0,
            "data": points(&data), "symbol": "circle", "symbolSize": stroke.width, "z": stroke.height, "silent": true,
            "animation": false, "progressive": 0, "emphasis": { "disabled": true },
            "itemStyle": { "color": stroke.colour, "opacity": stroke.opacity },
        }));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_lies_where_its_scale_puts_it() {
        let linear = Side::new(Axis { min: 10.0, max: 20.0, step: 5.0 }, Scale::Linear);
        assert!((linear.part(12.5) - 0.25).abs() < 1e-12);
        let logarithmic = Side::new(Axis { min: 1.0, max: 100.0, step: 1.0 }, Scale::Logarithmic);
        assert!((logarithmic.part(10.0) - 0.5).abs() < 1e-12);
        assert!(logarithmic.reaches(100.0) && !logarithmic.reaches(101.0));
    }
}
