//! Who measured what, where: the plan, both hosts, and their queues.

use rrul_model::environment::{Environment, Interface};
use rrul_model::observation::ObservationPoint;
use rrul_model::recording::{Header, Recording};

use super::data_table::DataTable;
use crate::text::words;

/// The tables of one run.
pub(crate) fn tables(recording: &Recording) -> Vec<DataTable> {
    let header = &recording.header;
    let mut tables = vec![the_test(header), hosts(header)];
    for (point, host) in [(ObservationPoint::Client, &header.client), (ObservationPoint::Server, &header.server)] {
        let name = point.name();
        tables.extend(interfaces(recording, point, name, host));
        tables.extend(pairs(&format!("Kernel settings of the {name}"), host.settings.iter()));
        tables.extend(pairs(&format!("What rrul may do on the {name}"), host.abilities.iter()));
    }
    tables.retain(|table| !table.rows.is_empty());
    tables
}

fn the_test(header: &Header) -> DataTable {
    let mut rows = Vec::new();
    let mut row = |name: &str, value: String| {
        if !value.is_empty() {
            rows.push(vec![name.to_owned(), value]);
        }
    };
    row("plan", header.plan.name.clone());
    row("begun", words::date(&header.created));
    row("server", header.server_name.clone());
    row("its addresses", list(header.server_addresses.iter().map(ToString::to_string)));
    if header.imported.is_none() {
        let control = if header.encrypted { "encrypted (TLS 1.3)" } else { "plain" };
        row("control connection", control.to_owned());
    }
    row("families", words::families(&header.families));
    row("flows", words::count(header.flows.len() as u64));
    let phases = header.phases.iter().map(|entry| {
        let seconds = entry.window.to.seconds() - entry.window.from.seconds();
        format!("{} {seconds} s", entry.phase.name())
    });
    row("phases", list(phases));
    row("link layer", header.plan.link_layer.clone().unwrap_or_default());
    if let Some(imported) = &header.imported {
        row("measured by", imported.tool.clone());
    }
    DataTable { caption: "The test".to_owned(), rows, words: true, ..DataTable::default() }
}

fn list(words: impl Iterator<Item = String>) -> String {
    words.collect::<Vec<_>>().join(", ")
}

/// What is known of either host, side by side.
fn hosts(header: &Header) -> DataTable {
    type Pick = fn(&Environment) -> String;
    let known: [(&str, Pick); 9] = [
        ("host", |host| host.host.clone()),
        ("rrul", |host| host.program.clone()),
        ("kernel", |host| host.kernel.clone()),
        ("architecture", |host| host.architecture.clone()),
        ("runs in", |host| host.virtualisation.clone()),
        ("processor", |host| host.processor.clone()),
        ("cores", |host| if host.cores == 0 { String::new() } else { host.cores.to_string() }),
        ("governors of the cores", |host| {
            list(host.governors.iter().map(|(governor, cores)| format!("{governor} {cores}")))
        }),
        ("clock source", |host| host.clock_source.clone()),
    ];
    let row = |(name, pick): &(&str, Pick)| {
        let cells = [pick(&header.client), pick(&header.server)];
        let told = cells.iter().any(|cell| !cell.is_empty());
        let cells = cells.map(|cell| if cell.is_empty() { "not reported".to_owned() } else { cell });
        told.then(|| std::iter::once((*name).to_owned()).chain(cells).collect())
    };
    let rows: Vec<Vec<String>> = known.iter().filter_map(row).collect();
    let heads = ["", "client", "server"].map(str::to_owned).to_vec();
    DataTable { caption: "Both hosts".to_owned(), heads, rows, words: true }
}

/// The interfaces in use, with their queues before and after.
fn interfaces(recording: &Recording, point: ObservationPoint, name: &str, host: &Environment) -> Option<DataTable> {
    let after = recording.end.as_ref().and_then(|end| end.host(point));
    let row = |interface: &Interface| {
        let later = after.and_then(|state| state.interface(interface.index));
        vec![
            interface.name.clone(),
            interface.kind.clone(),
            interface.mtu.to_string(),
            interface.speed.map_or_else(|| "not reported".to_owned(), |speed| format!("{speed} Mbit/s")),
            queues(interface),
            later.map_or_else(|| "not reported".to_owned(), queues),
            list(interface.offloads.iter().filter(|(_, on)| **on).map(|(offload, _)| offload.clone())),
        ]
    };
    let rows: Vec<Vec<String>> = host.state.interfaces_in_use().map(row).collect();
    let heads = ["", "kind", "MTU, bytes", "speed", "queues before", "queues after", "offloads"];
    let caption = format!("Interfaces of the {name}");
    (!rows.is_empty()).then(|| DataTable { caption, heads: heads.map(str::to_owned).to_vec(), rows, words: true })
}

fn queues(interface: &Interface) -> String {
    let kinds = interface.queue_disciplines.iter().map(|queue| queue.kind.clone());
    let mut kinds: Vec<String> = kinds.collect();
    kinds.dedup();
    if kinds.is_empty() { "not reported".to_owned() } else { kinds.join(", ") }
}

fn pairs<'a>(caption: &str, pairs: impl Iterator<Item = (&'a String, &'a String)>) -> Option<DataTable> {
    let rows: Vec<Vec<String>> = pairs.map(|(name, value)| vec![name.clone(), value.clone()]).collect();
    (!rows.is_empty()).then(|| DataTable { caption: caption.to_owned(), rows, words: true, ..DataTable::default() })
}
