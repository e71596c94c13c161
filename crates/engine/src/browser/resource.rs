//! One object that a browser asked for: from what it says of it to a row.

use rrul_model::flow::FlowId;
use rrul_model::observation::WebObject;
use rrul_model::time::TestTime;
use rrul_model::units::{ByteCount, Delay};
use serde::Deserialize;

/// What a browser says of a response (CDP `Network.Response`).
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default, rename_all = "camelCase")]
pub(super) struct Response {
    pub(super) status: f64,
    protocol: String,
    connection_id: f64,
    encoded_data_length: f64,
    from_disk_cache: bool,
    from_prefetch_cache: bool,
    from_service_worker: bool,
    timing: Option<Timing>,
}

impl Response {
    /// Whether it came over the network.
    pub(super) fn is_of_network(&self) -> bool {
        !(self.from_disk_cache || self.from_prefetch_cache || self.from_service_worker)
    }
}

/// When what happened (CDP `Network.ResourceTiming`): milliseconds since `request_time`, which is in seconds; -1 is never.
#[derive(Debug, Clone, Copy, Deserialize)]
#[serde(rename_all = "camelCase")]
struct Timing {
    request_time: f64,
    #[serde(default = "never")]
    dns_start: f64,
    #[serde(default = "never")]
    dns_end: f64,
    #[serde(default = "never")]
    connect_start: f64,
    #[serde(default = "never")]
    connect_end: f64,
    #[serde(default = "never")]
    ssl_start: f64,
    #[serde(default = "never")]
    ssl_end: f64,
    #[serde(default = "never")]
    send_start: f64,
    #[serde(default = "never")]
    send_end: f64,
    #[serde(default = "never")]
    receive_headers_start: f64,
    #[serde(default = "never")]
    receive_headers_end: f64,
}

fn never() -> f64 {
    -1.0
}

/// One request and what became of it. Times are seconds on the browser's clock.
#[derive(Debug, Clone, Default)]
pub(super) struct Resource {
    pub(super) url: String,
    /// When the page wanted it.
    pub(super) wanted: f64,
    pub(super) response: Option<Response>,
    /// When it was complete or had failed.
    pub(super) ended: Option<f64>,
    /// Why it could not be had.
    pub(super) failure: Option<String>,
    pub(super) cached: bool,
    /// Bytes of its body as they arrived, and after decompression, in parts as they are reported.
    pub(super) encoded: f64,
    pub(super) decoded: f64,
    /// What the browser counts as arrived in the end.
    pub(super) total: f64,
}

impl Resource {
    /// Whether it went over the network and so belongs to the page's load.
    pub(super) fn is_of_network(&self) -> bool {
        !self.cached && self.response.as_ref().is_none_or(Response::is_of_network)
    }

    /// HTTP status; 0 without one.
    pub(super) fn status(&self) -> u16 {
        self.response.as_ref().map_or(0, |response| response.status as u16)
    }

    /// Bytes of the body that arrived.
    ///
    /// The parts give them for most objects. The total includes the header, except where it is just the body, as it is
    /// for images that the browser decodes in another process.
    fn octets(&self) -> u64 {
        let header = self.response.as_ref().map_or(0.0, |response| response.encoded_data_length);
        let octets = match self.total {
            _ if self.encoded > 0.0 => self.encoded,
            total if total <= 0.0 => self.decoded,
            #[expect(clippy::float_cmp, reason = "counts of bytes, both whole")]
            total if total == self.decoded => total,
            total => (total - header).max(0.0),
        };
        octets as u64
    }

    /// The row of this object; `over` is when the load was, on the browser's clock.
    pub(super) fn row(&self, which: (FlowId, u32, u16), over: f64, at: impl Fn(f64) -> TestTime) -> WebObject {
        let (flow, load, object) = which;
        let outcome = match (&self.failure, self.ended) {
            (None, None) => WebObject::INCOMPLETE,
            (None, Some(_)) if (1..400).contains(&self.status()) => WebObject::COMPLETE,
            _ => WebObject::FAILED,
        };
        let row = WebObject {
            flow,
            load,
            object,
            outcome,
            status: self.status(),
            protocol: self.response.as_ref().map_or(0, |response| protocol(&response.protocol)),
            connection: self.response.as_ref().map_or(0, |response| response.connection_id as u32),
            wanted: at(self.wanted),
            blocked: WebObject::NONE,
            lookup: WebObject::NONE,
            connect: WebObject::NONE,
            secure: WebObject::NONE,
            send: WebObject::NONE,
            wait: WebObject::NONE,
            receive: WebObject::NONE,
            octets: ByteCount(self.octets()),
        };
        let ended = self.ended.unwrap_or(over).max(self.wanted);
        let timing = self.response.as_ref().and_then(|response| response.timing);
        match timing.filter(|timing| timing.send_start >= 0.0) {
            Some(timing) => self.with_stretches(row, timing, ended),
            // Of an object without response nothing is known but how long it was waited for.
            None => WebObject { blocked: seconds(ended - self.wanted), ..row },
        }
    }

    /// The same with the stretches of its time, which together are the time from `wanted` to its end.
    fn with_stretches(&self, row: WebObject, timing: Timing, ended: f64) -> WebObject {
        let first = match timing.receive_headers_start {
            start if start >= timing.send_end => start,
            _ => timing.receive_headers_end,
        };
        let secure = stretch(timing.ssl_start, timing.ssl_end);
        // The browser counts TLS into the connection; over QUIC both are one.
        let is_quic = row.protocol == 30;
        let connect = stretch(timing.connect_start, timing.connect_end);
        let connect = match (connect, secure) {
            (Some(all), Some(secure)) if !is_quic => Some((all - secure).max(0.0)),
            (connect, _) => connect,
        };
        let secure = secure.filter(|_| !is_quic);
        let lookup = stretch(timing.dns_start, timing.dns_end);
        let before = (timing.request_time - self.wanted) * 1e3 + timing.send_start;
        let known = [lookup, connect, secure].into_iter().flatten().sum::<f64>();
        let received = (ended - timing.request_time) * 1e3 - first;
        let optional = |stretch: Option<f64>| stretch.map_or(WebObject::NONE, milliseconds);
        WebObject {
            blocked: milliseconds(before - known),
            lookup: optional(lookup),
            connect: optional(connect),
            secure: optional(secure),
            send: milliseconds(timing.send_end - timing.send_start),
            wait: milliseconds(first - timing.send_end),
            receive: milliseconds(received),
            ..row
        }
    }
}

/// From one moment to another, when both were.
fn stretch(start: f64, end: f64) -> Option<f64> {
    (start >= 0.0 && end >= start).then_some(end - start)
}

/// Clocks of two processes of a browser may differ by microseconds: nothing takes less than no time.
fn milliseconds(time: f64) -> Delay {
    Delay((time.max(0.0) * 1e6).round() as i64)
}

fn seconds(time: f64) -> Delay {
    milliseconds(time * 1e3)
}

/// ALPN names, and what a browser says of HTTP/1.0.
fn protocol(name: &str) -> u8 {
    match name {
        "http/0.9" => 9,
        "http/1.0" => 10,
        "http/1.1" => 11,
        "h2" => 20,
        name if name == "h3" || name.starts_with("h3-") => 30,
        _ => 0,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    const SECOND: f64 = 1e9;

    fn row(resource: &Resource) -> WebObject {
        resource.row((FlowId(1), 2, 3), 20.0, |at| TestTime((at * SECOND) as i64))
    }

    fn response(timing: &serde_json::Value, protocol: &str) -> Option<Response> {
        let response = json!({
            "status": 200, "protocol": protocol, "connectionId": 9, "encodedDataLength": 300, "timing": timing,
        });
        serde_json::from_value(response).unwrap()
    }

    fn cold() -> serde_json::Value {
        // 10 ms before anything, DNS 20, a gap of 1, TCP 30, TLS 40, a gap of 2, send 1, wait 50.
        json!({
            "requestTime": 10.010, "dnsStart": 0.0, "dnsEnd": 20.0, "connectStart": 21.0, "connectEnd": 91.0,
            "sslStart": 51.0, "sslEnd": 91.0, "sendStart": 93.0, "sendEnd": 94.0,
            "receiveHeadersStart": 144.0, "receiveHeadersEnd": 145.0,
        })
    }

    #[test]
    fn stretches_follow_each_other_and_add_up_to_the_whole() {
        let response = response(&cold(), "h2");
        let resource = Resource {
            wanted: 10.0,
            response,
            ended: Some(10.254),
            total: 5300.0,
            decoded: 9000.0,
            ..Resource::default()
        };
        let row = row(&resource);
        let times = [row.blocked, row.lookup, row.connect, row.secure, row.send, row.wait, row.receive];
        let milliseconds = times.map(|time| time.milliseconds().round() as i64);
        assert_eq!(milliseconds, [13, 20, 30, 40, 1, 50, 100]);
        assert_eq!((row.outcome, row.status, row.protocol, row.connection), (WebObject::COMPLETE, 200, 20, 9));
        assert_eq!((row.octets, row.wanted), (ByteCount(5000), TestTime(10_000_000_000)));
    }

    #[test]
    fn over_quic_both_handshakes_are_one() {
        let row = row(&Resource { wanted: 10.0, response: response(&cold(), "h3"), ..Resource::default() });
        assert_eq!((row.connect, row.secure, row.protocol), (Delay(70_000_000), WebObject::NONE, 30));
        assert_eq!(row.outcome, WebObject::INCOMPLETE);
        // It was received from its first byte on until the load was over.
        assert_eq!(row.receive, Delay(9_846_000_000));
    }

    #[test]
    fn a_connection_that_was_there_has_neither_look_up_nor_handshake() {
        let timing = json!({ "requestTime": 10.0, "sendStart": 0.5, "sendEnd": 0.75, "receiveHeadersEnd": 5.75 });
        let resource = Resource {
            wanted: 10.0,
            response: response(&timing, "http/1.1"),
            ended: Some(10.0),
            ..Resource::default()
        };
        let row = row(&resource);
        assert_eq!([row.lookup, row.connect, row.secure], [WebObject::NONE; 3]);
        assert_eq!([row.blocked, row.send, row.wait], [500_000, 250_000, 5_000_000].map(Delay));
        // It ended on one clock before its first byte came on the other.
        assert_eq!(row.receive, Delay(0));
    }

    #[test]
    fn an_object_without_response_was_waited_for_and_failed_or_did_not() {
        let waiting = Resource { wanted: 10.0, ..Resource::default() };
        let failed =
            Resource { ended: Some(12.0), failure: Some("net::ERR_CONNECTION_REFUSED".into()), ..waiting.clone() };
        let (waiting, failed) = (row(&waiting), row(&failed));
        assert_eq!((waiting.outcome, waiting.blocked), (WebObject::INCOMPLETE, Delay(10_000_000_000)));
        assert_eq!((failed.outcome, failed.blocked), (WebObject::FAILED, Delay(2_000_000_000)));
    }

    #[test]
    fn bytes_are_those_of_the_body_however_the_browser_counts_them() {
        let with = |encoded: f64, decoded: f64, total: f64| {
            let response = response(&json!(null), "h2");
            Resource { response, encoded, decoded, total, ..Resource::default() }.octets()
        };
        assert_eq!(with(4000.0, 9000.0, 4300.0), 4000, "reported in parts");
        assert_eq!(with(0.0, 101.0, 401.0), 101, "the total includes the header");
        assert_eq!(with(0.0, 200_000.0, 200_000.0), 200_000, "the total is the body");
        assert_eq!(with(0.0, 700.0, 0.0), 700, "not complete");
    }

    #[test]
    fn a_status_of_400_or_more_is_no_success() {
        let mut resource = Resource { response: response(&json!(null), "h2"), ended: Some(1.0), ..Resource::default() };
        assert_eq!(row(&resource).outcome, WebObject::COMPLETE);
        resource.response.as_mut().unwrap().status = 404.0;
        assert_eq!(row(&resource).outcome, WebObject::FAILED);
    }
}
