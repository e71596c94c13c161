//! What queues add in each direction, and what was taken out of it.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::one_way_delay::{Changed, Clocks, OneWayDelay, SegmentChange};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::text::style::{quantile, unknown};
use crate::text::table::{SectionBody, Table};
use crate::text::words::added;
use crate::text::words::direction_word;

/// Which direction bloats. Nothing for a run whose packets were not stamped at both ends.
pub(super) fn told(run: &Analysis) -> SectionBody {
    let told = &run.one_way_delay;
    let Some(clocks) = &told.clocks else { return SectionBody::default() };
    let unknown = unknown_queueing(clocks);
    let mut below: Vec<String> = unknown.into_iter().map(|(what, why)| format!("  {what} not known: {why}")).collect();
    below.extend(notes(told, clocks));
    let is_known = Direction::ALL.into_iter().any(|direction| clocks.unknown_reason(direction).is_none());
    let table = if is_known { table(told) } else { Table::default() };
    SectionBody { table, below, ..SectionBody::default() }
}

/// Returns what queueing delay is unknown and why: an entry for each direction, or one for both where the reason is the same.
pub(crate) fn unknown_queueing(clocks: &Clocks) -> Vec<(&'static str, &str)> {
    let [up, down] = [Direction::Up, Direction::Down].map(|direction| clocks.unknown_reason(direction));
    match (up, down) {
        (Some(up), Some(down)) if up == down => vec![("Queueing delay up and down", up)],
        _ => [("Queueing delay up", up), ("Queueing delay down", down)]
            .into_iter()
            .filter_map(|(what, why)| Some((what, why?)))
            .collect(),
    }
}

fn table(told: &OneWayDelay) -> Table {
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "loaded P99", "loaded max"]);
    for direction in Direction::ALL {
        let delays = &told.direction(direction).queueing_delay;
        let of = |statistics: &Option<DelayStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>| {
            statistics.as_ref().map_or_else(unknown, |statistics| quantile(pick(statistics)))
        };
        let load = |pick| of(&delays.load, pick);
        let cells = [of(&delays.idle, |s| s.p50), load(|s| s.p50), load(|s| s.p95), load(|s| s.p99), load(|s| s.max)];
        table.named_row(direction_word(direction), cells);
    }
    table
}

/// What happened to clocks and routes, and whether both directions add up.
fn notes(told: &OneWayDelay, clocks: &Clocks) -> Vec<String> {
    let mut notes = Vec::new();
    for segment in &clocks.segments {
        let at = TestTime(segment.from_ns.unwrap_or_default());
        notes.extend(segment.changes.iter().map(|change| format!("  at {at} {}; taken out", change_words(change))));
    }
    if let Some(check) = told.check.filter(|check| !check.consistent) {
        let error = Delay(check.median_error_ns);
        notes.push(format!("  the two do not add up to the round trip: {error} apart at the median"));
    }
    notes
}

fn change_words(change: &SegmentChange) -> String {
    let by = added(Some(Delay(change.by_ns)));
    match change.what {
        Changed::ClientClock => format!("the client's clock stepped by {by}"),
        Changed::ServerClock => format!("the server's clock stepped by {by}"),
        Changed::Route => {
            let way = change.direction.map_or("", Direction::name);
            let family = change.family.map_or("", AddressFamily::name);
            format!("the route {way} over {family} changed by {by}")
        }
    }
}
