//! Charts that are not over time: the same drawings as `rrul plot` makes, in the colors of the page's theme.

use rrul_analysis::Analysis;
use serde_json::Value;

use super::markup::Markup;
use super::numbers::Numbers;
use super::plot_part::heading;
use crate::chart::Chart;
use crate::chart_named;
use crate::drawing::Drawing;
use crate::error::ViewError;
use crate::theme::Theme;

/// Of one run alone, of a run beside others, and of all runs together.
const ALONE: [&str; 6] = ["ecdf", "ccdf", "box", "page_waterfall", "page_ecdf", "markings"];
const BESIDE: [&str; 1] = ["markings"];
/// Of a tuning session, whose load is changed all the time; alone or beside others.
const TUNED: [&str; 3] = ["tune", "pareto", "markings"];
const TOGETHER: [&str; 4] = ["ecdf", "box", "totals", "page_ecdf"];

/// A drawing with what it answers.
#[derive(Debug, Clone)]
pub(crate) struct PageDrawing {
    about: &'static str,
    name: &'static str,
    /// What the chart library draws.
    pub(crate) option: Value,
    width: u32,
    height: u32,
    nothing: Option<String>,
}

/// Of one run. `beside`: whether others exist, which share most charts.
pub(crate) fn of_one(run: &Analysis, beside: bool) -> Result<Vec<PageDrawing>, ViewError> {
    let names: &[&str] = match (run.tuning(), beside) {
        (Some(_), _) => &TUNED,
        (None, true) => &BESIDE,
        (None, false) => &ALONE,
    };
    drawn(names, &[run])
}

pub(crate) fn of_all(runs: &[&Analysis]) -> Result<Vec<PageDrawing>, ViewError> {
    drawn(&TOGETHER, runs)
}

fn drawn(names: &[&str], runs: &[&Analysis]) -> Result<Vec<PageDrawing>, ViewError> {
    let chosen = names.iter().filter_map(|name| chart_named(name));
    chosen.map(|chart| Ok(of_chart(chart, chart.draw(runs, &Theme::LIGHT)?))).collect()
}

/// What has been drawn as this chart.
pub(crate) fn of_chart(chart: &'static Chart, drawing: Drawing) -> PageDrawing {
    let option = if drawing.nothing.is_some() { Value::Null } else { drawing.option };
    PageDrawing {
        about: chart.about,
        name: chart.name,
        option,
        width: drawing.width,
        height: drawing.height,
        nothing: drawing.nothing,
    }
}

/// What stands above charts that are not over time.
pub(crate) const HEAD: &str = "Distributions and more";

/// Writes them under this heading of this level.
pub(crate) fn write(
    page: &mut Markup,
    drawings: &[PageDrawing],
    (head, level): (&str, usize),
    scope: &str,
    numbers: &mut Numbers,
) {
    if drawings.is_empty() {
        return;
    }
    page.within("section", &[("class", "group")], |page| {
        page.element(heading(level), &[], head);
        for drawing in drawings {
            let number = numbers.drawing().to_string();
            let title = sentence(drawing.about);
            if let Some(why) = &drawing.nothing {
                page.element("p", &[("class", "lacking")], &format!("No chart {}: {why}", drawing.name));
                continue;
            }
            page.within("figure", &[("class", "drawing"), ("data-scope", scope)], |page| {
                page.within("figcaption", &[], |page| page.element(heading(level + 1), &[], &title));
                let size = format!("aspect-ratio:{}/{};max-width:{}px", drawing.width, drawing.height, drawing.width);
                let words = format!("Chart {}: {title} Its figures are in it and in the tables below.", drawing.name);
                page.within(
                    "div",
                    &[("class", "scroll"), ("tabindex", "0"), ("role", "region"), ("aria-label", &title)],
                    |page| {
                        let (width, height) = (drawing.width.to_string(), drawing.height.to_string());
                        let attributes = [
                            ("class", "canvas"),
                            ("role", "img"),
                            ("aria-label", words.as_str()),
                            ("data-drawing", &number),
                            ("data-width", &width),
                            ("data-height", &height),
                            ("style", &size),
                        ];
                        page.within("div", &attributes, |_| {});
                    },
                );
            });
        }
    });
}

/// A question as a sentence.
fn sentence(about: &str) -> String {
    let mut letters = about.chars();
    letters.next().map_or_else(String::new, |first| first.to_uppercase().chain(letters).collect())
}
