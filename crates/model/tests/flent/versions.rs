//! What becomes of what.

use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::observation::FlowEventKind;
use rrul_model::observation::ObservationPoint::{Client, Server};
use rrul_model::phase::Phase;
use rrul_model::recording::{Line, Recording};
use rrul_model::time::TestTime;
use serde_json::json;

use crate::files::{T0, of_2012, read, tables, version_4};

const MS: i64 = 1_000_000;

fn notes(recording: &Recording) -> String {
    recording.header.imported.as_ref().unwrap().notes.join("\n")
}

#[test]
fn flows_have_type_class_direction_and_family() {
    let recording = read(&version_4());
    let names: Vec<_> = recording.header.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(
        names,
        ["bulk_tcp/BE/up/ipv4", "bulk_tcp/EF/down/ipv4", "udp_probe/EF/ipv6", "icmp_echo/BE/ipv4"],
        "computed series and children are no flows"
    );
    assert_eq!(recording.header.families, AddressFamily::ALL);
    assert_eq!(recording.header.flows[0].component, Component::Load);
    assert_eq!(recording.header.flows[0].parameters.text("congestion_control"), Some("bbr"));
    let uses = recording.events().find(|(_, event)| event.event == FlowEventKind::Uses).unwrap().1;
    assert_eq!(uses.detail, "series \"TCP upload BE\"");
}

#[test]
fn the_header_says_who_measured_what_and_when() {
    let header = read(&version_4()).header;
    assert_eq!((header.plan.name.as_str(), header.plan.spec.as_str()), ("flent/rrul", ""));
    assert_eq!(header.created, "2026-11-21T18:51:06.306851Z");
    assert_eq!((header.server_name.as_str(), header.title.as_str()), ("192.0.2.7", "a  title"));
    assert_eq!(header.server_addresses, ["192.0.2.7".parse::<std::net::IpAddr>().unwrap()]);
    assert_eq!((header.client.host.as_str(), header.client.kernel.as_str()), ("client", "Linux 6.1"));
    assert_eq!(header.client.settings["net.ipv4.tcp_ecn"], "2");
    assert_eq!(header.client.settings["interface.eth0.qdisc0"], "fq_codel 0: root limit 10240p");
    let imported = header.imported.unwrap();
    assert_eq!((imported.tool.as_str(), imported.counted_at_sender), ("Flent 2.3.0", vec![Direction::Up]));
}

#[test]
fn phases_begin_with_the_first_stream() {
    let recording = read(&version_4());
    let seconds = |phase| recording.phase(phase).map(|window| (window.from.seconds(), window.to.seconds()));
    assert_eq!(seconds(Phase::Idle), Some((0.0, 1.0)));
    assert_eq!(seconds(Phase::Load), Some((1.0, 3.0)));
    assert_eq!(seconds(Phase::After), Some((3.0, 4.0)));
    assert_eq!(recording.end.as_ref().unwrap().at, TestTime(8000 * MS), "replies were waited for");
}

#[test]
fn bytes_add_up_at_the_receiver_and_end_in_the_recorded_total() {
    let recording = read(&version_4());
    let rows = |point| -> Vec<_> {
        tables(&recording, point).octets_received.rows().map(|row| (row.at.seconds(), row.octets.0)).collect()
    };
    let up = [(1.0, 0), (1.5, 500_000), (2.0, 1_000_000), (2.5, 1_500_000), (3.0, 2_000_000), (3.25, 2_010_000)];
    assert_eq!(rows(Server), up);
    let down = [(1.0, 0), (1.5, 1_000_000), (2.0, 2_000_000), (2.5, 3_000_000), (3.0, 4_000_000)];
    assert_eq!(rows(Client), down);
}

#[test]
fn socket_statistics_become_tcp_info_at_the_sender() {
    let recording = read(&version_4());
    let rows: Vec<_> = tables(&recording, Client).tcp_info.rows().collect();
    assert_eq!(rows.len(), 1);
    assert_eq!((rows[0].at.0 / 1000, rows[0].snd_cwnd), (1_200_000, 23));
    assert_eq!((rows[0].rtt, rows[0].pacing_rate), (12_500, 1_000_000));
}

#[test]
fn packets_of_irtt_have_both_directions_and_their_losses_one() {
    let recording = read(&version_4());
    let tables = tables(&recording, Client);
    let flow = recording.header.flows[2].id;
    let sent: Vec<_> = tables.probe_sent.rows().filter(|row| row.flow == flow).map(|row| row.sent.0 / MS).collect();
    assert_eq!(sent, [0, 200, 400, 600]);
    // The server's clock is placed by the fastest packet, 20 ms round trip: 10 ms there. The other took 10 ms more.
    let replies: Vec<_> = tables
        .probe_received
        .rows()
        .map(|row| (row.sequence, row.received.0 / MS, (row.reflector_received.0 + 500_000) / MS, row.reflector_count))
        .collect();
    assert_eq!(replies, [(0, 20, 10, 1), (3, 630, 620, 3)]);
    let windows: Vec<_> = tables.reflector_window.rows().map(|row| (row.highest, row.window)).collect();
    assert_eq!(windows, [(3, 0b1011)], "packet 2 had arrived, packet 1 had not");
}

#[test]
fn a_ping_without_a_trace_is_lost() {
    let recording = read(&version_4());
    let tables = tables(&recording, Client);
    let flow = recording.header.flows[3].id;
    let sent: Vec<_> = tables.probe_sent.rows().filter(|row| row.flow == flow).map(|row| row.sequence).collect();
    let answered: Vec<_> = tables.echo_received.rows().filter(|row| row.flow == flow).map(|row| row.sequence).collect();
    assert_eq!((sent, answered), (vec![0, 1, 2, 3], vec![0, 1, 3]));
}

#[test]
fn of_2012_only_values_on_the_grid_exist() {
    let recording = read(&of_2012());
    let names: Vec<_> = recording.header.flows.iter().map(|flow| flow.name.as_str()).collect();
    assert_eq!(names, ["bulk_tcp/BE/up/ipv4", "exchange_mean/EF/ipv4", "icmp_echo/BE/ipv4"]);
    let client = tables(&recording, Client);
    let icmp = recording.header.flows[2].id;
    let at: Vec<_> = client.probe_sent.rows().filter(|row| row.flow == icmp).map(|row| row.sent.0 / MS).collect();
    assert_eq!(at, [0, 200, 600, 800, 1000, 1200], "null is no packet, and none is lost");
    assert_eq!(client.probe_sent.len(), client.echo_received.len());
    // 8 Mbit/s from 0.2 s before the first value to the last: 0.8 s.
    let octets: Vec<_> =
        tables(&recording, Server).octets_received.rows().map(|row| (row.at.0 / MS, row.octets.0)).collect();
    assert_eq!(octets, [(200, 0), (400, 200_000), (600, 400_000), (1000, 800_000)]);
    assert_eq!(recording.header.created, "2012-11-27T11:36:02.463298Z");
    assert!(notes(&recording).contains("time zone was not recorded"), "{}", notes(&recording));
    assert!(notes(&recording).contains("loss is unknown"), "{}", notes(&recording));
    assert!(notes(&recording).contains("means of netperf UDP exchanges"), "{}", notes(&recording));
}

#[test]
fn before_version_4_raw_exchanges_are_transactions_in_a_second() {
    let file = |version| {
        json!({
            "version": version, "x_values": [0.0], "results": {"Ping (ms) UDP BE1": [10.0]},
            "raw_values": {"Ping (ms) UDP BE1": [
                {"t": T0 + 0.2, "dur": 0.2, "val": 100.0},
                {"t": T0 + 0.4, "dur": 0.2, "val": 50.0},
                {"t": T0 + 142.0, "dur": 141.6, "val": 0.01},
            ]},
            "metadata": {"NAME": "ping", "TOTAL_LENGTH": 150, "LENGTH": 150},
        })
    };
    let delays = |version| -> Vec<i64> {
        let recording = read(&file(version));
        let tables = tables(&recording, Client);
        tables
            .echo_received
            .rows()
            .zip(tables.probe_sent.rows())
            .map(|(r, s)| (r.received.0 - s.sent.0 + 1000) / MS)
            .collect()
    };
    assert_eq!(delays(3), [10, 20], "the exchange that waited 142 s for a lost packet is no sample of delay");
    assert_eq!(delays(4), [100, 50, 0]);
    assert!(notes(&read(&file(2))).contains("1 readings of such exchanges"), "{}", notes(&read(&file(2))));
    let phases = read(&file(3)).header.phases;
    assert_eq!(phases.len(), 1);
    assert_eq!(phases[0].phase, Phase::Idle);
}

#[test]
fn voice_of_version_2_is_a_stream_one_way_and_its_zone_is_found() {
    let packet = |n: u32, delay: f64| json!({"seq": n, "size": 92, "t": T0 + f64::from(n) * 0.01, "val": delay});
    let file = json!({
        "version": 2, "x_values": [0.0], "results": {"VoIP::delay": [25.0]},
        "raw_values": {"VoIP": [packet(1, 25.0), packet(2, 25.5), packet(4, 30.0)]},
        "metadata": {"NAME": "voip", "LENGTH": 10, "TOTAL_LENGTH": 10,
            // Two hours ahead of UTC.
            "TIME": "2026-11-21T20:51:06.306851", "T0": "2026-11-21T20:51:06"},
    });
    let recording = read(&file);
    assert_eq!(recording.header.created, "2026-11-21T18:51:06.306851Z");
    assert_eq!(recording.header.flows[0].name, "voip/BE/up/ipv4");
    assert_eq!(tables(&recording, Client).probe_sent.len(), 4, "one left no trace");
    let arrived: Vec<_> = tables(&recording, Server).packet_received.rows().map(|row| row.sequence).collect();
    assert_eq!(arrived, [1, 2, 4]);
}

#[test]
fn an_imported_recording_is_a_recording() {
    let recording = read(&version_4());
    let mut lines = vec![Line::Header(Box::new(recording.header.clone()))];
    lines.extend(recording.frames.iter().map(|frame| Line::Frame(Box::new(frame.clone()))));
    lines.push(Line::End(recording.end.clone().unwrap()));
    let text: Vec<String> = lines.iter().map(|line| serde_json::to_string(line).unwrap()).collect();
    assert_eq!(Recording::from_lines(&(text.join("\n") + "\n")).unwrap(), recording);
}
