//! What is true of every chart of distributions and totals.

use crate::pages;
use crate::planes::{THEME, drawn};
use crate::synthetic::{Made, nothing};
use rrul_view::charts::CHARTS;
use rrul_view::svg;
use rrul_view::{ViewError, chart_named};

/// Every chart of this file, with a number of runs that it takes.
const OF_DISTRIBUTIONS: [(&str, usize); 9] = [
    ("ecdf", 2),
    ("ccdf", 2),
    ("box", 2),
    ("totals", 2),
    ("bars", 2),
    ("ellipse", 2),
    ("qq", 2),
    ("page_waterfall", 1),
    ("page_ecdf", 2),
];

#[test]
fn the_same_runs_give_the_same_bytes_and_no_run_a_refusal() {
    let made = pages::scored(Made::fq_codel().analysis(), &[1_000, 1_200], &[2_000, 4_000]);
    let other = pages::scored(Made::pfifo().analysis(), &[1_000, 1_200], &[2_000, 9_000]);
    for (name, most) in OF_DISTRIBUTIONS {
        let chart = chart_named(name).unwrap();
        let runs = &[&made, &other][..most];
        assert_eq!(svg(chart, runs, &THEME).unwrap(), svg(chart, runs, &THEME).unwrap(), "{name}");
        assert!(svg(chart, &runs[..1], &THEME).is_ok(), "{name} of one run");
        let error = svg(chart, &[], &THEME).unwrap_err();
        assert!(matches!(error, ViewError::Runs { given: 0, .. }), "{name}: {error}");
    }
    for (name, given) in [("qq", 3), ("page_waterfall", 2)] {
        let error = svg(chart_named(name).unwrap(), &vec![&made; given], &THEME).unwrap_err();
        assert!(error.to_string().contains("run"), "{error}");
    }
}

#[test]
fn what_runs_do_not_have_is_reported() {
    for (name, most) in OF_DISTRIBUTIONS {
        let empty = nothing();
        let picture = drawn(name, &vec![&empty; most]);
        let said = ["Nothing to draw.", "No streams under load", "never"];
        assert!(said.iter().any(|words| picture.says(words)), "{name}: {:?}", picture.words());
    }
}

#[test]
fn a_run_and_a_class_have_their_color_in_every_chart() {
    let made = pages::scored(Made::fq_codel().analysis(), &[1_000], &[2_000]);
    for name in ["ecdf", "ccdf", "box"] {
        let picture = drawn(name, &[&made]);
        for colour in [THEME.expedited, THEME.best_effort, THEME.background_class] {
            assert!(picture.strokes.iter().any(|stroke| stroke.colour == colour), "{name} without {colour}");
        }
    }
    for (name, _) in OF_DISTRIBUTIONS.into_iter().filter(|(name, most)| *most == 2 && *name != "qq") {
        let picture = drawn(name, &[&made, &made]);
        for index in [0, 1] {
            assert!(
                picture.strokes.iter().any(|stroke| stroke.colour == THEME.run(index)),
                "{name} without run {index}"
            );
        }
    }
}

/// Before and behind the table in docs/charts.md.
const TABLE: [&str; 2] = ["| chart | takes | question |\n|---|---|---|\n", "\n## How to read the overview"];

#[test]
fn the_document_lists_every_chart() {
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/charts.md");
    let written = std::fs::read_to_string(path).unwrap();
    let [head, next] = TABLE;
    let (before, rest) = written.split_once(head).expect("the head of the table");
    let (_, behind) = rest.split_once(next).expect("the section after the table");
    let row = |chart: &&rrul_view::Chart| {
        let (first, others) = chart.about.split_at(1);
        format!("| `{}` | {} | {}{others} |\n", chart.name, chart.takes(), first.to_uppercase())
    };
    let rows: String = CHARTS.iter().map(row).collect();
    let made = format!("{before}{head}{rows}{next}{behind}");
    if std::env::var("RRUL_GOLDEN").is_ok_and(|value| value == "write") {
        std::fs::write(path, made).unwrap();
    } else {
        assert!(
            made == written,
            "RRUL_GOLDEN=write cargo test -p rrul-view document writes the table of docs/charts.md"
        );
    }
}
