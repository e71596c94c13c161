//! What arrives of packets that only their sender counts: the same share as of the UDP probes of the same family, direction
//! and phase.

use rrul_model::flow::AddressFamily;
use rrul_model::time::{TestTime, Window};

/// The share of the packets of each direction that arrives.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Delivered {
    pub(crate) up: f64,
    pub(crate) down: f64,
}

impl Delivered {
    /// Every packet arrives.
    pub(crate) const ALL: Self = Self { up: 1.0, down: 1.0 };

    /// Of the questions that were not answered, the share that had arrived: their answers were lost.
    pub(crate) fn without_answer(self) -> f64 {
        let failed = 1.0 - self.up * self.down;
        if failed > 0.0 { self.up * (1.0 - self.down) / failed } else { 1.0 }
    }
}

/// Shares by phase and family.
#[derive(Debug, Clone, Default)]
pub(crate) struct DeliveredShares(pub(crate) Vec<(Window, AddressFamily, Delivered)>);

impl DeliveredShares {
    /// Returns what arrives of packets sent at this time; everything where there is nothing to go by.
    pub(crate) fn at(&self, family: AddressFamily, at: TestTime) -> Delivered {
        let phase = self.0.iter().find(|(window, of, _)| *of == family && window.contains(at));
        phase.map_or(Delivered::ALL, |(_, _, delivered)| *delivered)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_question_without_answer_arrived_where_the_answer_was_lost() {
        let without_answer = |up: f64, down: f64| Delivered { up, down }.without_answer();
        let near = |share: f64, truth: f64| assert!((share - truth).abs() < 1e-12, "{share}, expected {truth}");
        // No loss says why: the other end may not be there.
        near(without_answer(1.0, 1.0), 1.0);
        // Only questions are lost; only answers are.
        near(without_answer(0.5, 1.0), 0.0);
        near(without_answer(1.0, 0.5), 1.0);
        // Of nine, three questions are lost, and two of six answers.
        near(without_answer(6.0 / 9.0, 4.0 / 6.0), 2.0 / 5.0);
    }
}
