//! The server's pages: served on its one port, to those who have a session, over HTTP/1.1, HTTP/2 and HTTP/3.
//!
//! They run on an asynchronous runtime of their own, whose threads no measurement waits for. A connection tells by its
//! first octets that it is for a page; the session that it names in the name of its host (SNI, `Host`, or QUIC's first
//! connection identifier) decides how every packet of the answer is marked.

mod answer;
mod body;
mod document;
mod gate;
mod guests;
mod http3;
mod quic_socket;
mod stream;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use quinn::crypto::rustls::QuicServerConfig;
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::ConnectionTotals;
use rrul_model::page::Page;
use rrul_model::time::TestTime;
use rrul_proto::limits::RateCap;
use rrul_proto::session_name::SessionName;
use rrul_proto::token::Token;
use tokio::runtime::Handle;
use tokio_rustls::rustls::ServerConfig;

pub(super) use quic_socket::Forwarding;
pub(super) use stream::{Protocol, take};

use super::Shared;
use super::datagram_port::DatagramPort;
use crate::clock::RawTime;
use crate::connection_totals::Opened;
use crate::test_end::TestEnd;
use crate::web::{ALPN_HTTP1, ALPN_HTTP2, ALPN_HTTP3, tls};

/// Threads that serve pages: they are many connections, and little work.
const THREADS: usize = 2;

/// Connections for pages that one session may have open: twice what a browser opens for a page of many hosts.
const MOST_OPEN: u32 = 256;

/// Connections for pages that one session may open in a second, each with a handshake that takes processor time: as many as
/// may be open at once, which is the burst, four times.
const MOST_PER_SECOND: u32 = 4 * MOST_OPEN;

/// Requests that a client may have under way on one connection.
const MOST_REQUESTS: u32 = 100;

/// Octets of answers that wait on one QUIC connection to be acknowledged: more than a page has of any host.
const MOST_UNACKNOWLEDGED: u64 = 1 << 20;

/// How often a connection looks whether its session is still there.
const LOOKING: Duration = Duration::from_millis(500);

/// What all pages of a server share.
pub(super) struct Pages {
    handle: Handle,
    over_tcp: Arc<ServerConfig>,
    over_quic: quinn::ServerConfig,
}

impl Pages {
    /// The runtime, and what runs on it. The runtime ends when it is let go.
    pub(super) fn start() -> Result<(tokio::runtime::Runtime, Self), String> {
        let runtime = tokio::runtime::Builder::new_multi_thread()
            .worker_threads(THREADS)
            .thread_name("pages")
            .enable_all()
            .build()
            .map_err(|error| format!("cannot start threads for pages: {error}"))?;
        let over_tcp = Arc::new(tls::server(&[ALPN_HTTP2, ALPN_HTTP1])?);
        let over_quic = QuicServerConfig::try_from(tls::server(&[ALPN_HTTP3])?).map_err(|error| error.to_string())?;
        let mut over_quic = quinn::ServerConfig::with_crypto(Arc::new(over_quic));
        let mut transport = quinn::TransportConfig::default();
        transport.max_concurrent_bidi_streams(MOST_REQUESTS.into()).send_window(MOST_UNACKNOWLEDGED);
        over_quic.transport_config(Arc::new(transport));
        let pages = Self { handle: runtime.handle().clone(), over_tcp, over_quic };
        Ok((runtime, pages))
    }

    /// Serves HTTP/3 on a UDP port; packets come by way of its reflector.
    pub(super) fn serve_datagrams(
        &self,
        port: &Arc<DatagramPort>,
        shared: &Arc<Shared>,
    ) -> std::io::Result<Forwarding> {
        http3::serve(&self.handle, self.over_quic.clone(), port, shared)
    }
}

/// Somebody's visit to a page: one connection of a flow of a session.
pub(super) struct Visit {
    pub(super) flow: FlowId,
    pub(super) family: AddressFamily,
    pub(super) class: ServiceClass,
    pub(super) end: Arc<TestEnd>,
    connection: u32,
    /// The document of each page that has been asked for, made once: any number of requests may wait to be answered.
    documents: Mutex<HashMap<&'static str, Bytes>>,
    _open: Open,
}

/// The connections for pages of one session.
pub(super) struct PageConnections {
    open: Arc<AtomicU32>,
    opened: AtomicU32,
    rate: Mutex<RateCap>,
}

impl Default for PageConnections {
    fn default() -> Self {
        Self { open: Arc::default(), opened: AtomicU32::new(0), rate: Mutex::new(RateCap::new(MOST_PER_SECOND)) }
    }
}

/// Counts a connection for as long as it lives.
struct Open(Arc<AtomicU32>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

impl PageConnections {
    /// One more, with its number, where there is room and they do not come too fast.
    fn enter(&self, now: RawTime) -> Option<(u32, Open)> {
        let before = self.open.fetch_add(1, Ordering::Relaxed);
        let open = Open(Arc::clone(&self.open));
        let granted = before < MOST_OPEN && self.rate.lock().unwrap_or_else(PoisonError::into_inner).grant(now.0);
        granted.then(|| (self.opened.fetch_add(1, Ordering::Relaxed), open))
    }
}

impl Visit {
    /// The visit that a host's name stands for; `None` when there is no such session, or no page in its flow.
    fn of(shared: &Shared, host: &str) -> Option<Self> {
        let name = SessionName::read(without_port(host).0)?;
        Self::to(shared, name.token, name.flow)
    }

    /// A visit to a flow of a session.
    fn to(shared: &Shared, token: Token, flow: u16) -> Option<Self> {
        let session = shared.sessions.find(&token)?;
        let (spec, end) = session.page_flow(FlowId(flow))?;
        let (connection, open) = session.pages.enter(RawTime::now())?;
        let documents = Mutex::default();
        Some(Self { flow: spec.id, family: spec.family, class: spec.class, end, connection, documents, _open: open })
    }

    /// The document of a page. Its hosts are those of the first request for it: a connection belongs to one flow.
    fn document(&self, page: &'static Page, suffix: &str) -> Bytes {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.entry(&page.name).or_insert_with(|| document::html(page, suffix).into()).clone()
    }

    /// Waits until its session is over.
    async fn over(&self) {
        while !self.end.is_stopped() {
            tokio::time::sleep(LOOKING).await;
        }
    }

    /// What the totals of this connection are about.
    fn opened(&self, started: TestTime) -> Opened {
        Opened { flow: self.flow, connection: self.connection, started }
    }

    /// Notes what a connection came to.
    fn note(&self, totals: ConnectionTotals) {
        self.end.observer.notebook(1).note(totals);
    }
}

fn without_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()),
        None => (host, None),
    }
}

/// What follows the first label in the names of a page's hosts, port included, as a client has told one of them.
fn suffix_of(host: &str) -> Option<String> {
    let (name, port) = without_port(host);
    let name = SessionName::read(name)?.to_string();
    let (_, suffix) = name.split_once('.')?;
    Some(port.map_or_else(|| suffix.to_owned(), |port| format!("{suffix}:{port}")))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_suffix_of_a_host_is_its_session_and_port_and_nothing_that_a_client_made_up() {
        let rest = "7.0123456789abcdef0123456789abcdef.rrul.test";
        assert_eq!(suffix_of(&format!("www.{rest}:7785")), Some(format!("{rest}:7785")));
        assert_eq!(suffix_of(&format!("WWW.{rest}")), Some(rest.to_owned()));
        assert_eq!(suffix_of(&format!("www.{rest}:<script>")), Some(rest.to_owned()));
        assert_eq!(suffix_of("www.<b>.rrul.test"), None);
    }

    #[test]
    fn a_session_has_room_for_so_many_connections_and_gets_it_back() {
        let connections = PageConnections::default();
        let enter = |now| connections.enter(RawTime(now));
        let later = 1_000_000_000;
        let mut open: Vec<_> = (0..MOST_OPEN).map(|number| enter(0).filter(|one| one.0 == number)).collect();
        assert!(open.iter().all(Option::is_some) && enter(later).is_none());
        open.pop();
        assert!(enter(later).is_some_and(|one| one.0 == MOST_OPEN));
    }

    #[test]
    fn a_session_opens_no_more_in_a_second_than_granted_however_soon_they_end() {
        let connections = PageConnections::default();
        let granted = (0..10_000).filter(|step| connections.enter(RawTime(step * 100_000)).is_some()).count() as u32;
        assert!((MOST_PER_SECOND..=MOST_PER_SECOND + MOST_OPEN).contains(&granted), "{granted}");
    }
}
