//! Responsiveness: round trips per minute on a loaded line (draft-ietf-ippm-responsiveness-09, section 5.3).
//!
//! With TM the mean of a sample without its highest twentieth, in milliseconds:
//!
//! - foreign = 60000 / ((TM(tcp_f) + TM(tls_f) + TM(http_f)) / 3), on connections of their own;
//! - loaded = 60000 / TM(http_l), on the connections that load the line;
//! - RPM = (foreign + loaded) / 2.
//!
//! Without TLS, foreign = 60000 / ((TM(tcp_f) + TM(http_f)) / 2). Substitutions:
//!
//! - tcp_f: TCP's handshake of the new connections of flow type `tcp_connect`;
//! - tls_f: TLS's handshake of the synthetic page's new connections over TCP, one round trip with TLS 1.3; one that never came to
//!   its end counts as any attempt that was never answered;
//! - http_f: from the end of the handshake of those new connections to the server's first byte, one small request and answer;
//! - http_l: the round-trip time of the load's streams as their senders' kernels estimate it. The draft allows that where
//!   requests cannot be put into the connections that load the line, as here.
//!
//! Differences to the draft: both directions are loaded at once, the streams are all there from the beginning, and the
//! sample is the whole scored window instead of the last four intervals. An attempt that was never answered counts with
//! the 10 s after which it was given up.

use rrul_model::observation::WebObject;
use rrul_model::page::{HttpVersion, Page};
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::metrics::web::page_load::LoadOutcome;
use crate::metrics::web::page_loads::PageLoads;
use crate::score::ScoreWord;
use crate::scores::composite::windows;
use crate::scores::score_cell::counts;
use crate::statistics::bootstrap::mean;

/// Milliseconds of a minute.
const MINUTE: f64 = 60_000.0;
/// The part that is kept (TMP of the draft), in a hundred.
const KEPT: usize = 95;
/// After this long a new connection is given up, milliseconds.
const GIVEN_UP: f64 = 10_000.0;

pub const WORD: ScoreWord = ScoreWord {
    name: "responsiveness",
    about: "round trips per minute under load; 60 is one second each, thousands are good",
    source: "draft-ietf-ippm-responsiveness-09, section 5.3",
};

/// One of the draft's times.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct TrimmedMean {
    /// Mean without the highest twentieth.
    ///
    /// Unit: ms. Source: draft-ietf-ippm-responsiveness-09.
    pub trimmed_mean_ms: f64,
    /// Samples.
    ///
    /// Unit: count.
    pub n: u64,
}

impl TrimmedMean {
    /// Computes the mean of these samples; `None` without any, and if one is not a number.
    pub fn from_samples(samples: &[f64]) -> Option<Self> {
        let mut sorted = samples.to_vec();
        sorted.sort_unstable_by(f64::total_cmp);
        let count = (sorted.len() * KEPT).div_ceil(100);
        let mean = mean(&sorted[..count]).filter(|mean| !mean.is_nan() && *mean > 0.0)?;
        Some(Self { trimmed_mean_ms: mean, n: samples.len() as u64 })
    }
}

/// Round trips per minute under load.
///
/// Round trips per minute (RPM). Null without new connections under load, or without `TCP_INFO` of the streams.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Responsiveness")]
pub struct Responsiveness {
    /// Mean of the two below.
    ///
    /// Unit: 1/min. Source: draft-ietf-ippm-responsiveness-09.
    pub rpm: f64,
    /// On connections of their own: 60000 over the mean of the three or two trimmed means.
    ///
    /// Unit: 1/min. Source: draft-ietf-ippm-responsiveness-09.
    pub foreign_rpm: f64,
    /// On the streams that load the line: 60000 over the trimmed mean of their round-trip time.
    ///
    /// Unit: 1/min. Source: draft-ietf-ippm-responsiveness-09.
    pub loaded_rpm: f64,
    /// Whether TLS handshakes were measured; if not, the draft's formula for TCP alone is used.
    pub with_tls: bool,
    /// TCP handshake.
    pub tcp_f: TrimmedMean,
    /// TLS handshake, per round trip. Null without any.
    pub tls_f: Option<TrimmedMean>,
    /// Request and answer on a new connection.
    pub http_f: TrimmedMean,
    /// Request and answer on a connection that loads the line.
    pub http_l: TrimmedMean,
}

impl Responsiveness {
    /// From samples in milliseconds; `None` where one but TLS is missing.
    pub fn new(tcp_f: &[f64], tls_f: &[f64], http_f: &[f64], http_l: &[f64]) -> Option<Self> {
        let (tcp_f, http_f, http_l) =
            (TrimmedMean::from_samples(tcp_f)?, TrimmedMean::from_samples(http_f)?, TrimmedMean::from_samples(http_l)?);
        let tls_f = TrimmedMean::from_samples(tls_f);
        let parts: Vec<f64> =
            [Some(tcp_f), tls_f, Some(http_f)].into_iter().flatten().map(|part| part.trimmed_mean_ms).collect();
        let foreign_rpm = MINUTE / mean(&parts)?;
        let loaded_rpm = MINUTE / http_l.trimmed_mean_ms;
        let rpm = f64::midpoint(foreign_rpm, loaded_rpm);
        Some(Self { rpm, foreign_rpm, loaded_rpm, with_tls: tls_f.is_some(), tcp_f, tls_f, http_f, http_l })
    }
}

pub(crate) fn responsiveness(analysis: &Measured) -> Option<Responsiveness> {
    let load = windows(analysis).1?;
    let ours = || analysis.connections.flows.iter().filter(|entry| counts(entry.flow.class));
    let tcp_f: Vec<f64> = ours().flat_map(|entry| waited(&entry.series, load)).collect();
    let http_f: Vec<f64> = ours().flat_map(|entry| waited(&entry.exchanges, load)).collect();
    let streams = analysis.tcp_round_trip.iter().flat_map(|entry| &entry.series);
    let http_l: Vec<f64> =
        streams.filter(|point| load.contains(point.at)).filter_map(|point| Some(point.delay?.milliseconds())).collect();
    let pages = analysis.page_loads.iter().filter(|page| !page.in_browser() && counts(page.class));
    let loads = pages.filter(|page| speaks_tls(page)).flat_map(|page| &page.series);
    let objects = loads.flat_map(|load| load.objects.iter().map(move |object| (load.outcome, object)));
    // Pages join the load in phase web.
    let web = analysis.test.phases.iter().find(|entry| entry.phase == Phase::Web).map(|entry| entry.window);
    let loaded = |at| load.contains(at) || web.is_some_and(|web| web.contains(at));
    let within = objects.filter(|(_, object)| loaded(object.wanted));
    let tls_f: Vec<f64> = within.filter_map(|(outcome, object)| handshake(outcome, object)).collect();
    Responsiveness::new(&tcp_f, &tls_f, &http_f, &http_l)
}

/// Whether TLS is spoken with every host of a page: it is with HTTP/2 and in the place of HTTP/3 even where the page has none.
fn speaks_tls(page: &PageLoads) -> bool {
    let secure = Page::named(&page.page).is_some_and(|page| page.secure);
    secure || page.version.as_deref().is_some_and(|version| version != "http1")
}

/// Milliseconds of the TLS handshake that was made for an object; the time after which it is given up where the connection
/// stood and nothing could be sent over it. `None` without one, and of one that the end of the flow cut off.
fn handshake(outcome: LoadOutcome, object: &WebObject) -> Option<f64> {
    if object.secure != WebObject::NONE {
        return Some(object.secure.milliseconds());
    }
    let over_tcp = object.connect != WebObject::NONE && object.protocol != HttpVersion::Http3.code();
    let cut_off = outcome == LoadOutcome::CutShort && object.outcome == WebObject::INCOMPLETE;
    (over_tcp && object.send == WebObject::NONE && !cut_off).then_some(GIVEN_UP)
}

/// Milliseconds of what began in a window, and of what was never answered the time after which it was given up.
fn waited(series: &[(TestTime, Option<Delay>)], window: Window) -> impl Iterator<Item = f64> {
    let within = series.iter().filter(move |(at, _)| window.contains(*at));
    within.map(|(_, time)| time.map_or(GIVEN_UP, Delay::milliseconds))
}
