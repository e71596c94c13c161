//! The RRUL web score: how much of its speed a page keeps while the line is full (spec: The RRUL Score).
//!
//! W = round(100 · min(1, U / L)), where U and L are the mean page load times on the idle line and under load. The
//! specification's own example: 20 ms and 139 ms give 14. 100 is best, 0 worst. Of several pages, families or classes it
//! is the mean of the share that each keeps; background (CS1, LE) is meant to wait and is not among them. Synthetic pages
//! count; those of a browser count without others. Missing when no page was loaded in one of the conditions.
//!
//! U is of complete loads alone, L of all loads begun under load, failures at their cap, loads that were cut off by the
//! product-limit estimate: what fails on the idle line as well says nothing of the load, and would make it look good. A page of
//! which more loads failed than came to their end on the idle line is not scored.
//!
//! The score is an estimate and never only a bound. It is missing when no page load was complete under load, and when of one
//! of the pages every load was cut off after at least the idle mean: then only an upper bound is known. A page whose loads were
//! all cut off sooner says nothing and is left out.

use rrul_model::flow::AddressFamily;
use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::metrics::web::page_load_statistics::LoadStatistics;
use crate::metrics::web::page_loads::PageLoads;
use crate::score::ScoreWord;
use crate::scores::score_cell::counts;
use crate::statistics::bootstrap::{interval, mean};
use crate::statistics::percentile::percentile;

pub const WORD: ScoreWord = ScoreWord {
    name: "web",
    about: "how much of its speed a page keeps under load, 0 to 100",
    source: "RRUL specification, The RRUL Score",
};

/// The web score of a run.
///
/// The specification's main score. Null without pages both idle and under load, if most idle loads failed, or without a
/// complete load under load. `web_missing` has the reason.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Web score")]
pub struct WebScore {
    /// 100 times the mean page load time of complete idle loads over that of all loads under load, rounded; 100 if
    /// faster under load.
    ///
    /// Unit: 0 to 100. Source: spec, The RRUL Score.
    pub score: u8,
    /// Lower end of its 95 % interval, by bootstrap over loads. Null with fewer than three loads in one of the
    /// conditions.
    ///
    /// Unit: 0 to 100. Source: Efron 1979.
    pub ci95_low: Option<f64>,
    /// Upper end of the same.
    ///
    /// Unit: 0 to 100.
    pub ci95_high: Option<f64>,
    /// The same with median page load times. Null if a median falls on an incomplete load.
    ///
    /// Unit: 0 to 100.
    pub of_medians: Option<u8>,
    /// Loads that failed or were given up, in either condition; under load they count as their cap.
    ///
    /// Unit: count.
    pub failures: u64,
    /// Loads under load that were cut off; they count by the product-limit estimate.
    ///
    /// Unit: count. Source: Kaplan and Meier 1958.
    pub cut_short: u64,
    /// Always false: a score is not an upper bound. See `web_at_most`.
    pub at_most: bool,
    /// The pages that it is the mean over.
    pub pages: Vec<PageScore>,
    /// The share of its speed that a page keeps, not rounded, 0 to 1.
    #[serde(skip)]
    pub relative_speed: f64,
}

/// The score of one page.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct PageScore {
    /// Name of the page.
    pub page: String,
    /// Service class.
    pub class: ServiceClass,
    /// Address family.
    pub family: AddressFamily,
    /// The score of that page alone.
    ///
    /// Unit: 0 to 100.
    pub score: u8,
    /// Mean load time of complete loads on the idle line.
    pub unloaded_mean_ns: i64,
    /// Mean load time of all loads under load.
    pub loaded_mean_ns: i64,
}

/// The share of its speed that a page keeps: unloaded over loaded time, at most 1. Any unit, the same for both.
///
/// `None` when either is no positive number; an infinite loaded time keeps nothing.
pub fn relative_speed(unloaded: f64, loaded: f64) -> Option<f64> {
    let known = unloaded > 0.0 && unloaded.is_finite() && loaded > 0.0;
    known.then(|| (unloaded / loaded).min(1.0))
}

/// The share as a score.
pub fn score(relative_speed: f64) -> u8 {
    (100.0 * relative_speed.clamp(0.0, 1.0)).round() as u8
}

/// The pages that are scored: synthetic ones, or without them those of a browser.
pub(crate) fn scored_pages(analysis: &Measured) -> Vec<&PageLoads> {
    let pages = |browser: bool| -> Vec<&PageLoads> {
        analysis.page_loads.iter().filter(|page| page.in_browser() == browser && counts(page.class)).collect()
    };
    let synthetic = pages(false);
    if synthetic.is_empty() { pages(true) } else { synthetic }
}

/// The loads of a page that is scored.
struct Scored<'a> {
    page: &'a PageLoads,
    /// Of complete loads on the idle line, seconds.
    quiet: &'a [f64],
    idle: &'a LoadStatistics,
    busy: &'a LoadStatistics,
}

impl<'a> Scored<'a> {
    /// Creates the input of a score from a page, or says why it cannot be scored.
    fn new(page: &'a PageLoads) -> Result<Self, String> {
        let begun = |statistics: &'a Option<LoadStatistics>| statistics.as_ref().filter(|loads| loads.n > 0);
        let idle = begun(&page.unloaded).ok_or("no page load on the idle line")?;
        let busy = begun(&page.loaded).ok_or("no page load under load")?;
        let quiet = idle.baseline().ok_or_else(|| match idle.failed + idle.capped {
            0 => "no page load on the idle line was complete".to_owned(),
            failed => format!("{failed} of {} loads on the idle line failed or timed out", failed + idle.complete),
        })?;
        if busy.counted.is_empty() && page.slowdown_at_least.is_none() {
            return Err("page loads under load were cut off before the idle mean had passed".to_owned());
        }
        Ok(Self { page, quiet, idle, busy })
    }

    /// Every page of which anything is known.
    fn all(analysis: &'a Measured) -> Vec<Self> {
        scored_pages(analysis).into_iter().filter_map(|page| Self::new(page).ok()).collect()
    }

    /// Whether all that is known of it is a bound.
    fn is_only_bounded(&self) -> bool {
        self.busy.counted.is_empty()
    }

    /// The share of its speed that it keeps; `None` where that is only bounded.
    fn relative_speed(&self) -> Option<f64> {
        relative_speed(mean(self.quiet)?, mean(&self.busy.counted)?)
    }

    /// The share that it keeps at most.
    fn most_relative_speed(&self) -> Option<f64> {
        self.relative_speed().or_else(|| relative_speed(1.0, self.page.slowdown_at_least?))
    }

    fn relative_speed_of_medians(&self) -> Option<f64> {
        let mut quiet = self.quiet.to_vec();
        quiet.sort_unstable_by(f64::total_cmp);
        relative_speed(percentile(&quiet, 0, 500)?, self.busy.p50_ns? as f64 / 1e9)
    }

    fn page_score(&self) -> Option<PageScore> {
        Some(PageScore {
            page: self.page.page.clone(),
            class: self.page.class,
            family: self.page.family,
            score: score(self.relative_speed()?),
            unloaded_mean_ns: self.idle.whole_mean_ns()?,
            loaded_mean_ns: self.busy.mean_ns?,
        })
    }
}

/// Whether these pages give a score: a load was complete under load, and of none only a bound is known.
fn are_scored(pages: &[Scored<'_>]) -> bool {
    pages.iter().any(|page| page.busy.complete > 0) && !pages.iter().any(Scored::is_only_bounded)
}

/// The pages that should be scored and are not, each with the reason.
pub(crate) fn missing(analysis: &Measured) -> Vec<String> {
    let withheld = !are_scored(&Scored::all(analysis));
    let mut changes = analysis.measurement_overhead.changes.iter();
    let left_out = changes.any(|change| FlowKind::named(&change.flow_type).loads_pages() && change.used.is_empty());
    let reason = |page: &PageLoads| {
        let reason = match Scored::new(page) {
            Err(_) if left_out && page.unloaded.is_none() => {
                "the page takes longer on this line than the plan allows".to_owned()
            }
            Err(reason) => reason,
            Ok(scored) if withheld && scored.busy.complete == 0 => {
                format!("no page finished under load ({} begun)", scored.busy.n)
            }
            Ok(_) => return None,
        };
        Some(format!("{}, {}, {}: {reason}", page.page, page.class, page.family))
    };
    scored_pages(analysis).into_iter().filter_map(reason).collect()
}

/// The highest score that the loads allow, if no score is given; `None` where they allow any.
pub(crate) fn at_most(analysis: &Measured) -> Option<u8> {
    let pages = Scored::all(analysis);
    let shares: Vec<f64> = pages.iter().filter_map(Scored::most_relative_speed).collect();
    let highest = mean(&shares).filter(|_| !are_scored(&pages))?;
    Some((100.0 * highest).ceil().min(100.0) as u8).filter(|highest| *highest < 100)
}

pub(crate) fn web_score(analysis: &Measured) -> Option<WebScore> {
    let pages = Scored::all(analysis);
    let mean_speed =
        mean(&pages.iter().filter_map(Scored::relative_speed).collect::<Vec<_>>()).filter(|_| are_scored(&pages))?;
    let samples: Vec<&[f64]> = pages.iter().flat_map(|page| [page.quiet, &*page.busy.counted]).collect();
    let confidence = interval(&samples, |drawn| {
        let shares: Vec<f64> =
            drawn.chunks_exact(2).filter_map(|pair| relative_speed(mean(&pair[0])?, mean(&pair[1])?)).collect();
        mean(&shares).unwrap_or(f64::NAN)
    });
    let medians: Option<Vec<f64>> = pages.iter().map(Scored::relative_speed_of_medians).collect();
    let failures = |loads: &LoadStatistics| loads.failed + loads.capped;
    Some(WebScore {
        score: score(mean_speed),
        ci95_low: confidence.map(|interval| 100.0 * interval.low),
        ci95_high: confidence.map(|interval| 100.0 * interval.high),
        of_medians: medians.and_then(|medians| mean(&medians)).map(score),
        failures: pages.iter().map(|page| failures(page.idle) + failures(page.busy)).sum(),
        cut_short: pages.iter().map(|page| page.busy.cut_short).sum(),
        at_most: false,
        pages: pages.iter().filter_map(Scored::page_score).collect(),
        relative_speed: mean_speed,
    })
}
