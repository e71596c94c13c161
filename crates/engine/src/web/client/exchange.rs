//! One request and its response, to the last byte.

use std::io;

use bytes::{Buf, Bytes};
use http_body_util::{BodyExt, Empty};
use hyper::body::Incoming;
use hyper::header::{ACCEPT, ACCEPT_ENCODING, ACCEPT_LANGUAGE, HOST, USER_AGENT};
use hyper::{Request, Response};
use rrul_model::time::TestTime;

use super::dial::Channel;
use crate::clock::test_clock::TestClock;

/// A browser's name, for the length of the request: rrul's own would make requests shorter than those of real pages.
const NAME: &str =
    concat!("Mozilla/5.0 (X11; Linux x86_64) AppleWebKit/537.36 (KHTML, like Gecko) rrul/", env!("CARGO_PKG_VERSION"));

/// When what happened, as far as it did.
#[derive(Debug, Clone, Copy)]
pub(super) struct Progress {
    /// The request was passed on.
    pub(super) sent: TestTime,
    pub(super) answered: Option<TestTime>,
    pub(super) status: u16,
    /// Bytes of its body that have arrived.
    pub(super) octets: u64,
    pub(super) whole: bool,
}

impl Progress {
    /// A request that is being handed over now.
    pub(super) fn at(now: TestTime) -> Self {
        Self { sent: now, answered: None, status: 0, octets: 0, whole: false }
    }
}

/// Where on the server what is to be had.
#[derive(Debug, Clone, Copy)]
pub(super) struct Address<'a> {
    /// `http` or `https`.
    pub(super) scheme: &'a str,
    pub(super) authority: &'a str,
    pub(super) path: &'a str,
}

impl Address<'_> {
    fn request<B>(&self, uri: String, with_host: bool, body: B) -> io::Result<Request<B>> {
        let mut request = Request::builder()
            .uri(uri)
            .header(USER_AGENT, NAME)
            .header(ACCEPT, "*/*")
            .header(ACCEPT_ENCODING, "gzip, deflate, br, zstd")
            .header(ACCEPT_LANGUAGE, "en-US,en;q=0.9");
        if with_host {
            request = request.header(HOST, self.authority);
        }
        request.body(body).map_err(io::Error::other)
    }

    fn absolute(&self) -> String {
        format!("{}://{}{}", self.scheme, self.authority, self.path)
    }
}

/// Asks for an object and takes it; its progress is reported at every step, so that it is known whenever it ends.
pub(super) async fn exchange(
    channel: &Channel,
    address: Address<'_>,
    clock: TestClock,
    report: &dyn Fn(Progress),
) -> io::Result<()> {
    match channel {
        Channel::Http1(sender) => {
            let mut sender = sender.lock().await;
            sender.ready().await.map_err(io::Error::other)?;
            let request = address.request(address.path.to_owned(), true, Empty::<Bytes>::new())?;
            let progress = Progress::at(clock.now());
            report(progress);
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            take(response, clock, progress, report).await
        }
        Channel::Http2(sender) => {
            let mut sender = sender.clone();
            sender.ready().await.map_err(io::Error::other)?;
            let request = address.request(address.absolute(), false, Empty::<Bytes>::new())?;
            let progress = Progress::at(clock.now());
            report(progress);
            let response = sender.send_request(request).await.map_err(io::Error::other)?;
            take(response, clock, progress, report).await
        }
        Channel::Http3(sender) => {
            let mut sender = sender.clone();
            let request = address.request(address.absolute(), false, ())?;
            let mut progress = Progress::at(clock.now());
            report(progress);
            let mut stream = sender.send_request(request).await.map_err(io::Error::other)?;
            stream.finish().await.map_err(io::Error::other)?;
            let response = stream.recv_response().await.map_err(io::Error::other)?;
            progress.answered = Some(clock.now());
            progress.status = response.status().as_u16();
            report(progress);
            while let Some(piece) = stream.recv_data().await.map_err(io::Error::other)? {
                progress.octets += piece.remaining() as u64;
                report(progress);
            }
            report(Progress { whole: true, ..progress });
            Ok(())
        }
    }
}

async fn take(
    response: Response<Incoming>,
    clock: TestClock,
    mut progress: Progress,
    report: &dyn Fn(Progress),
) -> io::Result<()> {
    progress.answered = Some(clock.now());
    progress.status = response.status().as_u16();
    report(progress);
    let mut body = response.into_body();
    while let Some(frame) = body.frame().await {
        if let Some(piece) = frame.map_err(io::Error::other)?.data_ref() {
            progress.octets += piece.len() as u64;
            report(progress);
        }
    }
    report(Progress { whole: true, ..progress });
    Ok(())
}
