//! How much may come out of a file: a small one that expands without end is not read.

use crate::observation::Tables;

/// Why a file is not read: it contains more than rrul has written.
#[derive(Debug, thiserror::Error)]
pub enum BudgetError {
    #[error("{count} {what}, at most {most} are read: this is no recording that rrul has written")]
    TooMany { what: &'static str, count: usize, most: usize },
    #[error("more {0} than a file of this size contains: this is no recording that rrul has written")]
    Expands(&'static str),
}

/// Most flows in a recording; a server serves no more than 256 unless its owner allows it.
const MOST_FLOWS: usize = 1024;
/// Most phases; a plan has six.
const MOST_PHASES: usize = 16;
/// The families of addresses.
const MOST_FAMILIES: usize = 2;
/// Longest text of any recording, bytes: some two hours of a usual test.
const LONGEST_TEXT: usize = 256 << 20;

/// A file up to this length is small, bytes: what comes out of it is to be analyzed in 500 MB and 10 s.
const SMALL: usize = 1_000_000;

/// What a file of some size may contain at most.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReadingBudget {
    /// Bytes of text.
    pub text: usize,
    frames: usize,
    values: usize,
}

impl ReadingBudget {
    /// For a file of so many bytes.
    pub fn for_file(octets: usize) -> Self {
        Self {
            // rrul compresses its integers to a third of their text, and to a tenth where next to nothing happens.
            text: octets.saturating_mul(16).saturating_add(16 << 20).min(LONGEST_TEXT),
            // Each frame has a zstd frame of its own, with its length, checksum and the names of its tables.
            frames: (octets / 32).saturating_add(1000),
            // Usual tests have one value in a byte; many streams that rest have ten, and are no small files.
            values: octets.min(SMALL).saturating_mul(2).saturating_add(1_000_000)
                + octets.saturating_sub(SMALL).saturating_mul(16).min(LONGEST_TEXT),
        }
    }

    /// Takes a frame with these tables out of what is left.
    ///
    /// # Errors
    /// When no room is left for it.
    pub(crate) fn take(&mut self, tables: &Tables) -> Result<(), BudgetError> {
        self.frames = self.frames.checked_sub(1).ok_or(BudgetError::Expands("frames"))?;
        self.values = self.values.checked_sub(tables.values()).ok_or(BudgetError::Expands("values"))?;
        Ok(())
    }
}

/// How many entries the lists of a header have.
pub(crate) struct Listed {
    pub(crate) flows: usize,
    pub(crate) phases: usize,
    pub(crate) plan_phases: usize,
    pub(crate) plan_entries: usize,
    pub(crate) families: usize,
    pub(crate) absent_families: usize,
}

impl Listed {
    /// Checks that these are no more than any test has.
    ///
    /// # Errors
    /// When one is longer.
    pub(crate) fn check(&self) -> Result<(), BudgetError> {
        let lists = [
            ("flows", self.flows, MOST_FLOWS),
            ("phases", self.phases, MOST_PHASES),
            ("phases of the plan", self.plan_phases, MOST_PHASES),
            ("entries of the plan", self.plan_entries, MOST_FLOWS),
            ("families", self.families, MOST_FAMILIES),
            ("absent families", self.absent_families, MOST_FAMILIES),
        ];
        match lists.into_iter().find(|(_, count, most)| count > most) {
            Some((what, count, most)) => Err(BudgetError::TooMany { what, count, most }),
            None => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::flow::FlowId;
    use crate::observation::OctetsReceived;
    use crate::time::TestTime;
    use crate::units::ByteCount;

    #[test]
    fn a_budget_ends_with_the_last_frame_or_value() {
        let mut tables = Tables::default();
        tables.push(OctetsReceived { flow: FlowId(1), at: TestTime(2), octets: ByteCount(3) }.into());
        let mut frames = ReadingBudget { text: 0, frames: 2, values: 100 };
        assert!(frames.take(&tables).is_ok() && frames.take(&tables).is_ok());
        assert!(matches!(frames.take(&tables), Err(BudgetError::Expands("frames"))));
        let mut values = ReadingBudget { text: 0, frames: 100, values: 5 };
        assert!(values.take(&tables).is_ok(), "three values");
        assert!(matches!(values.take(&tables), Err(BudgetError::Expands("values"))));
    }

    #[test]
    fn a_budget_grows_with_the_file_up_to_the_longest_text() {
        let budget = ReadingBudget::for_file(1_000_000);
        assert!(budget.text > 10_000_000 && budget.text < 40_000_000, "{budget:?}");
        assert_eq!(ReadingBudget::for_file(usize::MAX).text, LONGEST_TEXT);
    }
}
