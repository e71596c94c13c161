//! Three of a kind: one of each phase that is distinguished.

use rrul_model::phase::Phase;
use schemars::JsonSchema;
use serde::Serialize;

/// Something of each phase; nothing of the survey, which disturbs itself, and of phase `web`, where pages do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, JsonSchema)]
pub struct ByPhase<T> {
    /// Idle baseline.
    pub idle: T,
    /// Under load, in the scored window.
    pub load: T,
    /// After the load.
    pub after: T,
}

impl<T> ByPhase<T> {
    /// All, each made for its phase.
    pub fn each(mut of: impl FnMut(Phase) -> T) -> Self {
        Self { idle: of(Phase::Idle), load: of(Phase::Load), after: of(Phase::After) }
    }

    pub fn get(&self, phase: Phase) -> Option<&T> {
        match phase {
            Phase::Survey | Phase::Web => None,
            Phase::Idle => Some(&self.idle),
            Phase::Load => Some(&self.load),
            Phase::After => Some(&self.after),
        }
    }
}

impl<T> ByPhase<Option<T>> {
    /// Returns what is known, in the order of the phases.
    pub fn known(&self) -> impl Iterator<Item = (Phase, &T)> {
        let phases = [(Phase::Idle, &self.idle), (Phase::Load, &self.load), (Phase::After, &self.after)];
        phases.into_iter().filter_map(|(phase, entry)| Some((phase, entry.as_ref()?)))
    }
}
