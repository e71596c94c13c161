//! What a flow type is: both of its ends, and the words that plans use for it.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread::JoinHandle;
use std::time::Duration;

use rrul_model::flow::{Direction, FlowId, FlowSpec, FlowTypeWords};
use rrul_model::phase::{self, PhaseWindow};
use rrul_model::random::Random;
use rrul_model::time::TestTime;
use rrul_model::units::BitRate;
use rrul_proto::opening::{CLIENT_OCTETS, ClientOpening, Purpose};
use rrul_proto::packet_seal::PacketSeal;
use rrul_proto::stream_key::StreamKey;
use rrul_proto::token::Token;

use crate::endpoint::Endpoint;
use crate::privacy::Privacy;
use crate::server::parts::host::HostAnswers;
use crate::server::session::ServerPart;
use crate::setup_error::SetupError;

/// What flows of a test have in common at the client.
#[derive(Debug, Clone)]
pub(crate) struct Initiation {
    pub(crate) end: Arc<Endpoint>,
    /// What binds streams, lookups and pages to the session.
    pub(crate) token: Token,
    /// What test packets are sealed with.
    pub(crate) seal: PacketSeal,
    /// What its streams are opened with, where the control connection is encrypted.
    pub(crate) stream_key: Option<StreamKey>,
    /// The server's address in each family under test.
    pub(crate) servers: Vec<SocketAddr>,
    pub(crate) seed: u64,
    /// Whether what names the client's surroundings may be recorded.
    pub(crate) privacy: Privacy,
    /// Held by whoever loads a page, of whatever flow type: pages never load each other.
    pub(crate) page_turn: Arc<Mutex<()>>,
    /// When each phase takes place.
    pub(crate) phases: Vec<PhaseWindow>,
}

impl Initiation {
    /// Waits until no page is being loaded, and keeps it so until the guard is dropped.
    pub(crate) fn page_turn(&self) -> MutexGuard<'_, ()> {
        // Nothing is behind the lock that a panic could have left half done.
        self.page_turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns what the client says first on a connection of this flow.
    pub(crate) fn stream_opening(&self, flow: FlowId) -> [u8; CLIENT_OCTETS] {
        let opening = ClientOpening::new(Purpose::Stream, self.token, flow.0);
        self.stream_key.as_ref().map_or(opening, |key| key.seal(opening, self.token)).encode()
    }

    /// When what a flow has begun is given up and reset.
    pub(crate) fn reset_at(&self, spec: &FlowSpec) -> TestTime {
        phase::reset_at(&self.phases, spec.window)
    }

    /// Returns the server's address in the family of this flow.
    pub(crate) fn server_for(&self, spec: &FlowSpec) -> Result<SocketAddr, SetupError> {
        let of_family =
            |address: &&SocketAddr| rrul_model::flow::AddressFamily::from_address(address.ip()) == spec.family;
        self.servers.iter().find(of_family).copied().ok_or(SetupError::NoAddress(spec.family))
    }

    /// A seed of this flow's own.
    pub(crate) fn seed_for(&self, spec: &FlowSpec) -> u64 {
        // Through the generator: seeds at a regular distance would give schedules shifted by one slot.
        Random(self.seed ^ u64::from(spec.id.0)).next()
    }

    /// A seed that flows share which differ in nothing but their time: what is compared idle and loaded then follows the
    /// same schedule in both phases, as far as the shorter goes.
    pub(crate) fn schedule_seed_for(&self, spec: &FlowSpec) -> u64 {
        // Type, class, direction, family, copy; behind the @ stands which entry of the plan it is.
        let kind = spec.name.split('@').next().unwrap_or_default();
        let text = format!("{kind} {:?}", spec.parameters);
        text.bytes().fold(self.seed, |seed, octet| Random(seed ^ u64::from(octet)).next())
    }
}

/// What a flow sends, bits per second with IP headers, by direction.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub(crate) struct Footprint {
    pub(crate) up: f64,
    pub(crate) down: f64,
}

impl Footprint {
    pub(crate) fn both(rate: f64) -> Self {
        Self { up: rate, down: rate }
    }

    /// `forth` in this direction, and `back` against it.
    pub(crate) fn towards(direction: Option<Direction>, forth: f64, back: f64) -> Self {
        match direction {
            Some(Direction::Up) => Self { up: forth, down: back },
            Some(Direction::Down) | None => Self { up: back, down: forth },
        }
    }

    #[must_use]
    pub(crate) fn and(self, other: Self) -> Self {
        Self { up: self.up + other.up, down: self.down + other.down }
    }

    pub(crate) fn direction(self, direction: Direction) -> f64 {
        direction.select(self.up, self.down)
    }
}

impl std::iter::Sum for Footprint {
    fn sum<I: Iterator<Item = Self>>(footprints: I) -> Self {
        footprints.fold(Self::default(), Self::and)
    }
}

/// How the footprint of a flow type can be made smaller on a slow line.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Pacing {
    /// Not at all, or by a rule of its own.
    Fixed,
    /// By a longer interval: the footprint is in inverse proportion to it.
    Interval {
        parameter: &'static str,
        default: Duration,
        /// Longer than this it would measure nothing of use.
        longest: Duration,
        /// How much sooner than probes it gives way: 1 as soon, 3 three times as much.
        yields: f64,
    },
    /// By a longer least interval of a closed loop, which otherwise goes as fast as the round trip lets it.
    ClosedLoop {
        parameter: &'static str,
        default: Duration,
        /// Longer than this it would measure nothing of use.
        longest: Duration,
    },
    Turns,
}

/// One way of putting traffic on a link and observing it. Both ends are in one file.
pub(crate) trait FlowType: Sync {
    /// The name, the parameters and a line about it.
    fn descriptor(&self) -> &'static FlowTypeWords;

    /// Returns whether a flow is of this type.
    fn is_of(&self, spec: &FlowSpec) -> bool {
        spec.flow_type == self.descriptor().name
    }

    /// The server's part in such flows; by default its host answers by itself.
    fn server_part(&self) -> &'static dyn ServerPart {
        &HostAnswers
    }

    /// Test packets that a flow sends in a second at most, for the server's limit.
    fn packets_per_second(&self, _spec: &FlowSpec) -> f64 {
        0.0
    }

    /// Connections that a flow opens in a second, for the server's limit.
    fn connections_per_second(&self, _spec: &FlowSpec) -> f64 {
        0.0
    }

    /// Rate at which a flow sends whatever the network takes, headers included, for the server's limit; `None` for a flow that
    /// yields or measures.
    fn flood_rate(&self, _spec: &FlowSpec) -> Option<BitRate> {
        None
    }

    /// Bytes that each packet of a flow carries above its UDP or ICMP header, or each message over TCP, where all are of
    /// one length. Put into the flow's parameters as `length`, so that a recording says what was sent.
    fn length(&self, _spec: &FlowSpec) -> Option<usize> {
        None
    }

    /// Parameters of a flow as they are in force, where the plan may leave them to the type. Put into the flow's parameters,
    /// so that a recording says what was done whatever later versions take for granted.
    fn effective_parameters(&self, _spec: &FlowSpec) -> BTreeMap<&'static str, String> {
        BTreeMap::new()
    }

    /// What a flow sends at most while it runs, beside the load: for the measurement budget. Nothing for bulk and pages.
    fn footprint(&self, _spec: &FlowSpec) -> Footprint {
        Footprint::default()
    }

    /// What a flow loads the path with at most; `None` for one that takes what the path gives.
    fn load(&self, spec: &FlowSpec) -> Option<Footprint> {
        Some(self.footprint(spec))
    }

    /// How the footprint of a flow can be made smaller.
    fn pacing(&self) -> Pacing {
        Pacing::Fixed
    }

    /// Sets up all flows of this type at the client, before T0, and starts their threads, which wait for T0.
    ///
    /// A flow that cannot be set up is noted as failed; the others go on.
    fn initiate(&self, specs: &[&FlowSpec], initiation: &Initiation) -> Vec<JoinHandle<()>>;
}

#[cfg(test)]
mod tests {
    use super::*;
    use rrul_model::flow::{AddressFamily, Component, FlowId, Parameter, Parameters};
    use rrul_model::marking::ServiceClass;
    use rrul_model::observation::ObservationPoint;
    use rrul_model::time::Window;

    #[test]
    fn flows_that_differ_in_their_time_alone_share_a_schedule() {
        let end = Arc::new(Endpoint::new(ObservationPoint::Client, Duration::from_secs(1), TestTime(9)));
        let initiation = Initiation {
            end,
            token: Token::NONE,
            seal: Token::NONE.into(),
            stream_key: None,
            servers: Vec::new(),
            seed: 7,
            privacy: Privacy::Strict,
            page_turn: Arc::default(),
            phases: Vec::new(),
        };
        let flow = |id, name: &str, size: &str| FlowSpec {
            id: FlowId(id),
            name: name.to_owned(),
            flow_type: "short_flow".to_owned(),
            component: Component::Realtime,
            direction: None,
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            window: Window { from: TestTime(i64::from(id)), to: TestTime(10) },
            parameters: Parameters([("size".to_owned(), Parameter::Text(size.to_owned()))].into()),
        };
        let seed = |spec: &FlowSpec| initiation.schedule_seed_for(spec);
        let first = flow(1, "short_flow/BE/up/ipv4", "10kB");
        assert_eq!(seed(&first), seed(&flow(2, "short_flow/BE/up/ipv4@short_load", "10kB")));
        for other in [flow(1, "short_flow/BE/up/ipv6", "10kB"), flow(1, "short_flow/BE/up/ipv4", "1MB")] {
            assert_ne!(seed(&first), seed(&other), "{}", other.name);
        }
        assert_ne!(seed(&first), seed(&flow(1, "short_flow/BE/up/ipv4#2", "10kB")), "copies do not run in step");
    }
}
