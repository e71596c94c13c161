//! Totals, bars with intervals and ellipses read back from their SVG.

use crate::planes::{PLANE, THEME, across, bars, drawn, loaded, near, run};
use crate::read_back::Stroke;
use crate::synthetic::{MILLISECOND, SECOND, by_phase, delay_flow, label};
use rrul_analysis::comparison::run_confidence::RunConfidence;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::{AddressFamily, Component};
use rrul_model::marking::ServiceClass;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

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
    let confidence = RunConfidence::from_analysis(&made);
    let colours = [THEME.run(0)];
    near(&bars(&picture, (200.0, 490.0), &colours, 15.0)[..1], &[made.goodput.down.sum.megabits()], 0.03);
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
fn an_ellipse_lies_around_the_means_one_deviation_wide() {
    // Whole seconds by turns at 10 and 14 Mbit/s, delays by turns of two seconds at 20 and 40 ms: independent.
    let delays: Vec<Option<f64>> = (0..3_000).map(|step| Some(if step / 100 % 2 == 0 { 20.0 } else { 40.0 })).collect();
    // The upload is the faster, so that figures rise from the one panel to the next, by which they are distinguished.
    let made = loaded(|step| if step / 10 % 2 == 0 { 10.0 } else { 14.0 }, 20.0, &[], &delays);
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
    made.round_trip_delay.flows = vec![delay_flow(flow, packets.collect(), &made.test.phases)];
    made.round_trip_delay.pooled = by_phase(&made.round_trip_delay.flows[0].series, &made.test.phases);
    let picture = drawn("ellipse", &[&made]);
    assert!(
        picture.says("no ellipse: 2 bins, of 3 needed; 58 bins without median or rate left out"),
        "{:?}",
        picture.words()
    );
}
