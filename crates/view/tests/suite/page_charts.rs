//! Charts of page loads read back from their SVG.

use crate::pages;
use crate::planes::{THEME, across, corners, drawn, near, passes, strokes};
use crate::synthetic::{MILLISECOND, Made};
use rrul_analysis::metrics::web::connections::ConnectionStatistics;
use rrul_analysis::metrics::web::page_load::LoadOutcome;
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::units::Delay;

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

#[test]
fn every_operation_has_a_bar_from_its_median_to_its_95th_percentile_idle_and_under_load() {
    let mut made = pages::scored(Made::fq_codel().analysis(), &[1_000], &[2_000]);
    let page = &mut made.page_loads[0];
    page.unloaded.as_mut().unwrap().p95_ns = Some(1_500 * MILLISECOND);
    page.loaded.as_mut().unwrap().failed = 1;
    page.loaded.as_mut().unwrap().n = 4;
    let attempts = |milliseconds: [i64; 2], lost| {
        let taken = milliseconds.map(|ms| Delay(ms * MILLISECOND)).to_vec();
        let connect = DelayStatistics::from_delays(taken, lost).unwrap();
        let (retried, syn_retransmits, over_1s) = (0, 0, 0.0);
        let answer = connect;
        ConnectionStatistics {
            connect,
            answer,
            over_1s,
            retried,
            syn_retransmits,
            unanswered: lost,
            refused: 0,
            impossible: 0,
        }
    };
    made.connections.pooled.idle = Some(attempts([20, 40], 0));
    made.connections.pooled.load = Some(attempts([100, 400], 0));
    let picture = drawn("applications", &[&made]);
    let bars: Vec<_> = picture.strokes.iter().filter(|one| (one.width - 7.0).abs() < 0.01).collect();
    let mut found: Vec<(f64, [f64; 2])> = bars
        .iter()
        .map(|bar| (bar.points[0].1, [0, 1].map(|end| across(&picture, (270.0, 750.0), bar.points[end], true))))
        .collect();
    found.sort_by(|a, b| a.0.total_cmp(&b.0));
    // The page's 95th percentile under load falls on the load that failed: its bar reaches the edge of the axis.
    let expected = [[20.0, 40.0], [100.0, 400.0], [1_000.0, 1_500.0], [2_000.0, 5_000.0]];
    assert_eq!(found.len(), expected.len(), "{found:?}");
    for ((_, ends), expected) in found.iter().zip(expected) {
        assert!(ends.iter().zip(expected).all(|(found, truth)| (found / truth - 1.0).abs() < 0.01), "{found:?}");
    }
    assert_eq!(picture.fills.iter().filter(|fill| fill.0 == THEME.alarm).count(), 1, "one 95th percentile unknown");
    let page = "1000 ms → 2000 ms, 2.0x, failed 0 % → 25 %, n 1 → 4";
    for words in ["TCP connect", "Page rrul2025 h2", "20.0 ms → 100 ms, 5.0x, n 2 → 2", page] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
    // Where most attempts fail the median is unknown: a red point at the edge, and words.
    made.connections.pooled.load = Some(attempts([100, 400], 5));
    let picture = drawn("applications", &[&made]);
    assert_eq!(picture.fills.iter().filter(|fill| fill.0 == THEME.alarm).count(), 2, "also a median unknown");
    assert!(picture.says("20.0 ms → unfinished, failed 0 % → "), "{:?}", picture.words());
    let empty = drawn("applications", &[&Made::fq_codel().analysis()]);
    assert!(empty.says("No lookup, new connection"), "{:?}", empty.words());
}
