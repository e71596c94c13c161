//! The recording: files of format 1 stay readable for ever, cut off anywhere or not, and the document shows the truth.

#![allow(clippy::unwrap_used, reason = "what helps a test may panic as the test may")]

mod document;
mod reading;
mod round_trip;
mod specimen;
mod specimen_host;
mod specimen_web;
