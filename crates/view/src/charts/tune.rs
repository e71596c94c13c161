//! A tuning session: what each rate delivers and how much delay it leaves, with the rate of the line and the recommended one.

use rrul_analysis::Analysis;
use rrul_analysis::tuning::result::{JudgedTrial, TunedDirection, TuningResult, Verdict};
use rrul_analysis::tuning::trial::TrialDirection;
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::chart::{Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit, tick_words};
use crate::drawing::figure::{Align, Dash, Frame, Line, PanelIndex, Scale, Side, Stroke, TextStyle, Ticks};
use crate::drawing::font::Weight;
use crate::drawing::page::{BESIDE_LEFT, PITCH, PLANE_WIDTH, Page, PlanePlan, SIDE_RIGHT, fitted};
use crate::text::tuning::figures_table::{delay_change, direction_figures};
use crate::text::tuning::outcome_words::{lower, outcome};
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Pixels.
const HEIGHT: f64 = 210.0;
/// A delay below this is drawn at it, nanoseconds: the axis has equal ratios.
const LEAST: f64 = 0.5e6;
/// Names of lines and points.
const EQUAL: &str = "delivered = set";
const LIMIT: &str = "limit";

/// The chart that shows at which rates the queue is in the shaper, and at which on the line.
pub(crate) const CHART: Chart = Chart {
    name: "tune",
    about: "delivered rate and queueing delay against the rate that a shaper was set to",
    runs: 1..=1,
    draw: Draw::Runs(draw),
};

/// What became of a trial in one direction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Shaper,
    Line,
    Neither,
    Unjudged,
    Discarded,
}

impl Kind {
    const ALL: [Self; 5] = [Self::Shaper, Self::Line, Self::Neither, Self::Unjudged, Self::Discarded];

    fn name(self) -> &'static str {
        match self {
            Self::Shaper => "trial: queue in the shaper",
            Self::Line => "trial: queue on the line",
            Self::Neither => "trial: line not saturated",
            Self::Unjudged => "trial",
            Self::Discarded => "trial discarded",
        }
    }

    fn colour(self, theme: &Theme) -> &'static str {
        match self {
            Self::Shaper | Self::Unjudged => theme.best_effort,
            Self::Line => theme.signaling,
            Self::Neither => theme.other_class,
            Self::Discarded => theme.range,
        }
    }
}

/// A trial in one direction.
struct Point<'a> {
    number: u32,
    /// The rate that was set, bit/s; `None` without a shaper.
    set: Option<f64>,
    figures: &'a TrialDirection,
    kind: Kind,
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let run = runs[0];
    let mut page = Page::timeless(theme, title(run));
    page.subtitle(&words::circumstances(run));
    let Some(result) = run.tuning() else {
        page.message("Nothing to draw. No shaper was set in this run; rrul tune and rrul sweep do so.");
        return page.finish();
    };
    page.statement(&statement(result));
    let mut drawn = false;
    for direction in Direction::ALL {
        let points = points(result, direction);
        if points.iter().any(|point| point.figures.delivered.is_some()) {
            panels(&mut page, result, direction, &points);
            drawn = true;
        }
    }
    if !drawn {
        page.message("Nothing to draw. No trial was measured to its end.");
        return page.finish();
    }
    page.footnote(
        "Each point is a trial: the shaper was set to one rate while the load went on. Upper panels: on the dashed line everything \
         that the shaper lets pass arrives; beyond the rate of the line (gray band, 90 % interval) more is set than it carries. Lower panels: \
         one-way queueing delay of best-effort probes, P95 with its 95 % interval, on a scale of equal ratios.",
    );
    page.finish()
}

fn title(run: &Analysis) -> String {
    let own = run.test.title.trim();
    if !own.is_empty() {
        return own.to_owned();
    }
    let target = run.tuning().map(|result| result.shaper.target.trim()).filter(|target| !target.is_empty());
    let of = target.map_or_else(String::new, |target| format!(" — {target}"));
    format!("Rates of a shaper{of}")
}

/// The outcome, with what it gains.
fn statement(result: &TuningResult) -> String {
    let gain = delay_change(result).map_or_else(String::new, |(before, after)| {
        format!(" Queueing delay under load falls from {before} to {after} (P95).")
    });
    format!("{}{gain}", outcome(result))
}

/// The trials that say something of a direction.
fn points(result: &TuningResult, direction: Direction) -> Vec<Point<'_>> {
    let judged = |judged: &&JudgedTrial| judged.trial.step.direction.is_none_or(|only| only == direction);
    result.trials.iter().filter(judged).map(|judged| Point::of(judged, direction)).collect()
}

impl<'a> Point<'a> {
    fn of(judged: &'a JudgedTrial, direction: Direction) -> Self {
        let kind = match judged.verdicts.get(direction) {
            _ if judged.discarded.is_some() => Kind::Discarded,
            Some(Verdict::ShaperHolds) => Kind::Shaper,
            Some(Verdict::LineHolds) => Kind::Line,
            Some(Verdict::NotSaturated) => Kind::Neither,
            None => Kind::Unjudged,
        };
        let step = &judged.trial.step;
        let set = step.rates.direction(direction).map(|rate| rate.0 as f64);
        Self { number: step.number, set, figures: judged.trial.directions.get(direction), kind }
    }
}

/// Where rates lie across both panels of a direction.
struct Across {
    side: Side,
    unit: Unit,
    /// The right end of the rates; what was not shaped stands beyond it.
    end: f64,
    unshaped: f64,
}

impl Across {
    fn new(points: &[Point<'_>], tuned: Option<&TunedDirection>) -> Self {
        let capacity = tuned.and_then(|tuned| tuned.capacity);
        let delivered = points.iter().filter_map(|point| point.figures.delivered).map(|rate| rate.0 as f64);
        let sets: Vec<f64> = points.iter().filter_map(|point| point.set).collect();
        let ends = capacity.iter().flat_map(|capacity| [capacity.low.0 as f64, capacity.high.0 as f64]);
        let known: Vec<f64> =
            if sets.is_empty() { delivered.collect() } else { sets.into_iter().chain(ends).collect() };
        let (low, high) = extent(&known);
        let unit = Unit::of_rates(high);
        let axis = Axis::covering(low * 0.97 / unit.size, high * 1.02 / unit.size, 8);
        let without = points.iter().any(|point| point.set.is_none());
        let unshaped = axis.max + axis.length() * 0.09;
        let max = if without { axis.max + axis.length() * 0.17 } else { axis.max };
        let count = ((axis.max - axis.min) / axis.step).round() as u32;
        let mut ticks: Vec<(f64, String)> =
            (0..=count).map(|tick| axis.min + f64::from(tick) * axis.step).map(|at| (at, tick_words(at))).collect();
        if without {
            ticks.push((unshaped, "unshaped".to_owned()));
        }
        let side = Side { axis: Axis { max, ..axis }, scale: Scale::Linear, ticks: Ticks::Named(ticks) };
        Self { side, unit, end: axis.max, unshaped }
    }

    fn position(&self, point: &Point<'_>) -> f64 {
        point.set.map_or(self.unshaped, |set| set / self.unit.size)
    }
}

fn extent(values: &[f64]) -> (f64, f64) {
    (values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(0.0, f64::max))
}

fn panels(page: &mut Page<'_>, result: &TuningResult, direction: Direction, points: &[Point<'_>]) {
    let tuned = result.directions.get(direction).as_ref();
    let across = Across::new(points, tuned);
    rate_panel(page, result, direction, points, &across);
    delay_panel(page, tuned, direction, points, &across);
}

fn rate_panel(page: &mut Page<'_>, result: &TuningResult, direction: Direction, points: &[Point<'_>], across: &Across) {
    let theme = page.theme;
    let tuned = result.directions.get(direction).as_ref();
    let scaled = |rate: u64| rate as f64 / across.unit.size;
    let at = |point: &Point<'_>| Some((across.position(point), scaled(point.figures.delivered?.0)));
    let heights: Vec<f64> = points.iter().filter_map(at).map(|(_, y)| y).chain([across.end]).collect();
    let (low, high) = extent(&heights);
    let y = Side::new(Axis::covering(low.min(across.side.axis.min), high * 1.03, 5), Scale::Linear);
    let rows = direction_figures(result, direction);
    let title = format!("{}: delivered rate", direction_word(direction));
    let plan = PlanePlan {
        title: &title,
        unit: across.unit.name.to_owned(),
        note: None,
        x: across.side.clone(),
        x_words: String::new(),
        y,
        width: PLANE_WIDTH,
        height: HEIGHT,
        side_height: PITCH * 2.0 * rows.len() as f64,
    };
    let (panel, frame) = page.plane(&plan);
    regions(page, panel, frame, tuned, across, true);
    let (from, to) = (across.side.axis.min.max(plan.y.axis.min), across.end.min(plan.y.axis.max));
    let equal = vec![(from, Some(from)), (to, Some(to))];
    page.figure.line(
        panel,
        &Line { name: EQUAL, points: equal, colour: theme.muted, width: 1.4, dash: Dash::Dashed, height: 2 },
    );
    dots(page, panel, points, at);
    let label = |point: &Point<'_>| point.figures.delivered.map(|delivered| format!("{delivered} arrive"));
    mark_chosen(page, (panel, frame, &plan), (tuned, None), points, at, label);
    beside(page, frame, &rows);
}

fn delay_panel(
    page: &mut Page<'_>,
    tuned: Option<&TunedDirection>,
    direction: Direction,
    points: &[Point<'_>],
    across: &Across,
) {
    let theme = page.theme;
    let measured = || points.iter().filter_map(|point| point.figures.queueing_delay);
    let limit = tuned.and_then(|tuned| tuned.limit);
    let nanoseconds = |delay: Delay| (delay.0 as f64).max(LEAST);
    let known: Vec<f64> =
        measured().flat_map(|delay| [delay.p95_low, delay.p95_high]).chain(limit).map(nanoseconds).collect();
    if known.is_empty() {
        page.remark(&format!("{}: no probes arrived, so its queueing delay is unknown.", direction_word(direction)));
        return;
    }
    let (low, high) = extent(&known);
    let unit = Unit::of_delays(high);
    let y = Side::new(Axis::logarithmic(low / unit.size, high / unit.size), Scale::Logarithmic);
    let kinds: Vec<Kind> =
        Kind::ALL.into_iter().filter(|kind| points.iter().any(|point| point.kind == *kind)).collect();
    let title = format!("{}: queueing delay, P95", direction_word(direction));
    let plan = PlanePlan {
        title: &title,
        unit: unit.name.to_owned(),
        note: None,
        x: across.side.clone(),
        x_words: format!("{} rate that the shaper was set to, {}", lower(direction), across.unit.name),
        y,
        width: PLANE_WIDTH,
        height: HEIGHT,
        side_height: PITCH * (kinds.len() as f64 + 3.0),
    };
    let (panel, frame) = page.plane(&plan);
    regions(page, panel, frame, tuned, across, false);
    let scaled = |delay: Delay| nanoseconds(delay) / unit.size;
    let limit_top = limit.map(|limit| frame.top + (1.0 - plan.y.part(scaled(limit))) * frame.height);
    if let Some((limit, place)) = limit.zip(limit_top) {
        let (axis, height) = (&across.side.axis, scaled(limit));
        let points = vec![(axis.min, Some(height)), (axis.max, Some(height))];
        let colour = theme.ink;
        page.figure.line(panel, &Line { name: LIMIT, points, colour, width: 1.2, dash: Dash::Dotted, height: 2 });
        let style = TextStyle::left(11.5, Weight::SemiBold, theme.ink);
        page.figure.text(frame.left + 6.0, place - 16.0, &format!("limit {limit}"), style);
    }
    let at = |point: &Point<'_>| Some((across.position(point), scaled(point.figures.queueing_delay?.p95)));
    for kind in Kind::ALL {
        let of_kind = points.iter().filter(|point| point.kind == kind);
        let interval = |point: &Point<'_>| {
            let delay = point.figures.queueing_delay?;
            let x = across.position(point);
            Some([(x, scaled(delay.p95_low)), (x, scaled(delay.p95_high))])
        };
        let intervals: Vec<_> = of_kind.filter_map(interval).collect();
        let stroke = Stroke { colour: kind.colour(theme), width: 1.6, opacity: 0.7, height: 3 };
        if !intervals.is_empty() {
            page.figure.segments(panel, kind.name(), &intervals, stroke);
        }
    }
    dots(page, panel, points, at);
    let label = |point: &Point<'_>| point.figures.queueing_delay.map(|delay| format!("{} at P95", delay.p95));
    mark_chosen(page, (panel, frame, &plan), (tuned, limit_top), points, at, label);
    legend(page, frame, &kinds, limit.is_some());
}

/// Names the colors of the points, and the lines.
fn legend(page: &mut Page<'_>, frame: Frame, kinds: &[Kind], limit: bool) {
    let style = TextStyle::left(12.0, Weight::Regular, page.theme.ink);
    let mut top = frame.top;
    for kind in kinds {
        let sample = Frame { left: BESIDE_LEFT + 5.0, top: top + 2.5, width: 9.0, height: 9.0 };
        page.figure.rect(sample, kind.colour(page.theme));
        page.figure.text(BESIDE_LEFT + 22.0, top, kind.name(), style);
        top += PITCH;
    }
    let lines: Vec<String> = [EQUAL].into_iter().chain(limit.then_some(LIMIT)).map(str::to_owned).collect();
    page.figure.legend(BESIDE_LEFT, top, PITCH, 12.0, &lines);
}

/// Shades where the queue is on the line, and the interval of its rate; names the regions above the upper panel.
fn regions(
    page: &mut Page<'_>,
    panel: PanelIndex,
    frame: Frame,
    tuned: Option<&TunedDirection>,
    across: &Across,
    named: bool,
) {
    let Some(capacity) = tuned.and_then(|tuned| tuned.capacity) else { return };
    let theme = page.theme;
    let axis = &across.side.axis;
    let clamped = |rate: u64| (rate as f64 / across.unit.size).clamp(axis.min, across.end);
    let (low, median, high) = (clamped(capacity.low.0), clamped(capacity.median.0), clamped(capacity.high.0));
    page.figure.shade(panel, &[(high, axis.max)], theme.web_shade);
    // A band of a few pixels at least, or it is not seen.
    let half = ((high - low) / 2.0).max(axis.length() * 0.003);
    page.figure.shade(panel, &[(median - half, median + half)], theme.range);
    if !named {
        return;
    }
    let style = TextStyle { align: Align::Centre, ..TextStyle::left(11.5, Weight::SemiBold, theme.muted) };
    for (from, to, text) in [(axis.min, median, "queue in the shaper"), (median, axis.max, "queue on the line")] {
        let (left, right) = (frame.x(axis, from), frame.x(axis, to));
        if right - left > style.width(text) + 8.0 {
            page.figure.text(f64::midpoint(left, right), frame.top - 15.0, text, style);
        }
    }
}

fn dots(page: &mut Page<'_>, panel: PanelIndex, points: &[Point<'_>], at: impl Fn(&Point<'_>) -> Option<(f64, f64)>) {
    for kind in Kind::ALL {
        let places: Vec<(f64, f64)> = points.iter().filter(|point| point.kind == kind).filter_map(&at).collect();
        if !places.is_empty() {
            let stroke = Stroke { colour: kind.colour(page.theme), width: 9.0, opacity: 1.0, height: 5 };
            page.figure.dots(panel, kind.name(), &places, stroke);
        }
    }
}

/// Rings the recommended trial and writes its figure beside it, away from a line at a height.
fn mark_chosen(
    page: &mut Page<'_>,
    (panel, frame, plan): (PanelIndex, Frame, &PlanePlan<'_>),
    (tuned, line): (Option<&TunedDirection>, Option<f64>),
    points: &[Point<'_>],
    at: impl Fn(&Point<'_>) -> Option<(f64, f64)>,
    label: impl Fn(&Point<'_>) -> Option<String>,
) {
    let Some(chosen) = tuned.and_then(|tuned| tuned.chosen) else { return };
    let Some(point) = points.iter().find(|point| point.number == chosen.trial) else { return };
    let Some((x, y)) = at(point) else { return };
    let theme = page.theme;
    for (width, colour, height) in
        [(19.0, theme.ink, 6), (14.0, theme.background, 7), (9.0, point.kind.colour(theme), 8)]
    {
        page.figure.dots(panel, "recommended", &[(x, y)], Stroke { colour, width, opacity: 1.0, height });
    }
    let place = (frame.left + plan.x.part(x) * frame.width, frame.top + (1.0 - plan.y.part(y)) * frame.height);
    let figure = label(point).map_or_else(String::new, |figure| format!(", {figure}"));
    let text = format!("set to {}{figure}", chosen.rate);
    let style = TextStyle::left(12.5, Weight::SemiBold, theme.ink);
    // To the left of the point, where nothing else is; to the right where that has no room.
    let room = place.0 - frame.left - 20.0;
    let fits = style.width(&text) <= room;
    let (left, align) = if fits { (place.0 - 15.0, Align::Right) } else { (place.0 + 15.0, Align::Left) };
    let above = (place.1 - 24.0).max(frame.top + 2.0);
    let crossed = line.is_some_and(|line| (above - 2.0..above + 18.0).contains(&line));
    let top = if crossed { (place.1 + 9.0).min(frame.top + frame.height - 18.0) } else { above };
    page.figure.text(left, top, &text, TextStyle { align, ..style });
}

/// The figures of a direction beside its panel: a name, and its value below.
fn beside(page: &mut Page<'_>, frame: Frame, rows: &[(&'static str, String)]) {
    let name = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
    let value = TextStyle::left(14.0, Weight::SemiBold, page.theme.ink);
    let mut y = frame.top;
    for (what, figure) in rows {
        page.figure.text(BESIDE_LEFT, y, what, name);
        page.figure.text(BESIDE_LEFT, y + 14.0, &fitted(figure, value, SIDE_RIGHT - BESIDE_LEFT), value);
        y += PITCH * 2.0;
    }
}
