//! Metrics of a server for Prometheus, at an address that this host alone reaches.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::sync::{Arc, Weak};
use std::time::Duration;

use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::ConstCounter;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::ConstGauge;
use prometheus_client::registry::Registry;
use rrul_engine::server::{Refusal, Server, ServerCounts};

use crate::failure::Failure;

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest head of a request that is read, bytes.
const LONGEST_REQUEST: u64 = 8192;

/// Serves them on a thread of its own until the server has gone.
pub(crate) fn serve(place: &str, server: &Arc<Server>) -> Result<(), Failure> {
    let server = Arc::downgrade(server);
    let failed = |source| Failure::System { what: format!("--metrics {place}"), source };
    let work: Box<dyn FnOnce() + Send> = if place.starts_with('/') {
        let path = Path::new(place);
        // A socket that a server before this one has left.
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(failed)?;
        Box::new(move || {
            serve_each(listener.incoming(), &server, |stream| {
                stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
            });
        })
    } else {
        let address = place.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback());
        let address = address.ok_or_else(|| Failure::MetricsPlace(place.to_owned()))?;
        let listener = TcpListener::bind(address).map_err(failed)?;
        Box::new(move || {
            serve_each(listener.incoming(), &server, |stream| {
                stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
            });
        })
    };
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(work);
    thread.map(drop).map_err(Failure::system("cannot start a thread"))
}

/// Answers one connection after another, each with its limits of time, until the server has gone.
fn serve_each<S>(
    incoming: impl Iterator<Item = io::Result<S>>,
    server: &Weak<Server>,
    limit: impl Fn(&S) -> io::Result<()>,
) where
    for<'a> &'a S: Read + Write,
{
    for stream in incoming.flatten() {
        if !answer(&limit(&stream), &stream, &stream, server) {
            break;
        }
    }
}

/// Answers one request; `false` when the server has gone.
fn answer(limits: &io::Result<()>, input: impl Read, mut output: impl Write, server: &Weak<Server>) -> bool {
    let Some(server) = server.upgrade() else { return false };
    if limits.is_ok()
        && let Ok(path) = requested(input)
    {
        let (status, body) =
            if path == "/metrics" { ("200 OK", text(&server.counts())) } else { ("404 Not Found", String::new()) };
        let kind = "application/openmetrics-text; version=1.0.0; charset=utf-8";
        let head = format!(
            "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
            body.len()
        );
        let _ = output.write_all(head.as_bytes()).and_then(|()| output.write_all(body.as_bytes()));
    }
    true
}

/// The path that a GET asks for, once its head has been read.
fn requested(input: impl Read) -> io::Result<String> {
    let mut lines = BufReader::new(input.take(LONGEST_REQUEST)).lines();
    let first = lines.next().unwrap_or(Err(io::ErrorKind::UnexpectedEof.into()))?;
    for line in lines {
        if line?.is_empty() {
            break;
        }
    }
    let path = first.strip_prefix("GET ").and_then(|rest| rest.split(' ').next());
    path.map(str::to_owned).ok_or_else(|| io::ErrorKind::InvalidData.into())
}

/// The counts as OpenMetrics has them.
fn text(counts: &ServerCounts) -> String {
    let mut registry = Registry::with_prefix("rrul");
    let gauges = [
        ("sessions", "Sessions that are open", counts.sessions),
        ("connections", "Connections that are open", counts.connections),
    ];
    for (name, about, value) in gauges {
        registry.register(name, about, ConstGauge::new(value as i64));
    }
    let counters = [
        ("sessions_opened", "Sessions that were opened", counts.opened),
        ("test_bytes", "Bytes that streams of tests have moved, both directions", counts.octets),
        ("log_events_left_out", "Events that were left out of the log", counts.not_logged),
        ("listen_drops", "Connection attempts that the listeners had no room for", counts.listen_drops),
    ];
    for (name, about, value) in counters {
        registry.register(name, about, ConstCounter::new(value));
    }
    let refusals = Family::<Vec<(&'static str, &'static str)>, Counter>::default();
    for (why, count) in Refusal::ALL.into_iter().zip(counts.refused) {
        refusals.get_or_create(&vec![("cause", why.word())]).inc_by(count);
    }
    registry.register("refusals", "Clients that did not get what they asked for", refusals);
    let mut text = String::new();
    // Writing to a string does not fail.
    let _ = encode(&mut text, &registry);
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_count_is_in_the_text() {
        let counts = ServerCounts {
            sessions: 1,
            connections: 2,
            opened: 3,
            refused: [4, 5, 11, 6, 7],
            octets: 8,
            not_logged: 9,
            listen_drops: 10,
        };
        let text = text(&counts);
        for line in [
            "rrul_sessions 1",
            "rrul_connections 2",
            "rrul_sessions_opened_total 3",
            "rrul_refusals_total{cause=\"no_connection\"} 4",
            "rrul_refusals_total{cause=\"quota\"} 7",
            "rrul_test_bytes_total 8",
            "rrul_log_events_left_out_total 9",
            "rrul_listen_drops_total 10",
        ] {
            assert!(text.lines().any(|found| found == line), "{line} is not in\n{text}");
        }
        assert!(text.ends_with("# EOF\n"));
    }

    #[test]
    fn a_request_that_is_none_is_refused() {
        assert_eq!(requested(&b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"[..]).unwrap(), "/metrics");
        for request in [&b""[..], b"POST /metrics HTTP/1.1\r\n\r\n", b"\xff\xfe\r\n\r\n"] {
            assert!(requested(request).is_err());
        }
        let endless = "GET /".to_owned() + &"x".repeat(100_000);
        assert!(requested(endless.as_bytes()).map_or(0, |path| path.len()) < 10_000);
    }
}
