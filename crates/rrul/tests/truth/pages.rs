//! Pages against the link's log: that every packet of a page bears its flow's marking, in both directions and families and
//! over every version of HTTP, and that what the recording says of octets, connections and times is what passed.

use std::collections::{BTreeMap, BTreeSet};

use rrul_engine::client::Families;
use rrul_lab::{LabTime, Link, Record};
use rrul_model::flow::{AddressFamily, Direction, FlowSpec};
use rrul_model::observation::{ConnectionTotals, ObservationPoint, PageLoad, WebObject};
use rrul_model::page::Page;
use rrul_model::recording::Recording;

use crate::over_a_link::{Measured, measure_over};

const UDP: u8 = 17;
const TCP: u8 = 6;

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

fn link(up: &str, down: &str) -> Link {
    let text = format!(
        "# A link of the test\nrtt = \"10ms\"\n[up]\nrate = \"100Mbit/s\"\n{up}\n[down]\nrate = \"100Mbit/s\"\n{down}\n"
    );
    Link::from_toml("pages.toml", &text).expect("a link file")
}

/// What identifies a connection in the log.
type Connection = (u8, AddressFamily, u16);

fn connection(record: &Record, direction: Direction) -> Connection {
    (record.protocol, record.family, record.client_port(direction))
}

/// Octets that a packet carries for whoever speaks over it.
fn carried(record: &Record) -> u64 {
    let header = if record.family == AddressFamily::Ipv4 { 20 } else { 40 };
    match record.protocol {
        TCP => u64::from(record.tcp_payload),
        _ => u64::from(record.length).saturating_sub(header + 8),
    }
}

fn rows<T>(recording: &Recording, of: impl Fn(&rrul_model::observation::Tables) -> Vec<T>) -> Vec<T> {
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

/// What every page of this plan that is loaded over TCP, and over QUIC, is told by.
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

fn every_packet_is_marked(measured: &Measured, flow: &FlowSpec) {
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
            // Acknowledgements without data may precede the name by which the server knows whom it serves.
            if within(record, direction) && carried(record) > 0 {
                *seen.entry((record.protocol, record.tos_in & 0xfc)).or_default() += 1;
            }
        }
        eprintln!("{}, {direction}: {seen:?} packets with data by protocol and marking", flow.name);
        let expected = [(protocol_of(flow), flow.class.octet())];
        assert_eq!(seen.keys().copied().collect::<Vec<_>>(), expected, "{}, {direction}", flow.name);
    }
}

/// The log's octets of a flow in one direction, beside what the end that sent them has counted.
fn octets_are_the_links(measured: &Measured, flow: &FlowSpec) {
    let connections = connections(measured, flow);
    for (direction, point) in [(Direction::Up, ObservationPoint::Client), (Direction::Down, ObservationPoint::Server)] {
        let all = totals(&measured.recording, point, flow);
        assert_eq!(all.len(), connections.len(), "{}, {direction}: connections", flow.name);
        let counted: u64 = all.iter().map(|row| row.sent_octets).sum();
        // The port may be that of another connection before or after.
        let ours = |record: &&Record| {
            connections.contains(&connection(record, direction)) && record.tos_in & 0xfc == flow.class.octet()
        };
        let truth: u64 = measured.truth.direction(direction).records().filter(ours).map(carried).sum();
        let difference = counted as f64 / truth as f64 - 1.0;
        eprintln!(
            "{}, {direction}: {counted} octets counted, {truth} on the link, {:+.3} %",
            flow.name,
            difference * 100.0
        );
        // Not counted: farewells of TLS and QUIC that leave after the totals were read.
        assert!(difference.abs() < 0.01, "{}, {direction}: {counted} counted, {truth} on the link", flow.name);
    }
}

/// Every load came whole, object by object, and its time is from the first packet of its connections to the last octet.
fn loads_are_whole(measured: &Measured, flow: &FlowSpec) {
    let page = Page::named(flow.parameters.text("page").unwrap_or("rrul2025")).expect("a page of the program");
    let loads = rows(&measured.recording, |tables| tables.page_load.rows().filter(|row| row.flow == flow.id).collect());
    let objects: Vec<WebObject> =
        rows(&measured.recording, |tables| tables.web_object.rows().filter(|row| row.flow == flow.id).collect());
    assert!(!loads.is_empty(), "{}: no load", flow.name);
    for load in loads.iter().filter(|load| load.outcome != PageLoad::CUT) {
        assert_eq!(load.outcome, PageLoad::COMPLETE, "{}: {load:?}", flow.name);
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
            // A round trip, and what the server takes, before the first octet.
            let least = 10_000_000 + manifest.wait.as_nanos() as i64;
            assert!(row.wait.0 >= least, "{}: waited {} ns of at least {least}: {row:?}", flow.name, row.wait.0);
        }
        let came = objects.iter().filter(of_load).filter(|row| !page.objects[usize::from(row.object)].later).count();
        assert_eq!(came, page.awaited().count(), "{}", flow.name);
        let took = load.started.0 + load.took.0;
        assert!((took - last).abs() < 5_000_000, "{}: the load ended at {took}, its last object at {last}", flow.name);
    }
}

#[test]
fn pages_bear_their_marking_and_are_what_passed_over_the_link() {
    rrul_lab::on_a_lab("pages_bear_their_marking_and_are_what_passed_over_the_link", || {
        let measured = measure_over(&link("", ""), PAGES, Families::Both, "pages");
        let failed = rrul_analysis::analyze(&measured.recording).measured.failed_flows;
        assert!(failed.is_empty(), "{failed:?}");
        assert_eq!(measured.recording.header.flows.len(), 8);
        for flow in &measured.recording.header.flows {
            every_packet_is_marked(&measured, flow);
            octets_are_the_links(&measured, flow);
            loads_are_whole(&measured, flow);
        }
    });
}

/// A path that does not carry UDP packets of more than 1200 octets, as those are with which QUIC begins.
#[test]
fn where_quic_does_not_pass_http2_takes_its_place() {
    rrul_lab::on_a_lab("where_quic_does_not_pass_http2_takes_its_place", || {
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
        let measured = measure_over(&link(blocked, ""), plan, Families::Only(AddressFamily::Ipv4), "no QUIC");
        let loads: Vec<PageLoad> = rows(&measured.recording, |tables| tables.page_load.rows().collect());
        let first = loads.first().expect("a load");
        let page = Page::named("rrul2025").expect("a page of the program");
        let hosts = page.hosts.iter().filter(|host| host.protocol.code() == 30).count();
        assert_eq!((first.outcome, usize::from(first.fallbacks)), (PageLoad::COMPLETE, hosts), "{first:?}");
        let objects: Vec<WebObject> = rows(&measured.recording, |tables| tables.web_object.rows().collect());
        assert!(objects.iter().all(|row| row.protocol != 30), "an object came over a QUIC that does not pass");
    });
}

/// What a load that was cut off has asked for must not come while others are measured.
#[test]
fn nothing_comes_of_a_load_that_was_cut_off() {
    rrul_lab::on_a_lab("nothing_comes_of_a_load_that_was_cut_off", || {
        // The page takes 1.5 s over this link; its flow's window is over 0.7 s after the load begins.
        let text = "# A link of the test\nrtt = \"18ms\"\n[up]\nrate = \"8Mbit/s\"\nqueue = \"fq_codel\"\n[down]\nrate = \"20Mbit/s\"\nqueue = \"fq_codel\"\n";
        let link = Link::from_toml("slow.toml", text).expect("a link file");
        for version in ["http1", "http2", "http3", "page"] {
            // Another flow keeps the thread that loads pages busy until after the end of the first.
            let plan = format!(
                "title = \"cut off\"\noverhead = \"none\"\nphases = {{ survey = \"6s\" }}\n\
             [flow.page]\ntype = \"web_page\"\ncomponent = \"web\"\nclass = \"CS5\"\n\
             interval = \"1s\"\nduration = \"1700ms\"\nversion = \"{version}\"\n\
             [flow.later]\ntype = \"web_page\"\ncomponent = \"web\"\nclass = \"CS1\"\n\
             interval = \"1s\"\nstart = \"4500ms\"\nversion = \"{version}\"\n"
            );
            let measured = measure_over(&link, &plan, Families::Only(AddressFamily::Ipv4), version);
            let flow = &measured.recording.header.flows[0];
            let loads: Vec<PageLoad> =
                rows(&measured.recording, |tables| tables.page_load.rows().filter(|row| row.flow == flow.id).collect());
            assert_eq!(loads.iter().map(|load| load.outcome).collect::<Vec<_>>(), [PageLoad::CUT], "{version}");
            let of_page = |record: &&Record| record.tos_in & 0xfc == flow.class.octet() && record.length > 1000;
            let down =
                || measured.truth.direction(Direction::Down).records().filter(of_page).map(|record| record.arrival);
            let (first, last) = (down().min().expect("a packet"), down().max().expect("a packet"));
            let lasted = last.since(first) as f64 * 1e-9;
            eprintln!("{version}: packets of the page for {lasted:.2} s");
            assert!((0.4..1.0).contains(&lasted), "{version}: packets of a load of 0.7 s for {lasted:.2} s");
        }
    });
}
