//! One load of a page, taken apart: timing breakdown of a page load.

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_model::observation::{BrowserTiming, PageLoad, WebObject};
use rrul_model::page::{Page, PageObject};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;

/// How long a load is waited for where its flow does not say.
pub(crate) const CAP: Duration = Duration::from_secs(30);

/// What became of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
pub enum LoadOutcome {
    /// Complete.
    Complete,
    /// The page could not be loaded.
    Failed,
    /// Not complete within its cap.
    Capped,
    /// Still under way when its flow ended, before its cap.
    CutShort,
    /// The browser broke; nothing is known of the network.
    Broken,
}

/// One load with everything that is known of it.
#[derive(Debug, Clone, PartialEq)]
pub struct Load {
    pub flow: FlowLabel,
    pub number: u32,
    pub started: TestTime,
    pub outcome: LoadOutcome,
    /// Until its load event, its failure or its cap.
    pub took: Delay,
    /// How long it would have been waited for.
    pub cap: Delay,
    /// HTTP/3 connections that could not be had.
    pub fallbacks: u16,
    /// Its objects, refreshes not among them, in the order in which they were wanted.
    pub objects: Vec<WebObject>,
    /// What it asked for once it was there.
    pub refreshes: Vec<WebObject>,
    /// What a browser says of it.
    pub timing: Option<BrowserTiming>,
    /// Timing breakdown of a page load.
    pub parts: LoadParts,
    /// Why it failed or broke, where that is recorded.
    pub failure: Option<String>,
    /// Addresses of its objects by their number, where they are recorded.
    pub addresses: BTreeMap<u16, String>,
}

/// When something of a load was there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Arrival {
    /// Time since the load began.
    After(Delay),
    /// It should have come, and did not.
    Never,
}

/// Timing breakdown of the page load; each time counts from the beginning of the load or of its own step. `None` where
/// it did not occur, or nothing is known of it, as of what had not come when the flow ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LoadParts {
    /// First byte of the document.
    pub first_byte: Option<Arrival>,
    /// The last of what nothing can be shown without.
    pub critical: Option<Arrival>,
    /// The largest thing in view.
    pub hero: Option<Arrival>,
    /// Time in which anything that the load event waits for was under way in the network.
    pub network: Option<Delay>,
    /// All lookups together, and the longest.
    pub lookup: Sums,
    /// All of TCP's and QUIC's handshakes together, and the longest.
    pub connect: Sums,
    /// All of TLS's handshakes over TCP together, and the longest.
    pub secure: Sums,
}

/// A stretch of the objects: all together, and the longest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Sums {
    pub sum: Option<Delay>,
    pub most: Option<Delay>,
}

impl Sums {
    fn new(objects: &[WebObject], stretch: fn(&WebObject) -> Delay) -> Self {
        let known = || objects.iter().map(stretch).filter(|delay| *delay != WebObject::NONE);
        let most = known().max();
        Self { sum: most.map(|_| known().fold(Delay(0), |sum, one| sum + one)), most }
    }
}

impl Load {
    /// Puts a load together from its rows.
    pub(crate) fn new(
        flow: FlowLabel,
        cap: Delay,
        row: &PageLoad,
        objects: Vec<WebObject>,
        timing: Option<BrowserTiming>,
        page: Option<&Page>,
    ) -> Self {
        let outcome = match row.outcome {
            PageLoad::COMPLETE => LoadOutcome::Complete,
            PageLoad::FAILED => LoadOutcome::Failed,
            PageLoad::CAPPED => LoadOutcome::Capped,
            PageLoad::CUT => LoadOutcome::CutShort,
            _ => LoadOutcome::Broken,
        };
        let (mut refreshes, mut objects): (Vec<_>, Vec<_>) =
            objects.into_iter().partition(|object| page.is_some() && object.object >= Page::REFRESH);
        objects.sort_unstable_by_key(|object| (object.wanted, object.object));
        refreshes.sort_by_key(|object| object.wanted);
        let parts = LoadParts::new((row.started, outcome), &objects, timing.as_ref(), page);
        Self {
            flow,
            number: row.load,
            started: row.started,
            outcome,
            took: row.took,
            cap,
            fallbacks: row.fallbacks,
            objects,
            refreshes,
            timing,
            parts,
            failure: None,
            addresses: BTreeMap::new(),
        }
    }
}

/// Its stretches one after the other, those that did not occur left out.
pub fn stretches(object: &WebObject) -> [Delay; 7] {
    let WebObject { blocked, lookup, connect, secure, send, wait, receive, .. } = *object;
    [blocked, lookup, connect, secure, send, wait, receive].map(|stretch| Delay(stretch.0.max(0)))
}

/// How long an object took from the moment it was wanted.
pub fn object_took(object: &WebObject) -> Delay {
    stretches(object).into_iter().fold(Delay(0), |sum, one| sum + one)
}

/// When its last byte was there, or it was given up.
fn ended(object: &WebObject) -> TestTime {
    TestTime(object.wanted.0.saturating_add(object_took(object).0))
}

impl LoadParts {
    fn new(
        (started, outcome): (TestTime, LoadOutcome),
        objects: &[WebObject],
        timing: Option<&BrowserTiming>,
        page: Option<&Page>,
    ) -> Self {
        let entry = |object: &WebObject| page.and_then(|page| page.objects.get(usize::from(object.object)));
        let awaited: Vec<WebObject> =
            objects.iter().filter(|object| entry(object).is_none_or(|entry| !entry.later)).copied().collect();
        let ended_badly = matches!(outcome, LoadOutcome::Failed | LoadOutcome::Capped);
        // A load is complete with single objects missing; of one without any row nothing is known.
        let never = ended_badly || (outcome == LoadOutcome::Complete && !objects.is_empty());
        let arrival = |at: Option<Delay>, never: bool| at.map(Arrival::After).or(never.then_some(Arrival::Never));
        let browser = |pick: fn(&BrowserTiming) -> Delay| timing.map(pick).filter(|time| *time != WebObject::NONE);
        let first_byte = match timing {
            Some(_) => browser(|timing| timing.first_byte),
            None => objects.iter().find(|object| object.object == 0).and_then(|document| {
                // Of one under way `wait` says how long it has been waited for.
                let answered = document.receive != WebObject::NONE && document.outcome != WebObject::FAILED;
                let before = object_took(document) - Delay(document.receive.0.max(0));
                answered.then(|| document.wanted.since(started) + before)
            }),
        };
        // When the last of the objects was there that the manifest calls so; `None` where it calls none so.
        let last = |wanted: fn(&PageObject) -> bool| {
            let wanted_objects = page.map_or(0, |page| page.objects.iter().filter(|entry| wanted(entry)).count());
            let ours = objects.iter().filter(|object| entry(object).is_some_and(wanted));
            let there = ours.filter(|object| object.outcome == WebObject::COMPLETE);
            let there: Vec<Delay> = there.map(|object| ended(object).since(started)).collect();
            let last = there.iter().max().copied().filter(|_| there.len() >= wanted_objects);
            (wanted_objects > 0).then(|| arrival(last, never)).flatten()
        };
        Self {
            first_byte: arrival(first_byte, ended_badly),
            critical: last(|entry| entry.critical),
            hero: last(|entry| entry.hero),
            network: time_in_network(&awaited),
            lookup: Sums::new(objects, |object| object.lookup),
            connect: Sums::new(objects, |object| object.connect),
            secure: Sums::new(objects, |object| object.secure),
        }
    }
}

/// How long at least one of these objects was being looked up, asked for or received; `None` without objects.
fn time_in_network(objects: &[WebObject]) -> Option<Delay> {
    let mut spans: Vec<Window> =
        objects.iter().map(|object| Window { from: object.wanted, to: ended(object) }).collect();
    spans.sort_by_key(|span| span.from);
    let mut until = spans.first()?.from;
    let mut sum = Delay(0);
    for span in spans {
        if span.to > until {
            sum = sum + span.to.since(span.from.max(until));
            until = span.to;
        }
    }
    Some(sum)
}
