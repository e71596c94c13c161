//! The probes of one class and family, second by second.

use std::collections::{BTreeMap, BTreeSet};

use rrul_model::flow::AddressFamily;
use rrul_model::marking::ServiceClass;
use rrul_model::units::Delay;

use super::waiting::LONGEST_WAITING_TIME;
use crate::scores::composite::Ratios;
use crate::scores::score_cell::{Conditions, Losses, p95_ms};
use crate::statistics::percentile::percentile;

/// Packets of the idle line whose delays are remembered: a minute of five flows at 20 ms.
const BASELINE: usize = 15_000;

/// The probes of one class and family that were sent in one second. For the eye, as [`super::LiveSnapshot`].
#[derive(Debug, Clone, Copy, PartialEq, Default)]
pub struct DelaySecond {
    pub sent: u64,
    /// Of those, given up: no reply within the waiting time, nor later so far.
    pub lost: u64,
    /// Of those, neither answered nor given up so far.
    pub open: u64,
    /// Median round-trip delay; what is lost or open counts as later than all others, and `None` when the rank is there.
    pub median: Option<Delay>,
    /// Longest round-trip delay of an answered probe.
    pub longest: Option<Delay>,
    /// What the equalizer looks at. Its percentiles are only of use when nothing is open.
    conditions: Conditions,
}

/// Delays and losses of the probes of one class and family over time.
#[derive(Debug, Clone)]
pub struct DelayCell {
    pub class: ServiceClass,
    pub family: AddressFamily,
    seconds: Vec<DelaySecond>,
    /// Answers to the probes of seconds that may still change, by second.
    answered: BTreeMap<usize, Vec<Delay>>,
    /// Seconds that have changed since they were last computed.
    changed: BTreeSet<usize>,
    /// Of the probes sent on the idle line.
    idle: Vec<Delay>,
    idle_losses: Losses,
}

impl DelayCell {
    pub(super) fn new(class: ServiceClass, family: AddressFamily) -> Self {
        let (idle, idle_losses) = (Vec::new(), Losses::default());
        let (answered, changed) = (BTreeMap::new(), BTreeSet::new());
        Self { class, family, seconds: Vec::new(), answered, changed, idle, idle_losses }
    }

    /// Each second of the test that has begun, by when probes were sent.
    pub fn seconds(&self) -> &[DelaySecond] {
        &self.seconds
    }

    /// Median round-trip delay on the idle line so far; `None` while nothing was answered, or when most was lost.
    pub fn idle_median(&self) -> Option<Delay> {
        let mut idle = self.idle.clone();
        idle.sort_unstable();
        percentile(&idle, self.idle_losses.gone, 500)
    }

    /// Probes that were given up so far, of how many.
    pub fn losses(&self) -> Losses {
        let sum = |pick: fn(&DelaySecond) -> u64| self.seconds.iter().map(pick).sum();
        Losses { sent: sum(|second| second.sent.saturating_sub(second.open)), gone: sum(|second| second.lost) }
    }

    /// How much each of the last seconds kept of the idle line's quality, as the bars of the equalizer are computed, of
    /// round trips; nothing of a second with open probes, or before an idle line to compare with.
    pub fn kept(&self, last: usize) -> Vec<Ratios> {
        let idle = conditions(&self.idle, self.idle_losses);
        let seconds = &self.seconds[self.seconds.len().saturating_sub(last)..];
        let ratios = |second: &DelaySecond| match second {
            DelaySecond { open: 0, sent: 1.., conditions, .. } => Ratios::new(&idle, conditions),
            _ => Ratios::default(),
        };
        seconds.iter().map(ratios).collect()
    }

    pub(super) fn sent(&mut self, second: usize) {
        if self.seconds.len() <= second {
            self.seconds.resize(second + 1, DelaySecond::default());
        }
        self.seconds[second].sent += 1;
        self.seconds[second].open += 1;
        self.changed.insert(second);
    }

    pub(super) fn answered(&mut self, second: usize, delay: Delay, idle: bool) {
        if let Some(entry) = self.change(second) {
            entry.open = entry.open.saturating_sub(1);
            self.answered.entry(second).or_default().push(delay);
            self.idle_losses.sent += u64::from(idle);
            if idle && self.idle.len() < BASELINE {
                self.idle.push(delay);
            }
        }
    }

    pub(super) fn lost(&mut self, second: usize, idle: bool) {
        if let Some(entry) = self.change(second) {
            entry.open = entry.open.saturating_sub(1);
            entry.lost += 1;
            self.idle_losses = self.idle_losses.and(Losses { sent: u64::from(idle), gone: u64::from(idle) });
        }
    }

    /// A probe that was given up is open again, as its reply has come.
    pub(super) fn reopened(&mut self, second: usize, idle: bool) {
        if let Some(entry) = self.change(second).filter(|entry| entry.lost > 0) {
            entry.lost -= 1;
            entry.open += 1;
            self.idle_losses.sent = self.idle_losses.sent.saturating_sub(u64::from(idle));
            self.idle_losses.gone = self.idle_losses.gone.saturating_sub(u64::from(idle));
        }
    }

    /// What became of a probe will never be known.
    pub(super) fn forgotten(&mut self, second: usize) {
        if let Some(entry) = self.change(second) {
            entry.open = entry.open.saturating_sub(1);
            entry.sent = entry.sent.saturating_sub(1);
        }
    }

    fn change(&mut self, second: usize) -> Option<&mut DelaySecond> {
        let entry = self.seconds.get_mut(second)?;
        self.changed.insert(second);
        Some(entry)
    }

    /// Computes anew what has changed, and lets go of what no later second needs.
    pub(super) fn settle(&mut self) {
        for second in std::mem::take(&mut self.changed) {
            let Some(entry) = self.seconds.get_mut(second) else { continue };
            let delays = self.answered.entry(second).or_default();
            delays.sort_unstable();
            entry.median = percentile(delays, entry.lost + entry.open, 500);
            entry.longest = delays.last().copied();
            entry.conditions = conditions(delays, Losses { sent: entry.sent, gone: entry.lost });
        }
        let oldest = self.seconds.len().saturating_sub(SETTLED);
        self.answered.retain(|second, _| *second >= oldest);
    }
}

/// Seconds that may still change: the longest waiting time twice, a frame's second, and one for the order in which frames come.
const SETTLED: usize = 2 * LONGEST_WAITING_TIME.as_secs() as usize + 3;

/// What answered probes met, and how many were lost beside them.
fn conditions(delays: &[Delay], losses: Losses) -> Conditions {
    let lost = usize::try_from(losses.gone).unwrap_or(usize::MAX).min(BASELINE);
    let with_losses = |less: i64| -> Vec<Option<i64>> {
        let known = delays.iter().map(|delay| Some(delay.0.saturating_sub(less)));
        known.chain(std::iter::repeat_n(None, lost)).collect()
    };
    let least = delays.iter().min().map_or(0, |delay| delay.0);
    Conditions {
        delay_ms: p95_ms(&with_losses(0)),
        delay_variation_ms: p95_ms(&with_losses(least)),
        connect_ms: None,
        losses,
        heard: true,
    }
}
