//! The queue disciplines: this list is all there are.

mod bfifo;
mod codel;
mod fq_codel;
mod pfifo;
mod prio;

use crate::queue::Discipline;

/// Every discipline, by the name that link files use.
pub static DISCIPLINES: &[&Discipline] =
    &[&pfifo::DISCIPLINE, &bfifo::DISCIPLINE, &prio::DISCIPLINE, &codel::DISCIPLINE, &fq_codel::DISCIPLINE];
