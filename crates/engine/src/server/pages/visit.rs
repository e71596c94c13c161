//! A visit to a page: whom a connection serves, and what it is counted under.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use rrul_model::flow::{AddressFamily, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::ConnectionTotals;
use rrul_model::page::Page;
use rrul_model::time::TestTime;
use rrul_proto::session_name::SessionName;
use rrul_proto::token::Token;

use super::connections::Open;
use super::document;
use crate::clock::RawTime;
use crate::connection_totals::Opened;
use crate::endpoint::Endpoint;
use crate::server::shared::Shared;
use crate::server::traffic::session_traffic::SessionTraffic;

/// How often a connection looks whether its session is still there.
pub(super) const LOOKING: Duration = Duration::from_millis(500);

/// Somebody's visit to a page: one connection of a flow of a session.
pub(super) struct Visit {
    pub(super) flow: FlowId,
    pub(super) family: AddressFamily,
    pub(super) class: ServiceClass,
    pub(super) end: Arc<Endpoint>,
    /// What its session moves.
    pub(super) moved: Arc<SessionTraffic>,
    connection: u32,
    /// The document of each page that has been asked for, made once: any number of requests may wait to be answered.
    documents: Mutex<HashMap<&'static str, Bytes>>,
    _open: Open,
}

impl Visit {
    /// The visit that a host's name stands for; `None` without such a session, or without a page in its flow.
    pub(super) fn from_host(shared: &Shared, host: &str) -> Option<Self> {
        let name = SessionName::read(without_port(host).0)?;
        Self::to_flow(shared, name.token, name.flow)
    }

    /// A visit to a flow of a session.
    pub(super) fn to_flow(shared: &Shared, token: Token, flow: u16) -> Option<Self> {
        let session = shared.sessions.find(&token)?;
        let (spec, end) = session.page_flow(FlowId(flow))?;
        let (connection, open) = session.pages.enter(RawTime::now())?;
        let (moved, documents) = (Arc::clone(&session.moved), Mutex::default());
        let (flow, family, class) = (spec.id, spec.family, spec.class);
        Some(Self { flow, family, class, end, moved, connection, documents, _open: open })
    }

    /// The document of a page. Its hosts are those of the first request for it: a connection belongs to one flow.
    pub(super) fn document(&self, page: &'static Page, suffix: &str) -> Bytes {
        let mut documents = self.documents.lock().unwrap_or_else(PoisonError::into_inner);
        documents.entry(&page.name).or_insert_with(|| document::html(page, suffix).into()).clone()
    }

    /// Waits until its session is over.
    pub(super) async fn over(&self) {
        while !self.end.is_stopped() {
            tokio::time::sleep(LOOKING).await;
        }
    }

    /// What the totals of this connection are about.
    pub(super) fn opened(&self, started: TestTime) -> Opened {
        Opened { flow: self.flow, connection: self.connection, started }
    }

    /// Notes what a connection came to.
    pub(super) fn note(&self, totals: ConnectionTotals) {
        self.end.observer.sink(1).note(totals);
    }
}

fn without_port(host: &str) -> (&str, Option<u16>) {
    match host.rsplit_once(':') {
        Some((name, port)) => (name, port.parse().ok()),
        None => (host, None),
    }
}

/// What follows the first label in the names of a page's hosts, port included, taken from the first name of a client.
pub(super) fn suffix_of(host: &str) -> Option<String> {
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
}
