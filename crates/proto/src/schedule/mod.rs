//! When a flow sends.
//!
//! - [`send_schedule`]: once in every interval, at a random phase
//! - [`periodic_schedule`]: in equal intervals
//! - [`poisson_schedule`]: now and then

pub mod periodic_schedule;
pub mod poisson_schedule;
pub mod send_schedule;
