//! Charts over time read back: phase `web`, and the colors of streams that the plan sets apart.

mod read_back;
mod synthetic;

use std::time::Duration;

use read_back::Picture;
use rrul_analysis::Analysis;
use rrul_analysis::analysis::RatePoint;
use rrul_model::marking::ServiceClass;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::BitRate;
use rrul_view::{Theme, chart_named, svg};
use synthetic::{Made, SECOND};

const THEME: Theme = Theme::LIGHT;
/// Phase `web` begins at this second, within the load.
const WEB: i64 = 45;
/// Seconds; lines are written in tenths of pixels.
const TOLERANCE: f64 = 0.05;

fn drawn(name: &str, run: &Analysis) -> Picture {
    Picture::of(&svg(chart_named(name).expect("it is on the shelf"), &[run], &THEME).expect("one run fits"))
}

/// With 20 Mbit/s on the link down all the time.
fn with_web() -> (Analysis, Window) {
    let mut run = Made::fq_codel().analysis();
    let load = run.phases.iter().position(|entry| entry.phase == Phase::Load).expect("a loaded run");
    let web = Window { from: TestTime(WEB * SECOND), to: run.phases[load].window.to };
    run.phases[load].window.to = web.from;
    run.phases.insert(load + 1, PhaseWindow { phase: Phase::Web, window: web });
    run.link_octets.down_rates = (0..280)
        .map(|step| RatePoint {
            at: TestTime(step * SECOND / 4 + SECOND / 8),
            over: Duration::from_millis(250),
            rate: BitRate(20_000_000),
        })
        .collect();
    (run, web)
}

#[test]
fn phase_web_is_shaded_and_named() {
    let (run, web) = with_web();
    for (chart, panels) in [("overview", 4), ("download", 1), ("delay", 1)] {
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
fn with_phase_web_everything_on_the_link_is_drawn_above_the_sum_of_the_streams() {
    let (run, _) = with_web();
    let picture = drawn("overview", &run);
    assert!(picture.says("Download in all") && picture.says("everything on the link"), "{:?}", picture.words());
    assert!(!picture.says("Upload in all"), "its bytes are unknown");
    let rates = |line: &read_back::Stroke| line.points.iter().map(|(_, y)| picture.value(*y)).collect::<Vec<_>>();
    let lines = picture.lines(THEME.ink);
    let everything =
        lines.iter().map(|line| rates(line)).filter(|rates| rates.iter().all(|rate| (rate - 20.0).abs() < 0.1));
    assert_eq!(everything.count(), 1, "a line at 20 Mbit/s");
    let sum = rates(picture.lines(THEME.muted).first().expect("the sum of the streams"));
    let mean = sum.iter().sum::<f64>() / sum.len() as f64;
    assert!((mean - run.down.sum.0 as f64 / 1e6).abs() < 0.5, "{mean}");
    let (mut without, _) = with_web();
    without.phases = Made::fq_codel().analysis().phases;
    assert!(!drawn("overview", &without).says("Download in all"));
}

#[test]
fn streams_of_one_class_that_the_plan_sets_apart_have_colours_of_their_own() {
    let controls = ["reno", "cubic", "bbr"];
    let mut run = Made::fq_codel().analysis();
    for goodput in [&mut run.down, &mut run.up] {
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
    for goodput in [&mut run.down, &mut run.up] {
        goodput.flows.iter_mut().for_each(|flow| flow.flow.parameters.clear());
    }
    let alike = drawn("download", &run);
    assert_eq!(alike.lines(THEME.best_effort).len(), controls.len());
    assert!(alike.lines(THEME.variants[0]).is_empty());
}
