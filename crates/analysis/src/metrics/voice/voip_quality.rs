//! What voice streams were worth: counts, delay, and the E-model's verdict.

use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::clock_offset::ClockOffset;
use crate::metrics::delay::delay_variation::{DelayVariation, Singleton};
use crate::metrics::voice::voip_playout::Packet;
use crate::scores::e_model::{Concealment, Impairment, mean_opinion_score};
use crate::statistics::loss_runs::{LossRuns, LossRunsSummary};
use crate::statistics::percentile::DelayStatistics;

/// Filling a packet with 10 ms of speech, and holding it back for the 30 ms that its delay may vary by.
const PACKETISATION_AND_PLAYOUT: Delay = Delay(40_000_000);

/// One stream, or several of the same class and direction, in one phase.
///
/// Of the packets *sent* in the phase, by the first copy that arrived. Known fate is as under `loss`, for the receiver
/// of each direction: packets sent less than the waiting time before it stopped listening count only if all of them
/// arrived.
///
/// **Late.** The specification counts a packet as lost if its delay varies by more than 30 ms, without naming the
/// reference. Two receivers are modeled. The adaptive one uses the smallest one-way delay of the last 5 s
/// (`reference_window_ns`): a standing queue costs delay, a growing one packets. The fixed one uses the smallest since
/// the stream began. Scores use the adaptive one. Lost and late packets are disjoint.
///
/// **Opinion.** R = 93.2 - Idd(Ta) - Ie,eff, all other parameters of the E-model at their defaults, Ie = 0; Bpl = 25.1
/// with packet loss concealment and 4.3 without (G.711 in packets of 10 ms). Ta is the mean one-way delay, 10 ms of
/// packetisation and 30 ms of play-out; Ppl is `effective_loss` and BurstR `effective_burst_ratio`, cut to 1 to 8 (1
/// without loss). The one-way delay assumes a symmetric base path, so the error of Ta is up to
/// `one_way_delay_bound_ns`; below 100 ms that has no effect. G.107 is specified for losses up to 20 %; beyond, the
/// formula is extrapolated. Scores estimate the mean opinion of listeners, for G.711 only.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, JsonSchema)]
#[schemars(title = "Voice streams in one phase")]
pub struct VoipQuality {
    /// Packets sent whose fate is known.
    ///
    /// Unit: count. Source: RFC 7680.
    pub sent: u64,
    /// Of those, not arrived within the waiting time.
    ///
    /// Unit: count. Source: RFC 7680.
    pub lost: u64,
    /// Of those, arrived more than 30 ms above the adaptive reference.
    ///
    /// Unit: count. Source: spec, VoIP Component.
    pub late30: u64,
    /// Of those, arrived more than 30 ms above the fixed reference.
    ///
    /// Unit: count. Source: spec, VoIP Component.
    pub late30_fixed: u64,
    /// `lost` over `sent`.
    ///
    /// Unit: share. Source: RFC 7680.
    pub one_way_loss: Option<f64>,
    /// `lost` and `late30` over `sent`.
    ///
    /// Unit: share. Source: spec, VoIP Component.
    pub effective_loss: Option<f64>,
    /// `lost` and `late30_fixed` over `sent`.
    ///
    /// Unit: share. Source: spec, VoIP Component.
    pub effective_loss_fixed: Option<f64>,
    /// [Runs](#loss-runs) of the lost packets.
    pub loss_runs: LossRunsSummary,
    /// BurstR of the lost or late packets; `null` without any, or if all are.
    ///
    /// Source: ITU-T G.107.
    pub effective_burst_ratio: Option<f64>,
    /// Copies beyond the first.
    ///
    /// Unit: count. Source: RFC 5560.
    pub duplicates: u64,
    /// Packets whose first copy arrived after a packet of a higher number.
    ///
    /// Unit: count. Source: RFC 4737.
    pub reordered: u64,
    /// [Statistics](#statistics-of-delays) of the one-way delay, from kernel timestamps if available, with related
    /// clocks. `null` if the clocks cannot be related.
    ///
    /// Source: RFC 7679.
    pub one_way_delay: Option<DelayStatistics>,
    /// Mean of the packets that arrived.
    ///
    /// Source: RFC 7679.
    pub one_way_delay_mean_ns: Option<i64>,
    /// Largest error of one-way delay, the same for all packets, because the split of the smallest round trip is
    /// unknown.
    pub one_way_delay_bound_ns: Option<i64>,
    /// [Variation](#delay-variation) of the delay; `null` for several streams together.
    pub delay_variation: Option<DelayVariation>,
    /// Rating R of the E-model, at most 93.2, with packet loss concealment. Null without one-way delay.
    ///
    /// Source: ITU-T G.107, G.113.
    pub rating_plc: Option<f64>,
    /// Rating R without concealment.
    pub rating_no_plc: Option<f64>,
    /// Mean opinion score of that R, with concealment: above 4.3 very satisfied, below 3.6 many dissatisfied. Null
    /// without one-way delay.
    ///
    /// Unit: 1 to 4.41. Source: ITU-T G.107 annex B.
    pub mos_plc: Option<f64>,
    /// Mean opinion score without concealment.
    ///
    /// Unit: 1 to 4.41.
    pub mos_no_plc: Option<f64>,
}

impl VoipQuality {
    /// Rates these packets, a slice for each stream; `None` without any.
    pub(crate) fn measure(streams: &[&[Packet]], offset: Option<&ClockOffset>) -> Option<Self> {
        let packets = || streams.iter().copied().flatten();
        let sent = packets().count() as u64;
        if sent == 0 {
            return None;
        }
        let count = |of: fn(&Packet) -> bool| packets().filter(|packet| of(packet)).count() as u64;
        let runs = |missing: fn(&Packet) -> bool| {
            let of_stream = |stream: &&[Packet]| LossRuns::from_fates(stream.iter().map(missing));
            streams.iter().map(of_stream).fold(LossRuns::default(), LossRuns::and)
        };
        let lost = runs(|packet| packet.delay.is_none());
        let effective = runs(|packet| packet.delay.is_none() || packet.late);
        let late30_fixed = count(|packet| packet.late_fixed);
        let delays = offset.map(|_| packets().filter_map(|packet| packet.delay).collect::<Vec<Delay>>());
        let mean = delays.as_deref().and_then(mean);
        let impairment = mean.map(|mean| Impairment {
            mouth_to_ear: mean + PACKETISATION_AND_PLAYOUT,
            loss: effective.share().unwrap_or(0.0),
            burst_ratio: effective.burst_ratio().unwrap_or(1.0),
        });
        let rating = |concealment| Some(rounded(impairment?.rating(concealment)));
        let score = |concealment| Some(rounded(mean_opinion_score(impairment?.rating(concealment))));
        Some(Self {
            sent,
            lost: lost.lost(),
            late30: count(|packet| packet.late),
            late30_fixed,
            one_way_loss: lost.share(),
            effective_loss: effective.share(),
            effective_loss_fixed: Some((lost.lost() + late30_fixed) as f64 / sent as f64),
            loss_runs: lost.summary(),
            effective_burst_ratio: effective.burst_ratio(),
            duplicates: packets().map(|packet| u64::from(packet.copies)).sum(),
            reordered: count(|packet| packet.reordered),
            one_way_delay: delays.and_then(|delays| DelayStatistics::from_delays(delays, lost.lost())),
            one_way_delay_mean_ns: mean.map(|mean| mean.0),
            one_way_delay_bound_ns: offset.map(|offset| offset.bound().0),
            delay_variation: match streams {
                [stream] => DelayVariation::from_sample(&stream.iter().map(singleton).collect::<Vec<_>>()),
                _ => None,
            },
            rating_plc: rating(Concealment::Plc),
            rating_no_plc: rating(Concealment::None),
            mos_plc: score(Concealment::Plc),
            mos_no_plc: score(Concealment::None),
        })
    }
}

fn singleton(packet: &Packet) -> Singleton {
    Singleton { sequence: packet.sequence, sent: packet.sent, delay: packet.delay }
}

fn mean(delays: &[Delay]) -> Option<Delay> {
    let sum: i128 = delays.iter().map(|delay| i128::from(delay.0)).sum();
    let mean = sum.checked_div(i128::try_from(delays.len()).ok()?)?;
    i64::try_from(mean).ok().map(Delay)
}

/// To three decimals: more would only be digits.
fn rounded(value: f64) -> f64 {
    (value * 1000.0).round() / 1000.0
}
