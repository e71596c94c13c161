//! Recordings in which the truth is known by construction, and what the analysis makes of them.

#![expect(clippy::unwrap_used, reason = "the helpers of tests may panic as the tests do")]

mod builder;
mod delay;
mod goodput;
mod live;
mod other_metrics;
mod robustness;
mod summary;
mod validity;
