//! The packets of a path trace, each with its answer: what the rows of both ends say, brought together.

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::{Direction, FlowSpec};
use rrul_model::observation::{FlowEventKind, ObservationPoint, PathAnswer};
use rrul_model::recording::Recording;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::clock_offset::ClockOffset;

/// The flow type whose packets these are.
pub(crate) const PATH_TRACE: &str = "path_trace";

/// A packet with this hop limit or more is meant for the far end.
pub(crate) const FULL_HOP_LIMIT: u8 = 64;

/// One packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Packet {
    /// When it left, on the client's clock.
    pub(crate) at: TestTime,
    /// How many hops it might pass.
    pub(crate) hop_limit: u8,
    /// Traffic-class octet that it was sent with.
    pub(crate) octet: u8,
    /// Octets of the IP packet.
    pub(crate) length: u16,
    /// What was answered.
    pub(crate) answer: Option<Answer>,
    /// Traffic-class octet and hop limit as whoever answered saw them.
    pub(crate) quote: Option<(u8, u8)>,
}

/// What was answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Answer {
    /// When the answer came, on the client's clock.
    pub(crate) at: TestTime,
    /// From when the packet left, without the time that the far end held it.
    pub(crate) round_trip: Delay,
    /// Number of the address that it came from.
    pub(crate) source: u16,
    /// ICMP type; 0 of the far end's own answer.
    pub(crate) kind: u8,
    pub(crate) code: u8,
    pub(crate) mtu: u32,
    /// With what hop limit the packet reached the far end; 0 where that is not known.
    pub(crate) left: u8,
}

impl Answer {
    /// Whether the far end itself has answered.
    pub(crate) fn is_far_ends(&self) -> bool {
        self.kind == 0
    }
}

impl Packet {
    /// Routers that the packet passed on its way to the far end.
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
    /// Addresses by their number.
    pub(crate) addresses: HashMap<u16, String>,
    /// Answers that are about no packet of the trace, or about one that was answered already.
    pub(crate) strays: u64,
    /// Whether quoted headers were seen.
    pub(crate) sees_quotes: bool,
}

/// Who sends the packets of a flow in this direction.
pub(crate) fn sender(direction: Direction) -> ObservationPoint {
    match direction {
        Direction::Up => ObservationPoint::Client,
        Direction::Down => ObservationPoint::Server,
    }
}

/// The packets of one flow. Without `clock` the times of the server stay on its own.
pub(crate) fn traced(
    recording: &Recording,
    flow: &FlowSpec,
    direction: Direction,
    clock: Option<&ClockOffset>,
) -> Traced {
    let point = sender(direction);
    let at = |time: TestTime| match (point, clock) {
        (ObservationPoint::Server, Some(clock)) => clock.client_time(time),
        _ => time,
    };
    let mut traced = Traced::default();
    let (mut stamps, mut answers, mut quotes) = (HashMap::new(), HashMap::new(), HashMap::new());
    for tables in recording.tables_of(point) {
        stamps
            .extend(tables.probe_stamped.rows().filter(|row| row.flow == flow.id).map(|row| (row.sequence, row.sent)));
        for row in tables.path_answer.rows().filter(|row| row.flow == flow.id) {
            // A second answer to the same packet says nothing that the first has not.
            if row.sequence == u32::MAX || answers.contains_key(&row.sequence) {
                traced.strays += 1;
            } else {
                answers.insert(row.sequence, row);
            }
        }
        let rows = tables.path_quote.rows().filter(|row| row.flow == flow.id);
        quotes.extend(rows.map(|row| (row.sequence, (row.octet, row.hop_limit))));
    }
    for row in recording.tables_of(point).flat_map(|tables| tables.path_probe.rows()) {
        if row.flow != flow.id {
            continue;
        }
        let sent = stamps.get(&row.sequence).copied().unwrap_or(row.sent);
        let answer = |answer: &PathAnswer| Answer {
            at: at(answer.received),
            round_trip: Delay(answer.received.since(sent).0.saturating_sub(answer.held.0)),
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
            answer: answers.get(&row.sequence).map(answer).filter(|answer| answer.round_trip.0 >= 0),
            quote: quotes.get(&row.sequence).copied(),
        });
    }
    for (_, event) in recording.events().filter(|(from, event)| *from == point && event.flow == flow.id) {
        match event.event {
            FlowEventKind::HopAddress => {
                if let Some((number, address)) = event.detail.split_once(' ')
                    && let Ok(number) = number.parse()
                {
                    traced.addresses.insert(number, address.to_owned());
                }
            }
            FlowEventKind::Uses => traced.sees_quotes = event.detail == "quoted headers",
            _ => {}
        }
    }
    traced
}
