//! Metrics for Prometheus, at an address that this host alone reaches.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{SocketAddr, TcpListener};
use std::os::unix::net::UnixListener;
use std::path::Path;
use std::time::Duration;

use crate::failure::Failure;

/// OpenMetrics.
#[cfg(feature = "metrics")]
pub(crate) const OPEN_METRICS: &str = "application/openmetrics-text; version=1.0.0; charset=utf-8";
/// The text format of Prometheus.
#[cfg(feature = "monitor")]
pub(crate) const TEXT: &str = "text/plain; version=0.0.4; charset=utf-8";

/// How long a request may take.
const PATIENCE: Duration = Duration::from_secs(2);
/// Longest head of a request that is read, bytes.
const LONGEST_REQUEST: u64 = 8192;

/// Serves what `text` returns as `kind` on a thread of its own, until it returns `None`. `option` names the place in messages.
pub(crate) fn serve(
    option: &'static str,
    place: &str,
    kind: &'static str,
    text: impl Fn() -> Option<String> + Send + 'static,
) -> Result<(), Failure> {
    let failed = |source| Failure::System { what: format!("{option} {place}"), source };
    let work: Box<dyn FnOnce() + Send> = if place.starts_with('/') {
        let path = Path::new(place);
        // A socket that a program before this one has left.
        let _ = std::fs::remove_file(path);
        let listener = UnixListener::bind(path).map_err(failed)?;
        Box::new(move || {
            serve_each(listener.incoming(), kind, &text, |stream| {
                stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
            });
        })
    } else {
        let address = place.parse::<SocketAddr>().ok().filter(|address| address.ip().is_loopback());
        let address = address.ok_or_else(|| Failure::MetricsPlace { option, place: place.to_owned() })?;
        let listener = TcpListener::bind(address).map_err(failed)?;
        Box::new(move || {
            serve_each(listener.incoming(), kind, &text, |stream| {
                stream.set_read_timeout(Some(PATIENCE)).and_then(|()| stream.set_write_timeout(Some(PATIENCE)))
            });
        })
    };
    let thread = std::thread::Builder::new().name("metrics".to_owned()).spawn(work);
    thread.map(drop).map_err(Failure::system("cannot start a thread"))
}

/// Answers one connection after another, each with its limits of time, until `text` returns none.
fn serve_each<S>(
    incoming: impl Iterator<Item = io::Result<S>>,
    kind: &str,
    text: &impl Fn() -> Option<String>,
    limit: impl Fn(&S) -> io::Result<()>,
) where
    for<'a> &'a S: Read + Write,
{
    for stream in incoming.flatten() {
        let Some(text) = text() else { break };
        if limit(&stream).is_ok() {
            answer(&stream, &stream, kind, &text);
        }
    }
}

/// Answers one request.
fn answer(input: impl Read, mut output: impl Write, kind: &str, text: &str) {
    let Ok(path) = requested(input) else { return };
    let (status, body) = if path == "/metrics" { ("200 OK", text) } else { ("404 Not Found", "") };
    let head = format!(
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {}\r\nConnection: close\r\n\r\n",
        body.len()
    );
    let _ = output.write_all(head.as_bytes()).and_then(|()| output.write_all(body.as_bytes()));
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_request_that_is_none_is_refused() {
        assert_eq!(requested(&b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n"[..]).unwrap(), "/metrics");
        for request in [&b""[..], b"POST /metrics HTTP/1.1\r\n\r\n", b"\xff\xfe\r\n\r\n"] {
            assert!(requested(request).is_err());
        }
        let endless = "GET /".to_owned() + &"x".repeat(100_000);
        assert!(requested(endless.as_bytes()).map_or(0, |path| path.len()) < 10_000);
    }

    #[test]
    fn only_metrics_have_a_text() {
        let reply = |path: &str| {
            let mut output = Vec::new();
            answer(format!("GET {path} HTTP/1.1\r\n\r\n").as_bytes(), &mut output, "text/plain", "a 1\n");
            String::from_utf8(output).unwrap()
        };
        assert!(reply("/metrics").starts_with("HTTP/1.1 200 OK\r\n") && reply("/metrics").ends_with("\r\n\r\na 1\n"));
        assert!(reply("/").starts_with("HTTP/1.1 404 "));
    }
}
