//! One load of a page in a browser, followed by the browser's events. No clock is read here, and nothing waited for.

use std::collections::HashMap;

use rrul_model::flow::FlowId;
use rrul_model::observation::{BrowserTiming, PageLoad, WebObject};
use rrul_model::printable::is_unprintable;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use serde::Deserialize;
use serde_json::Value;

use super::BrowserError;
use super::devtools::Message;
use super::resource::{Resource, Response};
use crate::clock::RawTime;

/// Objects of one load that are reported; a page with more is reported with this many.
const MOST_OBJECTS: usize = 2000;

/// Characters of an address that are reported.
const MOST_CHARACTERS: usize = 1000;

/// How a load ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum VisitEnd {
    /// The page could not be had, and why.
    Failed(String),
    /// It was not complete within its cap.
    Capped,
    /// It was not complete when its window, or the test, ended before that.
    Cut,
    /// Its load event has been handled.
    Complete,
    /// The browser broke down, and how.
    Broken(String),
}

impl VisitEnd {
    /// As in [`PageLoad::outcome`].
    pub(crate) fn outcome(&self) -> u8 {
        match self {
            Self::Failed(_) => PageLoad::FAILED,
            Self::Capped => PageLoad::CAPPED,
            Self::Cut => PageLoad::CUT,
            Self::Complete => PageLoad::COMPLETE,
            Self::Broken(_) => PageLoad::BROKEN,
        }
    }
}

/// A load under way, or over.
#[derive(Debug)]
pub(crate) struct PageVisit {
    frame: String,
    began: RawTime,
    over: Option<RawTime>,
    end: Option<VisitEnd>,
    objects: Vec<Resource>,
    /// The objects by the browser's names for them; of a request that was redirected, the last.
    by_request: HashMap<String, usize>,
    /// The document: after redirects, or when the page went on to another, the last.
    document: Option<usize>,
    /// On the browser's clock: when it was shown, when its load event had been handled.
    committed: Option<f64>,
    loaded: Option<f64>,
    timing: Option<Timing>,
    /// When the first event about an object was read, and the browser's stamp in it.
    first: Option<(RawTime, f64)>,
}

/// What the page's own timings say; milliseconds since the beginning of navigation, 0 or less without one.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(default)]
struct Timing {
    first_byte: f64,
    dom_content_loaded: f64,
    load_event: f64,
    /// Of rrul's own pages: when all that the load waits for had arrived.
    complete: f64,
    first_contentful_paint: f64,
    largest_contentful_paint: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
struct Event {
    request_id: String,
    timestamp: f64,
    frame_id: String,
    loader_id: String,
    #[serde(rename = "type")]
    kind: String,
    request: Requested,
    redirect_response: Option<Response>,
    response: Option<Response>,
    error_text: String,
    name: String,
    data_length: f64,
    encoded_data_length: f64,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
struct Requested {
    url: String,
}

impl PageVisit {
    /// A load in this frame that begins now.
    pub(super) fn new(frame: &str, began: RawTime) -> Self {
        Self {
            frame: frame.to_owned(),
            began,
            over: None,
            end: None,
            objects: Vec::new(),
            by_request: HashMap::new(),
            document: None,
            committed: None,
            loaded: None,
            timing: None,
            first: None,
        }
    }

    pub(super) fn is_over(&self) -> bool {
        self.end.is_some()
    }

    pub(super) fn is_loaded(&self) -> bool {
        self.end == Some(VisitEnd::Complete)
    }

    /// The answer to the command to load the page.
    pub(super) fn navigated(&mut self, answer: &Message) {
        let refused = answer.error.as_ref().map(|error| error["message"].as_str().unwrap_or("refused").to_owned());
        let failed = answer.result["errorText"].as_str().filter(|text| !text.is_empty()).map(str::to_owned);
        if let Some(why) = refused.or(failed) {
            self.end_with(VisitEnd::Failed(why));
        }
    }

    pub(super) fn timed(&mut self, timing: &Value) {
        self.timing = Timing::deserialize(timing).ok();
    }

    /// The load event was, and what the page says itself to wait for did not come in time.
    pub(super) fn not_complete(&mut self, end: VisitEnd) {
        self.end = Some(end);
    }

    pub(super) fn out_of_time(&mut self, end: VisitEnd) {
        self.end_with(end);
    }

    /// The browser has broken down, or the test was stopped.
    pub(super) fn broken(mut self, error: &BrowserError) -> Self {
        // A page that was there before is there all the same.
        self.end_with(match error {
            BrowserError::Stopped => VisitEnd::Cut,
            error => VisitEnd::Broken(error.to_string()),
        });
        self.finish(RawTime::now());
        self
    }

    pub(super) fn finish(&mut self, now: RawTime) {
        self.over.get_or_insert(now);
    }

    fn end_with(&mut self, end: VisitEnd) {
        self.end.get_or_insert(end);
    }

    /// One event of the browser.
    pub(super) fn event(&mut self, message: &Message) {
        match message.method.as_str() {
            "Inspector.targetCrashed" => {
                return self.end_with(VisitEnd::Broken("the page's process crashed".to_owned()));
            }
            "Page.loadEventFired" | "Page.lifecycleEvent" => {}
            name if name.starts_with("Network.") => {}
            _ => return,
        }
        // What cannot be read says nothing; the load then ends by its cap.
        let Ok(event) = Event::deserialize(&message.params) else { return };
        match message.method.as_str() {
            "Network.requestWillBeSent" => self.requested(event, message.read),
            "Network.requestServedFromCache" => self.change(&event, |object| object.cached = true),
            "Network.responseReceived" => self.change(&event, |object| object.response.clone_from(&event.response)),
            "Network.dataReceived" => self.change(&event, |object| {
                object.encoded += event.encoded_data_length;
                object.decoded += event.data_length;
            }),
            "Network.loadingFinished" => self.change(&event, |object| {
                object.ended = Some(event.timestamp);
                object.total = event.encoded_data_length;
            }),
            "Network.loadingFailed" => self.change(&event, |object| {
                object.ended = Some(event.timestamp);
                object.failure = Some(event.error_text.clone());
            }),
            // A document's loader has the name of its request, and begins as the browser commits to it.
            "Page.lifecycleEvent" if event.name == "init" && self.is_document(&event.loader_id) => {
                self.committed = Some(event.timestamp);
            }
            // The empty page that was there before has a load event, too.
            "Page.loadEventFired" if self.is_answered() => self.load_event(event.timestamp),
            _ => {}
        }
    }

    fn requested(&mut self, event: Event, read: RawTime) {
        if let Some(redirect) = event.redirect_response {
            self.by_name(&event.request_id, |object| {
                object.response = Some(redirect);
                object.ended = Some(event.timestamp);
            });
        }
        let is_http = event.request.url.starts_with("http://") || event.request.url.starts_with("https://");
        if !is_http || self.objects.len() >= MOST_OBJECTS {
            self.by_request.remove(&event.request_id);
            return;
        }
        self.first.get_or_insert((read, event.timestamp));
        if event.kind == "Document" && event.frame_id == self.frame && self.loaded.is_none() {
            self.document = Some(self.objects.len());
        }
        self.by_request.insert(event.request_id, self.objects.len());
        let url = event.request.url.chars().filter(|character| !is_unprintable(*character)).take(MOST_CHARACTERS);
        self.objects.push(Resource { url: url.collect(), wanted: event.timestamp, ..Resource::default() });
    }

    fn change(&mut self, event: &Event, change: impl FnOnce(&mut Resource)) {
        self.by_name(&event.request_id, change);
    }

    fn by_name(&mut self, name: &str, change: impl FnOnce(&mut Resource)) {
        // After a failure the browser shows a page of its own under the same name.
        let object = self.by_request.get(name).and_then(|index| self.objects.get_mut(*index));
        if let Some(object) = object.filter(|object| object.failure.is_none()) {
            change(object);
        }
    }

    fn is_document(&self, request: &str) -> bool {
        self.document.is_some() && self.by_request.get(request).copied() == self.document
    }

    /// Whether the document has been answered.
    fn is_answered(&self) -> bool {
        self.document().is_some_and(|document| document.response.is_some())
    }

    fn document(&self) -> Option<&Resource> {
        self.objects.get(self.document?)
    }

    fn load_event(&mut self, at: f64) {
        let status = self.document().map_or(0, Resource::status);
        self.loaded.get_or_insert(at);
        self.end_with(match status {
            200..400 => VisitEnd::Complete,
            status => VisitEnd::Failed(format!("HTTP status {status}")),
        });
    }

    pub(crate) fn end(&self) -> VisitEnd {
        self.end.clone().unwrap_or(VisitEnd::Cut)
    }

    /// How the browser's clock is carried over to the raw clock; `distance` is `CLOCK_MONOTONIC` less the raw clock.
    ///
    /// Chromium's clock is `CLOCK_MONOTONIC`. Should that not be so, the first object lies before the command that asked for
    /// it, or after the moment when it was reported, and is then taken to be as old as the command.
    fn carry(&self, distance: i64) -> impl Fn(f64) -> RawTime {
        let nanoseconds = |at: f64| (at * 1e9).round() as i64;
        let distance = self.first.map_or(distance, |(read, stamp)| {
            let first = RawTime(nanoseconds(stamp).saturating_sub(distance));
            let fits = self.began <= first && first <= read;
            if fits { distance } else { nanoseconds(stamp).saturating_sub(self.began.0) }
        });
        move |at| RawTime(nanoseconds(at).saturating_sub(distance))
    }

    /// The rows of this load; `distance` is `CLOCK_MONOTONIC` less the raw clock, `at` the test time of a raw instant.
    pub(crate) fn rows(&self, which: Which, distance: i64, at: impl Fn(RawTime) -> TestTime) -> VisitRows {
        let Which { flow, load, scheduled } = which;
        let carry = self.carry(distance);
        let over = self.over.unwrap_or(self.began);
        let ended = match (self.end(), self.loaded) {
            (VisitEnd::Complete, Some(loaded)) => {
                let later = self.timing.map_or(0.0, |timing| (timing.complete - timing.load_event).max(0.0));
                carry(loaded + later / 1e3)
            }
            _ => over,
        };
        let took = Delay(ended.since(self.began).max(0));
        let outcome = self.end().outcome();
        let page = PageLoad { flow, load, scheduled, started: at(self.began), outcome, took, fallbacks: 0 };
        // When it was over, on the browser's clock.
        let zero = carry(0.0);
        let over = over.since(zero) as f64 / 1e9;
        let of_network = self.objects.iter().enumerate().filter(|(_, object)| object.is_of_network());
        let objects = of_network.map(|(number, object)| {
            let which = (flow, load, u16::try_from(number).unwrap_or(u16::MAX));
            (object.row(which, over, |stamp| at(carry(stamp))), object.url.clone())
        });
        VisitRows { page, objects: objects.collect(), timing: self.timing_row(flow, load) }
    }

    fn timing_row(&self, flow: FlowId, load: u32) -> Option<BrowserTiming> {
        let timing = self.timing?;
        let delay = |time: f64| if time > 0.0 { Delay((time * 1e6).round() as i64) } else { WebObject::NONE };
        // The commit is reported on the browser's clock only; the load event is known on both.
        let commit = self
            .committed
            .zip(self.loaded)
            .map(|(committed, loaded)| (timing.load_event - (loaded - committed) * 1e3).max(0.0));
        Some(BrowserTiming {
            flow,
            load,
            first_byte: delay(timing.first_byte),
            commit: commit.map_or(WebObject::NONE, delay),
            first_contentful_paint: delay(timing.first_contentful_paint),
            largest_contentful_paint: delay(timing.largest_contentful_paint),
            dom_content_loaded: delay(timing.dom_content_loaded),
            load_event: delay(timing.load_event),
        })
    }
}

/// Which load of which flow.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Which {
    pub(crate) flow: FlowId,
    pub(crate) load: u32,
    /// When the schedule wanted it.
    pub(crate) scheduled: TestTime,
}

/// What is to be noted of a load.
#[derive(Debug)]
pub(crate) struct VisitRows {
    pub(crate) page: PageLoad,
    /// Its objects with their addresses.
    pub(crate) objects: Vec<(WebObject, String)>,
    /// What the page says itself.
    pub(crate) timing: Option<BrowserTiming>,
}

#[cfg(test)]
#[path = "page_visit_tests.rs"]
mod tests;
