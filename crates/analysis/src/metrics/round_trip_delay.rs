//! Round-trip delay of test packets by phase (RFC 2681), losses counted as infinitely late.

use std::time::Duration;

use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::TestTime;
use rrul_model::units::Delay;

use crate::analysis::{DelayFlow, DelayPoint, PhaseDelays, Skipped};
use crate::join::{Probe, ProbeFlow};
use crate::metrics::loss;
use crate::statistics::percentile::DelayStatistics;

/// What tells the fate of a packet, and in which phase it was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Judgement<'a> {
    /// The phases of the test.
    pub(crate) phases: &'a [PhaseWindow],
    /// How long a packet is waited for.
    pub(crate) waiting_time: Duration,
    /// Until when the client listened to replies.
    pub(crate) end: TestTime,
}

impl Judgement<'_> {
    /// The packets of a flow with their fate, those without one left out.
    ///
    /// Of what was sent less than the waiting time before the end, the fate is known only when all of it was answered.
    /// Else all of it is left out, the answered packets too: to keep those and to drop the others would hide losses.
    pub(crate) fn points(&self, flow: &ProbeFlow<'_>) -> Vec<DelayPoint> {
        let decided = self.end - self.waiting_time;
        let mut last = flow.probes.iter().filter(|probe| probe.sent > decided);
        let all_answered = last.all(|probe| probe.answered_within(self.waiting_time).is_some());
        let known = flow.probes.iter().filter(|probe| all_answered || probe.sent <= decided);
        let point = |probe: &Probe| DelayPoint { at: probe.sent, delay: probe.answered_within(self.waiting_time) };
        let mut points: Vec<DelayPoint> = known.map(point).collect();
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
        let skipped = Skipped { packets: flow.skipped, due: flow.skipped.saturating_add(flow.probes.len() as u64) };
        DelayFlow { flow: flow.flow.into(), loss: loss::of(&delays), skipped, delays, series }
    }
}
