//! Charts with two axes of values read back, and runs made up for them.
#![allow(dead_code, reason = "each test file uses its own share of this")]

use rrul_analysis::Analysis;
use rrul_analysis::measured::{Measured, TestDescription};
use rrul_analysis::metrics::delay::round_trip_delay::RoundTripDelay;
use rrul_analysis::metrics::loss::round_trip_loss::LossReport;
use rrul_analysis::metrics::rate::goodput::Goodput;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::{AddressFamily, Component, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use rrul_view::svg;
use rrul_view::{Theme, chart_named};

use crate::read_back::{Picture, Point, Stroke};
use crate::synthetic::{SECOND, delay_flow, direction_goodput, goodput_flow, label, nothing, phases, rate_point};

pub(crate) const THEME: Theme = Theme::LIGHT;

/// Charts write tenths of pixels.
pub(crate) const PIXELS: f64 = 0.11;

pub(crate) fn drawn(name: &str, runs: &[&Analysis]) -> Picture {
    Picture::of(
        &svg(chart_named(name).expect("the chart is on the shelf"), runs, &THEME).expect("it takes so many runs"),
    )
}

/// A run whose one probe sees these delays idle and these under load, milliseconds; `None` is a loss.
pub(crate) fn run(idle: &[Option<f64>], load: &[Option<f64>]) -> Analysis {
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
        measured: Measured {
            test: TestDescription { phases, title: "made".to_owned(), ..nothing().measured.test },
            loss: LossReport { round_trips: flow.loss, ..nothing().measured.loss },
            round_trip_delay: RoundTripDelay { pooled: flow.delays.clone(), families: Vec::new(), flows: vec![flow] },
            ..nothing().measured
        },
        ..nothing()
    }
}

/// The value at a pixel on the axis whose figures stand below `from.1`, between these edges; `logarithmic` or not.
pub(crate) fn across(picture: &Picture, edges: (f64, f64), from: Point, logarithmic: bool) -> f64 {
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
pub(crate) fn share(picture: &Picture, y: f64) -> f64 {
    let at = |words: &str| {
        picture
            .texts
            .iter()
            .find(|text| text.words == words && text.anchor == "end" && text.at.0 < 66.0)
            .expect("the axis is in per cent")
            .at
            .1
    };
    (y - at("0 %")) / (at("100 %") - at("0 %"))
}

pub(crate) const PLANE: (f64, f64) = (66.0, 706.0);

pub(crate) fn strokes<'p>(picture: &'p Picture, colour: &str, dashed: bool) -> Vec<&'p Stroke> {
    // Samples in legends are beside the panel.
    let inside = |stroke: &&Stroke| stroke.points.iter().all(|point| point.0 <= PLANE.1 + 1.0);
    let of = picture.strokes.iter().filter(inside);
    of.filter(|stroke| stroke.colour == colour && stroke.dashed == dashed).collect()
}

/// The corners of a step line, in the values of its axes.
pub(crate) fn corners(picture: &Picture, line: &Stroke, logarithmic: bool) -> Vec<Point> {
    line.points.iter().map(|point| (across(picture, PLANE, *point, logarithmic), share(picture, point.1))).collect()
}

#[track_caller]
pub(crate) fn passes(corners: &[Point], x: f64, y: f64) {
    let near = |corner: &Point| (corner.0 - x).abs() < 0.02 * x && (corner.1 - y).abs() < 0.002;
    assert!(corners.iter().any(near), "no corner at {x}, {y} in {corners:?}");
}

/// One stream each way at these rates in Mbit/s, and a probe that sees these delays.
pub(crate) fn loaded(down: impl Fn(i64) -> f64, up: f64, idle: &[Option<f64>], load: &[Option<f64>]) -> Analysis {
    let goodput = |direction, rate: &dyn Fn(i64) -> f64| {
        let series = (50..650).map(|step| rate_point(step * SECOND / 10, (rate(step) * 1e6) as u64)).collect();
        let flow = label(1, "bulk_tcp", Component::Load, Some(direction), AddressFamily::Ipv4, ServiceClass::BE);
        direction_goodput(vec![goodput_flow(flow, series)])
    };
    Analysis {
        measured: Measured {
            goodput: Goodput { down: goodput(Direction::Down, &down), up: goodput(Direction::Up, &|_| up) },
            ..(run(idle, load)).measured
        },
        ..run(idle, load)
    }
}

/// The right ends of the bars of a width, from the highest to the lowest, in the values of the axis below them.
pub(crate) fn bars(picture: &Picture, edges: (f64, f64), colours: &[&str], width: f64) -> Vec<f64> {
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
pub(crate) fn near(found: &[f64], expected: &[f64], tolerance: f64) {
    let alike = found.iter().zip(expected).all(|(a, b)| (a - b).abs() <= tolerance);
    assert!(found.len() == expected.len() && alike, "{found:?} is not {expected:?}");
}
