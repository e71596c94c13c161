//! The heading of a chart of one run or of many.

use rrul_analysis::Analysis;

use crate::drawing::figure::TextStyle;
use crate::drawing::font::Weight;
use crate::drawing::page::{Page, fitted};
use crate::text::words;
use crate::theme::Theme;

/// Most runs that a title names.
const NAMED: usize = 3;

/// A page of panels that are not over time, with title and warnings of these runs.
pub(crate) fn headed<'a>(theme: &'a Theme, runs: &[&Analysis]) -> Page<'a> {
    if let [run] = runs {
        let mut page = Page::timeless(theme, words::title(run));
        page.subtitle(&words::circumstances(run));
        // The rules are those of one test with one setting; a tuning session judges each of its trials by itself.
        if run.tuning().is_none() {
            page.doubts(words::doubts(runs, &[words::title(run)]).as_deref());
        }
        return page;
    }
    let names = words::run_names(runs);
    let title = if names.len() <= NAMED { names.join(" and ") } else { words::counted(names.len(), "run") };
    let mut page = Page::timeless(theme, title);
    page.doubts(words::doubts(runs, &names).as_deref());
    page
}

/// Names of runs, each cut to what fits into so many pixels at 12 pixels' height.
pub(crate) fn short_names(runs: &[&Analysis], theme: &Theme, room: f64) -> Vec<String> {
    let style = TextStyle::left(12.0, Weight::Regular, theme.ink);
    words::run_names(runs).iter().map(|name| fitted(name, style, room)).collect()
}
