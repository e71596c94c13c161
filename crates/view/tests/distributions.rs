//! Charts of distributions and totals read back from their SVG: what is drawn is what was measured.

mod pages;
mod read_back;
mod synthetic;

use read_back::{Picture, Point, Stroke};
use rrul_analysis::Analysis;
use rrul_analysis::analysis::DelayPoint;
use rrul_analysis::metrics::page_load::LoadOutcome;
use rrul_analysis::run_confidence::RunConfidence;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_view::{Grouping, Theme, ViewError, chart_named, svg};
use synthetic::{
    MILLISECOND, Made, Random, SECOND, by_phase, delay_flow, direction_goodput, goodput_flow, label, nothing, phases,
    rate_point,
};

const THEME: Theme = Theme::LIGHT;
/// Every chart of this file, with a number of runs that it takes.
const CHARTS: [(&str, usize); 9] = [
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
/// Charts write tenths of pixels.
const PIXELS: f64 = 0.11;

fn drawn(name: &str, runs: &[&Analysis]) -> Picture {
    Picture::of(
        &svg(chart_named(name).expect("the chart is on the shelf"), runs, &THEME).expect("it takes so many runs"),
    )
}

/// A run whose one probe sees these delays idle and these under load, milliseconds; `None` is a loss.
fn run(idle: &[Option<f64>], load: &[Option<f64>]) -> Analysis {
    let phases = phases(5, 60, 5);
    let spread = |delays: &[Option<f64>], from: i64, length: i64| -> Vec<DelayPoint> {
        let step = length / delays.len().max(1) as i64;
        let point = |(index, delay): (usize, &Option<f64>)| DelayPoint {
            at: TestTime(from + step * index as i64),
            delay: delay.map(|ms| Delay((ms * 1e6) as i64)),
        };
        delays.iter().enumerate().map(point).collect()
    };
    let mut packets = spread(idle, 0, 5 * SECOND);
    packets.extend(spread(load, 5 * SECOND, 60 * SECOND));
    let flow = label(9, "udp_probe", Component::Realtime, None, AddressFamily::Ipv4, ServiceClass::EF);
    let flow = delay_flow(flow, packets, &phases);
    Analysis {
        round_trip_delay: flow.delays.clone(),
        loss: flow.loss,
        delay_flows: vec![flow],
        phases,
        title: "made".to_owned(),
        ..nothing()
    }
}

/// The value at a pixel on the axis whose figures stand below `from.1`, between these edges; `logarithmic` or not.
fn across(picture: &Picture, edges: (f64, f64), from: Point, logarithmic: bool) -> f64 {
    let figures = picture.texts.iter().filter(|text| text.anchor == "middle" && text.at.1 > from.1);
    let figures: Vec<(f64, Point)> = figures
        .filter(|text| (edges.0 - 1.0..=edges.1 + 1.0).contains(&text.at.0))
        .filter_map(|text| Some((text.words.replace(',', "").parse().ok()?, text.at)))
        .collect();
    let nearest = figures.iter().map(|figure| figure.1.1).fold(f64::INFINITY, f64::min);
    let row: Vec<_> = figures.into_iter().filter(|figure| figure.1.1 - nearest < 2.0).collect();
    let (first, last) = (row[0], row[row.len() - 1]);
    let part = (from.0 - first.1.0) / (last.1.0 - first.1.0);
    if logarithmic { first.0 * (last.0 / first.0).powf(part) } else { first.0 + part * (last.0 - first.0) }
}

/// The share at a height, read from the figures in per cent at the left.
fn share(picture: &Picture, y: f64) -> f64 {
    let at = |words: &str| {
        picture.texts.iter().find(|text| text.words == words && text.anchor == "end" && text.at.0 < 66.0).unwrap().at.1
    };
    (y - at("0 %")) / (at("100 %") - at("0 %"))
}

const PLANE: (f64, f64) = (66.0, 706.0);

fn strokes<'p>(picture: &'p Picture, colour: &str, dashed: bool) -> Vec<&'p Stroke> {
    // Samples in legends stand beside the panel.
    let inside = |stroke: &&Stroke| stroke.points.iter().all(|point| point.0 <= PLANE.1 + 1.0);
    let of = picture.strokes.iter().filter(inside);
    of.filter(|stroke| stroke.colour == colour && stroke.dashed == dashed).collect()
}

/// The corners of a step line, in the values of its axes.
fn corners(picture: &Picture, line: &Stroke, logarithmic: bool) -> Vec<Point> {
    line.points.iter().map(|point| (across(picture, PLANE, *point, logarithmic), share(picture, point.1))).collect()
}

#[track_caller]
fn passes(corners: &[Point], x: f64, y: f64) {
    let near = |corner: &Point| (corner.0 - x).abs() < 0.02 * x && (corner.1 - y).abs() < 0.002;
    assert!(corners.iter().any(near), "no corner at {x}, {y} in {corners:?}");
}

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
    for words in ["20 % lost under load", "round-trip delay, ms", "20 %", "30.0"] {
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
fn twenty_five_runs_have_colours_of_their_own_and_stay_small() {
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
    let red = strokes(&picture, THEME.alarm, false);
    let ends = red.iter().flat_map(|stroke| &stroke.points).map(|point| point.0).fold(0.0, f64::max);
    assert!((ends - 780.0).abs() < PIXELS, "{red:?}");
    assert!(picture.says("lost") && picture.says("10 %"), "{:?}", picture.words());
}

/// One stream each way at these rates in Mbit/s, and a probe that sees these delays.
fn loaded(down: impl Fn(i64) -> f64, up: f64, idle: &[Option<f64>], load: &[Option<f64>]) -> Analysis {
    let goodput = |direction, rate: &dyn Fn(i64) -> f64| {
        let series = (50..650).map(|step| rate_point(step * SECOND / 10, (rate(step) * 1e6) as u64)).collect();
        let flow = label(1, "bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, ServiceClass::BE);
        direction_goodput(vec![goodput_flow(flow, series)])
    };
    Analysis { down: goodput(Direction::Down, &down), up: goodput(Direction::Up, &|_| up), ..run(idle, load) }
}

/// The right ends of the bars of a width, from the highest to the lowest, in the values of the axis below them.
fn bars(picture: &Picture, edges: (f64, f64), colours: &[&str], width: f64) -> Vec<f64> {
    let mut ends: Vec<Point> = picture
        .strokes
        .iter()
        .filter(|one| colours.contains(&one.colour.as_str()) && (one.width - width).abs() < 0.01)
        .map(|one| one.points[one.points.len() - 1])
        .filter(|end| (edges.0 - 1.0..=edges.1 + 1.0).contains(&end.0))
        .collect();
    ends.sort_by(|a, b| a.1.total_cmp(&b.1));
    ends.into_iter().map(|end| across(picture, edges, end, false)).collect()
}

#[track_caller]
fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    let alike = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(found.len() == expected.len() && alike, "{found:?} is not {expected:?}");
}

#[test]
fn totals_are_sums_with_the_delay_that_they_cost() {
    let first = loaded(|_| 17.0, 6.0, &[Some(10.0)], &[Some(50.0), Some(50.0), Some(90.0)]);
    let second = loaded(|_| 12.0, 7.0, &[Some(10.0)], &[Some(20.0)]);
    let picture = drawn("totals", &[&first, &second]);
    let colours = [THEME.run(0), THEME.run(1)];
    near(&bars(&picture, (200.0, 500.0), &colours, 14.0), &[17.0, 6.0, 12.0, 7.0], 0.02);
    // Loaded P50 50 and P95 90 less idle 10; 20 less 10 twice.
    near(&bars(&picture, (676.0, 976.0), &colours, 14.0), &[40.0, 80.0, 10.0, 10.0], 0.1);
    for words in [
        "sum of all streams of a direction",
        "download 17.0 Mbit/s",
        "upload 7.00 Mbit/s",
        "median +40.0 ms",
        "P95 +80.0 ms",
    ] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
    let none = drawn("totals", &[&run(&[], &[Some(20.0)]), &first]);
    assert!(none.says("no download streams") && none.says("median: no idle delay"), "{:?}", none.words());
}

#[test]
fn bars_of_single_runs_bear_their_bootstrap_intervals() {
    let delays: Vec<Option<f64>> = (0..3_000).map(|step| Some(20.0 + f64::from(step % 50))).collect();
    let made = loaded(|step| if step / 40 % 2 == 0 { 18.0 } else { 14.0 }, 6.0, &[Some(10.0)], &delays);
    let picture = drawn("bars", &[&made]);
    let confidence = RunConfidence::of(&made);
    let colours = [THEME.run(0)];
    near(&bars(&picture, (200.0, 490.0), &colours, 15.0)[..1], &[made.down.sum.megabits()], 0.03);
    let down = confidence.down.unwrap();
    let whiskers: Vec<&Stroke> =
        picture.strokes.iter().filter(|one| one.colour == THEME.ink && (one.width - 1.5).abs() < 0.01).collect();
    let ends: Vec<f64> =
        whiskers[0].points[..2].iter().map(|point| across(&picture, (200.0, 490.0), *point, false)).collect();
    near(&ends, &[down.low / 1e6, down.high / 1e6], 0.03);
    assert!(down.high > down.low + 1e5);
    let p50 = confidence.delay_p50.unwrap();
    let words = format!("{:.1} ({:.1} to {:.1})", 44.0, p50.low / 1e6, p50.high / 1e6);
    assert!(picture.says(&words), "{words:?} is not in {:?}", picture.words());
    assert!(picture.says("sum of all streams") && picture.says("block bootstrap"), "{:?}", picture.words());
}

#[test]
fn bars_of_groups_are_medians_with_intervals_by_ranks() {
    let titled = |title: &str, down: f64| Analysis {
        title: title.to_owned(),
        ..loaded(move |_| down, 6.0, &[Some(10.0)], &[Some(20.0)])
    };
    let runs: Vec<Analysis> = [10.0, 11.0, 12.0, 13.0, 14.0, 15.0, 16.0]
        .map(|rate| titled("cake", rate))
        .into_iter()
        .chain([4.0, 5.0].map(|rate| titled("none", rate)))
        .collect();
    let runs: Vec<&Analysis> = runs.iter().collect();
    let drawing = chart_named("bars").unwrap().draw_grouped(&runs, &Grouping::By("title".to_owned()), &THEME).unwrap();
    let text = rrul_view::svg::with_renderer(|renderer| renderer.svg(&drawing)).unwrap();
    let picture = Picture::of(&text);
    let colours = [THEME.run(0), THEME.run(1)];
    near(&bars(&picture, (200.0, 490.0), &colours, 15.0)[..2], &[13.0, 4.0], 0.03);
    for words in ["cake (7 runs)", "13.0 (10.0 to 16.0)", "none (2 runs)", "4.00 (no interval)", "at least six runs"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
    let error =
        chart_named("ecdf").unwrap().draw_grouped(&runs, &Grouping::By("title".to_owned()), &THEME).unwrap_err();
    assert!(matches!(error, ViewError::Grouping { chart: "ecdf" }), "{error}");
}

#[test]
fn an_ellipse_lies_around_the_means_one_deviation_wide() {
    // Whole seconds by turns at 10 and 14 Mbit/s, delays by turns of two seconds at 20 and 40 ms: independent.
    let delays: Vec<Option<f64>> = (0..3_000).map(|step| Some(if step / 100 % 2 == 0 { 20.0 } else { 40.0 })).collect();
    let made = loaded(|step| if step / 10 % 2 == 0 { 10.0 } else { 14.0 }, 6.0, &[], &delays);
    let picture = drawn("ellipse", &[&made]);
    let line = picture.lines(THEME.run(0))[0];
    let xs: Vec<f64> = line.points.iter().map(|point| across(&picture, PLANE, *point, false)).collect();
    let ys: Vec<f64> = line.points.iter().map(|point| picture.value(point.1)).collect();
    let ends = |values: &[f64]| {
        [values.iter().copied().fold(f64::INFINITY, f64::min), values.iter().copied().fold(f64::NEG_INFINITY, f64::max)]
    };
    // 60 bins, half of them 10 from the mean of 30, or 2 from that of 12: sd is that times sqrt(60/59).
    let factor = (60.0_f64 / 59.0).sqrt();
    near(&ends(&xs), &[30.0 - 10.0 * factor, 30.0 + 10.0 * factor], 0.15);
    near(&ends(&ys), &[12.0 - 2.0 * factor, 12.0 + 2.0 * factor], 0.05);
    for words in ["Bins of 1 s", "delay, mean", "30.0", "12.0", "60", "one standard deviation"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
    assert!(picture.says("a stroke: the rate never varied"), "the upload is constant: {:?}", picture.words());
}

#[test]
fn too_few_bins_give_words_in_the_place_of_an_ellipse() {
    let mut made = loaded(|_| 10.0, 6.0, &[], &[]);
    let packets =
        (0..2).map(|second| DelayPoint { at: TestTime((10 + second) * SECOND), delay: Some(Delay(20 * MILLISECOND)) });
    let flow = label(9, "udp_probe", Component::Realtime, None, AddressFamily::Ipv4, ServiceClass::EF);
    made.delay_flows = vec![delay_flow(flow, packets.collect(), &made.phases)];
    made.round_trip_delay = by_phase(&made.delay_flows[0].series, &made.phases);
    let picture = drawn("ellipse", &[&made]);
    assert!(
        picture.says("no ellipse: 2 bins, of 3 needed; 58 bins without median or rate left out"),
        "{:?}",
        picture.words()
    );
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
    assert!(drawn("qq", &[&run(&[], &first)]).says("There are no delays of idle."));
}

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
fn the_same_runs_give_the_same_bytes_and_no_run_a_refusal() {
    let made = pages::scored(Made::fq_codel().analysis(), &[1_000, 1_200], &[2_000, 4_000]);
    let other = pages::scored(Made::pfifo().analysis(), &[1_000, 1_200], &[2_000, 9_000]);
    for (name, most) in CHARTS {
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
fn what_runs_do_not_have_is_said() {
    for (name, most) in CHARTS {
        let empty = nothing();
        let picture = drawn(name, &vec![&empty; most]);
        let said = ["Nothing to draw.", "No streams under load", "never"];
        assert!(said.iter().any(|words| picture.says(words)), "{name}: {:?}", picture.words());
    }
}

#[test]
fn a_run_and_a_class_have_their_colour_in_every_chart() {
    let made = pages::scored(Made::fq_codel().analysis(), &[1_000], &[2_000]);
    for name in ["ecdf", "ccdf", "box"] {
        let picture = drawn(name, &[&made]);
        for colour in [THEME.expedited, THEME.best_effort, THEME.background_class] {
            assert!(picture.strokes.iter().any(|stroke| stroke.colour == colour), "{name} without {colour}");
        }
    }
    for (name, _) in CHARTS.into_iter().filter(|(name, most)| *most == 2 && *name != "qq") {
        let picture = drawn(name, &[&made, &made]);
        for index in [0, 1] {
            assert!(
                picture.strokes.iter().any(|stroke| stroke.colour == THEME.run(index)),
                "{name} without run {index}"
            );
        }
    }
}
