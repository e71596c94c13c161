//! Every plan that is shipped reads and unfolds as it says, and every mistake in a plan is named with its place.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod mistakes;
mod shelf;
mod shipped;
mod unfolding;
