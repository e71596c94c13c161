//! Whom a TCP connection turns out to serve.

use std::net::TcpStream;
use std::sync::{Arc, Mutex, OnceLock, PoisonError};
use std::time::Instant;

use super::visit::{LOOKING, Visit};
use crate::clock::RawTime;
use crate::server::client_quota::HeldPlace;
use crate::server::shared::Shared;
use crate::server::traffic::session_traffic::CountedStream;
use crate::socket::options;
use crate::web::HANDSHAKE_TIME;

/// Whom a connection turns out to serve, and the socket by which its packets are marked and counted.
pub(super) struct PageConnection {
    pub(super) visit: OnceLock<Arc<Visit>>,
    /// The place that it has until then.
    pub(super) unnamed: Mutex<Option<HeldPlace>>,
    /// Its count among what the session of the visit moves.
    pub(super) counted: OnceLock<CountedStream>,
    pub(super) socket: Arc<TcpStream>,
    pub(super) arrived: RawTime,
}

impl PageConnection {
    /// Whether it has said whom it visits.
    pub(super) fn is_known(&self) -> bool {
        self.visit.get().is_some()
    }

    /// The visit, which the first name decides; from now on its packets are marked.
    pub(super) fn welcome(&self, shared: &Shared, host: &str) -> Option<Arc<Visit>> {
        if let Some(visit) = self.visit.get() {
            return Some(Arc::clone(visit));
        }
        let visit = Arc::new(Visit::from_host(shared, host)?);
        // One that cannot be marked is answered unmarked: the client's own end has said so before.
        let _ = options::mark(&self.socket, visit.family, visit.class);
        drop(self.unnamed.lock().unwrap_or_else(PoisonError::into_inner).take());
        let visit = self.visit.get_or_init(|| visit);
        self.counted.get_or_init(|| visit.moved.watch(&self.socket));
        Some(Arc::clone(visit))
    }

    /// Waits until the visitor has gone, or has not identified itself in time.
    pub(super) async fn gone(&self, shared: &Shared) {
        let patience = Instant::now() + HANDSHAKE_TIME;
        loop {
            tokio::time::sleep(LOOKING).await;
            if let Some(visit) = self.visit.get() {
                return visit.over().await;
            }
            if Instant::now() > patience || shared.is_stopped() {
                return;
            }
        }
    }
}

impl Drop for PageConnection {
    fn drop(&mut self) {
        let Some(visit) = self.visit.get() else { return };
        let Some(clock) = visit.end.clock() else { return };
        if let Some(totals) = visit.opened(clock.at(self.arrived)).tcp(&self.socket, clock.now()) {
            visit.note(totals);
        }
    }
}
