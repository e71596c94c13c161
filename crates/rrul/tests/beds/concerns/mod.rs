//! The beds by what they are about, in the order of docs/accuracy.md.

mod delay;
mod host;
mod loss;
mod marking;
mod octets;
mod path;
mod streams;
mod tuning;
mod validity;
mod voice;
mod web;

use crate::Bed;

/// All of them.
pub(crate) const BEDS: &[&[&Bed]] = &[
    delay::BEDS,
    loss::BEDS,
    voice::BEDS,
    marking::BEDS,
    octets::BEDS,
    streams::BEDS,
    tuning::BEDS,
    web::BEDS,
    path::BEDS,
    validity::BEDS,
    host::BEDS,
];
