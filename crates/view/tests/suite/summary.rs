//! The summaries, kept as files that people read: a change of them is a change to review.

use crate::pages;
use std::path::Path;

use crate::synthetic::{Made, label, nothing};
use rrul_analysis::Analysis;
use rrul_analysis::comparison::Comparison;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::comparison::workload::Workload;
use rrul_analysis::metrics::delay::one_way_delay::{Changed, ClockSegment, SegmentChange};
use rrul_analysis::metrics::host::failed_flows::FailedFlow;
use rrul_analysis::metrics::loss::packet_count::Skipped;
use rrul_analysis::series::DelayPoint;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_analysis::validity::{Reason, Severity, Validity};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::recording::AbsentFamily;
use rrul_model::units::Delay;
use rrul_view::{Style, text_comparison, text_summary};

/// Compares with `tests/golden/NAME`; `RRUL_GOLDEN=write` writes it instead.
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the folder of golden files can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    assert_eq!(text, golden, "{name} differs; if the new text is right, run this test with RRUL_GOLDEN=write");
}

fn troubled() -> Analysis {
    let mut run = Made { title: "attic, evening", ..Made::pfifo() }.analysis();
    run.loss.skipped = Skipped { packets: 42, due: 12_042 };
    // As the rules of the analysis word them.
    let reason = |code, severity, text: &str| Reason { code, severity, text: text.to_owned() };
    run.validity = Validity::new(
        vec![
            reason(
                "packets_skipped",
                Severity::Info,
                "The client stalled: 30 of 4030 test packets of udp_probe/EF/ipv4 were not sent (0.7 %, limit 1 %). Stop other \
                 programs on the client, or allow rrul real-time scheduling.",
            ),
            reason(
                "partial",
                Severity::Doubt,
                "The recording is incomplete: stopped by the user at 31.200 s. Figures cover the recorded part only: rerun the \
                 test to its end.",
            ),
            reason(
                "flow_failed",
                Severity::Doubt,
                "bulk_tcp/EF/up/ipv4 failed: connection refused. Its figures are incomplete: fix the cause and rerun.",
            ),
            reason("family_absent", Severity::Info, "IPv6 was not tested: the server has no IPv6 address."),
            reason(
                "server_far",
                Severity::Doubt,
                "The server is 120 ms away over IPv4 (limit 80.0 ms). Path delay hides queueing delay and slows saturation: \
                 use a nearer server.",
            ),
        ],
        run.validity.confidence,
    );
    let clocks = run.one_way_delay.clocks.as_mut().expect("clocks");
    clocks.skew_uncertain =
        Some("clock drift of up to 9.0 ms cannot be ruled out (no idle phase after the load)".to_owned());
    let change = SegmentChange { what: Changed::ServerClock, direction: None, family: None, by_ns: 100_000_000 };
    let segment =
        ClockSegment { from_ns: Some(12_345_678_900), changes: vec![change], offset_ns: 0, bound_ns: 9_000_000 };
    clocks.segments.push(segment);
    run.test
        .absent_families
        .push(AbsentFamily { family: AddressFamily::Ipv6, reason: "the server has no IPv6 address".to_owned() });
    run.test.partial = Some("stopped by the user at 31.200 s".to_owned());
    let failed = label(9, "bulk_tcp", Component::Load, Some(Direction::Up), AddressFamily::Ipv4, ServiceClass::EF);
    run.failed_flows.push(FailedFlow { flow: failed, reason: "connection refused".to_owned() });
    run
}

/// A whole run with its pages and scores.
fn managed() -> Analysis {
    pages::scored(Made::fq_codel().analysis(), &[900, 1000, 1100, 1000, 1000], &[1050, 1150, 1200, 1100, 1080])
}

#[test]
fn the_summary_of_a_whole_run_reads_as_agreed() {
    assert_golden("summary.txt", &text_summary(&managed(), Style::Plain));
}

#[test]
fn the_summary_of_a_troubled_run_begins_with_its_troubles() {
    assert_golden("summary_troubled.txt", &text_summary(&troubled(), Style::Plain));
}

fn compared(runs: &[(&str, &Analysis)]) -> Comparison {
    let run = |(file, analysis): &(&str, &Analysis)| ComparedRun::new(file, Workload::default(), analysis);
    Comparison::new(runs.iter().map(run).collect(), None)
}

#[test]
fn the_comparison_of_two_runs_reads_as_agreed() {
    let named = |title, made: Made| Made { title, ..made }.analysis();
    let (pfifo, fq_codel) = (named("pfifo", Made::pfifo()), named("fq_codel", Made::fq_codel()));
    let text = text_comparison(&compared(&[("a.rrul", &pfifo), ("b.rrul", &fq_codel)]), Style::Plain);
    assert_golden("comparison.txt", &text);
    let rows = text.lines().filter(|line| line.starts_with("  "));
    assert!(rows.clone().count() > 6 && rows.clone().all(|row| row.chars().count() <= 80), "{text}");
}

#[test]
fn a_comparison_begins_with_the_doubts_of_its_runs_and_colors_only_verdicts() {
    let troubled = troubled();
    let whole = managed();
    let comparison = compared(&[("bad.rrul", &troubled), ("good.rrul", &whole)]);
    let plain = text_comparison(&comparison, Style::Plain);
    assert!(plain.starts_with("bad.rrul: Doubtful: The recording is incomplete: "), "{plain}");
    assert!(!plain.contains('\u{1b}'));
    let ansi = text_comparison(&comparison, Style::Ansi);
    assert!(ansi.contains("\u{1b}[32mbetter"), "{ansi}");
    let mut stripped = ansi;
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m"] {
        stripped = stripped.replace(code, "");
    }
    assert_eq!(stripped, plain);
}

#[test]
fn a_percentile_that_falls_on_a_loss_reads_lost() {
    let mut run = Made::fq_codel().analysis();
    // 3 of 100 lost: P95 is the 95th of 97 answered, P99 falls on a loss.
    run.round_trip_delay.pooled.load =
        DelayStatistics::from_delays((1..=97).map(|ms| Delay(ms * 1_000_000)).collect(), 3);
    let text = text_summary(&run, Style::Plain);
    let line = text.lines().find(|line| line.trim_start().starts_with("loaded")).unwrap();
    let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
    assert_eq!(cells, ["loaded", "1.0 ms", "50.0 ms", "90.0 ms", "95.0 ms", "lost", "97.0 ms", "3.0 %"]);
}

#[test]
fn what_was_not_measured_is_not_in_the_summary() {
    let text = text_summary(&nothing(), Style::Plain);
    for absent in ["Round-trip", "Goodput", "Transactions", "measurement"] {
        assert!(!text.contains(absent), "{absent} in {text}");
    }
}

#[test]
fn only_the_ansi_style_writes_escape_sequences_and_names_cannot() {
    let mut hostile = troubled();
    hostile.test.title = "\u{1b}[31mred\u{7}".to_owned();
    let plain = text_summary(&hostile, Style::Plain);
    assert!(!plain.contains('\u{1b}') && !plain.contains('\u{7}'), "{plain:?}");
    let ansi = text_summary(&hostile, Style::Ansi);
    let stripped = ["\u{1b}[1m", "\u{1b}[31m", "\u{1b}[0m"].into_iter().fold(ansi, |text, code| text.replace(code, ""));
    assert_eq!(stripped, plain);
}

#[test]
fn delays_are_given_as_measured() {
    let run = Made::fq_codel().analysis();
    let packets: Vec<&DelayPoint> = run.round_trip_delay.flows.iter().flat_map(|flow| &flow.series).collect();
    assert!(packets.len() > 10_000);
    let p50 = run.round_trip_delay.pooled.load.unwrap().p50.unwrap();
    assert!(text_summary(&run, Style::Plain).contains(&p50.to_string()));
}
