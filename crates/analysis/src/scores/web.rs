//! The RRUL web score: how much of its speed a page keeps while the line is full (spec: The RRUL Score).
//!
//! W = round(100 · min(1, U / L)), where U and L are the mean page load times on the idle line and under load. The
//! specification's own example: 20 ms and 139 ms give 14. 100 is best, 0 worst. Of several pages, families or classes it
//! is the mean of the share that each keeps; background (CS1, LE) is meant to wait and is not among them. Synthetic pages
//! count; those of a browser count where there are no others. Missing when no page was loaded in one of the conditions.
//!
//! U is of complete loads alone, L of all, failures at their cap: what fails on the idle line as well says nothing of the load,
//! and would make it look good. A page of which more loads failed than came to their end on the idle line is not scored.

use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use serde::Serialize;

use crate::analysis::Analysis;
use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::page_load_statistics::LoadStatistics;
use crate::metrics::page_loads::PageLoads;
use crate::score::ScoreWord;
use crate::score_cell::counts;
use crate::statistics::bootstrap::{interval, mean};
use crate::statistics::percentile::percentile;

/// The words for it.
pub const WORD: ScoreWord = ScoreWord {
    name: "web",
    about: "how much of its speed a page keeps under load, 0 to 100",
    source: "RRUL specification, The RRUL Score",
};

/// The words for its numbers.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Web score",
    path: "scores.web",
    about: "The specification's main score. Null without pages on the idle line and under load, and where most \
        loads failed on the idle line already: `web_missing` says so.",
    words: &[
        MetricWord::new(
            "score",
            "100 times the mean page load time of complete loads on the idle line over that of all under load, rounded; 100 when it is \
             faster under load",
            "0 to 100",
            "spec, The RRUL Score",
        ),
        MetricWord::new(
            "ci95_low, ci95_high",
            "its 95 % interval, by bootstrap over loads; null with fewer than three loads in one of the conditions",
            "0 to 100",
            "Efron 1979",
        ),
        MetricWord::new(
            "of_medians",
            "the same of median page load times; null when a median falls on a load that never ended well",
            "0 to 100",
            "",
        ),
        MetricWord::new(
            "failures",
            "loads that failed or were given up, in either condition; under load they count as their cap",
            "count",
            "",
        ),
        MetricWord::new(
            "at_most",
            "loads that were cut off by the end of their flow count with what they had taken: had they had the time, the score \
             would be lower",
            "",
            "",
        ),
        MetricWord::new("pages[].page, pages[].class, pages[].family", "what it is the mean over", "", ""),
        MetricWord::new("pages[].score", "the score of that page alone", "0 to 100", ""),
        MetricWord::new(
            "pages[].unloaded_mean_ns, pages[].loaded_mean_ns",
            "its mean page load times: of complete loads on the idle line, of all under load",
            "ns",
            "",
        ),
    ],
};

/// The web score of a run.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct WebScore {
    /// The score.
    pub score: u8,
    /// Lower end of its 95 % interval.
    pub ci95_low: Option<f64>,
    /// Upper end.
    pub ci95_high: Option<f64>,
    /// The same of medians.
    pub of_medians: Option<u8>,
    /// Loads that never ended well.
    pub failures: u64,
    /// Whether it would be lower, had loads that were cut off had the time.
    pub at_most: bool,
    /// What it is the mean over.
    pub pages: Vec<PageScore>,
    /// The share of its speed that a page keeps, not rounded, 0 to 1.
    #[serde(skip)]
    pub kept: f64,
}

/// The score of one page.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct PageScore {
    /// Its name.
    pub page: String,
    /// Class.
    pub class: ServiceClass,
    /// Family.
    pub family: AddressFamily,
    /// Its score.
    pub score: u8,
    /// Mean page load time on the idle line.
    pub unloaded_mean_ns: i64,
    /// Under load.
    pub loaded_mean_ns: i64,
}

/// The share of its speed that a page keeps: unloaded over loaded time, at most 1. Any unit, the same for both.
///
/// `None` when either is no positive number; an infinite loaded time keeps nothing.
pub fn kept(unloaded: f64, loaded: f64) -> Option<f64> {
    let known = unloaded > 0.0 && unloaded.is_finite() && loaded > 0.0;
    known.then(|| (unloaded / loaded).min(1.0))
}

/// The share as a score.
pub fn score(kept: f64) -> u8 {
    (100.0 * kept.clamp(0.0, 1.0)).round() as u8
}

/// The pages that are scored: synthetic ones, or those of a browser where there are no others.
pub(crate) fn scored_pages(analysis: &Analysis) -> Vec<&PageLoads> {
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
    /// Of a page, or why it has no score.
    fn of(page: &'a PageLoads) -> Result<Self, String> {
        let begun = |statistics: &'a Option<LoadStatistics>| statistics.as_ref().filter(|loads| loads.n > 0);
        let idle = begun(&page.unloaded).ok_or("no load of it on the idle line")?;
        let busy = begun(&page.loaded).ok_or("no load of it under load")?;
        let quiet = idle.baseline().ok_or_else(|| match idle.failed + idle.capped {
            0 => "no load of it on the idle line came to its end".to_owned(),
            failed => format!("{failed} of {} loads on the idle line failed or were given up", failed + idle.complete),
        })?;
        Ok(Self { page, quiet, idle, busy })
    }

    fn kept(&self) -> Option<f64> {
        kept(mean(self.quiet)?, mean(&self.busy.counted)?)
    }

    fn kept_of_medians(&self) -> Option<f64> {
        let mut quiet = self.quiet.to_vec();
        quiet.sort_unstable_by(f64::total_cmp);
        kept(percentile(&quiet, 0, 500)?, self.busy.p50_ns? as f64 / 1e9)
    }

    fn told(&self) -> Option<PageScore> {
        Some(PageScore {
            page: self.page.page.clone(),
            class: self.page.class,
            family: self.page.family,
            score: score(self.kept()?),
            unloaded_mean_ns: self.idle.whole_mean_ns()?,
            loaded_mean_ns: self.busy.mean_ns?,
        })
    }
}

/// The pages that should be scored and are not, each with the reason.
pub(crate) fn missing(analysis: &Analysis) -> Vec<String> {
    let reason = |page: &PageLoads| {
        let reason = Scored::of(page).err()?;
        Some(format!("{}, {}, {}: {reason}", page.page, page.class, page.family))
    };
    scored_pages(analysis).into_iter().filter_map(reason).collect()
}

/// From an analysis.
pub(crate) fn of(analysis: &Analysis) -> Option<WebScore> {
    let pages: Vec<Scored> = scored_pages(analysis).into_iter().filter_map(|page| Scored::of(page).ok()).collect();
    let kept_of_all = mean(&pages.iter().filter_map(Scored::kept).collect::<Vec<_>>())?;
    let samples: Vec<&[f64]> = pages.iter().flat_map(|page| [page.quiet, &*page.busy.counted]).collect();
    let confidence = interval(&samples, |drawn| {
        let shares: Vec<f64> =
            drawn.chunks_exact(2).filter_map(|pair| kept(mean(&pair[0])?, mean(&pair[1])?)).collect();
        mean(&shares).unwrap_or(f64::NAN)
    });
    let medians: Option<Vec<f64>> = pages.iter().map(Scored::kept_of_medians).collect();
    let failures = |loads: &LoadStatistics| loads.failed + loads.capped;
    Some(WebScore {
        score: score(kept_of_all),
        ci95_low: confidence.map(|interval| 100.0 * interval.low),
        ci95_high: confidence.map(|interval| 100.0 * interval.high),
        of_medians: medians.and_then(|medians| mean(&medians)).map(score),
        failures: pages.iter().map(|page| failures(page.idle) + failures(page.busy)).sum(),
        at_most: pages.iter().any(|page| page.busy.counts_cut_short()),
        pages: pages.iter().filter_map(Scored::told).collect(),
        kept: kept_of_all,
    })
}
