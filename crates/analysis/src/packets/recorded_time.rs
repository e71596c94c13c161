//! Until when a recording reports what happened, and how far each host got.

use rrul_model::flow::Direction;
use rrul_model::observation::{ObservationPoint, Tables};
use rrul_model::recording::{End, Recording};
use rrul_model::time::TestTime;

/// Until when the client listened to replies.
///
/// A run that came to its planned end listened until the end that the recording gives. One that was stopped may have
/// listened no longer than until the client's last observation, and one that breaks off says nothing but that.
pub(crate) fn end(recording: &Recording) -> TestTime {
    if let Some(End { at, partial: None, .. }) = &recording.end {
        return *at;
    }
    let last = recording.tables_of(ObservationPoint::Client).filter_map(last_observation).max();
    let said = recording.end.as_ref().map(|end| end.at);
    said.into_iter().chain(last).min().unwrap_or_default()
}

/// Until when the receiver of this direction listened.
///
/// As [`end`] at the client. The server listens as long as the client, unless it was lost: then until its last
/// observation.
pub(crate) fn heard_until(recording: &Recording, direction: Direction) -> TestTime {
    let end = end(recording);
    let complete = recording.end.as_ref().is_some_and(|end| end.partial.is_none());
    if direction == Direction::Down || complete {
        return end;
    }
    let last = recording.tables_of(ObservationPoint::Server).filter_map(last_observation).max();
    last.map_or(TestTime(i64::MIN), |last| last.min(end))
}

/// The latest stamp in these tables that the observing host took of its own clock.
pub(crate) fn last_observation(tables: &Tables) -> Option<TestTime> {
    let stamps = [
        tables.octets_received.rows().map(|row| row.at).max(),
        tables.tcp_info.rows().map(|row| row.at).max(),
        tables.probe_sent.rows().map(|row| row.sent).max(),
        tables.probes_skipped.rows().map(|row| row.at).max(),
        tables.probe_received.rows().map(|row| row.received).max(),
        tables.packet_received.rows().map(|row| row.received).max(),
        tables.echo_received.rows().map(|row| row.received).max(),
        tables.transaction.rows().map(|row| row.started).max(),
        tables.connection.rows().map(|row| row.started).max(),
        tables.name_lookup.rows().map(|row| row.started).max(),
        tables.transfer.rows().map(|row| row.started).max(),
        tables.connection_totals.rows().map(|row| row.ended).max(),
        tables.cpu_time.rows().map(|row| row.at).max(),
        tables.process_time.rows().map(|row| row.at).max(),
        tables.clock_sample.rows().map(|row| row.at).max(),
    ];
    stamps.into_iter().flatten().max()
}
