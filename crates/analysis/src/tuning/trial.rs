//! The figures of one step of a tuning session.

use rrul_model::flow::Direction;
use rrul_model::marking::ServiceClass;
use rrul_model::observation::ObservationPoint;
use rrul_model::shaping::{StepPurpose, TuningStep};
use rrul_model::units::{BitRate, ByteCount, Delay};
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;

/// What one step of a tuning session measured.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Trials")]
pub struct Trial {
    /// The step: its rates and its time.
    pub step: TuningStep,
    /// Figures of each direction.
    #[serde(flatten)]
    pub directions: ByDirection<TrialDirection>,
    /// Why a host and not the network limited the load. Null when nothing shows that.
    pub host_limit: Option<HostLimit>,
    /// The host that had over 5 % of the measured window taken from one of its cores by a hypervisor; the client if both had. Null when
    /// none had.
    pub stolen_from: Option<ObservationPoint>,
}

impl Trial {
    /// Whether it was made to judge a rate of the direction.
    pub(crate) fn judges(&self, direction: Direction) -> bool {
        matches!(self.step.purpose, StepPurpose::Search | StepPurpose::Joint)
            && self.step.direction.is_none_or(|only| only == direction)
    }
}

/// What limited the load at a host.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum HostLimit {
    /// The client's processors were busy.
    ClientProcessor,
    /// The server's processors were busy.
    ServerProcessor,
    /// The client's control group was throttled by its CPU quota.
    ClientQuota,
    /// The server's control group was throttled by its CPU quota.
    ServerQuota,
    /// The router's processors were busy.
    RouterProcessor,
    /// A receiver's window held the load back.
    ReceiveWindow,
    /// A sender's buffer held the load back.
    SendBuffer,
}

impl HostLimit {
    /// Whether what was measured says nothing of the line, even where it has a queue.
    pub fn is_decisive(self) -> bool {
        matches!(self, Self::ClientQuota | Self::ServerQuota | Self::RouterProcessor)
    }
}

/// What one step measured in one direction.
#[derive(Debug, Clone, PartialEq, Default, Serialize, JsonSchema)]
#[schemars(title = "Trials by direction")]
pub struct TrialDirection {
    /// Rate of everything that arrived in the measured window, in the bytes that the shaper counts. Where its link layer is unknown,
    /// 14 bytes for each IP packet are added, as Linux counts on an Ethernet interface. Null when nothing was loaded.
    #[serde(rename = "delivered_bps")]
    pub delivered: Option<BitRate>,
    /// The same rate in each whole second since the shaper was set, so that it also contains the time of settling. The last
    /// entries are those of the measured window.
    #[serde(rename = "course_bps")]
    pub course: Vec<BitRate>,
    /// Goodput of the load in the measured window. Null when nothing was loaded.
    #[serde(rename = "goodput_bps")]
    pub goodput: Option<BitRate>,
    /// One-way queueing delay of best-effort probes in the measured window. Null without probes.
    pub queueing_delay: Option<TrialDelay>,
    /// 95th percentile of the one-way delay of the idle line above its smallest: its noise. The same in every trial. Null
    /// without an idle phase.
    #[serde(rename = "idle_p95_ns")]
    pub idle_p95: Option<Delay>,
    /// The hop in front of which the queue of this direction is, when path traces show it. Null when unknown.
    pub queue_hop: Option<QueueHop>,
    /// Share of the probes of the measured window that were lost in this direction. Null when unknown.
    ///
    /// Unit: share.
    pub probe_loss: Option<f64>,
    /// Smoothed round-trip time of the load above the smallest of its connection, median of its senders' readings in the measured
    /// window: the queues that the load itself meets, those of its acknowledgments included. Null when nothing was loaded.
    #[serde(rename = "load_delay_ns")]
    pub load_delay: Option<Delay>,
    /// Share of the load's segments that were retransmitted in the measured window. Null when unknown.
    ///
    /// Unit: share.
    pub retransmitted: Option<f64>,
    /// Whether the network, not the window of a sender or receiver, limited the load. Null when unknown.
    pub saturated: Option<bool>,
    /// Share of the shaper's bytes that were not those of this test. Null where the shaper has no counters or no limit.
    ///
    /// Unit: share.
    pub foreign: Option<f64>,
    /// Rate of each class in the measured window.
    pub classes: Vec<ClassRate>,
}

/// A second belongs to the beginning when it delivered less than this part of those in the middle.
const REACHED: f64 = 0.95;

impl TrialDirection {
    /// How many seconds passed before the load had reached its rate, which is that of the later half of its seconds.
    pub(crate) fn ramp(&self) -> u64 {
        let mut later = self.course[self.course.len() / 2..].to_vec();
        later.sort_unstable();
        let Some(usual) = later.get(later.len() / 2) else { return 0 };
        let is_less = |rate: &&BitRate| (rate.0 as f64) < REACHED * usual.0 as f64;
        self.course.iter().take_while(is_less).count() as u64
    }
}

/// The hop of a path in front of which packets wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct QueueHop {
    /// Hops from the client, the first router being 1.
    ///
    /// Unit: count.
    pub hop: u8,
    /// Its address. Null when it did not answer.
    #[schemars(with = "Option<String>")]
    pub address: Option<std::net::IpAddr>,
    /// Whether it is on the client's side of the shaper, so that the shaper cannot control its queue.
    pub before_shaper: bool,
}

/// Queueing delay of one direction in one step: one-way delay less the smallest of the idle line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Queueing delay of a trial")]
pub struct TrialDelay {
    /// Probes, lost ones included.
    ///
    /// Unit: count.
    pub n: u64,
    /// Median.
    #[serde(rename = "p50_ns")]
    pub p50: Delay,
    /// 95th percentile. A lost probe counts as later than all others; where the percentile falls on lost probes, it is
    /// that of the probes that arrived.
    #[serde(rename = "p95_ns")]
    pub p95: Delay,
    /// 99th percentile, likewise.
    #[serde(rename = "p99_ns")]
    pub p99: Delay,
    /// Lower end of the 95 % interval of the 95th percentile, by the block bootstrap.
    #[serde(rename = "p95_low_ns")]
    pub p95_low: Delay,
    /// Upper end of that interval.
    #[serde(rename = "p95_high_ns")]
    pub p95_high: Delay,
}

/// What one class delivered in the measured window of a step.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct ClassRate {
    /// The class, as it was sent.
    pub class: ServiceClass,
    /// Bytes that arrived in each whole second.
    #[serde(rename = "seconds_octets")]
    pub seconds: Vec<ByteCount>,
}
