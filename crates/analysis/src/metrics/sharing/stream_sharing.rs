//! How the streams of the load share a direction (spec: relative interstream bandwidth on a 100 ms period).

use std::time::Duration;

use rrul_model::flow::{AddressFamily, Direction};
use rrul_model::marking::ServiceClass;
use rrul_model::recording::Recording;
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::flow_label::FlowLabel;
use crate::metrics::rate::goodput::DirectionGoodput;
use crate::metrics::rate::stream_rates::StreamRates;
use crate::packets::tcp_readings::TcpReadings;
use crate::statistics::jain_index::{JainStatistics, jain_index};

/// The spec's period.
const PERIOD: Duration = Duration::from_millis(100);
/// Below this part of an even share a stream is starved.
const STARVED_SHARE: f64 = 0.01;
/// For how long at least.
const STARVED_TIME: Duration = Duration::from_secs(1);

/// Sharing by direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
pub struct Sharing {
    /// Server to client. Null without two streams that could share.
    pub down: Option<DirectionSharing>,
    /// Client to server. Null without two streams that could share.
    pub up: Option<DirectionSharing>,
}

impl Sharing {
    pub fn direction(&self, direction: Direction) -> Option<&DirectionSharing> {
        direction.select(self.up.as_ref(), self.down.as_ref())
    }
}

/// How the streams of one direction share it.
///
/// How the streams of the load share one direction (spec: "relative interstream bandwidth on a 100ms period, vis a vis
/// classification and underlying protocol"). Computed from the receivers' counts in intervals of 100 ms, or a multiple
/// in which each stream has 20 segments on average. With fewer segments, one segment at an edge would look like
/// unevenness. Bytes are those of IP packets of full size (payload, TCP and IP headers, by the sender's segment size),
/// not goodput: streams with the same share of the wire are even, although an IPv6 packet contains 1.4 % less payload.
/// Acknowledgments and retransmitted bytes are excluded. Only the steady part of the load in which every stream is due
/// to run is used. Null without two streams in that direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Sharing")]
pub struct DirectionSharing {
    /// Beginning of the time that is used.
    pub from_ns: i64,
    /// Its end.
    pub to_ns: i64,
    /// 100 ms, or what 20 segments of each stream take.
    ///
    /// Source: spec, Load Generation.
    pub interval_ns: i64,
    /// Number of intervals.
    ///
    /// Unit: count.
    pub intervals: u64,
    /// Evenness among all streams. Null with fewer than two, or without a single byte.
    pub jain_streams: Option<JainStatistics>,
    /// Evenness among the classes, each the sum of its streams.
    pub jain_classes: Option<JainStatistics>,
    /// Evenness among the address families, each the sum of its streams.
    pub jain_families: Option<JainStatistics>,
    /// Mean rate of the IPv6 streams over that of the IPv4 streams; 1 is even. Null unless both are there.
    ///
    /// Unit: factor. Source: spec, The RRUL Score.
    pub ipv6_to_ipv4: Option<f64>,
    /// Each class.
    pub classes: Vec<ClassShare>,
    /// Each address family.
    pub families: Vec<FamilyShare>,
    /// Each stream.
    pub streams: Vec<StreamShare>,
    /// Jain's index among all streams in each interval that had anything, at its middle.
    #[serde(skip)]
    pub jain_series: Vec<(TestTime, f64)>,
}

/// What one class has of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassShare {
    /// Service class.
    pub class: ServiceClass,
    /// Its streams.
    ///
    /// Unit: count.
    pub streams: u64,
    /// Share of all bytes of the direction.
    ///
    /// Unit: share. Source: spec, The RRUL Score.
    pub share: f64,
    /// Share of the time in stretches of at least 1 s with less than a hundredth of an even share, while others had
    /// data.
    ///
    /// Unit: share.
    pub starved: f64,
    /// Evenness among its streams: IPv4 against IPv6, and copies.
    pub jain: Option<JainStatistics>,
    /// Mean rate of its IPv6 streams over that of its IPv4 streams. Null unless both are there.
    ///
    /// Unit: factor.
    pub ipv6_to_ipv4: Option<f64>,
}

/// What one family has of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct FamilyShare {
    /// Address family.
    pub family: AddressFamily,
    /// Its streams.
    ///
    /// Unit: count.
    pub streams: u64,
    /// Share of all bytes of the direction.
    ///
    /// Unit: share. Source: spec, The RRUL Score.
    pub share: f64,
    /// Share of the time in stretches of at least 1 s with less than a hundredth of an even share, while others had
    /// data.
    ///
    /// Unit: share.
    pub starved: f64,
    /// Evenness among its streams: class against class, and copies.
    pub jain: Option<JainStatistics>,
}

/// What one stream has of a direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct StreamShare {
    /// Name of the flow.
    pub flow: FlowLabel,
    /// Share of all bytes of the direction.
    ///
    /// Unit: share. Source: spec, The RRUL Score.
    pub share: f64,
    /// Share of the time in stretches of at least 1 s with less than a hundredth of an even share, while others had
    /// data.
    ///
    /// Unit: share.
    pub starved: f64,
}

/// How the streams of each direction share it within its window.
pub(crate) fn sharing<'a>(
    recording: &Recording,
    tcp: &TcpReadings,
    goodput: impl Fn(Direction) -> &'a DirectionGoodput,
    window: impl Fn(Direction) -> Window,
) -> Sharing {
    let of = |direction| {
        let rates = StreamRates::within(recording, tcp, goodput(direction), direction, window(direction), PERIOD);
        of_direction(&rates)
    };
    Sharing { down: of(Direction::Down), up: of(Direction::Up) }
}

fn of_direction(rates: &StreamRates<'_>) -> Option<DirectionSharing> {
    if rates.streams.len() < 2 || rates.intervals() == 0 {
        return None;
    }
    let all = rates.select(|_| true);
    let (classes, families) = (rates.sums_by(|flow| flow.class), rates.sums_by(|flow| flow.family));
    let whole = Whole::new(&all, rates.interval);
    let class_shares = classes.iter().map(|(class, octets)| {
        let own = rates.select(|flow| flow.class == *class);
        ClassShare {
            class: *class,
            streams: own.len() as u64,
            share: whole.share(octets),
            starved: whole.starved(octets, classes.len()),
            jain: JainStatistics::from_rates(&own),
            ipv6_to_ipv4: ipv6_to_ipv4(rates, |flow| flow.class == *class),
        }
    });
    let family_shares = families.iter().map(|(family, octets)| {
        let own = rates.select(|flow| flow.family == *family);
        FamilyShare {
            family: *family,
            streams: own.len() as u64,
            share: whole.share(octets),
            starved: whole.starved(octets, families.len()),
            jain: JainStatistics::from_rates(&own),
        }
    });
    let stream_shares = rates.streams.iter().map(|(flow, octets)| StreamShare {
        flow: (*flow).clone(),
        share: whole.share(octets),
        starved: whole.starved(octets, all.len()),
    });
    let jain_at = |at: usize| {
        let index = jain_index(&all.iter().map(|octets| octets[at]).collect::<Vec<_>>())?;
        Some((rates.at(at), index))
    };
    Some(DirectionSharing {
        from_ns: rates.from.0,
        to_ns: (rates.from + rates.interval.saturating_mul(rates.intervals() as u32)).0,
        interval_ns: Delay::from(rates.interval).0,
        intervals: rates.intervals() as u64,
        jain_streams: JainStatistics::from_rates(&all),
        jain_classes: JainStatistics::from_rates(&values(&classes)),
        jain_families: JainStatistics::from_rates(&values(&families)),
        ipv6_to_ipv4: ipv6_to_ipv4(rates, |_| true),
        classes: class_shares.collect(),
        families: family_shares.collect(),
        streams: stream_shares.collect(),
        jain_series: (0..rates.intervals()).filter_map(jain_at).collect(),
    })
}

fn values<K>(groups: &[(K, Vec<f64>)]) -> Vec<Vec<f64>> {
    groups.iter().map(|(_, octets)| octets.clone()).collect()
}

/// The total to share.
struct Whole {
    each: Vec<f64>,
    total: f64,
    interval: Duration,
}

impl Whole {
    fn new(all: &[Vec<f64>], interval: Duration) -> Self {
        let intervals = all.iter().map(Vec::len).min().unwrap_or(0);
        let each: Vec<f64> = (0..intervals).map(|at| all.iter().map(|octets| octets[at]).sum()).collect();
        Self { total: each.iter().sum(), each, interval }
    }

    fn share(&self, octets: &[f64]) -> f64 {
        if self.total > 0.0 { octets.iter().sum::<f64>() / self.total } else { 0.0 }
    }

    /// Part of the time that belongs to stretches of a second or more in which one of so many sharers had less than a
    /// hundredth of an even share. Where no stream has anything, none is starved: that is an outage.
    fn starved(&self, octets: &[f64], sharers: usize) -> f64 {
        let least = STARVED_TIME.as_nanos().div_ceil(self.interval.as_nanos().max(1));
        let starving = |(octets, whole): (&f64, &f64)| *whole > 0.0 && *octets < STARVED_SHARE * whole / sharers as f64;
        let flags: Vec<bool> = octets.iter().zip(&self.each).map(starving).collect();
        let runs = flags.chunk_by(|a, b| a == b).filter(|run| run[0] && run.len() as u128 >= least);
        runs.map(<[bool]>::len).sum::<usize>() as f64 / flags.len().max(1) as f64
    }
}

/// Mean rate of the IPv6 streams among these over that of the IPv4 streams; the copies of each count, so a family with
/// more streams has no advantage.
fn ipv6_to_ipv4(rates: &StreamRates<'_>, among: impl Fn(&FlowLabel) -> bool) -> Option<f64> {
    let mean = |family: AddressFamily| {
        let own = rates.select(|flow| flow.family == family && among(flow));
        let sum: f64 = own.iter().flatten().sum();
        (!own.is_empty()).then(|| sum / own.len() as f64)
    };
    let (six, four) = (mean(AddressFamily::Ipv6)?, mean(AddressFamily::Ipv4)?);
    (four > 0.0).then(|| six / four)
}
