//! The words of rrul: what a test is made of and what it leaves behind.
//!
//! Everything else speaks in these types. This crate reads no clock, opens no socket and no file, and computes no
//! statistic; it gives names, units and validation.
//!
//! - [`units`]: bytes, bit rates, signed delays, and how people write them
//! - [`time`]: [`time::TestTime`], nanoseconds on one host's monotonic clock since the test began; [`calendar`]: times in UTC as text
//! - [`marking`]: DSCP, ECN and the service classes (RFC 2474, RFC 3168)
//! - [`flow`]: direction, address family, and one flow of a test
//! - [`link_layer`]: what an IP packet takes on the wire
//! - [`line_rate`]: how fast a line was before it was loaded
//! - [`turns`]: flows that send one after another
//! - [`page`]: pages as data
//! - [`phase`]: idle, load, after
//! - [`plan`]: a test as data, and how it unfolds into flows
//! - [`observation`]: the raw facts that the ends of a flow write down
//! - [`environment`]: what the hosts were like
//! - [`recording`]: plan, environment and observations as one file
//! - [`reading_budget`]: how much a file may expand to
//! - [`shaping`]: the steps of a tuning session, and what it was asked for
//! - [`imported`]: recordings that another program measured
//! - [`printable`]: text of others, made safe to show
//! - [`random`], [`internet_checksum`]: what both ends and the lab compute alike
//! - [`flent`]: recordings of Flent

pub mod calendar;
pub mod environment;
pub mod flent;
pub mod flow;
pub mod flow_kind;
pub mod frame;
mod frame_text;
pub mod imported;
pub mod internet_checksum;
pub mod line_rate;
pub mod link_layer;
pub mod marking;
pub mod measurement_budget;
pub mod observation;
pub mod page;
pub mod phase;
pub mod plan;
pub mod printable;
pub mod random;
pub mod reading_budget;
pub mod recording;
pub mod shaping;
pub mod time;
pub mod turns;
pub mod units;
pub mod unknown_name;
