//! A run in the forms of other programs: they contain what was measured.

use crate::synthetic::{
    CLASSES, MILLISECOND, Made, SECOND, delay_flow, direction_goodput, goodput_flow, label, nothing, phases, rate_point,
};
use rrul_analysis::Analysis;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_view::exports::flent_export::{FlentFile, flent_file};
use rrul_view::exports::tidy_export::{Kind, Table, Value, csv, export, json};
use serde_json::Value as Json;

fn names(file: &FlentFile) -> Vec<&str> {
    file.results.keys().map(String::as_str).filter(|name| !name.contains("::tcp_")).collect()
}

/// Streams of these classes, 100 ms a point, each of 8 Mbit/s from 5 s to 65 s.
fn streams(
    direction: Direction,
    classes: &[ServiceClass],
    first: u16,
) -> rrul_analysis::metrics::rate::goodput::DirectionGoodput {
    let series: Vec<_> = (50..650).map(|step| rate_point(step * SECOND / 10, 8_000_000)).collect();
    let flows = classes.iter().zip(first..).map(|(class, id)| {
        let flow = label(id, "bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, *class);
        goodput_flow(flow, series.clone())
    });
    direction_goodput(flows.collect())
}

/// A run over one family whose probes of this class are answered after 20 ms, but for one a second.
fn run(up: &[ServiceClass], down: &[ServiceClass], probes: &[ServiceClass]) -> Analysis {
    let phases = phases(5, 60, 5);
    let packets: Vec<_> = (0..700)
        .map(|step| DelayPoint {
            at: TestTime(step * 100 * MILLISECOND + 50 * MILLISECOND),
            delay: (step % 10 != 3).then_some(Delay(20 * MILLISECOND)),
        })
        .collect();
    let flows = probes.iter().zip(20..).map(|(class, id)| {
        let flow = label(id, "udp_probe", Component::Realtime, None, AddressFamily::Ipv4, *class);
        delay_flow(flow, packets.clone(), &phases)
    });
    let delay_flows: Vec<_> = flows.collect();
    let mut run = nothing();
    (run.goodput.up, run.goodput.down) = (streams(Direction::Up, up, 0), streams(Direction::Down, down, 10));
    run.round_trip_delay.flows = delay_flows;
    run.test.phases = phases;
    run.test.families = vec![AddressFamily::Ipv4];
    run.test.created = "2026-01-02T03:04:05Z".into();
    run
}

const BE: ServiceClass = ServiceClass::BE;

#[test]
fn four_classes_each_way_are_flents_rrul() {
    let file = flent_file(&run(&CLASSES, &CLASSES, &[ServiceClass::EF, ServiceClass::BK, BE]));
    assert_eq!(file.metadata.name, "rrul");
    let expected = [
        "Ping (ms) UDP BE",
        "Ping (ms) UDP BK",
        "Ping (ms) UDP EF",
        "Ping (ms) avg",
        "TCP download BE",
        "TCP download BK",
        "TCP download CS5",
        "TCP download EF",
        "TCP download avg",
        "TCP download sum",
        "TCP totals",
        "TCP upload BE",
        "TCP upload BK",
        "TCP upload CS5",
        "TCP upload EF",
        "TCP upload avg",
        "TCP upload sum",
    ];
    assert_eq!(names(&file), expected);
    assert_eq!((file.metadata.length, file.metadata.total_length, file.metadata.ip_version), (60, 70, 4));
    assert_eq!(file.metadata.t0, "2026-01-02T03:04:05.000000Z");
}

#[test]
fn other_runs_are_the_test_that_they_are_most_like() {
    let of = |up: &[ServiceClass], down: &[ServiceClass]| flent_file(&run(up, down, &[BE]));
    let file = of(&[BE; 4], &[BE; 4]);
    assert_eq!(file.metadata.name, "rrul_be");
    assert!(file.results.contains_key("TCP upload BE4") && file.results.contains_key("Ping (ms) UDP BE1"));
    let file = of(&[BE; 3], &[]);
    assert_eq!(
        (file.metadata.name.as_str(), file.metadata.test_parameters["upload_streams"].as_str()),
        ("tcp_nup", "3")
    );
    assert!(file.results.contains_key("TCP upload::3") && file.results.contains_key("TCP upload sum"));
    assert!(file.metadata.note.contains("no place for: "), "{}", file.metadata.note);
    assert_eq!(of(&[], &[BE]).metadata.name, "tcp_ndown");
    let file = of(&[], &[]);
    assert_eq!((file.metadata.name.as_str(), names(&file)), ("ping", vec!["Ping (ms) UDP"]));
    let file = of(&[BE, ServiceClass::EF], &[BE]);
    assert_eq!(file.metadata.name, "rrul_var");
    assert_eq!(file.metadata.test_parameters["labels"], "BE,EF");
    assert_eq!(file.metadata.test_parameters["markings"], "0x00,0xb8");
    assert!(file.results.contains_key("Ping (ms)::UDP BE") && file.results.contains_key("TCP upload::EF"));
}

#[test]
fn every_list_is_as_long_as_the_grid_and_nothing_is_made_up() {
    let file = flent_file(&run(&CLASSES, &CLASSES, &[BE]));
    assert_eq!(file.x_values.len(), 351);
    assert!(file.results.values().all(|values| values.len() == file.x_values.len()));
    let down = &file.results["TCP download BE"];
    let known: Vec<f64> = down.iter().zip(&file.x_values).filter_map(|(value, x)| value.map(|_| *x)).collect();
    assert_eq!((known[0], known[known.len() - 1], known.len()), (5.2, 65.0, 300));
    assert!(down.iter().flatten().all(|rate| (rate - 8.0).abs() < 1e-9));
    assert!(file.results["TCP download sum"].iter().flatten().all(|rate| (rate - 32.0).abs() < 1e-9));
    assert!(file.results["TCP totals"].iter().flatten().all(|rate| (rate - 64.0).abs() < 1e-9));
    assert_eq!(file.raw_values["TCP download sum"], []);
    let text = serde_json::to_string(&file).unwrap();
    let back: Json = serde_json::from_str(&text).unwrap();
    let keys: Vec<&String> = back.as_object().unwrap().keys().collect();
    assert_eq!(keys, ["metadata", "raw_values", "results", "version", "x_values"]);
}

#[test]
fn means_bytes_and_losses_are_in_the_metadata() {
    let run = run(&CLASSES, &CLASSES, &[BE]);
    let file = flent_file(&run);
    let meta = &file.metadata.series_meta["TCP upload EF"];
    assert_eq!(meta.bytes_recvd, Some(run.goodput.up.flows[3].octets.0));
    assert_eq!((meta.data_tos, meta.units), (Some(0xb8), "Mbits/s"));
    let meta = &file.metadata.series_meta["Ping (ms) UDP BE"];
    assert_eq!((meta.packets_sent, meta.packets_received), (Some(700), Some(630)));
    assert!((meta.mean_value.unwrap() - 20.0).abs() < 1e-9 && (meta.packet_loss_rate.unwrap() - 0.1).abs() < 1e-9);
    let lost: Vec<_> = file.raw_values["Ping (ms) UDP BE"].iter().filter(|value| value.lost.is_some()).collect();
    assert_eq!((lost.len(), lost[0].seq, lost[0].val), (70, Some(3), None));
}

#[test]
fn an_export_reads_back_as_what_it_was() {
    let run = run(&CLASSES, &CLASSES, &[ServiceClass::EF, ServiceClass::BK, BE]);
    let text = serde_json::to_vec(&flent_file(&run)).unwrap();
    let recording = rrul_model::flent::read(&text).unwrap();
    let back = rrul_analysis::analyze(&recording);
    assert_eq!(
        (back.goodput.up.flows.len(), back.goodput.down.flows.len(), back.round_trip_delay.flows.len()),
        (4, 4, 3)
    );
    for direction in Direction::ALL {
        let (ours, theirs) = (run.goodput(direction), back.goodput(direction));
        for (ours, theirs) in ours.flows.iter().zip(&theirs.flows) {
            assert_eq!(ours.flow.class, theirs.flow.class);
            // 8 Mbit/s over 60 s.
            assert!((theirs.octets.0 as f64 / 60e6 - 1.0).abs() < 1e-3, "{theirs:?}");
        }
    }
    for flow in &back.round_trip_delay.flows {
        assert_eq!((flow.loss.sent, flow.loss.lost), (700, 70), "{}", flow.flow.name);
        assert!(
            flow.series.iter().filter_map(|point| point.delay).all(|delay| (delay.0 - 20 * MILLISECOND).abs() < 1000)
        );
    }
}

#[test]
fn a_made_up_run_of_both_families_keeps_every_stream() {
    let made = Made { families: AddressFamily::ALL.to_vec(), ..Made::pfifo() };
    let run = made.analysis();
    let file = flent_file(&run);
    assert_eq!(file.metadata.name, "rrul_var");
    assert_eq!(file.metadata.test_parameters["bidir_streams"], "8");
    assert!(file.results.contains_key("TCP download::EF v6"), "{:?}", names(&file));
    let sum: u64 = file.metadata.series_meta.values().filter_map(|meta| meta.bytes_recvd).sum();
    assert_eq!(sum, run.goodput.up.octets.0 + run.goodput.down.octets.0);
}

fn column<'t>(table: &'t Table, name: &str) -> impl Iterator<Item = &'t Value> {
    let place = table.columns.iter().position(|column| *column == name).unwrap();
    table.rows.iter().map(move |row| &row[place])
}

#[test]
fn tables_hold_every_packet_and_every_interval() {
    let run = run(&CLASSES, &CLASSES, &[BE]);
    let export = export(&run);
    assert!(export.series.rows.iter().all(|row| row.len() == export.series.columns.len()));
    assert!(export.samples.rows.iter().all(|row| row.len() == export.samples.columns.len()));
    assert_eq!(export.samples.rows.len(), 700);
    assert_eq!(column(&export.samples, "lost").filter(|value| **value == Value::Count(1)).count(), 70);
    let delays = column(&export.samples, "round_trip_delay_ms");
    assert_eq!(delays.filter(|value| **value == Value::Nothing).count(), 70, "a lost packet has no delay");
    let of =
        |name: &str| column(&export.series, "quantity").filter(|value| **value == Value::Text(name.to_owned())).count();
    // Eight streams and two sums of 600 points; 350 intervals of 200 ms.
    assert_eq!((of("goodput_mbps"), of("packets_sent"), of("round_trip_delay_max_ms")), (6000, 350, 350));
}

#[test]
fn csv_and_json_say_the_same() {
    let export = export(&run(&[BE], &[BE], &[BE]));
    let text = csv(&export.samples);
    let lines: Vec<&str> = text.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 701);
    assert_eq!(lines[0], export.samples.columns.join(","));
    assert!(lines[1].starts_with("0.050000,") && lines[1].contains(",20.000000,"), "{}", lines[1]);
    assert!(lines[4].ends_with(",,,,,1,"), "{}", lines[4]);
    let back: Json = serde_json::from_str(&json(&export).unwrap()).unwrap();
    assert_eq!(back["samples"].as_array().unwrap().len(), 700);
    assert_eq!(back["samples"][0]["round_trip_delay_ms"], 20.0);
    assert_eq!(back["samples"][3]["round_trip_delay_ms"], Json::Null);
    assert_eq!(back["series"].as_array().unwrap().len(), export.series.rows.len());
    assert_eq!(back["created"], "2026-01-02T03:04:05Z");
    let table = Table { columns: &["a", "b"], rows: vec![vec![Value::Text("x,\"y\"".into()), Value::Nothing]] };
    assert_eq!(csv(&table), "a,b\r\n\"x,\"\"y\"\"\",\r\n");
}

#[test]
fn every_value_is_of_its_columns_kind() {
    let made = export(&Made::fq_codel().analysis());
    for table in [&made.series, &made.samples] {
        assert!(table.rows.len() > 100);
        for row in &table.rows {
            for (column, value) in table.columns.iter().zip(row) {
                assert!(Kind::of(column).holds(value), "{column}: {value:?}");
            }
        }
    }
}
