//! The packets of a path trace, each with its answer: what the rows of both ends say, brought together.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{AddressFamily, Direction, FlowId, FlowSpec};
use rrul_model::flow_kind::FlowKind;
use rrul_model::observation::{FlowEventKind, OWN_LINK, ObservationPoint, PathAnswer, PathProbe, sender};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::clock_offset::ClockOffset;
use crate::packets::by_number::ByNumber;

/// A packet of so many bytes is one of the search for the path MTU.
pub(crate) const LONG: u16 = 300;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// When it left, on the client's clock.
    pub(crate) at: TestTime,
    /// How many hops it might pass.
    pub(crate) hop_limit: u8,
    /// Traffic-class byte that it was sent with.
    pub(crate) octet: u8,
    /// Bytes of the IP packet.
    pub(crate) length: u16,
    pub(crate) answer: Option<Answer>,
    /// Traffic-class byte and hop limit as whoever answered saw them.
    pub(crate) quote: Option<(u8, u8)>,
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// When the answer came, on the client's clock.
    pub(crate) at: TestTime,
    /// From when the packet left, without the time that it spent at the destination.
    pub(crate) round_trip: Delay,
    /// Number of the address that it came from.
    pub(crate) source: u16,
    /// ICMP type; 0 for the destination's own answer, [`OWN_LINK`] of a packet that has not left.
    pub(crate) kind: u8,
    pub(crate) code: u8,
    pub(crate) mtu: u32,
    /// The hop limit with which the packet reached the destination; 0 where that is not known.
    pub(crate) left: u8,
}

impl Answer {
    /// Whether the destination itself has answered.
    pub(crate) fn is_far_ends(&self) -> bool {
        self.kind == 0
    }

    /// Whether the packet has not left, as it is longer than the sending host's own link carries.
    pub(crate) fn is_own_links(&self) -> bool {
        self.kind == OWN_LINK
    }

    /// Whether a router says that it was the last that the packet's hop limit let it reach.
    pub(crate) fn is_expiry(&self, family: AddressFamily) -> bool {
        match family {
            AddressFamily::Ipv4 => self.kind == 11,
            AddressFamily::Ipv6 => self.kind == 3,
        }
    }
}

impl Packet {
    /// Routers that the packet passed on its way to the destination.
    pub(crate) fn routers(&self) -> Option<u8> {
        let answer = self.answer.filter(|answer| answer.is_far_ends() && answer.left > 0)?;
        self.hop_limit.checked_sub(answer.left)
    }
}

/// What a trace has brought.
#[derive(Debug, Default)]
pub(crate) struct Traced {
    /// In the order in which they were sent.
    pub(crate) packets: Vec<Packet>,
    pub(crate) addresses: HashMap<u16, String>,
    /// Answers that are about no packet of the trace, or about one that was answered already.
    pub(crate) strays: u64,
    /// Whether quoted headers were seen.
    pub(crate) sees_quotes: bool,
}

/// What one trace has written down.
#[derive(Default)]
struct Rows {
    probes: Vec<(u32, PathProbe)>,
    stamps: Vec<(u32, TestTime)>,
    answers: Vec<(u32, PathAnswer)>,
    quotes: Vec<(u32, (u8, u8))>,
    events: Vec<(FlowEventKind, String)>,
}

/// Every trace of a recording, by its flow.
pub(crate) struct Traces(HashMap<FlowId, Rows>);

impl Traces {
    pub(crate) fn gather(recording: &Recording) -> Self {
        let flows = recording.header.flows.iter().filter(|flow| flow.kind() == FlowKind::PathTrace);
        let senders: HashMap<FlowId, ObservationPoint> =
            flows.filter_map(|flow| Some((flow.id, sender(flow.direction?)))).collect();
        let mut traces: HashMap<FlowId, Rows> = HashMap::new();
        for point in [ObservationPoint::Client, ObservationPoint::Server] {
            let ours = |flow: FlowId| senders.get(&flow) == Some(&point);
            for tables in recording.tables_of(point) {
                for row in tables.path_probe.rows().filter(|row| ours(row.flow)) {
                    traces.entry(row.flow).or_default().probes.push((row.sequence, row));
                }
                for row in tables.probe_stamped.rows().filter(|row| ours(row.flow)) {
                    traces.entry(row.flow).or_default().stamps.push((row.sequence, row.sent));
                }
                for row in tables.path_answer.rows().filter(|row| ours(row.flow)) {
                    traces.entry(row.flow).or_default().answers.push((row.sequence, row));
                }
                for row in tables.path_quote.rows().filter(|row| ours(row.flow)) {
                    traces.entry(row.flow).or_default().quotes.push((row.sequence, (row.octet, row.hop_limit)));
                }
            }
        }
        for (from, event) in recording.events() {
            if senders.get(&event.flow) == Some(&from) {
                traces.entry(event.flow).or_default().events.push((event.event, event.detail.clone()));
            }
        }
        Self(traces)
    }

    /// The packets of one flow, once. Without `clock` the times of the server stay on its own.
    pub(crate) fn take(&mut self, flow: &FlowSpec, clock: Option<&ClockOffset>) -> Option<Traced> {
        let (direction, rows) = (flow.direction?, self.0.remove(&flow.id)?);
        let at = |time: TestTime| match (direction, clock) {
            (Direction::Down, Some(clock)) => clock.client_time(time),
            _ => time,
        };
        let mut traced = Traced::default();
        let answer_count = rows.answers.len();
        let known = rows.answers.into_iter().filter(|(sequence, _)| *sequence != u32::MAX).collect();
        // A second answer to the same packet says nothing that the first has not.
        let (stamps, answers) = (ByNumber::first(rows.stamps), ByNumber::first(known));
        let quotes = ByNumber::first(rows.quotes);
        traced.strays = (answer_count - answers.iter().count()) as u64;
        for (sequence, row) in ByNumber::first(rows.probes).iter() {
            // No packet leaves before it was sent: such a stamp is of another one.
            let sent = stamps.get(sequence).copied().filter(|stamp| *stamp >= row.sent).unwrap_or(row.sent);
            let answer = |answer: &PathAnswer| Answer {
                at: at(answer.received),
                round_trip: Delay(answer.received.since(sent).0.saturating_sub(answer.held.0.max(0))),
                source: answer.source,
                kind: answer.kind,
                code: answer.code,
                mtu: answer.mtu,
                left: answer.left,
            };
            traced.packets.push(Packet {
                at: at(sent),
                hop_limit: row.hop_limit,
                octet: row.octet,
                length: row.length,
                answer: answers.get(sequence).map(answer).filter(|answer| answer.round_trip.0 >= 0),
                quote: quotes.get(sequence).copied(),
            });
        }
        traced.packets.sort_by_key(|packet| packet.at);
        for (kind, detail) in rows.events {
            match kind {
                FlowEventKind::HopAddress => {
                    if let Some((number, address)) = detail.split_once(' ')
                        && let Ok(number) = number.parse()
                    {
                        traced.addresses.insert(number, address.to_owned());
                    }
                }
                FlowEventKind::Uses => traced.sees_quotes = detail == "quoted headers",
                _ => {}
            }
        }
        Some(traced)
    }
}
