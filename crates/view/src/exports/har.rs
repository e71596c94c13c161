//! Page loads as an HTTP archive, HAR 1.2: the form that browsers write and waterfall viewers read.
//!
//! One page of the archive is one load, one entry one object. Times are milliseconds; what did not occur is -1, and
//! what did adds up to the entry's `time`. HAR counts the TLS handshake into `connect` and reports it again as `ssl`.
//! Nothing was recorded of headers and bodies: their lists are empty and their sizes -1.

use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::web::page_load::{Load, LoadOutcome};
use rrul_analysis::metrics::web::page_loads::{PageLoads, protocol_name};
use rrul_model::observation::{BrowserTiming, WebObject};
use rrul_model::page::Page;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use serde::Serialize;

/// The archive as it is written.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Archive {
    pub log: Log,
}

/// What HAR calls the log.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Log {
    version: &'static str,
    creator: Creator,
    pub pages: Vec<PageEntry>,
    pub entries: Vec<Entry>,
    comment: String,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
struct Creator {
    name: &'static str,
    version: &'static str,
}

/// One load.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct PageEntry {
    started_date_time: String,
    /// Its name within the archive.
    pub id: String,
    title: String,
    page_timings: PageTimings,
    comment: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct PageTimings {
    on_content_load: f64,
    on_load: f64,
    /// Names with an underscore are the program's own, as HAR has it; browsers write the same.
    #[serde(rename = "_firstContentfulPaint", skip_serializing_if = "Option::is_none")]
    first_contentful_paint: Option<f64>,
    #[serde(rename = "_largestContentfulPaint", skip_serializing_if = "Option::is_none")]
    largest_contentful_paint: Option<f64>,
}

/// One object.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Entry {
    pub pageref: String,
    started_date_time: String,
    /// Milliseconds in all.
    pub time: f64,
    request: Request,
    response: Response,
    cache: Empty,
    /// What of it was spent on what.
    pub timings: Timings,
    connection: String,
    comment: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
struct Empty {}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Request {
    method: &'static str,
    url: String,
    http_version: &'static str,
    cookies: [Empty; 0],
    headers: [Empty; 0],
    query_string: [Empty; 0],
    headers_size: i64,
    body_size: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Response {
    status: u16,
    status_text: &'static str,
    http_version: &'static str,
    cookies: [Empty; 0],
    headers: [Empty; 0],
    content: Content,
    #[serde(rename = "redirectURL")]
    redirect_url: &'static str,
    headers_size: i64,
    body_size: i64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
struct Content {
    size: u64,
    mime_type: &'static str,
}

/// Milliseconds; -1 where it did not occur.
#[derive(Debug, Clone, Copy, PartialEq, Serialize)]
pub struct Timings {
    pub blocked: f64,
    pub dns: f64,
    pub connect: f64,
    pub send: f64,
    pub wait: f64,
    pub receive: f64,
    pub ssl: f64,
}

impl Timings {
    fn of(object: &WebObject) -> Self {
        let (connect, ssl) = (milliseconds(object.connect), milliseconds(object.secure));
        Self {
            blocked: milliseconds(object.blocked),
            dns: milliseconds(object.lookup),
            connect: if connect < 0.0 && ssl < 0.0 { -1.0 } else { connect.max(0.0) + ssl.max(0.0) },
            // These three must not be missing: what was never reached took no time.
            send: milliseconds(object.send).max(0.0),
            wait: milliseconds(object.wait).max(0.0),
            receive: milliseconds(object.receive).max(0.0),
            ssl,
        }
    }

    /// All together; TLS is within `connect`.
    pub fn sum(&self) -> f64 {
        let Self { blocked, dns, connect, send, wait, receive, ssl: _ } = *self;
        [blocked, dns, connect, send, wait, receive].into_iter().filter(|time| *time > 0.0).sum()
    }
}

fn milliseconds(delay: Delay) -> f64 {
    if delay == WebObject::NONE { -1.0 } else { delay.milliseconds().max(0.0) }
}

/// The page loads of a run; without pages where it has none.
pub fn archive(run: &Analysis) -> Archive {
    let began = humantime::parse_rfc3339(&run.test.created).ok();
    let date = |at: TestTime| {
        let after = Duration::from_nanos(u64::try_from(at.0).unwrap_or(0));
        let at = began.unwrap_or(std::time::UNIX_EPOCH).checked_add(after).unwrap_or(std::time::UNIX_EPOCH);
        humantime::format_rfc3339_millis(at).to_string()
    };
    let mut log = Log {
        version: "1.2",
        creator: Creator { name: "rrul", version: env!("CARGO_PKG_VERSION") },
        pages: Vec::new(),
        entries: Vec::new(),
        comment: format!("plan {}; dates are of the test's beginning plus its own clock", run.test.plan),
    };
    for page in &run.page_loads {
        let manifest = (!page.in_browser()).then(|| Page::named(&page.page)).flatten();
        for load in &page.series {
            let id = format!("{} {}", load.flow.name, load.number);
            log.pages.push(page_entry(page, load, &id, date(load.started)));
            let entry = |object: &WebObject| Entry {
                pageref: id.clone(),
                started_date_time: date(object.wanted),
                ..entry(object, page, load, manifest.as_ref())
            };
            log.entries.extend(load.objects.iter().chain(&load.refreshes).map(entry));
        }
    }
    Archive { log }
}

fn page_entry(page: &PageLoads, load: &Load, id: &str, date: String) -> PageEntry {
    let outcome = match load.outcome {
        LoadOutcome::Complete => "complete",
        LoadOutcome::Failed => "failed",
        LoadOutcome::Capped => "given up at its cap",
        LoadOutcome::CutShort => "cut off by the end of its flow",
        LoadOutcome::Broken => "the browser broke",
    };
    let complete = load.outcome == LoadOutcome::Complete;
    let paint = |pick: fn(&BrowserTiming) -> Delay| {
        load.timing.as_ref().map(pick).filter(|time| *time != WebObject::NONE).map(milliseconds)
    };
    let reason = load.failure.as_ref().map_or_else(String::new, |reason| format!(": {reason}"));
    PageEntry {
        started_date_time: date,
        id: id.to_owned(),
        title: page.page.clone(),
        page_timings: PageTimings {
            on_content_load: load.timing.as_ref().map_or(-1.0, |timing| milliseconds(timing.dom_content_loaded)),
            on_load: if complete { milliseconds(load.took) } else { -1.0 },
            first_contentful_paint: paint(|timing| timing.first_contentful_paint),
            largest_contentful_paint: paint(|timing| timing.largest_contentful_paint),
        },
        comment: format!("{} {}, {outcome}{reason}", page.class, page.family),
    }
}

/// An entry without the load and the date.
fn entry(object: &WebObject, page: &PageLoads, load: &Load, manifest: Option<&Page>) -> Entry {
    let known = manifest.and_then(|manifest| manifest.objects.get(usize::from(object.object)));
    let host = match (manifest, known) {
        (Some(manifest), Some(known)) => manifest.hosts.get(known.host),
        (Some(manifest), None) => manifest.refresh.as_ref().and_then(|refresh| manifest.hosts.get(refresh.host)),
        (None, _) => None,
    };
    let scheme = if manifest.is_some_and(|manifest| !manifest.secure) { "http" } else { "https" };
    let url = match (load.addresses.get(&object.object), host) {
        (Some(address), _) => address.clone(),
        (None, Some(host)) if known.is_some() => {
            format!("{scheme}://{}/{}/{}", host.name, page.page, object.object)
        }
        (None, Some(host)) => format!("{scheme}://{}/{}/refresh", host.name, page.page),
        // In a recording that is to name no site a browser's objects have their order alone.
        (None, None) => format!("{}#{}", page.page, object.object),
    };
    let version = match protocol_name(object.protocol) {
        Some("http/1.1") => "HTTP/1.1",
        Some("h2") => "HTTP/2",
        Some("h3") => "HTTP/3",
        _ => "unknown",
    };
    let timings = Timings::of(object);
    let incomplete = if object.outcome == WebObject::COMPLETE { "" } else { "not complete" };
    Entry {
        pageref: String::new(),
        started_date_time: String::new(),
        time: timings.sum(),
        request: Request {
            method: "GET",
            url,
            http_version: version,
            cookies: [],
            headers: [],
            query_string: [],
            headers_size: -1,
            body_size: 0,
        },
        response: Response {
            status: object.status,
            status_text: "",
            http_version: version,
            cookies: [],
            headers: [],
            content: Content {
                size: object.octets.0,
                mime_type: known.map_or("application/octet-stream", |known| known.kind.media_type()),
            },
            redirect_url: "",
            headers_size: -1,
            body_size: i64::try_from(object.octets.0).unwrap_or(-1),
        },
        cache: Empty {},
        timings,
        connection: object.connection.to_string(),
        comment: incomplete.to_owned(),
    }
}
