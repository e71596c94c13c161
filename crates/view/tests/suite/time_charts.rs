//! Charts over time read back from their SVG: what is drawn is what was measured, when it was.

use crate::over_time::{EVENT, furnished};
use crate::read_back::{Picture, Stroke};
use crate::synthetic::{MILLISECOND, Made, SECOND, delay_flow, direction_goodput, goodput_flow, nothing};
use resvg::usvg::roxmltree;
use rrul_analysis::Analysis;
use rrul_analysis::comparison::competition::ClientClock;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_view::charts::CHARTS;
use rrul_view::drawing::svg::with_renderer;
use rrul_view::svg;
use rrul_view::{Chart, Theme, ViewError, chart_named};

const THEME: Theme = Theme::LIGHT;

/// The charts of which [`furnished`] has everything.
const OVER_TIME: [&str; 14] = [
    "overview",
    "comparison",
    "download",
    "upload",
    "delay",
    "delay_by_direction",
    "share",
    "fairness",
    "start_slew",
    "tcp",
    "loss",
    "markings",
    "equalizer",
    "host",
];

/// 70 s on 786 pixels, written in tenths of pixels.
const TIME_TOLERANCE: f64 = 0.05;

fn steady() -> Analysis {
    let mut run =
        Made { families: vec![rrul_model::flow::AddressFamily::Ipv4], icmp: false, ..Made::fq_codel() }.analysis();
    // Every stream has 2 Mbit/s and from the event on 4; every packet takes 20 ms and from the event on 80, for ten seconds.
    for goodput in [&mut run.measured.goodput.down, &mut run.measured.goodput.up] {
        let flows = goodput.flows.clone().into_iter().map(|mut flow| {
            for point in &mut flow.series {
                point.rate.0 = if point.at.0 < EVENT * SECOND { 2_000_000 } else { 4_000_000 };
            }
            goodput_flow(flow.flow, flow.series)
        });
        *goodput = direction_goodput(flows.collect());
    }
    let flows = run.round_trip_delay.flows.clone().into_iter().map(|mut flow| {
        for point in &mut flow.series {
            let slow = (EVENT * SECOND..(EVENT + 10) * SECOND).contains(&point.at.0);
            point.delay = Some(Delay(if slow { 80 } else { 20 } * MILLISECOND));
        }
        delay_flow(flow.flow, flow.series, &run.test.phases)
    });
    run.round_trip_delay.flows = flows.collect();
    furnished(run)
}

fn drawn(name: &str, runs: &[&Analysis]) -> Picture {
    Picture::of(&svg(chart_named(name).expect("it is on the shelf"), runs, &THEME).expect("the number of runs fits"))
}

/// The points of a line as seconds and values.
fn read(picture: &Picture, line: &Stroke) -> Vec<(f64, f64)> {
    line.points.iter().map(|(x, y)| (picture.seconds(*x), picture.value(*y))).collect()
}

#[track_caller]
fn assert_follows(points: &[(f64, f64)], tolerance: f64, truth: impl Fn(f64) -> f64) {
    assert!(points.len() > 10, "{points:?}");
    for (at, value) in points {
        let expected = truth(*at);
        assert!((value - expected).abs() <= tolerance, "{value} at {at} s, expected {expected}");
    }
}

/// The number of runs that a chart takes, of these.
fn fitting<'a>(chart: &Chart, runs: &[&'a Analysis]) -> Vec<&'a Analysis> {
    let fits = |count: &usize| !matches!(chart.draw(&runs[..*count], &THEME), Err(ViewError::Runs { .. }));
    let count = (1..=runs.len()).find(fits).expect("one to four runs fit any chart");
    runs[..count].to_vec()
}

#[test]
fn every_chart_is_drawn_in_both_themes_and_the_same_runs_give_the_same_bytes() {
    let run = steady();
    let runs = [&run; 4];
    for chart in CHARTS {
        let runs = fitting(chart, &runs);
        for (theme_name, theme) in Theme::NAMED {
            let drawing = chart.draw(&runs, &theme).unwrap();
            let pair = with_renderer(|renderer| renderer.svg(&drawing)).unwrap();
            assert_eq!(pair, svg(chart, &runs, &theme).unwrap(), "{}", chart.name);
            roxmltree::Document::parse(&pair).unwrap();
            let picture = Picture::of(&pair);
            assert_eq!(picture.fills[0].0, theme.background, "{} in {theme_name}", chart.name);
            if OVER_TIME.contains(&chart.name) {
                assert_eq!(drawing.nothing, None, "{}", chart.name);
                assert!(picture.strokes.len() + picture.fills.len() > 8, "{} is empty", chart.name);
            }
        }
    }
}

#[test]
fn a_chart_of_a_run_without_anything_says_so_in_words() {
    let run = nothing();
    for chart in CHARTS.iter().filter(|chart| OVER_TIME.contains(&chart.name)) {
        let drawing = chart.draw(&fitting(chart, &[&run; 4]), &THEME).unwrap();
        let said = drawing.nothing.unwrap_or_else(|| panic!("{} shows something", chart.name));
        assert!(said.starts_with("Nothing to draw. ") && said.len() > 30, "{}: {said}", chart.name);
    }
}

#[test]
fn every_chart_has_a_name_of_its_own_and_asks_something() {
    let mut names: Vec<&str> = CHARTS.iter().map(|chart| chart.name).collect();
    names.sort_unstable();
    names.dedup();
    assert_eq!(names.len(), CHARTS.len());
    for chart in CHARTS {
        assert!((20..=120).contains(&chart.about.len()) && !chart.about.contains('\n'), "{}", chart.name);
    }
}

#[test]
fn several_runs_are_drawn_below_each_other_on_one_axis() {
    let (first, mut second) = (steady(), steady());
    for flow in &mut second.goodput.down.flows {
        flow.series.iter_mut().for_each(|point| point.rate.0 = 10_000_000);
    }
    for flow in &mut second.goodput.down.flows {
        flow.series.truncate(400);
    }
    let picture = drawn("download", &[&first, &second]);
    let lines = picture.lines(THEME.best_effort);
    assert_eq!(lines.len(), 2);
    assert_follows(&read(&picture, lines[0]), 0.04, |at| if at < 30.0 { 2.0 } else { 4.0 });
    assert_follows(&read(&picture, lines[1]), 0.04, |_| 10.0);
    let tops = picture.texts.iter().filter(|text| text.anchor == "end" && text.words == "10" && text.at.0 < 66.0);
    assert_eq!(tops.count(), 2, "one axis for both: {:?}", picture.words());
    assert!(picture.says("(A)") && picture.says("(B)"), "{:?}", picture.words());
}

#[test]
fn rates_change_when_and_where_they_did_in_download_and_upload() {
    for chart in ["download", "upload"] {
        let picture = drawn(chart, &[&steady()]);
        for colour in [THEME.best_effort, THEME.background_class, THEME.signaling, THEME.expedited, THEME.ink] {
            let points = read(&picture, picture.lines(colour)[0]);
            assert_follows(&points, 0.02, |at| if at < 30.0 { 2.0 } else { 4.0 });
            let next = points.iter().position(|point| point.1 > 3.0).unwrap();
            let change = f64::midpoint(points[next - 1].0, points[next].0);
            assert!((change - 30.0).abs() < TIME_TOLERANCE, "{chart} {colour}: changes at {change} s");
        }
        assert!(picture.says("sum of 4 streams") && picture.says("mean of 4"), "{:?}", picture.words());
    }
}

#[test]
fn delay_is_drawn_by_direction_with_what_is_not_certain_of_it() {
    let picture = drawn("delay_by_direction", &[&steady()]);
    let lines = picture.lines(THEME.ink);
    assert_eq!(lines.len(), 3, "round trip, up, down");
    for (line, truth) in lines.iter().zip([[20.0, 80.0], [10.0, 70.0], [10.0, 10.0]]) {
        let slow = |at: f64| truth[usize::from((30.0..40.0).contains(&at))];
        assert_follows(&read(&picture, line), 0.2, slow);
    }
    for words in ["error of the whole panel up to ±8.2 ms", "queueing delay under load, median", "idle P50"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
    let mut unknown = steady();
    let clocks = unknown.one_way_delay.clocks.as_mut().unwrap();
    clocks.queueing_unknown.up = Some("its queue had not drained".to_owned());
    let picture = drawn("delay_by_direction", &[&unknown]);
    assert!(picture.says("Queueing delay up is not known: its queue had not drained."), "{:?}", picture.words());
    assert_eq!(picture.texts.iter().filter(|text| text.words == "not known").count(), 1, "the way down is known");
    let alone = drawn("delay", &[&steady()]);
    assert_follows(
        &read(&alone, alone.lines(THEME.ink)[0]),
        0.2,
        |at| if (30.0..40.0).contains(&at) { 80.0 } else { 20.0 },
    );
}

#[test]
fn shares_stand_on_each_other_and_the_top_is_the_sum() {
    let picture = drawn("share", &[&steady()]);
    for (number, colour) in
        [THEME.best_effort, THEME.background_class, THEME.signaling, THEME.expedited, THEME.ink].into_iter().enumerate()
    {
        let floors = (number + 1).min(4) as f64;
        let points = read(&picture, picture.lines(colour)[0]);
        assert_follows(&points, 0.1, |at| floors * if at < 30.0 { 2.0 } else { 4.0 });
    }
    assert!(picture.says("sum of 4 streams, mean over the load") && picture.says("25 %"), "{:?}", picture.words());
}

#[test]
fn fairness_says_its_window_and_where_it_could_be() {
    let picture = drawn("fairness", &[&steady()]);
    for line in picture.lines(THEME.ink) {
        assert_follows(&read(&picture, line), 0.01, |at| if at < 30.0 { 1.0 } else { 0.5 });
    }
    for words in ["Jain's index among 4 streams, in windows of 100 ms", "1: even", "1/4: one has all", "0.70"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn the_first_bytes_are_marked_when_they_arrived() {
    let picture = drawn("start_slew", &[&steady()]);
    for (number, colour) in [THEME.best_effort, THEME.background_class, THEME.signaling].into_iter().enumerate() {
        // Samples in the legend are filled, too; they are beside the panels.
        let marks = picture.fills.iter().filter(|fill| fill.0 == colour && fill.1.0 < 853.0);
        let marks: Vec<f64> = marks.map(|fill| picture.seconds(fill.1.0)).collect();
        let expected = 5.1 + number as f64 / 10.0;
        assert_eq!(marks.len(), 2, "{colour}: one in each direction");
        assert!(marks.iter().all(|at| (at - expected).abs() < 0.005), "{colour}: {marks:?}, expected {expected}");
        assert_follows(&read(&picture, picture.lines(colour)[0]), 0.02, |_| 2.0);
    }
    for words in ["first byte", "18.0 ms", "400 ms", "1000 ms"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn tcp_is_drawn_as_both_kernels_tell_it() {
    let picture = drawn("tcp", &[&steady()]);
    let lines = picture.lines(THEME.best_effort);
    assert_eq!(lines.len(), 14, "seven panels each way");
    for (place, constant) in [(0, 100.0), (1, 40.0), (2, 2.0), (3, 3.0), (5, 3.0)] {
        for way in [0, 7] {
            assert_follows(&read(&picture, lines[place + way]), constant / 50.0, |_| constant);
        }
    }
    for (place, count) in [(4, 5.0), (6, 4.0)] {
        // Level from edge to edge of the bin.
        let highest = read(&picture, lines[place]).into_iter().filter(|(_, value)| *value > 0.1).collect::<Vec<_>>();
        assert_eq!(highest.len(), 2, "{highest:?}");
        assert!((highest[0].0 - 30.0).abs() < TIME_TOLERANCE && (highest[1].0 - 30.5).abs() < TIME_TOLERANCE);
        assert!(highest.iter().all(|(_, value)| (value - count).abs() < 0.2), "{highest:?}");
    }
    for words in ["sender: server", "receiver: client", "kB", "TCP_INFO"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn packets_are_counted_in_the_bin_in_which_they_were_sent() {
    let picture = drawn("loss", &[&steady()]);
    let level = |colour: &str, place: usize| {
        let points = read(&picture, picture.lines(colour)[place]);
        let raised: Vec<_> = points.into_iter().filter(|(_, value)| *value > 0.1).collect();
        let at: Vec<f64> = raised.iter().map(|point| point.0).collect();
        (raised.first().map_or(0.0, |point| point.1), at)
    };
    for (colour, count) in
        [(THEME.alarm, 3.0), (THEME.signaling, 1.0), (THEME.background_class, 2.0), (THEME.best_effort, 4.0)]
    {
        let (height, at) = level(colour, 0);
        assert!((height - count).abs() < 0.05, "{colour}: {height}");
        assert!(
            at.len() == 2 && (at[0] - 30.0).abs() < TIME_TOLERANCE && (at[1] - 30.5).abs() < TIME_TOLERANCE,
            "{at:?}"
        );
    }
    assert_eq!(level(THEME.alarm, 1).1, Vec::<f64>::new(), "nothing was lost on the way down");
    assert!(picture.says("lost or late, of 1000 packets") && picture.says("0.30 %"), "{:?}", picture.words());
}

#[test]
fn every_cell_of_the_matrix_says_what_arrived() {
    let picture = drawn("markings", &[&steady()]);
    for words in ["down, IPv4", "up, IPv4", "cleared to 0", "n 12 of 14", "60 preserved", "marking sweep"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
    let cells = |words: &str| picture.texts.iter().filter(|text| text.words == words).count();
    assert_eq!((cells("preserved"), cells("cleared to 0")), (7, 1), "four classes each way");
}

#[test]
fn bars_of_the_equalizer_are_as_high_as_their_points() {
    let run = steady();
    let picture = drawn("equalizer", &[&run]);
    let told = rrul_analysis::scores::equalizer::Equalizer::new(
        &run,
        &rrul_analysis::scores::score_cell::ScoreCell::all(&run),
        rrul_analysis::scores::equalizer::WINDOW,
    )
    .unwrap();
    // The panel of delay is the first; its rows are 24 pixels each, of which a full bar takes 0.86.
    let ef = told.columns.iter().find(|column| column.class == rrul_model::marking::ServiceClass::EF).unwrap();
    // All bars of a row are one shape: from the first of the idle line, and as high as that is.
    let is_row = |sides: &[f64; 4]| {
        (sides[3] - sides[1] - 24.0 * 0.86).abs() < 0.3 && (picture.seconds(sides[0]) - 0.08).abs() < 0.1
    };
    let rows = picture.boxes.iter().filter(|shape| shape.0 == THEME.expedited && is_row(&shape.1)).count();
    assert!(rows >= 3, "{:?}", picture.boxes);
    assert!(ef.delay.0[2].is_some_and(|points| points > 19.9), "{:?}", ef.delay);
    for words in ["Delay variation, up", "0 to 20 points a row", "of 20 over the load", "Pages"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn hosts_are_drawn_core_by_core_with_what_they_dropped_and_when() {
    let picture = drawn("host", &[&steady()]);
    let first = picture.lines(THEME.runs[0]);
    assert_follows(&read(&picture, first[0]), 0.5, |_| 50.0);
    assert_follows(&read(&picture, picture.lines(THEME.runs[1])[0]), 0.5, |_| 0.0);
    assert_follows(&read(&picture, picture.lines(THEME.ink)[0]), 1.0, |_| 20.0);
    let drops = read(&picture, first[1]);
    let raised: Vec<_> = drops.into_iter().filter(|(_, value)| *value > 0.1).collect();
    assert!(
        raised.len() == 2 && raised.iter().all(|(at, value)| (30.9..32.1).contains(at) && (value - 7.0).abs() < 0.2)
    );
    for words in ["Processor, client", "Send lateness, server", "Drops, server", "socket buffers"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn an_overview_of_several_runs_has_a_column_for_each_on_one_axis() {
    let (first, second) = (steady(), furnished(Made::pfifo().analysis()));
    let option = chart_named("overview").unwrap().draw(&[&first, &second], &THEME).unwrap().option;
    let grids = option["grid"].as_array().unwrap();
    assert_eq!(grids.len(), 6, "three rows of two");
    let axes = option["yAxis"].as_array().unwrap();
    for row in axes.chunks(2) {
        assert_eq!((&row[0]["min"], &row[0]["max"]), (&row[1]["min"], &row[1]["max"]));
    }
    for place in [0, 1] {
        assert_eq!(grids[place]["top"], grids[0]["top"]);
        assert!(grids[place]["left"].as_f64().unwrap() + grids[place]["width"].as_f64().unwrap() <= 852.1);
    }
    let picture = drawn("overview", &[&first, &second]);
    assert!(
        picture.says(&format!("sum {}", first.goodput.down.sum))
            && picture.says(&format!("sum {}", second.goodput.up.sum))
    );
    let line = option["series"].as_array().unwrap().iter().find(|line| line["name"] == "BE").unwrap();
    let rate = |at: f64| {
        let points = line["data"].as_array().unwrap();
        points.iter().find(|point| (point[0].as_f64().unwrap() - at).abs() < 1e-6).and_then(|point| point[1].as_f64())
    };
    assert_eq!((rate(29.75), rate(30.25)), (Some(2.0), Some(4.0)));
}

#[test]
fn what_lies_beyond_an_axis_is_counted_in_every_panel() {
    let mut run = steady();
    for flow in &mut run.tcp_series {
        // One reading of 600 in each of four streams.
        flow.sender[300].round_trip = Some(Delay(4 * SECOND));
        flow.sender[300].at = TestTime(5 * SECOND + 3 * SECOND / 10 * 100);
    }
    let picture = drawn("tcp", &[&run]);
    assert!(picture.says("points above"), "{:?}", picture.words());
}

/// The same run twice at the same time, the second half a minute later.
#[test]
fn two_runs_at_once_are_drawn_on_one_clock() {
    let clock = |origin: i64| Some(ClientClock { host: "one".to_owned(), origin: origin * SECOND });
    let (mut first, mut second) = (steady(), steady());
    (first.test.client_clock, first.test.created) = (clock(100), "2026-03-01T00:00:00Z".to_owned());
    (second.test.client_clock, second.test.created) = (clock(130), "2026-03-01T00:00:30Z".to_owned());
    for runs in [[&first, &second], [&second, &first]] {
        let picture = drawn("competition", &runs);
        let [colour, other] = [THEME.run(0), THEME.run(1)];
        // The sum of four streams changes at second 30 of each run's clock: on that of the first at 30 and at 60.
        for (colour, change) in [(colour, 30.0), (other, 60.0)] {
            let points = read(&picture, picture.lines(colour)[0]);
            assert_follows(&points, 0.1, |at| if at < change { 8.0 } else { 16.0 });
        }
        let begins = read(&picture, picture.lines(other)[0])[0].0;
        assert!((35.0..36.0).contains(&begins), "the second's load begins 5 s into it: {begins}");
        for words in
            ["Download: even after 25.0 s, the first not back", "Jain's index", "together", "began 30.0 s later"]
        {
            assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
        }
    }
    let mut elsewhere = steady();
    elsewhere.test.client_clock = None;
    assert!(
        drawn("competition", &[&first, &elsewhere]).says("Nothing to draw. The two runs were not made on one host")
    );
}
