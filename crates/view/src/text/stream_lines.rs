//! Streams in the summary: how they share, connection setup, and in-stream delay.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::sharing::global_synchronization::Synchronized;
use rrul_analysis::metrics::sharing::stream_sharing::DirectionSharing;
use rrul_analysis::metrics::web::connections::{ConnectionPhases, ConnectionStatistics};
use rrul_analysis::statistics::jain_index::JainStatistics;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::Direction;
use rrul_model::units::Delay;

use crate::text::label::{Naming, names};
use crate::text::style::{quantile, unknown};
use crate::text::table::{SectionBody, Table};
use crate::text::words;
use crate::text::words::added;
use crate::text::words::direction_word;

/// From this part of the busy time on a window or buffer that limited is worth a line.
const LIMITED: f64 = 0.1;

/// How the streams of the load share each direction, with remarks.
pub(crate) fn sharing(run: &Analysis) -> SectionBody {
    let mut table = Table::default();
    table.row(["", "mean", "P5", "shares"]);
    let mut found = false;
    for direction in Direction::ALL {
        let Some(sharing) = run.sharing.direction(direction) else { continue };
        found = true;
        let streams = words::counted(sharing.streams.len(), "stream");
        jain_row(&mut table, &format!("{}, {streams}", direction_word(direction)), sharing.jain_streams, String::new());
        let classes = sharing.classes.iter().map(|entry| format!("{} {}", entry.class, words::percent(entry.share)));
        let shares = classes.collect::<Vec<_>>().join("  ");
        jain_row(&mut table, &format!("  {} classes", sharing.classes.len()), sharing.jain_classes, shares);
        let families = sharing.families.iter();
        let shares = families
            .map(|entry| format!("{} {}", words::family_name(entry.family), words::percent(entry.share)))
            .collect::<Vec<_>>()
            .join("  ");
        jain_row(&mut table, &format!("  {} families", sharing.families.len()), sharing.jain_families, shares);
    }
    if !found {
        return SectionBody::default();
    }
    let remarks = Direction::ALL.into_iter().flat_map(|direction| remarks(run, direction));
    SectionBody { table, below: remarks.map(|line| format!("  {line}")).collect(), ..SectionBody::default() }
}

/// Nothing with a single sharer: one class, one family.
fn jain_row(table: &mut Table, name: &str, jain: Option<JainStatistics>, shares: String) {
    if let Some(jain) = jain {
        table.named_row(name, [format!("{:.2}", jain.mean), format!("{:.2}", jain.p5), shares]);
    }
}

/// Starvation, global synchronization and limits by the hosts.
fn remarks(run: &Analysis, direction: Direction) -> Vec<String> {
    let word = direction_word(direction);
    let mut lines = Vec::new();
    if let Some(sharing) = run.sharing.direction(direction) {
        lines.extend(starved(sharing).map(|starved| format!("{word}: {starved}")));
    }
    let synchronization = run.global_synchronization.direction(direction);
    if synchronization.synchronized == Synchronized::Yes {
        lines.push(format!(
            "{word}: global synchronization, streams back off together ({} times) and the link runs idle",
            synchronization.dips
        ));
    }
    let limits = run.stream_limits.direction(direction).pooled;
    let limited = [(limits.rwnd_limited, "the receiver's window"), (limits.sndbuf_limited, "the sender's buffer")];
    for (part, what) in limited {
        if let Some(part) = part.filter(|part| *part >= LIMITED) {
            lines.push(format!("{word}: {what} limited streams for {} of the time", words::percent(part)));
        }
    }
    lines
}

fn starved(sharing: &DirectionSharing) -> Option<String> {
    let labels: Vec<_> = sharing.streams.iter().map(|stream| &stream.flow).collect();
    let streams = sharing.streams.iter().zip(names(&labels, Naming::Streams));
    let starved: Vec<String> = streams
        .filter(|(stream, _)| stream.starved > 0.0)
        .map(|(stream, name)| format!("{name} starved for {} of the time", words::percent(stream.starved)))
        .collect();
    (!starved.is_empty()).then(|| starved.join(", "))
}

pub(crate) fn connections(run: &Analysis) -> SectionBody {
    let connections = &run.connections;
    if connections.flows.is_empty() {
        return SectionBody::default();
    }
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "over 1 s", "SYN retransmitted", "failed"]);
    table.named_row("all", connection_cells(&connections.pooled));
    if connections.classes.len() > 1 {
        for entry in &connections.classes {
            table.named_row(&entry.class.to_string(), connection_cells(&entry.phases));
        }
    }
    if connections.families.len() > 1 {
        for entry in &connections.families {
            table.named_row(words::family_name(entry.family), connection_cells(&entry.phases));
        }
    }
    table.into()
}

fn connection_cells(phases: &ConnectionPhases) -> [String; 6] {
    let connect = |phase: &Option<ConnectionStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>| {
        phase.as_ref().map_or_else(unknown, |phase| quantile(pick(&phase.connect)))
    };
    let load = |cell: fn(&ConnectionStatistics) -> String| phases.load.as_ref().map_or_else(unknown, cell);
    [
        connect(&phases.idle, |s| s.p50),
        connect(&phases.load, |s| s.p50),
        connect(&phases.load, |s| s.p95),
        load(|load| words::percent(load.over_1s)),
        load(|load| words::percent(load.retried as f64 / load.connect.n as f64)),
        load(|load| words::percent(load.connect.lost as f64 / load.connect.n as f64)),
    ]
}

/// In-stream delay: from the write call to the read call.
pub(crate) fn stream_delay(run: &Analysis) -> SectionBody {
    let mut table = Table::default();
    table.row(["", "idle P50", "loaded P50", "loaded P95", "added P50", "added P95"]);
    let mut found = false;
    for direction in Direction::ALL {
        let Some(delays) = run.stream_delay.direction(direction) else { continue };
        found = true;
        let of = |phase: &Option<DelayStatistics>, pick: fn(&DelayStatistics) -> Option<Delay>| {
            phase.as_ref().map_or_else(unknown, |statistics| quantile(pick(statistics)))
        };
        table.named_row(
            direction_word(direction),
            [
                of(&delays.idle, |s| s.p50),
                of(&delays.load, |s| s.p50),
                of(&delays.load, |s| s.p95),
                added(delays.induced_p50),
                added(delays.induced_p95),
            ],
        );
    }
    if found { table.into() } else { SectionBody::default() }
}
