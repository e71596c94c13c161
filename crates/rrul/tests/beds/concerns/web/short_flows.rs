//! Short flows, held against TCP's slow start and against the link's log.

use std::collections::BTreeMap;

use rrul_analysis::metrics::web::short_flows::TransferKind;
use rrul_lab::{ConnectionKey, Lab, Record};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::observation::{ObservationPoint, Transfer};
use rrul_model::phase::Phase;

use crate::rows::Rows;
use crate::setting::{Measured, Setting};
use crate::{Bed, Runs};

/// The class of short flows, which nothing else has.
const AF31: u8 = 26 << 2;

const ROUND_TRIP: f64 = 40.0;

/// Segments that Linux sends at once in the beginning (RFC 6928).
const INITIAL_WINDOW: u64 = 10;

/// Bytes that the client sends first, and that the server does.
const HEADS: [u64; 2] = [32, 8];

/// Short flows in a class of their own beside probes; so few that they hardly meet.
fn plan(idle: &str, sizes: &str, interval: &str) -> String {
    format!(
        "title = \"short flows\"\noverhead = \"none\"\nphases = {{ idle = \"{idle}\", after = \"2s\" }}\n\
         [flow.short]\ntype = \"short_flow\"\ncomponent = \"realtime\"\nduring = [\"idle\"]\nclass = \"AF31\"\n\
         each.direction = [\"down\", \"up\"]\neach.size = [{sizes}]\ninterval = \"{interval}\"\n\
         [flow.probe]\ntype = \"udp_probe\"\ncomponent = \"realtime\"\ninterval = \"100ms\"\n"
    )
}

/// So few ports that most are used again, as some are in every long run.
fn few_ports(lab: &Lab) {
    let narrow = || std::fs::write("/proc/sys/net/ipv4/ip_local_port_range", "40000 40063");
    lab.client().run(narrow).unwrap().unwrap();
}

fn measure(down: u64, up: u64, plan: String) -> Measured {
    let link = format!("rtt = \"{ROUND_TRIP}ms\"\n[up]\nrate = \"{up}Mbit/s\"\n[down]\nrate = \"{down}Mbit/s\"\n");
    Setting::new(link, plan).both_families().beside(few_ports).measure()
}

/// When slow start is through with so many bytes, milliseconds from the SYN: a round trip for the handshake, and one for
/// every flight, each twice as large as the one before. A flight that takes longer to be transmitted than a round trip
/// takes that long; behind the last one comes its own transmission.
fn slow_start(size: u64, megabits: u64, family: AddressFamily, direction: Direction) -> f64 {
    let (payload, head) = match (family, direction) {
        (AddressFamily::Ipv4, Direction::Up) => (1448, HEADS[0]),
        (AddressFamily::Ipv4, Direction::Down) => (1448, HEADS[1]),
        (AddressFamily::Ipv6, Direction::Up) => (1428, HEADS[0]),
        (AddressFamily::Ipv6, Direction::Down) => (1428, HEADS[1]),
    };
    let transmission = |segments: f64| segments * 1500.0 * 8.0 / (megabits as f64 * 1000.0);
    let mut left = (size + head) as f64 / f64::from(payload);
    let mut flight = INITIAL_WINDOW as f64;
    let mut time = ROUND_TRIP;
    while left > flight {
        time += transmission(flight).max(ROUND_TRIP);
        left -= flight;
        flight *= 2.0;
    }
    time + ROUND_TRIP + transmission(left)
}

/// How long each transfer of a kind took, ascending, milliseconds: all, and those that met no other of their direction,
/// which it would have had to share the line with.
fn durations(measured: &Measured, kind: TransferKind) -> [Vec<f64>; 2] {
    let flows = &measured.recording.header.flows;
    let of = |row: &Transfer| flows.iter().find(|flow| flow.id == row.flow).expect("a flow of the plan");
    let client = measured.recording.tables_of(ObservationPoint::Client);
    let rows = client.flat_map(|tables| tables.transfer.rows());
    let rows: Vec<Transfer> = rows.filter(|row| of(row).direction == Some(kind.direction)).collect();
    let ended = |row: &Transfer| row.started.0 + row.took.0;
    let met = |one: &Transfer, other: &Transfer| {
        (one.flow, one.sequence) != (other.flow, other.sequence)
            && one.started.0 <= ended(other)
            && other.started.0 <= ended(one)
    };
    let ours = |row: &&Transfer| row.octets == kind.size && of(row).family == kind.family;
    let sorted = |rows: Vec<&Transfer>| {
        let mut took: Vec<f64> = rows.iter().map(|row| row.took.milliseconds()).collect();
        took.sort_by(f64::total_cmp);
        took
    };
    let all: Vec<&Transfer> = rows.iter().filter(ours).collect();
    let alone = all.iter().copied().filter(|one| !rows.iter().any(|other| met(one, other))).collect();
    [sorted(all), sorted(alone)]
}

/// `share_the_line`: on a line so slow that transfers which meet hold each other up, only those that met none are judged.
fn completion_is_that_of_slow_start(rows: &mut Rows, measured: &Measured, rates: [u64; 2], share_the_line: bool) {
    let mut judged_kinds = 0;
    let groups = &measured.analysis.short_flows.groups;
    for group in groups {
        let kind = group.kind;
        let name = format!("{} B {}, {}", kind.size.0, kind.direction, kind.family);
        let rate = rates[usize::from(kind.direction == Direction::Up)];
        let truth = slow_start(kind.size.0, rate, kind.family, kind.direction);
        let found = group.transfers.unloaded.unwrap();
        let told = found.completion.p50.unwrap().milliseconds();
        let [all, alone] = durations(measured, kind);
        assert!(all[(all.len() - 1) / 2] <= told && told <= all[all.len() / 2], "{told} ms is no median of {all:?}");
        rows.equal("R21", format!("{name}: lost"), found.completion.lost, 0);
        let bps = found.rate_p50_bps.map(|bps| bps.0 as f64);
        let expected = kind.size.0 as f64 * 8e3 / told;
        rows.near("R21", format!("{name}: rate P50, bit/s"), bps, expected, expected * 0.01);
        let judged = if share_the_line { alone } else { all };
        let Some(p50) = judged.len().checked_sub(1).map(|last| judged[last / 2]) else { continue };
        judged_kinds += 1;
        rows.near("R21", format!("{name}: completion time P50, ms"), Some(p50), truth, truth * 0.1);
    }
    let (judged, kinds) = (f64::from(judged_kinds), groups.len() as f64);
    rows.between("R21", "kinds with a transfer that met no other", Some(judged), "most", kinds * 0.75..=kinds);
}

/// The packets of every short flow's connection, in their order: of those that the client opened with the class.
fn connections(measured: &Measured, direction: Direction) -> BTreeMap<ConnectionKey, Vec<&Record>> {
    let up = measured.truth.connections(Direction::Up);
    let ours = |key: &ConnectionKey| up.get(key).is_some_and(|records| records[0].tos_in == AF31);
    let mut connections = measured.truth.connections(direction);
    connections.retain(|key, _| ours(key));
    connections
}

/// Every connection is in the log once, and every segment of it bears the class, but for what the server's kernel answers
/// before its program has read whose connection it is: the SYN-ACK and the first acknowledgments.
fn every_connection_is_counted_and_marked(rows: &mut Rows, measured: &Measured) {
    let client = measured.recording.tables_of(ObservationPoint::Client);
    let transfers = client.map(|tables| tables.transfer.rows().count()).sum::<usize>();
    assert!(transfers > 40, "{transfers} transfers");
    for direction in Direction::ALL {
        let connections = connections(measured, direction);
        rows.equal("R21", format!("transfers, and connections {direction}"), transfers, connections.len());
        assert!(connections.keys().any(|key| key.owner > 0), "{direction}: ports were used again");
        let marked = |records: &Vec<&Record>| {
            let early = records.iter().take_while(|record| record.tos_in != AF31).count();
            let (early, marked) = records.split_at(early);
            let all_marked = !marked.is_empty() && marked.iter().all(|record| record.tos_in == AF31);
            let empty = early.iter().all(|record| record.tcp_payload == 0);
            all_marked && (early.is_empty() || (direction == Direction::Down && empty))
        };
        let wrong = connections.values().filter(|records| !marked(records)).count();
        rows.equal("R21", format!("connections without their marking {direction}"), wrong, 0);
    }
}

/// The account of short flows alone, against the log.
fn octets_are_the_logs(rows: &mut Rows, measured: &Measured) {
    let window = measured.window(Phase::Idle).start..measured.window(Phase::After).end;
    for direction in Direction::ALL {
        let connections = connections(measured, direction);
        let own = connections.values().flatten();
        let own = own.filter(|record| record.delivery().is_some_and(|at| window.contains(&at)));
        let truth: f64 = own.map(|record| f64::from(record.length)).sum();
        let octets = &measured.analysis.link_octets;
        let phases = [&octets.idle, &octets.after].map(|phase| phase.as_ref().unwrap());
        let found =
            phases.map(|phase| phase.direction(direction).all.parts_octets.short_flows as f64).iter().sum::<f64>();
        rows.near("R21", format!("bytes of short flows {direction}"), Some(found), truth, truth * 0.01);
    }
}

pub(crate) const FAST: Bed = Bed {
    name: "short_flows",
    about: "200/200 Mbit/s, 40 ms: short flows take what slow start takes, and are counted byte by byte.",
    runs: Runs::SideBySide,
    run: |rows| {
        // Of a length at whose end no transfer is under way: the kernel resets what is cut off without its marking. Of sizes
        // that do not end with a flight: there one acknowledgment that is delayed decides about a round trip.
        let measured = measure(200, 200, plan("14s", "\"10kB\", \"80kB\", \"1MB\"", "1s"));
        completion_is_that_of_slow_start(rows, &measured, [200, 200], false);
        every_connection_is_counted_and_marked(rows, &measured);
        octets_are_the_logs(rows, &measured);
    },
};

pub(crate) const SLOW: Bed = Bed {
    name: "short_flows_slow",
    about: "20/8 Mbit/s, 40 ms: short flows that the line delays take as long as that takes.",
    runs: Runs::SideBySide,
    run: |rows| {
        let measured = measure(20, 8, plan("28s", "\"10kB\", \"100kB\"", "3s"));
        completion_is_that_of_slow_start(rows, &measured, [20, 8], true);
        octets_are_the_logs(rows, &measured);
    },
};
