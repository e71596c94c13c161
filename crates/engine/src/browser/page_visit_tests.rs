use super::*;
use serde_json::json;

const SECOND: i64 = 1_000_000_000;
const WHICH: Which = Which { flow: FlowId(4), load: 7, scheduled: TestTime(0) };

fn message(method: &str, params: Value) -> Message {
    Message { method: method.to_owned(), params, read: RawTime(2 * SECOND), ..Message::default() }
}

/// A load that began at 1 s, with the browser's clock 100 s ahead.
fn visit() -> PageVisit {
    PageVisit::new("frame", RawTime(SECOND))
}

fn rows(visit: &PageVisit) -> VisitRows {
    visit.rows(WHICH, 100 * SECOND, |raw| TestTime(raw.0))
}

fn requested(id: &str, kind: &str, url: &str, at: f64) -> Message {
    let params =
        json!({ "requestId": id, "type": kind, "frameId": "frame", "timestamp": at, "request": { "url": url } });
    message("Network.requestWillBeSent", params)
}

fn answered(id: &str, status: u16) -> Message {
    message("Network.responseReceived", json!({ "requestId": id, "response": { "status": status, "protocol": "h2" } }))
}

fn finished(id: &str, at: f64) -> Message {
    message("Network.loadingFinished", json!({ "requestId": id, "timestamp": at, "encodedDataLength": 10 }))
}

fn loaded(at: f64) -> Message {
    message("Page.loadEventFired", json!({ "timestamp": at }))
}

#[test]
fn a_page_is_complete_with_its_load_event_and_timed_from_the_command() {
    let mut visit = visit();
    // The empty page before it has a load event that may come late.
    visit.event(&loaded(101.0));
    visit.event(&requested("a", "Document", "http://a/", 101.25));
    visit.event(&loaded(101.3));
    assert!(!visit.is_over());
    visit.event(&answered("a", 200));
    visit.event(&message("Page.lifecycleEvent", json!({ "loaderId": "a", "name": "init", "timestamp": 101.5 })));
    visit.event(&message("Page.lifecycleEvent", json!({ "loaderId": "z", "name": "init", "timestamp": 101.9 })));
    visit.event(&requested("b", "Image", "http://a/b", 101.5));
    visit.event(&requested("c", "Image", "data:image/png;base64,x", 101.5));
    visit.event(&finished("a", 101.6));
    visit.event(&loaded(102.5));
    assert!(visit.is_loaded());
    visit.timed(&json!({ "first_byte": 100.5, "load_event": 1250.0, "first_contentful_paint": -1 }));
    visit.finish(RawTime(3 * SECOND));
    let VisitRows { page, objects, timing } = rows(&visit);
    assert_eq!((page.load, page.outcome, page.started), (7, PageLoad::COMPLETE, TestTime(SECOND)));
    assert_eq!(page.took, Delay(1_500_000_000));
    let found: Vec<_> =
        objects.iter().map(|(row, url)| (row.object, row.outcome, row.wanted.0, url.as_str())).collect();
    let truth =
        [(0, WebObject::COMPLETE, 1_250_000_000, "http://a/"), (1, WebObject::INCOMPLETE, 1_500_000_000, "http://a/b")];
    assert_eq!(found, truth);
    let timing = timing.unwrap();
    assert_eq!((timing.first_byte, timing.load_event), (Delay(100_500_000), Delay(1_250_000_000)));
    assert_eq!((timing.first_contentful_paint, timing.commit), (WebObject::NONE, Delay(250_000_000)));
}

#[test]
fn a_browser_whose_clock_begins_elsewhere_is_taken_to_begin_with_the_command() {
    let mut visit = visit();
    visit.event(&requested("a", "Document", "http://a/", 5.0));
    visit.event(&requested("b", "Image", "http://a/b", 5.5));
    let wanted: Vec<i64> = rows(&visit).objects.iter().map(|(row, _)| row.wanted.0).collect();
    assert_eq!(wanted, [SECOND, SECOND + SECOND / 2]);
}

#[test]
fn every_redirect_is_an_object_and_the_last_is_the_document() {
    let mut visit = visit();
    visit.event(&requested("a", "Document", "http://a/", 101.0));
    let mut redirected = requested("a", "Document", "http://a/next", 101.1);
    redirected.params["redirectResponse"] = json!({ "status": 302, "protocol": "http/1.1" });
    visit.event(&redirected);
    visit.event(&answered("a", 503));
    visit.event(&loaded(101.5));
    visit.finish(RawTime(2 * SECOND));
    assert_eq!(visit.end(), VisitEnd::Failed("HTTP status 503".into()));
    let rows = rows(&visit);
    let found: Vec<_> = rows.objects.iter().map(|(row, _)| (row.status, row.outcome)).collect();
    assert_eq!(found, [(302, WebObject::COMPLETE), (503, WebObject::INCOMPLETE)]);
    assert_eq!((rows.page.outcome, rows.page.took), (PageLoad::FAILED, Delay(SECOND)));
}

#[test]
fn an_unavailable_page_has_failed_and_what_the_browser_shows_instead_does_not_count() {
    let mut visit = visit();
    visit.event(&requested("a", "Document", "http://a/", 101.0));
    let failed = json!({ "requestId": "a", "timestamp": 101.5, "errorText": "net::ERR_CONNECTION_REFUSED" });
    visit.event(&message("Network.loadingFailed", failed));
    visit.event(&answered("a", 200));
    visit.event(&finished("a", 101.6));
    visit.event(&loaded(101.7));
    assert!(!visit.is_over());
    let result = json!({ "errorText": "net::ERR_CONNECTION_REFUSED" });
    visit.navigated(&Message { result, ..Message::default() });
    assert_eq!(visit.end(), VisitEnd::Failed("net::ERR_CONNECTION_REFUSED".into()));
    let [(row, _)] = rows(&visit).objects.try_into().unwrap();
    assert_eq!((row.outcome, row.status, row.blocked), (WebObject::FAILED, 0, Delay(SECOND / 2)));
}

#[test]
fn what_is_cached_is_no_object_of_the_network() {
    let mut visit = visit();
    visit.event(&requested("a", "Document", "http://a/", 101.0));
    visit.event(&requested("b", "Image", "http://a/b", 101.1));
    visit.event(&message("Network.requestServedFromCache", json!({ "requestId": "b" })));
    visit.event(&requested("c", "Image", "http://a/c", 101.2));
    let numbers: Vec<u16> = rows(&visit).objects.iter().map(|(row, _)| row.object).collect();
    assert_eq!(numbers, [0, 2], "numbers are those of the requests");
}

#[test]
fn a_crash_breaks_a_load_and_the_end_of_the_test_cuts_it() {
    let mut crashed = visit();
    crashed.event(&message("Inspector.targetCrashed", json!({})));
    assert_eq!(crashed.end().outcome(), PageLoad::BROKEN);
    assert_eq!(visit().broken(&BrowserError::Stopped).end(), VisitEnd::Cut);
    let gone = BrowserError::Gone("signal: 9 (SIGKILL)".into());
    assert_eq!(visit().broken(&gone).end(), VisitEnd::Broken("the browser has ended: signal: 9 (SIGKILL)".into()));
}

#[test]
fn events_that_cannot_be_read_change_nothing() {
    let mut visit = visit();
    for params in [json!(null), json!([1]), json!({ "requestId": 5 }), json!({ "response": "x" }), json!({})] {
        for method in ["Network.requestWillBeSent", "Network.responseReceived", "Page.loadEventFired", "Page.x", ""] {
            visit.event(&message(method, params.clone()));
        }
    }
    assert!(!visit.is_over());
    assert!(rows(&visit).objects.is_empty());
}

#[test]
fn a_page_that_says_itself_when_it_is_complete_ends_then_or_not_in_time() {
    let loaded_at = |complete: Option<f64>| {
        let mut visit = visit();
        visit.event(&requested("a", "Document", "http://a/", 101.25));
        visit.event(&answered("a", 200));
        visit.event(&loaded(102.5));
        match complete {
            Some(complete) => visit.timed(&json!({ "load_event": 1250.0, "complete": complete })),
            None => visit.not_complete(VisitEnd::Capped),
        }
        visit.finish(RawTime(5 * SECOND));
        let page = rows(&visit).page;
        (page.outcome, page.took.0 / 1_000_000)
    };
    assert_eq!(loaded_at(Some(1750.0)), (PageLoad::COMPLETE, 2000));
    assert_eq!(loaded_at(Some(1000.0)), (PageLoad::COMPLETE, 1500), "never before its load event");
    assert_eq!(loaded_at(None), (PageLoad::CAPPED, 4000));
}
