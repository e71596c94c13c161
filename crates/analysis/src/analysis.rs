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
    /// What a tuning session amounts to. It is read by [`Self::tuning`].
    pub tuning_result: Option<TuningResult>,
}

impl Analysis {
    /// The outcome of a tuning session; `None` of any other recording, and in a program without the feature `tuning`,
    /// which thus contains nothing of what words and pictures make of it.
    pub fn tuning(&self) -> Option<&TuningResult> {
        if cfg!(feature = "tuning") { self.tuning_result.as_ref() } else { None }
    }
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
