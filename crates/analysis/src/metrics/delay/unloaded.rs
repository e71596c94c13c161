//! What is done idle and again under load, on the same schedule: page loads, lookups, short flows.

use rrul_model::phase::{Phase, PhaseWindow};
use rrul_model::time::{TestTime, Window};
use rrul_model::units::Delay;
use schemars::JsonSchema;
use serde::Serialize;

/// Something of the line before the load, under it, and after it.
///
/// The survey before the baseline counts as unloaded here: it is where these have their time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, JsonSchema)]
pub struct ByLoad<T> {
    /// Begun before the load, in the phases `survey` and `idle`. Null without any.
    pub unloaded: Option<T>,
    /// Begun under load: in phase `web`, or in the scored window where none began in `web`. Null without any.
    pub load: Option<T>,
    /// Begun after the load. Null without any.
    pub after: Option<T>,
}

/// From the first to the last instant of load, the phases `load` and `web` together; `None` when nothing was loaded.
pub(crate) fn loaded_phases(phases: &[PhaseWindow]) -> Option<Window> {
    let loaded = || phases.iter().filter(|entry| entry.phase.is_loaded()).map(|entry| entry.window);
    Some(Window { from: loaded().map(|window| window.from).min()?, to: loaded().map(|window| window.to).max()? })
}

impl<T> ByLoad<T> {
    /// All three, each made of the things that began in these phases, as `began` says of them.
    pub(crate) fn group<R: Copy>(
        phases: &[PhaseWindow],
        things: &[R],
        began: impl Fn(R) -> TestTime,
        make: impl Fn(&[R]) -> Option<T>,
    ) -> Self {
        let within = |wanted: &[Phase]| {
            let windows = || phases.iter().filter(|entry| wanted.contains(&entry.phase));
            let chosen: Vec<R> = things
                .iter()
                .copied()
                .filter(|thing| windows().any(|entry| entry.window.contains(began(*thing))))
                .collect();
            make(&chosen)
        };
        Self {
            unloaded: within(&[Phase::Survey, Phase::Idle]),
            load: within(&[Phase::Web]).or_else(|| within(&[Phase::Load])),
            after: within(&[Phase::After]),
        }
    }

    /// Whether every phase is empty.
    pub fn is_empty(&self) -> bool {
        self.unloaded.is_none() && self.load.is_none() && self.after.is_none()
    }

    /// One time under load over the same before it; `None` when either is unknown.
    pub(crate) fn ratio(&self, of: impl Fn(&T) -> Option<Delay>) -> Option<f64> {
        let (load, unloaded) = (of(self.load.as_ref()?)?, of(self.unloaded.as_ref()?)?);
        (unloaded.0 > 0).then(|| load.0 as f64 / unloaded.0 as f64)
    }
}
