//! A run in the form of Flent, file version 4, so that Flent plots it.
//!
//! Flent decides by the test's name which series it looks for, so a run becomes the test of Flent that it is most like
//! ([`Choice`]); flows that this test has no name for are left out, and the note in the file says so. docs/flent.md
//! says what becomes of what.

mod document;
mod grid;
mod test_choice;

use std::collections::BTreeMap;
use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::metrics::delay::one_way_delay::LegDelay;
use rrul_analysis::metrics::delay::round_trip_delay::DelayFlow;
use rrul_analysis::metrics::rate::goodput::GoodputFlow;
use rrul_analysis::metrics::tcp::stream_limits::TcpPoint;
use rrul_model::flow::{AddressFamily, Direction, FlowId};
use rrul_model::flow_kind::FlowKind;
use rrul_model::phase::Phase;
use rrul_model::time::{TestTime, Window};

pub use document::{FlentFile, Metadata, RawValue, SeriesMeta};
use grid::Grid;
pub use test_choice::{Choice, Part};

/// Distance of the values on the common grid: Flent's own default.
pub const STEP: Duration = Duration::from_millis(200);

pub fn flent_file(run: &Analysis) -> FlentFile {
    let choice = Choice::of(run);
    let span = Span::of(run);
    let mut file = FlentFile::new(metadata(run, &choice, &span), &span.grid);
    for (name, part) in &choice.series {
        match part {
            Part::Stream(direction, id) => {
                let flow = run.goodput(*direction).flows.iter().find(|entry| entry.flow.id == *id);
                if let Some(flow) = flow {
                    stream(&mut file, &span, run, name, *direction, flow);
                }
            }
            Part::Ping(id) => {
                let flow = run.round_trip_delay.flows.iter().find(|entry| entry.flow.id == *id);
                if let Some(flow) = flow {
                    ping(&mut file, &span, run, name, flow);
                }
            }
            Part::Sum(direction) => sums(&mut file, name, *direction),
            Part::Mean(prefix) => file.computed(name, "AverageRunner", prefix, grid::mean),
        }
    }
    file
}

/// The time that the file covers, and when that was.
struct Span {
    window: Window,
    load: Option<Window>,
    /// Unix seconds of the beginning of the window.
    began: f64,
    grid: Grid,
}

impl Span {
    fn of(run: &Analysis) -> Self {
        let of = |phase| run.test.phases.iter().find(|entry| entry.phase == phase).map(|entry| entry.window);
        // Flent knows of no survey before the idle line.
        let told = || [Phase::Idle, Phase::Load, Phase::After].into_iter().filter_map(of);
        let from = told().map(|window| window.from).min().unwrap_or_default();
        let window = Window { from, to: told().map(|window| window.to).max().unwrap_or(from) };
        let created = humantime::parse_rfc3339(&run.test.created).ok();
        let created = created.and_then(|created| created.duration_since(std::time::UNIX_EPOCH).ok());
        let began = created.unwrap_or_default().as_secs_f64() + from.seconds();
        Self { window, load: of(Phase::Load), began, grid: Grid::over(window.length(), STEP) }
    }

    /// Seconds from the beginning.
    fn seconds(&self, at: TestTime) -> f64 {
        at.since(self.window.from).0 as f64 / 1e9
    }

    /// Unix seconds.
    fn unix(&self, at: TestTime) -> f64 {
        self.began + self.seconds(at)
    }
}

fn metadata(run: &Analysis, choice: &Choice, span: &Span) -> Metadata {
    let seconds = |window: Window| window.length().as_secs_f64().round() as u64;
    let total = seconds(span.window);
    let began = Duration::try_from_secs_f64(span.began).unwrap_or_default();
    let began = std::time::UNIX_EPOCH.checked_add(began).unwrap_or(std::time::UNIX_EPOCH);
    let began = humantime::format_rfc3339_micros(began).to_string();
    Metadata {
        name: choice.test.to_owned(),
        title: run.test.title.clone(),
        note: choice.note.clone(),
        host: run.test.server.clone(),
        hosts: vec![run.test.server.clone()],
        local_host: String::new(),
        time: began.clone(),
        t0: began,
        length: span.load.map_or(total, seconds),
        total_length: total,
        step_size: STEP.as_secs_f64(),
        ip_version: if run.test.families == [AddressFamily::Ipv6] { 6 } else { 4 },
        test_parameters: choice.parameters.clone(),
        flent_version: concat!("rrul ", env!("CARGO_PKG_VERSION")),
        data_filename: None,
        failed_runners: run.failed_flows.len() as u64,
        series_meta: BTreeMap::new(),
    }
}

fn stream(file: &mut FlentFile, span: &Span, run: &Analysis, name: &str, direction: Direction, flow: &GoodputFlow) {
    let mut raw: Vec<RawValue> = Vec::new();
    let mut intervals = Vec::new();
    for point in &flow.series {
        let half = i64::try_from(point.over.as_nanos() / 2).unwrap_or(i64::MAX);
        let (from, to) = (TestTime(point.at.0.saturating_sub(half)), TestTime(point.at.0.saturating_add(half)));
        if to <= span.window.from || from >= span.window.to {
            continue;
        }
        intervals.push((span.seconds(from), span.seconds(to), point.rate.megabits()));
        raw.push(RawValue::rate(span.unix(to), point.over.as_secs_f64(), point.rate.megabits()));
    }
    let states: Vec<&TcpPoint> = run
        .stream_limits
        .direction(direction)
        .streams
        .iter()
        .filter(|entry| entry.flow.id == flow.flow.id)
        .flat_map(|entry| &entry.series)
        .filter(|point| span.window.contains(point.at))
        .collect();
    raw.extend(states.iter().map(|state| RawValue::state(span.unix(state.at), state)));
    raw.sort_by(|a, b| a.t.total_cmp(&b.t));
    let of_states = |value: fn(&TcpPoint) -> f64| {
        span.grid.mean_of_samples(states.iter().map(|state| (span.seconds(state.at), value(state))))
    };
    if !states.is_empty() {
        file.results.insert(format!("{name}::tcp_cwnd"), of_states(|state| f64::from(state.congestion_window)));
        file.results.insert(format!("{name}::tcp_rtt"), of_states(|state| f64::from(state.round_trip_us) / 1e3));
    }
    let length = span.load.map_or(0.0, |load| load.length().as_secs_f64());
    let megabits = flow.octets.0 as f64 * 8.0 / 1e6;
    let meta = SeriesMeta {
        mean_value: (length > 0.0).then(|| megabits / length),
        elapsed_time: Some(length),
        bytes_recvd: Some(flow.octets.0),
        data_tos: Some(flow.flow.class.octet()),
        ..SeriesMeta::new("NetperfDemoRunner", "Mbits/s")
    };
    file.insert(name, span.grid.mean_of_intervals(&intervals), raw, meta);
}

/// The way on which each packet was lost, by the time at which it was sent, and the delay on the way there.
fn on_the_way_there(run: &Analysis, id: FlowId) -> BTreeMap<TestTime, Option<f64>> {
    let up = |leg: &&LegDelay| leg.flow.id == id && leg.direction == Direction::Up;
    let points = run.one_way_delay.legs.iter().filter(up).flat_map(|leg| &leg.series);
    points.map(|point| (point.at, point.delay.map(rrul_model::units::Delay::milliseconds))).collect()
}

fn ping(file: &mut FlentFile, span: &Span, run: &Analysis, name: &str, flow: &DelayFlow) {
    let there = on_the_way_there(run, flow.flow.id);
    let packets = || flow.series.iter().filter(|point| span.window.contains(point.at));
    let raw = (0_u64..).zip(packets()).map(|(number, point)| {
        let there = there.get(&point.at);
        match point.delay {
            Some(delay) => {
                let received = TestTime(point.at.0.saturating_add(delay.0));
                let up = there.copied().flatten();
                RawValue::answered(span.unix(received), number, delay.milliseconds(), up)
            }
            None => RawValue::lost(
                span.unix(point.at),
                number,
                there.map(|there| if there.is_some() { "down" } else { "up" }),
            ),
        }
    });
    let raw: Vec<RawValue> = raw.collect();
    let answered: Vec<(f64, f64)> =
        packets().filter_map(|point| Some((span.seconds(point.at), point.delay?.milliseconds()))).collect();
    let delays = || answered.iter().map(|(_, delay)| *delay);
    let mean = (!answered.is_empty()).then(|| delays().sum::<f64>() / answered.len() as f64);
    let sent = packets().count() as u64;
    let udp = flow.flow.kind() == FlowKind::UdpProbe;
    let meta = SeriesMeta {
        mean_value: mean,
        rtt_mean: mean.filter(|_| udp),
        min_value: delays().min_by(f64::total_cmp),
        max_value: delays().max_by(f64::total_cmp),
        packets_sent: Some(sent),
        packets_received: Some(answered.len() as u64),
        packet_loss_rate: (sent > 0).then(|| (sent - answered.len() as u64) as f64 / sent as f64),
        ..SeriesMeta::new(if udp { "IrttRunner" } else { "PingRunner" }, "ms")
    };
    file.insert(name, span.grid.mean_of_samples(answered.iter().copied()), raw, meta);
}

fn sums(file: &mut FlentFile, name: &str, direction: Option<Direction>) {
    let prefix = match direction {
        Some(Direction::Up) => "TCP upload",
        Some(Direction::Down) => "TCP download",
        None => "TCP ",
    };
    file.computed(name, "SumRunner", prefix, grid::sum);
}
