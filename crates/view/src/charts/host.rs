//! How both hosts fared: each core, how late packets were sent, and what the hosts dropped themselves.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::host::host_series::{CoreSeries, HostSeries};
use rrul_analysis::series::DelayPoint;
use rrul_model::observation::ObservationPoint;

use crate::chart::Chart;
use crate::delay_sample::nanoseconds;
use crate::drawing::figure::{Dash, Fill};
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Area, Quantity, TimeLine, TimePanel};
use crate::text::words;

/// Height of a panel, pixels.
const HEIGHT: f64 = 150.0;
/// Cores that have a name and a look of their own; of more, all look the same.
const NAMED_CORES: usize = 8;
/// Readings of processors and drops are a second apart.
const SECOND: f64 = 1.0;
/// Length of a bin of send lateness, seconds.
const LATENESS: f64 = 0.2;

/// The two hosts over time.
pub(crate) const CHART: Chart =
    Chart::over_time("host", "CPU load, send lateness and dropped packets of the hosts", show);

pub(super) fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = Shown::default();
    for point in [ObservationPoint::Client, ObservationPoint::Server] {
        let name = point.name();
        let Some(host) = run.host_series.iter().find(|host| host.host == point) else {
            shown.missing.push(format!("The {name} reported nothing of itself over time."));
            continue;
        };
        if host.cores.is_empty() {
            shown.missing.push(format!("The {name}'s processors were not read."));
        } else {
            shown.panels.push(processor(run, host, scene));
        }
        if !host.send_lateness.is_empty() {
            shown.panels.push(lateness(run, host, scene));
        }
        match drops(host, scene) {
            Some(panel) => shown.panels.push(panel),
            None => shown.missing.push(without_drops(host)),
        }
    }
    shown.notes = vec![
        super::bins_words(&[scene.bins(SECOND).width, scene.bins(LATENESS).width]),
        "CPU: share of the time between two readings that a core was busy, steal included. Lateness: median, and in gray lowest to highest packet of a bin."
            .to_owned(),
    ];
    shown
}

fn processor(run: &Analysis, host: &HostSeries, scene: &Scene<'_>) -> TimePanel {
    let bins = scene.bins(SECOND);
    let mut panel = TimePanel::new(format!("Processor, {}", host.host.name()), Quantity::Share, "processor", HEIGHT);
    panel.how = "each core".into();
    let line = |(index, core): (usize, &CoreSeries)| {
        let points = bins.means(core.series.iter().map(|point| (point.at.seconds(), point.busy)));
        let (name, colour, dash) = match (host.cores.len() > NAMED_CORES, index < NAMED_CORES / 2) {
            (true, _) => (String::new(), scene.theme.axis, Dash::Solid),
            (false, true) => (format!("core {}", core.core), scene.theme.run(index), Dash::Solid),
            (false, false) => (format!("core {}", core.core), scene.theme.run(index), Dash::Dashed),
        };
        TimeLine { name, points, colour, width: 1.4, dash, figures: Vec::new() }
    };
    panel.lines = host.cores.iter().enumerate().map(line).collect();
    if host.cores.len() > NAMED_CORES {
        panel.facts.push(format!("a line for each of {} cores", host.cores.len()));
    }
    if let Some(load) = run.processor.iter().find(|load| load.point == host.host) {
        panel.headline = Some(("busy under load, mean of all cores".to_owned(), words::percent(load.mean)));
        panel.facts.push(format!("busiest second of one core: {}", words::percent(load.busiest_core)));
    }
    panel
}

fn lateness(run: &Analysis, host: &HostSeries, scene: &Scene<'_>) -> TimePanel {
    let bins = scene.bins(LATENESS);
    let packets: Vec<DelayPoint> =
        host.send_lateness.iter().map(|(at, delay)| DelayPoint { at: *at, delay: Some(*delay) }).collect();
    let binned = bins.delays(packets.iter());
    let mut panel = TimePanel::new(format!("Send lateness, {}", host.host.name()), Quantity::Delay, "lateness", HEIGHT);
    panel.how = "time of passing packets to the kernel, less their schedule".into();
    let ends = |bin: &crate::panels::bins::DelayBin| {
        bin.lowest.zip(bin.highest).map(|(low, high)| (nanoseconds(low), nanoseconds(high)))
    };
    panel.areas.push(Area {
        range: binned.iter().map(|bin| (bin.at, ends(bin))).collect(),
        fill: Fill { colour: scene.theme.range, opacity: 0.55 },
    });
    panel.lines.push(TimeLine {
        name: String::new(),
        points: binned.iter().map(|bin| (bin.at, bin.median.map(nanoseconds))).collect(),
        colour: scene.theme.ink,
        width: 1.6,
        dash: Dash::Solid,
        figures: Vec::new(),
    });
    // The statistics are of the probes, which the client alone sends.
    if let Some(statistics) = run.send_lateness.as_ref().filter(|_| host.host == ObservationPoint::Client) {
        let of =
            |delay: Option<rrul_model::units::Delay>| delay.map_or_else(|| "–".to_owned(), |delay| delay.to_string());
        panel.headline = Some(("of all probes, P95".to_owned(), of(statistics.p95)));
        panel.facts.push(format!("median {}, highest {}", of(statistics.p50), of(statistics.max)));
    }
    panel
}

/// Drops over time; `None` without any.
fn drops(host: &HostSeries, scene: &Scene<'_>) -> Option<TimePanel> {
    let bins = scene.bins(SECOND);
    let mut panel = TimePanel::new(format!("Drops, {}", host.host.name()), Quantity::Count, "drops", HEIGHT);
    panel.how = "packets in a bin, the whole host's".into();
    panel.heads = vec!["in all"];
    for (index, kind) in host.drops.iter().enumerate() {
        let all = kind.series.iter().map(|(_, packets)| *packets).fold(0, u64::saturating_add);
        let (Some(first), Some(last)) = (kind.series.first(), kind.series.last()) else { continue };
        let observed = (first.0.seconds(), last.0.seconds());
        panel.lines.push(TimeLine {
            name: kind.place.to_owned(),
            points: bins.sums(kind.series.iter().map(|(at, packets)| (at.seconds(), *packets as f64)), observed),
            colour: scene.theme.run(index),
            width: 1.5,
            dash: Dash::Solid,
            figures: vec![words::count(all)],
        });
    }
    let any = host.drops.iter().flat_map(|kind| &kind.series).any(|(_, packets)| *packets > 0);
    any.then_some(panel)
}

fn without_drops(host: &HostSeries) -> String {
    let name = host.host.name();
    if host.drops.is_empty() {
        return format!("What the {name} dropped was not read.");
    }
    let places: Vec<&str> = host.drops.iter().map(|kind| kind.place).collect();
    format!("The {name} dropped no packet ({}).", places.join("; "))
}
