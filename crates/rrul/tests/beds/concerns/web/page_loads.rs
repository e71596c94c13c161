//! Pages against the link's log: that every packet of a page bears its flow's marking, in both directions and families and
//! over every version of HTTP, and that what the recording says of bytes, connections and times is what passed.

use std::collections::{BTreeMap, BTreeSet};

use rrul_lab::{LabTime, Record};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::{ConnectionTotals, ObservationPoint, PageLoad, WebObject};
use rrul_model::page::Page;
use rrul_model::recording::Recording;

use crate::journal::{TCP, UDP};
use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// Pages over every version of HTTP, each in a class of its own.
const PAGES: &str = r#"
title = "pages"
overhead = "none"
phases = { survey = "19s" }
[flow.plain]
type = "web_page"
component = "web"
class = "CS1"
page = "rrul2013"
interval = "2s"
[flow.http1]
type = "web_page"
component = "web"
class = "CS3"
version = "http1"
interval = "2s"
[flow.http2]
type = "web_page"
component = "web"
class = "CS5"
version = "http2"
interval = "2s"
[flow.http3]
type = "web_page"
component = "web"
class = "EF"
version = "http3"
interval = "2s"
"#;

fn link(up: &str) -> String {
    format!("rtt = \"10ms\"\n[up]\nrate = \"100Mbit/s\"\n{up}\n[down]\nrate = \"100Mbit/s\"\n")
}

/// What identifies a connection in the log.
type Connection = (u8, AddressFamily, u16);

fn connection(record: &Record, direction: Direction) -> Connection {
    (record.protocol, record.family, record.client_port(direction))
}

/// Bytes that a packet carries for whoever speaks over it.
fn carried(record: &Record) -> u64 {
    let header = if record.family == AddressFamily::Ipv4 { 20 } else { 40 };
    match record.protocol {
        TCP => u64::from(record.tcp_payload),
        _ => u64::from(record.length).saturating_sub(header + 8),
    }
}

fn table<T>(recording: &Recording, of: impl Fn(&rrul_model::observation::Tables) -> Vec<T>) -> Vec<T> {
    recording.tables_of(ObservationPoint::Client).flat_map(of).collect()
}

/// The last reading of each connection of a flow.
fn totals(recording: &Recording, point: ObservationPoint, flow: &FlowSpec) -> Vec<ConnectionTotals> {
    let mut last: BTreeMap<u32, ConnectionTotals> = BTreeMap::new();
    for row in recording.tables_of(point).flat_map(|tables| tables.connection_totals.rows()) {
        let before = last.get(&row.connection).map(|before| before.ended);
        if row.flow == flow.id && before.is_none_or(|before| before <= row.ended) {
            last.insert(row.connection, row);
        }
    }
    last.into_values().collect()
}

/// What every page of this plan that is loaded over TCP, and over QUIC, is described by.
fn protocol_of(flow: &FlowSpec) -> u8 {
    if flow.parameters.text("version") == Some("http3") { UDP } else { TCP }
}

/// The connections of each flow: those that the client opened with its marking. Over UDP a question for a name bears it too,
/// and is shorter than anything with which QUIC begins.
fn connections(measured: &Measured, flow: &FlowSpec) -> BTreeSet<Connection> {
    let up = measured.truth.direction(Direction::Up);
    let ours = |record: &&Record| {
        (record.tos_in & 0xfc, record.family, record.protocol) == (flow.class.octet(), flow.family, protocol_of(flow))
            && (record.protocol == TCP || record.length > 1200)
    };
    up.records().filter(ours).map(|record| connection(record, Direction::Up)).collect()
}

fn every_packet_is_marked(rows: &mut Rows, measured: &Measured, flow: &FlowSpec) {
    let connections = connections(measured, flow);
    let all = || {
        Direction::ALL
            .into_iter()
            .flat_map(|direction| measured.truth.direction(direction).records().map(move |record| (direction, record)))
    };
    // From the first to the last packet with the flow's marking: before and after, the port may be that of another flow's
    // question for a name.
    let mut spans: BTreeMap<Connection, (LabTime, LabTime)> = BTreeMap::new();
    for (direction, record) in all().filter(|(_, record)| record.tos_in & 0xfc == flow.class.octet()) {
        let span = spans.entry(connection(record, direction)).or_insert((record.arrival, record.arrival));
        *span = (span.0.min(record.arrival), span.1.max(record.arrival));
    }
    let within = |record: &Record, direction: Direction| {
        let key = connection(record, direction);
        connections.contains(&key) && spans.get(&key).is_some_and(|(from, to)| (*from..=*to).contains(&record.arrival))
    };
    for direction in Direction::ALL {
        let mut seen: BTreeMap<(u8, u8), u64> = BTreeMap::new();
        for (_, record) in all().filter(|(way, _)| *way == direction) {
            // Acknowledgments without data may precede the name by which the server knows whom it serves.
            if within(record, direction) && carried(record) > 0 {
                *seen.entry((record.protocol, record.tos_in & 0xfc)).or_default() += 1;
            }
        }
        let expected = (protocol_of(flow), flow.class.octet());
        let what = format!("{}: protocol and marking of packets with data {direction}", flow.name);
        let alone = seen.keys().eq([&expected]);
        rows.holds("R2 R30", what, format!("{expected:?}"), format!("{seen:?}"), alone);
    }
}

/// The log's bytes of a flow in one direction, beside what the end that sent them has counted.
fn octets_are_the_links(rows: &mut Rows, measured: &Measured, flow: &FlowSpec) {
    let connections = connections(measured, flow);
    for (direction, point) in [(Direction::Up, ObservationPoint::Client), (Direction::Down, ObservationPoint::Server)] {
        let all = totals(&measured.recording, point, flow);
        rows.equal("R30", format!("{}: connections {direction}", flow.name), all.len(), connections.len());
        let counted: u64 = all.iter().map(|row| row.sent_octets).sum();
        // The port may be that of another connection before or after.
        let ours = |record: &&Record| {
            connections.contains(&connection(record, direction)) && record.tos_in & 0xfc == flow.class.octet()
        };
        let truth: u64 = measured.truth.direction(direction).records().filter(ours).map(carried).sum();
        let (counted, truth) = (counted as f64, truth as f64);
        // Not counted: farewells of TLS and QUIC that leave after the totals were read.
        rows.near("R30", format!("{}: bytes sent {direction}", flow.name), Some(counted), truth, truth * 0.01);
    }
}

/// Every load came whole, object by object, and its time is from the first packet of its connections to the last byte.
fn loads_are_whole(rows: &mut Rows, measured: &Measured, flow: &FlowSpec) {
    let page = Page::named(flow.parameters.text("page").unwrap_or("rrul2025")).unwrap();
    let loads =
        table(&measured.recording, |tables| tables.page_load.rows().filter(|row| row.flow == flow.id).collect());
    let objects: Vec<WebObject> =
        table(&measured.recording, |tables| tables.web_object.rows().filter(|row| row.flow == flow.id).collect());
    let ended: Vec<&PageLoad> = loads.iter().filter(|load| load.outcome != PageLoad::CUT).collect();
    let complete = ended.iter().filter(|load| load.outcome == PageLoad::COMPLETE).count();
    rows.equal("R30", format!("{}: loads that are complete", flow.name), complete, ended.len());
    assert!(complete > 0, "{}: no load", flow.name);
    let mut farthest = 0.0_f64;
    for load in ended {
        let of_load = |row: &&WebObject| row.load == load.load && row.object < Page::REFRESH;
        let mut last = 0;
        for row in objects.iter().filter(of_load) {
            let manifest = &page.objects[usize::from(row.object)];
            if manifest.later {
                continue;
            }
            assert_eq!((row.outcome, row.status), (WebObject::COMPLETE, 200), "{}: {row:?}", flow.name);
            assert_eq!(row.octets, manifest.octets, "{}: {row:?}", flow.name);
            let stretches = [row.blocked, row.lookup, row.connect, row.secure, row.send, row.wait, row.receive];
            let took: i64 = stretches.iter().filter(|stretch| **stretch != WebObject::NONE).map(|one| one.0).sum();
            last = last.max(row.wanted.0 + took);
            // A round trip, and what the server takes, before the first byte.
            let least = 10_000_000 + manifest.wait.as_nanos() as i64;
            assert!(row.wait.0 >= least, "{}: waited {} ns of at least {least}: {row:?}", flow.name, row.wait.0);
        }
        let came = objects.iter().filter(of_load).filter(|row| !page.objects[usize::from(row.object)].later).count();
        assert_eq!(came, page.awaited().count(), "{}", flow.name);
        let took = load.started.0 + load.took.0;
        farthest = farthest.max((took - last).abs() as f64 / 1e6);
    }
    let what = format!("{}: a load ends with its last object, off by at most, ms", flow.name);
    rows.between("R30", what, Some(farthest), 0, 0.0..=1.0);
}

pub(crate) const LOADS: Bed = Bed {
    name: "page_loads",
    about: "100/100 Mbit/s, 10 ms: pages over HTTP/1.1, HTTP/2 and HTTP/3, both families. Every packet bears its flow's marking, and \
        bytes, connections and times are those of the link.",
    runs: Runs::SideBySide,
    run: |rows| {
        let measured = Setting::new(link(""), PAGES).both_families().measure();
        let failed = &measured.analysis.failed_flows;
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(measured.recording.header.flows.len(), 8);
        for flow in &measured.recording.header.flows {
            every_packet_is_marked(rows, &measured, flow);
            octets_are_the_links(rows, &measured, flow);
            loads_are_whole(rows, &measured, flow);
        }
    },
};

pub(crate) const NO_QUIC: Bed = Bed {
    name: "page_without_quic",
    about: "UDP packets of more than 1200 bytes, as those with which QUIC begins, are lost: HTTP/2 takes its place.",
    runs: Runs::SideBySide,
    run: |rows| {
        let blocked = "only = { protocol = \"udp\", longer_than = 1200 }\nloss = \"100%\"";
        let plan = r#"
title = "no QUIC"
overhead = "none"
phases = { survey = "12s" }
[flow.page]
type = "web_page"
component = "web"
class = "CS5"
interval = "500ms"
"#;
        let measured = Setting::new(link(blocked), plan).measure();
        let loads: Vec<PageLoad> = table(&measured.recording, |tables| tables.page_load.rows().collect());
        let first = loads.first().unwrap();
        let page = Page::named("rrul2025").unwrap();
        let hosts = page.hosts.iter().filter(|host| host.protocol.code() == 30).count();
        assert_eq!(first.outcome, PageLoad::COMPLETE, "{first:?}");
        rows.equal("R30", "hosts of the first load that fell back", usize::from(first.fallbacks), hosts);
        let objects: Vec<WebObject> = table(&measured.recording, |tables| tables.web_object.rows().collect());
        let over_quic = objects.iter().filter(|row| row.protocol == 30).count();
        rows.equal("R30", "objects over a QUIC that does not pass", over_quic, 0);
    },
};

pub(crate) const CUT_OFF: Bed = Bed {
    name: "page_cut_off",
    about: "20/8 Mbit/s, fq_codel, over every version of HTTP: what a load that was cut off has asked for does not come while others \
        are measured.",
    runs: Runs::SideBySide,
    run: |rows| {
        // The page takes 1.5 s over this link; its flow's window is over 0.7 s after the load begins.
        let way = |rate| format!("rate = \"{rate}Mbit/s\"\nqueue = \"fq_codel\"\n");
        let link = format!("rtt = \"18ms\"\n[up]\n{}[down]\n{}", way(8), way(20));
        for version in ["http1", "http2", "http3", "page"] {
            // Another flow keeps the thread that loads pages busy until after the end of the first.
            let plan = format!(
                "title = \"cut off\"\noverhead = \"none\"\nphases = {{ survey = \"6s\" }}\n\
             [flow.page]\ntype = \"web_page\"\ncomponent = \"web\"\nclass = \"CS5\"\n\
             interval = \"1s\"\nduration = \"1700ms\"\nversion = \"{version}\"\n\
             [flow.later]\ntype = \"web_page\"\ncomponent = \"web\"\nclass = \"CS1\"\n\
             interval = \"1s\"\nstart = \"4500ms\"\nversion = \"{version}\"\n"
            );
            let measured = Setting::new(&*link, plan).measure();
            let flow = &measured.recording.header.flows[0];
            let of_flow = |row: &PageLoad| row.flow == flow.id;
            let loads: Vec<PageLoad> =
                table(&measured.recording, |tables| tables.page_load.rows().filter(of_flow).collect());
            let cut = loads.iter().map(|load| load.outcome).eq([PageLoad::CUT]);
            rows.holds("R30", format!("{version}: one load, cut off"), true, cut, cut);
            let of_page = |record: &&Record| record.tos_in & 0xfc == flow.class.octet() && record.length > 1000;
            let down =
                || measured.truth.direction(Direction::Down).records().filter(of_page).map(|record| record.arrival);
            let lasted = down().min().zip(down().max()).map(|(first, last)| last.since(first) as f64 * 1e-9);
            let what = format!("{version}: packets of the page from first to last, s");
            rows.between("R30", what, lasted, "0.7", 0.4..=1.0);
        }
    },
};
