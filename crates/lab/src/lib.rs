//! Virtual links whose truth is known packet by packet.
//!
//! A [`Lab`] is two [`Host`]s, client and server, in network namespaces without a name, and a [`Link`] between them:
//! rate, delay, queue and impairments of each direction, carried out in userspace over two TUN devices. It writes down
//! what it did to every packet, and [`Lab::truth`] hands that out, so that a measurement made through the link can be
//! held against what was there to measure.
//!
//! Each direction of the link is a [`pipe::Pipe`], which lives in virtual time and can be driven by a test without any
//! device; a [`VirtualLink`] is both, with the routers of its [`Path`] between them.
//! Queue disciplines stand on the shelf [`queues`]. `docs/lab.md` describes the model, the file format and the limits.

mod clock;
mod connections;
mod disturbance;
mod emulator;
mod error;
mod filter;
mod host;
mod icmp;
mod lab;
mod link;
mod link_file;
mod links;
mod namespace;
mod packet;
mod path;
mod path_file;
pub mod pipe;
mod pool;
pub mod queue;
pub mod queues;
mod random;
mod rate_schedule;
mod record;
mod remark;
mod requirement;
mod router;
mod selection;
mod stream_order;
mod time;
mod token_bucket;
mod toml_section;
#[cfg(test)]
mod trace;
mod truth;
mod truth_csv;
mod truth_log;
mod tun;
mod virtual_link;
mod way;
mod wire;

pub use clock::{be_realtime, now};
pub use connections::ConnectionKey;
pub use disturbance::on_a_lab;
pub use error::Error;
pub use filter::{PacketFilter, Segment};
pub use host::Host;
pub use lab::{Lab, available};
pub use link::{Link, LinkDirection, Reorder};
pub use links::link_names;
pub use namespace::{die_with_spawning_thread, enter_user_namespace, join};
pub use path::{NarrowLink, Path, ReplyPath};
pub use rate_schedule::RateSchedule;
pub use record::{Fate, Record};
pub use remark::{DscpRewrite, EcnRewrite};
pub use requirement::lab_available_for;
pub use router::RouterAnswer;
pub use selection::Selection;
pub use stream_order::in_order;
pub use time::LabTime;
pub use token_bucket::{BurstAllowance, Policer};
pub use truth::{DirectionTruth, Truth, percentile};
pub use virtual_link::VirtualLink;
