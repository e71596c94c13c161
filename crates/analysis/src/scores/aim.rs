//! Aggregated internet measurement, AIM, of Cloudflare's speed test: points for latency, its rise under load, variation,
//! loss and rate, summed for what a line is to be used for, and named from bad to great.
//!
//! A value at a step's edge is past it. Steps and points:
//!
//! | value | steps | points |
//! |---|---|---|
//! | loss | 0.01 0.05 0.25 0.5 | 10 5 0 -10 -20 |
//! | latency, ms; its rise, ms | 10 20 50 100 500 | 20 10 5 0 -10 -20 |
//! | variation, ms | 10 20 100 500 | 10 5 0 -10 -20 |
//! | download, Mbit/s | 1 10 50 100 | 0 5 10 20 30 |
//!
//! Streaming is latency, loss, download and rise (15 20 40 60); gaming latency, loss and rise (5 15 25 30); calls (rtc)
//! latency, variation, loss and rise (5 15 25 40). Sums below 0 are 0; numbers in brackets are where poor, average, good and
//! great begin. Without loss the original gives it 0 points, and without any other value the use is not scored.
//!
//! Measured here: latency is the idle median round trip of best-effort probes, the rise that under load less it, both
//! directions loaded at once where the original loads one after the other; variation the mean magnitude of differences
//! between adjacent idle samples; loss that of round trips under load; download the sum of the streams' mean goodput,
//! where the original takes the 90th percentile of transfers on an idle line.

use rrul_model::flow_kind::FlowKind;
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

use crate::measured::Measured;
use crate::score::ScoreWord;
use crate::scores::composite::windows;
use crate::statistics::bootstrap::mean;
use crate::statistics::percentile::percentile;

pub const WORD: ScoreWord = ScoreWord {
    name: "aim",
    about: "streaming, gaming and calls in points and a word, bad to great",
    source: "Cloudflare speed test, AIM, as of August 2026",
};

/// Steps, and the points below the first, between them and from the last on.
struct Steps<const N: usize, const M: usize> {
    steps: [f64; N],
    points: [i32; M],
}

impl<const N: usize, const M: usize> Steps<N, M> {
    /// The points of a value; `None` of what is no number.
    fn points_for(&self, value: f64) -> Option<i32> {
        let passed = self.steps.iter().filter(|step| value >= **step).count();
        self.points.get(passed).copied().filter(|_| !value.is_nan())
    }
}

const LOSS: Steps<4, 5> = Steps { steps: [0.01, 0.05, 0.25, 0.5], points: [10, 5, 0, -10, -20] };
const LATENCY: Steps<5, 6> = Steps { steps: [10.0, 20.0, 50.0, 100.0, 500.0], points: [20, 10, 5, 0, -10, -20] };
const VARIATION: Steps<4, 5> = Steps { steps: [10.0, 20.0, 100.0, 500.0], points: [10, 5, 0, -10, -20] };
const DOWNLOAD: Steps<4, 5> = Steps { steps: [1e6, 1e7, 5e7, 1e8], points: [0, 5, 10, 20, 30] };
const STREAMING: Steps<4, 5> = Steps { steps: [15.0, 20.0, 40.0, 60.0], points: [0, 1, 2, 3, 4] };
const GAMING: Steps<4, 5> = Steps { steps: [5.0, 15.0, 25.0, 30.0], points: [0, 1, 2, 3, 4] };
const RTC: Steps<4, 5> = Steps { steps: [5.0, 15.0, 25.0, 40.0], points: [0, 1, 2, 3, 4] };
const WORDS: [&str; 5] = ["bad", "poor", "average", "good", "great"];

/// What a line does; `None` is not measured.
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct Line {
    /// Idle round trip, milliseconds.
    pub latency_ms: Option<f64>,
    /// Its rise under load, milliseconds.
    pub rise_ms: Option<f64>,
    /// Variation on the idle line, milliseconds.
    pub variation_ms: Option<f64>,
    pub loss: Option<f64>,
    /// Download, bits per second.
    pub download_bps: Option<f64>,
}

/// One use of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct Experience {
    /// Sum of the points of its values, at least 0.
    ///
    /// Unit: points. Source: Cloudflare speed test.
    pub points: i32,
    /// The points as a word: `bad`, `poor`, `average`, `good` or `great`.
    ///
    /// Source: Cloudflare speed test.
    #[schemars(extend("enum" = WORDS))]
    pub word: &'static str,
}

/// Scores of three uses of a line.
///
/// Null without best-effort probes. A use with a missing value is null; missing loss has 0 points.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(title = "AIM")]
pub struct Aim {
    /// Video streaming.
    pub streaming: Option<Experience>,
    /// Online games.
    pub gaming: Option<Experience>,
    /// Video calls.
    pub rtc: Option<Experience>,
}

impl Aim {
    pub fn new(line: &Line) -> Self {
        let latency = line.latency_ms.and_then(|value| LATENCY.points_for(value));
        let rise = line.rise_ms.and_then(|value| LATENCY.points_for(value));
        let variation = line.variation_ms.and_then(|value| VARIATION.points_for(value));
        let download = line.download_bps.and_then(|value| DOWNLOAD.points_for(value));
        let loss = Some(line.loss.and_then(|value| LOSS.points_for(value)).unwrap_or(0));
        Self {
            streaming: experience(&[latency, loss, download, rise], &STREAMING),
            gaming: experience(&[latency, loss, rise], &GAMING),
            rtc: experience(&[latency, variation, loss, rise], &RTC),
        }
    }
}

fn experience(values: &[Option<i32>], classes: &Steps<4, 5>) -> Option<Experience> {
    let points = values.iter().copied().sum::<Option<i32>>()?.max(0);
    let class = classes.points_for(f64::from(points))?;
    Some(Experience { points, word: WORDS.get(usize::try_from(class).ok()?)? })
}

pub(crate) fn aim(analysis: &Measured) -> Option<Aim> {
    let (Some(idle), Some(load)) = windows(analysis) else { return None };
    let flows = analysis.round_trip_delay.flows.iter();
    let probes: Vec<_> =
        flows.filter(|e| e.flow.kind() == FlowKind::UdpProbe && e.flow.class == ServiceClass::BE).collect();
    let within = |window: rrul_model::time::Window| -> Vec<Option<f64>> {
        let points = probes.iter().flat_map(|entry| &entry.series).filter(|point| window.contains(point.at));
        points.map(|point| point.delay.map(Delay::milliseconds)).collect()
    };
    let median = |delays: &[Option<f64>]| {
        let mut sorted: Vec<f64> = delays.iter().copied().flatten().collect();
        sorted.sort_unstable_by(f64::total_cmp);
        let lost = (delays.len() - sorted.len()) as u64;
        (!delays.is_empty()).then(|| percentile(&sorted, lost, 500).unwrap_or(f64::INFINITY))
    };
    let (quiet, busy) = (within(idle), within(load));
    let latency_ms = median(&quiet).filter(|latency| latency.is_finite());
    let variations: Vec<f64> = analysis
        .round_trip_variation
        .iter()
        .filter(|entry| entry.flow.kind() == FlowKind::UdpProbe && entry.flow.class == ServiceClass::BE)
        .filter_map(|entry| Some(entry.phases.idle?.ipdv_abs_mean_ns? as f64 / 1e6))
        .collect();
    let lost = busy.iter().filter(|delay| delay.is_none()).count();
    let download = Some(analysis.goodput.down.sum.0 as f64).filter(|_| !analysis.goodput.down.flows.is_empty());
    (!quiet.is_empty()).then(|| {
        Aim::new(&Line {
            latency_ms,
            rise_ms: latency_ms.zip(median(&busy)).map(|(idle, load)| load - idle),
            variation_ms: mean(&variations),
            loss: (!busy.is_empty()).then(|| lost as f64 / busy.len() as f64),
            download_bps: download,
        })
    })
}
