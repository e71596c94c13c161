//! A monitor of a line: when it tests, how much data that may take, and which recordings are kept.
//!
//! Pure: readings of clocks, the text of the configuration and random numbers from a seed are arguments. So a month of
//! monitoring is a test of milliseconds.
//!
//! 1. [`watch_time`], [`watch_clock`]: time that no step of a clock moves
//! 2. [`quiet_hours`], [`schedule`]: a Poisson process with a least and a most gap, beside hours without tests
//! 3. [`budget`], [`ledger`]: how much data within how long; [`grant`]: what one test may take
//! 4. [`outcome`]: ran, skipped or failed; [`ring`]: which recordings go
//! 5. [`exposition`]: what Prometheus reads
//! 6. [`configuration`]: the file of a monitor; [`watch`]: the state machine of all of these, which is saved and restored

#![forbid(unsafe_code)]

pub mod budget;
pub mod configuration;
pub mod exposition;
pub mod grant;
pub mod ledger;
pub mod outcome;
pub mod quiet_hours;
pub mod ring;
pub mod schedule;
pub mod watch;
pub mod watch_clock;
pub mod watch_time;
