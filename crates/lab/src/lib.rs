//! Virtual links whose truth is known packet by packet.
//!
//! A [`Lab`] is two [`Host`]s, client and server, in network namespaces without a name, and a [`Link`] between them:
//! rate, delay, queue and impairments of each direction, carried out in userspace over two TUN devices. It writes down
//! what it did to every packet, and [`Lab::truth`] hands that out, so that a measurement made through the link can be
//! compared with the truth.
//!
//! Each direction of the link is a [`line::pipe::Pipe`], which lives in virtual time and can be driven by a test without any
//! device; a [`VirtualLink`] is both, with the routers of its [`Path`] between them.
//! Queue disciplines stand on the shelf [`queues`]. `docs/lab.md` describes the model, the file format and the limits.

mod clock;
mod disturbance;
mod emulator;
mod error;
mod host;
mod lab;
pub mod line;
mod link;
mod namespace;
mod packet;
pub mod queue;
pub mod queues;
mod requirement;
mod routers;
mod time;
mod truth;
mod tun;

pub use clock::{be_realtime, now};
pub use disturbance::{ATTEMPTS, Disturbed, await_calm, on_a_lab, once_on_a_lab};
pub use error::Error;
pub use host::Host;
pub use lab::{Lab, available};
pub use line::counters::{DirectionCounters, LinkCounters, QueueCounters};
pub use line::virtual_link::VirtualLink;
pub use link::filter::{PacketFilter, Segment};
pub use link::links::link_names;
pub use link::path::{NarrowLink, Path, ReplyPath};
pub use link::rate_schedule::RateSchedule;
pub use link::remark::{DscpRewrite, EcnRewrite};
pub use link::selection::Selection;
pub use link::shaper::Shaper;
pub use link::token_bucket::{BurstAllowance, Policer};
pub use link::{Link, LinkDirection, Reorder};
pub use namespace::{die_with_spawning_thread, enter_user_namespace, join};
pub use requirement::{give_up, lab_available_for};
pub use routers::router::RouterAnswer;
pub use time::LabTime;
pub use truth::connections::ConnectionKey;
pub use truth::record::{Fate, Record};
pub use truth::stream_order::in_order;
pub use truth::{DirectionTruth, Truth, percentile};
