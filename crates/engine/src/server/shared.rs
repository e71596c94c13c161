//! What the threads of a server share.

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex};

use rrul_model::environment::{Environment, HostState};
use rrul_model::printable;
use rrul_proto::admission::fair_shares::FairShares;

use super::client_quota::ClientQuotas;
use super::host::{LISTEN_DROPS, OwnSockets, Ways};
use super::load_turns::LoadTurns;
use super::options::ServerOptions;
use super::pages::runtime::Pages;
use super::session::Sessions;
use crate::clock::host_clock::HostClock;
use crate::environment;
use crate::environment::Extent;
use crate::observer::row_room::RowRoom;
use crate::privacy::Privacy;

/// What the threads of a server share.
pub(super) struct Shared {
    pub(super) options: ServerOptions,
    pub(super) clock: HostClock,
    /// This host, read once: reading it disturbs what is being measured.
    pub(super) environment: Environment,
    pub(super) sessions: Sessions,
    /// Its listeners and datagram sockets, to be asked what they dropped.
    pub(super) sockets: OwnSockets,
    /// Connections by where they come from.
    pub(super) connection_quotas: Arc<ClientQuotas>,
    /// Room for what all tests observe.
    pub(super) rows: RowRoom,
    pub(super) pages: Pages,
    /// The places of sessions, by the networks that hold them.
    pub(super) places: Mutex<FairShares>,
    pub(super) turns: Arc<LoadTurns>,
    pub(super) connections: AtomicU32,
    pub(super) stopped: AtomicBool,
}

impl Shared {
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    pub(super) fn log(&self, line: &str) {
        (self.options.log)(&printable::line(line));
    }

    /// This host now, as far as packets to a client pass it.
    pub(super) fn host_state(&self, ways: &Ways) -> HostState {
        let mut state = environment::read_state(&ways.proven(), Extent::InUse);
        state.kernel_counters.extend(self.sockets.listen_drops().map(|drops| (LISTEN_DROPS.to_owned(), drops)));
        match self.options.privacy {
            Privacy::Open => state,
            // The client's own address is no secret to it.
            Privacy::Strict => state.without_names(),
        }
    }
}
