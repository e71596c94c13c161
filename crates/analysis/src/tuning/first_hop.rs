//! Whether a queue is in front of the first router: in the client's own network, which a shaper on a router does not control.
//!
//! The first router answers packets whose hop limit ends there. Where its answers wait as long as test packets of the whole way,
//! moment by moment, the queue is between the client and that router; where they do not, it is behind it.

use std::net::IpAddr;
use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::recording::Recording;
use rrul_model::time::Window;

use super::trial::QueueHop;
use crate::by_direction::ByDirection;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::metrics::path::path_hops::baselines;
use crate::metrics::path::path_packets::{LONG, Packet, Traced, Traces};
use crate::packets::queue_side::{self, Reading, Side};
use crate::packets::queue_waits::{QueueWaits, Span};

/// The first router, where the queue of a direction is in front of it.
///
/// `waits` are those of best-effort test packets of one family: sent by the client's clock in the upload, arrived by it in the
/// download.
pub(super) fn queues(
    read: &Recording,
    window: Window,
    waits: impl Fn(AddressFamily, Direction) -> QueueWaits,
) -> ByDirection<Option<QueueHop>> {
    let traces = read.header.flows.iter();
    let traces: Vec<&FlowSpec> =
        traces.filter(|flow| flow.kind() == FlowKind::PathTrace && flow.direction == Some(Direction::Up)).collect();
    let mut found = ByDirection::default();
    if traces.is_empty() {
        return found;
    }
    let mut gathered = Traces::gather(read);
    for flow in traces {
        let Some(traced) = gathered.take(flow, None) else { continue };
        let (up, down) = (waits(flow.family, Direction::Up), waits(flow.family, Direction::Down));
        let first = FirstHop::new(read, flow, &traced, window);
        for direction in Direction::ALL {
            let hop = found.get_mut(direction);
            if hop.is_none() {
                *hop = first.queue(&traced, direction, &up, &down);
            }
        }
    }
    found
}

/// What the first router of one trace has answered under load.
struct FirstHop<'a> {
    packets: Vec<&'a Packet>,
    /// Of each, what it took above the idle line, milliseconds.
    excess: Vec<f64>,
    /// A shaper on a router is at this hop or beyond it.
    before_shaper: bool,
}

impl<'a> FirstHop<'a> {
    fn new(read: &Recording, flow: &FlowSpec, traced: &'a Traced, window: Window) -> Self {
        let judgement =
            Judgement { phases: &read.header.phases, scored: None, waiting_time: Duration::ZERO, end: window.to };
        let ours = |packet: &&Packet| {
            let is_plain = packet.octet == flow.class.octet() && packet.length < LONG;
            is_plain && packet.hop_limit == 1 && packet.answer.is_some_and(|answer| answer.is_expiry(flow.family))
        };
        let answered: Vec<&Packet> = traced.packets.iter().filter(ours).collect();
        let idle = baselines(&answered, &judgement);
        let excess = |packet: &'a Packet| {
            let answer = packet.answer?;
            let idle = idle.get(&answer.source).filter(|idle| idle.is_sure)?.median;
            Some((packet, answer.round_trip.0.saturating_sub(idle.0) as f64 / 1e6))
        };
        let loaded = answered.iter().filter(|packet| window.contains(packet.at));
        let (packets, excess) = loaded.filter_map(|packet| excess(packet)).unzip();
        let before_shaper = read.header.tuning.as_ref().is_some_and(|plan| plan.shaper.on_router);
        Self { packets, excess, before_shaper }
    }

    /// This hop, where what its answers took follows the queue of a direction.
    fn queue(&self, traced: &Traced, direction: Direction, up: &QueueWaits, down: &QueueWaits) -> Option<QueueHop> {
        let reading = |(packet, excess): (&&Packet, &f64)| {
            let sent = up.of_sent(packet.at.0);
            let arrived = down.of_arrived(packet.answer?.at.0);
            let (own, other) = direction.select((sent, arrived), (arrived, sent));
            Some(Reading { excess: *excess, forward: own?, back: other.unwrap_or(Span::UNKNOWN) })
        };
        let readings: Vec<Reading> = self.packets.iter().zip(&self.excess).filter_map(reading).collect();
        if queue_side::side(&readings, false) != Side::Behind {
            return None;
        }
        let source = self.packets.last()?.answer?.source;
        let address: Option<IpAddr> = traced.addresses.get(&source).and_then(|address| address.parse().ok());
        Some(QueueHop { hop: 1, address, before_shaper: self.before_shaper })
    }
}
