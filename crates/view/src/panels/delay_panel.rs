//! The panel of round-trip delay: a line per probe flow, the pooled probes together, the range of packets, and losses.

use std::collections::BTreeMap;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::round_trip_delay::{DelayFlow, PhaseDelays};
use rrul_analysis::metrics::loss::packet_count::Loss;
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::AddressFamily;
use rrul_model::units::Delay;

use crate::delay_sample::{nanoseconds, pooled_packets};
use crate::drawing::axis::{Axis, Unit, readable_top, tick_words};
use crate::drawing::figure::{Align, Dash, Fill, Line, Scale, TextStyle};
use crate::drawing::font::Weight;
use crate::drawing::page::{PITCH, Page, PanelPlan, SIDE_LEFT, SIDE_RIGHT};
use crate::panels::bins::{Bins, DelayBin};
use crate::text::label::{Naming, is_icmp, names};
use crate::text::pooled_probes::pooled_label;
use crate::text::words;

/// Pixels, among other panels.
pub(crate) const HEIGHT: f64 = 228.0;
/// Steps of the vertical axis.
const STEPS: u32 = 5;
/// Most probe flows named; the figures of the others are in the summary.
const NAMED: usize = 20;
/// Room above the table, pixels.
const HEADLINE: f64 = 72.0;
/// Right edges of the columns idle P50, load P50, load P95 and lost, from the left of the column beside the panel.
const COLUMNS: [f64; 4] = [128.0, 172.0, 212.0, SIDE_RIGHT - SIDE_LEFT];
/// From the top of the table to its first row below the head, pixels.
const ROWS: f64 = 23.0;
/// Most strokes across a panel: one a pixel, and each stands for all losses within it.
const STROKES: f64 = 786.0;

pub(crate) fn medians(bins: &[DelayBin], unit: Unit) -> Vec<(f64, Option<f64>)> {
    bins.iter().map(|bin| (bin.at, bin.median.map(|delay| nanoseconds(delay) / unit.size))).collect()
}

/// The range from lowest to highest packet of bins, in a unit.
pub(crate) fn ranges(bins: &[DelayBin], unit: Unit) -> Vec<(f64, Option<(f64, f64)>)> {
    let scaled = |delay: Delay| nanoseconds(delay) / unit.size;
    bins.iter()
        .map(|bin| (bin.at, bin.lowest.zip(bin.highest).map(|(low, high)| (scaled(low), scaled(high)))))
        .collect()
}

/// The instants of losses, seconds: the first in each pixel of the time axis.
pub(crate) fn loss_strokes<'p>(packets: impl Iterator<Item = &'p DelayPoint>, time: &Axis) -> Vec<f64> {
    let mut strokes = BTreeMap::new();
    for packet in packets.filter(|packet| packet.delay.is_none()) {
        let seconds = packet.at.seconds();
        if (time.min..=time.max).contains(&seconds) {
            let first = strokes.entry(((seconds - time.min) / time.length() * STROKES) as u32).or_insert(seconds);
            *first = first.min(seconds);
        }
    }
    strokes.into_values().collect()
}

/// How many of these packets an axis up to `top` in this unit does not reach, in words; `None` when it reaches all.
pub(crate) fn beyond<'p>(packets: impl Iterator<Item = &'p DelayPoint>, top: f64, unit: Unit) -> Option<String> {
    let limit = top * unit.size;
    let above: Vec<Delay> =
        packets.filter_map(|packet| packet.delay).filter(|delay| nanoseconds(*delay) > limit).collect();
    let highest = above.iter().max()?;
    let count = words::count(above.len() as u64);
    let noun = if above.len() == 1 { "packet" } else { "packets" };
    Some(format!("{count} {noun} above {} {}, highest {highest}", tick_words(top), unit.name))
}

/// Adds the panel, for a run with probe flows; gives the width of its bins in seconds.
pub(crate) fn draw(page: &mut Page<'_>, run: &Analysis, height: f64, last: bool) -> f64 {
    let flows = &run.round_trip_delay.flows;
    let time = page.time;
    let is_shown = move |packet: &&DelayPoint| (time.min..=time.max).contains(&packet.at.seconds());
    let all = || flows.iter().flat_map(|flow| &flow.series).filter(is_shown);
    // Bins with fewer than a handful of packets have no median worth drawing: 0.2 s contains ten packets of the usual
    // 20 ms probe.
    let bins = Bins::over(page.time.min, page.time.max, 0.2);
    let together = bins.delays(pooled_packets(run));
    let everything = bins.delays(all());

    let delays: Vec<f64> = all().filter_map(|packet| packet.delay).map(nanoseconds).collect();
    let top = Axis::from_zero(readable_top(delays), STEPS);
    let unit = Unit::of_delays(top.max);
    let axis = Axis::from_zero(top.max / unit.size, STEPS);
    let note = beyond(all(), axis.max, unit);

    let shown = flows.len().min(NAMED);
    let side_height = HEADLINE + PITCH * (shown + 3 + usize::from(flows.len() > NAMED)) as f64 + 8.0;
    let (panel, frame) = page.panel(&PanelPlan {
        title: "Round-trip delay",
        unit: format!("{}, median of each probe flow", unit.name),
        note,
        axis,
        scale: Scale::Linear,
        lanes: 1,
        height,
        side_height,
        last,
    });

    page.figure.range(panel, &ranges(&everything, unit), Fill { colour: page.theme.range, opacity: 0.55 });
    let labels: Vec<_> = flows.iter().map(|flow| &flow.flow).collect();
    let named = names(&labels, Naming::Probes);
    let both_families = AddressFamily::ALL.iter().all(|family| labels.iter().any(|flow| flow.family == *family));
    for (flow, name) in flows.iter().zip(&named) {
        let dash = match flow.flow.family {
            _ if is_icmp(&flow.flow) => Dash::Dotted,
            AddressFamily::Ipv6 if both_families => Dash::Dashed,
            _ => Dash::Solid,
        };
        let points = medians(&bins.delays(flow.series.iter()), unit);
        let colour = page.theme.class(flow.flow.class);
        page.figure.line(panel, &Line { name, points, colour, width: 1.2, dash, height: 3 });
    }
    let colour = page.theme.ink;
    let points = medians(&together, unit);
    page.figure
        .line(panel, &Line { name: pooled_label(run), points, colour, width: 2.0, dash: Dash::Solid, height: 5 });
    page.figure.strokes_above(panel, &loss_strokes(all(), &page.time), axis.max, 0, page.theme.alarm);

    let mut top = frame.top - 2.0;
    headline(page, top, run);
    top += HEADLINE;
    table(page, top, unit, run, flows, &named);
    bins.width
}

/// The increase in large figures, and what it is made of.
fn headline(page: &mut Page<'_>, top: f64, run: &Analysis) {
    let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
    let delays = &run.round_trip_delay.pooled;
    page.figure.text(SIDE_LEFT, top, "increase under load, median", small);
    let headline = TextStyle::left(22.0, Weight::SemiBold, page.theme.ink);
    page.figure.text(SIDE_LEFT, top + 15.0, &increase(delays), headline);
    let lossy = run.loss.round_trips.lost > 0;
    let colour = if lossy { page.theme.alarm } else { page.theme.muted };
    let mut text = words::loss(run.loss.round_trips);
    text.insert_str(0, "packets: ");
    page.figure.text(SIDE_LEFT, top + 43.0, &text, TextStyle { colour, ..small });
}

/// The induced delay at the median with its sign, or why not.
pub(crate) fn increase(delays: &PhaseDelays) -> String {
    match (delays.induced_p50, &delays.idle, &delays.load) {
        (Some(induced), ..) if induced.0 > 0 => format!("+{induced}"),
        (Some(induced), ..) => induced.to_string(),
        (None, Some(_), Some(_)) => "median lost".to_owned(),
        (None, None, _) => "no idle delay".to_owned(),
        (None, _, None) => "no load".to_owned(),
    }
}

fn table(page: &mut Page<'_>, top: f64, unit: Unit, run: &Analysis, flows: &[DelayFlow], named: &[String]) {
    let head = TextStyle { align: Align::Right, ..TextStyle::left(10.5, Weight::Regular, page.theme.muted) };
    let figure = TextStyle { align: Align::Right, ..TextStyle::left(12.0, Weight::Regular, page.theme.ink) };
    for (edge, [phase, figure]) in
        COLUMNS.into_iter().zip([["idle", "P50"], ["load", "P50"], ["load", "P95"], ["", "lost"]])
    {
        page.figure.text(SIDE_LEFT + edge, top - 6.0, phase, head);
        page.figure.text(SIDE_LEFT + edge, top + 7.0, figure, head);
    }
    let row = |page: &mut Page<'_>, index: usize, delays: &PhaseDelays, loss: Loss, weight| {
        let of = |phase: &Option<_>,
                  pick: fn(&rrul_analysis::statistics::percentile::DelayStatistics) -> Option<Delay>| {
            phase.as_ref().map_or_else(|| "–".to_owned(), |statistics| unit.delay(pick(statistics)))
        };
        let cells = [
            of(&delays.idle, |s| s.p50),
            of(&delays.load, |s| s.p50),
            of(&delays.load, |s| s.p95),
            words::count(loss.lost),
        ];
        for (column, (edge, cell)) in COLUMNS.into_iter().zip(cells).enumerate() {
            let colour = if column == 3 && loss.lost > 0 { page.theme.alarm } else { page.theme.ink };
            let y = top + ROWS + 2.0 + PITCH * index as f64;
            page.figure.text(SIDE_LEFT + edge, y, &cell, TextStyle { weight, colour, ..figure });
        }
    };
    let shown = flows.len().min(NAMED);
    row(page, 0, &run.round_trip_delay.pooled, run.loss.round_trips, Weight::SemiBold);
    for (index, flow) in flows.iter().take(shown).enumerate() {
        row(page, index + 1, &flow.delays, flow.loss, Weight::Regular);
    }
    let mut legend = vec![pooled_label(run).to_owned()];
    legend.extend(named[..shown].iter().cloned());
    page.figure.legend(SIDE_LEFT, top + ROWS, PITCH, 12.0, &legend);
    if flows.len() > shown {
        let small = TextStyle::left(11.5, Weight::Regular, page.theme.muted);
        let text = format!("and {} more, not named here", flows.len() - shown);
        page.figure.text(SIDE_LEFT, top + ROWS + 2.0 + PITCH * (shown + 1) as f64, &text, small);
    }
}
