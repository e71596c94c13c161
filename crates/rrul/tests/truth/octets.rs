//! Every octet on the link: rrul's account held against the link's log, by direction and family, IP layer.
//!
//! Tolerance: 1 %. What a link carries mostly is known much better; in a direction that carries little but
//! acknowledgements, those with selective acknowledgements are estimated.

use std::ops::Range;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::octet_account::Account;
use rrul_engine::client::Families;
use rrul_lab::{LabTime, Link, Record};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::phase::Phase;

use crate::link_log::window_of;
use crate::over_a_link::{Measured, measure_over};

const TOLERANCE: f64 = 0.01;

const UDP: u8 = 17;

/// Everything that a test can send, with this load.
fn plan(directions: &str) -> String {
    format!(
        r#"
title = "everything, counted"
phases = {{ idle = "2s", load = "10s", after = "3s" }}
[flow.bulk]
type = "bulk_tcp"
component = "load"
during = ["load"]
each.direction = {directions}
each.class = ["BE", "EF"]
[flow.probe]
type = "udp_probe"
component = "realtime"
each.class = ["EF", "BE"]
[flow.udp_rr]
type = "udp_rr"
component = "realtime"
[flow.tcp_rr]
type = "tcp_rr"
component = "realtime"
[flow.records]
type = "tcp_records"
component = "realtime"
each.direction = ["down", "up"]
[flow.connect]
type = "tcp_connect"
component = "realtime"
[flow.icmp]
type = "icmp_echo"
component = "realtime"
[flow.voice]
type = "voip"
component = "voip"
each.direction = ["down", "up"]
"#
    )
}

const BOTH_WAYS: &str = r#"["down", "up"]"#;
const DOWN: &str = r#"["down"]"#;

/// What the link's log has of one direction and family within a window.
fn carried<'a>(
    measured: &'a Measured,
    direction: Direction,
    family: AddressFamily,
    window: &'a Range<LabTime>,
) -> impl Iterator<Item = &'a Record> {
    let records = measured.truth.direction(direction).records();
    records.filter(move |record| record.family == family && record.delivery().is_some_and(|at| window.contains(&at)))
}

fn octets<'a>(records: impl Iterator<Item = &'a Record>) -> u64 {
    records.map(|record| u64::from(record.length)).sum()
}

fn account(analysis: &Analysis, phase: Phase, direction: Direction, family: AddressFamily) -> &Account {
    let of_direction = analysis.link_octets.of(phase).expect("the phase").of(direction);
    let found = match family {
        AddressFamily::Ipv4 => &of_direction.ipv4,
        AddressFamily::Ipv6 => &of_direction.ipv6,
    };
    found.as_ref().expect("both families are under test")
}

/// Measures over this link with this load, and compares every account of the load phase; what was measured, unless there
/// can be no lab here.
fn every_octet_is_accounted_for(name: &str, [down, up]: [&str; 2], load: &str) -> Option<(Measured, Analysis)> {
    if !rrul_lab::lab_available_for(name) {
        return None;
    }
    let text = format!("# A link of the test\nrtt = \"20ms\"\n[up]\n{up}\n[down]\n{down}\n");
    let link = Link::from_toml("octets.toml", &text).expect("a link file");
    let measured = measure_over(&link, &plan(load), Families::Both, name);
    let analysis = rrul_analysis::analyze(&measured.recording);
    assert!(analysis.link_octets.uncounted_flows.is_empty(), "{:?}", analysis.link_octets.uncounted_flows);
    let window = window_of(&measured.recording, Phase::Load);
    let mut wrong = Vec::new();
    for direction in Direction::ALL {
        for family in AddressFamily::ALL {
            let truth = octets(carried(&measured, direction, family, &window));
            let udp = octets(carried(&measured, direction, family, &window).filter(|record| record.protocol == UDP));
            let account = account(&analysis, Phase::Load, direction, family);
            let error = account.carried_octets as f64 / truth as f64 - 1.0;
            let line = format!(
                "{name}: {direction} {family}: account {}, log {truth}, {:+.3} %",
                account.carried_octets,
                error * 100.0
            );
            let tcp = |with_data: bool| {
                let ours = |record: &&Record| record.protocol == 6 && (record.tcp_payload > 0) == with_data;
                octets(carried(&measured, direction, family, &window).filter(ours))
            };
            let (data, bare) = (tcp(true), tcp(false));
            eprintln!(
                "{line}; {:?}; the log has {udp} over UDP, {data} of segments and {bare} of acknowledgements",
                account.parts_octets
            );
            if error.abs() > TOLERANCE {
                wrong.push(line);
            }
        }
    }
    assert!(wrong.is_empty(), "{wrong:#?}");
    Some((measured, analysis))
}

const FQ_CODEL: [&str; 2] = ["rate = \"20Mbit/s\"\nqueue = \"fq_codel\"", "rate = \"8Mbit/s\"\nqueue = \"fq_codel\""];

#[test]
fn every_octet_without_loss_by_chance() {
    let found = every_octet_is_accounted_for("every_octet_without_loss_by_chance", FQ_CODEL, BOTH_WAYS);
    let Some((_, analysis)) = found else { return };
    for direction in Direction::ALL {
        for family in AddressFamily::ALL {
            let thinning = account(&analysis, Phase::Load, direction, family).acknowledgements.and_then(|a| a.thinning);
            let thinning = thinning.expect("acknowledgements are counted");
            // FQ-CoDel drops from the stream that fills the queue, hardly an acknowledgement.
            assert!(thinning < 0.02, "{direction} {family}: {thinning} of the acknowledgements are missing");
        }
    }
}

#[test]
fn every_octet_with_one_percent_of_the_data_lost() {
    let lossy = "rate = \"20Mbit/s\"\nloss = \"1%\"\nonly = { tcp = \"data\" }";
    every_octet_is_accounted_for("every_octet_with_one_percent_of_the_data_lost", [lossy, lossy], BOTH_WAYS);
}

#[test]
fn every_octet_of_a_download_with_one_percent_of_the_data_lost() {
    let link = ["rate = \"20Mbit/s\"\nloss = \"1%\"\nonly = { tcp = \"data\" }", "rate = \"8Mbit/s\""];
    every_octet_is_accounted_for("every_octet_of_a_download_with_one_percent_of_the_data_lost", link, DOWN);
}

#[test]
fn every_octet_with_thirty_percent_of_the_acknowledgements_lost() {
    let name = "every_octet_with_thirty_percent_of_the_acknowledgements_lost";
    let link = [
        "rate = \"20Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"200p\" }",
        "rate = \"8Mbit/s\"\nloss = \"30%\"\nonly = { tcp = \"ack\" }",
    ];
    let Some((measured, analysis)) = every_octet_is_accounted_for(name, link, DOWN) else { return };
    for family in AddressFamily::ALL {
        let account = account(&analysis, Phase::Load, Direction::Down, family);
        let thinning = account.acknowledgements.and_then(|found| found.thinning).expect("acknowledgements are counted");
        // Some 1500 to 3000 of them: three standard deviations are 3.5 %.
        assert!((thinning - 0.3).abs() < 0.035, "{family}: {thinning} of the acknowledgements are missing");
    }
    // Idle there are no losses to speak of, and every packet is known.
    let window = window_of(&measured.recording, Phase::Idle);
    for family in AddressFamily::ALL {
        let truth = octets(carried(&measured, Direction::Down, family, &window)) as f64;
        let found = account(&analysis, Phase::Idle, Direction::Down, family).carried_octets as f64;
        assert!((found / truth - 1.0).abs() < 0.05, "idle, {family}: {found}, log {truth}");
    }
}

#[test]
fn every_octet_of_an_asymmetric_line() {
    let link = [
        "rate = \"20Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"300p\" }",
        "rate = \"1Mbit/s\"\nqueue = { discipline = \"pfifo\", limit = \"50p\" }",
    ];
    every_octet_is_accounted_for("every_octet_of_an_asymmetric_line", link, BOTH_WAYS);
}

#[test]
fn every_octet_of_an_asymmetric_line_with_fq_codel() {
    let link = [FQ_CODEL[0], "rate = \"1Mbit/s\"\nqueue = \"fq_codel\""];
    every_octet_is_accounted_for("every_octet_of_an_asymmetric_line_with_fq_codel", link, BOTH_WAYS);
}
