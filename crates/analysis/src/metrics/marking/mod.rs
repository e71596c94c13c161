//! What the path does to service classes and to ECN.

pub mod code_point;
pub mod ecn;
pub mod marking_path;
pub mod marking_tally;
