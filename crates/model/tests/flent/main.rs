//! Files of Flent of every version become recordings, and no file can do harm.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod files;
mod hostile;
mod versions;
