//! From a document to a recording.

use std::collections::{BTreeSet, HashMap};
use std::time::Duration;

use super::FlentError;
use super::document::Document;
use super::flow_source::{FlowSource, Measured};
use super::packet::Packets;
use super::stream::{Octets, Recorded};
use super::tcp_state::tcp_info;
use super::timeline::{Phases, Timeline};
use super::{host, probe_rows};
use crate::flow::{AddressFamily, Direction, FlowId, FlowSpec};
use crate::imported::Imported;
use crate::observation::{FlowEvent, FlowEventKind, ObservationPoint, OctetsReceived, Tables};
use crate::plan::TestPlan;
use crate::printable::is_unprintable;
use crate::recording::{End, FORMAT, Frame, Header, Recording};
use crate::time::{TestTime, Window};
use crate::units::ByteCount;

/// Distance of the grid's values where the file does not say.
const USUAL_STEP: f64 = 0.2;
/// This long the tools of Flent wait for the last replies: irtt three times the longest, or 4 s, the others longer.
const WAITED: Duration = Duration::from_secs(4);

/// What the series of a file hold, flow by flow.
enum Content {
    Octets(Octets),
    Packets(Packets),
    /// Unix seconds and milliseconds.
    Means(Vec<(f64, f64)>),
}

/// What both ends observed.
#[derive(Default)]
struct Observed {
    client: Tables,
    server: Tables,
    client_events: Vec<FlowEvent>,
    server_events: Vec<FlowEvent>,
}

pub(super) fn recording(mut document: Document) -> Result<Recording, FlentError> {
    let timeline = Timeline::new(&document.metadata, &document.raw_values);
    let step = document.metadata.step_size.number().filter(|step| (1e-3..=60.0).contains(step)).unwrap_or(USUAL_STEP);
    let sources = FlowSource::all(&mut document);
    let content: Vec<Content> = sources.iter().map(|source| content(source, &document, &timeline, step)).collect();
    let first_load = content.iter().filter_map(|content| match content {
        Content::Octets(octets) => octets.readings.first().and_then(|(unix, _)| timeline.at(*unix)),
        _ => None,
    });
    let last = last(&content, &timeline);
    let phases = Phases::new(&document.metadata, first_load.min(), last);
    let flows = flows(&sources, &content, &phases, &timeline);
    if flows.is_empty() || content.iter().all(Content::is_empty) {
        return Err(FlentError::NoFlows);
    }
    let tool = tool(&document);
    let mut notes: Vec<String> = timeline.note.iter().cloned().collect();
    notes.extend(
        document.doubled.iter().map(|name| format!("the file contains series {name:?} twice; the first was used")),
    );
    let mut observed = Observed::default();
    observe(&mut observed, &sources, &flows, content, &timeline, &mut notes);
    let imported = Imported { tool: tool.clone(), notes, counted_at_sender: counted_at_sender(&sources) };
    let header = header(&document, &sources, flows, &phases, &timeline, step, imported);
    let frame = |point, tables, events| Frame { point, number: 0, dropped: 0, tables, events };
    let frames = vec![
        frame(ObservationPoint::Client, observed.client, observed.client_events),
        frame(ObservationPoint::Server, observed.server, observed.server_events),
    ];
    let at = phases.end.max(last) + WAITED;
    Ok(Recording { header, frames, steps: Vec::new(), end: Some(End { at, ..End::default() }), digest: None })
}

/// `Flent 2.3.0`.
fn tool(document: &Document) -> String {
    match (document.metadata.flent_version.text(), document.metadata.netperf_wrapper_version.text()) {
        (Some(version), _) => format!("Flent {version}"),
        (None, Some(version)) => format!("netperf-wrapper {version}"),
        (None, None) => "netperf-wrapper".to_owned(),
    }
}

fn counted_at_sender(sources: &[FlowSource]) -> Vec<Direction> {
    let up = sources.iter().any(|source| source.measured == Measured::Stream(Direction::Up));
    up.then_some(Direction::Up).into_iter().collect()
}

fn content(source: &FlowSource, document: &Document, timeline: &Timeline, step: f64) -> Content {
    let grid = || {
        let places = document.x_values.iter().zip(&source.values);
        places.filter_map(|(x, value)| Some((timeline.of_grid((*x)?), (*value)?)))
    };
    let raw = !source.rows.is_empty() && source.values.is_empty();
    match source.measured {
        Measured::Stream(_) if raw => {
            let recorded =
                Recorded { octets: source.meta.bytes_recvd.number(), elapsed: source.meta.elapsed_time.number() };
            Content::Octets(Octets::of_raw(&source.rows, recorded))
        }
        Measured::Stream(_) => Content::Octets(Octets::of_grid(grid(), step)),
        Measured::Exchanges if raw => {
            // Before version 4 raw values are what netperf says: transactions in a second.
            let per_second = document.version < 4.0;
            let mean = |row: &super::document::RawValue| {
                let value = row.val.filter(|value| *value > 0.0)?;
                let took = if per_second { 1000.0 / value } else { value };
                Some((row.t - took / 1e3, took))
            };
            Content::Means(source.rows.iter().filter_map(mean).collect())
        }
        Measured::Exchanges => Content::Means(grid().collect()),
        Measured::Probes | Measured::Echo | Measured::Voice if raw => Content::Packets(Packets::of_raw(&source.rows)),
        Measured::Probes | Measured::Echo | Measured::Voice => Content::Packets(Packets::of_grid(grid())),
    }
}

impl Content {
    fn is_empty(&self) -> bool {
        match self {
            Self::Octets(octets) => octets.readings.is_empty(),
            Self::Packets(packets) => packets.packets.is_empty(),
            Self::Means(means) => means.is_empty(),
        }
    }
}

/// When the last thing was observed.
fn last(content: &[Content], timeline: &Timeline) -> TestTime {
    let last = content.iter().filter_map(|content| match content {
        Content::Octets(octets) => octets.readings.iter().filter_map(|(unix, _)| timeline.at(*unix)).max(),
        Content::Packets(packets) => packets.packets.iter().filter_map(|packet| timeline.at(packet.sent)).max(),
        Content::Means(means) => means.iter().filter_map(|(unix, _)| timeline.at(*unix)).max(),
    });
    last.max().unwrap_or_default()
}

/// A flow for each series. A stream that began a second or more after the load was started later.
fn flows(sources: &[FlowSource], content: &[Content], phases: &Phases, timeline: &Timeline) -> Vec<FlowSpec> {
    const LATER: Duration = Duration::from_secs(1);
    let mut named: HashMap<String, u32> = HashMap::new();
    let flow = |(number, (source, content)): (u16, (&FlowSource, &Content))| {
        let window = match (source.measured, phases.load) {
            (Measured::Stream(_), Some(load)) => {
                let began = match content {
                    Content::Octets(octets) if source.values.is_empty() => octets.readings.first(),
                    _ => None,
                };
                let began = began.and_then(|(unix, _)| timeline.at(*unix));
                let from = began.filter(|began| *began > load.from + LATER && *began < load.to).unwrap_or(load.from);
                Window { from, ..load }
            }
            _ => phases.whole(),
        };
        let plain = source.plain_name();
        let count = named.entry(plain.clone()).or_default();
        *count += 1;
        let name = if *count == 1 { plain } else { format!("{plain}#{count}") };
        source.flow(FlowId(number), name, window)
    };
    (0..).zip(sources.iter().zip(content)).map(flow).collect()
}

/// Puts what the series report into the tables of the host that observed it.
fn observe(
    observed: &mut Observed,
    sources: &[FlowSource],
    flows: &[FlowSpec],
    content: Vec<Content>,
    timeline: &Timeline,
    notes: &mut Vec<String>,
) {
    let all_packets = content.iter().filter_map(|content| match content {
        Content::Packets(packets) => Some(&packets.packets),
        _ => None,
    });
    let offset = probe_rows::clock_offset(all_packets.flatten()).unwrap_or_default();
    let mut unnumbered = BTreeSet::new();
    let (mut uncovered, mut gapped_streams, mut contradicted, mut stalled, mut means) = (0.0, 0_u32, 0_u32, 0, 0_u32);
    for ((source, flow), content) in sources.iter().zip(flows).zip(content) {
        let begin = flow.window.from;
        let event = |event, detail| FlowEvent { flow: flow.id, at: begin, event, detail };
        observed.client_events.push(event(FlowEventKind::Uses, format!("series {}", shown(&source.name))));
        if let (Measured::Stream(direction), Some(name)) = (source.measured, source.congestion_control()) {
            let events = direction.select(&mut observed.client_events, &mut observed.server_events);
            events.push(event(FlowEventKind::CongestionControl, name));
        }
        match content {
            Content::Octets(octets) => {
                let up = source.measured == Measured::Stream(Direction::Up);
                let tables = if up { &mut observed.server } else { &mut observed.client };
                for (unix, octets) in &octets.readings {
                    if let Some(at) = timeline.at(*unix) {
                        tables.push(OctetsReceived { flow: flow.id, at, octets: ByteCount(*octets) }.into());
                    }
                }
                uncovered += octets.uncovered;
                gapped_streams += u32::from(octets.uncovered > 0.0);
                contradicted += u32::from(octets.contradicted);
                // Flent reads sockets at the client alone: those of downloads count acknowledgments.
                let states = source.rows.iter().filter(|_| up);
                let states = states.filter_map(|row| Some((timeline.at(row.t)?, row.tcp?)));
                states.for_each(|(at, state)| observed.client.push(tcp_info(flow.id, at, state).into()));
            }
            Content::Packets(packets) => {
                if !packets.numbered {
                    unnumbered.insert(shown(&source.name));
                }
                if source.measured == Measured::Voice {
                    let (sent, received) = (&mut observed.client, &mut observed.server);
                    if !probe_rows::voice(sent, received, flow.id, &packets, timeline) {
                        let note = "clocks of the voice stream were not synchronized, so its delays are relative to the smallest";
                        notes.push(note.to_owned());
                    }
                } else {
                    probe_rows::probes(&mut observed.client, flow.id, &packets, offset, timeline);
                }
            }
            Content::Means(values) => {
                means += 1;
                stalled += probe_rows::exchanges(&mut observed.client, flow.id, values.into_iter(), timeline);
            }
        }
    }
    if means > 0 {
        notes.push(format!(
            "{means} ping series are means of netperf UDP exchanges; they understate delay, show no loss, and stop at the first \
             lost packet"
        ));
    }
    if stalled > 0 {
        notes.push(format!("{stalled} readings of such exchanges with gaps over 2 s were left out"));
    }
    if let Some(first) = unnumbered.first() {
        let others = if unnumbered.len() > 1 { " and others" } else { "" };
        notes.push(format!("{first}{others}: no sequence numbers, so loss is unknown and not counted"));
    }
    if uncovered > 0.0 {
        notes.push(format!(
            "{gapped_streams} streams have {uncovered:.1} s of gaps between readings; bytes carried in gaps are not counted"
        ));
    }
    if contradicted > 0 {
        notes.push(format!("recorded bytes of {contradicted} streams contradict their rates; the rates were used"));
    }
}

/// A name from a file, short enough to be printed.
fn shown(name: &str) -> String {
    let name: String = name.chars().filter(|c| !is_unprintable(*c)).take(60).collect();
    format!("\"{name}\"")
}

fn header(
    document: &Document,
    sources: &[FlowSource],
    flows: Vec<FlowSpec>,
    phases: &Phases,
    timeline: &Timeline,
    step: f64,
    imported: Imported,
) -> Header {
    let metadata = &document.metadata;
    let test = metadata.name.text().unwrap_or_else(|| "unnamed".to_owned());
    let families: BTreeSet<AddressFamily> = sources.iter().map(|source| source.family).collect();
    let server = metadata.host.text().unwrap_or_default();
    let plan = TestPlan {
        name: format!("flent/{test}"),
        title: format!("test {test} of {}", imported.tool),
        // The workload is Flent's, which no version of the specification stands for.
        spec: String::new(),
        phases: phases.lengths(),
        sample_interval: Duration::from_secs_f64(step),
        ..TestPlan::default()
    };
    Header {
        format: FORMAT.to_owned(),
        title: metadata.title.text().unwrap_or_default(),
        created: timeline.created.clone(),
        plan,
        flows,
        phases: phases.windows.clone(),
        families: families.into_iter().collect(),
        server_addresses: server.parse().into_iter().collect(),
        server_name: server,
        client: host::client(metadata, &imported.tool),
        imported: Some(imported),
        ..Header::default()
    }
}
