//! Page loads in the summary: load time, time to first byte and time to paint, idle and under load, and failures.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load_statistics::{LoadStatistics, Spread};
use rrul_analysis::metrics::web::page_loads::PageLoads;

use crate::text::lookup_lines::Shape;
use crate::text::score_lines::seconds;
use crate::text::style::unknown;
use crate::text::table::{SectionBody, Table};
use crate::text::words;

/// What stands above the table.
pub(crate) const HEADING: &str = "Page load time";

/// A column of the table. Empty columns are left out.
struct Column {
    head: &'static str,
    cell: fn(&LoadStatistics) -> Option<String>,
    /// The text of an empty cell.
    nothing: &'static str,
}

const COLUMNS: [Column; 9] = [
    time("TTFB P50", |loads| median(loads.first_byte)),
    time("first paint P50", |loads| median(loads.first_contentful_paint)),
    time("largest paint P50", |loads| median(loads.largest_contentful_paint)),
    number("loads", |loads| count(loads.n)),
    number("failed", |loads| count(loads.failed + loads.capped)),
    number("cut off", |loads| count(loads.cut_short)),
    number("broken", |loads| count(loads.broken)),
    number("objects failed", |loads| count(loads.failed_objects)),
    number("fallbacks", |loads| count(loads.fallbacks)),
];

const fn time(head: &'static str, cell: fn(&LoadStatistics) -> Option<String>) -> Column {
    Column { head, cell, nothing: "–" }
}

const fn number(head: &'static str, cell: fn(&LoadStatistics) -> Option<String>) -> Column {
    Column { head, cell, nothing: "0" }
}

fn median(spread: Option<Spread>) -> Option<String> {
    Some(spread?.p50_ns.map_or_else(|| "never".to_owned(), seconds))
}

fn count(number: u64) -> Option<String> {
    (number > 0).then(|| words::count(number))
}

/// The table, and below it why loads failed; none without pages.
pub(crate) fn told(run: &Analysis) -> SectionBody {
    let pages: Vec<&PageLoads> =
        run.page_loads.iter().filter(|page| page.unloaded.is_some() || page.loaded.is_some()).collect();
    if pages.is_empty() {
        return SectionBody::default();
    }
    let conditions = || pages.iter().flat_map(|page| [&page.unloaded, &page.loaded]).flatten();
    let columns: Vec<&Column> =
        COLUMNS.iter().filter(|column| conditions().any(|loads| (column.cell)(loads).is_some())).collect();
    let shape = Shape::of(&pages.iter().map(|page| (page.class, page.family)));
    let mut table = Table::default();
    let heads = ["load time", "vs idle"].into_iter().chain(columns.iter().map(|column| column.head));
    table.named_row("", heads.map(str::to_owned));
    let mut below = Vec::new();
    for page in &pages {
        let name = name(page, &shape);
        table.row([&name]);
        let cells = |loads: &LoadStatistics| -> Vec<String> {
            columns.iter().map(|column| (column.cell)(loads).unwrap_or_else(|| column.nothing.to_owned())).collect()
        };
        let mut row = |name: &str, time: Option<i64>, times: String, loads: &LoadStatistics| {
            let time = time.map_or_else(unknown, seconds);
            table.named_row(name, [time, times].into_iter().chain(cells(loads)));
        };
        if let Some(idle) = &page.unloaded {
            row("  idle", idle.whole_mean_ns(), String::new(), idle);
        }
        if let Some(loaded) = &page.loaded {
            let times = page.slowdown.map_or_else(unknown, |times| format!("{times:.1}x"));
            row("  loaded", loaded.mean_ns, times, loaded);
        }
        let reasons = page.failures.iter().map(|failure| {
            let loads = words::counted(usize::try_from(failure.loads).unwrap_or(usize::MAX), "load");
            format!("  {name}, {loads}: {}", failure.reason)
        });
        below.extend(reasons);
    }
    if pages.iter().filter_map(|page| page.loaded.as_ref()).any(|loaded| loaded.failed + loaded.capped > 0) {
        below.insert(0, "  Under load, loads that failed or timed out count with their time limit.".to_owned());
    }
    SectionBody { table, below, ..SectionBody::default() }
}

fn name(page: &PageLoads, shape: &Shape) -> String {
    let browser = if page.in_browser() { " in a browser" } else { "" };
    let version = page.version.as_ref().map_or_else(String::new, |version| format!(", {version}"));
    format!("{}{browser}{version}{}", page.page, shape.suffix(page.class, page.family))
}
