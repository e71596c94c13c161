//! What a page shows over time of each run, on axes that all runs share, and of several runs together.

use rrul_analysis::Analysis;
use rrul_model::flow::Direction;
use rrul_model::phase::PhaseWindow;

use super::palette::Palette;
use super::plot::{Plot, Vertical};
use super::threads::joined;
use crate::charts::OVER_TIME;
use crate::charts::comparison::delay_axis;
use crate::delay_sample::{nanoseconds, pooled_packets};
use crate::drawing::axis::{Axis, Unit};
use crate::drawing::figure::{Dash, Fill, Scale};
use crate::drawing::page::whole_time_axis;
use crate::drawing::run_colours::run_colours;
use crate::panels::bins::MOST;
use crate::panels::delay_panel::loss_strokes;
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel, shared_top};
use crate::text::pooled_probes::pooled_name;
use crate::text::style::{quantile, unknown};
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Points of all finer lines together: enough to zoom into, and pages stay small.
const POINTS: f64 = 220_000.0;
/// Most bins of a line where the page is zoomed, and fewest of one where so many runs share the page that it would grow too large.
const FINEST_BINS: f64 = 600.0;
const FEWEST_BINS: f64 = 60.0;
/// Bins of delay are no finer, seconds.
const FINEST: f64 = 0.2;
/// Pixels.
const DELAY_HEIGHT: f64 = 300.0;
const RATE_HEIGHT: f64 = 180.0;

/// A panel, and the words beside it.
#[derive(Debug, Clone)]
pub(crate) struct Panel {
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
    pub(crate) facts: Vec<String>,
}

/// Panels that belong together.
#[derive(Debug, Clone)]
pub(crate) struct Group {
    pub(crate) title: &'static str,
    /// Whether they are shown only to those who ask.
    pub(crate) folded: bool,
    pub(crate) panels: Vec<Panel>,
    /// What the run does not have.
    pub(crate) missing: Vec<String>,
    /// What is drawn in which bins.
    bins: Vec<(String, String)>,
    notes: Vec<String>,
}

impl Group {
    fn new(title: &'static str, folded: bool) -> Self {
        let (panels, missing, bins, notes) = (Vec::new(), Vec::new(), Vec::new(), Vec::new());
        Self { title, folded, panels, missing, bins, notes }
    }

    /// How to read them: the bins, and the rest.
    pub(crate) fn notes(&self) -> Vec<String> {
        let mut widths: Vec<&String> = self.bins.iter().map(|(_, bins)| bins).collect();
        widths.dedup();
        let all_alike = widths.len() < 2;
        let of_bins = widths.into_iter().map(|width| {
            let whose: Vec<&str> =
                self.bins.iter().filter(|(_, bins)| bins == width).map(|(whose, _)| whose.as_str()).collect();
            let whose = if all_alike { "Lines".to_owned() } else { whose.join(", ") };
            format!("{whose}: {width}")
        });
        of_bins.chain(self.notes.iter().cloned()).collect()
    }
}

/// How the note on bins begins.
const BINS: &str = "Lines: ";

/// The panels of something, and what the notes of both widths of bins say of them.
fn bins(told: &Shown, fine: Option<&Shown>) -> Option<(String, String)> {
    let of = |shown: &Shown| shown.notes.iter().find_map(|note| note.strip_prefix(BINS)).map(str::to_owned);
    let wide = of(told)?;
    let titles: Vec<&str> = told.panels.iter().map(|panel| panel.title.as_str()).collect();
    let narrow = fine.and_then(of).filter(|narrow| *narrow != wide);
    let zoomed =
        narrow.map_or_else(String::new, |narrow| format!(" Where less than half of the time is shown: {narrow}"));
    Some((titles.join(", "), format!("{wide}{zoomed}")))
}

pub(crate) fn of_each(runs: &[&Analysis], palette: &Palette) -> Vec<Vec<Group>> {
    let (scene, finer) = scenes(runs);
    let shown = shown_of(runs, &scene);
    let finer = finer.map(|finer| shown_of(runs, &finer));
    let mut all = Vec::new();
    for (index, run) in runs.iter().enumerate() {
        let mut groups: Vec<Group> = Vec::new();
        for (place, (entry, told)) in OVER_TIME.iter().zip(&shown[index]).enumerate() {
            if groups.last().is_none_or(|group| group.title != entry.group) {
                groups.push(Group::new(entry.group, entry.folded));
            }
            let Some(group) = groups.last_mut() else { continue };
            let fine = finer.as_ref().map(|finer| &finer[index][place]);
            for (number, panel) in told.panels.iter().enumerate().filter(|(_, panel)| panel.has_values()) {
                let (axis, unit) = axis_of(panel, top(&shown, place, panel.axis), None);
                let level = Leveled { panel, axis, unit, scale: Scale::Linear };
                let fine = finer.as_ref().zip(fine.and_then(|fine| fine.panels.get(number))).map(|(finer, panel)| {
                    let (axis, unit) = axis_of(panel, top(finer, place, panel.axis), Some(unit));
                    Leveled { panel, axis, unit, scale: Scale::Linear }
                });
                group.panels.push(put_together(&level, fine.as_ref(), &run.test.phases, palette));
            }
            join(&mut group.missing, told.missing.iter());
            // How to read what is missing is of no use.
            if !told.panels.is_empty() {
                group.bins.extend(bins(told, fine));
                join(&mut group.notes, told.notes.iter().filter(|note| !note.starts_with(BINS)));
            }
        }
        all.push(groups);
    }
    all
}

/// What each run shows, entry by entry.
fn shown_of(runs: &[&Analysis], scene: &Scene<'_>) -> Vec<Vec<Shown>> {
    let of_run = |run: &&Analysis| OVER_TIME.iter().map(|entry| (entry.show)(run, scene)).collect();
    let threads = std::thread::available_parallelism().map_or(1, usize::from);
    std::thread::scope(|scope| {
        let parts = runs.chunks(runs.len().div_ceil(threads).max(1));
        let parts: Vec<_> =
            parts.map(|part| scope.spawn(move || part.iter().map(of_run).collect::<Vec<Vec<Shown>>>())).collect();
        let parts = parts.into_iter().map(joined);
        parts.flatten().collect()
    })
}

/// Where the axis of this name ends for all runs, base units.
fn top(shown: &[Vec<Shown>], place: usize, axis: &str) -> f64 {
    shared_top(shown.iter().flat_map(|run| &run[place].panels).filter(|panel| panel.axis == axis))
}

/// Adds what is not there yet.
fn join<'a>(all: &mut Vec<String>, more: impl Iterator<Item = &'a String>) {
    for text in more.filter(|text| !text.is_empty()) {
        if !all.contains(text) {
            all.push(text.clone());
        }
    }
}

/// The time axis of all with the bins of every chart, and with such that all lines together keep within their room, where
/// those are finer.
fn scenes(runs: &[&Analysis]) -> (Scene<'static>, Option<Scene<'static>>) {
    let lines: usize = runs.iter().map(|run| lines_of(run)).sum();
    let room = POINTS / lines.max(1) as f64;
    let (wide, most_bins) = (room.clamp(FEWEST_BINS, MOST), room.min(FINEST_BINS));
    let scene = |most_bins| Scene { theme: &Theme::LIGHT, time: whole_time_axis(runs), most_bins };
    (scene(wide), (most_bins >= 2.0 * MOST).then(|| scene(most_bins)))
}

/// About how many lines the panels of a run have. Streams have theirs in three panels, and seven of TCP.
fn lines_of(run: &Analysis) -> usize {
    let streams = run.goodput.up.flows.len() + run.goodput.down.flows.len();
    let cores: usize = run.host_series.iter().map(|host| host.cores.len()).sum();
    4 * streams + 7 * run.tcp_series.len() + 3 * (run.round_trip_delay.flows.len() + 4) + cores + 20
}

/// A panel in bins of one width with its vertical axis.
struct Leveled<'a> {
    panel: &'a TimePanel,
    axis: Axis,
    unit: Unit,
    scale: Scale,
}

impl Leveled<'_> {
    fn vertical(&self) -> Vertical {
        Vertical { axis: self.axis, size: self.unit.size, name: self.unit.name, scale: self.scale }
    }

    fn beyond(&self) -> Option<String> {
        let Self { panel, axis, unit, .. } = self;
        if panel.rows.is_empty() { panel.quantity.beyond(panel.values(), axis, *unit) } else { None }
    }
}

/// The axis of a panel that is to be read up to `top` base units, in this unit or in one that suits.
fn axis_of(panel: &TimePanel, top: f64, unit: Option<Unit>) -> (Axis, Unit) {
    if !panel.rows.is_empty() {
        return (Axis { min: 0.0, max: panel.rows.len() as f64, step: 1.0 }, Unit { size: 1.0, name: "" });
    }
    let ticks = if panel.height < 130.0 { 3 } else { 4 };
    let (axis, suits) = panel.quantity.axis(top, ticks);
    match unit.filter(|unit| *unit != suits) {
        None => (axis, suits),
        Some(unit) => (Axis::from_zero(top / unit.size, ticks), unit),
    }
}

fn put_together(level: &Leveled<'_>, finer: Option<&Leveled<'_>>, phases: &[PhaseWindow], palette: &Palette) -> Panel {
    let panel = level.panel;
    let zoomed = finer.and_then(Leveled::beyond).map(|beyond| format!("in finer bins {beyond}"));
    let beyond: Vec<String> = level.beyond().into_iter().chain(zoomed).collect();
    let fine = finer.map(|finer| (finer.panel, finer.vertical()));
    let fine = fine.as_ref().map(|(panel, vertical)| (*panel, vertical));
    Panel {
        plot: Plot::of(panel, &level.vertical(), fine, phases, palette),
        how: panel.unit_words(level.unit),
        beyond: (!beyond.is_empty()).then(|| beyond.join("; ")),
        headline: panel.headline.clone(),
        heads: panel.heads.clone(),
        figures: panel.lines.iter().map(|line| line.figures.clone()).collect(),
        rows: panel.rows.clone(),
        facts: panel.facts.clone(),
    }
}

/// Several runs together: delay of the pooled probes, and the sum of each direction.
pub(crate) fn of_all(runs: &[&Analysis], names: &[String], palette: &Palette) -> Group {
    let (scene, finer) = scenes(runs);
    let phases = runs.first().map(|run| run.test.phases.clone()).unwrap_or_default();
    let colours = run_colours(&Theme::LIGHT, runs.len());
    let mut group = Group::new("All runs on shared axes", false);
    let named: Vec<Named<'_>> =
        runs.iter().zip(names).zip(colours).map(|((run, name), colour)| Named { run, name, colour }).collect();
    if runs.iter().any(|run| pooled_packets(run).next().is_some()) {
        let (axis, unit, scale) = delay_axis(runs);
        let panels = [Some(&scene), finer.as_ref()].map(|scene| scene.map(|scene| delays(&named, scene)));
        let levels = panels.each_ref().map(|panel| panel.as_ref().map(|panel| Leveled { panel, axis, unit, scale }));
        if let [Some(level), finer] = &levels {
            let mut panel = put_together(level, finer.as_ref(), &phases, palette);
            if scale == Scale::Logarithmic {
                panel.how.push_str(", logarithmic scale");
            }
            group.panels.push(panel);
        }
        group.notes.push(format!(
            "Delay: medians of the {} sent in a bin; shade: lowest to highest of them; strokes above: lost packets.",
            pooled_name(runs)
        ));
    }
    for direction in Direction::ALL {
        if runs.iter().all(|run| run.goodput(direction).flows.is_empty()) {
            group.missing.push(format!("No {} streams in any run.", direction_word(direction).to_lowercase()));
            continue;
        }
        let panels = [Some(&scene), finer.as_ref()].map(|scene| scene.map(|scene| rates(&named, scene, direction)));
        let mut shared = None;
        let levels = panels.each_ref().map(|panel| {
            panel.as_ref().map(|panel| {
                let (axis, unit) = axis_of(panel, shared_top(std::iter::once(panel)), shared);
                shared = Some(unit);
                Leveled { panel, axis, unit, scale: Scale::Linear }
            })
        });
        if let [Some(level), finer] = &levels {
            group.panels.push(put_together(level, finer.as_ref(), &phases, palette));
        }
    }
    let widths = [Some(&scene), finer.as_ref()].map(|scene| scene.map(|scene| scene.bins(FINEST).width));
    if let [Some(width), finer] = widths {
        let zoomed = finer.map_or_else(String::new, |finer| {
            format!(", and where less than half of the time is shown at most {finer} s")
        });
        group.notes.push(format!("Lines: bins of at most {width} s on the runs' clocks{zoomed}."));
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
    let analyses: Vec<&Analysis> = runs.iter().map(|named| named.run).collect();
    panel.how = pooled_name(&analyses).into();
    panel.heads = vec!["idle P50", "load P50", "load P95"];
    for Named { run, name, colour } in runs {
        let binned = bins.delays(pooled_packets(run));
        let ends = |bin: &crate::panels::bins::DelayBin| {
            bin.lowest.zip(bin.highest).map(|(low, high)| (nanoseconds(low), nanoseconds(high)))
        };
        if runs.len() <= Theme::LIGHT.runs.len() {
            let range = binned.iter().map(|bin| (bin.at, ends(bin))).collect();
            panel.areas.push(Area { range, fill: Fill { colour, opacity: 0.2 } });
            let strokes = loss_strokes(pooled_packets(run), &scene.time);
            panel.strokes.extend(strokes.into_iter().map(|at| (at, *colour)));
        }
        let delays = &run.round_trip_delay.pooled;
        let load = delays.load.as_ref();
        let figures = vec![
            delays.idle.as_ref().map_or_else(unknown, |statistics| quantile(statistics.p50)),
            load.map_or_else(unknown, |statistics| quantile(statistics.p50)),
            load.map_or_else(unknown, |statistics| quantile(statistics.p95)),
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
    panel.how = "sum of all streams".into();
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
