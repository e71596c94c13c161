//! The queue disciplines: this list is complete.

mod bfifo;
mod cake;
mod codel;
mod fq_codel;
mod pfifo;
mod pie;
mod prio;

use rrul_model::unknown_name::UnknownName;

use crate::queue::{Discipline, QueueError, QueueOptions, QueueSpec};

/// Every discipline, by the name that link files use.
pub static DISCIPLINES: &[&Discipline] = &[
    &pfifo::DISCIPLINE,
    &bfifo::DISCIPLINE,
    &prio::DISCIPLINE,
    &codel::DISCIPLINE,
    &fq_codel::DISCIPLINE,
    &pie::DISCIPLINE,
    &cake::DISCIPLINE,
];

impl QueueSpec {
    /// The discipline of this name with these settings.
    pub fn new(name: &str, options: QueueOptions) -> Result<Self, QueueError> {
        let Some(discipline) = DISCIPLINES.iter().find(|discipline| discipline.name == name) else {
            let names: Vec<&str> = DISCIPLINES.iter().map(|discipline| discipline.name).collect();
            return Err(UnknownName::new("queue", name, names.join(", ")).into());
        };
        Self::from_discipline(discipline, options)
    }
}
