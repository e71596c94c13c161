//! The short summary: one screen for every run, kept as files that people read.

use crate::pages;
use std::path::Path;

use crate::synthetic::{Made, SECOND, delay_flow, label, nothing};
use rrul_analysis::Analysis;
use rrul_analysis::LossAttribution;
use rrul_analysis::metrics::loss::packet_fate::{DirectionFate, FlowFate, PacketFate, PacketFates};
use rrul_analysis::metrics::path::bottleneck::{Bottleneck, BottleneckPlace};
use rrul_analysis::metrics::path::path_trace::PathTrace;
use rrul_analysis::metrics::rate::goodput::DirectionGoodput;
use rrul_analysis::metrics::rate::saturation::{AckStarvation, Saturation};
use rrul_analysis::scored::{Distance, Scores};
use rrul_analysis::validity::{Reason, Severity, Validity};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};
use rrul_view::short_summary;
use rrul_view::{Style, Topic, text_sections, text_summary};
use unicode_width::UnicodeWidthStr;

fn summary(run: &Analysis) -> String {
    let text = short_summary(run, "line.rrul", Style::Plain);
    assert_fits(&text);
    text
}

#[track_caller]
fn assert_fits(text: &str) {
    assert!(text.ends_with('\n') && !text.ends_with("\n\n"), "{text:?}");
    assert!(text.lines().count() <= 24, "{} lines:\n{text}", text.lines().count());
    for line in text.lines() {
        assert!(line.width() <= 80, "{} columns: {line}", line.width());
    }
}

/// Compares with `tests/golden/NAME`; `RRUL_GOLDEN=write` writes it instead.
fn assert_golden(name: &str, text: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(name);
    if std::env::var_os("RRUL_GOLDEN").is_some_and(|value| value == "write") {
        std::fs::write(&path, text).expect("the folder of golden files can be written");
    }
    let golden = std::fs::read_to_string(&path).expect("the golden file is there");
    assert_eq!(text, golden, "{name} differs; if the new text is right, run this test with RRUL_GOLDEN=write");
}

fn reason(code: &'static str, severity: Severity, text: &str) -> Reason {
    Reason { code, severity, text: text.to_owned() }
}

fn trace(direction: Direction, family: AddressFamily, words: &str, after_hop: u8) -> PathTrace {
    PathTrace {
        flow: label(700, "path_trace", Component::Analysis, Some(direction), family, ServiceClass::BE),
        direction,
        family,
        sees_quoted_headers: true,
        routers: Some(3),
        route_changes: Vec::new(),
        bottleneck: Bottleneck {
            place: BottleneckPlace::Path,
            queue_ns: Some(152_000_000),
            host_queue_ns: None,
            after_hop: Some(after_hop),
            before_hop: Some(after_hop + 1),
            agreeing: Some(1.0),
            words: words.to_owned(),
        },
        hops: Vec::new(),
        remarkings: Vec::new(),
        path_mtu: None,
        messages: Vec::new(),
        strays: 0,
    }
}

/// So many of a thousand packets of a class are lost on the way up, under load.
fn with_losses(mut run: Analysis, lost: impl Fn(ServiceClass) -> u64) -> Analysis {
    let fate = |lost: u64| {
        let load = PacketFate {
            sent: 1000,
            arrived: 1000 - lost,
            lost,
            late: 0,
            unattributed: 0,
            duplicated: None,
            share_least: lost as f64 / 1000.0,
            share_most: lost as f64 / 1000.0,
            share_ci95_low: None,
            share_ci95_high: None,
            loss_runs: None,
            reordering: None,
        };
        let idle = PacketFate { arrived: 1000, lost: 0, share_least: 0.0, share_most: 0.0, ..load };
        DirectionFate { evidence: LossAttribution::Exact, idle: Some(idle), load: Some(load), after: None, all: None }
    };
    let flow = |entry: &rrul_analysis::metrics::delay::round_trip_delay::DelayFlow| FlowFate {
        flow: entry.flow.clone(),
        up: fate(lost(entry.flow.class)),
        down: fate(0),
    };
    let probes = run.round_trip_delay.flows.iter().filter(|entry| entry.flow.flow_type == "udp_probe");
    run.loss.fates = PacketFates { up: None, down: None, flows: probes.map(flow).collect() };
    run
}

fn bloated() -> Analysis {
    let run = Made { title: "attic, evening", ..Made::pfifo() }.analysis();
    let mut run = with_losses(pages::scored(run, &[900, 1000, 1100], &[5800, 6000, 6200, 6100]), |_| 100);
    let place = "upload queue, 152 ms, between this host and hop 1 (192.0.2.1)";
    run.path_traces = vec![trace(Direction::Up, AddressFamily::Ipv4, place, 0)];
    run
}

fn managed() -> Analysis {
    let run = pages::scored(Made::fq_codel().analysis(), &[900, 1000, 1100], &[1050, 1150, 1200, 1100]);
    with_losses(run, |class| if class == ServiceClass::BK { 100 } else { 0 })
}

fn invalid() -> Analysis {
    let mut run = bloated();
    let text = "A CPU core of the client that the test needs was over 95 % busy in 100 % of the load (limit 5 %). Stop other \
        programs on the client, or use a faster one.";
    let mut reasons = vec![reason("processor_saturated", Severity::Invalid, text)];
    reasons.extend((1..=6).map(|number| {
        reason(
            "rate_unsteady",
            Severity::Doubt,
            &format!(
                "Upload rate {number} was not stationary: 8.61 Mbit/s in the first half of the scored window, 19.0 Mbit/s in \
                 the second. Check the chart; rerun when the line is otherwise idle."
            ),
        )
    }));
    reasons.push(reason("family_absent", Severity::Info, "IPv6 was not tested: the server has no IPv6 address."));
    run.validity = Validity::new(reasons, None);
    run
}

fn probes_only() -> Analysis {
    let mut run = Made::pfifo().analysis();
    "ping".clone_into(&mut run.test.plan);
    let window = Window { from: TestTime(0), to: TestTime(5 * SECOND) };
    run.test.phases.retain(|entry| entry.phase == Phase::Idle);
    let flows = std::mem::take(&mut run.round_trip_delay.flows).into_iter().map(|flow| {
        let series = flow.series.into_iter().filter(|packet| window.contains(packet.at)).collect();
        delay_flow(flow.flow, series, &run.test.phases)
    });
    run.round_trip_delay.flows = flows.collect();
    (run.goodput.up, run.goodput.down) = (DirectionGoodput::default(), DirectionGoodput::default());
    run.transaction_flows.clear();
    run.scores = Scores::compute(&run, Distance::AsSpecified);
    run
}

#[test]
fn the_summary_of_a_bloated_line_reads_as_agreed() {
    assert_golden("short_bloated.txt", &summary(&bloated()));
}

#[test]
fn the_summary_of_a_managed_line_reads_as_agreed() {
    assert_golden("short_managed.txt", &summary(&managed()));
}

#[test]
fn the_summary_of_an_invalid_run_reads_as_agreed() {
    assert_golden("short_invalid.txt", &summary(&invalid()));
}

#[test]
fn the_summary_of_a_run_without_load_reads_as_agreed() {
    assert_golden("short_probes_only.txt", &summary(&probes_only()));
}

#[test]
fn loss_of_background_alone_is_no_headline() {
    let text = summary(&managed());
    let upload = text.lines().find(|line| line.trim_start().starts_with("Upload")).unwrap();
    assert!(upload.ends_with(" 0 %"), "{upload}");
    assert!(text.contains("Background traffic is held back (upload loses 10 % of its probes)."), "{text}");
    assert!(text.contains("\nNothing to fix: latency stays low under load.\n"), "{text}");
    let text = summary(&bloated());
    let upload = text.lines().find(|line| line.trim_start().starts_with("Upload")).unwrap();
    assert!(upload.ends_with(" 10 %") && !text.contains("Background"), "{text}");
}

#[test]
fn exchanges_that_were_given_up_are_no_loss_of_background() {
    let mut run = managed();
    let probes = run.loss.fates.flows.iter_mut();
    for fate in probes.filter(|fate| fate.flow.class == ServiceClass::BK) {
        "udp_rr".clone_into(&mut fate.flow.flow_type);
    }
    let text = summary(&run);
    assert!(!text.contains("of its probes"), "{text}");
}

#[test]
fn loss_of_marked_packets_alone_is_advised_on_though_few_are_lost_in_all() {
    let policed = |lost| with_losses(managed(), move |class| if class == ServiceClass::EF { lost } else { 0 });
    let text = summary(&policed(15));
    assert!(text.contains("\nLoss of EF packets only (upload): check for a policer of that class.\n"), "{text}");
    let text = summary(&policed(9));
    assert!(text.contains("\nNothing to fix: latency stays low under load.\n"), "{text}");
}

#[test]
fn the_advice_follows_from_the_direction_that_is_bloated() {
    let advice = |run: &Analysis| {
        let text = summary(run);
        text.lines().find(|line| line.contains("SQM")).map(str::to_owned).unwrap_or(text)
    };
    assert_eq!(advice(&bloated()), "Upload is bloated: enable SQM (cake), shape upload below 7.69 Mbit/s.");
    let mut both = bloated();
    both.one_way_delay.down = both.one_way_delay.up.clone();
    assert!(advice(&both).starts_with("Both directions are bloated: SQM (cake) below 12.0 Mbit/s down, 7.69"), "both");
    let mut unknown = bloated();
    (unknown.one_way_delay.down, unknown.one_way_delay.up) = Default::default();
    assert!(advice(&unknown).starts_with("The line is bloated: enable SQM (cake)"), "{}", advice(&unknown));
    assert!(
        summary(&invalid()).contains("\nTo get a valid run: stop other programs on the client, or use a faster one.\n")
    );
}

#[test]
fn a_download_that_waits_for_acknowledgments_is_shaped_to_its_surveyed_rate() {
    let mut run = bloated();
    run.one_way_delay.down = run.one_way_delay.up.clone();
    run.measurement_overhead.down.line_bps = Some(40_000_000);
    let starved = AckStarvation {
        queueing_delay_ns: 400_000_000,
        idle_round_trips: 20.0,
        acknowledgements_per_second: None,
        missing_share: None,
    };
    run.saturation.down = Some(Saturation {
        saturated: Some(false),
        since_ns: None,
        share: Some(0.0),
        evidence: Vec::new(),
        ack_starvation: Some(starved),
    });
    let text = summary(&run);
    assert!(
        text.contains("\nBoth directions are bloated: SQM (cake) below 38.0 Mbit/s down, 7.69 Mbit/s up.\n"),
        "{text}"
    );
}

#[test]
fn the_advice_on_loss_depends_on_when_it_happens_and_on_the_rate() {
    let advice = |line_bps, lost_idle: u64| {
        let mut run = with_losses(managed(), |_| 100);
        run.measurement_overhead.up.line_bps = Some(line_bps);
        for flow in &mut run.loss.fates.flows {
            flow.up.idle.as_mut().unwrap().lost = lost_idle;
        }
        let text = summary(&run);
        text.lines().find(|line| line.starts_with("Loss ")).map(str::to_owned).unwrap_or(text)
    };
    // A frame of 1514 bytes takes 8.1 ms at 1.5 Mbit/s.
    assert_eq!(advice(1_500_000, 0), "Loss under load (upload): if CoDel drops, raise its target to 13 ms.");
    assert_eq!(advice(20_000_000, 0), "Loss under load (upload): the queue is too short, or a policer drops.");
    assert_eq!(advice(1_500_000, 50), "Loss without bloat (upload): check radio, cable and policing.");
}

#[test]
fn each_direction_has_one_line_on_its_bottleneck_at_most() {
    let mut run = bloated();
    let place = |hop: &str| format!("upload queue, 152 ms, between hop {hop} and hop 4 (hops 2 to 3 do not answer)");
    let long = place("1 (2001:db8:aaaa:bbbb:cccc:dddd:eeee:ffff)");
    let down = "download queue, 90 ms, between the server's host and hop 1 from the server";
    run.path_traces = vec![
        trace(Direction::Up, AddressFamily::Ipv4, &place("1"), 1),
        trace(Direction::Up, AddressFamily::Ipv6, &long, 2),
        trace(Direction::Down, AddressFamily::Ipv4, down, 0),
        trace(Direction::Down, AddressFamily::Ipv6, down, 0),
    ];
    let text = summary(&run);
    let lines: Vec<&str> = text.lines().filter(|line| line.starts_with("Bottleneck")).collect();
    let up = "Bottleneck: over IPv4: upload queue, 152 ms, between hop 1 and hop 4.";
    let down = "Bottleneck: download, 90 ms, between the server and hop 1 from the server.";
    assert_eq!(lines, [down, up]);
}

/// Runs of every shape, with names of any length.
fn all() -> Vec<Analysis> {
    let families = vec![AddressFamily::Ipv4, AddressFamily::Ipv6];
    let both = Made { families, ..Made::pfifo() };
    let mut partial = invalid();
    partial.test.partial = Some("stopped by the user at 31.200 s".to_owned());
    let mut one_way = bloated();
    one_way.goodput.down = DirectionGoodput::default();
    let mut runs = vec![bloated(), managed(), invalid(), probes_only(), partial, one_way, nothing(), both.analysis()];
    runs.push(Analysis::default());
    runs.push(pages::scored(Made { base_ms: 120.0, ..Made::fq_codel() }.analysis(), &[9], &[9]));
    for run in runs.clone() {
        let title = "ein sehr langer Titel 日本語の長い題名 ".repeat(9);
        let server = "a-very-long-label.".repeat(12);
        let mut named = run.clone();
        (named.test.title, named.test.server) = (title.clone(), server.clone());
        let mut all_long = run;
        (all_long.test.title, all_long.test.plan) = ("x".repeat(300), "p".repeat(90));
        (all_long.test.created, all_long.test.server) = (title, server);
        runs.push(named);
        runs.push(all_long);
    }
    runs
}

#[test]
fn every_run_fits_one_screen() {
    for run in all() {
        for file in ["a.rrul", "日本語.rrul", &"long/".repeat(40)] {
            for style in [Style::Plain, Style::Ansi] {
                let text = short_summary(&run, file, style);
                let plain = stripped(&text);
                assert_fits(&plain);
                assert_eq!(plain, short_summary(&run, file, Style::Plain));
            }
        }
    }
}

fn stripped(text: &str) -> String {
    let mut plain = text.to_owned();
    for code in ["\u{1b}[0m", "\u{1b}[1m", "\u{1b}[31m", "\u{1b}[32m", "\u{1b}[33m"] {
        plain = plain.replace(code, "");
    }
    plain
}

#[test]
fn names_cannot_steer_the_terminal() {
    let hostile = "\u{1b}[2J\u{7}\n\t".to_owned();
    let mut run = bloated();
    (run.test.title, run.test.server) = (hostile.clone(), hostile.clone());
    run.path_traces[0].bottleneck.words.clone_from(&hostile);
    run.validity = Validity::new(vec![reason("partial", Severity::Doubt, &hostile)], None);
    let text = short_summary(&run, &hostile, Style::Plain);
    assert_fits(&text);
    assert!(!text.chars().any(|c| c.is_control() && c != '\n'), "{text:?}");
}

#[test]
fn that_a_run_was_cut_short_is_the_first_note() {
    let mut run = invalid();
    let mut reasons = run.validity.reasons.clone();
    reasons.push(reason("partial", Severity::Doubt, "The recording is incomplete: stopped by the user at 9 s."));
    run.validity = Validity::new(reasons, None);
    let text = summary(&run);
    let first = text.lines().find(|line| line.starts_with("Invalid: ") || line.starts_with("Doubtful: "));
    assert!(first.is_some_and(|line| line.starts_with("Doubtful: The recording is incomplete")), "{text}");
}

#[test]
fn notes_that_are_left_out_are_counted() {
    let text = summary(&invalid());
    let notes = text.lines().filter(|line| line.starts_with("Invalid: ") || line.starts_with("Doubtful: ")).count();
    assert_eq!(notes, 3, "{text}");
    assert!(text.contains("\n5 more notes with --full.\n"), "{text}");
}

#[test]
fn sections_are_printed_by_name_and_all_of_them_are_the_full_summary() {
    let run = bloated();
    let full = text_summary(&run, Style::Plain);
    let parts: Vec<String> = Topic::ALL.into_iter().map(|topic| text_sections(&run, &[topic], Style::Plain)).collect();
    for section in full.split("\n\n").skip(1) {
        let section = section.trim_end();
        assert_eq!(parts.iter().filter(|part| part.contains(section)).count(), 1, "{section}");
    }
    let delay = text_sections(&run, &[Topic::named("delay").unwrap()], Style::Plain);
    assert!(delay.contains("Round-trip delay of probes (BE and EF)") && !delay.contains("Goodput"), "{delay}");
    let voice = text_sections(&run, &[Topic::named("voice").unwrap()], Style::Plain);
    assert!(voice.contains("voice: this recording has no such"), "{voice}");
    for topic in Topic::ALL {
        assert_eq!(Topic::ALL.into_iter().filter(|other| other.name() == topic.name()).count(), 1, "{topic:?}");
    }
    assert!(Topic::named("foo").is_none());
}

#[test]
fn a_missing_score_says_why_and_names_no_page() {
    let mut run = bloated();
    run.scores.web = None;
    run.scores.web_at_most = Some(14);
    run.scores.web_missing = vec!["rrul2025, BE, ipv4: no page finished under load (5 begun)".to_owned()];
    let line = "RRUL score   none, at most 14 of 100: no page finished under load (5 begun)";
    assert!(summary(&run).lines().any(|found| found == line), "{}", summary(&run));
}
