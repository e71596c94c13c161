//! Analyses made up from a fixed seed, with the shape of real links and a truth that tests can name.
#![allow(dead_code, reason = "each test file uses its own share of this")]

use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::by_direction::ByDirection;
use rrul_analysis::by_phase::ByPhase;
use rrul_analysis::flow_label::FlowLabel;
use rrul_analysis::measured::{Measured, TestDescription};
use rrul_analysis::metrics::delay::one_way_delay::{Clocks, DirectionDelay, OneWayDelay};
use rrul_analysis::metrics::delay::round_trip_delay::{DelayFlow, PhaseDelays, RoundTripDelay};
use rrul_analysis::metrics::delay::stream_delay::StreamDelay;
use rrul_analysis::metrics::delay::transactions::{TransactionFlow, TransactionPhase};
use rrul_analysis::metrics::host::processor_load::ProcessorLoad;
use rrul_analysis::metrics::loss::packet_count::{Loss, Skipped};
use rrul_analysis::metrics::loss::round_trip_loss::LossReport;
use rrul_analysis::metrics::rate::goodput::{DirectionGoodput, Goodput, GoodputFlow};
use rrul_analysis::metrics::rate::start_slew::StartSlew;
use rrul_analysis::metrics::sharing::global_synchronization::GlobalSynchronization;
use rrul_analysis::metrics::sharing::stream_sharing::Sharing;
use rrul_analysis::metrics::tcp::stream_limits::StreamLimits;
use rrul_analysis::metrics::web::connections::Connections;
use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::observation::ObservationPoint;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

pub(crate) const SECOND: i64 = 1_000_000_000;
pub(crate) const MILLISECOND: i64 = 1_000_000;

/// How the link's queue behaves under load.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Queue {
    /// One long queue: delay saws up and down, streams share badly, losses in bursts.
    Pfifo,
    /// A queue per flow, kept short.
    FqCodel,
}

/// A made-up run.
#[derive(Debug, Clone)]
pub(crate) struct Made {
    pub(crate) title: &'static str,
    pub(crate) queue: Queue,
    pub(crate) down: u64,
    pub(crate) up: u64,
    pub(crate) base_ms: f64,
    pub(crate) queue_ms: f64,
    pub(crate) load_seconds: i64,
    pub(crate) classes: Vec<ServiceClass>,
    pub(crate) families: Vec<AddressFamily>,
    pub(crate) streams_per_class: usize,
    pub(crate) icmp: bool,
}

pub(crate) const CLASSES: [ServiceClass; 4] = [ServiceClass::BE, ServiceClass::BK, ServiceClass::CS5, ServiceClass::EF];

impl Made {
    /// A cable modem of 20 Mbit/s down and 8 Mbit/s up that lets its queue grow to some 200 ms.
    pub(crate) fn pfifo() -> Self {
        Self {
            title: "",
            queue: Queue::Pfifo,
            down: 14_000_000,
            up: 8_000_000,
            base_ms: 16.5,
            queue_ms: 190.0,
            load_seconds: 60,
            classes: CLASSES.to_vec(),
            families: vec![AddressFamily::Ipv4],
            streams_per_class: 1,
            icmp: true,
        }
    }

    /// The same modem behind a shaper with a queue per flow.
    pub(crate) fn fq_codel() -> Self {
        Self { queue: Queue::FqCodel, down: 16_800_000, up: 7_100_000, queue_ms: 4.6, ..Self::pfifo() }
    }

    pub(crate) fn analysis(&self) -> Analysis {
        let mut random = Random(7);
        let phases = phases(5, self.load_seconds, 5);
        let down = self.goodput(Direction::Down, self.down, &mut random);
        let up = self.goodput(Direction::Up, self.up, &mut random);
        let delay_flows = self.delay_flows(&mut random);
        let pooled: Vec<&DelayFlow> = delay_flows.iter().filter(|flow| flow.flow.flow_type != "icmp_echo").collect();
        let packets: Vec<DelayPoint> = pooled.iter().flat_map(|flow| flow.series.iter().copied()).collect();
        let round_trip_delay = by_phase(&packets, &phases);
        let lost = packets.iter().filter(|packet| packet.delay.is_none()).count() as u64;
        Analysis {
            measured: Measured {
                test: TestDescription {
                    plan: "rrul".to_owned(),
                    title: self.title.to_owned(),
                    created: "2026-11-21T18:51:06.306Z".to_owned(),
                    server: "netperf.example.net".to_owned(),
                    families: self.families.clone(),
                    phases,
                    ..TestDescription::default()
                },
                goodput: Goodput { down, up },
                round_trip_delay: RoundTripDelay { pooled: round_trip_delay, families: Vec::new(), flows: delay_flows },
                one_way_delay: self.one_way_delay(&packets),
                transaction_flows: self.transactions(),
                loss: LossReport {
                    round_trips: Loss { sent: packets.len() as u64, lost },
                    waiting_time: Delay(3 * SECOND),
                    ..LossReport::default()
                },
                start_spread: Some(Delay(430_000)),
                start_slew: StartSlew::default(),
                connections: Connections::default(),
                stream_delay: StreamDelay::default(),
                sharing: Sharing::default(),
                global_synchronization: GlobalSynchronization::default(),
                stream_limits: StreamLimits::default(),
                send_lateness: DelayStatistics::from_delays((1..100).map(|step| Delay(step * 900)).collect(), 0),
                processor: [ObservationPoint::Client, ObservationPoint::Server]
                    .map(|point| ProcessorLoad {
                        point,
                        mean: 0.11,
                        busiest_core: 0.34,
                        saturated: 0.0,
                        steal: 0.0,
                        stolen: 0.0,
                        process: None,
                    })
                    .to_vec(),
                ..Measured::default()
            },
            ..Analysis::default()
        }
    }

    fn goodput(&self, direction: Direction, total: u64, random: &mut Random) -> DirectionGoodput {
        let mut flows = Vec::new();
        let count = self.classes.len() * self.families.len() * self.streams_per_class;
        let steps = self.load_seconds * 10;
        for class in &self.classes {
            for family in &self.families {
                for _ in 0..self.streams_per_class {
                    let id = flows.len() as u16 + if direction == Direction::Up { 100 } else { 0 };
                    let flow = label(id, "bulk_tcp", Component::Load, Some(direction), *family, *class);
                    let share = total as f64 / count as f64;
                    let mut level = 1.0;
                    let series: Vec<RatePoint> = (0..steps)
                        .map(|step| {
                            let swing = match self.queue {
                                Queue::Pfifo => {
                                    level = (level + 0.16 * random.normal()).clamp(0.25, 2.3) * 0.985 + 0.015;
                                    let tide =
                                        1.0 - 0.55 * (-((step as f64 / steps as f64 - 0.42) / 0.2).powi(2)).exp();
                                    level * tide * (1.0 + 0.18 * random.normal())
                                }
                                Queue::FqCodel => {
                                    level = (level + 0.01 * random.normal()).clamp(0.9, 1.1);
                                    level * (1.0 + 0.05 * random.normal())
                                }
                            };
                            let ramp = (step as f64 / 8.0).min(1.0);
                            rate_point(5 * SECOND + step * SECOND / 10, (share * swing * ramp).max(0.0) as u64)
                        })
                        .collect();
                    flows.push(goodput_flow(flow, series));
                }
            }
        }
        direction_goodput(flows)
    }

    fn delay_flows(&self, random: &mut Random) -> Vec<DelayFlow> {
        let phases = phases(5, self.load_seconds, 5);
        let queue: Vec<f64> = self.standing_queue(random);
        let mut flows = Vec::new();
        let mut add = |flow_type, class, family, interval_ms: i64, random: &mut Random| {
            let id = 200 + flows.len() as u16;
            let flow = label(id, flow_type, Component::Realtime, None, family, class);
            let series: Vec<DelayPoint> = (0..(self.load_seconds + 10) * 1000 / interval_ms)
                .map(|step| {
                    let ms = step * interval_ms;
                    let queued = queue[(ms / 10) as usize];
                    let noise = 0.25 * random.normal().abs()
                        + if random.uniform() < 0.002 { 9.0 * random.uniform() } else { 0.0 };
                    let full = queued > 0.93 * self.queue_ms && self.queue == Queue::Pfifo;
                    let lost = full && random.uniform() < 0.05;
                    let spread = queued * 0.06 * random.normal();
                    let delay = self.base_ms + (queued + spread).max(0.0) + noise;
                    DelayPoint { at: TestTime(ms * MILLISECOND), delay: (!lost).then_some(Delay((delay * 1e6) as i64)) }
                })
                .collect();
            flows.push(delay_flow(flow, series, &phases));
        };
        for class in [ServiceClass::EF, ServiceClass::BK, ServiceClass::BE] {
            for family in &self.families {
                add("udp_probe", class, *family, 20, random);
            }
        }
        if self.icmp {
            add("icmp_echo", ServiceClass::BE, self.families[0], 200, random);
        }
        flows
    }

    /// All that queues is in the upload.
    fn one_way_delay(&self, packets: &[DelayPoint]) -> OneWayDelay {
        let phases = phases(5, self.load_seconds, 5);
        let direction = |wait: &dyn Fn(Delay) -> Delay| {
            let of = |packet: &DelayPoint| DelayPoint { at: packet.at, delay: packet.delay.map(wait) };
            let packets: Vec<DelayPoint> = packets.iter().map(of).collect();
            DirectionDelay { queueing_delay: by_phase(&packets, &phases), ..DirectionDelay::default() }
        };
        let base = Delay((self.base_ms * 1e6) as i64);
        OneWayDelay {
            clocks: Some(Clocks {
                skew_uncertain: None,
                queueing_unknown: ByDirection::default(),
                queueing_error_ns: Some(12_000),
                skew_ppm: 12.5,
                skew_error_ppm: Some(0.02),
                floor_spread_ns: Some(60_000),
                bound_ns: base.0 / 2,
                segments: Vec::new(),
                wall_clock_steps: 0,
            }),
            check: None,
            up: direction(&|delay| delay - base),
            down: direction(&|delay| Delay((delay - base).0 % 100_000)),
            legs: Vec::new(),
        }
    }

    /// Queueing delay every 10 ms, ms.
    fn standing_queue(&self, random: &mut Random) -> Vec<f64> {
        let mut level = 0.0;
        let mut rising = true;
        (0..(self.load_seconds + 10) * 100)
            .map(|step| {
                let seconds = step as f64 / 100.0;
                let loaded = (5.0..5.0 + self.load_seconds as f64).contains(&seconds);
                match (loaded, self.queue) {
                    (false, _) => level = (level - self.queue_ms * 0.012).max(0.0),
                    (true, Queue::Pfifo) => {
                        let rise = if rising { 0.0045 } else { -0.010 };
                        level =
                            (level + self.queue_ms * (rise + 0.004 * random.normal())).clamp(0.0, self.queue_ms * 1.05);
                        rising = if rising { level < self.queue_ms } else { level < self.queue_ms * 0.62 };
                    }
                    (true, Queue::FqCodel) => {
                        level += (self.queue_ms - level) * 0.05 + self.queue_ms * 0.07 * random.normal();
                        level = level.clamp(0.0, self.queue_ms * 4.0);
                    }
                }
                level
            })
            .collect()
    }

    fn transactions(&self) -> Vec<TransactionFlow> {
        let idle = 1e3 / self.base_ms;
        let load = 1e3 / (self.base_ms + self.queue_ms);
        let phase = |per_second: f64, seconds: f64| {
            let answered = (per_second * seconds) as u64;
            Some(TransactionPhase { answered, unanswered: 0, per_second })
        };
        [("udp_rr", 300), ("tcp_rr", 301)]
            .into_iter()
            .map(|(flow_type, id)| TransactionFlow {
                flow: label(id, flow_type, Component::Realtime, None, self.families[0], ServiceClass::EF),
                phases: ByPhase {
                    idle: phase(idle, 5.0),
                    load: phase(load, self.load_seconds as f64),
                    after: phase(idle, 5.0),
                },
                delays: ByDirection { up: None, down: None },
            })
            .collect()
    }
}

/// A run in which nothing was observed.
pub(crate) fn nothing() -> Analysis {
    let Analysis { measured, validity, scores, .. } = Made { load_seconds: 1, ..Made::fq_codel() }.analysis();
    let test = TestDescription { phases: Vec::new(), ..measured.test };
    let loss = LossReport { round_trips: Loss::default(), ..measured.loss };
    Analysis { measured: Measured { test, loss, ..Measured::default() }, validity, scores, tuning_result: None }
}

pub(crate) fn phases(idle: i64, load: i64, after: i64) -> Vec<PhaseWindow> {
    let mut from = 0;
    [(Phase::Idle, idle), (Phase::Load, load), (Phase::After, after)]
        .into_iter()
        .map(|(phase, seconds)| {
            let window = Window { from: TestTime(from), to: TestTime(from + seconds * SECOND) };
            from += seconds * SECOND;
            PhaseWindow { phase, window }
        })
        .collect()
}

pub(crate) fn label(
    id: u16,
    flow_type: &str,
    component: Component,
    direction: Option<Direction>,
    family: AddressFamily,
    class: ServiceClass,
) -> FlowLabel {
    let way = direction.map(|direction| format!("/{direction}")).unwrap_or_default();
    FlowLabel {
        id: FlowId(id),
        name: format!("{flow_type}/{class}{way}/{family}"),
        flow_type: flow_type.to_owned(),
        component,
        direction,
        family,
        class,
        parameters: Vec::new(),
    }
}

/// 100 ms that begin at `from` nanoseconds.
pub(crate) fn rate_point(from: i64, rate: u64) -> RatePoint {
    RatePoint { at: TestTime(from + SECOND / 20), over: Duration::from_millis(100), rate: BitRate(rate) }
}

pub(crate) fn goodput_flow(flow: FlowLabel, series: Vec<RatePoint>) -> GoodputFlow {
    let mean = series.iter().map(|point| point.rate.0).sum::<u64>() / series.len().max(1) as u64;
    let octets = ByteCount(mean / 8 * series.len() as u64 / 10);
    GoodputFlow { flow, mean: BitRate(mean), octets, series, retransmitted: Some(0.004) }
}

pub(crate) fn direction_goodput(flows: Vec<GoodputFlow>) -> DirectionGoodput {
    let sum = flows.iter().map(|flow| flow.mean.0).sum::<u64>();
    let sum_series = flows.first().map_or_else(Vec::new, |first| {
        first
            .series
            .iter()
            .enumerate()
            .map(|(index, point)| RatePoint {
                rate: BitRate(flows.iter().map(|flow| flow.series[index].rate.0).sum()),
                ..*point
            })
            .collect()
    });
    let octets = ByteCount(flows.iter().map(|flow| flow.octets.0).sum());
    let mean = BitRate(sum / flows.len().max(1) as u64);
    DirectionGoodput { sum: BitRate(sum), mean, octets, flows, sum_series, last_arrival: None }
}

pub(crate) fn delay_flow(flow: FlowLabel, series: Vec<DelayPoint>, phases: &[PhaseWindow]) -> DelayFlow {
    let lost = series.iter().filter(|packet| packet.delay.is_none()).count() as u64;
    let (delays, loss) = (by_phase(&series, phases), Loss { sent: series.len() as u64, lost });
    DelayFlow { flow, delays, loss, skipped: Skipped::default(), series }
}

pub(crate) fn by_phase(packets: &[DelayPoint], phases: &[PhaseWindow]) -> PhaseDelays {
    let of = |phase| {
        let window = phases.iter().find(|entry| entry.phase == phase)?.window;
        let inside: Vec<_> = packets.iter().filter(|packet| window.contains(packet.at)).collect();
        let answered: Vec<Delay> = inside.iter().filter_map(|packet| packet.delay).collect();
        let lost = (inside.len() - answered.len()) as u64;
        DelayStatistics::from_delays(answered, lost)
    };
    let (idle, load, after) = (of(Phase::Idle), of(Phase::Load), of(Phase::After));
    PhaseDelays { idle, load, after, ..PhaseDelays::default() }.with_induced()
}

/// A multiplicative generator (Park and Miller 1988): the same numbers on every machine.
pub(crate) struct Random(pub(crate) u64);

impl Random {
    pub(crate) fn uniform(&mut self) -> f64 {
        self.0 = self.0 * 48_271 % 0x7fff_ffff;
        self.0 as f64 / f64::from(0x7fff_ffff_u32)
    }

    /// Nearly normal: twelve uniform values.
    pub(crate) fn normal(&mut self) -> f64 {
        (0..12).map(|_| self.uniform()).sum::<f64>() - 6.0
    }
}
