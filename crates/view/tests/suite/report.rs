//! The report as a file: what is in it, and what never may.

#![allow(clippy::large_stack_arrays, reason = "a few analyses fit on the stack of a test")]

use crate::pages;
use crate::recordings::page;
use crate::synthetic::{Made, label, nothing};
use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::metrics::host::failed_flows::FailedFlow;
use rrul_analysis::validity::{Reason, Severity, Validity};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::recording::AbsentFamily;
use rrul_view::report::report;
use rrul_view::{Style, ViewError, text_summary};

/// What of a page is neither script nor style nor data.
fn visible(page: &str) -> String {
    let mut rest = page;
    let mut visible = String::new();
    for (begin, end) in
        [("<style>", "</style>"), ("<script type=\"application/json\"", "</script>"), ("<script>", "</script>")]
    {
        let (before, after) = rest.split_once(begin).expect("it is there");
        visible.push_str(before);
        rest = after.split_once(end).expect("it ends").1;
    }
    visible + rest
}

fn data(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"data\">").expect("it is there");
    serde_json::from_str(after.split_once("</script>").expect("it ends").0).expect("it is JSON")
}

/// As the page writes words.
fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;").replace('\'', "&#39;").replace('"', "&quot;")
}

#[test]
fn the_same_runs_give_the_same_page() {
    let runs = || [Made::pfifo().analysis(), Made::fq_codel().analysis()];
    assert_eq!(page(&runs()), page(&runs()));
}

#[test]
fn a_page_needs_a_run() {
    assert!(matches!(report(&[]), Err(ViewError::Runs { .. })));
}

#[test]
fn every_figure_of_the_summary_is_in_a_table_of_the_page() {
    let run = pages::scored(Made::pfifo().analysis(), &[900, 1000, 1100], &[9_000, 11_000]);
    let visible = visible(&page(std::slice::from_ref(&run)));
    let (tables, _) = visible.split_once("<pre").expect("the summary as text comes after all tables");
    let summary = text_summary(&run, Style::Plain);
    let mut figures = 0;
    for line in summary.lines().filter(|line| line.starts_with("  ")) {
        let holds = |text: &str| tables.contains(&format!(">{}<", escaped(text.trim())));
        let cells: Vec<&str> = line.split("  ").map(str::trim).filter(|cell| !cell.is_empty()).collect();
        figures += cells.len();
        assert!(holds(line) || cells.iter().all(|cell| holds(cell)), "not on the page: {line}");
    }
    assert!(figures > 60, "only {figures} figures were looked at");
    // What leads the page is what leads the summary.
    let score = summary.lines().find(|line| line.starts_with("RRUL score")).expect("a score is given");
    assert!(visible.replace('\u{a0}', " ").contains(score), "{score}");
}

#[test]
fn the_figures_beside_charts_are_those_of_the_analysis() {
    let run = Made::pfifo().analysis();
    let visible = visible(&page(std::slice::from_ref(&run)));
    let PhaseDelays { idle, load, .. } = &run.round_trip_delay.pooled;
    let induced = run.round_trip_delay.pooled.induced_p50.unwrap();
    let told = [
        format!("<strong>+{induced}</strong>"),
        format!("<strong>{}</strong>", run.goodput.down.sum),
        format!("<strong>{}</strong>", run.goodput.up.sum),
        format!("<td>{}</td>", idle.as_ref().unwrap().p50.unwrap()),
        format!("<td>{}</td>", load.as_ref().unwrap().p95.unwrap()),
    ];
    for figure in told {
        assert!(visible.contains(&figure), "{figure}");
    }
}

#[test]
fn every_chart_has_its_place_its_data_and_words_for_who_cannot_see_it() {
    let page = page(&[Made::pfifo().analysis(), Made::fq_codel().analysis()]);
    let (data, visible) = (data(&page), visible(&page));
    let plots = data["plots"].as_array().unwrap();
    assert!(plots.len() > 10, "{}", plots.len());
    assert_eq!(visible.matches("data-plot=").count(), plots.len());
    assert_eq!(visible.matches("aria-roledescription=\"chart\" aria-label=\"").count(), plots.len());
    for (number, plot) in plots.iter().enumerate() {
        assert!(visible.contains(&format!("data-plot=\"{number}\"")), "{number}");
        for level in plot["levels"].as_array().unwrap() {
            assert_eq!(level["lines"].as_array().unwrap().len(), plot["lines"].as_array().unwrap().len());
            // Those of lines that stand on each other follow from these.
            let bands = if plot["stacked"] == true { 0 } else { plot["bands"].as_array().unwrap().len() };
            assert_eq!(level["bands"].as_array().unwrap().len(), bands, "{}", plot["title"]);
        }
    }
}

#[test]
fn zooming_finds_finer_bins_in_the_same_unit() {
    let data = data(&page(&[Made::pfifo().analysis()]));
    let download = data["plots"].as_array().unwrap().iter().find(|plot| plot["title"] == "Download").unwrap();
    let steps: Vec<f64> = download["levels"]
        .as_array()
        .unwrap()
        .iter()
        .map(|level| level["grids"][0]["even"][1].as_f64().unwrap())
        .collect();
    assert_eq!(steps.len(), 2, "{steps:?}");
    assert!(steps[1] < steps[0] / 1.9, "{steps:?}");
    assert_eq!(download["unit"], "Mbit/s");
}

#[test]
fn only_what_is_stacked_is_read_as_such() {
    let data = data(&page(&[Made::pfifo().analysis()]));
    let stacked = |plot: &&serde_json::Value| plot["stacked"] == true;
    let titles: Vec<&str> =
        data["plots"].as_array().unwrap().iter().filter(stacked).map(|plot| plot["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["Download", "Upload"], "the panels of streams on each other");
}

#[test]
fn words_of_others_are_only_words() {
    let hostile = "</script><img src=x onerror=alert(1)>\u{202e}";
    let mut run = Made::pfifo().analysis();
    run.test.title = hostile.to_owned();
    run.test.server = hostile.to_owned();
    run.test.partial = Some(hostile.to_owned());
    run.round_trip_delay.flows[0].flow.flow_type = hostile.to_owned();
    run.validity =
        Validity::new(vec![Reason { code: "partial", severity: Severity::Doubt, text: hostile.to_owned() }], None);
    let flow = label(9, hostile, Component::Realtime, None, AddressFamily::Ipv4, ServiceClass::BE);
    run.failed_flows = vec![FailedFlow { flow, reason: hostile.to_owned() }];
    let mut beside = run.clone();
    beside.test.title = "\"><svg onload=alert(1)>".to_owned();
    for runs in [vec![run.clone()], vec![run, beside]] {
        let page = page(&runs);
        assert_eq!(page.matches("</script").count(), 2, "a script ended early");
        assert!(page.matches("<img").count() == 0 && !visible(&page).contains("<svg onload"));
        assert!(!visible(&page).contains('\u{202e}'), "text that turns around");
        assert!(visible(&page).contains("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt;"), "the words are there");
        let _ = data(&page);
    }
}

#[test]
fn a_page_loads_no_external_resources() {
    let page = page(&[Made::pfifo().analysis()]);
    assert!(page.contains("default-src &#39;none&#39;; script-src &#39;sha256-"), "its policy");
    let visible = visible(&page);
    for word in [" src=\"", "=\"http", "url(", "@import", "<link", "<iframe", "<object", " onclick"] {
        assert!(!visible.contains(word), "{word}");
    }
    let links: Vec<&str> = visible.split("href=\"").skip(1).collect();
    assert!(links.iter().all(|link| link.starts_with('#')), "a link leads away");
}

#[test]
fn what_was_not_measured_is_reported_and_why() {
    let mut run = Made { icmp: false, ..Made::pfifo() }.analysis();
    run.test.partial = Some("the client was killed".to_owned());
    run.test.absent_families = vec![AbsentFamily { family: AddressFamily::Ipv6, reason: "no IPv6 address".to_owned() }];
    let icmp = label(9, "icmp_echo", Component::Realtime, None, AddressFamily::Ipv4, ServiceClass::BE);
    run.absent_flows = vec![FailedFlow { flow: icmp, reason: "ICMP sockets are not allowed".to_owned() }];
    run.processor = Vec::new();
    let visible = visible(&page(&[run]));
    for said in [
        "<strong>The rest of the run</strong>: not measured: the recording is not complete: the client was killed",
        "<strong>IPv6</strong>: not measured: no IPv6 address",
        "<strong>ICMP echo</strong>: not measured: ICMP sockets are not allowed",
        "<strong>Web pages</strong>: not measured: not in plan rrul",
        "<strong>Voice</strong>: not measured: not in plan rrul",
        "<strong>Load of the processors</strong>: not known: neither host reported it",
    ] {
        assert!(visible.contains(said), "{said}");
    }
    assert!(!visible.contains("<strong>UDP probes</strong>: not measured"));
    assert!(!visible.contains("NaN") && !visible.contains("infinity"));
}

#[test]
fn delay_by_direction_is_missing_with_a_reason_for_each_direction() {
    let mut run = Made::pfifo().analysis();
    let clocks = run.one_way_delay.clocks.as_mut().unwrap();
    clocks.queueing_unknown.up = Some("its queue had not drained".to_owned());
    let up_alone = visible(&page(std::slice::from_ref(&run)));
    assert!(up_alone.contains("<strong>Queueing delay up</strong>: not known: its queue had not drained"));
    assert!(!up_alone.contains("<strong>Queueing delay down"));
    run.one_way_delay.clocks.as_mut().unwrap().queueing_unknown.down = Some("the route changed".to_owned());
    let both = visible(&page(std::slice::from_ref(&run)));
    for said in [
        "Queueing delay up</strong>: not known: its queue had",
        "Queueing delay down</strong>: not known: the route changed",
    ] {
        assert!(both.contains(said), "{said}");
    }
    assert!(text_summary(&run, Style::Plain).contains("Queueing delay down not known: the route changed"));
}

#[test]
fn a_run_in_which_nothing_was_observed_still_has_a_page() {
    let visible = visible(&page(&[nothing()]));
    for said in [
        "No delay probes in this run.",
        "No download streams in this run.",
        "<strong>Upload load</strong>: not measured",
        "<strong>UDP probes</strong>: not measured",
        "How to read this report",
    ] {
        assert!(visible.contains(said), "{said}");
    }
    let beside = self::visible(&page(&[nothing(), Made::pfifo().analysis()]));
    assert!(beside.contains("Side by side"));
}

#[test]
fn several_runs_stand_side_by_side_before_each_has_its_part() {
    let runs =
        [Made { title: "before", ..Made::pfifo() }.analysis(), Made { title: "after", ..Made::fq_codel() }.analysis()];
    let visible = visible(&page(&runs));
    let place = |words: &str| visible.find(words).unwrap_or_else(|| panic!("{words} is not there"));
    assert!(place("Side by side") < place("All runs on shared axes"));
    assert!(place("All runs on shared axes") < place("id=\"run1\""));
    assert!(place("id=\"run1\"") < place("id=\"run2\""));
    for run in &runs {
        for direction in Direction::ALL {
            assert!(visible.contains(&format!("<td>{}</td>", run.goodput(direction).sum)));
        }
    }
}

#[test]
fn headings_go_down_one_level_at_a_time() {
    for runs in [vec![Made::pfifo().analysis()], vec![Made::pfifo().analysis(), Made::fq_codel().analysis()]] {
        let visible = visible(&page(&runs));
        let levels = visible.split("<h").skip(1).filter_map(|after| {
            let level = after.chars().next()?.to_digit(10)?;
            after[1..].starts_with(['>', ' ']).then_some(level)
        });
        let levels: Vec<u32> = levels.collect();
        assert_eq!(levels.iter().filter(|level| **level == 1).count(), 1);
        for pair in levels.windows(2) {
            assert!(pair[1] <= pair[0] + 1, "a heading of level {} follows one of level {}", pair[1], pair[0]);
        }
    }
}

#[test]
fn ten_runs_of_two_families_take_less_than_three_million_bytes() {
    let families = AddressFamily::ALL.to_vec();
    let run = Made { families, ..Made::pfifo() }.analysis();
    let runs: Vec<Analysis> = (0..10).map(|_| run.clone()).collect();
    let page = page(&runs);
    assert!(page.len() < 3_000_000, "{} bytes", page.len());
}
