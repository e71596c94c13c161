//! What queues add in each direction, and what was taken out of it.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::one_way_delay::{Clocks, OneWayDelay, SegmentChange};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::Direction;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::rate_panel::direction_word;
use crate::table::{Table, Told};
use crate::text::{quantile, unknown};
use crate::words::added;

/// Which direction bloats. Nothing for a run whose packets were not stamped at both ends.
pub(super) fn told(run: &Analysis) -> Told {
    let told = &run.one_way_delay;
    let Some(clocks) = &told.clocks else { return Told::default() };
    let mut below: Vec<String> = clocks.skew_uncertain.iter().map(|why| format!("  not known: {why}")).collect();
    if clocks.skew_uncertain.is_none() {
        let unknown = |direction| Some((direction, clocks.queueing_unknown.of(direction).as_ref()?));
        let line = |(direction, why): (Direction, &String)| format!("  {} unknown: {why}", direction_word(direction));
        below.extend(Direction::ALL.into_iter().filter_map(unknown).map(line));
    }
    below.extend(notes(told, clocks));
    let table = if clocks.skew_uncertain.is_none() { table(told) } else { Table::default() };
    Told { table, below, ..Told::default() }
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
    match (change.what, change.direction, change.family) {
        ("client_clock", ..) => format!("the client's clock stepped by {by}"),
        ("server_clock", ..) => format!("the server's clock stepped by {by}"),
        (_, way, family) => {
            format!("the route {} over {} changed by {by}", way.unwrap_or_default(), family.unwrap_or_default())
        }
    }
}
