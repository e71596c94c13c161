//! Charts over time read back: phase `web`, and the colors of streams that the plan sets apart.

use crate::read_back;
use crate::recordings;
use std::time::Duration;

use crate::read_back::Picture;
use crate::synthetic::{Made, SECOND};
use rrul_analysis::Analysis;
use rrul_analysis::metrics::octets::link_rates::LinkRates;
use rrul_analysis::metrics::octets::octet_account::OctetParts;
use rrul_analysis::series::RatePoint;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::BitRate;
use rrul_view::svg;
use rrul_view::{Theme, chart_named};

const THEME: Theme = Theme::LIGHT;
/// Phase `web` begins at this second, within the load.
const WEB: i64 = 45;
/// Seconds; lines are written in tenths of pixels.
const TOLERANCE: f64 = 0.05;

fn drawn(name: &str, run: &Analysis) -> Picture {
    Picture::of(&svg(chart_named(name).expect("it is on the shelf"), &[run], &THEME).expect("one run fits"))
}

/// What the link carries down in phase `web`, bit/s: pages, short flows, the bulk load, and everything.
const PAGES: u64 = 3_000_000;
const SHORT_FLOWS: u64 = 2_000_000;
const BULK: u64 = 13_000_000;
const EVERYTHING: u64 = 20_000_000;

/// With 20 Mbit/s on the link down all the time, of which pages and short flows have some in phase `web`.
fn with_web() -> (Analysis, Window) {
    let mut run = Made::fq_codel().analysis();
    let load = run.test.phases.iter().position(|entry| entry.phase == Phase::Load).expect("a loaded run");
    let web = Window { from: TestTime(WEB * SECOND), to: run.test.phases[load].window.to };
    run.test.phases[load].window.to = web.from;
    run.test.phases.insert(load + 1, PhaseWindow { phase: Phase::Web, window: web });
    let rates = |before: u64, then: u64| -> Vec<RatePoint> {
        let at = |step: i64| TestTime(step * SECOND / 4 + SECOND / 8);
        let rate = |at| BitRate(if web.contains(at) { then } else { before });
        (0..280)
            .map(|step| RatePoint { at: at(step), over: Duration::from_millis(250), rate: rate(at(step)) })
            .collect()
    };
    run.link_octets.down_rates = LinkRates {
        all: rates(EVERYTHING, EVERYTHING),
        parts: OctetParts {
            web: rates(0, PAGES),
            short_flows: rates(0, SHORT_FLOWS),
            load_data: rates(BULK + PAGES + SHORT_FLOWS, BULK),
            ..OctetParts::default()
        },
        ..LinkRates::default()
    };
    (run, web)
}

#[test]
fn phase_web_is_shaded_and_named() {
    let (run, web) = with_web();
    for (chart, panels) in [("overview", 4), ("download", 2), ("delay", 1)] {
        let picture = drawn(chart, &run);
        for name in ["load", "web"] {
            assert!(picture.texts.iter().any(|text| text.words == name), "{name} in {chart}: {:?}", picture.words());
        }
        let shades: Vec<&[f64; 4]> =
            picture.boxes.iter().filter(|(colour, _)| colour == THEME.web_shade).map(|(_, sides)| sides).collect();
        assert_eq!(shades.len(), panels, "one a panel of {chart}");
        for [left, _, right, _] in shades {
            let read = [picture.seconds(*left), picture.seconds(*right)];
            let truth = [web.from.seconds(), web.to.seconds()];
            assert!(read.iter().zip(truth).all(|(read, truth)| (read - truth).abs() < TOLERANCE), "{read:?}");
        }
    }
    let without = drawn("overview", &Made::fq_codel().analysis());
    assert!(!without.boxes.iter().any(|(colour, _)| colour == THEME.web_shade), "no phase, no shade");
}

#[test]
fn in_phase_web_pages_and_short_flows_are_stacked_below_the_bulk_sum() {
    let (run, web) = with_web();
    let [_, pages, _, short_flows, _] = THEME.variants;
    for chart in ["overview", "download"] {
        let picture = drawn(chart, &run);
        for said in
            ["Download by traffic type", "pages", "short flows", "bulk, sum of 4 streams", "everything on the link"]
        {
            assert!(picture.says(said), "{said} in {chart}: {:?}", picture.words());
        }
        assert!(!picture.says("Upload by traffic type"), "its bytes are unknown");
        // Tops of the stack: in phase web, and before it.
        let mbits = |rate: u64| rate as f64 / 1e6;
        for (colour, within, before) in [
            (pages, PAGES, 0),
            (short_flows, PAGES + SHORT_FLOWS, 0),
            (THEME.muted, PAGES + SHORT_FLOWS + BULK, PAGES + SHORT_FLOWS + BULK),
            (THEME.ink, EVERYTHING, EVERYTHING),
        ] {
            let lines = picture.lines(colour);
            let is_right = |line: &&&read_back::Stroke| {
                line.points.iter().all(|(x, y)| {
                    let expected = if web.contains(at(picture.seconds(*x))) { within } else { before };
                    (picture.value(*y) - mbits(expected)).abs() < 0.1
                })
            };
            assert_eq!(lines.iter().filter(is_right).count(), 1, "{colour} in {chart}");
        }
        // Each layer is filled, and the upper ones do not hide the lower.
        for colour in [pages, short_flows, THEME.range] {
            assert!(picture.boxes.iter().any(|(fill, _)| fill == colour), "{colour} fills nothing in {chart}");
        }
    }
    let (mut without, _) = with_web();
    without.test.phases = Made::fq_codel().analysis().measured.test.phases;
    assert!(!drawn("overview", &without).says("Download by traffic type"));
}

fn at(seconds: f64) -> TestTime {
    TestTime((seconds * SECOND as f64) as i64)
}

#[test]
fn the_report_stacks_the_same_layers() {
    let (run, _) = with_web();
    let data = plots(&recordings::page(std::slice::from_ref(&run)));
    let plot = data.iter().find(|plot| plot["title"] == "Download by traffic type").expect("it is in the report");
    assert_eq!(plot["stacked"], true);
    let names: Vec<&str> = plot["lines"].as_array().unwrap().iter().map(|line| line["n"].as_str().unwrap()).collect();
    assert_eq!(names, ["pages", "short flows", "bulk, sum of 4 streams", "everything on the link"]);
    let colours: std::collections::BTreeSet<u64> =
        plot["lines"].as_array().unwrap().iter().map(|line| line["c"].as_u64().unwrap()).collect();
    assert_eq!(colours.len(), names.len(), "each has a color of its own");
}

#[test]
fn the_report_shades_and_names_every_phase() {
    let (run, web) = with_web();
    let page = recordings::page(std::slice::from_ref(&run));
    let data = data(&page);
    let colours = &data["colours"];
    for plot in plots(&page) {
        let phases = data["phases"][plot["phases"].as_u64().unwrap() as usize].as_array().unwrap();
        let names: Vec<&str> = phases.iter().map(|phase| phase[0].as_str().unwrap()).collect();
        assert_eq!(names, ["idle", "load", "web", "after"], "{}", plot["title"]);
        let shade = |phase: usize| phases[phase][3].as_u64().map(|number| colours[number as usize][0].clone());
        let truth = [Some(THEME.idle_shade), None, Some(THEME.web_shade), Some(THEME.idle_shade)];
        assert_eq!([0, 1, 2, 3].map(shade), truth.map(|colour| colour.map(Into::into)));
        let stretch = [1, 2].map(|end: usize| phases[2][end].as_f64().unwrap());
        let truth = [web.from.seconds(), web.to.seconds()];
        assert!(stretch.iter().zip(truth).all(|(read, truth)| (read - truth).abs() < TOLERANCE), "{stretch:?}");
    }
}

#[test]
fn phases_are_named_in_each_column_side_by_side() {
    let (run, _) = with_web();
    for count in 2..=4 {
        let runs = vec![&run; count];
        let picture = Picture::of(&svg(chart_named("overview").unwrap(), &runs, &THEME).unwrap());
        for name in ["load", "web"] {
            let named: Vec<_> = picture.texts.iter().filter(|text| text.words == name).collect();
            assert_eq!(named.len(), count, "{name} of {count} runs");
            let lines: std::collections::BTreeSet<i64> = named.iter().map(|text| text.at.1 as i64).collect();
            assert_eq!(lines.len(), 1, "above the first row alone");
        }
    }
    let picture = Picture::of(&svg(chart_named("overview").unwrap(), &[&run, &run], &THEME).unwrap());
    assert_eq!(picture.texts.iter().filter(|text| text.words == "after").count(), 2);
}

/// The data of a report.
fn data(page: &str) -> serde_json::Value {
    let (_, after) = page.split_once("id=\"data\">").expect("it is there");
    serde_json::from_str(after.split_once("</script>").expect("it ends").0).expect("it is JSON")
}

/// The plots of a report.
fn plots(page: &str) -> Vec<serde_json::Value> {
    data(page)["plots"].as_array().expect("plots").clone()
}

#[test]
fn streams_of_one_class_that_the_plan_sets_apart_have_colors_of_their_own() {
    let controls = ["reno", "cubic", "bbr"];
    let mut run = Made::fq_codel().analysis();
    for goodput in [&mut run.measured.goodput.down, &mut run.measured.goodput.up] {
        goodput.flows.truncate(controls.len());
        for (flow, control) in goodput.flows.iter_mut().zip(controls) {
            flow.flow.class = ServiceClass::BE;
            flow.flow.parameters = vec![("congestion_control".to_owned(), control.to_owned())];
        }
    }
    for (chart, panels) in [("overview", 2), ("download", 1), ("upload", 1), ("share", 2)] {
        let picture = drawn(chart, &run);
        for colour in &THEME.variants[..controls.len()] {
            assert_eq!(picture.lines(colour).len(), panels, "{colour} in {chart}");
        }
    }
    // Streams that differ in nothing keep the color of their class.
    for goodput in [&mut run.measured.goodput.down, &mut run.measured.goodput.up] {
        goodput.flows.iter_mut().for_each(|flow| flow.flow.parameters.clear());
    }
    let alike = drawn("download", &run);
    assert_eq!(alike.lines(THEME.best_effort).len(), controls.len());
    assert!(alike.lines(THEME.variants[0]).is_empty());
}
