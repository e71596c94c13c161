//! What follows from one recording: what was measured, whether it deserves trust, what it amounts to.

use std::ops::{Deref, DerefMut};

use crate::measured::Measured;
use crate::scored::Scores;
use crate::tuning::result::TuningResult;
use crate::validity::Validity;

/// Everything that follows from one recording. What was measured can be read as if it stood here.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Analysis {
    pub measured: Measured,
    /// Whether the numbers deserve trust, with reasons.
    pub validity: Validity,
    pub scores: Scores,
    /// The outcome of a tuning session; `None` of any other recording.
    pub tuning: Option<TuningResult>,
}

impl Deref for Analysis {
    type Target = Measured;

    fn deref(&self) -> &Measured {
        &self.measured
    }
}

impl DerefMut for Analysis {
    fn deref_mut(&mut self) -> &mut Measured {
        &mut self.measured
    }
}
