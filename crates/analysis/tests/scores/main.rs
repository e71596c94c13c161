//! What must hold of every score whatever a line does, and the vectors that others have published.

#![expect(clippy::unwrap_used, reason = "tests may panic")]

mod composite;
mod impression;
mod interoperable;
mod penalty;
mod web;
