//! What a page shows over time of each run, on axes that all runs share, and of several runs together.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;

use super::palette::Palette;
use super::plot::{Plot, Vertical};
use crate::axis::{Axis, Unit};
use crate::charts::OVER_TIME;
use crate::charts::comparison::delay_axis;
use crate::delay_panel::{increase, loss_strokes, nanoseconds, pooled_packets};
use crate::figure::{Dash, Fill, Scale};
use crate::page::{time_axis, unloaded};
use crate::rate_panel::direction_word;
use crate::run_colours::run_colours;
use crate::text::{quantile, unknown};
use crate::theme::Theme;
use crate::time_chart::{Scene, Shown};
use crate::time_panel::{Area, Quantity, TimeLine, TimePanel, shared_top};
use crate::words;

/// Points of all lines together: enough to zoom into, and a page of ten runs stays below three million octets.
const POINTS: f64 = 220_000.0;
/// Most bins, and fewest, that a line is drawn with.
const MOST_BINS: f64 = 600.0;
const FEWEST_BINS: f64 = 120.0;
/// Bins of delay are no finer, seconds.
const FINEST: f64 = 0.2;
/// Pixels.
const DELAY_HEIGHT: f64 = 300.0;
const RATE_HEIGHT: f64 = 180.0;

/// A panel, and the words beside it.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
    /// What is drawn.
    pub(crate) plot: Plot,
    /// Unit, and how values are shown in it.
    pub(crate) how: String,
    /// What its axis does not reach.
    pub(crate) beyond: Option<String>,
    /// What the one large figure is, and the figure.
    pub(crate) headline: Option<(String, String)>,
    /// What the figures beside the names are.
    pub(crate) heads: Vec<&'static str>,
    /// For each line its figures.
    pub(crate) figures: Vec<Vec<String>>,
    /// For each row, from the top, its name and figure.
    pub(crate) rows: Vec<(String, String)>,
    /// Smaller words.
    pub(crate) facts: Vec<String>,
}

/// Panels that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    /// What they are about.
    pub(crate) title: &'static str,
    /// Whether they are shown only to those who ask.
    pub(crate) folded: bool,
    /// From the top.
    pub(crate) panels: Vec<Panel>,
    /// What the run does not have.
    pub(crate) lacking: Vec<String>,
    /// How to read them.
    pub(crate) notes: Vec<String>,
}

/// The groups of each run.
pub(crate) fn of_each(runs: &[&Analysis], palette: &Palette) -> Vec<Vec<Group>> {
    let scene = scene(runs);
    let shown: Vec<Vec<Shown>> =
        runs.iter().map(|run| OVER_TIME.iter().map(|entry| (entry.show)(run, &scene)).collect()).collect();
    let top = |place: usize, axis: &str| {
        shared_top(shown.iter().flat_map(|run| &run[place].panels).filter(|panel| panel.axis == axis))
    };
    let mut all = Vec::new();
    for (run, shown) in runs.iter().zip(&shown) {
        let mut groups: Vec<Group> = Vec::new();
        for (place, (entry, shown)) in OVER_TIME.iter().zip(shown).enumerate() {
            if groups.last().is_none_or(|group| group.title != entry.group) {
                let (panels, lacking, notes) = (Vec::new(), Vec::new(), Vec::new());
                groups.push(Group { title: entry.group, folded: entry.folded, panels, lacking, notes });
            }
            let Some(group) = groups.last_mut() else { continue };
            let panels = shown.panels.iter().filter(|panel| panel.has_values());
            group.panels.extend(panels.map(|panel| finished(panel, top(place, panel.axis), run, palette)));
            join(&mut group.lacking, &shown.lacking);
            // How to read what is not there is no use.
            if !shown.panels.is_empty() {
                join(&mut group.notes, &shown.notes);
            }
        }
        all.push(groups);
    }
    all
}

/// Adds what is not there yet.
fn join(all: &mut Vec<String>, more: &[String]) {
    for text in more.iter().filter(|text| !text.is_empty()) {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
}

/// The time axis of all, and bins so fine that all lines together keep within their room.
fn scene(runs: &[&Analysis]) -> Scene<'static> {
    let lines: usize = runs.iter().map(|run| lines_of(run)).sum();
    let most_bins = (POINTS / lines.max(1) as f64).clamp(FEWEST_BINS, MOST_BINS);
    Scene { theme: &Theme::LIGHT, time: time_axis(runs), most_bins }
}

/// About how many lines the panels of a run have. Streams have theirs in three panels, and seven of TCP.
fn lines_of(run: &Analysis) -> usize {
    let streams = run.up.flows.len() + run.down.flows.len();
    let cores: usize = run.host_series.iter().map(|host| host.cores.len()).sum();
    4 * streams + 7 * run.tcp_series.len() + 3 * (run.delay_flows.len() + 4) + cores + 20
}

fn finished(panel: &TimePanel, top: f64, run: &Analysis, palette: &Palette) -> Panel {
    let (axis, unit) = match panel.rows.len() {
        0 => panel.quantity.axis(top, if panel.height < 130.0 { 3 } else { 4 }),
        rows => (Axis { min: 0.0, max: rows as f64, step: 1.0 }, Unit { size: 1.0, name: "" }),
    };
    let vertical = Vertical { axis, size: unit.size, name: unit.name, scale: Scale::Linear };
    let beyond = if panel.rows.is_empty() { panel.quantity.beyond(panel.values(), &axis, unit) } else { None };
    put_together(panel, &vertical, beyond, &unloaded(&run.phases), palette)
}

fn put_together(
    panel: &TimePanel,
    vertical: &Vertical,
    beyond: Option<String>,
    quiet: &[(f64, f64)],
    palette: &Palette,
) -> Panel {
    Panel {
        plot: Plot::of(panel, vertical, quiet, palette),
        how: panel.unit_words(Unit { size: vertical.size, name: vertical.name }),
        beyond,
        headline: panel.headline.clone(),
        heads: panel.heads.clone(),
        figures: panel.lines.iter().map(|line| line.figures.clone()).collect(),
        rows: panel.rows.clone(),
        facts: panel.facts.clone(),
    }
}

/// Several runs together: delay of all probes, and the sum of each direction.
pub(crate) fn of_all(runs: &[&Analysis], names: &[String], palette: &Palette) -> Group {
    let scene = scene(runs);
    let quiet = runs.first().map(|run| unloaded(&run.phases)).unwrap_or_default();
    let colours = run_colours(&Theme::LIGHT, runs.len());
    let mut group = Group {
        title: "All runs on shared axes",
        folded: false,
        panels: Vec::new(),
        lacking: Vec::new(),
        notes: Vec::new(),
    };
    let named: Vec<Named<'_>> =
        runs.iter().zip(names).zip(colours).map(|((run, name), colour)| Named { run, name, colour }).collect();
    if runs.iter().any(|run| pooled_packets(run).next().is_some()) {
        let panel = delays(&named, &scene);
        let (axis, unit, scale) = delay_axis(runs);
        let beyond = panel.quantity.beyond(panel.values(), &axis, unit);
        let vertical = Vertical { axis, size: unit.size, name: unit.name, scale };
        let mut panel = put_together(&panel, &vertical, beyond, &quiet, palette);
        if scale == Scale::Logarithmic {
            panel.how.push_str(", logarithmic scale");
        }
        group.panels.push(panel);
        group.notes.push(
            "Delay: medians of all probe packets sent in a bin; shade: lowest to highest packet; strokes above: lost packets."
                .to_owned(),
        );
    }
    for direction in Direction::ALL {
        if runs.iter().all(|run| run.goodput(direction).flows.is_empty()) {
            group.lacking.push(format!("No {} streams in any run.", direction_word(direction).to_lowercase()));
            continue;
        }
        let panel = rates(&named, &scene, direction);
        let (axis, unit) = panel.quantity.axis(shared_top(std::iter::once(&panel)), 4);
        let beyond = panel.quantity.beyond(panel.values(), &axis, unit);
        let vertical = Vertical { axis, size: unit.size, name: unit.name, scale: Scale::Linear };
        group.panels.push(put_together(&panel, &vertical, beyond, &quiet, palette));
    }
    group
}

/// A run beside others.
struct Named<'a> {
    run: &'a Analysis,
    name: &'a str,
    colour: &'static str,
}

fn delays(runs: &[Named<'_>], scene: &Scene<'_>) -> TimePanel {
    let bins = scene.bins(FINEST);
    let mut panel = TimePanel::new("Round-trip delay", Quantity::Delay, "delay", DELAY_HEIGHT);
    panel.how = format!("all probes, bins of {} s", bins.width);
    panel.heads = vec!["idle P50", "load P50", "load P95", "increase", "lost"];
    for Named { run, name, colour } in runs {
        let binned = bins.delays(pooled_packets(run));
        let ends = |bin: &crate::bins::DelayBin| {
            bin.lowest.zip(bin.highest).map(|(low, high)| (nanoseconds(low), nanoseconds(high)))
        };
        if runs.len() <= Theme::LIGHT.runs.len() {
            let range = binned.iter().map(|bin| (bin.at, ends(bin))).collect();
            panel.areas.push(Area { range, fill: Fill { colour, opacity: 0.2 } });
            let strokes = loss_strokes(pooled_packets(run), &scene.time);
            panel.strokes.extend(strokes.into_iter().map(|at| (at, *colour)));
        }
        let delays = &run.round_trip_delay;
        let load = delays.load.as_ref();
        let figures = vec![
            delays.idle.as_ref().map_or_else(unknown, |statistics| quantile(statistics.p50)),
            load.map_or_else(unknown, |statistics| quantile(statistics.p50)),
            load.map_or_else(unknown, |statistics| quantile(statistics.p95)),
            increase(delays),
            words::count(run.loss.lost),
        ];
        let points = binned.iter().map(|bin| (bin.at, bin.median.map(nanoseconds))).collect();
        panel.lines.push(line(name, points, colour, figures));
    }
    panel
}

fn rates(runs: &[Named<'_>], scene: &Scene<'_>, direction: Direction) -> TimePanel {
    let series = || runs.iter().flat_map(|named| &named.run.goodput(direction).sum_series);
    let bins = scene.bins(series().map(|point| point.over.as_secs_f64()).fold(0.0, f64::max));
    let mut panel = TimePanel::new(direction_word(direction), Quantity::Rate, "rate", RATE_HEIGHT);
    panel.how = format!("sum of all streams, bins of {} s", bins.width);
    panel.heads = vec!["sum, mean over the load"];
    for Named { run, name, colour } in runs {
        let goodput = run.goodput(direction);
        let sum = if goodput.flows.is_empty() { "none".to_owned() } else { goodput.sum.to_string() };
        panel.lines.push(line(name, bins.rates(&goodput.sum_series), colour, vec![sum]));
    }
    panel
}

fn line(name: &str, points: Vec<(f64, Option<f64>)>, colour: &'static str, figures: Vec<String>) -> TimeLine {
    TimeLine { name: name.to_owned(), points, colour, width: 1.8, dash: Dash::Solid, figures }
}
