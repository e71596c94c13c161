//! What the threads of a server share.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use rrul_model::environment::{Environment, HOST_LISTEN_DROPS, HostState, LISTEN_DROPS};
use rrul_model::printable;
use rrul_proto::admission::fair_shares::FairShares;
use rrul_proto::admission::log_pace::LogPace;
use rrul_proto::admission::quota::{Quota, QuotaError};
use rrul_proto::admission::quota_class::OwnQuota;

use super::client_quota::{ClientQuotas, UnnamedConnections};
use super::counters::Counters;
use super::event::{EventKind, ServerEvent};
use super::host::{self, OwnSockets, Ways};
use super::light_handover::LightHandover;
use super::load_turns::LoadTurns;
use super::options::{ProfileFor, Rules, ServerOptions};
use super::pages::runtime::Pages;
use super::session::{Session, Sessions};
use super::traffic::Traffic;
use crate::clock::host_clock::HostClock;
use crate::clock::{RawTime, seconds_now};
use crate::control_link::ServerKey;
use crate::environment;
use crate::environment::Extent;
use crate::observer::row_room::RowRoom;
use crate::privacy::Privacy;

/// Bytes of a line of the log beside its words: the time, names of fields.
const FRAMING: usize = 100;

/// In how long a client for which this host had no room may ask again.
pub(super) const AGAIN: Duration = Duration::from_secs(2);

/// Bytes of stack for the thread of a connection or session.
pub(super) const STACK: usize = 512 << 10;

/// Rules that are in force.
pub(super) struct InForce {
    pub(super) rules: Rules,
    /// This host, read once: reading it disturbs what is being measured.
    environment: Environment,
}

impl InForce {
    pub(super) fn new(rules: Rules) -> Self {
        Self { rules, environment: host::description(&rules) }
    }

    /// This host as a client may see it.
    pub(super) fn environment(&self, has_token: bool) -> Environment {
        let environment = self.environment.clone();
        if self.sends_profile(has_token) { environment } else { environment.without_profile() }
    }

    /// Whether a client is sent more of this host than its test needs.
    fn sends_profile(&self, has_token: bool) -> bool {
        let Rules { privacy, profile, .. } = self.rules;
        privacy == Privacy::Open && (has_token || profile == ProfileFor::Everybody)
    }
}

/// What the threads of a server share.
pub(super) struct Shared {
    pub(super) options: ServerOptions,
    pub(super) clock: HostClock,
    /// What is in force; what `options` has of it is how the server began.
    pub(super) in_force: RwLock<Arc<InForce>>,
    /// By what clients that come from now on recognize this server.
    pub(super) key: RwLock<Option<ServerKey>>,
    pub(super) sessions: Arc<Sessions>,
    /// Where tests of probes alone are served.
    pub(super) light: LightHandover,
    /// Its listeners and datagram sockets, to be asked what they dropped.
    pub(super) sockets: OwnSockets,
    /// Connections by where they come from.
    pub(super) connection_quotas: Arc<ClientQuotas>,
    /// Places for connections that have named no session yet.
    pub(super) unnamed: UnnamedConnections,
    /// Room for what all tests observe.
    pub(super) rows: RowRoom,
    /// What all sessions move.
    pub(super) traffic: Traffic,
    pub(super) pages: Pages,
    /// The places of sessions, by the networks that hold them.
    pub(super) places: Arc<Mutex<FairShares>>,
    pub(super) turns: Arc<LoadTurns>,
    pub(super) connections: Arc<AtomicU32>,
    pub(super) stopped: AtomicBool,
    /// Whether no session is to open any more.
    pub(super) draining: AtomicBool,
    pub(super) counters: Counters,
    pub(super) log_pace: Mutex<LogPace>,
}

impl Shared {
    pub(super) fn is_stopped(&self) -> bool {
        self.stopped.load(Ordering::Relaxed)
    }

    /// The rules that are in force.
    pub(super) fn in_force(&self) -> Arc<InForce> {
        Arc::clone(&self.in_force.read().unwrap_or_else(PoisonError::into_inner))
    }

    /// The key that is in force.
    pub(super) fn key(&self) -> Option<ServerKey> {
        self.key.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// Puts another key in force, for connections that come from now on.
    pub(super) fn change_key(&self, key: Option<ServerKey>) {
        *self.key.write().unwrap_or_else(PoisonError::into_inner) = key;
    }

    /// Puts other rules in force, for sessions that open from now on.
    pub(super) fn change(&self, rules: Rules) {
        if self.in_force().rules != rules {
            self.places.lock().unwrap_or_else(PoisonError::into_inner).resize(rules.limits.sessions);
            self.turns.set_policy(rules.load, rules.giving_way);
            *self.in_force.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(InForce::new(rules));
        }
    }

    /// Reports an event, unless its source or all sources together have been too loud.
    pub(super) fn report(&self, what: EventKind, client: Option<SocketAddr>, reason: impl Into<String>) {
        self.counters.happened(what);
        let reason = printable::field(&reason.into()).into_owned();
        let mut event = ServerEvent { what, client, sessions: self.sessions.count(), reason, left_out: 0 };
        let bytes = event.to_string().len() + FRAMING;
        let mut pace = self.log_pace.lock().unwrap_or_else(PoisonError::into_inner);
        let taken = pace.take(client.map(|client| client.ip()), bytes, RawTime::now().0);
        drop(pace);
        let Some(left_out) = taken else {
            self.counters.not_logged();
            return;
        };
        event.left_out = left_out;
        (self.options.log)(&event);
    }

    /// Counts a test of this client; why it does not begin, where it or its network has had its share.
    pub(super) fn count_test(&self, client: SocketAddr, own: Option<OwnQuota>) -> Result<(), QuotaError> {
        self.quota().begin(client.ip(), own, seconds_now())
    }

    /// Counts bytes that a test of this client has moved. Whether it may go on.
    pub(super) fn count_octets(&self, client: SocketAddr, own: Option<OwnQuota>, octets: u64) -> bool {
        self.counters.moved(octets);
        self.quota().spend(client.ip(), own, octets, seconds_now())
    }

    /// Counts what a session has moved that no report of it has counted: before its test, or without one.
    pub(super) fn count_rest(&self, session: &Session, own: Option<OwnQuota>) {
        let rest = session.moved.take_new();
        self.traffic.add(rest);
        if rest.octets > 0 {
            self.count_octets(session.peer(), own, rest.octets);
        }
    }

    fn quota(&self) -> MutexGuard<'_, Quota> {
        self.options.quota.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This host now, as far as packets to a client pass it.
    pub(super) fn host_state(&self, ways: &Ways, has_token: bool) -> HostState {
        let in_force = self.in_force();
        let mut state = environment::read_state(&ways.proven(), Extent::InUse);
        if in_force.rules.privacy == Privacy::Strict {
            // The client's own address is no secret to it.
            state = state.without_names();
        }
        if !in_force.sends_profile(has_token) {
            let of_host = state.kernel_counters.remove(HOST_LISTEN_DROPS);
            state = state.without_profile();
            state.kernel_counters.extend(of_host.map(|drops| (HOST_LISTEN_DROPS.to_owned(), drops)));
        }
        state.kernel_counters.extend(self.sockets.listen_drops().map(|drops| (LISTEN_DROPS.to_owned(), drops)));
        state
    }
}
