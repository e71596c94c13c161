//! Charts of page loads read back from their SVG.

use crate::pages;
use crate::planes::{THEME, across, corners, drawn, near, passes, strokes};
use crate::synthetic::Made;
use rrul_analysis::metrics::web::page_load::LoadOutcome;

#[test]
fn a_waterfall_shows_what_each_object_waited_for() {
    let made = pages::scored(Made::fq_codel().analysis(), &[1_000, 1_200, 1_400], &[2_000, 4_000, 3_000]);
    let picture = drawn("page_waterfall", &[&made]);
    let panels = [((130.0, 610.0), 1.2), ((648.0, 1128.0), 3.0)];
    for (edges, took) in panels {
        let of = |colour: &str| -> Vec<f64> {
            let strokes = picture.strokes.iter().filter(|one| one.colour == colour && one.width > 5.0);
            let points = strokes.flat_map(|one| &one.points).filter(|point| (edges.0..=edges.1).contains(&point.0));
            points.map(|point| across(&picture, edges, *point, false) / took).collect()
        };
        // The document and the refused object look up and connect; only the document has TLS.
        near(&of(THEME.background_class), &[0.0, 0.1, 0.0, 0.1], 0.004);
        near(&of(THEME.signaling), &[0.1, 0.2, 0.1, 0.2], 0.004);
        near(&of(THEME.expedited), &[0.2, 0.3], 0.004);
        // The one wanted halfway is blocked.
        near(&of(THEME.range), &[0.5, 0.6], 0.004);
        let there = picture.strokes.iter().filter(|one| one.colour == THEME.ink && (one.width - 1.2).abs() < 0.01);
        let there: Vec<f64> = there.map(|one| across(&picture, edges, one.points[0], false) / took).collect();
        assert!(there.iter().any(|at| (at - 1.0).abs() < 0.004), "{there:?}");
    }
    let red = picture.fills.iter().filter(|fill| fill.0 == THEME.alarm).count();
    assert_eq!(red, 2, "the refused object of each load");
    assert!(picture.says("idle complete after 1200 ms, under load complete after 3000 ms."), "{:?}", picture.words());
    for name in ["blocked", "DNS", "connect", "TLS", "send and wait", "receive"] {
        assert!(picture.says(name), "{name} is not in {:?}", picture.words());
    }
}

#[test]
fn page_load_times_are_a_product_limit_estimate() {
    let mut made = pages::scored(Made::fq_codel().analysis(), &[1_000, 2_000], &[2_000, 3_000, 4_000, 5_000]);
    // Of four under load: one of 1 is complete at 2 s, one cut off at 3 s, one complete at 4 s, one given up.
    let series = &mut made.page_loads[0].series;
    series[3].outcome = LoadOutcome::CutShort;
    series[5].outcome = LoadOutcome::Capped;
    let picture = drawn("page_ecdf", &[&made]);
    let colour = THEME.run(0);
    let busy = corners(&picture, strokes(&picture, colour, false)[0], false);
    for (time, part) in [(2.0, 0.0), (2.0, 0.25), (4.0, 0.25), (4.0, 0.625)] {
        passes(&busy, time, part);
    }
    assert!((busy[busy.len() - 1].1 - 0.625).abs() < 0.002, "{busy:?}");
    let idle = corners(&picture, strokes(&picture, colour, true)[0], false);
    for (time, part) in [(1.0, 0.5), (2.0, 1.0)] {
        passes(&idle, time, part);
    }
    for words in ["2+4", "rrul2025 h2", "Kaplan and Meier", "page load time, s"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}
