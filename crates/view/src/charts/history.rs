//! Many runs over one line: queueing delay, goodput and loss by date and by hour of day.

use rrul_analysis::Analysis;
use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::statistics::percentile::percentile;
use rrul_analysis::validity::Verdict;
use rrul_model::calendar::{date_of_day, unix_seconds};
use rrul_model::flow::Direction;
use rrul_model::units::{BitRate, Delay};

use crate::chart::{ANY, Chart, Draw};
use crate::drawing::Drawing;
use crate::drawing::axis::{Axis, Unit, figures};
use crate::drawing::figure::{Frame, PanelIndex, Scale, Side, Stroke, TextStyle, Ticks};
use crate::drawing::font::Weight;
use crate::drawing::page::{BESIDE_LEFT, PITCH, PLANE_WIDTH, Page, PlanePlan};
use crate::text::words;
use crate::text::words::direction_word;
use crate::theme::Theme;

/// Pixels.
const HEIGHT: f64 = 170.0;
/// A delay below this is drawn at it, nanoseconds: the axis has equal ratios.
const LEAST: f64 = 0.5e6;
const DAY: i64 = 86_400;
/// Most dates below a panel.
const DATES: i64 = 7;
/// An hour with fewer runs is not called the worst.
const LEAST_RUNS: usize = 2;

/// The chart that shows how a line changed over days.
pub(crate) const BY_DATE: Chart = Chart {
    name: "history",
    about: "queueing delay under load, goodput and loss of many runs by date",
    runs: 1..=ANY,
    draw: Draw::Runs(|runs, theme| drawn(runs, Bins::Days, theme)),
};

/// The chart that shows at which time of day a line is slow.
pub(crate) const BY_HOUR: Chart = Chart {
    name: "hours",
    about: "queueing delay under load, goodput and loss of many runs by hour of day",
    runs: 1..=ANY,
    draw: Draw::Runs(|runs, theme| drawn(runs, Bins::Hours, theme)),
};

/// What a history shows of a run.
#[derive(Debug, Clone, PartialEq)]
pub struct PastRun {
    /// Seconds since 1970.
    pub at: i64,
    /// Time of day less UTC where the history is read, at that time, seconds.
    pub(crate) utc_offset_s: i32,
    pub(crate) verdict: Verdict,
    /// P95 of one-way queueing delay under load.
    pub(crate) queueing: ByDirection<Option<Delay>>,
    pub(crate) goodput: ByDirection<Option<BitRate>>,
    /// Share of the probes that were lost, of round trips.
    pub(crate) lost: Option<f64>,
    /// RRUL score.
    pub(crate) score: Option<String>,
}

impl PastRun {
    /// `None` of a recording without a date. `utc_offset` returns local time less UTC, in seconds, at a time in seconds since 1970.
    pub fn of(run: &Analysis, utc_offset: impl Fn(i64) -> i32) -> Option<Self> {
        let at = unix_seconds(&run.test.created)?;
        let delays = &run.one_way_delay;
        let queueing = |direction| {
            let known = delays.clocks.as_ref().is_some_and(|clocks| clocks.unknown_reason(direction).is_none());
            delays.direction(direction).queueing_delay.load.as_ref().filter(|_| known).and_then(|load| load.p95)
        };
        let goodput = |direction| {
            let goodput = run.goodput(direction);
            (!goodput.flows.is_empty()).then_some(goodput.sum)
        };
        let loss = run.loss.round_trips;
        Some(Self {
            at,
            utc_offset_s: utc_offset(at),
            verdict: run.validity.verdict,
            queueing: ByDirection::each(queueing),
            goodput: ByDirection::each(goodput),
            lost: (loss.sent > 0).then(|| loss.lost as f64 / loss.sent as f64),
            score: run.scores.web.as_ref().map(|web| web.score.to_string()),
        })
    }

    /// Seconds since 1970 by local time.
    pub(crate) fn local(&self) -> i64 {
        self.at + i64::from(self.utc_offset_s)
    }

    /// Whether its figures say something of the network.
    pub(crate) fn counts(&self) -> bool {
        self.verdict != Verdict::Invalid
    }
}

/// What the times of these runs are in: where local time is UTC all along, it is called so.
pub(crate) fn zone(runs: &[PastRun]) -> &'static str {
    if runs.iter().all(|run| run.utc_offset_s == 0) { "UTC" } else { "local time" }
}

/// By what runs are laid side by side.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Bins {
    Days,
    Hours,
}

/// The horizontal axis of all panels of a chart.
struct Across {
    bins: Bins,
    /// The day that the axis begins with.
    first: i64,
    zone: &'static str,
    side: Side,
}

impl Across {
    fn of(runs: &[PastRun], bins: Bins) -> Self {
        let days = || runs.iter().map(|run| run.local().div_euclid(DAY));
        let (first, last) = (days().min().unwrap_or(0), days().max().unwrap_or(0));
        let side = match bins {
            Bins::Hours => Side::new(Axis { min: 0.0, max: 24.0, step: 3.0 }, Scale::Linear),
            Bins::Days => {
                let count = last - first + 1;
                let step = (count + DATES - 1) / DATES;
                let ticks = (0..=count).step_by(usize::try_from(step).unwrap_or(1));
                let named = ticks.map(|day| (day as f64, date_of_day(first + day))).collect();
                let axis = Axis { min: 0.0, max: count as f64, step: step as f64 };
                Side { axis, scale: Scale::Linear, ticks: Ticks::Named(named) }
            }
        };
        Self { bins, first, zone: zone(runs), side }
    }

    fn place(&self, run: &PastRun) -> f64 {
        match self.bins {
            Bins::Days => (run.local() - self.first * DAY) as f64 / DAY as f64,
            Bins::Hours => run.local().rem_euclid(DAY) as f64 / 3600.0,
        }
    }

    fn words(&self) -> String {
        let what = match self.bins {
            Bins::Days => "date",
            Bins::Hours => "hour of day",
        };
        format!("{what}, {}", self.zone)
    }
}

/// One kind of figure of every run.
struct Series {
    name: &'static str,
    colour: &'static str,
    /// Where it lies across, and the figure.
    points: Vec<(f64, f64)>,
}

impl Series {
    /// The median of each bin that has points, from where to where.
    fn medians(&self) -> Vec<(f64, f64, f64)> {
        let mut bins: Vec<(i64, Vec<f64>)> = Vec::new();
        for (x, y) in &self.points {
            let bin = x.floor() as i64;
            match bins.iter_mut().find(|(known, _)| *known == bin) {
                Some((_, values)) => values.push(*y),
                None => bins.push((bin, vec![*y])),
            }
        }
        bins.sort_by_key(|(bin, _)| *bin);
        let medians =
            bins.into_iter().filter_map(|(bin, values)| Some((bin as f64, bin as f64 + 1.0, median(values)?)));
        medians.collect()
    }

    fn median(&self) -> Option<f64> {
        median(self.points.iter().map(|(_, y)| *y).collect())
    }
}

fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    percentile(&values, 0, 500)
}

fn drawn(runs: &[&Analysis], bins: Bins, theme: &Theme) -> Drawing {
    let past: Vec<PastRun> = runs.iter().filter_map(|run| PastRun::of(run, |_| 0)).collect();
    draw(&past, bins, theme)
}

/// The chart of these runs.
pub(crate) fn draw(runs: &[PastRun], bins: Bins, theme: &Theme) -> Drawing {
    let mut page = Page::timeless(theme, title(runs));
    let counted: Vec<&PastRun> = runs.iter().filter(|run| run.counts()).collect();
    let across = Across::of(runs, bins);
    let series = |name, colour, value: &dyn Fn(&PastRun) -> Option<f64>| Series {
        name,
        colour,
        points: counted.iter().filter_map(|run| Some((across.place(run), value(run)?))).collect(),
    };
    let by_direction = |value: &dyn Fn(&PastRun, Direction) -> Option<f64>| {
        Direction::ALL.map(|direction| {
            let colour = direction.select(theme.runs[0], theme.runs[1]);
            series(direction_word(direction), colour, &|run| value(run, direction))
        })
    };
    let delays = by_direction(&|run, direction| run.queueing.get(direction).map(|delay| (delay.0 as f64).max(LEAST)));
    let rates = by_direction(&|run, direction| run.goodput.get(direction).map(|rate| rate.0 as f64));
    let lost = [series("lost", theme.alarm, &|run| Some(run.lost? * 100.0))];
    let most = |series: &[Series]| series.iter().flat_map(|one| &one.points).map(|(_, y)| *y).fold(0.0, f64::max);
    let (delay_unit, rate_unit) = (Unit::of_delays(most(&delays)), Unit::of_rates(most(&rates)));
    let panels = [
        Panel { title: "Queueing delay under load, P95", unit: delay_unit, scale: Scale::Logarithmic, series: &delays },
        Panel { title: "Goodput", unit: rate_unit, scale: Scale::Linear, series: &rates },
        Panel { title: "Probes lost", unit: Unit { size: 1.0, name: "%" }, scale: Scale::Linear, series: &lost },
    ];
    let mut panels = panels.iter().filter(|panel| panel.series.iter().any(|one| !one.points.is_empty())).peekable();
    if panels.peek().is_none() {
        page.message("Nothing to draw. No run has a date and a figure, or all are invalid.");
        return page.finish();
    }
    if let Some(words) = worst_hours(runs) {
        page.statement(&words);
    }
    for panel in panels {
        panel.draw(&mut page, &across);
    }
    let left_out = runs.len() - counted.len();
    let left_out = if left_out > 0 {
        format!(" Left out as invalid: {}.", words::counted(left_out, "run"))
    } else {
        String::new()
    };
    let each = if bins == Bins::Days { "a day" } else { "an hour of the day" };
    page.footnote(&format!("Each point is a run; strokes are medians of the runs of {each}.{left_out}"));
    page.finish()
}

/// How many runs, and from when to when.
pub(crate) fn title(runs: &[PastRun]) -> String {
    let days = || runs.iter().map(|run| run.local().div_euclid(DAY));
    let count = words::counted(runs.len(), "run");
    match days().min().zip(days().max()) {
        None => count,
        Some((first, last)) if first == last => format!("{count}, {}", date_of_day(first)),
        Some((first, last)) => format!("{count}, {} to {}", date_of_day(first), date_of_day(last)),
    }
}

/// The median of each direction's delay, and the hour of the day in which it is highest.
pub(crate) fn worst_hours(runs: &[PastRun]) -> Option<String> {
    let of = |direction: Direction| {
        let delays = || {
            runs.iter()
                .filter(|run| run.counts())
                .filter_map(|run| Some((run.local(), (*run.queueing.get(direction))?)))
        };
        let median_of = |hour: Option<i64>| {
            let those = delays().filter(|(at, _)| hour.is_none_or(|hour| at.rem_euclid(DAY) / 3600 == hour));
            let values: Vec<f64> = those.map(|(_, delay)| delay.0 as f64).collect();
            let enough = hour.is_none() || values.len() >= LEAST_RUNS;
            median(values).filter(|_| enough)
        };
        let all = median_of(None)?;
        let hours = (0..24).filter_map(|hour| Some((hour, median_of(Some(hour))?)));
        let worst = hours.max_by(|one, other| one.1.total_cmp(&other.1));
        let worst = worst.map_or_else(String::new, |(hour, delay)| {
            format!(", in its worst hour ({hour}:00 to {}:00 {}) {}", hour + 1, zone(runs), Delay(delay as i64))
        });
        Some(format!("{} {}{worst}", direction_word(direction).to_lowercase(), Delay(all as i64)))
    };
    let told: Vec<String> = Direction::ALL.into_iter().filter_map(of).collect();
    (!told.is_empty()).then(|| format!("Queueing delay under load, median of P95: {}.", told.join("; ")))
}

/// One quantity, of both directions or of neither.
struct Panel<'a> {
    title: &'static str,
    unit: Unit,
    scale: Scale,
    series: &'a [Series],
}

impl Panel<'_> {
    fn draw(&self, page: &mut Page<'_>, across: &Across) {
        let values = || self.series.iter().flat_map(|one| &one.points).map(|(_, y)| *y / self.unit.size);
        let (low, high) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        let axis = match self.scale {
            Scale::Logarithmic => Axis::logarithmic(low, high),
            Scale::Linear => Axis::from_zero(high, 4),
        };
        let plan = PlanePlan {
            title: self.title,
            unit: self.unit.name.to_owned(),
            note: None,
            x: across.side.clone(),
            x_words: across.words(),
            y: Side::new(axis, self.scale),
            width: PLANE_WIDTH,
            height: HEIGHT,
            side_height: 0.0,
        };
        let (panel, frame) = page.plane(&plan);
        for one in self.series {
            self.points(page, panel, one);
        }
        self.legend(page, frame);
    }

    fn points(&self, page: &mut Page<'_>, panel: PanelIndex, one: &Series) {
        let points: Vec<_> = one.points.iter().map(|(x, y)| (*x, y / self.unit.size)).collect();
        if points.is_empty() {
            return;
        }
        page.figure.dots(panel, one.name, &points, Stroke { colour: one.colour, width: 6.0, opacity: 0.55, height: 4 });
        let medians: Vec<_> = one
            .medians()
            .into_iter()
            .map(|(from, to, y)| [(from, y / self.unit.size), (to, y / self.unit.size)])
            .collect();
        page.figure.segments(
            panel,
            one.name,
            &medians,
            Stroke { colour: one.colour, width: 2.4, opacity: 1.0, height: 5 },
        );
    }

    /// Colors, names and medians beside the panel.
    fn legend(&self, page: &mut Page<'_>, frame: Frame) {
        let head = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        page.figure.text(BESIDE_LEFT, frame.top, "median of all runs", head);
        let cell = TextStyle::left(12.0, Weight::Regular, page.theme.ink);
        let mut top = frame.top + PITCH + 2.0;
        for one in self.series {
            let Some(median) = one.median() else { continue };
            page.figure.rect(Frame { left: BESIDE_LEFT, top: top + 2.5, width: 9.0, height: 9.0 }, one.colour);
            let words = format!("{}: {} {}", one.name, figures(median / self.unit.size), self.unit.name);
            page.figure.text(BESIDE_LEFT + 17.0, top, &words, cell);
            top += PITCH;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn past(at: i64, down: i64) -> PastRun {
        PastRun {
            at,
            utc_offset_s: 0,
            verdict: Verdict::Valid,
            queueing: ByDirection { up: None, down: Some(Delay(down * 1_000_000)) },
            goodput: ByDirection { up: None, down: None },
            lost: None,
            score: None,
        }
    }

    #[test]
    fn the_worst_hour_is_that_with_the_highest_median_of_several_runs() {
        // Three quiet days; 20:00 is slow each evening, and one run at 03:00 was slower still.
        let mut runs: Vec<PastRun> =
            (1..4).flat_map(|day| [past(day * DAY + 20 * 3600 + 60, 300), past(day * DAY + 9 * 3600, 10)]).collect();
        runs.extend([past(DAY + 3 * 3600, 900), past(DAY + 10 * 3600, 10)]);
        assert_eq!(
            worst_hours(&runs).unwrap(),
            "Queueing delay under load, median of P95: download 10.0 ms, in its worst hour (20:00 to 21:00 UTC) 300 ms."
        );
        assert_eq!(title(&runs), "8 runs, 1970-01-02 to 1970-01-04");
        for run in &mut runs {
            run.utc_offset_s = -9 * 3600;
        }
        let words = worst_hours(&runs).unwrap();
        assert!(words.ends_with("in its worst hour (11:00 to 12:00 local time) 300 ms."), "{words}");
        assert_eq!(title(&runs), "8 runs, 1970-01-01 to 1970-01-04");
        for run in &mut runs {
            run.verdict = Verdict::Invalid;
        }
        assert_eq!(worst_hours(&runs), None);
    }

    #[test]
    fn runs_lie_at_their_time_and_medians_span_their_bin() {
        let runs = [past(DAY + 6 * 3600, 10), past(DAY + 12 * 3600, 30), past(DAY + 18 * 3600, 20), past(3 * DAY, 5)];
        let across = Across::of(&runs, Bins::Days);
        assert_eq!(format!("{:?}", runs.each_ref().map(|run| across.place(run))), "[0.25, 0.5, 0.75, 2.0]");
        assert_eq!(across.side.axis.max.to_string(), "3");
        let points = runs.iter().map(|run| (across.place(run), run.queueing.down.unwrap().0 as f64 / 1e6)).collect();
        let series = Series { name: "", colour: "", points };
        assert_eq!(series.medians(), [(0.0, 1.0, 20.0), (2.0, 3.0, 5.0)]);
        let hours = Across::of(&runs, Bins::Hours);
        assert_eq!(format!("{:?}", runs.each_ref().map(|run| hours.place(run))), "[6.0, 12.0, 18.0, 0.0]");
    }
}
