//! The rows that show the fate of test packets, and how far those of the server reach.

use std::time::Duration;

use foldhash::{HashMap, HashMapExt};
use rrul_model::flow::FlowId;
use rrul_model::observation::{ObservationPoint, PacketReceived, ProbeReceived, ReflectorWindow, Transaction};
use rrul_model::recording::{End, Recording};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::clock_offset::ClockOffset;
use crate::packets::recorded_time;

/// The rows of one flow.
#[derive(Debug, Default)]
pub(super) struct Rows {
    /// At the reflector, in the order of arrival.
    pub(super) arrivals: Vec<PacketReceived>,
    /// At the client, in the order of arrival.
    pub(super) replies: Vec<ProbeReceived>,
    pub(super) windows: Vec<ReflectorWindow>,
    pub(super) exchanges: Vec<Transaction>,
}

/// The rows of every flow.
pub(super) struct Gathered {
    pub(super) flows: HashMap<FlowId, Rows>,
    /// Until when, on its clock, the server's rows are complete; `None` if they are to the end.
    complete_until: Option<TestTime>,
}

/// How far the server's rows reach.
pub(super) struct Coverage<'a> {
    complete_until: Option<TestTime>,
    pub(super) clock: Option<&'a ClockOffset>,
    pub(super) waiting_time: Delay,
}

impl Coverage<'_> {
    /// Whether the server would have reported a packet that was sent then, had it arrived in time.
    pub(super) fn reaches(&self, sent: TestTime) -> bool {
        let Some(complete_until) = self.complete_until else { return true };
        let complete_until = self.clock.map_or(complete_until, |clock| clock.client_time(complete_until));
        sent.0.saturating_add(self.waiting_time.0) <= complete_until.0
    }

    /// Whether the server would have reported a packet that arrived then, on its clock.
    pub(super) fn includes(&self, arrived: TestTime) -> bool {
        self.complete_until.is_none_or(|complete_until| arrived <= complete_until)
    }
}

impl Gathered {
    pub(super) fn coverage<'a>(&self, clock: Option<&'a ClockOffset>, waiting_time: Duration) -> Coverage<'a> {
        Coverage { complete_until: self.complete_until, clock, waiting_time: Delay::from(waiting_time) }
    }
}

pub(super) fn gather(recording: &Recording) -> Gathered {
    let mut flows: HashMap<FlowId, Rows> = HashMap::new();
    for tables in recording.tables_of(ObservationPoint::Server) {
        for row in tables.packet_received.rows() {
            flows.entry(row.flow).or_default().arrivals.push(row);
        }
    }
    for tables in recording.tables_of(ObservationPoint::Client) {
        for row in tables.probe_received.rows() {
            flows.entry(row.flow).or_default().replies.push(row);
        }
        for row in tables.reflector_window.rows() {
            flows.entry(row.flow).or_default().windows.push(row);
        }
        for row in tables.transaction.rows() {
            flows.entry(row.flow).or_default().exchanges.push(row);
        }
        for row in tables.probe_sent.rows() {
            flows.entry(row.flow).or_default();
        }
    }
    Gathered { flows, complete_until: complete_until(recording) }
}

/// Returns the time on the server's clock until which its rows are complete; `None` if they are to the end.
///
/// The server numbers its frames. Its rows are complete up to the first frame that is missing or that dropped rows.
pub(crate) fn complete_until(recording: &Recording) -> Option<TestTime> {
    let mut frames: Vec<_> = recording.frames_of(ObservationPoint::Server).collect();
    frames.sort_by_key(|frame| frame.number);
    let whole = (0..).zip(&frames).take_while(|(number, frame)| frame.number == *number && frame.dropped == 0);
    let whole = whole.map(|(_, frame)| *frame).collect::<Vec<_>>();
    if whole.len() == frames.len() && matches!(recording.end, Some(End { partial: None, .. })) {
        return None;
    }
    let last = whole.iter().filter_map(|frame| recorded_time::last_observation(&frame.tables)).max();
    Some(last.unwrap_or(TestTime(i64::MIN)))
}
