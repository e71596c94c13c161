//! The queue disciplines: this list is all there are.

mod bfifo;
mod codel;
mod fq_codel;
mod pfifo;

use crate::queue::Discipline;

/// Every discipline, by the name that link files use.
pub static DISCIPLINES: &[&Discipline] =
    &[&pfifo::DISCIPLINE, &bfifo::DISCIPLINE, &codel::DISCIPLINE, &fq_codel::DISCIPLINE];
