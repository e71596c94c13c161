//! What some loads of a page have in common: how long they took, and what of it was spent on what.

use rrul_model::observation::{BrowserTiming, WebObject};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use serde::Serialize;

use crate::metric_word::{MetricGroup, MetricWord};
use crate::metrics::web::page_load::{Arrival, Load, LoadOutcome, LoadParts};
use crate::statistics::bootstrap::{interval_of_mean, mean, standard_deviation};
use crate::statistics::percentile::percentile;
use crate::statistics::product_limit::{Observed, expected_times, product_limit, quantile};

/// The words for the loads of one condition.
pub(crate) const GROUP: MetricGroup = MetricGroup {
    title: "Loads of a page",
    path: "#loads",
    about: "Of the loads that were *begun* idle or under load, complete or not. A load that was given up at its cap (30 s unless \
        its flow says otherwise) and one that failed both count as the cap in means, and never end in percentiles. One that was \
        still under way when its flow, the idle line or the load ended is cut off (censored): it would have taken longer. It \
        counts with the mean of what took longer than it had, by the product-limit estimate (Kaplan and Meier 1958); where \
        the longest was cut off, the rest is taken to end at the rate at which loads ended once the quickest had, at the cap at \
        the latest (Epstein and Sobel 1954). Without any load that ended nothing is estimated. A load whose browser broke is no fault of the network \
        and is left out.",
    words: &[
        MetricWord::new("n", "loads that count: all but broken ones", "count", "spec, Web Component"),
        MetricWord::new("complete, failed, capped", "of those, complete, failed, given up at the cap", "count", ""),
        MetricWord::new(
            "cut_short, broken",
            "loads still under way at the end of their flow, of the idle line or of the load; loads whose browser broke",
            "count",
            "",
        ),
        MetricWord::new(
            "failed_objects",
            "objects that could not be had, in all of these loads: a complete load may be without objects that its load event \
             does not wait for, and in a browser without others",
            "count",
            "",
        ),
        MetricWord::new(
            "samples[].at_ns, samples[].took_ns, samples[].outcome",
            "every load: when it began in test time, how long it took or until it was cut off, and `complete`, `failed`, `capped`, `cut_short` or \
             `broken`",
            "ns",
            "spec, Web Component",
        ),
        MetricWord::new(
            "mean_ns, sd_ns",
            "mean and standard deviation (n - 1) of page load time; null when no load ended",
            "ns",
            "spec, Web Component; Kaplan and Meier 1958",
        ),
        MetricWord::new(
            "mean_ci95_low_ns, mean_ci95_high_ns",
            "95 % interval of the mean, by bootstrap over loads, with tails widened for few; null with fewer than three",
            "ns",
            "spec, Web Component; Efron 1979",
        ),
        MetricWord::new(
            "p50_ns, p95_ns",
            "median and 95th percentile of the product-limit estimate, by nearest rank where no load was cut off; null when that \
             load was not seen to be complete",
            "ns",
            "Kaplan and Meier 1958",
        ),
        MetricWord::new(
            "first_byte",
            "[spread](#spread-of-a-part) of the time until the document's first octet; of a browser `responseStart`. Of loads that failed or were \
             given up without one it never came",
            "ns",
            "W3C Navigation Timing",
        ),
        MetricWord::new(
            "critical",
            "the same until all was there that nothing can be shown without: document, style sheets, scripts, fonts that the manifest \
             calls critical. Where one of them never came, neither did this; of a load cut off before nothing is known",
            "ns",
            "",
        ),
        MetricWord::new("hero", "the same until the largest thing in view was there", "ns", ""),
        MetricWord::new(
            "network",
            "the same of the time in which at least one object that the load event waits for was being looked up, asked for \
             or received: page load time without the pauses in which nothing but a processor works",
            "ns",
            "spec, Web Component (95 % CI for the network only)",
        ),
        MetricWord::new(
            "{lookup,connect,secure}_{sum,most}",
            "the same of all look-ups of a load together and the longest; of all handshakes of TCP and QUIC; of all \
             handshakes of TLS over TCP",
            "ns",
            "",
        ),
        MetricWord::new(
            "commit, first_contentful_paint, largest_contentful_paint, dom_content_loaded",
            "the same of what a browser says of itself; null without a browser",
            "ns",
            "W3C Navigation Timing, Paint Timing, Largest Contentful Paint",
        ),
        MetricWord::new(
            "fallbacks",
            "HTTP/3 connections that could not be had, so that HTTP/2 took their place",
            "count",
            "RFC 9114 section 3.1",
        ),
    ],
};

/// The words for a part of loads.
pub(crate) const SPREAD: MetricGroup = MetricGroup {
    title: "Spread of a part",
    path: "#spread",
    about: "Over the loads in which it occurred or should have. Null when there are none.",
    words: &[
        MetricWord::new("n", "loads, or requests, in which it occurred or should have", "count", ""),
        MetricWord::new("never", "of those, in which it never came", "count", ""),
        MetricWord::new("mean_ns", "mean of those in which it came; null when it came in none", "ns", ""),
        MetricWord::new(
            "p50_ns, p95_ns",
            "median and 95th percentile by nearest rank; what never came is infinitely late, null when the rank falls on it",
            "ns",
            "",
        ),
    ],
};

/// Loads of a page under one condition.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct LoadStatistics {
    /// Loads that count.
    pub n: u64,
    /// Of those, complete.
    pub complete: u64,
    /// Of those, failed.
    pub failed: u64,
    /// Of those, given up at the cap.
    pub capped: u64,
    /// Still under way at the end of their flow, of the idle line or of the load.
    pub cut_short: u64,
    /// Broken at this host.
    pub broken: u64,
    /// Objects that could not be had.
    pub failed_objects: u64,
    /// Every load.
    pub samples: Vec<LoadSample>,
    /// Mean page load time.
    pub mean_ns: Option<i64>,
    /// Its standard deviation.
    pub sd_ns: Option<i64>,
    /// Lower end of the mean's 95 % interval.
    pub mean_ci95_low_ns: Option<i64>,
    /// Upper end.
    pub mean_ci95_high_ns: Option<i64>,
    /// Median; `None` when it falls on a load that was not seen to be complete.
    pub p50_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
    /// Until the first octet.
    pub first_byte: Option<Spread>,
    /// Until all that is critical was there.
    pub critical: Option<Spread>,
    /// Until the largest thing in view was there.
    pub hero: Option<Spread>,
    /// In the network.
    pub network: Option<Spread>,
    /// Look-ups together.
    pub lookup_sum: Option<Spread>,
    /// The longest.
    pub lookup_most: Option<Spread>,
    /// TCP's and QUIC's handshakes together.
    pub connect_sum: Option<Spread>,
    /// The longest.
    pub connect_most: Option<Spread>,
    /// TLS's handshakes together.
    pub secure_sum: Option<Spread>,
    /// The longest.
    pub secure_most: Option<Spread>,
    /// A browser committed to showing the document.
    pub commit: Option<Spread>,
    /// A browser's first contentful paint.
    pub first_contentful_paint: Option<Spread>,
    /// A browser's largest contentful paint.
    pub largest_contentful_paint: Option<Spread>,
    /// A browser had handled `DOMContentLoaded`.
    pub dom_content_loaded: Option<Spread>,
    /// HTTP/3 connections that could not be had.
    pub fallbacks: u64,
    /// The times that means are of, seconds: see [`counted`].
    #[serde(skip)]
    pub counted: Vec<f64>,
    /// Those of complete loads alone, seconds.
    #[serde(skip)]
    pub whole: Vec<f64>,
}

/// One load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct LoadSample {
    /// When it began.
    pub at_ns: TestTime,
    /// How long it took or was waited for.
    pub took_ns: i64,
    /// What became of it.
    pub outcome: LoadOutcome,
}

/// Where a part of some loads lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Spread {
    /// Loads in which it occurred or should have.
    pub n: u64,
    /// Of those, in which it never came.
    pub never: u64,
    /// Mean of the others.
    pub mean_ns: Option<i64>,
    /// Median; `None` when it falls on one in which it never came.
    pub p50_ns: Option<i64>,
    /// 95th percentile.
    pub p95_ns: Option<i64>,
}

impl Spread {
    /// Of the times in which it came, and of how often it never did; `None` of nothing.
    pub(crate) fn of(times: impl Iterator<Item = Delay>, never: u64) -> Option<Self> {
        let mut sorted: Vec<i64> = times.map(|time| time.0).collect();
        sorted.sort_unstable();
        let sum: i128 = sorted.iter().map(|time| i128::from(*time)).sum();
        let mean = sum.checked_div(sorted.len() as i128);
        let n = (sorted.len() as u64).saturating_add(never);
        (n > 0).then(|| Self {
            n,
            never,
            mean_ns: mean.and_then(|mean| i64::try_from(mean).ok()),
            p50_ns: percentile(&sorted, never, 500),
            p95_ns: percentile(&sorted, never, 950),
        })
    }
}

/// Returns the times that some loads count with, seconds: outcome, time taken and cap of each. Their mean is that of the
/// product-limit estimate.
///
/// Failures and loads at their cap count as the cap, loads that were cut off as the mean of what took longer than they had.
/// Empty when no load ended: of loads that were all cut off nothing can be estimated.
pub fn counted(loads: &[(LoadOutcome, Delay, Delay)]) -> Vec<f64> {
    let seconds = |delay: Delay| delay.0 as f64 / 1e9;
    let (mut taken, mut cut_off) = (Vec::new(), Vec::new());
    for (outcome, took, cap) in loads {
        match outcome {
            LoadOutcome::Complete => taken.push(seconds(*took)),
            LoadOutcome::Failed | LoadOutcome::Capped => taken.push(seconds((*cap).max(*took))),
            LoadOutcome::CutShort => cut_off.push(seconds(*took)),
            LoadOutcome::Broken => {}
        }
    }
    let limit = loads.iter().map(|(.., cap)| seconds(*cap)).fold(0.0, f64::max);
    expected_times(&taken, &cut_off, limit).unwrap_or_default()
}

/// Returns outcome, time and cap of a load in the condition in which it began, which lasts `until`: one that was complete
/// only later is cut off there.
pub(crate) fn outcome_within(load: &Load, until: Option<TestTime>) -> (LoadOutcome, Delay, Delay) {
    let ended = TestTime(load.started.0.saturating_add(load.took.0));
    match until.filter(|until| load.outcome == LoadOutcome::Complete && ended > *until) {
        Some(until) => (LoadOutcome::CutShort, until.since(load.started), load.cap),
        None => (load.outcome, load.took, load.cap),
    }
}

impl LoadStatistics {
    /// The times of complete loads, seconds, for what is loaded to be held against; `None` without any, and when more loads
    /// failed or were given up than came to their end.
    ///
    /// Failures at their cap would make a slow line of a page that cannot be had, beside which anything looks good.
    pub fn baseline(&self) -> Option<&[f64]> {
        (!self.whole.is_empty() && self.failed + self.capped <= self.complete).then_some(&*self.whole)
    }

    /// Mean page load time of complete loads alone.
    pub fn whole_mean_ns(&self) -> Option<i64> {
        mean(&self.whole).map(|seconds| (seconds * 1e9).round() as i64)
    }

    /// Of these loads, in a condition that lasts `until`; `None` of none.
    pub(crate) fn of(loads: &[&Load], until: Option<TestTime>) -> Option<Self> {
        if loads.is_empty() {
            return None;
        }
        let facts: Vec<_> = loads.iter().map(|load| outcome_within(load, until)).collect();
        let times = counted(&facts);
        let count = |wanted| facts.iter().filter(|(outcome, ..)| *outcome == wanted).count() as u64;
        let nanoseconds = |seconds: Option<f64>| seconds.map(|seconds| (seconds * 1e9).round() as i64);
        let complete = facts.iter().filter(|(outcome, ..)| *outcome == LoadOutcome::Complete);
        let mut whole: Vec<f64> = complete.map(|(_, took, _)| took.0 as f64 / 1e9).collect();
        whole.sort_unstable_by(f64::total_cmp);
        let observed = facts.iter().filter_map(|(outcome, took, _)| match outcome {
            LoadOutcome::Complete => Some(Observed::Took(took.0 as f64)),
            LoadOutcome::CutShort => Some(Observed::Longer(took.0 as f64)),
            LoadOutcome::Failed | LoadOutcome::Capped => Some(Observed::Never),
            LoadOutcome::Broken => None,
        });
        let curve = product_limit(&observed.collect::<Vec<_>>());
        let interval = interval_of_mean(&times);
        let part =
            |part: fn(&LoadParts) -> Option<Delay>| Spread::of(loads.iter().filter_map(|load| part(&load.parts)), 0);
        let arrival = |part: fn(&LoadParts) -> Option<Arrival>| {
            let told: Vec<Arrival> = loads.iter().filter_map(|load| part(&load.parts)).collect();
            let came = told.iter().filter_map(|arrival| match arrival {
                Arrival::After(delay) => Some(*delay),
                Arrival::Never => None,
            });
            Spread::of(came, told.iter().filter(|arrival| **arrival == Arrival::Never).count() as u64)
        };
        let failed = |object: &&WebObject| object.outcome == WebObject::FAILED;
        let timing = |pick: fn(&BrowserTiming) -> Delay| {
            let told = loads.iter().filter_map(|load| load.timing.as_ref()).map(pick);
            Spread::of(told.filter(|time| *time != WebObject::NONE), 0)
        };
        Some(Self {
            n: facts.len() as u64 - count(LoadOutcome::Broken),
            complete: count(LoadOutcome::Complete),
            failed: count(LoadOutcome::Failed),
            capped: count(LoadOutcome::Capped),
            cut_short: count(LoadOutcome::CutShort),
            broken: count(LoadOutcome::Broken),
            failed_objects: loads.iter().flat_map(|load| &load.objects).filter(failed).count() as u64,
            samples: loads
                .iter()
                .zip(&facts)
                .map(|(load, (outcome, took, _))| LoadSample {
                    at_ns: load.started,
                    took_ns: took.0,
                    outcome: *outcome,
                })
                .collect(),
            mean_ns: nanoseconds(mean(&times)),
            sd_ns: nanoseconds(standard_deviation(&times)),
            mean_ci95_low_ns: nanoseconds(interval.map(|interval| interval.low)),
            mean_ci95_high_ns: nanoseconds(interval.map(|interval| interval.high)),
            p50_ns: quantile(&curve, 500).map(|time| time as i64),
            p95_ns: quantile(&curve, 950).map(|time| time as i64),
            first_byte: arrival(|parts| parts.first_byte),
            critical: arrival(|parts| parts.critical),
            hero: arrival(|parts| parts.hero),
            network: part(|parts| parts.network),
            lookup_sum: part(|parts| parts.lookup.sum),
            lookup_most: part(|parts| parts.lookup.most),
            connect_sum: part(|parts| parts.connect.sum),
            connect_most: part(|parts| parts.connect.most),
            secure_sum: part(|parts| parts.secure.sum),
            secure_most: part(|parts| parts.secure.most),
            commit: timing(|timing| timing.commit),
            first_contentful_paint: timing(|timing| timing.first_contentful_paint),
            largest_contentful_paint: timing(|timing| timing.largest_contentful_paint),
            dom_content_loaded: timing(|timing| timing.dom_content_loaded),
            fallbacks: loads.iter().map(|load| u64::from(load.fallbacks)).sum(),
            counted: times,
            whole,
        })
    }
}
