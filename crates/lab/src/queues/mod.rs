//! The queue disciplines: this list is all there are.

mod bfifo;
mod codel;
mod fq_codel;
mod pfifo;
mod prio;

use crate::queue::{Discipline, QueueOptions, QueueSpec};

/// Every discipline, by the name that link files use.
pub static DISCIPLINES: &[&Discipline] =
    &[&pfifo::DISCIPLINE, &bfifo::DISCIPLINE, &prio::DISCIPLINE, &codel::DISCIPLINE, &fq_codel::DISCIPLINE];

impl QueueSpec {
    /// The discipline of this name with these settings.
    pub fn new(name: &str, options: QueueOptions) -> Result<Self, String> {
        let Some(discipline) = DISCIPLINES.iter().find(|discipline| discipline.name == name) else {
            let names: Vec<&str> = DISCIPLINES.iter().map(|discipline| discipline.name).collect();
            return Err(format!("unknown queue \"{name}\"; known: {}", names.join(", ")));
        };
        Self::of(discipline, options)
    }
}
