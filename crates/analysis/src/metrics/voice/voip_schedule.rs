//! How the voice streams of a direction shared the line: all at once, or in turns where it was too slow for that.

use foldhash::HashSet;
use rrul_model::flow::{Component, Direction, FlowId, FlowSpec};
use rrul_model::observation::sender;
use rrul_model::recording::Recording;
use rrul_model::turns::TURNS;
use schemars::JsonSchema;
use serde::Serialize;

use crate::statistics::percentile::DelayStatistics;

/// How the voice streams of one direction were sent.
///
/// Test packets and voice together must take at most 5 % of a direction, or they would measure themselves. Before the
/// test, a train of 40 packets of 1200 bytes is sent back to back in each direction. The spacing at which the second
/// half arrives gives the rate of the line (packet dispersion). A host that stalls makes a line look slow; so if a
/// train takes less than 150 ms, three are sent, and the middle result of each direction is used. If the full set does
/// not fit, one class after another sends (turns of at most 10 s, in every phase), or one stream after another. One
/// stream is always sent, whatever its share. The estimate is too high if a burst allowance passes the whole train, and
/// too low if the line was not idle.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Voice: schedule")]
pub struct VoipSchedule {
    /// Direction of the flow.
    pub direction: Direction,
    /// How the streams share the line.
    pub schedule: LineSharing,
    /// Whether the streams took turns, so that each was sent for a part of each phase only.
    pub reduced_cir: bool,
    /// Rate of the idle line, measured with the packet train, IP headers included. `null` if none was sent, because the
    /// plan sets the schedule, or none came back.
    pub line_rate_bps: Option<u64>,
    /// Time from the due time of each voice packet until it was passed to the sending host's kernel, over the whole
    /// test: [statistics](#statistics-of-delays), none counts as lost.
    ///
    /// Source: RFC 3432.
    pub send_lateness: Option<DelayStatistics>,
}

/// How streams share a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "lowercase")]
pub enum LineSharing {
    /// All streams all the time.
    Full,
    /// One class after another.
    Classes,
    /// One stream after another.
    One,
    /// As the plan says.
    Turns,
}

/// The schedules of the directions that have voice streams.
pub(crate) fn schedules(recording: &Recording) -> Vec<VoipSchedule> {
    let of_direction = |direction: Direction| {
        let ours = |flow: &&FlowSpec| flow.component == Component::Voip && flow.direction == Some(direction);
        let flows: Vec<&FlowSpec> = recording.header.flows.iter().filter(ours).collect();
        let sharing = flows
            .iter()
            .map(|flow| sharing(flow))
            .reduce(|all, one| if all == one { all } else { LineSharing::Turns })?;
        let ids: HashSet<FlowId> = flows.iter().map(|flow| flow.id).collect();
        let rows = recording.tables_of(sender(direction)).flat_map(|tables| tables.probe_sent.rows());
        // When another program meant to send is not known.
        let rows = rows.filter(|_| recording.header.imported.is_none());
        let lateness = rows.filter(|row| ids.contains(&row.flow)).map(|row| row.sent.since(row.scheduled)).collect();
        Some(VoipSchedule {
            send_lateness: DelayStatistics::from_delays(lateness, 0),
            direction,
            schedule: sharing,
            reduced_cir: sharing != LineSharing::Full,
            line_rate_bps: recording.header.line_rate.and_then(|line| line.direction(direction)).map(|rate| rate.0),
        })
    };
    Direction::ALL.into_iter().filter_map(of_direction).collect()
}

fn sharing(flow: &FlowSpec) -> LineSharing {
    match (flow.parameters.text("schedule"), flow.parameters.text(TURNS)) {
        (_, None) => LineSharing::Full,
        (Some("classes"), _) => LineSharing::Classes,
        (Some("one"), _) => LineSharing::One,
        _ => LineSharing::Turns,
    }
}
