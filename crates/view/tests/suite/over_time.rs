//! What charts over time show, made up for runs that are: everything that a recording would give, with a truth to name.
#![allow(dead_code, reason = "each test file uses its own share of this")]

use std::time::Duration;

use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::metrics::delay::one_way_delay::{DirectionDelay, LegDelay};
use rrul_analysis::metrics::host::host_series::{BusyPoint, CoreSeries, DropSeries, HostSeries};
use rrul_analysis::metrics::loss::packet_fate::{DirectionFate, PacketFate};
use rrul_analysis::metrics::loss::packet_fate_series::FateTimes;
use rrul_analysis::metrics::marking::code_point::{CodePoint, CodePointVerdict};
use rrul_analysis::metrics::marking::marking_path::{MarkingPath, MarkingPhase, Markings, MatrixCell, PathVerdict};
use rrul_analysis::metrics::marking::marking_tally;
use rrul_analysis::metrics::rate::start_slew::{DirectionSlew, Slew, Steps, StreamSlew};
use rrul_analysis::metrics::sharing::stream_sharing::{DirectionSharing, StreamShare};
use rrul_analysis::metrics::tcp::tcp_series::{TcpReading, TcpSeries};
use rrul_analysis::series::DelayPoint;
use rrul_analysis::statistics::jain_index::JainStatistics;
use rrul_analysis::{Analysis, LossAttribution};
use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::ObservationPoint;
use rrul_model::time::TestTime;
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::pages::scored;
use crate::synthetic::{MILLISECOND, SECOND, by_phase};

/// The instant at which everything happens that happens once, seconds.
pub(crate) const EVENT: i64 = 30;

/// The run with everything that a chart over time can show.
pub(crate) fn furnished(mut run: Analysis) -> Analysis {
    run.one_way_delay.legs = run
        .round_trip_delay
        .flows
        .iter()
        .filter(|flow| flow.flow.flow_type == "udp_probe")
        .flat_map(|flow| legs(&run, flow))
        .collect();
    run.sharing.down = Some(sharing(&run, Direction::Down));
    run.sharing.up = Some(sharing(&run, Direction::Up));
    run.start_slew.down = Some(slew(&run, Direction::Down));
    run.start_slew.up = Some(slew(&run, Direction::Up));
    run.tcp_series =
        run.goodput.down.flows.iter().chain(&run.goodput.up.flows).map(|flow| tcp(flow.flow.clone())).collect();
    run.packet_fate_series = ByDirection { up: Some(fates()), down: Some(FateTimes { lost: Vec::new(), ..fates() }) };
    run.loss.fates.up = Some(fate(3));
    run.loss.fates.down = Some(fate(0));
    run.markings = Markings { paths: vec![bleached(), preserved()], flows: Vec::new() };
    run.host_series = vec![host(ObservationPoint::Client), host(ObservationPoint::Server)];
    scored(run, &[900, 1000], &[5800, 6000])
}

/// The way up takes all but 10 ms of the round trip.
fn legs(run: &Analysis, flow: &rrul_analysis::metrics::delay::round_trip_delay::DelayFlow) -> Vec<LegDelay> {
    let back = Delay(10 * MILLISECOND);
    let leg = |direction, of: &dyn Fn(Delay) -> Delay| {
        let series: Vec<DelayPoint> =
            flow.series.iter().map(|point| DelayPoint { at: point.at, delay: point.delay.map(of) }).collect();
        let one_way_delay = by_phase(&series, &run.test.phases);
        LegDelay {
            flow: flow.flow.clone(),
            direction,
            delays: DirectionDelay { queueing_delay: one_way_delay.clone(), one_way_delay },
            delay_variation: rrul_analysis::by_phase::ByPhase { idle: None, load: None, after: None },
            unattributed: 0,
            misstamped: 0,
            queueing_series: Vec::new(),
            series,
        }
    };
    vec![leg(Direction::Up, &|delay| delay - back), leg(Direction::Down, &|_| back)]
}

/// Even until the event, and then half of that.
fn sharing(run: &Analysis, direction: Direction) -> DirectionSharing {
    let flows = &run.goodput(direction).flows;
    let share = 1.0 / flows.len() as f64;
    let index = |step: i64| {
        let at = TestTime(10 * SECOND + step * SECOND / 10 + SECOND / 20);
        (at, if at.0 < EVENT * SECOND { 1.0 } else { 0.5 })
    };
    DirectionSharing {
        from_ns: 10 * SECOND,
        to_ns: 60 * SECOND,
        interval_ns: SECOND / 10,
        intervals: 500,
        jain_streams: Some(JainStatistics {
            sharers: flows.len() as u64,
            intervals: 500,
            mean: 0.7,
            p5: 0.5,
            overall: 0.9,
        }),
        jain_classes: None,
        jain_families: None,
        ipv6_to_ipv4: None,
        classes: Vec::new(),
        families: Vec::new(),
        streams: flows.iter().map(|flow| StreamShare { flow: flow.flow.clone(), share, starved: 0.0 }).collect(),
        jain_series: (0..500).map(index).collect(),
    }
}

/// Planned for 5 s; the first bytes arrive 100 ms, 200 ms, ... later, half of the rate is there 1 s after.
fn slew(run: &Analysis, direction: Direction) -> DirectionSlew {
    let steps = Steps { n: 4, missing: 0, p50_ns: Some(SECOND), max_ns: Some(SECOND) };
    let stream = |(number, flow): (usize, &rrul_analysis::metrics::rate::goodput::GoodputFlow)| StreamSlew {
        flow: flow.flow.clone(),
        planned: TestTime(5 * SECOND),
        connect_ns: Some(18 * MILLISECOND),
        first_sent_ns: Some(0),
        first_received_ns: Some((number as i64 + 1) * 100 * MILLISECOND),
        half_rate_ns: Some(SECOND),
    };
    DirectionSlew {
        pooled: Slew { connect: steps, first_sent: steps, first_received: steps, half_rate: steps },
        classes: Vec::new(),
        streams: run.goodput(direction).flows.iter().enumerate().map(stream).collect(),
    }
}

/// From 5 s to 65 s: 100 kB, 40 ms, 2 Mbit/s delivered, 3 Mbit/s paced; five segments retransmitted just after the event.
fn tcp(flow: rrul_analysis::flow_label::FlowLabel) -> TcpSeries {
    let reading = |step: i64| {
        let at = TestTime(5 * SECOND + step * SECOND / 10 + 1);
        TcpReading {
            at,
            congestion_window: ByteCount(100_000),
            receive_window: ByteCount(3_000_000),
            round_trip: Some(Delay(40 * MILLISECOND)),
            delivery_rate: Some(BitRate(2_000_000)),
            pacing_rate: Some(BitRate(3_000_000)),
            retransmitted: if at.0 < EVENT * SECOND { 0 } else { 5 },
            out_of_order: Some(if at.0 < EVENT * SECOND { 0 } else { 4 }),
        }
    };
    let readings: Vec<TcpReading> = (0..600).map(reading).collect();
    TcpSeries { flow, sender: readings.clone(), receiver: readings }
}

/// Three packets lost, one late, two doubled, four reordered, all within 0.1 s of the event.
fn fates() -> FateTimes {
    let times = |count: i64| (0..count).map(|number| TestTime(EVENT * SECOND + number * 20 * MILLISECOND)).collect();
    FateTimes {
        lost: times(3),
        late: times(1),
        unattributed: Vec::new(),
        duplicated: Some(times(2)),
        reordered: Some(times(4)),
    }
}

fn fate(lost: u64) -> DirectionFate {
    let share = lost as f64 / 1000.0;
    let all = PacketFate {
        sent: 1000,
        arrived: 1000 - lost,
        lost,
        late: 0,
        unattributed: 0,
        duplicated: Some(2),
        share_least: share,
        share_most: share,
        share_ci95_low: None,
        share_ci95_high: None,
        loss_runs: None,
        reordering: None,
    };
    DirectionFate { evidence: LossAttribution::Exact, idle: None, load: None, after: None, all: Some(all) }
}

fn phase(verdict: PathVerdict, altered: Vec<CodePoint>) -> MarkingPhase {
    MarkingPhase {
        verdict,
        remarked_to: None,
        preserved: 64 - altered.len() as u64,
        bleached: altered.len() as u64,
        remarked: 0,
        mixed: 0,
        dropped: 0,
        unknown: 0,
        altered,
    }
}

fn matrix(to: impl Fn(u8) -> u8) -> Vec<MatrixCell> {
    let cell = |dscp: u8, received_octet, packets| MatrixCell {
        loaded: false,
        sent_octet: dscp << 2,
        received_octet,
        packets,
    };
    (0..64)
        .flat_map(|dscp| [cell(dscp, Some(to(dscp) << 2), 12), cell(dscp, None, u64::from(dscp == 46) * 2)])
        .collect()
}

/// Down: EF becomes 0, all others arrive as they were sent.
fn bleached() -> MarkingPath {
    let point = CodePoint {
        dscp: 46,
        class: ServiceClass::EF,
        verdict: CodePointVerdict::Bleached,
        arrives_as: Some(0),
        sent: Some(14),
        arrived: 12,
        excess_loss: None,
        excess_loss_low: None,
        excess_loss_high: None,
    };
    MarkingPath {
        direction: Direction::Down,
        family: AddressFamily::Ipv4,
        evidence: marking_tally::MarkingSource::Sweep,
        verdict: PathVerdict::Altered,
        remarked_to: None,
        idle: Some(phase(PathVerdict::Altered, vec![point])),
        load: None,
        matrix: matrix(|dscp| if dscp == 46 { 0 } else { dscp }),
    }
}

fn preserved() -> MarkingPath {
    MarkingPath {
        direction: Direction::Up,
        verdict: PathVerdict::Preserved,
        idle: Some(phase(PathVerdict::Preserved, Vec::new())),
        matrix: matrix(|dscp| dscp),
        ..bleached()
    }
}

/// One core half busy and one idle; packets 20 µs late, one 2 ms; seven packets dropped in the second after the event.
fn host(point: ObservationPoint) -> HostSeries {
    let core = |core, busy| CoreSeries {
        core,
        series: (0..70)
            .map(|second| BusyPoint { at: TestTime(second * SECOND + SECOND / 2), over: Duration::from_secs(1), busy })
            .collect(),
    };
    let late = |step: i64| {
        let at = TestTime(step * 20 * MILLISECOND);
        (at, Delay(if at.0 == EVENT * SECOND { 2 * MILLISECOND } else { 20_000 }))
    };
    let dropped = |second: i64| (TestTime(second * SECOND), if second == EVENT + 1 { 7 } else { 0 });
    HostSeries {
        host: point,
        cores: vec![core(0, 0.5), core(1, 0.0)],
        send_lateness: (0..3500).map(late).collect(),
        drops: vec![DropSeries { place: "socket buffers", series: (0..70).map(dropped).collect() }],
    }
}
