//! Every byte on the link: what was delivered, and what that took in headers, acknowledgments, retransmissions and
//! probes, by direction, family and phase.

use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::link_layer::LinkLayer;
use rrul_model::phase::Phase;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::ByteCount;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metrics::octets::link_rates::LinkRates;
use crate::metrics::octets::octet_account::{Account, OctetParts};
use crate::metrics::octets::octet_ledger::Ledger;
use crate::metrics::octets::traffic::Traffic;
use crate::series::RatePoint;

/// Grid of the rates over time.
const RATE_INTERVAL: Duration = Duration::from_millis(250);

/// What the link carried in each phase.
///
/// Every IP packet of the test by direction (`down` is server to client, `up` client to server), family and phase: what
/// the link carried, and for which purpose. It is not a measure of link rate. It shows what saturation consisted of,
/// and what shaping must allow for.
///
/// **Carried** is what arrived, as counted by the receiving host's kernel. For TCP these are the segments of `TCP_INFO`
/// at both ends: kernels count segments of wire size, also with offloading. IP and TCP headers are 40 bytes (IPv6: 60),
/// plus 12 with timestamps; the payload of a segment is the sender's mean. Acknowledgments are read, never estimated
/// from the data. UDP and ICMP packets have a known length and are counted where they arrive; what the server did not
/// count follows from its replies. Counters are read every 100 ms (load) or every second (the rest), and edges of
/// phases are interpolated. Accuracy: within 1 % in each direction and family, tested on virtual links with random
/// loss, lost acknowledgments and asymmetric rates; usually within 0.1 % for a loaded direction and 0.5 % for one that
/// carries mostly acknowledgments or loses a third of its packets.
///
/// Estimated, because no host counts them: selective acknowledgments (12 to 28 bytes for each acknowledgment beyond
/// those for segments in order), segments of connections that are opened one after another, arrivals of ICMP echo
/// requests and name lookups without an answer (at the share of the probes without an answer), and all TCP bytes of a
/// host without `TCP_INFO`. Not counted: neighbor discovery, other programs, and the resets that answer data after a
/// stream was closed, a few per mille of the phase after the load.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Link bytes")]
pub struct LinkOctets {
    /// The link layer that `link_layer_octets` are of, as the plan or `--link-layer` says; null: none was given.
    ///
    /// Source: tc-cake(8).
    pub link_layer: Option<String>,
    /// The survey before the baseline. Null as for all phases that the plan does not have.
    pub survey: Option<PhaseOctets>,
    /// The idle baseline.
    pub idle: Option<PhaseOctets>,
    /// The load.
    pub load: Option<PhaseOctets>,
    /// The load while pages, short flows and lookups join it.
    pub web: Option<PhaseOctets>,
    /// After the load.
    pub after: Option<PhaseOctets>,
    /// Names of flows with packets of unknown length, which are in no figure here.
    pub uncounted_flows: Vec<FlowLabel>,
    /// What the link carried over time, client to server.
    #[serde(skip)]
    pub up_rates: LinkRates,
    /// What the link carried over time, server to client.
    #[serde(skip)]
    pub down_rates: LinkRates,
}

impl LinkOctets {
    /// Returns what the link carried over time in one direction.
    pub fn rates(&self, direction: Direction) -> &[RatePoint] {
        &self.link_rates(direction).all
    }

    /// Returns the same by traffic type; empty for a type without packets.
    pub fn part_rates(&self, direction: Direction) -> &OctetParts<Vec<RatePoint>> {
        &self.link_rates(direction).parts
    }

    pub(crate) fn link_rates(&self, direction: Direction) -> &LinkRates {
        direction.select(&self.up_rates, &self.down_rates)
    }

    /// The account of one phase.
    pub fn phase(&self, phase: Phase) -> Option<&PhaseOctets> {
        match phase {
            Phase::Survey => self.survey.as_ref(),
            Phase::Idle => self.idle.as_ref(),
            Phase::Load => self.load.as_ref(),
            Phase::Web => self.web.as_ref(),
            Phase::After => self.after.as_ref(),
        }
    }
}

/// One phase.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct PhaseOctets {
    /// Server to client.
    pub down: DirectionOctets,
    /// Client to server.
    pub up: DirectionOctets,
    /// Both directions together.
    pub both: BothOctets,
}

impl PhaseOctets {
    /// The account of one direction.
    pub fn direction(&self, direction: Direction) -> &DirectionOctets {
        direction.select(&self.up, &self.down)
    }
}

/// One direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct DirectionOctets {
    /// Both address families together.
    ///
    /// Source: spec, Test Requirements.
    pub all: Account,
    /// IPv4 alone. Null when it is not under test.
    pub ipv4: Option<Account>,
    /// IPv6 alone. Null when it is not under test.
    pub ipv6: Option<Account>,
}

/// Both directions together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct BothOctets {
    /// Data delivered: `goodput_octets` of both directions together.
    ///
    /// Source: spec, The RRUL Score.
    pub goodput_octets: u64,
    /// Their rate over the phase.
    ///
    /// Source: spec (bidirectional bandwidth).
    pub goodput_bps: u64,
    /// `carried_octets` of both directions together.
    ///
    /// Source: spec, Test Requirements.
    pub carried_octets: u64,
    /// Their rate over the phase.
    pub carried_bps: u64,
}

/// The account of a recording that shows what happened until `end`.
pub(crate) fn link_octets(recording: &Recording, traffic: &Traffic<'_>, end: TestTime) -> LinkOctets {
    let layer: Option<LinkLayer> = recording.header.plan.link_layer.as_ref().and_then(|text| text.parse().ok());
    let families = &recording.header.families;
    let mut account = LinkOctets { link_layer: layer.as_ref().map(ToString::to_string), ..LinkOctets::default() };
    for entry in &recording.header.phases {
        let window = Window { from: entry.window.from, to: entry.window.to.min(end) };
        let direction = |direction| {
            let of = |family| Ledger { traffic, layer: layer.as_ref(), direction, family, window }.account();
            let alone = |family| families.contains(&family).then(|| of(Some(family)));
            DirectionOctets { all: of(None), ipv4: alone(AddressFamily::Ipv4), ipv6: alone(AddressFamily::Ipv6) }
        };
        let (down, up) = (direction(Direction::Down), direction(Direction::Up));
        let goodput = down.all.goodput_octets.saturating_add(up.all.goodput_octets);
        let carried = down.all.carried_octets.saturating_add(up.all.carried_octets);
        let both = BothOctets {
            goodput_octets: goodput,
            goodput_bps: ByteCount(goodput).per(window.length()).0,
            carried_octets: carried,
            carried_bps: ByteCount(carried).per(window.length()).0,
        };
        let phase = Some(PhaseOctets { down, up, both });
        match entry.phase {
            Phase::Survey => account.survey = phase,
            Phase::Idle => account.idle = phase,
            Phase::Load => account.load = phase,
            Phase::Web => account.web = phase,
            Phase::After => account.after = phase,
        }
    }
    account.uncounted_flows =
        traffic.uncounted.iter().filter_map(|id| recording.flow(*id)).map(FlowLabel::from).collect();
    let whole = Window {
        from: recording.header.phases.iter().map(|entry| entry.window.from).min().unwrap_or_default(),
        to: recording.header.phases.iter().map(|entry| entry.window.to).max().unwrap_or_default().min(end),
    };
    account.up_rates = LinkRates::measure(traffic, Direction::Up, whole, RATE_INTERVAL);
    account.down_rates = LinkRates::measure(traffic, Direction::Down, whole, RATE_INTERVAL);
    account
}
