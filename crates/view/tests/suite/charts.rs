//! Charts read back from their SVG: what is drawn is what was measured.

use crate::read_back::Picture;
use crate::synthetic::{
    CLASSES, MILLISECOND, Made, SECOND, delay_flow, direction_goodput, goodput_flow, label, nothing, phases, rate_point,
};
use resvg::usvg::roxmltree;
use rrul_analysis::Analysis;
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::metrics::octets::link_octets::PhaseOctets;
use rrul_analysis::series::DelayPoint;
use rrul_analysis::validity::{Reason, Severity, Validity};
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use rrul_view::drawing::svg::with_renderer;
use rrul_view::{Theme, ViewError, chart_named};
use rrul_view::{png, svg};

const THEME: Theme = Theme::LIGHT;

/// The time axis shows 70 s on 786 pixels and the chart writes tenths of pixels: 0.05 s is half a pixel.
const TIME_TOLERANCE: f64 = 0.05;

fn drawn(name: &str, runs: &[&Analysis]) -> Picture {
    let chart = chart_named(name).expect("the chart is on the shelf");
    Picture::of(&svg(chart, runs, &THEME).expect("the number of runs fits"))
}

/// Four streams down, of which every one receives `rate(seconds)`; no upload; one probe that sees `delay(ms)`.
fn steady(rate: impl Fn(f64) -> u64, delay: impl Fn(i64) -> Option<Delay>) -> Analysis {
    let phases = phases(5, 60, 5);
    let series: Vec<_> = (50..650).map(|step| rate_point(step * SECOND / 10, rate(step as f64 / 10.0))).collect();
    let flows = CLASSES.iter().enumerate().map(|(id, class)| {
        let flow = label(id as u16, "bulk_tcp", Component::Load, Some(Direction::Down), AddressFamily::Ipv4, *class);
        goodput_flow(flow, series.clone())
    });
    let down = direction_goodput(flows.collect());
    let packets: Vec<_> = (0..70_000 / 20)
        .map(|step| DelayPoint { at: TestTime(step * 20 * MILLISECOND), delay: delay(step * 20) })
        .collect();
    let probe = label(9, "udp_probe", Component::Realtime, None, AddressFamily::Ipv4, ServiceClass::EF);
    let probe = delay_flow(probe, packets, &phases);
    let mut run = nothing();
    run.goodput.down = down;
    run.round_trip_delay.pooled = probe.delays.clone();
    run.loss.round_trips = probe.loss;
    run.round_trip_delay.flows = vec![probe];
    run.test.phases = phases;
    run
}

fn milliseconds(ms: i64) -> Delay {
    Delay(ms * MILLISECOND)
}

#[test]
fn a_change_of_rate_lands_where_and_when_it_happened() {
    let run = steady(|seconds| if seconds < 30.0 { 2_000_000 } else { 4_000_000 }, |_| Some(milliseconds(20)));
    let picture = drawn("overview", &[&run]);
    for colour in [THEME.best_effort, THEME.background_class, THEME.signaling, THEME.expedited, THEME.ink] {
        let line = picture.lines(colour)[0];
        let points: Vec<(f64, f64)> =
            line.points.iter().map(|(x, y)| (picture.seconds(*x), picture.value(*y))).collect();
        let (before, after) = points.split_at(points.iter().position(|point| point.1 > 3.0).unwrap());
        for ((at, rate), expected) in
            before.iter().map(|point| (*point, 2.0)).chain(after.iter().map(|point| (*point, 4.0)))
        {
            // A tenth of a pixel of 168, on an axis of 4 Mbit/s.
            assert!((rate - expected).abs() < 0.02, "{colour}: {rate} Mbit/s at {at} s, expected {expected}");
        }
        let (last, next) = (before[before.len() - 1].0, after[0].0);
        let change = f64::midpoint(last, next);
        assert!((change - 30.0).abs() < TIME_TOLERANCE, "{colour}: changes at {change} s");
        assert!((points[0].0 - 5.25).abs() < TIME_TOLERANCE, "{colour}: the first bin of 0.5 s begins at 5 s");
    }
}

#[test]
fn a_delay_lands_where_and_when_it_was() {
    let run = steady(|_| 1, |ms| Some(milliseconds(if (30_000..40_000).contains(&ms) { 80 } else { 20 })));
    let picture = drawn("overview", &[&run]);
    let line = picture.lines(THEME.ink).pop().unwrap();
    let points: Vec<(f64, f64)> = line.points.iter().map(|(x, y)| (picture.seconds(*x), picture.value(*y))).collect();
    assert_eq!(points.len(), 140, "70 s in bins of 0.5 s");
    for (at, delay) in &points {
        let expected = if (30.0..40.0).contains(at) { 80.0 } else { 20.0 };
        assert!((delay - expected).abs() < 0.1, "{delay} ms at {at} s, expected {expected}");
    }
    let rise = points.iter().position(|point| point.1 > 50.0).unwrap();
    let change = f64::midpoint(points[rise - 1].0, points[rise].0);
    assert!((change - 30.0).abs() < TIME_TOLERANCE, "rises at {change} s");
}

#[test]
fn a_lost_packet_is_marked_at_the_time_it_was_sent_and_counted() {
    let run = steady(|_| 1, |ms| if ms == 30_000 { None } else { Some(milliseconds(20)) });
    assert_eq!(run.loss.round_trips, Loss { sent: 3500, lost: 1 });
    let picture = drawn("overview", &[&run]);
    let marks: Vec<f64> =
        picture.fills.iter().filter(|fill| fill.0 == THEME.alarm).map(|fill| picture.seconds(fill.1.0)).collect();
    assert!(marks.len() == 1 && (marks[0] - 30.0).abs() < TIME_TOLERANCE, "{marks:?}");
    assert!(picture.says("1 of 3500 lost (0.03 %)"), "{:?}", picture.words());
}

#[test]
fn sums_and_means_are_distinguished_in_words() {
    let picture = drawn("overview", &[&steady(|_| 2_100_000, |_| Some(milliseconds(20)))]);
    for words in ["sum of 4 streams", "8.40 Mbit/s", "mean of 4", "2.10", "Mbit/s per stream"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn what_only_acknowledges_the_other_direction_is_noted() {
    let mut run = Made::pfifo().analysis();
    assert!(!drawn("overview", &[&run]).says("acknowledgements"), "nothing is known of them");
    let mut load = PhaseOctets::default();
    load.up.all.acknowledgement_share = Some(0.052);
    run.link_octets.load = Some(load);
    assert!(drawn("overview", &[&run]).says("acknowledgments: 5.2 % of its bytes"));
}

#[test]
fn the_increase_is_reported_with_what_it_is_made_of() {
    let run = steady(|_| 1, |ms| Some(milliseconds(if (5_000..65_000).contains(&ms) { 230 } else { 20 })));
    let picture = drawn("overview", &[&run]);
    for words in ["increase under load, median", "+210 ms", "20.0", "230"] {
        assert!(picture.says(words), "{words:?} is not in {:?}", picture.words());
    }
}

#[test]
fn packets_beyond_the_axis_are_counted_on_the_chart() {
    let run = steady(|_| 1, |ms| Some(milliseconds(if [20_000, 30_000, 40_000].contains(&ms) { 900 } else { 20 })));
    let picture = drawn("overview", &[&run]);
    // 99 of 100 packets took 20 ms; a seventh more is 22.9 ms, the next tick 25 ms.
    assert!(picture.says("3 packets above 25 ms, highest 900 ms"), "{:?}", picture.words());
}

#[test]
fn points_of_rate_beyond_the_axis_are_counted_on_the_chart() {
    // One bin of 120 at 50 Mbit/s in each of four lines; 99 of 100 points are at 2, a seventh more is 2.3, the next tick 3.
    let run = steady(
        |seconds| if (30.0..30.45).contains(&seconds) { 50_000_000 } else { 2_000_000 },
        |_| Some(milliseconds(20)),
    );
    let picture = drawn("overview", &[&run]);
    assert!(picture.says("4 points above 3 Mbit/s, highest 50.0 Mbit/s"), "{:?}", picture.words());
}

#[test]
fn the_same_run_gives_the_same_bytes() {
    for chart in ["overview", "comparison"] {
        let chart = chart_named(chart).unwrap();
        let (first, second) = (Made::pfifo().analysis(), Made::fq_codel().analysis());
        let runs = if chart.name == "overview" { vec![&first] } else { vec![&first, &second] };
        assert_eq!(svg(chart, &runs, &THEME).unwrap(), svg(chart, &runs, &THEME).unwrap());
    }
}

#[test]
fn drawings_of_one_renderer_can_share_a_page() {
    let drawing = chart_named("overview").unwrap().draw(&[&Made::fq_codel().analysis()], &THEME).unwrap();
    let pair = with_renderer(|renderer| Ok([renderer.svg(&drawing)?, renderer.svg(&drawing)?])).unwrap();
    let [first, second] = pair.each_ref().map(|svg| {
        let document = roxmltree::Document::parse(svg).unwrap();
        let names = document.descendants().filter_map(|node| node.attribute("id").map(str::to_owned));
        names.collect::<std::collections::BTreeSet<_>>()
    });
    assert!(!first.is_empty() && first.is_disjoint(&second), "{first:?} and {second:?}");
}

#[test]
fn families_of_a_class_share_its_color_and_differ_by_dash() {
    let families = vec![AddressFamily::Ipv4, AddressFamily::Ipv6];
    let picture = drawn("overview", &[&Made { families, icmp: false, ..Made::fq_codel() }.analysis()]);
    for colour in [THEME.best_effort, THEME.background_class, THEME.expedited] {
        let dashed = picture.lines(colour).iter().filter(|line| line.dashed).count();
        assert_eq!((dashed, picture.lines(colour).len()), (3, 6), "{colour}: one of two in each of three panels");
    }
    assert!(picture.says("BE v4") && picture.says("EF v6"), "{:?}", picture.words());
}

#[test]
fn every_name_in_a_legend_is_the_name_of_a_line() {
    let families = vec![AddressFamily::Ipv4, AddressFamily::Ipv6];
    let run = Made { families, streams_per_class: 2, ..Made::fq_codel() }.analysis();
    let option = chart_named("overview").unwrap().draw(&[&run], &THEME).unwrap().option;
    let lines: Vec<_> = option["series"].as_array().unwrap().iter().filter_map(|line| line["name"].as_str()).collect();
    let legends = option["legend"].as_array().unwrap();
    let names: Vec<_> = legends.iter().flat_map(|legend| legend["data"].as_array().unwrap()).collect();
    assert_eq!(names.len(), 2 * (16 + 1) + 7 + 1, "16 streams each way, 7 probes, and the means");
    for name in names {
        assert!(lines.contains(&name.as_str().unwrap()), "{name} names no line of {lines:?}");
    }
}

#[test]
fn a_long_test_with_many_flows_stays_small() {
    let families = vec![AddressFamily::Ipv4, AddressFamily::Ipv6];
    let run = Made { families, streams_per_class: 2, load_seconds: 300, ..Made::pfifo() }.analysis();
    assert_eq!(run.goodput.down.flows.len(), 16);
    let text = svg(chart_named("overview").unwrap(), &[&run], &THEME).unwrap();
    assert!(text.len() < 300_000, "{} bytes", text.len());
}

#[test]
fn what_a_run_does_not_have_is_named() {
    let picture = drawn("overview", &[&nothing()]);
    assert!(picture.says("Nothing to draw. No download streams in this run. No upload streams in this run. No delay probes in this run."), "{:?}", picture.words());
    let picture = drawn("overview", &[&steady(|_| 1, |_| None)]);
    assert!(picture.says("No upload streams in this run.") && !picture.says("Upload "), "{:?}", picture.words());
    assert!(picture.says("median lost"), "all packets were lost: {:?}", picture.words());
    assert!(drawn("comparison", &[&nothing(), &nothing()]).says("Nothing to draw."));
}

#[test]
fn doubts_stand_on_the_chart_in_red() {
    let mut run = Made::fq_codel().analysis();
    let reason = |code, severity, text: &str| Reason { code, severity, text: text.to_owned() };
    run.validity = Validity::new(
        vec![
            reason("server_far", Severity::Doubt, "the server is 120 ms away"),
            reason("no_load", Severity::Invalid, "no upload"),
            reason("family_absent", Severity::Info, "ipv6 was not tested"),
        ],
        run.validity.confidence,
    );
    let picture = drawn("overview", &[&run]);
    assert!(!picture.says("ipv6 was not tested"), "what is no doubt is in the summary alone");
    let doubts: Vec<&str> =
        picture.texts.iter().filter(|text| text.colour == THEME.alarm).map(|text| text.words.as_str()).collect();
    assert_eq!(doubts, ["Invalid (2 reasons); see summary"], "one line, counted");
    let two = drawn("comparison", &[&run, &run]);
    let line =
        "netperf.example.net (A): invalid (2 reasons); netperf.example.net (B): invalid (2 reasons); see summary";
    assert!(two.says(line), "{:?}", two.words());
}

#[test]
fn phases_are_named_above_the_first_panel() {
    let picture = drawn("overview", &[&Made::fq_codel().analysis()]);
    for (name, middle) in [("idle", 2.5), ("load", 35.0), ("after", 67.5)] {
        let text = picture.texts.iter().find(|text| text.words == name && text.anchor == "middle").unwrap();
        assert!(
            (picture.seconds(text.at.0) - middle).abs() < TIME_TOLERANCE,
            "{name} is at {}",
            picture.seconds(text.at.0)
        );
    }
}

#[test]
fn a_survey_before_the_idle_line_leaves_the_load_its_room_and_is_reported() {
    let mut run = Made::fq_codel().analysis();
    let window = Window { from: TestTime(-20 * SECOND), to: run.test.phases[0].window.from };
    run.test.phases.insert(0, PhaseWindow { phase: Phase::Survey, window });
    let overview = drawn("overview", &[&run]);
    assert!(overview.says("The survey of the idle line until second 0 is not shown"), "{:?}", overview.words());
    assert!(!overview.words().contains(&"before"));
    let idle = overview.texts.iter().find(|text| text.words == "idle" && text.anchor == "middle").unwrap();
    assert!((overview.seconds(idle.at.0) - 2.5).abs() < TIME_TOLERANCE);
    let delay = drawn("delay", &[&run]);
    assert!(delay.words().contains(&"survey") && !delay.says("The survey"), "{:?}", delay.words());
}

#[test]
fn a_title_full_of_markup_and_control_characters_is_written_as_it_is() {
    let mut run = Made::fq_codel().analysis();
    run.test.title = "<b>&\"'{a|b}\u{1}\u{FFFF}]]> €".to_owned();
    let picture = drawn("overview", &[&run]);
    assert!(picture.says("<b>&\"'{a|b} ]]> €"), "{:?}", picture.words());
}

#[test]
fn a_comparison_says_by_how_much_and_on_which_scale() {
    let named = |title, made: Made| Made { title, ..made }.analysis();
    let (pfifo, fq_codel) = (named("pfifo", Made::pfifo()), named("fq_codel", Made::fq_codel()));
    let induced = |run: &Analysis| run.round_trip_delay.pooled.induced_p50.unwrap();
    let factor = induced(&pfifo).milliseconds() / induced(&fq_codel).milliseconds();
    let picture = drawn("comparison", &[&pfifo, &fq_codel]);
    let sentence =
        format!("Under load, pfifo adds {}, fq_codel adds {}: {factor:.0}x less.", induced(&pfifo), induced(&fq_codel));
    assert!(picture.says(&sentence), "{sentence:?} is not in {:?}", picture.words());
    assert!(picture.says("ms, probes (BE and EF), logarithmic scale"), "{:?}", picture.words());
    assert!(picture.says(&pfifo.goodput.down.sum.to_string()) && picture.says(&fq_codel.goodput.up.sum.to_string()));

    let picture = drawn("comparison", &[&fq_codel, &fq_codel, &fq_codel]);
    assert!(picture.says("ms, probes (BE and EF)") && !picture.says("logarithmic"), "near delays need no logarithm");
    assert!(picture.says("fq_codel (C)") && picture.says("about the same"), "{:?}", picture.words());
}

#[test]
fn a_chart_refuses_the_wrong_number_of_runs_in_words() {
    let run = nothing();
    for (chart, given) in [
        ("overview", 0),
        ("overview", 5),
        ("comparison", 1),
        ("comparison", 5),
        ("delay", 5),
        ("download", 0),
        ("tcp", 9),
        ("markings", 5),
    ] {
        let error = svg(chart_named(chart).unwrap(), &vec![&run; given], &THEME).unwrap_err();
        assert!(matches!(error, ViewError::Runs { given: told, .. } if told == given), "{error}");
        assert!(error.to_string().contains("run"), "{error}");
    }
    assert!(chart_named("pie").is_none());
}

#[test]
fn a_chart_becomes_a_picture_of_its_size() {
    let chart = chart_named("overview").unwrap();
    let run = Made::fq_codel().analysis();
    let drawing = chart.draw(&[&run], &THEME).unwrap();
    let picture = png(&svg(chart, &[&run], &THEME).unwrap(), 1.0).unwrap();
    // PNG (ISO 15948, 11.2.2): width and height are in bytes 16 to 24, most significant first.
    let side = |at: usize| u32::from_be_bytes(picture[at..at + 4].try_into().unwrap());
    assert_eq!((side(16), side(20)), (drawing.width, drawing.height));
}
