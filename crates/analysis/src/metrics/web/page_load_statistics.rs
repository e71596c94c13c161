//! What some loads of a page have in common: how long they took, and what of it was spent on what.

use rrul_model::observation::{BrowserTiming, WebObject};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::metrics::web::page_load::{Arrival, Load, LoadOutcome, LoadParts};
use crate::statistics::bootstrap::{interval_of_mean, mean, standard_deviation};
use crate::statistics::percentile::percentile;
use crate::statistics::product_limit::{Observed, expected_times, product_limit, quantile};

/// Loads of one page, unloaded or under load.
///
/// Of the loads *begun* idle or under load, complete or not. A load given up at its cap (30 s unless its flow sets
/// another) and a failed one both count as the cap in means, and as infinite in percentiles. A load still under way
/// when its flow, the idle phase or the load ended is cut off (censored): it would have taken longer. It counts with
/// the mean of the loads that took longer, by the product-limit estimate (Kaplan and Meier 1958). If the longest load
/// was cut off, the rest is taken to end at the rate at which loads ended after the quickest, at the cap at the latest
/// (Epstein and Sobel 1954). Without any load that ended, nothing is estimated. A load whose browser broke is not a
/// fault of the network and is left out.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Page load statistics")]
pub struct LoadStatistics {
    /// Loads that count: all but broken ones.
    ///
    /// Unit: count. Source: spec, Web Component.
    pub n: u64,
    /// Of those, complete loads.
    ///
    /// Unit: count.
    pub complete: u64,
    /// Of those, failed loads.
    ///
    /// Unit: count.
    pub failed: u64,
    /// Of those, loads given up at the cap.
    ///
    /// Unit: count.
    pub capped: u64,
    /// Loads still under way at the end of their flow, of the idle line or of the load.
    ///
    /// Unit: count.
    pub cut_short: u64,
    /// Loads whose browser broke.
    ///
    /// Unit: count.
    pub broken: u64,
    /// Objects that could not be loaded, in all of these loads. A complete load may lack objects that its load event
    /// does not wait for, and in a browser also others.
    ///
    /// Unit: count.
    pub failed_objects: u64,
    /// Every load.
    ///
    /// Source: spec, Web Component.
    pub samples: Vec<LoadSample>,
    /// Mean page load time. Null when no load ended.
    ///
    /// Source: spec, Web Component; Kaplan and Meier 1958.
    pub mean_ns: Option<i64>,
    /// Standard deviation (n - 1) of the page load time. Null when no load ended.
    pub sd_ns: Option<i64>,
    /// Lower end of the 95 % interval of the mean, by bootstrap over loads, with tails widened for few. Null with fewer
    /// than three.
    ///
    /// Source: spec, Web Component; Efron 1979.
    pub mean_ci95_low_ns: Option<i64>,
    /// Upper end of the same.
    pub mean_ci95_high_ns: Option<i64>,
    /// Median of the product-limit estimate, by nearest rank where no load was cut off. Null when that load was not
    /// seen to complete.
    ///
    /// Source: Kaplan and Meier 1958.
    pub p50_ns: Option<i64>,
    /// 95th percentile of the same.
    pub p95_ns: Option<i64>,
    /// [Spread](#spread-of-a-part) of the time until the document's first byte; of a browser `responseStart`. Of loads
    /// that failed or were given up without one it never came.
    ///
    /// Source: W3C Navigation Timing.
    pub first_byte: Option<Spread>,
    /// The same until all render-blocking objects had arrived: document, style sheets, scripts, fonts that the manifest
    /// marks as critical. If one of them never came, this never came; a load cut off before is unknown.
    pub critical: Option<Spread>,
    /// The same until the largest visible object had arrived.
    pub hero: Option<Spread>,
    /// The same of the time in which at least one object that the load event waits for was being looked up, requested
    /// or received: page load time without the pauses in which only the CPU works.
    ///
    /// Source: spec, Web Component (95 % CI for the network only).
    pub network: Option<Spread>,
    /// Time of all DNS lookups of a load together.
    pub lookup_sum: Option<Spread>,
    /// Time of the longest DNS lookup of a load.
    pub lookup_most: Option<Spread>,
    /// Time of all handshakes of TCP and QUIC of a load together.
    pub connect_sum: Option<Spread>,
    /// Time of the longest handshake of TCP or QUIC.
    pub connect_most: Option<Spread>,
    /// Time of all handshakes of TLS over TCP of a load together.
    pub secure_sum: Option<Spread>,
    /// Time of the longest handshake of TLS over TCP.
    pub secure_most: Option<Spread>,
    /// Time until the browser committed to showing the document. Null without a browser, like those that follow.
    ///
    /// Source: W3C Navigation Timing.
    pub commit: Option<Spread>,
    /// The browser's first contentful paint.
    ///
    /// Source: W3C Paint Timing.
    pub first_contentful_paint: Option<Spread>,
    /// The browser's largest contentful paint.
    ///
    /// Source: W3C Largest Contentful Paint.
    pub largest_contentful_paint: Option<Spread>,
    /// Time until the browser had handled `DOMContentLoaded`.
    ///
    /// Source: W3C Navigation Timing.
    pub dom_content_loaded: Option<Spread>,
    /// HTTP/3 connections that failed and were replaced by HTTP/2.
    ///
    /// Unit: count. Source: RFC 9114 section 3.1.
    pub fallbacks: u64,
    /// The times that means are of, seconds: see [`counted`].
    #[serde(skip)]
    pub counted: Vec<f64>,
    /// Those of complete loads alone, seconds.
    #[serde(skip)]
    pub whole: Vec<f64>,
}

/// One load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct LoadSample {
    /// When the load began, in test time.
    pub at_ns: TestTime,
    /// How long it took, or until it was cut off.
    pub took_ns: i64,
    /// What became of the load.
    pub outcome: LoadOutcome,
}

/// How long a part of the loads took.
///
/// Over the loads in which it occurred or should have. Null without any.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Spread of a part")]
pub struct Spread {
    /// Loads, or requests, in which it occurred or should have.
    ///
    /// Unit: count.
    pub n: u64,
    /// Of those, in which it never came.
    ///
    /// Unit: count.
    pub never: u64,
    /// Mean of those in which it came; null when it came in none.
    pub mean_ns: Option<i64>,
    /// Median by nearest rank. A value that never came counts as infinite; null if the rank falls on one.
    pub p50_ns: Option<i64>,
    /// 95th percentile by nearest rank.
    pub p95_ns: Option<i64>,
}

impl Spread {
    /// Summarizes the times after which it came and how often it never did; `None` without either.
    pub(crate) fn from_times(times: impl Iterator<Item = Delay>, never: u64) -> Option<Self> {
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
    /// Failures at their cap would make a slow line of an unavailable page, and any other line would look good in
    /// comparison.
    pub fn baseline(&self) -> Option<&[f64]> {
        (!self.whole.is_empty() && self.failed + self.capped <= self.complete).then_some(&*self.whole)
    }

    /// Mean page load time of complete loads alone.
    pub fn whole_mean_ns(&self) -> Option<i64> {
        mean(&self.whole).map(|seconds| (seconds * 1e9).round() as i64)
    }

    /// Summarizes these loads, in a condition that lasts `until`; `None` without any.
    pub(crate) fn from_loads(loads: &[&Load], until: Option<TestTime>) -> Option<Self> {
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
        let part = |part: fn(&LoadParts) -> Option<Delay>| {
            Spread::from_times(loads.iter().filter_map(|load| part(&load.parts)), 0)
        };
        let arrival = |part: fn(&LoadParts) -> Option<Arrival>| {
            let arrivals: Vec<Arrival> = loads.iter().filter_map(|load| part(&load.parts)).collect();
            let came = arrivals.iter().filter_map(|arrival| match arrival {
                Arrival::After(delay) => Some(*delay),
                Arrival::Never => None,
            });
            Spread::from_times(came, arrivals.iter().filter(|arrival| **arrival == Arrival::Never).count() as u64)
        };
        let failed = |object: &&WebObject| object.outcome == WebObject::FAILED;
        let timing = |pick: fn(&BrowserTiming) -> Delay| {
            let times = loads.iter().filter_map(|load| load.timing.as_ref()).map(pick);
            Spread::from_times(times.filter(|time| *time != WebObject::NONE), 0)
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
