//! Delay by direction: the round trip above, the way up and the way down below it, on one axis.

use rrul_analysis::Analysis;
use rrul_analysis::flow_label::FlowLabel;
use rrul_analysis::metrics::delay::one_way_delay::LegDelay;
use rrul_analysis::metrics::delay::round_trip_delay::PhaseDelays;
use rrul_analysis::packets::probe_pool::{of_one_kind, pooled};
use rrul_analysis::series::DelayPoint;
use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;

use crate::chart::Chart;
use crate::delay_sample::{nanoseconds, pooled_packets};
use crate::drawing::axis::Axis;
use crate::drawing::figure::{Dash, Fill};
use crate::drawing::flow_look::flow_looks;
use crate::panels::bins::Bins;
use crate::panels::delay_panel::{increase, loss_strokes};
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel};
use crate::text::label::Naming;
use crate::text::pooled_probes::pooled_name;
use crate::text::sections::unknown_queueing;

/// Height of a panel, pixels.
const HEIGHT: f64 = 180.0;
/// Bins with fewer than a handful of packets have no median worth drawing.
const FINEST: f64 = 0.2;

/// The panel of the round trip.
const ROUND_TRIP: &str = "Round-trip delay";

/// Delay by direction over time.
pub(crate) const CHART: Chart =
    Chart::over_time("delay_by_direction", "queueing and one-way delay over time, by direction", show);

/// Both directions without the panel of the round trip, for surfaces that have one already.
pub(super) fn show_directions(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = show(run, scene);
    shown.panels.retain(|panel| panel.title != ROUND_TRIP);
    shown
}

/// The round trip of every probe flow, with the pooled probes together.
pub(super) fn show_round_trip(run: &Analysis, scene: &Scene<'_>) -> Shown {
    if run.round_trip_delay.flows.iter().all(|flow| flow.series.is_empty()) {
        return Shown { missing: vec!["No delay probes in this run.".to_owned()], ..Shown::default() };
    }
    let bins = scene.bins(FINEST);
    let flows: Vec<Flow<'_>> =
        run.round_trip_delay.flows.iter().map(|flow| (&flow.flow, flow.series.as_slice(), &flow.delays)).collect();
    let mut panel = panel(ROUND_TRIP, &flows, scene, &bins, pooled_packets(run));
    panel.how = "median of each probe flow".into();
    panel.headline = Some(("increase under load, median".to_owned(), increase(&run.round_trip_delay.pooled)));
    if let Some(all) = panel.lines.last_mut().filter(|line| line.name.is_empty()) {
        all.name = pooled_name(&[run]).into();
        all.figures = figures(&run.round_trip_delay.pooled);
    }
    panel.facts.push(format!("packets: {}", crate::text::words::loss(run.loss.round_trips)));
    let notes = vec![
        super::bins_words(&[bins.width]),
        format!(
            "Delay: medians of the packets sent in a bin, a lost packet counting as infinitely late; gray: lowest to highest of {}; \
             red strokes: lost ones of these.",
            pooled_name(&[run])
        ),
    ];
    Shown { panels: vec![panel], notes, missing: Vec::new() }
}

fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let delays = &run.one_way_delay;
    let Some(clocks) = delays.clocks.as_ref().filter(|_| delays.legs.iter().any(|leg| !leg.series.is_empty())) else {
        let missing =
            "Delay by direction is unknown: no packets with timestamps of both hosts in both directions.".to_owned();
        return Shown { missing: vec![missing], ..Shown::default() };
    };
    let bins = scene.bins(FINEST);
    let mut round_trip = round_trip(run, scene, &bins);
    round_trip.how = "round trip, median of each UDP probe flow".into();

    let mut panels = vec![round_trip];
    let bound = Delay(clocks.bound_ns);
    let pooled_classes: Vec<ServiceClass> =
        pooled(&run.round_trip_delay.flows).iter().map(|flow| flow.flow.class).collect();
    for direction in Direction::ALL.into_iter().rev() {
        let legs: Vec<&LegDelay> = delays.legs.iter().filter(|leg| leg.direction == direction).collect();
        let flows: Vec<Flow<'_>> =
            legs.iter().map(|leg| (&leg.flow, leg.series.as_slice(), &leg.delays.one_way_delay)).collect();
        let pooled = legs.iter().filter(|leg| pooled_classes.contains(&leg.flow.class)).flat_map(|leg| &leg.series);
        let title = direction.select("One-way delay up", "One-way delay down");
        let mut panel = panel(title, &flows, scene, &bins, pooled);
        panel.how = format!("clocks synchronized; error of the whole panel up to ±{bound}");
        let queueing = &delays.direction(direction).queueing_delay;
        let added = match (clocks.unknown_reason(direction), &queueing.load) {
            (Some(_), _) => "not known".to_owned(),
            (None, Some(load)) => load.p50.map_or_else(|| "lost".to_owned(), |delay| delay.to_string()),
            (None, None) => "–".to_owned(),
        };
        panel.headline = Some(("queueing delay under load, median".to_owned(), added));
        panels.push(panel);
    }
    let mut notes = vec![
        super::bins_words(&[bins.width]),
        format!(
            "One-way delays assume that the smallest round trip is half up and half down: the error is opposite in the two directions, at most {bound}. The shape over time and the queueing delay do not depend on it."
        ),
        format!(
            "Thick line: {}; gray: lowest to highest of these; red strokes: lost ones of these.",
            pooled_name(&[run])
        ),
    ];
    notes.extend(unknown_queueing(clocks).into_iter().map(|(what, why)| format!("{what} is not known: {why}.")));
    if let Some(why) = &clocks.skew_uncertain {
        notes.push(format!("The clocks' drift is uncertain ({why}), so one-way delays may rise or fall by it."));
    }
    Shown { panels, notes, missing: Vec::new() }
}

/// The round trips of those flows that are pooled.
pub(super) fn round_trip(run: &Analysis, scene: &Scene<'_>, bins: &Bins) -> TimePanel {
    let flows: Vec<Flow<'_>> = of_one_kind(&run.round_trip_delay.flows)
        .into_iter()
        .map(|flow| (&flow.flow, flow.series.as_slice(), &flow.delays))
        .collect();
    let mut panel = panel(ROUND_TRIP, &flows, scene, bins, pooled_packets(run));
    panel.headline = Some(("increase under load, median".to_owned(), increase(&run.round_trip_delay.pooled)));
    panel
}

/// Who, each packet, and the statistics.
type Flow<'a> = (&'a FlowLabel, &'a [DelayPoint], &'a PhaseDelays);

fn panel<'p>(
    title: &str,
    flows: &[Flow<'_>],
    scene: &Scene<'_>,
    bins: &Bins,
    all: impl Iterator<Item = &'p DelayPoint>,
) -> TimePanel {
    let mut panel = TimePanel::new(title, Quantity::Delay, "delay", HEIGHT);
    panel.heads = vec!["idle P50", "load P50", "load P95"];
    let packets: Vec<&DelayPoint> = all.collect();
    let together = bins.delays(packets.iter().copied());
    let ends = |bin: &crate::panels::bins::DelayBin| {
        bin.lowest.zip(bin.highest).map(|(low, high)| (nanoseconds(low), nanoseconds(high)))
    };
    panel.areas.push(Area {
        range: together.iter().map(|bin| (bin.at, ends(bin))).collect(),
        fill: Fill { colour: scene.theme.range, opacity: 0.55 },
    });
    let labels: Vec<_> = flows.iter().map(|(label, ..)| *label).collect();
    for ((_, series, delays), look) in flows.iter().zip(flow_looks(&labels, Naming::Probes, scene.theme)) {
        let points = bins.delays(series.iter()).iter().map(|bin| (bin.at, bin.median.map(nanoseconds))).collect();
        let figures = figures(delays);
        panel.lines.push(TimeLine {
            name: look.name,
            points,
            colour: look.colour,
            width: 1.2,
            dash: look.dash,
            figures,
        });
    }
    if flows.len() > 1 {
        let points = together.iter().map(|bin| (bin.at, bin.median.map(nanoseconds))).collect();
        let colour = scene.theme.ink;
        // What it is stands below the chart: its figures would not be those of a flow.
        panel.lines.push(TimeLine {
            name: String::new(),
            points,
            colour,
            width: 2.0,
            dash: Dash::Solid,
            figures: Vec::new(),
        });
    }
    let strokes = |time: &Axis| loss_strokes(packets.into_iter(), time);
    panel.strokes = strokes(&scene.time).into_iter().map(|at| (at, scene.theme.alarm)).collect();
    panel
}

fn figures(delays: &PhaseDelays) -> Vec<String> {
    let of = |delay: Option<Option<Delay>>| match delay {
        None => "–".to_owned(),
        Some(None) => "lost".to_owned(),
        Some(Some(delay)) => delay.to_string(),
    };
    vec![
        of(delays.idle.as_ref().map(|statistics| statistics.p50)),
        of(delays.load.as_ref().map(|statistics| statistics.p50)),
        of(delays.load.as_ref().map(|statistics| statistics.p95)),
    ]
}
