//! In place of the screen in a program without it: lines say how the test goes.

use rrul_model::recording::{Frame, Header};
use rrul_model::time::TestTime;

use super::terminal::Candidate;

/// Without a value: this program has no screen.
pub(crate) enum LiveScreen {}

impl LiveScreen {
    pub(crate) fn begin(candidate: Candidate, _label: &str, _header: &Header) -> Option<Self> {
        candidate.dismiss();
        None
    }

    pub(crate) fn frame(&self, _frame: &Frame) {
        match *self {}
    }

    pub(crate) fn tick(&self, _now: TestTime) {
        match *self {}
    }

    pub(crate) fn end(self) {
        match self {}
    }
}
