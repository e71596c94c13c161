//! How delay varies from packet to packet of one stream: PDV, IPDV, and the estimator of RTP.
//!
//! The three answer different questions, and none is printed as bare "jitter". PDV (RFC 5481) is what a de-jitter
//! buffer must hold and what queues add. IPDV (RFC 3393) and RTP's estimator (RFC 3550) compare adjacent packets only:
//! they are blind to a queue that stands or grows slowly, and depend on how far apart the packets were sent.

use rrul_model::flow_kind::FlowKind;
use rrul_model::time::TestTime;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::by_phase::ByPhase;
use crate::flow_label::FlowLabel;
use crate::metrics::delay::round_trip_delay::Judgement;
use crate::packets::join::ProbeFlow;
use crate::statistics::percentile::percentiles;

/// One packet of a stream and its delay: a singleton of RFC 2330.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Singleton {
    /// Its number in the stream.
    pub sequence: u32,
    pub sent: TestTime,
    /// Its delay, one way or round trip; `None` when it was lost. An offset common to the whole sample changes nothing.
    pub delay: Option<Delay>,
}

/// Variation of the delay of one stream in one phase.
///
/// Of one stream in one phase. No figure is called plain "jitter", because the word means all of these. PDV is the
/// depth that a de-jitter buffer needs, and shows queues; use its 95th percentile to compare. IPDV and RTP's estimator
/// compare adjacent packets: they depend on the packet interval and do not show a queue that stands or grows slowly.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Delay variation")]
pub struct DelayVariation {
    /// Packets, lost ones included.
    ///
    /// Unit: count.
    pub n: u64,
    /// Of those, lost packets.
    ///
    /// Unit: count.
    pub lost: u64,
    /// Median packet delay variation: delay less the smallest delay of the sample. A lost packet is infinitely late;
    /// null when the rank falls on one. One way, null also where the clock drift is uncertain.
    ///
    /// Source: RFC 5481 section 4.2; ITU-T Y.1540.
    pub pdv_p50_ns: Option<i64>,
    /// 95th percentile of the same.
    pub pdv_p95_ns: Option<i64>,
    /// 99th percentile of the same.
    pub pdv_p99_ns: Option<i64>,
    /// Packets that arrived as well as the one before them in number.
    ///
    /// Unit: count. Source: RFC 3393 section 2.4.
    pub ipdv_n: u64,
    /// Smallest inter-packet delay variation: delay of such a packet less that of the one before, signed.
    ///
    /// Source: RFC 3393 section 2.4.
    pub ipdv_min_ns: Option<i64>,
    /// 5th percentile of the same.
    pub ipdv_p5_ns: Option<i64>,
    /// Median of the same.
    pub ipdv_p50_ns: Option<i64>,
    /// 95th percentile of the same.
    pub ipdv_p95_ns: Option<i64>,
    /// Largest value of the same.
    pub ipdv_max_ns: Option<i64>,
    /// Mean of its magnitude. Other programs call this or the next "jitter" or "IPDV".
    ///
    /// Source: RFC 3393 section 2.4.
    pub ipdv_abs_mean_ns: Option<i64>,
    /// Median of its magnitude.
    pub ipdv_abs_median_ns: Option<i64>,
    /// RTP's estimator J += (abs(D) - J) / 16 after the last packet: in order of arrival, from 0 at the first packet of
    /// the phase, without copies of a packet after the first.
    ///
    /// Source: RFC 3550 section 6.4.1.
    pub rtp_jitter_ns: Option<i64>,
    /// Largest value of that estimator in the phase.
    pub rtp_jitter_max_ns: Option<i64>,
}

/// Variation of the round-trip delay of one flow by phase. Both directions contribute to it.
///
/// It mixes both directions. Use it if delay by direction is unknown; otherwise `one_way_delay.legs[]` is better.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "Variation of round-trip delay")]
pub struct RoundTripVariation {
    /// Name of a probe flow.
    pub flow: FlowLabel,
    /// By phase.
    #[serde(flatten)]
    pub phases: ByPhase<Option<DelayVariation>>,
}

/// Variation of the round-trip delay of these probe flows, for when one-way delay is not known.
pub(crate) fn of_round_trips(probes: &[ProbeFlow<'_>], judgement: &Judgement<'_>) -> Vec<RoundTripVariation> {
    let flow = |flow: &ProbeFlow<'_>| {
        let singletons: Vec<Singleton> = judgement
            .known(flow)
            .map(|probe| {
                let delay = probe.answered_within(judgement.waiting_time);
                Singleton { sequence: probe.sequence, sent: probe.sent, delay }
            })
            .collect();
        let phases = ByPhase::each(|phase| {
            let within = singletons.iter().filter(|one| judgement.phase(one.sent) == Some(phase));
            DelayVariation::from_sample(&within.copied().collect::<Vec<_>>())
        });
        RoundTripVariation { flow: flow.flow.into(), phases }
    };
    let sampled = |flow: &&ProbeFlow<'_>| !flow.probes.is_empty() && flow.flow.kind() != FlowKind::ExchangeMean;
    probes.iter().filter(sampled).map(flow).collect()
}

impl DelayVariation {
    /// What is left to say where clocks drift by an unknown amount, which adds up over the sample.
    #[must_use]
    pub fn without_pdv(self) -> Self {
        Self { pdv_p50_ns: None, pdv_p95_ns: None, pdv_p99_ns: None, ..self }
    }

    /// The variation within this sample of one stream, in the order of its numbers; `None` of no packet.
    pub fn from_sample(sample: &[Singleton]) -> Option<Self> {
        if sample.is_empty() {
            return None;
        }
        let n = sample.len() as u64;
        let mut delays: Vec<i64> = sample.iter().filter_map(|one| Some(one.delay?.0)).collect();
        let lost = n - delays.len() as u64;
        let least = delays.iter().min().copied();
        let pdv = percentiles(&mut delays, lost, [500, 950, 990]);
        let [pdv_p50_ns, pdv_p95_ns, pdv_p99_ns] = pdv.map(|delay| Some(delay?.saturating_sub(least?)));
        let mut ipdv = ipdv(sample);
        let [ipdv_p5_ns, ipdv_p50_ns, ipdv_p95_ns] = percentiles(&mut ipdv, 0, [50, 500, 950]);
        let mut magnitudes: Vec<i64> = ipdv.iter().map(|one| one.saturating_abs()).collect();
        let [ipdv_abs_median_ns] = percentiles(&mut magnitudes, 0, [500]);
        let sum: i128 = magnitudes.iter().map(|one| i128::from(*one)).sum();
        let mean = sum.checked_div(magnitudes.len() as i128).and_then(|mean| i64::try_from(mean).ok());
        let rtp = rtp_jitter(sample);
        Some(Self {
            n,
            lost,
            pdv_p50_ns,
            pdv_p95_ns,
            pdv_p99_ns,
            ipdv_n: ipdv.len() as u64,
            ipdv_min_ns: ipdv.iter().min().copied(),
            ipdv_p5_ns,
            ipdv_p50_ns,
            ipdv_p95_ns,
            ipdv_max_ns: ipdv.iter().max().copied(),
            ipdv_abs_mean_ns: mean,
            ipdv_abs_median_ns,
            rtp_jitter_ns: rtp.map(|(last, _)| last),
            rtp_jitter_max_ns: rtp.map(|(_, most)| most),
        })
    }
}

/// Inter-packet delay variation, nanoseconds, signed: of packets whose predecessor in number arrived as well
/// (RFC 3393 section 2.4, the selection function that takes consecutive packets).
fn ipdv(sample: &[Singleton]) -> Vec<i64> {
    let neighbours = sample.windows(2).filter_map(|pair| {
        let [before, this] = pair else { return None };
        let (earlier, later) = (before.delay?, this.delay?);
        (before.sequence.checked_add(1) == Some(this.sequence)).then(|| (later - earlier).0)
    });
    neighbours.collect()
}

/// RTP's estimator: J += (|D| - J) / 16 over the packets in the order of their arrival, from J = 0.
///
/// D is the difference of the transit times of two packets that arrived one after the other. Gives J after the last
/// packet and its largest value, nanoseconds; `None` with fewer than two arrivals.
fn rtp_jitter(sample: &[Singleton]) -> Option<(i64, i64)> {
    let mut arrivals: Vec<(i64, i64)> =
        sample.iter().filter_map(|one| Some((one.sent.0.saturating_add(one.delay?.0), one.delay?.0))).collect();
    arrivals.sort_by_key(|(at, _)| *at);
    let steps = arrivals.windows(2).filter_map(|pair| Some((pair.last()?.1, pair.first()?.1)));
    let mut estimate = None;
    for (later, earlier) in steps {
        let (last, most) = estimate.unwrap_or((0.0, 0.0));
        let next = last + (later.saturating_sub(earlier).saturating_abs() as f64 - last) / 16.0;
        estimate = Some((next, next.max(most)));
    }
    estimate.map(|(last, most): (f64, f64)| (last.round() as i64, most.round() as i64))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: i64 = 1_000_000;

    fn sample(delays: &[Option<i64>]) -> Vec<Singleton> {
        let one = |(index, delay): (usize, &Option<i64>)| Singleton {
            sequence: index as u32,
            sent: TestTime(index as i64 * 20 * MS),
            delay: delay.map(|ms| Delay(ms * MS)),
        };
        delays.iter().enumerate().map(one).collect()
    }

    #[test]
    fn pdv_is_above_the_smallest_and_a_loss_is_infinitely_late() {
        let delays: Vec<_> = (1..=19).map(|ms| Some(9 + ms)).chain([None]).collect();
        let variation = DelayVariation::from_sample(&sample(&delays)).unwrap();
        assert_eq!((variation.n, variation.lost), (20, 1));
        // Ranks 10 and 19 of 20, and 20, which is the loss.
        assert_eq!(variation.pdv_p50_ns, Some(9 * MS));
        assert_eq!(variation.pdv_p95_ns, Some(18 * MS));
        assert_eq!(variation.pdv_p99_ns, None);
    }

    #[test]
    fn ipdv_is_signed_and_only_between_adjacent_packets_that_both_arrived() {
        let variation = DelayVariation::from_sample(&sample(&[Some(10), Some(13), None, Some(50), Some(49)])).unwrap();
        assert_eq!(variation.ipdv_n, 2, "13-10 and 49-50; the loss breaks the row on both sides");
        assert_eq!((variation.ipdv_min_ns, variation.ipdv_max_ns), (Some(-MS), Some(3 * MS)));
        assert_eq!((variation.ipdv_abs_mean_ns, variation.ipdv_abs_median_ns), (Some(2 * MS), Some(MS)));
    }

    #[test]
    fn a_standing_queue_is_seen_by_pdv_and_not_by_ipdv() {
        let delays: Vec<_> = (0..1000).map(|index| Some(if index < 100 { 20 } else { 170 })).collect();
        let variation = DelayVariation::from_sample(&sample(&delays)).unwrap();
        assert_eq!(variation.pdv_p50_ns, Some(150 * MS));
        assert_eq!(variation.ipdv_abs_median_ns, Some(0));
        assert_eq!(variation.rtp_jitter_ns, Some(0), "it has decayed");
        assert_eq!(variation.rtp_jitter_max_ns, Some(150 * MS / 16));
    }

    #[test]
    fn rtp_jitter_follows_the_worked_recursion_in_the_order_of_arrival() {
        // Transit 10, 26, 10: J = 16/16 = 1, then 1 + (16 - 1) / 16 = 1.9375 ms.
        let variation = DelayVariation::from_sample(&sample(&[Some(10), Some(26), Some(10)])).unwrap();
        assert_eq!(variation.rtp_jitter_ns, Some(1_937_500));
        // The second overtaken by the third: 10, 20, 100 as they arrive: 10/16, then 0.625 + (80 - 0.625) / 16.
        let variation = DelayVariation::from_sample(&sample(&[Some(10), Some(100), Some(20)])).unwrap();
        assert_eq!(variation.rtp_jitter_ns, Some(5_585_938));
    }

    #[test]
    fn an_offset_of_the_clocks_changes_nothing_and_extremes_do_no_harm() {
        let plain = sample(&[Some(10), Some(30), Some(11), None, Some(12)]);
        let moved: Vec<_> =
            plain.iter().map(|one| Singleton { delay: one.delay.map(|d| d - Delay(7_654_321)), ..*one }).collect();
        assert_eq!(DelayVariation::from_sample(&plain), DelayVariation::from_sample(&moved));
        let extreme = |sequence, delay| Singleton { sequence, sent: TestTime(delay), delay: Some(Delay(delay)) };
        let variation =
            DelayVariation::from_sample(&[extreme(0, i64::MIN), extreme(1, i64::MAX), extreme(u32::MAX, 0)]);
        assert_eq!(variation.unwrap().ipdv_max_ns, Some(i64::MAX));
        assert_eq!(DelayVariation::from_sample(&[]), None);
        assert_eq!(DelayVariation::from_sample(&[extreme(0, 1)]).unwrap().rtp_jitter_ns, None);
    }
}
