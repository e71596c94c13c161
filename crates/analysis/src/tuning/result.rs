//! What a tuning session amounts to: the rates to recommend, with what they cost and gain, or the reason why no rates are recommended.

use rrul_model::flow::Direction;
use rrul_model::observation::ObservationPoint;
use rrul_model::shaping::{Preference, ShaperDescription, ShaperRates};
use rrul_model::units::{BitRate, ByteCount, Delay};
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_direction::ByDirection;
use crate::tuning::class_shares::ClassShares;
use crate::tuning::overhead::LineOverheads;
use crate::tuning::trial::{HostLimit, QueueHop, Trial};

/// The name and version of the form. Members may be added within a version; none changes its meaning or goes.
pub const FORMAT: &str = "rrul-tuning/1";

/// The outcome of a tuning session.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Tuning")]
pub struct TuningResult {
    /// Name and version of the form, `rrul-tuning/1`.
    #[schemars(extend("const" = FORMAT))]
    pub format: &'static str,
    /// The shaper.
    pub shaper: ShaperDescription,
    /// Which of the rates that pass is recommended.
    pub prefer: Preference,
    /// What the session amounts to.
    pub outcome: Outcome,
    /// The rates to set. Null in a direction that was not tuned; both are null without a recommendation.
    pub recommended: ShaperRates,
    /// Figures of each direction. Null in a direction that was not tuned.
    #[serde(flatten)]
    pub directions: ByDirection<Option<TunedDirection>>,
    /// What the reader must know beside the outcome.
    pub cautions: Vec<Caution>,
    /// Every trial with its verdict, in order.
    pub trials: Vec<JudgedTrial>,
    /// What the shaper gives to each class, at four fifths of the recommended rates. Null unless that was measured, by
    /// `rrul tune --classes`.
    pub classes: Option<ClassShares>,
    /// What the line adds to each packet. Null unless that was measured, by `rrul tune --overhead`.
    pub overhead: Option<LineOverheads>,
    /// From the first step to the end of the last.
    #[serde(rename = "took_ns")]
    pub took: Delay,
    /// Bytes that arrived during the session, both directions together.
    #[serde(rename = "data_octets")]
    pub data: ByteCount,
}

/// What a session amounts to.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "kind")]
pub enum Outcome {
    /// The recommended rates passed the joint check, or had more delay than the limit in it, as the caution `near_limit` says.
    Recommended,
    /// The rate of the line changes with time. `varying` of each direction has its percentiles; no single rate is right.
    Varies,
    /// The line adds no more delay than the limit, unshaped.
    NothingToGain,
    /// No recommendation: the measurement does not allow one.
    Refused {
        /// Why.
        refusal: Refusal,
    },
    /// The session ended before the search did.
    Unfinished {
        /// What ended it.
        reason: Unfinished,
    },
    /// A list of rates was measured; nothing was searched.
    Measured,
}

/// What ended a session before the search did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Unfinished {
    /// The number of trials was reached.
    Trials,
    /// The time was up.
    Time,
    /// More data would have arrived than the session may take.
    Data,
    /// It was interrupted.
    Interrupted,
}

/// The reason why no rates are recommended.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "cause")]
pub enum Refusal {
    /// Lowering the rate of one direction lowered the other: the shaper's directions are crossed, or the client is outside of
    /// the network that the shaper protects.
    DirectionsSwapped {
        /// The direction whose rate was lowered.
        direction: Direction,
        /// The rate that was set.
        #[serde(rename = "set_bps")]
        set: BitRate,
        /// What that direction delivered.
        #[serde(rename = "delivered_bps")]
        delivered: BitRate,
        /// What the other direction delivered.
        #[serde(rename = "other_delivered_bps")]
        other: BitRate,
    },
    /// More arrived than the shaper was set to: traffic does not pass through it.
    NotInPath {
        /// The direction.
        direction: Direction,
        /// The rate that was set.
        #[serde(rename = "set_bps")]
        set: BitRate,
        /// What that direction delivered.
        #[serde(rename = "delivered_bps")]
        delivered: BitRate,
    },
    /// The shaper held the load at about half the rate that it was set to: packets pass it twice.
    CountedTwice {
        /// The direction.
        direction: Direction,
        /// The rate that was set.
        #[serde(rename = "set_bps")]
        set: BitRate,
        /// What that direction delivered.
        #[serde(rename = "delivered_bps")]
        delivered: BitRate,
    },
    /// Far below the rate of the line, and with the shaper holding the load, the delay stayed: the queue is neither in the
    /// shaper nor on the line behind it.
    QueueElsewhere {
        /// The direction.
        direction: Direction,
        /// The rate that was set. Null when unshaped.
        #[serde(rename = "set_bps")]
        set: Option<BitRate>,
        /// Queueing delay at that rate, 95th percentile.
        #[serde(rename = "p95_ns")]
        p95: Delay,
        /// The most that would have passed.
        #[serde(rename = "limit_ns")]
        limit: Delay,
        /// Where the queue is. Null when unknown.
        hop: Option<QueueHop>,
    },
    /// Packets are lost at random, whatever the rate, so that the load never saturates the line.
    LossLimited {
        /// The direction.
        direction: Direction,
        /// What that direction delivered.
        #[serde(rename = "delivered_bps")]
        delivered: BitRate,
        /// Share of segments retransmitted, or of probes lost.
        ///
        /// Unit: share.
        loss: f64,
    },
    /// The load stayed below the rate that was set, without a queue: a host limits it.
    HostLimited {
        /// The direction.
        direction: Direction,
        /// The rate that was set. Null when unshaped.
        #[serde(rename = "set_bps")]
        set: Option<BitRate>,
        /// What that direction delivered.
        #[serde(rename = "delivered_bps")]
        delivered: BitRate,
        /// What limits it. Null when unknown.
        limit: Option<HostLimit>,
    },
    /// Nothing arrived, or no probe did.
    NotMeasured {
        /// The direction.
        direction: Direction,
    },
    /// Other traffic disturbed every repetition of a trial.
    Disturbed {
        /// The direction.
        direction: Direction,
    },
    /// No rate down to the smallest that may be set kept the delay within the limit.
    NoRatePasses {
        /// The direction.
        direction: Direction,
        /// The smallest rate that was tried.
        #[serde(rename = "set_bps")]
        set: BitRate,
        /// The percentile of the queueing delay that was judged: 95, or 99 where low delay was preferred.
        ///
        /// Unit: count.
        percentile: u8,
        /// Queueing delay at that rate, that percentile.
        #[serde(rename = "delay_ns")]
        delay: Delay,
        /// The most that would have passed.
        #[serde(rename = "limit_ns")]
        limit: Delay,
    },
}

/// What the reader must know beside the outcome.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case", tag = "caution")]
pub enum Caution {
    /// Trials were discarded because other traffic used the line.
    OtherTraffic {
        /// The direction.
        direction: Direction,
        /// How many.
        ///
        /// Unit: count.
        trials: u32,
    },
    /// Trials were discarded because the line delivered less in them than before and after.
    Interrupted {
        /// The direction.
        direction: Direction,
        /// How many.
        ///
        /// Unit: count.
        trials: u32,
    },
    /// Trials were discarded because a hypervisor took much of a host's processor time in them.
    Stolen {
        /// The direction.
        direction: Direction,
        /// How many.
        ///
        /// Unit: count.
        trials: u32,
    },
    /// Segments were lost at random, without a queue.
    RandomLoss {
        /// The direction.
        direction: Direction,
        /// Share of probes lost.
        ///
        /// Unit: share.
        loss: f64,
    },
    /// At the recommended rates, queueing delay was above the limit: by less than its interval is wide, or in bursts alone.
    NearLimit {
        /// The direction.
        direction: Direction,
        /// The percentile of the queueing delay that was judged: 95, or 99 where low delay was preferred.
        ///
        /// Unit: count.
        percentile: u8,
        /// That percentile in the last check of both directions.
        #[serde(rename = "delay_ns")]
        delay: Delay,
    },
    /// The processors of a host were busy in trials of the search or in a check, which may have lowered the rates.
    BusyProcessors {
        /// The host.
        host: ObservationPoint,
        /// How many trials.
        ///
        /// Unit: count.
        trials: u32,
    },
    /// One direction needs no shaper: unshaped, it adds no more delay than the limit.
    AlreadyManaged {
        /// The direction.
        direction: Direction,
    },
}

/// What the session found of one direction.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Tuning by direction")]
pub struct TunedDirection {
    /// The most queueing delay that passes. Null when no rate of the line is known yet, on which it depends.
    #[serde(rename = "limit_ns")]
    pub limit: Option<Delay>,
    /// The recommended rate. Null when none is.
    pub chosen: Option<Chosen>,
    /// The rate of the line, estimated from all trials. Null when no trial showed it.
    pub capacity: Option<Capacity>,
    /// The unshaped line, past its burst.
    pub unshaped: Option<UnshapedLine>,
    /// Percentiles of the line's rate over time. Null unless it varies.
    pub varying: Option<VaryingRate>,
    /// A burst allowance. Null when none was seen.
    pub burst: Option<Burst>,
    /// A policer. Null when none was seen.
    pub policer: Option<Policer>,
    /// Trials that no other one beats in both rate and delay, the highest rate first.
    pub pareto: Vec<ParetoPoint>,
}

/// A recommended rate, and what it costs and gains against the unshaped line.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Recommended rate")]
pub struct Chosen {
    /// The rate to set.
    #[serde(rename = "rate_bps")]
    pub rate: BitRate,
    /// Number of the last trial at this rate.
    ///
    /// Unit: count.
    pub trial: u32,
    /// What was delivered at this rate in that trial.
    #[serde(rename = "delivered_bps")]
    pub delivered: BitRate,
    /// Queueing delay at this rate, 95th percentile.
    #[serde(rename = "p95_ns")]
    pub p95: Delay,
    /// Delivered by the unshaped line past its burst, less what is delivered at this rate: what shaping leaves unused.
    #[serde(rename = "cost_bps")]
    pub cost: i64,
    /// Queueing delay of the unshaped line less that at this rate, both at the 95th percentile.
    #[serde(rename = "gain_ns")]
    pub gain: Delay,
}

/// The rate of the line in the shaper's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Rate of the line")]
pub struct Capacity {
    /// Median of the posterior distribution.
    #[serde(rename = "median_bps")]
    pub median: BitRate,
    /// Lower end of the 90 % interval of highest posterior density.
    #[serde(rename = "low_bps")]
    pub low: BitRate,
    /// Upper end of that interval.
    #[serde(rename = "high_bps")]
    pub high: BitRate,
}

/// The line without a shaper.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
pub struct UnshapedLine {
    /// Delivered past the burst.
    #[serde(rename = "delivered_bps")]
    pub delivered: BitRate,
    /// Queueing delay, median.
    #[serde(rename = "p50_ns")]
    pub p50: Delay,
    /// Queueing delay, 95th percentile.
    #[serde(rename = "p95_ns")]
    pub p95: Delay,
}

/// The rate of a line that changes with time: percentiles of the delivered rate while the line was saturated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Varying rate")]
pub struct VaryingRate {
    /// 10th percentile.
    #[serde(rename = "p10_bps")]
    pub p10: BitRate,
    /// Median.
    #[serde(rename = "p50_bps")]
    pub p50: BitRate,
    /// 90th percentile.
    #[serde(rename = "p90_bps")]
    pub p90: BitRate,
}

/// A rate above the sustained one at the beginning of the load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Burst allowance")]
pub struct Burst {
    /// Delivered during the burst.
    #[serde(rename = "rate_bps")]
    pub rate: BitRate,
    /// The least time that it lasted: what the line carries before the first step is not measured.
    #[serde(rename = "lasted_ns")]
    pub lasted: Delay,
    /// The fewest bytes delivered beyond the sustained rate: what shaping to the sustained rate gives up.
    #[serde(rename = "excess_octets")]
    pub excess: ByteCount,
}

/// A limit that drops and does not queue.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Policer")]
pub struct Policer {
    /// The rate above which packets are dropped.
    ///
    /// Source: Flach et al., "An Internet-Wide Analysis of Traffic Policing", SIGCOMM 2016.
    #[serde(rename = "rate_bps")]
    pub rate: BitRate,
    /// The fewest bytes that pass above that rate before the drops begin. Null when unknown.
    #[serde(rename = "bucket_octets")]
    pub bucket: Option<ByteCount>,
}

/// A trial that no other one beats in both rate and delay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ParetoPoint {
    /// Its number.
    ///
    /// Unit: count.
    pub trial: u32,
    /// The rate that was set. Null when unshaped.
    #[serde(rename = "set_bps")]
    pub set: Option<BitRate>,
    /// Delivered rate.
    #[serde(rename = "delivered_bps")]
    pub delivered: BitRate,
    /// Queueing delay, 95th percentile.
    #[serde(rename = "p95_ns")]
    pub p95: Delay,
}

/// A trial and its verdict.
#[derive(Debug, Clone, PartialEq, Serialize, JsonSchema)]
pub struct JudgedTrial {
    /// Its figures.
    #[serde(flatten)]
    pub trial: Trial,
    /// Verdict of each direction. Null in a direction that was not judged.
    pub verdicts: ByDirection<Option<Verdict>>,
    /// Why it was discarded. Null when it was used.
    pub discarded: Option<Discarded>,
}

/// Who held the queue of one direction in one trial.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Verdict {
    /// The shaper held the load at its rate, and the delay stayed within the limit.
    ShaperHolds,
    /// The line held the load: the delay was above the limit, or the line delivered less than was set.
    LineHolds,
    /// Neither held the load: it was less than both.
    NotSaturated,
}

/// Why a trial was discarded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[serde(rename_all = "snake_case")]
#[schemars(inline)]
pub enum Discarded {
    /// Other traffic passed the shaper.
    OtherTraffic,
    /// Less arrived than both the shaper and the unshaped line pass, without a queue that stays, or on a line whose rate is even.
    Interrupted,
    /// The delay was above the limit, and a hypervisor took much of a host's processor time.
    Stolen,
}
