//! Delay against rate of every setting: which settings no other one beats in both.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use crate::chart::{ANY, Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit, figures};
use crate::drawing::figure::{Dash, Line, Scale, Side, Step, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::name_room::{Area, NameRoom};
use crate::drawing::page::{BESIDE_LEFT, PITCH, PLANE_WIDTH, Page, PlanePlan, SIDE_RIGHT, fitted};
use crate::panels::run_heading::headed;
use crate::text::tuning::outcome_words::lower;
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Pixels.
const HEIGHT: f64 = 260.0;
/// A delay below this is drawn at it, nanoseconds: the axis has equal ratios.
const LEAST: f64 = 0.5e6;
/// Most settings named beside a panel.
const NAMED: usize = 14;
/// Reach of a point, and of the ring around the recommended one, pixels.
const DOT: f64 = 4.5;
const RING: f64 = 9.5;
const NAME_HEIGHT: f64 = 15.0;
const FRONT: &str = "Pareto front";

/// The chart that shows what each setting trades between rate and delay.
pub(crate) const CHART: Chart = Chart {
    name: "pareto",
    about: "goodput against queueing delay of each setting, with the Pareto front",
    runs: 1..=ANY,
    draw: Draw::Runs(draw),
};

/// One setting in one direction.
#[derive(Debug, Clone, PartialEq)]
struct Setting {
    name: String,
    /// Nanoseconds.
    delay: f64,
    /// bit/s.
    rate: f64,
    chosen: bool,
}

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let mut page = headed(theme, runs);
    let mut drawn = false;
    for direction in Direction::ALL {
        let settings = settings(runs, direction);
        if !settings.is_empty() {
            panel(&mut page, direction, &settings);
            drawn = true;
        }
    }
    if !drawn {
        page.message("Nothing to draw. No setting has both a rate and a queueing delay.");
        return page.finish();
    }
    page.footnote(
        "Each point is a setting: goodput of the load, and one-way queueing delay under load at P95. Better is up and to the left. \
         The line joins the settings that no other one beats in both rate and delay, in blue. A ring marks the recommended one.",
    );
    page.finish()
}

/// The trials of tuning sessions, and each other run as a whole.
fn settings(runs: &[&Analysis], direction: Direction) -> Vec<Setting> {
    let names = words::run_names(runs);
    runs.iter().zip(names).flat_map(|(run, name)| of_run(run, &name, direction, runs.len() > 1)).collect()
}

fn of_run(run: &Analysis, name: &str, direction: Direction, several: bool) -> Vec<Setting> {
    let Some(result) = run.tuning() else {
        let queueing = &run.one_way_delay.direction(direction).queueing_delay;
        let delay = queueing.load.as_ref().and_then(|load| load.p95);
        let goodput = run.goodput(direction);
        let whole = delay.filter(|_| !goodput.flows.is_empty()).map(|delay| Setting {
            name: name.to_owned(),
            delay: delay.0 as f64,
            rate: goodput.sum.0 as f64,
            chosen: false,
        });
        return whole.into_iter().collect();
    };
    let tuned = result.directions.get(direction).as_ref();
    let judged = result.trials.iter().filter(|judged| {
        judged.discarded.is_none() && judged.trial.step.direction.is_none_or(|only| only == direction)
    });
    let setting = |judged: &rrul_analysis::tuning::result::JudgedTrial| {
        let figures = judged.trial.directions.get(direction);
        let set = judged.trial.step.rates.direction(direction);
        let set = set.map_or_else(|| "unshaped".to_owned(), |rate| rate.to_string());
        Some(Setting {
            name: if several { format!("{name}: {set}") } else { set },
            delay: figures.queueing_delay?.p95.0 as f64,
            rate: figures.goodput.or(figures.delivered)?.0 as f64,
            chosen: tuned.and_then(|tuned| tuned.chosen).is_some_and(|chosen| chosen.trial == judged.trial.step.number),
        })
    };
    judged.filter_map(setting).collect()
}

/// The settings that no other one beats in both, from the least delay on.
fn front(settings: &[Setting]) -> Vec<&Setting> {
    let beaten = |one: &Setting| {
        settings.iter().any(|other| {
            other.delay <= one.delay && other.rate >= one.rate && (other.delay < one.delay || other.rate > one.rate)
        })
    };
    let mut front: Vec<&Setting> = settings.iter().filter(|one| !beaten(one)).collect();
    front.sort_by(|a, b| a.delay.total_cmp(&b.delay));
    front
}

fn panel(page: &mut Page<'_>, direction: Direction, settings: &[Setting]) {
    let theme = page.theme;
    let clamped = |setting: &Setting| setting.delay.max(LEAST);
    let ends = |of: &dyn Fn(&Setting) -> f64| {
        (settings.iter().map(of).fold(f64::INFINITY, f64::min), settings.iter().map(of).fold(0.0, f64::max))
    };
    let ((least, most), (low, high)) = (ends(&clamped), ends(&|setting| setting.rate));
    let (delay_unit, rate_unit) = (Unit::of_delays(most), Unit::of_rates(high));
    let front = front(settings);
    let x =
        Side::new(Axis::logarithmic(least * 0.9 / delay_unit.size, most * 1.1 / delay_unit.size), Scale::Logarithmic);
    let y = Side::new(Axis::covering(low * 0.97 / rate_unit.size, high * 1.03 / rate_unit.size, 5), Scale::Linear);
    let plan = PlanePlan {
        title: direction_word(direction),
        unit: format!("goodput, {}", rate_unit.name),
        note: None,
        x,
        x_words: format!("{} queueing delay under load, P95, {}", lower(direction), delay_unit.name),
        y,
        width: PLANE_WIDTH,
        height: HEIGHT,
        side_height: PITCH * (front.len().min(NAMED) as f64 + 3.0),
    };
    let (panel, frame) = page.plane(&plan);
    let at = |setting: &Setting| (clamped(setting) / delay_unit.size, setting.rate / rate_unit.size);
    let points = front.iter().map(|setting| at(setting)).map(|(x, y)| (x, Some(y))).collect();
    let line = Line { name: FRONT, points, colour: theme.muted, width: 1.6, dash: Dash::Solid, height: 3 };
    page.figure.steps(panel, &line, Step::Across);
    let style = TextStyle::left(11.0, Weight::Regular, theme.ink);
    let pixel_of = |(x, y): (f64, f64)| {
        (frame.left + plan.x.part(x) * frame.width, frame.top + (1.0 - plan.y.part(y)) * frame.height)
    };
    let on_front = |setting: &Setting| front.iter().any(|one| std::ptr::eq(*one, setting));
    for setting in settings {
        let colour = if on_front(setting) { theme.best_effort } else { theme.axis };
        let place = at(setting);
        if setting.chosen {
            for (width, colour, height) in [(2.0 * RING, theme.ink, 4), (2.0 * RING - 5.0, theme.background, 5)] {
                page.figure.dots(panel, "recommended", &[place], Stroke { colour, width, opacity: 1.0, height });
            }
        }
        page.figure.dots(panel, &setting.name, &[place], Stroke { colour, width: 2.0 * DOT, opacity: 1.0, height: 6 });
    }
    let reach = |setting: &Setting| if setting.chosen { RING } else { DOT };
    let mut room = NameRoom::new(Area { left: frame.left, top: frame.top, width: frame.width, height: frame.height });
    for setting in settings {
        room.take(Area::around(pixel_of(at(setting)), reach(setting)));
    }
    for pair in front.windows(2) {
        let (from, to) = (pixel_of(at(pair[0])), pixel_of(at(pair[1])));
        let corner = (to.0, from.1);
        room.take(Area::between(from, corner));
        room.take(Area::between(corner, to));
    }
    // The recommended setting is named first, then those on the front, as far as names have room.
    let mut by_weight: Vec<&Setting> = settings.iter().collect();
    by_weight.sort_by_key(|setting| (!setting.chosen, !on_front(setting)));
    for setting in by_weight {
        if let Some(area) = room.place(pixel_of(at(setting)), reach(setting), style.width(&setting.name), NAME_HEIGHT) {
            page.figure.text(area.left, area.top, &setting.name, style);
        }
    }
    let head = TextStyle::left(11.5, Weight::Regular, theme.muted);
    page.figure.text(
        BESIDE_LEFT,
        frame.top,
        &format!("On the front: setting, {}, {}", rate_unit.name, delay_unit.name),
        head,
    );
    let cell = TextStyle::left(12.0, Weight::Regular, theme.ink);
    let mut top = frame.top + PITCH + 2.0;
    for setting in front.iter().take(NAMED) {
        let (delay, rate) = at(setting);
        let mark = if setting.chosen { ", recommended" } else { "" };
        let text = format!("{}: {}, {}{mark}", setting.name, figures(rate), figures(delay));
        page.figure.text(BESIDE_LEFT, top, &fitted(&text, cell, SIDE_RIGHT - BESIDE_LEFT), cell);
        top += PITCH;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_front_has_what_no_other_beats_in_both() {
        let setting = |name: &str, delay: f64, rate: f64| Setting { name: name.to_owned(), delay, rate, chosen: false };
        let all = [setting("a", 5.0, 10.0), setting("b", 2.0, 9.0), setting("c", 6.0, 9.5), setting("d", 9.0, 11.0)];
        let names: Vec<&str> = front(&all).iter().map(|one| one.name.as_str()).collect();
        assert_eq!(names, ["b", "a", "d"]);
        let alike = [setting("a", 5.0, 10.0), setting("b", 5.0, 10.0)];
        assert_eq!(front(&alike).len(), 2, "neither beats the other");
    }
}
