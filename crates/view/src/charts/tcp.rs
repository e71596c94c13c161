//! TCP of the load as the kernels of both ends report it: windows, round-trip time, rates, retransmitted segments.

use rrul_analysis::Analysis;
use rrul_analysis::metrics::tcp::tcp_series::{TcpReading, TcpSeries};
use rrul_model::flow::{Direction, FlowId};

use crate::chart::Chart;
use crate::drawing::flow_look::{FlowLook, flow_looks};
use crate::panels::time_chart::{Scene, Shown};
use crate::panels::time_panel::{Quantity, TimeLine, TimePanel};
use crate::text::label::Naming;
use crate::text::words;
use crate::text::words::direction_word;

/// Height of a panel, pixels.
const HEIGHT: f64 = 108.0;
/// Readings are taken each tenth of a second.
const FINEST: f64 = 0.1;

/// What the kernels say of the load's streams.
pub(crate) const CHART: Chart = Chart::over_time(
    "tcp",
    "TCP state of both hosts: windows, round-trip time, delivery and pacing rate, retransmitted segments",
    show,
);

pub(super) fn show(run: &Analysis, scene: &Scene<'_>) -> Shown {
    let mut shown = Shown::default();
    for direction in Direction::ALL {
        let streams: Vec<&TcpSeries> =
            run.tcp_series.iter().filter(|stream| stream.flow.direction == Some(direction)).collect();
        if streams.is_empty() {
            let word = direction_word(direction).to_lowercase();
            shown.missing.push(format!("No kernel state of {word} streams was recorded in this run."));
            continue;
        }
        let labels: Vec<_> = streams.iter().map(|stream| &stream.flow).collect();
        let looks = flow_looks(&labels, Naming::Streams, scene.theme);
        let panels = Panels { run, scene, direction, streams, looks }.all();
        shown.panels.extend(panels.into_iter().filter(TimePanel::has_values));
    }
    let width = scene.bins(FINEST).width;
    shown.notes = vec![
        super::bins_words(&[width]),
        "Windows, times and rates: mean of the kernel's readings (TCP_INFO) in a bin; the kernel smooths its round-trip time \
         itself. Segments: increase since the reading before, summed over a bin."
            .to_owned(),
    ];
    shown
}

/// The panels of one direction.
struct Panels<'a> {
    run: &'a Analysis,
    scene: &'a Scene<'a>,
    direction: Direction,
    streams: Vec<&'a TcpSeries>,
    looks: Vec<FlowLook>,
}

impl Panels<'_> {
    fn all(&self) -> Vec<TimePanel> {
        let (sender, receiver) = match self.direction {
            Direction::Down => ("server", "client"),
            Direction::Up => ("client", "server"),
        };
        let sender = |how: &str| format!("{how}; sender: {sender}");
        let receiver = |how: &str| format!("{how}; receiver: {receiver}");
        let mut window = self.readings("congestion window", Quantity::Octets, "window", true, |reading| {
            Some(reading.congestion_window.0 as f64)
        });
        window.how = sender("mean of each stream");
        let mut round_trip = self.readings("TCP round-trip time", Quantity::Delay, "round trip", true, |reading| {
            reading.round_trip.map(|delay| delay.0 as f64)
        });
        round_trip.how = sender("mean of each stream");
        round_trip.heads = vec!["load P50", "load P95"];
        self.put_figures(&mut round_trip, |run, flow| {
            let load = run.tcp_round_trip.iter().find(|stream| stream.flow.id == flow)?.smoothed.load?;
            let of = |delay: Option<rrul_model::units::Delay>| {
                delay.map_or_else(|| "–".to_owned(), |delay| delay.to_string())
            };
            Some(vec![of(load.p50), of(load.p95)])
        });
        let rate = |rate: Option<rrul_model::units::BitRate>| rate.map(|rate| rate.0 as f64);
        let mut delivery =
            self.readings("delivery rate", Quantity::Rate, "delivery", true, |reading| rate(reading.delivery_rate));
        delivery.how = sender("per stream, as acknowledged");
        let mut pacing =
            self.readings("pacing rate", Quantity::Rate, "pacing", true, |reading| rate(reading.pacing_rate));
        pacing.how = sender("per stream, limit of sending");
        let mut again = self.counts("retransmitted", "again", true, |reading| Some(reading.retransmitted));
        again.how = sender("segments in a bin");
        again.heads = vec!["retransmitted", "of all"];
        self.put_figures(&mut again, |run, flow| {
            let loss = run.loss.tcp.iter().find(|stream| stream.flow.id == flow)?;
            let share = f64::from(loss.retransmitted) / f64::from(loss.segments);
            let share = if loss.segments == 0 { "–".to_owned() } else { words::percent(share) };
            Some(vec![words::count(u64::from(loss.retransmitted)), share])
        });
        let mut offered = self.readings("receive window", Quantity::Octets, "offered", false, |reading| {
            Some(reading.receive_window.0 as f64).filter(|octets| *octets > 0.0)
        });
        offered.how = receiver("mean of each stream");
        let mut disorder = self.counts("out of order", "disorder", false, |reading| reading.out_of_order);
        disorder.how = receiver("segments out of order in a bin");
        vec![window, round_trip, delivery, pacing, again, offered, disorder]
    }

    /// A panel with a line of each stream that has a point.
    fn panel(
        &self,
        what: &str,
        quantity: Quantity,
        axis: &'static str,
        points: impl Fn(&TcpSeries) -> Vec<(f64, Option<f64>)>,
    ) -> TimePanel {
        let title = format!("{}: {what}", direction_word(self.direction));
        let mut panel = TimePanel::new(title, quantity, axis, HEIGHT);
        for (stream, look) in self.streams.iter().zip(&self.looks) {
            panel.lines.push(TimeLine {
                name: look.name.clone(),
                points: points(stream),
                colour: look.colour,
                width: 1.2,
                dash: look.dash,
                figures: Vec::new(),
            });
        }
        panel
    }

    fn readings(
        &self,
        what: &str,
        quantity: Quantity,
        axis: &'static str,
        at_sender: bool,
        pick: impl Fn(&TcpReading) -> Option<f64>,
    ) -> TimePanel {
        let bins = self.scene.bins(FINEST);
        self.panel(what, quantity, axis, |stream| {
            let readings = end(stream, at_sender).iter();
            bins.means(readings.filter_map(|reading| Some((reading.at.seconds(), pick(reading)?))))
        })
    }

    /// How much a counter grew in each bin.
    fn counts(
        &self,
        what: &str,
        axis: &'static str,
        at_sender: bool,
        pick: impl Fn(&TcpReading) -> Option<u32>,
    ) -> TimePanel {
        let bins = self.scene.bins(FINEST);
        self.panel(what, Quantity::Count, axis, |stream| {
            let readings: Vec<(f64, u32)> = end(stream, at_sender)
                .iter()
                .filter_map(|reading| Some((reading.at.seconds(), pick(reading)?)))
                .collect();
            let (Some(first), Some(last)) = (readings.first(), readings.last()) else { return Vec::new() };
            let mut before = 0;
            let growth = readings.iter().map(|(at, count)| {
                let grown = count.saturating_sub(before);
                before = *count;
                (*at, f64::from(grown))
            });
            bins.sums(growth, (first.0, last.0))
        })
    }

    fn put_figures(&self, panel: &mut TimePanel, figures: impl Fn(&Analysis, FlowId) -> Option<Vec<String>>) {
        for (line, stream) in panel.lines.iter_mut().zip(&self.streams) {
            line.figures = figures(self.run, stream.flow.id).unwrap_or_default();
        }
    }
}

fn end(stream: &TcpSeries, at_sender: bool) -> &[TcpReading] {
    if at_sender { &stream.sender } else { &stream.receiver }
}
