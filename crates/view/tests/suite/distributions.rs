//! Distributions of delay read back from their SVG: what is drawn is what was measured.

use crate::planes::{PIXELS, PLANE, THEME, across, corners, drawn, passes, run, strokes};
use crate::read_back::{Point, Stroke};
use crate::synthetic::Random;
use rrul_analysis::Analysis;
use rrul_view::chart_named;

#[test]
fn the_ecdf_has_a_step_at_every_delay_and_ends_below_one_by_what_was_lost() {
    let made = run(&[Some(10.0), Some(11.0)], &[Some(20.0), Some(30.0), Some(30.0), Some(40.0), None]);
    let picture = drawn("ecdf", &[&made]);
    let load = corners(&picture, strokes(&picture, THEME.ink, false)[0], false);
    for (delay, part) in [(20.0, 0.0), (20.0, 0.2), (30.0, 0.2), (30.0, 0.6), (40.0, 0.6), (40.0, 0.8)] {
        passes(&load, delay, part);
    }
    let end = load[load.len() - 1];
    assert!((end.1 - 0.8).abs() < 0.002 && end.0 > 40.5 - 0.6, "it goes on to the right edge: {load:?}");
    let idle = corners(&picture, strokes(&picture, THEME.ink, true)[0], false);
    for (delay, part) in [(10.0, 0.0), (10.0, 0.5), (11.0, 0.5), (11.0, 1.0)] {
        passes(&idle, delay, part);
    }
    for words in ["80.0 %", "round-trip delay, ms", "20 %", "30.0"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn thinning_does_not_change_the_curve() {
    let mut random = Random(11);
    let delays: Vec<f64> = (0..20_000).map(|_| 20.0 + 10.0 * random.uniform().powi(2)).collect();
    let some: Vec<Option<f64>> = delays.iter().copied().map(Some).collect();
    let picture = drawn("ecdf", &[&run(&some[..10], &some)]);
    let line = strokes(&picture, THEME.ink, false)[0];
    assert!(line.points.len() < 4 * 2 * 640, "{} points", line.points.len());
    let corners = corners(&picture, line, false);
    let mut sorted: Vec<f64> = delays.iter().map(|ms| (ms * 1e6).floor() / 1e6).collect();
    sorted.sort_by(f64::total_cmp);
    for (delay, part) in corners {
        // A pixel to either side: the true curve passes between.
        let at = |ms: f64| sorted.partition_point(|value| *value <= ms) as f64 / sorted.len() as f64;
        let pixel = (10.0 / 640.0, 1.0 / 400.0);
        assert!(
            at(delay - pixel.0) - pixel.1 <= part && part <= at(delay + pixel.0) + pixel.1,
            "{part} at {delay} ms, where {} is true",
            at(delay)
        );
    }
}

#[test]
fn the_tail_is_drawn_to_its_last_packet_on_a_logarithmic_axis() {
    // Of 1000 packets 990 take 20 ms, 9 take 60 and one 100.
    let mut load = vec![Some(20.0); 990];
    load.extend(vec![Some(60.0); 9]);
    load.push(Some(100.0));
    let picture = drawn("ccdf", &[&run(&[Some(20.0)], &load)]);
    let line = strokes(&picture, THEME.ink, false)[0];
    let heights: Vec<(f64, f64)> = ["P50", "P99", "P99.9"]
        .iter()
        .zip([0.5_f64, 0.01, 0.001])
        .map(|(name, part)| {
            let text = picture.texts.iter().find(|text| text.words == *name && text.at.0 < 66.0).unwrap();
            (part.log10(), text.at.1)
        })
        .collect();
    let part = |y: f64| {
        let ((a, top), (b, bottom)) = (heights[0], heights[2]);
        a + (y - top) / (bottom - top) * (b - a)
    };
    let corners: Vec<Point> =
        line.points.iter().map(|point| (across(&picture, PLANE, *point, false), part(point.1))).collect();
    for (delay, share) in [(20.0, 0.0), (60.0, -2.0), (100.0, -3.0)] {
        let near = |corner: &Point| (corner.0 - delay).abs() < 0.3 && (corner.1 - share).abs() < 0.02;
        assert!(corners.iter().any(near), "no corner at {delay} ms, 10^{share} in {corners:?}");
    }
    // P95, P99 and P99.9 by nearest rank: ranks 950, 990 and 999.
    let figures = picture.texts.iter().filter(|text| text.anchor == "end" && text.at.0 > PLANE.1);
    let figures: Vec<&str> = figures.map(|text| text.words.as_str()).filter(|words| words.contains(".0")).collect();
    assert_eq!(figures, ["20.0", "20.0", "60.0"]);
}

#[test]
fn twenty_five_runs_have_colors_of_their_own_and_stay_small() {
    let mut random = Random(5);
    let mut made = || {
        let delays: Vec<Option<f64>> = (0..3_000).map(|_| Some(20.0 + 30.0 * random.uniform())).collect();
        run(&delays[..300], &delays)
    };
    let runs: Vec<Analysis> = (0..25).map(|_| made()).collect();
    let runs: Vec<&Analysis> = runs.iter().collect();
    let drawing = chart_named("ecdf").unwrap().draw(&runs, &THEME).unwrap();
    let series = drawing.option["series"].as_array().unwrap();
    let points: usize = series.iter().map(|line| line["data"].as_array().unwrap().len()).sum();
    assert!(points < 25 * 2 * 2 * 800, "{points} points");
    let colours: std::collections::BTreeSet<&str> = series.iter().filter_map(|line| line["color"].as_str()).collect();
    assert!(colours.len() >= 20, "{colours:?}");
    let text = serde_json::to_string(&drawing.option).unwrap();
    assert!(text.contains("from dark to bright") && text.contains("25 runs"));
}

#[test]
fn a_box_reaches_from_p25_to_p75_and_its_whiskers_to_p5_and_p95() {
    // 1 to 100 ms: every percentile is its own number.
    let load: Vec<Option<f64>> = (1..=100).map(|ms| Some(f64::from(ms))).collect();
    let picture = drawn("box", &[&run(&[], &load)]);
    let colour = THEME.expedited;
    let of_width =
        |width: f64| picture.strokes.iter().find(|one| one.colour == colour && (one.width - width).abs() < 0.01);
    let xs = |stroke: &Stroke| -> Vec<f64> {
        stroke.points.iter().map(|point| across(&picture, (210.0, 780.0), *point, false)).collect()
    };
    let near = |found: &[f64], expected: &[f64]| {
        found.len() == expected.len() && found.iter().zip(expected).all(|(a, b)| (a - b).abs() < 0.1)
    };
    let whiskers = xs(of_width(1.6).unwrap());
    assert!(near(&whiskers, &[5.0, 25.0, 75.0, 95.0]), "{whiskers:?}");
    let body = xs(of_width(11.0).unwrap());
    assert!(near(&body, &[25.0, 75.0]), "{body:?}");
    let median = picture.strokes.iter().find(|one| one.colour == THEME.ink && (one.width - 2.0).abs() < 0.01).unwrap();
    assert!(near(&xs(median), &[50.0, 50.0]));
    let mut dots: Vec<f64> = picture
        .fills
        .iter()
        .filter(|fill| fill.0 == colour)
        .map(|fill| across(&picture, (210.0, 780.0), fill.1, false))
        .collect();
    dots.sort_by(f64::total_cmp);
    assert!(near(&dots, &[1.0, 100.0]), "{dots:?}");
    for words in ["UDP EF, loaded", "5.00", "25.0", "75.0", "95.0", "Whiskers: to P5 and P95"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn a_whisker_that_falls_on_losses_ends_in_red_at_the_edge() {
    let mut load = vec![Some(20.0); 90];
    load.extend(vec![None; 10]);
    let picture = drawn("box", &[&run(&[], &load)]);
    let red: Vec<&Stroke> = picture.strokes.iter().filter(|one| one.colour == THEME.alarm).collect();
    let ends = red.iter().flat_map(|stroke| &stroke.points).map(|point| point.0).fold(0.0, f64::max);
    assert!((ends - 780.0).abs() < PIXELS, "{red:?}");
    assert!(picture.says("lost") && picture.says("10 %"), "{:?}", picture.words());
}

#[test]
fn delays_far_apart_stand_on_a_logarithmic_axis() {
    let picture = drawn("ecdf", &[&run(&[Some(12.0)], &[Some(200.0), Some(300.0)])]);
    assert!(picture.says("round-trip delay, ms, logarithmic scale"), "{:?}", picture.words());
    let load = corners(&picture, strokes(&picture, THEME.ink, false)[0], true);
    for (delay, part) in [(200.0, 0.5), (300.0, 0.5), (300.0, 1.0)] {
        passes(&load, delay, part);
    }
    let idle = corners(&picture, strokes(&picture, THEME.ink, true)[0], true);
    passes(&idle, 12.0, 1.0);
}

#[test]
fn quantiles_stand_against_quantiles() {
    // The second is the first times two.
    let first: Vec<Option<f64>> = (1..=100).map(|ms| Some(f64::from(ms))).collect();
    let second: Vec<Option<f64>> = (1..=100).map(|ms| Some(f64::from(2 * ms))).collect();
    let picture = drawn("qq", &[&run(&[], &first), &run(&[], &second)]);
    let dots: Vec<Point> = picture
        .fills
        .iter()
        .filter(|fill| fill.0 == THEME.run(1))
        .map(|fill| (across(&picture, (66.0, 586.0), fill.1, false), picture.value(fill.1.1)))
        .collect();
    assert_eq!(dots.len(), 100);
    for (x, y) in dots {
        assert!((y - 2.0 * x).abs() < 0.3, "{x} against {y}");
    }
    let lossy = run(&[Some(1.0)], &[Some(1.0), Some(2.0), Some(3.0), None]);
    let picture = drawn("qq", &[&lossy, &run(&[], &first)]);
    assert!(picture.says("the uppermost 25 % of quantiles fall on losses"), "{:?}", picture.words());
    assert!(picture.says("1 of 4 packets lost"), "{:?}", picture.words());
    assert!(drawn("qq", &[&run(&[], &first)]).says("No delays of idle."));
}
