//! The equalizer: the parts of the composite by class, family and direction over time (spec: The RRUL Score, a display like
//! that of a graphic equalizer).
//!
//! A bar is what the composite would give this cell if this window were all of the load: the window is held against the
//! idle baseline, and percentiles are computed from its own packets. So a window that covers the scored part has the very
//! bars of the final score.

use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use schemars::JsonSchema;
use serde::{Serialize, Serializer};

use crate::measured::Measured;
use crate::metrics::web::page_load_statistics::counted;
use crate::scores::composite::{PART, Ratios, windows};
use crate::scores::score_cell::ScoreCell;
use crate::scores::web::{relative_speed, scored_pages};
use crate::statistics::bootstrap::mean;

/// A window of delay, its variation and loss.
pub const WINDOW: Duration = Duration::from_secs(1);
/// A window contains this many for slew and pages, which are few per second.
pub const SLOW: u32 = 5;

/// More windows are never reported: a longer test, or a file that says it was, has longer ones.
const MOST_WINDOWS: u32 = 4000;

/// The composite score over time.
///
/// The parts of the composite over time, from the baseline to the end. Each window is compared with the idle baseline;
/// 20 is as idle. Percentiles are of the packets of the window. Null in a window without packets of that kind. `rrul
/// show --equalizer` draws it.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Equalizer")]
pub struct Equalizer {
    /// Beginning of the first window, in test time. The load begins with a window; time before the baseline is in none.
    ///
    /// Source: spec, The RRUL Score.
    pub from_ns: TestTime,
    /// Beginning of the first window of slew and pages.
    pub slow_from_ns: TestTime,
    /// Length of a window of delay, variation and loss.
    pub window_ns: i64,
    /// Length of a window of slew and pages.
    pub slow_window_ns: i64,
    /// Pages that were begun in each slow window.
    ///
    /// Unit: 0 to 20.
    pub web: Bars,
    /// Each class, address family and direction.
    pub columns: Vec<Column>,
}

/// The bars of one class and family in one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct Column {
    /// Service class.
    pub class: ServiceClass,
    /// Address family.
    pub family: AddressFamily,
    /// Direction. Delay and slew are of round trips.
    pub direction: Direction,
    /// Points for delay in each window.
    ///
    /// Unit: 0 to 20.
    pub delay: Bars,
    /// Points for delay variation in each window.
    ///
    /// Unit: 0 to 20.
    pub delay_variation: Bars,
    /// New connections begun in each slow window.
    ///
    /// Unit: 0 to 20.
    pub slew: Bars,
    /// Points for loss in each window.
    ///
    /// Unit: 0 to 20.
    pub loss: Bars,
}

/// Bars of 0 to 20, one a window; `None` without data.
#[derive(Debug, Clone, PartialEq, Default, JsonSchema)]
#[schemars(inline)]
pub struct Bars(pub Vec<Option<f64>>);

impl Serialize for Bars {
    /// To a tenth of a point: more would only be digits.
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_seq(self.0.iter().map(|bar| bar.map(|bar| (10.0 * bar).round() / 10.0)))
    }
}

impl Equalizer {
    /// From the baseline to the end in windows of this length, or longer ones where there would be thousands; `None` without a baseline, or of a window of no length.
    pub fn new(analysis: &Measured, cells: &[ScoreCell], window: Duration) -> Option<Self> {
        let idle = windows(analysis).0?;
        let windows =
            || analysis.test.phases.iter().filter(|entry| entry.phase != Phase::Survey).map(|entry| entry.window);
        let span = Window { from: windows().map(|w| w.from).min()?, to: windows().map(|w| w.to).max()? };
        if window.is_zero() {
            return None;
        }
        let window = window.max(span.length() / MOST_WINDOWS);
        let slow = window.saturating_mul(SLOW);
        let load = analysis.test.phases.iter().find(|entry| entry.phase == Phase::Load);
        let load = load.map_or(span.from, |entry| entry.window.from);
        let (fast_grid, slow_grid) = (Grid::new(span, window, load), Grid::new(span, slow, load));
        let column = |cell: &ScoreCell| {
            let baseline = cell.within(idle);
            let ratios = |windows: &[Window]| -> Vec<Ratios> {
                windows.iter().map(|window| Ratios::new(&baseline, &cell.within(*window))).collect()
            };
            let (fast, slow) = (ratios(&fast_grid.windows), ratios(&slow_grid.windows));
            Column {
                class: cell.class,
                family: cell.family,
                direction: cell.direction,
                delay: bars(&fast, |ratios| ratios.delay),
                delay_variation: bars(&fast, |ratios| ratios.delay_variation),
                slew: bars(&slow, |ratios| ratios.slew),
                loss: bars(&fast, |ratios| ratios.loss),
            }
        };
        Some(Self {
            from_ns: fast_grid.from,
            slow_from_ns: slow_grid.from,
            window_ns: i64::try_from(window.as_nanos()).ok()?,
            slow_window_ns: i64::try_from(slow.as_nanos()).ok()?,
            web: Bars(slow_grid.windows.iter().map(|window| web(analysis, *window)).collect()),
            columns: cells.iter().map(column).collect(),
        })
    }
}

/// The stretch cut up so that the load begins with a window; the first and the last may be cut short.
struct Grid {
    /// Where the first would begin, were it whole.
    from: TestTime,
    windows: Vec<Window>,
}

impl Grid {
    fn new(span: Window, window: Duration, load: TestTime) -> Self {
        let length = window.as_nanos().max(1);
        let nanoseconds = |delay: i64| u128::from(delay.max(0).cast_unsigned());
        let count =
            |nanoseconds: u128| u32::try_from(nanoseconds.div_ceil(length)).unwrap_or(u32::MAX).min(MOST_WINDOWS);
        let before = count(nanoseconds(load.since(span.from).0));
        let from = load - window.saturating_mul(before);
        let all = count(nanoseconds(span.to.since(from).0));
        let at = |number: u32| from + window.saturating_mul(number);
        let windows = (0..all).map(|number| Window { from: at(number), to: at(number + 1) }.intersection(&span));
        Self { from, windows: windows.collect() }
    }
}

fn bars(ratios: &[Ratios], pick: fn(&Ratios) -> Option<f64>) -> Bars {
    Bars(ratios.iter().map(|ratios| pick(ratios).map(|ratio| PART * ratio)).collect())
}

/// What the pages that were begun in a window keep of their speed, in points.
fn web(analysis: &Measured, window: Window) -> Option<f64> {
    let page = |page: &&crate::metrics::web::page_loads::PageLoads| {
        let unloaded = mean(page.unloaded.as_ref()?.baseline()?)?;
        let begun = page.begun_within(window);
        let facts: Vec<_> = begun.iter().map(|load| (load.outcome, load.took, load.cap)).collect();
        relative_speed(unloaded, mean(&counted(&facts))?)
    };
    let shares: Vec<f64> = scored_pages(analysis).iter().filter_map(page).collect();
    mean(&shares).map(|share| PART * share)
}
