//! Who gets how much: streams against each other, service classes against each other.

pub mod class_difference;
pub mod class_share;
pub mod class_treatment;
pub mod global_synchronization;
pub mod stream_sharing;
