//! Round-trip delay of test packets by phase (RFC 2681), losses counted as infinitely late.

use std::time::Duration;

use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::analysis::{DelayFlow, DelayPoint, PhaseDelays};
use crate::join::{Fate, ProbeFlow};
use crate::metrics::loss;
use crate::statistics::percentile::DelayStatistics;

/// What tells the fate of a packet, and in which phase it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judgement<'a> {
    /// The phases of the test.
    pub(crate) phases: &'a [PhaseWindow],
    /// How long a packet is waited for.
    pub(crate) waiting_time: Duration,
    /// When the recording ended.
    pub(crate) end: TestTime,
}

impl Judgement<'_> {
    /// The packets of a flow with their fate, those without one left out.
    pub(crate) fn points(&self, flow: &ProbeFlow<'_>) -> Vec<DelayPoint> {
        let decided = flow.probes.iter().filter_map(|probe| match probe.fate(self.waiting_time, self.end) {
            Fate::Answered(delay) => Some(DelayPoint { at: probe.sent, delay: Some(delay) }),
            Fate::Lost => Some(DelayPoint { at: probe.sent, delay: None }),
            Fate::Undecided => None,
        });
        let mut points: Vec<DelayPoint> = decided.collect();
        points.sort_by_key(|point| point.at);
        points
    }

    /// The phase of a packet that was sent at `at`, wherever its reply arrived.
    pub(crate) fn phase(&self, at: TestTime) -> Option<Phase> {
        self.phases.iter().find(|entry| entry.window.contains(at)).map(|entry| entry.phase)
    }

    /// Statistics of these packets for each phase.
    pub(crate) fn phase_delays<'p>(&self, points: impl Iterator<Item = &'p DelayPoint>) -> PhaseDelays {
        let mut answered: [Vec<Delay>; 3] = Default::default();
        let mut lost = [0; 3];
        for point in points {
            let Some(phase) = self.phase(point.at) else { continue };
            match point.delay {
                Some(delay) => answered[phase as usize].push(delay),
                None => lost[phase as usize] += 1,
            }
        }
        let [idle, load, after] = answered;
        PhaseDelays {
            idle: DelayStatistics::of(idle, lost[Phase::Idle as usize]),
            load: DelayStatistics::of(load, lost[Phase::Load as usize]),
            after: DelayStatistics::of(after, lost[Phase::After as usize]),
        }
    }

    /// Everything about one probe flow.
    pub(crate) fn flow(&self, flow: &ProbeFlow<'_>) -> DelayFlow {
        let series = self.points(flow);
        let delays = self.phase_delays(series.iter());
        DelayFlow { flow: flow.flow.into(), loss: loss::of(&delays), delays, series }
    }
}
