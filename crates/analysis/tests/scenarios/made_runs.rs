//! Runs made up from a seed, whose difference is known, for comparing them.

use std::time::Duration;

use rrul_analysis::Analysis;
use rrul_analysis::comparison::run::ComparedRun;
use rrul_analysis::comparison::workload::Workload;
use rrul_analysis::flow_label::FlowLabel;
use rrul_analysis::measured::{Measured, TestDescription};
use rrul_analysis::metrics::delay::round_trip_delay::{DelayFlow, PhaseDelays, RoundTripDelay};
use rrul_analysis::metrics::loss::packet_count::{Loss, Skipped};
use rrul_analysis::metrics::rate::goodput::{DirectionGoodput, Goodput, GoodputFlow};
use rrul_analysis::series::{DelayPoint, RatePoint};
use rrul_analysis::statistics::percentile::DelayStatistics;
use rrul_model::flow::{AddressFamily, Component, Direction, FlowId};
use rrul_model::marking::ServiceClass;
use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::random::Random;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::{BitRate, ByteCount, Delay};

use crate::builder::{MS, SECOND};

const IDLE: Window = Window { from: TestTime(0), to: TestTime(10 * SECOND) };
const LOAD: Window = Window { from: TestTime(10 * SECOND), to: TestTime(70 * SECOND) };
/// Between packets: three streams of 60 ms each.
const SPACING: i64 = 20 * MS;

/// A deviate that is nearly normal: the sum of twelve uniform ones.
pub(crate) fn normal(random: &mut Random) -> f64 {
    (0..12).map(|_| random.unit()).sum::<f64>() - 6.0
}

/// A made-up run: delay that wanders about a mean, and rates that do.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Made {
    pub(crate) seed: u64,
    /// Mean of the loaded delay, ms; that of the idle one is 20.
    pub(crate) loaded_ms: f64,
    /// Standard deviation of the loaded delay, ms.
    pub(crate) spread_ms: f64,
    pub(crate) down_mbit: f64,
    /// One packet in so many is lost under load; 0 is none.
    pub(crate) lost_one_in: u32,
}

pub(crate) const MADE: Made = Made { seed: 1, loaded_ms: 40.0, spread_ms: 6.0, down_mbit: 20.0, lost_one_in: 0 };

impl Made {
    pub(crate) fn analysis(self) -> Analysis {
        let mut random = Random(self.seed * 7919);
        // An autoregressive series that forgets in half a second.
        let coefficient = (-SPACING as f64 / (SECOND / 2) as f64).exp();
        let mut wander = normal(&mut random);
        let mut value = || {
            wander = coefficient * wander + (1.0 - coefficient * coefficient).sqrt() * normal(&mut random);
            wander
        };
        let count = LOAD.to.0 / SPACING;
        let series: Vec<DelayPoint> = (0..count)
            .map(|number| {
                let at = TestTime(number * SPACING);
                let loaded = LOAD.contains(at);
                let ms = if loaded { self.loaded_ms + self.spread_ms * value() } else { 20.0 + 0.2 * value() };
                let lost = loaded && self.lost_one_in > 0 && number % i64::from(self.lost_one_in) == 0;
                DelayPoint { at, delay: (!lost).then_some(Delay((ms * 1e6) as i64)) }
            })
            .collect();
        let within = |window: Window| {
            let packets: Vec<_> = series.iter().filter(|point| window.contains(point.at)).collect();
            let known: Vec<Delay> = packets.iter().filter_map(|point| point.delay).collect();
            let lost = (packets.len() - known.len()) as u64;
            DelayStatistics::from_delays(known, lost)
        };
        let delays = PhaseDelays { idle: within(IDLE), load: within(LOAD), ..PhaseDelays::default() }.with_induced();
        let rates: Vec<RatePoint> = (0..600)
            .map(|step| RatePoint {
                at: TestTime(LOAD.from.0 + step * SECOND / 10 + SECOND / 20),
                over: Duration::from_millis(100),
                rate: BitRate((self.down_mbit * 1e6 * (1.0 + 0.05 * normal(&mut random))) as u64),
            })
            .collect();
        let sum = BitRate(rates.iter().map(|point| point.rate.0).sum::<u64>() / rates.len() as u64);
        let label = |flow_type: &str, component, direction| FlowLabel {
            id: FlowId(0),
            name: flow_type.to_owned(),
            flow_type: flow_type.to_owned(),
            component,
            direction,
            family: AddressFamily::Ipv4,
            class: ServiceClass::BE,
            parameters: Vec::new(),
        };
        let stream = GoodputFlow {
            flow: label("bulk_tcp", Component::Load, Some(Direction::Down)),
            mean: sum,
            octets: ByteCount(0),
            series: Vec::new(),
            retransmitted: None,
        };
        let down = DirectionGoodput { sum, mean: sum, flows: vec![stream], sum_series: rates, ..Default::default() };
        let flow = DelayFlow {
            flow: label("udp_probe", Component::Realtime, None),
            delays: delays.clone(),
            loss: Loss::default(),
            skipped: Skipped::default(),
            series,
        };
        let phase = |phase, window| PhaseWindow { phase, window };
        Analysis {
            measured: Measured {
                test: TestDescription {
                    created: "2026-01-02T03:04:05Z".to_owned(),
                    phases: vec![phase(Phase::Idle, IDLE), phase(Phase::Load, LOAD)],
                    ..TestDescription::default()
                },
                round_trip_delay: RoundTripDelay { pooled: delays, families: Vec::new(), flows: vec![flow] },
                goodput: Goodput { down, ..Goodput::default() },
                ..Measured::default()
            },
            ..Analysis::default()
        }
    }

    pub(crate) fn run(self, file: &str) -> ComparedRun {
        ComparedRun::new(file, Workload::default(), &self.analysis())
    }
}
