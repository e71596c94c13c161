//! Quantiles of delay against quantiles: two runs under load, or one run idle and loaded.

use rrul_analysis::Analysis;
use rrul_model::phase::Phase;

use crate::chart::{Chart, Draw};
use crate::delay_sample::{Sample, nanoseconds};
use crate::drawing::Drawing;
use crate::drawing::figure::{Align, Dash, Line, Scale, Stroke, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{PITCH, Page, PlanePlan, fitted};
use crate::panels::delay_side::{Reach, beyond, delay_side};
use crate::panels::run_heading::{headed, short_names};
use crate::text::pooled_probes::pooled_name;
use crate::text::words;
use crate::theme::Theme;

/// Pixels each way.
const SIZE: f64 = 520.0;
/// Left edge of the words beside the panel.
const BESIDE: f64 = 630.0;
/// Quantiles drawn, evenly spaced in rank: one a pixel.
const QUANTILES: usize = 500;
/// Quantiles marked by name.
const MARKED: [(u16, &str); 5] = [(50, "P5"), (500, "P50"), (900, "P90"), (950, "P95"), (990, "P99")];
/// Right edges of the columns of figures, from the left of the table.
const COLUMNS: [f64; 2] = [170.0, 300.0];

/// The chart that shows in which part of their distributions two lots of delays differ.
pub(crate) const CHART: Chart = Chart {
    name: "qq",
    about: "quantiles of two delay distributions: two runs under load, or idle and loaded of one run",
    runs: 1..=2,
    draw: Draw::Delays(draw),
};

fn draw(runs: &[&Analysis], theme: &Theme) -> Drawing {
    let (samples, labels) = if let &[first, second] = runs {
        let names = short_names(runs, theme, 300.0);
        let of = |run| Sample::pooled(run, Phase::Load);
        ([of(first), of(second)], [0, 1].map(|index| format!("{}, loaded", names[index])))
    } else {
        let of = |phase| Sample::pooled(runs[0], phase);
        ([of(Phase::Idle), of(Phase::Load)], ["idle".to_owned(), "loaded".to_owned()])
    };
    let mut page = headed(theme, runs);
    if let Some(index) = samples.iter().position(|sample| sample.sorted.is_empty()) {
        page.message(&format!("Nothing to draw. No delays of {}.", labels[index]));
        return page.finish();
    }
    plot(&mut page, &samples, &labels, if runs.len() == 1 { theme.ink } else { theme.run(1) });
    page.footnote(&format!(
        "Each point is one quantile (nearest rank) of both: horizontal of the one, vertical of the other. On the gray line both are equal; above it the vertical one is later. Delays of {}; lost packets are infinitely late, and quantiles that fall on them are not drawn.",
        pooled_name(runs)
    ));
    page.finish()
}

/// Pairs of quantiles by nearest rank, in nanoseconds, and how many ranks fall on a loss of either.
fn pairs(first: &Sample, second: &Sample) -> (Vec<(f64, f64)>, usize) {
    let count = (first.sent().min(second.sent()) as usize).clamp(1, QUANTILES);
    // The rank of the middle of each of so many equal parts.
    let of = |sample: &Sample, part: usize| {
        let rank = (u128::from(sample.sent()) * (2 * part as u128 + 1)).div_ceil(2 * count as u128).max(1);
        sample.sorted.get(usize::try_from(rank - 1).ok()?).copied().map(nanoseconds)
    };
    let known: Vec<_> = (0..count).filter_map(|part| of(first, part).zip(of(second, part))).collect();
    let lost = count - known.len();
    (known, lost)
}

fn plot(page: &mut Page<'_>, samples: &[Sample; 2], labels: &[String; 2], colour: &'static str) {
    let [first, second] = samples;
    let (side, unit) = delay_side(&[first, second], Reach::Nearly);
    let (points, lost) = pairs(first, second);
    let quantiles = points.len() + lost;
    let scale_words = if side.scale == Scale::Logarithmic { ", logarithmic scale" } else { "" };
    let plan = PlanePlan {
        title: "Quantiles of round-trip delay",
        unit: format!("upright: {}, {}{scale_words}", labels[1], unit.name),
        note: beyond(&[first, second], &side, unit),
        x: side.clone(),
        x_words: format!("across: {}, {}{scale_words}", labels[0], unit.name),
        y: side.clone(),
        width: SIZE,
        height: SIZE,
        side_height: 0.0,
    };
    let (panel, frame) = page.plane(&plan);
    let axis = side.axis;
    let identity = vec![(axis.min, Some(axis.min)), (axis.max, Some(axis.max))];
    let grey = page.theme.axis;
    page.figure.line(
        panel,
        &Line { name: "alike", points: identity, colour: grey, width: 1.2, dash: Dash::Dashed, height: 2 },
    );
    let floor = if side.scale == Scale::Logarithmic { axis.min } else { f64::NEG_INFINITY };
    let scaled = |(x, y): (f64, f64)| ((x / unit.size).max(floor), (y / unit.size).max(floor));
    let inside = |point: &(f64, f64)| side.reaches(point.0) && side.reaches(point.1);
    let dots: Vec<_> = points.into_iter().map(scaled).filter(inside).collect();
    page.figure.dots(panel, "quantiles", &dots, Stroke { colour, width: 3.5, opacity: 0.6, height: 3 });
    let small = TextStyle::left(11.5, Weight::SemiBold, page.theme.ink);
    let figures = MARKED.map(|(per_mille, _)| samples.each_ref().map(|sample| sample.percentile(per_mille)));
    let mut written: Option<(f64, f64)> = None;
    for ((_, name), [x, y]) in MARKED.into_iter().zip(&figures) {
        let Some(at) = x.zip(*y).map(|(x, y)| scaled((nanoseconds(x), nanoseconds(y)))).filter(inside) else {
            continue;
        };
        let ring = Stroke { colour: page.theme.ink, width: 8.0, opacity: 1.0, height: 5 };
        page.figure.dots(panel, name, &[at], ring);
        let place = (frame.left + side.part(at.0) * SIZE, frame.top + (1.0 - side.part(at.1)) * SIZE);
        // A name that would stand on another is left to the table.
        if written.is_none_or(|last| (last.0 - place.0).abs() > 30.0 || (last.1 - place.1).abs() > 13.0) {
            // Up and to the left of it: distributions rise to the right.
            page.figure.text(place.0 - 5.0, place.1 - 15.0, name, TextStyle { align: Align::Right, ..small });
            written = Some(place);
        }
    }
    let head = TextStyle { align: Align::Right, ..TextStyle::left(11.0, Weight::Regular, page.theme.muted) };
    let cell = TextStyle { size: 12.5, colour: page.theme.ink, ..head };
    for (edge, label) in COLUMNS.into_iter().zip(labels) {
        page.figure.text(BESIDE + edge, frame.top, &fitted(label, head, 118.0), head);
    }
    let mut y = frame.top + 18.0;
    page.figure.text(BESIDE, y - 18.0, unit.name, TextStyle { align: Align::Left, ..head });
    for ((_, name), row) in MARKED.into_iter().zip(figures) {
        page.figure.text(BESIDE, y, name, TextStyle { align: Align::Left, ..cell });
        for (edge, delay) in COLUMNS.into_iter().zip(row) {
            page.figure.text(BESIDE + edge, y, &unit.delay(delay), cell);
        }
        y += PITCH + 1.0;
    }
    y += 10.0;
    for (label, sample) in labels.iter().zip(samples) {
        let text = format!("{label}: {} of {} packets lost", words::count(sample.lost), words::count(sample.sent()));
        let colour = if sample.lost > 0 { page.theme.alarm } else { page.theme.muted };
        page.figure.text(BESIDE, y, &text, TextStyle { align: Align::Left, colour, ..cell });
        y += PITCH + 1.0;
    }
    if lost > 0 {
        let share = words::percent(lost as f64 / quantiles.max(1) as f64);
        let text = format!("the uppermost {share} of quantiles fall on losses");
        page.figure.text(BESIDE, y, &text, TextStyle { align: Align::Left, colour: page.theme.alarm, ..cell });
    }
}

#[cfg(test)]
mod tests {
    use rrul_model::units::Delay;

    use super::*;

    fn sample(delays: &[i64], lost: u64) -> Sample {
        Sample { sorted: delays.iter().copied().map(Delay).collect(), lost }
    }

    #[test]
    fn quantiles_of_small_samples_agree_with_those_worked_by_hand() {
        // Three parts; their middles are at 1/6, 3/6, 5/6: ranks 1, 2, 3 of three and 1, 3, 5 of six.
        let (points, lost) = pairs(&sample(&[10, 20, 30], 0), &sample(&[1, 2, 3, 4, 5, 6], 0));
        assert_eq!((points, lost), (vec![(10.0, 1.0), (20.0, 3.0), (30.0, 5.0)], 0));
        // One of three lost: the last rank of the first.
        let (points, lost) = pairs(&sample(&[10, 20], 1), &sample(&[1, 2, 3, 4, 5, 6], 0));
        assert_eq!((points.len(), lost), (2, 1));
    }
}
